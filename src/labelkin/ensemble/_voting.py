"""The vote of the members, and their mean probability."""

from collections.abc import Iterator
from typing import Any

from sklearn.utils import gen_batches

from labelkin._utils.array_api import astype, is_device_array
from labelkin._utils.parallel import map_parallel, parallel_batch_size
from labelkin.base import Array, Matrix
from labelkin.ensemble._member import proba_and_labels
from labelkin.ensemble._row_space import project_all
from labelkin.ensemble._stacked import outputs_on_device


class WeightedVotes:
    """Probabilities and labels of members, added up."""

    def __init__(self) -> None:
        self._proba: Any = 0
        self._votes: Any = 0
        self._weight = 0.0

    def add(self, proba: Array, labels: Array, weight: float = 1.0) -> None:
        """Add one member's (n, q) probabilities and labels."""
        self._proba = self._proba + weight * proba
        self._votes = self._votes + weight * astype(labels, proba.dtype)
        self._weight += weight

    def mean(self) -> tuple[Array, Array]:
        """Return the mean probability and the share of votes.

        The division comes last: half of any number of equal votes is exactly one half.
        """
        return self._proba / self._weight, self._votes / self._weight


def vote(proba: Array, votes: Array, voting: str) -> Array:
    """Return labels from mean probabilities and shares of votes; see ``voting``."""
    if voting == "soft":
        return proba > 0.5
    return (votes > 0.5) | ((votes == 0.5) & (proba > 0.5))


def member_outputs(
    projections: list[Any], estimators: list[Any], X: Matrix, n_labels: int, n_jobs: int | None
) -> Iterator[tuple[Array, Array]]:
    """Yield (probabilities, labels) of each member in turn, each in its own projection."""
    if is_device_array(X):
        yield from outputs_on_device(projections, estimators, X, n_labels)
        return

    project = project_all(projections, X)

    def output(member: tuple[Any, Any]) -> tuple[Array, Array]:
        projection, estimator = member
        return proba_and_labels(estimator, project(projection), n_labels)

    members = list(zip(projections, estimators, strict=True))
    # In batches, so that the outputs of one batch are held at a time.
    for batch in gen_batches(len(members), parallel_batch_size(n_jobs)):
        yield from map_parallel(output, members[batch], n_jobs)
