"""Classifier chains: the classifier of each label uses the labels before it."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from labelkin.base import MAX_SEED, Array, Matrix
from labelkin.rows import Labels
from labelkin.transformation._base import Trainer, TransformationClassifier, positive_proba
from labelkin.tree._presorted import add_columns


class ChainClassifier(TransformationClassifier):
    """Classifier chains (Read, Pfahringer, Holmes & Frank, 2009), one or several.

    A chain has an order of the labels and a classifier for each. A classifier is given the
    features and the labels that come before its own: in training the true ones, in
    prediction the ones just predicted, 0 or 1. Several chains, each in a random order of its
    own, vote.

    The chain is that of scikit-learn's `ClassifierChain`, link by link. In addition, labels
    may be constant in training, the links are trained in parallel (in training no link
    depends on another), and the columns are sorted once for the trees of all links.

    Where labels are unknown (NaN in y), a link is fitted to the samples for which its label is
    known. For the links after it, the others get the label that it predicts, so that the links of a
    chain are fitted one after the other. A label known for no sample is never predicted.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn classifier; None: ``C45TreeClassifier(nominal_features="binary")``,
        which needs the extra ``labelkin[tree]``, and to which labels are nominal attributes.
    order : {"natural", "random"} or array-like of int of shape (n_labels,), default=None
        natural: the order of the columns of y; an array: these column numbers, the first
        label first. None: natural for one chain, random for several.
    n_estimators : int, default=1
        Number of chains. Several need an order that is random.
    voting : {"hard", "soft"}, default="hard"
        How several chains predict. hard: a label is predicted when more than half of the
        chains predict it (the mean probability decides a tie). soft: when the mean
        probability is at least one half.
    n_jobs : int, default=None
        Number of threads, over links while fitting and over chains while predicting; None: as
        many as BLAS uses. The results are the same for every value.
    random_state : int, RandomState instance or None, default=None
        Source of random orders, and of the seeds of base classifiers that have a
        ``random_state``.
    verbose : int, default=0
        1: about ten lines of progress; more: one line per link.

    Attributes
    ----------
    orders_ : ndarray of int of shape (n_estimators, n_labels)
        Columns of y in the order of each chain.
    estimators_ : list of n_estimators lists of n_labels classifiers
        The links of each chain, in its order; a constant one for a label constant in
        training.
    classes_ : ndarray of shape (n_labels, 2)
        0 and 1 for each label. After a one-dimensional target: its classes, of shape (2,).
    label_names_ : ndarray of shape (n_labels,)
        Column names of y, when y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    Notes
    -----
    A link predicts its label when the probability is at least one half, as Mulan's do.
    ``predict_proba`` gives each link's probability, given the labels predicted before it, and
    the mean over several chains. A base without ``predict_proba`` is used as in
    `BinaryRelevanceClassifier`.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes, E. Frank. Classifier chains for multi-label
    classification. ECML PKDD (2009), Machine Learning 85 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin import ChainClassifier
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.array([[1, 0]] * 3 + [[1, 1]] * 2 + [[0, 1]] * 3)
    >>> chain = ChainClassifier(order=[1, 0]).fit(X, Y)
    >>> chain.predict([[1.0], [3.0], [6.0]])
    array([[1, 0],
           [1, 1],
           [0, 1]])
    """

    _fits_unknown = True
    _parameter_constraints: dict = {
        **TransformationClassifier._parameter_constraints,
        "order": [None, StrOptions({"natural", "random"}), "array-like"],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "voting": [StrOptions({"hard", "soft"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        order: str | Sequence[int] | None = None,
        n_estimators: int = 1,
        voting: str = "hard",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(estimator, n_jobs=n_jobs, random_state=random_state, verbose=verbose)
        self.order = order
        self.n_estimators = n_estimators
        self.voting = voting

    def _fit(self, X: Matrix, labels: Labels, trainer: Trainer) -> None:
        y, n_labels = labels.Y, labels.shape[1]
        rng = check_random_state(self.random_state)
        self.orders_ = self._draw_orders(n_labels, rng)
        seeds = rng.randint(MAX_SEED, size=self.orders_.size)

        def fit_link(chain: int, place: int, given: Array, rows: Array | None = None) -> Any:
            order, seed = self.orders_[chain], seeds[chain * n_labels + place]
            columns = given[:, order[:place]]
            return trainer.fit(y[:, order[place]], seed, rows=rows, columns=columns)

        def fit_partial_chain(chain: int) -> list[Any]:
            filled, order, links = y.copy(), self.orders_[chain], []
            for place, label in enumerate(order):
                is_known = np.asarray(labels.known)[:, label]
                links.append(fit_link(chain, place, filled, np.flatnonzero(is_known)))
                if not is_known.all():
                    inputs = add_columns(X[~is_known], filled[~is_known][:, order[:place]])
                    filled[~is_known, label] = positive_proba(links[-1], inputs) >= 0.5
            return links

        if labels.known is not None:
            n_chains = len(self.orders_)
            self.estimators_ = self._fit_members(fit_partial_chain, n_chains, "chains")
            return
        links = self._fit_members(
            lambda i: fit_link(i // n_labels, i % n_labels, y), len(seeds), "links"
        )
        self.estimators_ = [links[i : i + n_labels] for i in range(0, len(links), n_labels)]

    def _draw_orders(self, q: int, rng: np.random.RandomState) -> Array:
        m = self.n_estimators
        natural = np.arange(q)
        if self.order is None or isinstance(self.order, str):
            if self.order == "random" or (self.order is None and m > 1):
                return np.array([rng.permutation(q) for _ in range(m)])
            order = natural
        else:
            order = np.asarray(self.order)
            if not np.array_equal(np.sort(order, axis=None), natural):
                raise ValueError(
                    f"order must hold each label's column number once, 0 to {q - 1} in any "
                    f"order, got {self.order!r}."
                )
        if m > 1:
            raise ValueError(
                f"order={self.order!r} would make all {m} chains the same: with "
                "n_estimators above 1 use order='random'."
            )
        return order[None, :]

    def _predict_chain(self, chain: int, X: Matrix) -> tuple[Array, Array]:
        """Return the probabilities and labels that one chain predicts."""
        order = self.orders_[chain]
        proba = np.zeros((X.shape[0], len(order)))
        labels = np.zeros(proba.shape, dtype=bool)
        for place, link in enumerate(self.estimators_[chain]):
            inputs = add_columns(X, labels[:, order[:place]])
            proba[:, order[place]] = positive_proba(link, inputs)
            labels[:, order[place]] = proba[:, order[place]] >= 0.5
        return proba, labels

    def _vote(self, X: Matrix) -> tuple[Array, Array]:
        """Return the mean probability and the share of votes over the chains."""
        chains = range(len(self.estimators_))
        found = self._map_members(lambda chain: self._predict_chain(chain, X), chains)
        proba, labels = zip(*found, strict=True)
        return np.mean(proba, axis=0), np.mean(labels, axis=0)

    def _proba(self, X: Matrix) -> Array:
        return self._vote(X)[0]

    def _labels(self, X: Matrix) -> Array:
        proba, votes = self._vote(X)
        if self.voting == "soft":
            return proba >= 0.5
        return (votes > 0.5) | ((votes == 0.5) & (proba >= 0.5))
