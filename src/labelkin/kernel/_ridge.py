"""Ridge regression of many targets with its exact out-of-sample scores, from one `eigh`.

With an unpenalised intercept, ridge regression in a kernel's feature space is

    minimise over f, b   Σ (yᵢ − f(xᵢ) − b)² + λ |f|²,

and its fitted values are ȳ + U diag(Λ / (Λ + λ)) Uᵀ (y − ȳ), where UΛUᵀ is the centred
kernel matrix. Row i left out, the model refitted (the intercept as well), its score of row i is

    yᵢ − (yᵢ − fitted valueᵢ) / (1 − hᵢ),   hᵢ = 1/n + Σⱼ Uᵢⱼ² Λⱼ / (Λⱼ + λ),

exactly. So one decomposition serves every target and every λ, each by a few products. Features
instead of a kernel (k < n) give the same U and Λ from a k × k decomposition.

The same holds for a fold B of rows left out together. Fitted values are linear in the targets,
ŷ = Hy with H = 11ᵀ/n + U diag(Λ / (Λ + λ)) Uᵀ. Let y* be y with the targets of B replaced by the
scores s of the model fitted without B. These rows then add nothing to its loss, so that it is
also the minimum for y*, and s = (H y*)_B = ŷ_B + H_BB (s − y_B). Hence

    y_B − s = (I − H_BB)⁻¹ (y_B − ŷ_B),

of which leave-one-out scores are the case of a single row. Where U has fewer columns than the fold
has rows, the same follows from sums over the rows: with Z = (1/√n, U diag(Λ / (Λ + λ))^½), so that
H = ZZᵀ,

    (I − H_BB)⁻¹ e = e + Z_B (I − Z_BᵀZ_B)⁻¹ Z_Bᵀ e.

A second model learned from scores
must use these: the leave-one-out score of row i depends on all other targets, whose mean leans
away from yᵢ by (ȳ − yᵢ) / (n − 1), and a regression on the scores of many labels recovers yᵢ from
that.

With weights wᵢ in the loss, W = diag(w), means are weighted ones, and UΛUᵀ is W^½ K W^½ for the
kernel matrix K centred by them. Fitted values are ȳ + V diag(Λ / (Λ + λ)) Vᵀ W (y − ȳ) with
V = W^{-½} U, and H = (11ᵀ/Σw + V diag(Λ / (Λ + λ)) Vᵀ) W. A row of weight 2 is the row twice; it is
left out with its whole weight.
"""

from typing import Any

import numpy as np
from sklearn.utils._array_api import get_namespace

from labelkin._utils.array_api import to_numpy
from labelkin.base import Array
from labelkin.calibration._means import mean_and_error
from labelkin.kernel._distances import take
from labelkin.kernel._folds import fold_errors, fold_scores, map_jobs
from labelkin.kernel._spectrum import RidgeSpectrum, left_out, like, weigh

# Multiples of the mean squared norm of the centred rows: from next to no ridge to the prior.
RIDGES = np.logspace(-4, 3, 22)
# Every third ridge is enough to compare widths, and to interpolate the errors between them...
COARSE = 3
# ... if there are this many.
_FEWEST_TO_INTERPOLATE = 10
# Standard errors by which the ridge of a label must be better than the one for all.
_CLEAR = 2.0


def fit_ridge(
    spectrum: RidgeSpectrum,
    Y: Array,
    ridge: Array,
    fold_of: Array | None = None,
    n_jobs: int = 1,
) -> tuple[Any, Any, Any]:
    """Fit ridge regressions of targets, (n_samples, n_labels), λ of each label given.

    Returns the scores of the rows, each by a model without it or without its fold, and the
    coefficients and intercepts: scores of queries are columns @ coef + intercept. Leaving out
    folds, 0, 1, ..., takes n · r · (rows of a fold) per distinct ridge for a kernel matrix, which
    is then a NumPy array; for features n · r² in all, and r³ per fold and distinct ridge in
    `n_jobs` threads.
    """
    mean, rotated = _rotate(spectrum, Y)
    # Labels share a few ridges: 1 − h is computed once for each of them.
    distinct, place = np.unique(ridge, return_inverse=True)
    kept, ridge = _kept(spectrum, distinct), like(rotated, ridge)
    if spectrum.basis is None:
        scores, coef = _fit_kernel(spectrum, Y, mean, rotated, kept, place, fold_of)
        coef = coef / ridge
        return scores, coef, like(coef, mean) - spectrum.mean @ coef
    rows = spectrum.rows
    if fold_of is None:
        parts = [rows.split(Y), rows.split(spectrum.weight)]
        shared = [mean, rotated, kept, place, spectrum.total]
        found = rows.collect(_loo_scores, parts, shared)
        scores = found[0] if len(found) == 1 else get_namespace(*found)[0].concat(found, axis=0)
    else:
        scores = fold_scores(spectrum, Y, mean, rotated, kept, place, fold_of, n_jobs)
    short = rotated / (spectrum.values[:, None] + ridge)
    return scores, spectrum.basis @ short, like(short, mean) - spectrum.mean @ short


