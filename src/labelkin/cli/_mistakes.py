"""The worst mistakes of an evaluation, explained."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labelkin.cli._compare import FittedFold
from labelkin.cli._data import FittedModel, TrainingData

if TYPE_CHECKING:
    import numpy as np

    from labelkin.evaluation import Mistake
    from labelkin.tabular import Schema

_MISTAKES = 20  # explained, all folds together
_WORDS = 400  # characters of a row


def describe_rows(schema: "Schema", X: Any) -> Callable[[int], str]:
    """Return a function from a row's position to its text or, without any, its values."""
    if not hasattr(X, "iloc"):
        return lambda row: ""
    texts = schema.of_kind("text")

    def describe(row: int) -> str:
        cells = X.iloc[row]
        known = {name: cells[name] for name in (texts or X.columns) if cells[name] == cells[name]}
        if texts:
            words = " / ".join(" ".join(str(cell).split()) for cell in known.values() if cell)
        else:
            words = ", ".join(f"{name}={_cell(cell)}" for name, cell in known.items())
        return words if len(words) <= _WORDS else f"{words[: _WORDS - 1]}…"

    return describe


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


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
    from labelkin.cli._find_reasons import find_reasons
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
