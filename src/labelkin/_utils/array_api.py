"""Array API support beyond scikit-learn's own.

With ``sklearn.config_context(array_api_dispatch=True)`` the estimators compute where their
input lies: torch tensors and CuPy arrays stay on their device. These are "device arrays" below.
Each function has a NumPy implementation and one for every other namespace. Without dispatch, and
for sparse matrices, lists and DataFrames, everything is NumPy.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.utils._array_api import _convert_to_numpy
from sklearn.utils._array_api import get_namespace as _sklearn_get_namespace

from labelkin._utils.optional import import_optional

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


def matrix_transpose(array: Any) -> Any:
    """Transpose matrices, (..., n, m); NumPy has no function for that before version 2."""
    xp, _ = namespace_and_device(array)
    return np.swapaxes(array, -1, -2) if is_numpy(xp) else xp.matrix_transpose(array)


def asinh(array: Any) -> Any:
    """Return the inverse hyperbolic sine; NumPy has it under another name before version 2."""
    xp, _ = namespace_and_device(array)
    return np.arcsinh(array) if is_numpy(xp) else xp.asinh(array)


def clip(array: Any, low: Any, high: Any) -> Any:
    """Return an array within bounds; NumPy's arrays by its own function, which takes one pass."""
    xp, _ = namespace_and_device(array)
    return np.clip(array, low, high) if is_numpy(xp) else xp.clip(array, low, high)


def take_rows(array: Any, rows: Any) -> Any:
    """Return the rows of a device array at an array of indices, none of them negative.

    ``take`` of the standard handles negative indices first: four more passes in torch.
    """
    xp, _ = namespace_and_device(array)
    if hasattr(xp, "index_select"):  # torch
        return xp.index_select(array, 0, rows)
    return xp.take(array, rows, axis=0)


def take_along_axis(array: Any, indices: Any, axis: int) -> Any:
    """Return the entries at indices along an axis, none of them negative; see `take_rows`."""
    xp, _ = namespace_and_device(array)
    if hasattr(xp, "gather"):  # torch
        return xp.gather(array, axis, indices)
    return xp.take_along_axis(array, indices, axis=axis)


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


def convert_arrays(thing: Any, converter: Callable[[Any], Any]) -> Any:
    """Return a copy of an object with all arrays in it converted, at any depth.

    Lists, tuples, dicts and objects of labelkin and scikit-learn are traversed; an object with
    ``__sklearn_array_api_convert__`` converts itself.
    """
    if isinstance(thing, type):
        return thing
    if hasattr(thing, "__sklearn_array_api_convert__"):
        return thing.__sklearn_array_api_convert__(converter)
    if isinstance(thing, np.ndarray) or is_device_array(thing):
        return converter(thing)
    if isinstance(thing, dict):
        return {key: convert_arrays(value, converter) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return type(thing)(convert_arrays(value, converter) for value in thing)
    if type(thing).__module__.partition(".")[0] in ("labelkin", "sklearn") and hasattr(
        thing, "__dict__"
    ):
        moved = copy(thing)
        moved.__dict__ = convert_arrays(vars(thing), converter)
        return moved
    return thing


def to_host(estimator: Any) -> Any:
    """Return a copy of a fitted estimator with all its arrays as NumPy arrays.

    A model fitted on a GPU is saved and exported this way, and predicts without one.
    """

    def to_host_array(array: Any) -> np.ndarray:
        return array.copy() if isinstance(array, np.ndarray) else to_numpy(array)

    with array_api_dispatch():
        return convert_arrays(estimator, to_host_array)


def ensure_on_host(estimator: Any) -> Any:
    """Return a fitted estimator unchanged if its arrays are NumPy's, else its `to_host` copy."""
    name = getattr(estimator, "_fitted_array", None)
    elsewhere = name is not None and not isinstance(getattr(estimator, name), np.ndarray)
    return to_host(estimator) if elsewhere else estimator


@contextmanager
def array_api_dispatch() -> Iterator[None]:
    """Switch scikit-learn's array API dispatch on in this thread.

    scikit-learn requires SciPy's own switch as well. It stays on: other threads may need it.
    """
    os.environ.setdefault("SCIPY_ARRAY_API", "1")
    with config_context(array_api_dispatch=True):
        yield


def move_to_device(X: Any, Y: Any, device: str) -> tuple[Any, Any]:
    """Move samples and labels to a device, by torch where it is installed, else by CuPy.

    "cpu" leaves them as they are; "cuda:1" is the second GPU. Sparse matrices become dense.
    """
    if device == "cpu":
        return X, Y
    move = _mover(device)
    dense = [a.toarray() if sparse.issparse(a) else a for a in (X, Y)]
    return tuple(None if a is None else move(np.ascontiguousarray(a)) for a in dense)  # type: ignore[return-value]


def _mover(device: str) -> Callable[[Any], Any]:
    """Return the function that moves a NumPy array to a device."""
    kind, _, number = device.partition(":")
    if kind != "cuda" or (number and not number.isdigit()):
        raise ValueError(f"device must be 'cpu', 'cuda' or 'cuda:N', got {device!r}.")
    index = int(number or 0)
    torch, cupy = _import_or_none("torch"), _import_or_none("cupy")
    if torch is not None:
        n_devices = torch.cuda.device_count()
    else:
        if cupy is None:
            raise ValueError(
                f"device={device!r} needs torch or CuPy: install one of them with CUDA support."
            )
        try:
            n_devices = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError:
            n_devices = 0
    if index >= n_devices:
        raise ValueError(
            f"device={device!r} does not exist: {'torch' if torch else 'CuPy'} finds "
            f"{n_devices or 'no'} CUDA device{'s' * (n_devices != 1)}."
        )
    if torch is not None:
        return lambda a: torch.asarray(a, device=f"cuda:{index}", copy=True)

    def by_cupy(a: Any) -> Any:
        with cupy.cuda.Device(index):
            return cupy.asarray(a)

    return by_cupy


def _import_or_none(module: str) -> Any:
    try:
        return import_optional(module)
    except ImportError:
        return None
