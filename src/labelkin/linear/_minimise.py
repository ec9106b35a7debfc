"""Conjugate gradients for the logistic regressions of many labels.

For each label they minimise ½|w|² + C · Σ log loss over the weights w and the intercept c, which
has no penalty. Each iteration minimises the quadratic model of the objective over all changes

    a · direction + b · last step,  and any shift of the intercept:

with the preconditioned gradient as direction. On a quadratic objective this is the method of
conjugate gradients; on another one each step is still conjugate to the last, since a and b are
computed from the second derivatives at the point itself. It takes two products with the samples per
iteration, X times the direction and Xᵀe; Newton's method with conjugate gradients inside takes
twice as many altogether, because it starts these again after each step.

With e and d the first and second derivatives of the loss with respect to the log odds, the gradient
is w + C·(Xᵀe − Σe · mean of X), where centred columns leave the intercept out, and the
preconditioner is 1 + C·Σd·(variance of the column): the diagonal of the second derivatives with the
mean of d in place of d. All second derivatives are at least those of ½|w|², so that the distance to
the optimum is at most the length of the gradient, |g|: a label has converged when this is at most
``tol`` times 2|w| − |g|, and when a shift of the intercept by ``tol`` would overshoot.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from labelkin.base import Array
from labelkin.linear._sums import LabelledRows, Plane, Sums
from labelkin.rows import ColumnMoments, column_dots, concatenate, namespace, take, to_numpy

_SHORTENINGS = 20
# Converged labels leave the batch when they are this share of it, or when one cannot be improved:
# the rest is copied then.
_LEAVING = 0.1
# A step is accepted if the slope of the objective at its end is at most this share of the initial
# descent.
_OVERSHOOT = 0.5


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # such steps are shortened
def minimise(
    rows: LabelledRows,
    coef: Array,
    intercept: Array,
    C: Array,
    columns: ColumnMoments,
    *,
    tol: float,
    max_iter: int,
) -> tuple[Array, Array, Array]:
    """Fit the labels of a batch; those that have converged leave it.

    Parameters
    ----------
    rows : LabelledRows
        Samples with b labels.
    coef : array of shape (k, b)
        Where to start.
    intercept, C : array of shape (b,)
        In the type of `coef`, which is that of the arithmetic.
    columns : ColumnMoments
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
        Iterations of each label, until it converged or no step could lower its objective; else
        `max_iter`.
    """
    largest = float(namespace(coef).max(columns.variance + columns.mean**2)) ** 0.5
    batch = _Batch.start(rows, coef, intercept, C)
    n_iter = np.full(coef.shape[1], max_iter)
    done = stuck = np.zeros(coef.shape[1], dtype=bool)
    finished = []
    for iteration in range(max_iter):
        gradient = _gradient(batch, columns)
        now = _converged(batch, gradient, columns.total, largest, tol) | stuck | done
        n_iter[batch.labels[now & ~done]] = iteration
        done = now
        if done.mean() >= _LEAVING or stuck.any():
            leaving, staying = np.flatnonzero(done), np.flatnonzero(~done)
            finished.append(batch.weights(leaving))
            batch, done = batch.take(staying), done[staying]
            gradient = take(gradient, staying, axis=1)
        if not len(batch.labels):
            break
        step = _best_step(batch, gradient, columns)
        stuck = _follow(batch, step)
    finished.append(batch.weights(np.arange(len(batch.labels))))
    labels, coefs, intercepts = zip(*finished, strict=True)
    order = np.argsort(np.concatenate(labels))
    parts = (concatenate(list(coefs), axis=1), concatenate(list(intercepts)))
    return *(take(part, order, axis=-1) for part in parts), n_iter


@dataclass
class _Batch:
    """The labels that are fitted together, each at a point that its last step has led to."""

    labels: Array
    """Their numbers, an ndarray."""
    rows: LabelledRows
    """At that point."""
    sums: Sums
    """At that point; `Xe` becomes the gradient."""
    C: Array
    coef: Array
    intercept: Array
    square: Array
    """|coef|²."""
    step: Array
    """Of the weights; `shift` is that of the intercept."""
    shift: Array
    along_step: Array
    """coef · step."""
    step_square: Array
    """|step|²."""

    @classmethod
    def start(cls, rows: Any, coef: Array, intercept: Array, C: Array) -> "_Batch":
        """Return a batch at its first point, without a last step."""
        xp = namespace(coef)
        none, step, square = xp.zeros_like(intercept), xp.zeros_like(coef), column_dots(coef, coef)
        labels, rows = np.arange(coef.shape[1]), rows.at(coef, intercept, step, none)
        sums = rows.sums()
        return cls(labels, rows, sums, C, coef, intercept, square, step, none, none, none)

    def take(self, columns: Array) -> "_Batch":
        """Return some of the labels."""
        arrays = {
            field.name: take(getattr(self, field.name), columns, axis=-1)
            for field in fields(self)
            if field.name not in ("rows", "sums")
        }
        sums = Sums(*(take(array, columns, axis=-1) for array in self.sums))
        return replace(self, rows=self.rows.take(columns), sums=sums, **arrays)

    def weights(self, columns: Array) -> tuple[Array, Array, Array]:
        """Return numbers, weights and intercepts of some of the labels."""
        parts = (take(part, columns, axis=-1) for part in (self.coef, self.intercept))
        return self.labels[columns], *parts


def _gradient(batch: _Batch, columns: ColumnMoments) -> Array:
    """Return the gradient by the weights, with the columns centred; it is stored in the sums."""
    gradient = batch.sums.Xe
    gradient -= columns.mean[:, None] * batch.sums.e
    gradient *= batch.C
    gradient += batch.coef
    return gradient


def _converged(
    batch: _Batch, gradient: Array, total: float, largest: float, tol: float
) -> np.ndarray:
    """Return which labels have converged, on the host; what is below rounding is zero.

    `total` is the sum of the weights, `largest` the largest root mean square of a column.
    """
    xp, sums = namespace(gradient), batch.sums
    eps = float(xp.finfo(gradient.dtype).eps)
    length = xp.sqrt(column_dots(gradient, gradient))
    rounding = 20 * eps * largest * batch.C * sums.d
    e = xp.abs(sums.e)
    near = ((1 + tol) * length <= 2 * tol * xp.sqrt(batch.square)) | (length <= rounding)
    return to_numpy(near & ((e <= tol * sums.d) | (e <= 4 * eps * total)))


class _Step(NamedTuple):
    """A step whose weights are in the batch, and what the objective does along it."""

    mix: tuple[Array, Array, Array]
    """a, b, and the shift of the intercept besides those of direction and last step."""
    linear: Array
    """coef · step."""
    square: Array
    """|step|²."""
    descent: Array
    """Derivative of the objective at the beginning."""


def _best_step(batch: _Batch, gradient: Array, columns: ColumnMoments) -> _Step:
    """Replace the last step of the batch by the best one in the quadratic model.

    The gradient is overwritten.
    """
    sums = batch.sums
    diagonal = columns.variance[:, None] * (-batch.C * sums.d)
    diagonal -= 1
    gradient /= diagonal
    direction, offset = gradient, -(columns.mean @ gradient)
    plane = batch.rows.plane(direction, offset)
    along = [column_dots(batch.coef, direction), batch.along_step]
    gram = [
        column_dots(direction, direction),
        column_dots(direction, batch.step),
        batch.step_square,
    ]
    a, b, lift = mix = _minimum(plane, sums, batch.C, along, gram)
    direction *= a
    batch.step *= b
    batch.step += direction
    batch.shift = a * offset + b * batch.shift + lift
    linear = a * along[0] + b * along[1]
    square = a * a * gram[0] + 2 * a * b * gram[1] + b * b * gram[2]
    descent = linear + batch.C * (a * plane.eu + b * sums.slope + lift * sums.e)
    return _Step(mix, linear, square, descent)


def _follow(batch: _Batch, step: _Step) -> np.ndarray:
    """Move the batch along its step, shortened per label where it leads too far.

    Return which labels cannot move any further, on the host.
    """
    xp = namespace(batch.coef)
    eps = float(xp.finfo(batch.coef.dtype).eps)
    _, linear, square, descent = step
    allowed = 20 * eps * xp.sqrt(batch.square * square) - _OVERSHOOT * descent
    share = xp.ones_like(linear)
    line = batch.rows.line(step.mix, batch.coef, batch.intercept, batch.step, batch.shift)
    for trial in range(_SHORTENINGS):
        batch.rows = line(share if trial else None)
        batch.sums = batch.rows.sums()
        slope = linear + share * square + batch.C * batch.sums.slope / share
        falls = slope <= allowed  # False for NaN
        # The host waits for the device once per trial.
        fell, flat = to_numpy(xp.stack([falls, descent >= 0]))
        if fell.all():
            break
        ratio = descent / (descent - slope)
        ratio = xp.where(ratio > 0.1, ratio, xp.full_like(ratio, 0.1))
        ratio = xp.where(ratio < 0.5, ratio, xp.full_like(ratio, 0.5))
        share = xp.where(falls, share, share * ratio)
    if not fell.all():  # set, since NaN times 0 is NaN
        share = xp.where(falls, share, xp.zeros_like(share))
        batch.step = xp.where(falls, batch.step, xp.zeros_like(batch.step))
        batch.shift = xp.where(falls, batch.shift, xp.zeros_like(batch.shift))
    if trial:
        batch.step *= share
        batch.shift = batch.shift * share
    batch.step_square = share * share * square
    batch.square = xp.abs(batch.square + 2 * share * linear + batch.step_square)
    batch.along_step = share * linear + batch.step_square
    batch.coef += batch.step
    batch.intercept = batch.intercept + batch.shift
    if not fell.all():
        batch.rows = batch.rows.at(batch.coef, batch.intercept, batch.step, batch.shift)
        batch.sums = batch.rows.sums()
    return ~fell | flat


def _minimum(
    plane: Plane, sums: Sums, C: Array, along: list[Array], gram: list[Array]
) -> tuple[Array, Array, Array]:
    """Return a, b and the shift of the intercept that minimise the quadratic model.

    `along` and `gram` are the products of the weights with the direction and the last step, and
    of these two with each other. The best shift is eliminated first. Where the two are parallel
    up to rounding, b is 0; where they change nothing but by rounding, so is a.
    """
    xp = namespace(C)
    info = xp.finfo(C.dtype)
    eps, tiny = float(info.eps), float(info.smallest_normal)
    d = sums.d + tiny
    u, v = plane.du / d, plane.dv / d
    uu = gram[0] + C * xp.abs(plane.duu - u * plane.du)
    uv = gram[1] + C * (plane.duv - u * plane.dv)
    vv = gram[2] + C * xp.abs(plane.dvv - v * plane.dv)
    fu = -along[0] - C * (plane.eu - u * sums.e)
    fv = -along[1] - C * (sums.slope - v * sums.e)
    some_u, some_v = uu > 10 * eps * C * plane.duu, vv > 10 * eps * C * plane.dvv
    determinant = uu * vv - uv * uv
    both = some_u & some_v & (determinant > 10 * eps * uu * vv)
    zero, one = xp.zeros_like(uu), xp.ones_like(uu)
    determinant = xp.where(both, determinant, one)
    only_u = xp.where(some_u, fu / xp.where(some_u, uu, one), zero)
    a = xp.where(both, (vv * fu - uv * fv) / determinant, only_u)
    b = xp.where(both, (uu * fv - uv * fu) / determinant, zero)
    return a, b, -(sums.e / d + a * u + b * v)
