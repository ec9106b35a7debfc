"""What a prediction of kernel ridge regression is based on: training samples."""

from collections.abc import Callable
from typing import Any

import numpy as np

from labelkin._utils.progress import counted
from labelkin.base import Array, Matrix
from labelkin.kernel._regression import KernelRidge, kernel_values

# Training samples up to which their weights are computed: a kernel matrix of 1.2 GB. With labels
# that are known for different samples, each takes products with it: at most about 10 s of them.
_MAX_ROWS, _MAX_PRODUCTS = 12_000, 5e9
_TOLERANCE, _TINY = 1e-9, np.finfo(np.float64).tiny


def row_effects(
    regression: KernelRidge, row: Matrix, labels: Array, known: Array | None, weight: Array
) -> tuple[Array, Array] | None:
    """Return the similarity of each training sample to one sample, and what it adds to the scores.

    With K_c the centred kernel matrix and κ the kernel values of the sample, centred in the same
    way, the score is ȳ + Σ wᵢ (yᵢ − ȳ) with the weights w = (K_c + λI)⁻¹ κ. Where training samples
    are weighted, means are weighted ones, and λW⁻¹ takes the place of λI. A sample for which a
    label is unknown has no weight for it.

    `labels` and `known`, (n, q), and `weight`, (n,), are those of the samples to which the
    regression was fitted. None if these have no coefficients, or are too many.
    """
    n, q = labels.shape
    if regression.rows_ is None or not len(regression.coef_) == n <= _MAX_ROWS:
        return None
    # Labels of the same ridge that are known for the same samples have the same weights.
    ridges = np.broadcast_to(np.asarray(regression.ridge_, dtype=np.float64), (1, q))
    differing = ridges if known is None else np.vstack([ridges, known])
    _, first, place = np.unique(differing, axis=1, return_index=True, return_inverse=True)
    if len(first) * n**2 > _MAX_PRODUCTS:
        return None
    ridge, place = ridges[0, first], place.ravel()
    root = np.sqrt(weight[:, None] * (np.ones((n, 1)) if known is None else known[:, first]))
    share = root**2 / np.maximum(np.sum(root**2, axis=0), _TINY)
    rows = regression.rows_.astype(np.float64)
    similarity = np.asarray(regression._columns(row), dtype=np.float64)[0]
    K = np.asarray(kernel_values(regression.kernel, rows, None, regression.width_))

    def centre(V: Array) -> Array:
        return root * (V - np.sum(share * V, axis=0))

    def multiply(V: Array) -> Array:
        V = root * V
        return centre(K @ (V - share * V.sum(axis=0)))

    target = np.broadcast_to(centre(similarity[:, None] - K @ share), (n, len(first)))
    weights = root * _solve(lambda V: multiply(V) + ridge * V, target)
    share = np.broadcast_to(share, weights.shape)[:, place]
    return similarity, weights[:, place] * (labels - np.sum(share * labels, axis=0))


def _solve(multiply: Callable[[Array], Array], target: Array) -> Array:
    """Return the solution of a positive definite system per column, by conjugate gradients."""
    found, residual = np.zeros(target.shape), target
    step, square = target, np.sum(target**2, axis=0)
    least = _TOLERANCE**2 * square
    for _ in range(10 * len(target)):
        going = square > least
        if not going.any():
            break
        change = multiply(step)
        length = going * square / np.maximum(np.sum(step * change, axis=0), _TINY)
        found, residual = found + length * step, residual - length * change
        before, square = square, np.sum(residual**2, axis=0)
        step = residual + square / np.maximum(before, _TINY) * step
    return found


def explain_rows(model: Any, learners: list[Any], row: Matrix, n_labels: int) -> dict[str, Any]:
    """Return the fields of an explanation about training samples, the most similar first.

    They are those of kernel regressions, which count equally, each fitted to all samples or to a
    `part` of them. Nothing is returned if a learner is not a kernel regression on training samples.
    """
    labels, known = np.unpackbits(model._label_bits, axis=1, count=n_labels), None
    if model._known_bits is not None:
        known = np.unpackbits(model._known_bits, axis=1, count=n_labels)
    weight = np.ones(len(labels)) if model._row_weight is None else model._row_weight
    used = np.flatnonzero(weight)
    similarity, effects = np.zeros(len(labels)), np.zeros(labels.shape)
    regressions = [getattr(learner, "learner", learner) for learner in learners]
    if not all(isinstance(regression, KernelRidge) for regression in regressions):
        return {}
    pairs = [*zip(learners, regressions, strict=True)]
    for learner, regression in counted(pairs, "regressions"):
        rows = used[getattr(learner, "part", slice(None))]
        some = None if known is None else known[rows]
        found = row_effects(regression, row, labels[rows], some, weight[rows])
        if found is None:
            return {}
        similarity[rows] += found[0] / len(learners)
        effects[rows] += found[1] / len(learners)
    order = np.argsort(-similarity, kind="stable")
    return {
        "rows": order,
        "row_labels": labels[order].astype(bool),
        "row_known": None if known is None else known[order].astype(bool),
        "row_effects": effects[order],
        "row_measures": {"similarity": similarity[order]},
    }
