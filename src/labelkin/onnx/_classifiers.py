"""Converters of classifiers, and of the regressions and forests that they are made of.

The arithmetic follows the Python code step by step and in the same types, so that ties between
neighbours are broken in the same way. Regressions are computed in double precision, whatever the
model's type: coefficients of both signs cancel, so that rounding of the distances to single
precision would change the fourth digit.
"""

from typing import Any

import numpy as np
from scipy.special import logit

from labelkin.base import Array, Matrix
from labelkin.calibration._curves import SlopeCalibration
from labelkin.decisions import DecisionClassifier, LabelDecision
from labelkin.ensemble import BaggingVPCPClassifier, VPCMEClassifier
from labelkin.kernel import KernelRidgeLOOClassifier
from labelkin.kernel._regression import RADIAL, KernelRidge
from labelkin.kin import KinEnsembleClassifier
from labelkin.kin._combination import Combination
from labelkin.kin._learners import (
    LabelTreesLearner,
    PartLearner,
    ProjectionLearner,
    TreesLearner,
)
from labelkin.kin._views import (
    EQUAL,
    Beside,
    Columns,
    Ranks,
    Raw,
    Standard,
    Topics,
    Words,
)
from labelkin.linear import MultiLabelLogisticRegression
from labelkin.linear._learner import LogisticLearner
from labelkin.neighbors import IBLRClassifier, MLkNNClassifier
from labelkin.neighbors._counts import NeighborCounts
from labelkin.onnx._graph import Tensor, hstack, total
from labelkin.onnx._transformers import Prediction, convert


@convert.register
def _mlknn(model: MLkNNClassifier, rows: Tensor) -> Prediction:
    counts = _neighbor_counts(model._counts, rows)
    # P(l | c) of label l and count c is at index l(k + 1) + c.
    posterior = model._posterior.astype(np.float64)
    starts = np.arange(len(posterior)) * posterior.shape[1]
    return _at_half((counts + starts).take_from(posterior.ravel()))


@convert.register
def _iblr(model: IBLRClassifier, rows: Tensor) -> Prediction:
    counts = _neighbor_counts(model._counts, rows).astype(np.float64)
    inputs = counts / max(1, model._counts.search.n_neighbors)
    if model._with_features:
        inputs = hstack([inputs, rows])
    return _at_half((inputs @ model.coef_.T + model.intercept_).op("Sigmoid"))


def _neighbor_counts(counts: NeighborCounts, rows: Tensor) -> Tensor:
    """Add the number of nearest samples with each label: integers, (N, q).

    TopK returns the lower index first among equals, as the search in Python does.
    """
    if counts.known is not None:
        raise ValueError(
            "A model of nearest neighbours that was fitted with unknown labels cannot be exported "
            "to ONNX; choose another method, such as MultiLabelLogisticRegression."
        )
    search, labels = counts.search, counts.labels_of(slice(None))
    known_rows, k = search.X, search.n_neighbors
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
    scores = _regress(model._regression, rows)
    odds = _log_odds(scores, model.slope_, model.intercept_, model.share_)
    return _at_half(odds.op("Sigmoid"))


@convert.register
def _logistic(model: MultiLabelLogisticRegression, rows: Tensor) -> Prediction:
    product = rows.promote(np.float64) @ rows.graph.matrix(model.coef_.T)
    return _at_half((product + model.intercept_).op("Sigmoid"))


@convert.register(VPCMEClassifier)
@convert.register(BaggingVPCPClassifier)
def _vpcme(model: Any, rows: Tensor) -> Prediction:
    members = [
        convert(estimator, convert(projection, rows))
        for estimator, projection in zip(model.estimators_, model.projections_, strict=True)
    ]
    prediction = _at_half(_mean([member.probabilities for member in members]))
    if (curves := model.calibration_) is not None:
        odds = _log_odds(prediction.probabilities, curves.slope_, curves.intercept_)
        return _at_half(odds.op("Sigmoid"))
    if model.voting == "soft":
        return prediction
    share = _mean([member.labels.astype(np.float64) for member in members])
    tied = share.equals(0.5) & prediction.labels
    return prediction._replace(labels=(share > 0.5) | tied)


def _mean(parts: list[Tensor]) -> Tensor:
    return total(parts) / len(parts)


@convert.register
def _decision(model: DecisionClassifier, rows: Any) -> Prediction:
    return _decide(model.decision_, convert(model.estimator_, rows).probabilities)


def _decide(decision: LabelDecision, scores: Tensor) -> Prediction:
    """Return a prediction of the labels that a decision makes of scores."""
    thresholds = np.asarray(decision.thresholds_, dtype=np.float64)
    labels = scores > thresholds
    allowed = ~np.isposinf(thresholds)
    if decision.at_least_one_ and allowed.any():
        known = scores.graph.constant(allowed[None]).choose(scores, -np.inf)
        top = known.op("ArgMax", dtype=np.int64, axis=1, keepdims=1)
        is_empty = labels.astype(np.int64).sum(1, keepdims=True).equals(0)
        labels = labels | (is_empty & top.equals(np.arange(len(thresholds))))
    return Prediction(scores, labels)


