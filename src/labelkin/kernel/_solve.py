"""Ridge regressions of many targets with one ridge, from one factorisation of the kernel matrix.

With A = λI + the centred kernel matrix,

    y − ŷ = λ A⁻¹ (y − ȳ),   I − H = λ A⁻¹ − 11ᵀ/n,

so that leave-fold-out scores have the closed form of `labelkin.kernel._ridge`:
y_B − s = (I − H_BB)⁻¹ (y_B − ŷ_B). With weights, W = diag(w), and means weighted by them,
A = λW⁻¹ + the centred kernel matrix, y − ŷ = λ W⁻¹A⁻¹ (y − ȳ) and W (I − H) = λA⁻¹ − wwᵀ/Σw.
"""

import numpy as np
from sklearn.utils import gen_batches

from labelkin.base import Array
from labelkin.rows import (
    add_to_diagonal,
    astype,
    column_dots,
    concatenate,
    diagonal,
    inverse_cholesky,
    match,
    namespace,
    solve_positive,
    take,
    to_device_of,
)

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
    # A block of A⁻¹ is a product of columns of L⁻¹, at half of the cost of all of it.
    root = inverse_cholesky(K)
    coef = root.T @ (root @ match(Y - mean, root))
    # They add up to 0, up to rounding.
    coef = coef - namespace(coef).mean(coef, axis=0)
    intercept = to_device_of(mean, coef) - column_mean @ astype(coef, "float64")
    if fold_of is None:
        left = ridge * column_dots(root, root, "float64") - to_device_of(weight * share, coef)
        error = ridge * coef / left[:, None]
    else:
        order = np.argsort(fold_of, kind="stable")
        folds = np.split(order, np.flatnonzero(np.diff(fold_of[order])) + 1)
        errors = []
        for rows in folds:
            columns = take(root, rows, axis=1)
            left = ridge * astype(columns.T @ columns, "float64")
            left = left - to_device_of(np.outer(weight[rows], share[rows]), coef)
            # The shift, far below any ridge, is for a fold of all rows.
            left = add_to_diagonal(left, 1e-6)
            errors.append(solve_positive(left, astype(ridge * take(coef, rows), "float64")))
        error = take(concatenate(errors), np.argsort(np.concatenate(folds)))
    return to_device_of(Y.astype(np.float64), coef) - error, coef, intercept


def least_ridge(K: Array, weight: Array | None = None) -> float:
    """Return the ridge below which scores would depend on the rounding of a kernel matrix."""
    total = diagonal(K).sum() if weight is None else diagonal(K) @ weight
    return _LEAST_RIDGE * float(namespace(K).finfo(K.dtype).eps) * float(total)
