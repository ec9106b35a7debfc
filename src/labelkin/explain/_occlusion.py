"""What parts of a sample add to its predictions: each is removed, and the labels predicted again.

Parts are features of a matrix, columns of a table, and words of a text. A feature is replaced by
its median, a column's value by a missing one or by a typical one, and a word is left out.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logit

from labelkin.base import Array, Matrix
from labelkin.rows import as_rows, to_numpy

CHANGED = "change of the log odds when a word or value is removed"

_MAX_ROWS = 10_000  # from which typical values are computed
_MAX_WORDS = 2_000_000  # of all rows without one part
_SMALLEST = 1e-6


def as_log_odds(scores: Array) -> Array:
    """Return the log odds of probabilities; other scores are on a linear scale already."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.min() < 0 or scores.max() > 1:
        return scores
    return logit(np.clip(scores, _SMALLEST, 1 - _SMALLEST))


def typical_values(X: Any) -> Array:
    """Return the median and the standard deviation of each feature, of shape (2, n_features).

    The median of a word or of a category is 0 unless most rows have it. Of sparse rows, 0 is
    taken for the median of every feature. Of rows in blocks, a sample comes into memory.
    """
    step = -(-X.shape[0] // _MAX_ROWS)
    X = as_rows(X).take(np.arange(0, X.shape[0], step)).gather()
    if sparse.issparse(X):
        mean, squares = (np.asarray(part.mean(axis=0)).ravel() for part in (X, X.multiply(X)))
        return np.stack([np.zeros(X.shape[1]), np.sqrt(np.maximum(squares - mean**2, 0))])
    X = np.asarray(to_numpy(X), dtype=np.float64)
    return np.stack([np.nanmedian(X, axis=0), np.nanstd(X, axis=0)])


def occlude_features(
    proba: Callable[[Any], Array], row: Matrix, typical: Array, max_features: int
) -> dict[str, Any]:
    """Replace one feature after the other by its median, and predict again.

    `proba` takes rows of the type of `row`, the sample. At most `max_features` are tried, those
    furthest from their median in units of the standard deviation (`typical`: see `typical_values`):
    the time is that of as many predictions.

    Returned are the numbers of features that differ from their median, and for each label the log
    odds of the sample less those without the feature, as fields of an `Explanation`. Of a linear
    model they are exact: its weights times the differences from the medians.
    """
    if not max_features:
        return {}
    median, spread = typical
    is_sparse = sparse.issparse(row)
    values = row.toarray()[0] if is_sparse else np.asarray(row[0])
    gaps = np.abs(values - median) / np.where(spread > 0, spread, 1)
    features = np.argsort(-gaps, kind="stable")[:max_features]
    features = np.sort(features[gaps[features] > 0])
    if is_sparse:
        changes = sparse.csr_matrix(
            (median[features] - values[features], (1 + np.arange(len(features)), features)),
            (len(features) + 1, len(values)),
        )
        same = sparse.csr_matrix(np.ones((len(features) + 1, 1))) @ sparse.csr_matrix(row)
        rows = sparse.csr_matrix(same + changes)
        rows.eliminate_zeros()
    else:
        rows = np.repeat(values[None], len(features) + 1, axis=0)
        rows[1 + np.arange(len(features)), features] = median[features]
    odds = as_log_odds(proba(rows))
    effects = (odds[0] - odds[1:]).T
    return {"features": features, "feature_effects": effects, "method": CHANGED}


def without_parts(
    cells: dict[str, Any], vectorizers: dict[str, Any], typical: dict[str, Any], max_parts: int
) -> tuple[list[str], list[Any], list[dict[str, Any]]]:
    """Return names and values of a row's parts, and the row before itself without each part.

    `cells` are the values of the row that are not missing, by their columns. Those with a
    vectorizer are texts, whose parts are words; other values become `typical`, or missing.
    """
    # Only the words that are known: each row that is predicted holds all of them but one.
    words = {c: _known_words(vectorizers[c], str(cells[c])) for c in vectorizers if c in cells}
    whole = cells | {column: " ".join(known) for column, known in words.items()}
    most = min(max_parts, 1 + _MAX_WORDS // (1 + sum(map(len, words.values()))))
    parts: list[tuple[str, Any, dict[str, Any]]] = []
    for column, value in cells.items():
        if column not in words:
            parts.append((column, value, {column: typical.get(column)}))
            continue
        written = words_as_written(vectorizers[column], str(value))
        for word in list(dict.fromkeys(words[column]))[:most]:
            name = written.get(word, word)
            others = " ".join(one for one in words[column] if one != word)
            shown = name if len(vectorizers) == 1 else f"{column}: {name}"
            parts.append((shown, None, {column: others}))
    parts = parts[:most]
    rows = [whole, *(whole | change for _, _, change in parts)]
    return [name for name, _, _ in parts], [value for _, value, _ in parts], rows


def _known_words(vectorizer: Any, text: str) -> list[str]:
    """Return the words of a text that a fitted vectorizer knows."""
    found = vectorizer.build_analyzer()(text)
    known = getattr(vectorizer, "vocabulary_", None)
    return [word for word in found if known is None or word in known]


def words_as_written(vectorizer: Any, text: str) -> dict[str, str]:
    """Return the words of a text by the form in which a vectorizer knows them.

    That form may be in lower case and without accents.
    """
    simplify, split = vectorizer.build_preprocessor(), vectorizer.build_tokenizer()
    found: dict[str, str] = {}
    for word in split(text):
        found.setdefault(simplify(word), word)
    return found
