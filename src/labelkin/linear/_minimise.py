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

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from labelkin.base import Array, Matrix
from labelkin.calibration._curves import expit
from labelkin.rows import (
    ColumnMoments,
    Labels,
    Rows,
    column_dots,
    column_sums,
    concatenate,
    match,
    namespace,
    take,
    to_numpy,
)

_SHORTENINGS = 20
# Converged labels leave the batch when they are this share of it, or when one cannot be improved:
# the rest is copied then.
_LEAVING = 0.1
# A step is accepted if the slope of the objective at its end is at most this share of the initial
# descent.
_OVERSHOOT = 0.5
# Change of the intercept by one step, at most, except for what the weights' change adds to it.
_FARTHEST = 50.0


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # such steps are shortened
def minimise(
    rows: Rows,
    labels: Labels,
    coef: Array,
    intercept: Array,
    C: Array,
    columns: ColumnMoments,
    constant: Array,
    *,
    tol: float,
    max_iter: int,
) -> tuple[Array, Array, Array]:
    """Fit the labels of a batch; those that have converged leave it.

    The search starts at `coef`, (k, b), and `intercept`, (b,), in whose type the arithmetic is;
    labels that are `constant` stay there. `columns` are the moments of the rows. Returns both of
    all labels, and the iterations of each label until it converged or no step could lower its
    objective; else `max_iter`.
    """
    largest = float(namespace(coef).max(columns.variance + columns.mean**2)) ** 0.5
    batch = _Batch(rows, labels, coef, intercept, C)
    n_iter = np.full(coef.shape[1], max_iter)
    stuck, done = constant, np.zeros(coef.shape[1], dtype=bool)
    finished = []
    for iteration in range(max_iter):
        # The gradient by the weights, with the columns centred
        gradient = batch.C * (batch.Xe - columns.mean[:, None] * batch.e) + batch.coef
        now = batch.converged(gradient, columns.total, largest, tol) | stuck | done
        n_iter[batch.labels[now & ~done]] = iteration
        done = now
        if done.mean() >= _LEAVING or stuck.any():
            leaving, staying = np.flatnonzero(done), np.flatnonzero(~done)
            weights = batch.labels, batch.coef, batch.intercept
            finished.append([take(array, leaving, axis=-1) for array in weights])
            batch, done = batch.take(staying), done[staying]
            gradient = take(gradient, staying, axis=1)
        if not len(batch.labels):
            break
        stuck = batch.move(gradient, columns)
    finished.append([batch.labels, batch.coef, batch.intercept])
    numbers, coefs, intercepts = map(list, zip(*finished, strict=True))
    order = np.argsort(np.concatenate(numbers))
    coef, intercept = concatenate(coefs, axis=1), concatenate(intercepts)
    return take(coef, order, axis=1), take(intercept, order), n_iter


