"""The table of converters, and those of transformers of numbers, categories and whole tables.

`convert` dispatches on the class of a fitted transformer or classifier. To export another class,
register a function that takes the fitted object and the samples, and returns the samples
transformed or a `Prediction`; it can then be a step of a pipeline or a member of an ensemble.
"""

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection._search import BaseSearchCV
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
from labelkin.onnx._graph import Tensor, hstack, look_up
from labelkin.projection._base import LinearProjection
from labelkin.tabular import RobustLogScaler, TableClassifier
from labelkin.tabular._categories import CategoryEncoder
from labelkin.tabular._dates import DateEncoder
from labelkin.tabular._pipeline import StringConverter
from labelkin.tabular._text import NGrams, TextEmbedding, TextFeatures


class Prediction(NamedTuple):
    """The probabilities, float64, and the labels, bool, both (N, q)."""

    probabilities: Tensor
    labels: Tensor


@singledispatch
def convert(model: Any, rows: Any) -> Any:
    """Add the output of a fitted transformer or classifier.

    Rows are a tensor; with columns of several types, a list of tensors, one per column.
    """
    known = {"BaseSearchCV": "GridSearchCV", "LinearProjection": "PairwiseConstraintProjection"}
    hidden = ("object", "str", "NoneType")
    names = [kind.__name__ for kind in convert.registry if kind.__name__ not in hidden]
    raise ValueError(
        f"{type(model).__name__} cannot be exported to ONNX; these can: "
        f"{', '.join(sorted(known.get(name, name) for name in names))}."
    )


@convert.register
def _pipeline(model: Pipeline, rows: Any) -> Any:
    for _, step in model.steps:
        rows = convert(step, rows)
    return rows


_INNER = {
    BaseSearchCV: "best_estimator_",
    FrozenEstimator: "estimator",
    TableClassifier: "pipeline_",
}


@convert.register(BaseSearchCV)
@convert.register(FrozenEstimator)
@convert.register(TableClassifier)
def _wrapped(model: Any, rows: Any) -> Any:
    return convert(unwrap(model), rows)


def unwrap(model: Any) -> Any:
    """Return what a search has found, or the pipeline of a table; another model as it is."""
    for kind, inner in _INNER.items():
        if isinstance(model, kind):
            return unwrap(getattr(model, inner))
    return model


def final_step(model: Any) -> Any:
    """Return the classifier at the end of pipelines."""
    while isinstance(model := unwrap(model), Pipeline):
        model = model.steps[-1][1]
    return model


# -------------------------------------------------------------------------------- numbers


@convert.register(str)
@convert.register(type(None))
@convert.register(StringConverter)
def _passthrough(step: Any, rows: Any) -> Any:
    return rows  # strings are empty where missing, as `StringConverter` makes them


@convert.register(TextEmbedding)
@convert.register(TextFeatures)
@convert.register(NGrams)
def _embedding(step: Any, rows: Any) -> Any:
    raise ValueError(
        "Embeddings and n-grams of texts cannot be exported to ONNX: fit the model with "
        "embedding='none' and ngrams='none' (labelkin fit --embedding none --ngrams none)."
    )


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
    size = z.op("Abs")
    tail = ((size - step.linear).at_least(0.0) + 1).op("Log")
    return z.op("Sign") * (size.at_most(step.linear) + tail).at_most(step.largest)


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


@convert.register
def _missing_indicator(step: MissingIndicator, rows: Tensor) -> Tensor:
    if step.features != "all":
        raise ValueError("MissingIndicator can be exported to ONNX with features='all'.")
    if rows.dtype != object:
        return rows.op("IsNaN", dtype=bool).astype(np.float64)
    missing = np.array([step.missing_values], dtype=object)
    columns = range(len(step.features_))
    return hstack([_find_string(_take(rows, [j]), missing) for j in columns]).astype(np.float64)


# ----------------------------------------------------------------------------- categories


@convert.register
def _one_hot_encoder(step: OneHotEncoder, rows: Any) -> Tensor:
    if step.drop_idx_ is not None or any(
        rare is not None for rare in getattr(step, "_infrequent_indices", ())
    ):
        raise ValueError(
            "OneHotEncoder that drops or merges categories cannot be exported to ONNX; fit it "
            "without drop, min_frequency and max_categories."
        )
    parts = []
    for number, categories in enumerate(step.categories_):
        column = _take(rows, [number])
        find = _find_string if column.dtype == object else _find_number
        parts.append(find(column, categories).astype(step.dtype))
    if isinstance(step, CategoryEncoder):
        splits = np.cumsum([*map(len, step.categories_)])[:-1]
        for number, medians in enumerate(np.split(step.medians_, splits)):
            is_known = parts[number].sum(1, keepdims=True) > 0
            parts[number] = is_known.choose(parts[number], medians[None])
    return hstack(parts)


def _find_string(column: Tensor, categories: Array) -> Tensor:
    keys = ["" if v is None or v != v else v for v in categories.tolist()]
    if not all(isinstance(key, str) for key in keys) or len(set(keys)) < len(keys):
        raise ValueError(
            "OneHotEncoder with categories of several types, or of several kinds of missing "
            "value, cannot be exported to ONNX; make them strings first."
        )
    numbers = np.arange(len(keys))
    return look_up(column, dict(zip(keys, numbers.tolist(), strict=True)), -1).equals(numbers)


def _find_number(column: Tensor, categories: Array) -> Tensor:
    values = categories.astype(column.dtype)[None]
    return column.equals(values) | (column.op("IsNaN", dtype=bool) & np.isnan(values))


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
        return np.full(width, isinstance(model, StringConverter | DateEncoder | TfidfVectorizer))
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
