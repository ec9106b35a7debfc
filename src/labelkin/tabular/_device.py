"""Fit and predict of a pipeline whose classifier may compute on a device, such as a GPU.

The steps before the classifier (words, categories) are NumPy's. A fitted classifier is moved
back, so that any machine can load it.
"""

from typing import Any

import numpy as np

from labelkin.rows import (
    array_api_dispatch,
    convert_arrays,
    move_to_device,
    to_device_of,
    to_host,
    to_numpy,
)


def fit_pipeline(pipeline: Any, X: Any, y: Any, device: str | None, **params: Any) -> Any:
    """Fit a pipeline in place and return it; `params` are for the fit of its classifier."""
    if device in (None, "cpu"):
        return pipeline.fit(X, y, **{f"classifier__{name}": v for name, v in params.items()})
    preprocessing, (name, classifier) = pipeline[:-1], pipeline.steps[-1]
    Z = preprocessing.fit_transform(X, y) if len(preprocessing) else X
    with array_api_dispatch():
        classifier.fit(*move_to_device(Z, np.asarray(y), str(device)), **params)
    pipeline.steps[-1] = (name, to_host(classifier))
    return pipeline


def predict_on_device(pipeline: Any, X: Any, device: str) -> tuple[np.ndarray, np.ndarray]:
    """Return predicted labels and probabilities, both of shape (n, q)."""
    if not hasattr(pipeline, "steps"):
        raise ValueError(
            f"device={device!r}: the model is a {type(pipeline).__name__}, and only pipelines of "
            "tables can be moved to a device."
        )

    def move(array: Any) -> Any:
        numbers = isinstance(array, np.ndarray) and array.dtype.kind in "biuf"
        return to_device_of(array, Z) if numbers else array

    preprocessing, classifier = pipeline[:-1], pipeline.steps[-1][1]
    Z, _ = move_to_device(preprocessing.transform(X) if len(preprocessing) else X, None, device)
    with array_api_dispatch():
        moved = convert_arrays(classifier, move)
        return to_numpy(moved.predict(Z)), to_numpy(moved.predict_proba(Z))
