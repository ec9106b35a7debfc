"""One member of the ensemble: the steps of one pass of the loop in Table 1."""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from labelkin._utils.labels import named_if_single
from labelkin.base import Array, Matrix, set_random_states
from labelkin.constraints import ConstraintSampler, draw_bag
from labelkin.metrics._estimators import estimator_labels, labels_and_scores
from labelkin.neighbors import MLkNNClassifier
from labelkin.projection import PairwiseConstraintProjection
from labelkin.projection._pairwise import TrainingRows
from labelkin.rows import Labels, take, to_device_of, to_numpy


@dataclass(frozen=True)
class TrainingSet:
    """What all members share, prepared once.

    Pairs and weights are drawn and kept on the host; the samples stay where they are.
    """

    ensemble: Any
    """The ensemble, for its parameters."""
    base: Any
    """The base classifier, not fitted."""
    rows: TrainingRows
    """What projections are learned from."""
    labels: Labels
    """With the user's weights, by which those of boosting are multiplied."""
    sampler: ConstraintSampler


class Member:
    """One member; its Θ, and its bag if it has any, are drawn from a seed.

    The methods are the steps of one pass of the loop in Table 1, in order.
    """

    estimator: Any
    """The base classifier, fitted to the projected samples."""
    error: float
    """Share of the misclassified samples; with a bag, of those outside it."""
    outside: Array | None = None
    """With a bag: the rows outside it, in order."""
    proba: Array
    """With a bag: the predicted probabilities of these rows."""

    def __init__(self, data: TrainingSet, seed: int, weights: Array) -> None:
        ensemble, labels = data.ensemble, data.labels
        self._data, self._rng = data, np.random.RandomState(seed)
        self.projection = PairwiseConstraintProjection(
            threshold=float(self._rng.uniform(*np.broadcast_to(ensemble.threshold, 2))),
            n_must_link=ensemble.n_must_link,
            n_cannot_link=ensemble.n_cannot_link,
            random_state=int(seed),
        )
        self.projection.n_features_in_ = data.rows.n_features
        self._weights = weights if labels.weight is None else labels.weight * weights
        self._sampler = data.sampler
        if ensemble.bag is not None:
            self._bag = draw_bag(len(weights), ensemble.bag, seed)
            self._sampler = ConstraintSampler(labels.Y, labels.known, self._bag)
            self.outside = np.setdiff1d(np.arange(len(weights)), self._bag)

    def draw_pairs(self) -> tuple[Array, Array]:
        """Draw must-links and cannot-links by the weights (lines 6–13)."""
        p = self.projection
        return self._sampler.draw(
            p.threshold, p.n_must_link, p.n_cannot_link, self._weights, self._rng
        )

    def project(self, must_link: Array, cannot_link: Array) -> Matrix:
        """Learn W from the pairs (line 14, a); return z = Wᵀx of the samples (line 15, b)."""
        rows = self._data.rows
        return rows.project(self.projection._learn(rows, must_link, cannot_link))

    def train(self, Z: Matrix) -> Array:
        """Train the base classifier (line 16, c); return which samples it misclassifies.

        That is, whether the predicted label set is not the true one, as far as that is known; with
        a bag, for the samples outside it only.
        """
        labels, estimator = self._data.labels, set_random_states(clone(self._data.base), self._rng)
        self.estimator = estimator
        rows = slice(None) if self.outside is None else self.outside
        known = None if labels.known is None else labels.known[rows]
        if self.outside is None and type(estimator) is MLkNNClassifier:
            wrong = estimator._fit_loo_wrong(Z, labels)
        else:
            with named_if_single(self.estimator):
                different = self._fit_predict(Z, labels.with_nan()) != labels.Y[rows]
            wrong = (different if known is None else different & known).any(axis=1)
        judged = len(wrong) if known is None else np.count_nonzero(known.any(axis=1))
        self.error = wrong.sum() / max(1, judged)
        return wrong

    def _fit_predict(self, Z: Matrix, y: Array) -> Array:
        """Fit, and return the labels predicted for the training samples, left out if possible.

        With a bag they are those of the samples outside it. A base that can strictly leave a
        sample out of its own prediction learns from all samples. Any other one learns from the bag:
        it must not see the labels it predicts.
        """
        estimator, outside = self.estimator, self.outside
        loo = getattr(estimator, "fit_loo_proba", None)
        if outside is None:
            if loo is not None:
                return to_numpy(loo(Z, y)) > 0.5
            return estimator_labels(estimator.fit(Z, _target(estimator, y, Z)), Z)
        if loo is not None and "strict" in inspect.signature(loo).parameters:
            self.proba = to_numpy(loo(Z, y, strict=True))[outside]
            return self.proba > 0.5
        inside = y[self._bag]
        try:
            estimator.fit(take(Z, self._bag), _target(estimator, inside, Z))
        except ValueError as error:
            Y = self._data.labels.Y
            vanished = np.flatnonzero((inside == inside[0]).all(axis=0) & (Y[0] != Y).any(axis=0))
            if not len(vanished):
                raise
            raise ValueError(
                f"{type(estimator).__name__} cannot be trained in a bag where label {vanished[0]} "
                f"is constant ({error}); use a larger bag, or a base that accepts constant labels, "
                "such as OneVsRestClassifier."
            ) from error
        self.proba, labels = proba_and_labels(estimator, take(Z, outside))
        return labels


def _target(estimator: Any, Y: Array, Z: Matrix) -> Array:
    """Return labels in the form that the base classifier accepts, where the samples are."""
    # A signed copy: some bases write −1 into it. Unknown labels are NaN.
    target = Y if Y.dtype.kind == "f" else Y.astype(np.int64)
    single = Y.shape[1] == 1 and get_tags(estimator).target_tags.single_output
    return to_device_of(target.ravel() if single else target, Z)


def proba_and_labels(estimator: Any, Z: Matrix) -> tuple[Array, Array]:
    """Return probabilities, or labels in their place, and labels of a fitted base classifier.

    Both are NumPy arrays.
    """
    if not hasattr(estimator, "predict_proba"):
        labels = estimator_labels(estimator, Z)
        return labels.astype(np.float64), labels
    labels, proba = labels_and_scores(estimator, Z)
    return proba, labels
