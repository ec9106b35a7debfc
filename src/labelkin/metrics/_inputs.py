"""Validation of label sets and scores, which are brought to the host."""

from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.labels import as_matrix, check_labels, split_unknown
from labelkin.rows import as_dense, to_numpy


def check_scores(y_score: Any, keep_sparse: bool = False) -> Any:
    """Return scores as floats without NaN or infinity, dense unless sparse ones are kept."""
    array = as_matrix(to_numpy(y_score), "y_score")
    try:
        array = (array if keep_sparse else as_dense(array)).astype(float, copy=False)
    except (TypeError, ValueError):
        raise ValueError("y_score must hold numbers.") from None
    if not np.isfinite(array.data if sparse.issparse(array) else array).all():
        raise ValueError("y_score must be finite, but holds NaN or infinity.")
    return array


def check_match(
    y_true: Any, prediction: Any, name: str, keep_sparse: bool = False
) -> tuple[Any, Any, np.ndarray | None]:
    """Return true labels and ``y_score`` or ``y_pred``, of one shape, and which labels are known.

    The third result is None where all are; else unknown labels are 0, and rows without a known
    label are left out. Sparse scores are dense in the result unless `keep_sparse`.
    """
    Y, known = split_unknown(to_numpy(y_true), "y_true")
    is_score = name == "y_score"
    if is_score:
        Z = check_scores(prediction, keep_sparse)
    else:
        Z = check_labels(to_numpy(prediction), name)
    if Y.shape != Z.shape:
        raise ValueError(
            f"y_true and {name} must have the same shape, but have {Y.shape} and {Z.shape}."
        )
    columns = [list(getattr(frame, "columns", ())) for frame in (y_true, prediction)]
    if columns[0] != columns[1] and set(columns[0]) == set(columns[1]):
        raise ValueError(
            f"y_true and {name} hold the same labels in different orders: "
            f"reorder one by the other's columns."
        )
    if known is None:
        return Y, Z, None
    rows = np.flatnonzero(known.any(axis=1))
    if not len(rows):
        raise ValueError("y_true holds no known label, only NaN: there is nothing to compare.")
    return Y[rows], as_dense(Z[rows]), known[rows]
