"""Scores of folds left out of ridge regressions, in the closed form of `labelkin.kernel._ridge`."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils import gen_batches

from labelkin._utils.array_api import is_device_array, namespace_and_device
from labelkin._utils.parallel import map_threads
from labelkin.base import Array
from labelkin.kernel._distances import take
from labelkin.kernel._spectrum import RidgeSpectrum, like, weigh

# Entries of the sums over the rows of folds that are held together.
_FOLD_ENTRIES = 2**23


def fold_errors(
    spectrum: RidgeSpectrum, kept: Array, place: Array, unexplained: Array, fold_of: Array
) -> Array:
    """Return (I − H_BB)⁻¹ (y_B − ŷ_B) for each fold B; label l has the ridge `place[l]`.

    With weights, W_B^½ times it, which makes the matrix symmetric, then divided by W_B^½.
    """
    V, n = spectrum.vectors, len(unexplained)
    root = np.ones((n, 1)) if spectrum.weight is None else spectrum.weight[:, None] ** 0.5
    errors = root * unexplained
    for fold in np.unique(fold_of):
        rows = np.flatnonzero(fold_of == fold)
        block = root[rows] * V[rows]
        common = root[rows] @ root[rows].T / spectrum.total
        for i in range(kept.shape[1]):
            labels = np.flatnonzero(place == i)
            left = -(block * kept[:, i]) @ block.T - common
            # The shift, far below any ridge, is for a fold of all rows, where H y = y for a
            # constant y.
            left[np.diag_indices(len(rows))] += 1 + 1e-10
            cells = np.ix_(rows, labels)
            errors[cells] = linalg.solve(
                left, errors[cells], assume_a="pos", overwrite_a=True, check_finite=False
            )
    return errors / root


def fold_scores(
    spectrum: RidgeSpectrum,
    Y: Array,
    mean: Array,
    rotated: Array,
    kept: Array,
    place: Array,
    fold_of: Array,
    n_jobs: int,
) -> Array:
    """Return the scores of each fold without it, computed from sums over the rows of the fold.

    `rotated` are the targets in the directions of V, `kept` the share of each direction that a
    ridge keeps; label l has the ridge `place[l]`.
    """
    if is_device_array(rotated):
        return _fold_scores_on_device(spectrum, Y, mean, rotated, kept, place, fold_of)
    rows, (r, q) = spectrum.rows, rotated.shape
    weight, fold = rows.split(spectrum.weight), rows.split(fold_of)
    parts = [rows.split(Y), weight, fold]
    whole = take(kept, place, axis=1) * rotated
    scores = np.empty(Y.shape, dtype=rotated.dtype)

    def without(found: tuple[Array, Array]) -> Array:
        """Return the coefficients of (1, V) without a fold, from the sums over its rows."""
        products, sums = found
        unexplained = sums - products[:, 1:] @ whole
        coef = np.vstack([np.zeros((1, q)), whole])
        for i in range(kept.shape[1]):
            labels = np.flatnonzero(place == i)
            root = np.append(spectrum.total**-0.5, kept[:, i] ** 0.5)[:, None]
            left = -root * products * root.T
            # The shift, far below any ridge, is for a fold of all rows, where H y = y for a
            # constant y.
            left[np.diag_indices(r + 1)] += 1 + 1e-10
            coef[:, labels] -= root * linalg.solve(
                left,
                root * unexplained[:, labels],
                assume_a="pos",
                overwrite_a=True,
                check_finite=False,
            )
        return coef

    numbers = np.unique(fold_of)
    for batch in gen_batches(len(numbers), max(1, _FOLD_ENTRIES // ((r + 1) * (r + 1 + q)))):
        found = rows.total(_fold_sums, parts, [numbers[batch], mean])
        coefs = map_jobs(without, zip(*found, strict=True), n_jobs)
        known = rows.collect(_scores, [fold], [numbers[batch], coefs])
        scores[np.isin(fold_of, numbers[batch])] = np.concatenate(known)
    return scores + mean


def _fold_scores_on_device(
    spectrum: RidgeSpectrum,
    Y: Array,
    mean: Array,
    rotated: Any,
    kept: Any,
    place: Array,
    fold_of: Array,
) -> Any:
    """Do the same for V on a device, with the equations of all folds solved together."""
    V, weight, q = spectrum.vectors, spectrum.weight, Y.shape[1]
    xp, there = namespace_and_device(V)
    columns = xp.concat([xp.ones_like(V[:, :1]), V], axis=1)
    weighted = weigh(columns, weight)
    folds = [np.flatnonzero(fold_of == number) for number in np.unique(fold_of)]
    blocks = [(take(columns, rows), take(weighted, rows), rows) for rows in folds]
    products = xp.stack([block.T @ heavy for block, heavy, _ in blocks])
    sums = xp.stack([heavy.T @ like(V, Y[rows] - mean) for _, heavy, rows in blocks])
    whole = take(kept, place, axis=1) * rotated
    unexplained = sums - products[:, :, 1:] @ whole
    # The shift, far below any ridge, is for a fold of all rows, where H y = y for a constant y.
    eye = (1 + 1e-10) * xp.eye(columns.shape[1], dtype=V.dtype, device=there)
    labels = [np.flatnonzero(place == i) for i in range(kept.shape[1])]
    solved = []
    for i, some in enumerate(labels):
        constant = like(V, np.full((1, 1), spectrum.total**-0.5))
        root = xp.concat([constant, kept[:, i : i + 1] ** 0.5], axis=0)
        left = eye - root * products * root.T
        solved.append(root * xp.linalg.solve(left, root * take(unexplained, some, axis=2)))
    change = take(xp.concat(solved, axis=2), np.argsort(np.concatenate(labels)), axis=2)
    coef = xp.concat([like(V, np.zeros((1, q))), whole], axis=0) - change
    scores = xp.concat([blocks[i][0] @ coef[i, :, :] for i in range(len(blocks))], axis=0)
    return take(scores, np.argsort(np.concatenate(folds))) + like(V, mean)


def _fold_sums(
    V: Array, Y: Array, weight: Array | None, fold_of: Array, numbers: Array, mean: Array
) -> tuple[Array, Array]:
    """Return (1, V)ᵀW(1, V) and (1, V)ᵀW(y − ȳ) of the rows of each of some folds."""
    found = []
    for number in numbers:
        rows = np.flatnonzero(fold_of == number)
        columns = _with_ones(V[rows])
        weighted = weigh(columns, None if weight is None else weight[rows])
        found.append((columns.T @ weighted, weighted.T @ (Y[rows] - mean)))
    products, sums = zip(*found, strict=True)
    return np.stack(products), np.stack(sums)


def _scores(V: Array, fold_of: Array, numbers: Array, coefs: list[Array]) -> Array:
    """Return (1, V) times the coefficients of their fold, of the rows of some folds."""
    scores = np.empty((len(V), coefs[0].shape[1]))
    for number, coef in zip(numbers, coefs, strict=True):
        rows = np.flatnonzero(fold_of == number)
        scores[rows] = _with_ones(V[rows]) @ coef
    return scores[np.isin(fold_of, numbers)]


def map_jobs(function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int) -> list[Any]:
    """Map in threads with one BLAS thread each; one: in the calling thread, with those it has."""
    if n_jobs > 1:
        return map_threads(function, items, n_jobs)
    return [function(item) for item in items]


def _with_ones(V: Array) -> Array:
    return np.hstack([np.ones((len(V), 1)), V])
