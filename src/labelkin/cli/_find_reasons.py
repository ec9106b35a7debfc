"""Finds why a model predicts the labels of one row, and tells rows in words."""

from collections.abc import Callable
from inspect import signature
from typing import TYPE_CHECKING, Any

from labelkin.cli._reasons import SPOKEN_LABELS, Member, Reasons

if TYPE_CHECKING:
    import numpy as np

    from labelkin.cli._data import FittedModel
    from labelkin.tabular import Schema

_LABELS = 8  # shown, besides all predicted ones
_REASONS = 5  # shown for each label
_SMALLEST = 0.05  # log odds; what adds less is not shown
_NEIGHBORS = 5
_SPEAKERS = 2  # training rows for each label, and against it


def describe_rows(schema: "Schema", X: Any, longest: int = 400) -> Callable[[int], str]:
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
        return words if len(words) <= longest else f"{words[: longest - 1]}…"

    return describe


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def find_reasons(
    saved: "FittedModel",
    X: Any,
    row: int,
    labels: "np.ndarray",
    scores: "np.ndarray",
    title: str,
    describe: Any,
) -> Reasons:
    """Return what speaks for and against each label of a row.

    `labels` and `scores` are the predictions for that row, of shape (q,); `describe` returns a
    training row in words.
    """
    import numpy as np

    from labelkin.tabular import occlude, words_as_written

    explanation = _explain(saved.model, X, row)
    has_members = hasattr(explanation, "member_effects")
    if hasattr(explanation, "contributions"):
        texts = saved.schema.of_kind("text")
        written = words_as_written(saved.model, texts, X.iloc[[row]]) if texts else {}
        known = set(saved.schema.columns or ())
        parts = [explanation.feature_names[i] for i in explanation.features]
        parts = [part if part in known else written.get(part, part) for part in parts]
        effects = explanation.contributions
        method = "log odds that each word or value adds"
    else:
        parts, effects = occlude(saved.model, saved.schema, X, row, len(labels))
        method = "change of the log odds when a word or value is removed"
    ranking = np.argsort(-scores, kind="stable").tolist()
    order = [j for rank, j in enumerate(ranking) if rank < _LABELS or labels[j]]
    names = saved.labels.names
    return Reasons(
        title,
        [names[j] for j in order],
        [bool(labels[j]) for j in order],
        [float(scores[j]) for j in order],
        [_largest(parts, effects[j]) for j in order],
        method,
        _members(explanation, order) if has_members else [],
        [_speakers(explanation, j) for j in order] if has_members else [],
        _similar_rows(explanation, order, names, describe)
        if has_members
        else _neighbors(explanation, names, describe),
    )


def _largest(parts: list[str], effects: "np.ndarray") -> list[tuple[str, float]]:
    import numpy as np

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


def _neighbors(explanation: Any, names: Any, describe: Any) -> list[str]:
    if not hasattr(explanation, "neighbors"):
        return []
    rows = zip(explanation.neighbors[:_NEIGHBORS], explanation.neighbor_labels, strict=False)
    return [_in_words(sample, labels, names, describe) for sample, labels in rows]


def _in_words(sample: int, labels: Any, names: Any, describe: Any) -> str:
    tags = ", ".join(name for name, here in zip(names, labels, strict=True) if here)
    return f"training row {sample + 1}{describe(int(sample))}: {tags or 'no label'}"


def _members(explanation: Any, order: list[int]) -> list[Member]:
    why = explanation
    return [
        Member(
            name,
            float(why.member_weights[i]),
            why.member_probability[i, order].tolist(),
            why.member_effects[i, order].tolist(),
        )
        for i, name in enumerate(why.member_names)
    ]


def _speakers(explanation: Any, label: int) -> list[tuple[int, float]]:
    """Return training rows, counted from 1, for and against a label, and what they add."""
    rows = [row for sign in (1, -1) for row in explanation.strongest_rows(label, sign, _SPEAKERS)]
    return [(int(row) + 1, float(explanation.row_effects[row, label])) for row in rows]


def _similar_rows(explanation: Any, order: list[int], names: Any, describe: Any) -> list[str]:
    """Return in words the training rows that are named for a label, and the most similar ones."""
    named = {row - 1 for j in order[:SPOKEN_LABELS] for row, _ in _speakers(explanation, j)}
    rows = zip(explanation.rows.tolist(), explanation.row_labels, strict=True)
    return [
        _in_words(row, labels, names, describe)
        for rank, (row, labels) in enumerate(rows)
        if rank < _NEIGHBORS or row in named
    ]
