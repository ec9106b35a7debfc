"""Where arrays lie, and what is written differently for NumPy and for other libraries.

With ``sklearn.config_context(array_api_dispatch=True)`` the estimators compute where their
input lies: torch tensors and CuPy arrays stay on their device. These are "device arrays" below.
Without dispatch, and for sparse matrices, lists and DataFrames, everything is NumPy.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils._array_api import _convert_to_numpy
from sklearn.utils._array_api import get_namespace as _sklearn_get_namespace

# Entries of a temporary array that stays in the cache of a CPU.
_CACHED_ENTRIES = 2**20

_NUMPY = _sklearn_get_namespace(np.empty(0))[0]


def is_device_array(array: Any) -> bool:
    """Whether dispatch is on and this is an array of another library than NumPy."""
    if not get_config()["array_api_dispatch"] or isinstance(array, np.ndarray | np.generic):
        return False
    library = type(array).__module__.partition(".")[0]
    return library in ("torch", "cupy") or hasattr(array, "__array_namespace__")


def namespace_and_device(*arrays: Any) -> tuple[Any, Any]:
    """Return namespace and device of the first device array; NumPy and None without one."""
    for array in arrays:
        if is_device_array(array):
            return _sklearn_get_namespace(array)[0], array.device
    return _NUMPY, None


def namespace(*arrays: Any) -> Any:
    """Return the namespace of the first device array; NumPy's without one."""
    return namespace_and_device(*arrays)[0]


def is_numpy(xp: Any) -> bool:
    """Whether a namespace is NumPy's."""
    return xp is _NUMPY


def is_accelerator(device: Any) -> bool:
    """Whether a device is a GPU of torch or CuPy."""
    kind = getattr(device, "type", None)  # torch
    return kind != "cpu" if kind is not None else type(device).__module__.startswith("cupy")


def to_numpy(array: Any) -> Any:
    """Return a device array as a NumPy array, anything else unchanged."""
    if not is_device_array(array):
        return array
    if hasattr(array, "requires_grad"):
        array = array.detach()
    return _convert_to_numpy(array, _sklearn_get_namespace(array)[0])


def from_numpy(array: Any, xp: Any, device: Any) -> Any:
    """Return a NumPy array in a namespace and on a device."""
    if is_numpy(xp):
        return array
    # A copy: torch would share the memory.
    return xp.asarray(np.ascontiguousarray(array), device=device, copy=True)


def to_device_of(array: Any, reference: Any) -> Any:
    """Return a NumPy array in the namespace and on the device of another array."""
    return from_numpy(array, *namespace_and_device(reference))


class Place(NamedTuple):
    """Where arrays are computed: a namespace, and a device of it."""

    xp: Any
    device: Any

    @classmethod
    def of(cls, array: Any) -> "Place":
        """Return where an array lies; the host for torch's mps, which has no double precision."""
        xp, device = namespace_and_device(array)
        return HOST if getattr(device, "type", None) == "mps" else cls(xp, device)

    @property
    def on_host(self) -> bool:
        """Whether arrays are NumPy's."""
        return is_numpy(self.xp)

    def put(self, rows: Any, dtype: str | None = None) -> Any:
        """Return NumPy or SciPy rows there, dense on a device.

        Arrays that are on a device already are returned as they are, also by `HOST`.
        """
        rows = rows if dtype is None else astype(rows, dtype)
        if self.on_host or is_device_array(rows):
            return rows
        if not sparse.issparse(rows):
            return from_numpy(rows, *self)
        if self.xp.__name__.rpartition(".")[2] not in ("torch", "cupy"):
            return from_numpy(rows.toarray(), *self)
        # Only the nonzero values are copied to the device; the array API has no such assignment.
        entries = rows.tocoo()
        row, column, values = (from_numpy(a, *self) for a in (entries.row, entries.col, rows.data))
        dense = self.xp.zeros(rows.shape, dtype=values.dtype, device=self.device)
        dense[row, column] = values
        return dense


HOST = Place(_NUMPY, None)


def astype(array: Any, dtype: Any) -> Any:
    """Return an array in a dtype, which may be a name; no copy where it has it already."""
    xp, _ = namespace_and_device(array)
    if is_numpy(xp):
        return array.astype(dtype, copy=False)
    return xp.astype(array, getattr(xp, dtype) if isinstance(dtype, str) else dtype, copy=False)


def ascontiguousarray(array: Any) -> Any:
    """Return a NumPy array in C order; device arrays have no order in the standard."""
    return array if is_device_array(array) else np.ascontiguousarray(array)


def rows_per_block(width: int, itemsize: int, device: Any, least: int = 16, most: int = 256) -> int:
    """Return the number of rows, `width` entries each, that a temporary array may have.

    On an accelerator the array fills twice scikit-learn's ``working_memory``, 2 GiB by default.
    Elsewhere it stays in cache, and below ``working_memory``.
    """
    memory = 2**20 * get_config()["working_memory"]
    if not is_accelerator(device):
        entries = min(_CACHED_ENTRIES, memory // 8)
        return int(np.clip(entries // max(width, 1), least, most))
    rows = max(int(2 * memory // (max(width, 1) * itemsize)), least)
    return rows if rows < 128 else rows // 128 * 128  # whole tiles of a matrix product


def itemsize(array: Any) -> int:
    """Return the bytes per entry of a floating array."""
    return namespace_and_device(array)[0].finfo(array.dtype).bits // 8


def match(values: Any, array: Any) -> Any:
    """Return values in the namespace, on the device and in the dtype of an array."""
    xp, device = namespace_and_device(array)
    if is_device_array(values):
        return astype(values, array.dtype)
    values = np.asarray(values, dtype=str(array.dtype).rpartition(".")[2])
    return values if is_numpy(xp) else from_numpy(values, xp, device)


def take(array: Any, indices: Any, axis: int = 0) -> Any:
    """Return rows, or entries along another axis, at NumPy indices; of any matrix."""
    if sparse.issparse(array):
        return array[indices, :] if axis == 0 else array[:, indices]
    xp, device = namespace_and_device(array)
    return xp.take(array, from_numpy(np.asarray(indices), xp, device), axis=axis)


def concatenate(parts: list[Any], axis: int = 0) -> Any:
    """Return arrays of one namespace as one; a single one as it is."""
    return parts[0] if len(parts) == 1 else namespace(*parts).concat(parts, axis=axis)
