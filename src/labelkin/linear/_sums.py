"""The sums over samples that the minimisation needs, for a batch of labels at a time.

All that is known of the samples enters the method through `Sums` and `Plane`, which are sums over
rows. Log odds of the rows and their derivatives stay with the blocks of the rows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from labelkin.base import Array, Matrix
from labelkin.rows import Blocks, Rows, column_dots, column_sums, match, namespace, take


class Sums(NamedTuple):
    """Sums over the rows for b labels; e and d are derivatives of the log loss by the log odds."""

    slope: Any
    """Σ e · (change of the log odds by the last step), (b,)."""
    e: Any
    """Σ e, (b,)."""
    d: Any
    """Σ d, (b,)."""
    Xe: Any
    """Xᵀe, (k, b)."""


class Plane(NamedTuple):
    """Sums over the rows for b labels, with changes u and v of the log odds; each is (b,)."""

    du: Any
    dv: Any
    duu: Any
    duv: Any
    dvv: Any
    eu: Any


def sigmoid(odds: Array) -> Array:
    """Return 1 / (1 + exp(−odds)); on float32 several times as fast as SciPy's expit."""
    with np.errstate(over="ignore"):  # 1 / ∞ is 0
        p = namespace(odds).exp(-odds)
    p += 1
    return 1 / p


def log_loss(odds: Array, Y: Array) -> Array:
    """Return log(1 + exp(odds)) − y · odds of each entry, without overflow."""
    xp = namespace(odds)
    size = xp.abs(odds)
    return xp.log1p(xp.exp(-size)) + (size + odds) / 2 - Y * odds


class WeightedRows:
    """Rows of positive weight.

    Parameters
    ----------
    rows : Rows
        Samples; the arithmetic is in their dtype.
    weight : ndarray of shape (n,)
        Their weights; rows of weight 0 are left out.
    """

    def __init__(self, rows: Rows, weight: Array) -> None:
        self._rows, self._blocks = rows, rows.map(_weigh, [rows.split(weight)])

    def with_labels(self, Y: Array) -> "LabelledRows":
        """Return the rows with the labels of a batch; `Y` is an ndarray of shape (n, b)."""
        return LabelledRows(self._blocks.map(_label, [self._rows.split(Y)]))


class LabelledRows:
    """Rows with the labels of a batch, at a point: their log odds.

    The change of the log odds by the last step, and the derivatives e and d, are kept beside them,
    in blocks as the rows.
    """

    def __init__(self, rows: Blocks, points: Blocks | None = None) -> None:
        self._rows, self._points = rows, points or Blocks([])
        self._u: Any = None

    def take(self, columns: Array) -> "LabelledRows":
        """Return the same rows and point with some of the labels."""
        return LabelledRows(
            self._rows.map(_take_labels, shared=[columns]),
            self._points.map(_take_point, shared=[columns]),
        )

    def at(self, coef: Array, intercept: Array, step: Array, shift: Array) -> "LabelledRows":
        """Return the rows at log odds X · coef + intercept, after a step."""
        # The caller's weights change, and a block that is lost is computed again from these.
        xp = namespace(coef)
        shared = [xp.asarray(array, copy=True) for array in (coef, intercept, step, shift)]
        return LabelledRows(self._rows, self._rows.map(_at, shared=shared))

    def sums(self) -> Sums:
        """Return the sums at the point."""
        return Sums(*self._points.total(_sums))

    def plane(self, direction: Array, offset: Array) -> Plane:
        """Return sums with the changes by X · direction + offset, u, and by the last step, v."""
        self._u = self._rows.map(_change, shared=[direction, offset])
        return Plane(*self._u.total(_plane, [self._points.blocks]))

    def line(
        self, mix: tuple, coef: Array, intercept: Array, step: Array, shift: Array
    ) -> "Callable[[Array | None], LabelledRows]":
        """Return the point of a share of a step, per label; of None: of the whole step.

        The step changes the log odds by a · u + b · v + lift with the `mix`, of the last `plane`:
        no product with X is needed. On workers the point is computed from its weights alone: what
        was lost would otherwise have to be computed from all steps before.
        """

        def from_weights(share: Array | None) -> "LabelledRows":
            part, lift = (step, shift) if share is None else (share * step, share * shift)
            return self.at(coef + part, intercept + lift, part, lift)

        def from_changes(share: Array | None) -> "LabelledRows":
            return LabelledRows(
                self._rows, self._points.map(_follow, [changes.blocks], shared=[share])
            )

        if self._rows.lazy:
            return from_weights
        changes = self._u.map(_mix, [self._points.blocks], shared=mix)
        return from_changes


# Functions of a block.


class _Weighted(NamedTuple):
    X: Matrix
    weight: Any
    """(m, 1), or None: all are 1."""
    kept: Any
    """Numbers of the rows among those of the block; None: all."""


class _Labelled(NamedTuple):
    X: Matrix
    weight: Any
    Y: Any


class _Point(NamedTuple):
    rows: _Labelled
    odds: Any
    change: Any
    """Of the log odds, by the last step."""
    e: Any
    d: Any


def _weigh(X: Matrix, weight: Array) -> _Weighted:
    kept = None if (weight > 0).all() else np.flatnonzero(weight > 0)
    if kept is not None:
        X, weight = take(X, kept), weight[kept]
    return _Weighted(X, None if (weight == 1).all() else match(weight[:, None], X), kept)


def _label(rows: _Weighted, Y: Array) -> _Labelled:
    return _Labelled(rows.X, rows.weight, match(Y if rows.kept is None else Y[rows.kept], rows.X))


def _take_labels(rows: _Labelled, columns: Array) -> _Labelled:
    return rows._replace(Y=take(rows.Y, columns, axis=1))


def _take_point(point: _Point, columns: Array) -> _Point:
    rows, *arrays = point
    return _Point(_take_labels(rows, columns), *(take(array, columns, axis=1) for array in arrays))


def _at(rows: _Labelled, coef: Array, intercept: Array, step: Array, shift: Array) -> _Point:
    odds, change = _change(rows, coef, intercept), _change(rows, step, shift)
    return _point(rows, odds, change)


def _change(rows: _Labelled, direction: Array, offset: Array) -> Array:
    xp = namespace(direction)
    if not bool(xp.any(direction != 0)):
        return xp.zeros_like(rows.Y) + offset
    change = rows.X @ direction
    change += offset
    return change


def _point(rows: _Labelled, odds: Array, change: Array) -> _Point:
    p = sigmoid(odds)
    e = p - rows.Y
    d = 1 - p
    d *= p
    if rows.weight is not None:
        e *= rows.weight
        d *= rows.weight
    return _Point(rows, odds, change, e, d)


def _sums(point: _Point) -> tuple[Array, ...]:
    e = point.e
    return column_dots(e, point.change), column_sums(e), column_sums(point.d), point.rows.X.T @ e


def _plane(u: Array, point: _Point) -> tuple[Array, ...]:
    v = point.change
    du, dv = point.d * u, point.d * v
    dots = column_dots(du, u), column_dots(du, v), column_dots(dv, v), column_dots(point.e, u)
    return column_sums(du), column_sums(dv), *dots


def _mix(u: Array, point: _Point, a: Array, b: Array, lift: Array) -> Array:
    """Return a · u + b · v + lift; u is overwritten."""
    u *= a
    u += b * point.change
    u += lift
    return u


def _follow(point: _Point, change: Array, share: Array | None) -> _Point:
    part = change if share is None else share * change
    return _point(point.rows, point.odds + part, part)
