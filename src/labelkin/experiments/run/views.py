"""Views of a run while it goes on: none, lines of text for a log, or a live terminal.

The live view shows one bar per dataset, the rate, the time left, the running cells and the means
so far.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from labelkin.experiments.run.jobs import Outcome
from labelkin.experiments.run.status import RunStatus

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.text import Text

_BAR_WIDTH = 30


class View:
    """The interface of all views; this one shows nothing. The heading describes the run."""

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
    """Lines of text, for logs: failures at once, the progress at most once in some seconds."""

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
    """A picture on the terminal, redrawn in place; `titles` are the methods' names in print."""

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
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        bars = Table.grid(padding=(0, 2))
        for dataset, total in self.status.expected.items():
            done = self.status.finished[dataset]
            bar = ProgressBar(total, done, width=_BAR_WIDTH)
            bars.add_row(Text(f"  {dataset}"), bar, f"{done}/{total}")
        # Jobs are handed out ahead of time: only the oldest ones run.
        running = [str(job.cells[-1]) for job in self.status.running()[: self.workers]]
        line = f"  {self.status}" + (f" · running: {', '.join(running)}" if running else "")
        means = self.status.means()
        return Group(bars, Text(line), *([self._means(means)] if means else []))

    def _means(self, means: Mapping[str, float]) -> "Text":
        from rich.text import Text

        text = Text("so far (average precision):", no_wrap=False)
        first, *others = sorted(means.items(), key=lambda item: -item[1])
        text.append(f"  {self.titles[first[0]]} {100 * first[1]:.1f} ▲", "bold")
        for method, value in others:
            text.append(f"  {self.titles[method]} {100 * value:.1f}")
        return text


def describe_failure(outcome: Outcome) -> str | None:
    """Return one line about a failed job; None for a job that did not fail."""
    errors = {row["error"] for row in outcome.rows if row["status"] == "failed"}
    return f"failed: {outcome.job.cells[-1]}: {errors.pop()}" if errors else None
