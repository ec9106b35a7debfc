"""Converters of classifiers.

The arithmetic follows the Python code step by step and in the same types, so that ties between
neighbours are broken in the same way.
"""

from typing import Any

import numpy as np
from scipy import sparse

from labelkin.base import Array
from labelkin.decisions import DecisionClassifier, LabelDecision
from labelkin.ensemble import BaggingVPCPClassifier, VPCMEClassifier
from labelkin.kernel import KernelRidgeLOOClassifier
from labelkin.linear import MultiLabelLogisticRegression
from labelkin.neighbors import IBLRClassifier, MLkNNClassifier
from labelkin.neighbors._counts import NeighborCounts
from labelkin.neighbors._exact import ExactSearch
from labelkin.onnx._convert import Prediction, classify
from labelkin.onnx._graph import Graph, Tensor
from labelkin.onnx._kernels import log_odds, regress, regress_linearly


@classify.register
def _mlknn(model: MLkNNClassifier, graph: Graph, rows: Tensor) -> Prediction:
    counts = _neighbor_counts(model._counts, graph, rows)
    # P(l | c) of label l and count c is at index l(k + 1) + c.
    posterior = model._posterior.astype(np.float64)
    starts = np.arange(len(posterior), dtype=np.int32) * posterior.shape[1]
    places = graph.op("Add", counts, starts)
    return at_half(graph, graph.op("Gather", posterior.ravel(), places))


@classify.register
def _iblr(model: IBLRClassifier, graph: Graph, rows: Tensor) -> Prediction:
    counts = graph.cast(_neighbor_counts(model._counts, graph, rows), np.float64)
    inputs = graph.op("Div", counts, np.float64(max(1, model._counts.n_neighbors)))
    if model._with_features:
        wide = graph.promote(rows, np.float64)
        inputs = graph.op("Concat", inputs, wide.name, axis=1)
    coef, intercept = model.coef_.astype(np.float64), model.intercept_.astype(np.float64)
    score = graph.op("Add", graph.op("MatMul", inputs, coef.T), intercept)
    return at_half(graph, graph.op("Sigmoid", score))


@classify.register
def _kernel_ridge(model: KernelRidgeLOOClassifier, graph: Graph, rows: Tensor) -> Prediction:
    scores = regress(model._regression, graph, rows)
    odds = log_odds(graph, scores, model.slope_, model.intercept_, model.share_)
    if model._linear is not None:
        linear = regress_linearly(model._linear, graph, rows)
        change = graph.op("Mul", graph.op("Sub", linear, odds), np.float64(model.linear_weight_))
        odds = graph.op("Add", odds, change)
    return at_half(graph, graph.op("Sigmoid", odds))


@classify.register
def _logistic(model: MultiLabelLogisticRegression, graph: Graph, rows: Tensor) -> Prediction:
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    product = graph.op("MatMul", graph.promote(rows, np.float64).name, graph.double(coef.T))
    odds = graph.op("Add", product, np.asarray(model.intercept_, dtype=np.float64))
    return at_half(graph, graph.op("Sigmoid", odds))


@classify.register(VPCMEClassifier)
@classify.register(BaggingVPCPClassifier)
def _vpcme(model: Any, graph: Graph, rows: Tensor) -> Prediction:
    members = [
        classify(estimator, graph, graph.project(rows, projection.components_))
        for estimator, projection in zip(model.estimators_, model.projections_, strict=True)
    ]
    probabilities = [member.probabilities for member in members]
    prediction = at_half(graph, _mean(graph, probabilities, model.vote_weights_))
    if model.calibration_ is not None:
        curves = model.calibration_
        odds = graph.op("Mul", prediction.probabilities, curves.slope_)
        return at_half(graph, graph.op("Sigmoid", graph.op("Add", odds, curves.intercept_)))
    if model.voting == "soft":
        return prediction
    ballots = [graph.cast(member.labels, np.float64) for member in members]
    share, half = _mean(graph, ballots, model.vote_weights_), np.float64(0.5)
    tied = graph.op("And", graph.op("Equal", share, half), prediction.labels)
    return prediction._replace(labels=graph.op("Or", graph.op("Greater", share, half), tied))


@classify.register
def _decision(model: DecisionClassifier, graph: Graph, rows: Tensor) -> Prediction:
    return decide(model.decision_, graph, classify(model.estimator_, graph, rows).probabilities)


def decide(decision: LabelDecision, graph: Graph, scores: str) -> Prediction:
    """Return a prediction of the labels that a decision makes of scores."""
    if decision.decision == "expected_f1":
        raise ValueError(
            "decision='expected_f1' cannot be exported to ONNX; choose one of thresholds, such "
            "as 'f1'."
        )
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
    return Prediction(scores, labels)


def _mean(graph: Graph, names: list[str], weights: Array) -> str:
    """Add the mean of the members' results by their weights, summed in the members' order."""
    if (weights != 1).any():
        pairs = zip(names, weights, strict=True)
        names = [graph.op("Mul", name, np.float64(weight)) for name, weight in pairs]
    return graph.op("Div", graph.op("Sum", *names), np.float64(sum(weights.tolist())))


def at_half(graph: Graph, probabilities: str) -> Prediction:
    """Return a prediction of the labels whose probability is above one half."""
    return Prediction(probabilities, graph.op("Greater", probabilities, np.float64(0.5)))


def _neighbor_counts(counts: NeighborCounts, graph: Graph, rows: Tensor) -> str:
    """Add the number of nearest samples with each label: int32, (N, q).

    TopK returns the lower index first among equals, as the search in Python does.
    """
    search, labels, k = counts.search, counts.labels_of(slice(None)), counts.n_neighbors
    if not isinstance(search, ExactSearch):
        raise ValueError(
            "neighbors='approximate' has no counterpart in ONNX for this many rows; fit again "
            "with neighbors='exact'."
        )
    if k == 0:  # one training sample has no neighbours: count it as one without labels
        labels, k = np.zeros_like(labels), 1
    X, norms = search.X, search.squared_norms
    X = X.toarray() if sparse.issparse(X) else X
    # Equal samples must have equal distances, so one of them is computed.
    if search.first_equal is not None:
        kept, place = np.unique(search.first_equal, return_inverse=True)
        X, norms = X[kept], norms[kept]
    rows = graph.promote(rows, X.dtype)
    if search.offset is not None:
        rows = graph.apply("Sub", rows, search.offset)
    product = graph.apply("MatMul", graph.apply("Mul", rows, -2), X.T).name
    if norms.dtype != rows.dtype:
        product = graph.cast(product, norms.dtype)
    distances = graph.op("Add", product, norms)
    if search.first_equal is not None:
        distances = graph.op("Gather", distances, place, axis=1)
    _, nearest = graph.ops(
        "TopK", distances, np.array([k]), outputs=["", ""], axis=1, largest=0, sorted=1
    )
    seen = graph.cast(graph.op("Gather", labels.astype(np.uint8), nearest), np.int32)
    return graph.op("ReduceSum", seen, np.array([1]), keepdims=0)
