"""The scatter of pairs over rows on a device or on Dask workers: sums over blocks of pairs."""

import numpy as np
from sklearn.utils import gen_batches

from labelkin.base import Array, Matrix
from labelkin.rows import (
    DaskBlocks,
    DaskRows,
    as_dense,
    namespace_and_device,
    rows_per_block,
)


class BlockRows:
    """What `TrainingRows` are, for rows in blocks on Dask workers.

    The coordinates are the features: the row space would be smaller only where there are fewer rows
    than features, and such data need no blocks.
    """

    def __init__(self, rows: DaskRows) -> None:
        self.rows, self.n_features, self.basis = rows.persist(), rows.shape[1], None

    def in_features(self, vectors: Array) -> Array:
        """Return directions of these coordinates, which are the features."""
        return vectors

    def project(self, W: Array) -> DaskRows:
        """Return the rows projected by W, (n_features, d)."""
        return self.rows @ W

    def scatter_difference(self, must_link: Array, cannot_link: Array) -> tuple[Array, float]:
        """Return S_C − r·S_M (Eq. 5–7) and r (Eq. 4)."""
        pairs = np.concatenate([must_link, cannot_link])
        is_must_link = np.arange(len(pairs)) < len(must_link)
        # Pairs whose first rows are near each other, at most as many as the largest block has rows.
        order, most = np.argsort(pairs[:, 0], kind="stable"), int(self.rows.sizes.max())
        rows, places, kinds = [], [], []
        for batch in gen_batches(len(order), most):
            piece = order[batch]
            # Only the rows that are in a pair are sent.
            needed, place = np.unique(pairs[piece], return_inverse=True)
            rows.append(self.rows.take(needed).stacked())
            places.append(place.reshape(-1, 2))
            kinds.append(is_must_link[piece])
        sum_M, sum_C = DaskBlocks(rows).total(_sums_of_squares, [places, kinds])
        return difference_of_sums(sum_M, sum_C, len(must_link), len(cannot_link))


def _sums_of_squares(rows: Matrix, pairs: Array, is_must_link: Array) -> Array:
    """Sum (x_i − x_j)(x_i − x_j)ᵀ over must-links and over cannot-links: (2, k, k)."""
    differences = rows[pairs[:, 0]] - rows[pairs[:, 1]]
    kinds = differences[is_must_link], differences[~is_must_link]
    return np.array([as_dense(chosen.T @ chosen) for chosen in kinds], dtype=np.float64)


def sum_of_squares(X: Array, pairs: Array) -> Array:
    """Sum (x_i − x_j)(x_i − x_j)ᵀ over the pairs on a device, in blocks of bounded memory."""
    xp, device = namespace_and_device(X)
    n_pairs, k = pairs.shape[0], X.shape[1]
    size = rows_per_block(3 * k, device, most=max(n_pairs, 1))
    total = xp.zeros((k, k), dtype=X.dtype, device=device)
    for start in range(0, n_pairs, size):
        some = pairs[start : min(start + size, n_pairs), :]
        differences = xp.take(X, some[:, 0], axis=0) - xp.take(X, some[:, 1], axis=0)
        total = total + differences.T @ differences
    return total


def difference_of_sums(
    sum_M: Array, sum_C: Array, n_must_link: int, n_cannot_link: int
) -> tuple[Array, float]:
    """Return S_C − r·S_M and r from the sums of (x_i − x_j)(x_i − x_j)ᵀ over the pairs."""
    S_M, S_C = sum_M / (2 * max(n_must_link, 1)), sum_C / (2 * max(n_cannot_link, 1))
    trace = namespace_and_device(S_M)[0].linalg.trace
    trace_C, trace_M = float(trace(S_C)), float(trace(S_M))
    scaling = trace_C / trace_M if trace_M > 0 else 1.0
    return S_C - scaling * S_M, scaling
