"""What the page finds: whether more rows would help, the worst mistakes, likely label errors."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from sklearn.isotonic import IsotonicRegression
from sklearn.utils import _safe_indexing

from labelkin._utils.names import abbreviate
from labelkin.base import Array
from labelkin.evaluation._figures import OutOfSample
from labelkin.explain._explain import explain
from labelkin.metrics import METRICS
from labelkin.metrics._estimators import labels_and_scores

if TYPE_CHECKING:
    from labelkin.evaluation._evaluation import Evaluation

# Parts of the training rows, besides all of them; folds, and training rows of a part.
PARTS = (1 / 8, 1 / 4, 1 / 2)
MOST_FOLDS = 5
_FEWEST_ROWS = 20
_SMALLEST_GAIN = 0.005
"""Gains of micro F1 below this are not worth collecting rows for."""

ASSUMED = 0.05
"""Share of each label's marks that is assumed to be wrong before the model is consulted."""

_PER_ROW = 2  # labels of one row that are listed
_MISTAKES = 20  # explained, all folds together
_VERDICTS = 5  # missed labels of a row, and as many false alarms
_PART = 60  # characters of a word or value
_SMALLEST_REASON = 0.05  # log odds; what adds less is not shown
NAME, WORDS = 80, 400  # characters of a label, and of a row in words
_SMALLEST = 1e-9


def measure_growth(found: "Evaluation", progress: Callable[..., None]) -> dict[str, Any] | None:
    """Return the learning curve of the best method, by models of parts of the training rows.

    A part holds the first of the training rows in a random order, so that larger parts contain
    the smaller ones. None for a model that is already fitted, and for few rows or one fold.
    """
    if found.fit_part is None:
        return None
    best = found.results[found.best].labels
    splits = found.splits[: min(found.folds, len(best), MOST_FOLDS)]
    n_train = min(len(train) for train, _ in splits)
    sizes = [size for part in PARTS if (size := round(part * n_train)) >= _FEWEST_ROWS]
    values = np.full((len(splits), len(sizes) + 1), np.nan)
    for number, (train, test) in enumerate(splits):
        order = np.random.default_rng(found.settings["seed"] + number).permutation(train)
        X, y = _safe_indexing(found.X, test), found.y[test]
        for place, size in enumerate(sizes):
            progress(completed=number * len(sizes) + place, description="learning curve")
            try:
                model = found.fit_part(found.best, number, order[:size])
                values[number, place] = METRICS["micro_f1"](y, labels_and_scores(model, X)[0])
            except ValueError:  # too few rows for this method or its decision
                continue
        values[number, -1] = METRICS["micro_f1"](y, best[number])
    usable = np.flatnonzero(~np.isnan(values).any(axis=0))
    if len(usable) < 2 or len(splits) < 2:
        return None
    return describe_growth([[*sizes, n_train][i] for i in usable], values[:, usable])


def describe_growth(sizes: list[int], values: Array) -> dict[str, Any]:
    """Return what the last doubling of the rows means, and the points of the learning curve.

    `values`, of shape (n_folds, n_sizes), is the micro F1 of test rows by the number of training
    rows.
    """
    gain, margin = _mean_and_margin(values[:, -1] - values[:, -2])
    low, high = gain - margin, gain + margin
    if low > _SMALLEST_GAIN / 2 and gain >= _SMALLEST_GAIN:
        verdict = "would help"
    elif high < 2 * _SMALLEST_GAIN:
        verdict = "would hardly help"
    else:
        verdict = "may help"
    sentence = (
        f"More rows {verdict}: from {sizes[-2]:,} to {sizes[-1]:,} training rows, "
        f"micro F1 changed by {100 * gain:+.1f} points "
        f"(95 % interval {100 * low:+.1f} to {100 * high:+.1f})."
    )
    return {
        "sentence": sentence,
        "points": list(zip(sizes, *map(np.ndarray.tolist, _mean_and_margin(values)), strict=True)),
    }


def _mean_and_margin(values: Array) -> tuple[Any, Any]:
    """Return the mean over the folds and half the width of its 95 % interval."""
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return values.mean(axis=0), stats.t.ppf(0.975, len(values) - 1) * error


def odds_against(y: Array, probability: Array, share: Array) -> Array:
    """Return how strongly a model is against each given label, as odds.

    With the probability p of a label that the share s of the rows has, these are

        the row lacks the label:  p / (1 - p)
        the row has it:           (1 - p) / p · s / (1 - s)

    Without the last factor, rows of a rare label, whose p is always low, would stand out most.
    `y` and `probability` have the shape (n, q), `share` (q,).
    """
    p = np.clip(probability, _SMALLEST, 1 - _SMALLEST)
    s = np.clip(share, _SMALLEST, 1 - _SMALLEST)
    return np.where(y.astype(bool), (1 - p) / p * s / (1 - s), p / (1 - p))


