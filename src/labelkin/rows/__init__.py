"""Data at the boundary: the rows and labels that the algorithms compute with.

Validation (`labelkin.base`) turns what the user gives into `Rows` and `Labels`; algorithms use
only these, and do not depend on the kind of rows. `as_rows` makes rows of a matrix:

- `MemoryRows` of a NumPy array, a SciPy CSR matrix, or an array of torch, CuPy or another library
  of the array API on its device. What is written differently for these three is in
  `labelkin.rows._arrays`.
- `DaskRows` of a Dask array: blocks of rows on workers. What is lost with a worker is computed
  again by the scheduler, with the same result.

The class `Rows` documents what both have. Rows lie in blocks: one in memory, many on Dask. A
*function of a block* gets the block's matrix, its parts and what all blocks share.

`Labels` are the (n, q) label matrix, dense or sparse, with the mask of known labels and the weights
of the samples.
"""

# ruff: noqa: F401

from labelkin.rows._arrays import (
    HOST,
    ColumnMoments,
    Place,
    add_to_diagonal,
    as_dense,
    ascontiguousarray,
    astype,
    column_dots,
    column_sums,
    concatenate,
    count_stored,
    eigh_positive,
    first_of_equals,
    inverse_cholesky,
    is_device_array,
    match,
    namespace,
    namespace_and_device,
    rows_per_block,
    scale_columns,
    squared_norms,
    take,
    to_device_of,
    to_numpy,
    unit_rows,
)
from labelkin.rows._dask import (
    DaskBlocks,
    DaskRows,
    compute,
    constant,
    with_known_length,
)
from labelkin.rows._moving import (
    array_api_dispatch,
    convert_arrays,
    ensure_on_host,
    move_to_device,
    to_host,
)
from labelkin.rows._rows import Blocks, Labels, MemoryRows, Rows, as_rows, is_dask
