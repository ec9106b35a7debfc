"""Which labels occur together."""

from dataclasses import dataclass

import numpy as np

from labelkin.evaluation._predictions import OutOfSample


@dataclass(frozen=True)
class Together:
    """Of the rows with one label, the share with each other label."""

    labels: list[int]
    """The labels shown: the most frequent, in the order of their frequency."""
    counts: list[list[int]]
    """Rows with both labels."""
    predicted: list[list[int]]
    """Rows predicted to have both."""

    def share(self, i: int, j: int) -> float:
        """Return the share of the rows with the i-th label that have the j-th too."""
        return self.counts[i][j] / self.counts[i][i]


def find_together(found: OutOfSample, most: int) -> Together:
    """Return how often the `most` most frequent labels occur in pairs, and are predicted so."""
    order = np.argsort(-found.support, kind="stable")[:most]
    order = order[found.support[order] > 0]
    y, labels = (part[:, order].astype(np.int64) for part in (found.y, found.labels))
    return Together(order.tolist(), (y.T @ y).tolist(), (labels.T @ labels).tolist())
