"""Methods compared on the same folds, and the one to fit."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labelkin.cli import _compute
from labelkin.cli._data import TrainingData
from labelkin.cli._decisions import Decision
from labelkin.cli._figures import Figures, evaluate_judged
from labelkin.cli._methods import Candidate

if TYPE_CHECKING:
    import numpy as np

    Split = tuple[np.ndarray, np.ndarray]
    """Positions of the training rows and of the test rows."""


@dataclass
class FoldResults:
    """One method's figures and test predictions, fold by fold."""

    title: str
    figures: Figures = field(default_factory=dict)
    labels: "list[np.ndarray]" = field(default_factory=list)
    scores: "list[np.ndarray]" = field(default_factory=list)
    thresholds: "list[np.ndarray]" = field(default_factory=list)


@dataclass(frozen=True)
class FittedFold:
    """A pipeline fitted on all rows but those of a fold, and its predictions for these."""

    pipeline: Any
    X: Any
    """The rows of the fold, as the pipeline takes them."""
    test: "np.ndarray"
    """Their positions in the table."""
    labels: "np.ndarray"
    scores: "np.ndarray"
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class Winner:
    """The method with the best mean of a metric."""

    name: str
    reason: str
    """Its lead in words."""


def split_rows(
    training: TrainingData, folds: int, repeats: int, stratified: bool, seed: int
) -> "list[Split]":
    """Return the folds, shuffled anew in each repetition."""
    from sklearn.model_selection import RepeatedKFold

    from labelkin.model_selection import RepeatedIterativeStratifiedKFold

    y = training.y
    if folds > len(y):
        raise ValueError(
            f"--folds {folds}: {training.table.path} has only {len(y)} rows; choose at most that "
            "many folds."
        )
    splitter = RepeatedIterativeStratifiedKFold if stratified else RepeatedKFold
    return list(splitter(n_splits=folds, n_repeats=repeats, random_state=seed).split(y, y))


def cross_validate(
    training: TrainingData,
    candidates: Sequence[Candidate],
    splits: "Sequence[Split]",
    metrics: Sequence[str],
    *,
    decision: Decision | None = None,
    device: str | None = None,
    seconds: float | None = None,
    update: Callable[..., None] = lambda **_: None,
    inspect: Callable[[str, int, FittedFold], None] | None = None,
) -> dict[str, FoldResults]:
    """Return the results of each method by its name, all on the same folds.

    With `seconds`, methods whose first fold could not begin in time are left out, and no fold
    begins that would probably not end in time. `inspect` is called with the name of a method,
    the number of a fold and the model of that fold, which is not kept.
    """
    results: dict[str, FoldResults] = {}
    started = time.perf_counter()
    done = 0
    for number, split in enumerate(splits):
        began = time.perf_counter()
        for candidate in candidates:
            name = candidate.name
            late = seconds is not None and time.perf_counter() - started > seconds
            if (number and name not in results) or (results and not number and late):
                continue
            update(completed=done, description=candidate.title)
            found = results.setdefault(name, FoldResults(candidate.title))
            classifier = candidate.make(number)
            if decision is not None:
                classifier = decision.wrap(classifier, training.labels.names, candidate.seed)
            fold = fit_fold(training, classifier, split, device)
            _add_figures(training, fold, metrics, found)
            if inspect is not None:
                inspect(name, number, fold)
            done += 1
        now = time.perf_counter()
        if seconds is not None and now - started + (now - began) > seconds:
            break
    return results


def fit_fold(
    training: TrainingData, classifier: Any, split: "Split", device: str | None
) -> FittedFold:
    """Fit a classifier on the training rows and predict the test rows."""
    from sklearn.utils import _safe_indexing

    from labelkin.tabular import make_pipeline

    train, test = split
    X_train, X_test = _safe_indexing(training.X, train), _safe_indexing(training.X, test)
    pipeline = make_pipeline(training.schema, classifier)
    started = time.perf_counter()
    _compute.fit(pipeline, X_train, training.y[train], training.labels.names, device)
    fitted = time.perf_counter()
    labels, scores = _compute.predict(pipeline, X_test, device)
    predicted = time.perf_counter()
    return FittedFold(pipeline, X_test, test, labels, scores, fitted - started, predicted - fitted)


def _add_figures(
    training: TrainingData, fold: FittedFold, metrics: Sequence[str], results: FoldResults
) -> None:
    """Add the figures of a fold's test rows, with the seconds of fitting and predicting."""
    figures = evaluate_judged(training.y[fold.test], fold.scores, fold.labels, metrics)
    figures |= {"fit_s": fold.fit_seconds, "predict_s": fold.predict_seconds}
    for name, value in figures.items():
        results.figures.setdefault(name, []).append(float(value))
    results.labels.append(fold.labels)
    results.scores.append(fold.scores)
    results.thresholds.append(_compute.thresholds(fold.pipeline, fold.labels.shape[1]))


def find_winner(results: Mapping[str, FoldResults], metric: str) -> Winner:
    """Return the method with the best mean of a metric, and how far it leads the next."""
    import numpy as np

    from labelkin.metrics import METRICS

    measure = METRICS[metric]
    values = {name: np.array(found.figures[metric]) for name, found in results.items()}
    # An undefined mean comes last; of equal means the first method is chosen.
    ranks = {name: measure.sign * np.nanmean(v) for name, v in values.items()}
    order = sorted(values, key=lambda name: -np.nan_to_num(ranks[name], nan=-np.inf))
    factor = 100 if measure.percent else 1
    best = values[order[0]]
    reason = f"{measure.title} {factor * np.nanmean(best):.1f}"
    if len(order) > 1:
        other = values[order[1]]
        ahead = int((measure.sign * (best - other) > 0).sum())
        reason += f", then {order[1]} with {factor * np.nanmean(other):.1f}"
        if 3 * ahead < 2 * len(best):
            reason += f": a close call, ahead in {ahead} of {len(best)} folds"
        else:
            reason += f"; ahead in {ahead} of {len(best)} folds"
    return Winner(order[0], reason)
