"""The tables of converters: for each class, the function that adds its prediction to a graph.

`classify` and `transform` dispatch on the class of a fitted model or transformer. To export
another classifier, register a function that takes the model, the graph and the samples and
returns a `Prediction`; the classifier can then also be a member of an ensemble or the last step
of a pipeline.
"""

from functools import singledispatch
from typing import Any, NamedTuple

from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline

from labelkin.onnx._graph import Graph, Tensor


class Prediction(NamedTuple):
    """Names of the probabilities, float64, and of the labels, bool, both (N, q)."""

    probabilities: str
    labels: str


@singledispatch
def classify(model: Any, graph: Graph, rows: Tensor) -> Prediction:
    """Add the prediction of a fitted classifier for the rows."""
    raise ValueError(
        f"{type(model).__name__} cannot be exported to ONNX; these can: {_names(classify)}."
    )


@singledispatch
def transform(step: Any, graph: Graph, rows: Any) -> Tensor:
    """Add the output of a fitted transformer; `rows` may be `Columns` where it takes them."""
    raise ValueError(
        f"The pipeline's step {type(step).__name__} cannot be exported to ONNX; these can: "
        f"{_names(transform)}."
    )


def _names(function: Any) -> str:
    known = {"BaseSearchCV": "GridSearchCV", "LinearProjection": "PairwiseConstraintProjection"}
    names = [known.get(kind.__name__, kind.__name__) for kind in function.registry]
    return ", ".join(sorted(name for name in names if name not in ("object", "str", "NoneType")))


def final_estimator(model: Any) -> Any:
    """Return the classifier inside pipelines and searches."""
    while isinstance(model, Pipeline | BaseSearchCV):
        model = model.steps[-1][1] if isinstance(model, Pipeline) else model.best_estimator_
    return model


@classify.register
def _pipeline(model: Pipeline, graph: Graph, rows: Tensor) -> Prediction:
    for _, step in model.steps[:-1]:
        rows = transform(step, graph, rows)
    return classify(model.steps[-1][1], graph, rows)


@classify.register
def _search(model: BaseSearchCV, graph: Graph, rows: Tensor) -> Prediction:
    return classify(model.best_estimator_, graph, rows)


@transform.register
def _pipeline_of_transformers(step: Pipeline, graph: Graph, rows: Tensor) -> Tensor:
    for _, inner in step.steps:
        rows = transform(inner, graph, rows)
    return rows
