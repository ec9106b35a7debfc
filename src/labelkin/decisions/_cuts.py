"""Exact cuts: the threshold of scores at which a metric of label sets is largest.

One sort finds each. With a threshold shared by all labels, a row's F1 changes only where the
threshold passes one of its own scores, so that the mean F1 as a function of the threshold is a
cumulative sum over the sorted scores. The same sum over the columns is macro F1, over all scores
as one row micro F1, and over one column the F1 of a label.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from labelkin.base import Array

# Value of one row from the numbers of predicted, shared and true labels, and of all labels.
RowValue = Callable[[Any, Any, Any, int], Array]

# By metric. Two empty sets agree.
ROW_VALUES: dict[str, RowValue] = {
    "f1": lambda predicted, shared, true, q: np.where(
        predicted + true == 0, 1.0, 2 * shared / np.maximum(predicted + true, 1)
    ),
    "jaccard": lambda predicted, shared, true, q: np.where(
        predicted + true == 0, 1.0, shared / np.maximum(predicted + true - shared, 1)
    ),
    "subset_accuracy": lambda predicted, shared, true, q: (
        (shared == predicted) & (shared == true)
    ).astype(np.float64),
    "hamming_loss": lambda predicted, shared, true, q: 1 - (predicted + true - 2 * shared) / q,
}


def values_at_cuts(Y: Array, scores: Array, value: RowValue) -> tuple[Array, Array]:
    """Return all scores in decreasing order, and the value of predicting those before each cut.

    ``value(predicted, shared, true, q)`` is the value of a row. The second result, of n q + 1
    entries, is the sum of the row values with the first j scores predicted. It is meaningful at j
    where a cut is possible: where the score before j differs from the one at j. Scores of −∞ are
    left out: no cut predicts them.
    """
    n, q = Y.shape
    order = np.argsort(-scores, axis=1, kind="stable")
    shared = np.zeros((n, q + 1))
    np.cumsum(np.take_along_axis(Y, order, axis=1), axis=1, out=shared[:, 1:])
    steps = value(np.arange(q + 1), shared, shared[:, -1:], q)
    flat = np.take_along_axis(scores, order, axis=1).ravel()
    # Stable: equal scores of a row keep their order.
    decreasing = np.argsort(-flat, kind="stable")
    decreasing = decreasing[: np.count_nonzero(flat > -np.inf)]
    changes = np.diff(steps, axis=1).ravel()[decreasing]
    return flat[decreasing], steps[:, 0].sum() + np.concatenate([[0.0], np.cumsum(changes)])


def best_cut(ordered: Array, values: Array, reference: float) -> float:
    """Return the threshold t of the best cut: scores above t are predicted.

    Of equally good cuts the one nearest to the reference is chosen, and of the thresholds that make
    the same cut the reference itself if it is one, else the middle between two scores. Scores of ∞
    are always predicted. `ordered` are m decreasing scores, `values` the m + 1 values of predicting
    the first j.
    """
    possible = np.append(ordered < np.insert(ordered[:-1], 0, np.inf), True)
    best = values[possible].max()
    rounding = 1e-10 * max(1.0, abs(best))
    candidates = np.flatnonzero(possible & (values >= best - rounding))
    low = np.append(ordered, -np.inf)[candidates]
    high = np.insert(ordered, 0, np.inf)[candidates]
    away = np.maximum(low - reference, reference - high)
    nearest = int(np.argmin(np.maximum(away, 0)))
    below, above = float(low[nearest]), float(high[nearest])
    if below <= reference < above:
        return reference
    if np.isinf(below):
        return float(np.nextafter(above, -np.inf))
    middle = below + (above - below) / 2
    return middle if middle < above else below
