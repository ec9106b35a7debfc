"""The old name of `labelkin.rows`, while its users move there."""

from labelkin.rows import DaskRows as RowBlocks
from labelkin.rows import (
    as_dask_array,
    combine_in_tree,
    compute,
    constant,
    large_graphs,
    persist,
    project_rows,
    stack_rows,
    sum_in_tree,
    task,
    with_known_length,
)
from labelkin.rows import as_rows as as_blocks

validate_queries = RowBlocks.of_queries

__all__ = [
    "RowBlocks",
    "as_blocks",
    "as_dask_array",
    "combine_in_tree",
    "compute",
    "constant",
    "large_graphs",
    "map_transform",
    "persist",
    "project_rows",
    "stack_rows",
    "sum_in_tree",
    "task",
    "validate_queries",
    "with_known_length",
]


def map_transform(projection, X):  # type: ignore[no-untyped-def]
    """Project a Dask array, lazily, block by block."""
    import numpy as np

    rows = RowBlocks.of_queries(projection, X) @ projection.components_.T
    return rows.as_dask(np.result_type(rows.dtype, projection.components_))
