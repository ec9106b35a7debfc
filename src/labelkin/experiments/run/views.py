"""A run while it goes on: its counts, and views of them.

A view is nothing, lines of text for a log, or a live terminal, which shows one bar per dataset,
the rate, the time left, the running cells and the means so far.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from labelkin.experiments.run.jobs import Job, Outcome
from labelkin.experiments.run.protocol import Cell

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.text import Text

WATCHED = "average_precision"
"""The metric whose means are shown while a run goes on."""


class RunStatus:
    """Counts of a run. Jobs start in joblib's threads and a view may be drawn in another.

    `missing` are the cells that are still to be computed, `earlier` the average precisions of
    stored cells, of this plan or others.
    """

    def __init__(self, cells: list[Cell], missing: set[Cell], earlier: dict[Cell, float]) -> None:
        self.total = len(cells)
        self.before = self.total - len(missing)
        self.computed = self.failed = 0
        self.methods = list(dict.fromkeys(cell.method for cell in cells))
        self.expected = Counter(cell.dataset for cell in cells)
        self.finished = Counter(cell.dataset for cell in cells if cell not in missing)
        self._folds: dict[tuple, dict[str, float]] = defaultdict(dict)
        for cell in cells:
            if cell in earlier:
                self._folds[_fold(cell)][cell.method] = earlier[cell]
        self._running: dict[Job, None] = {}
        self._lock = threading.Lock()
        self._started = time.monotonic()

    def start(self, job: Job) -> None:
        """Record that a job is handed out."""
        with self._lock:
            self._running[job] = None

    def finish(self, outcome: Outcome) -> None:
        """Record that a job's cells are stored."""
        with self._lock:
            self._running.pop(outcome.job, None)
            for cell, row in zip(outcome.job.cells, outcome.rows, strict=True):
                self.computed += 1
                self.finished[cell.dataset] += 1
                if row["status"] == "ok":
                    self._folds[_fold(cell)][cell.method] = row[WATCHED]
                else:
                    self.failed += 1

    @property
    def done(self) -> int:
        """Cells stored, those of earlier runs included."""
        return self.before + self.computed

    @property
    def rate(self) -> float:
        """Cells per second in this run."""
        return self.computed / max(time.monotonic() - self._started, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the end at this rate; None before the first cell."""
        return (self.total - self.done) / self.rate if self.computed else None

    def running(self) -> list[Job]:
        """Return the jobs handed out and not yet stored, the oldest first."""
        with self._lock:
            return list(self._running)

    def means(self) -> dict[str, float]:
        """Return each method's mean average precision over the folds that all have finished.

        Means over different folds could not be compared. Empty until there is such a fold.
        """
        with self._lock:
            complete = [f for f in self._folds.values() if len(f) == len(self.methods)]
        if not complete:
            return {}
        return {m: sum(fold[m] for fold in complete) / len(complete) for m in self.methods}

    def __str__(self) -> str:
        parts = [f"{self.done}/{self.total} cells"]
        if self.computed and self.done < self.total:
            parts += [f"{self.rate:.1f} cells/s", f"{format_seconds(self.seconds_left or 0)} left"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        return " · ".join(parts)


def _fold(cell: Cell) -> tuple:
    return cell.dataset, cell.repeat, cell.fold


def format_seconds(seconds: float) -> str:
    """Return seconds as h:mm:ss, or m:ss when less than an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


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
