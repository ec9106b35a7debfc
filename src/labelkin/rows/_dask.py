"""Rows in blocks on Dask workers. Dask is imported when the first task is made."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from functools import partial
from importlib import import_module
from itertools import pairwise
from operator import getitem, matmul
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, gen_batches
from sklearn.utils.validation import _check_n_features, check_is_fitted

from labelkin.rows._arrays import HOST, concatenate
from labelkin.rows._rows import Blocks, Rows, add

# Rows of one task when the queries are in memory.
_QUERY_ROWS = 2**14
# Results of blocks are combined through results of this many.
_ARITY = 8


class DaskBlocks(Blocks):
    """One object per block of rows, on Dask workers: each is a lazy Dask object."""

    lazy = True

    def combine(self, function: Callable, merge: Callable, parts: Any, shared: Any) -> Any:
        """Return the results of a function of a block, merged a few at a time, as a lazy object.

        ``merge`` takes a list of results.
        """
        results, call = self._call(function, parts, shared), _task(merge)
        while True:
            results = [call(results[i : i + _ARITY]) for i in range(0, len(results), _ARITY)]
            if len(results) == 1:
                return results[0]

    def to_dask(
        self, function: Callable, sizes: Any, meta: Any, parts: Any = (), shared: Any = ()
    ) -> Any:
        """Return the results as one lazy Dask array, of `sizes` rows each and such as `meta`."""
        return _as_dask_array(self._call(function, parts, shared), sizes, meta)

    def collect(self, function: Callable, parts: Any = (), shared: Any = ()) -> list[Any]:
        return compute(self._call(function, parts, shared))

    def map(self, function: Callable, parts: Any = (), shared: Any = ()) -> "DaskBlocks":
        return DaskBlocks(_persist(self._call(function, parts, shared)))

    def total(self, function: Callable, parts: Any = (), shared: Any = ()) -> Any:
        return compute([self.combine(function, add, parts, shared)])[0]

    def _call(self, function: Callable, parts: Any, shared: Any) -> list[Any]:
        call, common = _task(function), [constant(value) for value in shared]
        return [call(*own, *common) for own in zip(self._inputs(), *parts, strict=True)]

    def _inputs(self) -> list[Any]:
        return self.blocks


class DaskRows(DaskBlocks, Rows):
    """Rows in blocks, projected by W or as they are.

    A block is an ndarray or a CSR matrix of floats. The projection, (n_features, d), is applied
    inside the tasks that need it, so that any number of projections of the same blocks take no
    memory. `blocks` are lazy Dask objects, of `sizes` rows and `n_features` columns each.
    """

    place = HOST

    def __init__(
        self, blocks: Sequence[Any], sizes: Any, n_features: int, dtype: Any, W: Any = None
    ) -> None:
        super().__init__(blocks)
        self.sizes = np.asarray(sizes, dtype=np.intp)
        self.n_features = n_features
        self.dtype = dtype
        self.W = W
        self.shape = int(self.sizes.sum()), n_features if W is None else W.shape[1]

    @classmethod
    def from_dask(cls, X: Any) -> "DaskRows":
        """Return the blocks of a Dask array of rows, validated when they are computed."""
        if not hasattr(X, "chunks") or X.ndim != 2:
            raise ValueError(
                "X must be a two-dimensional Dask array, one row per sample; of a Dask DataFrame "
                "give X.to_dask_array(lengths=True)."
            )
        if np.isnan(X.chunks[0]).any() or np.isnan(X.chunks[1]).any():
            X = copy(X).compute_chunk_sizes()
        X = X.rechunk({1: -1})
        dtype = X.dtype if X.dtype in (np.float64, np.float32) else np.dtype(np.float64)
        validate = _task(_validate_block)
        blocks = [validate(block, dtype) for block in X.to_delayed().ravel()]
        return cls(blocks, X.chunks[0], X.shape[1], dtype)

    @classmethod
    def of_queries(cls, model: Any, X: Any) -> "DaskRows":
        """Validate a Dask array of samples for a fitted model."""
        check_is_fitted(model)
        _check_n_features(model, X, reset=False)
        return cls.from_dask(X)

    @classmethod
    def from_memory(cls, X: Any) -> "DaskRows":
        """Cut rows in memory into blocks."""
        parts = [X[batch] for batch in gen_batches(X.shape[0], _QUERY_ROWS)]
        sizes = [part.shape[0] for part in parts]
        return cls([constant(part) for part in parts], sizes, X.shape[1], X.dtype)

    def __matmul__(self, W: Any) -> "DaskRows":
        W = W if self.W is None else self.W @ W
        return DaskRows(self.blocks, self.sizes, self.n_features, self.dtype, W)

    def persist(self) -> "DaskRows":
        return DaskRows(_persist(self.blocks), self.sizes, self.n_features, self.dtype, self.W)

    def projected(self) -> "DaskRows":
        """Return the projected rows as blocks, each computed once."""
        return DaskRows(self._inputs(), self.sizes, self.shape[1], self.dtype)

    def _inputs(self) -> list[Any]:
        if self.W is None:
            return self.blocks
        return DaskBlocks(self.blocks)._call(matmul, (), [self.W])

    def array(self, values: Any) -> Any:
        return np.asarray(values, dtype=self.dtype)

    def split(self, values: Any) -> list[Any]:
        if values is None:
            return [None] * len(self.blocks)
        return _persist([constant(values[a:b]) for a, b in pairwise(self.starts)])

    def apply(
        self, function: Callable, shared: Any = (), n_columns: Any = None, dtype: Any = np.float64
    ) -> "DaskRows":
        n_columns = self.shape[1] if n_columns is None else n_columns
        return DaskRows(self._call(function, (), shared), self.sizes, n_columns, dtype)

    def batches(self, width: int) -> "DaskRows":
        return self

    def filled(self) -> "DaskRows":
        """Return the rows without empty blocks."""
        blocks = [block for block, size in zip(self.blocks, self.sizes, strict=True) if size]
        return DaskRows(blocks, self.sizes[self.sizes > 0], self.n_features, self.dtype, self.W)

    def take(self, indices: Any) -> "DaskRows":
        """Return some rows, given by their sorted numbers; they stay where they are."""
        cuts: Any = np.searchsorted(indices, self.starts)
        spans = zip(self.starts, pairwise(cuts), strict=False)
        numbers = [indices[a:b] - start for start, (a, b) in spans]
        blocks = self._call(getitem, [numbers], ())
        return DaskRows(blocks, np.diff(cuts), self.shape[1], self.dtype).filled()

    def gather(self) -> Any:
        return concatenate(compute(self._inputs()))

    def stacked(self) -> Any:
        """Return all rows as one lazy object."""
        return _task(concatenate)(self._inputs())

    def predict(self, model: Any, method: str) -> Any:
        """Return what a method of a model in memory gives for the rows, as a lazy Dask array."""
        meta = getattr(model, method)(np.zeros((1, model.n_features_in_), self.dtype))[:0]
        return self.to_dask(_predict_block, self.sizes, meta, (), [model, method, meta])

    def as_dask(self, dtype: Any) -> Any:
        """Return the rows as a lazy Dask array."""
        return _as_dask_array(self._inputs(), self.sizes, np.empty((0, self.shape[1]), dtype))


def with_known_length(y: Any) -> Any:
    """Return a target as an array; one of Dask with chunks of known sizes."""
    if not hasattr(y, "__dask_graph__"):
        return y if hasattr(y, "shape") else np.asarray(y)
    if hasattr(y, "to_dask_array"):
        return y.to_dask_array(lengths=True)
    return y.copy().compute_chunk_sizes() if np.isnan(y.shape[0]) else y


# Tasks: made, combined, computed.


def _task(function: Callable) -> Any:
    """Return a function whose calls are lazy: each is one task."""
    import dask

    return dask.delayed(function, pure=False, traverse=False)


def constant(value: Any) -> Any:
    """Return something small as one object of the graph, shared by many tasks; a task as it is."""
    return value if hasattr(value, "__dask_graph__") else _task(partial(_unchanged, value))()


def _unchanged(value: Any) -> Any:
    return value


def compute(tasks: Sequence[Any]) -> list[Any]:
    """Return the results of tasks."""
    import dask

    with _large_graphs():
        return list(dask.compute(*tasks))


def _persist(tasks: Sequence[Any]) -> list[Any]:
    """Return tasks whose results are kept in the workers' memory."""
    import dask

    with _large_graphs():
        return list(dask.persist(*tasks))


@contextmanager
def _large_graphs() -> Iterator[None]:
    """Allow pairs and label sets in the graph, from which lost work is computed again."""
    import dask

    # Its settings are merged into Dask's when it is imported, which would undo ours.
    with suppress(ImportError):
        import_module("distributed")
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        yield


def _as_dask_array(blocks: list[Any], sizes: Any, meta: Any) -> Any:
    """Return blocks of rows as one Dask array, without the empty ones."""
    import dask.array as da

    shapes = [(int(size), *meta.shape[1:]) for size in sizes]
    parts = zip(blocks, shapes, strict=True)
    return da.concatenate([da.from_delayed(block, shape, meta=meta) for block, shape in parts])


# Functions of a block.


def _validate_block(block: Any, dtype: Any) -> Any:
    """Return a block as finite floats, dense or CSR."""
    block = sparse.csr_array(block) if sparse.issparse(block) else np.asarray(block)
    block = block.astype(dtype, copy=False)
    assert_all_finite(block.data if sparse.issparse(block) else block, input_name="X")
    return block


def _predict_block(block: Any, model: Any, method: str, meta: Any) -> Any:
    return getattr(model, method)(block) if block.shape[0] else meta
