"""Rows in blocks on Dask workers.

The rows stay in their blocks; everything on the workers is a Dask task on the blocks. What is
lost with a worker is computed again by the scheduler, and the result is the same. This package
handles rows and tasks only: the scatter of pairs in blocks is in `labelkin.projection`, label
sets are in `labelkin.constraints`, neighbours in `labelkin.neighbors`. Dask is imported when the
first task is made.
"""

from labelkin.distributed._estimators import (
    map_predict,
    map_transform,
    validate_fit,
    validate_queries,
    with_known_length,
)
from labelkin.distributed._memory import Blocks, MemoryBlocks, as_blocks
from labelkin.distributed._rows import RowBlocks, project_rows, stack_rows
from labelkin.distributed._tasks import (
    as_dask_array,
    combine_in_tree,
    compute,
    constant,
    large_graphs,
    persist,
    sum_in_tree,
    task,
)

__all__ = [
    "Blocks",
    "MemoryBlocks",
    "RowBlocks",
    "as_blocks",
    "as_dask_array",
    "combine_in_tree",
    "compute",
    "constant",
    "large_graphs",
    "map_predict",
    "map_transform",
    "persist",
    "project_rows",
    "stack_rows",
    "sum_in_tree",
    "task",
    "validate_fit",
    "validate_queries",
    "with_known_length",
]
