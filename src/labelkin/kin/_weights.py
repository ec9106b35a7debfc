"""One weight per member, for all labels together."""

from typing import NamedTuple

import numpy as np

from labelkin._utils.parallel import map_threads
from labelkin.base import Array
from labelkin.calibration._curves import odds_losses
from labelkin.calibration._logistic import fit_logistic
from labelkin.rows import namespace_and_device, take, to_device_of

# Ridges of the weights' differences from equal ones, in units of the number of predictions.
PENALTIES = (np.inf, 1.0, 1e-1, 1e-2, 1e-3)
FOLDS = 4
# Bootstrap samples of the rows in which the candidates are compared.
_RESAMPLES = 500
# Candidates that are best in a smaller share of these are left out.
_LEAST_SHARE = 0.02
# With this many rows, equal weights have half of the total, with twice as many a fifth: resamples
# of few rows repeat the same ones, and understate how uncertain it is which candidate is best.
_FEW_ROWS = 50


class Candidate(NamedTuple):
    """A way to weigh members: which may have a weight, and the ridge of their differences."""

    members: tuple[int, ...]
    penalty: float
    """Infinite: equal weights."""


Mixture = list[tuple[Candidate, float]]
"""Candidates and their shares, which add up to 1."""


def fit_member_weights(
    log_odds: Array,
    Y: Array,
    mixture: Mixture | None,
    max_entries: int,
    seed: int,
    sample_weight: Array | None = None,
    n_jobs: int = 1,
) -> tuple[Array, Mixture]:
    """Learn one weight per member, shrunk towards equal ones.

    One logistic regression is fitted to all pairs of row and label. Its features are the mean of
    the members' log odds, without a penalty, and each member's difference from it, with a ridge.
    Candidates are the weights of all members, with a ridge between infinite and small, and equal
    weights of the better half, quarter, ... of the members by their log losses of all rows, down to
    the best alone. The result is their mean, each candidate with the share of bootstrap samples of
    the rows in which its loss, on rows held out from its fit, is the least, and equal weights with
    1 / (1 + (n / 50)²): with few rows, where chance decides which is best, weights are nearly
    equal; with many, a better member outweighs the others.

    Parameters
    ----------
    log_odds : array of shape (n_members, n_samples, n_labels)
        Out-of-sample log odds, on the host or on a device; other arrays are on the host.
    Y : ndarray of shape (n_samples, n_labels)
        The labels.
    mixture : list of (Candidate, float) or None
        Shares of the candidates. None: found.
    max_entries : int
        Rows times labels that are used, at most.
    seed : int
        Draws rows, where there are more than `max_entries` predictions, folds and resamples.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the rows in all losses.
    n_jobs : int
        Number of threads.

    Returns
    -------
    weights : ndarray of shape (n_members,)
        Not negative, adding up to 1.
    mixture : list of (Candidate, float)
        As given or found.
    """
    m, n, _ = log_odds.shape
    varies = Y.any(axis=0) & ~Y.all(axis=0)
    if m == 1 or n < 2 * FOLDS or not varies.any():
        return np.full(m, 1 / m), [(Candidate(tuple(range(m)), np.inf), 1.0)]
    rng = np.random.RandomState(seed)
    rows = rng.permutation(n)[: max(2 * FOLDS, max_entries // int(varies.sum()))]
    A = take(take(log_odds, rows, axis=1), np.flatnonzero(varies), axis=2)
    y = Y[rows][:, varies].astype(np.float64)
    weight = np.ones(len(rows)) if sample_weight is None else sample_weight[rows]
    if mixture is None:
        mixture = _compare(A, y, weight, rng, n_jobs)
    candidates = [candidate for candidate, _ in mixture]
    fitted = map_threads(lambda c: _fit_pooled(A, y, weight, c), candidates, n_jobs)
    weights = np.zeros(m)
    for (candidate, share), coef in zip(mixture, fitted, strict=True):
        weights[list(candidate.members)] += share * _as_shares(coef)
    equal = equal_share(n)
    return (1 - equal) * weights + equal / m, mixture


def equal_share(n_samples: int, few_rows: int = _FEW_ROWS) -> float:
    """Return the share of equal weights beside those that are learned from some rows."""
    return 1 / (1 + (n_samples / few_rows) ** 2)


def best_shares(losses: Array, rng: np.random.RandomState) -> list[float]:
    """Return the share of resamples of the rows in which each candidate has the least loss.

    Losses are (n_candidates, n_samples). Small shares count as none; the others add up to 1.
    """
    n = losses.shape[1]
    counts = rng.multinomial(n, np.full(n, 1 / n), size=_RESAMPLES)
    best = (losses @ counts.T).argmin(axis=0)
    shares = np.bincount(best, minlength=len(losses)) / _RESAMPLES
    shares = np.where(shares >= _LEAST_SHARE, shares, 0)
    return (shares / shares.sum()).tolist()


def _as_shares(coef: Array) -> Array:
    """Return weights, not negative and adding up to 1, from the coefficients of a fit."""
    m = len(coef) - 1
    weights = np.maximum(coef[-1] / m + coef[:-1] - coef[:-1].mean(), 0)
    return weights / weights.sum() if weights.sum() > 0 else np.full(m, 1 / m)


def _compare(A: Array, y: Array, weight: Array, rng: np.random.RandomState, n_jobs: int) -> Mixture:
    """Return the candidates with the shares of resamples in which each is the best."""
    (m, n), (xp, _) = A.shape[:2], namespace_and_device(A)
    candidates = [Candidate(tuple(range(m)), penalty) for penalty in PENALTIES]
    member_losses = [weight @ odds_losses(A[i, :, :], y) for i in range(m)]
    by_loss = np.argsort(member_losses, kind="stable")
    size = m
    while size > 1:
        size = (size + 1) // 2
        candidates.append(Candidate(tuple(sorted(by_loss[:size].tolist())), np.inf))
    folds = np.arange(n) % FOLDS
    losses = np.empty((len(candidates), n))

    def fit_without(fold: int) -> None:
        held_out, start = folds == fold, None
        rest = ~held_out
        known, queries = (take(A, np.flatnonzero(rows), axis=1) for rows in (rest, held_out))
        for i, candidate in enumerate(candidates):
            # From the strongest penalty on, each begins at the last.
            start = start if len(candidate.members) == m else None
            start = _fit_pooled(known, y[rest], weight[rest], candidate, start)
            predicted = xp.tensordot(to_device_of(start, A), _design(queries, candidate), axes=1)
            losses[i, held_out] = weight[held_out] * odds_losses(predicted, y[held_out])

    map_threads(fit_without, range(FOLDS), n_jobs)
    shares = best_shares(losses, rng)
    return [(c, share) for c, share in zip(candidates, shares, strict=True) if share]


def _design(A: Array, candidate: Candidate) -> Array:
    """Return the differences of members from their mean, and last the mean."""
    xp, _ = namespace_and_device(A)
    kept = take(A, np.asarray(candidate.members), axis=0)
    mean = xp.mean(kept, axis=0)
    return xp.concat([kept - mean, mean[None, ...]], axis=0)


def _fit_pooled(
    A: Array, y: Array, weight: Array, candidate: Candidate, start: Array | None = None
) -> Array:
    """Fit one logistic regression to all rows and labels; the last coefficient is free."""
    design, penalty = _design(A, candidate), candidate.penalty
    if start is None:
        start = np.zeros(design.shape[0])
        start[-1] = 1  # the mean as it is
    used = slice(design.shape[0] - 1, None) if penalty == np.inf else slice(None)
    xp, _ = namespace_and_device(A)
    columns = xp.reshape(design[used, ...], (-1, y.size)).T
    ridge = 0.0 if penalty == np.inf else penalty * weight.sum() * y.shape[1] / 2
    weights = np.repeat(weight, y.shape[1])
    w = np.zeros(design.shape[0])
    w[used] = fit_logistic(columns, y.ravel(), ridge, tol=1e-4, start=start[used], weight=weights)
    return w
