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
    """Stands in for `labelkin.neighbors._exact.ExactSearch`."""

    def __init__(self, X, n_neighbors):
        self.X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        self.n_neighbors = n_neighbors

    def query(self, Q=None, n_jobs=None):
        leave_out = Q is None
        Q = self.X if leave_out else Q.toarray() if hasattr(Q, "toarray") else Q
        return _search(self.X, np.ascontiguousarray(Q, dtype=float), self.n_neighbors, leave_out)


@njit
def _search(X, Q, k, leave_out):
    found = np.empty((len(Q), k), np.int64)
    distance, index = np.empty(k + 1), np.empty(k + 1, np.int64)  # a heap, from 1
    for q in range(len(Q)):
        size = 0
        for i in range(len(X)):
            if leave_out and i == q:
                continue
            d = 0.0
            for j in range(X.shape[1]):
                d += (Q[q, j] - X[i, j]) ** 2
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
