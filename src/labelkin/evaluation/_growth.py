"""How much more rows would help: the learning curve, where it leads, and its drawing."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import _safe_indexing

from labelkin.base import Array
from labelkin.metrics._estimators import labels_and_scores

if TYPE_CHECKING:
    from labelkin.evaluation._evaluation import Evaluation

# Parts of the training rows, besides all of them; folds, and training rows of a part.
PARTS = (1 / 8, 1 / 4, 1 / 2)
MOST_FOLDS = 5
_FEWEST_ROWS = 20

# Exponents of the curve s(n) = a - b n^-c that are tried: from almost straight in log n to a
# curve that has reached its end.
_EXPONENTS = np.geomspace(0.05, 2, 24)
_DRAWS = 500
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 584, 14, 218  # edges of the curve in its drawing
_SMALLEST_GAIN = 0.005
"""Gains of micro F1 below this are not worth collecting rows for."""


@dataclass(frozen=True)
class Growth:
    """Micro F1 of test rows by the number of training rows, and the gain of twice as many."""

    sizes: list[int]
    values: list[float]
    low: list[float]
    high: list[float]
    """Range of each value: 95 % of the bootstrap draws."""
    gain: float | None
    """Change of micro F1 expected of twice as many rows; None where the sizes are too few."""
    gain_low: float = 0.0
    gain_high: float = 0.0

    def sentence(self) -> str:
        """Return what the curve means for collecting more rows."""
        if self.gain is None:
            return "There are too few rows to tell whether more of them would help."
        gain, low, high = (100 * x for x in (self.gain, self.gain_low, self.gain_high))
        span = f"95 % interval {low:+.1f} to {high:+.1f}"
        if self.gain_low > _SMALLEST_GAIN / 2 and self.gain >= _SMALLEST_GAIN:
            return f"More rows would help: twice as many should add {gain:+.1f} points ({span})."
        if self.gain_high < 2 * _SMALLEST_GAIN:
            return f"More rows would hardly help: twice as many should add {gain:+.1f} ({span})."
        return f"More rows may help: twice as many should add {gain:+.1f} points ({span})."


def fit_growth(
    sizes: list[int], counts: Array, folds: Array, *, random_state: int = 0
) -> Growth | None:
    """Return the learning curve of models fitted on parts of the training rows.

    `sizes` are numbers of training rows, increasing; the last one is all of them, and without
    others there is no curve. `counts`, of shape (n, n_sizes, 3), has for each test row and size
    the labels that are true and predicted, predicted but not true, true but not predicted. `folds`
    has the fold of each test row. Folds, and rows inside them, are drawn with replacement for the
    intervals, so that these cover both the choice of training rows and of test rows.
    """
    if len(sizes) < 2:
        return None
    rng = np.random.default_rng(random_state)
    members = [np.flatnonzero(folds == fold) for fold in np.unique(folds)]
    draws = np.empty((_DRAWS, len(sizes)))
    for draw in draws:
        total = np.zeros(counts.shape[1:])
        for fold in rng.integers(len(members), size=len(members)):
            here = members[fold]
            times = np.bincount(rng.integers(len(here), size=len(here)), minlength=len(here))
            total += np.tensordot(times, counts[here], axes=1)
        draw[:] = _micro_f1(total)
    values = _micro_f1(counts.sum(axis=0))
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    if len(sizes) < 3:
        return Growth(sizes, values.tolist(), low.tolist(), high.tolist(), None)
    weights = 1 / np.maximum(draws.std(axis=0), 1e-3)
    gains, misfits = _gain_of_twice(np.array(sizes), np.vstack([values, draws]), weights)
    # Draws tell nothing about a curve of another form, which its distance from the points does.
    ends = np.quantile(gains[1:], [0.025, 0.975]) + misfits[0] * np.array([-1, 1])
    return Growth(
        sizes, values.tolist(), low.tolist(), high.tolist(), float(gains[0]), *ends.tolist()
    )


def measure_growth(found: "Evaluation", progress: Callable[..., None]) -> Growth | None:
    """Return the learning curve of the best method, by models of parts of the training rows.

    A part holds the first of the training rows in a random order, so that larger parts contain
    the smaller ones. None for a model that is already fitted.
    """
    if found.fit_part is None:
        return None
    best = found.results[found.best].labels
    splits = found.splits[: min(found.folds, len(best), MOST_FOLDS)]
    n_train = min(len(train) for train, _ in splits)
    sizes = [size for part in PARTS if (size := round(part * n_train)) >= _FEWEST_ROWS]
    seed = found.settings["seed"]
    counts = []
    for number, (train, test) in enumerate(splits):
        order = np.random.default_rng(seed + number).permutation(train)
        X, y = _safe_indexing(found.X, test), found.y[test]
        here = []
        for done, size in enumerate(sizes):
            progress(completed=number * len(sizes) + done, description="learning curve")
            try:
                model = found.fit_part(found.best, number, order[:size])
                here.append(_count(y, labels_and_scores(model, X)[0]))
            except ValueError:  # too few rows for this method or its decision
                here.append(np.full((len(test), 3), -1))
        counts.append(np.stack([*here, _count(y, best[number])], axis=1))
    pooled = np.concatenate(counts)
    usable = [i for i in range(len(sizes) + 1) if pooled[:, i].min() >= 0]
    folds = np.repeat(np.arange(len(counts)), [len(part) for part in counts])
    n_rows = [[*sizes, n_train][i] for i in usable]
    return fit_growth(n_rows, pooled[:, usable], folds, random_state=seed)


def _count(y: Array, labels: Array) -> Array:
    """Return each row's labels that are found, wrongly predicted and missed."""
    y, labels = y.astype(bool), labels.astype(bool)
    return np.column_stack([part.sum(axis=1) for part in (y & labels, labels & ~y, y & ~labels)])


