"""Exact nearest rows, by blocks of matrix products, on the host or on a device.

scikit-learn's brute-force search leaves open which of several equally distant rows it returns,
and the answer changes with the number of threads. Here a tie goes to the row that comes first.
"""

import math
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from labelkin._utils.parallel import map_threads
from labelkin.base import Array, Matrix
from labelkin.rows import (
    as_dense,
    astype,
    concatenate,
    convert_arrays,
    first_of_equals,
    is_device_array,
    namespace_and_device,
    rows_per_block,
)

# Up to this many distances one product computes them all (32 MB). Of the training rows with
# themselves BLAS then computes one half: a fit of ML-kNN to yeast takes 27 ms instead of 62.
_ONE_PRODUCT = 2**22
# Up to this many distances a search takes less time than the start of threads.
_ONE_THREAD = 2**20
# Columns per group on the host, see `k_smallest`.
_GROUPED = 16
# Rows up to this width are sorted on a device: a single call.
_SORTED_WIDTH = 256


class ExactSearch:
    """The k nearest rows of a matrix, in Euclidean distance; it runs where the matrix lies.

    k is less than the number of rows if rows are to be left out of their own neighbours. `offset`
    is what has been subtracted from the rows already; None: the rounded mean of dense rows will be.
    ``first_equal`` names for each row the first one equal to it; None: no two rows are equal.
    """

    def __init__(self, X: Matrix, n_neighbors: int, offset: Array | None = None) -> None:
        # Distances come from |x|² − 2x·z + |z|², which loses digits when the data lie far
        # from the origin. Integer data, and hence their ties, stay exact: the offset is whole.
        xp, _ = namespace_and_device(X)
        if offset is None and not sparse.issparse(X):
            total = xp.sum(X, axis=0, dtype=xp.float64)  # without a copy of X in doubles
            mean = astype(xp.round(total / X.shape[0]), X.dtype)
            if bool(xp.any(mean != 0)):
                X, offset = X - mean, mean
        self.X = X
        self.offset = offset
        self.n_neighbors = n_neighbors
        on_device = is_device_array(X)
        self.squared_norms = xp.sum(X * X, axis=1) if on_device else row_norms(X, squared=True)
        self.first_equal = first_of_equals(X)

    def query(self, Q: Matrix | None = None, n_jobs: int | None = None) -> Array:
        """Find the k nearest rows of each query: indices, (n_queries, k), nearest first.

        Equal distances are in the order of the rows. Without queries, the rows themselves are
        queried, each left out of its own neighbours (but not its duplicates). The results are the
        same for every `n_jobs`, which is the number of threads on the host.
        """
        xp, device = namespace_and_device(self.X)
        m = self.X.shape[0] if Q is None else Q.shape[0]
        if self.n_neighbors == 0 or m == 0:
            return xp.zeros((m, self.n_neighbors), dtype=xp.int64, device=device)
        return self.map_distances(partial(k_smallest, k=self.n_neighbors), Q, n_jobs)

    def map_distances(
        self, function: Callable[[Array], Array], Q: Matrix | None, n_jobs: int | None
    ) -> Array:
        """Return a function of the distances to all rows, for blocks of queries.

        The function takes half of the squared distances, less half of each query's own squared
        norm, and returns one row per query. Queries are as in `query`, and at least one; a row
        is at infinite distance from itself.
        """
        xp, device = namespace_and_device(self.X)
        n = self.X.shape[0]
        queries = self.X if Q is None else self._centre(Q)
        m = queries.shape[0]
        small = m * n <= min(_ONE_PRODUCT, 2**17 * get_config()["working_memory"])
        products = self._products(queries) if small and not sparse.issparse(self.X) else None
        first: Any = np.arange(n) if self.first_equal is None else self.first_equal
        copies = np.flatnonzero(first != np.arange(n))

        def apply(rows: slice) -> Array:
            block = self._products(queries[rows, :]) if products is None else products[rows, :]
            distances = astype(0.5 * self.squared_norms - block, self.squared_norms.dtype)
            if len(copies):
                # A product can round equal columns differently, depending on their position.
                distances[:, copies] = distances[:, first[copies]]
            if Q is None:
                own = distances[:, rows]
                itself = xp.eye(own.shape[0], dtype=xp.bool, device=device)
                distances[:, rows] = xp.where(itself, math.inf, own)
            return function(distances)

        blocks = gen_batches(m, rows_per_block(n, device))
        if is_device_array(self.X) or m * n <= _ONE_THREAD:
            return concatenate(list(map(apply, blocks)))
        return concatenate(map_threads(apply, blocks, n_jobs))

    def distances(self, x: Matrix, rows: Array) -> Array:
        """Return the Euclidean distances from one sample, (1, n_features), to some rows."""
        return np.linalg.norm(as_dense(self.X[rows]) - as_dense(self._centre(x)), axis=1)

    def _centre(self, Q: Matrix) -> Matrix:
        return Q if self.offset is None else as_dense(Q) - self.offset

    def _products(self, Q: Matrix) -> Array:
        """Return the products of queries with every row, a dense (m, n) array."""
        if sparse.issparse(self.X):
            return (Q @ self.X.T).toarray() if sparse.issparse(Q) else (self.X @ Q.T).T
        return Q @ self.X.T

    def __sklearn_array_api_convert__(self, converter: Callable[[Any], Any]) -> "ExactSearch":
        rows = self.X
        if sparse.issparse(rows):
            if not is_device_array(converter(np.empty(0))):
                return copy(self)
            rows = rows.toarray()  # a device has dense rows only
        return ExactSearch(
            converter(rows), self.n_neighbors, convert_arrays(self.offset, converter)
        )


