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

of which leave-one-out scores are the case of a single row.

A second model learned from scores must use these: the leave-one-out score of row i depends on all
other targets, whose mean is biased away from yᵢ by (ȳ − yᵢ) / (n − 1), and a regression on the
scores of many labels recovers yᵢ from that.

With weights wᵢ in the loss, W = diag(w), means are weighted ones, and UΛUᵀ is W^½ K W^½ for the
kernel matrix K centred by them. Fitted values are ȳ + V diag(Λ / (Λ + λ)) Vᵀ W (y − ȳ) with V =
W^{-½} U, and H = (11ᵀ/Σw + V diag(Λ / (Λ + λ)) Vᵀ) W; W (I − H) is symmetric. A row of weight 2 has
the same effect as repeating it; it is left out with its whole weight.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from labelkin.base import Array
from labelkin.kernel import _unknown
from labelkin.kernel._unknown import project
from labelkin.rows import (
    Labels,
    Rows,
    add_to_diagonal,
    as_dense,
    as_rows,
    astype,
    concatenate,
    eigh_positive,
    inverse_cholesky,
    match,
    namespace,
    take,
    to_device_of,
    to_numpy,
)

# Multiples of the mean squared norm of the centred rows: from next to no ridge to the prior.
RIDGES = np.logspace(-4, 3, 22)
# Every third ridge is enough to compare widths, and to interpolate the errors between them...
COARSE = 3
# ... if there are this many.
_FEWEST_TO_INTERPOLATE = 10
# Standard errors by which the ridge of a label must be better than the one for all.
_CLEAR = 2.0
# Added to the diagonal of W (I − H_BB).
_SHIFT = 1e-10
# Rows of a kernel matrix that are summed at a time.
_MEAN_ROWS = 512


@dataclass
class RidgeSpectrum:
    """The decomposition that every ridge and every target share.

    Made by `of_kernel`, `of_features` or `of_landmarks`.
    """

    rows: Rows
    """V, (n_samples, r): VᵀWV = I, each column with the weighted sum 0."""
    values: Any
    """Λ, (r,), positive."""
    basis: Any
    """Coefficients of the columns of the features or landmarks, (n_columns, r), that make up each
    column of V. None for a kernel matrix, whose coefficients follow from the residuals."""
    mean: Any
    """Column means of the kernel matrix, (n_samples,); of features, means times the basis, (r,)."""
    weight: Array
    """w, (n_samples,), positive, on the host."""

    @classmethod
    def of_kernel(cls, K: Any, weight: Array | None = None) -> "RidgeSpectrum":
        """Decompose an (n, n) kernel matrix: ridge in the kernel's space."""
        weight = np.ones(K.shape[0]) if weight is None else weight
        centred, root = namespace(K).asarray(K, copy=True), match(weight**0.5, K)
        mean = astype(centre_kernel(centred, weight / weight.sum()), K.dtype)
        values, vectors = eigh_positive(centred * root[:, None] * root[None, :])
        return cls(as_rows(vectors / root[:, None]), values, None, mean, weight)

    @classmethod
    def of_features(cls, rows: Rows, weight: Array | None = None) -> "RidgeSpectrum":
        """Decompose the scatter of features: the same for k < n, at a lower cost."""
        mean = rows.moments(weight).mean
        weight = np.ones(len(rows)) if weight is None else weight
        values, directions = eigh_positive(rows.total(_scatter, [rows.split(weight)], [mean]))
        roots = values**0.5
        rotated = rows.apply(_rotation, [directions / roots, mean], values.shape[0]).persist()
        basis = directions * roots
        return cls(rotated, values, basis, mean @ basis, weight)

    @classmethod
    def of_landmarks(cls, K: Any, columns: Rows, weight: Array | None = None) -> "RidgeSpectrum":
        """Decompose a kernel approximated from m landmarks (Nyström).

        `K` is the kernel of the landmarks, (m, m), `columns` that of the training rows and the
        landmarks.
        """
        # W with W Wᵀ ≈ K⁻¹ on the range of K. By Cholesky where possible, in a fraction of the time
        # of eigenvectors: of K + δI, δ well above the rounding of K, which may have a low rank, and
        # well below any ridge.
        xp = namespace(K)
        shift = 10 * float(xp.finfo(K.dtype).eps) * float(xp.linalg.trace(K))
        try:
            whitening = inverse_cholesky(add_to_diagonal(xp.asarray(K, copy=True), shift)).T
        except ValueError:  # negative eigenvalues, which are dropped
            values, vectors = eigh_positive(K)
            whitening = vectors / values**0.5
        rows = columns.apply(_rotation, [whitening, 0.0], whitening.shape[1]).persist()
        found = cls.of_features(rows, weight)
        return replace(found, basis=whitening @ found.basis)

    @property
    def scale(self) -> float:
        """Mean squared norm of the centred rows, the unit of ridges; 1 if all rows are equal."""
        return float(namespace(self.values).sum(self.values)) / float(self.weight.sum()) or 1.0


