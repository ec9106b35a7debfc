"""The decomposition of centred rows that all ridge regressions on them share."""

from dataclasses import dataclass
from typing import Any

from labelkin.base import Array, Matrix
from labelkin.rows import (
    Rows,
    add_to_diagonal,
    as_dense,
    as_rows,
    diagonal,
    eigh_positive,
    inverse_cholesky,
    match,
    namespace,
)


@dataclass
class RidgeSpectrum:
    """The decomposition that every ridge and every target share.

    Made by `of_kernel`, `of_features` or `of_landmarks`.
    """

    rows: Rows
    """V, (n_samples, r): VᵀWV = I, each column with the weighted sum 0."""
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
        xp = namespace(K)
        if weight is None:
            mean = xp.mean(K, axis=0)
            centred = K - mean[None, :] - mean[:, None] + xp.mean(mean)
            values, vectors = eigh_positive(centred)
            return cls(as_rows(vectors), values, None, mean)
        share, root = match(weight / weight.sum(), K), match(weight**0.5, K)
        mean = share @ K
        centred = K - mean[None, :] - mean[:, None] + share @ mean
        values, vectors = eigh_positive(centred * root[:, None] * root[None, :])
        return cls(as_rows(vectors / root[:, None]), values, None, mean, weight)

    @classmethod
    def of_features(cls, Z: Matrix, weight: Array | None = None) -> "RidgeSpectrum":
        """Decompose the scatter of features, dense or CSR: the same for k < n, for less."""
        mean = as_rows(Z).moments(weight).mean
        centred = as_dense(Z) - mean  # no larger than V
        values, directions = eigh_positive(centred.T @ weigh(centred, weight))
        roots = values**0.5
        rotated = as_rows(centred @ directions / roots)
        basis = directions * roots
        return cls(rotated, values, basis, mean @ basis, weight)

    @classmethod
    def of_landmarks(cls, K: Any, columns: Rows, weight: Array | None = None) -> "RidgeSpectrum":
        """Decompose a kernel approximated from m landmarks (Nyström).

        `K` is the kernel of the landmarks, (m, m), `columns` that of the training rows and the
        landmarks.
        """
        whitening = _whitening(K)
        rows = columns.apply(_product, [whitening], whitening.shape[1]).persist()
        total = float(len(rows) if weight is None else weight.sum())
        sums, scatter = rows.total(_moments, [rows.split(weight)])
        mean = sums / total
        values, directions = eigh_positive(scatter - total * mean[:, None] * mean)
        roots = values**0.5
        rotation, offset = directions / roots, mean @ directions / roots
        rows = rows.apply(_rotation, [rotation, offset], values.shape[0]).persist()
        basis = directions * roots
        return cls(rows, values, whitening @ basis, mean @ basis, weight)

    @property
    def total(self) -> float:
        """Sum of the weights; without them the number of rows."""
        return float(len(self.rows) if self.weight is None else self.weight.sum())

    @property
    def scale(self) -> float:
        """Mean squared norm of the centred rows, the unit of ridges; 1 if all rows are equal."""
        return float(namespace(self.values).sum(self.values)) / self.total or 1.0


def weigh(rows: Any, weight: Array | None) -> Any:
    """Return an (n, m) array with its rows multiplied by their weights; None: all 1."""
    return rows if weight is None else rows * match(weight, rows)[:, None]


def _whitening(K: Any) -> Any:
    """Return W with W Wᵀ ≈ K⁻¹ on the range of a kernel matrix.

    By Cholesky where possible, for a fraction of the time of eigenvectors: of K + δI, δ
    well above the rounding of K, which may have a low rank, and well below any ridge.
    """
    xp = namespace(K)
    shift = 10 * float(xp.finfo(K.dtype).eps) * float(diagonal(K).sum())
    try:
        return inverse_cholesky(add_to_diagonal(xp.asarray(K, copy=True), shift)).T
    except ValueError:  # negative eigenvalues, which are dropped
        values, vectors = eigh_positive(K)
        return vectors / values**0.5


# Functions of a block.


def _product(block: Any, matrix: Any) -> Any:
    return block @ matrix


def _rotation(block: Any, matrix: Any, offset: Any) -> Any:
    return block @ matrix - offset


def _moments(block: Any, weight: Array | None) -> tuple[Any, Any]:
    """Return weighted sums of the columns of a block and of their products."""
    weighted = weigh(block, weight)
    return namespace(block).sum(weighted, axis=0), block.T @ weighted
