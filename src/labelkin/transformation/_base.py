"""The base class of the transformations, and the fitting of single-label classifiers.

A transformation fits tens to thousands of single-label classifiers to one matrix. For C4.5
trees its columns are sorted once, not once per tree: on yeast that is a quarter of the time
of binary relevance and two thirds of that of calibrated label ranking.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import _fit_context, clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from labelkin._utils.parallel import effective_n_threads, map_threads
from labelkin._utils.progress import FitProgress
from labelkin.base import Array, Matrix, MultiLabelClassifier, check_weight, set_random_states
from labelkin.tree import C45TreeClassifier
from labelkin.tree._presorted import PresortedMatrix

# What a classifier of another library takes is not known: perhaps less than a thread to start.
map_members = partial(map_threads, may_be_short=True)


class TransformationClassifier(MultiLabelClassifier):
    """Base of multi-label classifiers that are made of single-label ones.

    A subclass implements `_fit`, on validated data, and `_proba`.
    """

    _squares_values = False
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
    def fit(self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the single-label classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the base classifiers, if they take them; a sample of weight 0 is left
            out. With metadata routing, request them at the base:
            ``estimator.set_fit_request(sample_weight=True)``.

        Returns
        -------
        self
        """
        self._fit(*self._validate_weighted(X, y, sample_weight))
        return self

    @abstractmethod
    def _fit(self, X: Matrix, y: Array, weight: Array | None) -> None:
        """Fit to validated data."""

    def _fit_members(self, fit_one: Callable[[int], Any], n_members: int, unit: str) -> list[Any]:
        """Fit members by number, in threads, and print the progress; `unit` is their plural."""
        progress = FitProgress(self, unit, n_members, self.verbose)
        return map_members(
            fit_one, range(n_members), self.n_jobs, callback=lambda _: progress.step()
        )

    def _labels(self, X: Matrix) -> Array:
        return self._proba(X) >= 0.5

    def _base_classifier(self) -> Any:
        """Return `estimator`, or WEKA's J48 as Mulan uses it: columns of 0 and 1 are nominal."""
        if self.estimator is None:
            return C45TreeClassifier(nominal_features="binary")
        return self.estimator

    def _validate_weighted(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Matrix, Array, Array | None]:
        """Validate training data and their weights; rows of weight 0 are left out."""
        X, y = self._validate_fit(X, y)
        weight = check_weight(sample_weight, X.shape[0])
        if weight is None:
            return X, y, None
        kept = np.flatnonzero(weight)
        return X[kept], y[kept], weight[kept]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._base_classifier()).input_tags.sparse
        return tags


class WeightRoutingClassifier(TransformationClassifier):
    """Base of those that route sample weights to their base classifiers."""

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing: the base classifier receives those of ``fit``.

        Returns
        -------
        MetadataRouter
        """
        base = self._base_classifier()
        if self.estimator is None and _routing_enabled():
            base.set_fit_request(sample_weight=True)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=base, method_mapping=mapping)

    def _validate_weighted(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Matrix, Array, Array | None]:
        if sample_weight is not None:
            base = self._base_classifier()
            if _routing_enabled():
                process_routing(self, "fit", sample_weight=sample_weight)
            elif not has_fit_parameter(base, "sample_weight"):
                raise ValueError(
                    f"{type(base).__name__} takes no sample_weight: fit without it, or choose "
                    "another estimator."
                )
        return super()._validate_weighted(X, y, sample_weight)


def _routing_enabled() -> bool:
    return bool(get_config()["enable_metadata_routing"])


def presort_for(base: Any, X: Matrix) -> Matrix | PresortedMatrix:
    """Return a training matrix as `fit_member` takes it: with sorted columns for a C4.5 tree."""
    if not isinstance(base, C45TreeClassifier):
        return X
    base._validate_params()  # of other classifiers their own fit does so
    return PresortedMatrix.from_matrix(X, base.value_resolution)


def fit_member(
    base: Any,
    X: Matrix | PresortedMatrix,
    y: Array,
    *,
    rows: Array | None = None,
    weight: Array | None = None,
    seed: int = 0,
) -> Any:
    """Fit a clone of one single-label classifier to what `presort_for` returns.

    `rows` are those to train on, some perhaps more than once. The seed is for a base with a
    ``random_state`` that is None. Where all rows have one class, a `DummyClassifier` is returned.
    """
    target = y if rows is None else y[rows]
    if (target == target[0]).all():
        return DummyClassifier().fit(np.zeros((1, 1)), target[:1])
    if isinstance(X, PresortedMatrix):
        if rows is not None:  # a row drawn twice has twice the weight
            drawn = np.bincount(rows, minlength=len(y)).astype(np.float64)
            weight = drawn if weight is None else drawn * weight
        return clone(base)._fit_presorted(X, y, weight)
    member = set_random_states(clone(base), seed)
    if rows is not None:
        X = X[rows]
        weight = None if weight is None else weight[rows]
    # Labels are unsigned here; some classifiers write −1 into a copy.
    target = target.astype(np.int64)
    # The rows are finite, and scikit-learn's classifiers without steps of their own make no others
    # of them. To look for NaN once per member takes a tenth of the time of naive Bayes.
    is_simple = not any("__" in name for name in member.get_params())
    is_trusted = is_simple and type(member).__module__.startswith("sklearn.")
    with config_context(assume_finite=is_trusted or get_config()["assume_finite"]):
        if weight is None:
            return member.fit(X, target)
        return member.fit(X, target, sample_weight=weight)


def add_columns(X: Matrix | PresortedMatrix, columns: Array) -> Matrix | PresortedMatrix:
    """Return `X` with more columns on the right, in its own form and dtype."""
    if not columns.shape[1]:
        return X
    if isinstance(X, PresortedMatrix):
        return X.with_columns(columns)
    if sparse.issparse(X):
        return sparse.hstack([X, sparse.csr_array(columns)], format="csr", dtype=X.dtype)
    return np.hstack([X, columns], dtype=X.dtype)


def first_columns(X: Matrix | PresortedMatrix, n_columns: int) -> Matrix | PresortedMatrix:
    """Return the first columns of `X`, without a copy where it is dense or sorted."""
    return X.first_columns(n_columns) if isinstance(X, PresortedMatrix) else X[:, :n_columns]


def class_proba(member: Any, X: Matrix) -> Array:
    """Return class probabilities of validated rows, columns as in the member's ``classes_``.

    They are 0 and 1 where the member has no ``predict_proba``.
    """
    if len(member.classes_) == 1:
        return np.ones((X.shape[0], 1))
    if isinstance(member, C45TreeClassifier):
        return member._proba(X)
    if hasattr(member, "predict_proba"):
        return member.predict_proba(X)
    return (member.predict(X)[:, None] == member.classes_).astype(np.float64)


def positive_proba(member: Any, X: Matrix) -> Array:
    """Return the probability of class 1 in a problem of classes 0 and 1."""
    if len(member.classes_) == 1:
        return np.full(X.shape[0], float(member.classes_[0] == 1))
    return class_proba(member, X)[:, 1]


def sum_votes(count: Callable[[Sequence[Any]], Array], voters: Sequence[Any], n_jobs: Any) -> Array:
    """Sum the votes, with one sum per thread: memory does not grow with the number of voters."""
    n_threads = effective_n_threads(n_jobs)
    parts = [voters[start::n_threads] for start in range(n_threads)]
    return np.sum(map_members(count, parts, n_jobs), axis=0)
