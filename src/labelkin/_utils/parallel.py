"""Parallel maps whose results do not depend on the number of jobs.

Items run in threads with one BLAS thread each: a loop and BLAS that are both parallel would
compete for the cores.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, copy_context
from functools import lru_cache, partial
from threading import Lock, get_ident
from typing import Any, TypeVar

from joblib.parallel import ThreadingBackend, get_active_backend
from sklearn import get_config, set_config
from threadpoolctl import ThreadpoolController

T = TypeVar("T")

# The number of threads of BLAS belongs to the process, and several computations can limit it at
# once, in threads that enter and leave in any order. One thread gets the smallest of its limits.
# Two or more get one BLAS thread each: BLAS with many threads that is called from many threads is
# tens of times slower, because its threads wait for each other.
_lock = Lock()
_limits: list[tuple[int, int]] = []  # threads with their limits, in the order in which they came
_unlimited: list[int] = []  # threads of each BLAS before the first limit


@lru_cache(maxsize=1)
def _blas() -> list[Any]:
    return ThreadpoolController().select(user_api="blas").lib_controllers


@contextmanager
def limit_blas(n_jobs: int | None) -> Iterator[None]:
    """Give BLAS the threads that `n_jobs` stands for, or one where other threads compute as well.

    Fits that call BLAS at length do so inside this, so that those in other threads of the user
    are known. Results depend on the number of threads, by rounding.
    """
    limit = get_ident(), effective_n_threads(n_jobs)
    with _lock:
        if not _limits:
            _unlimited[:] = [lib.num_threads for lib in _blas()]
        _limits.append(limit)
        _apply_limits()
    try:
        yield
    finally:
        with _lock:
            _limits.remove(limit)
            _apply_limits()


def _apply_limits() -> None:
    numbers = _unlimited
    if _limits:
        alone = len({thread for thread, _ in _limits}) == 1
        numbers = [min(number for _, number in _limits) if alone else 1] * len(_unlimited)
    for lib, number in zip(_blas(), numbers, strict=True):
        if lib.num_threads != number:
            # Newer versions of threadpoolctl let one thread change the number until it is
            # released; here the lock keeps threads apart.
            release = getattr(lib, "clear_controlling_thread", lambda **_: None)
            release(force=True)
            lib.set_num_threads(number)
            release()


def effective_n_threads(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` stands for.

    None: what the user set with ``joblib.parallel_config("threading", n_jobs=...)``, else the
    limit of this thread, else the number of threads that BLAS uses.
    """
    # `joblib.effective_n_jobs` counts processes, and returns 1 inside a worker process.
    count = ThreadingBackend().effective_n_jobs
    if n_jobs is not None:
        return count(n_jobs)
    backend, configured = get_active_backend()
    if isinstance(backend, ThreadingBackend) and not backend.nesting_level:
        return count(configured)
    with _lock:
        own = [number for thread, number in _limits if thread == get_ident()]
        usual = _unlimited if _limits else [lib.num_threads for lib in _blas()]
        return own[-1] if own else max(usual, default=1)


def map_threads(
    function: Callable[[Any], T],
    items: Iterable[Any],
    n_jobs: int | None = None,
    callback: Callable[[T], None] = lambda _: None,
) -> list[T]:
    """Return ``[function(item) for item in items]``, computed in threads, one BLAS thread each.

    After an error no further item is started. The callback is called in this thread with each
    result, in the order of the items. `n_jobs`: see `effective_n_threads`.
    """
    items = list(items)
    n_threads = min(effective_n_threads(n_jobs), len(items))
    results: list[T] = []
    with limit_blas(1):
        if n_threads <= 1:
            for item in items:
                results.append(function(item))
                callback(results[-1])
            return results

        # Context variables (the current Dask client) and scikit-learn's settings belong to a
        # thread: the workers get those of this one. A plain pool, because joblib's threading
        # backend polls its workers at intervals longer than a short item takes.
        def work(context: Context, item: Any) -> T:
            with limit_blas(1):
                return context.run(function, item)

        contexts = [copy_context() for _ in items]
        pool = ThreadPoolExecutor(n_threads, initializer=partial(set_config, **get_config()))
        try:
            for result in pool.map(work, contexts, items):
                callback(result)
                results.append(result)
        except BaseException as error:
            # After Ctrl+C the user does not wait for threads.
            pool.shutdown(wait=not isinstance(error, KeyboardInterrupt), cancel_futures=True)
            raise
        pool.shutdown()
        return results