def _fit_kernel(
    spectrum: RidgeSpectrum,
    Y: Array,
    mean: Array,
    rotated: Any,
    kept: Any,
    place: Array,
    fold_of: Array | None,
) -> tuple[Any, Any]:
    """Return out-of-sample scores of the rows of a kernel matrix, and coefficients times λ."""
    V, weight = spectrum.vectors, spectrum.weight
    xp, _ = get_namespace(V)
    unexplained = like(V, Y - mean) - V @ (take(kept, place, axis=1) * rotated)
    if fold_of is None:
        left = left_out(V, weight, spectrum.total, kept)
        error = unexplained / take(left, place, axis=1)
    else:
        error = fold_errors(spectrum, kept, place, unexplained, fold_of)
    # By way of W(y − f) = λα, which needs no division by an eigenvalue next to 0, whose
    # vector is noise that would reach the scores of queries.
    coef = weigh(unexplained, weight)
    return like(V, Y) - error, coef - xp.mean(coef, axis=0)  # they add up to 0, up to rounding


def loo_errors(
    spectrum: RidgeSpectrum,
    Y: Array,
    ridges: Array,
    rows: Array | None = None,
    n_jobs: int = 1,
) -> Array:
    """Return leave-one-out squared errors for each λ, (n_ridges, n_labels), on the host.

    They are means over all rows, or over the given ones, weighted.
    """
    mean, rotated = _rotate(spectrum, Y)
    blocks, weight = spectrum.rows, spectrum.weight
    used = None
    if rows is not None:
        used = np.zeros(len(Y), dtype=bool)
        used[rows] = True
    parts = [blocks.split(Y), blocks.split(weight), blocks.split(used)]
    shared = [mean, rotated, _kept(spectrum, ridges), spectrum.total, n_jobs]
    squares, total = blocks.total(_squared_errors, parts, shared)
    return to_numpy(squares / total).astype(np.float64)  # one transfer from a device


def _rotate(spectrum: RidgeSpectrum, Y: Array) -> tuple[Array, Any]:
    """Return the mean ȳ of the targets, and VᵀW(y − ȳ) in the namespace of V."""
    rows, weight = spectrum.rows, spectrum.weight
    mean = np.average(Y, axis=0, weights=weight)
    return mean, rows.total(_rotated, [rows.split(Y), rows.split(weight)], [mean])


# Of some rows, in memory or where they lie: V, their targets and weights (None: all 1).


def _rotated(V: Any, Y: Array, weight: Array | None, mean: Array) -> Any:
    return V.T @ weigh(like(V, Y - mean), weight)


def _squared_errors(
    V: Any,
    Y: Array,
    weight: Array | None,
    used: Array | None,
    mean: Array,
    rotated: Any,
    kept: Any,
    total: float,
    n_jobs: int,
) -> tuple[Any, float]:
    """Return weighted sums of squared leave-one-out errors of the used rows, and their weight."""
    if used is not None:
        rows = np.flatnonzero(used)
        V, Y, weight = take(V, rows), Y[rows], None if weight is None else weight[rows]
    xp, _ = get_namespace(V)
    residual, left = like(V, Y - mean), left_out(V, weight, total, kept)

    def squares(i: int) -> Any:
        loo = (residual - V @ (kept[:, i : i + 1] * rotated)) / left[:, i : i + 1]
        return xp.sum(weigh(loo**2, weight), axis=0)

    return xp.stack(map_jobs(squares, range(kept.shape[1]), n_jobs)), float(
        len(Y) if weight is None else weight.sum()
    )


def _loo_scores(
    V: Any,
    Y: Array,
    weight: Array | None,
    mean: Array,
    rotated: Any,
    kept: Any,
    place: Array,
    total: float,
) -> Any:
    left = take(left_out(V, weight, total, kept), place, axis=1)
    unexplained = like(V, Y - mean) - V @ (take(kept, place, axis=1) * rotated)
    return like(V, Y) - unexplained / left


