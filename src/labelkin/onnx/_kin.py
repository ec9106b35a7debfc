"""The Kin ensemble: views, learners and the second stage."""

from typing import Any

import numpy as np

from labelkin.base import Array
from labelkin.calibration._curves import SlopeCalibration
from labelkin.kernel._regression import KernelRidge
from labelkin.kin import KinEnsembleClassifier
from labelkin.kin._correction import LabelCorrection
from labelkin.kin._learners import PartLearner, ProjectionLearner
from labelkin.kin._member_curves import BOUND
from labelkin.kin._stacking import Stacking
from labelkin.kin._trees import LabelTreesLearner, TreesLearner
from labelkin.kin._views import Ranks, Raw, Reduced, Standard, Topics, Unit, Words
from labelkin.linear._learner import LogisticLearner
from labelkin.onnx._classifiers import decide
from labelkin.onnx._convert import Prediction, classify
from labelkin.onnx._forests import mean_of_trees
from labelkin.onnx._graph import Graph, Tensor
from labelkin.onnx._kernels import log_odds, regress, regress_linearly

# A value that differs from a training value by this share of it, by rounding of the steps before,
# has that value's rank.
_EQUAL = 1e-13


@classify.register
def _kin(model: KinEnsembleClassifier, graph: Graph, rows: Tensor) -> Prediction:
    rows = graph.promote(rows, np.float64)
    views = {name: _view_rows(view, graph, rows) for name, view in model.views_.items()}
    members = []
    for member in model.estimators_:
        scores = [_score(learner, graph, views[member.view]) for learner in member.learners]
        total = scores[0] if len(scores) == 1 else graph.op("Sum", *scores)
        members.append(graph.op("Div", total, np.float64(len(scores))))
    return decide(model.decision_, graph, _stack(model._stacking, graph, members))


# ----------------------------------------------------------------------------------- views


def _view_rows(view: Any, graph: Graph, rows: Tensor) -> Tensor:
    """Add the view of rows, given in double."""
    if isinstance(view, Raw):
        return rows
    if isinstance(view, Unit):
        return graph.unit_rows(rows)
    if isinstance(view, Standard):
        return graph.apply("Mul", rows, 1 / view.divisor)
    if isinstance(view, Words):
        counts = graph.apply("Max", rows, 0)
        if view.power != 1:
            counts = graph.apply("Pow", counts, view.power)
        return graph.unit_rows(graph.apply("Mul", counts, view.weight))
    if isinstance(view, Topics):
        words = _view_rows(view.view, graph, rows)
        basis = graph.op("Transpose", graph.double(view.basis))
        return graph.unit_rows(words._replace(name=graph.op("MatMul", words.name, basis)))
    if isinstance(view, Reduced):
        return graph.project(_view_rows(view.view, graph, rows), view.basis)
    if isinstance(view, Ranks):
        return _ranks(view, graph, rows)
    raise ValueError(f"The view {type(view).__name__} cannot be exported to ONNX.")


def _ranks(view: Ranks, graph: Graph, rows: Tensor) -> Tensor:
    """Add ranks by bisection of each feature's sorted values, all features at a time."""
    k, n = view.values.shape
    steps = 2 ** np.arange(n.bit_length())[::-1]
    width = 2 * steps[0] - 1  # with infinite values at the end, no place is outside
    padding = np.array([0, 0, 0, width - n])
    known = graph.op("Pad", graph.matrix(view.values), padding, np.float64(np.inf))
    known = graph.op("Reshape", known, np.array([-1]))
    margin = graph.op("Mul", graph.op("Abs", rows.name), np.float64(_EQUAL))

    def count(comparison: str, values: str) -> str:
        """Add the number of training values that are less, or not greater, than each value."""
        start = np.arange(k) * width - 1
        place = graph.op("Add", graph.cast(graph.op("Mul", values, np.float64(0)), "i8"), start)
        for step in steps:
            further = graph.op("Add", place, step)
            is_before = graph.op(comparison, graph.op("Gather", known, further), values)
            place = graph.op("Where", is_before, further, place)
        return graph.op("Sub", place, start)

    below = count("Less", graph.op("Sub", rows.name, margin))
    not_above = count("LessOrEqual", graph.op("Add", rows.name, margin))
    both = graph.cast(graph.op("Add", below, not_above), np.float64)
    # By one divisor per column: ONNX Runtime rounds a scalar factor of a matrix product that may
    # follow to single precision.
    return rows._replace(name=graph.op("Div", both, np.full(k, 2.0 * n)))


# -------------------------------------------------------------------------------- learners


def _score(learner: Any, graph: Graph, rows: Tensor) -> str:
    """Add the scores of a fitted learner for rows in its view."""
    if isinstance(learner, KernelRidge):
        return regress(learner, graph, rows)
    if isinstance(learner, ProjectionLearner):
        return regress(learner.regression, graph, graph.project(rows, learner.components_.T))
    if isinstance(learner, PartLearner):
        return _score(learner.learner, graph, rows)
    if isinstance(learner, LogisticLearner):
        return regress_linearly(learner, graph, rows)
    if isinstance(learner, TreesLearner):
        return mean_of_trees(learner.forest_.estimators_, graph, rows)
    if isinstance(learner, LabelTreesLearner):
        labels = [_score(one, graph, rows) for one in learner.learners_]
        return graph.op("Concat", *labels, axis=1)
    raise ValueError(f"The learner {type(learner).__name__} cannot be exported to ONNX.")


# ---------------------------------------------------------------------------- second stage


def _stack(stacking: Stacking, graph: Graph, scores: list[str]) -> str:
    """Add the probabilities from the members' scores."""
    stage = stacking._stage
    weighted = [
        graph.op("Mul", _bounded(graph, _odds(curves, graph, member)), weight)
        for curves, member, weight in zip(stage.curves_, scores, stage.label_weights_, strict=True)
    ]
    mixed = weighted[0] if len(weighted) == 1 else graph.op("Sum", *weighted)
    odds = _odds(stage._mixed_curves, graph, mixed)
    if stacking.corrected_:
        assert stage._correction is not None
        assert stage._last_curves is not None
        corrected = _correct(stage._correction, graph, _bounded(graph, odds))
        odds = _odds(stage._last_curves, graph, corrected)
    return graph.op("Sigmoid", odds)


def _odds(curves: SlopeCalibration, graph: Graph, scores: str) -> str:
    share: Array | None = curves.share_ if curves.scale == "log_odds" else None
    return log_odds(graph, scores, curves.slope_, curves.intercept_, share)


def _bounded(graph: Graph, odds: str) -> str:
    return graph.op("Clip", odds, np.float64(-BOUND), np.float64(BOUND))


def _correct(correction: LabelCorrection, graph: Graph, odds: str) -> str:
    centred = graph.op("Sub", odds, correction._mean)
    change = graph.op("MatMul", centred, correction._coef * correction.share)
    change = graph.op("Add", change, correction._intercept * correction.share)
    proba, half = graph.op("Sigmoid", odds), np.float64(0.5)
    low = graph.op("Mul", proba, half)
    p = graph.op("Max", graph.op("Add", proba, change), low)
    p = graph.op("Min", p, graph.op("Add", low, half))
    return graph.op("Log", graph.op("Div", p, graph.op("Sub", np.float64(1), p)))
