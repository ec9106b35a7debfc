"""From a plan to a filled store: which cells are missing, who computes them, who writes."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

from joblib import effective_n_jobs

from labelkin.experiments.run.cell import Job, Outcome
from labelkin.experiments.run.cluster import run_on_cluster
from labelkin.experiments.run.environment import describe_environment
from labelkin.experiments.run.live import View
from labelkin.experiments.run.pools import Task, run_here
from labelkin.experiments.run.progress import WATCHED, Progress
from labelkin.experiments.run.protocol import Cell, Protocol
from labelkin.experiments.run.sources import Dataset, Source
from labelkin.experiments.run.store import Store
from labelkin.experiments.run.variants import check_method, parse_variant
from labelkin.registry import Method

_MOST_UNWRITTEN = 64  # finished jobs that may wait for the disk before we wait too


@dataclass(frozen=True)
class Plan:
    """What is to be computed: every method on every dataset, by one protocol."""

    group: str
    sources: tuple[Source, ...]
    methods: tuple[str, ...]
    """Names, variants included."""
    registry: dict[str, Method]
    """The methods behind the names."""
    protocol: Protocol

    def __post_init__(self) -> None:
        if not self.sources or not self.methods:
            raise ValueError("There is nothing to run: no dataset or no method is asked for.")
        for name in self.methods:
            check_method(name, self.registry)
        names = [source.name for source in self.sources]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(
                f"Two datasets are called {twice.pop()!r}; name yours, as in --data name=path."
            )

    def cells(self) -> list[Cell]:
        """Return all cells, in the order in which they are computed."""
        return list(self.protocol.cells([s.name for s in self.sources], list(self.methods)))

    def title(self, method: str) -> str:
        """Return a method's name in print, with what is varied."""
        base, at, rest = method.partition("@")
        return self.registry[base].title + (f" {rest}" if at else "")

    def short_title(self, method: str) -> str:
        """Return only what is varied, where all are variants of one method."""
        varied = {name.partition("@")[::2] for name in self.methods}
        alone = len({base for base, _ in varied}) == 1 and all(rest for _, rest in varied)
        return method.partition("@")[2] if alone else self.title(method)


@dataclass(frozen=True)
class Summary:
    """How a run ended."""

    total: int
    before: int
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

    Parameters
    ----------
    plan : Plan
        What is wanted.
    path : path-like
        The store; it may hold any other cells.
    jobs : int, default=1
        How many jobs at a time; -1: one a core.
    threads : bool, default=False
        Threads instead of processes.
    cluster : str, optional
        Address of a Dask scheduler, to run there instead.
    retry : bool, default=False
        Whether cells that failed are computed again.
    command : str
        Stored with the results: how to do it again.
    view : View, optional
        Told what happens.
    """
    cells = plan.cells()
    with Store(path, write=True) as store:
        done = store.done(failed=not retry)
        missing = {cell for cell in cells if cell not in done}
        datasets = _load(plan, missing)
        _begin(store, plan, datasets, command, jobs=jobs, threads=threads, cluster=cluster)
        progress = Progress(cells, missing, store.metric(WATCHED))
        tasks = _tasks(plan, missing, datasets)
        if cluster is None:
            outcomes = run_here(
                tasks, effective_n_jobs(jobs), threads=threads, started=progress.start
            )
        else:
            outcomes = run_on_cluster(tasks, cluster)
        with view or View() as watcher:
            watcher.show(progress)

            def stored(outcome: Outcome) -> None:
                progress.store(outcome)
                watcher.stored(outcome)

            if missing:
                _store_all(store, outcomes, stored)
        return Summary(
            len(cells), progress.before, progress.stored, len(store.failures(among=cells))
        )


def make_jobs(plan: Plan, missing: Iterable[Cell]) -> list[Job]:
    """Group cells into jobs: ensemble sizes of one classifier come from one fit."""
    groups: dict[Any, list[Cell]] = {}
    for cell in missing:
        variant = parse_variant(cell.method)
        sizes_together = cell.method if variant.size is None else replace(variant, size=0)
        groups.setdefault((cell.dataset, cell.repeat, cell.fold, sizes_together), []).append(cell)
    return [
        Job(tuple(cells), plan.registry[parse_variant(cells[0].method).base])
        for cells in groups.values()
    ]


def _load(plan: Plan, missing: set[Cell]) -> dict[str, Dataset]:
    """Read the datasets with missing cells, all before the first cell: no surprise at night."""
    needed = {cell.dataset for cell in missing}
    return {source.name: source.load() for source in plan.sources if source.name in needed}


def _tasks(plan: Plan, missing: set[Cell], datasets: dict[str, Dataset]) -> Iterator[Task]:
    @lru_cache(maxsize=8)
    def folds(dataset: str, repeat: int) -> list:
        return plan.protocol.test_rows(dataset, repeat, datasets[dataset].Y)

    for job in make_jobs(plan, [cell for cell in plan.cells() if cell in missing]):
        cell, data = job.cells[0], datasets[job.dataset]
        yield Task(job, data.X, data.Y, folds(cell.dataset, cell.repeat)[cell.fold])


def _store_all(
    store: Store, outcomes: Iterator[Outcome], stored: Callable[[Outcome], None]
) -> None:
    """Write what is finished while the next is computed, a transaction each.

    Waiting for the disk takes longer than all else in a small cell. What finishes while the
    disk is busy goes into the next transaction together, so that nothing finished ever waits
    for more than one write. Whatever ends the run, what was finished is written.
    """
    finished: Queue[Outcome | None] = Queue(_MOST_UNWRITTEN)
    trouble: list[BaseException] = []

    def write() -> None:
        open_ended = True
        while open_ended:
            waiting = [finished.get()]
            while not finished.empty():
                waiting.append(finished.get())
            open_ended = waiting[-1] is not None
            together = [outcome for outcome in waiting if outcome is not None]
            if together and not trouble:  # after trouble only make room, until we are told to end
                try:
                    store.add(row for outcome in together for row in outcome.rows)
                    for outcome in together:
                        stored(outcome)
                except BaseException as error:
                    trouble.append(error)

    writer = Thread(target=write)
    writer.start()
    try:
        for outcome in outcomes:
            finished.put(outcome)
            if trouble:
                break
    finally:
        finished.put(None)
        writer.join()
    if trouble:
        raise trouble[0]


def _begin(
    store: Store, plan: Plan, datasets: dict[str, Dataset], command: str, **how: Any
) -> None:
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
        methods=[_description(plan, name) for name in plan.methods],
        groups=[(plan.group, s.name, name) for s in plan.sources for name in plan.methods],
    )


def _description(plan: Plan, name: str) -> dict[str, str]:
    variant = parse_variant(name)
    method = plan.registry[variant.base]
    model = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(variant.make(method, 0)))
    return {
        "name": name,
        "title": plan.title(name),
        "settings": method.settings,
        "estimator": " ".join(model.split()),
    }
