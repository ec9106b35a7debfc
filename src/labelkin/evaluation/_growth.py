"""How much more rows would help: the learning curve, and what it means."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from sklearn.utils import _safe_indexing

from labelkin.base import Array
from labelkin.metrics import METRICS
from labelkin.metrics._estimators import labels_and_scores

if TYPE_CHECKING:
    from labelkin.evaluation._evaluation import Evaluation

# Parts of the training rows, besides all of them; folds, and training rows of a part.
PARTS = (1 / 8, 1 / 4, 1 / 2)
MOST_FOLDS = 5
_FEWEST_ROWS = 20
_SMALLEST_GAIN = 0.005
"""Gains of micro F1 below this are not worth collecting rows for."""


def measure_growth(found: "Evaluation", progress: Callable[..., None]) -> dict[str, Any] | None:
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
    values = np.full((len(splits), len(sizes) + 1), np.nan)
    for number, (train, test) in enumerate(splits):
        order = np.random.default_rng(found.settings["seed"] + number).permutation(train)
        X, y = _safe_indexing(found.X, test), found.y[test]
        for place, size in enumerate(sizes):
            progress(completed=number * len(sizes) + place, description="learning curve")
            try:
                model = found.fit_part(found.best, number, order[:size])
                values[number, place] = METRICS["micro_f1"](y, labels_and_scores(model, X)[0])
            except ValueError:  # too few rows for this method or its decision
                continue
        values[number, -1] = METRICS["micro_f1"](y, best[number])
    usable = np.flatnonzero(~np.isnan(values).any(axis=0))
    if len(usable) < 2 or len(splits) < 2:
        return None
    return describe_growth([[*sizes, n_train][i] for i in usable], values[:, usable])


def describe_growth(sizes: list[int], values: Array) -> dict[str, Any]:
    """Return what the last doubling of the rows means, and the points of the learning curve.

    `values`, of shape (n_folds, n_sizes), is the micro F1 of test rows by the number of training
    rows.
    """
    gain, margin = _mean_and_margin(values[:, -1] - values[:, -2])
    low, high = gain - margin, gain + margin
    if low > _SMALLEST_GAIN / 2 and gain >= _SMALLEST_GAIN:
        verdict = "would help"
    elif high < 2 * _SMALLEST_GAIN:
        verdict = "would hardly help"
    else:
        verdict = "may help"
    sentence = (
        f"More rows {verdict}: from {sizes[-2]:,} to {sizes[-1]:,} training rows, "
        f"micro F1 changed by {100 * gain:+.1f} points "
        f"(95 % interval {100 * low:+.1f} to {100 * high:+.1f})."
    )
    return {
        "sentence": sentence,
        "points": list(zip(sizes, *map(np.ndarray.tolist, _mean_and_margin(values)), strict=True)),
    }


def _mean_and_margin(values: Array) -> tuple[Any, Any]:
    """Return the mean over the folds and half the width of its 95 % interval."""
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return values.mean(axis=0), stats.t.ppf(0.975, len(values) - 1) * error
