"""The k smallest values of each row of a matrix, equal values by position.

The minima of groups of columns bound the k-th smallest value from above. One pass finds the
minima; the rest handles few values, which is many times cheaper than partitioning the rows.
"""

import math

import numpy as np

from labelkin.base import Array
from labelkin.rows import namespace_and_device, take_along_axis

N_GROUPED = 16
"""Columns per group on the host; `k_smallest` requires a multiple of it as width."""
# Rows up to this width are sorted on a device: a single call.
_SORTED_WIDTH = 256


def k_smallest(values: Array, k: int) -> Array:
    """Return the positions of the k smallest values of each row, smallest first.

    The rows are padded with infinity to a multiple of `N_GROUPED` columns.
    """
    n_rows, width = values.shape
    positions = np.flatnonzero(values <= kth_smallest_bound(values, k))
    row = positions // width
    order = np.lexsort((values.ravel()[positions], row))  # stable: ties stay in order
    first = np.searchsorted(row, np.arange(n_rows))
    return positions[order[first[:, None] + np.arange(k)]] % width


def kth_smallest_bound(values: Array, k: int) -> Array:
    """Return a close upper bound of the k-th smallest value of each row, as a column."""
    minima = values.reshape(len(values), N_GROUPED, -1).min(axis=1)
    return kth_smallest(minima if minima.shape[1] > k else values, k)


def kth_smallest(values: Array, k: int) -> Array:
    """Return the k-th smallest value of each row, as a column."""
    return np.partition(values, k - 1, axis=1)[:, k - 1 : k]


def k_smallest_on_device(values: Array, k: int) -> Array:
    """Return what `k_smallest` does for device arrays, in shapes that do not depend on the data.

    A group is a run of columns. The k groups that come first by minimum, ties by position, hold the
    k smallest values, ties by position: a value in any other group has k minima before it, each
    smaller, or equal and further left.
    """
    xp, device = namespace_and_device(values)
    *rows, n = values.shape
    size = group_size(n, k)
    if size == 1:
        return xp.argsort(values, axis=-1, stable=True)[..., :k]
    if n % size:
        padding = xp.full((*rows, -n % size), math.inf, dtype=values.dtype, device=device)
        values = xp.concat([values, padding], axis=-1)
    # Columns first: a product on a device lays distances out like that, and torch reduces along
    # them many times faster than along rows that are not contiguous.
    columns = xp.reshape(xp.matrix_transpose(values), (*rows[:-1], -1, size, rows[-1]))
    minima = xp.matrix_transpose(xp.min(columns, axis=-2))
    groups = xp.sort(k_smallest_on_device(minima, k), axis=-1)
    within = xp.arange(size, dtype=groups.dtype, device=device)
    positions = xp.reshape(groups[..., None] * size + within, (*rows, k * size))
    candidates = take_along_axis(values, positions, axis=-1)
    return take_along_axis(positions, k_smallest_on_device(candidates, k), axis=-1)


def group_size(n: int, k: int) -> int:
    """Return the group size with the fewest minima and candidates in all; 1: no groups."""
    if n <= max(_SORTED_WIDTH, 4 * k):
        return 1
    return 2 ** round(math.log2(n / k) / 2)
