"""The correction of each label by the log odds of all labels."""

import numpy as np
from scipy.special import logit

from labelkin.base import Array
from labelkin.calibration._logistic import expit
from labelkin.kernel._ridge import fit_ridge, interpolate_errors
from labelkin.kernel._spectrum import RidgeSpectrum
from labelkin.rows import clip, is_numpy, namespace_and_device, to_device_of, to_numpy

# Ridges of the correction, in units of the mean squared norm of a row of log odds.
_RIDGES = np.logspace(-2, 5, 15)


class LabelCorrection:
    """A regression of each label's residuals on the log odds of all labels.

    The `share` of it is added to the probabilities. All of it would trust the regression, which
    has one coefficient per pair of labels, too much.
    """

    def __init__(self, share: float) -> None:
        self.share = share

    def fit_scores(
        self,
        log_odds: Array,
        Y: Array,
        fold_of: Array,
        weight: Array | None = None,
        n_jobs: int = 1,
    ) -> Array:
        """Learn from out-of-sample log odds; return corrected ones, each fold left out."""
        odds = to_numpy(log_odds)
        residual = Y - expit(odds)
        self._mean = np.average(odds, axis=0, weights=weight)
        centred = log_odds - to_device_of(self._mean, log_odds)
        spectrum = RidgeSpectrum.of_features(centred, weight)
        ridges = _RIDGES * spectrum.scale
        errors = interpolate_errors(spectrum, residual, ridges)
        best = ridges[errors.argmin(axis=0)]
        change, coef, intercept = fit_ridge(spectrum, residual, best, fold_of)
        # A single row has no directions, and its leave-one-out score is no score.
        before = np.average(residual**2, axis=0, weights=weight)
        helps = (errors.min(axis=0) < before) & (spectrum.values.shape[0] > 0)
        self._coef, self._intercept = to_numpy(coef) * helps, to_numpy(intercept) * helps
        return self._corrected(log_odds, change * to_device_of(helps.astype(np.float64), change))

    def apply(self, log_odds: Array) -> Array:
        """Return corrected log odds of queries."""
        mean, coef, intercept = (
            to_device_of(array, log_odds) for array in (self._mean, self._coef, self._intercept)
        )
        return self._corrected(log_odds, (log_odds - mean) @ coef + intercept)

    def _corrected(self, log_odds: Array, change: Array) -> Array:
        # No distance to 0 or 1 is more than halved, so that probabilities there do not tie.
        proba = expit(log_odds)
        xp, _ = namespace_and_device(proba)
        proba = clip(proba + self.share * change, proba / 2, (1 + proba) / 2)
        return logit(proba) if is_numpy(xp) else xp.log(proba / (1 - proba))
