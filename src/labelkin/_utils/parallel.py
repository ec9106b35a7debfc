"""Parallel maps whose results do not depend on the number of jobs.

Items run in threads with one BLAS thread each: a loop and BLAS that are both parallel would
compete for the cores. Where the user has chosen a joblib backend of other processes or machines,
with ``joblib.parallel_config("loky")`` or ``joblib.parallel_config("dask")``, `map_parallel`
sends the items there.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import lru_cache, partial
from threading import Lock
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import ThreadingBackend, get_active_backend
from sklearn import get_config, set_config
from threadpoolctl import ThreadpoolController

T = TypeVar("T")

# Enough batches for an even load; each batch carries the data of the function along.
_BATCHES_PER_JOB = 2


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def effective_n_threads(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` stands for.

    None: what the user set with ``joblib.parallel_config("threading", n_jobs=...)``, else the
    number of threads that BLAS uses.
    """
    if n_jobs is not None:
        return effective_n_jobs(n_jobs)
    backend, configured = get_active_backend()
    if isinstance(backend, ThreadingBackend) and not backend.nesting_level:
        return effective_n_jobs(configured)
    counts = [lib["num_threads"] for lib in _controller().info() if lib["user_api"] == "blas"]
    return max(counts, default=1)


class _OneBlasThread:
    """Context manager that limits BLAS to one thread.

    The limit belongs to the process. Threads enter and leave in any order: the first one in
    sets the limit, the last one out lifts it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_inside:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._n_inside += 1

    def __exit__(self, *_: Any) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                self._limit.restore_original_limits()


one_blas_thread = _OneBlasThread()


@contextmanager
def blas_threads(n_jobs: int | None) -> Iterator[None]:
    """Give BLAS the threads that `n_jobs` stands for; results then depend on it, by rounding."""
    with _controller().limit(limits=effective_n_threads(n_jobs), user_api="blas"):
        yield


def map_threads(
    function: Callable[[Any], T],
    items: Iterable[Any],
    n_jobs: int | None = None,
    callback: Callable[[T], None] = lambda _: None,
) -> list[T]:
    """Return ``[function(item) for item in items]``, computed in threads, one BLAS thread each.

    Parameters
    ----------
    function : callable
        Called once per item; after an error no further item is started.
    items : iterable
        The arguments.
    n_jobs : int, optional
        Number of threads; None: as in `effective_n_threads`.
    callback : callable, optional
        Called in this thread with each result, in the order of the items.
    """
    items = list(items)
    n_threads = min(effective_n_threads(n_jobs), len(items))
    results: list[T] = []
    with one_blas_thread:
        if n_threads <= 1:
            for item in items:
                results.append(function(item))
                callback(results[-1])
            return results
        # Context variables (the current Dask client) and scikit-learn's settings belong to a
        # thread: the workers get those of this one. A plain pool, because joblib's threading
        # backend polls its workers at intervals longer than a short item takes.
        contexts = [copy_context() for _ in items]
        pool = ThreadPoolExecutor(n_threads, initializer=partial(set_config, **get_config()))
        try:
            for result in pool.map(lambda c, item: c.run(function, item), contexts, items):
                callback(result)
                results.append(result)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)  # the user does not wait for threads
            raise
        except BaseException:
            pool.shutdown()
            raise
        pool.shutdown()
        return results


def map_parallel(
    function: Callable[[Any], T],
    items: Iterable[Any],
    n_jobs: int | None = None,
    callback: Callable[[T], None] = lambda _: None,
) -> list[T]:
    """Return what `map_threads` does, computed by the joblib backend that the user has chosen.

    Parameters
    ----------
    function : callable
        Must be free of side effects: it may run on a copy in another process.
    items : iterable
        The arguments.
    n_jobs : int, optional
        Number of jobs; None: the backend's number; without a backend, as in `map_threads`.
    callback : callable, optional
        Called in this thread with each result, in the order of the items.
    """
    n_jobs_elsewhere = _n_jobs_elsewhere(n_jobs)
    if n_jobs_elsewhere is None:
        return map_threads(function, items, n_jobs, callback)
    items = list(items)
    size = max(1, -(-len(items) // (_BATCHES_PER_JOB * n_jobs_elsewhere)))
    batches = [items[i : i + size] for i in range(0, len(items), size)]
    shared = _SharedFunction(function)
    results: list[T] = []
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    for batch in parallel(delayed(_run_batch)(shared, batch) for batch in batches):
        for result in batch:
            callback(result)
            results.append(result)
    return results


def parallel_batch_size(n_jobs: int | None) -> int:
    """Return the number of items that `map_parallel` needs to keep all workers busy."""
    n_jobs_elsewhere = _n_jobs_elsewhere(n_jobs)
    if n_jobs_elsewhere is None:
        return effective_n_threads(n_jobs)
    return _BATCHES_PER_JOB * n_jobs_elsewhere


def _n_jobs_elsewhere(n_jobs: int | None) -> int | None:
    """Return the number of jobs in the chosen backend of other processes; None without one."""
    backend, configured = get_active_backend(prefer="threads")
    if not backend.supports_return_generator or getattr(backend, "uses_threads", False):
        return None
    return max(1, backend.effective_n_jobs(configured if n_jobs is None else n_jobs))


class _SharedFunction:
    """A function with the data in its closure, sent to each worker once.

    joblib's Dask backend scatters arguments that are large by `sys.getsizeof`, which does not
    follow closures; hence the size given here.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __sizeof__(self) -> int:
        return 2**20


def _run_batch(shared: _SharedFunction, batch: list[Any]) -> list[Any]:
    # Threads inside a worker, so that nested maps do not submit jobs of their own.
    with parallel_config("threading", n_jobs=None):
        return map_threads(shared.function, batch, 1)
