"""Weights of samples for metrics and decisions, which do not take any."""

import numpy as np

from labelkin.base import Array
from labelkin.rows import Labels


def repeat_rows(labels: Labels) -> Array | slice:
    """Return row indices in which each row occurs in proportion to its weight.

    As often as its weight says, if weights are integers with a mean of at most 10. Others are
    scaled to a mean of 10, and their cumulated sums rounded: sums over many rows are right.
    """
    weight = labels.weight
    if weight is None:
        return slice(None)
    most = 10 * len(weight)
    if weight.sum() > most or (weight != np.rint(weight)).any():
        ends = np.rint(np.cumsum(weight) * (most / weight.sum()))
        weight = np.diff(ends, prepend=0)
    return np.repeat(np.arange(len(weight)), weight.astype(np.intp))
