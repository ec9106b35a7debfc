"""Sample weights between two members (Table 1, lines 16–17)."""

import numpy as np

from labelkin.base import Array

MOST_WEIGHT = 5.0
"""With a bag, the largest weight of a sample over the mean: weights cannot run away onto a few
hard samples."""


def reweight(weights: Array, wrong: Array, error: float) -> Array:
    """Raise the weight of `wrong` samples by 1 + error, then normalise to 1 (Table 1, c).

    The error is θ, the misclassification rate of the previous round.
    """
    raised = np.where(wrong, weights * (1 + error), weights)
    return raised / raised.sum()


def reweight_outside(
    weights: Array, wrong: Array, rows: Array, error: float, most: float = MOST_WEIGHT
) -> Array:
    """Reweight the samples outside the bag: only these can be misclassified.

    Their total weight stays the same, and the samples in the bag keep their weight. If the
    misclassified ones were simply raised, as without a bag, a sample would gain weight by
    being outside more often: with many errors chance alone would soon put nearly all weight
    on a few. No weight exceeds `most` times the mean; `rows` are the samples outside the bag.
    """
    weights = weights.copy()
    weights[rows] = weights[rows].sum() * reweight(weights[rows], wrong[rows], error)
    return bound_weights(weights, most)


def bound_weights(weights: Array, most: float) -> Array:
    """Bound positive weights that add up to 1 by `most` ≥ 1 times their mean.

    The others share the rest, so that the sum and the order of size stay.
    """
    limit = most / len(weights)
    bounded, cut = weights, np.zeros(len(weights), dtype=bool)
    while (over := bounded > limit * (1 + 1e-12)).any():
        cut |= over
        rest = weights[~cut].sum()
        scale = (1 - limit * np.count_nonzero(cut)) / rest if rest > 0 else 0.0
        bounded = np.where(cut, limit, weights * scale)
    return bounded
