"""Computing on another device than the processor: ``--device cuda``.

The classifier, a pipeline's last step, runs there; what comes before it (words, categories)
is NumPy's. A fitted model comes back to the processor, so that any machine can load it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def elsewhere(device: str | None) -> bool:
    """Tell whether another device than the processor is asked for."""
    return device not in (None, "cpu")


def check(device: str | None) -> None:
    """Refuse a device that cannot be used before anything is read."""
    if not elsewhere(device):
        return
    import numpy as np

    from labelkin._utils.array_api import as_device_array

    try:
        as_device_array(np.zeros((1, 1)), None, str(device))
    except ValueError as error:
        raise ValueError(f"--device {device}: {error}") from None


def fit(pipeline: Any, X: Any, Y: "np.ndarray", device: str) -> None:
    """Fit a pipeline, its last step on the device, and bring that back."""
    from labelkin._utils.array_api import as_device_array, dispatching, to_host

    front = pipeline[:-1]
    Z = front.fit_transform(X, Y) if len(front) else X
    name, classifier = pipeline.steps[-1]
    with dispatching():
        classifier.fit(*as_device_array(Z, Y, device))
    pipeline.steps[-1] = (name, to_host(classifier))


def predict(pipeline: Any, X: Any, device: str) -> "tuple[np.ndarray, np.ndarray]":
    """Return labels and probabilities, the last step's work done on the device."""
    import numpy as np

    from labelkin._utils.array_api import (
        as_device_array,
        convert_arrays,
        dispatching,
        like,
        to_numpy,
    )

    def moved(array: Any) -> Any:
        numbers = isinstance(array, np.ndarray) and array.dtype.kind in "biuf"
        return like(array, Z) if numbers else array

    front, classifier = pipeline[:-1], pipeline.steps[-1][1]
    Z, _ = as_device_array(front.transform(X) if len(front) else X, None, device)
    with dispatching():
        there = convert_arrays(classifier, moved)
        return to_numpy(there.predict(Z)), to_numpy(there.predict_proba(Z))
