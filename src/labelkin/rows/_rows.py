"""Rows: the protocol, and what all rows in memory have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from labelkin.rows._place import Place, concatenate, is_device_array, match, namespace
from labelkin.rows._tasks import add

Array = Any
Matrix = Any

# Numbers of an array that is computed for some rows at a time: 8 MB in double precision. Larger
# arrays take fresh memory from the system each time, which takes a third longer.
_BATCH_VALUES = 2**20


class Blocks:
    """One object per block of rows, in memory.

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
        """Return the results for each block: of the block, its parts, and what all share."""
        return [function(*own, *shared) for own in zip(self.blocks, *parts, strict=True)]

    def map(
        self, function: Callable, parts: Sequence[Sequence] = (), shared: Sequence[Any] = ()
    ) -> "Blocks":
        """Do the same; the results stay where they are computed."""
        return Blocks(self.collect(function, parts, shared))

    def total(
        self, function: Callable, parts: Sequence[Sequence] = (), shared: Sequence[Any] = ()
    ) -> Any:
        """Return the sum of the results over the blocks."""
        found = (function(*own, *shared) for own in zip(self.blocks, *parts, strict=True))
        return reduce(lambda a, b: add([a, b]), found)


class Rows(Blocks, ABC):
    """Samples, one row each, in blocks; see `labelkin.rows`."""

    place: Place
    dtype: Any
    sizes: Array
    """Rows of each block."""
    in_threads: ClassVar[bool] = False
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
        return int(self.total(_count_stored))

    def is_sparse(self) -> bool:
        """Return whether rows, or some blocks of them, are sparse matrices."""
        return bool(self.total(sparse.issparse))

    @abstractmethod
    def array(self, values: Array) -> Array:
        """Return an ndarray in the dtype of the rows, and where products with them are."""

    def moments(self, weight: Array | None = None) -> "ColumnMoments":
        """Return the weighted means and variances of the columns."""
        return ColumnMoments.merge(self.collect(_column_moments, [self.split(weight)]))


