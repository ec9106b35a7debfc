"""Ridge regression of many targets with its exact leave-one-out scores, from one `eigh`.

With an unpenalised intercept, ridge regression in a kernel's feature space is

    minimise over f, b   Σ (yᵢ − f(xᵢ) − b)² + λ |f|²,

and its fitted values are ȳ + U diag(Λ / (Λ + λ)) Uᵀ (y − ȳ), where UΛUᵀ is the centred
kernel matrix. Leaving row i out, refitting (the intercept as well) and asking for row i gives

    yᵢ − (yᵢ − fitted valueᵢ) / (1 − hᵢ),   hᵢ = 1/n + Σⱼ Uᵢⱼ² Λⱼ / (Λⱼ + λ),

exactly. So one decomposition serves every target and every λ, each by a few products. A few
features instead of a kernel (k < n) give the same U and Λ from a k × k decomposition.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils._array_api import _convert_to_numpy, device, get_namespace

from labelkin.base import Array, Matrix

# Multiples of the mean squared norm of the centred rows: from next to no ridge to the prior.
RIDGES = np.logspace(-4, 3, 22)
_BLOCK = 1024


def to_host(values: Any) -> Array:
    """Return an array of any namespace as a NumPy array."""
    return _convert_to_numpy(values, get_namespace(values)[0])


class RidgeSpectrum:
    """The decomposition that every ridge and every target share.

    Make one by `of_kernel` or `of_features`.

    Parameters
    ----------
    vectors : array of shape (n_samples, r)
        U: orthonormal, each column summing to 0.
    values : array of shape (r,)
        Λ, positive.
    basis : array of shape (n_columns, r)
        Turns weights of U's columns into coefficients of the columns of the kernel matrix
        or of the features.
    mean : array of shape (n_columns,)
        Column means of the kernel matrix or of the features.
    """

    def __init__(self, vectors: Any, values: Any, basis: Any, mean: Any) -> None:
        self.vectors, self.values, self.basis, self.mean = vectors, values, basis, mean

    @classmethod
    def of_kernel(cls, K: Any) -> "RidgeSpectrum":
        """Decompose an (n, n) kernel matrix: ridge in the kernel's space."""
        xp, _ = get_namespace(K)
        mean = xp.mean(K, axis=0)
        centred = K - mean[None, :] - mean[:, None] + xp.mean(mean)
        values, vectors = _eigh(centred)
        return cls(vectors, values, vectors, mean)

    @classmethod
    def of_features(cls, Z: Matrix) -> "RidgeSpectrum":
        """Decompose the scatter of features, dense or CSR: the same for k < n, for less."""
        if sparse.issparse(Z):
            mean = np.asarray(Z.mean(axis=0)).ravel().astype(Z.dtype)
            scatter = (Z.T @ Z).toarray() - Z.shape[0] * np.outer(mean, mean)
            values, directions = _eigh(scatter)
            rotated = Z @ directions - mean @ directions
        else:
            xp, _ = get_namespace(Z)
            mean = xp.mean(Z, axis=0)
            centred = Z - mean[None, :]
            values, directions = _eigh(centred.T @ centred)
            rotated = centred @ directions
        roots = values**0.5
        return cls(rotated / roots, values, directions * roots, mean)

    @classmethod
    def of_landmarks(cls, K: Any, blocks: Iterable[Any]) -> "RidgeSpectrum":
        """Decompose a kernel approximated from landmarks (Nyström).

        Parameters
        ----------
        K : array of shape (m, m)
            Kernel values between landmarks.
        blocks : iterable of arrays of shape (b, m)
            Kernel values between the training rows, some at a time, and the landmarks.
        """
        xp, _ = get_namespace(K)
        whitening = _whitening(K)
        parts, columns = [], xp.zeros_like(K[0, :])
        for block in blocks:
            parts.append(block @ whitening)
            columns = columns + xp.sum(block, axis=0)
        n = sum(part.shape[0] for part in parts)
        mean = columns @ whitening / n
        scatter = sum((part.T @ part for part in parts), start=-n * mean[:, None] * mean)
        values, directions = _eigh(scatter)
        roots = values**0.5
        rotation, offset = directions / roots, mean @ directions / roots
        # Each part gives way to its rows of U: the two arrays are never there as a whole.
        vectors = xp.empty((n, values.shape[0]), dtype=K.dtype, device=device(K))
        end = n
        while parts:
            part = parts.pop()
            vectors[end - part.shape[0] : end, :] = part @ rotation - offset
            end -= part.shape[0]
        return cls(vectors, values, whitening @ (directions * roots), columns / n)

    @property
    def scale(self) -> float:
        """Mean squared norm of the centred rows: the unit of ridges."""
        xp, _ = get_namespace(self.values)
        return float(xp.sum(self.values)) / self.vectors.shape[0]

    def left_out(self, shrinkage: Any) -> Any:
        """Return 1 − hᵢ for each column of `shrinkage`, (r, m) of Λ / (Λ + λ)."""
        xp, _ = get_namespace(self.vectors)
        n = self.vectors.shape[0]
        blocks = [
            self.vectors[start : min(start + _BLOCK, n), :] ** 2 @ shrinkage
            for start in range(0, n, _BLOCK)
        ]
        left = 1 - 1 / n - xp.concat(blocks, axis=0)
        # Nothing is left of a single sample without itself; its residual is 0 as well.
        return xp.where(left > 0, left, xp.ones_like(left))


