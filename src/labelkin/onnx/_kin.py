"""The Kin ensemble: views, learners and the second stage."""

from typing import Any

import numpy as np
from scipy.special import logit

from labelkin.calibration._curves import SlopeCalibration
from labelkin.kernel._regression import KernelRidge
from labelkin.kin import KinEnsembleClassifier
from labelkin.kin._combination import Combination
from labelkin.kin._learners import (
    LabelTreesLearner,
    PartLearner,
    ProjectionLearner,
    TreesLearner,
)
from labelkin.kin._views import Ranks, Raw, Standard, Topics, Words
from labelkin.linear._learner import LogisticLearner
from labelkin.onnx._classifiers import decide
from labelkin.onnx._convert import Prediction, convert
from labelkin.onnx._graph import Tensor, hstack, total
from labelkin.onnx._regressions import log_odds, mean_of_trees, regress, regress_linearly

# A value that differs from a training value by this share of it, by rounding of the steps before,
# has that value's rank.
_EQUAL = 1e-13


@convert.register
def _kin(model: KinEnsembleClassifier, rows: Tensor) -> Prediction:
    rows = rows.promote(np.float64)
    views = {name: _view_rows(view, rows) for name, view in model.views_.items()}
    members = []
    for member in model.estimators_:
        scores = [_score(learner, views[member.view]) for learner in member.learners]
        members.append(total(scores) / len(scores))
    return decide(model.decision_, _combine(model.combination_, members))


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
    raise ValueError(f"The view {type(view).__name__} cannot be exported to ONNX.")


def _ranks(view: Ranks, rows: Tensor) -> Tensor:
    """Add ranks by bisection of each feature's sorted values, all features at a time."""
    k, n = view.values.shape
    steps = 2 ** np.arange(n.bit_length())[::-1]
    width = 2 * steps[0] - 1  # with infinite values at the end, no place is outside
    padding = np.array([0, 0, 0, width - n])
    known = rows.graph.matrix(view.values).op("Pad", padding, np.float64(np.inf)).reshape(-1)
    margin = rows.op("Abs") * _EQUAL
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
        return regress(learner, rows)
    if isinstance(learner, ProjectionLearner):
        return regress(learner.regression, rows @ rows.graph.matrix(learner.components_))
    if isinstance(learner, PartLearner):
        return _score(learner.learner, rows)
    if isinstance(learner, LogisticLearner):
        return regress_linearly(learner, rows)
    if isinstance(learner, TreesLearner):
        return mean_of_trees(learner.forest_.estimators_, rows)
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
    return log_odds(scores, curves.slope_, curves.intercept_, share)
