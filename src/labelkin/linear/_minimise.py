"""Conjugate gradients for the logistic regressions of many labels.

For each label they minimise ½|w|² + C · Σ log loss by the weights w and the intercept c, which is
free. Each iteration minimises the quadratic model of the objective over all changes

    a · direction + b · last step,  and any shift of the intercept:

with the preconditioned gradient as direction. On a quadratic objective this is the method of
conjugate gradients; on another one no conjugacy is lost, since a and b are computed from the
second derivatives at the point itself. It takes two products with the samples per iteration, X
times the direction and Xᵀe; Newton's method with conjugate gradients inside takes twice as many
altogether, because it starts these again after each step.

With e and d the first and second derivatives of the loss by the log odds, the gradient is
w + C·(Xᵀe − Σe · mean of X), where centred columns leave the intercept out, and the preconditioner
is 1 + C·Σd·(variance of the column): the diagonal of the second derivatives with the mean of d in
place of d. All second derivatives are at least those of ½|w|², so that the distance to the
optimum is at most the length of the gradient: a label has converged when this is at most ``tol``
times |w| + |C·Xᵀe|, which are equal at the optimum, and when a shift of the intercept by ``tol``
would overshoot.
"""

from typing import Any

import numpy as np

from labelkin._utils.array_api import namespace_and_device, to_numpy
from labelkin.base import Array
from labelkin.linear._rows import Moments, Plane, Sums, column_dots, take_columns

_SHORTENINGS = 20
# Converged labels leave the batch when they are this share of it, since the rest is copied then.
_LEAVING = 0.2
# A step ends where the objective rises along it by at most this share of its initial descent.
_OVERSHOOT = 0.5


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # such steps are shortened
def minimise(
    rows: Any,
    coef: Array,
    intercept: Array,
    C: Array,
    columns: Moments,
    *,
    tol: float,
    max_iter: int,
) -> tuple[Array, Array, Array]:
    """Fit the labels of a batch; those that have converged leave it.

    Parameters
    ----------
    rows : LabelledRows or LabelledBlocks
        Sums over the samples, for b labels.
    coef : array of shape (k, b)
        Where to start.
    intercept, C : array of shape (b,)
        In the type of `coef`, which is that of the arithmetic.
    columns : Moments
        Of the rows.
    tol : float
        Relative distance to the optimum, as above.
    max_iter : int
        Bound on the iterations.

    Returns
    -------
    coef, intercept
        Of all labels.
    n_iter : ndarray of int of shape (b,)
        Iterations of each label; `max_iter` where it has not converged.
    """
    xp, _ = namespace_and_device(coef)
    eps = float(xp.finfo(coef.dtype).eps)
    mean = columns.mean[:, None]
    variance = columns.square[:, None] - mean * mean
    variance = xp.where(variance > 0, variance, xp.zeros_like(variance))
    # Rounding of the sums: what is below it is zero.
    rounding = 20 * eps * float(xp.max(columns.square)) ** 0.5
    rounding_e = 4 * eps * columns.total

    n_iter = np.full(coef.shape[1], max_iter)
    active, finished = np.arange(coef.shape[1]), []
    done = stuck = np.zeros(len(active), dtype=bool)
    step, shift = xp.zeros_like(coef), xp.zeros_like(intercept)
    along_step, step_square = xp.zeros_like(intercept), xp.zeros_like(intercept)
    rows = rows.at(coef, intercept)
    for iteration in range(max_iter):
        sums = rows.sums()
        gradient = sums.Xe
        gradient -= mean * sums.e
        gradient *= C
        size = _norm(coef) + _norm(gradient)
        gradient += coef
        length = _norm(gradient)
        converged = (length <= tol * size) | (length <= rounding * C * sums.d)
        converged &= (xp.abs(sums.e) <= tol * sums.d) | (xp.abs(sums.e) <= rounding_e)
        now = to_numpy(converged) | stuck | done
        n_iter[active[now & ~done]] = iteration
        done = now
        if done.mean() >= _LEAVING or stuck.any():
            leaving, staying = np.flatnonzero(done), np.flatnonzero(~done)
            finished.append([active[leaving], *_take([coef, intercept], leaving)])
            active, done, rows = active[staying], done[staying], rows.take(staying)
            coef, intercept, C, step, shift, along_step, step_square, gradient, size = _take(
                [coef, intercept, C, step, shift, along_step, step_square, gradient, size], staying
            )
            sums = Sums(*_take(sums, staying))
        if not len(active):
            break

        # The minimum of the quadratic model
        diagonal = variance * (-C * sums.d)
        diagonal -= 1
        gradient /= diagonal
        direction, offset = gradient, -(columns.mean @ gradient)
        plane = rows.plane(direction, offset)
        along = [column_dots(coef, direction), along_step]
        gram = [column_dots(direction, direction), column_dots(direction, step), step_square]
        a, b, lift = mix = _minimum(plane, sums, C, along, gram)
        direction *= a
        step *= b
        step += direction
        shift = a * offset + b * shift + lift

        # Shortened where it leads too far
        linear = a * along[0] + b * along[1]
        square = a * a * gram[0] + 2 * a * b * gram[1] + b * b * gram[2]
        descent = linear + C * (a * plane.eu + b * plane.ev + lift * sums.e)
        allowed = 10 * eps * size * xp.sqrt(square) - _OVERSHOOT * descent
        share = xp.ones_like(intercept)
        line = rows.line(mix, coef, intercept, step, shift)
        for trial in range(_SHORTENINGS):
            rows = line(share if trial else None)
            slope = linear + share * square + C * rows.slope() / share
            falls = slope <= allowed  # False for NaN
            if bool(xp.all(falls)):
                break
            ratio = descent / (descent - slope)
            ratio = xp.where(ratio > 0.1, ratio, xp.full_like(ratio, 0.1))
            ratio = xp.where(ratio < 0.5, ratio, xp.full_like(ratio, 0.5))
            share = xp.where(falls, share, share * ratio)
        share = xp.where(falls, share, 0 * share)
        if trial:
            step = xp.where(falls, share * step, xp.zeros_like(step))
            shift = xp.where(falls, share * shift, xp.zeros_like(shift))
        along_step, step_square = share * (linear + share * square), share * share * square
        stuck = to_numpy(~falls | (descent >= 0))
        coef += step
        intercept = intercept + shift
        if not bool(xp.all(falls)):
            rows = rows.at(coef, intercept, step, shift)
    finished.append([active, coef, intercept])
    coef, intercept = _in_order(finished)
    return coef, intercept, n_iter


