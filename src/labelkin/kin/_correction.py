"""The correction of each label by the log odds of all labels."""

import numpy as np
from scipy.special import expit, logit

from labelkin._utils.array_api import HOST, Place, to_numpy
from labelkin.base import Array
from labelkin.kernel._ridge import fit_ridge, interpolate_errors
from labelkin.kernel._spectrum import RidgeSpectrum

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
        place: Place = HOST,
    ) -> Array:
        """Learn from out-of-sample log odds; return corrected ones, each fold left out."""
        residual = Y - expit(log_odds)
        self._mean = np.average(log_odds, axis=0, weights=weight)
        spectrum = RidgeSpectrum.of_features(place.put(log_odds - self._mean), weight)
        ridges = _RIDGES * spectrum.scale
        errors = interpolate_errors(spectrum, residual, ridges, n_jobs=n_jobs)
        best = ridges[errors.argmin(axis=0)]
        fitted = fit_ridge(spectrum, residual, best, fold_of, n_jobs)
        change, coef, intercept = (to_numpy(array) for array in fitted)
        # A single row has no directions, and its leave-one-out score is no score.
        before = np.average(residual**2, axis=0, weights=weight)
        helps = (errors.min(axis=0) < before) & (spectrum.values.shape[0] > 0)
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
