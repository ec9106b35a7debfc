"""Fit and predict, on the processor or on the device that ``--device`` names.

On a device only the classifier, a pipeline's last step, runs there; the steps before it (words,
categories) are NumPy's. A fitted classifier is moved back, so that any machine can load it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def last_step(model: Any) -> Any:
    """Return the classifier of a pipeline, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def check_device(device: str | None, decision: object = None) -> None:
    """Refuse a device that cannot be used, before anything is read.

    `decision` is given if it is learned with the classifier, which is done on the processor.
    """
    if device in (None, "cpu"):
        return
    if decision is not None:
        raise ValueError(
            f"--device {device}: with --decide or --threshold models are fitted on the processor; "
            "leave out one of them, or decide when predicting."
        )
    import numpy as np

    from labelkin._utils.array_api import move_to_device

    try:
        move_to_device(np.zeros((1, 1)), None, device)
    except ValueError as error:
        raise ValueError(f"--device {device}: {error}") from None


def fit(
    pipeline: Any, X: Any, y: "np.ndarray", label_names: Sequence[str], device: str | None
) -> None:
    """Fit a pipeline in place."""
    if device in (None, "cpu"):
        from labelkin.tabular import fit_pipeline

        fit_pipeline(pipeline, X, y, label_names)
        return
    from labelkin._utils.array_api import array_api_dispatch, move_to_device, to_host

    preprocessing, (name, classifier) = pipeline[:-1], pipeline.steps[-1]
    Z = preprocessing.fit_transform(X, y) if len(preprocessing) else X
    with array_api_dispatch():
        classifier.fit(*move_to_device(Z, y, device))
    pipeline.steps[-1] = (name, to_host(classifier))


def predict(model: Any, X: Any, device: str | None) -> "tuple[np.ndarray, np.ndarray]":
    """Return predicted labels and scores, both of shape (n, q)."""
    if device not in (None, "cpu"):
        return _predict_on_device(model, X, str(device))
    from labelkin._utils.scoring import labels_and_scores

    labels, scores = labels_and_scores(model, X)
    return labels, scores.reshape(labels.shape)  # the scores of one label may have one dimension


def _predict_on_device(pipeline: Any, X: Any, device: str) -> "tuple[np.ndarray, np.ndarray]":
    import numpy as np

    from labelkin._utils.array_api import (
        array_api_dispatch,
        convert_arrays,
        move_to_device,
        to_device_of,
        to_numpy,
    )

    if not hasattr(pipeline, "steps"):
        raise ValueError(
            f"--device {device}: the model is a {type(pipeline).__name__}, and only pipelines "
            "written by labelkin fit can be moved to a device."
        )

    def move(array: Any) -> Any:
        numbers = isinstance(array, np.ndarray) and array.dtype.kind in "biuf"
        return to_device_of(array, Z) if numbers else array

    preprocessing, classifier = pipeline[:-1], pipeline.steps[-1][1]
    Z, _ = move_to_device(preprocessing.transform(X) if len(preprocessing) else X, None, device)
    with array_api_dispatch():
        moved = convert_arrays(classifier, move)
        return to_numpy(moved.predict(Z)), to_numpy(moved.predict_proba(Z))
