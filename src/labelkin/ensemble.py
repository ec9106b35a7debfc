"""VPCME and Bagging_VPCP: ensembles over constraint projections (Table 1)."""

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context, clone
from sklearn.utils import Tags, check_random_state, gen_batches, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from labelkin._array import astype, is_foreign, like, namespace, to_numpy
from labelkin._scoring import estimator_labels, estimator_scores
from labelkin._threads import map_threads, n_threads
from labelkin.base import Array, Matrix, MultiLabelClassifier, seeded
from labelkin.constraints import ConstraintSampler
from labelkin.neighbors import IBLRClassifier, MLkNNClassifier
from labelkin.projection import PairwiseConstraintProjection, TrainingRows, warn_if_missing

# Bases that are given validated arrays, on whatever device; a subclass may do anything.
_DIRECT = (MLkNNClassifier, IBLRClassifier)


class _Member:
    """One round of Table 1: draw pairs, learn the projection, train in it.

    Attributes
    ----------
    projection : PairwiseConstraintProjection
    estimator : fitted base classifier
    wrong : ndarray of bool of shape (n_samples,)
        Which training samples it misclassifies: the predicted label set is not the true one.
    """

    def __init__(
        self,
        ensemble: "_ConstraintEnsemble",
        data: "_TrainingData",
        seed: int,
        weights: Array | None,
    ) -> None:
        rng = np.random.RandomState(seed)
        self.projection = PairwiseConstraintProjection(
            threshold=float(rng.uniform(*ensemble._threshold_range())),
            n_must_link=ensemble.n_must_link,
            n_cannot_link=ensemble.n_cannot_link,
            random_state=int(seed),
        )
        W = self.projection._draw_and_learn(data.training, data.sampler, weights, rng)
        self.projection.n_features_in_ = ensemble.n_features_in_
        self.estimator = seeded(clone(data.base), rng)
        labels = _fit_and_predict(self.estimator, data.training.rows @ W, data.labels)
        xp, _ = namespace(labels)
        self.wrong = to_numpy(xp.any(astype(labels, "bool") != data.present, axis=1))


class _TrainingData:
    """What all members share, prepared once.

    Pairs and weights are drawn and kept on the host, from `Y`; `labels` are the same where the
    samples lie. Between two members only the pairs, and who is misclassified, cross over.
    """

    def __init__(self, X: Matrix, Y: Array, base: Any) -> None:
        self.Y = Y
        self.labels = like(Y, X)
        self.present = astype(self.labels, "bool")
        self.training = TrainingRows(X)
        self.sampler = ConstraintSampler(Y)
        self.base = base


