"""Estimators and Dask arrays: what `labelkin.base` does for data in memory, block by block."""

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_n_features, check_consistent_length, check_is_fitted

from labelkin._utils.labels import check_target_given
from labelkin.distributed._rows import RowBlocks
from labelkin.distributed._tasks import as_dask_array, constant, task


def validate_fit(estimator: Any, X: Any, y: Any) -> tuple[RowBlocks, Any]:
    """Validate training data in blocks, as ``_validate_fit`` does data in memory.

    Returns
    -------
    rows : RowBlocks
    labels : Dask array or ndarray of shape (n_samples, n_labels)
        Whether it holds only 0 and 1 is checked block by block, when it is computed.
    """
    rows = X if isinstance(X, RowBlocks) else RowBlocks.from_dask(X)
    check_target_given(estimator, y)
    for name in ("label_names_", "feature_names_in_"):
        if hasattr(estimator, name):
            delattr(estimator, name)
    if 0 in rows.shape:
        raise ValueError(f"X is empty: its shape is {rows.shape}.")
    estimator.n_features_in_ = rows.shape[1]
    if hasattr(y, "columns"):
        estimator.label_names_ = np.asarray(y.columns, dtype=object)
    labels = with_known_length(y)
    estimator._one_target = len(labels.shape) == 1
    if estimator._one_target:
        labels = estimator._validate_one_target(np.asarray(labels))
    else:
        estimator.classes_ = np.tile([0, 1], (labels.shape[1], 1))
    check_consistent_length(rows, labels)
    return rows, labels


def with_known_length(y: Any) -> Any:
    """Return a target as an array; one of Dask with chunks of known sizes."""
    if not hasattr(y, "__dask_graph__"):
        return y if hasattr(y, "shape") else np.asarray(y)
    if hasattr(y, "to_dask_array"):
        return y.to_dask_array(lengths=True)
    return y.copy().compute_chunk_sizes() if np.isnan(y.shape[0]) else y


def map_predict(model: Any, X: Any, method: str) -> Any:
    """Return what a method of a model in memory predicts for a Dask array, as a lazy one."""
    queries = validate_queries(model, X)
    meta = getattr(model, method)(np.zeros((1, model.n_features_in_), queries.dtype))[:0]
    predict, shared = task(_predict_block), constant(model)
    blocks = [predict(shared, block, method, meta) for block in queries.row_blocks]
    return as_dask_array(blocks, queries.sizes, meta)


def map_transform(projection: Any, X: Any) -> Any:
    """Project a Dask array, lazily, block by block."""
    rows = validate_queries(projection, X) @ projection.components_.T
    meta = np.empty((0, rows.shape[1]), np.result_type(rows.dtype, projection.components_))
    return as_dask_array(rows.projected().row_blocks, rows.sizes, meta)


def validate_queries(model: Any, X: Any) -> RowBlocks:
    """Validate a Dask array of samples for a fitted model."""
    check_is_fitted(model)
    _check_n_features(model, X, reset=False)
    return RowBlocks.from_dask(X)


def _predict_block(model: Any, block: Any, method: str, meta: Any) -> Any:
    return getattr(model, method)(block) if block.shape[0] else meta
