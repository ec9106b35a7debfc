"""Jobs: fit once, predict, and evaluate; in this process, or in worker processes (joblib)."""

import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from labelkin.experiments.run.plan import Cell, Plan
from labelkin.experiments.run.sources import Dataset
from labelkin.experiments.run.store import BY_INDEX, FIGURES
from labelkin.experiments.run.variants import parse_variant
from labelkin.methods import Method
from labelkin.metrics import evaluate
from labelkin.metrics._estimators import labels_and_scores

Rows = list[dict[str, Any]]  # of the results, one per cell of a job


class Job(NamedTuple):
    """One fit and the cells it fills: one, or one for each ensemble size."""

    cells: tuple[Cell, ...]
    method: Method
    data: Dataset
    test: np.ndarray
    """The rows that are predicted; all others train."""


def make_jobs(plan: Plan, missing: set[Cell], datasets: Mapping[str, Dataset]) -> Iterator[Job]:
    """Yield the jobs of a plan's missing cells; all ensemble sizes of a classifier are one fit."""
    groups: dict[Any, list[Cell]] = {}
    for cell in plan.cells():
        if cell in missing:
            variant = parse_variant(cell.method)
            fit = cell.method if variant.size is None else replace(variant, size=0)
            groups.setdefault((cell.dataset, cell.repeat, cell.fold, fit), []).append(cell)
    for (name, repeat, fold, _), cells in groups.items():
        method, data = plan.registry[parse_variant(cells[0].method).base], datasets[name]
        test_rows = plan.protocol.test_rows(name, repeat, len(data.Y), data.test)
        yield Job(tuple(cells), method, data, test_rows[fold])


def _failed_rows(job: Job, error: str, trace: str | None = None) -> Rows:
    """Return the rows of the results of a job that failed."""
    row = {**dict.fromkeys(FIGURES), "status": "failed", "error": error, "traceback": trace}
    return [{**vars(cell), **row} for cell in job.cells]


def execute(job: Job) -> Rows:
    """Fit, predict the test rows, and evaluate; return one row of the results per cell.

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
        figures = list(_evaluate(job, X_train, Y[train], X_test, Y[test]))
    except ImportError:
        raise
    except Exception as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        return _failed_rows(job, message, traceback.format_exc())
    pairs = zip(job.cells, figures, strict=True)
    return [{**vars(cell), **found, "status": "ok", "error": None} for cell, found in pairs]


def _evaluate(
    job: Job, X_train: Any, Y_train: np.ndarray, X_test: Any, Y_test: np.ndarray
) -> Iterator[dict[str, Any]]:
    """Yield metrics and seconds for each cell of the job; all sizes have the seconds of one."""
    variants = [parse_variant(cell.method) for cell in job.cells]
    sizes = [variant.size for variant in variants if variant.size is not None]
    model = variants[0].make(job.method, job.cells[0].seed, max(sizes, default=None))
    started = time.perf_counter()
    model.fit(X_train, Y_train)
    fitted = time.perf_counter()
    if sizes:
        staged = zip(model.staged_predict(X_test), model.staged_predict_proba(X_test), strict=True)
        stages = list(staged)
        predicted = [stages[size - 1] for size in sizes]
    else:
        predicted = [labels_and_scores(model, X_test)]
    seconds = {"fit_s": fitted - started, "predict_s": time.perf_counter() - fitted}
    for labels, scores in predicted:
        by_index = evaluate(Y_test, scores, labels, metrics=BY_INDEX.values(), ties="index")
        ranked = {column: by_index[name] for column, name in BY_INDEX.items()}
        yield {**evaluate(Y_test, scores, labels), **ranked, **seconds}


# ------------------------------------------------------------------------------ workers


def run_jobs(jobs: Iterable[Job], n_workers: int) -> Generator[Rows]:
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


def _run_in_processes(jobs: Iterator[Job], n_workers: int) -> Iterator[Rows]:
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
                    yield _failed_rows(job, "the worker process died: out of memory, or killed")
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
