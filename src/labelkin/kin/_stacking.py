"""From the out-of-sample scores of several members to one probability per label.

All that is learned here is learned from scores that do not depend on their own row's labels, and
has few parameters: two per label and member (calibration), one per member (weights), and one
ridge regression per label, chosen by leave-one-out error.
"""

import numpy as np
from scipy.special import expit, log_expit, logit

from labelkin.base import Array
from labelkin.calibration._curves import SlopeCalibration, split_parts
from labelkin.calibration._logistic import fit_logistic
from labelkin.kernel._ridge import RidgeSpectrum, fit_ridge, loo_errors
from labelkin.kin._limits import Limits

# Log odds are bounded before they are averaged, at probabilities of 10⁻⁴ and 1 − 10⁻⁴: one
# overconfident member must not outvote the others.
_BOUND = float(logit(1 - 1e-4))
# Weight of the distance of a label's slope to the slope that all labels share, by the scale of
# the scores: some thirty positives are needed to leave it, since the rank of a label among the
# others depends on its slope.
_PRECISION = {"deviation": 30.0, "log_odds": 3.0, "none": 30.0}
# Pseudo-count by which the targets of a label's positives are smoothed.
_PSEUDO_COUNT = 0.3
# Ridges of the weights' differences from equal ones, in units of the number of predictions.
_PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
_FOLDS = 4
# The largest ridge is chosen whose loss is at most this many standard errors above the least.
_STANDARD_ERRORS = 1.0
# Ridges of the correction, in units of the mean squared norm of a row of log odds.
_RIDGES = np.logspace(-2, 5, 15)


class Stacking:
    """Calibrated members, averaged as log odds, corrected by the other labels.

    1. Each member's scores become log odds ℓₘ by a logistic curve per label, rare labels with
       nearly the slope that all share (`SlopeCalibration` on `smooth_targets`), within
       ±log((1 − 10⁻⁴) / 10⁻⁴). See `fit_member_curves`.
    2. ℓ = Σ wₘ ℓₘ, one weight per member for all labels: see `fit_member_weights`. P = σ(ℓ),
       calibrated.
    3. The residuals Y − P are regressed on the centred log odds of all labels, one ridge per
       label by leave-one-out error, or none where that does not help. A share of the
       regression is added to P.
    4. One more calibration, of the log odds.

    Parameters
    ----------
    seed : int
        Draws the folds by which the shrinkage of the weights is chosen.
    correction : float
        Share of the correction that is applied. All of it would trust the regression, which
        has one coefficient per pair of labels, too much.
    max_entries : int
        Predictions, rows times labels, from which weights are learned, at most.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Add up to 1.
    calibrations_ : list of SlopeCalibration
        Of each member.
    """

    weights_: Array
    calibrations_: list[SlopeCalibration]

    def __init__(
        self, seed: int, correction: float = 0.5, max_entries: int = Limits.weight_entries
    ) -> None:
        self.seed, self.correction, self.max_entries = seed, correction, max_entries

    def fit_proba(self, scores: list[Array], Y: Array) -> Array:
        """Learn from out-of-sample scores, (n, q) per member; return such probabilities, (n, q)."""
        targets = smooth_targets(Y)
        self.calibrations_ = fit_member_curves(scores, Y)
        log_odds = self._member_log_odds(scores)
        rng = np.random.RandomState(self.seed)
        self.weights_ = fit_member_weights(log_odds, Y, rng, self.max_entries)
        mixed = np.tensordot(self.weights_, log_odds, 1)
        self._mixed_curves = _fit_curves(mixed, targets, "none")
        self._label_correction = LabelCorrection(self.correction)
        corrected = self._label_correction.fit_loo(_log_odds(self._mixed_curves, mixed), Y)
        self._last_curves = _fit_curves(corrected, targets, "none")
        return self._last_curves(corrected)

    def proba(self, scores: list[Array]) -> Array:
        """Return probabilities from the members' scores of queries."""
        mixed = np.tensordot(self.weights_, self._member_log_odds(scores), 1)
        return self._last_curves(self._label_correction.apply(_log_odds(self._mixed_curves, mixed)))

    def _member_log_odds(self, scores: list[Array]) -> Array:
        members = zip(self.calibrations_, scores, strict=True)
        return np.stack([_log_odds(curves, member) for curves, member in members])


def smooth_targets(Y: Array) -> Array:
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
    n, positives = len(Y), Y.sum(axis=0, dtype=np.float64)
    count = 1 / Y.shape[1]
    varies = (positives > 0) & (positives < n)
    high = np.where(varies, (positives + _PSEUDO_COUNT) / (positives + 2 * _PSEUDO_COUNT), 1.0)
    low = np.where(varies, count / (n - positives + 2 * count), 0.0)
    return np.where(Y > 0, high, low)


def fit_member_curves(scores: list[Array], Y: Array) -> list[SlopeCalibration]:
    """Fit each member's curves: all straight in the scores, or all on the log-odds scale.

    Each kind of curve is fitted to one half of the samples; its log odds, averaged over the
    members and calibrated, predict the labels of the other half, and the lower log loss decides.
    The log loss of a single member is no guide: where its curves are overconfident, the average
    need not be. A tie goes to straight curves.

    Parameters
    ----------
    scores : list of ndarray of shape (n_samples, n_labels)
        Out-of-sample scores of each member.
    Y : ndarray of shape (n_samples, n_labels)
        The labels.

    Returns
    -------
    list of SlopeCalibration
        One per member.
    """

    def held_out_loss(scale: str) -> float:
        loss = 0.0
        for rest, part in split_parts(scores[0], Y, 2):
            targets = smooth_targets(Y[rest])
            curves = [_fit_curves(s[rest], targets, scale) for s in scores]
            fitted, held_out = (
                sum(_log_odds(c, s[rows]) for c, s in zip(curves, scores, strict=True))
                / len(scores)
                for rows in (rest, part)
            )
            log_odds = _log_odds(_fit_curves(fitted, targets, "none"), held_out)
            loss -= float(log_expit(np.where(Y[part] > 0, log_odds, -log_odds)).sum())
        return loss

    scale = min(("deviation", "log_odds"), key=held_out_loss)
    targets = smooth_targets(Y)
    return [_fit_curves(s, targets, scale) for s in scores]


