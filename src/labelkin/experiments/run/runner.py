"""From a plan to a filled store: compute the missing cells and write each when it is finished."""

import re
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs

from labelkin.experiments.run.environment import describe_environment
from labelkin.experiments.run.plan import Plan
from labelkin.experiments.run.sources import Dataset, Source
from labelkin.experiments.run.store import Store
from labelkin.experiments.run.variants import parse_variant
from labelkin.experiments.run.view import RunView
from labelkin.experiments.run.workers import run_jobs


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
    of its own. With `retry`, cells that failed are computed again. `command` is stored with the
    results: it repeats the run. `view` counts the cells and shows them; `loaded` is called
    with each dataset that is read. The stored rows of all cells of the plan are returned.
    """
    cells, view = plan.cells(), view or RunView()
    with Store(path, write=True) as store:
        rows = store.cells()
        done = {c for c, row in rows.items() if row["status"] == "ok" or not retry}
        stored = {cell: rows[cell] for cell in cells if cell in done}
        missing = set(cells) - stored.keys()
        # All datasets are read before the first cell: a bad file must not end a run at night.
        datasets = {}
        needed = {cell.dataset for cell in missing}
        for source in (source for source in plan.sources if source.name in needed):
            datasets[source.name] = source.load(with_test=plan.protocol.is_holdout)
            loaded(source, datasets[source.name])
        store.begin(
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=command,
            environment={**describe_environment(), "blas_threads": 1, "jobs": jobs},
            protocol=plan.protocol,
            datasets=map(_describe_dataset, datasets.values()),
            methods=[_describe_method(plan, name) for name in plan.methods],
        )
        view.begin(len(cells), len(stored))
        n_workers = effective_n_jobs(jobs) if missing else 1
        outcomes = run_jobs(plan.jobs(missing, datasets), n_workers)
        with closing(view), closing(outcomes):
            for outcome in outcomes:
                store.add(outcome)
                view.finish(outcome)
        rows = store.cells()
        return [rows[cell] for cell in cells]


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
