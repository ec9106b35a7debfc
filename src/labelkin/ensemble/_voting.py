"""The vote of members in projections: their mean probability, their labels, stage by stage."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils import gen_batches

from labelkin._utils.array_api import (
    astype,
    is_device_array,
    namespace_and_device,
    to_device_of,
    to_numpy,
)
from labelkin._utils.parallel import map_parallel, parallel_batch_size
from labelkin.base import Array, Matrix, MultiLabelClassifier
from labelkin.calibration._curves import SlopeCalibration
from labelkin.ensemble._member import proba_and_labels
from labelkin.ensemble._stacked import members_together, proba_together
from labelkin.explain import Explanation, explain


class VotingMembers(MultiLabelClassifier):
    """A fitted classifier whose members vote, each asked in its own projection.

    Whoever inherits has the parameters ``voting`` and ``n_jobs``, and sets in ``fit``
    ``projections_``, ``estimators_``, ``vote_weights_`` and ``calibration_``.
    """

    voting: str
    n_jobs: int | None
    projections_: list[Any]
    estimators_: list[Any]
    vote_weights_: Array
    calibration_: SlopeCalibration | None

    def _member_outputs(self, X: Matrix) -> Iterator[tuple[Array, Array]]:
        """Yield (probabilities, labels) of each member in turn, computed in threads."""
        q = len(self.classes_) if not self._one_target else 1

        def output(member: tuple[Any, Any]) -> tuple[Array, Array]:
            projection, estimator = member
            return proba_and_labels(estimator, X @ projection.components_.T, q)

        members = list(zip(self.projections_, self.estimators_, strict=True))
        if is_device_array(X):
            yield from map(output, members)
            return
        # Batch by batch, so that only a batch of outputs is held at a time.
        for batch in gen_batches(len(members), parallel_batch_size(self.n_jobs)):
            yield from map_parallel(output, members[batch], self.n_jobs)

    def _staged(self, X: Matrix) -> Iterator[tuple[Array, Array]]:
        """Yield mean probability and share of votes, after each member."""
        return self._running_mean(self._member_outputs(X))

    def _running_mean(self, outputs: Iterable[tuple[Array, Array]]) -> Iterator[tuple]:
        """Yield mean probability and share of votes, after each member's two outputs."""
        proba: Any = 0
        votes: Any = 0
        total = 0.0
        weights = to_numpy(self.vote_weights_).tolist()
        for (p, labels), weight in zip(outputs, weights, strict=True):
            proba, votes = proba + weight * p, votes + weight * astype(labels, p.dtype)
            total += weight
            yield proba / total, votes / total

    def _vote(self, proba: Array, votes: Array) -> Array:
        if self.voting == "soft":
            return proba > 0.5
        return (votes > 0.5) | ((votes == 0.5) & (proba > 0.5))

    def _outcome(self, X: Matrix) -> tuple[Array, Array]:
        """Mean probability and share of votes of all members; on a device, asked together."""
        size = members_together(self.estimators_, X) if is_device_array(X) else 1
        if size == 1:
            return _last(self._staged(X))
        xp, _ = namespace_and_device(X)
        weights = astype(self.vote_weights_, X.dtype)[:, None, None]
        proba: Any = 0
        votes: Any = 0
        for batch in gen_batches(len(self.estimators_), size):
            asked = [X @ p.components_.T for p in self.projections_[batch]]
            said = proba_together(self.estimators_[batch], asked)
            share = weights[batch, :, :]
            proba = proba + xp.sum(share * said, axis=0)
            votes = votes + xp.sum(share * astype(said > 0.5, said.dtype), axis=0)
        # Divided last: half of any number of votes is exactly one half.
        total = xp.sum(weights)
        return proba / total, votes / total

    def _decide(self, proba: Array, votes: Array) -> Array:
        """Labels: by the vote, or by calibrated probabilities where there are such."""
        if self.calibration_ is None:
            return self._vote(proba, votes)
        return self._calibrated(proba) > 0.5

    def _calibrated(self, proba: Array) -> Array:
        if self.calibration_ is None:
            return proba
        return astype(to_device_of(self.calibration_(to_numpy(proba)), proba), proba.dtype)

    def _proba(self, X: Matrix) -> Array:
        return self._calibrated(self._outcome(X)[0])

    def _labels(self, X: Matrix) -> Array:
        return self._decide(*self._outcome(X))

    def staged_predict_proba(self, X: ArrayLike) -> Iterator[Array]:
        """Yield what ``predict_proba`` would say with one member, with two, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_labels)
        """
        for proba, _ in self._staged(self._validate_predict(X, "staged_predict_proba")):
            yield self._as_proba(self._calibrated(proba))

    def staged_predict(self, X: ArrayLike) -> Iterator[Array]:
        """Yield what ``predict`` would say with one member, with two, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of int of shape (n_samples, n_labels)
        """
        for proba, votes in self._staged(self._validate_predict(X, "staged_predict")):
            yield self._as_target(self._decide(proba, votes))

    def explain(self, x: ArrayLike) -> Explanation:
        """Say on which training samples and votes the prediction for one sample rests.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The sample.

        Returns
        -------
        Explanation
            Print it, or read its arrays.
        """
        return explain(self, x)


def _last(stages: Iterator[tuple[Array, Array]]) -> tuple[Array, Array]:
    return deque(stages, maxlen=1)[0]
