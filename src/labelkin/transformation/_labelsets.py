"""Label sets as classes: the label powerset, and RAkEL, many small ones that vote."""

from copy import copy
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from math import comb
from numbers import Integral, Real
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval

from labelkin._utils.parallel import map_threads
from labelkin._utils.progress import FitProgress
from labelkin.base import Array, Matrix
from labelkin.transformation._base import PassesWeights, QueryRows, TrainingMatrix, tally
from labelkin.tree._classifier import C45TreeClassifier


class Powerset:
    """A fitted classifier whose classes are label sets.

    Parameters
    ----------
    member : classifier
        Fitted.
    sets : ndarray of shape (n_classes, n_labels)
        The label set of each of its classes.
    """

    def __init__(self, member: Any, sets: Array) -> None:
        self.member = member
        self.sets = sets

    def labels(self, rows: QueryRows) -> Array:
        """Return the most probable label set of each row; of equals the first."""
        return self.sets[rows.proba(self.member).argmax(axis=1)]

    def proba(self, rows: QueryRows) -> Array:
        """Return each label's probability: the sum over the sets that have it."""
        # The sum of a distribution can exceed 1 by a rounding error.
        return np.minimum(rows.proba(self.member) @ self.sets, 1.0)


class TreePowerset(Powerset):
    """The same for a tree, worked out at its nodes.

    A tree on q labels has up to as many classes as samples, and RAkEL has hundreds of trees:
    per node a set and q probabilities are kept instead of a weight per class.
    """

    def __init__(self, member: C45TreeClassifier, sets: Array) -> None:
        value = member.tree_.value
        self.member = copy(member)
        self.member.tree_ = replace(member.tree_, value=np.empty((len(value), 0)))
        self.node_sets = sets[value.argmax(axis=1)]
        self.node_proba = np.minimum(value @ sets / value.sum(axis=1, keepdims=True), 1.0)

    def labels(self, rows: QueryRows) -> Array:
        """Return the most probable label set of each row; of equals the first."""
        return self.node_sets[rows.leaves(self.member)]

    def proba(self, rows: QueryRows) -> Array:
        """Return each label's probability: the sum over the sets that have it."""
        return self.node_proba[rows.leaves(self.member)]


