"""One function a class: what it computes, as nodes of a graph.

To export another classifier, register a function that takes the fitted model, the graph and
its rows, and returns the names of the probabilities and of the labels; it is then understood
as a member of an ensemble and as the end of a pipeline, too.

The arithmetic follows the Python code step by step and in the same types, so that ties
between neighbours fall alike.
"""

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, StandardScaler

from labelkin.base import Array, LinearProjection
from labelkin.decisions import DecisionClassifier
from labelkin.ensemble._vpcme import BaggingVPCPClassifier, VPCMEClassifier
from labelkin.kernel._classifier import KernelRidgeLOOClassifier
from labelkin.kernel._distances import KernelColumns
from labelkin.neighbors._mlknn import IBLRClassifier, MLkNNClassifier, NeighborCounts
from labelkin.onnx._graph import Graph, Rows
from labelkin.registry import to_dense


class Answer(NamedTuple):
    """Names of the probabilities, float64, and of the labels, bool, both (N, q)."""

    probabilities: str
    labels: str


@singledispatch
def classify(model: Any, graph: Graph, rows: Rows) -> Answer:
    """Add what a fitted classifier says of the rows."""
    raise ValueError(
        f"{type(model).__name__} cannot be exported to ONNX; these can: {_names(classify)}."
    )


@singledispatch
def transform(step: Any, graph: Graph, rows: Any) -> Rows:
    """Add what a fitted transformer makes of the rows, which may be a `Table` where it can be."""
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
def _(model: MLkNNClassifier, graph: Graph, rows: Rows) -> Answer:
    counts = _neighbor_counts(model._counts, graph, rows)
    # P(l | c) of label l and count c stands at l(k + 1) + c.
    posterior = model._posterior.astype(np.float64)
    starts = np.arange(len(posterior), dtype=np.int32) * posterior.shape[1]
    places = graph.op("Add", counts, starts)
    return _likely(graph, graph.op("Gather", posterior.ravel(), places))


@classify.register
def _(model: IBLRClassifier, graph: Graph, rows: Rows) -> Answer:
    counts = graph.cast(_neighbor_counts(model._counts, graph, rows), np.float64)
    inputs = graph.op("Div", counts, np.float64(max(1, model._counts.n_neighbors)))
    if model._with_features:
        wide = graph.promote(rows, np.float64)
        inputs = graph.op("Concat", inputs, wide.name, axis=1)
    coef, intercept = model.coef_.astype(np.float64), model.intercept_.astype(np.float64)
    score = graph.op("Add", graph.op("MatMul", inputs, coef.T), intercept)
    return _likely(graph, graph.op("Sigmoid", score))


@classify.register
def _(model: KernelRidgeLOOClassifier, graph: Graph, rows: Rows) -> Answer:
    # In double whatever the model's type: coefficients of both signs cancel, and what single
    # precision rounds off the distances would show in the fourth digit.
    columns = _kernel_columns(model, graph, graph.promote(rows, np.float64))
    scores = graph.op("MatMul", columns.name, graph.double(model._coef))
    scores = graph.op("Add", scores, np.asarray(model._offset, dtype=np.float64))
    if model.share_ is not None:
        scores = _bent(graph, scores, np.asarray(model.share_))
    odds = graph.op("Add", graph.op("Mul", scores, model.slope_), model.intercept_)
    return _likely(graph, graph.op("Sigmoid", odds))


def _bent(graph: Graph, scores: str, share: Any) -> str:
    """As `calibration._curves.bend`; asinh by logarithms, for it is not there in doubles."""
    frequent = (share > 0.5).astype(np.float64)
    side = 1 - 2 * frequent
    half = 2 * (frequent + side * share)
    z = graph.op("Add", graph.op("Mul", scores, side / half), frequent / half)
    size = graph.op("Abs", z)
    root = graph.op("Sqrt", graph.op("Add", graph.op("Mul", z, z), np.float64(1)))
    logarithm = graph.op("Log", graph.op("Add", size, root))
    return graph.op("Mul", graph.op("Mul", graph.op("Sign", z), logarithm), side)


@classify.register(VPCMEClassifier)
@classify.register(BaggingVPCPClassifier)
def _(model: Any, graph: Graph, rows: Rows) -> Answer:
    members = [
        classify(estimator, graph, graph.project(rows, projection.components_))
        for estimator, projection in zip(model.estimators_, model.projections_, strict=True)
    ]
    answer = _likely(graph, _mean(graph, [m.probabilities for m in members], model.vote_weights_))
    if model.calibration_ is not None:
        curves = model.calibration_
        odds = graph.op("Mul", answer.probabilities, curves.slope_)
        return _likely(graph, graph.op("Sigmoid", graph.op("Add", odds, curves.intercept_)))
    if model.voting == "soft":
        return answer
    ballots = [graph.cast(member.labels, np.float64) for member in members]
    share, half = _mean(graph, ballots, model.vote_weights_), np.float64(0.5)
    tied = graph.op("And", graph.op("Equal", share, half), answer.labels)
    return answer._replace(labels=graph.op("Or", graph.op("Greater", share, half), tied))