def _whitening(K: Any) -> Any:
    """Return W with W Wᵀ = K⁻¹, or next to it, of a kernel matrix; its range alone counts.

    By Cholesky where it can be had, for a fraction of the time of eigenvectors: of K + δI, δ
    well above the rounding of K, which may have a low rank, and well below any ridge.
    """
    if isinstance(K, np.ndarray):
        shifted = K.copy()
        shift = 10 * len(K) * np.finfo(K.dtype).eps * np.trace(K) / len(K)
        shifted[np.diag_indices(len(K))] += shift
        try:
            root = linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:  # no kernel: it has eigenvalues below 0, which are dropped
            pass
        else:
            unit = np.eye(len(K), dtype=K.dtype)
            return linalg.solve_triangular(root, unit, lower=True, check_finite=False).T
    values, vectors = _eigh(K)
    return vectors / values**0.5


def _eigh(A: Any) -> tuple[Any, Any]:
    """Return the eigenvalues that are not zero to rounding, and their vectors."""
    xp, _ = get_namespace(A)
    values, vectors = xp.linalg.eigh(A)
    largest = max(float(values[-1]), 0.0) if A.shape[0] else 0.0
    tiny = A.shape[0] * float(xp.finfo(A.dtype).eps) * largest
    first = int(xp.sum(xp.astype(values <= tiny, xp.int64)))  # they come in ascending order
    return values[first:], vectors[:, first:]


@dataclass
class LooRidge:
    """A ridge regression with its leave-one-out scores.

    Attributes
    ----------
    ridge : ndarray of shape (n_labels,)
        λ of each label.
    loo_scores : array of shape (n_samples, n_labels)
        What a model fitted without the row says of it, with the same ridge.
    error : float
        Leave-one-out squared error, mean over rows, summed over labels.
    coef : array of shape (n_columns, n_labels)
        Coefficients of the columns of the kernel matrix or of the features.
    intercept : array of shape (n_labels,)
        Scores are columns @ coef + intercept.
    """

    ridge: Array
    loo_scores: Any
    error: float
    coef: Any
    intercept: Any

    def scores(self, columns: Matrix) -> Any:
        """Return the scores of queries from their kernel values or features."""
        return columns @ self.coef + self.intercept


def loo_ridge(
    spectrum: RidgeSpectrum,
    Y: Array,
    ridges: Array = RIDGES,
    shrinkage: float = 0.0,
) -> LooRidge:
    """Fit ridge regressions, the ridge of each label chosen by its leave-one-out error.

    A label with a handful of positives hardly knows its ridge. Its error, relative to its
    variance and weighted by c, the number of samples in its smaller class, is added to the
    mean of all labels' relative errors, weighted by `shrinkage`; the ridge minimises the sum.

    Parameters
    ----------
    spectrum : RidgeSpectrum
        Of the training rows.
    Y : ndarray of shape (n_samples, n_labels)
        Their labels, 0 or 1.
    ridges : ndarray
        What λ is chosen from, in units of the spectrum's scale.
    shrinkage : float
        Weight of the other labels; 0: each label for itself; infinity: one ridge for all.

    Returns
    -------
    LooRidge
    """
    U, values = spectrum.vectors, spectrum.values
    xp, _ = get_namespace(U)
    ridges = ridges * (spectrum.scale or 1.0)
    target = xp.asarray(Y, dtype=U.dtype, device=device(U))
    mean = xp.mean(target, axis=0)
    residual = target - mean
    rotated = U.T @ residual
    candidates = xp.asarray(ridges, dtype=U.dtype, device=device(U))
    kept = values[:, None] / (values[:, None] + candidates)
    left = spectrum.left_out(kept)
    means = []
    for i in range(len(ridges)):
        loo = (residual - U @ (kept[:, i : i + 1] * rotated)) / left[:, i : i + 1]
        means.append(xp.mean(loo**2, axis=0))
    errors = to_host(xp.stack(means)).astype(np.float64)  # a device is waited for once
    best = _choose_ridges(errors, Y, shrinkage)

    chosen = xp.asarray(ridges[best], dtype=U.dtype, device=device(U))
    kept = values[:, None] / (values[:, None] + chosen)
    unexplained = residual - U @ (kept * rotated)
    loo = unexplained / spectrum.left_out(kept)
    if spectrum.basis is U:
        # The same by way of y − f = λα, which needs no eigenvector of a value next to 0: those
        # are noise, and queries would hear it.
        coef = unexplained / chosen
        coef = coef - xp.mean(coef, axis=0)  # they add up to 0, but for rounding
    else:
        coef = spectrum.basis @ (rotated / (values[:, None] + chosen))
    return LooRidge(
        ridge=ridges[best],
        loo_scores=target - loo,
        error=float(errors[best, np.arange(Y.shape[1])].sum()),
        coef=coef,
        intercept=mean - spectrum.mean @ coef,
    )


def _choose_ridges(errors: Array, Y: Array, shrinkage: float) -> Array:
    """Return the best row of (n_ridges, n_labels) errors for each label; ties: the largest."""
    positives = Y.sum(axis=0, dtype=np.float64)
    share = positives / len(Y)
    varies = (share > 0) & (share < 1)
    relative = errors / np.where(varies, share * (1 - share), 1)
    pooled = relative[:, varies].mean(axis=1) if varies.any() else np.zeros(len(errors))
    if np.isinf(shrinkage):
        criterion = np.repeat(pooled[:, None], Y.shape[1], axis=1)
    else:
        smaller = np.minimum(positives, len(Y) - positives)
        criterion = smaller * relative + shrinkage * pooled[:, None]
    return len(errors) - 1 - criterion[::-1].argmin(axis=0)
