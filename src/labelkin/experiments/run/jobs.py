"""Jobs: fit once, predict, and evaluate; in this process, or in worker processes (joblib)."""

import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from labelkin.experiments.run.plan import Cell, Plan
from labelkin.experiments.run.sources import Dataset
from labelkin.experiments.run.store import BY_INDEX, FIGURES
from labelkin.experiments.run.variants import make_variant
from labelkin.methods import Method
from labelkin.metrics import evaluate
from labelkin.metrics._estimators import labels_and_scores

Row = dict[str, Any]  # of the results


class Job(NamedTuple):
    """A cell with what it is computed from."""

    cell: Cell
    method: Method
    data: Dataset
    test: np.ndarray
    """The rows that are predicted; all others train."""


def make_jobs(plan: Plan, missing: set[Cell], datasets: Mapping[str, Dataset]) -> Iterator[Job]:
    """Yield the jobs of a plan's missing cells."""
    for cell in plan.cells():
        if cell in missing:
            data = datasets[cell.dataset]
            tests = plan.protocol.test_rows(cell.dataset, cell.repeat, len(data.Y), data.test)
            yield Job(cell, plan.registry[cell.base], data, tests[cell.fold])


def _failed_row(job: Job, error: str, trace: str | None = None) -> Row:
    """Return the row of the results of a job that failed."""
    empty = dict.fromkeys(FIGURES)
    return vars(job.cell) | empty | {"status": "failed", "error": error, "traceback": trace}


def execute(job: Job) -> Row:
    """Fit, predict the test rows, and evaluate; return the row of the results.

    An error of the method becomes the result. A missing package is raised: once it is
    installed, the cell would not fail.
    """
    X, Y, test = job.data.X, np.asarray(job.data.Y), job.test
    train = np.delete(np.arange(len(Y)), test)
    try:
        # Indexing copies, so that no method can change the rows of another; asarray drops
        # joblib's memory maps, which some methods cannot use.
        X = np.asarray(X) if isinstance(X, np.ndarray) else X
        X_train, X_test = _safe_indexing(X, train), _safe_indexing(X, test)
        if job.data.preparation is not None:
            preparation = clone(job.data.preparation)
            X_train, X_test = preparation.fit_transform(X_train), preparation.transform(X_test)
        model = make_variant(job.cell.method, job.method, job.cell.seed)
        started = time.perf_counter()
        model.fit(X_train, Y[train])
        fitted = time.perf_counter()
        labels, scores = labels_and_scores(model, X_test)
        for found in (labels, scores):
            if found.shape != Y[test].shape:
                n, q = Y[test].shape
                raise ValueError(
                    f"{type(model).__name__} predicts the shape {found.shape} for {n} rows and {q} "
                    "labels."
                )
        seconds = {"fit_s": fitted - started, "predict_s": time.perf_counter() - fitted}
        by_index = evaluate(Y[test], scores, labels, metrics=BY_INDEX.values(), ties="index")
        ranked = {column: by_index[name] for column, name in BY_INDEX.items()}
        figures = evaluate(Y[test], scores, labels) | ranked | seconds
    except ImportError:
        raise
    except Exception as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        return _failed_row(job, message, traceback.format_exc())
    return vars(job.cell) | figures | {"status": "ok", "error": None}


# ------------------------------------------------------------------------------ workers


def run_jobs(jobs: Iterable[Job], n_workers: int) -> Generator[Row]:
    """Run jobs on this machine; yield the row of each as soon as it is there.

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


def _run_in_processes(jobs: Iterator[Job], n_workers: int) -> Iterator[Row]:
    """Run in worker processes, which receive large arrays once, as memory-mapped files.

    When a worker dies, joblib abandons all jobs that are running or queued. Those are then
    run one at a time, each in a process of its own, so that only the one that kills its
    process fails.
    """
    unfinished: dict[Cell, Job] = {}

    def calls() -> Iterator[Any]:
        for job in jobs:
            unfinished[job.cell] = job
            yield delayed(execute)(job)

    while True:
        try:
            with _worker_processes():
                run = Parallel(n_workers, return_as="generator_unordered", batch_size=1)
                for row in run(calls()):
                    del unfinished[Cell.of(row)]
                    yield row
            return
        except BrokenProcessPool:
            for job in list(unfinished.values()):
                try:
                    with _worker_processes():
                        yield Parallel(2)([delayed(execute)(job)])[0]
                except BrokenProcessPool:
                    yield _failed_row(job, "the worker process died: out of memory, or killed")
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
