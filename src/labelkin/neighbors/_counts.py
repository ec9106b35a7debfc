"""How often each label occurs among the k nearest training samples: counts c of shape (m, q).

Labels are dense on the host, sparse on the host or dense on a device, and so are the counts;
the functions below hide the difference. With thousands of labels nearly all of an (n, q) matrix
is zero: labels that neither a sample nor any of its neighbours has. Their value is the same for
all samples, so that it is computed once per label, and sparse labels give the results of dense
ones to the last bit.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from labelkin._utils.array_api import (
    is_device_array,
    is_numpy,
    namespace_and_device,
    rows_per_block,
    take_along_axis,
    take_rows,
    to_device_of,
)
from labelkin.base import Array, Matrix
from labelkin.neighbors._search import Search, convert_search, make_search


def make_counts(
    X: Matrix, Y: Matrix, n_neighbors: int, n_jobs: int | None = None, **search: Any
) -> "NeighborCounts":
    """Return the counts around any sample by the labels of the training samples.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Training samples.
    Y : array or CSR array of shape (n_samples, n_labels)
        Their labels, 0 or 1, on the host or on the device of X.
    n_neighbors : int
        k. With k ≥ n every other sample is a neighbour: k becomes n − 1.
    n_jobs : int, optional
        Threads of the search.
    **search
        See `make_search`.
    """
    k = min(n_neighbors, X.shape[0] - 1)
    Y = to_device_of(Y, X) if isinstance(Y, np.ndarray) else Y
    return NeighborCounts(make_search(X, k, n_jobs=n_jobs, **search), Y, n_jobs)


class NeighborCounts:
    """Counts by a search among the training samples and their labels.

    Parameters
    ----------
    search : Search
        Finds the nearest training samples.
    Y : array or CSR array of shape (n_samples, n_labels)
        Labels of the training samples, on the device of the search.
    n_jobs : int, optional
        Threads of the search.
    """

    def __init__(self, search: Search, Y: Matrix, n_jobs: int | None = None) -> None:
        self.search: Any = search
        self.Y = Y
        self.n_jobs = n_jobs

    @property
    def n_neighbors(self) -> int:
        """The number of neighbours that are counted."""
        return self.search.n_neighbors

    def __call__(self, Q: Matrix | None = None) -> Matrix:
        """Return the counts around each query; None: each training sample, itself left out."""
        return sum_labels(self.Y, self.search.query(Q, self.n_jobs))

    def of_training(self) -> "TrainingCounts":
        """Return the counts around the training samples, each left out of its neighbours."""
        neighbors = self.search.query(None, self.n_jobs)
        return TrainingCounts(_TrainingBlocks(self.Y, neighbors), self.n_neighbors)

    def labels_of(self, rows: Any) -> Array:
        """Return the labels of some training samples as a dense array."""
        labels = self.Y[rows]
        return labels.toarray() if sparse.issparse(labels) else labels

    def __sklearn_array_api_convert__(self, converter: Callable[[Any], Any]) -> "NeighborCounts":
        moved = copy(self)
        moved.search = convert_search(self.search, converter)
        if not sparse.issparse(self.Y):
            moved.Y = converter(self.Y)
        elif is_device_array(getattr(moved.search, "columns", None)):  # labels are dense there
            moved.Y = converter(self.Y.toarray())
        return moved


class TrainingCounts:
    """Counts around the training samples, while a classifier is being fitted.

    Parameters
    ----------
    blocks : iterable of (counts, labels)
        Counts and labels, each (b, q), of consecutive training samples; iterated several times.
    n_neighbors : int
        k, the largest possible count.
    """

    def __init__(self, blocks: Iterable[tuple[Matrix, Matrix]], n_neighbors: int) -> None:
        self.blocks = blocks
        self.n_neighbors = n_neighbors

    def histogram(self) -> Array:
        """Return the number of samples by (label present, label, count), (2, q, k + 1)."""
        width = self.n_neighbors + 1
        first, *others = (label_histogram(c, labels, width) for c, labels in self.blocks)
        return sum(others, start=first)

    def look_up(self, table: Array) -> Array:
        """Return the entries of a table by (label, count) at the counts, a dense (n, q) array."""
        return stack_rows([look_up(table, counts) for counts, _ in self.blocks])

    def likely_labels(self, posterior: Array) -> Matrix:
        """Return the labels that are more likely than not given the counts, (n, q)."""
        return stack_rows([likely_labels(posterior, counts) for counts, _ in self.blocks])


class _TrainingBlocks:
    """Counts and labels of the training samples, from the indices of their neighbours.

    Several blocks are counted again in each iteration: counts take many times the memory of
    sparse labels, and a sum of labels takes little time beside the search.
    """

    def __init__(self, Y: Matrix, neighbors: Array) -> None:
        (n, q), k = Y.shape, neighbors.shape[1]
        per_row = k * (Y.nnz // n + 1) if sparse.issparse(Y) else q
        size = n if is_device_array(Y) else rows_per_block(per_row, 8, None, least=1, most=n)
        self.batches = list(gen_batches(n, size))
        self.Y, self.neighbors = Y, neighbors
        self.kept = self._block(self.batches[0]) if len(self.batches) == 1 else None

    def __iter__(self) -> Iterator[tuple[Matrix, Matrix]]:
        if self.kept is not None:
            return iter([self.kept])
        return map(self._block, self.batches)

    def _block(self, rows: slice) -> tuple[Matrix, Matrix]:
        if len(self.batches) == 1:
            return sum_labels(self.Y, self.neighbors), self.Y
        return sum_labels(self.Y, self.neighbors[rows]), self.Y[rows]


def sum_labels(Y: Matrix, neighbors: Array) -> Matrix:
    """Sum the rows of Y at each row of indices: (m, k) indices give (m, q) counts."""
    m, k = neighbors.shape
    xp, device = namespace_and_device(neighbors)
    if is_numpy(xp):
        # As narrow as the labels: the product would begin with a wider copy of them otherwise.
        narrow = not sparse.issparse(Y) and Y.dtype in (np.int8, np.uint8) and k < 128
        ones = np.ones(m * k, dtype=Y.dtype if narrow else np.int32)
        starts = np.arange(m + 1) * k
        return sparse.csr_array((ones, neighbors.ravel(), starts), shape=(m, Y.shape[0])) @ Y
    q = Y.shape[1]
    if m == 0 or k == 0:
        return xp.zeros((m, q), dtype=xp.int64, device=device)
    size = rows_per_block(k * q, 8, device, most=m)
    sums = []
    for start in range(0, m, size):
        indices = xp.reshape(neighbors[start : min(start + size, m), :], (-1,))
        labels = xp.reshape(take_rows(Y, indices), (-1, k, q))
        sums.append(xp.sum(labels, axis=1, dtype=xp.int64))
    return stack_rows(sums)


def label_histogram(counts: Matrix, Y: Matrix, width: int) -> Array:
    """Count the rows by (label present, label, count).

    Parameters
    ----------
    counts : array or CSR array of int of shape (n, q)
        From 0 to ``width - 1``.
    Y : array or CSR array of shape (n, q)
        0 and 1.
    width : int
        Number of different counts.

    Returns
    -------
    array of int of shape (2, q, width)
    """
    n, q = Y.shape
    if sparse.issparse(counts):
        # Presence and count in one number, then apart again: both have one sparsity pattern.
        both = sparse.csr_array(counts + width * Y.astype(counts.dtype))
        present, count = np.divmod(both.data, width)
        bins = (present.astype(np.intp) * q + both.indices) * width + count
        histogram = np.bincount(bins, minlength=2 * q * width).reshape(2, q, width)
        histogram[0, :, 0] += n - np.bincount(both.indices, minlength=q)
        return histogram
    xp, device = namespace_and_device(counts)
    if is_numpy(xp):
        bins = (Y.astype(np.intp) * q + np.arange(q)) * width + counts
        return np.bincount(bins.ravel(), minlength=2 * q * width).reshape(2, q, width)
    # No bincount: it is not in the standard, and torch's waits for the device.
    values = xp.reshape(xp.arange(2 * width, device=device), (2 * width, 1, 1))
    both = counts + width * xp.astype(Y, xp.int64)
    size = rows_per_block(2 * q * width, 8, device, most=n)
    totals = [
        xp.count_nonzero(both[None, start : min(start + size, n), :] == values, axis=1)
        for start in range(0, n, size)
    ]
    total = totals[0] if len(totals) == 1 else xp.sum(xp.stack(totals), axis=0)
    return xp.permute_dims(xp.reshape(total, (2, width, q)), (0, 2, 1))


def look_up(table: Array, counts: Matrix) -> Array:
    """Return ``table[label, count]`` for every row and label, a dense (m, q) array."""
    if sparse.issparse(counts):
        values = np.repeat(table[None, :, 0], counts.shape[0], axis=0)
        values[_row_of_entry(counts), counts.indices] = table[counts.indices, counts.data]
        return values
    if is_numpy(namespace_and_device(counts)[0]):
        return table[np.arange(counts.shape[1]), counts]
    return take_along_axis(table.T, counts, axis=0)


def likely_labels(posterior: Array, counts: Matrix) -> Matrix:
    """Return where P(label | count) is above one half: booleans; sparse counts: a CSR array of 1.

    Parameters
    ----------
    posterior : array of shape (q, k + 1)
        P(label | count).
    counts : array or CSR array of int of shape (m, q)
        Counts.
    """
    if not sparse.issparse(counts):
        return look_up(posterior, counts) > 0.5
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


def stack_rows(parts: list[Matrix]) -> Matrix:
    """Return blocks of rows, dense, sparse or on a device, as one matrix."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return namespace_and_device(parts[0])[0].concat(parts, axis=0)