def centre_kernel(K: Any, share: Array) -> Any:
    """Centre a kernel matrix in place, by the share of each row; return the means of its columns.

    These are in double precision: coefficients of both signs cancel in a product with them.
    """
    mean = sum(
        to_device_of(share[batch], K) @ astype(K[batch, :], "float64")
        for batch in gen_batches(K.shape[0], _MEAN_ROWS)
    )
    centre = astype(mean, K.dtype)
    K -= centre
    K -= centre[:, None]
    K += float(to_device_of(share, K) @ mean)
    return mean


def weigh(rows: Any, weight: Array) -> Any:
    """Return an (n, m) array with its rows multiplied by their weights."""
    return rows * match(weight, rows)[:, None]


class _Fit:
    """What the scores of all rows have in common; label l has the ridge `ridges[place[l]]`."""

    def __init__(self, spectrum: RidgeSpectrum, Y: Array, ridges: Array, place: Array) -> None:
        rows, weight, values = spectrum.rows, spectrum.weight, spectrum.values[:, None]
        self.place = place
        self.total = float(weight.sum())  # Σw
        self.mean = np.average(Y, axis=0, weights=weight)  # ȳ, (q,), on the host
        # VᵀW(y − ȳ), (r, q)
        self.rotated = rows.total(project, [rows.split(Y), rows.split(weight)], [self.mean])
        # Λ / (Λ + λ), (r, n_ridges): the share of each direction that a ridge keeps
        self.kept = values / (values + match(ridges, values))
        # Coefficients of the columns of V, (r, q)
        self.coef = take(self.kept, place, axis=1) * self.rotated


def fit_ridge(
    spectrum: RidgeSpectrum, labels: Labels, ridge: Array, fold_of: Array | None = None
) -> tuple[Any, Any, Any]:
    """Fit ridge regressions of targets, (n_samples, n_labels), λ of each label given.

    Unknown targets, see `labelkin.kernel._unknown`, are those of the fit; without folds, tenths of
    the rows are then left out in place of single rows.

    Returns the scores of the rows, each by a model without it or without its fold, and the
    coefficients and intercepts: scores of queries are columns @ coef + intercept. Leaving out
    folds takes n · r · (rows of a fold) per distinct ridge.
    """
    Y = labels.Y
    if labels.known is not None:
        smooth = _unknown.spectrum_smoother(spectrum, ridge)
        Y, _ = _unknown.fill_unknown(smooth, labels)
    # Labels share a few ridges: 1 − h is computed once for each of them.
    distinct, place = np.unique(ridge, return_inverse=True)
    fit = _Fit(spectrum, Y, distinct, place)
    rows, weight = spectrum.rows, spectrum.weight

    def left_out(fold: Array) -> tuple[Any, Any]:
        V, w = rows.take(fold).gather(), weight[fold]
        errors, V = weigh(_residuals(V, Y[fold], fit), w), weigh(V, w)
        mean = match(np.diag(w) - np.outer(w, w) / fit.total, V)
        return (mean - (V * fit.kept[:, i]) @ V.T for i in range(len(distinct))), errors

    if labels.known is not None:
        scores = _unknown.scores_without_folds(smooth, labels, fold_of)
    elif fold_of is None:
        parts = [rows.split(Y), rows.split(weight)]
        scores = concatenate(rows.collect(_loo_scores, parts, [fit]))
    else:
        scores = fold_scores(Y, fold_of, left_out, place, _SHIFT)
    ridge = match(ridge, fit.rotated)
    if spectrum.basis is None:
        # From W(y − f) = λα, without a division by eigenvalues near 0, whose vectors are noise that
        # would change the scores of queries.
        V = rows.gather()
        coef = weigh(_residuals(V, Y, fit), weight) / ridge
        coef = coef - namespace(coef).mean(coef, axis=0)  # they add up to 0, up to rounding
        return scores, coef, match(fit.mean, coef) - spectrum.mean @ coef
    short = fit.rotated / (spectrum.values[:, None] + ridge)
    return scores, spectrum.basis @ short, match(fit.mean, short) - spectrum.mean @ short


