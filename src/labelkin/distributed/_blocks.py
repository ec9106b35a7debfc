"""Rows on many machines: ``fit`` and ``predict`` on Dask arrays.

The rows stay in their blocks. What one place must know of all rows is small and lives with
the caller: the distinct label sets, which of them each row has, and the weight of each row (a
few bytes a row). So the pairs are drawn there, by the code that draws them in memory, from the
same seed; then

- the scatter of the pairs is summed block by block: a pair belongs to the block of its first
  row, and only the rows that are second in some pair travel there;
- neighbours are found in each block and merged, ties to the row that comes first;
- label counts are added up from the label sets of the neighbours, where they were found.

Everything on the workers is a Dask task on the blocks. What is lost with a worker the
scheduler computes again, and the result is the same.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from functools import cached_property
from importlib import import_module
from typing import Any
from uuid import uuid4

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.validation import _check_n_features, check_consistent_length, check_is_fitted

from labelkin.base import Array, Matrix
from labelkin.constraints._sampler import ConstraintSampler
from labelkin.distributed import _tasks as on_worker

# A sum over blocks goes through sums of so many.
_ARITY = 8
# Rows of one task when the queries are not in blocks themselves.
_QUERY_ROWS = 2**14


class RowBlocks:
    """Rows in blocks, each a lazy Dask object, seen through a linear projection or as they are.

    Parameters
    ----------
    blocks : sequence of dask.delayed.Delayed
        Each an ndarray or a CSR matrix, from top to bottom.
    sizes : ndarray of int of shape (n_blocks,)
        Their numbers of rows.
    n_features : int
        Their number of columns.
    dtype : numpy.dtype
        float64 or float32.
    W : ndarray of shape (n_features, d), optional
        Projection; it is only computed inside the tasks that need it, so that any number of
        projections of the same blocks take no memory.
    """

    def __init__(
        self, blocks: Sequence[Any], sizes: Array, n_features: int, dtype: Any, W: Any = None
    ) -> None:
        self.row_blocks = list(blocks)
        self.sizes = sizes
        self.dtype = dtype
        self.W = W
        self.n_features = n_features
        self.starts = np.concatenate([[0], np.cumsum(sizes)])

    @classmethod
    def of(cls, X: Any) -> "RowBlocks":
        """Return the blocks of a Dask array of rows."""
        if not hasattr(X, "chunks") or X.ndim != 2:
            raise ValueError(
                "X must be a two-dimensional Dask array, one row a sample; of a Dask DataFrame "
                "give X.to_dask_array(lengths=True)."
            )
        if np.isnan(X.chunks[0]).any() or np.isnan(X.chunks[1]).any():
            X = copy(X).compute_chunk_sizes()
        X = X.rechunk({1: -1})
        dtype = X.dtype if X.dtype in (np.float64, np.float32) else np.dtype(np.float64)
        checked = _task(on_worker.checked_rows)
        blocks = [checked(block, dtype) for block in X.to_delayed().ravel()]
        return cls(blocks, np.array(X.chunks[0], dtype=np.intp), X.shape[1], dtype)

    @classmethod
    def of_array(cls, X: Matrix) -> "RowBlocks":
        """Cut rows that are in memory here into blocks."""
        parts = [X[batch] for batch in gen_batches(X.shape[0], _QUERY_ROWS)]
        return cls(
            [_constant(part) for part in parts],
            np.array([part.shape[0] for part in parts], dtype=np.intp),
            X.shape[1],
            X.dtype,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.starts[-1]), self.n_features if self.W is None else self.W.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __matmul__(self, W: Array) -> "RowBlocks":
        W = W if self.W is None else self.W @ W
        return RowBlocks(self.row_blocks, self.sizes, self.n_features, self.dtype, W)

    def persist(self) -> "RowBlocks":
        """Return the same with the blocks kept on the workers."""
        blocks = _persist(self.row_blocks)
        return RowBlocks(blocks, self.sizes, self.n_features, self.dtype, self.W)

    def projected(self) -> "RowBlocks":
        """Return the projected rows as blocks of their own, each computed once."""
        if self.W is None:
            return self
        project, W = _task(on_worker.project_rows), _constant(self.W)
        blocks = [project(block, W) for block in self.row_blocks]
        return RowBlocks(blocks, self.sizes, self.W.shape[1], self.dtype)

    def gather(self) -> Matrix:
        """Bring all rows here."""
        return on_worker.stack(_compute(self.projected().row_blocks))


class LabelSets:
    """The label sets of all rows: the distinct ones, and which of them each row has.

    Parameters
    ----------
    sampler : ConstraintSampler
        Holds both, and draws the pairs.
    """

    def __init__(self, sampler: ConstraintSampler) -> None:
        self.sampler = sampler
        self.shape = (sampler.n_samples, sampler.label_sets.shape[1])

    @classmethod
    def of(cls, Y: Any) -> "LabelSets":
        """Read an (n, q) matrix of 0 and 1, in memory or a Dask array in blocks of any shape."""
        if not hasattr(Y, "__dask_graph__"):
            return cls(ConstraintSampler(Y))
        if hasattr(Y, "to_dask_array"):
            Y = Y.to_dask_array()
        distinct = _task(on_worker.distinct_sets)
        blocks = Y.rechunk({1: -1}).to_delayed().ravel()
        parts = _compute([distinct(block) for block in blocks])
        sampler = ConstraintSampler(sparse.vstack([sets for sets, _ in parts], format="csr"))
        first = np.cumsum([0] + [sets.shape[0] for sets, _ in parts])
        of_row = [which + start for (_, which), start in zip(parts, first, strict=False)]
        sampler.set_of_sample = sampler.set_of_sample[np.concatenate(of_row)]
        sampler.n_samples = len(sampler.set_of_sample)
        return cls(sampler)

    def __len__(self) -> int:
        return self.shape[0]

    @cached_property
    def sets(self) -> Any:
        """The distinct sets, as an object that many tasks share."""
        return _constant(self.sampler.label_sets)

    def of_blocks(self, rows: RowBlocks) -> list[Array]:
        """Return the set of each row, block by block."""
        return np.split(self.sampler.set_of_sample, rows.starts[1:-1])

    def misclassified(self, labels: Any) -> Array:
        """Tell which rows of a Dask array of predicted labels are not the true sets."""
        differ, first, tasks = _task(on_worker.differ), 0, []
        for block, size in zip(labels.to_delayed().ravel(), labels.chunks[0], strict=True):
            of_row = self.sampler.set_of_sample[first : first + size]
            tasks.append(differ(block, of_row, self.sets))
            first += size
        return np.concatenate(_compute(tasks))

    def gather(self) -> Array:
        """Return the (n, q) matrix."""
        return on_worker.labels_of(self.sampler.set_of_sample, self.sampler.label_sets)


class BlockTraining:
    """Training rows in blocks, for `PairwiseConstraintProjection`; see `TrainingRows`.

    The rows keep their features: that all differences lie in a smaller space when there are
    fewer rows than features would save time, and such data have no need of blocks.
    """

    basis = None

    def __init__(self, rows: RowBlocks) -> None:
        self.rows = rows
        self.n_features = rows.shape[1]

    def in_features(self, vectors: Array) -> Array:
        """Return directions as they are."""
        return vectors

    def project(self, W: Array) -> RowBlocks:
        """Return the rows projected."""
        return self.rows @ W

    def identity(self) -> tuple[Array, Array]:
        """Return the projection that changes nothing."""
        eye = np.eye(self.n_features, dtype=self.rows.dtype)
        return eye, eye

    def restrict(self, *pairs: Array) -> Any:
        """Return the rows and pairs as they are."""
        return self, *pairs

    def scatter_difference(self, must_link: Array, cannot_link: Array) -> tuple[Array, float]:
        """Return S_C − r·S_M (Eq. 5–7) and r (Eq. 4)."""
        pairs = np.concatenate([must_link, cannot_link])
        cannot = np.arange(len(pairs)) >= len(must_link)
        [total] = _compute([_tree(on_worker.add, list(self._pieces(pairs, cannot)))])
        pulled = total[0] / (2 * max(len(must_link), 1))
        pushed = total[1] / (2 * max(len(cannot_link), 1))
        trace = np.trace(pulled)
        # Must-links of identical samples: S_M is zero, and any finite r will do.
        scaling = float(np.trace(pushed) / trace) if trace > 0 else 1.0
        return pushed - scaling * pulled, scaling

    def _pieces(self, pairs: Array, cannot: Array) -> Iterator[Any]:
        """Yield tasks that sum over some pairs, all with the first row in one block.

        No task needs more rows than about twice the largest block.
        """
        rows = self.rows
        take, scatter = _task(on_worker.take_rows), _task(on_worker.pair_scatter)
        block = np.searchsorted(rows.starts, pairs[:, 0], side="right") - 1
        order = np.argsort(block, kind="stable")
        ends = np.searchsorted(block[order], np.arange(len(rows.sizes) + 1))
        for b, own in enumerate(rows.row_blocks):
            for low in range(ends[b], ends[b + 1], int(rows.sizes.max())):
                piece = order[low : min(low + rows.sizes.max(), ends[b + 1])]
                needed, right = np.unique(pairs[piece, 1], return_inverse=True)
                cuts = np.searchsorted(needed, rows.starts)
                partners = [
                    take(other, needed[low:high] - start)
                    for other, start, low, high in zip(
                        rows.row_blocks, rows.starts, cuts, cuts[1:], strict=False
                    )
                    if high > low
                ]
                left = pairs[piece, 0] - rows.starts[b]
                yield scatter(own, partners, left, right, cannot[piece])


class BlockCounts:
    """How often each label occurs among the k nearest training rows; see `NeighborCounts`.

    Pickled, it brings its rows into memory and becomes a `NeighborCounts`.

    Parameters
    ----------
    rows : RowBlocks
        Training rows.
    labels : LabelSets
        Their labels.
    n_neighbors : int
        k. With k ≥ n every other sample is a neighbour: k becomes n − 1.
    """

    def __init__(self, rows: RowBlocks, labels: LabelSets, n_neighbors: int) -> None:
        self.rows, self.labels = rows, labels
        self.n_neighbors = min(n_neighbors, len(rows) - 1)

    def __call__(self, Q: Matrix) -> Array:
        """Count labels around each row of `Q`, which is in memory, as is the answer."""
        queries = RowBlocks.of_array(Q)
        found = _nearest(queries, self.rows, self.labels, self.n_neighbors, [self.rows.W], False)
        return np.concatenate(_compute(self._count(found)))

    def of_training(self) -> list[Any]:
        """Count labels around each training row, itself left out; one task a block."""
        rows = self.rows.projected()
        found = _nearest(None, rows, self.labels, self.n_neighbors, [None], False)
        return self._count(found)

    def _count(self, found: list[Any]) -> list[Any]:
        count = _task(on_worker.count_in_first_space)
        return [count(block, self.labels.sets) for block in found]

    def __reduce__(self) -> Any:
        from labelkin.neighbors._counts import make_counts

        return make_counts, (self.rows.gather(), self.labels.gather(), self.n_neighbors)


def validate_fit(estimator: Any, X: Any, Y: Any) -> tuple[Any, Any]:
    """Validate training data in blocks, as ``_validate_fit`` does data in memory."""
    rows = X if isinstance(X, RowBlocks) else RowBlocks.of(X)
    if Y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    for name in ("label_names_", "feature_names_in_"):
        if hasattr(estimator, name):
            delattr(estimator, name)
    if 0 in rows.shape:
        raise ValueError(f"X is empty: its shape is {rows.shape}.")
    estimator.n_features_in_ = rows.shape[1]
    if hasattr(Y, "columns"):
        estimator.label_names_ = np.asarray(Y.columns, dtype=object)
    labels = Y if hasattr(Y, "shape") else np.asarray(Y)
    estimator._one_target = len(labels.shape) == 1
    if estimator._one_target:
        labels = estimator._validate_one_target(np.asarray(labels))
    if not isinstance(labels, LabelSets):
        labels = LabelSets.of(labels)
    if not estimator._one_target:
        estimator.classes_ = np.tile([0, 1], (labels.shape[1], 1))
    check_consistent_length(rows, labels)
    return rows, labels


def fit_projection(projection: Any, X: Any, Y: Any, sample_weight: Any) -> None:
    """Fit a `PairwiseConstraintProjection` to rows in blocks."""
    from labelkin.base import label_set_matrix

    rows = RowBlocks.of(X)
    projection.n_features_in_ = rows.shape[1]
    labels = LabelSets.of(Y if Y.ndim == 2 else label_set_matrix(np.asarray(Y)))
    check_consistent_length(rows, labels)
    pairs = projection._draw_pairs(labels.sampler, sample_weight, projection.random_state)
    projection._learn(BlockTraining(rows), *pairs)


def training_data(rows: Any, labels: Any, base: Any) -> tuple[BlockTraining, ConstraintSampler]:
    """Return what the members of an ensemble learn from; the rows are kept on the workers."""
    from labelkin.neighbors._mlknn import MLkNNClassifier

    if not isinstance(base, MLkNNClassifier):
        raise ValueError(
            f"estimator={type(base).__name__} cannot be fitted to Dask arrays, only "
            "MLkNNClassifier can; bring the data into memory with X.compute()."
        )
    return BlockTraining(rows.persist()), labels.sampler


def fit_mlknn(estimator: Any, rows: Any, labels: Any) -> Any:
    """Fit ML-kNN to validated rows in blocks; return leave-one-out probabilities.

    Returns
    -------
    dask.array.Array of shape (n_samples, n_labels)
        The label counts behind it stay on the workers as long as it lives.
    """
    if estimator.neighbors != "exact":
        raise ValueError(
            f"neighbors={estimator.neighbors!r} is not offered on Dask arrays, whose blocks are "
            "searched exactly; choose neighbors='exact'."
        )
    estimator._counts = BlockCounts(rows, labels, estimator.n_neighbors)
    counts = _persist(estimator._counts.of_training())
    width = estimator._counts.n_neighbors + 1
    tally = _task(on_worker.histogram_of)
    tables = [
        tally(block, of_row, labels.sets, width)
        for block, of_row in zip(counts, labels.of_blocks(rows), strict=True)
    ]
    estimator._estimate(_compute([_tree(on_worker.add, tables)])[0], rows.dtype)
    look_up, posterior = _task(on_worker.look_up), _constant(estimator._posterior)
    blocks = [look_up(block, posterior) for block in counts]
    return _as_dask_array(blocks, rows.sizes, np.empty((0, labels.shape[1]), rows.dtype))


def predict(model: Any, X: Any, method: str) -> Any:
    """Return ``predict`` or ``predict_proba`` of a Dask array as a lazy one, block by block."""
    check_is_fitted(model)
    _check_n_features(model, X, reset=False)
    queries = RowBlocks.of(X)
    counts = _block_counts(model)
    if counts is None:
        meta = getattr(model, method)(np.zeros((1, model.n_features_in_), queries.dtype))[:0]
        ask, held = _task(on_worker.ask), _constant(model)
        blocks = [ask(held, block, method, meta) for block in queries.row_blocks]
        return _as_dask_array(blocks, queries.sizes, meta)
    light = _without_rows(model)
    posteriors = [member._posterior for member in getattr(model, "estimators_", [model])]
    meta = on_worker.answer_from(
        light, posteriors, [on_worker.nothing_found()] * len(posteriors), None, method
    )
    spaces = [part.rows.W for part in counts]
    found = _nearest(queries, counts[0].rows, counts[0].labels, counts[0].n_neighbors, spaces, True)
    answer, lights, tables = _task(on_worker.answer_from), _constant(light), _constant(posteriors)
    blocks = [answer(lights, tables, block, counts[0].labels.sets, method) for block in found]
    return _as_dask_array(blocks, queries.sizes, meta)


def _without_rows(model: Any) -> Any:
    """Return a copy that still knows how members vote, but has nothing of the training rows."""
    light = copy(model)
    for name in ("_counts", "estimators_", "projections_", "sample_weights_"):
        light.__dict__.pop(name, None)
    return light


def transform(projection: Any, X: Any) -> Any:
    """Project a Dask array, lazily, block by block."""
    _check_n_features(projection, X, reset=False)
    rows = RowBlocks.of(X) @ projection.components_.T
    meta = np.empty((0, rows.shape[1]), np.result_type(rows.dtype, projection.components_))
    return _as_dask_array(rows.projected().row_blocks, rows.sizes, meta)


def _block_counts(model: Any) -> list[BlockCounts] | None:
    """Return the counts of all members of a model fitted in blocks; None: it is in memory."""
    members = getattr(model, "estimators_", [model])
    counts: list[Any] = [getattr(member, "_counts", None) for member in members]
    return counts if isinstance(counts[0], BlockCounts) else None


def _nearest(
    queries: RowBlocks | None,
    rows: RowBlocks,
    labels: LabelSets,
    k: int,
    spaces: list[Any],
    project_queries: bool,
) -> list[Any]:
    """Find the k nearest rows of queries, or of the rows themselves, in each of some spaces.

    Parameters
    ----------
    queries : RowBlocks or None
        None: each row, left out of its own neighbours.
    rows, labels
        What is searched, and its labels.
    k : int
        Number of neighbours.
    spaces : list of ndarray or None
        Projections of the rows as they are in their blocks.
    project_queries : bool
        Whether queries are to be projected too.

    Returns
    -------
    list of Delayed
        For each block of queries, a list of `Found`, one a space.
    """
    search, merge = _task(on_worker.nearest_in_block), _task(on_worker.merge_found)
    held = _constant(spaces)
    of_blocks = labels.of_blocks(rows)
    asked = (rows if queries is None else queries).row_blocks
    found = []
    for a, query in enumerate(asked):
        parts = [
            search(
                None if queries is None and a == c else query,
                block,
                of_row,
                int(start),
                held,
                k,
                project_queries,
            )
            for c, (block, of_row, start) in enumerate(
                zip(rows.row_blocks, of_blocks, rows.starts, strict=False)
            )
        ]
        found.append(_tree(lambda group: merge(group, k), parts, apply=True))
    return found


# Dask, which is only imported when a Dask array has come in.


def _task(function: Callable) -> Any:
    import dask

    return dask.delayed(function, pure=False, traverse=False)


def _constant(value: Any) -> Any:
    """Return something small as one object of the graph, known to the scheduler."""
    return _task(_Held(value))()


class _Held:
    """Says what it holds."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


