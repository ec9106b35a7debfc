"""From scores to probabilities: one logistic curve per label, slopes shrunk to a shared one."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import expit

from labelkin._utils.array_api import asinh, astype
from labelkin.base import Array

# Parts that are held out in turn to choose between curves.
_PARTS = 5
# Smaller likelihoods count as this one: a single sample must not decide between curves.
_LEAST_LIKELIHOOD = 1e-12
# Newton's method: steps, and halvings of each step.
_STEPS = 100
_HALVINGS = 40
# Keeps the shared slope finite where scores separate every label.
_SHARED_PRECISION = 1e-3


def to_log_odds_scale(scores: Any, share: Any) -> Any:
    """Bring scores that estimate 0 and 1 near the scale of log odds: asinh(score / 2p).

    A score s well above p, the share of positives, becomes log(s / p), and one around 0 stays
    in proportion, below it too. With a logistic curve on the score itself, the log odds of a
    rare label grow without bound while the score rises from 1/2 to 2/3; on this scale they
    grow as those of s do. Labels that more than half of the samples have are mirrored.

    Parameters
    ----------
    scores : array of shape (n_samples, n_labels)
        Near 0 and 1, not confined to that range.
    share : array of shape (n_labels,)
        Share of positives, above 0 and below 1.

    Returns
    -------
    array of shape (n_samples, n_labels)
        Increasing in the scores.
    """
    frequent = astype(share > 0.5, scores.dtype)
    side = 1 - 2 * frequent
    return side * asinh((frequent + side * scores) / (2 * (frequent + side * share)))


class SlopeCalibration:
    """Logistic curves: log odds of label l are a(l) · z(score) + b(l), with a(l) ≥ 0.

    z brings the scores of all labels to one scale, on which a score that predicts a label well
    has about the same slope whether the label is frequent or rare. First one slope is
    fitted that all labels share; then each label's own slope, by maximum likelihood less
    precision/2 · (a(l) − shared slope)²: frequent labels follow their scores, rare ones keep
    the shared slope. Intercepts are free, so that the mean probability of a label is its
    share of positives. A slope that would be negative is 0: the label keeps its share.

    A label that is constant in training has the odds of its counts with one more sample of
    either class.

    Parameters
    ----------
    precision : float
        Weight of the distance to the shared slope; 0: slopes are independent.
    scale : {"deviation", "log_odds", "none"}
        The function z. "deviation": score / √(p(1 − p)), p the label's share of positives:
        curves are straight in the score. "log_odds": `to_log_odds_scale` of a score that
        estimates 0 and 1. "none": the score, which is on the scale of log odds already.

    Attributes
    ----------
    share_ : ndarray of shape (n_labels,)
        Share of positives; 1/2 for a label that is constant in training.
    shared_slope_ : float
        Slope of all labels together.
    slope_, intercept_ : ndarray of shape (n_labels,)
        Log odds are slope_ · score + intercept_; with ``scale="log_odds"``, of the score on
        that scale.
    """

    share_: Array
    shared_slope_: float
    slope_: Array
    intercept_: Array

    def __init__(self, precision: float = 1.0, scale: str = "deviation") -> None:
        self.precision = precision
        self.scale = scale

    def fit(
        self, scores: Array, Y: Array, sample_weight: Array | None = None
    ) -> "SlopeCalibration":
        """Fit on out-of-sample scores, such as leave-one-out ones, (n, q), and labels, (n, q).

        A sample of weight 2 counts as two samples.
        """
        weight = np.ones(len(Y)) if sample_weight is None else sample_weight
        n, q = weight.sum(), Y.shape[1]
        positives = weight @ Y
        self.slope_, self.intercept_ = np.zeros(q), np.log((positives + 1) / (n - positives + 1))
        self.shared_slope_ = 0.0
        varies = np.flatnonzero((positives > 0) & (positives < n))
        self.share_ = np.full(q, 0.5)
        if not len(varies):
            return self
        self.share_[varies] = share = positives[varies] / n
        S, T = scores[:, varies], Y[:, varies].astype(np.float64)
        unit = np.sqrt(share * (1 - share)) if self.scale == "deviation" else np.ones(len(share))
        S = (to_log_odds_scale(S, share) if self.scale == "log_odds" else S) / unit
        # Centred scores decouple slope and intercept, so that Newton's method converges fast.
        centre = weight @ S / n
        S = S - centre
        self.shared_slope_ = max(0.0, _shared_slope(S, T, weight))
        slope, intercept = _own_slopes(S, T, weight, self.shared_slope_, self.precision)
        none = slope <= 0  # the likelihood is concave: the best slope ≥ 0 is 0
        slope[none], intercept[none] = 0, np.log(share / (1 - share))[none]
        self.slope_[varies] = slope / unit
        self.intercept_[varies] = intercept - slope * centre
        return self

    def log_odds(self, scores: Array) -> Array:
        """Return log odds, (n, q)."""
        if self.scale == "log_odds":
            scores = to_log_odds_scale(scores, self.share_)
        return self.slope_ * scores + self.intercept_

    def __call__(self, scores: Array) -> Array:
        """Return probabilities, (n, q)."""
        return expit(self.log_odds(scores))


def fit_better_curves(scores: Array, Y: Array, precision: float = 1.0) -> SlopeCalibration:
    """Fit curves straight in the score or on the log-odds scale, by their held-out log loss.

    A fifth of the samples is held out at a time. The loss on the samples of the fit would be no
    guide where scores separate the few positives of a rare label. A tie goes to straight curves.
    """
    loss = {"deviation": 0.0, "log_odds": 0.0}
    for rest, part in split_parts(scores, Y, _PARTS):
        for scale in loss:
            curves = SlopeCalibration(precision, scale).fit(scores[rest], Y[rest])
            proba = curves(scores[part])
            likelihood = np.where(Y[part] > 0, proba, 1 - proba)
            loss[scale] -= float(np.log(np.maximum(likelihood, _LEAST_LIKELIHOOD)).sum())
    return SlopeCalibration(precision, min(loss, key=loss.__getitem__)).fit(scores, Y)


def split_parts(scores: Array, Y: Array, n_parts: int) -> Iterator[tuple[Array, Array]]:
    """Yield masks of the samples that stay and of those held out, for each part.

    Parts depend neither on the order of the samples nor on that of the labels. None for a
    single sample.
    """
    part_of = np.empty(len(Y), dtype=int)
    part_of[np.lexsort((scores.sum(axis=1), Y.sum(axis=1)))] = np.arange(len(Y)) % n_parts
    for part in range(min(n_parts, len(Y)) if len(Y) > 1 else 0):
        yield part_of != part, part_of == part


def _shared_slope(S: Array, T: Array, weight: Array) -> float:
    """Return the slope that all columns share, their intercepts free."""

    def loss(slope: Array, intercept: Array) -> Array:
        penalty = _SHARED_PRECISION * slope**2 / 2
        return _losses(S, T, weight, slope, intercept).sum(keepdims=True) + penalty

    def newton_step(slope: Array, intercept: Array) -> tuple[Array, Array]:
        g_slopes, g_intercept, h_slopes, h_cross, h_intercept = _derivatives(
            S, T, weight, slope, intercept
        )
        # The intercepts are eliminated from Newton's equations: one unknown is left.
        ratio = h_cross / h_intercept
        gradient = g_slopes.sum() + _SHARED_PRECISION * slope - ratio @ g_intercept
        curvature = h_slopes.sum() + _SHARED_PRECISION - ratio @ h_cross
        step = gradient / curvature
        return step, (g_intercept - h_cross * step) / h_intercept

    slope, _ = _minimise(loss, newton_step, np.zeros(1), _prior_log_odds(T, weight))
    return float(slope[0])


def _own_slopes(
    S: Array, T: Array, weight: Array, shared: float, precision: float
) -> tuple[Array, Array]:
    """Return each column's slope, shrunk towards the shared one, and its intercept."""

    def loss(slope: Array, intercept: Array) -> Array:
        return _losses(S, T, weight, slope, intercept) + precision / 2 * (slope - shared) ** 2

    def newton_step(slope: Array, intercept: Array) -> tuple[Array, Array]:
        g_slope, g_intercept, h_slope, h_cross, h_intercept = _derivatives(
            S, T, weight, slope, intercept
        )
        g_slope, h_slope = g_slope + precision * (slope - shared), h_slope + precision
        determinant = h_slope * h_intercept - h_cross**2
        # Scores that are all equal do not determine the slope; it stays as it is.
        solvable = determinant > 1e-14 * h_slope * h_intercept
        determinant = np.where(solvable, determinant, 1)
        step = np.where(solvable, (h_intercept * g_slope - h_cross * g_intercept) / determinant, 0)
        return step, (g_intercept - h_cross * step) / h_intercept

    return _minimise(loss, newton_step, np.full(S.shape[1], shared), _prior_log_odds(T, weight))


