"""Curves of each label, and labels that occur together."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelkin.base import Array
from labelkin.evaluation._predictions import OutOfSample

_POINTS = 60  # of a precision-recall curve
_BINS = 10
# Thresholds of probabilities, finer near 0 and 1, where those of rare labels lie.
_TAIL = [0.001, 0.002, 0.005]
_STEPS = [0.0, *_TAIL, *(i / 100 for i in range(1, 100)), *(1 - x for x in reversed(_TAIL))]


def threshold_grid(found: OutOfSample) -> Array:
    """Return the thresholds a reader can choose, in increasing order."""
    if found.are_probabilities:
        return np.round(_STEPS, 3)
    return np.unique(np.quantile(found.scores, np.linspace(0, 1, len(_STEPS))))


def counts_above(y: Array, scores: Array, grid: Array) -> tuple[Array, Array]:
    """Return how many rows with and without a label have a score above each threshold.

    `y` and `scores` have the shape (n,); the results have one entry per threshold.
    """
    present = y.astype(bool)

    def above(values: Array) -> Array:
        return len(values) - np.searchsorted(np.sort(values), grid, side="right")

    return above(scores[present]), above(scores[~present])


def label_curves(found: OutOfSample, label: int, grid: Array) -> dict[str, Any]:
    """Return all curves of one label, as values that JSON can hold.

    ``hits`` and ``wrong`` count the rows above each threshold that have the label and that do
    not; ``recall`` and ``precision`` are thousandths; ``bins`` holds mean probability in
    thousandths, rows with the label, and rows.
    """
    y, scores = found.y[:, label], found.scores[:, label]
    hits, wrong = counts_above(y, scores, grid)
    recall, precision = precision_recall(y, scores, _POINTS)
    return {
        "rows": int(found.support[label]),
        "hits": hits.tolist(),
        "wrong": wrong.tolist(),
        "recall": _thousandths(recall),
        "precision": _thousandths(precision),
        "bins": calibration_bins(y, scores) if found.are_probabilities else [],
    }


def pooled_curves(found: OutOfSample, grid: Array) -> dict[str, Any]:
    """Return the curves of all labels together, one threshold for all."""
    y, scores = found.y.reshape(-1, 1), found.scores.reshape(-1, 1)
    names = ("all labels",)
    return label_curves(OutOfSample(names, found.rows, y, y, scores, np.zeros(1)), 0, grid)


def precision_recall(y: Array, scores: Array, most: int) -> tuple[Array, Array]:
    """Return a precision-recall curve by increasing recall, thinned to at most `most` points."""
    from sklearn.metrics import precision_recall_curve

    if not y.any():
        return np.zeros(0), np.zeros(0)
    precision, recall, _ = precision_recall_curve(y, scores)
    precision, recall = precision[::-1][1:], recall[::-1][1:]  # the first point is a convention
    if len(recall) > most:
        kept = np.unique(np.searchsorted(recall, np.linspace(recall[0], recall[-1], most)))
        recall, precision = recall[kept], precision[kept]
    return recall, precision


def calibration_bins(y: Array, scores: Array) -> list[list[int]]:
    """Return mean probability (thousandths), positives and rows of each tenth that has rows."""
    place = np.minimum((scores * _BINS).astype(int), _BINS - 1)
    rows = np.bincount(place, minlength=_BINS)
    total = np.bincount(place, scores, _BINS)
    positives = np.bincount(place, y, _BINS)
    return [
        [round(1000 * total[i] / rows[i]), int(positives[i]), int(rows[i])]
        for i in range(_BINS)
        if rows[i]
    ]


def sparkline(curves: dict[str, Any], width: int = 72, height: int = 24) -> str:
    """Return the points of the precision-recall curve of `label_curves` in a small drawing."""
    pairs = zip(curves["recall"], curves["precision"], strict=True)
    points = ((1 + (width - 2) * r / 1000, 1 + (height - 2) * (1 - p / 1000)) for r, p in pairs)
    return " ".join(dict.fromkeys(f"{x:.0f},{y:.0f}" for x, y in points))


def _thousandths(values: Array) -> list[int]:
    return np.round(1000 * values).astype(int).tolist()


@dataclass(frozen=True)
class Together:
    """Of the rows with one label, the share with each other label."""

    labels: list[int]
    """The labels shown: the most frequent, in the order of their frequency."""
    counts: list[list[int]]
    """Rows with both labels."""
    predicted: list[list[int]]
    """Rows predicted to have both."""

    def share(self, i: int, j: int) -> float:
        """Return the share of the rows with the i-th label that have the j-th too."""
        return self.counts[i][j] / self.counts[i][i]


def find_together(found: OutOfSample, most: int) -> Together:
    """Return how often the `most` most frequent labels occur in pairs, and are predicted so."""
    order = np.argsort(-found.support, kind="stable")[:most]
    order = order[found.support[order] > 0]
    y, labels = (part[:, order].astype(np.int64) for part in (found.y, found.labels))
    return Together(order.tolist(), (y.T @ y).tolist(), (labels.T @ labels).tolist())
