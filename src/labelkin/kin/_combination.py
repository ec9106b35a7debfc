"""The second stage: from the leave-fold-out scores of several members to probabilities.

1. Calibrate: the scores of each member become log odds by a logistic curve per label.
2. Weigh: one weight per member, and differences from it for each label.
3. Calibrate: one more curve per label for the weighted mean.

What is learned here has few parameters, from scores that depend on no label of their row's fold.
Two curves per label still fit their own rows too well: with 150 labels and 400 rows, the labels'
frequencies alone raise the average precision of these rows by a point and a half. So everything is
fitted once more without two folds at a time and applied to these. These cross-fitted probabilities
are the ensemble's estimate of its own performance.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, logit

from labelkin._utils.parallel import map_threads
from labelkin.base import Array
from labelkin.calibration._curves import (
    SlopeCalibration,
    fit_logistic,
    label_losses,
    restore_means,
)
from labelkin.kin._plan import Limits
from labelkin.rows import Labels


@dataclass(eq=False, repr=False)
class Combination:
    """Curves of the members, their weights, and curves of the weighted mean.

    Parameters
    ----------
    limits : Limits
        Ridges and sizes.
    scales : list of {"deviation", "log_odds", "none"}
        Scale of each member's curves, as in `SlopeCalibration`; see `choose_scales`.

    Attributes
    ----------
    curves_ : list of SlopeCalibration
        Those of each member.
    weights_ : ndarray of shape (n_members,)
        Shared by all labels; they add up to 1.
    label_weights_ : ndarray of shape (n_members, n_labels)
        Those of each label.
    mean_curves_ : SlopeCalibration
        Those of the weighted mean.
    """

    limits: Limits
    scales: list[str]
    curves_: list[SlopeCalibration] = field(init=False)
    weights_: Array = field(init=False)
    label_weights_: Array = field(init=False)
    mean_curves_: SlopeCalibration = field(init=False)

    def fit(
        self,
        scores: list[Array],
        labels: Labels,
        start: "Combination | None" = None,
        n_jobs: int = 1,
    ) -> "Combination":
        """Fit to scores, (n, q) per member; `start` is a combination fitted to more rows."""
        targets, limits = smooth_targets(labels, self.limits.pseudo_count), self.limits
        starts = [None] * len(scores) if start is None else start.curves_
        self.curves_ = map_threads(
            lambda member: fit_curves(member[0], targets, member[1], limits, member[2]),
            zip(scores, self.scales, starts, strict=True),
            n_jobs,
        )
        log_odds = self.member_log_odds(scores)
        self.weights_ = fit_member_weights(log_odds, labels, limits)
        self.label_weights_ = fit_label_weights(log_odds, self.weights_, labels, limits, n_jobs)
        mean = np.einsum("mq,mnq->nq", self.label_weights_, log_odds)
        mean_start = None if start is None else start.mean_curves_
        self.mean_curves_ = fit_curves(mean, targets, "none", limits, mean_start)
        return self

    def proba(self, scores: list[Array]) -> Array:
        """Return probabilities from the members' scores."""
        log_odds = self.member_log_odds(scores)
        return self.mean_curves_(np.einsum("mq,mnq->nq", self.label_weights_, log_odds))

    def member_log_odds(self, scores: list[Array]) -> Array:
        """Return the bounded log odds by each member alone, (n_members, n, q)."""
        bound = logit(1 - self.limits.least_proba)
        pairs = zip(self.curves_, scores, strict=True)
        return np.stack([np.clip(curves.log_odds(s), -bound, bound) for curves, s in pairs])


