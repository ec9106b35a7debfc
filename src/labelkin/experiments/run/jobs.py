"""One job: fit once, predict, and evaluate. This is what workers run."""

import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from labelkin.experiments.run.columns import BY_INDEX, METRIC_COLUMNS
from labelkin.experiments.run.memory import PeakMemory
from labelkin.experiments.run.protocol import Cell
from labelkin.experiments.run.variants import parse_variant
from labelkin.methods import Method
from labelkin.metrics import evaluate
from labelkin.metrics._estimators import labels_and_scores


@dataclass(frozen=True)
class Job:
    """One fit and the cells it fills: one, or one for each ensemble size."""

    cells: tuple[Cell, ...]
    method: Method = field(compare=False, repr=False)

    @property
    def dataset(self) -> str:
        """Name of the dataset."""
        return self.cells[0].dataset

    @property
    def sizes(self) -> tuple[int, ...]:
        """The ensemble sizes to evaluate; empty: the whole classifier."""
        return tuple(s for cell in self.cells if (s := parse_variant(cell.method).size))


@dataclass(frozen=True)
class Outcome:
    """The results of a job: one row per cell."""

    job: Job
    rows: tuple[dict[str, Any], ...]


def failed(job: Job, error: str, peak_mb: float | None = None, trace: str | None = None) -> Outcome:
    """Return the outcome of a job that failed."""
    empty = dict.fromkeys((*METRIC_COLUMNS, "fit_s", "predict_s"))
    row = {**empty, "peak_mb": peak_mb, "status": "failed", "error": error, "traceback": trace}
    return Outcome(job, tuple({**vars(cell), **row} for cell in job.cells))


def execute(job: Job, X: Any, Y: np.ndarray, test: np.ndarray) -> Outcome:
    """Fit on all rows but `test`, predict those, and evaluate the seven metrics.

    An error of the method becomes the outcome. A missing package is raised: once it is
    installed, the cell would not fail.
    """
    # Indexing copies, so that no method can change the rows of another; asarray drops joblib's
    # memory maps, which some methods cannot use.
    X, Y = X if sparse.issparse(X) else np.asarray(X), np.asarray(Y)
    train = np.delete(np.arange(len(Y)), test)
    parts = X[train], Y[train], X[test], Y[test]
    figures, trace, error = [], None, None
    with PeakMemory() as memory:
        try:
            figures = list(_evaluate(job, *parts))
        except ImportError:
            raise
        except Exception as caught:
            error = " ".join(f"{type(caught).__name__}: {caught}".split())
            trace = traceback.format_exc()
    if error is not None:
        return failed(job, error, memory.megabytes, trace)
    done = {"peak_mb": memory.megabytes, "status": "ok", "error": None}
    pairs = zip(job.cells, figures, strict=True)
    return Outcome(job, tuple({**vars(cell), **found, **done} for cell, found in pairs))


def _evaluate(
    job: Job, X_train: Any, Y_train: np.ndarray, X_test: Any, Y_test: np.ndarray
) -> Iterator[dict[str, Any]]:
    """Yield metrics and seconds for each cell of the job."""
    first, sizes = job.cells[0], job.sizes
    model = parse_variant(first.method).make(job.method, first.seed, max(sizes, default=None))
    fit_seconds = _fit(model, X_train, Y_train)
    if not sizes:
        started = time.perf_counter()
        labels, scores = labels_and_scores(model, X_test)
        yield _figures(Y_test, scores, labels, fit_seconds[-1], time.perf_counter() - started)
        return
    by_size = {}
    for size, (predict_seconds, scores, labels) in enumerate(_predict_staged(model, X_test), 1):
        if size in sizes:
            seconds = fit_seconds[min(size, len(fit_seconds)) - 1]
            by_size[size] = _figures(Y_test, scores, labels, seconds, predict_seconds)
    for size in sizes:
        yield by_size[size]


def _figures(
    Y: np.ndarray, scores: Any, labels: np.ndarray, fit_seconds: float, predict_seconds: float
) -> dict[str, float]:
    """Return the seven metrics, those of rankings with ties broken by label index, and times."""
    by_index = evaluate(Y, scores, labels, metrics=BY_INDEX.values(), ties="index")
    return {
        **evaluate(Y, scores, labels),
        **{column: by_index[name] for column, name in BY_INDEX.items()},
        "fit_s": fit_seconds,
        "predict_s": predict_seconds,
    }


def _fit(model: Any, X: Any, Y: np.ndarray) -> list[float]:
    """Fit; return the seconds until each member was fitted, where it reports that, then in all."""
    seconds: list[float] = []
    started = time.perf_counter()
    if hasattr(model, "_callback"):
        model._callback = lambda *_: seconds.append(time.perf_counter() - started)
    model.fit(X, Y)
    return [*seconds, time.perf_counter() - started]


def _predict_staged(model: Any, X: Any) -> Iterator[tuple[float, Any, np.ndarray]]:
    """Yield seconds, scores and labels of the first member, the first two, and so on.

    The seconds count the members' predictions so far, without the caller's work in between.
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
