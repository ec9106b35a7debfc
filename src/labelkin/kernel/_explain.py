"""What a prediction of kernel ridge regression rests on: training samples and features."""

from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.special import expit

from labelkin._utils.labels import label_names
from labelkin.base import Array, Matrix
from labelkin.calibration._curves import finite_log_odds, to_log_odds_scale
from labelkin.explain import KernelExplanation, validate_one_row
from labelkin.explain._features import occlude_features
from labelkin.explain._kernels import KernelTerms, sum_terms
from labelkin.explain._rows import feature_names_of
from labelkin.kernel._distances import kernel_values
from labelkin.kernel._regression import KernelRidge

# Training samples up to which their weights are computed: a kernel matrix of 1.2 GB.
_MAX_ROWS = 12_000
# Sums of absolute differences take this many times as long as products.
_MANHATTAN = 20
# Steps of Lanczos' method at most, residuals that end it, and how often these are computed.
_MAX_STEPS, _TOLERANCE, _CHECKED = 400, 1e-9, 10


def weighing_cost(regression: KernelRidge) -> float:
    """Return about how many multiplications `kernel_terms` takes; infinite where it has none."""
    X = regression.rows_
    if X is None or len(regression.coef_) > _MAX_ROWS:
        return np.inf
    columns = X.nnz / X.shape[0] if sparse.issparse(X) else X.shape[1]
    return X.shape[0] ** 2 * columns * (_MANHATTAN if regression.kernel == "manhattan" else 1)


def kernel_terms(
    regression: KernelRidge, row: Matrix, rows: Array, weight: Array | None = None
) -> list[KernelTerms]:
    """Return a regression's score of one sample, `row`, as a mean of labels.

    With K_c the centred kernel matrix and κ the kernel values of the sample, centred in the same
    way, the score is ȳ + κᵀ (K_c + λI)⁻¹ (y − ȳ): the weights are (K_c + λI)⁻¹ κ. Where samples are
    weighted themselves, means are weighted ones, and λW⁻¹ takes the place of λI.

    `rows` are the numbers of the training samples to which the regression was fitted, `weight`
    their weights. The list is empty if training samples have no coefficients, or are too many.
    """
    if not np.isfinite(weighing_cost(regression)) or len(regression.coef_) != len(rows):
        return []
    assert regression.rows_ is not None
    known = regression.rows_.astype(np.float64)
    K = kernel_values(regression.kernel, known, None, regression.width_)
    query = regression._prepare(row, regression.scale_)
    similarity = np.asarray(kernel_values(regression.kernel, known, query, regression.width_))[0]
    weight = np.ones(len(rows)) if weight is None else weight
    share, root = weight / weight.sum(), np.sqrt(weight)
    mean = share @ K
    K -= mean
    K -= mean[:, None]
    K += share @ mean
    K *= root
    K *= root[:, None]
    centred = similarity - mean
    target = root * (centred - share @ centred)
    weights = root[:, None] * solve_shifted(K, target, np.asarray(regression.ridge_))
    return [KernelTerms(rows, similarity, weights, share)]


def solve_shifted(K: Array, target: Array, shifts: Array) -> Array:
    """Return (K + λI)⁻¹ target for each shift λ, as columns.

    By Lanczos' method: one product with K per step serves all shifts. The basis is kept
    orthogonal; the steps end when the residuals of all shifts are negligible.
    """
    n, length = len(target), np.linalg.norm(target)
    if length == 0:
        return np.zeros((n, len(shifts)))
    basis = np.empty((min(n, _MAX_STEPS), n), dtype=K.dtype)
    diagonal, beside = np.empty(len(basis)), np.empty(len(basis))
    vector = target / length
    for step in range(len(basis)):
        basis[step] = vector
        vector = K @ basis[step]
        diagonal[step] = vector @ basis[step]
        for _ in range(2):  # the second time removes the rounding of the first
            vector -= (basis[: step + 1] @ vector) @ basis[: step + 1]
        beside[step] = np.linalg.norm(vector)
        is_last = step + 1 == len(basis) or beside[step] <= _TOLERANCE * diagonal[0]
        if is_last or step % _CHECKED == 0:
            values, vectors = linalg.eigh_tridiagonal(diagonal[: step + 1], beside[:step])
            small = vectors @ (vectors[0][:, None] / (values[:, None] + shifts))
            if is_last or beside[step] * np.abs(small[-1]).max() < _TOLERANCE:
                break
        vector /= beside[step]
    return length * (basis[: step + 1].T @ small)


def explain_kernel_ridge(
    model: Any, x: Any, feature_names: Any, max_features: int
) -> KernelExplanation:
    """Explain the prediction of a fitted `KernelRidgeLOOClassifier` for one sample."""
    model, row = validate_one_row(model, x)
    names = feature_names_of(model, feature_names)
    scores = model._regression.scores(row)
    labels = np.unpackbits(model._label_bits, axis=1, count=scores.shape[1])
    weight = np.ones(len(labels)) if model._row_weight is None else model._row_weight
    # The mean score of the training samples is the share of them with the label.
    share = np.average(labels, axis=0, weights=weight)[None]
    scaled, typical = (
        s if model.share_ is None else to_log_odds_scale(s, model.share_)
        for s in (np.asarray(scores, dtype=np.float64), share)
    )
    probability = model._calibrate(scores, row)[0]
    members = {"kernel": (1 - model.linear_weight_, model.slope_ * scaled[0] + model.intercept_)}
    typical_odds = [model.slope_ * typical[0] + model.intercept_]
    if model._linear is not None:
        members["linear"] = (model.linear_weight_, model._linear.scores(row)[0])
        typical_odds.append(finite_log_odds(share[0]))
    weights, odds = (np.array(part) for part in zip(*members.values(), strict=True))
    used = np.flatnonzero(weight)
    terms = kernel_terms(model._regression, row, used, weight[used])
    if model.kernel == "precomputed":  # columns are training samples
        max_features = 0
    features, effects = occlude_features(
        lambda rows: finite_log_odds(model._proba(rows)), row, model._typical, max_features
    )
    return KernelExplanation(
        label_names=label_names(model),
        feature_names=names,
        member_names=[*members],
        predicted=probability > 0.5,
        probability=probability,
        member_weights=weights,
        member_probability=expit(odds),
        member_effects=weights[:, None] * (odds - typical_odds),
        intercept=weights @ np.array(typical_odds),
        correction=np.zeros(len(probability)),
        features=features,
        feature_effects=effects,
        **sum_terms(terms, [1.0] * len(terms), labels, probability),
    )
