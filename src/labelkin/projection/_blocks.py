"""The scatter of pairs over rows in blocks on Dask workers."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from labelkin.base import Array, Matrix
from labelkin.projection._scatter import TrainingRows, difference_of_sums
from labelkin.rows import DaskBlocks, DaskRows, as_dense


class BlockRows(TrainingRows):
    """Training rows in blocks.

    The coordinates are the features: the row space would be smaller only where there are fewer rows
    than features, and such data need no blocks.
    """

    def __init__(self, rows: DaskRows) -> None:
        self.rows, self.n_features, self.basis = rows.persist(), rows.shape[1], None

    def project(self, W: Array) -> DaskRows:
        """Return the rows projected by W, (n_features, d)."""
        return self.rows @ W

    def restrict(self, must_link: Array, cannot_link: Array) -> tuple["BlockRows", Array, Array]:
        """Return the rows and pairs as they are."""
        return self, must_link, cannot_link

    def scatter_difference(self, must_link: Array, cannot_link: Array) -> tuple[Array, float]:
        """Return S_C − r·S_M (Eq. 5–7) and r (Eq. 4)."""
        pairs = np.concatenate([must_link, cannot_link])
        is_must_link = np.arange(len(pairs)) < len(must_link)
        rows, places, kinds = [], [], []
        # Only the rows that are in a pair travel.
        for piece in self._pieces(pairs):
            needed, place = np.unique(pairs[piece], return_inverse=True)
            rows.append(self.rows.take(needed).stacked())
            places.append(place.reshape(-1, 2))
            kinds.append(is_must_link[piece])
        sum_M, sum_C = DaskBlocks(rows).total(_sums_of_squares, [places, kinds])
        return difference_of_sums(sum_M, sum_C, len(must_link), len(cannot_link))

    def _pieces(self, pairs: Array) -> Iterator[Array]:
        """Yield the numbers of some of the pairs, whose first rows are in the same block.

        None has more pairs than the largest block has rows.
        """
        starts, most = self.rows.starts, int(self.rows.sizes.max())
        block_of = np.searchsorted(starts, pairs[:, 0], side="right") - 1
        order = np.argsort(block_of, kind="stable")
        ends: Array = np.searchsorted(block_of[order], np.arange(len(starts)))
        for first, last in pairwise(ends):
            for low in range(first, last, most):
                yield order[low : min(low + most, last)]


def _sums_of_squares(rows: Matrix, pairs: Array, is_must_link: Array) -> Array:
    """Sum (x_i − x_j)(x_i − x_j)ᵀ over must-links and over cannot-links: (2, k, k)."""
    differences = rows[pairs[:, 0]] - rows[pairs[:, 1]]
    kinds = differences[is_must_link], differences[~is_must_link]
    return np.array([as_dense(chosen.T @ chosen) for chosen in kinds], dtype=np.float64)
