"""Validation of label sets and scores, which are brought to the host."""

from typing import Any

import numpy as np

from labelkin._utils.labels import as_matrix, check_labels, split_unknown
from labelkin.rows import as_dense, to_numpy


def check_scores(y_score: Any) -> np.ndarray:
    """Return scores as a dense float array without NaN or infinity."""
    array = as_dense(as_matrix(to_numpy(y_score), "y_score"))
    try:
        array = array.astype(float, copy=False)
    except (TypeError, ValueError):
        raise ValueError("y_score must hold numbers.") from None
    if not np.isfinite(array).all():
        raise ValueError("y_score must be finite, but holds NaN or infinity.")
    return array


def check_label_sets(y_true: Any, y_pred: Any) -> tuple[Any, Any, np.ndarray | None]:
    """Return true and predicted label sets, validated and of one shape, and which are known.

    Where some are unknown, both sets are 0 there, and rows without a known label are left out.
    The third result is None where all are known.
    """
    Y, known = split_unknown(to_numpy(y_true), "y_true")
    Z = check_labels(to_numpy(y_pred), "y_pred")
    _check_match(y_true, y_pred, (Y, Z), "y_pred")
    if known is not None:
        rows = _rows_with_labels(known)
        Y, known = Y[rows], known[rows]
        Z = np.where(known, as_dense(Z[rows]), 0)
    if Y.shape[1] == 1:
        # Scikit-learn reads a single column as two classes. Every metric of label sets has the
        # same value when the label is repeated.
        Y, Z = Y[:, [0, 0]], Z[:, [0, 0]]
        known = None if known is None else known[:, [0, 0]]
    return Y, Z, known


def check_ranking(y_true: Any, y_score: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return dense label sets and scores, validated and of one shape, and which are known.

    The third result is None where all are; else rows without a known label are left out.
    """
    (Y, known), S = split_unknown(to_numpy(y_true), "y_true"), check_scores(y_score)
    _check_match(y_true, y_score, (Y, S), "y_score")
    if known is not None:
        rows = _rows_with_labels(known)
        return Y[rows], S[rows], known[rows]
    return as_dense(Y), S, None


def _rows_with_labels(known: np.ndarray) -> np.ndarray:
    """Return the rows with a known label; refuse labels that are all unknown."""
    rows = np.flatnonzero(known.any(axis=1))
    if not len(rows):
        raise ValueError("y_true holds no known label, only NaN: there is nothing to compare.")
    return rows


def _check_match(y_true: Any, other: Any, checked: tuple[Any, Any], name: str) -> None:
    """Refuse matrices of different shapes, or DataFrames with columns in different orders."""
    if checked[0].shape != checked[1].shape:
        raise ValueError(
            f"y_true and {name} must have the same shape, "
            f"but have {checked[0].shape} and {checked[1].shape}."
        )
    columns = [list(getattr(frame, "columns", ())) for frame in (y_true, other)]
    if columns[0] != columns[1] and set(columns[0]) == set(columns[1]):
        raise ValueError(
            f"y_true and {name} hold the same labels in different orders: "
            f"reorder one by the other's columns."
        )
