"""Rows in memory with the interface of rows on workers, so that algorithms are written once."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from labelkin.distributed._rows import RowBlocks
from labelkin.distributed._tasks import add


class MemoryBlocks:
    """Rows in memory, in blocks, with the methods of `RowBlocks`.

    Everything is computed immediately; `n_columns` and `dtype` have no effect.

    Parameters
    ----------
    blocks : list of arrays or CSR matrices
        The rows, in their order.
    """

    def __init__(self, blocks: Sequence[Any]) -> None:
        self.blocks = list(blocks)
        self.starts = np.concatenate([[0], np.cumsum([block.shape[0] for block in blocks])])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.starts[-1]), self.blocks[0].shape[1]

    def split(self, values: Any) -> list[Any]:
        """Split an array with one entry or row per sample into blocks; None: a None per block."""
        if values is None:
            return [None] * len(self.blocks)
        if len(values) != self.starts[-1]:
            raise ValueError(
                f"There are {self.starts[-1]} rows, but {len(values)} values for them."
            )
        return [values[a:b] for a, b in zip(self.starts, self.starts[1:], strict=False)]

    def collect(
        self, function: Callable, parts: Sequence[list] = (), shared: Sequence[Any] = ()
    ) -> list[Any]:
        """Return the results for each block: of its rows, its parts, and what all share."""
        arguments = zip(self.blocks, *parts, strict=True)
        return [function(*own, *shared) for own in arguments]

    def total(
        self, function: Callable, parts: Sequence[list] = (), shared: Sequence[Any] = ()
    ) -> Any:
        """Return the sum of the results over the blocks."""
        arguments = zip(self.blocks, *parts, strict=True)
        return reduce(lambda a, b: add([a, b]), (function(*own, *shared) for own in arguments))

    def apply(
        self,
        function: Callable,
        shared: Sequence[Any] = (),
        n_columns: int | None = None,
        dtype: Any = None,
    ) -> "MemoryBlocks":
        """Return the rows that a function makes of the rows of a block."""
        return MemoryBlocks(self.collect(function, shared=shared))

    def replace(
        self, function: Callable, shared: Sequence[Any] = (), n_columns: int | None = None
    ) -> "MemoryBlocks":
        """Do the same in place, one block at a time, so that only one more is in memory."""
        for i, block in enumerate(self.blocks):
            self.blocks[i] = function(block, *shared)
        return self


Blocks = MemoryBlocks | RowBlocks


def as_blocks(X: Any) -> Blocks:
    """Return rows in memory as one block; rows on workers as they are."""
    return X if isinstance(X, RowBlocks) else MemoryBlocks([X])
