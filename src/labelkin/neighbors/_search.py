"""The counts around any sample, for each kind of rows."""

from typing import Any

import numpy as np
from scipy import sparse

from labelkin.base import Matrix
from labelkin.neighbors._approximate import ApproximateSearch
from labelkin.neighbors._blocks import BlockCounts
from labelkin.neighbors._counts import NeighborCounts
from labelkin.neighbors._exact import ExactSearch
from labelkin.rows import is_dask, to_device_of

# Up to this many rows, an exact search takes no longer than an approximate one.
_EXACT_ROWS = 16_000


def make_counts(
    X: Matrix,
    Y: Matrix,
    n_neighbors: int,
    n_jobs: int | None = None,
    *,
    method: str = "exact",
    n_candidates: int = 64,
) -> Any:
    """Return the counts by the labels of the training samples, computed where these lie.

    With k ≥ n every other sample is a neighbour: k becomes n − 1. "approximate" searches exactly
    up to 16,000 rows; `n_candidates`: see `ApproximateSearch`.
    """
    n = X.shape[0]
    k = min(n_neighbors, n - 1)
    if method == "approximate" and not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        raise ValueError(
            "neighbors='approximate' searches NumPy arrays and SciPy sparse matrices, not Dask "
            "arrays or arrays on a device; choose neighbors='exact'."
        )
    if is_dask(X):
        return BlockCounts(X, Y, k)
    if method == "approximate" and k and n > max(_EXACT_ROWS, 4 * k):
        return NeighborCounts(ApproximateSearch(X, k, n_candidates), Y, n_jobs)
    Y = to_device_of(Y, X) if isinstance(Y, np.ndarray) else Y
    return NeighborCounts(ExactSearch(X, k), Y, n_jobs)
