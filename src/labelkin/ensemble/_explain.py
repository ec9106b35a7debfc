"""What a prediction of an ensemble rests on: neighbours and votes of its members."""

from typing import Any

from labelkin.base import Matrix
from labelkin.explain._neighbors import explain_by_neighbors


def explain_ensemble(ensemble: Any, row: Matrix) -> dict[str, Any]:
    """Return neighbours and votes of a fitted ensemble's members, as fields of `Explanation`."""
    projected = [projection._project(row) for projection in ensemble.projections_]
    members = list(zip(ensemble.estimators_, projected, strict=True))
    if all(hasattr(member, "_counts") for member in ensemble.estimators_):
        return explain_by_neighbors(members, ensemble.vote_weights_)
    return {}
