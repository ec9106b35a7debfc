"""Threads without a fight: either BLAS is parallel, or our own loop is, never both.

Work is cut into pieces that do not depend on the number of threads, and every piece runs
with a single BLAS thread, so that results are the same for every ``n_jobs``.

Where the user has chosen a joblib backend of other processes or machines, with
``joblib.parallel_config("loky")`` or ``joblib.parallel_config("dask")``, pieces that can
travel go there instead, and give the same results.
"""

from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import lru_cache, partial
from threading import Event, Lock, Thread
from time import sleep
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import ThreadingBackend, get_active_backend
from sklearn import get_config, set_config
from threadpoolctl import ThreadpoolController

T = TypeVar("T")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` stands for; None: as many as BLAS would use now.

    A user's ``joblib.parallel_config("threading", n_jobs=...)`` speaks for None.
    """
    if n_jobs is not None:
        return effective_n_jobs(n_jobs)
    backend, configured = get_active_backend()
    if isinstance(backend, ThreadingBackend) and not backend.nesting_level:
        return effective_n_jobs(configured)
    counts = [lib["num_threads"] for lib in _controller().info() if lib["user_api"] == "blas"]
    return max(counts, default=1)


class _OneBlasThread:
    """Bounds BLAS to one thread while anybody is inside.

    The bound belongs to the process: where threads enter and leave in any order, only the
    first sets it and only the last lifts it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: Any) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()


_one_blas_thread = _OneBlasThread()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Bound BLAS to one thread."""
    with _one_blas_thread:
        yield


def map_threads(
    function: Callable[[Any], T],
    items: Iterable[Any],
    n_jobs: int | None = None,
    after: Callable[[T], None] = lambda _: None,
) -> list[T]:
    """Return ``[function(item) for item in items]``, in threads, one BLAS thread in each.

    `after` is called here with each answer when it has come, in order.

    The pieces can be a millisecond's work, less than joblib waits between two looks at its
    threads; hence the plain pool.
    """
    threads = n_threads(n_jobs)
    answers: list[T] = []
    with one_blas_thread():
        if threads == 1:
            for item in items:
                answers.append(function(item))
                after(answers[-1])
            return answers
        # What a context holds, such as the current Dask client, holds in the threads too.
        items = list(items)
        contexts = [copy_context() for _ in items]
        # scikit-learn's settings belong to a thread: those of this one hold in all.
        with ThreadPoolExecutor(threads, initializer=partial(set_config, **get_config())) as pool:
            for answer in pool.map(lambda c, item: c.run(function, item), contexts, items):
                after(answer)
                answers.append(answer)
        return answers


def map_in_turn(
    function: Callable[[Any], T], items: Iterable[Any], n_jobs: int | None = None
) -> list[T]:
    """Return ``[function(item) for item in items]``, BLAS having as many threads as were asked for.

    For pieces so large that two at a time would not fit into memory. Unlike those of
    `map_threads`, the answers depend on the number of threads, by what rounding does.
    """
    with _controller().limit(limits=n_threads(n_jobs), user_api="blas"):
        return [function(item) for item in items]


# Threads that wake, and fight over the interpreter, cost about what they could save in this time.
_PATIENCE_S = 0.005


def map_patiently(
    function: Callable[[Any], T], items: Iterable[Any], n_jobs: int | None = None
) -> list[T]:
    """Return what `map_threads` does, but call other threads in only when it takes long.

    Nobody knows beforehand what a classifier costs that is not ours: fitting it may take a
    minute, or less than the start of a thread. So this thread begins, and the others join after
    a few milliseconds, in the midst of a long piece too.
    """
    pieces = deque(enumerate(items))
    threads = min(n_threads(n_jobs), len(pieces))
    if threads <= 1:
        return map_threads(function, [item for _, item in pieces], 1)
    answers: list[Any] = [None] * len(pieces)
    errors: list[BaseException] = []
    helping: list[Event] = []  # one for each helper, set when it is done

    def take() -> tuple[int, Any] | None:
        try:
            return pieces.popleft()
        except IndexError:
            return None

    def work() -> None:
        try:
            while (piece := take()) is not None:
                answers[piece[0]] = function(piece[1])
        except BaseException as error:
            pieces.clear()  # nobody begins another piece
            errors.append(error)

    def help_out() -> None:
        set_config(**settings)
        done = Event()
        helping.append(done)
        work()
        done.set()

    def call_in() -> None:
        sleep(_PATIENCE_S)
        if pieces:
            for context in contexts:
                Thread(target=context.run, args=(help_out,)).start()

    # Contexts and scikit-learn's settings of this thread hold in all, as in `map_threads`.
    contexts = [copy_context() for _ in range(threads - 1)]
    settings = get_config()
    with one_blas_thread():
        start_new_thread(call_in, ())  # a third of the cost of a Thread; nobody waits for it
        work()
        # No piece is left for who is not among the helpers by now.
        for done in helping:
            done.wait()
    if errors:
        raise errors[0]
    return answers


def n_at_a_time(n_jobs: int | None) -> int:
    """Return how many pieces `map_anywhere` should be given at least, to keep all busy."""
    backend, jobs = _chosen_backend(n_jobs)
    return n_threads(n_jobs) if backend is None else _BATCHES_PER_JOB * jobs


def map_anywhere(
    function: Callable[[Any], T],
    items: Iterable[Any],
    n_jobs: int | None = None,
    after: Callable[[T], None] = lambda _: None,
) -> list[T]:
    """Return what `map_threads` does, from the joblib backend that the user has chosen.

    Parameters
    ----------
    function : callable
        Must not change anything but what it returns: it may run on a copy, elsewhere.
    items : iterable
        What it is called with.
    n_jobs : int, optional
        Jobs; None: what the backend, or without one BLAS, would use.
    after : callable, optional
        Called here with each answer when it has come, in order.
    """
    backend, jobs = _chosen_backend(n_jobs)
    if backend is None:
        return map_threads(function, items, n_jobs, after)
    items = list(items)
    size = max(1, -(-len(items) // (_BATCHES_PER_JOB * jobs)))
    batches = [items[i : i + size] for i in range(0, len(items), size)]
    travelling = _Travelling(function)
    answers: list[T] = []
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    for batch in parallel(delayed(_run)(travelling, batch) for batch in batches):
        for answer in batch:
            after(answer)
            answers.append(answer)
    return answers


def _chosen_backend(n_jobs: int | None) -> tuple[Any, int]:
    """Return the backend of other processes that the user has chosen, if any, and its jobs."""
    backend, configured = get_active_backend(prefer="threads")
    if not backend.supports_return_generator or getattr(backend, "uses_threads", False):
        return None, 1
    return backend, max(1, backend.effective_n_jobs(configured if n_jobs is None else n_jobs))


# Pieces can be small and what goes with them large: few batches, yet an even load.
_BATCHES_PER_JOB = 2


class _Travelling:
    """A function with the data that it holds on to, sent as one thing.

    joblib's Dask backend sends an argument of some size once for all calls; that this is
    one, only its size can say.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __sizeof__(self) -> int:
        return 2**20


def _run(travelling: _Travelling, batch: list[Any]) -> list[Any]:
    # What runs elsewhere does not send its own parts on: threads are nearer.
    with parallel_config("threading", n_jobs=None):
        return map_threads(travelling.function, batch, 1)
