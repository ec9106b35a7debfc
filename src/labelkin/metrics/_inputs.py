"""Validation of label sets and scores, and their move to one device."""

from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.labels import as_matrix, check_labels
from labelkin.rows import (
    all_finite,
    astype,
    from_numpy,
    is_device_array,
    namespace_and_device,
    to_numpy,
)


def _as_device_matrix(array: Any, name: str) -> Any:
    """Return a device array as a matrix, as `as_matrix` does for host arrays."""
    matrix = array[:, None] if array.ndim == 1 else array
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            f"{name} must have the shape (n, q), one column per label, and not be empty: its shape "
            f"is {tuple(array.shape)}."
        )
    return matrix


def _check_labels(Y: Any, name: str) -> Any:
    """Return an indicator matrix as int8, of the same kind and on the same device."""
    if not is_device_array(Y):
        return check_labels(Y, name)
    xp, _ = namespace_and_device(Y)
    matrix = _as_device_matrix(Y, name)
    if matrix.dtype != xp.bool and not bool(xp.all((matrix == 0) | (matrix == 1))):
        raise ValueError(
            f"{name} must hold only 0 and 1: turn scores into labels with a threshold."
        )
    return xp.astype(matrix, xp.int8)


def check_scores(y_score: Any) -> Any:
    """Return scores as a dense float array without NaN or infinity."""
    if is_device_array(y_score):
        xp, _ = namespace_and_device(y_score)
        array = _as_device_matrix(y_score, "y_score")
        if not xp.isdtype(array.dtype, "real floating"):
            array = xp.astype(array, xp.float64)
    else:
        array = as_matrix(y_score, "y_score")
        if sparse.issparse(array):
            array = array.toarray()
        try:
            array = array.astype(float, copy=False)
        except (TypeError, ValueError):
            raise ValueError("y_score must hold numbers.") from None
    if not all_finite(array):
        raise ValueError("y_score must be finite, but holds NaN or infinity.")
    return array


def _check_match(y_true: Any, other: Any, checked: tuple[Any, Any], name: str) -> None:
    """Refuse matrices of different shapes, or DataFrames with columns in different orders."""
    if tuple(checked[0].shape) != tuple(checked[1].shape):
        raise ValueError(
            f"y_true and {name} must have the same shape, "
            f"but have {tuple(checked[0].shape)} and {tuple(checked[1].shape)}."
        )
    columns = [list(getattr(frame, "columns", ())) for frame in (y_true, other)]
    if columns[0] != columns[1] and set(columns[0]) == set(columns[1]):
        raise ValueError(
            f"y_true and {name} hold the same labels in different orders: "
            f"reorder one by the other's columns."
        )


def _move_together(y_true: Any, prediction: Any) -> tuple[Any, Any]:
    """Move the true labels to the namespace and device of the predictions."""
    if is_device_array(y_true) or is_device_array(prediction):
        xp, device = namespace_and_device(prediction)
        here, _ = namespace_and_device(y_true)
        if here is not xp or (device is not None and y_true.device != device):
            host = to_numpy(y_true)
            host = host.toarray() if sparse.issparse(host) else np.asarray(host)
            return from_numpy(host, xp, device), prediction
    return y_true, prediction


def check_label_sets(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Return true and predicted label sets, validated and of one shape."""
    y_true, y_pred = _move_together(y_true, y_pred)
    Y, Z = _check_labels(y_true, "y_true"), _check_labels(y_pred, "y_pred")
    _check_match(y_true, y_pred, (Y, Z), "y_pred")
    if Y.shape[1] == 1 and not is_device_array(Y):
        # Scikit-learn reads a single column as two classes. Every metric of label sets has the
        # same value when the label is repeated.
        Y, Z = Y[:, [0, 0]], Z[:, [0, 0]]
    return Y, Z


def check_ranking(y_true: Any, y_score: Any) -> tuple[Any, Any]:
    """Return dense label sets and scores, validated and of one shape."""
    y_true, y_score = _move_together(y_true, y_score)
    Y, S = _check_labels(y_true, "y_true"), check_scores(y_score)
    _check_match(y_true, y_score, (Y, S), "y_score")
    return (Y.toarray() if sparse.issparse(Y) else Y), S


def mean(values: Any) -> float:
    """Return the mean of booleans or integers, summed exactly."""
    xp, _ = namespace_and_device(values)
    return float(xp.sum(astype(values, "int64"))) / values.shape[0]
