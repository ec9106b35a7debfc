"""What the features of one sample add to its predictions, for any classifier."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.array_api import to_numpy
from labelkin.base import Array, Matrix, is_dask

# Rows from which typical values are computed, at most.
_MAX_ROWS = 10_000


def typical_values(X: Any) -> Array:
    """Return the median and the standard deviation of each feature, of shape (2, n_features).

    The median of a word or of a category is 0 unless most rows have it. Of sparse rows, 0 is
    taken for the median of every feature. Of rows in blocks, a sample comes into memory.
    """
    step = -(-X.shape[0] // _MAX_ROWS)
    X = X.take(np.arange(0, X.shape[0], step)).gather() if is_dask(X) else X[::step, :]
    if sparse.issparse(X):
        mean, squares = (np.asarray(part.mean(axis=0)).ravel() for part in (X, X.multiply(X)))
        return np.stack([np.zeros(X.shape[1]), np.sqrt(np.maximum(squares - mean**2, 0))])
    X = to_numpy(X)
    return np.stack([np.median(X, axis=0), X.std(axis=0)]).astype(np.float64)


def occlude_features(
    log_odds: Callable[[Any], Array], row: Matrix, typical: Array, max_features: int
) -> tuple[Array, Array]:
    """Replace one feature after the other by its median, and predict again.

    `log_odds` takes rows of the type of `row`, the sample. At most `max_features` are tried, those
    furthest from their median in units of the standard deviation (`typical`: see `typical_values`):
    the time is that of as many predictions.

    Returned are the features that differ from their median, and for each label the log odds of the
    sample less those without the feature. Of a linear model they are exact: its weights times the
    differences from the medians.
    """
    median, spread = typical
    is_sparse = sparse.issparse(row)
    values = row.toarray()[0] if is_sparse else np.asarray(row[0])
    gaps = np.abs(values - median) / np.where(spread > 0, spread, 1)
    features = np.argsort(-gaps, kind="stable")[:max_features]
    features = np.sort(features[gaps[features] > 0])
    if is_sparse and not median[features].any():
        rows = _without_stored_values(row, features)
    else:
        dense = np.repeat(values[None], len(features) + 1, axis=0)
        dense[1 + np.arange(len(features)), features] = median[features]
        rows = sparse.csr_matrix(dense) if is_sparse else dense
    odds = log_odds(rows)
    return features, (odds[0] - odds[1:]).T


def _without_stored_values(row: Any, features: Array) -> Any:
    """Return the row, then itself without each of the features, which are all stored."""
    row = sparse.csr_matrix(row)
    row.sum_duplicates()
    n = len(features) + 1
    data = np.tile(row.data, (n, 1))
    data[1 + np.arange(n - 1), np.searchsorted(row.indices, features)] = 0
    starts = np.arange(n + 1) * row.nnz
    return sparse.csr_matrix((data.ravel(), np.tile(row.indices, n), starts), (n, row.shape[1]))
