"""What a run shows while it goes on: a live picture on a terminal, lines of text elsewhere.

The picture has one bar per dataset, the rate, the time left, the running cells and the means so
far. Jobs start in joblib's threads and the picture is drawn in another one, so it is made of
copies.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pandas as pd
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from labelkin.experiments.run.jobs import Job
from labelkin.experiments.run.plan import Plan
from labelkin.experiments.run.protocol import Cell
from labelkin.metrics import METRICS, PAPER_METRICS

_WATCHED = "average_precision"  # the metric whose means are shown
_SECONDS = 10.0  # between two lines of text


class RunView:
    """Counts the cells of a run and shows them on a console.

    `titles` are the methods' names in print, `workers` the number of jobs at a time.
    """

    def __init__(
        self,
        heading: str = "",
        console: Console | None = None,
        titles: Mapping[str, str] | None = None,
        workers: int = 1,
    ) -> None:
        self.heading, self.titles, self.workers = heading, titles or {}, workers
        self.console = console or Console(quiet=True)
        self._live: Live | None = None

    def begin(self, cells: list[Cell], stored: Mapping[Cell, Mapping[str, Any]]) -> None:
        """Begin a run of some cells, given the rows of those that are stored already."""
        self.total, self.before = len(cells), len(stored)
        self.computed = self.failed = 0
        self.methods = list(dict.fromkeys(cell.method for cell in cells))
        self.expected = Counter(cell.dataset for cell in cells)
        self.finished = Counter(cell.dataset for cell in stored)
        self._running: dict[tuple[Cell, ...], None] = {}
        self._scores: dict[tuple, dict[str, float]] = defaultdict(dict)
        for cell, row in stored.items():
            self._add_score(cell, row)
        self._started = self._written = time.monotonic()
        already = f" ({self.before} already stored)" if self.before else ""
        self._print(self.heading + already, "bold")
        if self.console.is_terminal:
            draw = self.picture
            self._live = Live(get_renderable=draw, console=self.console, refresh_per_second=5)
            self._live.start()

    def start(self, job: Job) -> None:
        """Note that a job is handed out."""
        self._running[job.cells] = None

    def finish(self, rows: list[dict[str, Any]]) -> None:
        """Note that a job's cells are stored; a failure is shown at once."""
        cells = tuple(Cell.of(row) for row in rows)
        self._running.pop(cells, None)
        for cell, row in zip(cells, rows, strict=True):
            self.computed += 1
            self.finished[cell.dataset] += 1
            self.failed += row["status"] != "ok"
            self._add_score(cell, row)
        if rows[-1]["status"] != "ok":
            self._print(f"failed: {cells[-1]}: {rows[-1]['error']}", "red")
        late = time.monotonic() - self._written > _SECONDS
        if self._live is None and (late or self.done == self.total):
            self._written = time.monotonic()
            self._print(str(self))

    def close(self) -> None:
        """End the picture."""
        if self._live is not None:
            self._live.stop()

    def _print(self, text: str, style: str = "") -> None:
        self.console.print(text, style=style, markup=False, soft_wrap=True)

    def _add_score(self, cell: Cell, row: Mapping[str, Any]) -> None:
        if row["status"] == "ok":
            fold = (cell.dataset, cell.repeat, cell.fold)
            self._scores[fold][cell.method] = row[_WATCHED]

    @property
    def done(self) -> int:
        """Cells stored, those of earlier runs included."""
        return self.before + self.computed

    def __str__(self) -> str:
        parts = [f"{self.done}/{self.total} cells"]
        if self.computed and self.done < self.total:
            rate = self.computed / max(time.monotonic() - self._started, 1e-9)
            left = timedelta(seconds=round((self.total - self.done) / rate))
            parts += [f"{rate:.1f} cells/s", f"{left} left"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        return " · ".join(parts)

    def means(self) -> dict[str, float]:
        """Return each method's mean average precision over the folds that all have finished.

        Means over different folds could not be compared. Empty until there is such a fold.
        """
        complete = [f for f in list(self._scores.values()) if len(f) == len(self.methods)]
        if not complete:
            return {}
        return {m: sum(fold[m] for fold in complete) / len(complete) for m in self.methods}

    def picture(self) -> Group:
        """Return the current picture."""
        bars = Table.grid(padding=(0, 2))
        for dataset, total in self.expected.items():
            done = self.finished[dataset]
            bars.add_row(Text(f"  {dataset}"), ProgressBar(total, done, 30), f"{done}/{total}")
        # Jobs are handed out ahead of time: only the oldest ones run.
        running = [str(cells[-1]) for cells in list(self._running)[: self.workers]]
        line = f"  {self}" + (f" · running: {', '.join(running)}" if running else "")
        means = sorted(self.means().items(), key=lambda item: -item[1])
        text = Text("so far (average precision):" if means else "")
        for place, (method, value) in enumerate(means):
            shown = f"  {self.titles.get(method, method)} {100 * value:.1f}"
            text.append(shown if place else f"{shown} ▲", "" if place else "bold")
        return Group(bars, Text(line), *([text] if means else []))


def table_of_means(plan: Plan, rows: list[dict[str, Any]]) -> Table:
    """Return the means by method, the best in bold, with a star where some folds failed."""
    n = len(plan.sources)
    place = plan.sources[0].name if n == 1 else f"{n} datasets, mean"
    table = Table(box=None, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column(f"{place}, %".replace(", ", ",\n"), no_wrap=True)
    names = list(PAPER_METRICS)
    grouped = pd.DataFrame(rows).groupby("method")[names]
    means, counts = grouped.agg("mean"), grouped.count()
    whole = counts == len(rows) // len(plan.methods)
    for name in names:
        header = f"{METRICS[name].title} {METRICS[name].arrow}".replace(" ", "\n")
        table.add_column(header, justify="right", no_wrap=True)
    extremes = means.where(whole).agg(["min", "max"])
    best = {m: extremes.loc["max" if METRICS[m].greater_is_better else "min", m] for m in names}
    for method in plan.methods:
        shown = []
        for name, mean in means.loc[method].items():
            text = f"{mean * (100 if METRICS[name].percent else 1):.2f}"
            if not counts.loc[method, name]:
                text = "–"
            elif not whole.loc[method, name]:
                text += "*"
            elif mean == best[name]:
                text = f"[bold]{text}[/]"
            shown.append(text)
        table.add_row(plan.short_title(method), *shown)
    return table
