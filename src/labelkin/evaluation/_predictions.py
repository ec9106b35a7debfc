"""Predictions of rows by models that did not see them in training."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labelkin.base import Array


@dataclass(frozen=True)
class OutOfSample:
    """Labels and scores of rows, each predicted by a model that was not fitted on the row.

    Parameters
    ----------
    label_names : sequence of str
        Names of the q labels.
    rows : ndarray of int of shape (n,)
        Positions of the rows in the user's table.
    y, labels : ndarray of shape (n, q)
        True and predicted labels, 0 or 1.
    scores : ndarray of shape (n, q)
        Probabilities, or other scores by which labels are ranked.
    thresholds : ndarray of shape (q,)
        Scores above which labels are predicted; NaN where label sets are decided otherwise.
    """

    label_names: tuple[str, ...]
    rows: Array
    y: Array
    labels: Array
    scores: Array
    thresholds: Array

    @cached_property
    def are_probabilities(self) -> bool:
        """Whether all scores lie between 0 and 1."""
        return bool(self.scores.min() >= 0 and self.scores.max() <= 1)

    @cached_property
    def support(self) -> Array:
        """Number of rows with each label."""
        return self.y.sum(axis=0, dtype=int)

    @cached_property
    def pooled_scores(self) -> Array:
        """Probabilities corrected where they are too sure of themselves, all labels together.

        A nondecreasing curve from probabilities to observed shares is fitted to all pairs of a row
        and a label, so that a single pair has hardly any influence on it. Of a probability and
        the curve's value, the one nearer to one half is taken. Both are kept away from 0 and 1
        by as much as the number of pairs allows to tell.
        """
        from sklearn.isotonic import IsotonicRegression

        n_pairs = self.scores.size
        smallest = 1 / (n_pairs + 2)
        curve = IsotonicRegression(y_min=smallest, y_max=1 - smallest)
        fitted = curve.fit_transform(self.scores.ravel(), self.y.ravel().astype(float))
        fitted = np.clip(fitted, smallest, 1 - smallest).reshape(self.scores.shape)
        given = np.clip(self.scores, smallest, 1 - smallest)
        return np.where(np.abs(fitted - 0.5) < np.abs(given - 0.5), fitted, given)
