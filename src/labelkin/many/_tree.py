"""A tree of label clusters with a linear model in each node.

Labels are described by their centroids and split by balanced 2-means until a cluster has at most
`cluster_size` of them. The root is one logistic regression per cluster on all rows: does the row
have a label of the cluster? A leaf is one logistic regression per label, on the rows that have a
label of its cluster. The probability of a label is the product of both.

Each label belongs to one cluster, so that the leaves are the columns of one sparse matrix of
weights, and one sparse product scores a row with all labels that have a word in common with it.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from labelkin._utils.parallel import map_threads
from labelkin.base import Array, Matrix
from labelkin.calibration._curves import expit
from labelkin.linear._learner import LabelFitter, Weights
from labelkin.many._sparse import row_of_entries, scale_rows
from labelkin.rows import Labels, MemoryRows

# Distance of the weights to their optimum, relative to their length: on 60,000 titles a third of it
# changes precision at 5 by 0.03 points.
_TOL = 0.1
_MAX_ITER = 100
# Rounds of 2-means, and the share of labels that still change sides when it ends.
_ROUNDS = 8
_SETTLED = 0.01


class LabelTree:
    """One tree.

    Parameters
    ----------
    cluster_size : int
        Labels of a cluster at most.
    C : float
        Inverse strength of the regularisation.
    prune : float
        Weights smaller than this are dropped.
    """

    root_: Matrix | None
    """Weights of the clusters, sparse, (k, clusters); None if there is only one."""
    root_intercept_: Array
    cluster_: Array
    """Cluster of each label, (q,); −1 for one that no training row has."""
    leaf_: Matrix
    """Weights of the labels, sparse, (k, q)."""
    leaf_intercept_: Array

    def __init__(self, cluster_size: int, C: float, prune: float) -> None:
        self.cluster_size, self.C, self.prune = cluster_size, C, prune

    def fit(
        self, X: Matrix, labels: Labels, centroids: Matrix, rng: Any, n_jobs: int | None
    ) -> "LabelTree":
        """Fit to CSR rows; `centroids` has one row of unit length per label."""
        q = labels.shape[1]
        seen = np.flatnonzero(labels.counts.positives > 0)
        self.root_, self.leaf_ = None, sparse.csr_array((X.shape[1], q), dtype=np.float32)
        self.leaf_intercept_ = np.zeros(q, np.float32)
        if not len(seen):
            return self
        clusters = [seen[part] for part in split_balanced(centroids[seen], self.cluster_size, rng)]
        self.cluster_ = np.full(q, -1, dtype=np.int32)
        for number, members in enumerate(clusters):
            self.cluster_[members] = number

        # Root
        belongs = sparse.csr_array(
            (np.ones(len(seen), np.float32), (seen, self.cluster_[seen])), shape=(q, len(clusters))
        )
        in_cluster = sparse.csr_array(labels.Y @ belongs)
        in_cluster.data[:] = 1
        if len(clusters) > 1:
            weights = self._solve(X, Labels(in_cluster, labels.weight), n_jobs)
            self.root_ = sparse.csr_array(self._pruned(weights.coef))
            self.root_intercept_ = weights.intercept

        # Leaves
        by_cluster = in_cluster.tocsc()

        def fit_leaf(number: int) -> tuple[Array, Matrix, Array]:
            members = clusters[number]
            rows = np.arange(X.shape[0])
            if len(clusters) > 1:
                rows = by_cluster.indices[slice(*by_cluster.indptr[number : number + 2])]
            part = X[rows]
            words = np.unique(part.indices)
            own = labels.take(rows)
            own = Labels(own.Y[:, members], own.weight)
            weights = self._solve(part[:, words], own, 1)
            kept = sparse.coo_array(self._pruned(weights.coef))
            place = words[kept.row], members[kept.col]
            return kept.data.astype(np.float32), place, weights.intercept

        leaves = map_threads(fit_leaf, range(len(clusters)), n_jobs)
        values, places, intercepts = zip(*leaves, strict=True)
        words, columns = (np.concatenate(part) for part in zip(*places, strict=True))
        self.leaf_ = sparse.csr_array(
            (np.concatenate(values), (words, columns)), shape=(X.shape[1], q), dtype=np.float32
        )
        self.leaf_intercept_[np.concatenate(clusters)] = np.concatenate(intercepts)
        return self

    def _solve(self, X: Matrix, labels: Labels, n_jobs: int | None) -> Weights:
        q = labels.shape[1]
        if not X.shape[1]:
            X = sparse.csr_array((X.shape[0], 1), dtype=np.float32)
        fitter = LabelFitter(
            MemoryRows([X], None), labels, tol=_TOL, max_iter=_MAX_ITER, n_jobs=n_jobs
        )
        return fitter.fit(np.full(q, self.C), np.arange(q))

    def _pruned(self, coef: Array) -> Array:
        return np.where(np.abs(coef) < self.prune, np.float32(0), coef)

    def scores(self, X: Matrix) -> Matrix:
        """Return probabilities of CSR rows, for the labels that have a word in common with them."""
        found = sparse.csr_array(X @ self.leaf_)
        found.data[:] = expit(found.data + self.leaf_intercept_[found.indices])
        if self.root_ is not None:
            root = expit((X @ self.root_).toarray() + self.root_intercept_)
            row = row_of_entries(found.indptr)
            found.data *= root[row, self.cluster_[found.indices]]
        return found


def split_balanced(points: Matrix, size: int, rng: Any) -> list[Array]:
    """Return clusters of at most `size` rows of unit length, by 2-means into equal halves."""
    clusters, waiting = [], [np.arange(points.shape[0])]
    while waiting:
        members = waiting.pop()
        if len(members) <= size:
            clusters.append(members)
            continue
        part = points[members]
        half = len(members) // 2
        first, second = rng.choice(len(members), 2, replace=False)
        axis = (part[[first]] - part[[second]]).toarray()[0]
        left = np.zeros(len(members), dtype=bool)
        for _ in range(_ROUNDS):
            before, left = left, np.zeros(len(members), dtype=bool)
            left[np.argpartition(-(part @ axis), half)[:half]] = True
            if (left != before).mean() < _SETTLED:
                break
            axis = _direction(part[left]) - _direction(part[~left])
        waiting += [members[left], members[~left]]
    return clusters


def _direction(points: Matrix) -> Array:
    """Return the sum of rows, with length 1."""
    total = np.asarray(points.sum(axis=0)).ravel()
    return total / max(np.linalg.norm(total), np.finfo(np.float32).tiny)


def label_centroids(X: Matrix, labels: Labels) -> Matrix:
    """Return the sum of the rows of each label, with length 1; CSR, (q, k)."""
    weighted = X if labels.weight is None else scale_rows(X, labels.weight)
    return normalize(sparse.csr_array(labels.Y.T.astype(np.float32) @ weighted))