class _ConstraintEnsemble(MultiLabelClassifier):
    """Members in constraint projections, and their vote."""

    _fitted_array = "sample_weights_"
    _parameter_constraints: dict = {
        "base_estimator": [None, HasMethods(["fit", "predict"])],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, 1, closed="both"), tuple, list],
        "n_must_link": [None, Interval(Integral, 1, None, closed="left")],
        "n_cannot_link": [None, Interval(Integral, 1, None, closed="left")],
        "voting": [StrOptions({"hard", "soft"})],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        base_estimator: Any = None,
        n_estimators: int = 30,
        threshold: float | tuple[float, float] = 0.6,
        n_must_link: int | None = None,
        n_cannot_link: int | None = None,
        voting: str = "hard",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.base_estimator = base_estimator
        self.n_estimators = n_estimators
        self.threshold = threshold
        self.n_must_link = n_must_link
        self.n_cannot_link = n_cannot_link
        self.voting = voting
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, Y: Any) -> "_ConstraintEnsemble":
        """Train the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        Y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label.

        Returns
        -------
        self
        """
        X, Y = self._validate_fit(X, Y)
        self._check_threshold()
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_estimators)
        data = _TrainingData(X, Y, self._base(X))
        self._started = time.perf_counter()
        members = self._fit_members(data, seeds)
        del self._started
        self.estimators_ = [member.estimator for member in members]
        self.projections_ = [member.projection for member in members]
        self.thresholds_ = np.array([p.threshold for p in self.projections_])
        self.errors_ = np.array([member.wrong.mean() for member in members])
        for name in ("thresholds_", "errors_", "sample_weights_"):
            setattr(self, name, like(getattr(self, name), X))
        warn_if_missing(self.projections_[0])
        return self

    @abstractmethod
    def _fit_members(self, data: _TrainingData, seeds: Array) -> list[_Member]:
        """Train a member for each seed, and set ``sample_weights_``."""

    def _base(self, X: Matrix) -> Any:
        base = MLkNNClassifier() if self.base_estimator is None else clone(self.base_estimator)
        if is_foreign(X) and not get_tags(base).array_api_support:
            raise ValueError(
                f"base_estimator={type(base).__name__} works on the host only: give X and Y as "
                "NumPy arrays, or use a base with array API support."
            )
        if "n_jobs" in (parameters := base.get_params()) and parameters["n_jobs"] is None:
            base.set_params(n_jobs=self.n_jobs)
        return base

    def _check_threshold(self) -> None:
        low_high = self._threshold_range()
        numbers = len(low_high) == 2 and all(isinstance(bound, Real) for bound in low_high)
        if not (numbers and 0 <= low_high[0] <= low_high[1] <= 1):
            raise ValueError(
                "threshold must be a number in [0, 1] or a pair (low, high) with "
                f"0 <= low <= high <= 1, got {self.threshold!r}."
            )

    def _threshold_range(self) -> Any:
        number = isinstance(self.threshold, Real)
        return (self.threshold, self.threshold) if number else self.threshold

    def _after_member(self, number: int, error: float) -> None:
        """Show progress; called after each member, in the order in which they end."""
        if self.verbose:
            seconds = time.perf_counter() - self._started
            print(
                f"[{type(self).__name__}] member {number} of {self.n_estimators}, "
                f"training error {error:.3f}, {seconds:.1f} s",
                flush=True,
            )

    def _member_outputs(self, X: Matrix) -> Iterator[tuple[Array, Array]]:
        """Yield (probabilities, labels) of each member in turn, computed in threads."""
        q = len(self.classes_) if not self._one_target else 1

        def output(m: int) -> tuple[Array, Array]:
            Z = X @ self.projections_[m].components_.T
            estimator = self.estimators_[m]
            if type(estimator) in _DIRECT:
                proba = estimator._proba(Z)
                return proba, proba > 0.5  # what its predict would say, without a second search
            if is_foreign(Z):
                return estimator.predict_proba(Z), estimator.predict(Z)
            if not hasattr(estimator, "predict_proba"):
                labels = estimator_labels(estimator, Z)
                return labels.astype(np.float64), labels
            return estimator_scores(estimator, Z, q), estimator_labels(estimator, Z)

        if is_foreign(X):
            yield from map(output, range(len(self.estimators_)))
            return
        # Batch by batch, so that only a batch of outputs is held at a time.
        for batch in gen_batches(len(self.estimators_), n_threads(self.n_jobs)):
            yield from map_threads(output, range(batch.start, batch.stop), self.n_jobs)

    def _staged(self, X: Matrix) -> Iterator[tuple[Array, Array]]:
        """Yield mean probability and share of votes, after each member."""
        proba: Any = 0
        votes: Any = 0
        for m, (p, labels) in enumerate(self._member_outputs(X), start=1):
            proba, votes = proba + p, votes + astype(labels, p.dtype)
            yield proba / m, votes / m

    def _vote(self, proba: Array, votes: Array) -> Array:
        if self.voting == "soft":
            return proba > 0.5
        return (votes > 0.5) | ((votes == 0.5) & (proba > 0.5))

    def _outcome(self, X: Matrix) -> tuple[Array, Array]:
        """Mean probability and share of votes of all members; on a device, asked at once."""
        if is_foreign(X) and all(type(e) is MLkNNClassifier for e in self.estimators_):
            proba = MLkNNClassifier._proba_together(
                self.estimators_, [X @ p.components_.T for p in self.projections_]
            )
            if proba is not None:
                xp, _ = namespace(proba)
                return xp.mean(proba, axis=0), xp.mean(astype(proba > 0.5, proba.dtype), axis=0)
        return _last(self._staged(X))

    def _proba(self, X: Matrix) -> Array:
        return self._outcome(X)[0]

    def _labels(self, X: Matrix) -> Array:
        return self._vote(*self._outcome(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base = self.base_estimator
        tags.array_api_support = base is None or get_tags(base).array_api_support
        return tags

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
            yield self._as_proba(proba)

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
            yield self._as_target(self._vote(proba, votes))


class VPCMEClassifier(_ConstraintEnsemble):
    """Variable Pairwise Constraint projection for Multi-label Ensemble (Li, Li & Wu).

    Each member draws must-link and cannot-link pairs of samples by the sample weights,
    learns the projection that pulls must-links together and pushes cannot-links apart, and
    trains the base classifier in it. Then the weight of every sample whose label set it
    got wrong is multiplied by 1 + θ, θ being the share of such samples in the round before
    (in the first round: in the same), so that the next pairs dwell on hard samples. The
    members vote.

    Parameters
    ----------
    base_estimator : estimator, default=None
        Any scikit-learn classifier that takes multi-label targets; None:
        ``MLkNNClassifier(n_neighbors=10)``. When it offers ``fit_loo_proba``, a sample is
        misclassified by the prediction made without it; else by the training prediction.
    n_estimators : int, default=30
        S, the number of members.
    threshold : float or (low, high), default=0.6
        Θ: a pair whose label sets overlap by at least so much is a must-link. From a range
        each member draws its own.
    n_must_link, n_cannot_link : int, default=None
        Pairs drawn for a member; None: as many as there are samples.
    voting : {"hard", "soft"}, default="hard"
        hard: a label is predicted when more than half of the members predict it (a tie
        goes by the mean probability). soft: when the mean probability is above one half.
    n_jobs : int, default=None
        Threads, within a member while fitting and over members while predicting; None: as
        many as BLAS would use. The results are the same for every value.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.
    verbose : int, default=0
        Above 0: a line after each member.

    Attributes
    ----------
    estimators_ : list of n_estimators classifiers
        Each fitted on what the projection of the same index gives.
    projections_ : list of n_estimators PairwiseConstraintProjection
        The projections.
    thresholds_ : ndarray of shape (n_estimators,)
        Θ of each member.
    errors_ : ndarray of shape (n_estimators,)
        θ: the share of training samples each member misclassifies.
    sample_weights_ : ndarray of shape (n_samples,)
        The weights after the last round; they add up to 1.
    classes_ : list of n_labels arrays [0, 1]
        The two classes of a one-dimensional target if that was fitted.
    label_names_ : ndarray of shape (n_labels,)
        Column names of Y, when Y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    See Also
    --------
    BaggingVPCPClassifier : The same without the weights.

    References
    ----------
    P. Li, H. Li, M. Wu. Multi-label ensemble based on variable pairwise constraint
    projection. Information Sciences 222 (2013).

    Examples
    --------
    >>> from labelkin import VPCMEClassifier
    >>> from labelkin.datasets import load_digit_scenes
    >>> scenes = load_digit_scenes(n_samples=300, random_state=0)
    >>> model = VPCMEClassifier(n_estimators=5, random_state=0)
    >>> model.fit(scenes.data[:200], scenes.target[:200]).predict(scenes.data[200:]).shape
    (100, 10)
    """

    def _fit_members(self, data: _TrainingData, seeds: Array) -> list[_Member]:
        weights = np.full(len(data.Y), 1 / len(data.Y))
        members: list[_Member] = []
        for seed in seeds:
            member = _Member(self, data, seed, weights)
            previous = members[-1] if members else member
            weights = reweight(weights, member.wrong, previous.wrong.mean())
            members.append(member)
            self._after_member(len(members), member.wrong.mean())
        self.sample_weights_ = weights
        return members


class BaggingVPCPClassifier(_ConstraintEnsemble):
    """Bagging over variable pairwise constraint projections: VPCME without the weights.

    Every sample is as likely in a pair as any other, in every member, so the members are
    independent and are trained in parallel.

    Parameters
    ----------
    base_estimator : estimator, default=None
        Any scikit-learn classifier that takes multi-label targets; None:
        ``MLkNNClassifier(n_neighbors=10)``.
    n_estimators : int, default=30
        S, the number of members.
    threshold : float or (low, high), default=0.6
        Θ: a pair whose label sets overlap by at least so much is a must-link. From a range
        each member draws its own.
    n_must_link, n_cannot_link : int, default=None
        Pairs drawn for a member; None: as many as there are samples.
    voting : {"hard", "soft"}, default="hard"
        As in `VPCMEClassifier`.
    n_jobs : int, default=None
        Threads, over members; None: as many as BLAS would use. The results are the same
        for every value.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.
    verbose : int, default=0
        Above 0: a line after each member.

    Attributes
    ----------
    estimators_, projections_, thresholds_, errors_, classes_, label_names_
        As in `VPCMEClassifier`.
    sample_weights_ : ndarray of shape (n_samples,)
        All equal.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    See Also
    --------
    VPCMEClassifier : The same with samples reweighted after each member.
    """

    def _fit_members(self, data: _TrainingData, seeds: Array) -> list[_Member]:
        done: list[int] = []

        def train(seed: int) -> _Member:
            member = _Member(self, data, seed, None)
            done.append(seed)
            self._after_member(len(done), member.wrong.mean())
            return member

        self.sample_weights_ = np.full(len(data.Y), 1 / len(data.Y))
        if is_foreign(data.labels):
            return [train(seed) for seed in seeds]
        return map_threads(train, seeds, self.n_jobs)


def reweight(weights: Array, wrong: Array, error: float) -> Array:
    """Raise the weight of misclassified samples by 1 + error, then normalise (Table 1, c).

    Parameters
    ----------
    weights : ndarray of shape (n_samples,)
        Weights before.
    wrong : ndarray of bool of shape (n_samples,)
        Which samples are misclassified.
    error : float
        θ, the misclassification rate of the previous round.

    Returns
    -------
    ndarray of shape (n_samples,)
        Weights that add up to 1.
    """
    raised = np.where(wrong, weights * (1 + error), weights)
    return raised / raised.sum()


def _fit_and_predict(estimator: Any, Z: Array, Y: Array) -> Array:
    """Fit, and predict the training samples: each without itself, where the base can."""
    if type(estimator) in _DIRECT:
        # What the ensemble has validated is not looked through again.
        estimator._validate_params()
        estimator._accept(Z, Y)
        return estimator._fit_valid(Z, Y) > 0.5
    if hasattr(estimator, "fit_loo_proba"):
        return estimator.fit_loo_proba(Z, Y) > 0.5
    if is_foreign(Z):
        return estimator.fit(Z, Y).predict(Z)
    target = Y.astype(np.int64)  # some bases write −1 into a copy
    if Y.shape[1] == 1 and get_tags(estimator).target_tags.single_output:
        target = target.ravel()
    return estimator_labels(estimator.fit(Z, target), Z)


def _last(stages: Iterator[tuple[Array, Array]]) -> tuple[Array, Array]:
    return deque(stages, maxlen=1)[0]
