"""Rows, and the kernels between them: distances once, kernels of any width from them.

Rows are arrays of any namespace or CSR matrices; distances and kernel values are dense.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils import gen_batches
from sklearn.utils._array_api import device, get_namespace

from labelkin._utils.array_api import is_device_array
from labelkin.base import Array, Matrix
from labelkin.rows import DaskRows, Rows, as_rows

RADIAL = ("rbf", "laplacian", "manhattan")
LINEAR = ("linear", "cosine")

# Below this share of stored values, sparse rows are faster for sums of differences...
_SPARSE_SHARE = 0.05
# ... but for their columns with more than this share.
_FULL_COLUMN = 0.25
# On a device: queries of a block, and the entries of their differences that are held together.
_DEVICE_QUERIES, _DEVICE_ENTRIES = 16, 2**27


def kernel_values(
    kernel: str | Callable[[Any, Any], Any],
    X: Matrix,
    Q: Matrix | None = None,
    width: float | None = None,
) -> Any:
    """Return kernel values of queries (None: of the rows) and the rows.

    Radial kernels have a width; linear ones are inner products of rows prepared already.
    """
    if kernel in RADIAL:
        return radial(distances(str(kernel), X, Q), str(kernel), width or 1.0)
    Q = X if Q is None else Q
    return dense(kernel(Q, X)) if callable(kernel) else _products(Q, X)


def radial(distances: Any, kernel: str, width: float) -> Any:
    """Return the values of a radial kernel from the distances on which it depends.

    - ``"rbf"``: exp(−d² / 2·width²) from squared Euclidean distances d²;
    - ``"laplacian"``: exp(−d / width) from d²;
    - ``"manhattan"``: exp(−d / 2·width²) from sums of absolute differences d.
    """
    xp, _ = get_namespace(distances)
    if kernel == "laplacian":
        return xp.exp(xp.sqrt(distances) * (-1 / width))
    return xp.exp(distances * (-0.5 / width**2))


def distances(kernel: str, X: Matrix, Q: Matrix | None = None) -> Any:
    """Return the distances on which a radial kernel depends, of queries (None: rows) to rows."""
    if kernel != "manhattan":
        return squared_distances(X, Q)
    Q = X if Q is None else Q
    if is_device_array(X):
        return _manhattan_on_device(Q, X)
    stored = X.nnz if sparse.issparse(X) else np.count_nonzero(X)
    if sparse.issparse(X) or stored < _SPARSE_SHARE * X.shape[0] * X.shape[1]:
        queries, rows = (sparse.csr_matrix(A, dtype=np.float64, copy=True) for A in (Q, X))
        return _sparse_manhattan(queries, rows)
    return cdist(Q, X, "cityblock")


def _manhattan_on_device(Q: Any, X: Any) -> Any:
    """Return sums of absolute differences of queries to rows.

    A column in which all queries of a block are zero adds |x|, which is summed once. Differences
    are computed for the other columns: for texts, a few hundred among thousands.
    """
    xp, _ = get_namespace(X)
    lengths, found = xp.sum(xp.abs(X), axis=1), []
    for block in row_blocks(Q, 1, _DEVICE_QUERIES):
        total = xp.zeros_like(block[:, :1]) + lengths
        (used,) = xp.nonzero(xp.any(block != 0, axis=0))
        size = max(1, _DEVICE_ENTRIES // (block.shape[0] * X.shape[0]))
        for columns in gen_batches(used.shape[0], size):
            q, x = (xp.take(A, used[columns], axis=1) for A in (block, X))
            differences = xp.abs(q[:, None, :] - x[None, :, :])
            total += xp.sum(differences, axis=2) - xp.sum(xp.abs(x), axis=1)
        found.append(total)
    found = xp.concat(found, axis=0)
    return xp.where(found > 0, found, xp.zeros_like(found))  # equal rows, up to rounding


def _sparse_manhattan(Q: Any, X: Any) -> Array:
    """Return sums of absolute differences of queries to rows, both CSR matrices.

    They are Σ|q| + Σ|x| but for columns in which both have a value, which are found by column: on
    texts a tenth of the time of a merge of each pair of rows. Full columns are dense.
    """
    n = X.shape[0]
    Q.sum_duplicates()
    X.sum_duplicates()
    full = np.bincount(X.indices, minlength=X.shape[1]) > _FULL_COLUMN * n
    found = cdist(Q[:, full].toarray(), X[:, full].toarray(), "cityblock")
    Q, X = Q[:, ~full], X[:, ~full].tocsc()
    found += abs(Q).sum(axis=1)
    found += abs(X).sum(axis=1).T
    lengths = np.diff(X.indptr)
    for row, start, stop in zip(found, Q.indptr, Q.indptr[1:], strict=False):
        columns = Q.indices[start:stop]
        counts = lengths[columns]
        stored = np.arange(counts.sum())
        stored += np.repeat(X.indptr[columns] - np.cumsum(counts) + counts, counts)
        q, x = np.repeat(Q.data[start:stop], counts), X.data[stored]
        row += np.bincount(X.indices[stored], np.abs(q - x) - np.abs(q) - np.abs(x), n)
    return np.maximum(found, 0)  # equal rows differ by 0, up to rounding


def squared_distances(X: Matrix, Q: Matrix | None = None) -> Any:
    """Return squared Euclidean distances of queries (None: of the rows) to the rows."""
    among_rows = Q is None
    Q = X if among_rows else Q
    if not sparse.issparse(X) and not sparse.issparse(Q):
        # |x|² − 2x·z + |z|² loses digits when the data lie far from the origin.
        offset = get_namespace(X)[0].mean(X, axis=0)
        X = X - offset
        Q = X if among_rows else Q - offset
    found = -2 * _products(Q, X)
    found += squared_norms(Q)[:, None]
    found += squared_norms(X)[None, :]
    xp, _ = get_namespace(found)
    found = xp.where(found > 0, found, xp.zeros_like(found))
    if among_rows:  # exactly 0, without rounding
        diagonal = xp.arange(X.shape[0], device=device(found))
        found = xp.where(diagonal[:, None] == diagonal[None, :], 0.0, found)
    return found


def _products(A: Matrix, B: Matrix) -> Any:
    """Return A Bᵀ, dense."""
    if sparse.issparse(A):
        return np.asarray(dense(A @ B.T))
    return np.asarray((B @ A.T).T) if sparse.issparse(B) else A @ B.T


def prepare_rows(X: Matrix, scale: Any = None, unit: bool = False) -> Matrix:
    """Return rows with their columns divided by `scale`, then of length 1 if `unit`."""
    if scale is not None:
        X = X.multiply(1 / scale).tocsr() if sparse.issparse(X) else X / scale
    return unit_rows(X) if unit else X


def squared_norms(X: Matrix) -> Any:
    """Return the squared length of each row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return get_namespace(X)[0].sum(X * X, axis=1)


