"""Curves of the members, by which the scores of each become log odds."""

import numpy as np
from scipy.special import logit

from labelkin._utils.parallel import map_threads
from labelkin.base import Array
from labelkin.calibration._curves import SlopeCalibration, odds_losses
from labelkin.kin._condense import condense
from labelkin.rows import clip, take, to_numpy

# Log odds are bounded before they are averaged, at probabilities of 10⁻⁴ and 1 − 10⁻⁴: one
# overconfident member must not outvote the others.
BOUND = float(logit(1 - 1e-4))
# Weight of the distance of a label's slope to the slope that all labels share, by the scale of
# the scores: some thirty positives are needed to leave it, since the rank of a label among the
# others depends on its slope.
_PRECISION = {"deviation": 30.0, "log_odds": 3.0, "none": 30.0}
# Pseudo-count by which the targets of a label's positives are smoothed.
_PSEUDO_COUNT = 0.3
# Rows times labels on which the scale of the curves is chosen, at most.
_SCALE_ENTRIES = 500_000


def smooth_targets(Y: Array, weight: Array | None = None) -> Array:
    """Return the targets of calibration: 0 and 1, smoothed by pseudo-counts.

    (N₊ + c) / (N₊ + 2c) for the N₊ positives of a label, c / (N₋ + 2c) for its N₋ negatives, as
    Platt proposed with c = 1. Where scores separate a label, a curve through 0 and 1 has no
    bound, and each curve on top of another would be steeper still. Constant labels stay as they
    are.

    For positives c = 0.3: slopes are shared, so less smoothing is needed. For negatives c = 1/q:
    one pseudo-count for all q labels together. One for each label would make every label
    as likely as 1/n even where all scores exclude it: more likely than a label that was
    never seen, which would then rank last for every row.
    """
    weight = np.ones(len(Y)) if weight is None else weight
    n, positives = weight.sum(), weight @ Y
    count = 1 / Y.shape[1]
    varies = (positives > 0) & (positives < n)
    high = np.where(varies, (positives + _PSEUDO_COUNT) / (positives + 2 * _PSEUDO_COUNT), 1.0)
    low = np.where(varies, count / (n - positives + 2 * count), 0.0)
    return np.where(Y > 0, high, low)


def choose_scales(
    scores: list[Array],
    Y: Array,
    fold_of: Array,
    log_odds: list[bool],
    weight: Array | None = None,
    n_jobs: int = 1,
) -> list[str]:
    """Choose curves that are straight in the scores, or on the log-odds scale, for all members.

    Each kind of curve is fitted to half of the folds; its log odds, averaged over the members
    and calibrated, predict the labels of the other half, and the lower log loss decides. The log
    loss of a single member is no guide: where its curves are overconfident, the average need not
    be. A tie goes to straight curves. Of very many labels some are used, of all frequencies.

    Parameters
    ----------
    scores : list of ndarray of shape (n_samples, n_labels)
        Out-of-sample scores of each member.
    Y : ndarray of shape (n_samples, n_labels)
        The labels.
    fold_of : ndarray of int of shape (n_samples,)
        The fold of each row.
    log_odds : list of bool
        Whether the scores of a member are log odds; its scale is "none".
    weight : ndarray of shape (n_samples,), optional
        Weights of the rows.
    n_jobs : int
        Number of threads.

    Returns
    -------
    list of {"deviation", "log_odds", "none"}
        As in `SlopeCalibration`, for each member.
    """
    halves = [fold_of % 2 == half for half in (0, 1)] if fold_of.any() else []
    n_labels = max(1, _SCALE_ENTRIES // len(Y))
    if n_labels < Y.shape[1]:
        by_frequency = np.argsort(Y.sum(axis=0, dtype=np.intp), kind="stable")
        some = by_frequency[np.linspace(0, Y.shape[1] - 1, n_labels).astype(np.intp)]
        scores, Y = [take(s, some, axis=1) for s in scores], Y[:, some]
    scores = [to_numpy(s) for s in scores]  # about _SCALE_ENTRIES values at most

    def scales(scale: str) -> list[str]:
        return ["none" if known else scale for known in log_odds]

    def held_out_loss(choice: tuple[str, Array]) -> float:
        scale, part = choice
        known = None if weight is None else weight[~part]
        targets = smooth_targets(Y[~part], known)
        members = zip(scores, scales(scale), strict=True)
        curves = [fit_curves(s[~part], targets, own, None, known) for s, own in members]
        fitted, held_out = (
            sum(bounded_log_odds(c, s[rows]) for c, s in zip(curves, scores, strict=True))
            / len(scores)
            for rows in (~part, part)
        )
        odds = bounded_log_odds(fit_curves(fitted, targets, "none", None, known), held_out)
        losses = odds_losses(odds, Y[part])
        return float(losses.sum() if weight is None else weight[part] @ losses)

    if all(log_odds):
        return scales("deviation")
    choices = [(scale, part) for scale in ("deviation", "log_odds") for part in halves]
    losses = np.reshape(map_threads(held_out_loss, choices, n_jobs), (2, len(halves)))
    straight, on_odds = losses.sum(axis=1)
    return scales("log_odds" if on_odds < straight else "deviation")


def fit_curves(
    scores: Array,
    targets: Array,
    scale: str,
    start: SlopeCalibration | None = None,
    weight: Array | None = None,
) -> SlopeCalibration:
    """Fit curves to scores and smoothed targets, which may be on a device.

    `start` are curves fitted to more rows, at which the search begins.
    """
    scores, targets, weight = condense(scores, targets, weight)
    targets = to_numpy(targets)
    return SlopeCalibration(_PRECISION[scale], scale).fit(scores, targets, weight, start=start)


def bounded_log_odds(calibration: SlopeCalibration, scores: Array) -> Array:
    """Return the log odds of calibrated scores, within bounds."""
    return clip(calibration.log_odds(scores), -BOUND, BOUND)
