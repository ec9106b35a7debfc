"""What a prediction of an ensemble rests on: neighbours and votes of its members."""

from typing import Any

from labelkin.base import Array
from labelkin.explain import Explanation, explain_members, validate_one_row


def explain_ensemble(ensemble: Any, x: Any) -> Explanation:
    """Explain the prediction of a fitted ensemble of neighbour-based members for one sample."""
    ensemble, row = validate_one_row(ensemble, x)
    if not all(hasattr(member, "_counts") for member in ensemble.estimators_):
        raise ValueError(
            f"{type(ensemble.estimators_[0]).__name__} does not use neighbours: explain works with "
            "MLkNNClassifier or IBLRClassifier as estimator."
        )
    projected = [projection._project(row) for projection in ensemble.projections_]
    members = list(zip(ensemble.estimators_, projected, strict=True))

    def combine(probabilities: Array) -> tuple[Array, Array]:
        # By the ensemble's own sum, so that the mean agrees to the last digit.
        means = ensemble._mean((proba, proba > 0.5) for proba in probabilities)
        return ensemble._calibrated(means[0]), ensemble._decide(*means)

    return explain_members(ensemble, members, ensemble.vote_weights_, combine)
