"""Jobs on a Dask cluster: ``--cluster tcp://scheduler:8786``.

Each dataset is sent to the workers once. A worker that dies costs the time of what it was
doing: the scheduler gives that to others, and data that died with it are sent again.
"""

from collections.abc import Iterable, Iterator
from importlib import metadata
from typing import Any

import labelkin
from labelkin._utils.optional import import_optional
from labelkin.experiments.run.cell import Job, Outcome, bound_blas, execute, failed
from labelkin.experiments.run.pools import WORKER_DIED, Task
from labelkin.registry import ImportedFactory

_TIMEOUT = 10  # seconds in which the scheduler must answer
_PATIENCE = 60  # seconds in which a worker must be there, if only a restarted one
_ATTEMPTS = 5  # times that a task's data may be lost before we give up


def run_on_cluster(tasks: Iterable[Task], address: str) -> Iterator[Outcome]:
    """Run tasks on the cluster at `address`; yield what becomes of each as it is known."""
    distributed = import_optional("distributed", "cluster")
    try:
        client = distributed.Client(address, timeout=_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise OSError(f"--cluster {address}: no Dask scheduler answers there.") from error
    with client:
        _check_versions(client, address)
        try:
            yield from _Run(client, distributed).outcomes(list(tasks))
        except (TimeoutError, OSError) as error:
            raise OSError(
                f"--cluster {address}: the cluster does not answer any more ({error}); "
                "what was finished is stored."
            ) from error


def _check_versions(client: Any, address: str) -> None:
    """Refuse workers with another labelkin: one table must come from one code."""
    try:
        found = set(client.run(metadata.version, "labelkin").values())
    except metadata.PackageNotFoundError:
        raise ValueError(
            f"--cluster {address}: labelkin is not installed on the workers."
        ) from None
    if found - {labelkin.__version__}:
        raise ValueError(
            f"--cluster {address}: the workers have labelkin {', '.join(sorted(found))} and "
            f"this is {labelkin.__version__}; install the same."
        )


def _execute(job: Job, data: tuple[Any, Any], test: Any) -> Outcome:
    bound_blas()
    return execute(job, *data, test)


class _Run:
    """One run: what was sent, and what is out."""

    def __init__(self, client: Any, distributed: Any) -> None:
        self.client, self.distributed = client, distributed
        self.sent: dict[str, Any] = {}
        self.attempts: dict[Job, int] = {}

    def outcomes(self, tasks: list[Task]) -> Iterator[Outcome]:
        for file in {
            t.job.method.make.file for t in tasks if isinstance(t.job.method.make, ImportedFactory)
        }:
            if file is not None:
                self.client.upload_file(str(file))
        out = {self._submit(task): task for task in tasks}
        completed = self.distributed.as_completed(out, loop=self.client.loop)
        for future in completed:
            task = out.pop(future)
            outcome = self._outcome(future, task)
            if outcome is not None:
                yield outcome
                continue
            again = self._submit(task, fresh=True)
            out[again] = task
            completed.add(again)

    def _outcome(self, future: Any, task: Task) -> Outcome | None:
        """Return what came out; None: the data, or the outcome, went with a worker."""
        if future.status == "error":
            return self._failure(future, task)
        try:
            return future.result() if future.status == "finished" else None
        except self.distributed.CancelledError:
            return None

    def _submit(self, task: Task, *, fresh: bool = False) -> Any:
        job = task.job
        self.attempts[job] = self.attempts.get(job, 0) + 1
        if self.attempts[job] > _ATTEMPTS:
            raise OSError(f"the data of {job.dataset} were lost {_ATTEMPTS} times")
        held = self.sent.get(job.dataset)
        if held is None or (fresh and held.status != "finished"):
            data = [(task.X, task.Y)]  # in a list: the pair is one thing to send
            [held] = self.client.scatter(data, broadcast=True, hash=False, timeout=_PATIENCE)
            self.sent[job.dataset] = held
        return self.client.submit(_execute, job, held, task.test, pure=False)

    def _failure(self, future: Any, task: Task) -> Outcome:
        error = future.exception()
        if isinstance(error, self.distributed.KilledWorker):
            return failed(task.job, WORKER_DIED)
        raise error
