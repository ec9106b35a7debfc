"""The sums over samples that Newton's method needs, for a batch of labels at a time.

All that is known of the samples enters the method through log losses, `Sums` and
`curvature_product`. All of them are sums over rows, so that rows may also lie in blocks on Dask
workers (`labelkin.linear._blocks`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

from labelkin._utils.array_api import astype, is_numpy, namespace_and_device, to_device_of
from labelkin.base import Array, Matrix


class Sums(NamedTuple):
    """Sums over the rows for b labels; e and d are derivatives of the log loss by the log odds."""

    e: Any
    """Σ e, (b,)."""
    d: Any
    """Σ d, (b,)."""
    Xe: Any
    """Xᵀe, (k, b)."""
    Xd: Any
    """Xᵀd, (k, b)."""


def sigmoid(odds: Array) -> Array:
    """Return 1 / (1 + exp(−odds))."""
    xp, _ = namespace_and_device(odds)
    return expit(odds) if is_numpy(xp) else 1 / (1 + xp.exp(-odds))


def log_loss(odds: Array, Y: Array) -> Array:
    """Return log(1 + exp(odds)) − y · odds of each entry, without overflow."""
    xp, _ = namespace_and_device(odds)
    loss = xp.log1p(xp.exp(-xp.abs(odds)))
    loss += xp.where(odds > 0, odds, xp.zeros_like(odds))
    loss -= Y * odds
    return loss


class Moments(NamedTuple):
    """Weighted means over the rows, of each column."""

    mean: Any
    """Of x, (k,)."""
    square: Any
    """Of x², (k,)."""

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
        self.weight = astype(to_device_of(weight[:, None], X), X.dtype)

    def with_labels(self, Y: Array) -> "LabelledRows":
        """Return the rows with the labels of a batch; `Y` is an ndarray of shape (n, b)."""
        labels = Y if self.kept is None else Y[self.kept]
        return LabelledRows(self, astype(to_device_of(labels, self.X), self.X.dtype))


class LabelledRows:
    """Rows in memory with the labels of a batch, at a point: their log odds."""

    def __init__(self, rows: MemoryRows, Y: Array, odds: Any = None, d: Any = None) -> None:
        self.rows, self.Y = rows, Y
        self._odds: Any = odds
        self._d: Any = d

    def take(self, columns: Array) -> "LabelledRows":
        """Return the same rows and point with some of the labels."""
        odds, d = (a if a is None else take_columns(a, columns) for a in (self._odds, self._d))
        return LabelledRows(self.rows, take_columns(self.Y, columns), odds, d)

    def moved(self, coef: Array, intercept: Array) -> "LabelledRows":
        """Return the same rows and labels at log odds X · coef + intercept."""
        odds = self.rows.X @ coef
        odds += intercept
        return LabelledRows(self.rows, self.Y, odds)

    def line(self, _coef: Array, _intercept: Array, direction: Array, shift: Array) -> Callable:
        """Return the point of a share of a step, per label: one product serves all shares."""
        change = self.rows.X @ direction
        change += shift
        return lambda share: LabelledRows(self.rows, self.Y, self._odds + share * change)

    def loss(self) -> Array:
        """Return the log loss of each label, (b,)."""
        xp, _ = namespace_and_device(self._odds)
        losses = log_loss(self._odds, self.Y)
        losses *= self.rows.weight
        return xp.sum(losses, axis=0, dtype=xp.float64)

    def sums(self) -> Sums:
        """Return the sums at the point."""
        X = self.rows.X
        xp, _ = namespace_and_device(self._odds)
        d = sigmoid(self._odds)
        e = d - self.Y
        e *= self.rows.weight
        d *= 1 - d
        d *= self.rows.weight
        self._d = d
        e_sum, d_sum = xp.sum(e, axis=0), xp.sum(d, axis=0)
        return Sums(e_sum, d_sum, X.T @ e, X.T @ d)

    def curvature_product(self, V: Array) -> tuple[Array, Array]:
        """Return Xᵀ(d∘XV) and Σ d∘XV; `sums` must have been computed at the point."""
        X = self.rows.X
        xp, _ = namespace_and_device(V)
        U = X @ V
        U *= self._d
        return X.T @ U, xp.sum(U, axis=0)
