"""Where jobs run on this machine: this process, threads, or worker processes (joblib)."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from labelkin.experiments.run.cell import (
    Job,
    Outcome,
    execute,
    execute_in_worker,
    failed,
    follow_parent,
)

WORKER_DIED = "the worker process died: out of memory, or killed"


class Task(NamedTuple):
    """A job with its data."""

    job: Job
    X: Any
    Y: np.ndarray
    test: np.ndarray


def run_here(
    tasks: Iterable[Task],
    n_jobs: int,
    *,
    threads: bool = False,
    started: Callable[[Job], None] = lambda job: None,
) -> Iterator[Outcome]:
    """Run tasks on this machine; yield what becomes of each as soon as it is known.

    BLAS gets one thread in every case, so that figures do not depend on the number of jobs.

    Parameters
    ----------
    tasks : iterable of Task
        What to run; taken one by one, as there is room.
    n_jobs : int
        How many at a time. One alone runs in this process.
    threads : bool, default=False
        Threads of this process instead of processes of their own.
    started : callable
        Called with each job that is handed out.
    """
    if threads or n_jobs == 1:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = Parallel(
                n_jobs,
                backend="threading",
                return_as="generator_unordered",
                batch_size=1,
                pre_dispatch=n_jobs,
            )
            yield from run(_tell(started, delayed(execute), tasks))
        return
    yield from _in_processes(iter(tasks), n_jobs, started)


def _tell(
    started: Callable[[Job], None], call: Callable[..., Any], tasks: Iterable[Task]
) -> Iterator[Any]:
    for task in tasks:
        started(task.job)
        yield call(*task)


def _processes() -> parallel_config:
    """Have joblib start worker processes that end with this one, even if it is killed."""
    return parallel_config(
        "loky", inner_max_num_threads=1, initializer=follow_parent, initargs=(os.getpid(),)
    )


def _in_processes(
    tasks: Iterator[Task], n_jobs: int, started: Callable[[Job], None]
) -> Iterator[Outcome]:
    """Run in worker processes. Large arrays go to them once, as memory-mapped files.

    When a worker dies, joblib gives up all that were out with it. Those are then run one at a
    time, each in a process of its own: the guilty one is found, and fails alone.
    """
    out: dict[Job, Task] = {}

    def handed_out() -> Iterator[Task]:
        for task in tasks:
            out[task.job] = task
            yield task

    exhausted = False
    while not exhausted:
        try:
            with _processes():
                run = Parallel(n_jobs, return_as="generator_unordered", batch_size=1)
                for outcome in run(_tell(started, delayed(execute_in_worker), handed_out())):
                    del out[outcome.job]
                    yield outcome
            exhausted = True
        except BrokenProcessPool:
            for task in list(out.values()):
                yield _alone(task)
            out.clear()


def _alone(task: Task) -> Outcome:
    """Run one task in a process of its own; that it dies is the task's failure."""
    try:
        with _processes():
            return Parallel(2)([delayed(execute_in_worker)(*task)])[0]
    except BrokenProcessPool:
        return failed(task.job, WORKER_DIED)
