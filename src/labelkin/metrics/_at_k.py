"""Metrics of the k labels that are ranked first, for many labels.

Every metric is a sum of gains over the first k places of a row, divided by the norm of the row. The
gain of a relevant label is 1 or, in the propensity-scored form, 1 / propensity: the probability
that a relevant label is also marked as such is lower for rare labels, and the weighted sum has the
expectation that complete labels would give (Jain, Prabhu and Varma, 2016). This form is divided by
what the best ranking reaches.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from labelkin._utils.labels import as_matrix, check_labels
from labelkin.metrics._inputs import check_scores
from labelkin.metrics._ranking import Ties, check_ties
from labelkin.rows import to_numpy

_ENTRIES = 2**20  # of the dense arrays of a block of rows


def precision_at_k(
    y_true: Any, y_score: Any, k: int = 5, *, propensity: Any = None, ties: Ties = "against"
) -> float:
    """Share of relevant labels among the k that are ranked first, mean over rows.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n, q)
        The true labels, 0 or 1.
    y_score : array-like or sparse matrix of shape (n, q)
        A score per label; entries that a sparse matrix does not store are 0.
    k : int, default=5
        Number of places, at most q.
    propensity : array-like of shape (q,), optional
        Of each label, as `label_propensities` returns: gives the propensity-scored form.
    ties : {"against", "index", "expected"}, default="against"
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
    return _mean(y_true, y_score, k, propensity, ties, lambda size: np.full(len(size), float(k)))


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
    return _mean(y_true, y_score, k, propensity, ties, lambda size: size)


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
    ideal = np.cumsum(1 / np.log2(np.arange(2, k + 2))) if _is_count(k) else np.ones(1)

    def norm(size: np.ndarray) -> np.ndarray:
        return np.concatenate([[0.0], ideal])[np.minimum(size, k).astype(int)]

    discount = 1 / np.log2(np.arange(2, k + 2)) if _is_count(k) else None
    return _mean(y_true, y_score, k, propensity, ties, norm, discount)


def coverage_at_k(y_true: Any, y_score: Any, k: int = 5, *, ties: Ties = "against") -> float:
    """Share of the labels in `y_true` that are found among the first k of at least one row.

    A label that no row has is not counted. With ``ties="expected"``, a label counts with the
    probability that it is found at least once.

    Examples
    --------
    The second label is relevant in the second row, and not found:

    >>> coverage_at_k([[1, 0, 0], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.8, 0.2, 0.3]], k=1)
    0.5
    """
    Y, S = _check(y_true, y_score, k, ties)
    missed = np.ones(Y.shape[1])
    for relevant, scores, columns in _blocks(Y, S, k):
        row, label, chance = _first(relevant.astype(float), scores, k, ties)
        hit = relevant[row, label] > 0
        np.multiply.at(missed, columns[label[hit]], 1 - chance[hit])
    occurs = np.bincount(Y.indices, minlength=Y.shape[1]) > 0
    return float((1 - missed)[occurs].mean()) if occurs.any() else 0.0


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
    y_true: Any,
    y_score: Any,
    k: int,
    propensity: Any,
    ties: Ties,
    norm: Callable[[np.ndarray], np.ndarray],
    discount: np.ndarray | None = None,
) -> float:
    """Return the mean of gains / norm; with propensities, divided by the largest possible."""
    Y, S = _check(y_true, y_score, k, ties)
    worth = np.ones(Y.shape[1]) if propensity is None else _worth(propensity, Y.shape[1])
    discount = np.ones(k) if discount is None else discount
    total = best = 0.0
    for relevant, scores, columns in _blocks(Y, S, k):
        gains = relevant * worth[columns]
        row, label, chance = _first(gains, scores, k, ties, discount)
        sums = np.bincount(row, gains[row, label] * chance, minlength=len(gains))
        size = norm((gains > 0).sum(axis=1).astype(float))
        divisor = np.where(size > 0, size, 1)
        total += (sums / divisor).sum()
        if propensity is not None:
            largest = np.partition(-gains, k - 1, axis=1)[:, :k]
            ideal = -np.sort(largest, axis=1) @ discount
            best += (ideal / divisor).sum()
    if propensity is None:
        return float(total / Y.shape[0])
    return float(total / best) if best else 0.0


def _blocks(Y: Any, S: Any, k: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield dense labels and scores of some rows, and the numbers of their columns.

    Where all rows have k positive scores, labels that none of them has or scores are left out.
    """
    everything = np.arange(Y.shape[1])
    for rows in gen_batches(Y.shape[0], max(1, _ENTRIES // Y.shape[1])):
        labels, scores, columns = Y[rows], S[rows], everything
        if sparse.issparse(scores) and ((scores > 0).sum(axis=1) >= k).all():
            columns = np.unique(np.concatenate([labels.indices, scores.indices]))
            labels, scores = labels[:, columns], scores[:, columns]
        yield labels.toarray(), scores.toarray() if sparse.issparse(scores) else scores, columns


def _first(
    gains: np.ndarray, S: np.ndarray, k: int, ties: Ties, discount: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and labels that can be among the first k, and how much of a place each has.

    Each place counts 1, or its discount; labels with equal scores share their places with
    ``"expected"``.
    """
    discount = np.ones(k) if discount is None else discount
    q = S.shape[1]
    least = np.partition(S, q - k, axis=1)[:, [q - k]]
    row, label = np.nonzero(least <= S)
    score = S[row, label]
    tie = -label if ties == "index" else gains[row, label]
    order = np.lexsort((tie, -score, row))
    row, label, score = row[order], label[order], score[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(S)))])[:-1]
    place = np.arange(len(row)) - starts[row]
    share = np.where(place < k, discount[np.minimum(place, k - 1)], 0.0)
    if ties == "expected":
        new = np.ones(len(row), dtype=bool)
        new[1:] = (row[1:] != row[:-1]) | (score[1:] != score[:-1])
        group = np.cumsum(new) - 1
        share = (np.bincount(group, share) / np.bincount(group))[group]
    kept = share > 0
    return row[kept], label[kept], share[kept]


def _check(y_true: Any, y_score: Any, k: int, ties: Ties) -> tuple[Any, Any]:
    check_ties(ties)
    Y = sparse.csr_array(check_labels(to_numpy(y_true), "y_true"))
    if sparse.issparse(y_score):
        S = sparse.csr_array(y_score)
        if not np.isfinite(S.data).all():
            raise ValueError("y_score must be finite, but holds NaN or infinity.")
    else:
        S = check_scores(as_matrix(y_score, "y_score"))
    if Y.shape != S.shape:
        raise ValueError(
            f"y_true and y_score must have the same shape, but have {Y.shape} and {S.shape}."
        )
    if not _is_count(k) or k > Y.shape[1]:
        raise ValueError(f"k must be a whole number from 1 to {Y.shape[1]}, not {k!r}.")
    return Y, S


def _is_count(k: Any) -> bool:
    return isinstance(k, (int, np.integer)) and not isinstance(k, bool) and int(k) >= 1


def _worth(propensity: Any, q: int) -> np.ndarray:
    found = np.asarray(propensity, dtype=float)
    if found.shape != (q,) or not ((found > 0) & (found <= 1)).all():
        raise ValueError(f"propensity must hold {q} numbers above 0 and up to 1, one per label.")
    return 1 / found
