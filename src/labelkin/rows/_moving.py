"""Fitted estimators and data moved between the host and devices."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from importlib import import_module
from typing import Any

import numpy as np
from sklearn import config_context

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
    """Move samples and labels, or None, to a device by torch; sparse matrices become dense.

    "cpu" leaves them as they are; "cuda:1" is the second GPU.
    """
    if device == "cpu":
        return X, Y
    kind, _, number = device.partition(":")
    if kind != "cuda" or (number and not number.isdigit()):
        raise ValueError(f"device must be 'cpu', 'cuda' or 'cuda:N', got {device!r}.")
    try:
        torch = import_module("torch")
    except ImportError:
        raise ValueError(f"device={device!r} needs torch: install it with CUDA support.") from None
    index, n_devices = int(number or 0), torch.cuda.device_count()
    if index >= n_devices:
        raise ValueError(
            f"device={device!r} does not exist: torch finds {n_devices or 'no'} CUDA "
            f"device{'s' * (n_devices != 1)}."
        )

    def move(array: Any) -> Any:
        dense = np.ascontiguousarray(as_dense(array))
        return torch.asarray(dense, device=f"cuda:{index}", copy=True)

    return move(X), None if Y is None else move(Y)
