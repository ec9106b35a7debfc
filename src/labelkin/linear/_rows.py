"""The sums over samples that Newton's method needs, for a batch of labels at a time.

All that is known of the samples enters the method through `Sums` and `curvature_product`. Both
are sums over rows, so that rows may also lie in blocks on Dask workers (`labelkin.linear._blocks`).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

from labelkin._utils.array_api import is_numpy, namespace_and_device, to_device_of
from labelkin.base import Array, Matrix


class Sums(NamedTuple):
    """Sums over the rows for b labels; e and d are derivatives of the log loss by the log odds."""

    loss: Any
    """Log loss, (b,)."""
    e: Any
    """Σ e, (b,)."""
    d: Any
    """Σ d, (b,)."""
    Xe: Any
    """Xᵀe, (k, b)."""
    Xd: Any
    """Xᵀd, (k, b)."""
    XXd: Any
    """(X∘X)ᵀd, (k, b)."""


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


def take_columns(array: Array, columns: Array) -> Array:
    """Return columns of a matrix, or entries of a vector, at NumPy indices."""
    xp, _ = namespace_and_device(array)
    if is_numpy(xp):
        return array[..., columns]
    return xp.take(array, to_device_of(columns, array), axis=array.ndim - 1)


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
            rows = self.kept if sparse.issparse(X) else to_device_of(self.kept, X)
            xp, _ = namespace_and_device(X)
            X = X[rows] if is_numpy(xp) else xp.take(X, rows, axis=0)
            weight = weight[self.kept]
        self.X = X
        self.squares = X.multiply(X).tocsr() if sparse.issparse(X) else X * X
        dtype = X.dtype if isinstance(X, np.ndarray) or sparse.issparse(X) else np.float64
        self.weight = to_device_of(weight[:, None].astype(dtype), X)
        if self.weight.dtype != X.dtype:
            self.weight = namespace_and_device(X)[0].astype(self.weight, X.dtype)

    def with_labels(self, Y: Array) -> "LabelledRows":
        """Return the rows with the labels of a batch; `Y` is an ndarray of shape (n, b)."""
        labels = Y if self.kept is None else Y[self.kept]
        xp, _ = namespace_and_device(self.X)
        if is_numpy(xp):
            return LabelledRows(self, labels.astype(self.X.dtype))
        return LabelledRows(self, xp.astype(to_device_of(labels, self.X), self.X.dtype))


class LabelledRows:
    """Rows in memory with the labels of a batch."""

    def __init__(self, rows: MemoryRows, Y: Array) -> None:
        self.rows, self.Y = rows, Y
        self._d: Any = None

    def take(self, columns: Array) -> "LabelledRows":
        """Return the same rows with some of the labels, at the point of the last `sums`."""
        other = LabelledRows(self.rows, take_columns(self.Y, columns))
        other._d = take_columns(self._d, columns)
        return other

    def sums(self, coef: Array, intercept: Array) -> Sums:
        """Return the sums at log odds X · coef + intercept."""
        X, weight = self.rows.X, self.rows.weight
        xp, _ = namespace_and_device(X)
        odds = X @ coef
        odds += intercept
        loss = xp.sum(weight * log_loss(odds, self.Y), axis=0, dtype=xp.float64)
        p = sigmoid(odds)
        e = p - self.Y
        e *= weight
        p *= 1 - p
        p *= weight
        self._d = p
        return Sums(
            loss, xp.sum(e, axis=0), xp.sum(p, axis=0), X.T @ e, X.T @ p, self.rows.squares.T @ p
        )

    def curvature_product(self, V: Array) -> tuple[Array, Array]:
        """Return Xᵀ(d∘XV) and Σ d∘XV, with d of the last `sums`."""
        X = self.rows.X
        xp, _ = namespace_and_device(X)
        U = X @ V
        U *= self._d
        return X.T @ U, xp.sum(U, axis=0)
