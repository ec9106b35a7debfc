"""One job: fit once, predict, measure. This is what runs in workers."""

import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context
from threadpoolctl import threadpool_limits

from labelkin._utils.scoring import estimator_labels, estimator_scores
from labelkin.experiments.run.memory import PeakMemory
from labelkin.experiments.run.protocol import Cell
from labelkin.experiments.run.variants import parse_variant
from labelkin.metrics import PAPER_METRICS, evaluate
from labelkin.registry import Method


@dataclass(frozen=True)
class Job:
    """One fit and the cells that come from it: one, or one for each ensemble size."""

    cells: tuple[Cell, ...]
    method: Method = field(compare=False, repr=False)

    @property
    def dataset(self) -> str:
        """Name of the dataset."""
        return self.cells[0].dataset

    @property
    def sizes(self) -> tuple[int, ...]:
        """The ensemble sizes asked for; empty: the whole classifier."""
        return tuple(s for cell in self.cells if (s := parse_variant(cell.method).size))


@dataclass(frozen=True)
class Outcome:
    """What became of a job: a row for each of its cells."""

    job: Job
    rows: tuple[dict[str, Any], ...]


def failed(job: Job, error: str, peak_mb: float | None = None, trace: str | None = None) -> Outcome:
    """Return the outcome of a job that gave no figures."""
    empty = dict.fromkeys((*PAPER_METRICS, "fit_s", "predict_s"))
    told = {"status": "failed", "error": error, "traceback": trace}
    figures = {**empty, "peak_mb": peak_mb, **told}
    return Outcome(job, tuple(_row(cell, figures) for cell in job.cells))


def execute(job: Job, X: Any, Y: np.ndarray, test: np.ndarray) -> Outcome:
    """Fit on all rows but `test`, predict those, and measure by the seven metrics.

    An error of the method becomes a row that tells it. A missing package is no error of the
    method and is raised: with the package installed the cell would not fail.
    """
    figures, trace, error = [], None, None
    parts = _split(X, Y, test)
    with PeakMemory() as memory:
        try:
            figures = list(_figures(job, *parts))
        except ImportError:
            raise
        except Exception as caught:
            error = " ".join(f"{type(caught).__name__}: {caught}".split())
            trace = traceback.format_exc()
    if error is not None:
        return failed(job, error, memory.megabytes, trace)
    done = {"peak_mb": memory.megabytes, "status": "ok", "error": None}
    pairs = zip(job.cells, figures, strict=True)
    return Outcome(job, tuple(_row(cell, {**found, **done}) for cell, found in pairs))


def execute_in_worker(job: Job, X: Any, Y: np.ndarray, test: np.ndarray) -> Outcome:
    """Do the same in a process of our own: quiet, and on one core."""
    bound_blas()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return execute(job, X, Y, test)


def _row(cell: Cell, figures: dict[str, Any]) -> dict[str, Any]:
    place = {"dataset": cell.dataset, "method": cell.method}
    return {**place, "repeat": cell.repeat, "fold": cell.fold, **figures}


def _split(X: Any, Y: np.ndarray, test: np.ndarray) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return training samples and labels, test samples and labels; copies, so no cell harms X."""
    train = np.delete(np.arange(len(Y)), test)
    Y, X = np.asarray(Y), X if sparse.issparse(X) else np.asarray(X)  # no memory maps
    return X[train], Y[train], X[test], Y[test]


def _figures(
    job: Job, X_train: Any, Y_train: np.ndarray, X_test: Any, Y_test: np.ndarray
) -> Iterator[dict[str, Any]]:
    """Yield metrics and seconds for each cell of the job."""
    first, sizes = job.cells[0], job.sizes
    variant = parse_variant(first.method)
    model = variant.make(job.method, first.seed, max(sizes, default=None))
    fit_seconds = _fit(model, X_train, Y_train)
    staged = _staged(model, X_test) if sizes else _whole(model, X_test, Y_test.shape[1])
    last = len(fit_seconds)
    by_size = {}
    for size, (predict_seconds, scores, labels) in enumerate(staged, start=1):
        if sizes and size not in sizes:
            continue
        with config_context(skip_parameter_validation=True):  # the metrics check for themselves
            measured = evaluate(Y_test, scores, labels)
        by_size[size if sizes else None] = {
            **measured,
            "fit_s": fit_seconds[min(size, last) - 1 if sizes else -1],
            "predict_s": predict_seconds,
        }
    for cell in job.cells:
        yield by_size[parse_variant(cell.method).size]


def _fit(model: Any, X: Any, Y: np.ndarray) -> list[float]:
    """Fit; return the seconds until each member was done, where it tells, then in all."""
    seconds: list[float] = []
    started = time.perf_counter()
    if hasattr(model, "_after_member"):
        model._after_member = lambda *_: seconds.append(time.perf_counter() - started)
    model.fit(X, Y)
    return [*seconds, time.perf_counter() - started]


def _whole(model: Any, X: Any, n_labels: int) -> Iterator[tuple[float, Any, np.ndarray]]:
    """Yield seconds, scores and labels. Without scores the labels themselves rank."""
    started = time.perf_counter()
    labels = estimator_labels(model, X)
    scored = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    scores = estimator_scores(model, X, n_labels) if scored else labels.astype(float)
    yield time.perf_counter() - started, scores, labels


def _staged(model: Any, X: Any) -> Iterator[tuple[float, Any, np.ndarray]]:
    """Yield seconds, scores and labels of the first member, the first two, and so on.

    The seconds are those of the members' work so far, without what the caller does between.
    """
    seconds = 0.0
    stages = zip(model.staged_predict_proba(X), model.staged_predict(X), strict=True)
    while True:
        started = time.perf_counter()
        stage = next(stages, None)
        seconds += time.perf_counter() - started
        if stage is None:
            return
        yield seconds, *stage


@lru_cache(maxsize=1)
def bound_blas() -> None:
    """Bound BLAS and OpenMP to one thread for good; once a worker process."""
    threadpool_limits(1)


def follow_parent(parent: int) -> None:
    """Begin a worker process: leave Ctrl-C to the parent, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)  # killed, the parent cannot stop us: nobody waits for what we compute

    threading.Thread(target=watch, daemon=True).start()
