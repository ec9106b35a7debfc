"""Linear algebra for NumPy arrays and for arrays on devices."""

from typing import Any

import numpy as np

from labelkin.rows._place import astype, is_numpy, match, namespace, to_numpy

Array = Any

# Rows of a matrix that are added up as one.
_FOLDED = 16
# Rows of half of a matrix below which it is factorised directly.
_HALF = 64


def eigh_positive(A: Array) -> tuple[Array, Array]:
    """Return the eigenvalues that are positive beyond rounding, ascending, and their vectors."""
    xp = namespace(A)
    values, vectors = xp.linalg.eigh(A)
    largest = max(float(values[-1]), 0.0) if A.shape[0] else 0.0
    tiny = A.shape[0] * float(xp.finfo(A.dtype).eps) * largest
    first = int(xp.sum(xp.astype(values <= tiny, xp.int64)))
    return values[first:], vectors[:, first:]


def inverse_cholesky(A: Array) -> Array:
    """Overwrite A = L Lᵀ by L⁻¹, lower triangular, and return it.

    By halves: of products, which run in several threads at once, where SciPy's factorisation holds
    Python's global lock. Raises ValueError if A is not positive definite, up to rounding.
    """
    xp, half = namespace(A), A.shape[0] // 2
    if half < _HALF:
        try:
            A[:, :] = xp.linalg.inv(xp.linalg.cholesky(A))
        except (np.linalg.LinAlgError, RuntimeError):  # torch's error is of the latter kind
            A[:, :] = xp.nan
        if not bool(xp.all(xp.isfinite(A))):
            raise ValueError("The kernel matrix is not positive definite, up to rounding.")
        return A
    first, second = A[:half, :half], A[half:, half:]
    below = A[half:, :half] @ inverse_cholesky(first).T
    second -= below @ below.T
    A[half:, :half] = inverse_cholesky(second) @ (below @ first)
    A[half:, :half] *= -1
    A[:half, half:] = 0
    return A


def diagonal(A: Array) -> np.ndarray:
    """Return the diagonal of a matrix as an ndarray."""
    xp = namespace(A)
    return A.diagonal() if is_numpy(xp) else to_numpy(xp.linalg.diagonal(A))


def add_to_diagonal(A: Array, values: Any) -> Array:
    """Add a number or an ndarray to the diagonal of a matrix; a NumPy array is overwritten."""
    xp = namespace(A)
    if is_numpy(xp):
        A[np.diag_indices(len(A))] += values
        return A
    numbers = match(np.broadcast_to(values, A.shape[:1]), A)
    return A + xp.eye(A.shape[0], dtype=A.dtype, device=A.device) * numbers


def column_dots(A: Array, B: Array, dtype: Any = None) -> Array:
    """Return the products of the columns of two matrices, summed in a dtype; None: in theirs."""
    xp = namespace(A)
    if not is_numpy(xp):
        return xp.sum(A * B if dtype is None else astype(A * B, dtype), axis=0)
    if dtype is not None:
        return np.einsum("ij,ij->j", A, B, dtype=dtype)
    n, b = A.shape
    tail = n - n % _FOLDED
    # Several rows as one: partial sums, which keep more digits in single precision.
    wide = (array[:tail].reshape(-1, _FOLDED * b) for array in (A, B))
    found = np.einsum("ij,ij->j", *wide).reshape(_FOLDED, b).sum(axis=0)
    return found + np.einsum("ij,ij->j", A[tail:], B[tail:])


def column_sums(A: Array) -> Array:
    """Return the sums of the columns of a matrix; BLAS adds rows faster than NumPy."""
    xp = namespace(A)
    return np.ones(len(A), A.dtype) @ A if is_numpy(xp) else xp.sum(A, axis=0)