def fit_combination(
    scores: list[Array],
    labels: Labels,
    fold_of: Array,
    log_odds: list[bool],
    limits: Limits,
    n_jobs: int = 1,
) -> tuple[Combination, Array, list[Array]]:
    """Combine members by their leave-fold-out scores of the training rows.

    `log_odds` says of each member whether its scores are log odds; else they are regressions on 0
    and 1. Returns the combination fitted to all rows, and cross-fitted probabilities, those of each
    row by a combination fitted without its folds: of all members, and of each member alone.
    """
    scores = [
        restore_means(s, labels, fold_of, odds) for s, odds in zip(scores, log_odds, strict=True)
    ]
    scales = choose_scales(scores, labels, fold_of, log_odds, limits)
    combination = Combination(limits, scales).fit(scores, labels, None, n_jobs)
    proba, alone = combination.proba(scores), expit(combination.member_log_odds(scores))
    parts = np.unique(fold_of // 2)

    def fit_without(part: int) -> None:
        out = fold_of // 2 == part
        rest, held_out = ([s[rows] for s in scores] for rows in (~out, out))
        one = Combination(limits, scales).fit(rest, labels.take(~out), combination)
        proba[out], alone[:, out] = one.proba(held_out), expit(one.member_log_odds(held_out))

    if len(parts) > 1:
        map_threads(fit_without, parts.tolist(), n_jobs)
    return combination, proba, list(alone)


def smooth_targets(labels: Labels, pseudo_count: float) -> Labels:
    """Return the targets of calibration: 0 and 1, smoothed by pseudo-counts.

    (N₊ + c) / (N₊ + 2c) for the N₊ positives of a label, c / (N₋ + 2c) for its N₋ negatives, as
    Platt proposed with c = 1. Where scores separate a label perfectly, the slope of a curve fitted
    to 0 and 1 is unbounded, and a second curve would be steeper still. Constant labels stay as they
    are.

    For negatives c = 1/q: one pseudo-count for all q labels together. With one pseudo-count per
    label, no probability would be far below 1/n, and a label without positives would rank last for
    every row.
    """
    counts, count = labels.counts, 1 / labels.shape[1]
    high = (counts.positives + pseudo_count) / (counts.positives + 2 * pseudo_count)
    low = count / (counts.negatives + 2 * count)
    high, low = np.where(counts.varies, [high, low], [[1.0], [0.0]])
    low = low if labels.known is None else low * labels.known
    return Labels(np.where(labels.Y > 0, high, low), labels.weight, labels.known)


def fit_curves(
    scores: Array,
    targets: Labels,
    scale: str,
    limits: Limits,
    start: SlopeCalibration | None = None,
) -> SlopeCalibration:
    """Fit curves to scores and smoothed targets; the search begins at the curves `start`.

    If there are many rows, those of a label with nearly equal scores become one point. Each column
    is sorted by its score. At both ends, where a curve bends, rows are points of their own; between
    them, as many blocks of rows are averaged. A logistic loss is linear in the target, and scores
    inside a block hardly differ, so that the curves are those of all rows. Weighted rows stay as
    they are: sorted by score, the blocks of the columns would differ in weight.
    """
    curves = SlopeCalibration(limits.slope_precision[scale == "log_odds"], scale)
    (n, q), edge = scores.shape, limits.edge_points
    if n * q <= limits.stage_entries or n <= 4 * edge or targets.weight is not None:
        return curves.fit(scores, targets, start)
    cells = np.broadcast_to(targets.cells, targets.shape)
    starts = np.concatenate(
        [
            np.arange(edge),
            np.linspace(edge, n - edge, edge, endpoint=False).astype(int),
            np.arange(n - edge, n),
        ]
    )
    points, means, sizes = (np.empty((len(starts), q)) for _ in range(3))
    for label in range(q):  # column by column, in a third of the time of all at once
        score, target, cell = (array[:, label].copy() for array in (scores, targets.Y, cells))
        order = score.argsort()
        points[:, label] = np.add.reduceat((score * cell)[order], starts)
        means[:, label] = np.add.reduceat(target[order], starts)
        sizes[:, label] = np.add.reduceat(cell[order], starts)
    weight, known = (sizes[:, 0], None) if targets.known is None else (None, sizes)
    size = np.maximum(sizes, 1)
    return curves.fit(points / size, Labels(means / size, weight, known), start)


def choose_scales(
    scores: list[Array], labels: Labels, fold_of: Array, log_odds: list[bool], limits: Limits
) -> list[str]:
    """Choose curves that are straight in the scores, or on the log-odds scale, for all members.

    Each kind of curve is fitted to half of the folds; its log odds, averaged over the members and
    calibrated, predict the labels of the other half, and the lower log loss decides. The log loss
    of a single member is no guide: where its curves are overconfident, the average need not be.
    Where there are many labels, some of them are used, from the rarest to the most frequent.
    Members whose scores are log odds have the scale "none".
    """
    n_labels = max(1, limits.stage_entries // len(labels))
    if n_labels < labels.shape[1]:
        by_frequency = np.argsort(labels.counts.positives, kind="stable")
        some = by_frequency[np.linspace(0, labels.shape[1] - 1, n_labels).astype(np.intp)]
        scores = [s[:, some] for s in scores]
        labels = labels.select(some)
    choices = [
        ["none" if given else scale for given in log_odds] for scale in ("deviation", "log_odds")
    ]

    def held_out_loss(scales: list[str], part: Array) -> float:
        targets = smooth_targets(labels.take(~part), limits.pseudo_count)
        rest, held_out = ([s[rows] for s in scores] for rows in (~part, part))
        one = Combination(limits, scales)
        members = zip(rest, one.scales, strict=True)
        one.curves_ = [fit_curves(s, targets, own, limits) for s, own in members]
        curves = fit_curves(one.member_log_odds(rest).mean(axis=0), targets, "none", limits)
        odds = curves.log_odds(one.member_log_odds(held_out).mean(axis=0))
        return float(label_losses(odds, labels.take(part)).sum())

    if all(log_odds) or not fold_of.any():
        return choices[0]
    halves = [fold_of % 2 == half for half in (0, 1)]
    straight, on_odds = (sum(held_out_loss(one, half) for half in halves) for one in choices)
    return choices[on_odds < straight]


def fit_member_weights(log_odds: Array, labels: Labels, limits: Limits) -> Array:
    """Return one weight per member, not negative, adding up to 1.

    One logistic regression is fitted to all pairs of row and label. Its features are the mean of
    the members' log odds, without a penalty, and each member's difference from it, with a ridge.
    """
    m, n, _ = log_odds.shape
    equal, varies = np.full(m, 1 / m), np.flatnonzero(labels.counts.varies)
    if m == 1 or not len(varies):
        return equal
    # Evenly spaced rows: these are in random folds, so that their order does not matter.
    rows = np.arange(0, n, -(-n * len(varies) // limits.stage_entries))
    A, some = log_odds[:, rows[:, None], varies], labels.take(rows).select(varies)
    mean = A.mean(axis=0)
    design = np.concatenate([A - mean, mean[None]]).reshape(m + 1, -1).T
    weight = np.broadcast_to(some.cells, some.shape).ravel()
    start = np.append(np.zeros(m), 1.0)  # the mean as it is
    ridge = limits.member_ridge * weight.sum() / 2
    y = some.Y.ravel().astype(np.float64)
    coef = fit_logistic(design, y, ridge, tol=1e-4, start=start, weight=weight)
    weights = np.maximum(coef[-1] / m + coef[:-1] - coef[:-1].mean(), 0)
    weights = weights / weights.sum() if weights.sum() > 0 else equal
    # Weights learned from few rows are shrunk towards equal ones.
    share = 1 / (1 + (labels.counts.samples.mean() / limits.few_rows) ** 2)
    return (1 - share) * weights + share * equal


def fit_label_weights(
    log_odds: Array, shared: Array, labels: Labels, limits: Limits, n_jobs: int = 1
) -> Array:
    """Return the weight of each member for each label, (n_members, n_labels).

    For each label, a logistic regression is fitted to the members' differences from the mean by the
    shared weights, with a ridge: labels with few positives hardly leave the shared weights. A
    label's weights add up to 1.
    """
    (m, n, q), counts, varies = log_odds.shape, labels.counts, np.flatnonzero(labels.counts.varies)
    weights = np.repeat(shared[:, None], q, axis=1)
    if m == 1 or not len(varies):
        return weights
    penalty = limits.label_ridge * counts.total[:, None]
    # As above: with few rows, only a part of the differences is applied.
    applied = 1 - 1 / (1 + (counts.samples[varies] / limits.few_rows) ** 2)

    def change(some: Array) -> Array:
        odds = np.ascontiguousarray(np.moveaxis(log_odds[:, :, some], 2, 0))
        mean = shared @ odds
        odds -= mean[:, None, :]
        chosen, ridge, coef = labels.select(some), penalty[some], np.zeros((len(some), m))
        y, cells = chosen.Y.T, chosen.cells.T
        for _ in range(4):  # Newton's method begins next to the optimum
            p = expit(mean + (coef[:, None, :] @ odds)[:, 0])
            residual, curvature = cells * (p - y), cells * p * (1 - p)
            gradient = (odds @ residual[:, :, None])[:, :, 0] + ridge * coef
            hessian = (odds * curvature[:, None, :]) @ odds.transpose(0, 2, 1)
            hessian[:, np.arange(m), np.arange(m)] += ridge
            coef -= np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        return (coef - coef.sum(axis=1, keepdims=True) * shared).T

    # In blocks of labels, which bounds the size of the arrays.
    n_parts = max(n_jobs, -(-len(varies) * n * m // (4 * limits.stage_entries)))
    parts = np.array_split(varies, min(len(varies), n_parts))
    weights[:, varies] += applied * np.hstack(map_threads(change, parts, n_jobs))
    return weights
