"""Arrays of any kind: what scikit-learn's array API support leaves to its users.

With ``sklearn.config_context(array_api_dispatch=True)`` the estimators compute where their
input lies: torch tensors and CuPy arrays stay on their device. Each function here has NumPy's
fast way and a way for every other namespace, as in scikit-learn's own module of this kind.
Without dispatch, and for sparse matrices, lists and DataFrames, everything is NumPy.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.utils._array_api import _convert_to_numpy, get_namespace

# Bytes that one temporary array may take on an accelerator.
_BUDGET = 2**31
# Cells that one may have elsewhere: it stays in cache.
_CELLS = 2**20

_NUMPY = get_namespace(np.empty(0))[0]


def is_foreign(array: Any) -> bool:
    """Whether dispatch is on and this is an array of another library than NumPy."""
    if not get_config()["array_api_dispatch"] or isinstance(array, np.ndarray | np.generic):
        return False
    library = type(array).__module__.partition(".")[0]
    return library in ("torch", "cupy") or hasattr(array, "__array_namespace__")


def namespace(*arrays: Any) -> tuple[Any, Any]:
    """Return the array API namespace and the device of the first foreign array; else NumPy's."""
    for array in arrays:
        if is_foreign(array):
            return get_namespace(array)[0], array.device
    return _NUMPY, None


def is_numpy(xp: Any) -> bool:
    """Whether a namespace is NumPy's."""
    return xp is _NUMPY


def is_accelerator(device: Any) -> bool:
    """Whether a device is worth large blocks of work: a GPU of torch or CuPy."""
    kind = getattr(device, "type", None)  # torch
    return kind != "cpu" if kind is not None else type(device).__module__.startswith("cupy")


def to_numpy(array: Any) -> Any:
    """Return a foreign array as a NumPy array on the host, anything else as it is."""
    if not is_foreign(array):
        return array
    if hasattr(array, "requires_grad"):
        array = array.detach()
    return _convert_to_numpy(array, get_namespace(array)[0])


def from_numpy(array: Any, xp: Any, device: Any) -> Any:
    """Return a NumPy array in a namespace and on a device."""
    if is_numpy(xp):
        return array
    # A copy: torch would share the memory.
    return xp.asarray(np.ascontiguousarray(array), device=device, copy=True)


def like(array: Any, other: Any) -> Any:
    """Return a host array in the namespace and on the device of another one."""
    return from_numpy(array, *namespace(other))


def astype(array: Any, dtype: Any) -> Any:
    """Return an array in a dtype, given by name; the same array where it has it."""
    xp, _ = namespace(array)
    if is_numpy(xp):
        return array.astype(dtype, copy=False)
    return xp.astype(array, getattr(xp, dtype) if isinstance(dtype, str) else dtype, copy=False)


def contiguous(array: Any) -> Any:
    """Return a NumPy array row by row in memory; of others, the order does not matter."""
    return array if is_foreign(array) else np.ascontiguousarray(array)


def transposed(array: Any) -> Any:
    """Return matrices, (..., n, m), transposed; NumPy has no name for that before version 2."""
    xp, _ = namespace(array)
    return np.swapaxes(array, -1, -2) if is_numpy(xp) else xp.matrix_transpose(array)


def asinh(array: Any) -> Any:
    """Return the inverse hyperbolic sine, which NumPy calls otherwise before version 2."""
    xp, _ = namespace(array)
    return np.arcsinh(array) if is_numpy(xp) else xp.asinh(array)


def take_rows(array: Any, rows: Any) -> Any:
    """Return the rows of a foreign array that an index array names.

    The standard's function has to look for negative indices first: four more passes in torch.
    """
    xp, _ = namespace(array)
    if hasattr(xp, "index_select"):  # torch
        return xp.index_select(array, 0, rows)
    return xp.take(array, rows, axis=0)


def take_along(array: Any, places: Any, axis: int) -> Any:
    """Return the cells named along an axis; see `take_rows`."""
    xp, _ = namespace(array)
    if hasattr(xp, "gather"):  # torch
        return xp.gather(array, axis, places)
    return xp.take_along_axis(array, places, axis=axis)