def unit_rows(X: Matrix) -> Matrix:
    """Return rows of length 1; rows of zeros stay."""
    norms = squared_norms(X) ** 0.5
    xp, _ = get_namespace(norms)
    norms = xp.where(norms > 0, norms, xp.ones_like(norms))
    if sparse.issparse(X):
        return sparse.csr_matrix(X.multiply(1 / norms[:, None]), dtype=X.dtype)
    return X / norms[:, None]


def column_spread(X: Any, weight: Array | None = None) -> Any:
    """Return the standard deviation of each column, 1 where it is 0 up to rounding."""
    return as_rows(X).moments(weight).spread()


def take(A: Matrix, rows: Array, axis: int = 0) -> Matrix:
    """Return rows (or columns) of an array of any namespace, a CSR matrix, or rows in blocks."""
    if isinstance(A, DaskRows):
        return A.take(rows).gather()
    if sparse.issparse(A):
        return A[rows, :]
    xp, _ = get_namespace(A)
    return xp.take(A, xp.asarray(rows, device=device(A)), axis=axis)


def dense(A: Matrix) -> Any:
    """Return a matrix that may be sparse as an array."""
    return A.toarray() if sparse.issparse(A) else A


def sample_rows(n: int, rng: np.random.RandomState, size: int) -> Array:
    """Return the indices of all rows, or of a random sample of `size`, in order."""
    return np.arange(n) if n <= size else np.sort(rng.permutation(n)[:size])


def row_blocks(X: Matrix, width: int, block_values: int = 2**22) -> Iterator[Matrix]:
    """Yield blocks of rows for which an array of `width` columns has at most `block_values`.

    By default such an array takes 32 MB in double precision.
    """
    for batch in gen_batches(X.shape[0], max(1, block_values // max(1, width))):
        yield X[batch, :]


def cut_rows(X: Any, width: int) -> Rows:
    """Return such blocks of rows in memory; rows on workers in the blocks that they have."""
    return as_rows(X).batches(width)
