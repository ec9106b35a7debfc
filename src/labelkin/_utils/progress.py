"""Progress of a long computation: printed, shown by an observer, reported to callbacks.

A fit with many steps makes a `FitProgress` and counts them. It prints them if the estimator is
verbose, informs the observers, such as the progress bar of the command line, and calls the
callbacks of scikit-learn (from version 1.9), such as its ``ProgressBar``.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Takes the place of scikit-learn's, and adds nothing."""

    def with_callbacks(method: Any) -> Any:
        """Return a method as it is."""
        return method


Item = TypeVar("Item")

# A fit whose rest will take more seconds than this is announced by a warning.
LONG_FIT = 180.0


def warn_if_long(n_left: int, unit: str, seconds: float, cure: str) -> None:
    """Warn, in one sentence, when the rest of a fit will take more than a few minutes.

    `n_left` steps, named by `unit` in the plural, take `seconds` each; `cure` ends the sentence.
    """
    if n_left * seconds > LONG_FIT:
        minutes = n_left * seconds / 60
        warnings.warn(
            f"The {n_left} {unit} that are left will take about {minutes:.0f} minutes; {cure}.",
            stacklevel=4,
        )


_observers: list[Callable[["FitProgress"], None]] = []
_outermost: list["FitProgress"] = []  # at most one unfinished fit; fits inside it are not shown


@contextmanager
def observe_fits(observer: Callable[["FitProgress"], None]) -> Iterator[None]:
    """Call `observer` at the beginning and after each step of all fits inside the block.

    It is called from any thread, for the outermost of fits inside each other.
    """
    _observers.append(observer)
    _outermost.clear()  # it may hold a fit that failed
    try:
        yield
    finally:
        _observers.remove(observer)


class FitProgress:
    """Counts the finished steps of a fit; safe to use from any thread.

    `unit` names the steps in the plural. `verbose` is 0 for silence, 1 for about ten lines, more
    for one line per step. `costs` are the times of the steps, as far as known, and `rest` that
    after the last step; then `finish` is to be called. They are seconds if `is_planned`.
    """

    def __init__(
        self,
        owner: Any,
        unit: str,
        total: int,
        verbose: int,
        costs: Sequence[float] = (),
        rest: float = 0.0,
        is_planned: bool = False,
    ) -> None:
        self.name = type(owner).__name__
        self.unit = unit
        self.total = total
        self.every = 1 if verbose > 1 else max(1, total // 10)
        self.verbose = verbose
        self.done = 0
        self.share = 0.0
        """Finished part of the work, from 0 to 1."""
        self._costs, self._rest = costs or [1.0] * total, rest
        self.planned_seconds = sum(costs) + rest if is_planned else 0.0
        """What the fit will take at most, by a cost model; 0: it has none."""
        self._lock = Lock()
        self._started = time.perf_counter()
        self._owner, self._task = owner, None
        if getattr(owner, "_skl_callbacks", None):
            self._task = owner._init_callback_context(max_subtasks=total)
            self._task.call_on_fit_task_begin(estimator=owner)
        if _observers and not _outermost:
            _outermost.append(self)
        self._inform()

    def step(self, number: int | None = None, text: str = "") -> None:
        """Count one more step, the one with this number; None: the next one.

        `text` is printed in place of the number of steps, after each.
        """
        with self._lock:
            cost = self._costs[self.done if number is None else number]
            self.done += 1
            self.share = min(1.0, self.share + cost / (sum(self._costs) + self._rest))
            is_told = text or self.done % self.every == 0 or self.done == self.total
            if self.verbose and is_told:
                text = text or f"{self.done} of {self.total} {self.unit}"
                seconds = time.perf_counter() - self._started
                print(f"[{self.name}] {text}, {seconds:.1f} s", flush=True)
            if self._task is not None:
                part = self._task.subcontext(task_name=self.unit)
                part.call_on_fit_task_begin(estimator=self._owner)
                part.call_on_fit_task_end(estimator=self._owner)
            self._inform()
            if self.done == self.total and not self._rest:
                self.finish()

    @property
    def seconds_left(self) -> float:
        """What the rest will take, if it is as fast as the finished part."""
        return (time.perf_counter() - self._started) * (1 / self.share - 1)

    def finish(self) -> None:
        """Report that nothing is left to do."""
        self.share = 1.0
        self._inform()
        if self._task is not None:
            self._task.call_on_fit_task_end(estimator=self._owner)
        if _outermost == [self]:
            _outermost.clear()

    def _inform(self) -> None:
        if _outermost == [self]:
            for observer in _observers:
                observer(self)


def counted(items: Sequence[Item], unit: str) -> Iterator[Item]:
    """Yield the items, each of which is a step of another computation than a fit."""
    progress = FitProgress(None, unit, len(items), verbose=0)
    try:
        for item in items:
            yield item
            progress.step()
    finally:
        progress.finish()
