"""How often each label occurs among the k nearest training samples: counts c of shape (m, q).

Neighbours are found where the samples lie; labels are counted on the host, and are dense or
sparse there, as the counts are. With thousands of labels nearly all of an (n, q) matrix
is zero: labels that neither a sample nor any of its neighbours has. Their value is the same for
all samples, so that it is computed once per label, and sparse labels give the results of dense
ones to the last bit.
"""

import math
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from labelkin.base import Array, Matrix
from labelkin.neighbors._exact import ExactSearch, k_smallest
from labelkin.rows import as_dense, convert_arrays, to_numpy

# Labels known for at least this share of the samples are looked for among the nearest of all; the
# others in samples for which they are known.
_OFTEN_KNOWN = 1 / 32


class NeighborCounts:
    """Counts by a search among the training samples, with their labels.

    With unknown labels, of which `known` is the mask, the neighbours of a label are the k nearest
    samples for which it is known.
    """

    def __init__(
        self,
        X: Matrix,
        Y: Matrix,
        n_neighbors: int,
        n_jobs: int | None = None,
        known: Array | None = None,
    ) -> None:
        # With k ≥ n every other sample is a neighbour.
        self.search = ExactSearch(X, min(n_neighbors, X.shape[0] - 1))
        self.Y, self.n_jobs, self.known = Y, n_jobs, known

    def __call__(self, Q: Matrix | None = None) -> Matrix:
        """Return the counts around each query; None: each training sample, itself left out."""
        if self.known is None or not self.search.n_neighbors:
            return sum_labels(self.Y, to_numpy(self.search.query(Q, self.n_jobs)))
        return self.search.map_distances(self._count_known, Q, self.n_jobs)

    def _count_known(self, distances: Array) -> Array:
        """Count each label among the k nearest samples for which it is known.

        A sample at infinite distance is the query itself.
        """
        distances, Y, k = to_numpy(distances), self.Y, self.search.n_neighbors
        known: Any = self.known
        # Among so many are k for which a label is known, where these are spread at random, for all
        # but one in 10⁸ queries.
        share = known.mean(axis=0)
        least = share.min(where=share >= _OFTEN_KNOWN, initial=1.0)
        width = min(len(Y) - 1, math.ceil((k + 6 * math.sqrt(k)) / least))
        nearest_of_all = k_smallest(distances, width)
        counts = np.zeros((len(distances), Y.shape[1]), dtype=np.int64)
        for label in np.flatnonzero(share):
            nearest, counted = nearest_of_all, known[nearest_of_all, label]
            so_far = np.cumsum(counted, axis=1)
            counted &= so_far <= k
            if so_far[:, -1].min() < k:  # too few: search in those for which it is known
                rows = np.flatnonzero(known[:, label])
                among = distances[:, rows]
                found = k_smallest(among, min(k, len(rows)))
                nearest, counted = rows[found], np.take_along_axis(among, found, 1) < math.inf
            counts[:, label] = (Y[nearest, label] * counted).sum(axis=1)
        return counts

    def histogram(self, counts: Matrix) -> Array:
        """Return the `label_histogram` of the counts around the training samples."""
        return label_histogram(counts, self.Y, self.search.n_neighbors + 1, self.known)

    def apply(self, function: Callable, counts: Matrix, *shared: Any) -> Array:
        """Return ``function(counts, labels, known, *shared)`` for the training samples."""
        return function(counts, self.Y, self.known, *shared)

    def labels_of(self, rows: Any) -> Array:
        """Return the labels of some training samples as a dense array."""
        return as_dense(self.Y[rows])

    def __sklearn_array_api_convert__(self, converter: Callable[[Any], Any]) -> "NeighborCounts":
        moved = copy(self)
        moved.search = convert_arrays(self.search, converter)
        return moved


def sum_labels(Y: Matrix, neighbors: Array) -> Matrix:
    """Sum the rows of Y at each row of indices: (m, k) indices give (m, q) counts."""
    m, k = neighbors.shape
    # SciPy follows the indices unchecked, and neighbours by NaN distances are out of range.
    if m * k and not 0 <= neighbors.min() <= neighbors.max() < Y.shape[0]:
        raise ValueError("The nearest rows were not found: distances overflow or are NaN.")
    # As narrow as the labels: the product would begin with a wider copy of them otherwise.
    narrow = not sparse.issparse(Y) and Y.dtype in (np.int8, np.uint8) and k < 128
    ones = np.ones(m * k, dtype=Y.dtype if narrow else np.int32)
    starts = np.arange(m + 1) * k
    return sparse.csr_array((ones, neighbors.ravel(), starts), shape=(m, Y.shape[0])) @ Y


def label_histogram(counts: Matrix, Y: Matrix, width: int, known: Array | None = None) -> Array:
    """Count the rows by (label present, label, count): (2, q, width) from two (n, q) arrays.

    Counts are from 0 to ``width - 1``. `known` may say which labels to count.
    """
    n, q = Y.shape
    if sparse.issparse(counts):
        # Presence and count are added into one number, so that they have one sparsity pattern.
        both = sparse.csr_array(counts + width * Y.astype(counts.dtype))
        present, count = np.divmod(both.data, width)
        bins = (present.astype(np.intp) * q + both.indices) * width + count
        histogram = np.bincount(bins, minlength=2 * q * width).reshape(2, q, width)
        histogram[0, :, 0] += n - np.bincount(both.indices, minlength=q)
        return histogram
    histogram = np.empty((2, q, width), dtype=np.intp)
    for label in range(q):
        rows = slice(None) if known is None else known[:, label]
        bins = counts[rows, label] + width * Y[rows, label].astype(np.intp)
        histogram[:, label] = np.bincount(bins, minlength=2 * width).reshape(2, width)
    return histogram


def look_up(table: Array, counts: Matrix) -> Array:
    """Return ``table[label, count]`` for every row and label, a dense (m, q) NumPy array."""
    table = to_numpy(table)
    if sparse.issparse(counts):
        values = np.repeat(table[None, :, 0], counts.shape[0], axis=0)
        values[_row_of_entry(counts), counts.indices] = table[counts.indices, counts.data]
        return values
    return np.take_along_axis(table.T, counts, axis=0)


def likely_labels(posterior: Array, counts: Matrix) -> Matrix:
    """Return where P(label | count) is above one half, for sparse counts: a CSR array of 1.

    `posterior` has the shape (q, k + 1).
    """
    likely = posterior[counts.indices, counts.data] > 0.5
    rows, columns = [_row_of_entry(counts)[likely]], [counts.indices[likely]]
    # A label can be likely though no neighbour has it.
    without_neighbors = np.flatnonzero(posterior[:, 0] > 0.5)
    if len(without_neighbors):
        row, column = np.nonzero(counts[:, without_neighbors].toarray() == 0)
        rows.append(row)
        columns.append(without_neighbors[column])
    where = np.concatenate(rows), np.concatenate(columns)
    ones = np.ones(len(where[0]), dtype=np.int64)
    labels = sparse.coo_array((ones, where), shape=counts.shape).tocsr()
    labels.sort_indices()
    return labels


def _row_of_entry(matrix: sparse.csr_array) -> Array:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
