"""Rows: the protocol, and the rows in memory. Labels, with the weights of the samples."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from itertools import pairwise
from operator import matmul
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from labelkin.rows._arrays import (
    HOST,
    Array,
    ColumnMoments,
    Matrix,
    Place,
    column_moments,
    concatenate,
    is_device_array,
    match,
    namespace_and_device,
    rows_per_block,
    take,
)


class Blocks:
    """One object per block of rows, in memory.

    The functions get the object of a block, its entry in each of the `parts` (sequences of one
    entry per block), and what all blocks share. In memory they are called at once; on Dask each
    call is a task.
    """

    lazy: ClassVar[bool] = False
    """Whether results are tasks: those that depend on few arrays are computed again for less."""

    def __init__(self, blocks: Sequence[Any]) -> None:
        self.blocks = list(blocks)

    def collect(self, function: Callable, parts: Any = (), shared: Any = ()) -> list[Any]:
        """Return the results for each block, in memory."""
        return [function(*own, *shared) for own in zip(self.blocks, *parts, strict=True)]

    def map(self, function: Callable, parts: Any = (), shared: Any = ()) -> "Blocks":
        """Do the same; the results stay where they are computed."""
        return Blocks(self.collect(function, parts, shared))

    def total(self, function: Callable, parts: Any = (), shared: Any = ()) -> Any:
        """Return the sum of the results over the blocks, in memory; of tuples, by entry."""
        results = (function(*own, *shared) for own in zip(self.blocks, *parts, strict=True))
        return reduce(lambda a, b: add([a, b]), results)


def add(parts: list[Any]) -> Any:
    """Add up numbers, arrays or sparse matrices of one shape, or tuples of these by entry."""
    if isinstance(parts[0], tuple):
        return tuple(sum(entries) for entries in zip(*parts, strict=True))
    return sum(parts)


class Rows(Blocks, ABC):
    """Samples, one row each, in blocks; see `labelkin.rows`."""

    place: Place
    dtype: Any
    shape: tuple[int, int]
    sizes: Array
    """Rows of each block."""
    in_threads: bool = False
    """Whether several computations with the rows gain from threads."""

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def starts(self) -> Array:
        """Number of the first row of each block, and of all rows."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @abstractmethod
    def take(self, indices: Array) -> "Rows":
        """Return some rows, where they are; on Dask their numbers must be sorted."""

    @abstractmethod
    def gather(self) -> Matrix:
        """Return all rows as one matrix in memory, or on their device."""

    @abstractmethod
    def split(self, values: Array | None) -> Sequence[Any]:
        """Cut an array with one entry or row per sample into the parts of the blocks.

        None gives None for each block.
        """

    @abstractmethod
    def apply(
        self, function: Callable, shared: Any = (), n_columns: Any = None, dtype: Any = np.float64
    ) -> "Rows":
        """Return the rows that a function makes of each block.

        On Dask these have `n_columns` columns, None: as many as before, of a dtype.
        """

    @abstractmethod
    def batches(self, width: int) -> "Rows":
        """Return the rows in blocks for which arrays of `width` columns are of moderate size."""

    def persist(self) -> "Rows":
        """Return the rows, computed once and kept."""
        return self

    def placed(self) -> "Rows":
        """Return the rows where they are to be computed, dense on a device."""
        return self

    def dot(self, W: Array) -> Array:
        """Return X W in memory, or on the device."""
        return concatenate(self.collect(matmul, shared=[W]))

    @abstractmethod
    def array(self, values: Array) -> Array:
        """Return an ndarray in the dtype of the rows, and where products with them are."""

    def moments(self, weight: Array | None = None) -> ColumnMoments:
        """Return the means and variances of the columns, by weight; None: all rows count once."""
        parts = self.collect(column_moments, [self.split(weight)])
        if len(parts) == 1:
            return parts[0]
        total = sum(part.total for part in parts)
        shares = [(part.total / (total or 1.0), part) for part in parts]
        mean = sum(share * part.mean for share, part in shares)
        variance = sum(s * (part.variance + (part.mean - mean) ** 2) for s, part in shares)
        return ColumnMoments(total, mean, variance)


