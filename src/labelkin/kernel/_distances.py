"""Kernels between rows: distances once, kernels of any width from them.

Rows are arrays of any namespace or CSR matrices; distances and kernel values are dense.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from labelkin.base import Array, Matrix
from labelkin.rows import (
    as_dense,
    namespace,
    namespace_and_device,
    products,
    scale_columns,
    squared_norms,
    unit_rows,
)

RADIAL = ("rbf", "laplacian")
LINEAR = ("linear", "cosine")


def kernel_values(
    kernel: str | Callable[[Any, Any], Any],
    X: Matrix,
    Q: Matrix | None = None,
    width: float | None = None,
) -> Any:
    """Return kernel values of queries (None: of the rows) and the rows.

    Radial kernels have a width; linear ones are inner products of rows prepared already.
    """
    if kernel in RADIAL:
        return radial(squared_distances(X, Q), str(kernel), width or 1.0)
    Q = X if Q is None else Q
    if callable(kernel):
        return as_dense(kernel(Q, X))
    return products(Q, X)


def radial(distances: Any, kernel: str, width: float) -> Any:
    """Return the values of a radial kernel from squared Euclidean distances d².

    ``"rbf"``: exp(−d² / 2·width²); ``"laplacian"``: exp(−d / width).
    """
    xp = namespace(distances)
    if kernel == "laplacian":
        return xp.exp(xp.sqrt(distances) * (-1 / width))
    return xp.exp(distances * (-0.5 / width**2))


def squared_distances(X: Matrix, Q: Matrix | None = None) -> Any:
    """Return squared Euclidean distances of queries (None: of the rows) to the rows."""
    among_rows = Q is None
    Q = X if Q is None else Q
    if not sparse.issparse(X) and not sparse.issparse(Q):
        # |x|² − 2x·z + |z|² loses digits when the data lie far from the origin.
        offset = namespace(X).mean(X, axis=0)
        X, Q = X - offset, Q - offset
    found = -2 * products(Q, X)
    found += squared_norms(Q)[:, None]
    found += squared_norms(X)[None, :]
    xp, device = namespace_and_device(found)
    found = xp.where(found > 0, found, xp.zeros_like(found))
    if among_rows:  # exactly 0, without rounding
        diagonal = xp.arange(X.shape[0], device=device)
        found = xp.where(diagonal[:, None] == diagonal[None, :], 0.0, found)
    return found


def prepare_rows(X: Matrix, scale: Any = None, unit: bool = False) -> Matrix:
    """Return rows with their columns divided by `scale`, then of length 1 if `unit`."""
    X = X if scale is None else scale_columns(X, 1 / scale)
    return unit_rows(X) if unit else X


def sample_rows(n: int, rng: np.random.RandomState, size: int) -> Array:
    """Return the indices of all rows, or of a random sample of `size`, in order."""
    return np.arange(n) if n <= size else np.sort(rng.permutation(n)[:size])
