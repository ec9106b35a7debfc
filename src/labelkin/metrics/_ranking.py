"""Metrics of scores and rankings; their conventions are those of `labelkin.metrics`."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from sklearn.utils import gen_batches

from labelkin.metrics._inputs import check_ranking, mean
from labelkin.metrics._ties import (
    Ties,
    check_tied_ranking,
    expected_average_precision,
    expected_coverage,
    expected_is_error,
    expected_margin,
    expected_one_error,
    expected_ranking_loss,
)
from labelkin.rows import (
    astype,
    cumulative_sum,
    namespace_and_device,
    rows_per_block,
    suffix_minimum,
    to_numpy,
)


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
    Y, S = check_tied_ranking(y_true, y_score, ties)
    if ties == "expected":
        return expected_ranking_loss(Y, S)
    total, xp = 0.0, namespace_and_device(S)[0]
    for relevant, rank, hits in _ranked(Y, S):
        size = xp.sum(relevant, axis=1)
        wrong = xp.sum(relevant * (rank - hits), axis=1)
        pairs = size * (Y.shape[1] - size)
        pairs = xp.where(pairs == 0, 1, pairs)
        total += float(xp.sum(astype(wrong, "float64") / astype(pairs, "float64")))
    return total / Y.shape[0]


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
    Y, S = check_tied_ranking(y_true, y_score, ties)
    if ties == "expected":
        return expected_one_error(Y, S)
    return mean(_best(S, Y) <= _best(S, 1 - Y))


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
    Y, S = check_tied_ranking(y_true, y_score, ties)
    if ties == "expected":
        return expected_coverage(Y, S)
    xp, _ = namespace_and_device(S)
    worst = -_best(-S, Y)  # infinite without relevant labels: nothing is to be covered
    depth = xp.count_nonzero(worst[:, None] <= S, axis=1)
    return mean(depth) - mean(xp.any(Y != 0, axis=1))


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
    Y, S = check_tied_ranking(y_true, y_score, ties)
    if ties == "expected":
        return expected_average_precision(Y, S)
    total, xp = 0.0, namespace_and_device(S)[0]
    for relevant, rank, hits in _ranked(Y, S):
        size = xp.sum(relevant, axis=1)
        shares = astype(relevant * hits, "float64") / astype(rank, "float64")
        precision = xp.sum(shares, axis=1) / astype(xp.where(size == 0, 1, size), "float64")
        total += float(xp.sum(xp.where(size == 0, 1.0, precision)))
    return total / Y.shape[0]


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
    import sklearn.metrics as skm

    if average not in ("micro", "macro"):
        raise ValueError(f"average must be 'micro' or 'macro', not {average!r}.")
    Y, S = map(to_numpy, check_ranking(y_true, y_score))
    if average == "micro":
        Y, S = Y.reshape(-1, 1), S.reshape(-1, 1)
    both = np.flatnonzero(Y.min(axis=0) < Y.max(axis=0))
    areas = [skm.roc_auc_score(Y[:, label], S[:, label]) for label in both]
    return float(np.mean(areas)) if areas else float("nan")


def log_loss(y_true: Any, y_score: Any) -> float:
    """Negative log-likelihood of the labels under the probabilities, mean over all entries.

    ``y_score`` must lie in [0, 1]; 0 and 1 are moved inwards by the smallest step scikit-learn
    uses. Mulan sums over the labels: its figure is q times this one.

    Examples
    --------
    (−ln 0.5 − ln 0.8) / 2:

    >>> round(log_loss([[1, 0]], [[0.5, 0.2]]), 4)
    0.4581
    """
    import sklearn.metrics as skm

    Y, S = map(to_numpy, check_ranking(y_true, y_score))
    if S.min() < 0 or S.max() > 1:
        raise ValueError("log_loss needs probabilities: y_score must lie between 0 and 1.")
    return float(skm.log_loss(Y.ravel(), S.ravel(), labels=[0, 1]))


def is_error(y_true: Any, y_score: Any, *, ties: Ties = "against") -> float:
    """Share of rows whose ranking is not perfect.

    A ranking is perfect when every relevant label scores strictly higher than every
    irrelevant one; a row where either kind is missing is perfect.

    Examples
    --------
    >>> is_error([[1, 0, 1], [1, 0, 1]], [[0.9, 0.1, 0.5], [0.9, 0.5, 0.5]])
    0.5
    """
    Y, S = check_tied_ranking(y_true, y_score, ties)
    if ties == "expected":
        return expected_is_error(Y, S)
    return mean(-_best(-S, Y) <= _best(S, 1 - Y))


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
    Y, S = check_tied_ranking(y_true, y_score, ties)
    if ties == "expected":
        return expected_margin(Y, S)
    worst_relevant, best_irrelevant = -_best(-S, Y), _best(S, 1 - Y)
    xp, _ = namespace_and_device(S)
    depth = xp.count_nonzero(worst_relevant[:, None] <= S, axis=1)
    height = xp.count_nonzero(best_irrelevant[:, None] < S, axis=1) + 1
    return mean(xp.where(depth > height, depth - height, 0))


def _ranked(Y: Any, S: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield, for blocks of rows, relevance, rank and number of relevant labels up to that rank.

    The labels are sorted by their scores. A label's rank is the number of labels with at least
    its score: tied labels share the last of their ranks. Scikit-learn's functions give the same
    values, but with a Python loop over the rows.
    """
    n, q = Y.shape
    xp, device = namespace_and_device(S)
    block = rows_per_block(q, 64, device, most=n)
    positions = xp.arange(1, q + 1, device=device)
    for rows in gen_batches(n, block):
        order = xp.argsort(-S[rows, :], axis=1)
        relevant = xp.take_along_axis(astype(Y[rows, :], "int64"), order, axis=1)
        scores = xp.take_along_axis(S[rows, :], order, axis=1)
        tied = scores[:, :-1] == scores[:, 1:]
        last = xp.zeros((scores.shape[0], 1), device=device) > 0
        rank = suffix_minimum(xp.where(xp.concat([tied, last], axis=1), q, positions))
        hits = cumulative_sum(relevant)
        yield relevant, rank, xp.take_along_axis(hits, rank - 1, axis=1)


def _best(S: Any, mask: Any) -> Any:
    """Return the highest score of each row within the mask; −∞ where the mask is empty."""
    xp, _ = namespace_and_device(S)
    return xp.max(xp.where(mask != 0, S, -np.inf), axis=1)
