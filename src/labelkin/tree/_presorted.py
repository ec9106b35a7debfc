"""A training matrix as the C4.5 kernels read it: columns sorted by value."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Columns = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]


def used_columns(X: Any, feature: NDArray[np.int32]) -> tuple[Any, Any, NDArray[np.float64]]:
    """Return the columns of a validated matrix that nodes test, and these as a dense matrix.

    Before that, the place of each node's feature among them is returned; that of leaves is 0.
    """
    used = np.unique(feature[feature >= 0])
    place = np.searchsorted(used, feature).astype(np.int32)
    found = X[:, used]
    found = found.toarray() if sparse.issparse(found) else found
    return used, place, np.ascontiguousarray(found, dtype=np.float64)


@dataclass(eq=False)
class PresortedMatrix:
    """A training matrix with every column sorted once, for many trees.

    Column j has its non-zero entries in rows ``rows[indptr[j]:indptr[j + 1]]``, ordered by value.
    A subset of the rows is chosen with `columns`, and columns are added with `add_columns`;
    neither sorts anything again.
    """

    X: Any
    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    values: NDArray[np.float64]

    @classmethod
    def from_matrix(cls, X: Any, resolution: float = 0.0) -> Self:
        """Sort the columns of a validated matrix; warn of those that trees cannot split.

        `resolution` is `C45TreeClassifier.value_resolution`.
        """
        matrix = cls(X, *_sort_columns(X))
        with np.errstate(over="ignore"):
            gaps = [np.diff(matrix.column(j)).max(initial=0) for j in range(X.shape[1])]
        merged = [j for j, gap in enumerate(gaps) if 0 < gap <= resolution]
        if merged:
            warnings.warn(
                f"Trees cannot split column {merged[0]} of X (1 of {len(merged)} such columns): "
                f"its values are closer than value_resolution={resolution:g} of "
                "C45TreeClassifier; scale the column, or set value_resolution=0.",
                stacklevel=4,
            )
        return matrix

    def column(self, number: int) -> NDArray[np.float64]:
        """Return the values of a column in ascending order, zero only once."""
        values = self.values[self.indptr[number] : self.indptr[number + 1]]
        return values if len(values) == self.shape[0] else np.sort(np.append(values, 0.0))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.X.shape

    def columns(self, present: NDArray[np.bool_]) -> Columns:
        """Return the sorted columns of some of the rows: the same arrays if all are present."""
        if present.all():
            return self.indptr, self.rows, self.values
        kept = present[self.rows]
        ends = np.concatenate(([0], np.cumsum(kept)))
        return ends[self.indptr], self.rows[kept], self.values[kept]

    @cached_property
    def binary(self) -> NDArray[np.bool_]:
        """Columns with no other values than 0 and 1."""
        others = np.concatenate(([0], np.cumsum(self.values != 1)))
        return np.diff(others[self.indptr]) == 0


def add_columns(X: Any, columns: NDArray[Any]) -> Any:
    """Return a matrix, presorted or not, with more columns on the right, in its form and dtype."""
    if not columns.shape[1]:
        return X
    if isinstance(X, PresortedMatrix):
        indptr, rows, values = _sort_columns(columns)
        return PresortedMatrix(
            add_columns(X.X, columns),
            np.concatenate((X.indptr, X.indptr[-1] + indptr[1:])),
            np.concatenate((X.rows, rows)),
            np.concatenate((X.values, values)),
        )
    if sparse.issparse(X):
        return sparse.hstack([X, sparse.csr_array(columns)], format="csr", dtype=X.dtype)
    return np.hstack([X, columns], dtype=X.dtype)


def _sort_columns(X: Any) -> Columns:
    by_column = sparse.csc_array(X, dtype=np.float64, copy=True)
    by_column.sum_duplicates()
    by_column.eliminate_zeros()
    column = np.repeat(np.arange(X.shape[1]), np.diff(by_column.indptr))
    order = np.lexsort((by_column.data, column))
    rows = by_column.indices[order].astype(np.int32)
    return by_column.indptr.astype(np.int64), rows, by_column.data[order]
