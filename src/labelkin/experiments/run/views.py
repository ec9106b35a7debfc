"""Views of a run while it goes on: none, lines of text for a log, or a live terminal.

The live view shows one bar per method and dataset, the rate, the time left, the running cells
and the means so far.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from labelkin.experiments.run.jobs import Outcome
from labelkin.experiments.run.status import RunStatus

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table
    from rich.text import Text

_BAR_WIDTH = 10


class View:
    """The interface of all views; this one shows nothing.

    Parameters
    ----------
    heading : str
        Describes the run in one line.
    """

    def __init__(self, heading: str = "") -> None:
        self.heading = heading

    def __enter__(self) -> "View":
        return self

    def __exit__(self, *_: Any) -> None:
        """End the view."""

    def begin(self, status: RunStatus) -> None:
        """Show that a run begins; `status` is kept up to date during the run."""

    def update(self, outcome: Outcome) -> None:
        """Show that a job's cells are stored."""

    def _full_heading(self, status: RunStatus) -> str:
        stored = f" ({status.before} already stored)" if status.before else ""
        return self.heading + stored


class PlainView(View):
    """Lines of text, for logs.

    Parameters
    ----------
    heading : str
        Describes the run in one line.
    write : callable
        Called with each line.
    seconds : float
        Shortest time between two lines of progress; failures are written at once.
    """

    def __init__(
        self, heading: str = "", write: Callable[[str], Any] = print, seconds: float = 10.0
    ) -> None:
        super().__init__(heading)
        self.write, self.seconds = write, seconds

    def begin(self, status: RunStatus) -> None:
        """Write the heading."""
        self.status = status
        self.write(self._full_heading(status))
        self._next = time.monotonic() + self.seconds

    def update(self, outcome: Outcome) -> None:
        """Write a failure at once, and the progress when it is time."""
        if (failure := describe_failure(outcome)) is not None:
            self.write(failure)
        now = time.monotonic()
        if now >= self._next or self.status.done == self.status.total:
            self._next = now + self.seconds
            self.write(str(self.status))


class LiveView(View):
    """A picture on the terminal, redrawn in place.

    Parameters
    ----------
    heading : str
        Describes the run in one line.
    console : rich.console.Console
        The terminal.
    titles : dict
        Names in print, by method.
    workers : int
        Number of jobs that run at a time; as many are shown.
    """

    def __init__(
        self, heading: str, console: "Console", titles: Mapping[str, str], workers: int
    ) -> None:
        super().__init__(heading)
        self.console, self.titles, self.workers = console, titles, workers
        self._live: Any = None

    def begin(self, status: RunStatus) -> None:
        """Write the heading and begin to draw."""
        from rich.live import Live

        self.status = status
        self.console.print(self._full_heading(status), style="bold", markup=False)
        self._live = Live(get_renderable=self.picture, console=self.console, refresh_per_second=5)
        self._live.start()

    def __exit__(self, *_: Any) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, outcome: Outcome) -> None:
        """Write a failure above the picture."""
        if (failure := describe_failure(outcome)) is not None:
            self.console.print(failure, style="red", markup=False)

    def picture(self) -> "Group":
        """Return the current picture."""
        from rich.console import Group
        from rich.text import Text

        # Jobs are handed out ahead of time: only the oldest ones run.
        running = [str(job.cells[-1]) for job in self.status.running()[: self.workers]]
        line = f"  {self.status}" + (f" · running: {', '.join(running)}" if running else "")
        parts: list[Any] = [self._bars(), Text(line)]
        if means := self.status.means():
            parts.append(self._means(means))
        return Group(*parts)

    def _bars(self) -> "Table":
        """Return one row per dataset, with as many methods side by side as there is room for."""
        from rich.table import Table
        from rich.text import Text

        methods, datasets = self.status.methods, self.status.datasets
        width = max(len(self._title(method)) for method in methods) + _BAR_WIDTH + 12
        names = max(map(len, datasets)) + 4
        side_by_side = max(1, (self.console.width - names) // width)
        table = Table.grid(padding=(0, 2))
        for dataset in datasets:
            for first in range(0, len(methods), side_by_side):
                bars = [self._bar(dataset, m) for m in methods[first : first + side_by_side]]
                table.add_row(Text("" if first else f"  {dataset}"), *bars)
        return table

    def _bar(self, dataset: str, method: str) -> "Text":
        from rich.text import Text

        done = self.status.finished[dataset, method]
        total = self.status.expected[dataset, method]
        full = _BAR_WIDTH * done // max(total, 1)
        return Text.assemble(
            f"{self._title(method)} ",
            ("█" * full, "green" if done == total else "cyan"),
            ("░" * (_BAR_WIDTH - full), "dim"),
            f" {done}/{total}",
        )

    def _means(self, means: Mapping[str, float]) -> "Text":
        from rich.text import Text

        text = Text("so far (average precision):", no_wrap=False)
        first, *others = sorted(means.items(), key=lambda item: -item[1])
        text.append(f"  {self._title(first[0])} {100 * first[1]:.1f} ▲", "bold")
        for method, value in others:
            text.append(f"  {self._title(method)} {100 * value:.1f}")
        return text

    def _title(self, method: str) -> str:
        return self.titles.get(method, method)


def describe_failure(outcome: Outcome) -> str | None:
    """Return one line about a failed job; None for a job that did not fail."""
    errors = {row["error"] for row in outcome.rows if row["status"] == "failed"}
    return f"failed: {outcome.job.cells[-1]}: {errors.pop()}" if errors else None
