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
    Blocks,
    RowBlocks,
    compute,
    constant,
    persist,
    project_rows,
    sum_in_tree,
    task,
)
from labelkin.linear._fit import MemoryData, Weights
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
        labels = label_matrix(Y, keep_sparse=True)
        self._Y = labels.tocsc() if sparse.issparse(labels) else labels

    def labels(self, columns: Array) -> Array:
        """Return labels as a dense ndarray."""
        Y = self._Y[:, columns]
        return Y.toarray() if sparse.issparse(Y) else Y

    def positives(self, weight: Array) -> Array:
        """Return the weight of the samples that have each label, (q,)."""
        return weight @ self._Y

    def take(self, rows: Array) -> "BlockData":
        """Return some samples, given by their sorted numbers."""
        return BlockData(self._rows.subset(rows), self._Y[rows])

    def rows(self, weight: Array) -> "BlockRows":
        """Return the rows of positive weight, for `minimise`."""
        return BlockRows(self._rows, self._rows.map(MemoryRows, [self._rows.split(weight)]))

    def scores(self, weights: Weights, rows: Array) -> Array:
        """Return the log odds of some rows, sorted by their numbers, (m, q)."""
        wanted = np.zeros(self.shape[0], dtype=bool)
        wanted[rows] = True
        masks = self._rows.split(wanted)
        found = self._rows.collect(_scores, [masks], [weights.coef, weights.intercept])
        return np.concatenate(found)

    def array(self, values: Array) -> Array:
        """Return an array in the type of the rows."""
        return np.asarray(values, dtype=self._rows.dtype)

    def keys(self, direction: Array) -> Array:
        """Return the products of the rows with a direction."""
        keys = self._rows.collect(project_rows, shared=[self.array(direction)])
        return np.concatenate(keys).astype(np.float64)

    def moments(self, weight: Array) -> Moments:
        """Return the weighted means of the columns and of their squares."""
        share = self._rows.split(self.array(weight / (weight.sum() or 1.0)))
        mean, square, _ = self._rows.total(Moments.of_rows, [share])
        return Moments(mean, square, float(weight.sum()))

    def batches(self, columns: Array) -> list[Array]:
        """Split labels into batches."""
        size = max(1, _BATCH_WEIGHTS // self.shape[1])
        return [columns[i : i + size] for i in range(0, len(columns), size)]


class BlockRows:
    """Rows with weights in blocks: what `MemoryRows` is in memory."""

    def __init__(self, rows: RowBlocks, blocks: list[Any]) -> None:
        self._rows, self._blocks = rows, persist(blocks)

    def with_labels(self, Y: Array) -> "LabelledBlocks":
        """Return the rows with the labels of a batch."""
        label = task(MemoryRows.with_labels)
        pairs = zip(self._blocks, self._rows.split(Y), strict=True)
        return LabelledBlocks(persist([label(block, part) for block, part in pairs]))


class LabelledBlocks:
    """Rows in blocks with the labels of a batch, at a point: what `LabelledRows` is in memory."""

    def __init__(self, blocks: list[Any], states: list[Any] | None = None) -> None:
        self._blocks, self._states = blocks, states or []
        self._sums: Sums | None = None

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
        return self._sums or Sums(*self._total(LabelledRows.sums))

    def plane(self, direction: Array, offset: Array) -> Plane:
        """Return the sums with two changes of the log odds."""
        return Plane(*self._total(LabelledRows.plane, direction, offset))

    def slope(self) -> Array:
        """Return Σ e · (change by the last step).

        The sums come with it: they are needed next, unless the step is shortened, which is rare.
        """
        slope, *sums = self._total(_slope_and_sums)
        self._sums = Sums(*sums)
        return slope

    def _total(self, function: Callable, *shared: Any) -> Any:
        call, common = task(function), [constant(value) for value in shared]
        parts = [call(state, *common) for state in self._states]
        return compute([sum_in_tree(parts)])[0]


def _slope_and_sums(state: LabelledRows) -> tuple[Array, ...]:
    return state.slope(), *state.sums()


def _scores(block: Matrix, wanted: Array, coef: Array, intercept: Array) -> Array:
    return block[np.flatnonzero(wanted)] @ coef + intercept


def label_data(rows: Blocks, Y: Matrix) -> MemoryData | BlockData:
    """Return samples, on workers or one block in memory, with their labels."""
    return BlockData(rows, Y) if isinstance(rows, RowBlocks) else MemoryData(rows.blocks[0], Y)
