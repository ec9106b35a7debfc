"""One member of the ensemble: one pass of the loop in Table 1."""

import inspect
from dataclasses import dataclass, replace
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
from labelkin._utils.scoring import estimator_labels, estimator_proba
from labelkin.base import Array, Matrix, is_dask, set_random_states
from labelkin.constraints import BagSampler, ConstraintSampler, draw_bag
from labelkin.constraints._blocks import BlockLabelSets
from labelkin.ensemble._oob import Outside
from labelkin.ensemble._row_space import Frame, RowSpace, RowSpaceProjection, share_row_space
from labelkin.neighbors import IBLRClassifier, MLkNNClassifier
from labelkin.projection import PairwiseConstraintProjection
from labelkin.projection._blocks import BlockRows
from labelkin.projection._features import FeatureSubset, draw_features, feature_shares
from labelkin.projection._scatter import TrainingRows

_NEIGHBOURS = (MLkNNClassifier, IBLRClassifier)


@dataclass
class Member:
    """A trained member."""

    projection: PairwiseConstraintProjection
    estimator: Any
    """The base classifier, fitted to the projected samples."""
    wrong: Array
    """Which training samples it misclassifies: the predicted label set is not the true one.
    With a bag, only samples outside it can be wrong."""
    error: float
    """Share of wrong samples; with a bag, among those outside it."""
    outside: Outside | None = None
    """With a bag: rows outside it, and their predicted probabilities and labels."""


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
    thresholds: tuple[float, float]
    bag: float | None
    sample_weight: Array | None
    """The user's weights, by which those of boosting are multiplied."""
    n_must_link: int | None
    n_cannot_link: int | None
    max_features: int | float | None
    feature_draw: str
    space: RowSpace | None = None
    """What members share that were learned in the row space of X, on the host."""

    @classmethod
    def prepare(cls, ensemble: Any, X: Matrix, Y: Any, base: Any, sample_weight: Any) -> Any:
        """Prepare validated data for the members of an ensemble."""
        rows: Any
        space = None
        if is_dask(X):
            Y = labels = BlockLabelSets.from_target(Y)
            rows, sampler = BlockRows(X.persist()), ConstraintSampler(Y)
        else:
            labels = Y if sparse.issparse(Y) else to_device_of(Y, X)
            rows, sampler = TrainingRows(X), ConstraintSampler(Y)
            if rows.basis is not None and not is_device_array(X):
                space = RowSpace.of_rows(rows, X)
        if sample_weight is not None:
            sample_weight = sampler.check_weights(sample_weight)
        return cls(
            X=X,
            rows=rows,
            Y=Y,
            labels=labels,
            sampler=sampler,
            base=base,
            thresholds=ensemble._threshold_range(),
            bag=ensemble.bag,
            sample_weight=sample_weight,
            n_must_link=ensemble.n_must_link,
            n_cannot_link=ensemble.n_cannot_link,
            max_features=ensemble.max_features,
            feature_draw=ensemble.feature_draw,
            space=space,
        )

    def with_threshold(self, threshold: float, bag: float | None) -> "TrainingSet":
        """Return the same data with another threshold and bag."""
        return replace(self, thresholds=(threshold, threshold), bag=bag)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.Y.shape[0]

    def equal_weights(self) -> Array:
        """Return w_i = 1/n (Table 1, line 4)."""
        return np.full(self.n_samples, 1 / self.n_samples)

    def misclassified(self, labels: Any) -> Array:
        """Return which samples' predicted label sets are not the true ones, on the host."""
        if isinstance(self.Y, BlockLabelSets):
            return self.Y.misclassified(labels)
        if sparse.issparse(labels):
            return np.diff(sparse.csr_array(labels != self.labels).indptr) > 0
        xp, _ = namespace_and_device(labels)
        return to_numpy(xp.any(astype(labels, "bool") != astype(self.labels, "bool"), axis=1))

    def start_round(self, seed: int, weights: Array | None = None) -> "Round":
        """Draw from a seed what a member has of its own: Θ, and a bag and features if set.

        Samples are drawn into pairs in proportion to the weights; None: all equal.
        """
        rng = np.random.RandomState(seed)
        projection = PairwiseConstraintProjection(
            threshold=float(rng.uniform(*self.thresholds)),
            n_must_link=self.n_must_link,
            n_cannot_link=self.n_cannot_link,
            random_state=int(seed),
        )
        projection.n_features_in_ = self.rows.n_features
        if self.sample_weight is not None:
            weights = self.sample_weight if weights is None else self.sample_weight * weights
        bag, sampler = None, self.sampler
        if self.bag is not None:
            bag = draw_bag(self.n_samples, self.bag, seed)
            sampler = BagSampler(self.Y, bag)
        member_round = Round(self, rng, projection, self.rows, sampler, weights, bag)
        if self.max_features is not None:
            member_round.draw_features(self.max_features, self.feature_draw)
        return member_round


