"""Kernels between rows: distances once, kernels of any width from them.

Rows are arrays of any namespace or CSR matrices; distances and kernel values are dense.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from labelkin.base import Array, Matrix
from labelkin.rows import CsrRows, namespace, rows_in_memory

RADIAL = ("rbf", "laplacian", "manhattan")
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
        return radial(distances(str(kernel), X, Q), str(kernel), width or 1.0)
    Q = X if Q is None else Q
    if callable(kernel):
        return rows_in_memory(kernel(Q, X)).dense()
    return rows_in_memory(Q).products(rows_in_memory(X))


def radial(distances: Any, kernel: str, width: float) -> Any:
    """Return the values of a radial kernel from the distances on which it depends.

    - ``"rbf"``: exp(−d² / 2·width²) from squared Euclidean distances d²;
    - ``"laplacian"``: exp(−d / width) from d²;
    - ``"manhattan"``: exp(−d / 2·width²) from sums of absolute differences d.
    """
    xp = namespace(distances)
    if kernel == "laplacian":
        return xp.exp(xp.sqrt(distances) * (-1 / width))
    return xp.exp(distances * (-0.5 / width**2))


def distances(kernel: str, X: Matrix, Q: Matrix | None = None) -> Any:
    """Return the distances on which a radial kernel depends, of queries (None: rows) to rows."""
    if kernel == "manhattan":
        return rows_in_memory(X if Q is None else Q).sums_of_differences(rows_in_memory(X))
    return squared_distances(X, Q)


def squared_distances(X: Matrix, Q: Matrix | None = None) -> Any:
    """Return squared Euclidean distances of queries (None: of the rows) to the rows."""
    among_rows = Q is None
    rows, queries = rows_in_memory(X), rows_in_memory(X if Q is None else Q)
    if not isinstance(rows, CsrRows) and not isinstance(queries, CsrRows):
        # |x|² − 2x·z + |z|² loses digits when the data lie far from the origin.
        offset = namespace(X).mean(X, axis=0)
        rows = rows_in_memory(X - offset)
        queries = rows if among_rows else rows_in_memory(Q - offset)
    found = -2 * queries.products(rows)
    found += queries.squared_norms()[:, None]
    found += rows.squared_norms()[None, :]
    xp = namespace(found)
    found = xp.where(found > 0, found, xp.zeros_like(found))
    if among_rows:  # exactly 0, without rounding
        diagonal = xp.arange(len(rows), device=rows.place.device)
        found = xp.where(diagonal[:, None] == diagonal[None, :], 0.0, found)
    return found


def prepare_rows(X: Matrix, scale: Any = None, unit: bool = False) -> Matrix:
    """Return rows with their columns divided by `scale`, then of length 1 if `unit`."""
    rows = rows_in_memory(X)
    rows = rows if scale is None else rows.scale_columns(1 / scale)
    return (rows.unit() if unit else rows).gather()


def sample_rows(n: int, rng: np.random.RandomState, size: int) -> Array:
    """Return the indices of all rows, or of a random sample of `size`, in order."""
    return np.arange(n) if n <= size else np.sort(rng.permutation(n)[:size])
