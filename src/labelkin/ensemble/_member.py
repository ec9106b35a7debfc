"""One member of an ensemble over constraint projections: a round of Table 1."""

import inspect
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from labelkin._utils.array_api import (
    astype,
    is_device_array,
    namespace_and_device,
    take_rows,
    to_device_of,
    to_numpy,
)
from labelkin._utils.scoring import estimator_labels, estimator_scores
from labelkin.base import Array, Matrix, is_dask, set_random_states
from labelkin.constraints._bags import BagSampler, draw_bag
from labelkin.constraints._sampler import ConstraintSampler
from labelkin.neighbors._iblr import IBLRClassifier
from labelkin.neighbors._mlknn import MLkNNClassifier
from labelkin.projection._features import draw_features, feature_shares
from labelkin.projection._pairwise import PairwiseConstraintProjection
from labelkin.projection._scatter import TrainingRows

# Bases that are given validated arrays, on whatever device; a subclass may do anything.
_DIRECT = (MLkNNClassifier, IBLRClassifier)


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
        Samples are drawn into pairs in proportion to them, times the user's own weights.

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
        rng, bag, sampler = self._begin(ensemble, data, seed)
        weights = data.draw_by(weights)
        columns = self._draw_columns(ensemble, data, sampler, weights, rng)
        training = data.training if columns is None else data.training_in(columns)
        W = self.projection._learn(training, *self.projection._draw_pairs(sampler, weights, rng))
        if columns is not None:
            # In the space of all features, so that whoever projects need not know.
            self.projection.components_ = spread_columns(
                self.projection.components_, columns, ensemble.n_features_in_
            )
        self.estimator = set_random_states(clone(data.base), rng)
        Z = training.project(W)
        if bag is None:
            self.wrong = _fit_and_judge(self.estimator, Z, data)
            self.error = self.wrong.mean()
        else:
            rows = np.setdiff1d(np.arange(data.Y.shape[0]), bag)
            proba, labels = _fit_and_predict_outside(self.estimator, Z, data.labels, bag, rows)
            self._judge_outside(data.Y, rows, to_numpy(proba), to_numpy(labels))

    def _begin(
        self, ensemble: Any, data: "TrainingData", seed: int
    ) -> tuple[np.random.RandomState, Array | None, ConstraintSampler]:
        """Make the projection; return the source of the draws, the bag and who draws pairs."""
        rng = np.random.RandomState(seed)
        self.projection = PairwiseConstraintProjection(
            threshold=float(rng.uniform(*data.thresholds)),
            n_must_link=ensemble.n_must_link,
            n_cannot_link=ensemble.n_cannot_link,
            random_state=int(seed),
        )
        self.projection.n_features_in_ = ensemble.n_features_in_
        if data.bag is None:
            return rng, None, data.sampler
        bag = draw_bag(data.Y.shape[0], data.bag, seed)
        return rng, bag, BagSampler(data.Y, bag)

    def _judge_outside(self, Y: Array, rows: Array, proba: Array, labels: Array) -> None:
        """Judge the member by what it says of the rows outside its bag."""
        self.wrong = np.zeros(len(Y), dtype=bool)
        self.wrong[rows] = (labels != Y[rows]).any(axis=1)
        self.error = self.wrong.sum() / max(1, len(rows))
        self.outside = rows, proba, labels

    def _draw_columns(
        self, ensemble: Any, data: "TrainingData", sampler: Any, weights: Any, rng: Any
    ) -> Array | None:
        """Draw the features this member sees; None: all, and nothing is drawn."""
        if ensemble.max_features is None:
            return None
        scores = np.ones(ensemble.n_features_in_)
        if ensemble.feature_draw == "importance":
            # Pairs of its own, of the same bag: what is outside stays unseen.
            guide = clone(self.projection)
            guide._learn(data.training, *guide._draw_pairs(sampler, weights, rng))
            scores = feature_shares(guide)
        return draw_features(scores, ensemble.max_features, ensemble.feature_draw, rng)


