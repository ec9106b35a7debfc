"""Scaling of columns of numbers that extreme values do not distort."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class RobustLogScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale columns by their quartiles, and compress what lies far outside of them.

    A value x becomes sign(z) log(1 + abs(z)) with z = (x - m) / s, where m is the median of the
    column and s half the distance between its quartiles. This is almost linear near the median
    and logarithmic in the tails, so that an extreme value in the training rows does not dominate
    the others. Values outside of the range of the training rows are set to its end first. Where
    half of the values or more are equal, as in a column of 0 and 1, the quartiles may coincide;
    s is then found from the distinct values.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Median of each column.
    scale_ : ndarray of shape (n_features,)
        The divisor s of each column; 1 for a constant column.
    data_min_, data_max_ : ndarray of shape (n_features,)
        Range of each column.
    """

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
        return np.sign(z) * np.log1p(np.abs(z))


def _half_quartile_range(column: np.ndarray) -> float:
    """Return half the distance between the quartiles, of the distinct values if it is 0."""
    for values in (column, np.unique(column)):
        low, high = np.quantile(values, (0.25, 0.75))
        if (half := (high / 2 - low / 2)) > 0:
            return float(half)
    return 1.0
