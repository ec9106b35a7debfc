"""One member of the ensemble: the steps of one pass of the loop in Table 1."""

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from labelkin.base import Array, Matrix, is_dask, set_random_states
from labelkin.constraints import BagSampler, ConstraintSampler, draw_bag
from labelkin.constraints._blocks import BlockLabelSets
from labelkin.ensemble._row_space import RowSpace, RowSpaceProjection, share_row_space
from labelkin.metrics._estimators import estimator_labels, estimator_proba
from labelkin.neighbors import IBLRClassifier, MLkNNClassifier
from labelkin.projection import PairwiseConstraintProjection
from labelkin.projection._blocks import BlockRows
from labelkin.projection._features import FeatureSubset, draw_features, feature_shares
from labelkin.projection._scatter import TrainingRows
from labelkin.rows import (
    astype,
    is_device_array,
    namespace_and_device,
    take_rows,
    to_device_of,
    to_numpy,
)

_NEIGHBOURS = (MLkNNClassifier, IBLRClassifier)


@dataclass(frozen=True)
class TrainingSet:
    """What all members share, prepared once.

    Pairs and weights are drawn and kept on the host, from `Y`; `labels` are the same where the
    samples are. Between two members only the pairs and the misclassified samples are copied.
    """

    X: Matrix
    rows: Any
    """`TrainingRows` of X, or `BlockRows` of rows on Dask workers."""
    Y: Any
    """Labels on the host: an array, a CSR array or `BlockLabelSets`."""
    labels: Any
    sampler: ConstraintSampler
    base: Any
    """The base classifier, not fitted."""
    sample_weight: Array | None
    """The user's weights, by which those of boosting are multiplied."""
    parameters: dict[str, Any]
    """Those of the ensemble."""
    space: RowSpace | None
    """What members share that were learned in the row space of X, on the host."""

    @classmethod
    def prepare(cls, ensemble: Any, X: Matrix, Y: Any, base: Any, sample_weight: Any) -> Any:
        """Prepare validated data for the members of an ensemble."""
        rows: Any
        space = None
        if is_dask(X):
            Y = labels = BlockLabelSets.from_target(Y)
            rows = BlockRows(X.persist())
        else:
            labels = Y if sparse.issparse(Y) else to_device_of(Y, X)
            rows = TrainingRows(X)
            if rows.basis is not None and not is_device_array(X) and isinstance(base, _NEIGHBOURS):
                space = RowSpace.of_rows(rows, X)
        sampler = ConstraintSampler(Y)
        if sample_weight is not None:
            sample_weight = sampler.check_weights(sample_weight)
        parameters = ensemble.get_params(deep=False)
        return cls(X, rows, Y, labels, sampler, base, sample_weight, parameters, space)

    def with_parameters(self, **parameters: Any) -> "TrainingSet":
        """Return the same data for members with other parameters."""
        return replace(self, parameters={**self.parameters, **parameters})

    def equal_weights(self) -> Array:
        """Return w_i = 1/n (Table 1, line 4)."""
        return np.full(self.Y.shape[0], 1 / self.Y.shape[0])

    def misclassified(self, labels: Any) -> Array:
        """Return which samples' predicted label sets are not the true ones, on the host."""
        if isinstance(self.Y, BlockLabelSets):
            return self.Y.misclassified(labels)
        if sparse.issparse(labels):
            return np.diff(sparse.csr_array(labels != self.labels).indptr) > 0
        xp, _ = namespace_and_device(labels)
        return to_numpy(xp.any(astype(labels, "bool") != astype(self.labels, "bool"), axis=1))


class Member:
    """One member; its Θ, and its bag and features if it has any, are drawn from a seed.

    The methods are the steps of one pass of the loop in Table 1, in order.
    """

    estimator: Any
    """The base classifier, fitted to the projected samples."""
    error: float
    """Share of the misclassified samples; with a bag, of those outside it."""
    outside: Array | None = None
    """With a bag: the rows outside it, in order; then with their predicted ..."""
    proba: Array
    """... probabilities, ..."""
    labels: Array
    """... and labels."""

    def __init__(self, data: TrainingSet, seed: int, weights: Array) -> None:
        options = data.parameters
        self._data, self._rng = data, np.random.RandomState(seed)
        self.projection = PairwiseConstraintProjection(
            threshold=float(self._rng.uniform(*threshold_range(options["threshold"]))),
            n_must_link=options["n_must_link"],
            n_cannot_link=options["n_cannot_link"],
            random_state=int(seed),
        )
        self.projection.n_features_in_ = data.rows.n_features
        self._weights = weights if data.sample_weight is None else data.sample_weight * weights
        self._sampler = data.sampler
        if options["bag"] is not None:
            self._bag = draw_bag(len(weights), options["bag"], seed)
            self._sampler = BagSampler(data.Y, self._bag)
            self.outside = np.setdiff1d(np.arange(len(weights)), self._bag)
        self.rows = data.rows
        if options["max_features"] is not None:
            self.rows = FeatureSubset(data.X, self._draw_features(options))

    def _draw_features(self, options: dict[str, Any]) -> Array:
        """Draw the columns to which the member is restricted."""
        scores = np.ones(self.rows.n_features)
        if options["feature_draw"] == "importance":
            # From separate pairs, drawn in the same bag: labels outside stay unseen.
            guide = clone(self.projection)
            guide._learn(self.rows, *self.draw_pairs())
            scores = feature_shares(guide)
        return draw_features(scores, options["max_features"], options["feature_draw"], self._rng)

    def draw_pairs(self) -> tuple[Array, Array]:
        """Draw must-links and cannot-links by the weights (lines 6–13)."""
        p = self.projection
        return self._sampler.draw(
            p.threshold, p.n_must_link, p.n_cannot_link, self._weights, self._rng
        )

    def project(self, must_link: Array, cannot_link: Array) -> Matrix:
        """Learn W from the pairs (line 14, a); return z = Wᵀx of the samples (line 15, b)."""
        W = self.projection._learn(self.rows, must_link, cannot_link)
        space = self._data.space
        if space is not None and self.rows is self._data.rows and len(cannot_link):
            self.projection = RowSpaceProjection.of_span(self.projection, space, W)
            W = self.projection.directions_
        return self.rows.project(W)

    def train(self, Z: Matrix) -> Array:
        """Train the base classifier (line 16, c); return the samples that it misclassifies.

        That is, whose predicted label set is not the true one; with a bag, only those outside.
        """
        data = self._data
        self.estimator = set_random_states(clone(data.base), self._rng)
        if self.outside is None:
            wrong = _fit_misclassified(self.estimator, Z, data)
            self.error = wrong.mean()
        else:
            found = _fit_predict_outside(self.estimator, Z, data, self._bag, self.outside)
            self.proba, self.labels = to_numpy(found[0]), to_numpy(found[1])
            wrong = np.zeros(len(self._weights), dtype=bool)
            wrong[self.outside] = (self.labels != data.Y[self.outside]).any(axis=1)
            self.error = wrong.sum() / max(1, len(self.outside))
        share_row_space(self.estimator, self.projection)
        return wrong


