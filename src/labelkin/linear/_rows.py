"""The sums over samples that the minimisation needs, for a batch of labels at a time.

All that is known of the samples enters the method through `Sums`, `Plane` and slopes. All of them
are sums over rows, so that rows may also lie in blocks on Dask workers
(`labelkin.linear._blocks`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labelkin._utils.array_api import astype, is_numpy, namespace_and_device, to_device_of
from labelkin.base import Array, Matrix

# Rows of a matrix that are added up as one.
_FOLDED = 16


class Sums(NamedTuple):
    """Sums over the rows for b labels; e and d are derivatives of the log loss by the log odds."""

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
    ev: Any


def sigmoid(odds: Array) -> Array:
    """Return 1 / (1 + exp(−odds)); on float32 several times as fast as SciPy's expit."""
    xp, _ = namespace_and_device(odds)
    with np.errstate(over="ignore"):  # 1 / ∞ is 0
        p = xp.exp(-odds)
    p += 1
    return 1 / p


def log_loss(odds: Array, Y: Array) -> Array:
    """Return log(1 + exp(odds)) − y · odds of each entry, without overflow."""
    xp, _ = namespace_and_device(odds)
    size = xp.abs(odds)
    return xp.log1p(xp.exp(-size)) + (size + odds) / 2 - Y * odds


def count_stored(X: Matrix) -> int:
    """Return how many values of dense or sparse rows are not zero."""
    return int(X.nnz if sparse.issparse(X) else np.count_nonzero(X))


def column_dots(A: Array, B: Array) -> Array:
    """Return the products of the columns of two matrices."""
    xp, _ = namespace_and_device(A)
    if not is_numpy(xp):
        return xp.sum(A * B, axis=0)
    n, b = A.shape
    tail = n - n % _FOLDED
    # Several rows as one: NumPy takes as long to begin a row as for some dozens of its entries.
    wide = (array[:tail].reshape(-1, _FOLDED * b) for array in (A, B))
    found = np.einsum("ij,ij->j", *wide).reshape(_FOLDED, b).sum(axis=0)
    return found + np.einsum("ij,ij->j", A[tail:], B[tail:])


def column_sums(A: Array) -> Array:
    """Return the sums of the columns of a matrix; BLAS adds rows faster than NumPy."""
    xp, _ = namespace_and_device(A)
    return np.ones(len(A), A.dtype) @ A if is_numpy(xp) else xp.sum(A, axis=0)


def outer(a: Array, b: Array) -> Array:
    """Return the matrix a bᵀ; that of NumPy's own ``outer``, by BLAS."""
    xp, _ = namespace_and_device(a)
    return np.dot(a[:, None], b[None]) if is_numpy(xp) else a[:, None] * b


class Moments(NamedTuple):
    """Weighted means over the rows, of each column."""

    mean: Any
    """Of x, (k,)."""
    square: Any
    """Of x², (k,)."""
    total: float = 1.0
    """Sum of the weights."""

    def variance(self) -> Array:
        """Return the variance of each column, (k,); 0 where rounding would make it negative."""
        xp, _ = namespace_and_device(self.mean)
        variance = self.square - self.mean * self.mean
        return xp.where(variance > 0, variance, xp.zeros_like(variance))

    def spread(self) -> float:
        """Return the mean squared norm of the centred rows; 0 where it is rounding."""
        xp, _ = namespace_and_device(self.mean)
        square, centre = float(xp.sum(self.square)), float(xp.sum(self.mean * self.mean))
        info = xp.finfo(self.mean.dtype)
        rounding = 10 * float(info.eps) * square + float(info.smallest_normal)
        return square - centre if square - centre > rounding else 0.0

    @classmethod
    def of_rows(cls, X: Matrix, share: Array) -> "Moments":
        """Compute them, or the part of some rows; `share` adds up to 1 over all."""
        squares = X.multiply(X) if sparse.issparse(X) else X * X
        return cls(X.T @ share, squares.T @ share)


def take_columns(array: Array, columns: Array) -> Array:
    """Return columns of a matrix, or entries of a vector, at NumPy indices."""
    xp, _ = namespace_and_device(array)
    # Rows stay contiguous, as products with sparse matrices need them; array[:, columns] would
    # have contiguous columns.
    columns = columns if is_numpy(xp) else to_device_of(columns, array)
    return xp.take(array, columns, axis=array.ndim - 1)


