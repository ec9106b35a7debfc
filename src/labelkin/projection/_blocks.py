"""The scatter of pairs over rows in blocks on Dask workers."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from labelkin.base import Array, Matrix
from labelkin.projection._scatter import TrainingRows, difference_of_sums
from labelkin.rows import DaskRows, compute, stack_rows, sum_in_tree, task


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
        [(sum_M, sum_C)] = compute([sum_in_tree(list(self._partial_sums(must_link, cannot_link)))])
        return difference_of_sums(sum_M, sum_C, len(must_link), len(cannot_link))

    def _partial_sums(self, must_link: Array, cannot_link: Array) -> Iterator[Any]:
        """Yield tasks that sum over some of the pairs, whose first rows are in the same block.

        Only the rows that are in a pair travel. No task needs more of them than twice the rows of
        the largest block.
        """
        rows, starts, most = self.rows, self.rows.starts, int(self.rows.sizes.max())
        pairs = np.concatenate([must_link, cannot_link])
        is_must_link = np.arange(len(pairs)) < len(must_link)
        take, add_squares = task(_take_rows), task(_sums_of_squares)
        block_of = np.searchsorted(starts, pairs[:, 0], side="right") - 1
        order = np.argsort(block_of, kind="stable")
        ends: Array = np.searchsorted(block_of[order], np.arange(len(rows.sizes) + 1))
        for first, last in pairwise(ends):
            for low in range(first, last, most):
                piece = order[low : min(low + most, last)]
                needed, place = np.unique(pairs[piece], return_inverse=True)
                cuts: Array = np.searchsorted(needed, starts)
                parts = [
                    take(block, needed[a:b] - start)
                    for block, start, a, b in zip(rows.blocks, starts, cuts, cuts[1:], strict=False)
                    if b > a
                ]
                yield add_squares(parts, place.reshape(-1, 2), is_must_link[piece])


# Functions of a block.


def _take_rows(block: Matrix, rows: Array) -> Matrix:
    return block[rows]


def _sums_of_squares(parts: list[Matrix], pairs: Array, is_must_link: Array) -> Array:
    """Sum (x_i − x_j)(x_i − x_j)ᵀ over must-links and over cannot-links: (2, k, k)."""
    rows = stack_rows(parts)
    differences = rows[pairs[:, 0]] - rows[pairs[:, 1]]
    sums = []
    for chosen in (differences[is_must_link], differences[~is_must_link]):
        product = chosen.T @ chosen
        sums.append(product.toarray() if sparse.issparse(product) else product)
    return np.array(sums, dtype=np.float64)
