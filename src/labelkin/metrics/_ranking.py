"""Metrics of scores and rankings; their conventions are those of `labelkin.metrics`."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
import sklearn.metrics as skm
from scipy.stats import rankdata
from sklearn.utils import gen_batches

from labelkin.metrics._inputs import check_match
from labelkin.rows import as_dense

Ties = Literal["against", "index"]
"""How labels with equal scores are ranked."""

ENTRIES = 2**18  # of the dense arrays of a block of rows


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

    def loss(Y: np.ndarray, S: np.ndarray) -> np.ndarray:
        ranks, hits = _ranks(Y, S)
        size = Y.sum(axis=1, dtype=np.int64)
        pairs = size * (Y.shape[1] - size)
        return np.where(Y, ranks - hits, 0).sum(axis=1) / np.maximum(pairs, 1)

    return _mean_over_rows(loss, y_true, y_score, ties)


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
    return _mean_over_rows(lambda Y, S: _best(S, Y) <= _best(S, 1 - Y), y_true, y_score, ties)


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

    def depth(Y: np.ndarray, S: np.ndarray) -> np.ndarray:
        worst = -_best(-S, Y)  # infinite without relevant labels: nothing is to be covered
        return np.count_nonzero(worst[:, None] <= S, axis=1) - Y.any(axis=1)

    return _mean_over_rows(depth, y_true, y_score, ties)


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

    def precision(Y: np.ndarray, S: np.ndarray) -> np.ndarray:
        ranks, hits = _ranks(Y, S)
        size = Y.sum(axis=1, dtype=np.int64)
        found = np.where(Y, hits / ranks, 0).sum(axis=1) / np.maximum(size, 1)
        return np.where(size == 0, 1.0, found)

    return _mean_over_rows(precision, y_true, y_score, ties)


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
    Y, S, known = check_match(y_true, y_score, "y_score")
    Y, cells = as_dense(Y), np.ones(Y.shape, dtype=bool) if known is None else known
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
    Y, S, known = check_match(y_true, y_score, "y_score")
    if S.min() < 0 or S.max() > 1:
        raise ValueError("log_loss needs probabilities: y_score must lie between 0 and 1.")
    y, s = (as_dense(Y).ravel(), S.ravel()) if known is None else (Y[known], S[known])
    return float(skm.log_loss(y, s, labels=[0, 1]))


def _mean_over_rows(
    metric: Callable[[np.ndarray, np.ndarray], np.ndarray], y_true: Any, y_score: Any, ties: Ties
) -> float:
    """Return the mean of a metric of rows, which are ranked by their known labels only.

    Rows with equally many known labels make a matrix without unknown ones. With ``ties="index"``
    the scores are places from the bottom: distinct, the higher of equal labels better.
    """
    check_ties(ties)
    Y, S, known = check_match(y_true, y_score, "y_score", keep_sparse=True)
    n_known = np.full(*Y.shape) if known is None else known.sum(axis=1)
    total = 0.0
    for width in np.unique(n_known):
        rows = np.flatnonzero(n_known == width)
        for batch in gen_batches(len(rows), max(ENTRIES // width, 1)):
            y, s = as_dense(Y[rows[batch]]), as_dense(S[rows[batch]])
            if known is not None:
                y, s = (part[known[rows[batch]]].reshape(-1, width) for part in (y, s))
            total += metric(y, rankdata(s, "ordinal", axis=1) if ties == "index" else s).sum()
    return float(total / len(n_known))


def _ranks(Y: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many labels, and how many relevant ones, score at least as high as each.

    The second is meant for relevant labels only.
    """
    return rankdata(-S, "max", axis=1), rankdata(np.where(Y, -S, np.inf), "max", axis=1)


def _best(S: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the highest score of each row within the mask; −∞ where the mask is empty."""
    return np.where(mask != 0, S, -np.inf).max(axis=1)


def check_ties(ties: str) -> None:
    """Raise an error for an unknown rule."""
    if ties not in get_args(Ties):
        raise ValueError(f"ties must be 'against' or 'index', not {ties!r}.")
