"""The decomposition of centred rows that all ridge regressions on them share."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils._array_api import device, get_namespace

from labelkin.base import Array, Matrix
from labelkin.kernel._distances import row_blocks
from labelkin.rows import Rows as Blocks
from labelkin.rows import as_rows as as_blocks


@dataclass
class RidgeSpectrum:
    """The decomposition that every ridge and every target share.

    Made by `of_kernel`, `of_features` or `of_landmarks`.
    """

    rows: Blocks
    """V, (n_samples, r), in blocks: VᵀWV = I, each column with the weighted sum 0."""
    values: Any
    """Λ, (r,), positive."""
    basis: Any
    """Coefficients of the columns of the features or landmarks, (n_columns, r), that make up each
    column of V. None for a kernel matrix, whose coefficients follow from the residuals."""
    mean: Any
    """Column means of the kernel matrix, (n_samples,); of features, means times the basis, (r,)."""
    weight: Any = None
    """w, (n_samples,), positive, on the host. None: all 1."""

    @classmethod
    def of_kernel(cls, K: Any, weight: Array | None = None) -> "RidgeSpectrum":
        """Decompose an (n, n) kernel matrix: ridge in the kernel's space."""
        xp, _ = get_namespace(K)
        if weight is None:
            mean = xp.mean(K, axis=0)
            values, vectors = _eigh(K - mean[None, :] - mean[:, None] + xp.mean(mean))
            return cls(as_blocks(vectors), values, None, mean)
        share, root = like(K, weight / weight.sum()), like(K, weight**0.5)
        mean = share @ K
        centred = K - mean[None, :] - mean[:, None] + share @ mean
        values, vectors = _eigh(centred * root[:, None] * root[None, :])
        return cls(as_blocks(vectors / root[:, None]), values, None, mean, weight)

    @classmethod
    def of_features(cls, Z: Matrix, weight: Array | None = None) -> "RidgeSpectrum":
        """Decompose the scatter of features, dense or CSR: the same for k < n, for less."""
        if sparse.issparse(Z):
            if weight is None:
                total, mean, weighted = Z.shape[0], np.asarray(Z.mean(axis=0)).ravel(), Z
            else:
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
                mean = like(Z, weight / weight.sum()) @ Z
                centred = Z - mean[None, :]
                weighted = weigh(centred, weight)
            values, directions = _eigh(centred.T @ weighted)
            rotated = centred @ directions
        roots = values**0.5
        basis = directions * roots
        return cls(as_blocks(rotated / roots), values, basis, mean @ basis, weight)

    @classmethod
    def of_landmarks(cls, K: Any, columns: Blocks, weight: Array | None = None) -> "RidgeSpectrum":
        """Decompose a kernel approximated from m landmarks (Nyström).

        `K` is the kernel of the landmarks, (m, m), `columns` that of the training rows and the
        landmarks, in memory or on workers. They are replaced: two arrays of this size never exist
        together.
        """
        whitening = _whitening(K)
        rows = columns.apply(_product, [whitening], whitening.shape[1]).persist()
        total = float(rows.starts[-1] if weight is None else weight.sum())
        sums, scatter = rows.total(_moments, [rows.split(weight)])
        mean = sums / total
        values, directions = _eigh(scatter - total * mean[:, None] * mean)
        roots = values**0.5
        rotation, offset = directions / roots, mean @ directions / roots
        rows = rows.apply(_rotation, [rotation, offset], values.shape[0]).persist()
        basis = directions * roots
        return cls(rows, values, whitening @ basis, mean @ basis, weight)

    @property
    def vectors(self) -> Any:
        """V of rows in memory as one array."""
        blocks = self.rows.collect(_identity)
        return blocks[0] if len(blocks) == 1 else get_namespace(*blocks)[0].concat(blocks, axis=0)

    @property
    def total(self) -> float:
        """Sum of the weights; without them the number of rows."""
        return float(self.rows.starts[-1] if self.weight is None else self.weight.sum())

    @property
    def scale(self) -> float:
        """Mean squared norm of the centred rows, the unit of ridges; 1 if all rows are equal."""
        xp, _ = get_namespace(self.values)
        return float(xp.sum(self.values)) / self.total or 1.0


def weigh(rows: Any, weight: Array | None) -> Any:
    """Return an (n, m) array with its rows multiplied by their weights; None: all 1."""
    return rows if weight is None else rows * like(rows, weight)[:, None]


def left_out(V: Any, weight: Array | None, total: float, shrinkage: Any) -> Any:
    """Return 1 − hᵢ of rows of V for each column of `shrinkage`, (r, m) of Λ / (Λ + λ)."""
    xp, _ = get_namespace(V)
    blocks = [block**2 @ shrinkage for block in row_blocks(V, shrinkage.shape[0])]
    left = 1 - weigh(1 / total + xp.concat(blocks, axis=0), weight)
    # 0 for a single sample, whose residual is 0 as well.
    return xp.where(left > 0, left, xp.ones_like(left))


def _identity(block: Any) -> Any:
    return block


def _product(block: Any, matrix: Any) -> Any:
    return block @ matrix


def _rotation(block: Any, matrix: Any, offset: Any) -> Any:
    return block @ matrix - offset


def _moments(block: Any, weight: Array | None) -> tuple[Any, Any]:
    """Return weighted sums of the columns of a block and of their products."""
    weighted = weigh(block, weight)
    return get_namespace(block)[0].sum(weighted, axis=0), block.T @ weighted


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
