"""From the honest scores of several members to one probability a label.

All that is learned here is learned from scores that did not see their own row's labels, and
has few parameters: two a label and member (calibration), one a member (weights), and one ridge
regression a label, judged by leaving one out.
"""

import numpy as np
from scipy.special import expit, log_expit, logit

from labelkin.base import Array
from labelkin.calibration._curves import SlopeCalibration, left_out
from labelkin.calibration._logistic import logistic_coefficients
from labelkin.kernel._ridge import LooRidge, RidgeSpectrum, loo_ridge

# Probabilities stay so far from 0 and 1 when odds are averaged: nobody is surer than that.
_SUREST = 1e-4
_BOUND = float(logit(1 - _SUREST))
# Weight of the distance of a label's slope to the slope that all labels share, by the scale of
# the scores. Some thirty positives are needed to leave it: a label's place among the others
# hangs on it.
_PRECISION = {"deviation": 30.0, "bent": 3.0, "odds": 30.0}
# Doubtful positives of a label in the targets of its curve.
_DOUBT = 0.3
# Shares of the number of cells with which weights are drawn towards equal ones.
_PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
_FOLDS = 4
# Cells on which weights are learned, at most.
_CELLS = 200_000
# How much less a less shrunk choice must lose, in standard errors, to be preferred.
_CAUTION = 1.0
# Ridges of the correction, in units of the mean squared norm of a row of log odds.
_RIDGES = np.logspace(-2, 5, 15)
# Share of the correction that is applied.
_SHARE = 0.5


class Stacking:
    """Calibrated members, averaged as log odds, corrected by the other labels.

    1. Each member's scores become log odds ℓₘ by a logistic curve a label, rare labels leaning
       on the slope that all share (`SlopeCalibration` on `cautious` targets), within
       ±log((1 − 10⁻⁴) / 10⁻⁴). Straight or bent, for all members: see `member_curves`.
    2. ℓ = Σ wₘ ℓₘ, one weight a member for all labels: see `member_weights`. P = calibrated ℓ.
    3. The residuals Y − P are regressed on the centred log odds of all labels, one ridge a
       label by leave-one-out error, or none where that does not help. Half of what the
       regression says is added to P.
    4. One more calibration, of the log odds.

    Parameters
    ----------
    seed : int
        Draws the folds by which the shrinkage of the weights is chosen.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Add up to 1.
    calibrations_ : list of SlopeCalibration
        Of each member.
    """

    weights_: Array
    calibrations_: list[SlopeCalibration]

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, scores: list[Array], Y: Array) -> Array:
        """Learn from honest scores of the members; return honest probabilities, (n, q)."""
        targets = cautious(Y)
        self.calibrations_ = member_curves(scores, Y)
        odds = self._member_odds(scores)
        self.weights_ = member_weights(odds, Y, np.random.RandomState(self.seed))
        mixed = np.tensordot(self.weights_, odds, 1)
        self._first = _curves(mixed, targets, "odds")
        first = _odds(self._first, mixed)
        self._correction = LabelCorrection()
        corrected = self._correction.fit(first, Y)
        self._last = _curves(corrected, targets, "odds")
        return self._last(corrected)

    def __call__(self, scores: list[Array]) -> Array:
        """Return probabilities from the members' scores of queries."""
        mixed = np.tensordot(self.weights_, self._member_odds(scores), 1)
        return self._last(self._correction(_odds(self._first, mixed)))

    def _member_odds(self, scores: list[Array]) -> Array:
        return np.stack(
            [_odds(c, member) for c, member in zip(self.calibrations_, scores, strict=True)]
        )


def cautious(Y: Array) -> Array:
    """Return the targets of calibration: not 0 and 1 but what so many samples vouch for.

    (N₊ + c) / (N₊ + 2c) for the N₊ positives of a label, c / (N₋ + 2c) for its N₋ negatives, as
    Platt proposed with c = 1. Where scores separate a label, a curve through 0 and 1 has no
    bound, and each curve on top of another would be surer still. Constant labels stay as they
    are.

    For positives c = 0.3: slopes are shared, so less caution is needed. For negatives c = 1/q:
    one doubtful sample for all q labels together. One for each label would make every label
    as likely as 1/n even where all scores exclude it: more likely than a label that was
    never seen, which would then rank last for every row.
    """
    n, positives = len(Y), Y.sum(axis=0, dtype=np.float64)
    doubt = 1 / Y.shape[1]
    varies = (positives > 0) & (positives < n)
    high = np.where(varies, (positives + _DOUBT) / (positives + 2 * _DOUBT), 1.0)
    low = np.where(varies, doubt / (n - positives + 2 * doubt), 0.0)
    return np.where(Y > 0, high, low)


def member_curves(scores: list[Array], Y: Array) -> list[SlopeCalibration]:
    """Fit a curve a label to each member's scores: all straight, or all bent to log odds.

    Each kind of curve is fitted to one half of the samples, and its log odds, averaged over the
    members and calibrated, foretell the labels of the other half; the lower log loss decides.
    One member's own log loss is no guide: what its curves overstate is evened out by the
    others. A tie goes to the straight ones.

    Parameters
    ----------
    scores : list of ndarray of shape (n_samples, n_labels)
        Honest scores of each member.
    Y : ndarray of shape (n_samples, n_labels)
        The labels.

    Returns
    -------
    list of SlopeCalibration
        One a member.
    """

    def surprise(scale: str) -> float:
        total = 0.0
        for rest, part in left_out(scores[0], Y, 2):
            targets = cautious(Y[rest])
            curves = [_curves(s[rest], targets, scale) for s in scores]
            known, asked = (
                sum(_odds(c, s[rows]) for c, s in zip(curves, scores, strict=True)) / len(scores)
                for rows in (rest, part)
            )
            odds = _odds(_curves(known, targets, "odds"), asked)
            total -= float(log_expit(np.where(Y[part] > 0, odds, -odds)).sum())
        return total

    scale = min(("deviation", "bent"), key=surprise)
    targets = cautious(Y)
    return [_curves(s, targets, scale) for s in scores]


