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
    to_device_of,
)


class NeighborCounts:
    """Counts by a search among the training samples, with their labels, where the samples lie."""

    def __init__(self, X: Matrix, Y: Matrix, n_neighbors: int, n_jobs: int | None = None) -> None:
        # With k ≥ n every other sample is a neighbour.
        self.search = ExactSearch(X, min(n_neighbors, X.shape[0] - 1))
        self.Y = to_device_of(Y, X)
        self.n_jobs = n_jobs

    def __call__(self, Q: Matrix | None = None) -> Matrix:
        """Return the counts around each query; None: each training sample, itself left out."""
        return sum_labels(self.Y, self.search.query(Q, self.n_jobs))

    def histogram(self, counts: Matrix) -> Array:
        """Return the `label_histogram` of the counts around the training samples."""
        return label_histogram(counts, self.Y, self.search.n_neighbors + 1)

    def apply(self, function: Callable, counts: Matrix, *shared: Any) -> Array:
        """Return ``function(counts, labels, *shared)`` for the training samples."""
        return function(counts, self.Y, *shared)

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
    for rows in gen_batches(m, rows_per_block(k * q, 8, device, most=m)):
        labels = xp.take(Y, xp.reshape(neighbors[rows, :], (-1,)), axis=0)
        sums.append(xp.sum(xp.reshape(labels, (-1, k, q)), axis=1, dtype=xp.int64))
    return concatenate(sums)


def label_histogram(counts: Matrix, Y: Matrix, width: int) -> Array:
    """Count the rows by (label present, label, count): (2, q, width) from two (n, q) arrays.

    Counts are from 0 to ``width - 1``.
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
        for rows in gen_batches(max(n, 1), rows_per_block(q, 8, None, least=1, most=n + 1)):
            bins = Y[rows].astype(np.intp) * (q * width) + first + counts[rows]
            total += np.bincount(bins.ravel(), minlength=len(total))
        return total.reshape(2, q, width)
    xp, device = namespace_and_device(counts)
    # No bincount: it is not in the standard, and torch's waits for the device.
    values = xp.reshape(xp.arange(2 * width, device=device), (2 * width, 1, 1))
    both = counts + width * xp.astype(Y, xp.int64)
    total = xp.zeros((2 * width, q), dtype=xp.int64, device=device)
    for rows in gen_batches(n, rows_per_block(2 * q * width, 8, device, most=n)):
        total = total + xp.count_nonzero(both[None, rows, :] == values, axis=1)
    return xp.permute_dims(xp.reshape(total, (2, width, q)), (0, 2, 1))


def look_up(table: Array, counts: Matrix) -> Array:
    """Return ``table[label, count]`` for every row and label, a dense (m, q) array."""
    if sparse.issparse(counts):
        values = np.repeat(table[None, :, 0], counts.shape[0], axis=0)
        values[_row_of_entry(counts), counts.indices] = table[counts.indices, counts.data]
        return values
    if not is_device_array(counts):
        m, q = counts.shape
        values, labels = np.empty((m, q), dtype=table.dtype), np.arange(q)
        for rows in gen_batches(max(m, 1), rows_per_block(q, 8, None, least=1, most=m + 1)):
            values[rows] = table[labels, counts[rows]]
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
