"""Finds why a model predicts the labels of one row, in an evaluation of its worst mistakes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from labelkin._utils.names import abbreviate
from labelkin.cli._reasons import SPOKEN_LABELS, Member, Reasons
from labelkin.tabular import Schema, TableClassifier, TrainingData
from labelkin.tabular._occlusion import occlude, words_as_written

if TYPE_CHECKING:
    from labelkin.cli._compare import FittedFold
    from labelkin.evaluation import Mistake

_LABELS = 8  # shown, besides all predicted ones
_REASONS = 5  # shown for each label
_SMALLEST = 0.05  # log odds; what adds less is not shown
_NEIGHBORS = 5
_SPEAKERS = 2  # training rows for each label, and against it
_MISTAKES = 20  # explained, all folds together


def describe_rows(schema: Schema, X: Any, longest: int = 400) -> Callable[[int], str]:
    """Return a function from a row's position to its texts or, without any, its values.

    `longest` is the number of characters; rows of a plain matrix are described by nothing.
    """
    if not hasattr(X, "iloc"):
        return lambda row: ""
    texts = schema.of_kind("text")

    def describe(row: int) -> str:
        cells = {name: X[name].iloc[row] for name in (texts or X.columns)}
        known = {name: cell for name, cell in cells.items() if cell is not None and cell == cell}
        if texts:
            words = " / ".join(" ".join(str(cell).split()) for cell in known.values() if cell)
        else:
            words = ", ".join(f"{name}={_cell(cell)}" for name, cell in known.items())
        return abbreviate(words, longest)

    return describe


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def find_reasons(
    saved: TableClassifier,
    X: Any,
    row: int,
    labels: np.ndarray,
    scores: np.ndarray,
    title: str = "",
    describe: Callable[[int], str] = lambda row: "",
) -> Reasons:
    """Return what speaks for and against each label of a row.

    `labels` and `scores` are the predictions for that row, of shape (q,); `describe` returns a
    training row in words.
    """
    explanation = _explain(saved.pipeline_, X, row)
    if hasattr(explanation, "contributions"):
        texts = saved.schema_.of_kind("text")
        written = words_as_written(saved.pipeline_, texts, X.iloc[[row]]) if texts else {}
        known = set(saved.schema_.columns or ())
        parts = [explanation.feature_names[i] for i in explanation.features]
        parts = [part if part in known else written.get(part, part) for part in parts]
        effects = explanation.contributions
        method = "log odds that each word or value adds"
    else:
        parts, effects = occlude(saved.pipeline_, saved.schema_, X, row, len(labels))
        method = "change of the log odds when a word or value is removed"
    ranking = np.argsort(-scores, kind="stable").tolist()
    order = [j for rank, j in enumerate(ranking) if rank < _LABELS or labels[j]]
    names = saved.label_columns_.names
    members, speakers, near = _find_rows(explanation, order)
    return Reasons(
        title,
        [names[j] for j in order],
        [bool(labels[j]) for j in order],
        [float(scores[j]) for j in order],
        [_largest(parts, effects[j]) for j in order],
        method,
        members,
        speakers,
        [_in_words(sample, tags, names, describe) for sample, tags in near],
    )


def _largest(parts: list[str], effects: np.ndarray) -> list[tuple[str, float]]:
    order = np.argsort(-np.abs(effects), kind="stable")[:_REASONS]
    return [(parts[i], float(effects[i])) for i in order if abs(effects[i]) >= _SMALLEST]


def _explain(model: Any, X: Any, row: int) -> Any:
    """Return the classifier's own explanation of a row, None if it has none."""
    x = X.iloc[[row]] if hasattr(X, "iloc") else X[[row]]
    names = None
    while hasattr(model, "steps") or hasattr(model, "estimator_"):
        if hasattr(model, "steps"):
            for _, step in model.steps[:-1]:
                x = step.transform(x)
                names = _feature_names(step, names)
            model = model.steps[-1][1]
        else:
            model = model.estimator_
    if not hasattr(model, "explain"):
        return None
    # Columns and words are occluded by themselves: several features each.
    options = {"feature_names": names, "max_features": 0}
    known = signature(model.explain).parameters
    return model.explain(x, **{name: options[name] for name in options if name in known})