def train_member(data: TrainingSet, seed: int) -> Member:
    """Train a member that does not depend on others: all samples have the user's weights."""
    member = Member(data, seed, data.equal_weights())
    member.train(member.project(*member.draw_pairs()))
    return member


def threshold_range(threshold: Any) -> Any:
    """Return the lowest and the highest Θ."""
    return (threshold, threshold) if np.isscalar(threshold) else threshold


def _fit_misclassified(estimator: Any, Z: Matrix, data: TrainingSet) -> Array:
    """Fit, and return which training samples are misclassified: left out, where possible."""
    in_memory = not (is_dask(Z) or is_device_array(Z))
    if type(estimator) is MLkNNClassifier and in_memory:
        # Labels, not probabilities, which would be dense where the labels are sparse.
        estimator._validate_params()
        estimator._set_shapes(Z, data.labels)
        return data.misclassified(estimator._fit_loo_labels(Z, data.labels))
    if hasattr(estimator, "fit_loo_proba"):
        return data.misclassified(estimator.fit_loo_proba(Z, data.Y) > 0.5)
    if is_device_array(Z):
        return data.misclassified(estimator.fit(Z, data.labels).predict(Z))
    return data.misclassified(estimator_labels(estimator.fit(Z, _target(estimator, data.Y)), Z))


def _fit_predict_outside(
    estimator: Any, Z: Matrix, data: TrainingSet, bag: Array, rows: Array
) -> tuple[Array, Array]:
    """Fit, and return out-of-bag probabilities and labels of the rows outside the bag.

    A base that can strictly leave a sample out of its own prediction learns from all
    samples. Any other one learns from the bag: it must not see the labels it predicts.
    """
    method = getattr(estimator, "fit_loo_proba", None)
    if method is not None and "strict" in inspect.signature(method).parameters:
        proba = method(Z, data.Y, strict=True)
        proba = take_rows(proba, to_device_of(rows, proba))
        return proba, proba > 0.5
    Y = data.Y
    if is_device_array(Z):
        bag, rows = to_device_of(bag, Z), to_device_of(rows, Z)
        estimator.fit(take_rows(Z, bag), take_rows(data.labels, bag))
        return proba_and_labels(estimator, take_rows(Z, rows), Y.shape[1])
    inside = Y[bag]
    try:
        estimator.fit(Z[bag], _target(estimator, inside))
    except ValueError as error:
        vanished = np.flatnonzero((inside == inside[0]).all(axis=0) & (Y[0] != Y).any(axis=0))
        if not len(vanished):
            raise
        raise ValueError(
            f"{type(estimator).__name__} cannot be trained in a bag where label {vanished[0]} is "
            f"constant ({error}); use a larger bag, or a base that accepts constant labels, such "
            "as OneVsRestClassifier."
        ) from error
    return proba_and_labels(estimator, Z[rows], Y.shape[1])


def _target(estimator: Any, Y: Array) -> Array:
    """Return labels in the form that the base classifier accepts."""
    target = Y.astype(np.int64)  # a signed copy: some bases write −1 into it
    single = Y.shape[1] == 1 and get_tags(estimator).target_tags.single_output
    return target.ravel() if single else target


def proba_and_labels(estimator: Any, Z: Matrix, n_labels: int) -> tuple[Array, Array]:
    """Return probabilities, as `estimator_proba` does, and labels of a fitted base classifier."""
    if type(estimator) in _NEIGHBOURS:
        proba = estimator._proba(Z)
        return proba, proba > 0.5  # what predict returns, without a second neighbour search
    if is_device_array(Z):
        return estimator.predict_proba(Z), estimator.predict(Z)
    labels = estimator_labels(estimator, Z)
    return estimator_proba(estimator, Z, labels), labels
