"""One member of the ensemble: the steps of one pass of the loop in Table 1."""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from labelkin.base import Array, Matrix, set_random_states
from labelkin.constraints import ConstraintSampler, draw_bag
from labelkin.metrics._estimators import estimator_labels, labels_and_scores
from labelkin.neighbors import MLkNNClassifier
from labelkin.projection import PairwiseConstraintProjection
from labelkin.projection._pairwise import TrainingRows
from labelkin.projection._selection import subset_size
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

    def differs(self, predicted: Array, rows: Any = slice(None)) -> Array:
        """Return which of some samples have known labels that differ from those predicted."""
        wrong, known = predicted != self.labels.Y[rows], self.labels.known
        return (wrong if known is None else wrong & known[rows]).any(axis=1)

    def error(self, wrong: Array, rows: Any = slice(None)) -> float:
        """Return the share of the misclassified among those of some samples with a known label."""
        known = self.labels.known
        judged = len(wrong) if known is None else np.count_nonzero(known[rows].any(axis=1))
        return wrong.sum() / max(1, judged)


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
        ensemble, labels, n_features = data.ensemble, data.labels, data.rows.n_features
        self._data, self._rng = data, np.random.RandomState(seed)
        self.projection = PairwiseConstraintProjection(
            threshold=float(self._rng.uniform(*np.broadcast_to(ensemble.threshold, 2))),
            n_must_link=ensemble.n_must_link,
            n_cannot_link=ensemble.n_cannot_link,
            random_state=int(seed),
        )
        self.projection.n_features_in_ = n_features
        self._weights = weights if labels.weight is None else labels.weight * weights
        self._sampler, self._columns = data.sampler, None
        if ensemble.bag is not None:
            self._bag = draw_bag(len(weights), ensemble.bag, seed)
            self._sampler = ConstraintSampler(labels.Y, labels.known, self._bag)
            self.outside = np.setdiff1d(np.arange(len(weights)), self._bag)
        if ensemble.max_features is not None:
            size = subset_size(ensemble.max_features, n_features)
            self._columns = np.sort(self._rng.choice(n_features, size, replace=False))

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
        """Train the base classifier (line 16, c); return the samples that it misclassifies.

        That is, whose predicted label set is not the true one; with a bag, only those outside.
        """
        data, outside = self._data, self.outside
        self.estimator = set_random_states(clone(data.base), self._rng)
        if outside is None:
            wrong = _fit_wrong(self.estimator, Z, data)
            self.error = data.error(wrong)
        else:
            found = _fit_predict_outside(self.estimator, Z, data, self._bag, outside)
            self.proba, self.labels = to_numpy(found[0]), to_numpy(found[1])
            wrong = np.zeros(len(self._weights), dtype=bool)
            wrong[outside] = data.differs(self.labels, outside)
            self.error = data.error(wrong[outside], outside)
        return wrong


def train_member(data: TrainingSet, seed: int) -> Member:
    """Train a member that does not depend on others: all samples have the user's weights."""
    member = Member(data, seed, np.ones(data.labels.shape[0]))
    member.train(member.project(*member.draw_pairs()))
    return member


def _fit_wrong(estimator: Any, Z: Matrix, data: TrainingSet) -> Array:
    """Fit, and return which training samples are misclassified: each left out, where possible."""
    if type(estimator) is MLkNNClassifier:
        return estimator._fit_loo_wrong(Z, data.labels)
    y = data.labels.with_nan()
    if hasattr(estimator, "fit_loo_proba"):
        labels = to_numpy(estimator.fit_loo_proba(Z, y)) > 0.5
    else:
        labels = estimator_labels(estimator.fit(Z, _target(estimator, y, Z)), Z)
    return data.differs(labels)


def _fit_predict_outside(
    estimator: Any, Z: Matrix, data: TrainingSet, bag: Array, rows: Array
) -> tuple[Array, Array]:
    """Fit, and return out-of-bag probabilities and labels of the rows outside the bag.

    A base that can strictly leave a sample out of its own prediction learns from all
    samples. Any other one learns from the bag: it must not see the labels it predicts.
    """
    y = data.labels.with_nan()
    method = getattr(estimator, "fit_loo_proba", None)
    if method is not None and "strict" in inspect.signature(method).parameters:
        proba = take(method(Z, y, strict=True), rows)
        return proba, proba > 0.5
    inside, Y = y[bag], data.labels.Y
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
