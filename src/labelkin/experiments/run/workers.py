"""Where jobs run on this machine: this process, threads, or worker processes (joblib)."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import Any

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from labelkin.experiments.run.jobs import Job, Outcome, Task, execute, failed

WORKER_DIED = "the worker process died: out of memory, or killed"


def run_here(
    tasks: Iterable[Task],
    n_jobs: int,
    *,
    threads: bool = False,
    started: Callable[[Job], None] = lambda job: None,
) -> Generator[Outcome]:
    """Run tasks on this machine; yield each outcome as soon as there is one.

    BLAS gets one thread in every case, so that figures do not depend on the number of jobs. A
    single job at a time runs in this process. Tasks are consumed one by one, as workers become
    free; `started` is called with each job that is handed out, possibly from another thread.
    """

    def reported() -> Iterator[Task]:
        for task in tasks:
            started(task.job)
            yield task

    with warnings.catch_warnings():
        # Those of the methods, and joblib's about jobs that an interrupt cuts off.
        warnings.simplefilter("ignore")
        if n_jobs > 1 and not threads:
            yield from _run_in_processes(reported(), n_jobs)
            return
        run = Parallel(
            n_jobs, "threading", "generator_unordered", pre_dispatch=n_jobs, batch_size=1
        )
        with threadpool_limits(1):
            yield from run(delayed(execute)(task, n_jobs == 1) for task in reported())


def _run_in_processes(tasks: Iterator[Task], n_jobs: int) -> Iterator[Outcome]:
    """Run in worker processes, which receive large arrays once, as memory-mapped files.

    When a worker dies, joblib abandons all jobs that are running or queued. Those are then
    run one at a time, each in a process of its own, so that only the one that kills its
    process fails.
    """
    unfinished: dict[Job, Task] = {}

    def calls() -> Iterator[Any]:
        for task in tasks:
            unfinished[task.job] = task
            yield delayed(execute_alone)(task)

    exhausted = False
    while not exhausted:
        try:
            with _worker_processes():
                run = Parallel(n_jobs, return_as="generator_unordered", batch_size=1)
                for outcome in run(calls()):
                    del unfinished[outcome.job]
                    yield outcome
            exhausted = True
        except BrokenProcessPool:
            for job, task in list(unfinished.items()):
                try:
                    with _worker_processes():
                        yield Parallel(2)([delayed(execute_alone)(task)])[0]
                except BrokenProcessPool:
                    yield failed(job, WORKER_DIED)
            unfinished.clear()


def _worker_processes() -> parallel_config:
    """Make joblib start worker processes that end with this one, even if it is killed."""
    return parallel_config(
        "loky", inner_max_num_threads=1, initializer=_follow_parent, initargs=(os.getpid(),)
    )


def _follow_parent(parent: int) -> None:
    """Begin a worker process: leave Ctrl-C to the parent, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)  # a killed parent cannot stop its workers

    threading.Thread(target=watch, daemon=True).start()


def execute_alone(task: Task) -> Outcome:
    """Execute a task in a process that runs nothing else."""
    _bound_blas()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return execute(task)


@cache
def _bound_blas() -> None:
    """Bound BLAS and OpenMP to one thread for the life of the process."""
    threadpool_limits(1)
