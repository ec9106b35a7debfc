"""Rows in blocks on Dask workers."""

from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, gen_batches
from sklearn.utils.validation import _check_n_features, check_is_fitted

from labelkin.rows._place import HOST
from labelkin.rows._rows import Blocks, Rows
from labelkin.rows._tasks import as_dask_array, compute, constant, persist, sum_in_tree, task

# Rows of one task when the queries are in memory.
_QUERY_ROWS = 2**14


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array or DataFrame, or its rows in blocks on workers."""
    return hasattr(X, "__dask_graph__") or isinstance(X, DaskRows)


class DaskBlocks(Blocks):
    """One object per block of rows, on Dask workers: each is a lazy Dask object."""

    lazy = True

    def collect(
        self, function: Callable, parts: Sequence[Sequence] = (), shared: Sequence[Any] = ()
    ) -> list[Any]:
        """Return the results for each block, in memory."""
        return compute(self._tasks(function, parts, shared))

    def map(
        self, function: Callable, parts: Sequence[Sequence] = (), shared: Sequence[Any] = ()
    ) -> "DaskBlocks":
        """Do the same; the results are kept in the workers' memory."""
        return DaskBlocks(persist(self._tasks(function, parts, shared)))

    def total(
        self, function: Callable, parts: Sequence[Sequence] = (), shared: Sequence[Any] = ()
    ) -> Any:
        """Return the sum of the results over the blocks, in memory."""
        return compute([sum_in_tree(self._tasks(function, parts, shared))])[0]

    def _tasks(
        self, function: Callable, parts: Sequence[Sequence] = (), shared: Sequence[Any] = ()
    ) -> list[Any]:
        call, common = task(function), [constant(value) for value in shared]
        return [call(*own, *common) for own in zip(self._inputs(), *parts, strict=True)]

    def _inputs(self) -> list[Any]:
        return self.blocks