class LabelPowersetClassifier(PassesWeights):
    """Label powerset, LP: every label set seen in training is a class of one classifier.

    The prediction is the most probable class, so it is always a label set that occurs in
    training; of equally probable ones the more frequent, then the first in the order of
    `label_sets_`. The probability of a label is the sum over the classes that contain it.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn multi-class classifier; None:
        ``C45TreeClassifier(nominal_features="binary")``, which needs the extra
        ``labelkin[tree]``. Without ``predict_proba`` the predicted set has probability 1.
    n_jobs : int, default=None
        Given to a base classifier that has an ``n_jobs`` and leaves it None.
    random_state : int, RandomState instance or None, default=None
        Source of the seed of a base classifier that has a ``random_state``.
    verbose : int, default=0
        Above 0: a line when the classifier is trained.

    Attributes
    ----------
    label_sets_ : ndarray of shape (n_label_sets, n_labels)
        The classes: distinct label sets, the most frequent first.
    estimator_ : classifier
        Fitted on the row numbers of `label_sets_`.
    classes_ : ndarray of shape (n_labels, 2)
        0 and 1 for each label. After a one-dimensional target: its classes, of shape (2,).
    label_names_ : ndarray of shape (n_labels,)
        Column names of y, when y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    See Also
    --------
    RAkELClassifier : For more labels than whole label sets can be learned of.

    Notes
    -----
    Mulan's LP draws among equally probable sets, and by default gives the labels of the
    predicted set its probability p, the others 1 − p. The sums here are its third method,
    the distribution that the classifier implies.

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin.transformation._labelsets import LabelPowersetClassifier
    >>> X = np.arange(6.0)[:, None]
    >>> Y = np.array([[1, 0, 1]] * 3 + [[0, 1, 1]] * 3)
    >>> LabelPowersetClassifier().fit(X, Y).predict([[1.0], [4.0]])
    array([[1, 0, 1],
           [0, 1, 1]])
    """

    _parameter_constraints: dict = {
        "estimator": [None, HasMethods(["fit", "predict"])],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> "LabelPowersetClassifier":
        """Train the classifier of label sets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the members, if the base classifier takes them; a sample of weight 0
            is left out. With metadata routing, say so at the base:
            ``base.set_fit_request(sample_weight=True)``.

        Returns
        -------
        self
        """
        X, y, weight = self._validate_weighted(X, y, sample_weight)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        progress = FitProgress(self, "classifiers", 1, self.verbose)
        matrix = TrainingMatrix(X, self.estimator, self.n_jobs)
        self.estimator_ = self._fit_on(matrix, y, seed, weight)
        progress.step()
        return self

    def _fit_on(self, matrix: TrainingMatrix, Y: Array, seed: int, weight: Array | None) -> Any:
        """Fit on validated data; return the classifier of label sets."""
        # The most frequent set is the first, so that argmax gives it a tie.
        self.label_sets_, codes = distinct_label_sets(Y, weight)
        member = matrix.fit(codes, weight=weight, seed=seed)
        powerset = TreePowerset if isinstance(member, C45TreeClassifier) else Powerset
        self._powerset = powerset(member, self.label_sets_[member.classes_])
        return member

    def _proba(self, X: Matrix) -> Array:
        return self._powerset.proba(QueryRows(X))

    def _labels(self, X: Matrix) -> Array:
        return self._powerset.labels(QueryRows(X))


class RAkELClassifier(PassesWeights):
    """Random k-labelsets, RAkEL (Tsoumakas, Katakis & Vlahavas, 2011).

    Each member is a label powerset on k of the q labels. With overlapping labelsets a label
    is in several members and is predicted when a large enough share of them says so; with
    disjoint ones the labels are dealt out among the members and each has its own alone.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn multi-class classifier; None:
        ``C45TreeClassifier(nominal_features="binary")``, which needs the extra
        ``labelkin[tree]``.
    labelset_size : int, default=None
        k; None: half the number of labels, rounded down, but at least 1.
    n_estimators : int, default=None
        Number of overlapping labelsets, all different; None: twice the number of labels, or
        all labelsets of size k if they are fewer. Disjoint labelsets leave no choice: None.
    overlapping : bool, default=True
        False: a random partition of the labels into sets of size k, the last perhaps
        smaller.
    voting_threshold : float, default=0.5
        A label is predicted when at least this share of its votes is for it.
    n_jobs : int, default=None
        Threads, over members; None: as many as BLAS would use. The results are the same for
        every value.
    random_state : int, RandomState instance or None, default=None
        Source of the labelsets and of the members' seeds.
    verbose : int, default=0
        1: about ten lines of progress; more: a line for each member.

    Attributes
    ----------
    labelsets_ : list of n_estimators arrays
        Column numbers of the labels of each member, in ascending order.
    estimators_ : list of n_estimators LabelPowersetClassifier
        The members, without their ``estimator_``: only what voting needs is kept.
    classes_ : ndarray of shape (n_labels, 2)
        0 and 1 for each label. After a one-dimensional target: its classes, of shape (2,).
    label_names_ : ndarray of shape (n_labels,)
        Column names of y, when y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    See Also
    --------
    LabelPowersetClassifier : One classifier for whole label sets.

    Notes
    -----
    ``predict_proba`` is the share of votes, 0 for a label in no labelset, as in Mulan. With
    disjoint labelsets it is the probability that the label's only member gives it.

    References
    ----------
    G. Tsoumakas, I. Katakis, I. Vlahavas. Random k-labelsets for multi-label
    classification. IEEE Transactions on Knowledge and Data Engineering 23 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin.transformation._labelsets import RAkELClassifier
    >>> X = np.arange(6.0)[:, None]
    >>> Y = np.array([[1, 0, 1, 0]] * 3 + [[0, 1, 1, 0]] * 3)
    >>> model = RAkELClassifier(random_state=0).fit(X, Y)
    >>> len(model.estimators_)
    6
    >>> model.predict([[1.0], [4.0]])
    array([[1, 0, 1, 0],
           [0, 1, 1, 0]])
    """

    _parameter_constraints: dict = {
        "estimator": [None, HasMethods(["fit", "predict"])],
        "labelset_size": [None, Interval(Integral, 1, None, closed="left")],
        "n_estimators": [None, Interval(Integral, 1, None, closed="left")],
        "overlapping": ["boolean"],
        "voting_threshold": [Interval(Real, 0, 1, closed="right")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        labelset_size: int | None = None,
        n_estimators: int | None = None,
        overlapping: bool = True,
        voting_threshold: float = 0.5,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.labelset_size = labelset_size
        self.n_estimators = n_estimators
        self.overlapping = overlapping
        self.voting_threshold = voting_threshold
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> "RAkELClassifier":
        """Draw the labelsets and train a label powerset on each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the members, if the base classifier takes them; a sample of weight 0
            is left out. With metadata routing, say so at the base:
            ``base.set_fit_request(sample_weight=True)``.

        Returns
        -------
        self
        """
        X, y, weight = self._validate_weighted(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        self.labelsets_ = self._draw(y.shape[1], rng)
        seeds = rng.randint(2**31 - 1, size=len(self.labelsets_))
        matrix = TrainingMatrix(X, self.estimator)
        progress = FitProgress(self, "members", len(seeds), self.verbose)

        def train(m: int) -> LabelPowersetClassifier:
            member = LabelPowersetClassifier(self.estimator)
            labels = y[:, self.labelsets_[m]]
            member._fit_on(matrix, labels, seeds[m], weight)
            member._one_target = False
            member.classes_ = self.classes_[: labels.shape[1]]
            member.n_features_in_ = self.n_features_in_
            progress.step()
            return member

        self.estimators_ = map_threads(train, range(len(seeds)), self.n_jobs)
        return self

    def _draw(self, q: int, rng: np.random.RandomState) -> list[Array]:
        k = self.labelset_size or max(1, q // 2)
        if k > q:
            raise ValueError(
                f"labelset_size={k} is more than the {q} labels of y: choose at most {q}."
            )
        if not self.overlapping:
            if self.n_estimators is not None:
                raise ValueError(
                    "n_estimators must be None when overlapping=False: the partition of the "
                    "labels fixes the number of members."
                )
            return random_partition(q, k, rng)
        distinct = comb(q, k)
        m = self.n_estimators or min(2 * q, distinct)
        if m > distinct:
            raise ValueError(
                f"n_estimators={m} is more than the {distinct} labelsets of size {k} that "
                f"{q} labels have: choose at most {distinct}, or None."
            )
        labelsets = random_labelsets(q, k, m, rng)
        drawn = np.zeros(q, dtype=bool)
        drawn[np.concatenate(labelsets)] = True
        if not drawn.all():
            warn(
                f"{q - drawn.sum()} of {q} labels are in no labelset and will never be "
                "predicted: raise n_estimators or labelset_size.",
                stacklevel=3,
            )
        return labelsets

    def _share_of_votes(self, X: Matrix) -> Array:
        q = 1 if self._one_target else len(self.classes_)
        rows = QueryRows(X)
        members = list(zip(self.labelsets_, self.estimators_, strict=True))

        def vote(member: tuple[Array, LabelPowersetClassifier], votes: Array) -> None:
            labelset, powerset = member
            votes[:, labelset] += powerset._powerset.labels(rows)

        votes = tally(vote, members, (X.shape[0], q), self.n_jobs)
        possible = np.bincount(np.concatenate(self.labelsets_), minlength=q)
        return votes / np.maximum(possible, 1)

    def _proba(self, X: Matrix) -> Array:
        if self.overlapping:
            return self._share_of_votes(X)
        rows = QueryRows(X)
        parts = map_threads(lambda m: m._powerset.proba(rows), self.estimators_, self.n_jobs)
        # The labelsets are a partition: sort the columns back into place.
        return np.hstack(parts)[:, np.argsort(np.concatenate(self.labelsets_))]

    def _labels(self, X: Matrix) -> Array:
        return self._share_of_votes(X) >= self.voting_threshold


# So many labels at most have a table of all their label sets, in which each is counted.
_COUNTED_LABELS = 12


@lru_cache(maxsize=_COUNTED_LABELS)
def _all_label_sets(q: int) -> tuple[Array, Array]:
    """Return all sets of `q` labels in ascending order, and the powers of two that number them."""
    powers = 2 ** np.arange(q)[::-1]
    return (np.arange(2**q)[:, None] & powers > 0).astype(np.uint8), powers


def distinct_label_sets(Y: Array, weight: Array | None = None) -> tuple[Array, Array]:
    """Find the distinct rows of 0 and 1, the most frequent first, equals in ascending order.

    Sets of a few labels are numbers that are counted; longer ones are sorted as strings of
    bits, many times faster than rows of numbers.

    Parameters
    ----------
    Y : ndarray of uint8 of shape (n_samples, n_labels)
        0 and 1.
    weight : ndarray of shape (n_samples,), optional
        What each row counts, more than 0.

    Returns
    -------
    sets : ndarray of uint8 of shape (n_sets, n_labels)
        The distinct rows.
    codes : ndarray of shape (n_samples,)
        Which set each row is.
    """
    if Y.shape[1] <= _COUNTED_LABELS:
        sets, powers = _all_label_sets(Y.shape[1])
        numbers = Y @ powers
    else:
        bits = np.ascontiguousarray(np.packbits(Y.astype(bool), axis=1))
        strings = bits.view(f"S{bits.shape[1]}").ravel()
        _, first, numbers = np.unique(strings, return_index=True, return_inverse=True)
        sets, numbers = Y[first], numbers.reshape(-1)
    counts = np.bincount(numbers, weight)
    found = counts.nonzero()[0]
    order = found[(-counts[found]).argsort(kind="stable")]
    place = np.empty(len(counts), dtype=np.intp)
    place[order] = np.arange(len(order))
    return sets[order], place[numbers]


def random_labelsets(q: int, k: int, m: int, rng: np.random.RandomState) -> list[Array]:
    """Draw `m` different sets of `k` of `q` labels, all equally likely.

    Parameters
    ----------
    q, k, m : int
        Labels, labels in a set, sets; `m` is at most the number of such sets.
    rng : RandomState
        Source of the draws.

    Returns
    -------
    list of m arrays of shape (k,)
        Each in ascending order.
    """
    if comb(q, k) <= 2 * m:  # most of them are wanted: choose from the list of all
        every = list(combinations(range(q), k))
        return [np.array(every[i]) for i in rng.permutation(len(every))[:m]]
    drawn: dict[tuple[int, ...], None] = {}  # a set that remembers its order
    while len(drawn) < m:
        drawn[tuple(np.sort(rng.permutation(q)[:k]))] = None
    return [np.array(labelset) for labelset in drawn]


def random_partition(q: int, k: int, rng: np.random.RandomState) -> list[Array]:
    """Deal `q` labels out into sets of `k`, the last perhaps smaller.

    Parameters
    ----------
    q, k : int
        Labels, labels in a set.
    rng : RandomState
        Source of the draws.

    Returns
    -------
    list of arrays
        Each in ascending order.
    """
    labels = rng.permutation(q)
    return [np.sort(labels[start : start + k]) for start in range(0, q, k)]
