"""Scaling of columns of numbers that extreme values do not distort."""

from collections.abc import Collection
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class RobustLogScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale columns by their quartiles, and compress what lies far outside of them.

    A value x becomes z = (x - m) / s, where m is the median of the column and s half the distance
    between its quartiles. Where abs(z) is more than `linear`, it becomes linear + log(1 + abs(z) -
    linear), and at most `largest`, so that an extreme value in the training rows does not dominate
    the others. Values outside of the range of the training rows are set to its end first. Where
    half of the values or more are equal, as in a column of 0 and 1, the quartiles may coincide; s
    is then found from the distinct values.

    Parameters
    ----------
    linear : float, default=0
        How far from the median values are scaled only.
    largest : float, default=inf
        Largest distance of scaled values from 0.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Median of each column.
    scale_ : ndarray of shape (n_features,)
        The divisor s of each column; 1 for a constant column.
    data_min_, data_max_ : ndarray of shape (n_features,)
        Range of each column.
    """

    def __init__(self, linear: float = 0.0, largest: float = np.inf) -> None:
        self.linear, self.largest = linear, largest

    def fit(self, X: Any, y: Any = None) -> "RobustLogScaler":
        """Find the median, the quartiles and the range of each column."""
        X = validate_data(self, X, dtype=(np.float64, np.float32))
        self.center_ = np.median(X, axis=0)
        self.scale_ = np.array([_half_quartile_range(column) for column in X.T], dtype=X.dtype)
        self.data_min_, self.data_max_ = X.min(axis=0), X.max(axis=0)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the scaled columns."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        z = (np.clip(X, self.data_min_, self.data_max_) - self.center_) / self.scale_
        size = np.abs(z)
        tail = np.log1p(np.maximum(size - self.linear, 0))
        return np.sign(z) * np.minimum(np.minimum(size, self.linear) + tail, self.largest)


def _half_quartile_range(column: np.ndarray) -> float:
    """Return half the distance between the quartiles, of the distinct values if it is 0."""
    for values in (column, np.unique(column)):
        low, high = np.quantile(values, (0.25, 0.75))
        if (half := (high / 2 - low / 2)) > 0:
            return float(half)
    return 1.0


def are_counts(columns: Collection[np.ndarray]) -> bool:
    """Return whether columns hold counts or weights of words, which share a scale already.

    Most of their values are 0, and no column is much larger than the others.
    """
    largest = [np.abs(column).max(initial=0) for column in columns]
    n_values = sum(column.size for column in columns)
    n_nonzero = sum(np.count_nonzero(column) for column in columns)
    return bool(2 * n_nonzero < n_values and max(largest) <= 100 * np.median(largest))