def fold_scores(Y: Array, fold_of: Array, left_out: Callable, place: Array, shift: float) -> Array:
    """Return y_B − (W (I − H_BB))⁻¹ W (y_B − ŷ_B) for each fold B, on the host.

    `left_out(rows)` returns W (I − H_BB) for each distinct ridge, and W (y_B − ŷ_B); `place` is the
    number of the ridge of each label. Rows of fold −1 have no score, NaN. The shift of the diagonal
    is far below any ridge; it is for a fold of all rows, where H y = y for a constant y.
    """
    scores = np.full(Y.shape, np.nan)
    for fold in np.unique(fold_of[fold_of >= 0]):
        rows = np.flatnonzero(fold_of == fold)
        matrices, errors = left_out(rows)
        for i, matrix in enumerate(matrices):
            labels = np.flatnonzero(place == i)
            some, matrix = take(errors, labels, axis=1), add_to_diagonal(matrix, shift)
            cells = np.ix_(rows, labels)
            scores[cells] = Y[cells] - to_numpy(namespace(some).linalg.solve(matrix, some))
    return scores


# Functions of a block of V, its targets and weights.


def _rotation(block: Any, matrix: Any, mean: Any) -> Any:
    return (as_dense(block) - mean) @ matrix


def _scatter(block: Any, weight: Array, mean: Any) -> Any:
    centred = as_dense(block) - mean
    return centred.T @ weigh(centred, weight)


def _residuals(V: Any, Y: Array, fit: _Fit) -> Any:
    return match(Y - fit.mean, V) - V @ fit.coef


def _left_out(V: Any, weight: Array, fit: _Fit) -> Any:
    """Return 1 − hᵢ for each ridge, (m, n_ridges)."""
    xp = namespace(V)
    left = 1 - weigh(1 / fit.total + V**2 @ fit.kept, weight)
    # 0 for a single sample, whose residual is 0 as well.
    return xp.where(left > 0, left, xp.ones_like(left))


def _loo_scores(V: Any, Y: Array, weight: Array, fit: _Fit) -> Any:
    left = take(_left_out(V, weight, fit), fit.place, axis=1)
    return match(Y, V) - _residuals(V, Y, fit) / left


def _squared_errors(V: Any, Y: Array, weight: Array, counted: Array, fit: _Fit) -> Any:
    """Return weighted sums of squared leave-one-out errors of the counted rows, (n_ridges, q)."""
    if not counted.all():
        rows = np.flatnonzero(counted)
        V, Y, weight = take(V, rows), Y[rows], weight[rows]
    xp, residual, left = namespace(V), match(Y - fit.mean, V), _left_out(V, weight, fit)
    squares = []
    for i in range(fit.kept.shape[1]):
        loo = (residual - V @ (fit.kept[:, i : i + 1] * fit.rotated)) / left[:, i : i + 1]
        squares.append(xp.sum(weigh(loo**2, weight), axis=0))
    return xp.stack(squares)


# The choice of ridges.


