"""The rows whose labels were predicted worst, and given labels that are probably wrong."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from labelkin.base import Array
from labelkin.evaluation._predictions import OutOfSample
from labelkin.explain import describe_row, explain, find_vectorizers

if TYPE_CHECKING:
    from labelkin.evaluation._evaluation import Evaluation

ASSUMED = 0.05
"""Share of each label's marks that is assumed to be wrong before the model is consulted."""

_PER_ROW = 2  # labels of one row that are listed
_MISTAKES = 20  # explained, all folds together
_WORDS = 400  # characters of a row in words
_SMALLEST = 1e-9


@dataclass(frozen=True)
class Mistake:
    """A row with wrongly predicted labels, and what led to them."""

    row: int
    """Position in the user's table."""
    words: str
    """The row, in words."""
    missed: list[tuple[str, float]]
    """True labels that were not predicted, with their scores."""
    wrong: list[tuple[str, float]]
    """Predicted labels that are not true, with their scores."""
    right: list[str]
    """Labels that are true and predicted."""
    size: float
    """How bad it is, by `worst_rows`."""
    reasons: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    """For missed and wrong labels: words or values with what they add to the log odds."""
    method: str = ""
    """How the reasons were found."""


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


def explain_mistakes(found: "Evaluation") -> list[Mistake]:
    """Return the worst mistakes of the best method, explained by the models that made them."""
    best = found.results[found.best]
    models = best.models[: found.folds]
    mistakes: list[Mistake] = []
    for number, model in enumerate(models):
        test, labels, scores = found.splits[number][1], best.labels[number], best.scores[number]
        y = found.y[test]
        most = -(-_MISTAKES // len(models))
        for row, size in zip(*worst_rows(y, labels, scores, y.mean(axis=0), most), strict=True):
            mistakes.append(
                _explain_mistake(found, model, int(test[row]), labels[row], scores[row], size)
            )
    return sorted(mistakes, key=lambda one: -one.size)


def _explain_mistake(
    found: "Evaluation", model: Any, row: int, labels: Array, scores: Array, size: float
) -> Mistake:
    given, predicted, names = found.y[row].astype(bool), labels.astype(bool), found.label_names
    one = _safe_indexing(found.X, [row])
    reasons: dict[str, list[tuple[str, float]]] = {}
    method = ""
    if hasattr(model, "predict_proba") or hasattr(model, "decision_function"):
        is_matrix = not (hasattr(one, "iloc") or isinstance(one, list) or sparse.issparse(one))
        why = explain(model, one, background=found.X if is_matrix else None)
        reasons = {
            names[j]: why.strongest_features(int(j)) for j in np.flatnonzero(given != predicted)
        }
        method = why.method

    def scored(mask: Array) -> list[tuple[str, float]]:
        return [(names[j], float(scores[j])) for j in np.flatnonzero(mask)]

    return Mistake(
        row=row,
        words=describe_row(one, find_vectorizers(model), _WORDS)(0).strip('"'),
        missed=scored(given & ~predicted),
        wrong=scored(predicted & ~given),
        right=[name for name, _ in scored(given & predicted)],
        size=float(size),
        reasons=reasons,
        method=method,
    )


@dataclass(frozen=True)
class Suspect:
    """A row and a label of it that was probably given, or left out, by mistake."""

    row: int
    """Position in the user's table."""
    label: int
    given: bool
    """Whether the row has the label."""
    probability: float
    """What the model predicts for it, out of sample."""
    doubt: float
    """Probability that the given label is wrong."""


def find_suspects(found: OutOfSample, most: int) -> tuple[list[Suspect], int]:
    """Return the most doubtful labels, and how many are more likely wrong than right.

    Of the rows that should have a label, the share `ASSUMED` is taken to lack it, and as many
    others to have it wrongly. By Bayes' rule the odds that a label is wrong are then `ASSUMED`
    times those of `odds_against`.
    """
    if not found.are_probabilities:
        return [], 0
    present = found.y.astype(bool)
    odds = ASSUMED * odds_against(found.y, found.pooled_scores, found.y.mean(axis=0))
    doubt = odds / (1 + odds)
    count = int((doubt > 0.5).sum())
    order = np.argsort(-doubt, axis=None, kind="stable")[:count]
    listed: dict[int, int] = {}
    suspects: list[Suspect] = []
    for i, j in zip(*np.unravel_index(order, doubt.shape), strict=True):
        if len(suspects) == most:
            break
        # All labels of a row that is unlike the others would fill the list.
        listed[i] = listed.get(i, 0) + 1
        if listed[i] > _PER_ROW:
            continue
        suspects.append(
            Suspect(
                int(found.rows[i]),
                int(j),
                bool(present[i, j]),
                float(found.scores[i, j]),
                float(doubt[i, j]),
            )
        )
    return suspects, count
