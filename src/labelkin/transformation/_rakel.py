"""RAkEL: label powersets on random subsets of the labels, which vote."""

from itertools import combinations
from math import comb
from numbers import Integral, Real
from typing import Any
from warnings import warn

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from labelkin.base import MAX_SEED, Array, Matrix
from labelkin.rows import Labels
from labelkin.transformation._base import Trainer, TransformationClassifier
from labelkin.transformation._powerset import LabelPowersetClassifier


class RAkELClassifier(TransformationClassifier):
    """Random k-labelsets, RAkEL (Tsoumakas, Katakis & Vlahavas, 2011).

    Each member is a label powerset on k of the q labels. With overlapping labelsets a label
    is in several members and is predicted when a large enough share of them predicts it; with
    disjoint ones each label is in exactly one member.

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
        all labelsets of size k if they are fewer. Must be None for disjoint labelsets.
    overlapping : bool, default=True
        False: a random partition of the labels into sets of size k, the last perhaps
        smaller.
    voting_threshold : float, default=0.5
        A label is predicted when at least this share of its members predicts it.
    n_jobs : int, default=None
        Number of threads, over members; None: as many as BLAS uses. The results are the same for
        every value.
    random_state : int, RandomState instance or None, default=None
        Source of the labelsets and of the members' seeds.
    verbose : int, default=0
        1: about ten lines of progress; more: one line per member.

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
    >>> from labelkin import RAkELClassifier
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
        **TransformationClassifier._parameter_constraints,
        "labelset_size": [None, Interval(Integral, 1, None, closed="left")],
        "n_estimators": [None, Interval(Integral, 1, None, closed="left")],
        "overlapping": ["boolean"],
        "voting_threshold": [Interval(Real, 0, 1, closed="right")],
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
        super().__init__(estimator, n_jobs=n_jobs, random_state=random_state, verbose=verbose)
        self.labelset_size = labelset_size
        self.n_estimators = n_estimators
        self.overlapping = overlapping
        self.voting_threshold = voting_threshold

    def _fit(self, X: Matrix, labels: Labels, trainer: Trainer) -> None:
        rng = check_random_state(self.random_state)
        self.labelsets_ = self._draw_labelsets(labels.shape[1], rng)
        seeds = rng.randint(MAX_SEED, size=len(self.labelsets_))

        def fit_powerset(m: int) -> LabelPowersetClassifier:
            member = LabelPowersetClassifier(self.estimator)
            y = labels.Y[:, self.labelsets_[m]]
            member._set_shapes(X, y)
            member._fit_label_sets(trainer, y, seeds[m])
            return member

        self.estimators_ = self._fit_members(fit_powerset, len(seeds), "members")

    def _draw_labelsets(self, q: int, rng: np.random.RandomState) -> list[Array]:
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
                stacklevel=5,
            )
        return labelsets

    def _share_of_votes(self, X: Matrix) -> Array:
        n_labels = 1 if self._one_target else len(self.classes_)
        votes = np.zeros((X.shape[0], n_labels), dtype=np.int64)
        predicted = self._map_members(lambda member: member._labels(X), self.estimators_)
        for labelset, labels in zip(self.labelsets_, predicted, strict=True):
            votes[:, labelset] += labels
        possible = np.bincount(np.concatenate(self.labelsets_), minlength=n_labels)
        return votes / np.maximum(possible, 1)

    def _proba(self, X: Matrix) -> Array:
        if self.overlapping:
            return self._share_of_votes(X)
        parts = self._map_members(lambda member: member._proba(X), self.estimators_)
        # The labelsets are a partition: sort the columns back into place.
        return np.hstack(parts)[:, np.argsort(np.concatenate(self.labelsets_))]

    def _labels(self, X: Matrix) -> Array:
        return self._share_of_votes(X) >= self.voting_threshold


def random_labelsets(q: int, k: int, m: int, rng: np.random.RandomState) -> list[Array]:
    """Draw `m` different sets of `k` of `q` labels, all equally likely, each in ascending order."""
    if comb(q, k) <= 2 * m:  # many of them: choose from the list of all
        every = list(combinations(range(q), k))
        return [np.array(every[i]) for i in rng.permutation(len(every))[:m]]
    drawn: dict[tuple[int, ...], None] = {}  # a set in insertion order
    while len(drawn) < m:
        drawn[tuple(np.sort(rng.permutation(q)[:k]))] = None
    return [np.array(labelset) for labelset in drawn]


def random_partition(q: int, k: int, rng: np.random.RandomState) -> list[Array]:
    """Partition `q` labels into random sets of `k`, the last perhaps smaller, each ascending."""
    labels = rng.permutation(q)
    return [np.sort(labels[start : start + k]) for start in range(0, q, k)]