def _micro_f1(counts: Array) -> Array:
    hits, wrong, missed = np.moveaxis(counts.astype(float), -1, 0)
    return 2 * hits / np.maximum(2 * hits + wrong + missed, 1)


def _gain_of_twice(sizes: Array, values: Array, weights: Array) -> tuple[Array, Array]:
    """Return the gain from n to 2n on the curve a - b n^-c of least squares, one per row.

    For each exponent c the curve is linear in a and b; b < 0, a curve that falls with more rows,
    counts as flat. `weights` are the inverse deviations of the values at each size. The second
    result is the curve's largest distance from the values at the last two sizes.
    """
    best = np.full(len(values), np.inf)
    gains, misfits = np.zeros(len(values)), np.zeros(len(values))
    for c in _EXPONENTS:
        falling = (sizes / sizes[-1]) ** -c  # 1 at the last size
        design = np.column_stack([np.ones(len(sizes)), -falling])
        coefficients = (values * weights) @ np.linalg.pinv(design * weights[:, None]).T
        residuals = np.abs(values - coefficients @ design.T)
        error = residuals**2 @ weights**2
        better = error < best
        best[better] = error[better]
        gains[better] = np.maximum(coefficients[better, 1], 0) * (1 - 2**-c)
        misfits[better] = residuals[better, -2:].max(axis=1)
    return gains, misfits


def draw_growth(growth: Growth) -> dict[str, Any]:
    """Return places of the learning curve in a drawing of 600 × 260, sizes on a log scale."""
    ends = [*growth.low, *growth.high]
    forecast = None
    if growth.gain is not None:
        last = growth.values[-1]
        forecast = (last + growth.gain, last + growth.gain_low, last + growth.gain_high)
        ends += forecast
    first, past = growth.sizes[0], 2 * growth.sizes[-1]
    step = next(
        s for s in (1, 2, 5, 10, 20, 25) if 100 * (max(ends) - min(ends)) / s <= 5 or s == 25
    )
    low = max(math.floor(100 * min(ends) / step) * step, 0)
    high = min(math.ceil(100 * max(ends) / step) * step, 100)
    high = max(high, low + step)

    def x(size: float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * math.log(size / first) / math.log(past / first), 1)

    def y(value: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * (100 * value - low) / (high - low), 1)

    points = [
        {"x": x(size), "y": y(value), "low": y(a), "high": y(b), "size": size, "value": value}
        for size, value, a, b in zip(
            growth.sizes, growth.values, growth.low, growth.high, strict=True
        )
    ]
    found: dict[str, Any] = {
        "points": points,
        "line": " ".join(f"{p['x']},{p['y']}" for p in points),
        "ticks": [(y(tick / 100), tick) for tick in range(low, high + 1, step)],
        "forecast": None,
    }
    if forecast is not None:
        value, a, b = forecast
        found["forecast"] = {
            "x": x(past),
            "y": y(min(value, 1)),
            "low": y(max(a, 0)),
            "high": y(min(b, 1)),
            "size": past,
            "value": value,
        }
    return found
