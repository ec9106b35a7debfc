"""One member of an ensemble over constraint projections: a round of Table 1."""

import inspect
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from labelkin._oob import BagSampler, draw_bag
from labelkin._scoring import estimator_labels, estimator_scores
from labelkin.base import Array, Matrix, seeded
from labelkin.constraints import ConstraintSampler
from labelkin.neighbors import MLkNNClassifier
from labelkin.projection import PairwiseConstraintProjection, TrainingRows


class Member:
    """One round of Table 1: draw pairs, learn the projection, train in it.

    Parameters
    ----------
    ensemble : estimator
        Its parameters say how many pairs to draw.
    data : TrainingData
        What all members share.
    seed : int
        Source of all that the member draws.
    weights : ndarray of shape (n_samples,), optional
        Samples are drawn into pairs in proportion to them.

    Attributes
    ----------
    projection : PairwiseConstraintProjection
    estimator : fitted base classifier
    wrong : ndarray of bool of shape (n_samples,)
        Which training samples it misclassifies: the predicted label set is not the true one.
        With a bag, samples in it are not judged, and not wrong.
    error : float
        Share of wrong ones among the samples it is judged by.
    outside : tuple of ndarray (rows, probabilities, labels)
        With a bag, what it says of the samples outside.
    """

    def __init__(
        self,
        ensemble: Any,
        data: "TrainingData",
        seed: int,
        weights: Array | None = None,
    ) -> None:
        rng = np.random.RandomState(seed)
        self.projection = PairwiseConstraintProjection(
            threshold=float(rng.uniform(*data.thresholds)),
            n_must_link=ensemble.n_must_link,
            n_cannot_link=ensemble.n_cannot_link,
            random_state=seed,
        )
        n = len(data.Y)
        bag = None if data.bag is None else draw_bag(n, data.bag, seed)
        sampler = data.sampler if bag is None else BagSampler(data.Y, bag)
        W = self.projection._draw_and_learn(data.training, sampler, weights, rng)
        self.projection.n_features_in_ = ensemble.n_features_in_
        self.estimator = seeded(clone(data.base), rng)
        Z = data.training.rows @ W
        self.wrong = np.zeros(n, dtype=bool)
        if bag is None:
            self.wrong[:] = (_fit_and_predict(self.estimator, Z, data.Y) != data.Y).any(axis=1)
            self.error = self.wrong.mean()
        else:
            rows = np.setdiff1d(np.arange(n), bag)
            proba, labels = _fit_and_predict_outside(self.estimator, Z, data.Y, bag, rows)
            self.wrong[rows] = (labels != data.Y[rows]).any(axis=1)
            self.error = self.wrong.sum() / max(1, len(rows))
            self.outside = rows, proba, labels


class TrainingData:
    """What all members share, prepared once."""

    def __init__(
        self, X: Matrix, Y: Array, base: Any, thresholds: Any, bag: float | None = None
    ) -> None:
        self.Y = Y
        self.training = TrainingRows(X)
        self.sampler = ConstraintSampler(Y)
        self.base = base
        self.thresholds = thresholds
        self.bag = bag

    def with_settings(self, thresholds: Any, bag: float | None) -> "TrainingData":
        """Return the same data with other thresholds and another bag."""
        other = copy(self)
        other.thresholds, other.bag = thresholds, bag
        return other


def _fit_and_predict(estimator: Any, Z: Array, Y: Array) -> Array:
    """Fit, and predict the training samples: each without itself, where the base can."""
    if hasattr(estimator, "fit_loo_proba"):
        return estimator.fit_loo_proba(Z, Y) > 0.5
    return estimator_labels(estimator.fit(Z, _target(estimator, Y)), Z)


def _fit_and_predict_outside(
    estimator: Any, Z: Array, Y: Array, bag: Array, rows: Array
) -> tuple[Array, Array]:
    """Fit, and return honest probabilities and labels of the rows outside the bag.

    A base that can strictly leave a sample out of its own prediction learns from all
    samples. Any other one learns from the bag, or it would have seen the labels it is asked
    for.
    """
    if _leaves_out_strictly(estimator):
        proba = estimator.fit_loo_proba(Z, Y, strict=True)[rows]
        return proba, proba > 0.5
    inside = Y[bag]
    try:
        estimator.fit(Z[bag], _target(estimator, inside))
    except ValueError as error:
        vanished = np.flatnonzero((inside == inside[0]).all(axis=0) & (Y[0] != Y).any(axis=0))
        if not len(vanished):
            raise
        raise ValueError(
            f"{type(estimator).__name__} cannot be trained in a bag where label {vanished[0]} is "
            f"constant ({error}); use a larger bag, or a base that takes constant labels, such "
            "as OneVsRestClassifier."
        ) from error
    return proba_and_labels(estimator, Z[rows], Y.shape[1])


def _leaves_out_strictly(estimator: Any) -> bool:
    method = getattr(estimator, "fit_loo_proba", None)
    return method is not None and "strict" in inspect.signature(method).parameters


def _target(estimator: Any, Y: Array) -> Array:
    """Labels in the form that the base takes."""
    target = Y.astype(np.int64)  # some bases write −1 into a copy
    single = Y.shape[1] == 1 and get_tags(estimator).target_tags.single_output
    return target.ravel() if single else target


def proba_and_labels(estimator: Any, Z: Array, n_labels: int) -> tuple[Array, Array]:
    """Probabilities, or labels in their place, and labels of a fitted base."""
    if not hasattr(estimator, "predict_proba"):
        labels = estimator_labels(estimator, Z)
        return labels.astype(np.float64), labels
    proba = estimator_scores(estimator, Z, n_labels)
    if isinstance(estimator, MLkNNClassifier):
        return proba, proba > 0.5  # what its predict would say, without a second search
    return proba, estimator_labels(estimator, Z)
