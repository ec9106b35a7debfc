"""C4.5 decision trees as WEKA's J48 grows and prunes them."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from numbers import Integral, Real
from types import ModuleType
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

__all__ = ["C45Tree", "C45TreeClassifier", "PresortedMatrix"]

# Above this total weight a table of n·log2(n) no longer fits the cache.
_LARGEST_TABLE = 1 << 17


def _kernels() -> ModuleType:
    """Return the compiled kernels, imported at first use."""
    try:
        from labelkin.tree import _c45
    except ImportError as error:
        raise ImportError(
            "C45TreeClassifier needs numba: install it with `pip install labelkin[tree]`."
        ) from error
    return _c45


@lru_cache
def _log_table(size: int) -> NDArray[np.float64]:
    """``k·log2(k)`` for k below ``size``; ask for powers of two, so that few are made."""
    k = np.arange(size, dtype=np.float64)
    table = k * np.log2(np.maximum(k, 1.0))
    table.flags.writeable = False
    return table


@dataclass(frozen=True)
class RowValues:
    """Random access to a matrix for the kernels: dense, or CSR with sorted indices."""

    dense: NDArray[np.float64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]
    n_rows: int

    @classmethod
    def of(cls, X: Any) -> Self:
        """Wrap a validated matrix; the input is never changed."""
        if sp.issparse(X):
            X = X.tocsr()
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
            return cls(
                np.empty((0, 0)),
                X.indptr.astype(np.int64, copy=False),
                X.indices.astype(np.int32, copy=False),
                X.data.astype(np.float64, copy=False),
                X.shape[0],
            )
        nothing = np.empty(0)
        dense = np.ascontiguousarray(X, dtype=np.float64)
        return cls(dense, nothing.astype(np.int64), nothing.astype(np.int32), nothing, len(X))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What the kernels take."""
        return self.dense, self.indptr, self.indices, self.data


