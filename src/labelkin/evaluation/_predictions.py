"""Predictions of rows by models that did not see them in training."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from labelkin.base import Array


@dataclass(frozen=True)
class OutOfSample:
    """Labels and scores of rows, each predicted by a model that was not fitted on the row."""

    label_names: tuple[str, ...]
    rows: Array  # (n,): positions in the user's table
    y: Array  # (n, q): true labels, 0 or 1
    labels: Array  # (n, q): predicted labels
    scores: Array  # (n, q): probabilities, or other scores by which labels are ranked
    thresholds: Array  # (q,): predicted above them; NaN where label sets are decided otherwise

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
