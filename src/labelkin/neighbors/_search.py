"""One factory for all searches of nearest rows."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from labelkin.base import Array, Matrix
from labelkin.neighbors._approximate import ApproximateSearch
from labelkin.neighbors._device import DeviceSearch
from labelkin.neighbors._exact import ExactSearch
from labelkin.rows import convert_arrays, is_device_array

# Up to this many rows, an exact search takes no longer than an approximate one.
_EXACT_ROWS = 16_000


class Search(Protocol):
    """The k nearest rows of a matrix, in Euclidean distance."""

    n_neighbors: int

    def query(self, Q: Matrix | None = None, n_jobs: int | None = None) -> Array:
        """Return the indices of the nearest rows of each query, (m, k); see `ExactSearch`."""


def make_search(
    X: Matrix,
    n_neighbors: int,
    method: str = "exact",
    n_candidates: int = 64,
    n_jobs: int | None = None,
) -> Search:
    """Return a search of the nearest rows of `X`, which runs where `X` lies.

    "approximate" searches exactly up to 16,000 rows; `n_candidates`: see `ApproximateSearch`.
    """
    if method == "approximate":
        if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
            raise ValueError(
                "neighbors='approximate' searches NumPy arrays and SciPy sparse matrices, not "
                f"{type(X).__module__} arrays; choose neighbors='exact'."
            )
        if X.shape[0] > max(_EXACT_ROWS, 4 * n_neighbors) and n_neighbors:
            return ApproximateSearch(X, n_neighbors, n_candidates, n_jobs=n_jobs)
    return _exact_search(X, n_neighbors)


def convert_search(search: Any, converter: Callable[[Any], Any]) -> Any:
    """Return the same search with its arrays converted, as scikit-learn moves estimators."""
    if isinstance(search, ApproximateSearch):
        return convert_arrays(search, converter)
    rows = search.rows if isinstance(search, DeviceSearch) else search.X
    if sparse.issparse(rows):
        if not is_device_array(converter(np.empty(0))):
            return convert_arrays(search, converter)
        rows = rows.toarray()  # a device has dense rows only
    offset = convert_arrays(search.offset, converter)
    return _exact_search(converter(rows), search.n_neighbors, offset)


def _exact_search(X: Matrix, n_neighbors: int, offset: Array | None = None) -> Search:
    if is_device_array(X):
        return DeviceSearch.of_rows(X, n_neighbors, offset)
    return ExactSearch(X, n_neighbors, offset)
