"""Jobs on a Dask cluster.

Each dataset is sent to the workers once. When a worker dies, the scheduler gives its jobs to
others; data that were lost with it are sent again.
"""

from collections.abc import Iterable, Iterator
from importlib import metadata
from typing import Any

import labelkin
from labelkin._utils.optional import import_optional
from labelkin.experiments.run.jobs import Job, Outcome, execute, failed
from labelkin.experiments.run.workers import WORKER_DIED, Task, bound_blas
from labelkin.registry import ImportedFactory

_SECONDS_FOR_A_WORKER = 60  # enough for a worker to be restarted
_MOST_ATTEMPTS = 5  # submissions of a job whose data are lost


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
            yield from _ClusterRun(client, distributed).outcomes(list(tasks))
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


class _ClusterRun:
    """The data sent so far, and how often each job was submitted."""

    def __init__(self, client: Any, distributed: Any) -> None:
        self.client, self.distributed = client, distributed
        self.data: dict[str, Any] = {}
        self.attempts: dict[Job, int] = {}

    def outcomes(self, tasks: list[Task]) -> Iterator[Outcome]:
        factories = [task.job.method.make for task in tasks]
        files = {make.file for make in factories if isinstance(make, ImportedFactory)}
        for file in files - {None}:
            self.client.upload_file(str(file))
        pending = {self._submit(task): task for task in tasks}
        completed = self.distributed.as_completed(pending, loop=self.client.loop)
        for future in completed:
            task = pending.pop(future)
            outcome = self._outcome(future, task)
            if outcome is not None:
                yield outcome
                continue
            again = self._submit(task)
            pending[again] = task
            completed.add(again)

    def _outcome(self, future: Any, task: Task) -> Outcome | None:
        """Return a job's outcome; None where its data, or the outcome, were lost with a worker."""
        if future.status == "error":
            error = future.exception()
            if isinstance(error, self.distributed.KilledWorker):
                return failed(task.job, WORKER_DIED)
            raise error
        try:
            return future.result() if future.status == "finished" else None
        except self.distributed.CancelledError:
            return None

    def _submit(self, task: Task) -> Any:
        job = task.job
        self.attempts[job] = self.attempts.get(job, 0) + 1
        if self.attempts[job] > _MOST_ATTEMPTS:
            raise OSError(f"the data of {job.dataset} were lost {_MOST_ATTEMPTS} times")
        data = self.data.get(job.dataset)
        if data is None or (self.attempts[job] > 1 and data.status != "finished"):
            [data] = self.client.scatter(
                [(task.X, task.Y)],  # in a list, so that the pair is sent as one
                broadcast=True,
                hash=False,
                timeout=_SECONDS_FOR_A_WORKER,
            )
            self.data[job.dataset] = data
        return self.client.submit(_execute, job, data, task.test, pure=False)
