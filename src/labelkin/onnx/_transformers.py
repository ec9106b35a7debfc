"""Converters of transformers of numbers and categories, and of whole tables."""

import warnings
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)

from labelkin.base import Array
from labelkin.decisions import DecisionClassifier
from labelkin.methods import to_dense
from labelkin.onnx._convert import convert, unwrap
from labelkin.onnx._graph import Tensor, hstack
from labelkin.projection._base import LinearProjection
from labelkin.tabular import RobustLogScaler
from labelkin.tabular._dates import DateEncoder
from labelkin.tabular._pipeline import StringConverter

# -------------------------------------------------------------------------------- numbers


@convert.register(str)
@convert.register(type(None))
@convert.register(StringConverter)
def _passthrough(step: Any, rows: Any) -> Any:
    return rows  # strings are empty where missing, as `StringConverter` makes them


@convert.register
def _function(step: FunctionTransformer, rows: Tensor) -> Tensor:
    if step.func not in (None, to_dense):
        raise ValueError("A FunctionTransformer with a function cannot be exported to ONNX.")
    return rows


@convert.register
def _projection(step: LinearProjection, rows: Tensor) -> Tensor:
    return rows.promote(step.components_.dtype) @ step.components_.T


@convert.register
def _standard_scaler(step: StandardScaler, rows: Tensor) -> Tensor:
    rows = rows - step.mean_ if step.with_mean else rows
    return rows / step.scale_ if step.with_std else rows


@convert.register
def _min_max_scaler(step: MinMaxScaler, rows: Tensor) -> Tensor:
    rows = rows * step.scale_ + step.min_
    low, high = step.feature_range
    return rows.at_least(low).at_most(high) if step.clip else rows


@convert.register
def _max_abs_scaler(step: MaxAbsScaler, rows: Tensor) -> Tensor:
    rows = rows / step.scale_
    return rows.at_least(-1).at_most(1) if getattr(step, "clip", False) else rows


@convert.register
def _robust_log_scaler(step: RobustLogScaler, rows: Tensor) -> Tensor:
    z = (rows.at_least(step.data_min_).at_most(step.data_max_) - step.center_) / step.scale_
    return z.op("Sign") * (z.op("Abs") + 1).op("Log")


@convert.register
def _simple_imputer(step: SimpleImputer, rows: Tensor) -> Tensor:
    replaces_nan = isinstance(step.missing_values, float) and np.isnan(step.missing_values)
    of_numbers = rows.dtype != object and step.statistics_.dtype != object
    if not of_numbers or not replaces_nan or step.add_indicator or np.isnan(step.statistics_).any():
        raise ValueError(
            "SimpleImputer can be exported to ONNX when it replaces NaN in columns of numbers, "
            "adds no indicator and no feature was missing in all samples."
        )
    fill = np.asarray(step.statistics_, dtype=rows.dtype)
    return rows.op("IsNaN", dtype=bool).choose(fill[None], rows)


# ----------------------------------------------------------------------------- categories


@convert.register
def _one_hot_encoder(step: OneHotEncoder, rows: Any) -> Tensor:
    parts = []
    for number, width in enumerate(step._n_features_outs):
        if width:
            column, categories = _take(rows, [number]), step.categories_[number]
            find = _place_of_string if column.dtype == object else _place_of_number
            place = find(column, categories, *_places(step, number))
            parts.append(place.equals(np.arange(width)).astype(step.dtype))
    return hstack(parts)


