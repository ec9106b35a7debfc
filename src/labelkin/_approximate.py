"""Approximate nearest neighbours, for so many rows that comparing all pairs takes too long.

The index is a small-world graph (HNSW, Malkov & Yashunin, 2018) of the faiss library: a search
walks from row to row towards the query, and the time grows with n log n, not n². It misses a
neighbour now and then; how often is measured on a sample, against exact search.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from labelkin._search import NeighborSearch
from labelkin._threads import map_threads
from labelkin.base import Array, Matrix

_LINKS = 16  # of a row in the graph: enough for some hundred dimensions
_BUILD_CANDIDATES = 40
_BLOCK_ROWS = 1024
_ADD_ROWS = 2**16
_RECALL_SEED = 0


class ApproximateSearch:
    """Most of the k nearest rows of a training matrix, in Euclidean distance.

    It takes the place of `NeighborSearch`. The graph is built in one thread, always in the
    same order, so that the neighbours are the same in every run and for every ``n_jobs``.
    Distances are compared in single precision.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Training rows. The index holds a dense copy in single precision.
    n_neighbors : int
        How many neighbours to find; see `NeighborSearch`.
    n_candidates : int, default=64
        How many rows a search keeps in view. More find more of the true neighbours, in
        proportionally more time.
    recall_rows : int, default=100
        On so many rows, drawn at random, the recall is measured; 0: it is not.

    Attributes
    ----------
    recall : float
        Share of the true neighbours that are found, or of others as near.
    """

    def __init__(
        self, X: Matrix, n_neighbors: int, n_candidates: int = 64, recall_rows: int = 100
    ) -> None:
        if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
            raise ValueError(
                "neighbors='approximate' searches NumPy arrays and SciPy sparse matrices, not "
                f"{type(X).__module__} arrays; choose neighbors='exact'."
            )
        faiss = _import_faiss()
        self.n_neighbors = n_neighbors
        # Single precision has few digits: none should be spent on the distance to the origin.
        self.centre = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        self.index = faiss.IndexHNSWFlat(X.shape[1], _LINKS)
        self.index.hnsw.efConstruction = _BUILD_CANDIDATES
        self.index.hnsw.efSearch = max(n_candidates, n_neighbors + 1)
        faiss.omp_set_num_threads(1)  # the calling thread's own setting
        for batch in gen_batches(X.shape[0], _ADD_ROWS):
            self.index.add(self._single(X[batch]))
        self.recall = self._measure(X, recall_rows) if recall_rows and n_neighbors else 1.0

    def query(self, Q: Matrix | None = None, n_jobs: int | None = None) -> Array:
        """Find neighbours of each row of `Q`.

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
        m = self.index.ntotal if Q is None else Q.shape[0]

        def block(start: int) -> Array:
            rows = np.arange(start, min(start + _BLOCK_ROWS, m))
            if Q is None:
                return self._find(self.index.reconstruct_n(start, len(rows)), rows)
            return self._find(self._single(Q[start : start + _BLOCK_ROWS]))

        found = map_threads(block, range(0, m, _BLOCK_ROWS), n_jobs)
        return np.concatenate(found) if found else self._none(0)

    def _find(self, Q: Array, own: Array | None = None) -> Array:
        """Find neighbours of single-precision rows; `own`: the training rows that they are."""
        k = self.n_neighbors
        if k == 0:
            return self._none(len(Q))
        _import_faiss().omp_set_num_threads(1)
        distance, index = self.index.search(Q, k + (own is not None))
        missing = (index < 0).any(axis=1)
        if missing.any():  # the walk ended early, among many equal rows: look at all
            index[missing], distance[missing] = self._look_at_all(Q[missing], index.shape[1])
        if own is not None:  # itself goes last, and is dropped with what is too much
            distance[index == own[:, None]] = np.inf
        order = np.lexsort((index, distance), axis=1)[:, :k]
        return np.take_along_axis(index, order, axis=1).astype(np.intp)

    def _look_at_all(self, Q: Array, k: int) -> tuple[Array, Array]:
        rows = self.index.reconstruct_n(0, self.index.ntotal)
        index = NeighborSearch(rows, k).query(Q, n_jobs=1)
        return index, _squared_distances(Q, rows, index)

    def _measure(self, X: Matrix, n_rows: int) -> float:
        """Compare with exact search on a sample of the training rows."""
        n, k = X.shape[0], self.n_neighbors
        rows = np.random.RandomState(_RECALL_SEED).permutation(n)[:n_rows]
        found = self._find(self._single(X[rows]), rows)
        true = NeighborSearch(X, min(k + 1, n)).query(X[rows])
        # Its own row is nearest, but for duplicates: then any one of them may be dropped.
        own = true == rows[:, None]
        own[~own.any(axis=1), -1] = True
        true = true[~own].reshape(len(rows), -1)
        queries = self._single(X[rows])
        farthest = _squared_distances(queries, self._rows(X, true), None).max(axis=1)
        reached = _squared_distances(queries, self._rows(X, found), None)
        return float((reached <= farthest[:, None] * (1 + 1e-5)).mean())

    def _rows(self, X: Matrix, index: Array) -> Array:
        return self._single(X[index.ravel()]).reshape(*index.shape, -1)

    def _single(self, X: Matrix) -> Array:
        dense = X.toarray() if sparse.issparse(X) else X
        return np.ascontiguousarray(dense - self.centre, dtype=np.float32)

    def _none(self, m: int) -> Array:
        return np.empty((m, self.n_neighbors), dtype=np.intp)


def _squared_distances(Q: Array, rows: Array, index: Array | None) -> Array:
    """Distances of each query to its own rows: (m, k, d), or chosen by an (m, k) index."""
    difference = Q[:, None, :] - (rows if index is None else rows[index])
    return np.einsum("ijk,ijk->ij", difference, difference)


def _import_faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise ImportError(
            "neighbors='approximate' needs faiss, which is not installed; "
            "pip install 'labelkin[approximate]'"
        ) from None
    return faiss