def _minimise(
    loss: Callable[[Array, Array], Array],
    newton_step: Callable[[Array, Array], tuple[Array, Array]],
    slope: Array,
    intercept: Array,
) -> tuple[Array, Array]:
    """Minimise independent losses, one per entry of `slope`, each with its own step length."""
    value = loss(slope, intercept)
    for _ in range(_STEPS):
        steps = newton_step(slope, intercept)
        length = np.ones_like(slope)
        for _ in range(_HALVINGS):
            new = loss(slope - length * steps[0], intercept - length * steps[1])
            worse = new > value
            if not worse.any():
                break
            length = np.where(worse, length / 2, length)
        length, new = np.where(worse, 0, length), np.where(worse, value, new)
        slope, intercept = slope - length * steps[0], intercept - length * steps[1]
        converged = (value - new <= 1e-12 * np.maximum(1, value)).all()
        value = new
        if converged:
            break
    return slope, intercept


def _prior_log_odds(T: Array, weight: Array) -> Array:
    share = weight @ T / weight.sum()
    return np.log(share / (1 - share))


def _losses(S: Array, T: Array, weight: Array, slope: Array, intercept: Array) -> Array:
    """Negative log likelihood of each column."""
    odds = slope * S + intercept
    return weight @ (np.logaddexp(0, odds) - T * odds)


def _derivatives(
    S: Array, T: Array, weight: Array, slope: Array, intercept: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """First derivatives by slope and intercept, then the second ones, of each column."""
    p = expit(slope * S + intercept)
    excess, curvature = p - T, p * (1 - p)
    curved = curvature * S
    return (
        weight @ (excess * S),
        weight @ excess,
        weight @ (curved * S),
        weight @ curved,
        weight @ curvature + 1e-12,
    )