def _places(step: OneHotEncoder, number: int) -> tuple[Array, int]:
    """Return the output that is 1 for each category of a column, and for any other value.

    −1 where no output is 1. The encoder's own outputs are used, so that dropped and infrequent
    categories are encoded alike.
    """
    categories, widths = step.categories_[number], step._n_features_outs
    is_number = [values.dtype.kind in "biuf" for values in step.categories_]
    other: Any = "".join(map(str, categories)) + "?"
    if is_number[number]:
        other = float(np.nanmax([0.0, *categories.astype(float)])) + 1
    probes = [*categories.tolist(), *([] if step.handle_unknown == "error" else [other])]
    cells = np.array([[values[0] for values in step.categories_]] * len(probes), dtype=object)
    cells[:, number] = probes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about unknown categories and the names of columns
        outputs = step.transform(cells.astype(float) if all(is_number) else cells)
    outputs = outputs.toarray() if step.sparse_output else np.asarray(outputs)
    own = outputs[:, sum(widths[:number]) : sum(widths[: number + 1])]
    places = np.full(len(categories) + 1, -1)
    places[: len(own)] = np.where(own.any(axis=1), own.argmax(axis=1), -1)
    return places[:-1], int(places[-1])


def _place_of_string(column: Tensor, categories: Array, places: Array, unknown: int) -> Tensor:
    keys = ["" if v is None or v != v else v for v in categories.tolist()]
    if not all(isinstance(key, str) for key in keys) or len(set(keys)) < len(keys):
        raise ValueError(
            "OneHotEncoder with categories of several types, or of several kinds of missing "
            "value, cannot be exported to ONNX; make them strings first."
        )
    return column.op(
        "LabelEncoder",
        dtype=np.int64,
        domain="ai.onnx.ml",
        keys_strings=keys,
        values_int64s=places.tolist(),
        default_int64=unknown,
    )


def _place_of_number(column: Tensor, categories: Array, places: Array, unknown: int) -> Tensor:
    values = categories.astype(column.dtype)[None]
    found = column.equals(values) | (column.op("IsNaN", dtype=bool) & np.isnan(values))
    # At most one category is found: the sum is its place, or that of unknown ones.
    return (found.astype(np.int64) * (places - unknown)).sum(1, keepdims=True) + unknown


# --------------------------------------------------------------------------------- tables


@convert.register
def _column_transformer(step: ColumnTransformer, rows: Any) -> Tensor:
    weights = step.transformer_weights or {}
    parts = []
    for name, branch, places in _branches(step):
        part = convert(branch, _take(rows, places))
        parts.append(part if weights.get(name) is None else part * weights[name])
    return hstack(parts)


def _branches(model: ColumnTransformer) -> list[tuple[str, Any, list[int]]]:
    """Return name, fitted transformer and column numbers of each transformer in use."""
    found = [
        (name, branch, list(model._transformer_to_input_indices[name]))
        for name, branch, _ in model.transformers_
        if not (isinstance(branch, str) and branch == "drop")
    ]
    return [part for part in found if part[2]]


def _take(rows: Any, places: list[int]) -> Any:
    """Return some columns: as one tensor, unless they are of different types."""
    if isinstance(rows, Tensor):
        return rows.columns(places)
    found = [rows[place] for place in places]
    return hstack(found) if len({column.dtype for column in found}) == 1 else found


def reads_strings(model: Any, width: int) -> Array:
    """Return which columns of its input a fitted model or transformer reads as strings."""
    if (inner := unwrap(model)) is not model:
        return reads_strings(inner, width)
    if isinstance(model, DecisionClassifier):
        return reads_strings(model.estimator_, width)
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
        return reads_strings(steps[0], width)
    if isinstance(model, OneHotEncoder):
        return np.array([values.dtype.kind in "OUST" for values in model.categories_])
    if not isinstance(model, ColumnTransformer):
        return np.full(width, isinstance(model, StringConverter | DateEncoder | CountVectorizer))
    strings, numbers = np.zeros((2, width), dtype=bool)
    for _, branch, places in _branches(model):
        read = reads_strings(branch, len(places))
        strings[places] |= read
        numbers[places] |= ~read
    if (both := np.flatnonzero(strings & numbers)).size:
        names = getattr(model, "feature_names_in_", np.arange(width))
        raise ValueError(
            f"Column {names[both[0]]} is read as strings and as numbers, which is impossible "
            "for one ONNX input; give the model two columns."
        )
    return strings
