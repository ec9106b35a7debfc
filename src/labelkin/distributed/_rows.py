"""Samples in blocks of rows on Dask workers."""

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, gen_batches

from labelkin.distributed._tasks import compute, constant, persist, task

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


def _validate_block(block: Any, dtype: Any) -> Any:
    """Return a block as finite floats, dense or CSR."""
    block = sparse.csr_array(block) if sparse.issparse(block) else np.asarray(block)
    block = block.astype(dtype, copy=False)
    assert_all_finite(block.data if sparse.issparse(block) else block, input_name="X")
    return block
