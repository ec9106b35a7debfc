"""Fields of explanations by nearest training samples."""

from typing import Any

import numpy as np

from labelkin.base import Matrix
from labelkin.rows import to_numpy


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
        "counts": np.array([_counts(*member) for member in zip(members, nearest, strict=True)]),
        "n_neighbors": nearest.shape[1],
        "rows": rows[order],
        "row_labels": labels_of(rows[order]).astype(bool),
        "row_measures": {
            "members": found_by[order],
            "rank": mean_rank[order],
            "distance": mean_distance[order],
        },
    }


def _counts(member: tuple[Any, Matrix], nearest: Any) -> Any:
    """Return how many neighbours that count have each label."""
    counts, z = member[0]._counts, member[1]
    if getattr(counts, "known", None) is not None:
        return to_numpy(counts(z))[0]
    return counts.labels_of(nearest).sum(axis=0, dtype=np.intp)
