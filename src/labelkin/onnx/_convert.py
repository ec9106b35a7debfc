"""The table of converters: for each class, the function that adds its output to a graph.

`convert` dispatches on the class of a fitted transformer or classifier. To export another class,
register a function that takes the fitted object and the samples, and returns the samples
transformed or a `Prediction`; it can then be a step of a pipeline or a member of an ensemble.
"""

from functools import singledispatch
from typing import Any, NamedTuple

from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline

from labelkin.onnx._graph import Tensor
from labelkin.tabular import TableClassifier


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


@convert.register(BaseSearchCV)
@convert.register(TableClassifier)
def _wrapped(model: Any, rows: Any) -> Any:
    return convert(unwrap(model), rows)


def unwrap(model: Any) -> Any:
    """Return what a search has found, or the pipeline of a table; another model as it is."""
    while isinstance(model, BaseSearchCV | TableClassifier):
        model = model.pipeline_ if isinstance(model, TableClassifier) else model.best_estimator_
    return model


def final_step(model: Any) -> Any:
    """Return the classifier at the end of pipelines."""
    while isinstance(model := unwrap(model), Pipeline):
        model = model.steps[-1][1]
    return model
