"""Exact nearest rows on a device, by blocks of matrix products; ties as in `ExactSearch`.

Each row x is stored as a column [−2x, |x|²]: its product with [q, 1] is |x − q|² − |q|², so
that no second pass adds the norms.
"""

import math

from labelkin.base import Array
from labelkin.neighbors._smallest import group_size, k_smallest_on_device
from labelkin.rows import astype, itemsize, namespace_and_device, rows_per_block


class DeviceSearch:
    """The k nearest rows of an array on a device, in Euclidean distance; see `ExactSearch`.

    `columns` are the rows less `offset`, as `distance_columns` stores them; those beyond `n_rows`
    are padding.
    """

    def __init__(self, columns: Array, offset: Array, n_rows: int, n_neighbors: int) -> None:
        self.columns = columns
        self.offset = offset
        self.n_rows = n_rows
        self.n_neighbors = n_neighbors

    @classmethod
    def of_rows(cls, X: Array, n_neighbors: int, offset: Array | None = None) -> "DeviceSearch":
        """Return the search among the rows of `X`; `offset`: see `ExactSearch`."""
        if offset is None:
            offset = whole_mean(X)
            X = X - offset
        return cls(distance_columns(X, n_neighbors), offset, X.shape[0], n_neighbors)

    @property
    def rows(self) -> Array:
        """The rows less `offset`."""
        return -0.5 * self.columns[:-1, : self.n_rows].T

    def query(self, Q: Array | None = None, n_jobs: int | None = None) -> Array:
        """Find the nearest rows of each query; see `ExactSearch`. `n_jobs` has no effect."""
        xp, device = namespace_and_device(self.columns)
        queries = self.columns[:-1, : self.n_rows] if Q is None else (Q - self.offset).T
        m, k = queries.shape[1], self.n_neighbors
        if k == 0 or m == 0:
            return xp.zeros((m, k), dtype=xp.int64, device=device)
        size = rows_per_block(self.n_rows, itemsize(self.columns), device)
        found = []
        for start in range(0, m, size):
            block = queries[:, start : min(start + size, m)]
            distances = query_distances(self.columns, -0.5 * block if Q is None else block)
            if Q is None:
                leave_out_own(distances, start)
            found.append(k_smallest_on_device(distances, k))
        return found[0] if len(found) == 1 else xp.concat(found, axis=0)


def whole_mean(X: Array) -> Array:
    """Return the mean row of (..., n, d), rounded to whole numbers."""
    xp, _ = namespace_and_device(X)
    return astype(xp.round(xp.sum(X, axis=-2, dtype=xp.float64) / X.shape[-2]), X.dtype)


def distance_columns(X: Array, n_neighbors: int) -> Array:
    """Return the rows of one search, (n, d), or of several, (S, n, d), as columns [−2x, |x|²].

    Columns at infinity fill the last group of `k_smallest_on_device`.
    """
    xp, device = namespace_and_device(X)
    *stack, n, d = X.shape
    norms = xp.sum(X * X, axis=-1)
    columns = xp.concat([-2 * xp.matrix_transpose(X), norms[..., None, :]], axis=-2)
    missing = -n % group_size(n, max(n_neighbors, 1))
    if not missing:
        return columns
    padding = xp.zeros((*stack, d + 1, missing), dtype=X.dtype, device=device)
    padding[..., -1, :] = math.inf
    return xp.concat([columns, padding], axis=-1)


def query_distances(columns: Array, queries: Array) -> Array:
    """Return |x − q|² − |q|² for columns of rows and queries, (..., d, m), as (..., m, n)."""
    xp, device = namespace_and_device(columns)
    *stack, _, m = queries.shape
    ones = xp.ones((*stack, 1, m), dtype=columns.dtype, device=device)
    # The transpose keeps the queries side by side in memory, as `k_smallest_on_device` needs.
    product = xp.matrix_transpose(columns) @ xp.concat([queries, ones], axis=-2)
    return xp.matrix_transpose(product)


def leave_out_own(distances: Array, start: int) -> None:
    """Set the distance of each row to itself to infinity; the queries are rows from `start` on."""
    xp, device = namespace_and_device(distances)
    m = distances.shape[-2]
    own = distances[..., start : start + m]
    itself = xp.eye(m, dtype=xp.bool, device=device)
    distances[..., start : start + m] = xp.where(itself, math.inf, own)
