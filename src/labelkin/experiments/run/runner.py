"""From a plan to a filled store: compute the missing cells and write each when it is finished."""

import re
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs

from labelkin.experiments.run.cluster import run_on_cluster
from labelkin.experiments.run.environment import describe_environment
from labelkin.experiments.run.jobs import Outcome
from labelkin.experiments.run.plan import Plan
from labelkin.experiments.run.sources import Dataset
from labelkin.experiments.run.store import Store
from labelkin.experiments.run.variants import parse_variant
from labelkin.experiments.run.views import WATCHED, RunStatus, View
from labelkin.experiments.run.workers import Task, run_here


@dataclass(frozen=True)
class Summary:
    """How a run ended."""

    total: int
    before: int
    """Cells that were stored before the run."""
    computed: int
    failed: int
    """Failed cells among all of the plan, in this run or an earlier one."""


def run(
    plan: Plan,
    path: str | Path,
    *,
    jobs: int = 1,
    threads: bool = False,
    cluster: str | None = None,
    retry: bool = False,
    command: str = "",
    view: View | None = None,
) -> Summary:
    """Compute the cells of a plan that the store lacks, and store each when it is finished.

    The store may hold any other cells. `jobs` run at a time (-1: one per core), in processes, in
    threads, or on the Dask cluster of a scheduler's address. With `retry`, cells that failed are
    computed again. `command` is stored with the results: it repeats the run.
    """
    cells = plan.cells()
    with Store(path, write=True) as store, view or View() as view:
        done = store.done(failed=not retry)
        missing = {cell for cell in cells if cell not in done}
        # All datasets are read before the first cell: a bad file must not end a run at night.
        needed = {cell.dataset for cell in missing}
        with_test = plan.protocol.is_holdout
        datasets = {s.name: s.load(with_test=with_test) for s in plan.sources if s.name in needed}
        _begin(store, plan, datasets, command, jobs=jobs, threads=threads, cluster=cluster)
        status = RunStatus(cells, missing, store.metric(WATCHED))
        view.begin(status)
        tasks = plan.tasks(missing, datasets)
        with closing(_outcomes(tasks, status, jobs, threads, cluster)) as outcomes:
            for outcome in outcomes:
                store.add(outcome.rows)
                status.finish(outcome)
                view.update(outcome)
        failed = len(store.failures(among=cells))
        return Summary(status.total, status.before, status.computed, failed)


def _outcomes(
    tasks: Iterator[Task], status: RunStatus, jobs: int, threads: bool, cluster: str | None
) -> Generator[Outcome]:
    if status.done == status.total:
        return
    if cluster is not None:
        yield from run_on_cluster(tasks, cluster)
    else:
        n_jobs = effective_n_jobs(jobs)
        yield from run_here(tasks, n_jobs, threads=threads, started=status.start)


def _begin(
    store: Store, plan: Plan, datasets: dict[str, Dataset], command: str, **how: Any
) -> None:
    """Record in the store what the run is made with."""
    store.begin(
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command,
        environment={**describe_environment(), "blas_threads": 1, "run": how},
        protocol=plan.protocol,
        datasets=[
            {
                "name": data.name,
                "fingerprint": data.fingerprint,
                "samples": data.Y.shape[0],
                "features": data.X.shape[1],
                "labels": data.Y.shape[1],
            }
            for data in datasets.values()
        ],
        methods=[_describe_method(plan, name) for name in plan.methods],
        groups=[
            (plan.group, s.name, name, plan.protocol.repeats)
            for s in plan.sources
            for name in plan.methods
        ],
    )


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
