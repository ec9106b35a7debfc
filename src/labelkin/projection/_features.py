"""Shares of the features in constraint projections, and random subsets drawn by them.

The projection keeps the positive part of S_C − r·S_M (Eq. 5), P = Σ λ_j w_j w_jᵀ. Its trace is
the value of the projection, Eq. 3, and P_ff = Σ λ_j w_fj² is what feature f adds to it: a share
of the objective for each feature, at no extra cost.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelkin.base import Array
from labelkin.rows import to_numpy


def feature_shares(projection: Any) -> Array:
    """Return the share of each feature in the value of a fitted projection, adding up to 1.

    All are equal where the projection has no value: without cannot-links it is the identity.
    """
    weights = np.maximum(to_numpy(projection.eigenvalues_), 0)
    values = weights @ np.square(to_numpy(projection.components_), dtype=np.float64)
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), 1 / len(values))


def feature_importances(ensemble: Any) -> Array:
    """Return the mean share of each feature over the projections of an ensemble.

    Parameters
    ----------
    ensemble : VPCMEClassifier or BaggingVPCPClassifier
        Fitted; any object with ``projections_``.

    Returns
    -------
    ndarray of shape (n_features,)
        Non-negative, adding up to 1.

    Notes
    -----
    Shares depend on the units of the features: standardise them first if the units are arbitrary.

    Examples
    --------
    Only the first feature is related to the labels:

    >>> import numpy as np
    >>> from labelkin import VPCMEClassifier
    >>> from labelkin.projection import feature_importances
    >>> X = np.random.RandomState(0).standard_normal((200, 3))
    >>> Y = np.column_stack([X[:, 0] > 0, X[:, 0] < 0]).astype(int)
    >>> model = VPCMEClassifier(n_estimators=5, random_state=0).fit(X, Y)
    >>> feature_importances(model).argmax()
    np.int64(0)
    """
    check_is_fitted(ensemble, "projections_")
    return np.mean([feature_shares(projection) for projection in ensemble.projections_], axis=0)


def subset_size(size: int | float | None, n_features: int) -> int:
    """Return how many features a number, a share (at least one) or None (all) stands for."""
    if size is None:
        return n_features
    if isinstance(size, Integral):
        return min(int(size), n_features)
    return max(1, round(size * n_features))


def draw_features(
    scores: Array, size: int | float | None, how: str, rng: np.random.RandomState
) -> Array:
    """Draw a subset of the features for a member of an ensemble; return column indices, in order.

    `size` is their number, a share of all, or None for all. How: "uniform", which uses only the
    number of the scores, or "importance", one after the other, each time in proportion to the
    scores. Features with score 0 are then drawn only when no others are left, and uniformly.
    """
    count = subset_size(size, len(scores))
    if how == "uniform":
        return np.sort(rng.choice(len(scores), count, replace=False))
    # Exponential arrival times with the scores as rates: the first `count` to arrive are a
    # draw without replacement in proportion to the scores (Efraimidis and Spirakis 2006).
    waiting = rng.standard_exponential(len(scores))
    # In logarithms, so that tiny scores do not overflow; a score of 0 never arrives.
    rates = np.log(scores, out=np.full_like(scores, -np.inf), where=scores > 0)
    return np.sort(np.lexsort((waiting, np.log(waiting) - rates))[:count])
