"""From a plan to a filled store: compute the missing cells and write each when it is finished."""

import hashlib
import os
import platform
import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import effective_n_jobs
from rich.console import Console
from rich.status import Status

from labelkin._utils.names import plural, printable
from labelkin._utils.optional import installed_version
from labelkin.evaluation._figures import print_figures
from labelkin.experiments.run.jobs import make_jobs, run_jobs
from labelkin.experiments.run.plan import Cell, Plan
from labelkin.experiments.run.sources import Dataset, Source
from labelkin.experiments.run.store import EmptyStore, Store
from labelkin.experiments.run.variants import parse_variant
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
        if rows[-1]["status"] != "ok":
            self.failed += len(rows)
            self._print(f"failed: {Cell.of(rows[-1])}: {rows[-1]['error']}", "red")
        now = time.monotonic()
        if self._live is not None:
            self._live.update(str(self))
        elif now - self._written > _SECONDS or self.done == self.total:
            self._written = now
            self._print(str(self))

    def close(self) -> None:
        """End the live line."""
        if self._live is not None:
            self._live.stop()

    def _print(self, text: str, style: str = "") -> None:
        self.console.print(printable(text), style=style, markup=False, soft_wrap=True)

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


def run(
    plan: Plan,
    path: str | Path,
    *,
    jobs: int = 1,
    retry: bool = False,
    command: str = "",
    view: RunView | None = None,
    loaded: Callable[[Source, Dataset], None] = lambda source, data: None,
) -> list[dict[str, Any]]:
    """Compute the cells of a plan that the store lacks, and store each when it is finished.

    The store may hold any other cells. `jobs` run at a time (-1: one per core), each in a process
    of its own. With `retry`, cells that failed are computed again, as are those of a method that
    has only failed and now has other settings. `command` is stored with the
    results: it repeats the run. `view` counts the cells and shows them; `loaded` is called
    with each dataset that is read. The stored rows of all cells of the plan are returned.
    """
    cells, view = plan.cells(), view or RunView()
    methods = [_describe_method(plan, name) for name in plan.methods]
    # All datasets are read before the first cell, so that an unreadable file ends the run at once.
    finished = {cell for cell, row in read_stored(path).items() if row["status"] == "ok"}
    needed = {cell.dataset for cell in cells if cell not in finished}
    datasets = {}
    for source in (source for source in plan.sources if source.name in needed):
        datasets[source.name] = source.load(with_test=plan.protocol.is_holdout)
        loaded(source, datasets[source.name])
    with Store(path, write=True) as store:
        store.begin(
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=command,
            environment={**describe_environment(), "blas_threads": 1, "jobs": jobs},
            protocol=plan.protocol,
            datasets=map(_describe_dataset, datasets.values()),
            methods=methods,
        )
        rows = store.cells()
        missing = {c for c in cells if c not in rows or (retry and rows[c]["status"] != "ok")}
        view.begin(len(cells), len(cells) - len(missing))
        n_workers = effective_n_jobs(jobs) if missing else 1
        outcomes = run_jobs(make_jobs(plan, missing, datasets), n_workers)
        with closing(view), closing(outcomes):
            for outcome in outcomes:
                store.add(outcome)
                view.finish(outcome)
        rows = store.cells()
        return [rows[cell] for cell in cells]


def read_stored(path: str | Path) -> dict[Cell, dict[str, Any]]:
    """Return what a store holds, by cell; nothing where there is none."""
    try:
        with Store(path) as store:
            return store.cells()
    except (FileNotFoundError, EmptyStore):
        return {}


def check_revision(plan: Plan, path: str | Path, retry: bool = False) -> None:
    """Refuse to compute new cells beside those of other code; `retry` as in `run`."""
    rows = {c: r for c, r in read_stored(path).items() if r["status"] == "ok" or not retry}
    if rows.keys() >= set(plan.cells()):
        return  # nothing will be computed
    # All repeats and folds of a dataset and method count: their means would mix revisions.
    pairs = {(cell.dataset, cell.method) for cell in plan.cells()}
    stored = Counter(r["revision"] for c, r in rows.items() if (c.dataset, c.method) in pairs)
    here = source_revision()
    del stored[here]
    if not stored:
        return
    listed = ", ".join(f"{plural(n, 'cell')} of {(r or 'unknown')[:16]}" for r, n in stored.items())
    text = f"{path} holds {listed}, and the code is now {here[:16]}"
    raise ValueError(f"{text}: write to another --store, or pass --mix-revisions to keep both.")


def _describe_dataset(data: Dataset) -> dict[str, Any]:
    sizes = {"samples": data.Y.shape[0], "features": data.X.shape[1], "labels": data.Y.shape[1]}
    return {"name": data.name, "fingerprint": data.fingerprint, **sizes}


def _describe_method(plan: Plan, name: str) -> dict[str, str]:
    variant = parse_variant(name)
    method = plan.registry[variant.base]
    estimator = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(variant.make(method, 0)))
    return {
        "name": name,
        "title": plan.title(name),
        "settings": method.settings,
        "estimator": " ".join(estimator.split()),
    }


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


# -------------------------------------------------------------------------- environment


_PACKAGES = ("labelkin", "numpy", "scipy", "scikit-learn", "joblib", "numba", "torch")


def describe_environment() -> dict[str, Any]:
    """Return versions, number of cores and git revision; no name of host or user."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "packages": {name: found for name in _PACKAGES if (found := installed_version(name))},
        "revision": source_revision(),
    }


def source_revision() -> str:
    """Return the revision of labelkin's source.

    In a checkout this is the last commit that changed the package, with ``+`` and a hash of the
    changes where files differ from it. For an installed package it is the version: a repository
    around it belongs to someone else.
    """
    here = Path(__file__).resolve().parent
    package = str(here.parents[1])

    def git(*words: str) -> str:
        # Without the lock of the index, which an interrupted run would leave behind.
        command = ["git", "--no-optional-locks", "-C", str(here), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", Path(__file__).name)
        changes = git("diff", "HEAD", "--", package)
        mark = f"+{hashlib.sha256(changes.encode()).hexdigest()[:8]}" if changes else ""
        return git("log", "-1", "--format=%H", "--", package) + mark
    except (OSError, subprocess.SubprocessError):
        return f"labelkin {installed_version('labelkin')}"
