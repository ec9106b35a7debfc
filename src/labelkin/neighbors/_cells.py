"""Cells of near rows, by a tree of k-means."""

from collections.abc import Iterator

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from labelkin.base import Array

_SAMPLE_PER_CENTRE = 64
_LLOYD_STEPS = 5
_BATCH_ROWS = 2**13


def divide_into_cells(
    X: Array, rng: np.random.RandomState, max_rows: int, n_branches: int
) -> Iterator[Array]:
    """Yield the row indices of each cell; cells that are near follow each other.

    Rows are divided by k-means, and the parts again, until none has more than `max_rows`. On
    average a cell has about half as many. O(n log n) time for n rows.
    """
    parts = [np.arange(len(X))]
    while parts:
        rows = parts.pop()
        if len(rows) <= max_rows:
            yield rows
            continue
        n_parts = min(n_branches, -(-2 * len(rows) // max_rows))
        n_sample = min(_SAMPLE_PER_CENTRE * n_parts, len(rows))
        centres = _k_means(X[rows[rng.choice(len(rows), n_sample, replace=False)]], n_parts)
        batches = gen_batches(len(rows), _BATCH_ROWS)
        part = np.concatenate([nearest_centre(X[rows[batch]], centres) for batch in batches])
        divided = [rows[part == i] for i in range(n_parts)]
        if max(map(len, divided)) == len(rows):  # equal rows: any division will do
            divided = np.array_split(rows, n_parts)
        parts.extend(reversed([rows for rows in divided if len(rows)]))


def _k_means(X: Array, k: int) -> Array:
    """Return the centres of rows in random order, after few steps of Lloyd's algorithm."""
    centres = X[:k]
    for _ in range(_LLOYD_STEPS):
        member = (nearest_centre(X, centres) == np.arange(k)[:, None]).astype(X.dtype)
        size = member.sum(axis=1, keepdims=True)
        centres = np.where(size, member @ X / np.maximum(size, 1), centres)
    return centres


def nearest_centre(X: Array, centres: Array) -> Array:
    """Return the number of the centre nearest to each row."""
    return np.argmin(row_norms(centres, squared=True) - 2 * X @ centres.T, axis=1)