def loo_errors(
    spectrum: RidgeSpectrum, labels: Labels, ridges: Array, counted: Array | None = None
) -> Array:
    """Return leave-one-out squared errors for each λ, (n_ridges, n_labels), on the host.

    They are means over all rows, or over the counted ones, weighted. Where labels are unknown, they
    are those of thirds of the known cells left out together. Of ten ridges or more they are
    computed for every third, and interpolated by Akima's curves through the logarithms, which vary
    slowly; splines would overshoot.
    """
    if len(ridges) >= _FEWEST_TO_INTERPOLATE:
        from scipy.interpolate import Akima1DInterpolator

        knots = np.union1d(np.arange(0, len(ridges), COARSE), [len(ridges) - 1])
        errors = loo_errors(spectrum, labels, ridges[knots], counted)
        logs = np.log(np.maximum(errors, np.finfo(np.float64).tiny))
        interpolated = np.exp(Akima1DInterpolator(np.log(ridges[knots]), logs)(np.log(ridges)))
        interpolated[knots] = errors
        return interpolated
    rows, weight = spectrum.rows, spectrum.weight
    every = np.arange(len(weight))
    mask = np.isin(every, every if counted is None else counted)
    if labels.known is not None:
        return _unknown.held_out_errors(spectrum, labels, ridges, mask)
    parts = [rows.split(array) for array in (labels.Y, weight, mask)]
    fit = _Fit(spectrum, labels.Y, ridges, np.zeros(labels.shape[1], dtype=int))
    squares = rows.total(_squared_errors, parts, [fit]) / float(weight[mask].sum())
    return to_numpy(squares).astype(np.float64)  # one transfer from a device


def choose_ridges(
    spectrum: RidgeSpectrum,
    labels: Labels,
    ridges: Array = RIDGES,
    shrinkage: float = 0.0,
    counted: Array | None = None,
) -> tuple[Array, float]:
    """Choose the ridge of each label by its leave-one-out error.

    The error of a label with a handful of positives hardly determines its ridge. So the error,
    relative to the label's variance and weighted by c, the number of samples in its smaller
    class, is added to the mean of all labels' relative errors, weighted by `shrinkage`; the
    ridge minimises the sum. Ties: the largest.

    Candidates are in units of the spectrum's scale. Returns λ of each label and the squared error,
    mean over rows, summed over labels.
    """
    ridges = ridges * spectrum.scale
    errors = loo_errors(spectrum, labels, ridges, counted)
    counts = (labels if counted is None else labels.take(counted)).counts
    share, varies = counts.means, counts.varies
    relative = errors / np.where(varies, share * (1 - share), 1)
    pooled = relative[:, varies].mean(axis=1) if varies.any() else np.zeros(len(errors))
    if np.isinf(shrinkage):
        criterion = np.repeat(pooled[:, None], labels.shape[1], axis=1)
    else:
        smaller = np.minimum(counts.positives, counts.negatives)
        criterion = smaller * relative + shrinkage * pooled[:, None]
    best = len(errors) - 1 - criterion[::-1].argmin(axis=0)
    return ridges[best], float(errors[best, np.arange(labels.shape[1])].sum())


def choose_clear_ridges(
    spectrum: RidgeSpectrum,
    labels: Labels,
    ridges: Array,
    shrinkage: float,
    counted: Array | None = None,
) -> Array:
    """Return one ridge for all labels, except those whose own ridge is clearly better.

    That is, by more than two standard errors of the leave-one-out squared error. A ridge chosen by
    few positives overfits, and out-of-sample scores then depend on the labels by which it was
    chosen: with 400 rows and 150 weak labels, average precision was estimated 0.6 points too high,
    on projections 1.3. Where labels are unknown, there is one ridge for all. Arguments are those of
    `choose_ridges`.
    """
    if labels.known is not None:
        some = _unknown.some_labels(labels)
        shared, _ = choose_ridges(spectrum, some, ridges, np.inf, counted)
        return np.full(labels.shape[1], shared[0])
    own, shared = (
        choose_ridges(spectrum, labels, ridges, strength, counted)[0]
        for strength in (shrinkage, np.inf)
    )
    with_own, with_shared = (
        (labels.Y - to_numpy(fit_ridge(spectrum, labels, ridge)[0])) ** 2 for ridge in (own, shared)
    )
    saved = with_shared - with_own
    if counted is not None:
        saved, labels = saved[counted], labels.take(counted)
    cells = np.broadcast_to(labels.cells, labels.shape)
    total = np.maximum(cells.sum(axis=0), np.finfo(np.float64).tiny)
    mean = (cells * saved).sum(axis=0) / total
    error = np.linalg.norm(((saved - mean) * cells).T, axis=-1) / total
    return np.where(mean > _CLEAR * error, own, shared)
