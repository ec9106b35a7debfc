"""Metrics of the k labels that are ranked first, for many labels.

Every metric is a sum of gains over the first k places of a row, divided by the norm of the row. The
gain of a relevant label is 1 or, in the propensity-scored form, 1 / propensity: the probability
that a relevant label is also marked as such is lower for rare labels, and the weighted sum has the
expectation that complete labels would give (Jain, Prabhu and Varma, 2016). This form is divided by
what the best ranking reaches. Of a row with fewer than k known labels, all of these are counted, as
if k were their number.
"""

from collections.abc import Iterator
from numbers import Integral
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from labelkin._utils.labels import check_labels
from labelkin.metrics._inputs import check_match
from labelkin.metrics._ranking import ENTRIES, Ties, check_ties
from labelkin.rows import to_numpy


def precision_at_k(
    y_true: Any, y_score: Any, k: int = 5, *, propensity: Any = None, ties: Ties = "against"
) -> float:
    """Share of relevant labels among the k that are ranked first, mean over rows.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, q)
        The true labels, 0 or 1; NaN where they are unknown.
    y_score : array-like or sparse matrix of shape (n, q)
        A score per label; entries that a sparse matrix does not store are 0.
    k : int, default=5
        Number of places, at most q.
    propensity : array-like of shape (q,), optional
        Of each label, as `label_propensities` returns: gives the propensity-scored form.
    ties : {"against", "index"}, default="against"
        See :func:`~labelkin.metrics.evaluate`. Of relevant labels with equal scores, those of less
        gain are ranked first by ``"against"``.

    Returns
    -------
    float

    Examples
    --------
    One of the first two labels is relevant:

    >>> precision_at_k([[1, 0, 1]], [[0.9, 0.5, 0.1]], k=2)
    0.5
    """
    return _mean("precision", y_true, y_score, k, propensity, ties)


def recall_at_k(
    y_true: Any, y_score: Any, k: int = 5, *, propensity: Any = None, ties: Ties = "against"
) -> float:
    """Share of the relevant labels that are among the k ranked first, mean over rows.

    Parameters are those of :func:`precision_at_k`. A row without relevant labels counts 0.

    Examples
    --------
    Of three relevant labels, one is among the first two:

    >>> round(recall_at_k([[1, 0, 1, 1]], [[0.9, 0.5, 0.1, 0.2]], k=2), 4)
    0.3333
    """
    return _mean("recall", y_true, y_score, k, propensity, ties)


def ndcg_at_k(
    y_true: Any, y_score: Any, k: int = 5, *, propensity: Any = None, ties: Ties = "against"
) -> float:
    """Discounted cumulative gain of the first k labels, relative to the best possible one.

    The gain at place j counts 1 / log2(j + 1). Parameters are those of :func:`precision_at_k`. A
    row without relevant labels counts 0.

    Examples
    --------
    The only relevant label is at the second place, 1 / log2(3):

    >>> round(ndcg_at_k([[0, 1, 0]], [[0.9, 0.5, 0.1]], k=2), 4)
    0.6309
    """
    return _mean("ndcg", y_true, y_score, k, propensity, ties)


def label_propensities(y_train: Any, A: float = 0.55, B: float = 1.5) -> np.ndarray:
    """Return the probability that a relevant label is marked as such, by its frequency.

    p = 1 / (1 + C · (m + B)^−A) with C = (log n − 1) · (B + 1)^A, for m of n training rows with
    the label (Jain, Prabhu and Varma, 2016).

    Parameters
    ----------
    y_train : array-like or sparse matrix of shape (n, q)
        Labels of the training rows, 0 or 1.
    A, B : float, default=0.55 and 1.5
        Constants of the dataset; the defaults are usual ones. Others in use are 0.5 and 0.4 for
        Wikipedia, 0.6 and 2.6 for Amazon.

    Returns
    -------
    ndarray of shape (q,)

    Examples
    --------
    >>> label_propensities([[1, 0], [1, 0], [1, 1], [0, 0]]).round(3)
    array([0.782, 0.721])
    """
    Y = sparse.csr_array(check_labels(to_numpy(y_train), "y_train"))
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    C = max(np.log(Y.shape[0]) - 1, 0.0) * (B + 1) ** A  # fewer than three rows: all are 1
    return 1 / (1 + C * (counts + B) ** -A)


def _mean(
    kind: Literal["precision", "recall", "ndcg"],
    y_true: Any,
    y_score: Any,
    k: int,
    propensity: Any,
    ties: Ties,
) -> float:
    """Return the mean of gains / norm; with propensities, divided by the largest possible."""
    check_ties(ties)
    Y, S, known = check_match(y_true, y_score, "y_score", keep_sparse=True)
    n, q = Y.shape
    if not isinstance(k, Integral) or isinstance(k, bool) or not 1 <= k <= q:
        raise ValueError(f"k must be a whole number from 1 to {q}, not {k!r}.")
    n_known = np.full(n, q)
    if known is not None:  # unknown labels rank last
        S, n_known = np.where(known, S, -np.inf), known.sum(axis=1)
    Y = sparse.csr_array(Y)
    p = np.ones(q) if propensity is None else np.asarray(propensity, dtype=float)
    if p.shape != (q,) or not ((p > 0) & (p <= 1)).all():
        raise ValueError(f"propensity must hold {q} numbers above 0 and up to 1, one per label.")
    discount = 1 / np.log2(np.arange(2, k + 2)) if kind == "ndcg" else np.ones(k)
    size = np.diff(Y.indptr)  # number of relevant labels of each row
    if kind == "precision":
        norm = np.minimum(n_known, k)
    elif kind == "recall":
        norm = np.maximum(size, 1)
    else:
        norm = np.append(1.0, discount.cumsum())[np.minimum(size, k)]
    reached, largest = [], []
    for gains, first in _blocks(Y, S, k, ties, 1 / p):
        reached.append(np.take_along_axis(gains, first, axis=1) @ discount)
        if propensity is not None:
            best = -np.sort(np.partition(-gains, k - 1, axis=1)[:, :k], axis=1)
            largest.append(best @ discount)
    total = (np.concatenate(reached) / norm).sum()
    if propensity is None:
        return float(total / n)
    possible = (np.concatenate(largest) / norm).sum()
    return float(total / possible) if possible else 0.0


def _blocks(
    Y: Any, S: Any, k: int, ties: Ties, worth: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the gains of some rows, dense, and their first k columns.

    Where all rows have k positive scores, labels that none of them has or scores are left out.
    """
    n, q = Y.shape
    for rows in gen_batches(n, max(1, ENTRIES // q)):
        labels, scores, columns = Y[rows], S[rows], np.arange(q)
        if sparse.issparse(scores):
            if ((scores > 0).sum(axis=1) >= k).all():
                columns = np.unique(np.concatenate([labels.indices, scores.indices]))
                labels, scores = labels[:, columns], scores[:, columns]
            scores = scores.toarray()
        gains = labels.toarray() * worth[columns]
        # The k-th largest score of each row, and all labels that reach it
        least = -np.partition(-scores, k - 1, axis=1)[:, [k - 1]]
        row, label = np.nonzero(scores >= least)
        tie = -label if ties == "index" else gains[row, label]
        order = np.lexsort((tie, -scores[row, label], row))
        place = np.arange(len(row)) - np.searchsorted(row, row)
        yield gains, label[order][place < k].reshape(-1, k)
