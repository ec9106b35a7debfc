"""Thresholds with a guarantee: the recall or the precision of new rows is at least a given level.

Recall is controlled by conformal risk control: the loss of a row, the share of its labels that are
missed, can only grow with the threshold, so that the largest threshold at which the losses of n
rows sum to at most α (n + 1) − 1 has an expected loss of at most α on a new row. Precision is not
monotone in the threshold. It is controlled by Learn-Then-Test: each threshold of a fixed grid is
tested, and the smallest one is used for which "the precision is lower" was rejected.
"""

import warnings
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import binom

from labelkin._utils.names import plural
from labelkin.base import Array
from labelkin.decisions._cuts import values_at_cuts

GUARANTEES = ("recall", "precision", "macro_recall", "macro_precision")
"""What a decision such as "recall:0.9" can guarantee."""

CERTAINTY = 0.9
"""Probability, over draws of the rows, with which a level of precision holds."""

# Tested thresholds, decreasing, as log odds. They must not depend on the labels. More of them cost
# little power, since a rejection passes its share of the error level on to the next.
_GRID = np.concatenate([[20, 15, 11, 8.5, 7], np.linspace(6, -7, 66), [-9, -12]])


def parse_guarantee(decision: Any) -> tuple[str, float] | None:
    """Return the metric and the level of a decision such as "recall:0.9"; None for others."""
    name, colon, text = decision.partition(":") if isinstance(decision, str) else ("", "", "")
    if not colon or name not in GUARANTEES:
        return None
    try:
        level = float(text)
    except ValueError:
        level = np.nan
    if not 0 < level < 1:
        raise ValueError(
            f"decision={decision!r}: the level is a number between 0 and 1, as in {name}:0.9."
        )
    return name, level


def compare_with_half(decision: Any, thresholds: Array) -> str | None:
    """Return a sentence if a threshold of one half exceeds the level of a guarantee by itself.

    As many labels as possible are left out for a level of recall, or added for one of precision.
    """
    found = parse_guarantee(decision)
    own = thresholds[np.isfinite(thresholds)]
    is_recall = found is not None and found[0].endswith("recall")
    if found is None or not own.size or not (own > 0.5 if is_recall else own < 0.5).all():
        return None
    fewer, few = ("fewer", "few") if is_recall else ("more", "many")
    return (
        f"{decision} predicts {fewer} labels than a threshold of one half, which reaches this "
        f"level, too; use that, unless as {few} labels as possible are wanted"
    )


def guaranteed_thresholds(name: str, level: float, scores: Array, Y: Array) -> Array:
    """Return a threshold for each label, with which `name` is at least `level` on new rows.

    Unknown labels (NaN in Y) do not count. Where no threshold has the guarantee, a ValueError says
    so; of single labels, a warning does, and those get the nearest there is.
    """
    find = _recall_threshold if name.endswith("recall") else _precision_threshold
    decision, rows, q = f"decision='{name}:{level:g}'", plural(len(Y), "row"), Y.shape[1]
    if not name.startswith("macro"):
        threshold, is_reached = find(level, scores, Y)
        if is_reached:
            return np.full(q, threshold)
        if name == "precision":
            raise ValueError(
                f"{decision} cannot be reached with these {rows}: no threshold has this precision "
                f"with a certainty of {100 * CERTAINTY:.0f} %; choose a lower level, or add rows."
            )
        n, least = int((Y > 0).any(axis=1).sum()), int(np.ceil(1 / (1 - level) - 1e-9)) - 1
        raise ValueError(
            f"{decision} needs at least {least} rows that have a label, and there "
            f"{'is' if n == 1 else 'are'} {n}: choose a lower level, or add rows."
        )
    thresholds, reached = zip(
        *(find(level, scores[:, [j]], Y[:, [j]]) for j in range(q)), strict=True
    )
    if not any(reached):
        raise ValueError(
            f"{decision} cannot be reached for any label with these {rows}: choose a lower level, "
            "or add rows."
        )
    if not all(reached):
        instead = (
            "they are predicted from the lowest score of a row that has them"
            if name == "macro_recall"
            else "they are never predicted"
        )
        warnings.warn(
            f"{decision} cannot be reached for {q - sum(reached)} of {plural(q, 'label')} with "
            f"these {rows}: {instead}.",
            UserWarning,
            stacklevel=4,
        )
    return np.array(thresholds)