def k_smallest(values: Array, k: int) -> Array:
    """Return the positions of the k smallest values of each row, smallest first.

    Equal values are in the order of their positions. The minima of groups of columns bound the k-th
    smallest value from above. One pass finds the minima; the rest handles few values, which is many
    times cheaper than partitioning the rows.
    """
    if is_device_array(values):
        return _k_smallest_on_device(values, k)
    n_rows, width = values.shape
    minima = values
    if width > k * _GROUPED:
        # Columns that fill no group are left out, which only raises the bound.
        groups = values[:, : width // _GROUPED * _GROUPED].reshape(n_rows, _GROUPED, -1)
        minima = groups.min(axis=1)
    bound = np.partition(minima, k - 1, axis=1)[:, k - 1 : k]
    positions = np.flatnonzero(values <= bound)
    row = positions // width
    order = np.lexsort((values.ravel()[positions], row))  # stable: ties stay in order
    first = np.searchsorted(row, np.arange(n_rows))
    return positions[order[first[:, None] + np.arange(k)]] % width


def _k_smallest_on_device(values: Array, k: int) -> Array:
    """Return what `k_smallest` does for device arrays, in shapes that do not depend on the data.

    A group is a run of columns. The k groups that come first by minimum, ties by position, hold the
    k smallest values, ties by position: a value in any other group has k minima before it, each
    smaller, or equal and further left.
    """
    xp, device = namespace_and_device(values)
    m, n = values.shape
    if n <= max(_SORTED_WIDTH, 4 * k):
        return xp.argsort(values, axis=1, stable=True)[:, :k]
    size = 2 ** round(math.log2(n / k) / 2)  # the fewest minima and candidates in all
    if n % size:
        padding = xp.full((m, -n % size), math.inf, dtype=values.dtype, device=device)
        values = xp.concat([values, padding], axis=1)
    minima = xp.min(xp.reshape(values, (m, -1, size)), axis=2)
    groups = xp.sort(_k_smallest_on_device(minima, k), axis=1)
    within = xp.arange(size, dtype=groups.dtype, device=device)
    positions = xp.reshape(groups[:, :, None] * size + within, (m, k * size))
    candidates = xp.take_along_axis(values, positions, axis=1)
    return xp.take_along_axis(positions, _k_smallest_on_device(candidates, k), axis=1)
