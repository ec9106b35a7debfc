"""Bags: random shares of the samples, inside which pairs are drawn.

A projection learned from pairs has seen the labels of the samples in them, so its predictions
of those samples are optimistic, even where the classifier behind it leaves each one out. Of the
samples outside its bag it has seen neither features nor labels.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from labelkin.base import Array
from labelkin.constraints._sampler import ConstraintSampler


def draw_bag(n_samples: int, share: float, seed: int) -> Array:
    """Draw the rows of a bag, a share of the samples, without replacement, in order.

    It holds at least two samples, to make a pair, and leaves one outside, where there are enough.
    The seed is that of a separate stream: the bag depends on no other draw of a member.
    """
    size = min(max(round(share * n_samples), 2), max(n_samples - 1, 2), n_samples)
    return np.sort(np.random.default_rng(seed).permutation(n_samples)[:size])


class BagSampler(ConstraintSampler):
    """Draws pairs inside a bag of rows, as `ConstraintSampler` does among all samples.

    Labels outside the bag cannot change a pair.
    """

    def __init__(self, Y: Array, rows: Array) -> None:
        super().__init__(Y[rows])
        self.rows = rows

    def draw(
        self,
        threshold: float,
        n_must_link: int | None = None,
        n_cannot_link: int | None = None,
        sample_weight: ArrayLike | None = None,
        random_state: Any = None,
    ) -> tuple[Array, Array]:
        """Draw pairs of the bag; weights and pairs are those of rows among all samples."""
        weights = None if sample_weight is None else np.asarray(sample_weight)[self.rows]
        if weights is not None and not weights.any():  # no sample of positive weight in the bag
            weights = None
        pairs = super().draw(threshold, n_must_link, n_cannot_link, weights, random_state)
        return self.rows[pairs[0]], self.rows[pairs[1]]