def worst_rows(found: OutOfSample, most: int) -> Array:
    """Return the positions of the worst mistakes, the largest first.

    The size of a row's mistake is the largest `odds_against` among its labels that were decided
    wrongly; for scores that are no probabilities, the largest distance from 0. Rows without a
    mistake are left out.
    """
    against = np.abs(found.scores)
    if found.are_probabilities:
        against = odds_against(found.has_label, found.scores, found.share)
    is_wrong = found.known & (found.labels.astype(bool) != found.has_label)
    sizes = np.where(is_wrong, against, -np.inf).max(axis=1)
    order = np.argsort(-sizes, kind="stable")[:most]
    return order[np.isfinite(sizes[order])]


def explain_mistakes(
    found: "Evaluation", once: OutOfSample, describe: Callable[[int], str]
) -> list[dict[str, Any]]:
    """Return the worst mistakes of the best method, explained by the models that made them.

    A mistake has its row, counted from 1, in words, verdicts on wrongly decided labels (kind,
    label, score and reasons, the most confident errors first), how many more there are, the labels
    that are right, and how the reasons were found. `once` are the predictions of the first folds.
    """
    models = found.results[found.best].models
    if not models:
        return []
    model_of = [model for model, (_, test) in zip(models, found.splits, strict=False) for _ in test]
    mistakes = []
    for i in worst_rows(once, _MISTAKES):
        row, model, scores = int(once.rows[i]), model_of[i], once.scores[i]
        given, predicted = once.has_label[i], once.labels[i].astype(bool) & once.known[i]
        why = None
        if hasattr(model, "predict_proba") or hasattr(model, "decision_function"):
            background = found.X if isinstance(found.X, np.ndarray) else None
            why = explain(model, _safe_indexing(found.X, [row]), background=background)
        missed, wrong = np.flatnonzero(given & ~predicted), np.flatnonzero(predicted & ~given)
        errors = [("missed", j) for j in missed[np.argsort(scores[missed])][:_VERDICTS].tolist()]
        errors += [("wrong", j) for j in wrong[np.argsort(-scores[wrong])][:_VERDICTS].tolist()]
        verdicts = [
            {
                "kind": kind,
                "label": abbreviate(once.label_names[j], NAME),
                "score": float(scores[j]),
                "reasons": [
                    (abbreviate(part, _PART), value)
                    for part, value in ([] if why is None else why.strongest_features(j))
                    if abs(value) >= _SMALLEST_REASON
                ],
            }
            for kind, j in errors
        ]
        right = ", ".join(once.label_names[j] for j in np.flatnonzero(given & predicted))
        mistakes.append(
            {
                "row": row + 1,
                "words": describe(row).strip('"'),
                "verdicts": verdicts,
                "more": len(missed) + len(wrong) - len(verdicts),
                "right": abbreviate(right, WORDS),
                "method": "" if why is None else why.method,
            }
        )
    return mistakes


def find_suspects(found: OutOfSample, most: int) -> tuple[list[dict[str, Any]], int]:
    """Return the most doubtful labels, and how many are more likely wrong than right.

    Of the rows that should have a label, the share `ASSUMED` is taken to lack it, and as many
    others to have it wrongly. By Bayes' rule the odds that a label is wrong are then `ASSUMED`
    times those of `odds_against`. A doubtful label has its row, counted from 1, its name,
    whether it is given, its predicted probability, and the probability that it is wrong, `doubt`.
    """
    if not found.are_probabilities:
        return [], 0
    odds = ASSUMED * odds_against(found.has_label, _correct(found), found.share)
    doubt = np.where(found.known, odds / (1 + odds), 0.0)
    count = int((doubt > 0.5).sum())
    order = np.argsort(-doubt, axis=None, kind="stable")[:count]
    listed: Counter[int] = Counter()
    suspects: list[dict[str, Any]] = []
    for i, j in zip(*np.unravel_index(order, doubt.shape), strict=True):
        # All labels of a row that is unlike the others would fill the list.
        listed[i] += 1
        if listed[i] <= _PER_ROW and len(suspects) < most:
            suspects.append(
                {
                    "row": int(found.rows[i]) + 1,
                    "label": abbreviate(found.label_names[j], NAME),
                    "given": bool(found.has_label[i, j]),
                    "probability": float(found.scores[i, j]),
                    "doubt": float(doubt[i, j]),
                }
            )
    return suspects, count


def _correct(found: OutOfSample) -> Array:
    """Return probabilities corrected where they are too certain, all labels together.

    A nondecreasing curve from probabilities to observed shares is fitted to all pairs of a row and
    a label, so that a single pair has hardly any influence on it. Of a probability and the curve's
    value, the one nearer to one half is taken. Both are kept away from 0 and 1 by as much as the
    number of pairs allows to tell.
    """
    smallest = 1 / (np.count_nonzero(found.known) + 2)
    curve = IsotonicRegression(y_min=smallest, y_max=1 - smallest, out_of_bounds="clip")
    curve.fit(found.scores[found.known], found.y[found.known].astype(float))
    fitted = curve.predict(found.scores.ravel())
    fitted = np.clip(fitted, smallest, 1 - smallest).reshape(found.scores.shape)
    given = np.clip(found.scores, smallest, 1 - smallest)
    return np.where(np.abs(fitted - 0.5) < np.abs(given - 0.5), fitted, given)
