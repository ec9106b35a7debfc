"""Where jobs run: in this process, or in worker processes (joblib)."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from labelkin.experiments.run.jobs import Job, execute, failed_rows
from labelkin.experiments.run.protocol import Cell

_Rows = list[dict[str, Any]]


def run_jobs(jobs: Iterable[Job], n_workers: int) -> Generator[_Rows]:
    """Run jobs on this machine; yield the rows of each as soon as they are there.

    BLAS gets one thread in every case, so that figures do not depend on the number of workers. One
    worker is this process. Jobs are consumed one by one, as workers become free.
    """
    with warnings.catch_warnings():
        # Those of the methods, and joblib's about jobs that an interrupt cuts off.
        warnings.simplefilter("ignore")
        if n_workers > 1:
            yield from _run_in_processes(iter(jobs), n_workers)
            return
        with threadpool_limits(1):
            yield from map(execute, jobs)


def _run_in_processes(jobs: Iterator[Job], n_workers: int) -> Iterator[_Rows]:
    """Run in worker processes, which receive large arrays once, as memory-mapped files.

    When a worker dies, joblib abandons all jobs that are running or queued. Those are then
    run one at a time, each in a process of its own, so that only the one that kills its
    process fails.
    """
    unfinished: dict[Cell, Job] = {}

    def calls() -> Iterator[Any]:
        for job in jobs:
            unfinished[job.cells[0]] = job
            yield delayed(execute)(job)

    exhausted = False
    while not exhausted:
        try:
            with _worker_processes():
                run = Parallel(n_workers, return_as="generator_unordered", batch_size=1)
                for rows in run(calls()):
                    del unfinished[Cell.of(rows[0])]
                    yield rows
            exhausted = True
        except BrokenProcessPool:
            for job in list(unfinished.values()):
                try:
                    with _worker_processes():
                        yield Parallel(2)([delayed(execute)(job)])[0]
                except BrokenProcessPool:
                    yield failed_rows(job, "the worker process died: out of memory, or killed")
            unfinished.clear()


def _worker_processes() -> parallel_config:
    """Make joblib start worker processes of one thread each that end with this one.

    They end even if it is killed.
    """
    return parallel_config(
        "loky", inner_max_num_threads=1, initializer=_follow_parent, initargs=(os.getpid(),)
    )


def _follow_parent(parent: int) -> None:
    """Begin a worker: leave Ctrl-C to the parent, show no warnings, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)  # a killed parent cannot stop its workers

    threading.Thread(target=watch, daemon=True).start()
