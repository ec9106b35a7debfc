"""Rows in a NumPy array."""

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from labelkin.rows._csr import CsrRows
from labelkin.rows._rows import Array, MemoryRows

# Below this share of values that are not zero, sparse rows are faster for sums of differences.
_SPARSE_SHARE = 0.05


class NumpyRows(MemoryRows, kind="NumPy"):
    """Rows in a NumPy array."""

    in_threads = True

    @staticmethod
    def count_stored(X: Array) -> int:
        """Return how many values of a matrix are not zero."""
        return int(np.count_nonzero(X))

    def sums_of_differences(self, other: MemoryRows) -> Array:
        """Return the sums of absolute differences to other rows, (n, m)."""
        X, Z = self.gather(), other.gather()
        if np.count_nonzero(Z) < _SPARSE_SHARE * Z.size:
            sparse_rows = (CsrRows([sparse.csr_matrix(A)]) for A in (X, Z))
            return next(sparse_rows).sums_of_differences(next(sparse_rows))
        return cdist(X, Z, "cityblock")
