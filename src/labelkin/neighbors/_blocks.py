"""ML-kNN on rows in blocks on Dask workers.

Neighbours are found in each block and merged, ties to the row that comes first; label counts are
added up from the label sets of the neighbours, where they were found.
"""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from labelkin.base import Array, Matrix
from labelkin.constraints import LabelSets
from labelkin.constraints._label_sets import labels_of_sets
from labelkin.neighbors._counts import label_histogram, look_up, make_counts
from labelkin.neighbors._exact import ExactSearch
from labelkin.rows import (
    DaskRows,
    as_dask_array,
    combine_in_tree,
    compute,
    constant,
    persist,
    project_rows,
    sum_in_tree,
    task,
)

# Neighbours in one space: squared distances, row indices and label sets, each (n_queries, k).
Neighbors = tuple[Array, Array, Array]


class BlockCounts:
    """How often each label occurs among the k nearest training rows; see `NeighborCounts`.

    Pickled, it brings its rows into memory and becomes a `NeighborCounts`.
    """

    def __init__(self, rows: DaskRows, labels: LabelSets, n_neighbors: int) -> None:
        self.rows, self.labels = rows, labels
        self.n_neighbors = min(n_neighbors, len(rows) - 1)

    def __call__(self, Q: Matrix) -> Array:
        """Count labels around each row of `Q`, which is in memory, as is the result."""
        queries = DaskRows.from_memory(Q)
        found = _nearest(queries, self.rows, self.labels, self.n_neighbors, [self.rows.W], False)
        return np.concatenate(compute(self._count(found)))

    def of_training(self) -> list[Any]:
        """Count labels around each training row, itself left out; one task per block."""
        rows = self.rows.projected()
        return self._count(_nearest(None, rows, self.labels, self.n_neighbors, [None], False))

    def _count(self, found: list[Any]) -> list[Any]:
        count, distinct = task(_count_labels), constant(self.labels.distinct)
        return [count(block, distinct) for block in found]

    def __reduce__(self) -> Any:
        return make_counts, (self.rows.gather(), self.labels.matrix(), self.n_neighbors)


def fit_blocks(estimator: Any, rows: DaskRows, y: Any) -> Any:
    """Fit ML-kNN to validated rows in blocks; return leave-one-out probabilities, a Dask array.

    The label counts behind it stay on the workers while it exists.
    """
    if estimator.neighbors != "exact":
        raise ValueError(
            f"neighbors={estimator.neighbors!r} is not available for Dask arrays, whose blocks "
            "are searched exactly; choose neighbors='exact'."
        )
    labels = LabelSets.from_matrix(y)
    estimator._counts = BlockCounts(rows, labels, estimator.n_neighbors)
    counts = persist(estimator._counts.of_training())
    histogram, n_counts = task(_histogram), estimator._counts.n_neighbors + 1
    distinct = constant(labels.distinct)
    tables = [
        histogram(block, sets, distinct, n_counts)
        for block, sets in zip(counts, _sets_of_blocks(labels, rows), strict=True)
    ]
    estimator._estimate(compute([sum_in_tree(tables)])[0], rows.dtype)
    probabilities, posterior = task(look_up), constant(estimator._posterior)
    blocks = [probabilities(posterior, block) for block in counts]
    return as_dask_array(blocks, rows.sizes, np.empty((0, labels.shape[1]), rows.dtype))


def predict_blocks(
    model: Any, members: list[Any], X: Any, answer: Callable[[Any, list[Array]], Array]
) -> Any:
    """Predict a Dask array by ML-kNN members fitted to projections of the same rows in blocks.

    The model is sent to the workers and must not hold training rows. ``answer(model,
    probabilities)`` turns the probabilities of the members, an (n, q) array each, into the
    prediction. The result is lazy, in the blocks of X.
    """
    queries = DaskRows.of_queries(model, X)
    counts = [member._counts for member in members]
    posteriors = [member._posterior for member in members]
    meta = answer(model, [np.empty((0, len(p)), p.dtype) for p in posteriors])
    found = _nearest(
        queries,
        counts[0].rows,
        counts[0].labels,
        counts[0].n_neighbors,
        [part.rows.W for part in counts],
        True,
    )
    predict, shared, tables = task(_predict), constant((model, answer)), constant(posteriors)
    distinct = constant(counts[0].labels.distinct)
    blocks = [predict(shared, tables, block, distinct) for block in found]
    return as_dask_array(blocks, queries.sizes, meta)


def _nearest(
    queries: DaskRows | None,
    rows: DaskRows,
    labels: LabelSets,
    k: int,
    spaces: list[Any],
    project_queries: bool,
) -> list[Any]:
    """Find the k nearest rows of queries in each of some spaces, projections of the rows.

    Without queries each row is one, left out of its own neighbours. `project_queries`: whether
    queries are projected too. For each block of queries, the lazy result is a list of `Neighbors`,
    one per space.
    """
    search, merge = task(_nearest_in_block), task(_merge)
    shared = constant(spaces)
    found = []
    for number, query in enumerate((rows if queries is None else queries).row_blocks):
        parts = [
            search(
                None if queries is None and number == other else query,
                block,
                sets,
                int(start),
                shared,
                k,
                project_queries,
            )
            for other, (block, sets, start) in enumerate(
                zip(rows.row_blocks, _sets_of_blocks(labels, rows), rows.starts, strict=False)
            )
        ]
        found.append(combine_in_tree(lambda group: merge(group, k), parts))
    return found


def _sets_of_blocks(labels: LabelSets, rows: DaskRows) -> list[Array]:
    """Return the label set of each row, block by block."""
    return np.split(labels.set_of_sample, rows.starts[1:-1])


# Functions of plain blocks, which run on the workers.


def _nearest_in_block(
    queries: Matrix | None,
    block: Matrix,
    sets: Array,
    start: int,
    spaces: list[Any],
    k: int,
    project_queries: bool,
) -> list[Neighbors]:
    """Find neighbours in one block; without queries, of its own rows, themselves left out."""
    found = []
    for W in spaces:
        rows = project_rows(block, W)
        own = queries is None
        Q = rows if own else project_rows(queries, W if project_queries else None)
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
            difference = Q - (other.toarray() if sparse.issparse(other) else other)
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
    sets = found[space][2]
    m, k = sets.shape
    ones = np.ones(m * k, dtype=np.int32)
    shape = (m, distinct.shape[0])
    chosen = sparse.csr_array((ones, sets.ravel(), np.arange(m + 1) * k), shape=shape)
    return (chosen @ distinct).toarray()


def _histogram(counts: Array, sets: Array, distinct: Any, n_counts: int) -> Array:
    return label_histogram(counts, labels_of_sets(sets, distinct), n_counts)


def _predict(
    shared: tuple[Any, Callable], posteriors: list[Array], found: list[Neighbors], distinct: Any
) -> Array:
    model, answer = shared
    probabilities = [
        look_up(posterior, _count_labels(found, distinct, space))
        for space, posterior in enumerate(posteriors)
    ]
    return answer(copy(model), probabilities)