def _minimum(
    plane: Plane, sums: Sums, C: Array, along: list[Array], gram: list[Array]
) -> tuple[Array, Array, Array]:
    """Return a, b and the shift of the intercept that minimise the quadratic model.

    `along` and `gram` are the products of the weights with the direction and the last step, and
    of these two with each other. The best shift is eliminated first. Where the two are parallel
    up to rounding, b is 0; where they change nothing but by rounding, so is a.
    """
    xp, _ = namespace_and_device(C)
    info = xp.finfo(C.dtype)
    eps, tiny = float(info.eps), float(info.smallest_normal)
    d = sums.d + tiny
    u, v = plane.du / d, plane.dv / d
    uu = gram[0] + C * xp.abs(plane.duu - u * plane.du)
    uv = gram[1] + C * (plane.duv - u * plane.dv)
    vv = gram[2] + C * xp.abs(plane.dvv - v * plane.dv)
    fu = -along[0] - C * (plane.eu - u * sums.e)
    fv = -along[1] - C * (plane.ev - v * sums.e)
    some_u, some_v = uu > 10 * eps * C * plane.duu, vv > 10 * eps * C * plane.dvv
    determinant = uu * vv - uv * uv
    both = some_u & some_v & (determinant > 10 * eps * uu * vv)
    zero, one = xp.zeros_like(uu), xp.ones_like(uu)
    determinant = xp.where(both, determinant, one)
    only_u = xp.where(some_u, fu / xp.where(some_u, uu, one), zero)
    a = xp.where(both, (vv * fu - uv * fv) / determinant, only_u)
    b = xp.where(both, (uu * fv - uv * fu) / determinant, zero)
    return a, b, -(sums.e / d + a * u + b * v)


def _take(arrays: Any, columns: Array) -> list[Array]:
    return [take_columns(array, columns) for array in arrays]


def _in_order(parts: list[list]) -> list[Array]:
    """Put arrays of some labels each together; a part is the labels' numbers and their arrays."""
    numbers, *arrays = zip(*parts, strict=True)
    order = np.argsort(np.concatenate(numbers))
    xp, _ = namespace_and_device(arrays[0][0])
    return [take_columns(xp.concat(array, axis=-1), order) for array in arrays]


def _norm(matrix: Array) -> Array:
    xp, _ = namespace_and_device(matrix)
    return xp.sqrt(column_dots(matrix, matrix))
