"""One weight per member, for all labels together."""

import numpy as np
from scipy.special import log_expit

from labelkin.base import Array
from labelkin.calibration._logistic import fit_logistic

# Ridges of the weights' differences from equal ones, in units of the number of predictions.
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, np.inf)
_FOLDS = 4
# The largest ridge is chosen whose loss is at most this many standard errors above the least.
_STANDARD_ERRORS = 1.0


def fit_member_weights(
    log_odds: Array, Y: Array, penalty: float | None, max_entries: int, seed: int
) -> tuple[Array, float]:
    """Learn one weight per member, shrunk towards equal ones.

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
    penalty : float or None
        The ridge, infinite for equal weights. None: chosen.
    max_entries : int
        Rows times labels that are used, at most.
    seed : int
        Draws rows, where there are more than `max_entries` predictions, and folds.

    Returns
    -------
    weights : ndarray of shape (n_members,)
        Not negative, adding up to 1.
    penalty : float
        The ridge.
    """
    m, n, _ = log_odds.shape
    equal = np.full(m, 1 / m)
    varies = Y.any(axis=0) & ~Y.all(axis=0)
    if m == 1 or n < 2 * _FOLDS or not varies.any() or penalty == np.inf:
        return equal, np.inf
    order = np.random.RandomState(seed).permutation(n)
    rows = order[: max(2 * _FOLDS, max_entries // int(varies.sum()))]
    A, y = log_odds[:, rows][:, :, varies], Y[rows][:, varies].astype(np.float64)
    mean = A.mean(axis=0)
    design = np.concatenate([A - mean, mean[None]])  # (m + 1, rows, labels)
    if penalty is None:
        penalty = _choose_penalty(design, y)
    w = _fit_pooled(design, y, penalty)
    weights = np.maximum(w[-1] * equal + w[:-1] - w[:-1].mean(), 0)
    return (weights / weights.sum() if weights.sum() > 0 else equal), penalty


def _choose_penalty(design: Array, y: Array) -> float:
    """Return the largest penalty that is not clearly worse than the best on held-out rows."""
    folds = np.arange(y.shape[0]) % _FOLDS
    losses = np.empty((len(PENALTIES), y.shape[0]))
    for fold in range(_FOLDS):
        held_out = folds == fold
        sign, w = 2 * y[held_out] - 1, None
        for i in reversed(range(len(PENALTIES))):  # from the strongest, each begins at the last
            w = _fit_pooled(design[:, ~held_out], y[~held_out], PENALTIES[i], w)
            predicted = np.tensordot(w, design[:, held_out], 1)
            losses[i, held_out] = -log_expit(sign * predicted).sum(axis=1)
    excess = losses - losses[losses.mean(axis=1).argmin()]
    error = excess.std(axis=1) / np.sqrt(y.shape[0])
    return PENALTIES[np.flatnonzero(excess.mean(axis=1) <= _STANDARD_ERRORS * error)[-1]]


def _fit_pooled(design: Array, y: Array, penalty: float, start: Array | None = None) -> Array:
    """Fit one logistic regression to all rows and labels; the last coefficient is free."""
    if start is None:
        start = np.zeros(len(design))
        start[-1] = 1  # the mean as it is
    used = slice(len(design) - 1, None) if penalty == np.inf else slice(None)
    columns = design[used].reshape(len(design[used]), -1).T
    ridge = 0.0 if penalty == np.inf else penalty * y.size / 2
    w = np.zeros(len(design))
    w[used] = fit_logistic(columns, y.ravel(), ridge, tol=1e-4, start=start[used])
    return w
