"""How often each label occurs among the k nearest training samples: counts c of shape (m, q).

Labels are dense on the host, sparse on the host or dense on a device, and so are the counts;
the functions below hide the difference. With thousands of labels nearly all of an (n, q) matrix
is zero: labels that neither a sample nor any of its neighbours has. Their value is the same for
all samples, so that it is computed once per label, and sparse labels give the results of dense
ones to the last bit.
"""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from labelkin.base import Array, Matrix
from labelkin.neighbors._exact import ExactSearch
from labelkin.rows import (
    as_dense,
    concatenate,
    convert_arrays,
    is_device_array,
    namespace,
    namespace_and_device,
    rows_per_block,
    take,
    to_device_of,
    to_numpy,
)

# Cells of rows, neighbours and labels that are handled at a time.
_BATCH_CELLS = 2**23


# A search for the k nearest samples whose labels are known is for at most this many times k
# samples; labels that are known too seldom for that are searched for one by one.
_MOST_WIDENED = 32


class NeighborCounts:
    """Counts by a search among the training samples, with their labels, where the samples lie.

    With unknown labels, of which `known` is the mask, the neighbours of a label are the k nearest
    samples for which it is known. These are counted on the host.
    """

    known: Array | None = None

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
        self.Y = to_device_of(Y, X)
        self.n_jobs = n_jobs
        if known is not None:
            self.known = known

    def __call__(self, Q: Matrix | None = None) -> Matrix:
        """Return the counts around each query; None: each training sample, itself left out."""
        if self.known is not None:
            return to_device_of(self._count_known(self.known, Q), self.search.squared_norms)
        return sum_labels(self.Y, self.search.query(Q, self.n_jobs))

    def _count_known(self, known: Array, Q: Matrix | None) -> Array:
        """Return the counts among the k nearest samples for which each label is known."""
        search, k, Y = self.search, self.search.n_neighbors, to_numpy(self.Y)
        queries = search.rows() if Q is None else Q
        most = len(Y) - (Q is None)
        counts = np.zeros((queries.shape[0], Y.shape[1]), dtype=np.int64)
        if not k or not most:
            return counts
        # Samples of which k are known, if these are spread at random, for all but one in 10⁸
        # queries; at most all.
        share = np.maximum(known.mean(axis=0), 1 / len(Y))
        widths = np.minimum(most, np.ceil((k + 6 * np.sqrt(k)) / share)).astype(int)
        together = np.flatnonzero(widths <= _MOST_WIDENED * k)
        if len(together):
            width = widths[together].max()
            neighbors = to_numpy(search.query(Q, self.n_jobs, int(width)))
            found, enough = sum_known(Y[:, together], known[:, together], neighbors, k)
            counts[:, together] = found
            together = together if width == most else together[enough]
        for label in np.setdiff1d(np.arange(Y.shape[1]), together):
            rows = np.flatnonzero(known[:, label])
            if len(rows):
                counts[:, label] = self._count_among(rows, Y[:, label], queries, Q is None)
        return counts

    def _count_among(self, rows: Array, y: Array, queries: Matrix, are_own: bool) -> Array:
        """Return the counts of one label among the samples `rows`."""
        k = self.search.n_neighbors
        search = ExactSearch(take(self.search.rows(), rows), min(k + are_own, len(rows)))
        if not are_own and self.search.offset is not None:
            queries = as_dense(queries) - self.search.offset
        nearest = rows[to_numpy(search.query(queries, self.n_jobs))]
        # A sample is none of its own neighbours: one more was searched for.
        itself = nearest == np.arange(len(nearest))[:, None] if are_own else nearest < 0
        kept = ~itself & (np.cumsum(~itself, axis=1) <= k)
        return (y[nearest] * kept).sum(axis=1)

    def histogram(self, counts: Matrix) -> Array:
        """Return the `label_histogram` of the counts around the training samples."""
        width = self.search.n_neighbors + 1
        if self.known is None:
            return label_histogram(counts, self.Y, width)
        found = label_histogram(to_numpy(counts), to_numpy(self.Y), width, self.known)
        return to_device_of(found, counts)

    def apply(self, function: Callable, counts: Matrix, *shared: Any) -> Array:
        """Return ``function(counts, labels, known, *shared)`` for the training samples."""
        known = None if self.known is None else to_device_of(self.known, counts)
        return function(counts, self.Y, known, *shared)

    def labels_of(self, rows: Any) -> Array:
        """Return the labels of some training samples as a dense array."""
        return as_dense(self.Y[rows])

    def __sklearn_array_api_convert__(self, converter: Callable[[Any], Any]) -> "NeighborCounts":
        moved = copy(self)
        moved.search = convert_arrays(self.search, converter)
        if not sparse.issparse(self.Y):
            moved.Y = converter(self.Y)
        elif is_device_array(moved.search.X):  # labels are dense there
            moved.Y = converter(self.Y.toarray())
        return moved


