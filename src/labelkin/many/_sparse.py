"""Functions of CSR matrices."""

import numpy as np
from scipy import sparse

from labelkin.base import Array, Matrix


def scale_rows(S: Matrix, factors: Array) -> Matrix:
    """Return the rows multiplied by factors, in the same dtype."""
    data = S.data * np.repeat(factors, np.diff(S.indptr)).astype(S.dtype)
    return sparse.csr_array((data, S.indices, S.indptr), shape=S.shape)


def drop_small(S: Matrix, least: Array | float) -> Matrix:
    """Return the entries that are at least `least` (one number, or one per entry)."""
    return _select(S, S.data >= least)


def keep_largest(S: Matrix, k: int) -> Matrix:
    """Return the `k` largest entries of each row."""
    kept = np.ones(S.nnz, dtype=bool)
    for row in np.flatnonzero(np.diff(S.indptr) > k):
        start, end = S.indptr[row], S.indptr[row + 1]
        kept[start + np.argpartition(S.data[start:end], end - start - k)[:-k]] = False
    return _select(S, kept)


def _select(S: Matrix, kept: Array) -> Matrix:
    ends = np.append(0, np.cumsum(kept))[S.indptr]
    return sparse.csr_array((S.data[kept], S.indices[kept], ends), shape=S.shape)


def row_of_entries(indptr: Array) -> Array:
    """Return the row of each entry."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def has_entries(S: Matrix, row: Array, column: Array) -> Array:
    """Return whether the matrix stores an entry at each of the given places."""
    keys = row_of_entries(S.indptr).astype(np.int64) * S.shape[1] + S.indices
    return np.isin(row.astype(np.int64) * S.shape[1] + column, keys)


def presence(S: Matrix) -> Matrix:
    """Return 1 where there is an entry."""
    return sparse.csr_array((np.ones(S.nnz, np.float32), S.indices, S.indptr), shape=S.shape)
