"""One job: fit once, predict, and evaluate. This is what workers run."""

import time
import traceback
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from labelkin.experiments.run.protocol import Cell
from labelkin.experiments.run.sources import Dataset
from labelkin.experiments.run.store import BY_INDEX, FIGURES
from labelkin.experiments.run.variants import parse_variant
from labelkin.methods import Method
from labelkin.metrics import evaluate
from labelkin.metrics._estimators import labels_and_scores


class Job(NamedTuple):
    """One fit and the cells it fills: one, or one for each ensemble size."""

    cells: tuple[Cell, ...]
    method: Method
    data: Dataset
    test: np.ndarray
    """The rows that are predicted; all others train."""


def failed_rows(job: Job, error: str, trace: str | None = None) -> list[dict[str, Any]]:
    """Return the rows of the results of a job that failed."""
    row = {**dict.fromkeys(FIGURES), "status": "failed", "error": error, "traceback": trace}
    return [{**vars(cell), **row} for cell in job.cells]


def execute(job: Job) -> list[dict[str, Any]]:
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
        return failed_rows(job, message, traceback.format_exc())
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
        labels, scores = (
            list(model.staged_predict(X_test)),
            list(model.staged_predict_proba(X_test)),
        )
        predicted = [(labels[size - 1], scores[size - 1]) for size in sizes]
    else:
        predicted = [labels_and_scores(model, X_test)]
    seconds = {"fit_s": fitted - started, "predict_s": time.perf_counter() - fitted}
    for labels, scores in predicted:
        by_index = evaluate(Y_test, scores, labels, metrics=BY_INDEX.values(), ties="index")
        ranked = {column: by_index[name] for column, name in BY_INDEX.items()}
        yield {**evaluate(Y_test, scores, labels), **ranked, **seconds}
