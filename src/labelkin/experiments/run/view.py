"""What a run shows: its progress, as a live line on a terminal, and the means of its methods."""

import time
from datetime import timedelta
from typing import Any

import pandas as pd
from rich.console import Console
from rich.status import Status

from labelkin.evaluation._figures import print_figures
from labelkin.experiments.run.plan import Plan
from labelkin.experiments.run.protocol import Cell
from labelkin.metrics import PAPER_METRICS

_SECONDS = 10.0  # between two lines of text


class RunView:
    """Counts the cells of a run and shows them on a console."""

    def __init__(self, heading: str = "", console: Console | None = None) -> None:
        self.heading = heading
        self.console = console or Console(quiet=True)
        self._live: Status | None = None

    def begin(self, total: int, before: int) -> None:
        """Begin a run of `total` cells, of which `before` are stored already."""
        self.total, self.before = total, before
        self.computed = self.failed = 0
        self._started = self._written = time.monotonic()
        self._print(self.heading + (f" ({before} already stored)" if before else ""), "bold")
        if self.console.is_terminal:
            self._live = self.console.status(str(self))
            self._live.start()

    def finish(self, rows: list[dict[str, Any]]) -> None:
        """Note that a job's cells are stored; a failure is shown at once."""
        self.computed += len(rows)
        self.failed += sum(row["status"] != "ok" for row in rows)
        if rows[-1]["status"] != "ok":
            self._print(f"failed: {Cell.of(rows[-1])}: {rows[-1]['error']}", "red")
        late = time.monotonic() - self._written > _SECONDS
        if self._live is not None:
            self._live.update(str(self))
        elif late or self.done == self.total:
            self._written = time.monotonic()
            self._print(str(self))

    def close(self) -> None:
        """End the live line."""
        if self._live is not None:
            self._live.stop()

    def _print(self, text: str, style: str = "") -> None:
        self.console.print(text, style=style, markup=False, soft_wrap=True)

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


def print_means(plan: Plan, rows: list[dict[str, Any]], console: Console) -> None:
    """Print the means by method, the best in bold, with a star where some folds failed."""
    place = plan.sources[0].name
    if len(plan.sources) > 1:
        place = f"{len(plan.sources)} datasets, mean"
    frame = pd.DataFrame(rows)
    means = frame.groupby("method")[list(PAPER_METRICS)].agg("mean")
    failed = set(frame.loc[frame["status"] != "ok", "method"])
    figures = {
        plan.title(name) + "*" * (name in failed): {key: [means.loc[name, key]] for key in means}
        for name in plan.methods
    }
    print_figures(console, figures, list(PAPER_METRICS), place, best=None, meanings=False)
