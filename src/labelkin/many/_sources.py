"""Sources of candidate labels: each scores a row with few of many labels, as a CSR matrix."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from labelkin.base import Matrix
from labelkin.many._sparse import drop_small, keep_largest, presence, scale_rows
from labelkin.many._tree import LabelTree, label_centroids
from labelkin.rows import Labels

# Words in more rows than this share carry little information, but take most of the time of a
# sparse product.
_FREQUENT, _ALWAYS_KEPT = 0.01, 1000
# Smaller entries of centroids and associations are dropped: a fifth of them.
_LEAST_CENTROID, _LEAST_ASSOCIATION = 0.02, 0.01
# Power of the similarities in the sharper of the two scores by neighbours.
_SHARP = 4


class Neighbors:
    """Votes of the most similar training rows: cosine, words in more than 1 % of rows left out."""

    names = ("neighbors", "near neighbors")

    def __init__(self, X: Matrix, labels: Labels, n_neighbors: int) -> None:
        self.n_neighbors = n_neighbors
        counts = np.bincount(X.indices, minlength=X.shape[1])
        rare = counts <= max(_FREQUENT * X.shape[0], _ALWAYS_KEPT)
        rows = normalize(X)
        rows = drop_small(rows, np.where(rare[X.indices], -np.inf, np.inf))
        self.words_ = sparse.csr_array(rows.T)
        votes = labels.Y.astype(np.float32)
        self.labels_ = votes if labels.weight is None else scale_rows(votes, labels.weight)

    def nearest(self, X: Matrix) -> Matrix:
        """Return the similarities to the nearest training rows, CSR of shape (m, n)."""
        found = sparse.csr_array(normalize(X) @ self.words_)
        return keep_largest(drop_small(found, np.finfo(np.float32).tiny), self.n_neighbors)

    def scores(self, X: Matrix) -> list[Matrix]:
        """Return the sum of the similarities of neighbours with each label, and of their powers."""
        near = self.nearest(X)
        sharp = near.copy()
        sharp.data **= _SHARP
        return [near @ self.labels_, sharp @ self.labels_]


class Words:
    """Scores of each label by the words of a row, one word at a time.

    ``centroids``: cosine of row and centroid of the label. ``associations``: each word w causes the
    label l with probability P(l | w) = n(w, l) / (n(w) + 1), on its own, so that the label is
    absent with probability Π (1 − P(l | w)) over the words of the row; the score is −log of that.
    """

    names = ("centroids", "associations")

    def __init__(self, X: Matrix, labels: Labels) -> None:
        centroids = label_centroids(normalize(X), labels)
        self.centroids_ = sparse.csr_array(drop_small(centroids, _LEAST_CENTROID).T)
        present = presence(X)
        if labels.weight is not None:
            present = scale_rows(present, labels.weight)
        counts = sparse.csr_array(present.T @ labels.Y.astype(np.float32))
        total = np.bincount(present.indices, present.data, minlength=X.shape[1])
        share = scale_rows(counts, 1 / (total + 1))
        share = drop_small(share, _LEAST_ASSOCIATION)
        share.data = -np.log1p(-np.minimum(share.data, 1 - 1e-6))
        self.associations_ = share

    def scores(self, X: Matrix) -> list[Matrix]:
        """Return both scores of CSR rows."""
        return [normalize(X) @ self.centroids_, presence(X) @ self.associations_]


class Names:
    """Words that a row has in common with the name of a label: cosine, and share of the name."""

    names = ("name", "share of name")

    def __init__(self, texts: Matrix) -> None:
        self.cosine_ = sparse.csr_array(normalize(texts).T)
        total = np.asarray(abs(texts).sum(axis=1)).ravel()
        self.share_ = sparse.csr_array(scale_rows(abs(texts), 1 / np.where(total > 0, total, 1)).T)

    def scores(self, X: Matrix) -> list[Matrix]:
        """Return both scores of CSR rows."""
        return [normalize(X) @ self.cosine_, presence(X) @ self.share_]


class Forest:
    """Mean probability by several trees of labels."""

    names = ("tree",)

    def __init__(self, trees: list[LabelTree]) -> None:
        self.trees_ = trees

    def scores(self, X: Matrix) -> list[Matrix]:
        """Return the mean probabilities of CSR rows."""
        total: Any = sum(tree.scores(X) for tree in self.trees_)
        return [total * np.float32(1 / len(self.trees_))]
