"""The decomposition of centred rows that all ridge regressions on them share."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils._array_api import device, get_namespace

from labelkin.base import Array, Matrix
from labelkin.kernel._distances import row_blocks


@dataclass
class RidgeSpectrum:
    """The decomposition that every ridge and every target share.

    Made by `of_kernel`, `of_features` or `of_landmarks`.
    """

    vectors: Any
    """V, (n_samples, r): VᵀWV = I, each column with the weighted sum 0."""
    values: Any
    """Λ, (r,), positive."""
    basis: Any
    """Coefficients of the columns of the features or landmarks, (n_columns, r), that make up each
    column of V. None for a kernel matrix, whose coefficients follow from the residuals."""
    mean: Any
    """Column means of the kernel matrix or of the features, (n_columns,)."""
    weight: Any = None
    """w, (n_samples,), positive. None: all 1."""

    @classmethod
    def of_kernel(cls, K: Any, weight: Array | None = None) -> "RidgeSpectrum":
        """Decompose an (n, n) kernel matrix: ridge in the kernel's space."""
        xp, _ = get_namespace(K)
        if weight is None:
            mean = xp.mean(K, axis=0)
            values, vectors = _eigh(K - mean[None, :] - mean[:, None] + xp.mean(mean))
            return cls(vectors, values, None, mean)
        weight = like(K, weight)
        share, root = weight / xp.sum(weight), weight**0.5
        mean = share @ K
        centred = K - mean[None, :] - mean[:, None] + share @ mean
        values, vectors = _eigh(centred * root[:, None] * root[None, :])
        return cls(vectors / root[:, None], values, None, mean, weight)

    @classmethod
    def of_features(cls, Z: Matrix, weight: Array | None = None) -> "RidgeSpectrum":
        """Decompose the scatter of features, dense or CSR: the same for k < n, for less."""
        if sparse.issparse(Z):
            if weight is None:
                total, mean, weighted = Z.shape[0], np.asarray(Z.mean(axis=0)).ravel(), Z
            else:
                weight = weight.astype(Z.dtype)
                total, weighted = weight.sum(), Z.multiply(weight[:, None])
                mean = Z.T @ (weight / total)
            mean = mean.astype(Z.dtype)
            scatter = (Z.T @ weighted).toarray() - total * np.outer(mean, mean)
            values, directions = _eigh(scatter)
            rotated = Z @ directions - mean @ directions
        else:
            xp, _ = get_namespace(Z)
            if weight is None:
                mean = xp.mean(Z, axis=0)
                centred = weighted = Z - mean[None, :]
            else:
                weight = like(Z, weight)
                mean = weight @ Z / xp.sum(weight)
                centred = Z - mean[None, :]
                weighted = centred * weight[:, None]
            values, directions = _eigh(centred.T @ weighted)
            rotated = centred @ directions
        roots = values**0.5
        return cls(rotated / roots, values, directions * roots, mean, weight)

    @classmethod
    def of_landmarks(
        cls, K: Any, blocks: Iterable[Any], weight: Array | None = None
    ) -> "RidgeSpectrum":
        """Decompose a kernel approximated from m landmarks (Nyström).

        `K` is the kernel of the landmarks, (m, m), `blocks` that of the training rows and the
        landmarks, some rows at a time.
        """
        xp, _ = get_namespace(K)
        whitening = _whitening(K)
        weight = None if weight is None else like(K, weight)
        parts, columns, scatter, n = [], xp.zeros_like(K[0, :]), 0.0, 0
        for block in blocks:
            part = block @ whitening
            parts.append(part)
            rows = slice(n, n + part.shape[0])
            n = rows.stop
            if weight is None:
                columns, scatter = columns + xp.sum(block, axis=0), scatter + part.T @ part
            else:
                columns = columns + weight[rows] @ block
                scatter = scatter + part.T @ (part * weight[rows][:, None])
        total = n if weight is None else xp.sum(weight)
        mean = columns @ whitening / total
        values, directions = _eigh(scatter - total * mean[:, None] * mean)
        roots = values**0.5
        rotation, offset = directions / roots, mean @ directions / roots
        # Each part is freed after its rows of U: the two (n, m) arrays never exist together.
        vectors = xp.empty((n, values.shape[0]), dtype=K.dtype, device=device(K))
        end = n
        while parts:
            part = parts.pop()
            vectors[end - part.shape[0] : end, :] = part @ rotation - offset
            end -= part.shape[0]
        return cls(vectors, values, whitening @ (directions * roots), columns / total, weight)

    @property
    def total(self) -> float:
        """Sum of the weights; without them the number of rows."""
        if self.weight is None:
            return self.vectors.shape[0]
        return float(get_namespace(self.weight)[0].sum(self.weight))

    @property
    def scale(self) -> float:
        """Mean squared norm of the centred rows, the unit of ridges; 1 if all rows are equal."""
        xp, _ = get_namespace(self.values)
        return float(xp.sum(self.values)) / self.total or 1.0

    def weigh(self, rows: Any) -> Any:
        """Return an (n_samples, m) array with its rows multiplied by their weights."""
        return rows if self.weight is None else rows * self.weight[:, None]

    def left_out(self, shrinkage: Any) -> Any:
        """Return 1 − hᵢ for each column of `shrinkage`, (r, m) of Λ / (Λ + λ)."""
        xp, _ = get_namespace(self.vectors)
        blocks = [block**2 @ shrinkage for block in row_blocks(self.vectors, shrinkage.shape[0])]
        left = 1 - self.weigh(1 / self.total + xp.concat(blocks, axis=0))
        # 0 for a single sample, whose residual is 0 as well.
        return xp.where(left > 0, left, xp.ones_like(left))


def _whitening(K: Any) -> Any:
    """Return W with W Wᵀ ≈ K⁻¹ on the range of a kernel matrix.

    By Cholesky where possible, for a fraction of the time of eigenvectors: of K + δI, δ
    well above the rounding of K, which may have a low rank, and well below any ridge.
    """
    if isinstance(K, np.ndarray):
        shifted = K.copy()
        shift = 10 * len(K) * np.finfo(K.dtype).eps * np.trace(K) / len(K)
        shifted[np.diag_indices(len(K))] += shift
        try:
            root = linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:  # negative eigenvalues, which are dropped below
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
    first = int(xp.sum(xp.astype(values <= tiny, xp.int64)))  # values are ascending
    return values[first:], vectors[:, first:]


def like(A: Any, values: Array) -> Any:
    """Return values in the namespace, on the device and of the type of an array."""
    xp, _ = get_namespace(A)
    return xp.asarray(values, dtype=A.dtype, device=device(A))