def _tree(combine: Callable, parts: list[Any], apply: bool = False) -> Any:
    """Combine lists of parts, a few at a time; `apply`: `combine` makes the task itself."""
    task = combine if apply else _task(combine)
    first = True
    while first or len(parts) > 1:
        parts = [task(parts[i : i + _ARITY]) for i in range(0, len(parts), _ARITY)]
        first = False
    return parts[0]


@contextmanager
def _large_graphs() -> Iterator[None]:
    """Pairs and label sets belong in the graph, from which lost work is computed again."""
    import dask

    # Its settings are merged into Dask's when it is imported, and not under ours.
    with suppress(ImportError):
        import_module("distributed")
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        yield


def _compute(tasks: Sequence[Any]) -> list[Any]:
    import dask

    with _large_graphs():
        return list(dask.compute(*tasks))


def _persist(tasks: Sequence[Any]) -> list[Any]:
    import dask

    with _large_graphs():
        return list(dask.persist(*tasks))


def _as_dask_array(blocks: list[Any], sizes: Array, meta: Array) -> Any:
    """Return blocks of rows, empty ones too, as one Dask array."""
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    name = f"labelkin-{uuid4().hex}"
    further = (0,) * (meta.ndim - 1)
    layer: dict[Any, Any] = {
        (name, i, *further): (on_worker.same, block.key) for i, block in enumerate(blocks)
    }
    graph = HighLevelGraph.from_collections(name, layer, dependencies=blocks)
    chunks = (tuple(map(int, sizes)), *((width,) for width in meta.shape[1:]))
    return da.Array(graph, name, chunks, meta=meta)
