"""Methods compared on the same folds: their figures, the best one, and its learning curve."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import RepeatedKFold
from sklearn.utils import _safe_indexing

from labelkin.cli._figures import Figures, evaluate_judged
from labelkin.cli._methods import Candidate
from labelkin.evaluation import Growth, fit_growth
from labelkin.metrics import METRICS
from labelkin.model_selection import RepeatedIterativeStratifiedKFold
from labelkin.tabular import TableClassifier, TrainingData

Split = tuple[np.ndarray, np.ndarray]
"""Positions of the training rows and of the test rows."""

# A learning curve: parts of the training rows, besides all of them, and folds at most.
PARTS = (1 / 8, 1 / 4, 1 / 2)
MOST_FOLDS = 5
_FEWEST_ROWS = 20


@dataclass
class FoldResults:
    """One method's figures and test predictions, fold by fold."""

    title: str
    figures: Figures = field(default_factory=dict)
    labels: list[np.ndarray] = field(default_factory=list)
    scores: list[np.ndarray] = field(default_factory=list)
    thresholds: list[np.ndarray] = field(default_factory=list)


@dataclass(frozen=True)
class FittedFold:
    """A model fitted on all rows but those of a fold, and its predictions for these."""

    model: TableClassifier
    X: Any
    """The rows of the fold, as the pipeline takes them."""
    test: np.ndarray
    """Their positions in the table."""
    labels: np.ndarray
    scores: np.ndarray
    fit_seconds: float
    predict_seconds: float


def split_rows(
    training: TrainingData, folds: int, repeats: int, stratified: bool, seed: int
) -> list[Split]:
    """Return the folds, shuffled anew in each repetition."""
    y = training.y
    if folds > len(y):
        raise ValueError(
            f"--folds {folds}: {training.source} has only {len(y)} rows; choose at most that "
            "many folds."
        )
    splitter = RepeatedIterativeStratifiedKFold if stratified else RepeatedKFold
    return list(splitter(n_splits=folds, n_repeats=repeats, random_state=seed).split(y, y))


def cross_validate(
    training: TrainingData,
    candidates: Sequence[Candidate],
    splits: Sequence[Split],
    metrics: Sequence[str],
    *,
    seconds: float | None = None,
    update: Callable[..., None] = lambda **_: None,
    inspect: Callable[[str, int, FittedFold], None] = lambda *_: None,
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
            fold = _fit_fold(training, candidate, number, split)
            figures = evaluate_judged(training.y[fold.test], fold.scores, fold.labels, metrics)
            figures |= {"fit_s": fold.fit_seconds, "predict_s": fold.predict_seconds}
            for key, value in figures.items():
                found.figures.setdefault(key, []).append(float(value))
            found.labels.append(fold.labels)
            found.scores.append(fold.scores)
            found.thresholds.append(fold.model.thresholds_)
            inspect(name, number, fold)
            done += 1
        now = time.perf_counter()
        if seconds is not None and now - started + (now - began) > seconds:
            break
    return results


def _fit_fold(
    training: TrainingData, candidate: Candidate, number: int, split: Split
) -> FittedFold:
    """Fit a method on the training rows and predict the test rows."""
    train, test = split
    X_train, X_test = _safe_indexing(training.X, train), _safe_indexing(training.X, test)
    model = candidate.make_model(training, fold=number)
    started = time.perf_counter()
    model.fit(X_train, training.y[train])
    fitted = time.perf_counter()
    labels, scores = model.predict_with_scores(X_test)
    predicted = time.perf_counter()
    return FittedFold(model, X_test, test, labels, scores, fitted - started, predicted - fitted)


def find_winner(results: Mapping[str, FoldResults], metric: str) -> tuple[str, str]:
    """Return the method with the best mean of a metric, and in words how far it leads the next."""
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
        lead = ": a close call, ahead" if 3 * ahead < 2 * len(best) else "; ahead"
        reason += f"{lead} in {ahead} of {len(best)} folds"
    return order[0], reason


def measure_growth(
    training: TrainingData,
    candidate: Candidate,
    splits: Sequence[Split],
    labels: Sequence[np.ndarray],
    update: Callable[..., None] = lambda **_: None,
) -> Growth | None:
    """Return the learning curve of a method: micro F1 of each fold by the number of training rows.

    `splits` are the folds and `labels` what was predicted for their test rows by models of all
    training rows. A part holds the first of the training rows in a random order, so that larger
    parts contain the smaller ones.
    """
    splits, labels = splits[:MOST_FOLDS], labels[:MOST_FOLDS]
    n_train = min(len(train) for train, _ in splits)
    sizes = [size for part in PARTS if (size := round(part * n_train)) >= _FEWEST_ROWS]
    counts = []
    for number, ((train, test), whole) in enumerate(zip(splits, labels, strict=True)):
        order = np.random.default_rng(candidate.seed + number).permutation(train)
        here = []
        for done, size in enumerate(sizes):
            update(completed=number * len(sizes) + done, description="learning curve")
            try:
                fold = _fit_fold(training, candidate, number, (order[:size], test))
            except ValueError:  # too few rows for this method or its decision
                here.append(np.full((len(test), 3), -1))
                continue
            here.append(_count(training.y[test], fold.labels))
        counts.append(np.stack([*here, _count(training.y[test], whole)], axis=1))
    pooled = np.concatenate(counts)
    usable = [i for i in range(len(sizes) + 1) if pooled[:, i].min() >= 0]
    folds = np.repeat(np.arange(len(counts)), [len(part) for part in counts])
    n_rows = [[*sizes, n_train][i] for i in usable]
    return fit_growth(n_rows, pooled[:, usable], folds, random_state=candidate.seed)


def _count(y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return each row's labels that are found, wrongly predicted and missed."""
    y, labels = y.astype(bool), labels.astype(bool)
    return np.column_stack([part.sum(axis=1) for part in (y & labels, labels & ~y, y & ~labels)])
