"""ML-kNN on rows in blocks on Dask workers.

Neighbours are found in each block and merged, ties to the row that comes first; label counts are
added up from the label sets of the neighbours, where they were found.
"""

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from labelkin.base import Array, Matrix
from labelkin.constraints import LabelSets
from labelkin.constraints._sampler import labels_of_sets
from labelkin.neighbors._counts import NeighborCounts, label_histogram, look_up, sum_labels
from labelkin.neighbors._exact import ExactSearch
from labelkin.rows import DaskBlocks, DaskRows, as_dense, constant

# Neighbours in one space: squared distances, row indices and label sets, each (n_queries, k).
Neighbors = tuple[Array, Array, Array]


class BlockCounts:
    """What `NeighborCounts` is, for rows in blocks.

    Pickled, it brings its rows into memory and becomes a `NeighborCounts`.
    """

    def __init__(self, rows: DaskRows, Y: Any, n_neighbors: int, n_jobs: int | None = None) -> None:
        self.rows, self.labels = rows, LabelSets(Y)
        self.n_neighbors, self.n_jobs = min(n_neighbors, len(rows) - 1), n_jobs

    def __call__(self, Q: Matrix | None = None) -> Any:
        """Return the counts around each query, which is in memory, as is the result.

        None: around each training row, itself left out; these `Blocks` stay on the workers.
        """
        queries = None if Q is None else DaskRows.from_memory(Q)
        rows = self.rows.projected()
        found = _nearest(queries, rows, self.labels, self.n_neighbors, [None])
        if Q is None:
            return found.map(_count_labels, (), [self.labels.distinct])
        return np.concatenate(found.collect(_count_labels, (), [self.labels.distinct]))

    def histogram(self, counts: DaskBlocks) -> Array:
        """Return the `label_histogram` of the counts around the training rows."""
        shared = [self.labels.distinct, self.n_neighbors + 1]
        return counts.total(_histogram, [_sets_of_blocks(self.labels, self.rows)], shared)

    def apply(self, function: Callable, counts: DaskBlocks, *shared: Any) -> Any:
        """Return ``function(counts, labels, None, *shared)`` of each block, a lazy Dask array."""
        nothing = np.empty((0, self.labels.shape[1]), dtype=np.int32)
        meta = function(nothing, nothing, None, *shared)
        sets = _sets_of_blocks(self.labels, self.rows)
        common = [self.labels.distinct, function, *shared]
        return counts.to_dask(_apply, self.rows.sizes, meta, [sets], common)

    def __reduce__(self) -> Any:
        rows, labels = self.rows.gather(), self.labels.matrix()
        return NeighborCounts, (rows, labels, self.n_neighbors, self.n_jobs)


def predict_blocks(model: Any, members: list[Any], X: Any, method: str) -> Any:
    """Predict a Dask array by ML-kNN members fitted to projections of the same rows in blocks.

    The model is sent to the workers, without what holds training rows. Its method ``_combine``
    turns the probabilities of the members, an (n, q) array each, into the prediction. The result
    is lazy, in the blocks of X.
    """
    model = copy(model)
    for name in ("_counts", "estimators_", "projections_", "sample_weights_"):
        vars(model).pop(name, None)
    queries = DaskRows.of_queries(model, X)
    counts = [member._counts for member in members]
    posteriors = [member._posterior for member in members]
    meta = model._combine([np.empty((0, len(p)), p.dtype) for p in posteriors], method)
    rows, labels, spaces = counts[0].rows, counts[0].labels, [part.rows.W for part in counts]
    found = _nearest(queries, rows, labels, counts[0].n_neighbors, spaces)
    shared = [model, method, posteriors, labels.distinct]
    return found.to_dask(_predict, queries.sizes, meta, (), shared)


def _nearest(
    queries: DaskRows | None, rows: DaskRows, labels: LabelSets, k: int, spaces: list[Any]
) -> DaskBlocks:
    """Find the k nearest rows of queries in each of some spaces, projections of both.

    Without queries each row is one, left out of its own neighbours. For each block of queries, the
    lazy result is a list of `Neighbors`, one per space.
    """
    blocks, shared = DaskBlocks(rows.blocks), [constant(spaces), constant(k)]
    parts = [rows.starts[:-1], _sets_of_blocks(labels, rows)]
    found = []
    for number, query in enumerate((rows if queries is None else queries).blocks):
        is_own = [queries is None and number == other for other in range(len(rows.blocks))]
        found.append(
            blocks.combine(
                _nearest_in_block, partial(_merge, k=k), [*parts, is_own], [query, *shared]
            )
        )
    return DaskBlocks(found)


def _sets_of_blocks(labels: LabelSets, rows: DaskRows) -> list[Array]:
    """Return the label set of each row, block by block."""
    return np.split(labels.set_of_sample, rows.starts[1:-1])


# Functions of plain blocks, which run on the workers.


def _nearest_in_block(
    block: Matrix, start: int, sets: Array, own: bool, queries: Matrix, spaces: list[Any], k: int
) -> list[Neighbors]:
    """Find neighbours in one block; if the queries are its own rows, themselves left out."""
    found = []
    for W in spaces:
        rows, Q = (A if W is None else A @ W for A in (block, queries))
        index = np.empty((Q.shape[0], 0), dtype=np.intp)
        if rows.shape[0]:
            search = ExactSearch(rows, min(k, rows.shape[0] - own))
            index = search.query(None if own else Q, n_jobs=1)
        found.append((_squared_distances(Q, rows, index), index + start, sets[index]))
    return found


def _squared_distances(Q: Matrix, rows: Matrix, index: Array) -> Array:
    """Return distances from differences, which do not depend on how rows are blocked."""
    distances = np.empty(index.shape)
    for j in range(index.shape[1]):
        other = rows[index[:, j]]
        if sparse.issparse(Q):
            difference = Q - other
            distances[:, j] = difference.multiply(difference).sum(axis=1)
        else:
            difference = Q - as_dense(other)
            distances[:, j] = np.einsum("ij,ij->i", difference, difference, dtype=np.float64)
    return distances


def _merge(parts: list[list[Neighbors]], k: int) -> list[Neighbors]:
    """Keep the k nearest of each query; of equally distant rows those that come first."""
    merged = []
    for space in zip(*parts, strict=True):
        distance, index, sets = (np.concatenate(part, axis=1) for part in zip(*space, strict=True))
        order = np.lexsort((index, distance), axis=1)[:, :k]
        distance, index, sets = (
            np.take_along_axis(part, order, axis=1) for part in (distance, index, sets)
        )
        merged.append((distance, index, sets))
    return merged


def _count_labels(found: list[Neighbors], distinct: Any, space: int = 0) -> Array:
    """Add up the label sets of the neighbours in one space."""
    return as_dense(sum_labels(distinct, found[space][2]))


def _apply(counts: Array, sets: Array, distinct: Any, function: Callable, *shared: Any) -> Array:
    return function(counts, labels_of_sets(sets, distinct), None, *shared)


def _histogram(counts: Array, sets: Array, distinct: Any, width: int) -> Array:
    return label_histogram(counts, labels_of_sets(sets, distinct), width)


def _predict(
    found: list[Neighbors], model: Any, method: str, posteriors: list[Array], distinct: Any
) -> Array:
    probabilities = [
        look_up(posterior, _count_labels(found, distinct, space))
        for space, posterior in enumerate(posteriors)
    ]
    return copy(model)._combine(probabilities, method)
