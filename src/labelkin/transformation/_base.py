"""Many single-label classifiers on one matrix: prepared once, fitted and asked often.

Label powersets, label pairs and boosted labels train tens to thousands of single-label
classifiers on the rows of one matrix. For C4.5 trees its columns are sorted once for all of
them; any other scikit-learn classifier is cloned and fitted as usual.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter

from labelkin._utils.parallel import effective_n_threads, map_threads
from labelkin.base import Array, Matrix, MultiLabelClassifier, random_seed, seeded
from labelkin.tree._classifier import C45TreeClassifier, PresortedMatrix, RowValues


def default_base() -> C45TreeClassifier:
    """Return WEKA's J48 as Mulan sees these data: columns of 0 and 1 are nominal."""
    return C45TreeClassifier(nominal_features="binary")


class SingleLabelBased(MultiLabelClassifier):
    """A classifier made of single-label ones: it takes sparse data where they do."""

    estimator: Any

    def _base(self) -> Any:
        return default_base() if self.estimator is None else self.estimator

    def _validate_weighted(
        self, X: Any, Y: Any, sample_weight: Any
    ) -> tuple[Matrix, Array, Array | None]:
        """Validate training data and their weights; rows of weight 0 are left out."""
        X, Y = self._validate_fit(X, Y)
        if sample_weight is None:
            return X, Y, None
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("sample_weight must be positive for at least one sample.")
        seen = np.flatnonzero(weight)
        return X[seen], Y[seen], weight[seen]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._base()).input_tags.sparse
        return tags


class PassesWeights(SingleLabelBased):
    """One that hands sample weights on to its members, by scikit-learn's metadata routing."""

    def get_metadata_routing(self) -> MetadataRouter:
        """Say who takes which metadata: the base classifier takes those of ``fit``.

        Returns
        -------
        MetadataRouter
        """
        base = self._base()
        if self.estimator is None and _routing_enabled():
            base.set_fit_request(sample_weight=True)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=base, method_mapping=mapping)

    def _validate_weighted(
        self, X: Any, Y: Any, sample_weight: Any
    ) -> tuple[Matrix, Array, Array | None]:
        if sample_weight is not None:
            if _routing_enabled():
                process_routing(self, "fit", sample_weight=sample_weight)
            elif not has_fit_parameter(self._base(), "sample_weight"):
                raise ValueError(
                    f"{type(self._base()).__name__} takes no sample_weight: fit without it, or "
                    "choose a estimator that does."
                )
        return super()._validate_weighted(X, Y, sample_weight)


def _routing_enabled() -> bool:
    return bool(get_config()["enable_metadata_routing"])


def is_plain(estimator: Any) -> bool:
    """Tell whether it is one of scikit-learn's own with nothing but plain values as parameters.

    Then it holds no other estimators, and another made with these values is as good as a clone.
    """
    kind: Any = type(estimator)
    names = _own_parameters(kind)
    if names is None:
        return False
    values = (getattr(estimator, name) for name in names)
    return all(value is None or isinstance(value, str | float | int) for value in values)


@lru_cache(maxsize=64)
def _own_parameters(kind: Any) -> tuple[str, ...] | None:
    """Name the parameters of a class of scikit-learn's own that has rules for them.

    Remembered, since scikit-learn reads them off the signature at every question.
    """
    if kind.__module__.startswith("sklearn.") and hasattr(kind, "_parameter_constraints"):
        return tuple(kind._get_param_names())
    return None


def trusting(plain: bool) -> AbstractContextManager[Any]:
    """Return a context in which a plain classifier trusts what was validated for all members.

    Others may hold steps that make new values, or parameters not looked at: they check as usual.
    """
    if not plain:
        return nullcontext()
    return config_context(assume_finite=True, skip_parameter_validation=True)


class TrainingMatrix:
    """A training matrix on which single-label classifiers are fitted.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Validated training rows.
    base : estimator or None
        Any scikit-learn classifier; None: `default_base`.
    n_jobs : int, optional
        Given to a base that has an ``n_jobs`` of its own and leaves it None.
    """

    def __init__(self, X: Matrix, base: Any = None, n_jobs: int | None = None) -> None:
        self.X = X
        self.base = default_base() if base is None else clone(base)
        self.is_tree = isinstance(self.base, C45TreeClassifier)
        if self.is_tree:
            self.base._validate_params()
            self.sorted = PresortedMatrix(X)
            return
        if n_jobs is not None and self.base.get_params().get("n_jobs", 0) is None:
            self.base.set_params(n_jobs=n_jobs)
        self.params = self.base.get_params(deep=False)
        # Anything else on a clone, such as a request for metadata, only another clone has.
        self.is_plain = is_plain(self.base) and vars(self.base).keys() == self.params.keys()
        if self.is_plain:
            self.base._validate_params()  # once for all members: see `trusting`

    @cached_property
    def takes_weights(self) -> bool:
        """Whether the base can be told the samples' weights."""
        return self.is_tree or has_fit_parameter(self.base, "sample_weight")

    def fit(
        self, y: Array, *, rows: Array | None = None, weight: Array | None = None, seed: int = 0
    ) -> Any:
        """Fit one classifier.

        Parameters
        ----------
        y : ndarray of int of shape (n_samples,)
            Class of every row.
        rows : ndarray of int, optional
            Rows to train on, some perhaps more than once; None: all.
        weight : ndarray of shape (n_samples,), optional
            Sample weights.
        seed : int
            For a base with a ``random_state`` that is None.

        Returns
        -------
        A fitted classifier. Where all its rows have one class it is a constant one.
        """
        chosen = y if rows is None else y[rows]
        if (chosen == chosen[0]).all():
            return DummyClassifier().fit(np.zeros((1, 1)), chosen[:1])
        if self.is_tree:
            if rows is not None:  # a row taken twice weighs two
                times = np.bincount(rows, minlength=len(y)).astype(np.float64)
                weight = times if weight is None else times * weight
            return copy(self.base)._fit_presorted(self.sorted, y, weight)
        member = self._unfitted(seed)
        target = chosen.astype(np.int64)  # some classifiers write −1 into a copy
        X = self.X if rows is None else self.X[rows]
        with trusting(self.is_plain):
            if weight is None:
                return member.fit(X, target)
            return member.fit(X, target, sample_weight=weight if rows is None else weight[rows])

    def _unfitted(self, seed: int) -> Any:
        """Return a fresh base, with a seed where it wants one."""
        if not self.is_plain:
            return seeded(clone(self.base), check_random_state(seed))
        member = type(self.base)(**self.params)
        if self.params.get("random_state", 0) is None:
            member.random_state = random_seed(check_random_state(seed))
        return member