class TrainingData:
    """What all members share, prepared once.

    Pairs and weights are drawn and kept on the host, from `Y`; `labels` are the same where the
    samples lie. Between two members only the pairs, and who is misclassified, cross over.
    """

    def __init__(
        self,
        X: Matrix,
        Y: Array,
        base: Any,
        thresholds: Any,
        bag: float | None = None,
        sample_weight: Any = None,
    ) -> None:
        self.X = X
        self.Y: Any = Y
        self.base = base
        self.thresholds = thresholds
        self.bag = bag
        self.training: Any
        self.in_blocks = is_dask(X)
        if self.in_blocks:
            from labelkin.distributed import _blocks as _dask

            self.labels = Y
            self.training, self.sampler = _dask.training_data(X, Y, base)
        else:
            self.labels = Y if sparse.issparse(Y) else to_device_of(Y, X)
            self.training, self.sampler = TrainingRows(X), ConstraintSampler(Y)
        if sample_weight is not None:
            sample_weight = self.sampler.check_weights(sample_weight)
        self.sample_weight = sample_weight

    def draw_by(self, weights: Array | None) -> Array:
        """Return by what samples are drawn: the user's weights times those of boosting."""
        if self.sample_weight is None:
            return weights
        return self.sample_weight if weights is None else self.sample_weight * weights

    def training_in(self, columns: Array) -> TrainingRows:
        """Return the training rows with some of their features only."""
        if is_device_array(self.X):
            xp, _ = namespace_and_device(self.X)
            return TrainingRows(xp.take(self.X, to_device_of(columns, self.X), axis=1))
        return TrainingRows(self.X[:, columns])

    @cached_property
    def present(self) -> Array:
        """Which labels the samples have."""
        return astype(self.labels, "bool")

    def misclassified(self, labels: Any) -> Array:
        """Tell which samples' label sets are not the true ones."""
        if self.in_blocks:
            return self.Y.misclassified(labels)
        if sparse.issparse(labels):
            return np.diff(sparse.csr_array(labels != self.labels).indptr) > 0
        xp, _ = namespace_and_device(labels)
        return to_numpy(xp.any(astype(labels, "bool") != self.present, axis=1))

    def with_settings(self, thresholds: Any, bag: float | None) -> "TrainingData":
        """Return the same data with other thresholds and another bag."""
        other = copy(self)
        other.thresholds, other.bag = thresholds, bag
        return other


def spread_columns(components: Array, columns: Array, n_features: int) -> Array:
    """Return directions of some features, (d, len(columns)), as directions of all."""
    xp, device = namespace_and_device(components)
    shape = components.shape[0], n_features
    if not is_device_array(components):
        wide = np.zeros(shape, dtype=components.dtype)
        wide[:, columns] = components
        return wide
    # The standard has no assignment to several columns: each takes its own, or a last one of 0.
    nothing = xp.zeros((shape[0], 1), dtype=components.dtype, device=device)
    source = np.full(n_features, len(columns))
    source[columns] = np.arange(len(columns))
    return xp.take(
        xp.concat([components, nothing], axis=1), to_device_of(source, components), axis=1
    )


def _fit_and_judge(estimator: Any, Z: Array, data: TrainingData) -> Array:
    """Fit, and tell which training samples are misclassified."""
    if type(estimator) is MLkNNClassifier and not (data.in_blocks or is_device_array(Z)):
        estimator._validate_params()
        estimator._set_shapes(Z, data.labels)
        return data.misclassified(estimator._fit_loo_labels(Z, data.labels))
    return data.misclassified(_fit_and_predict(estimator, Z, data.labels))


def _fit_and_predict(estimator: Any, Z: Array, Y: Array) -> Array:
    """Fit, and predict the training samples: each without itself, where the base can."""
    if type(estimator) in _DIRECT:
        return _fit_direct(estimator, Z, Y) > 0.5
    if hasattr(estimator, "fit_loo_proba"):
        return estimator.fit_loo_proba(Z, Y) > 0.5
    if is_device_array(Z):
        return estimator.fit(Z, Y).predict(Z)
    return estimator_labels(estimator.fit(Z, _target(estimator, Y)), Z)


def _fit_direct(estimator: Any, Z: Array, Y: Array, **options: Any) -> Array:
    """Fit one of ours; what the ensemble has validated is not looked through again."""
    estimator._validate_params()
    estimator._set_shapes(Z, Y)
    return estimator._fit_loo_proba(Z, Y, **options)


def _fit_and_predict_outside(
    estimator: Any, Z: Array, Y: Array, bag: Array, rows: Array
) -> tuple[Array, Array]:
    """Fit, and return honest probabilities and labels of the rows outside the bag.

    A base that can strictly leave a sample out of its own prediction learns from all
    samples. Any other one learns from the bag, or it would have seen the labels it is asked
    for.
    """
    if _leaves_out_strictly(estimator):
        if type(estimator) in _DIRECT:
            proba = _fit_direct(estimator, Z, Y, strict=True)
        else:
            proba = estimator.fit_loo_proba(Z, Y, strict=True)
        proba = take_rows(proba, to_device_of(rows, proba))
        return proba, proba > 0.5
    bag, rows = to_device_of(bag, Z), to_device_of(rows, Z)
    inside = take_rows(Y, bag)
    if is_device_array(Z):
        estimator.fit(take_rows(Z, bag), inside)
        return proba_and_labels(estimator, take_rows(Z, rows), Y.shape[1])
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
    if type(estimator) in _DIRECT:
        proba = estimator._proba(Z)
        return proba, proba > 0.5  # what its predict would say, without a second search
    if is_device_array(Z):
        return estimator.predict_proba(Z), estimator.predict(Z)
    if not hasattr(estimator, "predict_proba"):
        labels = estimator_labels(estimator, Z)
        return labels.astype(np.float64), labels
    return estimator_scores(estimator, Z, n_labels), estimator_labels(estimator, Z)
