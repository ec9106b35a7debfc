"""The scatter of pairs, S_C − r·S_M (Eq. 4–7), over training rows in memory.

`TrainingRows` is what a projection is learned from; `labelkin.projection._blocks.BlockRows` is the
same for rows in blocks on Dask workers.
"""

from functools import cached_property

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from labelkin._utils.equal_rows import first_of_equals
from labelkin.base import Array, Matrix
from labelkin.rows import (
    as_dense,
    ascontiguousarray,
    astype,
    is_device_array,
    itemsize,
    namespace_and_device,
    rows_per_block,
)

# A sparse matrix of at most 2²³ entries (64 MB dense) of which more than 2 % are stored is
# multiplied faster as a dense one.
_DENSE_ENTRIES = 2**23
_DENSE_SHARE = 0.02
# Up to this ratio of rows in pairs to coordinates, rotating those rows into their own row space
# costs less than the smaller eigenproblem saves: 10 % of a fit of 30 members on medical.
_FEW_ROWS = 0.6
# Columns of Xᵀ E that are computed at once.
_COLUMNS = 128
# Newton's iteration squares the error of nearly orthogonal columns: three steps are usual.
_MOST_STEPS = 10


class TrainingRows:
    """Training samples in coordinates in which learning a projection is cheap.

    All differences of samples lie in the row space of X. When that is smaller than the feature
    space (k > n) the samples are rotated into it, once for any number of projections; eigenvectors
    found there are rotated back, and nothing is lost. ``basis`` are the orthonormal rows that span
    it, equal to ``factor.T @ X``; None: the coordinates are the features. The work is done on the
    device of X.
    """

    def __init__(self, X: Matrix) -> None:
        n, k = X.shape
        self.n_features = k
        self._samples = X
        self.basis: Array = None
        self.factor: Array = None
        if k > n:
            self.basis, self.factor = _row_space(X)
        if self.basis is not None:
            self.rows = X @ self.basis.T
        elif sparse.issparse(X) and n * k <= _DENSE_ENTRIES and X.nnz > _DENSE_SHARE * n * k:
            self.rows = X.toarray()
        else:
            self.rows = X

    @cached_property
    def _first(self) -> Array | None:
        """For each sample the first one equal to it; None where no two are equal."""
        return first_of_equals(self._samples)

    @cached_property
    def _centred(self) -> Matrix:
        """The rows moved, if they are dense: far from the origin a scatter loses digits."""
        if sparse.issparse(self.rows):
            return self.rows
        xp, _ = namespace_and_device(self.rows)
        return self.rows - xp.mean(self.rows, axis=0)

    def scatter_difference(self, must_link: Array, cannot_link: Array) -> tuple[Array, float]:
        """Return S_C − r·S_M (Eq. 5–7) and r (Eq. 4), in these coordinates.

        On the host, with L the Laplacian of the graph whose edges are the pairs, the sum over the
        pairs of (x_i − x_j)(x_i − x_j)ᵀ is Xᵀ L X: one product for both kinds of pairs. On a device
        gathering rows is cheap, and the differences are multiplied block by block. Without
        must-links the result is S_C alone.
        """
        X = self._centred
        if is_device_array(X):
            sums = _sum_of_squares(X, must_link), _sum_of_squares(X, cannot_link)
            return difference_of_sums(*sums, must_link.shape[0], cannot_link.shape[0])
        LX_C, LX_M = laplacian(cannot_link, X) @ X, laplacian(must_link, X) @ X
        # The traces of S_C and of S_M.
        if sparse.issparse(X):
            trace_C, trace_M = X.multiply(LX_C).sum(), X.multiply(LX_M).sum()
        else:
            trace_C, trace_M = np.vdot(X, LX_C), np.vdot(X, LX_M)
        scaling = scaling_coefficient(float(trace_C), float(trace_M))
        return symmetric_product(X, LX_C - scaling * LX_M), scaling

    def project(self, W: Array) -> Array:
        """Return the rows projected by W, (p, d); equal samples stay equal to the last digit.

        A matrix product may round equal rows differently, by their position, and so undo
        ties between neighbours.
        """
        Z = self.rows @ W
        return Z if self._first is None else Z[self._first]

    def in_features(self, vectors: Array) -> Array:
        """Return directions of these coordinates, (p, d), as directions of features, (k, d)."""
        # Transposed, so that each direction is contiguous in memory.
        return vectors if self.basis is None else (vectors.T @ self.basis).T

    def identity(self) -> tuple[Array, Array]:
        """Return the projection that changes nothing, in these coordinates and in features."""
        xp, device = namespace_and_device(self.rows)
        eye = xp.eye(self.n_features, dtype=self.rows.dtype, device=device)
        return eye if self.basis is None else self.basis, eye

    def restrict(self, must_link: Array, cannot_link: Array) -> tuple["TrainingRows", Array, Array]:
        """Return the rows that occur in a pair, if they are few, and the pairs among them.

        Weights can leave so few rows that their row space is much smaller still. The
        coordinates are the features of what is returned.
        """
        n, k = self.rows.shape
        if is_device_array(self.rows):
            return self, must_link, cannot_link
        in_pair = np.zeros(n, dtype=bool)
        in_pair[must_link], in_pair[cannot_link] = True, True
        if np.count_nonzero(in_pair) > _FEW_ROWS * k:
            return self, must_link, cannot_link
        place = np.cumsum(in_pair) - 1
        return TrainingRows(self._centred[in_pair]), place[must_link], place[cannot_link]