def _feature_names(step: Any, names: Any) -> Any:
    """Return the names of a fitted step's features, None where it has none.

    Those of a `ColumnTransformer` are put together here: it refuses a word of a text that is
    also the name of a column.
    """
    if hasattr(step, "transformers_"):
        found: list[str] = []
        for _, part, columns in step.transformers_:
            columns = [columns] if isinstance(columns, str) else columns
            found += [] if part == "drop" else list(part.get_feature_names_out(columns))
        return found
    return step.get_feature_names_out(names) if hasattr(step, "get_feature_names_out") else None


def _find_rows(why: Any, order: list[int]) -> tuple[list[Member], list[Any], list[Any]]:
    """Return members, and training rows for and against labels, where a model has any.

    Last come the training rows to show, with their labels: those that are most similar, and those
    that are named for a label.
    """
    if hasattr(why, "neighbors"):
        return [], [], list(zip(why.neighbors, why.neighbor_labels, strict=True))[:_NEIGHBORS]
    if not hasattr(why, "member_effects"):
        return [], [], []
    members = [
        Member(
            name,
            float(why.member_weights[i]),
            why.member_probability[i, order].tolist(),
            why.member_effects[i, order].tolist(),
        )
        for i, name in enumerate(why.member_names)
    ]
    speakers = [_speakers(why, j) for j in order]
    named = {row - 1 for rows in speakers[:SPOKEN_LABELS] for row, _ in rows}
    rows = enumerate(zip(why.rows.tolist(), why.row_labels, strict=True))
    near = [pair for rank, pair in rows if rank < _NEIGHBORS or pair[0] in named]
    return members, speakers, near


def _in_words(sample: int, labels: Any, names: Any, describe: Any) -> str:
    tags = ", ".join(name for name, here in zip(names, labels, strict=True) if here)
    return f"training row {sample + 1}{describe(int(sample))}: {tags or 'no label'}"


def _speakers(explanation: Any, label: int) -> list[tuple[int, float]]:
    """Return training rows, counted from 1, for and against a label, and what they add."""
    rows = [row for sign in (1, -1) for row in explanation.strongest_rows(label, sign, _SPEAKERS)]
    return [(int(row) + 1, float(explanation.row_effects[row, label])) for row in rows]


@dataclass
class FoldMistakes:
    """Collects the worst mistakes of each fold, explained while the fold's model exists."""

    training: TrainingData
    folds: int
    found: "dict[str, list[Mistake]]" = field(default_factory=dict)

    def __call__(self, name: str, number: int, fold: "FittedFold") -> None:
        """Add the mistakes of a method in a fold; repetitions of the folds are passed over."""
        if number >= self.folds:
            return
        mistakes = explain_mistakes(
            fold.model,
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
    model: TableClassifier,
    X: Any,
    y: np.ndarray,
    labels: np.ndarray,
    scores: np.ndarray,
    *,
    most: int = _MISTAKES,
    positions: np.ndarray | None = None,
) -> "list[Mistake]":
    """Return the worst mistakes of a model, with what speaks for and against their labels.

    `positions` are those of the rows in the user's table, by default the same.
    """
    from labelkin.evaluation import Mistake, worst_rows

    describe = describe_rows(model.schema_, X)
    has_scores = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    names = model.label_columns_.names
    found = []
    for row, size in zip(*worst_rows(y, labels, scores, y.mean(axis=0), most), strict=True):
        given, predicted = y[row].astype(bool), labels[row].astype(bool)
        reasons, method = {}, ""
        if has_scores:
            # Missed labels are explained as if predicted: of the others only the likely ones are.
            why = find_reasons(model, X, int(row), predicted | given, scores[row])
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


def _scored(names: Sequence[str], scores: np.ndarray, mask: np.ndarray) -> list[tuple[str, float]]:
    """Return the labels of a mask with their scores."""
    return [(name, float(x)) for name, x, here in zip(names, scores, mask, strict=True) if here]
