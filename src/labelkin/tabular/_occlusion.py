"""What the words and columns of a row add to its probabilities, for any classifier.

A part of the row, a word or a column's value, is removed, and the labels are predicted again:
the change is what the part adds. A value that is removed counts as missing, so that the column's
median, or no category, takes its place.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logit

from labelkin._utils.scoring import estimator_scores
from labelkin.base import Array
from labelkin.explain._features import occlude_features
from labelkin.tabular._schema import Schema

# Parts of a row that are tried, those that differ most from other rows.
_MAX_PARTS = 400
_MAX_WORDS = 2_000_000  # of all rows without one part
_SMALLEST = 1e-6


def occlude(
    pipeline: Any, schema: Schema, X: Any, row: int, n_labels: int
) -> tuple[list[str], Array]:
    """Return the parts of a row by name, and what each adds to the log odds, (n_labels, n_parts).

    The pipeline is a fitted one by `make_pipeline`, and X are rows as it takes them; of a dense
    matrix, the mean of these rows takes the place of a value.
    """

    def log_odds(rows: Any) -> Array:
        scores = estimator_scores(pipeline, rows, n_labels).reshape(-1, n_labels)
        if scores.min() < 0 or scores.max() > 1:  # no probabilities: a linear scale already
            return scores
        return logit(np.clip(scores, _SMALLEST, 1 - _SMALLEST))

    if hasattr(X, "iloc"):
        names, rows = _without_cells(pipeline, schema, X.iloc[[row]])
        odds = log_odds(rows)
        return names, (odds[0] - odds[1:]).T
    here = X[[row]].astype(float)
    other = np.zeros(X.shape[1])
    if not sparse.issparse(X) and len(X) > 1:
        other = np.nanmean(X, axis=0)
    features, effects = occlude_features(
        log_odds, here, np.stack([other, np.ones_like(other)]), _MAX_PARTS
    )
    values = here.toarray()[0] if sparse.issparse(here) else here[0]
    given = schema.names
    return [
        f"{f'feature {j + 1}' if given is None else given[j]}={values[j]:g}"
        for j in features.tolist()
    ], effects


def _without_cells(pipeline: Any, schema: Schema, frame: Any) -> tuple[list[str], Any]:
    """Return the names of the parts, and the row followed by itself without each of them."""
    import pandas

    # Only the words that the pipeline knows: each row that is predicted holds all of them but one.
    row = {column: frame[column].iloc[0] for column in frame.columns}
    present = {column for column, value in row.items() if value is not None and value == value}
    texts = schema.of_kind("text")
    words = {c: _tokens(pipeline, c, str(row[c])) for c in texts if c in present}
    written = {column: words_as_written(pipeline, [column], frame) for column in words}
    frame = frame.assign(**{column: " ".join(known) for column, known in words.items()})
    most = min(_MAX_PARTS, 1 + _MAX_WORDS // (1 + sum(map(len, words.values()))))
    names: list[str] = []
    changed: list[tuple[str, Any]] = []
    for column, value in row.items():
        if column in words:
            for word in list(dict.fromkeys(words[column]))[:most]:
                shown = written[column].get(word, word)
                names.append(shown if len(texts) == 1 else f"{column}: {shown}")
                changed.append((column, " ".join(one for one in words[column] if one != word)))
        elif column in present:
            shown = f"{value:g}" if isinstance(value, (int, float)) else value
            names.append(f"{column}={shown}")
            changed.append((column, None))
    names, changed = names[:most], changed[:most]
    rows = pandas.concat([frame] * (1 + len(names)), ignore_index=True)
    for i, (column, value) in enumerate(changed):
        rows.loc[i + 1, column] = value
    return names, rows


def words_as_written(pipeline: Any, texts: Sequence[str], frame: Any) -> dict[str, str]:
    """Return the words of a row's texts, by the form in which the pipeline knows them.

    That form is in lower case and without accents. `frame` holds the row.
    """
    found: dict[str, str] = {}
    for column in texts:
        vectorizer = _vectorizer(pipeline, column)
        simplify, split = vectorizer.build_preprocessor(), vectorizer.build_tokenizer()
        for word in split(str(frame[column].iloc[0])):
            found.setdefault(simplify(word), word)
    return found


def _tokens(pipeline: Any, column: str, text: str) -> list[str]:
    """Return the words of a text as the pipeline's vectoriser finds them."""
    vectorizer = _vectorizer(pipeline, column)
    known = vectorizer.vocabulary_
    return [word for word in vectorizer.build_analyzer()(text) if word in known]


def _vectorizer(pipeline: Any, column: str) -> Any:
    return pipeline[0].named_transformers_[f"text {column}"].steps[-1][1]
