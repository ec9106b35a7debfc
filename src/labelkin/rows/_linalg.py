"""Linear algebra for NumPy arrays and for arrays on devices, written once for each.

NumPy arrays go to LAPACK in place, which takes half of the memory, and a third of the time where a
matrix is triangular: the array API has no solver for that.
"""

from typing import Any

import numpy as np
from scipy import linalg

from labelkin.rows._place import astype, is_numpy, match, namespace, to_numpy

Array = Any

# Rows of a matrix that are added up as one.
_FOLDED = 16


def eigh_positive(A: Array) -> tuple[Array, Array]:
    """Return the eigenvalues that are positive beyond rounding, ascending, and their vectors."""
    xp = namespace(A)
    values, vectors = xp.linalg.eigh(A)
    largest = max(float(values[-1]), 0.0) if A.shape[0] else 0.0
    tiny = A.shape[0] * float(xp.finfo(A.dtype).eps) * largest
    first = int(xp.sum(xp.astype(values <= tiny, xp.int64)))
    return values[first:], vectors[:, first:]


def inverse_cholesky(A: Array) -> Array:
    """Return L⁻¹ of A = L Lᵀ, lower triangular; a C-ordered NumPy array is overwritten.

    Raises ValueError if A is not positive definite, up to rounding.
    """
    xp = namespace(A)
    failed: Any = True
    if is_numpy(xp):
        # A is symmetric: its transpose is in Fortran's order, so that nothing is copied.
        factorise, invert = linalg.get_lapack_funcs(("potrf", "trtri"), (A,))
        factor, failed = factorise(A.T, lower=1, overwrite_a=1)
        if not failed:
            return invert(factor, lower=1, overwrite_c=1)[0]
    else:
        try:
            root = xp.linalg.inv(xp.linalg.cholesky(A))
            failed = not bool(xp.all(xp.isfinite(root)))  # CuPy's sign of failure
        except (np.linalg.LinAlgError, RuntimeError):  # torch's error is of the latter kind
            pass
    if failed:
        raise ValueError("The kernel matrix is not positive definite, up to rounding.")
    return root


def solve_positive(A: Array, b: Array) -> Array:
    """Solve equations with a positive definite matrix, or a stack of them; A is overwritten."""
    xp = namespace(A)
    if not is_numpy(xp) or A.ndim > 2:
        return xp.linalg.solve(A, b)
    return linalg.solve(A, b, assume_a="pos", overwrite_a=True, check_finite=False)


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
