"""Metrics of scores and rankings; their conventions are those of `labelkin.metrics`.

The metrics count a tie against the method, the rule ``"against"``. At the end of the module are the
two others: scores with ties broken by label index, and the means of the metrics over all orders of
tied labels in closed form.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, get_args

import numpy as np
import sklearn.metrics as skm
from scipy.special import comb
from sklearn.utils import gen_batches

from labelkin.metrics._inputs import check_ranking

Ties = Literal["against", "index", "expected"]
"""How labels with equal scores are ranked."""

_ENTRIES = 2**18  # of the temporary arrays


def over_known_labels(metric: Callable[..., float]) -> Callable[..., float]:
    """Return a metric of rankings that validates its input and ranks only the known labels of rows.

    `metric` is a mean over rows. Rows with equally many known labels make a matrix without
    unknown ones, so that it is computed for each such matrix. For ``ties="index"`` it gets places
    from the bottom in place of scores: distinct, and of labels with equal scores the one with the
    higher index is better.
    """

    @wraps(metric)
    def value(y_true: Any, y_score: Any, *, ties: Ties = "against") -> float:
        check_ties(ties)
        Y, S, known = check_ranking(y_true, y_score)
        if known is None:
            return metric(Y, _break_ties(S, ties), ties=ties)
        n_known = known.sum(axis=1)
        total = 0.0
        for width in np.unique(n_known):
            rows = np.flatnonzero(n_known == width)
            cells = known[rows]
            part, scores = (array[rows][cells].reshape(-1, width) for array in (Y, S))
            total += len(rows) * metric(part, _break_ties(scores, ties), ties=ties)
        return total / len(Y)

    return value


@over_known_labels
def ranking_loss(y_true: Any, y_score: Any, *, ties: Ties = "against") -> float:
    """Share of (relevant, irrelevant) label pairs in the wrong order, mean over rows (Eq. 9).

    The equation in the paper has the same label twice; r(a) > r(b) is meant, for a relevant a
    and an irrelevant b. A tied pair counts as wrong (see `ties` of
    :func:`~labelkin.metrics.evaluate`). A row where either kind is missing counts 0.

    Examples
    --------
    The relevant label (0.5) beats one irrelevant label (0.1) and ties with the other:

    >>> ranking_loss([[1, 0, 0]], [[0.5, 0.5, 0.1]])
    0.5
    """
    Y, S = y_true, y_score

    def loss(relevant: Any, above: Any, rank: Any, hits_above: Any, hits: Any) -> Any:
        wrong = rank - hits
        if ties == "expected":  # a tied pair counts one half
            wrong = (wrong + above - hits_above) / 2
        size = relevant.sum(axis=1)
        pairs = size * (relevant.shape[1] - size)
        return (relevant * wrong).sum(axis=1) / np.maximum(pairs, 1)

    return mean_over_rows(loss, Y, S)


@over_known_labels
def one_error(y_true: Any, y_score: Any, *, ties: Ties = "against") -> float:
    """Share of rows whose top-ranked label is not relevant (Eq. 10).

    Where several labels share the top score, the row is an error unless all of them are
    relevant: the tie counts as an error, whatever the order of the labels. A row without
    relevant labels is an error.

    Examples
    --------
    The first row's top is relevant; in the second an irrelevant label shares the top:

    >>> one_error([[1, 0, 1], [1, 0, 0]], [[0.9, 0.2, 0.9], [0.7, 0.7, 0.1]])
    0.5
    """
    Y, S = y_true, y_score
    if ties == "expected":  # the share of irrelevant labels among those with the top score
        top = S.max(axis=1, keepdims=True) == S
        return float(np.mean((top & (Y == 0)).sum(axis=1) / top.sum(axis=1)))
    return float(np.mean(_best(S, Y) <= _best(S, 1 - Y)))


@over_known_labels
def coverage(y_true: Any, y_score: Any, *, ties: Ties = "against") -> float:
    """Count steps down the ranking until all relevant labels are covered, mean over rows (Eq. 11).

    The depth counts from 0 (the paper's −1): a single relevant label at the top costs
    nothing. A tied irrelevant label counts as a step. A row without relevant labels costs
    0 steps, as in Mulan (``sklearn.metrics.coverage_error(...) - 1`` would give it −1).

    Examples
    --------
    The lower relevant label is ranked third, two steps below the top:

    >>> coverage([[1, 0, 1, 0]], [[0.9, 0.8, 0.3, 0.1]])
    2.0
    """
    Y, S = y_true, y_score
    if ties == "expected":
        return expected_coverage(Y, S)
    worst = -_best(-S, Y)  # infinite without relevant labels: nothing is to be covered
    depth = np.count_nonzero(worst[:, None] <= S, axis=1)
    return float(np.mean(depth) - np.mean(Y.any(axis=1)))


@over_known_labels
def average_precision(y_true: Any, y_score: Any, *, ties: Ties = "against") -> float:
    """Share of relevant labels among those ranked at or above each relevant one (Eq. 12).

    The mean over a row's relevant labels, then over the rows. Labels tied with a relevant
    one have the same rank. A row without relevant, or without irrelevant, labels counts 1.

    Examples
    --------
    The relevant labels are ranked first and third: (1/1 + 2/3) / 2.

    >>> round(average_precision([[1, 0, 1, 0]], [[0.9, 0.8, 0.3, 0.1]]), 4)
    0.8333
    """
    Y, S = y_true, y_score
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, Y.shape[1] + 1))])

    def mean_precision(relevant: Any, above: Any, rank: Any, hits_above: Any, hits: Any) -> Any:
        precision = hits / rank
        if ties == "expected":
            # A relevant label in a group of m tied labels, r of them relevant, below A labels of
            # which H are relevant, stands at place A + p, each p of 1..m as likely as any other;
            # of the p − 1 tied labels before it, (p − 1)(r − 1)/(m − 1) are relevant on average.
            # The sum over p of (H + 1 + (p − 1)(r − 1)/(m − 1)) / (A + p) has this closed form.
            size = rank - above
            slope = (hits - hits_above - 1) / np.maximum(size - 1, 1)
            start = hits_above + 1 - slope * (above + 1)
            precision = slope + start * (harmonic[rank] - harmonic[above]) / size
        n_relevant = relevant.sum(axis=1)
        found = (relevant * precision).sum(axis=1) / np.maximum(n_relevant, 1)
        return np.where(n_relevant == 0, 1.0, found)

    return mean_over_rows(mean_precision, Y, S)


def auc(y_true: Any, y_score: Any, *, average: Literal["micro", "macro"] = "macro") -> float:
    """Area under the ROC curve: over all n × q entries ("micro") or mean over labels ("macro").

    A tied pair counts one half, as is usual for the area. Labels with one class only in
    ``y_true`` have no curve and are left out of the mean; if none is left, the value is NaN.

    Examples
    --------
    The second label has positives only, so the macro figure is the first one's:

    >>> Y, S = [[1, 1], [0, 1], [0, 1]], [[0.8, 0.9], [0.4, 0.3], [0.8, 0.6]]
    >>> auc(Y, S), auc(Y, S, average="micro")
    (0.75, 0.5625)
    """
    if average not in ("micro", "macro"):
        raise ValueError(f"average must be 'micro' or 'macro', not {average!r}.")
    Y, S, known = check_ranking(y_true, y_score)
    cells = np.ones(Y.shape, dtype=bool) if known is None else known
    if average == "micro":
        Y, S, cells = (array.reshape(-1, 1) for array in (Y, S, cells))
    columns = ((Y[rows, j], S[rows, j]) for j, rows in enumerate(cells.T))
    areas = [skm.roc_auc_score(y, s) for y, s in columns if len(y) and y.min() < y.max()]
    return float(np.mean(areas)) if areas else float("nan")


def log_loss(y_true: Any, y_score: Any) -> float:
    """Negative log-likelihood of the labels under the probabilities, mean over known entries.

    ``y_score`` must lie in [0, 1]; 0 and 1 are moved inwards by the smallest step scikit-learn
    uses. Mulan sums over the labels: its figure is q times this one.

    Examples
    --------
    (−ln 0.5 − ln 0.8) / 2:

    >>> round(log_loss([[1, 0]], [[0.5, 0.2]]), 4)
    0.4581
    """
    Y, S, known = check_ranking(y_true, y_score)
    if S.min() < 0 or S.max() > 1:
        raise ValueError("log_loss needs probabilities: y_score must lie between 0 and 1.")
    y, s = (Y.ravel(), S.ravel()) if known is None else (Y[known], S[known])
    return float(skm.log_loss(y, s, labels=[0, 1]))


@over_known_labels
def is_error(y_true: Any, y_score: Any, *, ties: Ties = "against") -> float:
    """Share of rows whose ranking is not perfect.

    A ranking is perfect when every relevant label scores strictly higher than every
    irrelevant one; a row where either kind is missing is perfect.

    Examples
    --------
    >>> is_error([[1, 0, 1], [1, 0, 1]], [[0.9, 0.1, 0.5], [0.9, 0.5, 0.5]])
    0.5
    """
    Y, S = y_true, y_score
    if ties == "expected":
        return expected_is_error(Y, S)
    return float(np.mean(-_best(-S, Y) <= _best(S, 1 - Y)))


@over_known_labels
def margin(y_true: Any, y_score: Any, *, ties: Ties = "against") -> float:
    """Positions from the best irrelevant down to the worst relevant label, mean over rows.

    Zero for a perfect ranking, and where either kind of label is missing. Tied irrelevant
    labels are ranked before relevant ones.

    Examples
    --------
    The best irrelevant label is ranked second, the worst relevant one fourth:

    >>> margin([[1, 0, 0, 1]], [[0.9, 0.8, 0.7, 0.1]])
    2.0
    """
    Y, S = y_true, y_score
    if ties == "expected":
        return expected_margin(Y, S)
    worst_relevant, best_irrelevant = -_best(-S, Y), _best(S, 1 - Y)
    depth = np.count_nonzero(worst_relevant[:, None] <= S, axis=1)
    height = np.count_nonzero(best_irrelevant[:, None] < S, axis=1) + 1
    return float(np.mean(np.maximum(depth - height, 0)))


def _best(S: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the highest score of each row within the mask; −∞ where the mask is empty."""
    return np.where(mask != 0, S, -np.inf).max(axis=1)


# ------------------------------------------------------------------------------------ ties


def check_ties(ties: str) -> None:
    """Raise an error for an unknown rule."""
    if ties not in get_args(Ties):
        raise ValueError(f"ties must be 'against', 'index' or 'expected', not {ties!r}.")


def _break_ties(S: np.ndarray, ties: Ties) -> np.ndarray:
    if ties != "index":
        return S
    return np.argsort(np.argsort(S, axis=1, kind="stable"), axis=1).astype(float)


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