def take_rows(X: Matrix, rows: Array) -> Matrix:
    """Return rows at NumPy indices."""
    xp, _ = namespace_and_device(X)
    return X[rows] if is_numpy(xp) else xp.take(X, to_device_of(rows, X), axis=0)


class MemoryRows:
    """Rows with weights in memory.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, k)
        Rows.
    weight : ndarray of shape (n,)
        Their weights; rows of weight 0 are left out.
    """

    def __init__(self, X: Matrix, weight: Array) -> None:
        self.kept = None if (weight > 0).all() else np.flatnonzero(weight > 0)
        if self.kept is not None:
            X = take_rows(X, self.kept)
            weight = weight[self.kept]
        self.X = X
        # None: all are 1.
        column = astype(to_device_of(weight[:, None], X), X.dtype)
        self.weight = None if (weight == 1).all() else column

    def with_labels(self, Y: Array) -> "LabelledRows":
        """Return the rows with the labels of a batch; `Y` is an ndarray of shape (n, b)."""
        labels = Y if self.kept is None else Y[self.kept]
        return LabelledRows(self, astype(to_device_of(labels, self.X), self.X.dtype))


class LabelledRows:
    """Rows in memory with the labels of a batch, at a point: their log odds.

    The change of the log odds by the last step, and the derivatives e and d, are kept beside them.
    """

    def __init__(self, rows: MemoryRows, Y: Array, *point: Array) -> None:
        self.rows, self.Y, self._point = rows, Y, point
        self._u: Any = None
        self._slope: Any = None

    def take(self, columns: Array) -> "LabelledRows":
        """Return the same rows and point with some of the labels."""
        point = (take_columns(array, columns) for array in self._point)
        return LabelledRows(self.rows, take_columns(self.Y, columns), *point)

    def at(
        self, coef: Array, intercept: Array, step: Array = None, shift: Array = None
    ) -> "LabelledRows":
        """Return the rows at log odds X · coef + intercept, after a step; None: no step."""
        xp, _ = namespace_and_device(coef)
        if bool(xp.any(coef != 0)):
            odds = self.rows.X @ coef
            odds += intercept
        else:
            odds = xp.zeros_like(self.Y) + intercept
        change = xp.zeros_like(odds) if step is None else self.rows.X @ step + shift
        return self._moved(odds, change)

    def _moved(self, odds: Array, change: Array) -> "LabelledRows":
        p = sigmoid(odds)
        e = p - self.Y
        d = 1 - p
        d *= p
        if self.rows.weight is not None:
            e *= self.rows.weight
            d *= self.rows.weight
        return LabelledRows(self.rows, self.Y, odds, change, e, d)

    def sums(self) -> Sums:
        """Return the sums at the point."""
        *_, e, d = self._point
        return Sums(column_sums(e), column_sums(d), self.rows.X.T @ e)

    def plane(self, direction: Array, offset: Array) -> Plane:
        """Return sums with the changes by X · direction + offset, u, and by the last step, v."""
        _, v, e, d = self._point
        u = self.rows.X @ direction
        u += offset
        self._u = u
        du, dv = d * u, d * v
        return Plane(
            du=column_sums(du),
            dv=column_sums(dv),
            duu=column_dots(du, u),
            duv=column_dots(du, v),
            dvv=column_dots(dv, v),
            eu=column_dots(e, u),
            ev=self.slope(),
        )

    def line(self, mix: tuple[Array, Array, Array], *_weights: Array) -> Callable:
        """Return the point of a share of the step a · u + b · v + lift; None: of all of it."""
        a, b, lift = mix
        odds, change, *_ = self._point
        change = change * b
        self._u *= a
        change += self._u
        change += lift

        def point(share: Array | None) -> LabelledRows:
            part = change if share is None else share * change
            return self._moved(odds + part, part)

        return point

    def slope(self) -> Array:
        """Return Σ e · (change by the last step)."""
        if self._slope is None:
            _, change, e, _ = self._point
            self._slope = column_dots(e, change)
        return self._slope
