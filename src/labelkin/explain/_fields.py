"""Fields of an `Explanation` that classifiers fill in: effects of features, and neighbours."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logit

from labelkin._utils.progress import counted
from labelkin.base import Array, Matrix
from labelkin.rows import as_rows, to_numpy

CHANGED = "change of the log odds when a word or value is removed"

_MAX_ROWS = 10_000  # from which typical values are computed
_SMALLEST = 1e-6
_BLOCK = 64  # changed rows that are predicted at once


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
    n = len(features)
    rows: Any = sparse.vstack([row] * (n + 1)).tolil() if is_sparse else np.tile(values, (n + 1, 1))
    rows[1 + np.arange(n), features] = median[features]
    rows = rows.tocsr() if is_sparse else rows
    effects = effects_of_changes(proba, rows, n + 1)
    return {"features": features, "feature_effects": effects, "method": CHANGED}


def effects_of_changes(proba: Callable[[Any], Array], rows: Any, count: int) -> Array:
    """Return, by label, the log odds of the first of the rows less those of each other one."""
    blocks = counted(range(0, count, _BLOCK), "blocks")
    odds = as_log_odds(np.concatenate([proba(rows[first : first + _BLOCK]) for first in blocks]))
    return (odds[0] - odds[1:]).T


def explain_by_neighbors(members: list[tuple[Any, Matrix]]) -> dict[str, Any]:
    """Return the neighbours that members find, each in its own space, and their votes.

    A member is a fitted classifier based on neighbours, with the sample in its space. Neighbours
    of most members come first, then those of lowest mean rank. With unknown labels, the neighbours
    that count for a label are the nearest ones for which it is known; those returned are the
    nearest of all.
    """
    nearest = np.array([member._counts.search.query(z, member.n_jobs)[0] for member, z in members])
    distances = np.array(
        [
            member._counts.search.distances(z, found)
            for (member, z), found in zip(members, nearest, strict=True)
        ]
    )
    labels_of = members[0][0]._counts.labels_of
    known = getattr(members[0][0]._counts, "known", None)
    counts = [
        labels_of(found).sum(axis=0, dtype=np.intp)
        if getattr(member._counts, "known", None) is None
        else to_numpy(member._counts(z))[0]
        for (member, z), found in zip(members, nearest, strict=True)
    ]
    rows, place = np.unique(nearest, return_inverse=True)
    place = place.ravel()
    rank = np.broadcast_to(np.arange(1, nearest.shape[1] + 1), nearest.shape)
    found_by = np.bincount(place, minlength=len(rows))
    mean_rank = np.bincount(place, rank.ravel(), len(rows)) / found_by
    mean_distance = np.bincount(place, distances.ravel(), len(rows)) / found_by
    order = np.lexsort((mean_rank, -found_by))
    return {
        "member_names": [f"member {i + 1}" for i in range(len(members))],
        "member_weights": np.ones(len(members)),
        "member_probability": np.array([member._proba(z)[0] for member, z in members]),
        "counts": np.array(counts),
        "n_neighbors": nearest.shape[1],
        "rows": rows[order],
        "row_labels": labels_of(rows[order]).astype(bool),
        "row_known": None if known is None else to_numpy(known)[rows[order]],
        "row_measures": {
            "members": found_by[order],
            "rank": mean_rank[order],
            "distance": mean_distance[order],
        },
    }
