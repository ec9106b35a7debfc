"""Exact nearest neighbours by blocked matrix products.

scikit-learn's brute-force search leaves open which of several equally distant samples it
returns, and the answer changes with the number of threads. Here a tie always goes to the
sample that comes first in the training data.
"""

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from labelkin._threads import map_anywhere
from labelkin.base import Array, Matrix

# A block of distances stays in cache; its size must not depend on the number of threads.
_BLOCK_CELLS = 2**20
_GROUP = 16


class NeighborSearch:
    """The k nearest rows of a training matrix, in Euclidean distance.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Training rows.
    n_neighbors : int
        How many neighbours to find, less than `n_samples` if rows are to be left out of
        their own neighbours, at most `n_samples` otherwise.
    """

    def __init__(self, X: Matrix, n_neighbors: int) -> None:
        self.n_neighbors = n_neighbors
        # Distances come from |x|² − 2x·z + |z|², which loses digits when the data lie far
        # from the origin. Moving them by whole numbers keeps integer data, and hence their
        # ties, exact.
        self.offset = None
        if not sparse.issparse(X):
            offset = np.rint(X.mean(axis=0, dtype=np.float64)).astype(X.dtype)
            if offset.any():
                self.offset, X = offset, X - offset
        self.X = X
        self.squared_norms = row_norms(X, squared=True)

    def query(self, Q: Matrix | None = None, n_jobs: int | None = None) -> Array:
        """Find the neighbours of each row of `Q`.

        Parameters
        ----------
        Q : ndarray or CSR matrix of shape (n_queries, n_features), optional
            None: the training rows themselves, each left out of its own neighbours (but
            not its duplicates).
        n_jobs : int, optional
            Threads; None: as many as BLAS would use.

        Returns
        -------
        ndarray of shape (n_queries, n_neighbors)
            Row indices, nearest first, equal distances in the order of the rows.
        """
        n, k = self.X.shape[0], self.n_neighbors
        leave_out = Q is None
        if Q is None:
            Q = self.X
        elif self.offset is not None:
            Q = Q.toarray() if sparse.issparse(Q) else Q
            Q = Q - self.offset
        if k == 0:
            return np.empty((Q.shape[0], 0), dtype=np.intp)
        rows = int(np.clip(_BLOCK_CELLS // n, 16, 256))

        def block(start: int) -> Array:
            distances = self._distances(Q[start : start + rows])
            if leave_out:
                diagonal = np.arange(min(rows, n - start))
                distances[diagonal, start + diagonal] = np.inf
            return _smallest(distances, k)

        found = map_anywhere(block, range(0, Q.shape[0], rows), n_jobs)
        return np.concatenate(found) if found else np.empty((0, k), dtype=np.intp)

    def _distances(self, Q: Matrix) -> Array:
        """Squared distances to every training row, less each query's own squared norm.

        The columns are padded with infinity to a multiple of `_GROUP`.
        """
        n = self.X.shape[0]
        padded = np.empty((Q.shape[0], -(-n // _GROUP) * _GROUP), dtype=self.squared_norms.dtype)
        distances = padded[:, :n]
        if sparse.issparse(self.X) and sparse.issparse(Q):
            distances[:] = (Q @ self.X.T).toarray()
            distances *= -2
        elif sparse.issparse(self.X):
            distances[:] = (self.X @ (-2 * Q).T).T
        else:
            Q = Q.toarray() if sparse.issparse(Q) else Q
            np.matmul(-2 * Q, self.X.T, out=distances)
        distances += self.squared_norms
        padded[:, n:] = np.inf
        return padded


def _smallest(values: Array, k: int) -> Array:
    """Return the indices of the k smallest values of each row, in order, ties by index.

    The k-th smallest of the minima of small groups bounds the k-th smallest value from
    above. One pass finds the minima, one the few values below the bound; sorting those is
    many times cheaper than partitioning the rows.
    """
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
