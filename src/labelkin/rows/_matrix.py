"""Functions of one matrix: a NumPy array, a CSR matrix, or an array on a device.

What is computed of a CSR matrix is dense, unless the result is named as rows.
"""

from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labelkin.rows._place import concatenate, match, namespace

Array = Any
Matrix = Any


class ColumnMoments(NamedTuple):
    """Weighted means and variances of columns, which can be merged over blocks of rows."""

    total: float
    """Sum of the weights."""
    mean: Any
    """(k,)."""
    variance: Any
    """(k,)."""

    @classmethod
    def of(cls, X: Matrix, weight: Array | None) -> "ColumnMoments":
        """Return the moments of the columns of a matrix; without weights all rows count once."""
        total = float(X.shape[0] if weight is None else weight.sum())
        if not total:
            return cls(0.0, 0.0, 0.0)
        xp = namespace(X)
        if sparse.issparse(X):
            share = np.full(X.shape[0], 1.0) if weight is None else weight
            share = (share / total).astype(X.dtype)
            mean = X.T @ share
            return cls(total, mean, np.maximum(X.multiply(X).T @ share - mean**2, 0))
        if weight is None:
            return cls(total, xp.mean(X, axis=0), xp.var(X, axis=0))
        share = match(weight / total, X)
        mean = share @ X
        return cls(total, mean, share @ (X - mean) ** 2)

    @classmethod
    def merge(cls, parts: "list[ColumnMoments]") -> "ColumnMoments":
        """Return the moments of the rows of several blocks."""
        if len(parts) == 1:
            return parts[0]
        total = sum(part.total for part in parts)
        shares = [part.total / (total or 1.0) for part in parts]
        mean = sum(w * part.mean for w, part in zip(shares, parts, strict=True))
        variance = sum(
            w * (part.variance + (part.mean - mean) ** 2)
            for w, part in zip(shares, parts, strict=True)
        )
        return cls(total, mean, variance)

    def spread(self) -> Array:
        """Return the standard deviation of each column, 1 where it is 0 up to rounding."""
        xp = namespace(self.mean)
        varies = self.variance > 1e-12 * (self.variance + self.mean**2)
        return xp.where(varies, self.variance**0.5, xp.ones_like(self.variance))


def as_dense(X: Matrix) -> Array:
    """Return a matrix as an array."""
    return X.toarray() if sparse.issparse(X) else X


def stack(parts: list[Matrix]) -> Matrix:
    """Put matrices on top of each other; a single one is returned as it is."""
    if sparse.issparse(parts[0]) and len(parts) > 1:
        return sparse.vstack(parts, format="csr")
    return concatenate(parts)


def count_stored(X: Matrix) -> int:
    """Return how many values are not zero."""
    return int(X.nnz if sparse.issparse(X) else namespace(X).count_nonzero(X))


def products(Q: Matrix, X: Matrix) -> Array:
    """Return the inner products of the rows of two matrices, (m, n)."""
    return np.asarray(as_dense(Q @ X.T)) if sparse.issparse(Q) else Q @ X.T


def squared_norms(X: Matrix) -> Array:
    """Return the squared length of each row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return namespace(X).sum(X * X, axis=1)


def scale_columns(X: Matrix, factors: Array) -> Matrix:
    """Return rows with each column multiplied by a factor."""
    return X.multiply(factors).tocsr() if sparse.issparse(X) else X * factors


def unit_rows(X: Matrix) -> Matrix:
    """Return rows of length 1; rows of zeros stay."""
    norms = squared_norms(X) ** 0.5
    xp = namespace(norms)
    factors = 1 / xp.where(norms > 0, norms, xp.ones_like(norms))
    if sparse.issparse(X):
        return sparse.csr_matrix(X.multiply(factors[:, None]), dtype=X.dtype)
    return X * factors[:, None]


def first_of_equals(X: Any) -> np.ndarray | None:
    """Return for each row the first one equal to it in every bit; None where no two are equal."""
    if sparse.issparse(X):
        ends = pairwise(X.indptr)
        contents = (X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends)
    elif isinstance(X, np.ndarray):
        contents = (row.tobytes() for row in X)
    else:
        return None
    seen: dict[bytes, int] = {}
    digests = (blake2b(content, digest_size=16).digest() for content in contents)
    first = np.array([seen.setdefault(digest, i) for i, digest in enumerate(digests)], dtype=int)
    return None if len(seen) == X.shape[0] else first
