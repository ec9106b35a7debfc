"""The state of a run: counts, rate, time left, and the means so far."""

import threading
import time
from collections import Counter, defaultdict

from labelkin.experiments.run.jobs import Job, Outcome
from labelkin.experiments.run.protocol import Cell

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
