"""From a plan to a filled store: compute the missing cells and write each when it is finished."""

import re
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from joblib import effective_n_jobs

from labelkin.experiments.run.cluster import run_on_cluster
from labelkin.experiments.run.environment import describe_environment
from labelkin.experiments.run.plan import Plan
from labelkin.experiments.run.protocol import Cell
from labelkin.experiments.run.sources import Dataset
from labelkin.experiments.run.store import Store
from labelkin.experiments.run.variants import parse_variant
from labelkin.experiments.run.view import RunView
from labelkin.experiments.run.workers import run_here


class Summary(NamedTuple):
    """How a run ended."""

    before: int
    """Cells that were stored before the run."""
    rows: list[dict[str, Any]]
    """The stored rows of all cells of the plan, failed ones included."""

    @property
    def computed(self) -> int:
        """Cells that this run computed."""
        return len(self.rows) - self.before

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The rows of failed cells, of this run and of earlier ones."""
        return [row for row in self.rows if row["status"] != "ok"]


def run(
    plan: Plan,
    path: str | Path,
    *,
    jobs: int = 1,
    threads: bool = False,
    cluster: str | None = None,
    retry: bool = False,
    command: str = "",
    view: RunView | None = None,
) -> Summary:
    """Compute the cells of a plan that the store lacks, and store each when it is finished.

    The store may hold any other cells. `jobs` run at a time (-1: one per core), in processes, in
    threads, or on the Dask cluster of a scheduler's address. With `retry`, cells that failed are
    computed again. `command` is stored with the results: it repeats the run.
    """
    cells, view = plan.cells(), view or RunView()
    with Store(path, write=True) as store:
        rows = {Cell.of(row): row for row in store.rows()}
        done = {c for c, row in rows.items() if row["status"] == "ok" or not retry}
        stored = {cell: rows[cell] for cell in cells if cell in done}
        missing = set(cells) - stored.keys()
        # All datasets are read before the first cell: a bad file must not end a run at night.
        datasets = {
            source.name: source.load(with_test=plan.protocol.is_holdout)
            for source in plan.sources
            if source.name in {cell.dataset for cell in missing}
        }
        recorded = {"jobs": jobs, "threads": threads, "cluster": cluster}
        store.begin(
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=command,
            environment={**describe_environment(), "blas_threads": 1, "run": recorded},
            protocol=plan.protocol,
            datasets=map(_describe_dataset, datasets.values()),
            methods=[_describe_method(plan, name) for name in plan.methods],
        )
        view.begin(cells, stored)
        tasks = plan.tasks(missing, datasets)
        if cluster is not None and missing:
            outcomes = run_on_cluster(tasks, cluster)
        else:
            n_jobs = effective_n_jobs(jobs) if missing else 1
            outcomes = run_here(tasks, n_jobs, threads=threads, started=view.start)
        with closing(view), closing(outcomes):
            for outcome in outcomes:
                store.add(outcome.rows)
                view.finish(outcome)
        rows = {Cell.of(row): row for row in store.rows()}
        return Summary(len(stored), [rows[cell] for cell in cells])


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
