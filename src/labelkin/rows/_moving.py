"""Fitted estimators and data moved between the host and devices."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np
from sklearn import config_context

from labelkin._utils.optional import import_optional
from labelkin.rows._arrays import as_dense, is_device_array, to_numpy


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
    kind, _, number = device.partition(":")
    if kind != "cuda" or (number and not number.isdigit()):
        raise ValueError(f"device must be 'cpu', 'cuda' or 'cuda:N', got {device!r}.")
    index = int(number or 0)
    torch, cupy = _import_or_none("torch"), _import_or_none("cupy")
    if torch is not None:
        n_devices = torch.cuda.device_count()
    elif cupy is None:
        raise ValueError(
            f"device={device!r} needs torch or CuPy: install one of them with CUDA support."
        )
    else:
        try:
            n_devices = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError:
            n_devices = 0
    if index >= n_devices:
        raise ValueError(
            f"device={device!r} does not exist: {'torch' if torch else 'CuPy'} finds "
            f"{n_devices or 'no'} CUDA device{'s' * (n_devices != 1)}."
        )
    dense = [a if a is None else np.ascontiguousarray(as_dense(a)) for a in (X, Y)]
    if torch is not None:
        where = {"device": f"cuda:{index}", "copy": True}
        return tuple(a if a is None else torch.asarray(a, **where) for a in dense)  # type: ignore[return-value]
    with cupy.cuda.Device(index):
        return tuple(a if a is None else cupy.asarray(a) for a in dense)  # type: ignore[return-value]


def _import_or_none(module: str) -> Any:
    try:
        return import_optional(module)
    except ImportError:
        return None
