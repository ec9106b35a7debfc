"""From a plan to a filled store: compute the missing cells and write each when it is finished."""

import hashlib
import os
import platform
import re
import subprocess
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import effective_n_jobs
from rich.console import Console

from labelkin._utils.optional import installed_version
from labelkin.evaluation._figures import print_figures
from labelkin.experiments.run.jobs import make_jobs, run_jobs
from labelkin.experiments.run.plan import Cell, Plan
from labelkin.experiments.run.sources import Dataset, Source
from labelkin.experiments.run.store import CODE, SETTINGS, EmptyStore, Store
from labelkin.experiments.run.variants import make_variant
from labelkin.metrics import PAPER_METRICS


def run(
    plan: Plan,
    path: str | Path,
    *,
    jobs: int = 1,
    retry: bool = False,
    command: str = "",
    loaded: Callable[[Source, Dataset], None] = lambda source, data: None,
    stored: Callable[[int, dict[str, Any] | None], None] = lambda done, row: None,
) -> list[dict[str, Any]]:
    """Compute the cells of a plan that the store lacks, and store each when it is finished.

    The store may hold any other cells. `jobs` run at a time (-1: one per core), each in a process
    of its own. With `retry`, cells that failed are computed again, as are those of a method that
    has only failed and now has other settings or code. `command` is stored with the results: it
    repeats the run. `loaded` is called with each dataset that is read. `stored` is called with the
    number of stored cells and the row of a finished one, and with None before the first. The stored
    rows of all cells of the plan are returned.
    """
    cells = plan.cells()
    facts = {"folds": str(plan.protocol)}
    facts |= {f"{SETTINGS}{name}": _describe_method(plan, name) for name in plan.methods}
    makers = {name: plan.registry[name.partition("@")[0]].make for name in plan.methods}
    codes = {name: getattr(make, "code", "") for name, make in makers.items()}
    facts |= {f"{CODE}{name}": code for name, code in codes.items() if code}
    finished = {cell for cell, row in read_stored(path).items() if row["status"] == "ok"}
    # All datasets are read before the first cell, so that an unreadable file ends the run at once;
    # the user's files also if no cell is missing, since they may have changed.
    needed = {cell.dataset for cell in cells if cell not in finished}
    needed |= {source.name for source in plan.sources if source.path is not None}
    datasets = {}
    for source in (source for source in plan.sources if source.name in needed):
        datasets[source.name] = source.load(with_test=plan.protocol.is_holdout)
        loaded(source, datasets[source.name])
    with Store(path, write=True) as store:
        store.begin(
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=command,
            environment={**describe_environment(), "blas_threads": 1, "jobs": jobs},
            facts=facts | {f"data of {data.name}": data.fingerprint for data in datasets.values()},
        )
        rows = store.cells()
        missing = {c for c in cells if c not in rows or (retry and rows[c]["status"] != "ok")}
        stored(done := len(cells) - len(missing), None)
        n_workers = effective_n_jobs(jobs) if missing else 1
        outcomes = run_jobs(make_jobs(plan, missing, datasets), n_workers)
        with closing(outcomes):
            for row in outcomes:
                store.add([row])
                stored(done := done + 1, row)
        rows = store.cells()
        return [rows[cell] for cell in cells]


def read_stored(path: str | Path) -> dict[Cell, dict[str, Any]]:
    """Return what a store holds, by cell; nothing where there is none."""
    try:
        with Store(path) as store:
            return store.cells()
    except (FileNotFoundError, EmptyStore):
        return {}


def _describe_method(plan: Plan, name: str) -> str:
    """Return a method's estimator as text, the same in each run."""
    estimator = repr(make_variant(name, plan.registry[name.partition("@")[0]], 0))
    return " ".join(re.sub(r" at 0x[0-9a-fA-F]+", "", estimator).split())


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
