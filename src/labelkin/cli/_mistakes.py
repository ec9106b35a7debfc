"""The worst mistakes of an evaluation, explained."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labelkin.cli._compare import FittedFold
from labelkin.cli._data import FittedModel, TrainingData
from labelkin.cli._find_reasons import describe_rows, find_reasons

if TYPE_CHECKING:
    import numpy as np

    from labelkin.evaluation import Mistake

_MISTAKES = 20  # explained, all folds together


@dataclass
class FoldMistakes:
    """Collects the worst mistakes of each fold, explained while the fold's model exists."""

    training: TrainingData
    folds: int
    found: "dict[str, list[Mistake]]" = field(default_factory=dict)

    def __call__(self, name: str, number: int, fold: FittedFold) -> None:
        """Add the mistakes of a method in a fold; repetitions of the folds are passed over."""
        if number >= self.folds:
            return
        model = FittedModel(fold.pipeline, self.training.schema, self.training.labels)
        mistakes = explain_mistakes(
            model,
            fold.X,
            self.training.y[fold.test],
            fold.labels,
            fold.scores,
            most=-(-_MISTAKES // self.folds),
            positions=fold.test,
        )
        self.found.setdefault(name, []).extend(mistakes)

    def of(self, name: str) -> "list[Mistake]":
        """Return the mistakes of a method, the largest first."""
        return sorted(self.found.get(name, []), key=lambda one: -one.size)


def explain_mistakes(
    model: FittedModel,
    X: Any,
    y: "np.ndarray",
    labels: "np.ndarray",
    scores: "np.ndarray",
    *,
    most: int = _MISTAKES,
    positions: "np.ndarray | None" = None,
) -> "list[Mistake]":
    """Return the worst mistakes of a model, with what speaks for and against their labels.

    `positions` are those of the rows in the user's table, by default the same.
    """
    from labelkin.evaluation import Mistake, worst_rows

    describe = describe_rows(model.schema, X)
    has_scores = hasattr(model.model, "predict_proba") or hasattr(model.model, "decision_function")
    names = model.labels.names
    found = []
    for row, size in zip(*worst_rows(y, labels, scores, y.mean(axis=0), most), strict=True):
        given, predicted = y[row].astype(bool), labels[row].astype(bool)
        reasons, method = {}, ""
        if has_scores:
            # Missed labels are explained as if predicted: of the others only the likely ones are.
            why = find_reasons(model, X, int(row), predicted | given, scores[row], "", lambda _: "")
            reasons, method = dict(zip(why.labels, why.added, strict=True)), why.method
        found.append(
            Mistake(
                row=int(row if positions is None else positions[row]),
                words=describe(int(row)),
                missed=_scored(names, scores[row], given & ~predicted),
                wrong=_scored(names, scores[row], predicted & ~given),
                right=[name for name, _ in _scored(names, scores[row], given & predicted)],
                size=float(size),
                reasons=reasons,
                method=method,
            )
        )
    return found


def _scored(
    names: Sequence[str], scores: "np.ndarray", mask: "np.ndarray"
) -> list[tuple[str, float]]:
    """Return the labels of a mask with their scores."""
    return [(name, float(x)) for name, x, here in zip(names, scores, mask, strict=True) if here]
