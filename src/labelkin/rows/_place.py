"""Where arrays lie, and how they get there."""

from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.array_api import (
    HOST,
    Place,
    astype,
    from_numpy,
    is_device_array,
    is_numpy,
    namespace_and_device,
    to_device_of,
    to_numpy,
)

__all__ = [
    "HOST",
    "Place",
    "astype",
    "concatenate",
    "from_numpy",
    "is_device_array",
    "is_numpy",
    "match",
    "namespace",
    "namespace_and_device",
    "take",
    "to_device_of",
    "to_numpy",
]


def namespace(*arrays: Any) -> Any:
    """Return the namespace of the first device array; NumPy's without one."""
    return namespace_and_device(*arrays)[0]


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