class DaskRows(DaskBlocks, Rows):
    """Rows in blocks, projected by W or as they are.

    A block is an ndarray or a CSR matrix of floats. The projection, (n_features, d), is applied
    inside the tasks that need it, so that any number of projections of the same blocks take no
    memory.

    Parameters
    ----------
    blocks : sequence of lazy Dask objects
        The rows, in their order.
    sizes : array of int
        Rows of each block.
    n_features : int
        Columns of a block.
    dtype : dtype
        Of the blocks.
    W : ndarray, optional
        The projection.
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
        validate = task(_validate_block)
        blocks = [validate(block, dtype) for block in X.to_delayed().ravel()]
        return cls(blocks, X.chunks[0], X.shape[1], dtype)

    @classmethod
    def from_memory(cls, X: Any) -> "DaskRows":
        """Cut rows in memory into blocks."""
        parts = [X[batch] for batch in gen_batches(X.shape[0], _QUERY_ROWS)]
        sizes = [part.shape[0] for part in parts]
        return cls([constant(part) for part in parts], sizes, X.shape[1], X.dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.sizes.sum()), self.n_features if self.W is None else self.W.shape[1]

    def __matmul__(self, W: Any) -> "DaskRows":
        W = W if self.W is None else self.W @ W
        return DaskRows(self.blocks, self.sizes, self.n_features, self.dtype, W)

    def persist(self) -> "DaskRows":
        """Return the same rows, kept in the workers' memory."""
        return DaskRows(persist(self.blocks), self.sizes, self.n_features, self.dtype, self.W)

    def projected(self) -> "DaskRows":
        """Return the projected rows as blocks, each computed once."""
        if self.W is None:
            return self
        project, W = task(project_rows), constant(self.W)
        blocks = [project(block, W) for block in self.blocks]
        return DaskRows(blocks, self.sizes, self.W.shape[1], self.dtype)

    def _inputs(self) -> list[Any]:
        return self.projected().blocks

    def array(self, values: Any) -> Any:
        """Return an array in the dtype of the rows, on the host."""
        return np.asarray(values, dtype=self.dtype)

    def split(self, values: Any) -> list[Any]:
        """Place an array with one entry or row per sample beside the blocks; None: nothing."""
        if values is None:
            return [None] * len(self.blocks)
        starts = self.starts
        parts = [values[a:b] for a, b in pairwise(starts)]
        return persist([constant(part) for part in parts])

    def apply(
        self,
        function: Callable,
        shared: Sequence[Any] = (),
        n_columns: int | None = None,
        dtype: Any = np.float64,
    ) -> "DaskRows":
        """Return the rows that a function makes of each block, lazily."""
        n_columns = self.shape[1] if n_columns is None else n_columns
        return DaskRows(self._tasks(function, (), shared), self.sizes, n_columns, dtype)

    def batches(self, width: int) -> "DaskRows":
        """Return the rows in the blocks that they have."""
        return self

    def filled(self) -> "DaskRows":
        """Return the rows without empty blocks."""
        blocks = [block for block, size in zip(self.blocks, self.sizes, strict=True) if size]
        return DaskRows(blocks, self.sizes[self.sizes > 0], self.n_features, self.dtype, self.W)

    def take(self, indices: Any) -> "DaskRows":
        """Return some rows, given by their sorted numbers; they stay where they are."""
        places: Any = np.searchsorted(indices, self.starts)
        numbers = [
            indices[first:last] - start
            for first, last, start in zip(places, places[1:], self.starts, strict=False)
        ]
        blocks = self._tasks(_take_rows, [numbers])
        return DaskRows(blocks, np.diff(places), self.shape[1], self.dtype).filled()

    def gather(self) -> Any:
        """Return all rows in memory."""
        return stack_rows(compute(self._inputs()))

    @classmethod
    def of_queries(cls, model: Any, X: Any) -> "DaskRows":
        """Validate a Dask array of samples for a fitted model."""
        check_is_fitted(model)
        _check_n_features(model, X, reset=False)
        return cls.from_dask(X)

    def predict(self, model: Any, method: str) -> Any:
        """Return what a method of a model in memory gives for the rows, as a lazy Dask array."""
        meta = getattr(model, method)(np.zeros((1, model.n_features_in_), self.dtype))[:0]
        blocks = self._tasks(_predict_block, (), [model, method, meta])
        return as_dask_array(blocks, self.sizes, meta)

    def as_dask(self, dtype: Any) -> Any:
        """Return the rows as a lazy Dask array."""
        meta = np.empty((0, self.shape[1]), dtype)
        return as_dask_array(self._inputs(), self.sizes, meta)


def with_known_length(y: Any) -> Any:
    """Return a target as an array; one of Dask with chunks of known sizes."""
    if not hasattr(y, "__dask_graph__"):
        return y if hasattr(y, "shape") else np.asarray(y)
    if hasattr(y, "to_dask_array"):
        return y.to_dask_array(lengths=True)
    return y.copy().compute_chunk_sizes() if np.isnan(y.shape[0]) else y


def project_rows(block: Any, W: Any) -> Any:
    """Project rows by W; None: return them as they are."""
    return block if W is None else block @ W


def stack_rows(parts: list[Any]) -> Any:
    """Put blocks of rows, dense or CSR, on top of each other."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


# Functions of a block.


def _take_rows(block: Any, numbers: Any) -> Any:
    return block[numbers]


def _validate_block(block: Any, dtype: Any) -> Any:
    """Return a block as finite floats, dense or CSR."""
    block = sparse.csr_array(block) if sparse.issparse(block) else np.asarray(block)
    block = block.astype(dtype, copy=False)
    assert_all_finite(block.data if sparse.issparse(block) else block, input_name="X")
    return block


def _predict_block(block: Any, model: Any, method: str, meta: Any) -> Any:
    return getattr(model, method)(block) if block.shape[0] else meta
