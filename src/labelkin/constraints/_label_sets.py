"""Label sets and how similar two of them are (section 3.1, Eq. 1–2)."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.labels import check_labels
from labelkin.base import Array
from labelkin.rows import DaskBlocks, as_rows, is_dask, to_device_of, to_numpy


def label_similarity(Y_left: Any, Y_right: Any) -> Array:
    """Similarity of label sets, row by row: shared labels over the mean size (Eq. 1–2).

    Parameters
    ----------
    Y_left, Y_right : {array-like, sparse matrix} of shape (n_pairs, n_labels)
        0 and 1.

    Returns
    -------
    ndarray of shape (n_pairs,)
        2 |A ∩ B| / (|A| + |B|), from 0 (disjoint) to 1 (equal; two empty sets are equal).

    Examples
    --------
    >>> label_similarity([[1, 1, 0], [0, 0, 0]], [[0, 1, 1], [0, 0, 0]])
    array([0.5, 1. ])
    """
    left, right = label_rows(Y_left), label_rows(Y_right)
    if left.shape != right.shape:
        raise ValueError(
            f"Y_left and Y_right must have the same shape, got {left.shape} and {right.shape}."
        )
    sizes = np.diff(left.indptr) + np.diff(right.indptr)
    return to_device_of(dice(shared_labels(left, right), sizes), Y_left)


class LabelSets:
    """The distinct label sets of all samples, a CSR array of ones, and the row of each sample's."""

    def __init__(self, distinct: sparse.csr_array, set_of_sample: Array) -> None:
        self.distinct = distinct
        self.set_of_sample = set_of_sample
        self.shape = len(set_of_sample), distinct.shape[1]
        self.n_sets = distinct.shape[0]
        self.sizes = np.diff(distinct.indptr)
        """Number of labels of each distinct set."""

    @classmethod
    def from_matrix(cls, Y: Any) -> "LabelSets":
        """Find the distinct rows of an (n, q) matrix of 0 and 1, of a Dask array block by block."""
        if isinstance(Y, LabelSets):
            return Y
        if not is_dask(Y):
            return cls(*distinct_rows(label_rows(Y)))
        blocks = DaskBlocks(Y.rechunk({1: -1}).to_delayed().ravel()).collect(_distinct_in_block)
        distinct, of_set = distinct_rows(sparse.vstack([sets for sets, _ in blocks], format="csr"))
        first = np.cumsum([0] + [sets.shape[0] for sets, _ in blocks])
        of_row = [which + start for (_, which), start in zip(blocks, first, strict=False)]
        return cls(distinct, of_set[np.concatenate(of_row)])

    def __len__(self) -> int:
        return self.shape[0]

    @cached_property
    def similarity_table(self) -> Array:
        """Similarities of all pairs of distinct sets, (n_sets, n_sets)."""
        shared = (self.distinct @ self.distinct.T).toarray()
        return dice(shared, np.add.outer(self.sizes, self.sizes))

    def are_must_links(self, left: Array, right: Array, threshold: float) -> Array:
        """Return which pairs of distinct sets have a similarity of at least the threshold."""
        shared = shared_labels(self.distinct[left], self.distinct[right])
        return dice(shared, self.sizes[left] + self.sizes[right]) >= threshold

    def matrix(self, rows: Any = slice(None)) -> Array:
        """Return the labels of some rows, or of all, as a matrix."""
        return labels_of_sets(self.set_of_sample[rows], self.distinct)

    def differ_from(self, labels: Any) -> Array:
        """Return which samples' predicted labels, (n, q) of any kind, are not their label set."""
        rows = as_rows(labels)
        parts = [rows.split(self.set_of_sample)]
        return np.concatenate(rows.collect(_differs_in_block, parts, [self.distinct]))

    def find_pairs(
        self, left: Array, right: Array, must_link: bool, threshold: float
    ) -> tuple[Array, Array]:
        """Find all pairs of one kind between two lists of distinct sets; return their positions.

        Pairs of equal sets are left out. Other must-links have a common label, if Θ > 0.
        """
        shared = (self.distinct[left] @ self.distinct[right].T).tocoo()
        row, column = shared.row, shared.col
        similar = dice(shared.data, self.sizes[left[row]] + self.sizes[right[column]]) >= threshold
        if must_link:
            similar &= left[row] != right[column]
            return row[similar], column[similar]
        cannot_link = left[:, None] != right
        cannot_link[row[similar], column[similar]] = False
        row, column = np.nonzero(cannot_link)
        return row, column


def labels_of_sets(sets: Array, distinct: sparse.csr_array) -> Array:
    """Return the (n, q) label matrix of rows from the numbers of their label sets."""
    return distinct[sets].toarray().astype(np.uint8)


def label_rows(Y: Any) -> sparse.csr_array:
    """Validate an (n, q) matrix of 0 and 1; return it as CSR, every stored entry 1."""
    return sparse.csr_array(check_labels(to_numpy(Y), "y"), dtype=np.int64)


def distinct_rows(Y: sparse.csr_array) -> tuple[sparse.csr_array, Array]:
    """Return the distinct rows of Y, and for each row which of them it is.

    Rows are grouped by random 64-bit sums, and every row is compared with the first of its
    group: a collision of the sums only costs another round.
    """
    rng = np.random.default_rng(0)
    sizes = np.diff(Y.indptr)
    while True:
        codes = rng.integers(1, 2**63, size=(Y.shape[1], 2), dtype=np.uint64)[:, 0]
        sums = Y.astype(np.uint64) @ codes
        _, first, which = np.unique(sums, return_index=True, return_inverse=True)
        which = which.ravel()
        if (sizes[first[which]] != sizes).any():
            continue
        if (Y[first[which]].indices == Y.indices).all():
            return Y[first], which


def shared_labels(left: sparse.csr_array, right: sparse.csr_array) -> Array:
    """Count the common labels of two lists of label sets, row by row."""
    return np.asarray(left.multiply(right).sum(axis=1)).ravel()


def dice(shared: Array, sizes: Array) -> Array:
    """Return 2 · shared / sizes, and 1 for two empty sets."""
    return np.where(sizes == 0, 1.0, 2.0 * shared / np.maximum(sizes, 1))


# Functions of a block.


def _distinct_in_block(Y: Any) -> tuple[sparse.csr_array, Array]:
    if not Y.shape[0]:
        return sparse.csr_array((0, Y.shape[1]), dtype=np.int64), np.empty(0, dtype=np.intp)
    return distinct_rows(label_rows(Y))


def _differs_in_block(labels: Any, sets: Array, distinct: sparse.csr_array) -> Array:
    if sparse.issparse(labels):
        return np.diff(sparse.csr_array(labels != distinct[sets]).indptr) > 0
    return (to_numpy(labels) != labels_of_sets(sets, distinct)).any(axis=1)