@classify.register
def _(model: DecisionClassifier, graph: Graph, rows: Rows) -> Answer:
    decision = model.decision_
    if decision.decision == "expected_f1":
        raise ValueError(
            "DecisionClassifier with decision='expected_f1' cannot be exported to ONNX; choose "
            "one of thresholds, such as 'f1', or export its estimator_."
        )
    scores = classify(model.estimator_, graph, rows).probabilities
    thresholds = np.asarray(decision.thresholds_, dtype=np.float64)
    labels = graph.op("Greater", scores, thresholds)
    allowed = ~np.isposinf(thresholds)
    if decision.at_least_one_ and allowed.any():
        known = graph.op("Where", allowed[None], scores, np.float64(-np.inf))
        top = graph.op("ArgMax", known, axis=1, keepdims=1)
        is_top = graph.op("Equal", top, np.arange(len(thresholds)))
        count = graph.cast(labels, np.int32)
        count = graph.op("ReduceSum", count, np.array([1]), keepdims=1)
        empty = graph.op("Equal", count, np.array(0, dtype=np.int32))
        labels = graph.op("Or", labels, graph.op("And", empty, is_top))
    return Answer(scores, labels)


@classify.register
def _(model: Pipeline, graph: Graph, rows: Rows) -> Answer:
    for _, step in model.steps[:-1]:
        rows = transform(step, graph, rows)
    return classify(model.steps[-1][1], graph, rows)


@classify.register
def _(model: BaseSearchCV, graph: Graph, rows: Rows) -> Answer:
    return classify(model.best_estimator_, graph, rows)


@transform.register
def _(step: Pipeline, graph: Graph, rows: Rows) -> Rows:
    for _, inner in step.steps:
        rows = transform(inner, graph, rows)
    return rows


@transform.register(str)
@transform.register(type(None))
def _(step: Any, graph: Graph, rows: Rows) -> Rows:
    return rows  # "passthrough"


@transform.register
def _(step: FunctionTransformer, graph: Graph, rows: Rows) -> Rows:
    if step.func not in (None, to_dense):
        raise ValueError("A FunctionTransformer with a function cannot be exported to ONNX.")
    return rows


@transform.register
def _(step: LinearProjection, graph: Graph, rows: Rows) -> Rows:
    return graph.project(rows, step.components_)


@transform.register
def _(step: StandardScaler, graph: Graph, rows: Rows) -> Rows:
    if step.with_mean:
        rows = _by_column(graph, "Sub", rows, step.mean_)
    return _by_column(graph, "Div", rows, step.scale_) if step.with_std else rows


@transform.register
def _(step: MinMaxScaler, graph: Graph, rows: Rows) -> Rows:
    rows = _by_column(graph, "Add", _by_column(graph, "Mul", rows, step.scale_), step.min_)
    if not step.clip:
        return rows
    low, high = (np.array(bound, dtype=rows.dtype) for bound in step.feature_range)
    return rows._replace(name=graph.op("Clip", rows.name, low, high))


@transform.register
def _(step: MaxAbsScaler, graph: Graph, rows: Rows) -> Rows:
    rows = _by_column(graph, "Div", rows, step.scale_)
    if not getattr(step, "clip", False):
        return rows
    low, high = np.array(-1, dtype=rows.dtype), np.array(1, dtype=rows.dtype)
    return rows._replace(name=graph.op("Clip", rows.name, low, high))


@transform.register
def _(step: SimpleImputer, graph: Graph, rows: Rows) -> Rows:
    if rows.dtype == object or step.statistics_.dtype == object:
        raise ValueError(
            "SimpleImputer of words cannot be exported to ONNX; let OneHotEncoder see the "
            "missing ones."
        )
    fill = np.asarray(step.statistics_, dtype=rows.dtype)
    marks_nan = isinstance(step.missing_values, float) and np.isnan(step.missing_values)
    if not marks_nan or step.add_indicator or np.isnan(fill).any():
        raise ValueError(
            "SimpleImputer can be exported to ONNX when it replaces NaN, adds no indicator and "
            "no feature was missing throughout."
        )
    return rows._replace(
        name=graph.op("Where", graph.op("IsNaN", rows.name), fill[None], rows.name)
    )


def _by_column(graph: Graph, kind: str, rows: Rows, values: Array) -> Rows:
    """Combine each column with its number, in the type of the rows, as scikit-learn does."""
    return rows._replace(name=graph.op(kind, rows.name, values.astype(rows.dtype)))