def _recall_threshold(level: float, scores: Array, Y: Array) -> tuple[float, bool]:
    """Return the largest threshold with the guarantee, and whether it has it.

    By conformal risk control; without the guarantee, it is the largest that misses no label.
    """
    labelled = (Y > 0).any(axis=1)
    if not labelled.any():
        return np.inf, False
    # The largest sum of losses with which a new one is at most 1 − level on average
    allowed = (1 - level) * (labelled.sum() + 1) - 1 + 1e-9
    ordered, losses = values_at_cuts(
        Y[labelled] > 0, scores[labelled], lambda predicted, shared, true, q: 1 - shared / true
    )
    # Cuts are possible where a score differs from the one before.
    possible = np.append(True, np.append(ordered[1:] < ordered[:-1], True))
    cut = int(np.flatnonzero(possible & (losses <= max(allowed, 0) + 1e-9))[0])
    return float(np.nextafter(ordered[cut - 1], -np.inf)) if cut else np.inf, bool(allowed >= 0)


def _precision_threshold(level: float, scores: Array, Y: Array) -> tuple[float, bool]:
    """Return the smallest threshold with the guarantee, and whether there is one.

    By Learn-Then-Test, with the exact binomial test of a single label, whose rows are right or
    wrong.
    """
    finite = scores[np.isfinite(scores)]
    grid = expit(_GRID) if ((finite >= 0) & (finite <= 1)).all() else _GRID
    predicted, wrong = (
        _count_above(scores, known, grid) for known in (~np.isnan(Y), np.equal(Y, 0))
    )
    if Y.shape[1] == 1:
        p_values = binom.cdf(wrong.sum(axis=0), predicted.sum(axis=0), 1 - level)
    else:
        p_values = _betting_p_values(wrong / np.maximum(predicted, 1), predicted > 0, 1 - level)
    threshold = _smallest_rejected(grid, p_values, level)
    return threshold, bool(np.isfinite(threshold))


def _count_above(scores: Array, counted: Array, grid: Array) -> Array:
    """Return how many counted entries of each row are above each threshold, O(n q + n |grid|)."""
    n, width = len(scores), len(grid) + 1
    first = np.searchsorted(-grid, -scores, side="right")  # the first threshold below the score
    cells = (np.arange(n)[:, None] * width + first)[counted]
    return np.bincount(cells, minlength=n * width).reshape(n, width)[:, :-1].cumsum(axis=1)


def _betting_p_values(losses: Array, counted: Array, alpha: float) -> Array:
    """Return p-values of "the mean is above α" for each column of losses in [0, 1].

    The wealth of a bettor against the hypothesis, who stakes by the variance so far, exceeds c with
    a probability of at most 1 / c (Waudby-Smith and Ramdas 2024). Far smaller than bounds for any
    losses in [0, 1] where these are mostly fractions. The rows come in an order of their own, so
    that a sorted file costs nothing.
    """
    order = np.random.RandomState(0).permutation(len(losses))
    losses, counted = np.where(counted, losses, 0.0)[order], counted[order]
    n = counted.cumsum(axis=0)
    mean = (0.5 + losses.cumsum(axis=0)) / (n + 1)
    variance = (0.25 + np.where(counted, (losses - mean) ** 2, 0).cumsum(axis=0)) / (n + 1)
    before = np.concatenate([np.full((1, losses.shape[1]), 0.25), variance[:-1]])
    stake = np.minimum(1, np.sqrt(2 * np.log(100) / (np.maximum(n[-1], 1) * before)))
    wealth = np.where(counted, np.log1p(stake * (alpha - losses)), 0).cumsum(axis=0)
    return np.exp(-np.maximum(wealth.max(axis=0), 0))


def _smallest_rejected(grid: Array, p_values: Array, level: float) -> float:
    """Return the smallest threshold whose hypothesis is rejected, ∞ if there is none.

    The fallback procedure (Wiens and Dmitrienko 2005): each hypothesis has a share of the error,
    and one that is rejected hands what it had to the next. The probability of any wrong rejection
    is at most 1 − certainty. Most of the error is spent near the thresholds that calibrated
    probabilities have.
    """
    share = np.exp(-np.abs(_GRID - logit(level) + 1))
    share = (1 - CERTAINTY) * (0.8 * share / share.sum() + 0.2 / len(share))
    smallest, error = np.inf, 0.0
    for threshold, p_value, own in zip(grid, p_values, share, strict=True):
        error += own
        if p_value <= error:
            smallest = threshold
        else:
            error = 0.0
    return float(smallest)
