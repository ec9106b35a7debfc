"""The sums of `labelkin.linear._rows` over rows in blocks on Dask workers.

A block's rows, labels and log odds stay on the workers; weights travel there, and sums come back.
A state depends on the block and on the weights alone, so that what is lost with a worker is
computed again from these.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from labelkin.base import Array, Matrix, label_matrix
from labelkin.distributed import (
    RowBlocks,
    combine_in_tree,
    compute,
    constant,
    persist,
    project_rows,
    task,
)
from labelkin.linear._fit import Weights
from labelkin.linear._rows import LabelledRows, MemoryRows, Moments, Plane, Sums

# Weights of a batch of labels: few round trips, within the memory of one machine.
_BATCH_WEIGHTS = 2**26


class BlockData:
    """What `MemoryData` is, for rows in blocks and labels on the host.

    Parameters
    ----------
    rows : RowBlocks
        Samples, kept in the workers' memory.
    Y : Dask array, ndarray or sparse matrix of shape (n, q)
        Labels; a Dask array is brought to the host.
    """

    in_threads = False

    def __init__(self, rows: RowBlocks, Y: Any) -> None:
        self._rows, self.shape = rows.persist(), rows.shape
        labels = compute([Y])[0] if hasattr(Y, "__dask_graph__") else Y
        labels = label_matrix(labels, keep_sparse=True)
        self._Y = labels.tocsc() if sparse.issparse(labels) else labels

    def labels(self, columns: Array) -> Array:
        """Return labels as a dense ndarray."""
        Y = self._Y[:, columns]
        return Y.toarray() if sparse.issparse(Y) else Y

    def positives(self, weight: Array) -> Array:
        """Return the weight of the samples that have each label, (q,)."""
        return weight @ self._Y

    def split(self, values: Array) -> list[Array]:
        """Split an array with one entry or row per sample into blocks."""
        return np.split(values, self._rows.starts[1:-1])

    def rows(self, weight: Array) -> "BlockRows":
        """Return the rows of positive weight, for `minimise`."""
        return BlockRows(self, self._map(MemoryRows, self.split(weight)))

    def scores(self, weights: Weights, rows: Array) -> Array:
        """Return the log odds of some rows, sorted by their numbers, (m, q)."""
        wanted = np.zeros(self.shape[0], dtype=bool)
        wanted[rows] = True
        masks = self.split(wanted)
        return np.concatenate(compute(self._map(_scores, masks, weights.coef, weights.intercept)))

    def array(self, values: Array) -> Array:
        """Return an array in the type of the rows."""
        return np.asarray(values, dtype=self._rows.dtype)

    def keys(self, direction: Array) -> Array:
        """Return the products of the rows with a direction."""
        keys = compute(self._map(project_rows, None, self.array(direction)))
        return np.concatenate(keys).astype(np.float64)

    def moments(self, weight: Array) -> Moments:
        """Return the weighted means of the columns and of their squares."""
        parts = self._map(Moments.of_rows, self.split(self.array(weight / (weight.sum() or 1.0))))
        mean, square, _ = compute([combine_in_tree(task(_add), parts)])[0]
        return Moments(mean, square, float(weight.sum()))

    def batches(self, columns: Array) -> list[Array]:
        """Split labels into batches."""
        size = max(1, _BATCH_WEIGHTS // self.shape[1])
        return [columns[i : i + size] for i in range(0, len(columns), size)]

    def _map(self, function: Callable, parts: list[Any] | None, *shared: Any) -> list[Any]:
        """Return a task per block: of its rows, its part, and what all blocks share."""
        call, common = task(function), [constant(value) for value in shared]
        if parts is None:
            return [call(block, *common) for block in self._rows.row_blocks]
        pairs = zip(self._rows.row_blocks, parts, strict=True)
        return [call(block, part, *common) for block, part in pairs]


class BlockRows:
    """Rows with weights in blocks: what `MemoryRows` is in memory."""

    def __init__(self, data: BlockData, blocks: list[Any]) -> None:
        self._data, self._blocks = data, persist(blocks)

    def with_labels(self, Y: Array) -> "LabelledBlocks":
        """Return the rows with the labels of a batch."""
        label = task(MemoryRows.with_labels)
        pairs = zip(self._blocks, self._data.split(Y), strict=True)
        return LabelledBlocks(persist([label(block, part) for block, part in pairs]))


class LabelledBlocks:
    """Rows in blocks with the labels of a batch, at a point: what `LabelledRows` is in memory."""

    def __init__(self, blocks: list[Any], states: list[Any] | None = None) -> None:
        self._blocks, self._states = blocks, states or []

    def take(self, columns: Array) -> "LabelledBlocks":
        """Return the same rows and point with some of the labels."""
        take, shared = task(LabelledRows.take), constant(columns)
        parts = persist([take(part, shared) for part in self._blocks + self._states])
        return LabelledBlocks(parts[: len(self._blocks)], parts[len(self._blocks) :])

    def at(
        self, coef: Array, intercept: Array, step: Array = None, shift: Array = None
    ) -> "LabelledBlocks":
        """Return the rows at log odds X · coef + intercept, after a step; None: no step."""
        # Copies: the caller's arrays change, and a lost block is computed again from these.
        weights = (coef, intercept, step, shift)
        shared = [constant(None if array is None else array.copy()) for array in weights]
        at = task(LabelledRows.at)
        return LabelledBlocks(self._blocks, persist([at(b, *shared) for b in self._blocks]))

    def line(
        self, _mix: tuple, coef: Array, intercept: Array, step: Array, shift: Array
    ) -> Callable:
        """Return the point of a share of a step, per label, computed from its weights alone.

        None: the whole step.
        """

        def point(share: Array | None) -> "LabelledBlocks":
            part, lift = (step, shift) if share is None else (share * step, share * shift)
            return self.at(coef + part, intercept + lift, part, lift)

        return point

    def sums(self) -> Sums:
        """Return the sums at the point."""
        return Sums(*self._total(LabelledRows.sums))

    def plane(self, direction: Array, offset: Array) -> Plane:
        """Return the sums with two changes of the log odds."""
        return Plane(*self._total(LabelledRows.plane, direction, offset))

    def slope(self) -> Array:
        """Return Σ e · (change by the last step)."""
        return self._total(LabelledRows.slope)

    def _total(self, function: Callable, *shared: Any) -> Any:
        call, common = task(function), [constant(value) for value in shared]
        parts = [call(state, *common) for state in self._states]
        return compute([combine_in_tree(task(_add), parts)])[0]


def _add(parts: list[Any]) -> Any:
    """Add up arrays, or tuples of arrays entry by entry."""
    if isinstance(parts[0], tuple):
        return tuple(sum(entries) for entries in zip(*parts, strict=True))
    return sum(parts)


def _scores(block: Matrix, wanted: Array, coef: Array, intercept: Array) -> Array:
    return block[np.flatnonzero(wanted)] @ coef + intercept
