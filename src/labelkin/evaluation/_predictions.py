"""Predictions of rows by models that did not see them in training, and curves of their labels."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from labelkin.base import Array

_BINS = 10
# Thresholds of probabilities, finer near 0 and 1, where those of rare labels lie.
_TAIL = [0.001, 0.002, 0.005]
_STEPS = [0.0, *_TAIL, *(i / 100 for i in range(1, 100)), *(1 - x for x in reversed(_TAIL))]


@dataclass(frozen=True)
class OutOfSample:
    """Labels and scores of rows, each predicted by a model that was not fitted on the row."""

    label_names: tuple[str, ...]
    rows: Array  # (n,): positions in the user's table
    y: Array  # (n, q): true labels, 0 or 1
    labels: Array  # (n, q): predicted labels
    scores: Array  # (n, q): probabilities, or other scores by which labels are ranked
    thresholds: Array  # (q,): predicted above them; NaN where label sets are decided otherwise

    @cached_property
    def are_probabilities(self) -> bool:
        """Whether all scores lie between 0 and 1."""
        return bool(self.scores.min() >= 0 and self.scores.max() <= 1)

    @cached_property
    def support(self) -> Array:
        """Number of rows with each label."""
        return self.y.sum(axis=0, dtype=int)

    @cached_property
    def pooled_scores(self) -> Array:
        """Probabilities corrected where they are too sure of themselves, all labels together.

        A nondecreasing curve from probabilities to observed shares is fitted to all pairs of a row
        and a label, so that a single pair has hardly any influence on it. Of a probability and
        the curve's value, the one nearer to one half is taken. Both are kept away from 0 and 1
        by as much as the number of pairs allows to tell.
        """
        from sklearn.isotonic import IsotonicRegression

        n_pairs = self.scores.size
        smallest = 1 / (n_pairs + 2)
        curve = IsotonicRegression(y_min=smallest, y_max=1 - smallest)
        fitted = curve.fit_transform(self.scores.ravel(), self.y.ravel().astype(float))
        fitted = np.clip(fitted, smallest, 1 - smallest).reshape(self.scores.shape)
        given = np.clip(self.scores, smallest, 1 - smallest)
        return np.where(np.abs(fitted - 0.5) < np.abs(given - 0.5), fitted, given)


def threshold_grid(found: OutOfSample) -> Array:
    """Return the thresholds a reader can choose, in increasing order."""
    if found.are_probabilities:
        return np.round(_STEPS, 3)
    return np.unique(np.quantile(found.scores, np.linspace(0, 1, len(_STEPS))))


def label_curves(y: Array, scores: Array, grid: Array, are_probabilities: bool) -> dict[str, Any]:
    """Return what the curves of a label are drawn from, as values that JSON can hold.

    `y` and `scores` have one entry per row. ``hits`` and ``wrong`` count the rows above each
    threshold of `grid` that have the label and that do not; ``bins`` holds mean probability in
    thousandths, rows with the label, and rows.
    """
    parts = [np.sort(scores[y.astype(bool) == has]) for has in (True, False)]
    hits, wrong = (len(p) - np.searchsorted(p, grid, side="right") for p in parts)
    return {
        "rows": len(parts[0]),
        "hits": hits.tolist(),
        "wrong": wrong.tolist(),
        "bins": calibration_bins(y, scores) if are_probabilities else [],
    }


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
    """Return the points of a label's precision-recall curve in a small drawing."""
    points = [
        f"{1 + (width - 2) * hits / curves['rows']:.0f},"
        f"{1 + (height - 2) * wrong / (hits + wrong):.0f}"
        for hits, wrong in zip(curves["hits"], curves["wrong"], strict=True)
        if hits
    ]
    return " ".join(dict.fromkeys(points))


def find_together(found: OutOfSample, most: int) -> dict[str, Any]:
    """Return how often the `most` most frequent labels occur in pairs, and are predicted so.

    ``labels`` are the labels in the order of their frequency, ``counts`` the rows with both labels
    of a pair, and ``predicted`` those predicted to have both.
    """
    order = np.argsort(-found.support, kind="stable")[:most]
    order = order[found.support[order] > 0]
    y, labels = (part[:, order].astype(np.int64) for part in (found.y, found.labels))
    pairs = {"counts": (y.T @ y).tolist(), "predicted": (labels.T @ labels).tolist()}
    return {"labels": order.tolist(), **pairs}