def _curves(scores: Array, targets: Array, scale: str) -> SlopeCalibration:
    return SlopeCalibration(_PRECISION[scale], scale).fit(scores, targets)


def _odds(calibration: SlopeCalibration, scores: Array) -> Array:
    """Log odds of calibrated scores, bounded."""
    return np.clip(calibration.odds(scores), -_BOUND, _BOUND)


def member_weights(odds: Array, Y: Array, rng: np.random.RandomState) -> Array:
    """Learn one weight a member, shrunk towards equal ones as held-out rows advise.

    A logistic regression over all cells (row, label) at once, on the mean of the members' log
    odds, free, and on each member's difference from it, with a ridge. The ridge is the largest
    of a few whose loss on held-out rows is within a standard error of the least: few rows
    leave the weights equal, many let a member that is better take over.

    Parameters
    ----------
    odds : ndarray of shape (n_members, n_samples, n_labels)
        Honest log odds.
    Y : ndarray of shape (n_samples, n_labels)
        The labels.
    rng : numpy.random.RandomState
        Draws folds, and rows where there are very many.

    Returns
    -------
    ndarray of shape (n_members,)
        Not negative, adding up to 1.
    """
    m, n, _ = odds.shape
    equal = np.full(m, 1 / m)
    varies = Y.any(axis=0) & ~Y.all(axis=0)
    if m == 1 or n < 2 * _FOLDS or not varies.any():
        return equal
    rows = rng.permutation(n)[: max(2 * _FOLDS, _CELLS // int(varies.sum()))]
    A, y = odds[:, rows][:, :, varies], Y[rows][:, varies].astype(np.float64)
    mean = A.mean(axis=0)
    design = np.concatenate([A - mean, mean[None]])  # (m + 1, rows, labels)
    folds = np.arange(len(rows)) % _FOLDS
    losses = np.empty((len(_PENALTIES), len(rows)))
    for fold in range(_FOLDS):
        held = folds == fold
        for i, penalty in enumerate(_PENALTIES):
            w = _fit_cells(design[:, ~held], y[~held], penalty)
            sign = 2 * y[held] - 1
            losses[i, held] = -log_expit(sign * np.tensordot(w, design[:, held], 1)).sum(axis=1)
    w = _fit_cells(design, y, _PENALTIES[_most_shrunk(losses)])
    weights = np.maximum(w[-1] * equal + w[:-1] - w[:-1].mean(), 0)
    return weights / weights.sum() if weights.sum() > 0 else equal


def _fit_cells(design: Array, y: Array, penalty: float) -> Array:
    cells = design.reshape(len(design), -1).T
    # The mean's coefficient, last, is free, as an intercept would be.
    return logistic_coefficients(cells, y.ravel(), penalty * y.size / 2, tol=1e-4)


def _most_shrunk(losses: Array) -> int:
    """Return the last row of losses that is not clearly worse than the best."""
    best = losses[losses.mean(axis=1).argmin()]
    excess = losses - best
    error = excess.std(axis=1) / np.sqrt(losses.shape[1])
    return int(np.flatnonzero(excess.mean(axis=1) <= _CAUTION * error)[-1])


class LabelCorrection:
    """What the other labels' log odds say about the residuals of each label."""

    def fit(self, odds: Array, Y: Array) -> Array:
        """Learn from honest log odds; return corrected ones, each row left out."""
        proba = expit(odds)
        residual = Y - proba
        self._mean = odds.mean(axis=0)
        centred = odds - self._mean
        spectrum = RidgeSpectrum.of_features(centred)
        self._coef = np.zeros((Y.shape[1], Y.shape[1]))
        self._intercept = np.zeros(Y.shape[1])
        change = np.zeros(Y.shape)
        least = np.mean(residual**2, axis=0)
        if spectrum.values.size:
            for ridge in _RIDGES:
                # A single ridge: nothing is chosen inside, which would take residuals for labels.
                model: LooRidge = loo_ridge(spectrum, residual, np.array([ridge]))
                error = np.mean((residual - model.loo_scores) ** 2, axis=0)
                better = error < least
                least[better] = error[better]
                change[:, better] = model.loo_scores[:, better]
                self._coef[:, better] = model.coef[:, better]
                self._intercept[better] = model.intercept[better]
        return _corrected(proba, change)

    def __call__(self, odds: Array) -> Array:
        """Return corrected log odds of queries."""
        change = (odds - self._mean) @ self._coef + self._intercept
        return _corrected(expit(odds), change)


def _corrected(proba: Array, change: Array) -> Array:
    """Add a share of the change, without halving any distance to 0 or 1: no ties there."""
    changed = np.clip(proba + _SHARE * change, proba / 2, (1 + proba) / 2)
    return logit(changed)
