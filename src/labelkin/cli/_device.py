"""Computing on another device than the processor: ``--device cuda``."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def place(X: Any, device: str | None) -> Any:
    """Return X on the device, or as it is where none is asked for."""
    if device in (None, "cpu"):
        return X
    return _mover()(X, device)


def check(device: str | None) -> None:
    """Refuse a device that cannot be used before anything is read."""
    if device in (None, "cpu"):
        return
    import numpy as np

    _mover()(np.zeros((1, 1)), device)


def _mover() -> Any:
    try:
        from labelkin._array import as_device_array
    except ImportError as error:
        raise ImportError(
            f"--device needs a part of labelkin that is not here ({error}); leave it out to "
            "compute on the processor."
        ) from error
    return as_device_array


@contextmanager
def dispatch(device: str | None) -> Iterator[None]:
    """Have scikit-learn work on the device's arrays."""
    if device in (None, "cpu"):
        yield
        return
    from sklearn import config_context

    with config_context(array_api_dispatch=True):
        yield


def as_numpy(values: Any) -> "np.ndarray":
    """Return a device's array on the processor."""
    import numpy as np

    if hasattr(values, "cpu"):
        values = values.cpu()
    elif hasattr(values, "get") and not isinstance(values, dict):
        values = values.get()
    return np.asarray(values)
