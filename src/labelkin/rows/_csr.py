"""Rows in a SciPy CSR matrix; what is computed of them is dense."""

from typing import Any

import numpy as np
from scipy import sparse

from labelkin.rows._rows import Array, ColumnMoments, Matrix, MemoryRows


class CsrRows(MemoryRows):
    """Rows in a SciPy CSR matrix."""

    in_threads = True

    @staticmethod
    def holds(X: Any) -> bool:
        """Whether a matrix is of this kind."""
        return sparse.issparse(X)

    def _stack(self) -> Matrix:
        return sparse.vstack(self.blocks, format="csr")

    def dense(self) -> Array:
        """Return the matrix as an array."""
        return self.gather().toarray()

    def products(self, other: MemoryRows) -> Array:
        """Return the inner products with other rows, (n, m), dense."""
        found = self.gather() @ other.gather().T
        return found.toarray() if sparse.issparse(found) else np.asarray(found)

    def squared_norms(self) -> Array:
        """Return the squared length of each row."""
        X = self.gather()
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()

    def scale_columns(self, factors: Array) -> "CsrRows":
        """Return the rows with each column multiplied by a factor."""
        return CsrRows([self.gather().multiply(factors).tocsr()], self.place)

    def scale_rows(self, factors: Array) -> "CsrRows":
        """Return the rows, each multiplied by a factor."""
        X = self.gather()
        scaled = sparse.csr_matrix(X.multiply(factors[:, None]), dtype=X.dtype)
        return CsrRows([scaled], self.place)

    @staticmethod
    def count_stored(X: Matrix) -> int:
        """Return how many values of a matrix are not zero."""
        return int(X.nnz)

    def column_moments(self, weight: Array | None) -> ColumnMoments:
        """Return the moments of the columns; without weights all rows count once."""
        X = self.gather()
        total = float(X.shape[0] if weight is None else weight.sum())
        if not total:
            return ColumnMoments(0.0, 0.0, 0.0)
        share = np.full(X.shape[0], 1 / total) if weight is None else weight / total
        share = share.astype(X.dtype)
        mean = X.T @ share
        return ColumnMoments(total, mean, np.maximum(X.multiply(X).T @ share - mean**2, 0))
