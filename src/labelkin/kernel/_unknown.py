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

Scores of a known cell without itself need its leverage hᵢ among the known rows. As a variance v of
f(xᵢ) given the other rows, hᵢ = v / (v + λ). A share ρ of the rows with noise λ determines f about
as well as all rows with noise λ/ρ, so that with h of all rows and the ridge λ/ρ

    hᵢ / (1 − hᵢ)  is about  h / ρ(1 − h).

That is exact for ρ = 1, and for rows far from all others.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from labelkin.base import Array
from labelkin.rows import Labels, as_rows, concatenate, match, to_numpy

# Tolerances and steps of conjugate gradients: of the fit, without a fold, and to choose a ridge.
FIT, FOLD, CHOICE = (1e-8, 200), (5e-3, 16), (1e-1, 8)
# Labels by which a width is chosen, or one ridge for all labels.
_SEARCH_LABELS = 48
_TINY = np.finfo(np.float64).tiny


def fill_unknown(
    smooth: Callable[[Array], Array],
    labels: Labels,
    effort: tuple[float, int] = FIT,
    start: Array | None = None,
) -> Array:
    """Return targets, (n, q), whose unknown cells equal their fitted values, smooth(targets).

    `effort` is how exactly, relative to the deviation of the known cells, and in how many steps at
    most.
    The search begins at `start`, or at the means of the known cells.
    """
    tolerance, steps = effort
    weight, known = labels.weights[:, None], np.asarray(labels.known)
    start = np.broadcast_to(labels.means, known.shape) if start is None else start
    Y = np.where(known, labels.Y, start)
    residual = np.where(known, 0.0, smooth(Y) - Y)
    step, square = residual, np.sum(weight * residual**2, axis=0)
    # The least eigenvalue is about the share of known cells: an error is a residual divided by it.
    share = labels.total / labels.weights.sum()
    enough = (tolerance * share) ** 2 * labels.means * (1 - labels.means) * labels.weights.sum()
    for _ in range(steps):
        going = square > enough
        if not going.any():
            break
        change = np.where(known, 0.0, step - smooth(step))
        length = going * square / np.maximum(np.sum(weight * step * change, axis=0), _TINY)
        Y = Y + length * step
        residual = residual - length * change
        before, square = square, np.sum(weight * residual**2, axis=0)
        step = residual + square / np.maximum(before, _TINY) * step
    return Y


def scores_without_folds(smooth: Callable[[Array], Array], labels: Labels, fold_of: Array) -> Array:
    """Return the scores of each row by a fit without its fold; NaN for rows of fold −1."""
    scores = np.full(labels.shape, np.nan)
    for fold in np.unique(fold_of[fold_of >= 0]):
        out = fold_of == fold
        known = labels.known & ~out[:, None]
        rest = Labels(np.where(known, labels.Y, 0), labels.weight, known)
        scores[out] = fill_unknown(smooth, rest, FOLD)[out]
    return scores


def spectrum_smoother(spectrum: Any, ridge: Array) -> Callable[[Array], Array]:
    """Return the function Y → HY of a decomposition, with a ridge for each label or one for all."""
    rows, weight = spectrum.rows, spectrum.weight
    values, parts = spectrum.values[:, None], rows.split(weight)
    kept = values / (values + match(np.atleast_1d(ridge), values))

    def smooth(Y: Array) -> Array:
        mean = weight @ Y / spectrum.total
        coef = kept * rows.total(_project, [rows.split(Y), parts])
        return to_numpy(concatenate(rows.collect(_expand, shared=[coef]))) + mean

    return smooth


def loo_scores(spectrum: Any, labels: Labels, ridge: Array, filled: Array) -> Array:
    """Return the scores of cells without themselves: of unknown ones, their fitted values."""
    fitted = spectrum_smoother(spectrum, ridge)(filled)
    share = np.maximum(labels.total / labels.weights.sum(), 1e-6)
    values = spectrum.values[:, None]
    kept = values / (values + match(ridge / share, values))
    leverage = to_numpy(concatenate(spectrum.rows.collect(_leverage, shared=[kept])))
    leverage = np.minimum(labels.weights[:, None] * (leverage + 1 / spectrum.total), 1 - 1e-12)
    odds = leverage / (1 - leverage) / share
    # (y − ŷ) / (1 − h), and 1 / (1 − h) = 1 + the odds of h
    return np.where(np.asarray(labels.known), labels.Y - (labels.Y - fitted) * (1 + odds), fitted)


def loo_errors(spectrum: Any, labels: Labels, ridges: Array, counted: Labels) -> Array:
    """Return mean squared errors of known cells without themselves, (n_ridges, q).

    `counted` are the labels whose known cells count, all rows of them.
    """
    filled, errors = None, np.empty((len(ridges), labels.shape[1]))
    for i in np.argsort(ridges)[::-1]:  # the largest first, of which few steps are needed
        ridge = np.full(labels.shape[1], ridges[i])
        filled = fill_unknown(spectrum_smoother(spectrum, ridge), labels, CHOICE, filled)
        squares = (labels.Y - loo_scores(spectrum, labels, ridge, filled)) ** 2
        errors[i] = np.sum(counted.cells * squares, axis=0)
    return errors / np.maximum(counted.total, _TINY)


def some_labels(labels: Labels) -> Labels:
    """Return all labels, or if some are unknown at most 48: from the rarest to the most frequent.

    Widths and a ridge for all labels are chosen by these, in bounded time.
    """
    varies = np.flatnonzero(labels.varies)
    if labels.known is None or len(varies) <= _SEARCH_LABELS:
        return labels
    order = varies[np.argsort(labels.positives[varies], kind="stable")]
    return labels.select(order[np.linspace(0, len(order) - 1, _SEARCH_LABELS).astype(np.intp)])


# Functions of a block of V.


def _project(V: Any, Y: Array, weight: Array) -> Any:
    return V.T @ match(weight[:, None] * Y, V)


def _expand(V: Any, coef: Any) -> Any:
    return V @ coef


def _leverage(V: Any, kept: Any) -> Any:
    return concatenate([block**2 @ kept for block in as_rows(V).batches(V.shape[1]).blocks])
