"""Data at the boundary: the rows and labels that the algorithms compute with.

Validation (`labelkin.base`) turns what the user gives into `Rows` and `Labels`; algorithms use
only these, and never ask which kind of rows they have.

`Rows` are the samples, one row each:

- ``rows.shape``, ``rows.dtype``; ``rows.place``, where they are computed: `HOST`, or a device;
- ``rows.dot(W)`` is X W and ``rows.cross(E)`` is Xᵀ E; ``rows.moments(weight)`` are the means and
  variances of the columns;
- ``rows.take(indices)`` are some of the rows, of the same kind; ``rows.gather()`` is the matrix in
  memory;
- rows lie in blocks, ``rows.sizes`` rows each: one in memory, many on Dask. A *function of a block*
  gets the block's matrix, its parts and what all blocks share:

  - ``rows.split(values)`` cuts an array with one entry per row into the parts of the blocks;
  - ``rows.collect(function, parts, shared)`` is the list of its results, in memory;
  - ``rows.total(function, parts, shared)`` is their sum (tuples: entry by entry);
  - ``rows.apply(function, shared)`` are the rows that it makes of each block;
  - ``rows.map(function, parts, shared)`` are `Blocks`: results that stay where they are computed,
    with the same ``map``, ``collect`` and ``total``.

`as_rows` makes them, one class for each kind of data, in one file each:

- `NumpyRows`, a NumPy array;
- `CsrRows`, a SciPy CSR matrix;
- `DeviceRows`, an array of torch, CuPy or another library of the array API, on its device;
- `DaskRows`, blocks of rows on Dask workers.

In memory everything is computed at once. On Dask the same calls are tasks; what is lost with a
worker is computed again by the scheduler, with the same result. The first three classes have a few
more methods, for the matrix itself: `MemoryRows`.

`Labels` are the (n, q) label matrix, dense or sparse, with the weights of the samples.

An estimator that needs the rows in one place says so in its class attribute ``_needs``.

What is written differently for NumPy and for devices is in `labelkin.rows._place` (where an array
lies, moving, conversion) and `labelkin.rows._linalg` (factorisations). `labelkin.rows._tasks` makes
and combines tasks of Dask, for algorithms that relate blocks to each other.
"""

from typing import Any

from labelkin.rows._array_api import DeviceRows
from labelkin.rows._csr import CsrRows
from labelkin.rows._dask import (
    DaskBlocks,
    DaskRows,
    is_dask,
    project_rows,
    stack_rows,
    with_known_length,
)
from labelkin.rows._labels import Labels, as_labels
from labelkin.rows._linalg import (
    add_to_diagonal,
    column_dots,
    column_sums,
    diagonal,
    eigh_positive,
    inverse_cholesky,
    solve_positive,
)
from labelkin.rows._moving import (
    array_api_dispatch,
    convert_arrays,
    ensure_on_host,
    move_to_device,
    to_host,
)
from labelkin.rows._numpy import NumpyRows
from labelkin.rows._place import (
    HOST,
    Place,
    ascontiguousarray,
    asinh,
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
    take_along_axis,
    take_rows,
    to_device_of,
    to_numpy,
)
from labelkin.rows._rows import Blocks, ColumnMoments, MemoryRows, Rows, rows_in_memory
from labelkin.rows._tasks import (
    as_dask_array,
    combine_in_tree,
    compute,
    constant,
    large_graphs,
    persist,
    sum_in_tree,
    task,
)


def as_rows(X: Any, place: Place | None = None) -> Rows:
    """Return a matrix as rows; rows as they are.

    `place` is where they are to be computed, if not where they lie.
    """
    if isinstance(X, Rows):
        return X if place is None else X.to_compute_at(place)
    if is_dask(X):
        return DaskRows.from_dask(X)
    return rows_in_memory(X, place)


__all__ = [
    "HOST",
    "Blocks",
    "ColumnMoments",
    "CsrRows",
    "DaskBlocks",
    "DaskRows",
    "DeviceRows",
    "Labels",
    "MemoryRows",
    "NumpyRows",
    "Place",
    "Rows",
    "add_to_diagonal",
    "array_api_dispatch",
    "as_dask_array",
    "as_labels",
    "as_rows",
    "ascontiguousarray",
    "asinh",
    "astype",
    "column_dots",
    "column_sums",
    "combine_in_tree",
    "compute",
    "concatenate",
    "constant",
    "convert_arrays",
    "diagonal",
    "eigh_positive",
    "ensure_on_host",
    "from_numpy",
    "inverse_cholesky",
    "is_accelerator",
    "is_dask",
    "is_device_array",
    "is_numpy",
    "itemsize",
    "large_graphs",
    "match",
    "move_to_device",
    "namespace",
    "namespace_and_device",
    "persist",
    "project_rows",
    "rows_in_memory",
    "rows_per_block",
    "solve_positive",
    "stack_rows",
    "sum_in_tree",
    "take",
    "take_along_axis",
    "take_rows",
    "task",
    "to_device_of",
    "to_host",
    "to_numpy",
    "with_known_length",
]
