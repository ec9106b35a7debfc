"""Label sets of rows in blocks on Dask workers.

The distinct label sets, and which of them each row has, are small: a few bytes per row. They
live with the caller, where pairs are drawn as from labels in memory, with the same seed.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from labelkin.base import Array
from labelkin.constraints._label_sets import LabelSets, distinct_rows, label_rows
from labelkin.rows import DaskRows, compute, constant, task


class BlockLabelSets(LabelSets):
    """The label sets of rows in blocks."""

    @classmethod
    def from_target(cls, Y: Any) -> "BlockLabelSets":
        """Return the label sets of an (n, q) matrix in memory or a Dask array."""
        if isinstance(Y, BlockLabelSets):
            return Y
        if not hasattr(Y, "__dask_graph__"):
            return cls(*distinct_rows(label_rows(Y)))
        of_block = task(_distinct_in_block)
        blocks = compute([of_block(block) for block in Y.rechunk({1: -1}).to_delayed().ravel()])
        distinct, of_set = distinct_rows(sparse.vstack([sets for sets, _ in blocks], format="csr"))
        first = np.cumsum([0] + [sets.shape[0] for sets, _ in blocks])
        of_row = [which + start for (_, which), start in zip(blocks, first, strict=False)]
        return cls(distinct, of_set[np.concatenate(of_row)])

    @cached_property
    def shared(self) -> Any:
        """The distinct sets as one object of the graph."""
        return constant(self.distinct)

    def split(self, rows: DaskRows) -> list[Array]:
        """Return the set of each row, block by block."""
        return np.split(self.set_of_sample, rows.starts[1:-1])

    def misclassified(self, labels: Any) -> Array:
        """Return which rows of a Dask array of predicted labels differ from their label set."""
        differs, first, tasks = task(_differs), 0, []
        for block, size in zip(labels.to_delayed().ravel(), labels.chunks[0], strict=True):
            tasks.append(differs(block, self.set_of_sample[first : first + size], self.shared))
            first += size
        return np.concatenate(compute(tasks))

    def gather(self) -> Array:
        """Return the (n, q) matrix."""
        return labels_of_sets(self.set_of_sample, self.distinct)


def labels_of_sets(sets: Array, distinct: Any) -> Array:
    """Return the (n, q) label matrix of rows from the numbers of their label sets."""
    return distinct[sets].toarray().astype(np.uint8)


def _distinct_in_block(Y: Any) -> tuple[sparse.csr_array, Array]:
    if not Y.shape[0]:
        return sparse.csr_array((0, Y.shape[1]), dtype=np.int64), np.empty(0, dtype=np.intp)
    return distinct_rows(label_rows(Y))


def _differs(labels: Array, sets: Array, distinct: Any) -> Array:
    return (labels != labels_of_sets(sets, distinct)).any(axis=1)
