"""The tables of converters: for each class, the function that adds its prediction to a graph.

`classify` and `transform` dispatch on the class of a fitted model or transformer. To export
another classifier, register a function that takes the model and the samples and returns a
`Prediction`; the classifier can then also be a member of an ensemble or the last step of a
pipeline.
"""

from functools import singledispatch
from typing import Any, NamedTuple

from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline

from labelkin.onnx._graph import Tensor


class Prediction(NamedTuple):
    """The probabilities, float64, and the labels, bool, both (N, q)."""

    probabilities: Tensor
    labels: Tensor


@singledispatch
def classify(model: Any, rows: Any) -> Prediction:
    """Add the prediction of a fitted classifier for the rows."""
    raise ValueError(
        f"{type(model).__name__} cannot be exported to ONNX; these can: {_names(classify)}."
    )


@singledispatch
def transform(step: Any, rows: Any) -> Tensor:
    """Add the output of a fitted transformer.

    Rows with columns of several types are a list of tensors, one per column.
    """
    raise ValueError(
        f"The pipeline's step {type(step).__name__} cannot be exported to ONNX; these can: "
        f"{_names(transform)}."
    )


def _names(function: Any) -> str:
    known = {"BaseSearchCV": "GridSearchCV", "LinearProjection": "PairwiseConstraintProjection"}
    names = [known.get(kind.__name__, kind.__name__) for kind in function.registry]
    return ", ".join(sorted(name for name in names if name not in ("object", "str", "NoneType")))


@classify.register
def _pipeline(model: Pipeline, rows: Any) -> Prediction:
    return classify(model.steps[-1][1], _apply_steps(model[:-1], rows))


@classify.register
def _search(model: BaseSearchCV, rows: Any) -> Prediction:
    return classify(model.best_estimator_, rows)


@transform.register
def _apply_steps(step: Pipeline, rows: Any) -> Any:
    for _, inner in step.steps:
        rows = transform(inner, rows)
    return rows
