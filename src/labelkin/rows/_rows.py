"""Rows: the protocol, and the rows in memory."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from labelkin.rows._matrix import Array, ColumnMoments, Matrix, count_stored, stack
from labelkin.rows._place import Place, concatenate, is_device_array, match, take

# Numbers of an array that is computed for some rows at a time: 8 MB in double precision. Larger
# arrays take fresh memory from the system each time, which takes a third longer.
_BATCH_VALUES = 2**20


class Blocks:
    """One object per block of rows, in memory.

    The functions get the object of a block, its entry in each of the `parts`, and what all blocks
    share. In memory they are called at once; on Dask each call is a task.

    Parameters
    ----------
    blocks : sequence of objects
        In the order of the rows.
    """

    lazy: ClassVar[bool] = False
    """Whether results are tasks: those that depend on few arrays are computed again for less."""

    def __init__(self, blocks: Sequence[Any]) -> None:
        self.blocks = list(blocks)

    def collect(
        self, function: Callable, parts: Sequence[Sequence] = (), shared: Sequence[Any] = ()
    ) -> list[Any]:
        """Return the results for each block, in memory."""
        return self._compute(self._call(function, parts, shared))

    def map(
        self, function: Callable, parts: Sequence[Sequence] = (), shared: Sequence[Any] = ()
    ) -> "Blocks":
        """Do the same; the results stay where they are computed."""
        return self._keep(self._call(function, parts, shared))

    def total(
        self, function: Callable, parts: Sequence[Sequence] = (), shared: Sequence[Any] = ()
    ) -> Any:
        """Return the sum of the results over the blocks, in memory; of tuples, by entry."""
        return self._add_up(self._call(function, parts, shared))

    def _call(
        self, function: Callable, parts: Sequence[Sequence], shared: Sequence[Any]
    ) -> Iterable[Any]:
        return (function(*own, *shared) for own in zip(self.blocks, *parts, strict=True))

    def _compute(self, results: Iterable[Any]) -> list[Any]:
        return list(results)

    def _keep(self, results: Iterable[Any]) -> "Blocks":
        return Blocks(list(results))

    def _add_up(self, results: Iterable[Any]) -> Any:
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
    sizes: Array
    """Rows of each block."""
    in_threads: bool = False
    """Whether several computations with the rows gain from threads."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

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
        self,
        function: Callable,
        shared: Sequence[Any] = (),
        n_columns: int | None = None,
        dtype: Any = np.float64,
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

    def to_compute_at(self, place: Place) -> "Rows":
        """Return the rows with another place in which they are to be computed."""
        return self

    def placed(self, dtype: str | None = None) -> "Rows":
        """Return the rows where they are to be computed, dense on a device, in a dtype."""
        return self

    def dot(self, W: Array) -> Array:
        """Return X W in memory, or on the device."""
        return concatenate(self.collect(_dot, shared=[W]))

    def cross(self, E: Array) -> Array:
        """Return Xᵀ E for an array of one row per sample."""
        return self.total(_cross, [self.split(E)])

    def n_stored(self) -> int:
        """Return how many values are not zero."""
        return int(self.total(count_stored))

    def is_sparse(self) -> bool:
        """Return whether rows, or some blocks of them, are sparse matrices."""
        return bool(self.total(sparse.issparse))

    @abstractmethod
    def array(self, values: Array) -> Array:
        """Return an ndarray in the dtype of the rows, and where products with them are."""

    def moments(self, weight: Array | None = None) -> ColumnMoments:
        """Return the weighted means and variances of the columns."""
        return ColumnMoments.merge(self.collect(ColumnMoments.of, [self.split(weight)]))


class MemoryRows(Rows):
    """Rows in memory, most often in one block: a NumPy array, a CSR matrix or a device array.

    Parameters
    ----------
    blocks : list of matrices
        The rows, in their order.
    place : Place, optional
        Where they are to be computed; None: where they lie.
    """

    def __init__(self, blocks: Sequence[Matrix], place: Place | None = None) -> None:
        super().__init__(blocks)
        self.dtype = blocks[0].dtype
        self.sizes = np.array([block.shape[0] for block in blocks])
        self.place = Place.of(blocks[0]) if place is None else place
        self.in_threads = not is_device_array(blocks[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.sizes.sum()), self.blocks[0].shape[1]

    def array(self, values: Array) -> Array:
        """Return an ndarray in the dtype of the rows, and where they are."""
        return match(values, self.blocks[0])

    def gather(self) -> Matrix:
        """Return all rows as one matrix."""
        return stack(self.blocks)

    def take(self, indices: Array) -> "MemoryRows":
        """Return some rows, given by their numbers in any order."""
        X = self.gather()
        return MemoryRows([X[indices] if self.in_threads else take(X, indices)], self.place)

    def split(self, values: Array | None) -> Sequence[Any]:
        """Cut an array with one entry or row per sample into the parts of the blocks."""
        if values is None:
            return [None] * len(self.blocks)
        if values.shape[0] != len(self):
            raise ValueError(f"There are {len(self)} rows, but {values.shape[0]} values for them.")
        return [values[a:b] for a, b in pairwise(self.starts)] if len(self.sizes) > 1 else [values]

    def apply(
        self,
        function: Callable,
        shared: Sequence[Any] = (),
        n_columns: int | None = None,
        dtype: Any = None,
    ) -> Rows:
        """Return the rows that a function makes of each block; `n_columns` has no effect."""
        return MemoryRows(self.collect(function, shared=shared))

    def batches(self, width: int) -> "MemoryRows":
        """Return the rows in blocks for which arrays of `width` columns take 8 MB."""
        X, size = self.gather(), max(1, _BATCH_VALUES // max(1, width))
        return MemoryRows([X[batch, :] for batch in gen_batches(len(self), size)], self.place)

    def to_compute_at(self, place: Place) -> "MemoryRows":
        """Return the rows with another place in which they are to be computed."""
        return MemoryRows(self.blocks, place)

    def placed(self, dtype: str | None = None) -> "MemoryRows":
        """Return the rows where they are to be computed, dense on a device, in a dtype."""
        return MemoryRows([self.place.put(self.gather(), dtype)])


# Functions of a block.


def _dot(X: Matrix, W: Array) -> Array:
    return X @ W


def _cross(X: Matrix, E: Array) -> Array:
    return X.T @ E
