"""The live view: bars a method, rate, time left, what runs, and the means so far.

On a terminal it is drawn in place; elsewhere (a log, a pipe) a plain line is written now and
then. Both only look at :class:`~labelkin.experiments.run.progress.Progress`.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from labelkin.experiments.run.cell import Outcome
from labelkin.experiments.run.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table
    from rich.text import Text

_BAR = 10
_SECONDS_BETWEEN_LINES = 10.0


class View:
    """What a run tells while it goes on: nothing. Others tell more.

    Parameters
    ----------
    heading : str
        What the run is about, in a line.
    """

    def __init__(self, heading: str = "") -> None:
        self.heading = heading

    def _heading(self, progress: Progress) -> str:
        there = f" ({progress.before} already there)" if progress.before else ""
        return self.heading + there

    def __enter__(self) -> "View":
        return self

    def __exit__(self, *_: Any) -> None:
        """Stop telling."""

    def show(self, progress: Progress) -> None:
        """Begin with a run."""

    def stored(self, outcome: Outcome) -> None:
        """Hear that a job's cells are on disk."""


class PlainView(View):
    """Lines of text, for logs.

    Parameters
    ----------
    heading : str
        What the run is about, in a line.
    write : callable
        Called with each line.
    seconds : float
        At least so long between two lines of progress; failures are told at once.
    """

    def __init__(
        self,
        heading: str = "",
        write: Callable[[str], Any] = print,
        seconds: float = _SECONDS_BETWEEN_LINES,
    ) -> None:
        super().__init__(heading)
        self.write, self.seconds = write, seconds
        self._lock = threading.Lock()
        self._next = 0.0

    def show(self, progress: Progress) -> None:
        """Write the heading."""
        self.progress = progress
        self.write(self._heading(progress))
        self._next = time.monotonic() + self.seconds

    def stored(self, outcome: Outcome) -> None:
        """Write a failure at once, progress when it is time."""
        with self._lock:
            if (failure := describe_failure(outcome)) is not None:
                self.write(failure)
            now = time.monotonic()
            last = self.progress.done == self.progress.total
            if now >= self._next or last:
                self._next = now + self.seconds
                self.write(self.progress.sentence())


class LiveView(View):
    """A picture that is redrawn in place.

    Parameters
    ----------
    heading : str
        What the run is about, in a line.
    console : rich.console.Console
        The terminal.
    titles : dict
        Names in print, by method.
    workers : int
        How many jobs run at a time; as many are shown.
    """

    def __init__(
        self, heading: str, console: "Console", titles: Mapping[str, str], workers: int
    ) -> None:
        super().__init__(heading)
        self.console, self.titles, self.workers = console, titles, workers
        self._live: Any = None

    def show(self, progress: Progress) -> None:
        """Write the heading and begin to draw."""
        from rich.live import Live

        self.progress = progress
        self.console.print(self._heading(progress), style="bold", markup=False)
        self._live = Live(get_renderable=self.picture, console=self.console, refresh_per_second=5)
        self._live.start()

    def __exit__(self, *_: Any) -> None:
        if self._live is not None:
            self._live.stop()

    def stored(self, outcome: Outcome) -> None:
        """Write a failure above the picture."""
        if (failure := describe_failure(outcome)) is not None:
            self.console.print(failure, style="red", markup=False)

    def picture(self) -> "Group":
        """Return what is to be seen now."""
        from rich.console import Group
        from rich.text import Text

        parts: list[Any] = [self._bars(), Text("  " + self._line())]
        if means := self.progress.means():
            parts.append(self._means(means))
        return Group(*parts)

    def _line(self) -> str:
        running = self.progress.running()[: self.workers]
        names = ", ".join(str(job.cells[-1]) for job in running)
        return self.progress.sentence() + (f" · running: {names}" if names else "")

    def _bars(self) -> "Table":
        """Return a row a dataset, a bar a method, as many side by side as there is room for."""
        from rich.table import Table
        from rich.text import Text

        width = max(len(self._title(method)) for method in self.progress.methods) + _BAR + 12
        names = max(map(len, self.progress.datasets)) + 4
        side_by_side = max(1, (self.console.width - names) // width)
        table = Table.grid(padding=(0, 2))
        methods = self.progress.methods
        for dataset in self.progress.datasets:
            for first in range(0, len(methods), side_by_side):
                bars = [self._bar(dataset, m) for m in methods[first : first + side_by_side]]
                table.add_row(Text("" if first else f"  {dataset}"), *bars)
        return table

    def _bar(self, dataset: str, method: str) -> "Text":
        from rich.text import Text

        done = self.progress.finished[dataset, method]
        total = self.progress.expected[dataset, method]
        full = _BAR * done // max(total, 1)
        style = "green" if done == total else "cyan"
        return Text.assemble(
            f"{self._title(method)} ",
            ("█" * full, style),
            ("░" * (_BAR - full), "dim"),
            f" {done}/{total}",
        )

    def _means(self, means: Mapping[str, float]) -> "Text":
        from rich.text import Text

        text = Text("so far (average precision):", no_wrap=False)
        ranked = sorted(means.items(), key=lambda item: -item[1])
        for place, (method, value) in enumerate(ranked):
            shown = f"  {self._title(method)} {100 * value:.1f}" + (" ▲" if not place else "")
            text.append(shown, "bold" if not place else "")
        return text

    def _title(self, method: str) -> str:
        return self.titles.get(method, method)


def describe_failure(outcome: Outcome) -> str | None:
    """Return a line about a failed job, or None."""
    errors = {row["error"] for row in outcome.rows if row["status"] == "failed"}
    return f"failed: {outcome.job.cells[-1]}: {errors.pop()}" if errors else None
