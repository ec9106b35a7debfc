"""A bar on the terminal that shows how far a long computation is, and how long it will take."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Timer
from time import perf_counter
from typing import TYPE_CHECKING, Any

from labelkin._utils.optional import import_optional

if TYPE_CHECKING:
    from labelkin._utils.progress import FitProgress

_PATIENCE = 1.0  # seconds until a bar is shown
_LONG = 60.0  # seconds of a fit that is announced
_KNOWN = 0.25  # share of a fit after which its speed is known, if it has taken
_SETTLED = 20.0  # seconds, as the first parts of short fits are slow


@contextmanager
def progress_bar(
    description: str, total: int | None = None, *, hidden: bool, faster: str = ""
) -> Iterator[Callable[..., None]]:
    """Show a bar with the time left on stderr while the block runs, if stderr is a terminal.

    It appears after a second. The function it yields takes ``completed``, the number of finished
    steps, and optionally a new ``description``; the learners of fits inside the block are parts of
    a step. A total of None is unknown. What will take more than another minute is announced, with
    the choice that is `faster`, unless `hidden`: before it begins if it is a fit with a cost model;
    else by the speed of the first tenth of the steps, or earlier by that of 20 seconds in which
    steps or a quarter of a fit are finished.
    """
    from labelkin._utils.progress import observe_fits  # which imports scikit-learn

    start = perf_counter()
    state: dict[str, Any] = {"completed": 0, "announced": hidden, "began": start}
    show: Callable[..., Any] = lambda **_: None  # noqa: E731

    def announce(seconds_left: float, time: str = "will take about {:.0f} more min") -> None:
        if seconds_left > _LONG and not state["announced"]:
            choice = f"; {faster} is faster" if faster else ""
            print(f"note: this {time.format(seconds_left / 60)}{choice}", file=sys.stderr)
        state["announced"] = True

    def update(completed: int = 0, **change: Any) -> None:
        now = perf_counter()
        if completed and total and (10 * completed >= total or now - start >= _SETTLED):
            announce((now - start) * (total - completed) / completed)
        state.update(completed=completed, began=now)
        show(completed=completed, **change, detail="")

    def follow(fit: "FitProgress") -> None:
        spent = perf_counter() - state["began"]  # the preparation of the rows included
        n_left = (total or 1) - state["completed"]
        if fit.planned_seconds * n_left > _LONG:
            announce((spent + fit.planned_seconds) * n_left, "may take up to about {:.0f} min")
        elif fit.share >= _KNOWN and spent >= _SETTLED and not state["announced"]:
            announce((spent + fit.seconds_left) * n_left - spent)
        show(
            completed=state["completed"] + fit.share,
            detail=f"{fit.done} of {fit.total} {fit.unit}" if fit.share < 1 else "",
        )

    with observe_fits(follow):
        if hidden or not sys.stderr.isatty():
            yield update
            return
        parts = import_optional("rich.progress", "cli")
        # The stream itself: a bar is made of the control characters that a wrapper escapes.
        stream = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
        console = import_optional("rich.console", "cli").Console(file=stream, highlight=False)
        bar = parts.Progress(
            parts.TextColumn("{task.description}", markup=False),
            parts.BarColumn(),
            parts.TextColumn("{task.fields[detail]}", markup=False),
            parts.TimeElapsedColumn(),
            *((parts.TimeRemainingColumn(compact=True), parts.TextColumn("left")) if total else ()),
            console=console,
            transient=True,
        )
        task = bar.add_task(description, total=total, detail="")
        show = partial(bar.update, task)
        timer = Timer(_PATIENCE, bar.start)
        timer.start()
        try:
            yield update
        finally:
            timer.cancel()
            timer.join()
            bar.stop()