def _at_half(probabilities: Tensor) -> Prediction:
    """Return a prediction of the labels whose probability is above one half."""
    return Prediction(probabilities, probabilities > 0.5)


@convert.register
def _kin(model: KinEnsembleClassifier, rows: Tensor) -> Prediction:
    rows = rows.promote(np.float64)
    views = {name: _view_rows(view, rows) for name, view in model.views_.items()}
    members = []
    for member in model.estimators_:
        members.append(_mean([_score(learner, views[member.view]) for learner in member.learners]))
    return _decide(model.decision_, _combine(model.combination_, members))


def _view_rows(view: Any, rows: Tensor) -> Tensor:
    """Add the view of rows, given in double."""
    if isinstance(view, Raw):
        return rows
    if isinstance(view, Standard):
        return rows / view.divisor
    if isinstance(view, Words):
        counts = rows.at_least(0)
        counts = counts if view.power == 1 else counts.op("Pow", np.float64(view.power))
        return (counts * view.weight).unit_rows()
    if isinstance(view, Topics):
        words = _view_rows(view.words, rows)
        return (words @ rows.graph.matrix(view.directions.T)).unit_rows()
    if isinstance(view, Ranks):
        return _ranks(view, rows)
    if isinstance(view, Columns):
        return _view_rows(view.view, rows.columns(np.arange(view.start, view.stop)))
    if isinstance(view, Beside):
        return hstack([_view_rows(one, rows) for one in view.views])
    raise ValueError(f"The view {type(view).__name__} cannot be exported to ONNX.")


def _ranks(view: Ranks, rows: Tensor) -> Tensor:
    """Add ranks by bisection of each feature's sorted values, all features at a time."""
    k, n = view.values.shape
    steps = 2 ** np.arange(n.bit_length())[::-1]
    width = 2 * steps[0] - 1  # padded with infinity, so that no index is out of range
    padding = np.array([0, 0, 0, width - n])
    known = rows.graph.matrix(view.values).op("Pad", padding, np.float64(np.inf)).reshape(-1)
    margin = rows.op("Abs") * EQUAL
    starts = np.arange(k) * width - 1

    def count(comparison: str, values: Tensor) -> Tensor:
        """Add the number of training values that are less, or not greater, than each value."""
        place = (values * 0).astype(np.int64) + starts
        for step in steps:
            further = place + step
            is_before = further.take_from(known).op(comparison, values, dtype=bool)
            place = is_before.choose(further, place)
        return place - starts

    both = count("Less", rows - margin) + count("LessOrEqual", rows + margin)
    # By one divisor per column: ONNX Runtime rounds a scalar factor of a matrix product that may
    # follow to single precision.
    return both.astype(np.float64) / np.full(k, 2.0 * n)


def _score(learner: Any, rows: Tensor) -> Tensor:
    """Add the scores of a fitted learner for rows in its view."""
    if isinstance(learner, KernelRidge):
        return _regress(learner, rows)
    if isinstance(learner, ProjectionLearner):
        return _regress(learner.regression, rows @ rows.graph.matrix(learner.components_))
    if isinstance(learner, PartLearner):
        return _score(learner.learner, rows)
    if isinstance(learner, LogisticLearner):
        product = rows.promote(np.float64) @ rows.graph.matrix(learner.coef_)
        return product / learner.unit_ + learner.intercept_
    if isinstance(learner, TreesLearner):
        return _mean_of_trees(learner.forest_.estimators_, rows)
    if isinstance(learner, LabelTreesLearner):
        return hstack([_score(one, rows) for one in learner.learners_])
    raise ValueError(f"The learner {type(learner).__name__} cannot be exported to ONNX.")


def _combine(combination: Combination, scores: list[Tensor]) -> Tensor:
    """Add the probabilities from the members' scores."""
    bound = float(logit(1 - combination.limits.least_proba))
    members = zip(combination.curves_, scores, combination.label_weights_, strict=True)
    weighted = [
        _odds(curves, member).at_least(-bound).at_most(bound) * weight
        for curves, member, weight in members
    ]
    return _odds(combination.mean_curves_, total(weighted)).op("Sigmoid")


def _odds(curves: SlopeCalibration, scores: Tensor) -> Tensor:
    share = curves.share_ if curves.scale == "log_odds" else None
    return _log_odds(scores, curves.slope_, curves.intercept_, share)


# ---------------------------------------------------------------------------- kernel ridge


def _regress(regression: KernelRidge, rows: Tensor) -> Tensor:
    """Add the scores of a fitted kernel ridge regression."""
    columns = _columns(regression, rows.promote(np.float64))
    return columns @ rows.graph.matrix(regression.coef_) + regression.intercept_