class MemoryRows(Rows):
    """Rows in memory, most often in one block; everything is computed at once.

    Parameters
    ----------
    blocks : list of matrices
        The rows, in their order.
    place : Place, optional
        Where they are to be computed; None: where they lie.
    """

    _kinds: ClassVar[dict[str, type["MemoryRows"]]] = {}

    def __init_subclass__(cls, kind: str) -> None:
        MemoryRows._kinds[kind] = cls

    def __init__(self, blocks: Sequence[Matrix], place: Place | None = None) -> None:
        super().__init__(blocks)
        self.dtype = blocks[0].dtype
        self.sizes = np.array([block.shape[0] for block in blocks])
        self.place = Place.of(blocks[0]) if place is None else place

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.sizes.sum()), self.blocks[0].shape[1]

    def array(self, values: Array) -> Array:
        """Return an ndarray in the dtype of the rows, and where they are."""
        return match(values, self.blocks[0])

    def gather(self) -> Matrix:
        """Return all rows as one matrix."""
        return self.blocks[0] if len(self.blocks) == 1 else self._stack()

    def _stack(self) -> Matrix:
        return concatenate(self.blocks)

    def take(self, indices: Array) -> "MemoryRows":
        """Return some rows, given by their numbers in any order."""
        return type(self)([self._take(self.gather(), indices)], self.place)

    @staticmethod
    def _take(X: Matrix, indices: Array) -> Matrix:
        return X[indices]

    def split(self, values: Array | None) -> Sequence[Any]:
        """Cut an array with one entry or row per sample into the parts of the blocks."""
        if values is None:
            return [None] * len(self.blocks)
        if values.shape[0] != len(self):
            raise ValueError(f"There are {len(self)} rows, but {values.shape[0]} values for them.")
        if len(self.blocks) == 1:
            return [values]
        starts = self.starts
        return [values[a:b] for a, b in pairwise(starts)]

    def apply(
        self,
        function: Callable,
        shared: Sequence[Any] = (),
        n_columns: int | None = None,
        dtype: Any = None,
    ) -> Rows:
        """Return the rows that a function makes of each block; `n_columns` has no effect."""
        found = self.collect(function, shared=shared)
        return type(rows_in_memory(found[0]))(found)

    def batches(self, width: int) -> "MemoryRows":
        """Return the rows in blocks for which arrays of `width` columns take 8 MB."""
        return type(self)(list(self._batches(_BATCH_VALUES // max(1, width))), self.place)

    def _batches(self, size: int) -> Iterator[Matrix]:
        X = self.gather()
        for batch in gen_batches(X.shape[0], max(1, size)):
            yield X[batch, :]

    def to_compute_at(self, place: Place) -> "MemoryRows":
        """Return the rows with another place in which they are to be computed."""
        return type(self)(self.blocks, place)

    def placed(self, dtype: str | None = None) -> "MemoryRows":
        """Return the rows where they are to be computed, dense on a device, in a dtype."""
        return rows_in_memory(self.place.put(self.gather(), dtype))

    # Of the matrix.

    def dense(self) -> Array:
        """Return the matrix as an array."""
        return self.gather()

    def products(self, other: "MemoryRows") -> Array:
        """Return the inner products with other rows, (n, m), dense."""
        return self.gather() @ other.gather().T

    def squared_norms(self) -> Array:
        """Return the squared length of each row."""
        X = self.gather()
        return namespace(X).sum(X * X, axis=1)

    def sums_of_differences(self, other: "MemoryRows") -> Array:
        """Return the sums of absolute differences to other rows of the same kind, (n, m)."""
        raise NotImplementedError

    def scatter(self, weight: Array | None) -> tuple[Array, Array]:
        """Return the weighted mean of the rows, and the sum of squares and products around it."""
        X, mean = self.gather(), self.column_moments(weight).mean
        centred = X - mean
        weighted = centred if weight is None else centred * match(weight, X)[:, None]
        return mean, centred.T @ weighted

    def dot_centred(self, W: Array, mean: Array) -> Array:
        """Return (X − mean) W."""
        return (self.gather() - mean) @ W

    def scale_columns(self, factors: Array) -> "MemoryRows":
        """Return the rows with each column multiplied by a factor."""
        return type(self)([self.gather() * factors], self.place)

    def scale_rows(self, factors: Array) -> "MemoryRows":
        """Return the rows, each multiplied by a factor."""
        return type(self)([self.gather() * factors[:, None]], self.place)

    def unit(self) -> "MemoryRows":
        """Return rows of length 1; rows of zeros stay."""
        norms = self.squared_norms() ** 0.5
        xp = namespace(norms)
        return self.scale_rows(1 / xp.where(norms > 0, norms, xp.ones_like(norms)))

    @staticmethod
    def count_stored(X: Matrix) -> int:
        """Return how many values of a matrix are not zero."""
        xp = namespace(X)
        return int(xp.sum(xp.astype(X != 0, xp.int64)))

    def column_moments(self, weight: Array | None) -> "ColumnMoments":
        """Return the moments of the columns; without weights all rows count once."""
        X = self.gather()
        xp, total = namespace(X), float(X.shape[0] if weight is None else weight.sum())
        if not total:
            return ColumnMoments(0.0, 0.0, 0.0)
        if weight is None:
            return ColumnMoments(total, xp.mean(X, axis=0), xp.var(X, axis=0))
        share = match(weight / total, X)
        mean = share @ X
        return ColumnMoments(total, mean, share @ (X - mean) ** 2)


def rows_in_memory(X: Matrix, place: Place | None = None) -> MemoryRows:
    """Return a matrix as rows."""
    kind = "sparse" if sparse.issparse(X) else "device" if is_device_array(X) else "NumPy"
    return MemoryRows._kinds[kind]([X], place)


class ColumnMoments(NamedTuple):
    """Weighted means and variances of columns, which can be merged over blocks of rows."""

    total: float
    """Sum of the weights."""
    mean: Any
    """(k,)."""
    variance: Any
    """(k,)."""

    @classmethod
    def merge(cls, parts: "list[ColumnMoments]") -> "ColumnMoments":
        """Return the moments of the rows of several blocks."""
        if len(parts) == 1:
            return parts[0]
        total = sum(part.total for part in parts)
        shares = [part.total / (total or 1.0) for part in parts]
        mean = sum(w * part.mean for w, part in zip(shares, parts, strict=True))
        variance = sum(
            w * (part.variance + (part.mean - mean) ** 2)
            for w, part in zip(shares, parts, strict=True)
        )
        return cls(total, mean, variance)

    def spread(self) -> Array:
        """Return the standard deviation of each column, 1 where it is 0 up to rounding."""
        xp = namespace(self.mean)
        varies = self.variance > 1e-12 * (self.variance + self.mean**2)
        return xp.where(varies, self.variance**0.5, xp.ones_like(self.variance))


# Functions of a block.


def _dot(X: Matrix, W: Array) -> Array:
    return X @ W


def _cross(X: Matrix, E: Array) -> Array:
    return X.T @ E


def _count_stored(X: Matrix) -> int:
    return rows_in_memory(X).count_stored(X)


def _column_moments(X: Matrix, weight: Array | None) -> ColumnMoments:
    return rows_in_memory(X).column_moments(weight)
