"""Rows in an array of torch, CuPy or another library of the array API, on its device."""

from typing import Any

from labelkin.rows._place import is_device_array, take
from labelkin.rows._rows import Array, Matrix, MemoryRows


class DeviceRows(MemoryRows):
    """Rows in an array of another library than NumPy, on its device."""

    @staticmethod
    def holds(X: Any) -> bool:
        """Whether a matrix is of this kind."""
        return is_device_array(X)

    @staticmethod
    def _take(X: Matrix, indices: Array) -> Matrix:
        return take(X, indices)
