"""One member of the ensemble: the steps of one pass of the loop in Table 1."""

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from labelkin.base import Array, Matrix, set_random_states
from labelkin.constraints import BagSampler, ConstraintSampler, draw_bag
from labelkin.metrics._estimators import estimator_labels, labels_and_scores
from labelkin.neighbors import MLkNNClassifier
from labelkin.projection import PairwiseConstraintProjection
from labelkin.projection._pairwise import TrainingRows
from labelkin.projection._selection import draw_features, feature_shares
from labelkin.rows import take, to_device_of, to_numpy


@dataclass(frozen=True)
class TrainingSet:
    """What all members share, prepared once.

    Pairs and weights are drawn and kept on the host; the samples stay where they are.
    """

    X: Matrix
    rows: TrainingRows
    """What projections are learned from."""
    Y: Any
    """Labels on the host, dense or CSR, 0 where unknown; of rows on Dask, `LabelSets`."""
    known: Array | None
    """Which labels are known; None: all."""
    sampler: ConstraintSampler
    base: Any
    """The base classifier, not fitted."""
    sample_weight: Array | None
    """The user's weights, by which those of boosting are multiplied."""
    parameters: dict[str, Any]
    """Those of the ensemble."""

    def with_parameters(self, **parameters: Any) -> "TrainingSet":
        """Return the same data for members with other parameters."""
        return replace(self, parameters={**self.parameters, **parameters})

    def target(self, rows: Any = slice(None)) -> Any:
        """Return the labels of some samples, NaN where they are unknown."""
        if self.known is None:
            return self.Y[rows]
        return np.where(self.known[rows], self.Y[rows], np.nan)

    def differs(self, labels: Array, rows: Any = slice(None)) -> Array:
        """Return which of some samples have known labels that differ from those predicted."""
        wrong = labels != self.Y[rows]
        return (wrong if self.known is None else wrong & self.known[rows]).any(axis=1)

    def error(self, wrong: Array, rows: Any = slice(None)) -> float:
        """Return the share of misclassified samples among those with a known label."""
        if self.known is None:
            return wrong[rows].sum() / max(1, len(wrong[rows]))
        return wrong[rows].sum() / max(1, np.count_nonzero(self.known[rows].any(axis=1)))


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
            threshold=float(self._rng.uniform(*np.broadcast_to(options["threshold"], 2))),
            n_must_link=options["n_must_link"],
            n_cannot_link=options["n_cannot_link"],
            random_state=int(seed),
        )
        self.projection.n_features_in_ = data.rows.n_features
        self._weights = weights if data.sample_weight is None else data.sample_weight * weights
        self._sampler = data.sampler
        if options["bag"] is not None:
            self._bag = draw_bag(len(weights), options["bag"], seed)
            self._sampler = BagSampler(data.Y, self._bag, data.known)
            self.outside = np.setdiff1d(np.arange(len(weights)), self._bag)
        self._columns = None if options["max_features"] is None else self._draw_features(options)

    def _draw_features(self, options: dict[str, Any]) -> Array:
        """Draw the columns to which the member is restricted."""
        scores = np.ones(self._data.rows.n_features)
        if options["feature_draw"] == "importance":
            # From separate pairs, drawn in the same bag: labels outside stay unseen.
            guide = clone(self.projection)
            guide._learn(self._data.rows, *self.draw_pairs())
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
        if self._columns is None:
            rows = self._data.rows
            return rows.project(self.projection._learn(rows, must_link, cannot_link))
        rows = TrainingRows(take(self._data.X, self._columns, axis=1))
        Z = rows.project(self.projection._learn(rows, must_link, cannot_link))
        # Zeros for the other features, so that the directions project all of them.
        found = to_numpy(self.projection.components_).T
        directions = np.zeros((self._data.rows.n_features, found.shape[1]), found.dtype, order="F")
        directions[self._columns] = found
        self.projection._directions = to_device_of(directions, self._data.X)
        self.projection._basis = None
        return Z

    def train(self, Z: Matrix) -> Array:
        """Train the base classifier (line 16, c); return the samples that it misclassifies.

        That is, whose predicted label set is not the true one; with a bag, only those outside.
        """
        data = self._data
        self.estimator = set_random_states(clone(data.base), self._rng)
        if self.outside is None:
            wrong = _fit_wrong(self.estimator, Z, data)
            self.error = wrong.mean() if data.known is None else data.error(wrong)
        else:
            found = _fit_predict_outside(self.estimator, Z, data, self._bag, self.outside)
            self.proba, self.labels = to_numpy(found[0]), to_numpy(found[1])
            wrong = np.zeros(len(self._weights), dtype=bool)
            wrong[self.outside] = data.differs(self.labels, self.outside)
            self.error = data.error(wrong, self.outside)
        if self.projection._basis is data.rows.basis is not None:
            # More features than samples: of neighbours' samples, those in the row space are held.
            counts, W = getattr(self.estimator, "_counts", None), self.projection._directions
            on_host = isinstance(W, np.ndarray)
            if on_host and counts is not None and counts.Y.shape[0] == Z.shape[0]:
                counts.search.share(data.rows.centred, W, data.rows.mean @ W)
        # A trained member does not hold what all share: it may be sent between processes.
        del self._data, self._sampler, self._rng, self._weights
        return wrong


def train_member(data: TrainingSet, seed: int) -> Member:
    """Train a member that does not depend on others: all samples have the user's weights."""
    member = Member(data, seed, np.ones(data.Y.shape[0]))
    member.train(member.project(*member.draw_pairs()))
    return member


def _fit_wrong(estimator: Any, Z: Matrix, data: TrainingSet) -> Array:
    """Fit, and return which training samples are misclassified: each left out, where possible."""
    if type(estimator) is MLkNNClassifier:
        return estimator._fit_loo_wrong(Z, data.Y, data.known)
    if hasattr(estimator, "fit_loo_proba"):
        labels = to_numpy(estimator.fit_loo_proba(Z, data.target())) > 0.5
    else:
        labels = estimator_labels(estimator.fit(Z, _target(estimator, data.target(), Z)), Z)
    return data.differs(labels)


def _fit_predict_outside(
    estimator: Any, Z: Matrix, data: TrainingSet, bag: Array, rows: Array
) -> tuple[Array, Array]:
    """Fit, and return out-of-bag probabilities and labels of the rows outside the bag.

    A base that can strictly leave a sample out of its own prediction learns from all
    samples. Any other one learns from the bag: it must not see the labels it predicts.
    """
    method = getattr(estimator, "fit_loo_proba", None)
    if method is not None and "strict" in inspect.signature(method).parameters:
        proba = take(method(Z, data.target(), strict=True), rows)
        return proba, proba > 0.5
    inside, Y = data.target(bag), data.Y
    try:
        estimator.fit(take(Z, bag), _target(estimator, inside, Z))
    except ValueError as error:
        vanished = np.flatnonzero((inside == inside[0]).all(axis=0) & (Y[0] != Y).any(axis=0))
        if not len(vanished):
            raise
        raise ValueError(
            f"{type(estimator).__name__} cannot be trained in a bag where label {vanished[0]} is "
            f"constant ({error}); use a larger bag, or a base that accepts constant labels, such "
            "as OneVsRestClassifier."
        ) from error
    return proba_and_labels(estimator, take(Z, rows))


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