def difference_of_sums(
    sum_M: Array, sum_C: Array, n_must_link: int, n_cannot_link: int
) -> tuple[Array, float]:
    """Return S_C − r·S_M and r from the sums of (x_i − x_j)(x_i − x_j)ᵀ over the pairs."""
    S_M, S_C = sum_M / (2 * max(n_must_link, 1)), sum_C / (2 * max(n_cannot_link, 1))
    trace = namespace_and_device(S_M)[0].linalg.trace
    scaling = scaling_coefficient(float(trace(S_C)), float(trace(S_M)))
    return S_C - scaling * S_M, scaling


def scaling_coefficient(trace_C: float, trace_M: float) -> float:
    """Return r (Eq. 4) = tr S_C / tr S_M.

    Where all must-links are of identical samples S_M is zero, and any finite r will do.
    """
    return trace_C / trace_M if trace_M > 0 else 1.0


def laplacian(pairs: Array, X: Matrix) -> sparse.csr_array:
    """Return the Laplacian of the graph of the pairs over twice their number (Eq. 6–7)."""
    n_samples = X.shape[0]
    i, j = pairs.T
    weight = np.full(len(pairs), 1 / (2 * max(len(pairs), 1)), dtype=X.dtype)
    row, column = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
    data = np.concatenate([weight, weight, -weight, -weight])
    return sparse.csr_array((data, (row, column)), shape=(n_samples, n_samples))


def symmetric_product(X: Matrix, E: Matrix, n_columns: int = _COLUMNS) -> Array:
    """Return Xᵀ E where it is symmetric but for rounding, symmetric to the last digit.

    Of a dense X one triangle is computed, `n_columns` columns at a time, and mirrored: half the
    products.
    """
    if sparse.issparse(X):
        product = (X.T @ E).toarray()
        return (product + product.T) * 0.5
    k = X.shape[1]
    product = np.empty((k, k), dtype=X.dtype)
    for columns in gen_batches(k, n_columns):
        first, end = columns.start, columns.stop
        np.matmul(X[:, first:].T, E[:, columns], out=product[first:, columns])
        corner = product[columns, columns]
        product[columns, columns] = (corner + corner.T) * 0.5
        product[columns, end:] = product[end:, columns].T
    return product


def _sum_of_squares(X: Array, pairs: Array) -> Array:
    """Sum (x_i − x_j)(x_i − x_j)ᵀ over the pairs on a device, in blocks of bounded memory."""
    xp, device = namespace_and_device(X)
    n_pairs, k = pairs.shape[0], X.shape[1]
    size = rows_per_block(3 * k, itemsize(X), device, most=max(n_pairs, 1))
    total = xp.zeros((k, k), dtype=X.dtype, device=device)
    for start in range(0, n_pairs, size):
        some = pairs[start : min(start + size, n_pairs), :]
        differences = xp.take(X, some[:, 0], axis=0) - xp.take(X, some[:, 1], axis=0)
        total = total + differences.T @ differences
    return total


def _row_space(X: Matrix) -> tuple[Array, Array | None]:
    """Return an orthonormal basis B of the row space, (rank, n_features), from the small X·Xᵀ.

    With it, for sparse rows, F such that B = Fᵀ X, (n, rank); None if there are only zeros.
    """
    xp, device = namespace_and_device(X)
    values, vectors = xp.linalg.eigh(astype(as_dense(X @ X.T), "float64"))
    n = values.shape[0]
    tolerance = n * float(xp.finfo(X.dtype).eps) * values[-1]
    rank = int(xp.count_nonzero(values > tolerance))
    if rank == 0:  # any direction will do
        return xp.eye(1, X.shape[1], dtype=X.dtype, device=device), None
    factor = vectors[:, n - rank :]
    if not sparse.issparse(X):
        [basis] = _orthonormalise(astype(X, "float64").T @ factor)
        return ascontiguousarray(astype(basis.T, X.dtype)), None
    basis, factor = _orthonormalise(X.T @ factor, factor)
    return ascontiguousarray(basis.T.astype(X.dtype)), factor.astype(X.dtype)


def _orthonormalise(columns: Array, *others: Array) -> list[Array]:
    """Make columns orthonormal that are orthogonal but for rounding; do the same to others.

    By Newton's iteration: a few matrix products, where a QR decomposition takes several times
    as long.
    """
    xp, device = namespace_and_device(columns)
    length = xp.sqrt(xp.sum(columns * columns, axis=0))
    found = [A / length for A in (columns, *others)]
    identity = xp.eye(columns.shape[1], dtype=columns.dtype, device=device)
    for _ in range(_MOST_STEPS):
        excess = found[0].T @ found[0] - identity
        found = [A - A @ (0.5 * excess) for A in found]
        if float(xp.sum(excess * excess)) < float(xp.finfo(columns.dtype).eps):
            break
    return found
