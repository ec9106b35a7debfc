"""What a prediction of kernel ridge regression is based on: training samples."""

from typing import Any

import numpy as np
from scipy.sparse.linalg import cg

from labelkin.base import Array, Matrix
from labelkin.kernel._regression import KernelRidge, kernel_values
from labelkin.kernel._ridge import centre_kernel

# Training samples up to which their weights are computed: a kernel matrix of 1.2 GB.
_MAX_ROWS = 12_000


def row_effects(
    regression: KernelRidge, row: Matrix, labels: Array, weight: Array
) -> tuple[Array, Array] | None:
    """Return the similarity of each training sample to one sample, and what it adds to the scores.

    With K_c the centred kernel matrix and κ the kernel values of the sample, centred in the same
    way, the score is ȳ + Σ wᵢ (yᵢ − ȳ) with the weights w = (K_c + λI)⁻¹ κ. Where training samples
    are weighted, means are weighted ones, and λW⁻¹ takes the place of λI.

    `labels`, (n, q), and `weight`, (n,), are those of the samples to which the regression was
    fitted. None if these have no coefficients, or are more than 12,000.
    """
    if regression.rows_ is None or not len(regression.coef_) == len(labels) <= _MAX_ROWS:
        return None
    known = regression.rows_.astype(np.float64)
    similarity = np.asarray(regression._columns(row), dtype=np.float64)[0]
    K = np.asarray(kernel_values(regression.kernel, known, None, regression.width_))
    share, root = weight / weight.sum(), np.sqrt(weight)
    mean = centre_kernel(K, share)
    K *= root
    K *= root[:, None]
    target = similarity - mean
    target = root * (target - share @ target)
    ridges, place = np.unique(np.asarray(regression.ridge_), return_inverse=True)
    weights = np.empty((len(K), len(ridges)))
    for i, ridge in enumerate(ridges):
        K.flat[:: len(K) + 1] += ridge - (ridges[i - 1] if i else 0)
        weights[:, i] = root * cg(K, target, rtol=1e-9, atol=0)[0]
    return similarity, weights[:, place.ravel()] * (labels - share @ labels)


def explain_rows(model: Any, learners: list[Any], row: Matrix, n_labels: int) -> dict[str, Any]:
    """Return the fields of an explanation about training samples, the most similar first.

    They are those of kernel regressions, which count equally, each fitted to all samples or to a
    `part` of them. Nothing is returned if a learner is not a kernel regression on training samples.
    """
    labels = np.unpackbits(model._label_bits, axis=1, count=n_labels)
    weight = np.ones(len(labels)) if model._row_weight is None else model._row_weight
    used = np.flatnonzero(weight)
    similarity, effects = np.zeros(len(labels)), np.zeros(labels.shape)
    for learner in learners:
        regression = getattr(learner, "learner", learner)
        rows = used[getattr(learner, "part", slice(None))]
        if not isinstance(regression, KernelRidge):
            return {}
        found = row_effects(regression, row, labels[rows], weight[rows])
        if found is None:
            return {}
        similarity[rows] += found[0] / len(learners)
        effects[rows] += found[1] / len(learners)
    order = np.argsort(-similarity, kind="stable")
    return {
        "rows": order,
        "row_labels": labels[order].astype(bool),
        "row_effects": effects[order],
        "row_measures": {"similarity": similarity[order]},
    }
