"""Tasks on blocks: made, combined, computed. Dask is imported when the first one is made."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any
from uuid import uuid4

# A sum over blocks goes through sums of this many parts.
_ARITY = 8


def task(function: Callable) -> Any:
    """Return a function whose calls are lazy: each is one task."""
    import dask

    return dask.delayed(function, pure=False, traverse=False)


def constant(value: Any) -> Any:
    """Return something small as one object of the graph, shared by many tasks."""
    return task(_Constant(value))()


class _Constant:
    """A function without arguments that returns one value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


def combine_in_tree(combine: Any, parts: list[Any]) -> Any:
    """Combine parts, a few at a time; `combine` is a `task` that takes a list of parts."""
    while True:
        parts = [combine(parts[i : i + _ARITY]) for i in range(0, len(parts), _ARITY)]
        if len(parts) == 1:
            return parts[0]


def sum_in_tree(parts: list[Any]) -> Any:
    """Add up what `add` adds up."""
    return combine_in_tree(task(add), parts)


def add(parts: list[Any]) -> Any:
    """Add up numbers, arrays or sparse matrices of one shape, or tuples of these by entry."""
    if isinstance(parts[0], tuple):
        return tuple(sum(entries) for entries in zip(*parts, strict=True))
    return sum(parts)


def compute(tasks: Sequence[Any]) -> list[Any]:
    """Return the results of tasks."""
    import dask

    with large_graphs():
        return list(dask.compute(*tasks))


def persist(tasks: Sequence[Any]) -> list[Any]:
    """Return tasks whose results are kept in the workers' memory."""
    import dask

    with large_graphs():
        return list(dask.persist(*tasks))


@contextmanager
def large_graphs() -> Iterator[None]:
    """Allow pairs and label sets in the graph, from which lost work is computed again."""
    import dask

    # Its settings are merged into Dask's when it is imported, which would undo ours.
    with suppress(ImportError):
        import_module("distributed")
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        yield


def as_dask_array(blocks: list[Any], sizes: Any, meta: Any) -> Any:
    """Return blocks of rows, empty ones too, as one Dask array."""
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    name = f"labelkin-{uuid4().hex}"
    further = (0,) * (meta.ndim - 1)
    layer: dict[Any, Any] = {
        (name, i, *further): (_identity, block.key) for i, block in enumerate(blocks)
    }
    graph = HighLevelGraph.from_collections(name, layer, dependencies=blocks)
    chunks = (tuple(map(int, sizes)), *((width,) for width in meta.shape[1:]))
    return da.Array(graph, name, chunks, meta=meta)


def _identity(block: Any) -> Any:
    return block
