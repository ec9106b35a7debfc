"""Neighbours in WEKA's order of ties, to compare with Mulan where ties decide.

WEKA scans the training rows in order and keeps k of them in a heap, the farthest on top; a
row enters a full heap only if it is strictly nearer than the top, which it replaces. Which of
several equally far rows is on top is an accident of the heap. Our own rule (the first row in
the data wins) is simpler and does not depend on a heap; this oracle shows that ties are all
that tells the two apart.
"""

import numpy as np
from numba import njit


class WekaSearch:
    """Stands in for `labelkin.neighbors._exact.ExactSearch`, on rows of zeros and ones."""

    def __init__(self, X, n_neighbors):
        self.X, self.n_neighbors = _dense(X), n_neighbors

    def query(self, Q=None, n_jobs=None):
        rows = self.X if Q is None else _dense(Q)
        # Counts of ones: exact.
        distances = rows.sum(axis=1)[:, np.newaxis] + self.X.sum(axis=1) - 2 * rows @ self.X.T
        if Q is None:
            np.fill_diagonal(distances, np.inf)  # a row is not its own neighbour
        return _search(distances, self.n_neighbors)


def _dense(X):
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    assert np.isin(X, (0, 1)).all()
    return X


@njit
def _search(distances, k):
    found = np.empty((len(distances), k), np.int64)
    distance, index = np.empty(k + 1), np.empty(k + 1, np.int64)  # a heap, from 1
    for q, row in enumerate(distances):
        size = 0
        for i, d in enumerate(row):
            if d == np.inf:
                continue
            if size == k:
                if not d < distance[1]:
                    continue
                distance[1], index[1] = distance[size], index[size]
                size -= 1
                _sink(distance, index, size)
            size += 1
            distance[size], index[size] = d, i
            _rise(distance, index, size)
        found[q] = index[1:]
    return found


@njit
def _sink(distance, index, size):
    a = 1
    while (2 * a <= size and distance[a] < distance[2 * a]) or (
        2 * a + 1 <= size and distance[a] < distance[2 * a + 1]
    ):
        b = 2 * a
        if b + 1 <= size and not distance[b] > distance[b + 1]:
            b += 1
        _swap(distance, index, a, b)
        a = b


@njit
def _rise(distance, index, a):
    while a > 1 and distance[a] > distance[a // 2]:
        _swap(distance, index, a, a // 2)
        a //= 2


@njit
def _swap(distance, index, a, b):
    distance[a], distance[b] = distance[b], distance[a]
    index[a], index[b] = index[b], index[a]
