"""Data at the boundary: the rows and labels that the algorithms compute with.

Validation (`labelkin.base`) turns what the user gives into `Rows` and `Labels`; algorithms use
only these, and never ask which kind of rows they have. `as_rows` makes rows of a matrix:

- `MemoryRows` of a NumPy array, a SciPy CSR matrix, or an array of torch, CuPy or another library
  of the array API on its device. What is written differently for these three is in
  `labelkin.rows._matrix`, `labelkin.rows._place` and `labelkin.rows._linalg`.
- `DaskRows` of a Dask array: blocks of rows on workers. What is lost with a worker is computed
  again by the scheduler, with the same result.

The class `Rows` documents what both have. Rows lie in blocks: one in memory, many on Dask. A
*function of a block* gets the block's matrix, its parts and what all blocks share.

`Labels` are the (n, q) label matrix, dense or sparse, with the weights of the samples.
"""

from typing import Any

from labelkin.rows._dask import DaskBlocks, DaskRows, compute, constant, is_dask, with_known_length
from labelkin.rows._labels import Labels, as_labels
from labelkin.rows._linalg import (
    add_to_diagonal,
    column_dots,
    column_sums,
    diagonal,
    eigh_positive,
    inverse_cholesky,
)
from labelkin.rows._matrix import (
    ColumnMoments,
    as_dense,
    first_of_equals,
    products,
    scale_columns,
    squared_norms,
    unit_rows,
)
from labelkin.rows._moving import (
    array_api_dispatch,
    convert_arrays,
    ensure_on_host,
    move_to_device,
    to_host,
)
from labelkin.rows._place import (
    HOST,
    Place,
    ascontiguousarray,
    astype,
    concatenate,
    from_numpy,
    is_accelerator,
    is_device_array,
    is_numpy,
    itemsize,
    match,
    namespace,
    namespace_and_device,
    rows_per_block,
    take,
    to_device_of,
    to_numpy,
)
from labelkin.rows._rows import Blocks, MemoryRows, Rows


def as_rows(X: Any, place: Place | None = None) -> Rows:
    """Return a matrix as rows; rows as they are.

    `place` is where they are to be computed, if not where they lie.
    """
    if isinstance(X, Rows):
        return X if place is None else X.to_compute_at(place)
    return DaskRows.from_dask(X) if is_dask(X) else MemoryRows([X], place)


__all__ = [
    "HOST",
    "Blocks",
    "ColumnMoments",
    "DaskBlocks",
    "DaskRows",
    "Labels",
    "MemoryRows",
    "Place",
    "Rows",
    "add_to_diagonal",
    "array_api_dispatch",
    "as_dense",
    "as_labels",
    "as_rows",
    "ascontiguousarray",
    "astype",
    "column_dots",
    "column_sums",
    "compute",
    "concatenate",
    "constant",
    "convert_arrays",
    "diagonal",
    "eigh_positive",
    "ensure_on_host",
    "first_of_equals",
    "from_numpy",
    "inverse_cholesky",
    "is_accelerator",
    "is_dask",
    "is_device_array",
    "is_numpy",
    "itemsize",
    "match",
    "move_to_device",
    "namespace",
    "namespace_and_device",
    "products",
    "rows_per_block",
    "scale_columns",
    "squared_norms",
    "take",
    "to_device_of",
    "to_host",
    "to_numpy",
    "unit_rows",
    "with_known_length",
]
