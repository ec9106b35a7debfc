"""What a prediction of the Kin ensemble rests on: members, training samples and features.

`kernel_of` dispatches on the class of a learner: register a function for another one that is a
kernel of training samples. Other learners have no training samples to show.
"""

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from labelkin._utils.labels import label_names
from labelkin.base import Array, Matrix
from labelkin.calibration._curves import finite_log_odds
from labelkin.explain import KernelExplanation, validate_one_row
from labelkin.explain._features import occlude_features
from labelkin.explain._kernels import KernelTerms, sum_terms
from labelkin.explain._rows import feature_names_of
from labelkin.kernel._explain import kernel_terms, weighing_cost
from labelkin.kernel._regression import KernelRidge
from labelkin.kin._learners import PartLearner, ProjectionLearner
from labelkin.kin._views import as_float_rows

# Multiplications of `kernel_terms` for all kernels together: some seconds of one processor.
_MAX_COST = 2e10


class WeighedKernel(NamedTuple):
    """A kernel regression, and the sample in the space in which it was fitted."""

    regression: KernelRidge
    row: Matrix
    rows: Array
    """Numbers of the training samples to which it was fitted."""


@singledispatch
def kernel_of(learner: Any, row: Matrix, rows: Array) -> WeighedKernel | None:
    """Return the kernel regression of a fitted learner, None if it is none.

    `row` is the sample in the learner's view, `rows` are the training samples it was fitted to.
    """
    return None


@kernel_of.register
def _of_kernel(learner: KernelRidge, row: Matrix, rows: Array) -> WeighedKernel:
    return WeighedKernel(learner, row, rows)


@kernel_of.register
def _of_projection(learner: ProjectionLearner, row: Matrix, rows: Array) -> WeighedKernel:
    return WeighedKernel(learner.regression, row @ learner.components_, rows)


@kernel_of.register
def _of_part(learner: PartLearner, row: Matrix, rows: Array) -> WeighedKernel | None:
    return kernel_of(learner.learner, row, rows[learner.part])


def explain_kin(model: Any, x: Any, feature_names: Any, max_features: int) -> KernelExplanation:
    """Explain the prediction of a fitted `KinEnsembleClassifier` for one sample."""
    model, row = validate_one_row(model, x)
    names = feature_names_of(model, feature_names)
    views = {name: view(as_float_rows(row, model._dense)) for name, view in model.views_.items()}
    members, stage = model.estimators_, model._stacking._stage
    scores = [member.scores(views[member.view]) for member in members]
    probability = model._stacking.proba(scores)
    # The second stage, step by step: see `Stage`.
    curves = stage._mixed_curves
    effects = curves.slope_ * stage.label_weights_ * stage._member_log_odds(scores, 1)[:, 0]
    total = effects.sum(axis=0) + curves.intercept_
    correction = (
        finite_log_odds(probability)[0] - total if model.corrected_ else np.zeros_like(total)
    )
    labels = np.unpackbits(model._label_bits, axis=1, count=probability.shape[1])
    weight = np.ones(len(labels)) if model._row_weight is None else model._row_weight
    terms, shares = _weighted_terms(model, views, weight)
    features, feature_effects = occlude_features(
        lambda rows: finite_log_odds(model._proba(rows)), row, model._typical, max_features
    )
    return KernelExplanation(
        label_names=label_names(model),
        feature_names=names,
        member_names=[member.name for member in members],
        predicted=model._labels_of(probability)[0],
        probability=probability[0],
        member_weights=stage.weights_,
        member_probability=np.concatenate(stage.member_proba(scores)),
        member_effects=effects,
        intercept=curves.intercept_,
        correction=correction,
        features=features,
        feature_effects=feature_effects,
        **sum_terms(terms, shares, labels, probability[0]),
    )


def _weighted_terms(
    model: Any, views: dict[str, Matrix], weight: Array
) -> tuple[list[KernelTerms], list[float]]:
    """Return the terms of the kernels, the heaviest first, and their shares in the mean score.

    `weight` is that of each training sample; those of weight 0 were left out of the fit. Members
    are left out once the limit of the cost is reached, but for the first.
    """
    rows = np.flatnonzero(weight)
    terms: list[KernelTerms] = []
    shares: list[float] = []
    cost = 0.0
    for i in np.argsort(-model.weights_, kind="stable"):
        member = model.estimators_[i]
        found = [kernel_of(learner, views[member.view], rows) for learner in member.learners]
        kernels = [kernel for kernel in found if kernel is not None]
        more = sum(weighing_cost(kernel.regression) for kernel in kernels)
        if len(kernels) < len(found) or not np.isfinite(more) or model.weights_[i] == 0:
            continue
        if terms and cost + more > _MAX_COST:
            continue
        parts = [part for kernel in kernels for part in kernel_terms(*kernel, weight[kernel.rows])]
        if len(parts) == len(kernels):
            cost += more
            terms += parts
            shares += [model.weights_[i] / len(parts)] * len(parts)
    return terms, [share / sum(shares) for share in shares]
