"""Converters of columns of numbers and of strings: `ColumnTransformer`, `OneHotEncoder`."""

import warnings
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from labelkin.base import Array
from labelkin.decisions import DecisionClassifier
from labelkin.onnx._convert import transform
from labelkin.onnx._graph import Columns, Graph, Tensor
from labelkin.tabular._dates import DateEncoder
from labelkin.tabular._pipeline import StringConverter

# ------------------------------------------------------- which columns are strings


def reads_strings(model: Any, width: int) -> Array:
    """Return which columns of its input a fitted model or transformer reads as strings."""
    if isinstance(model, BaseSearchCV):
        return reads_strings(model.best_estimator_, width)
    if isinstance(model, DecisionClassifier):
        return reads_strings(model.estimator_, width)
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
        return reads_strings(steps[0], width)
    if isinstance(model, OneHotEncoder):
        return np.array([values.dtype.kind in "OUST" for values in model.categories_])
    if isinstance(model, ColumnTransformer):
        return _strings_of_columns(model, width)
    return np.full(width, isinstance(model, StringConverter | DateEncoder | CountVectorizer))


def _strings_of_columns(model: ColumnTransformer, width: int) -> Array:
    strings = np.zeros(width, dtype=bool)
    numbers = np.zeros(width, dtype=bool)
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


def _branches(model: ColumnTransformer) -> list[tuple[str, Any, list[int]]]:
    """Return name, fitted transformer and column numbers of each transformer in use."""
    found = [
        (name, branch, list(model._transformer_to_input_indices[name]))
        for name, branch, _ in model.transformers_
        if not (isinstance(branch, str) and branch == "drop")
    ]
    return [part for part in found if part[2]]


# --------------------------------------------------------------------------- transformers


@transform.register
def _column_transformer(step: ColumnTransformer, graph: Graph, rows: Any) -> Tensor:
    weights = step.transformer_weights or {}
    parts = []
    for name, branch, places in _branches(step):
        part = transform(branch, graph, graph.columns(rows, places))
        if weights.get(name) is not None:
            part = graph.apply("Mul", part, weights[name])
        parts.append(part)
    return graph.hstack(parts)


@transform.register
def _as_strings(step: StringConverter, graph: Graph, rows: Any) -> Any:
    return rows  # the inputs are strings already, empty where missing


@transform.register
def _one_hot_encoder(step: OneHotEncoder, graph: Graph, rows: Any) -> Tensor:
    dtype = np.dtype(step.dtype)
    parts = []
    for number, (places, unknown, width) in enumerate(_places(step)):
        if not width:
            continue
        column = graph.columns(rows, [number])
        assert not isinstance(column, Columns)
        categories = step.categories_[number]
        find = _place_of_string if column.dtype == object else _place_of_number
        place = find(graph, column, categories, places, unknown)
        parts.append(graph.cast(graph.op("Equal", place, np.arange(width)), dtype))
    return graph.hstack([Tensor(part, dtype) for part in parts])


def _places(step: OneHotEncoder) -> list[tuple[Array, int, int]]:
    """Return for each column: the output that is 1 for each category, for others, and the width.

    −1 where no output is 1. The encoder's own outputs are used, so that dropped and infrequent
    categories are encoded alike.
    """
    first = np.array([_probe(values)[0] for values in step.categories_], dtype=object)
    ends = np.cumsum(step._n_features_outs)
    found = []
    for number, values in enumerate(step.categories_):
        probes = _probe(values)
        if step.handle_unknown == "error":
            probes = probes[:-1]
        cells = np.tile(first, (len(probes), 1))
        cells[:, number] = probes
        if all(values.dtype.kind in "biuf" for values in step.categories_):
            cells = cells.astype(np.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about unknown categories
            outputs = step.transform(cells)
        width = step._n_features_outs[number]
        own = outputs[:, ends[number] - width : ends[number]]
        own = np.asarray(own.toarray() if hasattr(own, "toarray") else own)
        places = np.full(len(values) + 1, -1)
        if width:
            places[: len(own)] = np.where(own.any(axis=1), own.argmax(axis=1), -1)
        found.append((places[:-1], int(places[-1]), int(width)))
    return found


def _probe(values: Array) -> list[Any]:
    """Return the categories, and a value that is none of them."""
    if values.dtype.kind in "biuf":
        return [*values.tolist(), float(np.nanmax([0.0, *values.astype(float)])) + 1]
    return [*values.tolist(), "".join(map(str, values)) + "?"]


def _place_of_string(
    graph: Graph, column: Tensor, categories: Array, places: Array, unknown: int
) -> str:
    keys = ["" if _is_missing(value) else value for value in categories.tolist()]
    if not all(isinstance(key, str) for key in keys) or len(set(keys)) < len(keys):
        raise ValueError(
            "OneHotEncoder with categories of several types, or of several kinds of missing "
            "value, cannot be exported to ONNX; make them strings first."
        )
    return graph.op(
        "LabelEncoder",
        column.name,
        domain="ai.onnx.ml",
        keys_strings=keys,
        values_int64s=places.tolist(),
        default_int64=unknown,
    )


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _place_of_number(
    graph: Graph, column: Tensor, categories: Array, places: Array, unknown: int
) -> str:
    values = categories.astype(column.dtype)[None]
    found = graph.op("Equal", column.name, values)
    if np.isnan(values).any():
        missing = graph.op("And", graph.op("IsNaN", column.name), np.isnan(values))
        found = graph.op("Or", found, missing)
    # At most one category is found: the sum is its place, or that of unknown ones.
    steps = graph.op("Mul", graph.cast(found, np.int64), places - unknown)
    total = graph.op("ReduceSum", steps, np.array([1]), keepdims=1)
    return graph.op("Add", total, np.array(unknown))
