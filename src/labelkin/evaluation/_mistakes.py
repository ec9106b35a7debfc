"""The rows whose labels were predicted worst, and given labels that are probably wrong."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from labelkin._utils.names import abbreviate
from labelkin.base import Array
from labelkin.evaluation._predictions import OutOfSample
from labelkin.explain._explain import describe_row, explain, find_vectorizers

if TYPE_CHECKING:
    from labelkin.evaluation._evaluation import Evaluation

ASSUMED = 0.05
"""Share of each label's marks that is assumed to be wrong before the model is consulted."""

_PER_ROW = 2  # labels of one row that are listed
_MISTAKES = 20  # explained, all folds together
_VERDICTS = 5  # missed labels of a row, and as many false alarms
_PART = 60  # characters of a word or value
_SMALLEST_REASON = 0.05  # log odds; what adds less is not shown
NAME, WORDS = 80, 400  # characters of a label, and of a row in words
_SMALLEST = 1e-9


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


def worst_rows(
    y: Array, labels: Array, scores: Array, share: Array, most: int
) -> tuple[Array, Array]:
    """Return positions and sizes of the worst mistakes, the largest first.

    The size of a row's mistake is the largest `odds_against` among its labels that were decided
    wrongly; for scores that are no probabilities, the largest distance from 0. Rows without a
    mistake are left out. `share` has the shape (q,), the others (n, q).
    """
    is_wrong = labels.astype(bool) != y.astype(bool)
    are_probabilities = scores.min() >= 0 and scores.max() <= 1
    against = odds_against(y, scores, share) if are_probabilities else np.abs(scores)
    sizes = np.where(is_wrong, against, -np.inf).max(axis=1)
    order = np.argsort(-sizes, kind="stable")[:most]
    order = order[np.isfinite(sizes[order])]
    return order, sizes[order]


def explain_mistakes(found: "Evaluation") -> list[dict[str, Any]]:
    """Return the worst mistakes of the best method, explained by the models that made them.

    A mistake has its row, counted from 1, in words, verdicts on wrongly decided labels (kind,
    label, score and reasons, the most confident errors first), how many more there are, the labels
    that are right, and how the reasons were found.
    """
    best = found.results[found.best]
    models = best.models[: found.folds]
    mistakes: list[tuple[float, dict[str, Any]]] = []
    for number, model in enumerate(models):
        test, labels, scores = found.splits[number][1], best.labels[number], best.scores[number]
        y = found.y[test]
        worst = worst_rows(y, labels, scores, y.mean(axis=0), -(-_MISTAKES // len(models)))
        for row, size in zip(*worst, strict=True):
            predicted = labels[row].astype(bool)
            mistakes.append((size, _explain(found, model, int(test[row]), predicted, scores[row])))
    return [one for _, one in sorted(mistakes, key=lambda pair: -pair[0])][:_MISTAKES]


def _explain(
    found: "Evaluation", model: Any, row: int, predicted: Array, scores: Array
) -> dict[str, Any]:
    given, names = found.y[row].astype(bool), found.label_names
    one = _safe_indexing(found.X, [row])
    why = None
    if hasattr(model, "predict_proba") or hasattr(model, "decision_function"):
        is_matrix = not (hasattr(one, "iloc") or isinstance(one, list) or sparse.issparse(one))
        why = explain(model, one, background=found.X if is_matrix else None)
    missed, wrong = np.flatnonzero(given & ~predicted), np.flatnonzero(predicted & ~given)
    errors = [("missed", j) for j in missed[np.argsort(scores[missed])][:_VERDICTS].tolist()]
    errors += [("wrong", j) for j in wrong[np.argsort(-scores[wrong])][:_VERDICTS].tolist()]
    verdicts = [
        {
            "kind": kind,
            "label": abbreviate(names[j], NAME),
            "score": float(scores[j]),
            "reasons": [
                (abbreviate(part, _PART), value)
                for part, value in ([] if why is None else why.strongest_features(j))
                if abs(value) >= _SMALLEST_REASON
            ],
        }
        for kind, j in errors
    ]
    right = ", ".join(names[j] for j in np.flatnonzero(given & predicted))
    return {
        "row": row + 1,
        "words": describe_row(one, find_vectorizers(model), WORDS)(0).strip('"'),
        "verdicts": verdicts,
        "more": int((given != predicted).sum()) - len(verdicts),
        "right": abbreviate(right, WORDS),
        "method": "" if why is None else why.method,
    }


def find_suspects(found: OutOfSample, most: int) -> tuple[list[dict[str, Any]], int]:
    """Return the most doubtful labels, and how many are more likely wrong than right.

    Of the rows that should have a label, the share `ASSUMED` is taken to lack it, and as many
    others to have it wrongly. By Bayes' rule the odds that a label is wrong are then `ASSUMED`
    times those of `odds_against`. A doubtful label has its row, counted from 1, its number,
    whether it is given, its predicted probability, and the probability that it is wrong, `doubt`.
    """
    if not found.are_probabilities:
        return [], 0
    odds = ASSUMED * odds_against(found.y, found.pooled_scores, found.y.mean(axis=0))
    doubt = odds / (1 + odds)
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
                    "label": int(j),
                    "given": bool(found.y[i, j]),
                    "probability": float(found.scores[i, j]),
                    "doubt": float(doubt[i, j]),
                }
            )
    return suspects, count
