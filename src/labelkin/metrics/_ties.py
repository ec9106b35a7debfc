"""Labels with equal scores: the rules by which they are ranked.

The metrics count a tie against the method, the rule ``"against"``. Here are the two others:
scores with ties broken by label index, and the means of the metrics over all orders of tied
labels in closed form.
"""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import comb
from sklearn.utils import gen_batches

from labelkin.metrics._inputs import check_ranking

Ties = Literal["against", "index", "expected"]
"""How labels with equal scores are ranked."""

_ENTRIES = 2**18  # of the temporary arrays


def check_ties(ties: str) -> None:
    """Raise an error for an unknown rule."""
    if ties not in get_args(Ties):
        raise ValueError(f"ties must be 'against', 'index' or 'expected', not {ties!r}.")


def check_tied_ranking(y_true: Any, y_score: Any, ties: Ties) -> tuple[np.ndarray, np.ndarray]:
    """Return validated label sets and scores.

    For ``"index"`` the scores become places from the bottom: distinct, and of labels with equal
    scores the one with the higher index is better.
    """
    check_ties(ties)
    Y, S = check_ranking(y_true, y_score)
    if ties == "index":
        S = np.argsort(np.argsort(S, axis=1, kind="stable"), axis=1).astype(float)
    return Y, S


def expected_coverage(Y: np.ndarray, S: np.ndarray) -> float:
    """Return the mean depth of the lowest relevant label."""
    depth = _expected_depth(Y, S)
    return float(np.mean(np.where(Y.any(axis=1), depth - 1, 0)))


def expected_is_error(Y: np.ndarray, S: np.ndarray) -> float:
    """Return the mean probability that a ranking is not perfect."""
    return float(1 - np.mean(_perfect(Y, S)))


def expected_margin(Y: np.ndarray, S: np.ndarray) -> float:
    """Return the mean distance from the best irrelevant down to the worst relevant label.

    The best irrelevant label is the lowest one of the reversed ranking. A perfect order gives
    the difference −1 where the distance is 0.
    """
    depth = _expected_depth(Y, S)
    height = Y.shape[1] + 1 - _expected_depth(1 - Y, -S)
    both = Y.any(axis=1) & (Y == 0).any(axis=1)
    overlap = both & (_lowest(Y, S) <= -_lowest(1 - Y, -S))
    return float(np.mean(np.where(overlap, depth - height + _perfect(Y, S), 0.0)))


def mean_over_rows(function: Callable[..., np.ndarray], Y: np.ndarray, S: np.ndarray) -> float:
    """Return the mean of a function of the groups of tied labels of some rows; see `_groups`."""
    block = max(_ENTRIES // Y.shape[1], 1)
    batches = gen_batches(len(Y), block)
    return sum(float(function(*_groups(Y[rows], S[rows])).sum()) for rows in batches) / len(Y)


def _groups(Y: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return, for each label in the order of the scores, relevance and its group of ties.

    The group is given by the number of labels above it and up to its end, which is the rank of
    its labels where ties count against them, and the number of relevant ones among either.
    """
    order = np.argsort(-S, axis=1)
    relevant = np.take_along_axis(Y, order, axis=1).astype(np.int64)
    scores = np.take_along_axis(S, order, axis=1)
    n, q = Y.shape
    changes = scores[:, :-1] != scores[:, 1:]
    edge = np.ones((n, 1), dtype=bool)
    first, last = np.hstack([edge, changes]), np.hstack([changes, edge])
    places = np.arange(q)
    above = np.maximum.accumulate(np.where(first, places, 0), axis=1)
    rank = np.minimum.accumulate(np.where(last, places + 1, q)[:, ::-1], axis=1)[:, ::-1]
    counts = np.hstack([np.zeros((n, 1), dtype=np.int64), relevant.cumsum(axis=1)])
    hits_above = np.take_along_axis(counts, above, axis=1)
    return relevant, above, rank, hits_above, np.take_along_axis(counts, rank, axis=1)


def _lowest(Y: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Return the lowest score of a relevant label in each row, ∞ where there is none."""
    return np.where(Y != 0, S, np.inf).min(axis=1)


def _expected_depth(Y: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Return the mean rank of the lowest relevant label in each row.

    The largest of r random places among m is r(m + 1)/(r + 1) on average.
    """
    lowest = _lowest(Y, S)[:, None]
    tied = lowest == S
    n_relevant = (tied & (Y != 0)).sum(axis=1)
    return (lowest < S).sum(axis=1) + n_relevant * (tied.sum(axis=1) + 1) / (n_relevant + 1)


def _perfect(Y: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Return the probability that all relevant labels of a row stand above all others.

    Where the lowest relevant label ties with the highest irrelevant one, only one choice of
    places in that group is perfect.
    """
    lowest, highest = _lowest(Y, S), -_lowest(1 - Y, -S)
    tied = lowest[:, None] == S
    ways = comb(tied.sum(axis=1), (tied & (Y != 0)).sum(axis=1))
    return np.where(lowest > highest, 1.0, np.where(lowest < highest, 0.0, 1 / np.maximum(ways, 1)))
