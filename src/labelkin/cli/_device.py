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

    from labelkin._utils.array_api import move_to_device

    try:
        move_to_device(np.zeros((1, 1)), None, str(device))
    except ValueError as error:
        raise ValueError(f"--device {device}: {error}") from None


def fit(pipeline: Any, X: Any, Y: "np.ndarray", device: str) -> None:
    """Fit a pipeline, its last step on the device, and bring that back."""
    from labelkin._utils.array_api import array_api_dispatch, move_to_device, to_host

    front = pipeline[:-1]
    Z = front.fit_transform(X, Y) if len(front) else X
    name, classifier = pipeline.steps[-1]
    with array_api_dispatch():
        classifier.fit(*move_to_device(Z, Y, device))
    pipeline.steps[-1] = (name, to_host(classifier))


def predict(pipeline: Any, X: Any, device: str) -> "tuple[np.ndarray, np.ndarray]":
    """Return labels and probabilities, the last step's work done on the device."""
    import numpy as np

    from labelkin._utils.array_api import (
        array_api_dispatch,
        convert_arrays,
        move_to_device,
        to_device_of,
        to_numpy,
    )

    def moved(array: Any) -> Any:
        numbers = isinstance(array, np.ndarray) and array.dtype.kind in "biuf"
        return to_device_of(array, Z) if numbers else array

    front, classifier = pipeline[:-1], pipeline.steps[-1][1]
    Z, _ = move_to_device(front.transform(X) if len(front) else X, None, device)
    with array_api_dispatch():
        there = convert_arrays(classifier, moved)
        return to_numpy(there.predict(Z)), to_numpy(there.predict_proba(Z))
