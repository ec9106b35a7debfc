"""The scatter of pairs over rows in blocks on Dask workers."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from labelkin.base import Array, Matrix
from labelkin.projection._scatter import scaling_coefficient
from labelkin.rows import DaskRows, compute, stack_rows, sum_in_tree, task


class BlockRows:
    """Training rows in blocks, with the methods of `TrainingRows`.

    The coordinates are the features: the row space would be smaller only where there are fewer rows
    than features, and such data need no blocks.
    """

    def __init__(self, rows: DaskRows) -> None:
        self.rows = rows
        self.n_features = rows.shape[1]

    def project(self, W: Array) -> DaskRows:
        """Return the rows projected by W, (n_features, d)."""
        return self.rows @ W

    def in_features(self, vectors: Array) -> Array:
        """Return directions as they are."""
        return vectors

    def identity(self) -> tuple[Array, Array]:
        """Return the projection that changes nothing."""
        eye = np.eye(self.n_features, dtype=self.rows.dtype)
        return eye, eye

    def restrict(self, must_link: Array, cannot_link: Array) -> tuple["BlockRows", Array, Array]:
        """Return the rows and pairs as they are."""
        return self, must_link, cannot_link

    def scatter_difference(self, must_link: Array, cannot_link: Array) -> tuple[Array, float]:
        """Return S_C − r·S_M (Eq. 5–7) and r (Eq. 4)."""
        [(sum_M, sum_C)] = compute([sum_in_tree(list(self._partial_sums(must_link, cannot_link)))])
        S_M, S_C = sum_M / (2 * max(len(must_link), 1)), sum_C / (2 * max(len(cannot_link), 1))
        scaling = scaling_coefficient(float(np.trace(S_C)), float(np.trace(S_M)))
        return S_C - scaling * S_M, scaling

    def _partial_sums(self, must_link: Array, cannot_link: Array) -> Iterator[Any]:
        """Yield tasks that sum over pairs whose first rows are in one block.

        Only the rows that are second in some pair travel. No task needs more rows than about
        twice the largest block.
        """
        rows, most = self.rows, int(self.rows.sizes.max())
        pairs = np.concatenate([must_link, cannot_link])
        is_cannot_link = np.arange(len(pairs)) >= len(must_link)
        take, add_squares = task(_take_rows), task(_sums_of_squares)
        block = np.searchsorted(rows.starts, pairs[:, 0], side="right") - 1
        order = np.argsort(block, kind="stable")
        ends = np.searchsorted(block[order], np.arange(len(rows.sizes) + 1))
        for b, own in enumerate(rows.row_blocks):
            for low in range(ends[b], ends[b + 1], most):
                piece = order[low : min(low + most, ends[b + 1])]
                needed, right = np.unique(pairs[piece, 1], return_inverse=True)
                cuts: Any = np.searchsorted(needed, rows.starts)
                partners = [
                    take(other, needed[first:end] - start)
                    for other, start, first, end in zip(
                        rows.row_blocks, rows.starts, cuts, cuts[1:], strict=False
                    )
                    if end > first
                ]
                left = pairs[piece, 0] - rows.starts[b]
                yield add_squares(own, partners, left, right, is_cannot_link[piece])


def _take_rows(block: Matrix, rows: Array) -> Matrix:
    return block[rows]


def _sums_of_squares(
    block: Matrix, partners: list[Matrix], left: Array, right: Array, is_cannot_link: Array
) -> Array:
    """Sum (x_i − x_j)(x_i − x_j)ᵀ over must-links and over cannot-links: (2, k, k)."""
    differences = block[left] - stack_rows(partners)[right]
    sums = []
    for chosen in (differences[~is_cannot_link], differences[is_cannot_link]):
        product = chosen.T @ chosen
        sums.append(product.toarray() if sparse.issparse(product) else product)
    return np.array(sums, dtype=np.float64)
