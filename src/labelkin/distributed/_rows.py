"""Samples in blocks of rows on Dask workers."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, gen_batches

from labelkin.distributed._tasks import compute, constant, persist, sum_in_tree, task

# Rows of one task when the queries are in memory.
_QUERY_ROWS = 2**14


class RowBlocks:
    """Rows in blocks, each a lazy Dask object, projected by W or as they are.

    A block is an ndarray or a CSR matrix of floats. The projection, (n_features, d), is applied
    inside the tasks that need it, so that any number of projections of the same blocks take no
    memory.
    """

    def __init__(
        self, blocks: Sequence[Any], sizes: Any, n_features: int, dtype: Any, W: Any = None
    ) -> None:
        self.row_blocks = list(blocks)
        self.sizes = sizes
        self.dtype = dtype
        self.W = W
        self.n_features = n_features
        self.starts = np.concatenate([[0], np.cumsum(sizes)])

    @classmethod
    def from_dask(cls, X: Any) -> "RowBlocks":
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
        return cls(blocks, np.array(X.chunks[0], dtype=np.intp), X.shape[1], dtype)

    @classmethod
    def from_memory(cls, X: Any) -> "RowBlocks":
        """Cut rows in memory into blocks."""
        parts = [X[batch] for batch in gen_batches(X.shape[0], _QUERY_ROWS)]
        sizes = np.array([part.shape[0] for part in parts], dtype=np.intp)
        return cls([constant(part) for part in parts], sizes, X.shape[1], X.dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.starts[-1]), self.n_features if self.W is None else self.W.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __matmul__(self, W: Any) -> "RowBlocks":
        W = W if self.W is None else self.W @ W
        return RowBlocks(self.row_blocks, self.sizes, self.n_features, self.dtype, W)

    def persist(self) -> "RowBlocks":
        """Return the same rows, kept in the workers' memory."""
        blocks = persist(self.row_blocks)
        return RowBlocks(blocks, self.sizes, self.n_features, self.dtype, self.W)

    def projected(self) -> "RowBlocks":
        """Return the projected rows as blocks, each computed once."""
        if self.W is None:
            return self
        project, W = task(project_rows), constant(self.W)
        blocks = [project(block, W) for block in self.row_blocks]
        return RowBlocks(blocks, self.sizes, self.W.shape[1], self.dtype)

    def split(self, values: Any) -> list[Any]:
        """Place an array with one entry or row per sample beside the blocks; None: nothing."""
        if values is None:
            return [None] * len(self.row_blocks)
        return persist([constant(part) for part in np.split(values, self.starts[1:-1])])

    def map(
        self, function: Callable, parts: Sequence[list] = (), shared: Sequence[Any] = ()
    ) -> list[Any]:
        """Return a task per block: of its rows, its parts, and what all blocks share."""
        call, common = task(function), [constant(value) for value in shared]
        arguments = zip(self.projected().row_blocks, *parts, strict=True)
        return [call(*own, *common) for own in arguments]

    def collect(
        self, function: Callable, parts: Sequence[list] = (), shared: Sequence[Any] = ()
    ) -> list[Any]:
        """Return the results of `map` in memory."""
        return compute(self.map(function, parts, shared))

    def total(
        self, function: Callable, parts: Sequence[list] = (), shared: Sequence[Any] = ()
    ) -> Any:
        """Return the sum of the results of `map` over the blocks, in memory."""
        return compute([sum_in_tree(self.map(function, parts, shared))])[0]

    def apply(
        self,
        function: Callable,
        shared: Sequence[Any] = (),
        n_columns: int | None = None,
        dtype: Any = np.float64,
    ) -> "RowBlocks":
        """Return the rows that a function makes of the rows of a block.

        They have as many columns, unless their number is given.
        """
        n_columns = self.shape[1] if n_columns is None else n_columns
        return RowBlocks(self.map(function, (), shared), self.sizes, n_columns, dtype)

    def replace(
        self, function: Callable, shared: Sequence[Any] = (), n_columns: int | None = None
    ) -> "RowBlocks":
        """Do the same, and keep the result in the workers' memory."""
        return self.apply(function, shared, n_columns).persist()

    def filled(self) -> "RowBlocks":
        """Return the rows without empty blocks."""
        pairs = zip(self.row_blocks, self.sizes, strict=True)
        blocks = [block for block, size in pairs if size]
        sizes = self.sizes[self.sizes > 0]
        return RowBlocks(blocks, sizes, self.n_features, self.dtype, self.W)

    def subset(self, rows: Any) -> "RowBlocks":
        """Return some rows, given by their sorted numbers; they stay where they are."""
        places = np.searchsorted(rows, self.starts)
        numbers = [
            rows[first:last] - start
            for first, last, start in zip(places, places[1:], self.starts, strict=False)
        ]
        blocks = self.map(_take_rows, [numbers])
        return RowBlocks(blocks, np.diff(places), self.shape[1], self.dtype).filled()

    def take(self, rows: Any) -> Any:
        """Return some rows, given by their sorted numbers, in memory."""
        return self.subset(rows).gather()

    def gather(self) -> Any:
        """Return all rows in memory."""
        return stack_rows(compute(self.projected().row_blocks))


def project_rows(block: Any, W: Any) -> Any:
    """Project rows by W; None: return them as they are."""
    return block if W is None else block @ W


def stack_rows(parts: list[Any]) -> Any:
    """Put blocks of rows, dense or CSR, on top of each other."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def _take_rows(block: Any, numbers: Any) -> Any:
    return block[numbers]


def _validate_block(block: Any, dtype: Any) -> Any:
    """Return a block as finite floats, dense or CSR."""
    block = sparse.csr_array(block) if sparse.issparse(block) else np.asarray(block)
    block = block.astype(dtype, copy=False)
    assert_all_finite(block.data if sparse.issparse(block) else block, input_name="X")
    return block
