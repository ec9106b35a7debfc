"""Kernel ridge regression of labels that are partly unknown, by the factorisation of all rows.

The minimum over f of the squared error on known cells plus the ridge is also the minimum over f and
the unknown cells of the squared error on all cells: unknown cells that equal the fit add nothing.
With H the smoother of all rows, ŷ = H y (see `labelkin.kernel._ridge`), and u the unknown cells of
a label, they solve

    (I − H)_uu y_u = H_uk y_k,

by conjugate gradients for all labels at once, each step one product with H. Where f is smooth the
eigenvalues lie between the share of known cells and 1, so that few steps are needed. With weights,
I − H is symmetric in the inner product Σ w a b.

Scores without a fold: the rows of the fold are unknown too. Conjugate gradients that begin at the
labels' means without the fold never see a label of it, and may end after a few steps.

Ridges are chosen by thirds of the known cells that are treated as unknown.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from labelkin.base import Array
from labelkin.rows import Labels, match, to_numpy

# Tolerances and steps of conjugate gradients: of the fit, without a fold, and to choose a ridge.
FIT, FOLD, CHOICE = (1e-8, 300), (5e-3, 24), (5e-2, 24)
# Parts of the known cells that are treated as unknown in turn, to choose a ridge.
_PARTS = 3
# Where the error has risen by this factor, smaller ridges are not tried.
_CLEARLY_WORSE = 1.05
# The least ridge, in units of the mean squared norm of the centred rows: smaller ones take hundreds
# of steps, for errors of 2 to 4 % less where labels are nearly free of noise.
_LEAST_RIDGE = 0.009
# Parts of the rows that are left out in turn where no folds are given.
_TENTHS = 10
# Labels by which a width is chosen, or one ridge for all labels.
_SEARCH_LABELS = 48
# Curvatures below this are rounding.
_ROUNDING = 1e-7
_TINY = np.finfo(np.float64).tiny


def fill_unknown(
    smooth: Callable[[Array], Array],
    labels: Labels,
    effort: tuple[float, int] = FIT,
    start: Array | None = None,
) -> tuple[Array, bool]:
    """Return targets, (n, q), whose unknown cells equal their fitted values, smooth(targets).

    `effort` is the tolerance, relative to the deviation of the known cells, and the maximum number
    of steps. The search begins at `start`, or at the means of the known cells. Also returned:
    whether the tolerance was reached.
    """
    tolerance, steps = effort
    weight, known = labels.weights[:, None], np.asarray(labels.known)
    means = labels.counts.means
    start = np.broadcast_to(means, known.shape) if start is None else start
    Y = np.where(known, labels.Y, start)
    residual = np.where(known, 0.0, smooth(Y) - Y)
    step, square = residual, np.sum(weight * residual**2, axis=0)
    spread, least = means * (1 - means) * labels.weights.sum(), np.ones(Y.shape[1])
    going = square > 0
    for _ in range(steps):
        if not going.any():
            break
        change = np.where(known, 0.0, step - smooth(step))
        curvature, size = np.sum(weight * step * change, axis=0), np.sum(weight * step**2, axis=0)
        # The least curvature that was seen: an error is at most a residual divided by it.
        least = np.where(going, np.minimum(least, curvature / np.maximum(size, _TINY)), least)
        going &= least > _ROUNDING
        length = np.where(going, square / np.where(going, curvature, 1), 0)
        Y = Y + length * step
        residual = residual - length * change
        before, square = square, np.sum(weight * residual**2, axis=0)
        step = residual + square / np.maximum(before, _TINY) * step
        going &= square > (tolerance * least) ** 2 * spread
    return Y, not going.any()


def scores_without_folds(
    smooth: Callable[[Array], Array], labels: Labels, fold_of: Array | None
) -> Array:
    """Return the scores of each row by a fit without its fold; NaN for rows of fold −1.

    If there are no folds, a tenth of the rows is left out at a time.
    """
    fold_of = left_out_rows(labels) if fold_of is None else fold_of
    scores = np.full(labels.shape, np.nan)
    for fold in np.unique(fold_of[fold_of >= 0]):
        out = fold_of == fold
        scores[out] = fill_unknown(smooth, hide_cells(labels, out[:, None]), FOLD)[0][out]
    return scores


def left_out_rows(labels: Labels) -> Array:
    """Return the part of each row that is left out at a time: itself, or a tenth of all rows."""
    rows = np.arange(len(labels))
    return rows if labels.known is None else rows % _TENTHS


def hide_cells(labels: Labels, hidden: Array) -> Labels:
    """Return the same labels with some cells treated as unknown."""
    known = labels.known & ~hidden
    return Labels(np.where(known, labels.Y, 0), labels.weight, known)


def spectrum_smoother(spectrum: Any, ridge: Array) -> Callable[[Array], Array]:
    """Return the function Y → HY of a decomposition, with a ridge for each label or one for all."""
    rows, weight = spectrum.rows, spectrum.weight
    values, parts = spectrum.values[:, None], rows.split(weight)
    kept = values / (values + match(np.atleast_1d(ridge), values))

    def smooth(Y: Array) -> Array:
        mean = weight @ Y / weight.sum()
        coef = kept * rows.total(project, [rows.split(Y), parts], [mean])
        return to_numpy(rows.dot(coef)) + mean

    return smooth


def held_out_errors(spectrum: Any, labels: Labels, ridges: Array, counted: Array) -> Array:
    """Return mean squared errors of known cells treated as unknown, (n_ridges, q).

    `counted`, (n,), are the rows whose known cells count. Ridges are tried from the largest, which
    takes the fewest steps, down to the first that is clearly worse than a larger one, cannot be
    solved in a few steps, or is too small. Ridges that were not tried get an error above all
    others.
    """
    part_of = np.random.RandomState(0).randint(_PARTS, size=labels.shape)
    n_parts = _PARTS if labels.shape[1] <= 16 else 1  # with many labels one is enough
    parts = [hide_cells(labels, part_of == part) for part in range(n_parts)]
    known = np.asarray(labels.known) & counted[:, None] & (part_of < n_parts)
    cells = labels.weights[:, None] * known
    total = np.maximum(cells.sum(axis=0), _TINY)
    filled: list[Any] = [None] * len(parts)
    errors, best = np.full((len(ridges), labels.shape[1]), np.inf), np.inf
    for i in np.argsort(ridges)[::-1]:
        if ridges[i] < _LEAST_RIDGE * spectrum.scale and np.isfinite(best):
            break
        smooth, squares, converged = spectrum_smoother(spectrum, ridges[i]), 0.0, True
        for part, some in enumerate(parts):
            filled[part], reached = fill_unknown(smooth, some, CHOICE, filled[part])
            squares = squares + (part_of == part) * (labels.Y - filled[part]) ** 2
            converged &= reached
        if not converged and np.isfinite(best):
            break
        errors[i] = np.sum(cells * squares, axis=0) / total
        best = min(best, errors[i].sum())
        if errors[i].sum() > _CLEARLY_WORSE * best:
            break
    return np.where(np.isfinite(errors), errors, 2 * errors[np.isfinite(errors)].max())


def some_labels(labels: Labels) -> Labels:
    """Return all labels, or if some are unknown at most 48: from the rarest to the most frequent.

    Widths and a ridge for all labels are chosen by these, in bounded time.
    """
    varies = np.flatnonzero(labels.counts.varies)
    if labels.known is None or len(varies) <= _SEARCH_LABELS:
        return labels
    order = varies[np.argsort(labels.counts.positives[varies], kind="stable")]
    return labels.select(order[np.linspace(0, len(order) - 1, _SEARCH_LABELS).astype(np.intp)])


# A function of a block of V.


def project(V: Any, Y: Array, weight: Array, mean: Array) -> Any:
    """Return VᵀW(y − ȳ)."""
    return V.T @ match(weight[:, None] * (Y - mean), V)
