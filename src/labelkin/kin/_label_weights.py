"""Weights of the members that differ between labels, where that predicts better."""

from typing import NamedTuple

import numpy as np

from labelkin._utils.parallel import map_threads
from labelkin.base import Array
from labelkin.calibration._curves import odds_losses
from labelkin.calibration._logistic import expit
from labelkin.kin._weights import FOLDS, best_shares, equal_share
from labelkin.rows import (
    ascontiguousarray,
    matrix_transpose,
    namespace_and_device,
    take,
    to_device_of,
    to_numpy,
)

# Ridges of a label's differences from the shared weights, in units of the number of rows.
PENALTIES = (np.inf, 0.1, 0.03, 0.01, 0.003)
# Share of the differences that is applied: held-out folds overestimate their effect, since the
# out-of-sample scores of bagged members are noisier than their scores of queries. Over 98 fits to
# 35 datasets, all of the differences lowered the log loss of held-out folds by 0.7 % and of new
# rows by 0.2 %, half of them by 0.5 % and 0.2 %, at worst raising it by 1.4 % instead of 3.0 %.
SHARE = 0.5
# With this many rows the applied share is halved, since a label's weights are learned from its own
# few positives.
_FEW_ROWS = 200
# Labels that are fitted together on the host, at most: an array takes 64 · members · rows numbers.
_LABELS = 64
# Newton's method begins next to the optimum.
_STEPS, _TOL = 4, 1e-3

LabelMixture = list[tuple[float, float]]
"""Ridges and their shares, which add up to 1."""


class _Odds(NamedTuple):
    """Log odds of some labels: their mean by the shared weights, and what members add to it."""

    mean: Array
    """(n_labels, n_samples)"""
    differences: Array
    """(n_labels, n_members, n_samples)"""

    def rows(self, rows: Array) -> "_Odds":
        return _Odds(take(self.mean, rows, axis=1), take(self.differences, rows, axis=2))

    def mixed(self, coef: Array) -> Array:
        return self.mean + (coef[:, None, :] @ self.differences)[:, 0, :]


def fit_label_weights(
    log_odds: Array,
    shared: Array,
    Y: Array,
    fold_of: Array,
    mixture: LabelMixture | None,
    max_entries: int,
    seed: int,
    sample_weight: Array | None = None,
    n_jobs: int = 1,
) -> tuple[Array, LabelMixture]:
    """Return the weight of each member for each label, (n_members, n_labels), and the mixture.

    `shared` are the weights of all labels, by `fit_member_weights`. For each label, a logistic
    regression is fitted to the members' differences from the mean by these weights, with a ridge:
    labels with few positives hardly leave the shared weights. Like these, the result is a mean over
    several ridges, each with the share of bootstrap samples of the rows in which it predicts
    held-out folds best; with an infinite one, the shared weights stay as they are. A label's
    weights add up to 1.

    If `mixture` is None it is found, on a part of the labels if there are more than `max_entries`
    predictions. The other arguments are those of `fit_member_weights`, and the fold of each row.
    """
    m, n, q = log_odds.shape
    weights = np.repeat(shared[:, None], q, axis=1)
    varies = np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0))
    if m == 1 or not len(varies) or not (fold_of % FOLDS).any():
        return weights, [(np.inf, 1.0)]
    weight = np.ones(n) if sample_weight is None else sample_weight
    if mixture is None:
        by_frequency = varies[np.argsort(Y[:, varies].sum(axis=0, dtype=np.intp), kind="stable")]
        n_some = min(len(varies), max(1, max_entries // n))
        some = by_frequency[np.linspace(0, len(varies) - 1, n_some).astype(np.intp)]
        rng = np.random.RandomState(seed)
        odds = _by_label(log_odds, shared, some)
        mixture = _compare(odds, Y[:, some].T, fold_of, weight, rng, n_jobs)
    finite = [(ridge, share) for ridge, share in mixture if ridge < np.inf]

    def change(labels: Array) -> Array:
        odds, y = _by_label(log_odds, shared, labels), Y[:, labels].T
        coef = np.zeros((len(labels), m))
        change = np.zeros_like(coef)
        for ridge, share in finite:
            coef = _fit(odds, y, weight, ridge, coef)
            change += share * (coef - coef.sum(axis=1, keepdims=True) * shared)
        return change.T

    if finite:
        n_parts = max(n_jobs, -(-len(varies) // _LABELS)) if isinstance(log_odds, np.ndarray) else 1
        parts = np.array_split(varies, min(len(varies), n_parts))
        changes = np.hstack(map_threads(change, parts, n_jobs))
        weights[:, varies] += SHARE * (1 - equal_share(n, _FEW_ROWS)) * changes
    return weights, mixture


def _by_label(log_odds: Array, shared: Array, labels: Array) -> _Odds:
    xp, _ = namespace_and_device(log_odds)
    differences = ascontiguousarray(xp.moveaxis(take(log_odds, labels, axis=2), 2, 0))
    mean = to_device_of(shared, differences) @ differences
    differences -= mean[:, None, :]
    return _Odds(mean, differences)


def _compare(
    odds: _Odds,
    y: Array,
    fold_of: Array,
    weight: Array,
    rng: np.random.RandomState,
    n_jobs: int,
) -> LabelMixture:
    """Return the ridges with the shares of resamples in which each is the best."""
    losses = np.empty((len(PENALTIES), len(fold_of)))

    def fit_without(part: int) -> None:
        held_out = fold_of % FOLDS == part
        rest, queries = (odds.rows(np.flatnonzero(part)) for part in (~held_out, held_out))
        coef = np.zeros(odds.differences.shape[:2])
        for i, ridge in enumerate(PENALTIES):  # each begins at the last
            coef = _fit(rest, y[:, ~held_out], weight[~held_out], ridge, coef)
            lost = odds_losses(queries.mixed(to_device_of(coef, queries.mean)).T, y[:, held_out].T)
            losses[i, held_out] = weight[held_out] * lost

    map_threads(fit_without, np.unique(fold_of % FOLDS).tolist(), n_jobs)
    shares = best_shares(losses, rng)
    return [(ridge, share) for ridge, share in zip(PENALTIES, shares, strict=True) if share]


def _fit(odds: _Odds, y: Array, weight: Array, ridge: float, start: Array) -> Array:
    """Return the coefficients of the differences, (n_labels, n_members), by Newton's method.

    Odds may be on a device; the other arrays are on the host.
    """
    coef = start.copy()
    if ridge == np.inf:
        return coef
    m, penalty = coef.shape[1], ridge * weight.sum()
    y, weight = (to_device_of(a.astype(np.float64), odds.mean) for a in (y, weight))
    active = np.arange(len(coef))
    for _ in range(_STEPS):
        some = _Odds(take(odds.mean, active), take(odds.differences, active))
        rows, p = some.differences, expit(some.mixed(to_device_of(coef[active], odds.mean)))
        residual = weight * (p - take(y, active))
        gradient = to_numpy((rows @ residual[:, :, None])[:, :, 0]) + penalty * coef[active]
        curved = rows * (weight * p * (1 - p))[:, None, :]
        hessian = to_numpy(curved @ matrix_transpose(rows))
        hessian[:, np.arange(m), np.arange(m)] += penalty
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        coef[active] -= step
        active = active[np.abs(step).max(axis=1) > _TOL]
    return coef