def _columns(regression: KernelRidge, rows: Tensor) -> Tensor:
    """Add what coefficients are multiplied with: kernel values, or features."""
    kernel, width, known = regression.kernel, regression.width_, regression.rows_
    if callable(kernel):
        raise ValueError(
            "KernelRidgeLOOClassifier with a callable kernel cannot be exported to ONNX; choose "
            "'rbf', 'laplacian', 'linear' or 'cosine'."
        )
    if regression.scale_ is not None:
        rows = rows / regression.scale_
    if kernel == "cosine":
        rows = rows.unit_rows()
    if known is None:  # a coefficient for each feature, or for each column of a given kernel
        return rows
    if kernel not in RADIAL:
        return rows @ rows.graph.matrix(known).op("Transpose")
    assert width is not None
    if kernel == "laplacian":
        return (_squared_distances(known, rows).op("Sqrt") * (-1 / width)).op("Exp")
    distances = (_manhattan if kernel == "manhattan" else _squared_distances)(known, rows)
    return (distances * (-0.5 / width**2)).op("Exp")


def _squared_distances(known: Matrix, rows: Tensor) -> Tensor:
    """Add squared Euclidean distances to known rows."""
    # Far from the origin |x|² − 2x·z + |z|² loses digits.
    offset = np.asarray(known.mean(axis=0, dtype=np.float64)).ravel()
    rows, landmarks = rows - offset, rows.graph.matrix(known) - offset
    norms = (landmarks * landmarks).sum(1)
    product = (rows * -2) @ landmarks.op("Transpose")
    return (product + (rows * rows).sum(1, keepdims=True) + norms).at_least(0)


def _manhattan(known: Matrix, rows: Tensor) -> Tensor:
    """Add sums of absolute differences to known rows, one column after the other."""
    n, k = known.shape
    landmarks = rows.graph.matrix(known).op("Transpose")

    def add_column(number: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
        values = rows.op("Gather", number.reshape(1), axis=1)
        return number.equals(number), sums + (values - number.take_from(landmarks)).op("Abs")

    return _sum_in_loop(add_column, k, rows, n)


def _sum_in_loop(add: Any, count: int, rows: Tensor, width: int) -> Tensor:
    """Add what a function adds in each round to zeros, (N, width)."""
    height = rows.op("Shape", dtype=np.int64, end=1)
    start = rows.graph.zeros(height.op("Concat", np.array([width]), axis=0))
    return rows.graph.loop(add, start, np.array(count))


# --------------------------------------------------------------------------------- forests


def _mean_of_trees(trees: list[Any], rows: Tensor) -> Tensor:
    """Add the mean of the predictions of fitted scikit-learn regression trees.

    Each tree is a target of ONNX's operator. Its value is the row of the leaf's values in a table,
    in which equal ones are stored once.
    """
    graph, nodes = rows.graph, [tree.tree_ for tree in trees]
    left, right, feature, threshold, value = (
        np.concatenate([getattr(tree, name) for tree in nodes])
        for name in ("children_left", "children_right", "feature", "threshold", "value")
    )
    number = np.concatenate([np.arange(tree.node_count) for tree in nodes])
    tree_of = np.repeat(np.arange(len(nodes)), [tree.node_count for tree in nodes])
    is_leaf = left < 0
    # Rows in single precision are compared with thresholds in double precision. The next lower
    # number in single precision gives the same result.
    short = threshold.astype(np.float32)
    short = np.where(short > threshold, np.nextafter(short, np.float32(-np.inf)), short)
    values, place = np.unique(value[is_leaf, :, 0], axis=0, return_inverse=True)
    found = rows.astype(np.float32).op(
        "TreeEnsembleRegressor",
        domain="ai.onnx.ml",
        n_targets=len(trees),
        nodes_treeids=tree_of.tolist(),
        nodes_nodeids=number.tolist(),
        nodes_featureids=np.maximum(feature, 0).tolist(),
        nodes_values=np.where(is_leaf, 0, short).tolist(),
        nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_truenodeids=np.maximum(left, 0).tolist(),
        nodes_falsenodeids=np.maximum(right, 0).tolist(),
        target_treeids=tree_of[is_leaf].tolist(),
        target_nodeids=number[is_leaf].tolist(),
        target_ids=tree_of[is_leaf].tolist(),
        target_weights=place.astype(float).tolist(),
    )
    places, table = found.astype(np.int64), graph.matrix(values.astype(np.float32))

    def add_tree(number: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
        own = places.op("Gather", number, axis=1)
        return number.equals(number), sums + own.take_from(table)

    return _sum_in_loop(add_tree, len(trees), rows, values.shape[1]) / len(trees)


# ---------------------------------------------------------------------- calibration curves


def _log_odds(scores: Tensor, slope: Array, intercept: Array, share: Any = None) -> Tensor:
    """Add slope · score + intercept; with a share, of the scores on a scale of log odds.

    That scale is the one of `labelkin.calibration`. ONNX Runtime has no asinh of doubles; it is
    written with logarithms.
    """
    if share is not None:
        frequent = (np.asarray(share) > 0.5).astype(np.float64)
        side = 1 - 2 * frequent
        half = 2 * (frequent + side * share)
        z = scores * (side / half) + frequent / half
        logarithm = (z.op("Abs") + (z * z + 1).op("Sqrt")).op("Log")
        scores = z.op("Sign") * logarithm * side
    return scores * slope + intercept
