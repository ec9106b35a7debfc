"""Rows in a NumPy array."""

from typing import Any

import numpy as np

from labelkin.rows._rows import Array, MemoryRows


class NumpyRows(MemoryRows):
    """Rows in a NumPy array."""

    in_threads = True

    @staticmethod
    def holds(X: Any) -> bool:
        """Whether a matrix is of this kind."""
        return isinstance(X, np.ndarray)

    @staticmethod
    def count_stored(X: Array) -> int:
        """Return how many values of a matrix are not zero."""
        return int(np.count_nonzero(X))
