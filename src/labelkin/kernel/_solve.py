"""Ridge regressions of many targets with one ridge, from one factorisation of the kernel matrix.

With A = λI + the centred kernel matrix,

    y − ŷ = λ A⁻¹ (y − ȳ),   I − H = λ A⁻¹ − 11ᵀ/n,

so that leave-fold-out scores have the closed form of `labelkin.kernel._ridge`:
y_B − s = (I − H_BB)⁻¹ (y_B − ŷ_B). With weights, W = diag(w), and means weighted by them,
A = λW⁻¹ + the centred kernel matrix, y − ŷ = λ W⁻¹A⁻¹ (y − ȳ) and W (I − H) = λA⁻¹ − wwᵀ/Σw.
"""

import numpy as np
from scipy import linalg
from sklearn.utils import gen_batches

from labelkin._utils.array_api import (
    ascontiguousarray,
    astype,
    is_numpy,
    namespace_and_device,
    to_device_of,
    to_numpy,
)
from labelkin.base import Array
from labelkin.kernel._distances import take

# The least ridge, in units of the rounding of the largest possible eigenvalue: below, leave-fold-
# out scores would depend on rounding.
_LEAST_RIDGE = 40
# Rows of the kernel matrix that are summed at a time.
_MEAN_ROWS = 512


def solve_ridge(
    K: Array,
    Y: Array,
    ridge: float,
    fold_of: Array | None = None,
    weight: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Fit ridge regressions of targets, (n, q), all with one λ.

    `K` is C-ordered, its type is that of the arithmetic, and it is overwritten; the other arrays
    are on the host. Returns the scores of the rows, each by a model without it or without its fold,
    and the coefficients and intercepts, where `K` lies: scores of queries are
    columns @ coef + intercept.
    """
    xp, _ = namespace_and_device(K)
    weight = np.ones(len(Y)) if weight is None else weight
    share = weight / weight.sum()
    ridge = max(ridge, least_ridge(K, weight))
    # In double precision, some rows at a time: coefficients of both signs cancel in its product.
    column_mean = sum(
        to_device_of(share[batch], K) @ astype(K[batch, :], "float64")
        for batch in gen_batches(len(Y), _MEAN_ROWS)
    )
    centre = astype(column_mean, K.dtype)
    K -= centre
    K -= centre[:, None]
    K += float(to_device_of(share, K) @ column_mean)
    K = add_to_diagonal(K, ridge / weight)
    mean = share @ Y
    coef, root = _solve_and_invert(K, Y - mean)
    # They add up to 0, up to rounding.
    coef = ascontiguousarray(coef - xp.mean(coef, axis=0))
    intercept = to_device_of(mean, K) - column_mean @ astype(coef, "float64")
    if fold_of is None:
        left = ridge * _squared_columns(root) - to_device_of(weight * share, K)
        error = ridge * coef / left[:, None]
    else:
        folds = _groups(fold_of)
        errors = []
        for rows in folds:
            block = astype(_products_of(root, rows), "float64")
            left = ridge * block - to_device_of(np.outer(weight[rows], share[rows]), K)
            # The shift, far below any ridge, is for a fold of all rows.
            left = add_to_diagonal(left, np.full(len(rows), 1e-6))
            errors.append(_solve_positive(left, astype(ridge * take(coef, rows), "float64")))
        error = take(xp.concat(errors, axis=0), np.argsort(np.concatenate(folds)))
    return to_device_of(Y.astype(np.float64), K) - error, coef, intercept


def least_ridge(K: Array, weight: Array | None = None) -> float:
    """Return the ridge below which scores would depend on the rounding of a kernel matrix."""
    xp, _ = namespace_and_device(K)
    total = diagonal(K).sum() if weight is None else diagonal(K) @ weight
    return _LEAST_RIDGE * float(xp.finfo(K.dtype).eps) * float(total)


def diagonal(A: Array) -> Array:
    """Return the diagonal of a matrix, which may be on a device, as an ndarray."""
    xp, _ = namespace_and_device(A)
    return A.diagonal() if is_numpy(xp) else to_numpy(xp.linalg.diagonal(A))


def _groups(fold_of: Array) -> list[Array]:
    order = np.argsort(fold_of, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(fold_of[order])) + 1)


# NumPy arrays are overwritten by LAPACK; for others there is the array API, which has no solver of
# triangular equations.


def _solve_and_invert(A: Array, target: Array) -> tuple[Array, Array]:
    """Return A⁻¹ · target and L⁻¹ of A = L Lᵀ, both where A lies; they may overwrite A.

    The target is an ndarray.

    A block of A⁻¹ is a product of columns of L⁻¹, at half of the cost of all of it.
    """
    xp, _ = namespace_and_device(A)
    if not is_numpy(xp):
        root = xp.linalg.inv(xp.linalg.cholesky(A))
        return root.T @ (root @ astype(to_device_of(target, A), A.dtype)), root
    # A is symmetric: its transpose is in Fortran's order, so that nothing is copied.
    factorise, solve, invert = linalg.get_lapack_funcs(("potrf", "potrs", "trtri"), (A,))
    factor, failed = factorise(A.T, lower=1, overwrite_a=1)
    if failed:
        raise ValueError("The kernel matrix is not positive definite, up to rounding.")
    solved, _ = solve(factor, np.asfortranarray(target, dtype=A.dtype), lower=1, overwrite_b=1)
    root, _ = invert(factor, lower=1, overwrite_c=1)
    return solved, root


def add_to_diagonal(A: Array, values: Array) -> Array:
    """Add an ndarray to the diagonal of a matrix; NumPy arrays are overwritten."""
    xp, device = namespace_and_device(A)
    if is_numpy(xp):
        A[np.diag_indices(len(A))] += values
        return A
    eye = xp.eye(A.shape[0], dtype=A.dtype, device=device)
    return A + eye * astype(to_device_of(values, A), A.dtype)


def _squared_columns(A: Array) -> Array:
    """Return the squared length of each column in double precision."""
    xp, _ = namespace_and_device(A)
    if is_numpy(xp):
        return np.einsum("ij,ij->j", A, A, dtype=np.float64)
    return xp.sum(A * A, axis=0, dtype=xp.float64)


def _products_of(A: Array, columns: Array) -> Array:
    """Return the products of some columns; of NumPy arrays the lower triangle, in half the time."""
    xp, _ = namespace_and_device(A)
    if is_numpy(xp):
        return linalg.get_blas_funcs("syrk", (A,))(1.0, A[:, columns], trans=1, lower=1)
    part = take(A, columns, axis=1)
    return part.T @ part


def _solve_positive(A: Array, b: Array) -> Array:
    """Solve equations with a positive definite matrix, given by its lower triangle or whole."""
    xp, _ = namespace_and_device(A)
    return linalg.solve(A, b, assume_a="pos", lower=True) if is_numpy(xp) else xp.linalg.solve(A, b)
