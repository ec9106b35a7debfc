"""How much more rows would help: the learning curve, what it means, and its drawing."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from sklearn.utils import _safe_indexing

from labelkin.base import Array
from labelkin.metrics._estimators import labels_and_scores

if TYPE_CHECKING:
    from labelkin.evaluation._evaluation import Evaluation

# Parts of the training rows, besides all of them; folds, and training rows of a part.
PARTS = (1 / 8, 1 / 4, 1 / 2)
MOST_FOLDS = 5
_FEWEST_ROWS = 20

_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 584, 14, 218  # edges of the curve in its drawing
_SMALLEST_GAIN = 0.005
"""Gains of micro F1 below this are not worth collecting rows for."""


@dataclass(frozen=True)
class Growth:
    """Micro F1 of test rows by the number of training rows."""

    sizes: list[int]
    values: Array  # (n_folds, n_sizes)

    def sentence(self) -> str:
        """Return what the last doubling of the rows means for collecting more of them."""
        gain, margin = _mean_and_margin(self.values[:, -1] - self.values[:, -2])
        low, high = gain - margin, gain + margin
        if low > _SMALLEST_GAIN / 2 and gain >= _SMALLEST_GAIN:
            verdict = "would help"
        elif high < 2 * _SMALLEST_GAIN:
            verdict = "would hardly help"
        else:
            verdict = "may help"
        return (
            f"More rows {verdict}: from {self.sizes[-2]:,} to {self.sizes[-1]:,} training rows, "
            f"micro F1 changed by {100 * gain:+.1f} points "
            f"(95 % interval {100 * low:+.1f} to {100 * high:+.1f})."
        )

    def draw(self) -> dict[str, Any]:
        """Return places of the curve in a drawing of 600 × 260, sizes on a log scale."""
        mean, margin = _mean_and_margin(self.values)
        low, high = np.clip(mean - margin, 0, 1), np.clip(mean + margin, 0, 1)
        step = 0.1 if high.max() - low.min() <= 0.5 else 0.2
        bottom = step * math.floor(low.min() / step)
        top = max(step * math.ceil(high.max() / step), bottom + step)
        place = np.log(np.divide(self.sizes, self.sizes[0]))
        x = np.round(_LEFT + (_RIGHT - _LEFT) * place / place[-1], 1)

        def y(value: Any) -> Any:
            return np.round(_BOTTOM - (_BOTTOM - _TOP) * (value - bottom) / (top - bottom), 1)

        columns = (x, y(mean), y(low), y(high), self.sizes, mean)
        names = ("x", "y", "low", "high", "size", "value")
        points = [dict(zip(names, one, strict=True)) for one in zip(*columns, strict=True)]
        ticks = np.arange(bottom, top + step / 2, step)
        return {
            "points": points,
            "line": " ".join(f"{p['x']},{p['y']}" for p in points),
            "ticks": [(y(tick), round(100 * tick)) for tick in ticks],
        }


def measure_growth(found: "Evaluation", progress: Callable[..., None]) -> Growth | None:
    """Return the learning curve of the best method, by models of parts of the training rows.

    A part holds the first of the training rows in a random order, so that larger parts contain
    the smaller ones. None for a model that is already fitted, and for few rows or one fold.
    """
    if found.fit_part is None:
        return None
    best = found.results[found.best].labels
    splits = found.splits[: min(found.folds, len(best), MOST_FOLDS)]
    n_train = min(len(train) for train, _ in splits)
    sizes = [size for part in PARTS if (size := round(part * n_train)) >= _FEWEST_ROWS]
    seed = found.settings["seed"]
    values = np.full((len(splits), len(sizes) + 1), np.nan)
    for number, (train, test) in enumerate(splits):
        order = np.random.default_rng(seed + number).permutation(train)
        X, y = _safe_indexing(found.X, test), found.y[test]
        for place, size in enumerate(sizes):
            progress(completed=number * len(sizes) + place, description="learning curve")
            try:
                model = found.fit_part(found.best, number, order[:size])
                values[number, place] = _micro_f1(y, labels_and_scores(model, X)[0])
            except ValueError:  # too few rows for this method or its decision
                continue
        values[number, -1] = _micro_f1(y, best[number])
    usable = np.flatnonzero(~np.isnan(values).any(axis=0))
    if len(usable) < 2 or len(splits) < 2:
        return None
    return Growth([[*sizes, n_train][i] for i in usable], values[:, usable])


def _micro_f1(y: Array, labels: Array) -> float:
    return float(2 * (y * labels).sum() / max(y.sum() + labels.sum(), 1))


def _mean_and_margin(values: Array) -> tuple[Any, Any]:
    """Return the mean over the folds and half the width of its 95 % interval."""
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return values.mean(axis=0), stats.t.ppf(0.975, len(values) - 1) * error