class LabelledMatrix:
    """A training matrix and labels that are features too, nominal ones to a C4.5 tree.

    Parameters
    ----------
    matrix : TrainingMatrix
        The features.
    labels : ndarray of shape (n_samples, n_labels)
        Columns to add, the first of them first.
    """

    def __init__(self, matrix: TrainingMatrix, labels: Array) -> None:
        self.matrix = matrix
        self.labels = labels
        self.wide = None if matrix.is_tree else WideRows(matrix.X, labels)

    def first(self, n_labels: int) -> TrainingMatrix:
        """Return the matrix with so many labels. Of a tree's only the new columns are sorted."""
        if not n_labels:
            return self.matrix
        wider = copy(self.matrix)
        if self.wide is not None:
            wider.X = self.wide.first(n_labels)
            return wider
        labels = self.labels[:, :n_labels]
        wider.sorted = wider.sorted.with_columns(labels)
        if not isinstance(wider.base.nominal_features, str):
            nominal = wider.base._nominal_mask(self.matrix.sorted)
            wider.base = clone(wider.base)
            wider.base.nominal_features = np.append(nominal, [True] * n_labels)
        return wider


class WideRows:
    """Rows with columns added on the right, some or all of them to be seen.

    Dense rows are copied once, and what is seen of them is a view; sparse ones at every look.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, n_features)
        Rows.
    columns : ndarray of shape (n, n_columns)
        What to add. Later changes are seen through `put` alone.
    """

    def __init__(self, X: Matrix, columns: Array) -> None:
        self.X = X
        self.columns = columns
        self.dense = None if sparse.issparse(X) else np.hstack([X, columns], dtype=X.dtype)

    def first(self, n_columns: int) -> Matrix:
        """Return the rows with so many of the columns."""
        if self.dense is not None:
            return self.dense[:, : self.X.shape[1] + n_columns]
        added = sparse.csr_array(self.columns[:, :n_columns])
        return sparse.hstack([self.X, added], format="csr", dtype=self.X.dtype)

    def put(self, number: int, column: Array) -> None:
        """Fill in one column."""
        self.columns[:, number] = column
        if self.dense is not None:
            self.dense[:, self.X.shape[1] + number] = column


class QueryRows:
    """Rows that many fitted members are asked about.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_queries, n_features)
        Validated rows.
    """

    def __init__(self, X: Matrix) -> None:
        self.X = X
        self.shape: tuple[int, int] = X.shape

    @cached_property
    def _values(self) -> RowValues:
        return RowValues.of(self.X)

    def proba(self, member: Any) -> Array:
        """Return class probabilities, columns as in the member's ``classes_``.

        They are 0 and 1 when the member can only name classes.
        """
        if len(member.classes_) == 1:
            return np.ones((self.shape[0], 1))
        if isinstance(member, C45TreeClassifier):
            return member._proba(self._values)
        with trusting(is_plain(member)):
            if hasattr(member, "predict_proba"):
                return member.predict_proba(self.X)
            return (member.predict(self.X)[:, None] == member.classes_).astype(np.float64)

    def leaves(self, tree: C45TreeClassifier) -> Array:
        """Return the number of the leaf that each row falls into."""
        return tree._apply(self._values)

    def positive(self, member: Any) -> Array:
        """Return the probability of class 1 in a problem of classes 0 and 1."""
        if len(member.classes_) == 1:
            return np.full(self.shape[0], float(member.classes_[0] == 1))
        return self.proba(member)[:, 1]


def tally(
    vote: Callable[[Any, Array], None], voters: Sequence[Any], shape: tuple[int, int], n_jobs: Any
) -> Array:
    """Let all voters vote, in threads, and add up.

    Parameters
    ----------
    vote : callable
        ``vote(voter, sheet)`` adds whole numbers to the sheet.
    voters : sequence
        What `vote` is called with.
    shape : tuple of int
        Shape of a sheet.
    n_jobs : int or None
        Threads. Each has one sheet, so memory does not grow with the number of voters.

    Returns
    -------
    ndarray of int
        The sum of the sheets.
    """
    threads = effective_n_threads(n_jobs)

    def count(first: int) -> Array:
        sheet = np.zeros(shape, dtype=np.int64)
        for voter in voters[first::threads]:
            vote(voter, sheet)
        return sheet

    return np.sum(map_threads(count, range(threads), n_jobs), axis=0)