class _Batch:
    """The labels that are fitted together, each at a point that its last step has led to.

    With e and d as above, `slope` is Σ e · (change of the log odds by the last step), and `e`, `d`
    and `Xe` are Σ e, Σ d and Xᵀe. No array is changed: a block that is lost with a worker is
    computed again from those that were given.
    """

    def __init__(self, rows: Rows, labels: Labels, coef: Array, intercept: Array, C: Array) -> None:
        xp, self.rows, self.C = namespace(coef), rows, C
        self.labels = np.arange(coef.shape[1])
        weighted = labels.weight is not None or labels.known is not None
        cells = labels.cells if weighted else None
        self.Y = rows.map(_label, [rows.split(labels.Y), rows.split(cells)])
        self.coef, self.intercept, self.square = coef, intercept, column_dots(coef, coef)
        self.step, self.shift = xp.zeros_like(coef), xp.zeros_like(intercept)
        self.along_step = self.step_square = self.shift  # coef · step, |step|²
        self.go_to(_at, [], [coef, intercept, self.step, self.shift])

    def take(self, columns: Array) -> "_Batch":
        """Return some of the labels."""
        some = copy(self)
        for name, value in vars(self).items():
            if name in ("Y", "points"):
                setattr(some, name, value.map(_take_labels, shared=[columns]))
            elif name != "rows":
                setattr(some, name, take(value, columns, axis=-1))
        return some

    def go_to(self, function: Callable, parts: list[Any], shared: list[Any]) -> None:
        """Set the point that a function of a block returns, and the sums there."""
        self.points = self.rows.map(function, [self.Y.blocks, *parts], shared)
        self.slope, self.e, self.d, self.Xe = self.rows.total(_sums, [self.points.blocks])

    def converged(self, gradient: Array, total: float, largest: float, tol: float) -> np.ndarray:
        """Return which labels have converged, on the host; what is below rounding is zero.

        `total` is the sum of the weights, `largest` the largest root mean square of a column.
        """
        xp = namespace(gradient)
        eps = float(xp.finfo(gradient.dtype).eps)
        length = xp.sqrt(column_dots(gradient, gradient))
        rounding = 20 * eps * largest * self.C * self.d
        e = xp.abs(self.e)
        near = ((1 + tol) * length <= 2 * tol * xp.sqrt(self.square)) | (length <= rounding)
        return to_numpy(near & ((e <= tol * self.d) | (e <= 4 * eps * total)))

    def move(self, gradient: Array, columns: ColumnMoments) -> np.ndarray:
        """Take the best step in the quadratic model, shortened per label where it leads too far.

        Return which labels cannot move any further, on the host.
        """
        xp, C = namespace(gradient), self.C
        eps = float(xp.finfo(gradient.dtype).eps)
        direction = gradient / (columns.variance[:, None] * (-C * self.d) - 1)
        offset = -(columns.mean @ direction)
        # Changes of the log odds: u by the direction, v by the last step
        u = self.rows.map(_change, shared=[direction, offset])
        plane = u.total(_plane, [self.points.blocks])
        along = column_dots(self.coef, direction), self.along_step
        gram = (
            column_dots(direction, direction),
            column_dots(direction, self.step),
            self.step_square,
        )
        a, b, lift = mix = self._minimum(plane, along, gram)
        step = b * self.step + a * direction
        shift = a * offset + b * self.shift + lift
        linear = a * along[0] + b * along[1]  # coef · step
        square = a * a * gram[0] + 2 * a * b * gram[1] + b * b * gram[2]
        descent = linear + C * (a * plane[5] + b * self.slope + lift * self.e)

        # The point of a share of the step. In memory no product with X is needed. On workers the
        # point is computed from its weights alone: what was lost would otherwise have to be
        # computed from all steps before.
        before, share = self.points.blocks, xp.ones_like(linear)
        allowed = 20 * eps * xp.sqrt(self.square * square) - _OVERSHOOT * descent
        for _ in range(_SHORTENINGS):
            if self.rows.lazy:
                part, lifted = share * step, share * shift
                self.go_to(_at, [], [self.coef + part, self.intercept + lifted, part, lifted])
            else:
                self.go_to(_follow, [before, u.blocks], [mix, share])
            slope = linear + share * square + C * self.slope / share
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
            step = xp.where(falls, step, xp.zeros_like(step))
            shift = xp.where(falls, shift, xp.zeros_like(shift))
        self.step, self.shift = share * step, share * shift
        self.step_square = share * share * square
        self.square = xp.abs(self.square + 2 * share * linear + self.step_square)
        self.along_step = share * linear + self.step_square
        self.coef, self.intercept = self.coef + self.step, self.intercept + self.shift
        if not fell.all():
            self.go_to(_at, [], [self.coef, self.intercept, self.step, self.shift])
        return ~fell | flat

    def _minimum(self, plane: tuple, along: tuple, gram: tuple) -> tuple[Array, Array, Array]:
        """Return a, b and the shift of the intercept that minimise the quadratic model.

        `along` and `gram` are the products of the weights with the direction and the last step, and
        of these two with each other. The best shift is eliminated first. Where the two are parallel
        up to rounding, b is 0; where they change nothing but by rounding, so is a.
        """
        xp, C = namespace(self.C), self.C
        info = xp.finfo(C.dtype)
        eps = float(info.eps)
        # Where all odds are saturated, d is 0: the intercept then moves by _FARTHEST at most.
        least = xp.abs(self.e) / _FARTHEST
        d = xp.where(self.d > least, self.d, least) + float(info.smallest_normal)
        du, dv, duu, duv, dvv, eu = plane
        u, v = du / d, dv / d
        uu = gram[0] + C * xp.abs(duu - u * du)
        uv = gram[1] + C * (duv - u * dv)
        vv = gram[2] + C * xp.abs(dvv - v * dv)
        fu = -along[0] - C * (eu - u * self.e)
        fv = -along[1] - C * (self.slope - v * self.e)
        some_u, some_v = uu > 10 * eps * C * duu, vv > 10 * eps * C * dvv
        determinant = uu * vv - uv * uv
        both = some_u & some_v & (determinant > 10 * eps * uu * vv)
        zero, one = xp.zeros_like(uu), xp.ones_like(uu)
        determinant = xp.where(both, determinant, one)
        only_u = xp.where(some_u, fu / xp.where(some_u, uu, one), zero)
        a = xp.where(both, (vv * fu - uv * fv) / determinant, only_u)
        b = xp.where(both, (uu * fv - uv * fu) / determinant, zero)
        return a, b, -(self.e / d + a * u + b * v)


# Functions of a block: of its rows X, its labels, (Y,) or (Y, weights of the cells), and a point,
# (log odds, change, e, d).


def _label(X: Matrix, Y: Array, cells: Array | None) -> tuple:
    target = match(Y, X)
    if cells is None:
        return (target,)
    return target, namespace(target).broadcast_to(match(cells, X), Y.shape)


def _take_labels(arrays: tuple, columns: Array) -> tuple:
    return tuple(take(array, columns, axis=1) for array in arrays)


def _at(X: Matrix, Y: tuple, coef: Array, intercept: Array, step: Array, shift: Array) -> tuple:
    return _point(Y, _change(X, coef, intercept), _change(X, step, shift))


def _change(X: Matrix, direction: Array, offset: Array) -> Array:
    xp = namespace(direction)
    if not bool(xp.any(direction != 0)):
        return xp.broadcast_to(offset, (X.shape[0], offset.shape[0]))
    change = X @ direction
    change += offset
    return change


def _point(Y: tuple, odds: Array, change: Array) -> tuple:
    p = expit(odds)
    e = p - Y[0]
    d = 1 - p
    d *= p
    for cells in Y[1:]:
        e *= cells
        d *= cells
    return odds, change, e, d


def _sums(X: Matrix, point: tuple) -> tuple:
    _, change, e, d = point
    return column_dots(e, change), column_sums(e), column_sums(d), X.T @ e


def _plane(u: Array, point: tuple) -> tuple:
    _, v, e, d = point
    du, dv = d * u, d * v
    dots = column_dots(du, u), column_dots(du, v), column_dots(dv, v), column_dots(e, u)
    return column_sums(du), column_sums(dv), *dots


def _follow(X: Matrix, Y: tuple, point: tuple, u: Array, mix: tuple, share: Array) -> tuple:
    a, b, lift = mix
    odds, v, _, _ = point
    change = a * u
    change += b * v
    change += lift
    change *= share
    return _point(Y, odds + change, change)