class MemoryRows(Rows):
    """Rows in memory, most often in one block: a NumPy array, a CSR matrix or a device array.

    `place` is where they are to be computed; None: where they lie, or on the host for torch's mps,
    which has no double precision.
    """

    def __init__(self, blocks: Sequence[Matrix], place: Place | None = None) -> None:
        super().__init__(blocks)
        self.dtype = blocks[0].dtype
        self.sizes = np.array([block.shape[0] for block in blocks])
        self.shape = int(self.sizes.sum()), blocks[0].shape[1]
        place = namespace_and_device(blocks[0]) if place is None else place
        self.place = HOST if getattr(place.device, "type", None) == "mps" else place
        self.in_threads = not is_device_array(blocks[0])

    def array(self, values: Array) -> Array:
        return match(values, self.blocks[0])

    def gather(self) -> Matrix:
        return concatenate(self.blocks)

    def take(self, indices: Array) -> "MemoryRows":
        X = self.gather()
        return MemoryRows([X[indices] if self.in_threads else take(X, indices)], self.place)

    def split(self, values: Array | None) -> Sequence[Any]:
        if values is None:
            return [None] * len(self.blocks)
        if values.shape[0] != len(self):
            raise ValueError(f"There are {len(self)} rows, but {values.shape[0]} values for them.")
        return [values[a:b] for a, b in pairwise(self.starts)] if len(self.sizes) > 1 else [values]

    def apply(
        self, function: Callable, shared: Any = (), n_columns: Any = None, dtype: Any = None
    ) -> Rows:
        return MemoryRows(self.collect(function, shared=shared), self.place)

    def batches(self, width: int) -> "MemoryRows":
        X, size = self.gather(), rows_per_block(width, self.place.device, 1, max(1, len(self)))
        return MemoryRows([X[batch, :] for batch in gen_batches(len(self), size)], self.place)

    def placed(self) -> "MemoryRows":
        return MemoryRows([self.place.put(self.gather())])


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array or DataFrame, or its rows in blocks on workers."""
    return hasattr(X, "__dask_graph__") or getattr(X, "lazy", False) is True


def as_rows(X: Any, place: Place | None = None) -> Rows:
    """Return a matrix in memory as rows; rows as they are.

    `place` is where they are to be computed, if not where they lie.
    """
    return X if isinstance(X, Rows) else MemoryRows([X], place)


class LabelCounts(NamedTuple):
    """Counts of the samples for each label, (q,): of those where the label is known."""

    samples: Array
    """Number of samples."""
    total: Array
    """Their weight."""
    positives: Array
    """Weight of the samples that have the label."""
    negatives: Array
    """Weight of the samples that do not."""
    means: Array
    """Share of the samples that have the label, by weight; 0 where none is known."""
    varies: Array
    """Whether some samples have the label and some do not."""


class Labels:
    """The labels of n samples, which of them are known, and the samples' weights, on the host.

    Parameters
    ----------
    Y : ndarray or sparse array of shape (n, q)
        0 and 1; 0 where a label is unknown.
    weight : ndarray of shape (n,), optional
        Weights of the samples; None: all are 1, as `weights` are then.
    known : ndarray of bool of shape (n, q), optional
        Which labels of which samples are known; None: all. In place of booleans, any weights.
    """

    def __init__(self, Y: Matrix, weight: Array | None = None, known: Array | None = None) -> None:
        self.Y, self.weight, self.known = Y, weight, known
        self.shape: tuple[int, int] = Y.shape
        self.weights = np.ones(Y.shape[0]) if weight is None else weight

    def __len__(self) -> int:
        return self.shape[0]

    @cached_property
    def counts(self) -> LabelCounts:
        """How many samples have each label, and how many do not."""
        # einsum makes no copy of Y in double precision, as a product does.
        sums = (
            self.weights @ self.Y
            if sparse.issparse(self.Y)
            else np.einsum("i,ij", self.weights, self.Y)
        )
        if self.known is None:
            samples, total = (
                np.full(self.shape[1], float(n)) for n in (len(self), self.weights.sum())
            )
        else:
            samples, total = self.known.sum(axis=0), self.weights @ self.known
        means = sums / np.maximum(total, np.finfo(np.float64).tiny)
        return LabelCounts(samples, total, sums, total - sums, means, (sums > 0) & (sums < total))

    @property
    def cells(self) -> Array:
        """Weights of the cells of Y: 0 where unknown, (n, q); those of the samples, (n, 1)."""
        weights = self.weights[:, None]
        return weights if self.known is None else weights * self.known

    def with_nan(self) -> Array:
        """Return Y as the user gives it: NaN where a label is unknown."""
        return self.Y if self.known is None else np.where(self.known, self.Y, np.nan)

    def take(self, rows: Array) -> "Labels":
        """Return some of the samples."""
        weight, known = (None if a is None else a[rows] for a in (self.weight, self.known))
        return Labels(self.Y[rows], weight, known)

    def select(self, labels: Array) -> "Labels":
        """Return some of the labels, dense and C-ordered."""
        known = None if self.known is None else np.take(self.known, labels, axis=1)
        if sparse.issparse(self.Y):
            return Labels(self._by_column[:, labels].toarray(order="C"), self.weight, known)
        return Labels(np.take(self.Y, labels, axis=1), self.weight, known)

    def dense(self) -> "Labels":
        """Return the same with a dense matrix."""
        return (
            Labels(self.Y.toarray(), self.weight, self.known) if sparse.issparse(self.Y) else self
        )

    @cached_property
    def _by_column(self) -> Matrix:
        return self.Y.tocsc()