@dataclass
class Round:
    """One pass of the loop: the steps of one member, in order."""

    data: TrainingSet
    rng: np.random.RandomState
    projection: PairwiseConstraintProjection
    rows: Any
    """The rows as this member sees them: all features, or a `FeatureSubset`."""
    sampler: ConstraintSampler
    """Of all samples, or of the bag."""
    weights: Array | None
    bag: Array | None

    def draw_features(self, size: int | float, how: str) -> None:
        """Restrict the member to a random subset of the features."""
        n_features = self.rows.n_features
        scores = np.ones(n_features)
        if how == "importance":
            # From separate pairs, drawn in the same bag: labels outside stay unseen.
            guide = clone(self.projection)
            guide._learn(self.rows, *self.draw_pairs())
            scores = feature_shares(guide)
        columns = draw_features(scores, size, how, self.rng)
        self.rows = FeatureSubset(self.data.X, columns)

    def draw_pairs(self) -> tuple[Array, Array]:
        """Draw must-links and cannot-links by the weights (lines 6–13)."""
        projection = self.projection
        return self.sampler.draw(
            projection.threshold,
            projection.n_must_link,
            projection.n_cannot_link,
            self.weights,
            self.rng,
        )

    def learn_projection(self, must_link: Array, cannot_link: Array) -> Array:
        """Learn W from the pairs (line 14, a)."""
        W = self.projection._learn(self.rows, must_link, cannot_link)
        if self.data.space is not None and self.rows is self.data.rows and len(cannot_link):
            # Neighbours depend on distances alone, and so on the space that W spans.
            span = Frame.of_span(W) if isinstance(self.data.base, _NEIGHBOURS) else W
            self.projection = RowSpaceProjection.share(self.projection, self.data.space, span)
            W = self.projection.directions_
        return W

    def train(self, Z: Matrix) -> Member:
        """Train the base classifier on projected samples (line 16, c)."""
        estimator = set_random_states(clone(self.data.base), self.rng)
        if self.bag is None:
            wrong = _fit_misclassified(estimator, Z, self.data)
            share_row_space(estimator, self.projection)
            return Member(self.projection, estimator, wrong, wrong.mean())
        proba, labels = _fit_predict_outside(estimator, Z, self.data, self.bag, self.rows_outside)
        share_row_space(estimator, self.projection)
        return self.member_outside(estimator, to_numpy(proba), to_numpy(labels))

    @property
    def rows_outside(self) -> Array:
        """The rows outside the bag; none without one."""
        in_bag = np.arange(self.data.n_samples) if self.bag is None else self.bag
        return np.setdiff1d(np.arange(self.data.n_samples), in_bag)

    def member_outside(self, estimator: Any, proba: Array, labels: Array) -> Member:
        """Return the member with its errors on the rows outside its bag."""
        rows = self.rows_outside
        wrong = np.zeros(self.data.n_samples, dtype=bool)
        wrong[rows] = (labels != self.data.Y[rows]).any(axis=1)
        error = wrong.sum() / max(1, len(rows))
        return Member(self.projection, estimator, wrong, error, (rows, proba, labels))


def train_member(data: TrainingSet, seed: int) -> Member:
    """Train a member that does not depend on others: samples weigh as the user's weights."""
    member_round = data.start_round(seed)
    W = member_round.learn_projection(*member_round.draw_pairs())
    return member_round.train(member_round.rows.project(W))


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
    if _leaves_out_strictly(estimator):
        proba = estimator.fit_loo_proba(Z, data.Y, strict=True)
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


def _leaves_out_strictly(estimator: Any) -> bool:
    method = getattr(estimator, "fit_loo_proba", None)
    return method is not None and "strict" in inspect.signature(method).parameters


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
