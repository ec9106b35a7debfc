"""Threads without a fight: either BLAS is parallel, or our own loop is, never both.

Work is cut into pieces that do not depend on the number of threads, and every piece runs
with a single BLAS thread, so that results are the same for every ``n_jobs``.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

T = TypeVar("T")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` stands for; None: as many as BLAS would use now."""
    if n_jobs is not None:
        return effective_n_jobs(n_jobs)
    counts = [lib["num_threads"] for lib in _controller().info() if lib["user_api"] == "blas"]
    return max(counts, default=1)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Bound BLAS to one thread."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def map_threads(
    function: Callable[[Any], T], items: Iterable[Any], n_jobs: int | None = None
) -> list[T]:
    """Return ``[function(item) for item in items]``, in threads, one BLAS thread in each.

    The pieces can be a millisecond's work, less than joblib waits between two looks at its
    threads; hence the plain pool.
    """
    threads = n_threads(n_jobs)
    with one_blas_thread():
        if threads == 1:
            return [function(item) for item in items]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(function, items))