def sum_labels(Y: Matrix, neighbors: Array) -> Matrix:
    """Sum the rows of Y at each row of indices: (m, k) indices give (m, q) counts."""
    m, k = neighbors.shape
    xp, device = namespace_and_device(neighbors)
    if not is_device_array(neighbors):
        # SciPy follows the indices unchecked, and neighbours by NaN distances are out of range.
        if m * k and not 0 <= neighbors.min() <= neighbors.max() < Y.shape[0]:
            raise ValueError("The nearest rows were not found: distances overflow or are NaN.")
        # As narrow as the labels: the product would begin with a wider copy of them otherwise.
        narrow = not sparse.issparse(Y) and Y.dtype in (np.int8, np.uint8) and k < 128
        ones = np.ones(m * k, dtype=Y.dtype if narrow else np.int32)
        starts = np.arange(m + 1) * k
        return sparse.csr_array((ones, neighbors.ravel(), starts), shape=(m, Y.shape[0])) @ Y
    q = Y.shape[1]
    if m == 0 or k == 0:
        return xp.zeros((m, q), dtype=xp.int64, device=device)
    sums = []
    for rows in gen_batches(m, rows_per_block(k * q, device, most=m)):
        labels = xp.take(Y, xp.reshape(neighbors[rows, :], (-1,)), axis=0)
        sums.append(xp.sum(xp.reshape(labels, (-1, k, q)), axis=1, dtype=xp.int64))
    return concatenate(sums)


def sum_known(Y: Array, known: Array, neighbors: Array, k: int) -> tuple[Array, Array]:
    """Count each label among the first k neighbours for which it is known; all are on the host.

    Returned are (m, q) counts, and for which labels every row has k such neighbours.
    """
    m, width = neighbors.shape
    q = Y.shape[1]
    counts, enough = np.empty((m, q), dtype=np.int64), np.ones(q, dtype=bool)
    for rows in gen_batches(max(m, 1), max(1, _BATCH_CELLS // (width * q))):
        nearest = neighbors[rows]
        is_known = known[nearest]
        so_far = np.cumsum(is_known, axis=1, dtype=np.int32)
        counts[rows] = (Y[nearest] * (is_known & (so_far <= k))).sum(axis=1)
        enough &= (so_far[:, -1] >= k).all(axis=0)
    return counts, enough


def label_histogram(counts: Matrix, Y: Matrix, width: int, known: Array | None = None) -> Array:
    """Count the rows by (label present, label, count): (2, q, width) from two (n, q) arrays.

    Counts are from 0 to ``width - 1``. On the host, `known` may say which labels to count.
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
    if not is_device_array(counts):
        # In blocks of rows, whose bins stay in cache.
        total, first = np.zeros(2 * q * width, dtype=np.intp), np.arange(q) * width
        for rows in gen_batches(max(n, 1), rows_per_block(q, None, least=1, most=n + 1)):
            bins = Y[rows].astype(np.intp) * (q * width) + first + counts[rows]
            counted = bins.ravel() if known is None else bins[known[rows]]
            total += np.bincount(counted, minlength=len(total))
        return total.reshape(2, q, width)
    xp, device = namespace_and_device(counts)
    # No bincount: it is not in the standard, and torch's waits for the device.
    values = xp.reshape(xp.arange(2 * width, device=device), (2 * width, 1, 1))
    both = counts + width * xp.astype(Y, xp.int64)
    total = xp.zeros((2 * width, q), dtype=xp.int64, device=device)
    for rows in gen_batches(n, rows_per_block(2 * q * width, device, most=n)):
        total = total + xp.count_nonzero(both[None, rows, :] == values, axis=1)
    return xp.permute_dims(xp.reshape(total, (2, width, q)), (0, 2, 1))


def look_up(table: Array, counts: Matrix) -> Array:
    """Return ``table[label, count]`` for every row and label, a dense (m, q) array."""
    if sparse.issparse(counts):
        values = np.repeat(table[None, :, 0], counts.shape[0], axis=0)
        values[_row_of_entry(counts), counts.indices] = table[counts.indices, counts.data]
        return values
    return namespace(table).take_along_axis(table.T, counts, axis=0)


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
