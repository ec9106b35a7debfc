"""The k smallest values of each row of a matrix, equal values by position.

The minima of groups of columns bound the k-th smallest value from above. One pass finds the
minima; the rest handles few values, which is many times cheaper than partitioning the rows.
"""

import math

import numpy as np

from labelkin.base import Array
from labelkin.rows import is_device_array, namespace_and_device

# Columns per group on the host.
_GROUPED = 16
# Rows up to this width are sorted on a device: a single call.
_SORTED_WIDTH = 256


def k_smallest(values: Array, k: int) -> Array:
    """Return the positions of the k smallest values of each row, smallest first."""
    if is_device_array(values):
        return _k_smallest_on_device(values, k)
    n_rows, width = values.shape
    positions = np.flatnonzero(values <= kth_smallest_bound(values, k))
    row = positions // width
    order = np.lexsort((values.ravel()[positions], row))  # stable: ties stay in order
    first = np.searchsorted(row, np.arange(n_rows))
    return positions[order[first[:, None] + np.arange(k)]] % width


def kth_smallest_bound(values: Array, k: int) -> Array:
    """Return a close upper bound of the k-th smallest value of each row, as a column."""
    n_rows, width = values.shape
    if width <= k * _GROUPED:
        return kth_smallest(values, k)
    # Columns that fill no group are left out, which only raises the bound.
    groups = values[:, : width // _GROUPED * _GROUPED].reshape(n_rows, _GROUPED, -1)
    return kth_smallest(groups.min(axis=1), k)


def kth_smallest(values: Array, k: int) -> Array:
    """Return the k-th smallest value of each row, as a column."""
    return np.partition(values, k - 1, axis=1)[:, k - 1 : k]


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
