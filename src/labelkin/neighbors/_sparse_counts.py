"""ML-kNN on sparse label matrices: only labels that a sample or a neighbour has are looked at.

With thousands of labels nearly all of an (n, q) matrix is zero: a label that neither a sample
nor any of its neighbours has. What holds there is the same for all samples of a label, so it
is worked out once a label. The results are those of dense matrices, to the last bit.
"""

import numpy as np
from scipy import sparse

from labelkin.base import Array


def sparse_histogram(counts: sparse.csr_array, Y: sparse.csr_array, width: int) -> Array:
    """Count the rows of each (label present, label, count); see `label_histogram`."""
    n, q = Y.shape
    marked, present, count = _with_own_labels(counts, Y, width)
    cell = (present.astype(np.intp) * q + marked.indices) * width + count
    histogram = np.bincount(cell, minlength=2 * q * width).reshape(2, q, width)
    histogram[0, :, 0] += n - np.bincount(marked.indices, minlength=q)
    return histogram


def sparse_misclassified(counts: sparse.csr_array, Y: sparse.csr_array, posterior: Array) -> Array:
    """Tell which rows' label sets are not those more likely than not.

    Parameters
    ----------
    counts : CSR array of int of shape (n, q)
        How many neighbours have each label.
    Y : CSR array of shape (n, q)
        The labels of the samples themselves.
    posterior : ndarray of shape (q, k + 1)
        P(label | count).
    """
    marked, present, count = _with_own_labels(counts, Y, posterior.shape[1])
    wrong = (posterior[marked.indices, count] > 0.5) != present
    # A label can be likely though no neighbour has it; a row has to have it then.
    unseen_likely = posterior[:, 0] > 0.5
    n_wrong = _row_sums(wrong, marked.indptr)
    n_known = _row_sums(unseen_likely[marked.indices], marked.indptr)
    return (n_wrong > 0) | (n_known < np.count_nonzero(unseen_likely))


def _with_own_labels(
    counts: sparse.csr_array, Y: sparse.csr_array, width: int
) -> tuple[sparse.csr_array, Array, Array]:
    """Return where a row or its neighbours have a label; there, whether the row does; counts.

    Both are added into one number, count + width · label, and taken apart again.
    """
    marked = sparse.csr_array(counts + width * Y.astype(counts.dtype))
    present, count = np.divmod(marked.data, width)
    return marked, present > 0, count


def sparse_labels(counts: sparse.csr_array, posterior: Array) -> sparse.csr_array:
    """Return the labels more likely than not as a CSR array of 0 and 1."""
    likely = posterior[counts.indices, counts.data] > 0.5
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    all_rows, all_columns = [rows[likely]], [counts.indices[likely]]
    unseen_likely = np.flatnonzero(posterior[:, 0] > 0.5)
    if len(unseen_likely):
        row, place = np.nonzero(counts[:, unseen_likely].toarray() == 0)
        all_rows.append(row)
        all_columns.append(unseen_likely[place])
    where = np.concatenate(all_rows), np.concatenate(all_columns)
    ones = np.ones(len(where[0]), dtype=np.int64)
    labels = sparse.coo_array((ones, where), shape=counts.shape).tocsr()
    labels.sort_indices()
    return labels


def dense_posterior(counts: sparse.csr_array, posterior: Array) -> Array:
    """Return P(label | count) of every row and label, a dense matrix."""
    proba = np.repeat(posterior[None, :, 0], counts.shape[0], axis=0)
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    proba[rows, counts.indices] = posterior[counts.indices, counts.data]
    return proba


def _row_sums(flags: Array, indptr: Array) -> Array:
    """Count the flags of each row."""
    return np.diff(np.concatenate([[0], np.cumsum(flags)])[indptr])
