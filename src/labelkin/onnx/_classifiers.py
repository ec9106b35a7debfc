"""Converters of classifiers.

The arithmetic follows the Python code step by step and in the same types, so that ties between
neighbours are broken in the same way.
"""

from typing import Any

import numpy as np

from labelkin.base import Array
from labelkin.decisions import DecisionClassifier, LabelDecision
from labelkin.ensemble import BaggingVPCPClassifier, VPCMEClassifier
from labelkin.kernel import KernelRidgeLOOClassifier
from labelkin.linear import MultiLabelLogisticRegression
from labelkin.neighbors import IBLRClassifier, MLkNNClassifier
from labelkin.neighbors._counts import NeighborCounts
from labelkin.onnx._convert import Prediction, convert
from labelkin.onnx._graph import Tensor, hstack, total
from labelkin.onnx._regressions import log_odds, regress


@convert.register
def _mlknn(model: MLkNNClassifier, rows: Tensor) -> Prediction:
    counts = _neighbor_counts(model._counts, rows)
    # P(l | c) of label l and count c is at index l(k + 1) + c.
    posterior = model._posterior.astype(np.float64)
    starts = np.arange(len(posterior)) * posterior.shape[1]
    return at_half((counts + starts).take_from(posterior.ravel()))


@convert.register
def _iblr(model: IBLRClassifier, rows: Tensor) -> Prediction:
    counts = _neighbor_counts(model._counts, rows).astype(np.float64)
    inputs = counts / max(1, model._counts.search.n_neighbors)
    if model._with_features:
        inputs = hstack([inputs, rows])
    return at_half((inputs @ model.coef_.T + model.intercept_).op("Sigmoid"))


def _neighbor_counts(counts: NeighborCounts, rows: Tensor) -> Tensor:
    """Add the number of nearest samples with each label: integers, (N, q).

    TopK returns the lower index first among equals, as the search in Python does.
    """
    search, labels = counts.search, counts.labels_of(slice(None))
    known_rows, k = search.rows(), search.n_neighbors
    if k == 0:  # one training sample has no neighbours: count it as one without labels
        labels, k = np.zeros_like(labels), 1
    # Equal samples must have equal distances, so one of them is computed.
    n = known_rows.shape[0]
    first_equal = np.arange(n) if search.first_equal is None else search.first_equal
    kept, place = np.unique(first_equal, return_inverse=True)
    X, norms = known_rows[kept], search.squared_norms[kept]
    rows = rows.promote(X.dtype)
    rows = rows if search.offset is None else rows - search.offset
    known = rows.graph.matrix(X).astype(rows.dtype).op("Transpose")
    distances = ((rows * -2) @ known).astype(norms.dtype) + norms
    distances = distances if len(kept) == n else distances.columns(place)
    types, how = [norms.dtype, np.int64], {"axis": 1, "largest": 0, "sorted": 1}
    _, nearest = rows.graph.ops("TopK", distances, np.array([k]), dtypes=types, **how)
    return nearest.take_from(labels.astype(np.uint8)).astype(np.int64).sum(1)


@convert.register
def _kernel_ridge(model: KernelRidgeLOOClassifier, rows: Tensor) -> Prediction:
    scores = regress(model._regression, rows)
    odds = log_odds(scores, model.slope_, model.intercept_, model.share_)
    return at_half(odds.op("Sigmoid"))


@convert.register
def _logistic(model: MultiLabelLogisticRegression, rows: Tensor) -> Prediction:
    product = rows.promote(np.float64) @ rows.graph.matrix(model.coef_.T)
    return at_half((product + model.intercept_).op("Sigmoid"))


@convert.register(VPCMEClassifier)
@convert.register(BaggingVPCPClassifier)
def _vpcme(model: Any, rows: Tensor) -> Prediction:
    members = [
        convert(estimator, convert(projection, rows))
        for estimator, projection in zip(model.estimators_, model.projections_, strict=True)
    ]
    prediction = at_half(_mean([member.probabilities for member in members], model.vote_weights_))
    if (curves := model.calibration_) is not None:
        odds = log_odds(prediction.probabilities, curves.slope_, curves.intercept_)
        return at_half(odds.op("Sigmoid"))
    if model.voting == "soft":
        return prediction
    ballots = [member.labels.astype(np.float64) for member in members]
    share = _mean(ballots, model.vote_weights_)
    tied = share.equals(0.5) & prediction.labels
    return prediction._replace(labels=(share > 0.5) | tied)


def _mean(parts: list[Tensor], weights: Array) -> Tensor:
    """Add the mean of the members' results by their weights."""
    weighted = [part * weight for part, weight in zip(parts, weights, strict=True)]
    return total(weighted) / sum(weights.tolist())


@convert.register
def _decision(model: DecisionClassifier, rows: Any) -> Prediction:
    return decide(model.decision_, convert(model.estimator_, rows).probabilities)


def decide(decision: LabelDecision, scores: Tensor) -> Prediction:
    """Return a prediction of the labels that a decision makes of scores."""
    if decision.decision == "expected_f1":
        raise ValueError(
            "decision='expected_f1' cannot be exported to ONNX; choose one of thresholds, such "
            "as 'f1'."
        )
    thresholds = np.asarray(decision.thresholds_, dtype=np.float64)
    labels = scores > thresholds
    allowed = ~np.isposinf(thresholds)
    if decision.at_least_one_ and allowed.any():
        known = scores.graph.constant(allowed[None]).choose(scores, -np.inf)
        top = known.op("ArgMax", dtype=np.int64, axis=1, keepdims=1)
        is_empty = labels.astype(np.int64).sum(1, keepdims=True).equals(0)
        labels = labels | (is_empty & top.equals(np.arange(len(thresholds))))
    return Prediction(scores, labels)


def at_half(probabilities: Tensor) -> Prediction:
    """Return a prediction of the labels whose probability is above one half."""
    return Prediction(probabilities, probabilities > 0.5)
