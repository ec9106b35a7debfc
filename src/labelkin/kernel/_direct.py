"""Kernel ridge regression of all labels with one ridge, by a factorisation in single precision.

The eigenvectors of `labelkin.kernel._ridge` serve every ridge of every label, but take some
fifty times as long as one Cholesky factorisation in single precision. Beyond a few thousand rows
one ridge for all labels, chosen on a sample of the rows, is nearly as good: with A = λI + the
centred kernel matrix,

    y − ŷ = λ A⁻¹ (y − ȳ),   I − H = λ A⁻¹ − 11ᵀ/n,

so that leave-fold-out scores have the same closed form: y_B − s = (I − H_BB)⁻¹ (y_B − ŷ_B).
"""

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from labelkin.base import Array, Matrix
from labelkin.kernel._distances import kernel_values, row_blocks, sample_rows, take
from labelkin.kernel._regression import KernelRidge
from labelkin.kernel._ridge import RidgeSpectrum, loo_errors

# Rows on which the ridge is chosen, the share of the smaller sample, and the least and largest
# power of the number of rows with which the ridge changes beyond.
_RIDGE_ROWS, _RIDGE_SHARE = 1_600, 4
_RIDGE_POWERS = (-0.75, 0.0)


class DirectKernelRidge(KernelRidge):
    """Kernel ridge regression of many labels for thousands of rows, all of them exact.

    The width is sought as by `KernelRidge` on `search_rows` rows, the ridge of all labels on
    1,600; then one factorisation of the kernel matrix of all rows in single precision: n² numbers
    of memory. Coefficients are stored in half precision, which changes scores in the fourth
    digit. Parameters, attributes and methods are those of `KernelRidge`; kernels are radial.
    """

    def fit_scores(
        self,
        X: Matrix,
        Y: Array,
        random_state: Any = None,
        fold_of: Array | None = None,
        rows: Array | None = None,
    ) -> Array:
        """Fit, and return leave-one-out or leave-fold-out scores of the training rows."""
        rng = check_random_state(random_state)
        self.landmarks_ = None
        self._search(X, Y, rng, rows)
        self.rows_ = self._prepare(X, self.scale_).astype(np.float32)
        if self.scale_ is not None:
            self.scale_ = self.scale_.astype(np.float32)
        ridge = self._choose_ridge(Y, rng, rows)
        self.ridge_ = np.full(Y.shape[1], ridge)
        K = np.empty((X.shape[0], X.shape[0]), dtype=np.float32)
        start = 0
        for block in row_blocks(self.rows_, X.shape[0]):
            stop = start + block.shape[0]
            K[start:stop] = kernel_values(self.kernel, self.rows_, block, self.width_)
            start = stop
        scores, coef, self.intercept_ = solve_ridge(K, Y, ridge, fold_of)
        self.coef_ = coef.astype(np.float16)
        return scores

    def scores(self, X: Matrix, block_values: int = 2**22) -> Array:
        """Return scores of queries, computed in blocks of at most `block_values` kernel values."""
        coef = self.coef_.astype(np.float32)
        blocks = row_blocks(X, len(coef), block_values)
        return np.concatenate([self._columns(block) @ coef + self.intercept_ for block in blocks])

    def _choose_ridge(self, Y: Array, rng: np.random.RandomState, rows: Array | None) -> float:
        """Return the ridge with the least leave-one-out error, extrapolated from two samples.

        The best ridge often falls with the number of rows, as the power that two samples show.
        """
        among = np.arange(len(Y)) if rows is None else rows
        n = len(among)
        large = among[sample_rows(n, rng, _RIDGE_ROWS)]
        ridge = self._best_ridge(large, Y)
        if n <= _RIDGE_ROWS:
            return ridge
        small = large[sample_rows(_RIDGE_ROWS, rng, _RIDGE_ROWS // _RIDGE_SHARE)]
        power = np.log(ridge / self._best_ridge(small, Y)) / np.log(_RIDGE_SHARE)
        return ridge * (n / _RIDGE_ROWS) ** float(np.clip(power, *_RIDGE_POWERS))

    def _best_ridge(self, sample: Array, Y: Array) -> float:
        K = kernel_values(self.kernel, take(self.rows_, sample), None, self.width_)
        spectrum = RidgeSpectrum.of_kernel(np.asarray(K, dtype=np.float64))
        ridges = self.ridges * spectrum.scale
        return float(ridges[loo_errors(spectrum, Y[sample], ridges).sum(axis=1).argmin()])

    def _columns(self, X: Matrix) -> Any:
        return super()._columns(X.astype(np.float32))


def solve_ridge(
    K: Array, Y: Array, ridge: float, fold_of: Array | None = None
) -> tuple[Array, Array, Array]:
    """Fit ridge regressions of targets, (n, q), all with one λ.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel matrix, C-ordered, float32; overwritten.
    Y : ndarray of shape (n, q)
        The targets.
    ridge : float
        λ.
    fold_of : ndarray of int of shape (n,), optional
        The fold with which a row is left out. None: each row alone.

    Returns
    -------
    scores : ndarray of shape (n, q)
        Score of each row by a model with the same ridge fitted without it, or without its fold.
    coef : ndarray of shape (n, q)
        Coefficients of the columns of the kernel matrix.
    intercept : ndarray of shape (q,)
        Scores are columns @ coef + intercept.
    """
    n = len(K)
    # Smaller ridges than the rounding of eigenvalues would make the matrix indefinite.
    ridge = max(ridge, 4 * float(np.finfo(K.dtype).eps) * float(np.trace(K)))
    column_mean = K.mean(axis=0, dtype=np.float64)
    centre = column_mean.astype(K.dtype)
    K -= centre
    K -= centre[:, None]
    K += K.dtype.type(column_mean.mean())
    K[np.diag_indices(n)] += ridge
    # K is symmetric: its transpose is in Fortran's order, so that nothing is copied.
    factor, failed = linalg.lapack.spotrf(K.T, lower=1, overwrite_a=1)
    if failed:
        raise ValueError("The kernel matrix is not positive definite: a ridge is too small.")
    inverse, _ = linalg.lapack.spotri(factor, lower=1, overwrite_c=1)
    mean = Y.mean(axis=0)
    target = np.asfortranarray(Y - mean, dtype=K.dtype)
    coef = linalg.blas.ssymm(1.0, inverse, target, lower=1)
    coef = np.ascontiguousarray(coef - coef.mean(axis=0))  # they add up to 0, up to rounding
    scores = np.empty(Y.shape)
    folds = np.arange(n) if fold_of is None else fold_of
    for rows in _groups(folds):
        block = inverse[np.ix_(rows, rows)].astype(np.float64)  # only its lower part is filled
        left = ridge * block - 1 / n
        # The shift, far below any ridge, is for a fold of all rows.
        left[np.diag_indices(len(rows))] += 1e-6
        error = linalg.solve(left, ridge * coef[rows], assume_a="pos", lower=True)
        scores[rows] = Y[rows] - error
    return scores, coef, (mean - column_mean @ coef).astype(K.dtype)


def _groups(fold_of: Array) -> list[Array]:
    order = np.argsort(fold_of, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(fold_of[order])) + 1)