def _fit_curves(scores: Array, targets: Array, scale: str) -> SlopeCalibration:
    return SlopeCalibration(_PRECISION[scale], scale).fit(scores, targets)


def _log_odds(calibration: SlopeCalibration, scores: Array) -> Array:
    """Log odds of calibrated scores, bounded."""
    return np.clip(calibration.log_odds(scores), -_BOUND, _BOUND)


def fit_member_weights(
    log_odds: Array,
    Y: Array,
    rng: np.random.RandomState,
    max_entries: int = Limits.weight_entries,
) -> Array:
    """Learn one weight per member, shrunk towards equal ones by the loss of held-out rows.

    A logistic regression over all pairs of row and label at once, on the mean of the members' log
    odds, free, and on each member's difference from it, with a ridge. The ridge is the largest
    of a few whose loss on held-out rows is within a standard error of the least: with few rows
    the weights stay equal, with many a better member outweighs the others.

    Parameters
    ----------
    log_odds : ndarray of shape (n_members, n_samples, n_labels)
        Out-of-sample log odds.
    Y : ndarray of shape (n_samples, n_labels)
        The labels.
    rng : numpy.random.RandomState
        Draws folds, and rows where there are more than `max_entries` predictions.
    max_entries : int
        Rows times labels that are used, at most.

    Returns
    -------
    ndarray of shape (n_members,)
        Not negative, adding up to 1.
    """
    m, n, _ = log_odds.shape
    equal = np.full(m, 1 / m)
    varies = Y.any(axis=0) & ~Y.all(axis=0)
    if m == 1 or n < 2 * _FOLDS or not varies.any():
        return equal
    rows = rng.permutation(n)[: max(2 * _FOLDS, max_entries // int(varies.sum()))]
    A, y = log_odds[:, rows][:, :, varies], Y[rows][:, varies].astype(np.float64)
    mean = A.mean(axis=0)
    design = np.concatenate([A - mean, mean[None]])  # (m + 1, rows, labels)
    folds = np.arange(len(rows)) % _FOLDS
    losses = np.empty((len(_PENALTIES), len(rows)))
    for fold in range(_FOLDS):
        held_out = folds == fold
        sign = 2 * y[held_out] - 1
        for i, penalty in enumerate(_PENALTIES):
            w = _fit_pooled(design[:, ~held_out], y[~held_out], penalty)
            predicted = np.tensordot(w, design[:, held_out], 1)
            losses[i, held_out] = -log_expit(sign * predicted).sum(axis=1)
    w = _fit_pooled(design, y, _PENALTIES[_most_shrunk(losses)])
    weights = np.maximum(w[-1] * equal + w[:-1] - w[:-1].mean(), 0)
    return weights / weights.sum() if weights.sum() > 0 else equal


def _fit_pooled(design: Array, y: Array, penalty: float) -> Array:
    """Fit one logistic regression to all rows and labels; the last coefficient is free."""
    columns = design.reshape(len(design), -1).T
    return fit_logistic(columns, y.ravel(), penalty * y.size / 2, tol=1e-4)


def _most_shrunk(losses: Array) -> int:
    """Return the last row of losses that is not clearly worse than the best."""
    best = losses[losses.mean(axis=1).argmin()]
    excess = losses - best
    error = excess.std(axis=1) / np.sqrt(losses.shape[1])
    return int(np.flatnonzero(excess.mean(axis=1) <= _STANDARD_ERRORS * error)[-1])


class LabelCorrection:
    """A regression of each label's residuals on the log odds of all labels.

    Parameters
    ----------
    share : float
        Share of the regression that is added to the probabilities.
    """

    def __init__(self, share: float) -> None:
        self.share = share

    def fit_loo(self, log_odds: Array, Y: Array) -> Array:
        """Learn from out-of-sample log odds; return corrected ones, each row left out."""
        residual = Y - expit(log_odds)
        self._mean = log_odds.mean(axis=0)
        spectrum = RidgeSpectrum.of_features(log_odds - self._mean)
        ridges = _RIDGES * spectrum.scale
        errors = loo_errors(spectrum, residual, ridges)
        change, coef, intercept = fit_ridge(spectrum, residual, ridges[errors.argmin(axis=0)])
        # A single row has no directions, and its leave-one-out score is no score.
        helps = (errors.min(axis=0) < np.mean(residual**2, axis=0)) & (spectrum.values.size > 0)
        self._coef, self._intercept = coef * helps, intercept * helps
        return self._corrected(log_odds, change * helps)

    def apply(self, log_odds: Array) -> Array:
        """Return corrected log odds of queries."""
        change = (log_odds - self._mean) @ self._coef + self._intercept
        return self._corrected(log_odds, change)

    def _corrected(self, log_odds: Array, change: Array) -> Array:
        # No distance to 0 or 1 is more than halved, so that probabilities there do not tie.
        proba = expit(log_odds)
        return logit(np.clip(proba + self.share * change, proba / 2, (1 + proba) / 2))
