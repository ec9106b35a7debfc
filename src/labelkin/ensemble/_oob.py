"""Out-of-bag predictions: of each training sample by the members that had it outside their bag."""

from collections.abc import Sequence

import numpy as np

from labelkin.base import Array
from labelkin.metrics import Metric

# Rows outside a bag, a member's probabilities and its labels of them.
Outside = tuple[Array, Array, Array]


class OutOfBag:
    """Predictions of members for the samples outside their bags, added up; Y has the labels."""

    def __init__(self, Y: Array) -> None:
        self.Y = Y
        self._proba = np.zeros(Y.shape)
        self._votes = np.zeros(Y.shape)
        self._weight = np.zeros((len(Y), 1))

    def add(self, rows: Array, proba: Array, labels: Array, weight: float = 1.0) -> None:
        """Add one member's probabilities and labels of the rows outside its bag."""
        self._proba[rows] += weight * proba
        self._votes[rows] += weight * labels
        self._weight[rows] += weight

    @property
    def predicted(self) -> Array:
        """Which samples were outside at least one bag."""
        return self._weight[:, 0] > 0

    def proba(self) -> Array:
        """Mean probabilities; NaN for a sample that was in every bag."""
        return self._mean(self._proba)

    def votes(self) -> Array:
        """Shares of the votes; NaN for a sample that was in every bag."""
        return self._mean(self._votes)

    def _mean(self, total: Array) -> Array:
        return np.divide(
            total, self._weight, out=np.full(total.shape, np.nan), where=self._weight > 0
        )

    def score(self, metric: Metric, labels: Array, rows: Array | None = None) -> float:
        """Return a metric over the predicted samples, all or some `rows`; NaN if there are none.

        The predicted `labels` of all samples are for a metric of label sets.
        """
        rows = np.flatnonzero(self.predicted) if rows is None else rows
        if not len(rows):
            return float("nan")
        given = labels if metric.needs == "label" else self.proba()
        return metric(self.Y[rows], given[rows])


def precision_weights(outside: Sequence[Outside], Y: Array) -> Array:
    """Weigh each member by one over its mean squared error outside its bag; the mean is 1."""
    # Half an error more: a member without an error in few samples has a finite weight.
    errors = np.array(
        [(np.sum((proba - Y[rows]) ** 2) + 0.5) / (proba.size + 1) for rows, proba, _ in outside]
    )
    weights = 1 / errors
    return weights / weights.mean()