def _mean(graph: Graph, names: list[str], weights: Array) -> str:
    """Add the mean of several results by the members' weights, in the order of the members."""
    if (weights != 1).any():
        pairs = zip(names, weights, strict=True)
        names = [graph.op("Mul", name, np.float64(weight)) for name, weight in pairs]
    return graph.op("Div", graph.op("Sum", *names), np.float64(sum(weights.tolist())))


def _likely(graph: Graph, probabilities: str) -> Answer:
    return Answer(probabilities, graph.op("Greater", probabilities, np.float64(0.5)))


def _neighbor_counts(counts: NeighborCounts, graph: Graph, rows: Rows) -> str:
    """Add how often each label occurs among the nearest samples: int32, (N, q).

    TopK gives the lower index first among equals, as the search here does.
    """
    search, labels, k = counts.search, counts.labels_of(slice(None)), counts.n_neighbors
    if k == 0:  # a lone training sample: look at it, and see no label
        labels, k = np.zeros_like(labels), 1
    X, norms = search.X, search.squared_norms
    X = X.toarray() if sparse.issparse(X) else X
    if search._first is not None:  # equal samples stand once, and get one distance
        kept, place = np.unique(search._first, return_inverse=True)
        X, norms = X[kept], norms[kept]
    rows = graph.promote(rows, X.dtype)
    name = rows.name
    if search.offset is not None:
        name = graph.op("Sub", name, search.offset.astype(rows.dtype))
    twice = graph.op("Mul", name, np.array(-2, dtype=rows.dtype))
    product = graph.op("MatMul", twice, X.T.astype(rows.dtype))
    if norms.dtype != rows.dtype:
        product = graph.cast(product, norms.dtype)
    distances = graph.op("Add", product, norms)
    if search._first is not None:
        distances = graph.op("Gather", distances, place, axis=1)
    _, nearest = graph.ops(
        "TopK", distances, np.array([k]), outputs=["", ""], axis=1, largest=0, sorted=1
    )
    seen = graph.cast(graph.op("Gather", labels.astype(np.uint8), nearest), np.int32)
    return graph.op("ReduceSum", seen, np.array([1]), keepdims=0)


def _kernel_columns(model: KernelRidgeLOOClassifier, graph: Graph, rows: Rows) -> Rows:
    """Add the kernel values between the rows, in double, and the training samples or landmarks."""
    if model.kernel == "precomputed":
        return rows
    if callable(model.kernel):
        raise ValueError(
            "KernelRidgeLOOClassifier with a callable kernel cannot be exported to ONNX; choose "
            "'rbf', 'laplacian', 'linear' or 'cosine'."
        )
    if model.scale_ is not None:
        rows = _by_column(graph, "Div", rows, model.scale_)
    if model.kernel == "cosine":
        rows = rows._replace(name=unit_rows(graph, rows))
    if not isinstance(model._columns, KernelColumns):  # few features: the rows themselves
        return rows
    X = model._columns.rows.X
    X = X.toarray() if sparse.issparse(X) else X
    landmarks = graph.double(X.T)
    if model.width_ is None:
        return rows._replace(name=graph.op("MatMul", rows.name, landmarks))
    # Far from the origin |x|² − 2x·z + |z|² loses digits.
    offset = X.mean(axis=0, dtype=np.float64)
    norms = np.square(X - offset).sum(axis=1)
    landmarks = graph.op("Sub", landmarks, offset[:, None])
    rows = _by_column(graph, "Sub", rows, offset)
    own = graph.op("ReduceSum", graph.op("Mul", rows.name, rows.name), np.array([1]), keepdims=1)
    product = graph.op("MatMul", graph.op("Mul", rows.name, np.float64(-2)), landmarks)
    distances = graph.op("Add", graph.op("Add", product, own), norms)
    distances = graph.op("Max", distances, np.float64(0))
    if model.kernel == "laplacian":
        distances, factor = graph.op("Sqrt", distances), -1 / model.width_
    else:
        factor = -0.5 / model.width_**2
    return rows._replace(name=graph.op("Exp", graph.op("Mul", distances, np.float64(factor))))


def unit_rows(graph: Graph, rows: Rows, norm: str = "l2") -> str:
    """Add rows of length 1; rows of zeros stay."""
    zero, one = np.array(0, dtype=rows.dtype), np.array(1, dtype=rows.dtype)
    sizes = graph.op("Abs", rows.name) if norm == "l1" else graph.op("Mul", rows.name, rows.name)
    norms = graph.op("ReduceSum", sizes, np.array([1]), keepdims=1)
    norms = norms if norm == "l1" else graph.op("Sqrt", norms)
    positive = graph.op("Greater", norms, zero)
    return graph.op("Div", rows.name, graph.op("Where", positive, norms, one))
