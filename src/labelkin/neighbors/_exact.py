"""Exact nearest neighbours by blocked matrix products.

scikit-learn's brute-force search leaves open which of several equally distant samples it
returns, and the answer changes with the number of threads. Here a tie always goes to the
sample that comes first in the training data.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from labelkin._utils.array_api import (
    astype,
    convert_arrays,
    is_numpy,
    itemsize,
    namespace_and_device,
    rows_per_block,
    take_along_axis,
)
from labelkin._utils.equal_rows import first_of_equals
from labelkin._utils.parallel import map_parallel, map_threads
from labelkin.base import Array, Matrix

_GROUP = 16
# Distances of several members that are computed at once where nothing is gained by more.
_CELLS_TOGETHER = 2**20
# Distances on the host that are computed at once (32 MB).
_CELLS_AT_ONCE = 2**22
# Distances that are looked through sooner than threads are started.
_CELLS_ALONE = 2**20
# So many values are sorted rather than searched, where sorting is a single call.
_SORTED = 256


class NeighborSearch:
    """The k nearest rows of a training matrix, in Euclidean distance.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Training rows. The search runs on their device.
    n_neighbors : int
        How many neighbours to find, less than `n_samples` if rows are to be left out of
        their own neighbours, at most `n_samples` otherwise.
    """

    def __init__(self, X: Matrix, n_neighbors: int) -> None:
        # Distances come from |x|² − 2x·z + |z|², which loses digits when the data lie far
        # from the origin. Moving them by whole numbers keeps integer data, and hence their
        # ties, exact.
        offset = None
        if not sparse.issparse(X):
            offset = _whole_mean(X)
            if offset is not None:
                X = X - offset
        self._prepare(X, offset, n_neighbors)

    def _prepare(self, X: Matrix, offset: Array | None, n_neighbors: int) -> None:
        """Set up the search among rows that have been moved."""
        self.n_neighbors = n_neighbors
        self.offset = offset
        self.shape = X.shape
        if is_numpy(namespace_and_device(X)[0]):
            self.X = X
            self.squared_norms = row_norms(X, squared=True)
            self._first = first_of_equals(X)
            if self._first is not None:
                self._copies = np.flatnonzero(self._first != np.arange(X.shape[0]))
            return
        self.columns = distance_columns(X, n_neighbors)

    def query(self, Q: Matrix | None = None, n_jobs: int | None = None) -> Array:
        """Find the neighbours of each row of `Q`.

        Parameters
        ----------
        Q : array or CSR matrix of shape (n_queries, n_features), optional
            None: the training rows themselves, each left out of its own neighbours (but
            not its duplicates).
        n_jobs : int, optional
            Threads; None: as many as BLAS would use. Other libraries than NumPy use theirs.

        Returns
        -------
        array of int of shape (n_queries, n_neighbors)
            Row indices, nearest first, equal distances in the order of the rows.
        """
        n, k = self.shape[0], self.n_neighbors
        on_host = hasattr(self, "X")
        xp, device = namespace_and_device(None if on_host else self.columns)
        m = n if Q is None else Q.shape[0]
        if k == 0 or m == 0:
            return xp.zeros((m, k), dtype=xp.int64, device=device)
        Q = None if Q is None else self._move(Q)
        if on_host:
            return self._query_on_host(Q, m, n_jobs)
        rows = rows_per_block(n, itemsize(self.columns), device)

        def block(start: int) -> Array:
            stop = min(start + rows, m)
            distances = self._distances(self._queries(Q, start, stop))
            if Q is None:
                # Each of these rows is its own nearest one: put it out of reach.
                own = distances[:, start:stop]
                itself = xp.eye(stop - start, dtype=xp.bool, device=device)
                distances[:, start:stop] = xp.where(itself, math.inf, own)
            return _smallest(distances, k)

        found = [block(start) for start in range(0, m, rows)]
        return found[0] if len(found) == 1 else xp.concat(found, axis=0)

    def _query_on_host(self, Q: Matrix | None, m: int, n_jobs: int | None) -> Array:
        """Find the neighbours of `m` moved rows, or of the training rows."""
        blocks = list(gen_batches(m, rows_per_block(self.shape[0], 8, None)))
        # A small product is best left to BLAS as a whole: it has threads of its own, and of
        # the training rows with themselves it computes one half. Sparse rows have no BLAS: their
        # products are made in our threads.
        small = m * self.shape[0] <= _CELLS_AT_ONCE
        at_once = small and not sparse.issparse(self.X)
        products = self._products(self._queries(Q, 0, m)) if at_once else None

        def block(rows: slice) -> Array:
            start, stop = rows.start, rows.stop
            if products is None:
                distances = self._distances(self._queries(Q, start, stop))
            else:
                distances = self._from_products(products[rows])
            if Q is None:
                # Each of these rows is its own nearest one: put it out of reach.
                itself = np.arange(stop - start)
                distances[itself, start + itself] = np.inf
            return _smallest(distances, self.n_neighbors)

        if not small:
            return np.concatenate(map_parallel(block, blocks, n_jobs))
        few = m * self.shape[0] <= _CELLS_ALONE
        return np.concatenate(map_threads(block, blocks, 1 if few else n_jobs))

    def _move(self, Q: Matrix) -> Matrix:
        """Move queries as the training rows were."""
        if self.offset is None:
            return Q
        return (Q.toarray() if sparse.issparse(Q) else Q) - self.offset

    def _queries(self, Q: Matrix | None, start: int, stop: int) -> Matrix:
        """Return some rows of Q; without Q, of the training rows."""
        if Q is not None:
            return Q[start:stop, :]
        if hasattr(self, "X"):
            return self.X[start:stop]
        return -0.5 * self.columns[:-1, start:stop].T

    def _distances(self, Q: Matrix) -> Array:
        """Squared distances to every training row, less each query's own squared norm.

        On the host, half of that. The columns are padded with infinity, for the groups of
        `_smallest`.
        """
        if not hasattr(self, "X"):
            xp, device = namespace_and_device(self.columns)
            ones = xp.ones((1, Q.shape[0]), dtype=self.columns.dtype, device=device)
            # The transpose keeps the queries side by side in memory, which is how groups of
            # training rows are looked through fastest.
            return (self.columns.T @ xp.concat([Q.T, ones])).T
        return self._from_products(self._products(Q))

    def _products(self, Q: Matrix) -> Array:
        """Products of some rows with every training row."""
        if sparse.issparse(self.X) and sparse.issparse(Q):
            return (Q @ self.X.T).toarray()
        if sparse.issparse(self.X):
            return (self.X @ Q.T).T
        return (Q.toarray() if sparse.issparse(Q) else Q) @ self.X.T

    def _from_products(self, products: Array) -> Array:
        """Half the squared distances, less half of each query's own squared norm."""
        n_rows, n = products.shape
        padded = np.empty((n_rows, -(-n // _GROUP) * _GROUP), dtype=self.squared_norms.dtype)
        distances = padded[:, :n]
        np.subtract(0.5 * self.squared_norms, products, out=distances)
        if self._first is not None:
            # The product may round equal columns differently, by where they stand.
            distances[:, self._copies] = distances[:, self._first[self._copies]]
        padded[:, n:] = np.inf
        return padded

    def __sklearn_array_api_convert__(self, converter: Callable[[Any], Any]) -> "NeighborSearch":
        """Return the same search elsewhere; scikit-learn's way to move estimators."""
        if hasattr(self, "X"):
            X = self.X if sparse.issparse(self.X) else converter(self.X)
        else:
            X = converter(self._queries(None, 0, self.shape[0]))
        moved = object.__new__(type(self))
        moved._prepare(X, convert_arrays(self.offset, converter), self.n_neighbors)
        return moved


def distance_columns(X: Array, n_neighbors: int) -> Array:
    """Return what one product with [q, 1] turns into all distances from q, on a device.

    That is [−2x, |x|²] for each row x, as a column; no second pass adds the norms. Columns at
    infinity fill the last group of `_smallest`.

    Parameters
    ----------
    X : array of shape (..., n, d)
        Training rows; of several searches.
    n_neighbors : int
        How many will be looked for.

    Returns
    -------
    array of shape (..., d + 1, at least n)
    """
    xp, device = namespace_and_device(X)
    *stack, n, d = X.shape
    norms = xp.sum(X * X, axis=-1)
    columns = xp.concat([-2 * xp.matrix_transpose(X), norms[..., None, :]], axis=-2)
    missing = -n % _group_size(n, max(n_neighbors, 1))
    if not missing:
        return columns
    far = xp.zeros((*stack, d + 1, missing), dtype=X.dtype, device=device)
    far[..., -1, :] = math.inf
    return xp.concat([columns, far], axis=-1)


def rows_together(searches: list[NeighborSearch], size: int) -> int:
    """Return for how many rows each search can be asked, so many searches at a time."""
    columns = [search.columns for search in searches]
    n, height = columns[0].shape[1], max(c.shape[0] for c in columns)
    room = rows_per_block(n, itemsize(columns[0]), columns[0].device, most=_CELLS_TOGETHER // n)
    return max(room // size - height, 0)


def query_together(searches: list[NeighborSearch], queries: list[Array]) -> Array | None:
    """Ask several searches among equally many rows on a device at once.

    Parameters
    ----------
    searches : list of S NeighborSearch
        With the same number of neighbours; the number of features may differ.
    queries : list of S arrays of shape (n_queries, n_features)
        The rows to ask each of them for.

    Returns
    -------
    array of int of shape (S, n_queries, n_neighbors) or None
        None where all distances together would be too large.
    """
    columns = [search.columns for search in searches]
    xp, device = namespace_and_device(*columns)
    n, m = columns[0].shape[1], queries[0].shape[0]
    height = max(c.shape[0] for c in columns)
    if searches[0].n_neighbors == 0 or m > rows_together(searches, len(searches)):
        return None

    def stack(parts: list[Array], width: int) -> Array:
        # Rows of zeros leave a distance as it is.
        return xp.stack(
            [
                xp.concat([zeros[: height - p.shape[0], :width], p]) if p.shape[0] < height else p
                for p in parts
            ]
        )

    zeros = xp.zeros((height, max(n, m)), dtype=columns[0].dtype, device=device)
    ones = xp.ones((1, m), dtype=columns[0].dtype, device=device)
    moved = [search._move(Q) for search, Q in zip(searches, queries, strict=True)]
    asked = stack([xp.concat([Q.T, ones]) for Q in moved], m)
    distances = xp.matrix_transpose(stack(columns, n)) @ asked
    return _smallest_in_groups(xp.matrix_transpose(distances), searches[0].n_neighbors, xp)


def _whole_mean(X: Array) -> Array | None:
    """Return the mean row of (..., n, d) in whole numbers; None where it is known to be zero."""
    xp, _ = namespace_and_device(X)
    if is_numpy(xp):
        offset = np.rint(X.mean(axis=0, dtype=np.float64)).astype(X.dtype)
        return offset if offset.any() else None
    # Elsewhere a look at it would have to wait for the device.
    return astype(xp.round(xp.sum(X, axis=-2, dtype=xp.float64) / X.shape[-2]), X.dtype)


def _smallest(values: Array, k: int) -> Array:
    """Return the indices of the k smallest values of each row, in order, ties by index.

    The minima of small groups bound the k-th smallest value from above. One pass finds the
    minima; the rest is about few values, which is many times cheaper than partitioning the
    rows.
    """
    xp, _ = namespace_and_device(values)
    return _smallest_below(values, k) if is_numpy(xp) else _smallest_in_groups(values, k, xp)


def _smallest_below(values: Array, k: int) -> Array:
    """Sort the values up to the k-th smallest minimum of a group: NumPy's way."""
    n_rows, width = values.shape
    minima = values.reshape(n_rows, _GROUP, -1).min(axis=1)
    if minima.shape[1] <= k:
        minima = values
    bound = np.partition(minima, k - 1, axis=1)[:, k - 1 : k]
    positions = np.flatnonzero(values <= bound)
    row = positions // width
    order = np.lexsort((values.ravel()[positions], row))  # stable: ties stay in index order
    first = np.searchsorted(row, np.arange(n_rows))
    return positions[order[first[:, None] + np.arange(k)]] % width


def _smallest_in_groups(values: Array, k: int, xp: Any) -> Array:
    """Look into the k groups of the smallest minima: shapes never depend on the data.

    `values` is (..., n_rows, n); the last axis is searched. A group is a run of columns. The k
    groups that come first by minimum, ties by position, hold the k smallest values, ties by
    position: a value in any other group has k minima before it, each smaller, or equal and
    further left.
    """
    *rows, n = values.shape
    size = _group_size(n, k)
    if size == 1:
        return xp.argsort(values, axis=-1, stable=True)[..., :k]
    device = values.device
    if n % size:
        far = xp.full((*rows, -n % size), math.inf, dtype=values.dtype, device=device)
        values = xp.concat([values, far], axis=-1)
    # Columns first: that is how a device's product lays distances out (`_distances`), and torch
    # reduces along them many times faster than along rows that are not in one piece.
    columns = xp.reshape(xp.matrix_transpose(values), (*rows[:-1], -1, size, rows[-1]))
    minima = xp.matrix_transpose(xp.min(columns, axis=-2))
    groups = xp.sort(_smallest_in_groups(minima, k, xp), axis=-1)
    within = xp.arange(size, dtype=groups.dtype, device=device)
    places = xp.reshape(groups[..., None] * size + within, (*rows, k * size))
    candidates = take_along_axis(values, places, axis=-1)
    return take_along_axis(places, _smallest_in_groups(candidates, k, xp), axis=-1)


def _group_size(n: int, k: int) -> int:
    """Size of the groups that leaves as few minima and candidates as possible; 1: no groups."""
    if n <= max(_SORTED, 4 * k):
        return 1
    return 2 ** round(math.log2(n / k) / 2)
