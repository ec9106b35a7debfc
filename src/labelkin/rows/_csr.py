"""Rows in a SciPy CSR matrix; what is computed of them is dense."""

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from labelkin.rows._rows import Array, ColumnMoments, Matrix, MemoryRows

# Columns with more than this share of values are dense in sums of differences.
_FULL_COLUMN = 0.25


class CsrRows(MemoryRows, kind="sparse"):
    """Rows in a SciPy CSR matrix."""

    in_threads = True

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

    def sums_of_differences(self, other: MemoryRows) -> Array:
        """Return the sums of absolute differences to other rows, (n, m).

        They are Σ|x| + Σ|z| but for columns in which both have a value, which are found by column:
        on texts a tenth of the time of a merge of each pair of rows. Full columns are dense.
        """
        Q, Z = (sparse.csr_matrix(A.gather(), dtype=np.float64, copy=True) for A in (self, other))
        n = Z.shape[0]
        Q.sum_duplicates()
        Z.sum_duplicates()
        full = np.bincount(Z.indices, minlength=Z.shape[1]) > _FULL_COLUMN * n
        found = cdist(Q[:, full].toarray(), Z[:, full].toarray(), "cityblock")
        Q, Z = Q[:, ~full], Z[:, ~full].tocsc()
        found += abs(Q).sum(axis=1)
        found += abs(Z).sum(axis=1).T
        lengths = np.diff(Z.indptr)
        for row, start, stop in zip(found, Q.indptr, Q.indptr[1:], strict=False):
            columns = Q.indices[start:stop]
            counts = lengths[columns]
            stored = np.arange(counts.sum())
            stored += np.repeat(Z.indptr[columns] - np.cumsum(counts) + counts, counts)
            q, z = np.repeat(Q.data[start:stop], counts), Z.data[stored]
            row += np.bincount(Z.indices[stored], np.abs(q - z) - np.abs(q) - np.abs(z), n)
        return np.maximum(found, 0)  # equal rows differ by 0, up to rounding

    def scatter(self, weight: Array | None) -> tuple[Array, Array]:
        """Return the weighted mean of the rows, and the sum of squares and products around it."""
        X, (total, mean, _) = self.gather(), self.column_moments(weight)
        weighted = X if weight is None else X.multiply(weight[:, None])
        return mean, (X.T @ weighted).toarray() - total * np.outer(mean, mean)

    def dot_centred(self, W: Array, mean: Array) -> Array:
        """Return (X − mean) W."""
        return self.gather() @ W - mean @ W

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