def _kept(spectrum: RidgeSpectrum, ridges: Array) -> Any:
    """Return Λ / (Λ + λ), (r, n_ridges): the share of each direction that a ridge keeps."""
    values = spectrum.values
    return values[:, None] / (values[:, None] + like(values, ridges))


def choose_ridges(
    spectrum: RidgeSpectrum,
    Y: Array,
    ridges: Array = RIDGES,
    shrinkage: float = 0.0,
    rows: Array | None = None,
    *,
    interpolate: bool = False,
) -> tuple[Array, float]:
    """Choose the ridge of each label by its leave-one-out error.

    The error of a label with a handful of positives hardly determines its ridge. So the error,
    relative to the label's variance and weighted by c, the number of samples in its smaller
    class, is added to the mean of all labels' relative errors, weighted by `shrinkage`; the
    ridge minimises the sum. Ties: the largest.

    Candidates are in units of the spectrum's scale. With `interpolate`, the errors of every third
    of ten candidates or more are computed, at n · r · n_labels each, and the others interpolated.
    Returns λ of each label and the squared error, mean over rows, summed over labels.
    """
    ridges = ridges * spectrum.scale
    compute = interpolate_errors if interpolate else loo_errors
    errors = compute(spectrum, Y, ridges, rows)
    weight = np.ones(len(Y)) if spectrum.weight is None else spectrum.weight
    if rows is not None:
        Y, weight = Y[rows], weight[rows]
    total, positives = weight.sum(), weight @ Y
    share = positives / total
    varies = (positives > 0) & (positives < total)
    relative = errors / np.where(varies, share * (1 - share), 1)
    pooled = relative[:, varies].mean(axis=1) if varies.any() else np.zeros(len(errors))
    if np.isinf(shrinkage):
        criterion = np.repeat(pooled[:, None], Y.shape[1], axis=1)
    else:
        smaller = np.minimum(positives, total - positives)
        criterion = smaller * relative + shrinkage * pooled[:, None]
    best = len(errors) - 1 - criterion[::-1].argmin(axis=0)
    return ridges[best], float(errors[best, np.arange(Y.shape[1])].sum())


def choose_clear_ridges(
    spectrum: RidgeSpectrum,
    Y: Array,
    ridges: Array,
    shrinkage: float,
    rows: Array | None = None,
) -> Array:
    """Return one ridge for all labels, but for labels whose own ridge is clearly better.

    That is, by more than two standard errors of the leave-one-out squared error. A ridge chosen by
    few positives fits their chance, and out-of-sample scores with it depend on the labels it was
    chosen by: of 400 rows and 150 weak labels, they were rated 0.6 points of average precision
    too high, on projections 1.3. Arguments are those of `choose_ridges`.
    """
    own, shared = (
        choose_ridges(spectrum, Y, ridges, strength, rows, interpolate=True)[0]
        for strength in (shrinkage, np.inf)
    )
    with_own, with_shared = (
        (Y - to_numpy(fit_ridge(spectrum, Y, ridge)[0])) ** 2 for ridge in (own, shared)
    )
    saved = with_shared - with_own
    weight = np.ones(len(Y)) if spectrum.weight is None else spectrum.weight
    if rows is not None:
        saved, weight = saved[rows], weight[rows]
    mean, error = mean_and_error(saved, weight)
    return np.where(mean > _CLEAR * error, own, shared)


def interpolate_errors(
    spectrum: RidgeSpectrum,
    Y: Array,
    ridges: Array,
    rows: Array | None = None,
    n_jobs: int = 1,
) -> Array:
    """Return leave-one-out errors, interpolated between every third of ten ridges or more.

    By Akima's curves through the logarithms, which vary slowly; splines would overshoot.
    """
    if len(ridges) < _FEWEST_TO_INTERPOLATE:
        return loo_errors(spectrum, Y, ridges, rows, n_jobs)
    from scipy.interpolate import Akima1DInterpolator

    knots = np.union1d(np.arange(0, len(ridges), COARSE), [len(ridges) - 1])
    errors = loo_errors(spectrum, Y, ridges[knots], rows, n_jobs)
    logs = np.log(np.maximum(errors, np.finfo(np.float64).tiny))
    interpolated = np.exp(Akima1DInterpolator(np.log(ridges[knots]), logs)(np.log(ridges)))
    interpolated[knots] = errors
    return interpolated
