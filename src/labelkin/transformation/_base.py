"""The base class of the transformations, and the fitting of single-label classifiers.

A transformation fits tens to thousands of single-label classifiers to one matrix. For C4.5
trees its columns are sorted once, not once per tree: on yeast that is a quarter of the time
of binary relevance and two thirds of that of calibrated label ranking.
"""

from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import _fit_context, clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods

from labelkin._utils.labels import check_no_regressor
from labelkin._utils.parallel import map_threads
from labelkin._utils.progress import CallbackSupportMixin, FitProgress, with_callbacks
from labelkin.base import (
    MAX_SEED,
    Array,
    Matrix,
    MetaClassifier,
    check_weight,
    set_random_states,
)
from labelkin.metrics._estimators import class_proba
from labelkin.rows import Labels
from labelkin.tree import C45TreeClassifier
from labelkin.tree._presorted import PresortedMatrix, add_columns


class TransformationClassifier(CallbackSupportMixin, MetaClassifier):
    """Base of multi-label classifiers that are made of single-label ones.

    A subclass implements `_fit`, on validated data, and `_proba`. Sample weights go to the base
    classifiers.
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
    @with_callbacks
    def fit(self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the single-label classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label; NaN where a label is unknown, which binary relevance and
            chains take.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; one of weight 2 counts as two, one of weight 0 is left out.
            The base classifiers must take them; in boosting they are the weights of the first
            round. With metadata routing, request them at the base:
            ``estimator.set_fit_request(sample_weight=True)``.

        Returns
        -------
        self
        """
        if sample_weight is not None:
            self._route({"sample_weight": sample_weight})
        rows, Y, known = self._validate_known(X, y)
        labels = Labels(Y, check_weight(sample_weight, rows.shape[0]), known)
        if labels.weight is not None:
            kept = np.flatnonzero(labels.weight)
            rows, labels = rows[kept], labels.take(kept)
        self._fit(rows, labels, Trainer(self._estimator, rows, labels.weight))
        return self

    @abstractmethod
    def _fit(self, X: Matrix, labels: Labels, trainer: "Trainer") -> None:
        """Fit to validated data; the weights are positive, and some labels may be unknown."""

    def _labels_of(self, proba: Array) -> Array:
        return proba >= 0.5

    @property
    def _estimator(self) -> Any:
        """`estimator`, or WEKA's J48 as Mulan uses it: columns of 0 and 1 are nominal."""
        if self.estimator is not None:
            return self.estimator
        tree = C45TreeClassifier(nominal_features="binary")
        routed = get_config()["enable_metadata_routing"]
        return tree.set_fit_request(sample_weight=True) if routed else tree

    def _draw_seeds(self, n_members: int) -> Array:
        return check_random_state(self.random_state).randint(MAX_SEED, size=n_members)

    def _fit_members(self, fit_one: Callable[[int], Any], n_members: int, unit: str) -> list[Any]:
        """Fit members by number, in threads, and print the progress; `unit` is their plural."""
        progress = FitProgress(self, unit, n_members, self.verbose)
        return map_threads(fit_one, range(n_members), self.n_jobs, lambda _: progress.step())

    def _map_members(self, predict: Callable[[Any], Any], members: Any) -> list[Any]:
        return map_threads(predict, members, self.n_jobs)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._estimator).input_tags.sparse
        return tags


class Trainer:
    """Fits clones of a single-label classifier to one matrix and its weights, if it has any.

    For C4.5 trees the columns of the matrix are sorted once.
    """

    def __init__(self, base: Any, X: Matrix, weight: Array | None) -> None:
        check_no_regressor(base)
        self.base, self.X, self.weight = base, X, weight
        if isinstance(base, C45TreeClassifier):
            base._validate_params()  # of other classifiers their own fit does so
            self.X = PresortedMatrix.from_matrix(X, base.value_resolution)

    def fit(
        self,
        y: Array,
        seed: int,
        *,
        rows: Array | None = None,
        weight: Array | None = None,
        columns: Array | None = None,
    ) -> Any:
        """Return a classifier fitted to a target, one entry per row of the matrix.

        `rows` are those to train on; `weight` stands in for the weights, and `columns` are added to
        the matrix. The seed is for a base with a ``random_state`` that is None. Where all rows have
        one class, a `DummyClassifier` is returned; without any row, one of class 0.
        """
        target = y if rows is None else y[rows]
        if not len(target):
            return DummyClassifier().fit(np.zeros((1, 1)), np.zeros(1, dtype=y.dtype))
        if (target == target[0]).all():
            return DummyClassifier().fit(np.zeros((1, 1)), target[:1])
        X, weight = self.X, self.weight if weight is None else weight
        X = X if columns is None else add_columns(X, columns)
        if isinstance(X, PresortedMatrix):
            if rows is not None:  # the others have no weight
                chosen = np.bincount(rows, minlength=len(y)).astype(np.float64)
                weight = chosen if weight is None else chosen * weight
            return clone(self.base)._fit_presorted(X, y, weight)
        if rows is not None:
            X, weight = X[rows], None if weight is None else weight[rows]
        weights = {} if weight is None else {"sample_weight": weight}
        # Labels are unsigned here; some classifiers write −1 into a copy.
        model = set_random_states(clone(self.base), seed)
        return model.fit(X, target.astype(np.int64), **weights)


def positive_proba(member: Any, X: Matrix) -> Array:
    """Return the probability of class 1, of validated rows, in a problem of classes 0 and 1."""
    if len(member.classes_) == 1:
        return np.full(X.shape[0], float(member.classes_[0] == 1))
    if isinstance(member, C45TreeClassifier):
        return member._proba(X)[:, 1]
    return class_proba(member, X)[:, 1]
