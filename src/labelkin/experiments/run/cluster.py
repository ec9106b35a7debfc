"""Jobs on a Dask cluster.

Each dataset is sent to the scheduler once, as a task that gives it to the workers. When a worker
dies, the scheduler gives its jobs to others, and runs that task again if no worker has the data.
"""

from collections.abc import Iterable, Iterator
from importlib import metadata
from typing import Any

import labelkin
from labelkin._utils.optional import import_optional
from labelkin.experiments.run.jobs import Job, Outcome, execute, failed
from labelkin.experiments.run.workers import WORKER_DIED, Task, bound_blas
from labelkin.methods import ImportedFactory
from labelkin.rows import constant, large_graphs


def run_on_cluster(
    tasks: Iterable[Task], address: str, *, timeout: float = 10
) -> Iterator[Outcome]:
    """Run tasks on the Dask cluster of a scheduler; yield each outcome as soon as there is one."""
    distributed = import_optional("distributed", "cluster")
    try:
        client = distributed.Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        raise OSError(f"cluster {address}: no Dask scheduler answers there.") from error
    with client:
        _check_versions(client, address)
        try:
            yield from _outcomes(client, distributed, list(tasks))
        except (TimeoutError, OSError) as error:
            raise OSError(
                f"cluster {address}: it does not answer any more ({error}); all finished "
                "cells are stored."
            ) from error


def _check_versions(client: Any, address: str) -> None:
    """Raise an error for workers with another labelkin: one table must come from one code."""
    try:
        found = set(client.run(metadata.version, "labelkin").values())
    except metadata.PackageNotFoundError:
        raise ValueError(f"cluster {address}: labelkin is not installed on the workers.") from None
    if found - {labelkin.__version__}:
        raise ValueError(
            f"cluster {address}: the workers have labelkin {', '.join(sorted(found))} and "
            f"this is {labelkin.__version__}; install the same version."
        )


def _execute(job: Job, data: tuple[Any, Any], test: Any) -> Outcome:
    bound_blas()
    return execute(job, *data, test)


def _outcomes(client: Any, distributed: Any, tasks: list[Task]) -> Iterator[Outcome]:
    factories = [task.job.method.make for task in tasks]
    for file in {make.file for make in factories if isinstance(make, ImportedFactory)} - {None}:
        client.upload_file(str(file))
    data: dict[str, Any] = {}
    pending: dict[Any, Task] = {}
    with large_graphs():
        for task in tasks:
            name = task.job.dataset
            if name not in data:
                data[name] = client.compute(constant((task.X, task.Y)))
            pending[client.submit(_execute, task.job, data[name], task.test, pure=False)] = task
    # Outcomes are fetched side by side: one that is lost with its worker, and computed again,
    # does not hold up the others.
    for future, outcome in distributed.as_completed(
        pending, loop=client.loop, with_results=True, raise_errors=False
    ):
        task = pending.pop(future)
        if isinstance(outcome, Outcome):
            yield outcome
            continue
        error = outcome[1] if isinstance(outcome, tuple) else outcome  # of the task, or cancelled
        if not isinstance(error, distributed.KilledWorker):
            raise error
        yield failed(task.job, WORKER_DIED)
