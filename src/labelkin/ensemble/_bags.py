"""Bags and what lies outside them: honest predictions of the training samples.

A projection learned from pairs has seen the labels of the samples in them, so what it makes of
those samples flatters it, even where the base classifier leaves each one out. Hence the bag: a
random share of the samples, inside which a member draws its pairs. Of all other samples it has
seen neither features nor labels, and its predictions there are those of new samples.
"""

from collections.abc import Sequence

import numpy as np

from labelkin.base import Array
from labelkin.metrics import METRICS


class OutOfBag:
    """What members say of the samples outside their bags, added up.

    Parameters
    ----------
    Y : ndarray of shape (n_samples, n_labels)
        The true labels.
    """

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
    def judged(self) -> Array:
        """Which samples were outside a bag at least once."""
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

    def score(self, metric: str, labels: Array, rows: Array | None = None) -> float:
        """Value of a metric over the judged samples, NaN if there are none.

        Parameters
        ----------
        metric : str
            Name in `labelkin.metrics.METRICS`.
        labels : ndarray of shape (n_samples, n_labels)
            The predicted labels, for a metric of label sets.
        rows : ndarray of int, optional
            Judged samples to look at; None: all.
        """
        rows = np.flatnonzero(self.judged) if rows is None else rows
        if not len(rows):
            return float("nan")
        chosen = METRICS[metric]
        given = labels if chosen.needs == "label" else self.proba()
        return chosen(self.Y[rows], given[rows])


def bound_weights(weights: Array, most: float) -> Array:
    """Let no sample weigh more than `most` times the mean; the others share what is cut.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,)
        Positive weights that add up to 1.
    most : float
        At least 1.

    Returns
    -------
    ndarray of shape (n_samples,)
        Weights that add up to 1, in the same order of size.
    """
    limit = most / len(weights)
    bounded, cut = weights, np.zeros(len(weights), dtype=bool)
    while (over := bounded > limit * (1 + 1e-12)).any():
        cut |= over
        rest = weights[~cut].sum()
        scale = (1 - limit * np.count_nonzero(cut)) / rest if rest > 0 else 0.0
        bounded = np.where(cut, limit, weights * scale)
    return bounded


def precision_weights(outside: Sequence[tuple[Array, Array, Array]], Y: Array) -> Array:
    """Weigh each member by one over its mean squared error outside its bag.

    Parameters
    ----------
    outside : sequence of (rows, probabilities, labels)
        What each member says of the samples outside its bag.
    Y : ndarray of shape (n_samples, n_labels)
        The true labels.

    Returns
    -------
    ndarray of shape (n_members,)
        Weights of mean 1.
    """
    # A member without an error in few samples is not infinitely good: one half error more.
    errors = np.array(
        [(np.sum((proba - Y[rows]) ** 2) + 0.5) / (proba.size + 1) for rows, proba, _ in outside]
    )
    weights = 1 / errors
    return weights / weights.mean()