def block_rows(width: int, itemsize: int, device: Any, least: int = 16, most: int = 256) -> int:
    """Return how many rows of so many cells a temporary array may have."""
    if not is_accelerator(device):
        return int(np.clip(_CELLS // max(width, 1), least, most))
    rows = max(_BUDGET // (max(width, 1) * itemsize), least)
    return rows if rows < 128 else rows // 128 * 128  # whole tiles of a matrix product


def itemsize(array: Any) -> int:
    """Bytes of a cell of a floating array."""
    return namespace(array)[0].finfo(array.dtype).bits // 8


def label_histogram(counts: Any, Y: Any, width: int) -> Any:
    """Count the rows of each (label present, label, count).

    Parameters
    ----------
    counts : array of int of shape (n, q)
        From 0 to ``width - 1``.
    Y : array of shape (n, q)
        0 and 1.
    width : int
        Number of different counts.

    Returns
    -------
    array of int of shape (2, q, width)
    """
    n, q = Y.shape
    xp, device = namespace(counts)
    if is_numpy(xp):
        cell = (Y.astype(np.intp) * q + np.arange(q)) * width + counts
        return np.bincount(cell.ravel(), minlength=2 * q * width).reshape(2, q, width)
    # No bincount: it is not in the standard, and torch's waits for the device.
    cells = xp.reshape(xp.arange(2 * width, device=device), (2 * width, 1, 1))
    kinds = counts + width * xp.astype(Y, xp.int64)
    rows = block_rows(2 * q * width, 8, device, most=n)
    totals = [
        xp.count_nonzero(kinds[None, start : min(start + rows, n), :] == cells, axis=1)
        for start in range(0, n, rows)
    ]
    total = totals[0] if len(totals) == 1 else xp.sum(xp.stack(totals), axis=0)
    return xp.permute_dims(xp.reshape(total, (2, width, q)), (0, 2, 1))


def neighbor_sums(Y: Any, neighbors: Any) -> Any:
    """Sum the rows of 0 and 1 that each row of indices names; (m, k) gives (m, q).

    A sparse Y gives a sparse sum.
    """
    m, k = neighbors.shape
    xp, device = namespace(neighbors)
    if is_numpy(xp):
        starts = np.arange(m + 1) * k
        # As narrow as the labels: else the product would begin with a wider copy of them all.
        narrow = not sparse.issparse(Y) and Y.dtype in (np.int8, np.uint8) and k < 128
        ones = np.ones(m * k, dtype=Y.dtype if narrow else np.int32)
        chosen = sparse.csr_array((ones, neighbors.ravel(), starts), shape=(m, Y.shape[0]))
        return chosen @ Y
    q = Y.shape[1]
    if m == 0 or k == 0:
        return xp.zeros((m, q), dtype=xp.int64, device=device)
    rows = block_rows(k * q, 8, device, most=m)
    sums = []
    for start in range(0, m, rows):
        named = xp.reshape(neighbors[start : min(start + rows, m), :], (-1,))
        labels = xp.reshape(take_rows(Y, named), (-1, k, q))
        sums.append(xp.sum(labels, axis=1, dtype=xp.int64))
    return sums[0] if len(sums) == 1 else xp.concat(sums)


def running_sum(values: Any) -> Any:
    """Return, for each cell, the sum of its row up to there."""
    xp, _ = namespace(values)
    return np.cumsum(values, axis=1) if is_numpy(xp) else xp.cumulative_sum(values, axis=1)


def suffix_minimum(values: Any) -> Any:
    """Return, for each cell, the least value of its row from there to the end."""
    xp, _ = namespace(values)
    if is_numpy(xp):
        return np.minimum.accumulate(values[:, ::-1], axis=1)[:, ::-1]
    step = 1
    while step < values.shape[1]:
        least = xp.minimum(values[:, :-step], values[:, step:])
        values = xp.concat([least, values[:, -step:]], axis=1)
        step *= 2
    return values


def finite(array: Any) -> bool:
    """Whether no cell is NaN or infinite."""
    xp, _ = namespace(array)
    return bool(xp.all(xp.isfinite(array)))


def convert_arrays(thing: Any, converter: Callable[[Any], Any]) -> Any:
    """Return a copy of an object, all arrays in it converted, however deep they lie.

    It goes through lists, tuples, dicts and labelkin's and scikit-learn's objects; one with
    ``__sklearn_array_api_convert__`` does it by itself.
    """
    if isinstance(thing, type):
        return thing
    if hasattr(thing, "__sklearn_array_api_convert__"):
        return thing.__sklearn_array_api_convert__(converter)
    if isinstance(thing, np.ndarray) or is_foreign(thing):
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

    Parameters
    ----------
    estimator : fitted estimator
        Any of labelkin's.

    Returns
    -------
    A copy that predicts NumPy arrays.
    """
    with dispatching():
        return convert_arrays(
            estimator, lambda array: array.copy() if _is_host(array) else to_numpy(array)
        )


def on_host(estimator: Any) -> Any:
    """Return a fitted estimator as it is if its arrays are NumPy's, else a copy; see `to_host`."""
    name = getattr(estimator, "_fitted_array", None)
    elsewhere = name is not None and not isinstance(getattr(estimator, name), np.ndarray)
    return to_host(estimator) if elsewhere else estimator


def _is_host(array: Any) -> bool:
    return isinstance(array, np.ndarray)


@contextmanager
def dispatching() -> Iterator[None]:
    """Switch scikit-learn's dispatch on in this thread.

    It asks for SciPy's own switch as well, which is set for good: other threads may need it.
    """
    os.environ.setdefault("SCIPY_ARRAY_API", "1")
    with config_context(array_api_dispatch=True):
        yield


def as_device_array(X: Any, Y: Any, device: str) -> tuple[Any, Any]:
    """Move samples and labels to a device, by torch where it is installed, else by CuPy.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Samples; a sparse matrix becomes dense.
    Y : ndarray or sparse matrix of shape (n_samples, n_labels), or None
        Labels.
    device : str
        "cpu" leaves them as they are; "cuda", or "cuda:1" for the second GPU.

    Returns
    -------
    X, Y
        On the device.
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
    torch, cupy = _optional("torch"), _optional("cupy")
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


def _optional(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        return None
