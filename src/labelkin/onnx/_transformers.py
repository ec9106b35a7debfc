"""Converters of transformers of numbers: scalers, imputers, projections."""

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, StandardScaler

from labelkin.methods import to_dense
from labelkin.onnx._convert import transform
from labelkin.onnx._graph import Graph, Tensor
from labelkin.projection._base import LinearProjection
from labelkin.tabular import RobustLogScaler


@transform.register(str)
@transform.register(type(None))
def _passthrough(step: Any, graph: Graph, rows: Tensor) -> Tensor:
    return rows


@transform.register
def _function(step: FunctionTransformer, graph: Graph, rows: Tensor) -> Tensor:
    if step.func not in (None, to_dense):
        raise ValueError("A FunctionTransformer with a function cannot be exported to ONNX.")
    return rows


@transform.register
def _projection(step: LinearProjection, graph: Graph, rows: Tensor) -> Tensor:
    return graph.project(rows, step.components_)


@transform.register
def _standard_scaler(step: StandardScaler, graph: Graph, rows: Tensor) -> Tensor:
    if step.with_mean:
        rows = graph.apply("Sub", rows, step.mean_)
    return graph.apply("Div", rows, step.scale_) if step.with_std else rows


@transform.register
def _min_max_scaler(step: MinMaxScaler, graph: Graph, rows: Tensor) -> Tensor:
    rows = graph.apply("Add", graph.apply("Mul", rows, step.scale_), step.min_)
    return graph.apply("Clip", rows, *step.feature_range) if step.clip else rows


@transform.register
def _max_abs_scaler(step: MaxAbsScaler, graph: Graph, rows: Tensor) -> Tensor:
    rows = graph.apply("Div", rows, step.scale_)
    return graph.apply("Clip", rows, -1, 1) if getattr(step, "clip", False) else rows


@transform.register
def _robust_log_scaler(step: RobustLogScaler, graph: Graph, rows: Tensor) -> Tensor:
    rows = graph.apply("Min", graph.apply("Max", rows, step.data_min_), step.data_max_)
    z = graph.apply("Div", graph.apply("Sub", rows, step.center_), step.scale_)
    size = graph.op("Log", graph.apply("Add", z._replace(name=graph.op("Abs", z.name)), 1).name)
    return z._replace(name=graph.op("Mul", graph.op("Sign", z.name), size))


@transform.register
def _simple_imputer(step: SimpleImputer, graph: Graph, rows: Tensor) -> Tensor:
    if rows.dtype == object or step.statistics_.dtype == object:
        raise ValueError(
            "SimpleImputer of words cannot be exported to ONNX; let OneHotEncoder encode the "
            "missing ones."
        )
    fill = np.asarray(step.statistics_, dtype=rows.dtype)
    replaces_nan = isinstance(step.missing_values, float) and np.isnan(step.missing_values)
    if not replaces_nan or step.add_indicator or np.isnan(fill).any():
        raise ValueError(
            "SimpleImputer can be exported to ONNX when it replaces NaN, adds no indicator and "
            "no feature was missing in all samples."
        )
    missing = graph.op("IsNaN", rows.name)
    return rows._replace(name=graph.op("Where", missing, fill[None], rows.name))
