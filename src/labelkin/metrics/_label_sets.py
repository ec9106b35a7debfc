"""Metrics of label sets; their conventions are those of `labelkin.metrics`."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import sparse

from labelkin.metrics._inputs import check_match

LabelAverage = Literal["micro", "macro", "weighted"]


def hamming_loss(y_true: Any, y_pred: Any) -> float:
    """Share of the n × q label decisions that are wrong (Eq. 8), of those that are known.

    Examples
    --------
    One wrong decision (the second row misses its third label) of six:

    >>> round(hamming_loss([[1, 0, 0], [0, 1, 1]], [[1, 0, 0], [0, 1, 0]]), 4)
    0.1667
    """
    _, fp, fn, n_known = _count(y_true, y_pred, 0)
    return float((fp + fn).sum() / n_known.sum())


def example_f1(y_true: Any, y_pred: Any) -> float:
    """Twice the shared labels over the sizes of the two sets, mean over rows (Eq. 13).

    Two empty sets agree and count 1; one empty set counts 0.

    Examples
    --------
    One shared label, sets of two and one labels, 2/3; then two empty sets, 1:

    >>> round(example_f1([[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]]), 4)
    0.8333
    """
    return _overlap("f1", "samples", y_true, y_pred)


def example_recall(y_true: Any, y_pred: Any) -> float:
    """Share of a row's relevant labels that are predicted, mean over rows (Eq. 14).

    A row without relevant labels counts 1 if none is predicted, else 0.

    Examples
    --------
    One of two relevant labels is found; then nothing is relevant, but one is predicted:

    >>> example_recall([[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 1]])
    0.25
    """
    return _overlap("recall", "samples", y_true, y_pred)


def example_precision(y_true: Any, y_pred: Any) -> float:
    """Share of a row's predicted labels that are relevant, mean over rows.

    Nothing predicted counts 1 if nothing is relevant, else 0.

    Examples
    --------
    >>> example_precision([[1, 0, 0]], [[1, 1, 0]])
    0.5
    """
    return _overlap("precision", "samples", y_true, y_pred)


def jaccard(y_true: Any, y_pred: Any) -> float:
    """Shared labels over the union of the two sets, mean over rows; Mulan calls it accuracy.

    Two empty sets count 1.

    Examples
    --------
    >>> round(jaccard([[1, 1, 0]], [[0, 1, 1]]), 4)
    0.3333
    """
    return _overlap("jaccard", "samples", y_true, y_pred)


def subset_accuracy(y_true: Any, y_pred: Any) -> float:
    """Share of rows whose whole label set, as far as it is known, is predicted exactly.

    Examples
    --------
    >>> subset_accuracy([[1, 0], [1, 1]], [[1, 0], [1, 0]])
    0.5
    """
    _, fp, fn, _ = _count(y_true, y_pred, 1)
    return float(np.mean(fp + fn == 0))


def label_f1(y_true: Any, y_pred: Any, *, average: LabelAverage = "macro") -> float:
    """F1 over labels: pooled counts ("micro"), mean ("macro") or mean by support ("weighted").

    A label that is neither present nor predicted counts 1 in the plain mean and nothing in
    the weighted one. Without any positive in ``y_true`` the weighted mean is the plain one.
    A label that is unknown in all rows counts in no mean.

    Examples
    --------
    The labels' F1 are 1, 2/3 and 0; the pooled counts are tp = 2, fp = 1, fn = 1:

    >>> Y, Z = [[1, 1, 0], [0, 1, 0]], [[1, 1, 1], [0, 0, 0]]
    >>> [round(label_f1(Y, Z, average=a), 4) for a in ("micro", "macro", "weighted")]
    [0.6667, 0.5556, 0.7778]
    """
    return _overlap("f1", average, y_true, y_pred)


def label_precision(y_true: Any, y_pred: Any, *, average: LabelAverage = "macro") -> float:
    """Precision over labels, averaged as in :func:`label_f1`.

    A label never predicted counts 0, or 1 where it is never present either.

    Examples
    --------
    >>> Y, Z = [[1, 1, 0], [0, 1, 0]], [[1, 1, 1], [0, 0, 0]]
    >>> [round(label_precision(Y, Z, average=a), 4) for a in ("micro", "macro", "weighted")]
    [0.6667, 0.6667, 1.0]
    """
    return _overlap("precision", average, y_true, y_pred)


def label_recall(y_true: Any, y_pred: Any, *, average: LabelAverage = "macro") -> float:
    """Recall over labels, averaged as in :func:`label_f1`.

    A label never present counts 0, or 1 where it is never predicted either.

    Examples
    --------
    >>> Y, Z = [[1, 1, 0], [0, 1, 0]], [[1, 1, 1], [0, 0, 0]]
    >>> [round(label_recall(Y, Z, average=a), 4) for a in ("micro", "macro", "weighted")]
    [0.6667, 0.5, 0.6667]
    """
    return _overlap("recall", average, y_true, y_pred)


# Numerator and denominator from the counts of true positives, false positives and misses.
_OVERLAP: dict[str, Callable[[Any, Any, Any], tuple[Any, Any]]] = {
    "precision": lambda tp, fp, fn: (tp, tp + fp),
    "recall": lambda tp, fp, fn: (tp, tp + fn),
    "f1": lambda tp, fp, fn: (2 * tp, 2 * tp + fp + fn),
    "jaccard": lambda tp, fp, fn: (tp, tp + fp + fn),
}


def _count(y_true: Any, y_pred: Any, axis: int) -> tuple[np.ndarray, ...]:
    """Count true positives, false positives, misses and known labels of each label or row."""
    Y, Z, known = check_match(y_true, y_pred, "y_pred")
    n_known = np.full(Y.shape[1 - axis], Y.shape[axis])
    if known is not None:
        Z, n_known = np.where(known, Z, 0), known.sum(axis=axis)
    Y, Z = sparse.csr_array(Y, dtype=np.int64), sparse.csr_array(Z, dtype=np.int64)
    tp = Y.multiply(Z).sum(axis=axis)
    return tp, Z.sum(axis=axis) - tp, Y.sum(axis=axis) - tp, n_known


def _overlap(kind: str, average: str, y_true: Any, y_pred: Any) -> float:
    """Precision, recall, F1 or Jaccard over rows ("samples") or over labels (the others)."""
    if average not in ("samples", "micro", "macro", "weighted"):
        raise ValueError(f"average must be 'micro', 'macro' or 'weighted', not {average!r}.")
    *counts, n_known = _count(y_true, y_pred, 1 if average == "samples" else 0)
    tp, fp, fn = (part[n_known > 0] for part in counts)  # a label never known has no value
    if average == "micro":
        tp, fp, fn = (part.sum(keepdims=True) for part in (tp, fp, fn))
    numerator, denominator = _OVERLAP[kind](tp, fp, fn)
    ratio = np.where(tp + fp + fn == 0, 1.0, numerator / np.maximum(denominator, 1))
    weights = tp + fn if average == "weighted" and (tp + fn).any() else None
    return float(np.average(ratio, weights=weights))