class PresortedMatrix:
    """A training matrix with every column sorted: sort once, grow many trees.

    Binary relevance, chains and calibrated label ranking grow tree after tree on one matrix.
    They sort it once and pass it to ``C45TreeClassifier._fit_presorted``; a subset of the
    rows is said with weights of zero, and columns are added with ``with_columns``: neither
    sorts anything again.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Finite numbers. Only non-zero entries are kept by column.

    Attributes
    ----------
    shape : tuple of int
    indptr, rows, values : ndarray
        Column j holds rows ``rows[indptr[j]:indptr[j + 1]]``, ordered by value.
    lookup : RowValues
        Access by row, which pruning needs.
    binary : ndarray of bool of shape (n_features,)
        Columns with no other values than 0 and 1.
    """

    def __init__(self, X: Any) -> None:
        self._X = X
        self.shape: tuple[int, int] = X.shape
        self.lookup = RowValues.of(X)
        columns = self._sorted_sparse(X) if sp.issparse(X) else self._sorted_dense()
        self.indptr, self.rows, self.values = columns

    def _sorted_dense(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        by_column = np.ascontiguousarray(self.lookup.dense.T)
        order = np.argsort(by_column, axis=1)
        values = np.take_along_axis(by_column, order, axis=1)
        kept = values != 0
        indptr = np.concatenate(([0], np.cumsum(kept.sum(axis=1))))
        return indptr.astype(np.int64), order[kept].astype(np.int32), values[kept]

    @staticmethod
    def _sorted_sparse(
        X: Any,
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        by_column = sp.csc_array(X, dtype=np.float64, copy=True)
        by_column.sum_duplicates()
        by_column.eliminate_zeros()
        indptr, rows, values = by_column.indptr, by_column.indices, by_column.data
        # Binary columns are in order already: sort only where a value falls.
        falls = np.flatnonzero(values[1:] < values[:-1]) + 1
        column = np.searchsorted(indptr, falls, side="right") - 1
        for j in np.unique(column[falls > indptr[column]]):
            part = slice(indptr[j], indptr[j + 1])
            order = np.argsort(values[part])
            rows[part], values[part] = rows[part][order], values[part][order]
        return indptr.astype(np.int64), rows.astype(np.int32), values

    def with_columns(self, columns: NDArray[Any]) -> PresortedMatrix:
        """Return a matrix with more columns on the right; only the new ones are sorted."""
        new = PresortedMatrix(columns)
        wider = copy(self)
        for cached in ("binary", "two_valued"):
            wider.__dict__.pop(cached, None)
        if sp.issparse(self._X):
            wider._X = sp.hstack([self._X, sp.csr_array(columns)], format="csr")
        else:
            wider._X = np.hstack([self._X, columns])
        wider.shape = wider._X.shape
        wider.lookup = RowValues.of(wider._X)
        wider.indptr = np.concatenate((self.indptr, self.indptr[-1] + new.indptr[1:]))
        wider.rows = np.concatenate((self.rows, new.rows))
        wider.values = np.concatenate((self.values, new.values))
        return wider

    @cached_property
    def binary(self) -> NDArray[np.bool_]:
        """Columns with no other values than 0 and 1."""
        filled = np.diff(self.indptr) > 0
        result = ~filled
        first, last = self.indptr[:-1][filled], self.indptr[1:][filled] - 1
        result[filled] = (self.values[first] == 1) & (self.values[last] == 1)
        return result

    @cached_property
    def two_valued(self) -> NDArray[np.bool_]:
        """Columns with at most two distinct values."""
        filled = np.diff(self.indptr)
        changes = np.concatenate(([False], self.values[1:] != self.values[:-1]))
        changes[self.indptr[:-1][filled > 0]] = True  # a column's first entry is a new value
        before = np.concatenate(([0], np.cumsum(changes)))
        distinct = np.diff(before[self.indptr])
        return distinct + (filled < self.shape[0]) <= 2


@dataclass(frozen=True)
class C45Tree:
    """A fitted tree as parallel arrays, in preorder, named as in scikit-learn.

    Attributes
    ----------
    feature : ndarray of shape (node_count,)
        Column tested at a node; -2 in leaves.
    threshold : ndarray of shape (node_count,)
        A sample goes left when its value is at most this; -2 in leaves.
    children_left, children_right : ndarray of shape (node_count,)
        -1 in leaves.
    value : ndarray of shape (node_count, n_classes)
        Weight of the training samples of each class.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    children_left: NDArray[np.int32]
    children_right: NDArray[np.int32]
    value: NDArray[np.float64]

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.sum(self.children_left < 0))

    @property
    def max_depth(self) -> int:
        """Number of tests on the longest way down."""
        depth = np.zeros(self.node_count, dtype=int)
        for node in np.flatnonzero(self.children_left >= 0):
            depth[self.children_left[node]] = depth[self.children_right[node]] = depth[node] + 1
        return int(depth.max())

    @property
    def weighted_n_node_samples(self) -> NDArray[np.float64]:
        """Weight of the training samples at each node."""
        return self.value.sum(axis=1)


class C45TreeClassifier(ClassifierMixin, BaseEstimator):
    """C4.5 decision tree, equal to WEKA's J48 on numeric and two-valued attributes.

    A node is split on the column of largest gain ratio among those whose information gain
    is at least about the mean gain. The grown tree is collapsed where its leaves err no less
    than one leaf would, then pruned by pessimistic error estimates with subtree raising.

    Parameters
    ----------
    confidence : float, default=0.25
        Confidence of the error estimates, in (0, 0.5]; smaller prunes more (J48's ``-C``).
    min_samples_leaf : int, default=2
        Least weight of samples on either side of a split (J48's ``-M``).
    pruning : bool, default=True
        Whether to prune by estimated errors.
    subtree_raising : bool, default=True
        Whether pruning may replace a node by its larger branch.
    collapse : bool, default=True
        Whether to cut subtrees that do not lower the training error, before pruning.
    mdl_correction : bool, default=True
        Whether a numeric column's gain pays log2(number of cuts) / weight for the choice.
    nominal_features : None, "binary" or array-like, default=None
        Columns that are nominal attributes of two values: a mask or indices, or "binary" for
        all columns of zeros and ones. Such a column may be split with ``min_samples_leaf``
        on a side and takes part in the mean gain even when it gains nothing; a numeric
        column needs a tenth of the mean weight of a class on each side (at most 25) and
        takes part only with a positive gain. Nominal attributes of more values are refused:
        code them as indicator columns.
    value_resolution : float, default=1e-5
        Values this close are one value, as in J48. Use 0 for columns of tiny scale.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only when X has column names that are all strings.
    tree_ : C45Tree

    Notes
    -----
    Weights count as repetitions: ``min_samples_leaf``, the minimum of a numeric split and
    the error estimates all go by weight. Scale weights to sum to the number of samples.

    Not part of it: missing values, nominal attributes of more than two values, reduced-error
    pruning and Laplace smoothing. Two deliberate differences: J48 counts samples, not their
    weight, when it asks whether a numeric column has enough of them; and it lets a
    ``min_samples_leaf`` above 25 drop to 25 for numeric columns.

    References
    ----------
    J. R. Quinlan, C4.5: Programs for Machine Learning, Morgan Kaufmann, 1993; Improved use
    of continuous attributes in C4.5, JAIR 4, 1996.

    Examples
    --------
    >>> from labelkin.tree._classifier import C45TreeClassifier
    >>> X = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]
    >>> tree = C45TreeClassifier().fit(X, ["low", "low", "low", "high", "high", "high"])
    >>> print(tree.export_text(feature_names=["size"]))
    size <= 3: low (3)
    size > 3: high (3)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "confidence": [Interval(Real, 0, 0.5, closed="right")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "pruning": ["boolean"],
        "subtree_raising": ["boolean"],
        "collapse": ["boolean"],
        "mdl_correction": ["boolean"],
        "nominal_features": [None, StrOptions({"binary"}), "array-like"],
        "value_resolution": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        confidence: float = 0.25,
        *,
        min_samples_leaf: int = 2,
        pruning: bool = True,
        subtree_raising: bool = True,
        collapse: bool = True,
        mdl_correction: bool = True,
        nominal_features: str | ArrayLike | None = None,
        value_resolution: float = 1e-5,
    ) -> None:
        self.confidence = confidence
        self.min_samples_leaf = min_samples_leaf
        self.pruning = pruning
        self.subtree_raising = subtree_raising
        self.collapse = collapse
        self.mdl_correction = mdl_correction
        self.nominal_features = nominal_features
        self.value_resolution = value_resolution

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow and prune the tree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples; finite numbers.
        y : array-like of shape (n_samples,)
            Class of each sample.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; a weight of 2 is a sample seen twice, 0 one not seen.

        Returns
        -------
        C45TreeClassifier
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        return self._fit_presorted(PresortedMatrix(X), np.asarray(y), weight)

    def _fit_presorted(
        self,
        matrix: PresortedMatrix,
        y: NDArray[Any],
        sample_weight: NDArray[np.float64] | None = None,
        classes: NDArray[Any] | None = None,
    ) -> Self:
        """Fit on a matrix sorted before; arguments are taken as valid.

        Rows of weight zero are left out at no cost, so this is also the way to fit on a
        subset of the rows. ``classes_`` are those of all of ``y``; with ``classes`` given,
        ``y`` holds positions in it.
        """
        kernels = _kernels()
        if classes is None:
            classes, y = np.unique(y, return_inverse=True)
        self.classes_, codes = classes, y.astype(np.int32)
        self.n_features_in_ = matrix.shape[1]
        weight = np.ones(len(codes)) if sample_weight is None else sample_weight
        total = float(weight.sum())
        if total <= 0:
            raise ValueError("sample_weight must be positive for at least one sample.")
        if total < 2 * self.min_samples_leaf <= np.count_nonzero(weight):
            warnings.warn(
                f"sample_weight sums to {total:g}, too little for any split: weights count as "
                "repeated samples, so scale them to sum to the number of samples.",
                stacklevel=4,
            )
        whole = total < _LARGEST_TABLE and bool(np.all(weight == np.rint(weight)))
        resolution = float(self.value_resolution)
        grown = kernels.grow(
            matrix.indptr,
            matrix.rows,
            matrix.values,
            codes,
            weight,
            self._nominal_mask(matrix),
            len(self.classes_),
            float(self.min_samples_leaf),
            bool(self.mdl_correction),
            resolution,
            _log_table(1 << int(total).bit_length()) if whole else _log_table(0),
        )
        confidence = float(self.confidence)
        self.tree_ = C45Tree(
            *kernels.prune(
                *grown,
                codes,
                weight,
                len(self.classes_),
                *matrix.lookup.arrays,
                0.1 * resolution,
                bool(self.collapse),
                bool(self.pruning),
                bool(self.subtree_raising),
                confidence,
                float(ndtri(1 - confidence)),
            )
        )
        # Kept apart from the parameter: a fitted tree does not change with set_params.
        self._reach = 0.1 * resolution
        return self

    def _nominal_mask(self, matrix: PresortedMatrix) -> NDArray[np.bool_]:
        """Which columns are two-valued nominal attributes."""
        n_features = matrix.shape[1]
        if self.nominal_features is None:
            return np.zeros(n_features, dtype=bool)
        if isinstance(self.nominal_features, str):
            return matrix.binary
        chosen = np.asarray(self.nominal_features)
        mask = np.zeros(n_features, dtype=bool)
        if chosen.dtype == bool:
            if chosen.shape != (n_features,):
                raise ValueError(
                    f"nominal_features has {chosen.size} entries as a mask, but X has "
                    f"{n_features} features."
                )
            mask |= chosen
        elif chosen.size:
            if chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= n_features:
                raise ValueError(
                    "nominal_features must be a mask of booleans or column indices from 0 to "
                    f"{n_features - 1}."
                )
            mask[chosen] = True
        refused = np.flatnonzero(mask & ~matrix.two_valued)
        if len(refused):
            raise ValueError(
                f"nominal_features includes column {refused[0]}, which has more than two values: "
                "code it as indicator columns, or leave it out to split it as a number."
            )
        return mask

    def _apply(self, rows: RowValues) -> NDArray[np.int32]:
        """Return the leaf of rows wrapped before; many trees can share the wrapping."""
        tree = self.tree_
        return _kernels().apply(
            *rows.arrays,
            rows.n_rows,
            tree.feature,
            tree.threshold,
            tree.children_left,
            tree.children_right,
            self._reach,
        )

    def _proba(self, rows: RowValues) -> NDArray[np.float64]:
        """Class probabilities of rows wrapped before."""
        value = self.tree_.value
        return (value / value.sum(axis=1, keepdims=True))[self._apply(rows)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Share of each class among the training samples of the leaf.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._proba(RowValues.of(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Most frequent class of the leaf; of equals the first in ``classes_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def get_depth(self) -> int:
        """Return the number of tests on the longest way from the root to a leaf."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def export_text(self, feature_names: ArrayLike | None = None) -> str:
        """Write the tree as text in J48's manner.

        Parameters
        ----------
        feature_names : array-like of str of shape (n_features,), default=None
            Names of the columns; by default those seen in ``fit``, else x0, x1, ….

        Returns
        -------
        str
            One line a test; after a leaf's class the weight it holds and, behind a slash,
            the misclassified part.
        """
        check_is_fitted(self)
        if feature_names is None:
            default = [f"x{j}" for j in range(self.n_features_in_)]
            names = list(getattr(self, "feature_names_in_", default))
        else:
            names = [str(name) for name in np.asarray(feature_names)]
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"feature_names has {len(names)} names, but the tree was fitted on "
                f"{self.n_features_in_} features."
            )
        tree, lines = self.tree_, []

        def leaf_text(node: int) -> str:
            value = tree.value[node]
            total, wrong = value.sum(), value.sum() - value.max()
            errors = f"/{wrong:.6g}" if wrong > 0 else ""
            return f": {self.classes_[value.argmax()]} ({total:.6g}{errors})"

        # A stack of (node, depth, the test that leads there).
        stack = [(0, -1, "")]
        while stack:
            node, depth, test = stack.pop()
            is_leaf = tree.children_left[node] < 0
            if test or is_leaf:
                lines.append("|   " * depth + test + (leaf_text(node) if is_leaf else ""))
            if not is_leaf:
                name, point = names[tree.feature[node]], f"{tree.threshold[node]:.6g}"
                right, left = tree.children_right[node], tree.children_left[node]
                stack.append((right, depth + 1, f"{name} > {point}"))
                stack.append((left, depth + 1, f"{name} <= {point}"))
        return "\n".join(lines)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
