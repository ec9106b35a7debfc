"""Means: the level of out-of-sample scores, which depends on the labels that were left out."""

from typing import Any

import numpy as np

from labelkin.base import Array
from labelkin.rows import Labels, as_labels, match


def restore_means(
    scores: Array,
    Y: Array | Labels,
    fold_of: Array,
    *,
    log_odds: bool = False,
    weight: Array | None = None,
) -> Array:
    """Return scores of rows left out in folds, at the level of a model of all rows.

    A model without a fold starts from the labels' shares in the other folds, which are too low
    where the fold has many positives. Curves fitted to other folds do not allow for that, since
    their scores come from models that include it: probabilities of rare labels would be too low
    for the rows that have them, which queries do not suffer from. The difference of the shares in
    all rows and in the other folds is added. No label is revealed by that: where scores are
    nothing but these shares, all rows then have the same.

    Scores, (n, q), are those of a regression on 0 and 1, or log odds, on the host or on a device.
    `fold_of` is the fold of each row, 0, 1, ...; for leave-one-out scores its number.
    """
    labels = as_labels(Y, weight)
    without, rest = _counts_without(labels, fold_of)
    if not rest[fold_of].any():  # a single fold: no model is without it
        return scores
    whole = _level(labels.positives, labels.total, log_odds)
    change = (whole - _level(without, rest, log_odds))[fold_of]
    return scores + (change if isinstance(scores, np.ndarray) else match(change, scores))


def shares_without_fold(Y: Array, fold_of: Array, weight: Array | None = None) -> Array:
    """Return the share of each label in the rows of other folds, for each row."""
    return _level(*_counts_without(as_labels(Y, weight), fold_of), False)[fold_of]


def mean_and_error(values: Array, weight: Array | None = None) -> tuple[Any, Any]:
    """Return the mean over rows, by weight, and its standard error."""
    weight = np.ones(len(values)) if weight is None else weight
    mean = np.average(values, axis=0, weights=weight)
    # Without weights the standard deviation over √n.
    return mean, np.linalg.norm((values - mean).T * weight, axis=-1) / weight.sum()


def _counts_without(labels: Labels, fold_of: Array) -> tuple[Array, Array]:
    """Return, per fold, the positives, (n_folds, q), and the rows of other folds, by weight."""
    rows = np.bincount(fold_of, labels.weights)[:, None]
    positives = np.zeros((len(rows), labels.shape[1]))
    np.add.at(positives, fold_of, labels.weights[:, None] * labels.Y)
    without, rest = positives.sum(axis=0) - positives, rows.sum() - rows
    return without, np.where(np.bincount(fold_of)[:, None] < len(labels), rest, 0.0)


def _level(positives: Array, total: Any, log_odds: bool) -> Array:
    if log_odds:
        return np.log((positives + 1) / (total - positives + 1))
    return positives / np.maximum(total, np.finfo(np.float64).tiny)
