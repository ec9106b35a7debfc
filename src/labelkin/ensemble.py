"""VPCME and Bagging_VPCP: ensembles over constraint projections (Table 1)."""

import time
import warnings
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context, clone
from sklearn.utils import Tags, check_random_state, gen_batches, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

from labelkin._array import astype, is_foreign, like, namespace, to_numpy
from labelkin._calibration import SlopeCalibration
from labelkin._constraint_members import Member, TrainingData, proba_and_labels
from labelkin._features import feature_importances
from labelkin._oob import OutOfBag, bound_weights, precision_weights
from labelkin._stacked_members import (
    can_be_stacked,
    members_together,
    proba_together,
    stack_size,
    train_stack,
)
from labelkin._threads import map_anywhere, map_threads, n_at_a_time
from labelkin._threshold import MOST_CANDIDATES, candidate_thresholds, halve
from labelkin.base import Array, Matrix, MultiLabelClassifier, in_blocks
from labelkin.explain import Explanation, explain
from labelkin.metrics import METRICS
from labelkin.neighbors import MLkNNClassifier
from labelkin.projection import warn_if_missing

MOST_WEIGHT = 5.0
"""With a bag, no sample weighs more than so many times the mean (`reweight_outside`)."""

AUTO_BAG = 0.6
"""The bag of the trials of ``threshold="auto"`` where the ensemble itself has none."""

TRIAL_SHARE = 0.75
"""Trial members over `n_estimators`: a bag and a high Θ cost a little more than the rest."""


class _ConstraintEnsemble(MultiLabelClassifier):
    """Members in constraint projections, and their vote."""

    _fits_blocks = True
    _fitted_array = "sample_weights_"
    _parameter_constraints: dict = {
        "base_estimator": [None, HasMethods(["fit", "predict"])],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"}), tuple, list],
        "n_must_link": [None, Interval(Integral, 1, None, closed="left")],
        "n_cannot_link": [None, Interval(Integral, 1, None, closed="left")],
        "voting": [StrOptions({"hard", "soft"})],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "bag": [None, Interval(Real, 0, 1, closed="neither")],
        "oob_metric": [StrOptions(set(METRICS))],
        "vote_weights": [StrOptions({"equal", "oob"})],
        "calibrate": ["boolean"],
        "max_features": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "feature_draw": [StrOptions({"uniform", "importance"})],
    }

    def __init__(
        self,
        base_estimator: Any = None,
        n_estimators: int = 30,
        threshold: float | tuple[float, float] | str = 0.6,
        n_must_link: int | None = None,
        n_cannot_link: int | None = None,
        voting: str = "hard",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        bag: float | None = None,
        oob_metric: str = "average_precision",
        vote_weights: str = "equal",
        calibrate: bool = False,
        max_features: int | float | None = None,
        feature_draw: str = "uniform",
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
        self.bag = bag
        self.oob_metric = oob_metric
        self.vote_weights = vote_weights
        self.calibrate = calibrate
        self.max_features = max_features
        self.feature_draw = feature_draw

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
        self._check_bag()
        self._check_blocks(X)
        rng = check_random_state(self.random_state)
        seeds = rng.randint(2**31 - 1, size=self.n_estimators)
        data = TrainingData(X, Y, self._base(X), self._threshold_range(), self.bag)
        self._started = time.perf_counter()
        if self.threshold == "auto":
            # The members' seeds come first: they are what they are with this Θ given.
            self._choose_threshold(data, rng)
            data = data.with_settings((self.threshold_, self.threshold_), self.bag)
        members = self._fit_members(data, seeds)
        del self._started
        self.estimators_ = [member.estimator for member in members]
        self.projections_ = [member.projection for member in members]
        self.thresholds_ = np.array([p.threshold for p in self.projections_])
        self.errors_ = np.array([member.error for member in members])
        self.vote_weights_ = np.ones(len(members))
        self.calibration_: SlopeCalibration | None = None
        if self.bag is not None:
            self._judge_outside(members, to_numpy(Y), X)
        for name in ("thresholds_", "errors_", "sample_weights_", "vote_weights_"):
            setattr(self, name, like(getattr(self, name), X))
        warn_if_missing(self.projections_[0])
        return self

    def _choose_threshold(self, data: TrainingData, rng: Any) -> None:
        """Set ``threshold_`` by trial members, fewer than the ensemble has."""
        n_trials = int(TRIAL_SHARE * self.n_estimators)
        candidates = candidate_thresholds(data.sampler, min(max(n_trials, 1), MOST_CANDIDATES), rng)
        bag = AUTO_BAG if self.bag is None else self.bag
        seeds = rng.randint(2**31 - 1, size=n_trials)

        def members(threshold: float) -> Iterator[tuple[Array, Array, Array]]:
            trial = data.with_settings((threshold, threshold), bag)
            return (member.outside for member, _ in self._rounds(trial, seeds))

        def run(train: Any, which: Any) -> list[Any]:
            return map_threads(train, which, self.n_jobs)

        self.threshold_, self.threshold_scores_ = halve(
            data.Y, candidates, n_trials, members, run, self.oob_metric, self._vote
        )
        if self.verbose:
            print(
                f"[{type(self).__name__}] threshold {self.threshold_:.3g} of {len(candidates)} "
                f"tried, {time.perf_counter() - self._started:.1f} s",
                flush=True,
            )

    def _judge_outside(self, members: list[Member], Y: Array, X: Matrix) -> None:
        """Set ``oob_proba_`` and ``oob_score_`` from what the members say outside their bags."""
        if self.vote_weights == "oob":
            self.vote_weights_ = precision_weights([m.outside for m in members], Y)
        oob = OutOfBag(Y)
        for member, weight in zip(members, self.vote_weights_, strict=True):
            oob.add(*member.outside, weight)
        if not oob.judged.all():
            warnings.warn(
                f"{np.count_nonzero(~oob.judged)} of {len(Y)} samples are in the bag of every "
                "member and have no out-of-bag prediction; more members or a smaller bag give "
                "them one.",
                stacklevel=3,
            )
        proba = oob.proba()
        self.oob_score_ = oob.score(self.oob_metric, self._vote(proba, oob.votes()))
        self.oob_proba_ = like(self._as_proba(proba), X)
        if self.calibrate and oob.judged.any():
            self.calibration_ = SlopeCalibration().fit(proba[oob.judged], Y[oob.judged])

    @property
    def feature_importances_(self) -> Array:
        """Mean share of each feature in the value of the members' projections."""
        return feature_importances(self)

    @abstractmethod
    def _fit_members(self, data: TrainingData, seeds: Array) -> list[Member]:
        """Train a member for each seed, and set ``sample_weights_``."""

    @abstractmethod
    def _rounds(self, data: TrainingData, seeds: Array) -> Iterator[tuple[Member, Array]]:
        """Train a member at each step; yield it, and the sample weights after it."""

    def _keeps_sparse_labels(self) -> bool:
        known = self.base_estimator is None or type(self.base_estimator) is MLkNNClassifier
        return known and self.bag is None and self.threshold != "auto"

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
        if self.threshold == "auto":
            return
        low_high = self._threshold_range()
        numbers = len(low_high) == 2 and all(isinstance(bound, Real) for bound in low_high)
        if not (numbers and 0 <= low_high[0] <= low_high[1] <= 1):
            raise ValueError(
                "threshold must be a number in [0, 1] or a pair (low, high) with "
                f"0 <= low <= high <= 1, got {self.threshold!r}."
            )

    def _check_bag(self) -> None:
        needed = {
            "vote_weights='oob'": self.vote_weights == "oob",
            "calibrate=True": self.calibrate,
        }
        for setting, is_set in needed.items():
            if is_set and self.bag is None:
                raise ValueError(
                    f"{setting} learns from out-of-bag predictions: set bag too, for instance "
                    "bag=0.6."
                )

    def _check_blocks(self, X: Matrix) -> None:
        in_memory = {
            "bag": self.bag is not None,
            "threshold='auto'": self.threshold == "auto",
            "max_features": self.max_features is not None,
        }
        needed = [setting for setting, is_set in in_memory.items() if is_set]
        if in_blocks(X) and needed:
            raise ValueError(
                f"{needed[0]} needs the rows in memory: give X and Y as NumPy arrays, or leave "
                f"{needed[0].partition('=')[0]} at its default."
            )

    def _threshold_range(self) -> Any:
        """Low and high Θ; with "auto" not known before the trials."""
        number = isinstance(self.threshold, Real)
        return (self.threshold, self.threshold) if number else self.threshold

    def _after_member(self, number: int, error: float) -> None:
        """Show progress; called after each member."""
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

        def output(member: tuple[Any, Any]) -> tuple[Array, Array]:
            projection, estimator = member
            return proba_and_labels(estimator, X @ projection.components_.T, q)

        members = list(zip(self.projections_, self.estimators_, strict=True))
        if is_foreign(X):
            yield from map(output, members)
            return
        # Batch by batch, so that only a batch of outputs is held at a time.
        for batch in gen_batches(len(members), n_at_a_time(self.n_jobs)):
            yield from map_anywhere(output, members[batch], self.n_jobs)

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
        size = members_together(self.estimators_, X) if is_foreign(X) else 1
        if size == 1:
            return _last(self._staged(X))
        xp, _ = namespace(X)
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
        return astype(like(self.calibration_(to_numpy(proba)), proba), proba.dtype)

    def _proba(self, X: Matrix) -> Array:
        return self._calibrated(self._outcome(X)[0])

    def _labels(self, X: Matrix) -> Array:
        return self._decide(*self._outcome(X))

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
    threshold : float, (low, high) or "auto", default=0.6
        Θ: a pair whose label sets overlap by at least so much is a must-link. From a range
        each member draws its own. "auto" chooses one Θ for all members by `oob_metric` out
        of bag, among those that split the pairs differently: small trial ensembles, fewer
        members in all than `n_estimators`, so that the fit costs no more than twice as
        much. Where none is clearly better, it stays with what 0.6 does. The trials draw
        inside bags, of share 0.6 if `bag` is None; the
        ensemble is then the same as with this Θ given.
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
    bag : float, default=None
        Share of the samples inside which a member draws its pairs, anew for each member;
        0.6 is a good one. None, as in the paper: all. Of the samples outside the bag the
        projection has not seen the labels, so the member's predictions there are honest:
        they make ``oob_proba_``, and they alone decide who is misclassified. Samples in the
        bag keep their weight in that round, and none ever weighs more than five times the
        mean, so that weights cannot run away onto a few hard samples. A base whose
        ``fit_loo_proba`` has ``strict=True``, as ML-kNN's, learns from all samples, the one
        asked for left out; any other learns from the bag only.
    oob_metric : str, default="average_precision"
        Metric of ``oob_score_`` and of the choice of Θ, a name in
        `labelkin.metrics.METRICS`.
    vote_weights : {"equal", "oob"}, default="equal"
        What a member weighs in the vote and in the mean probability. oob, with a bag: one
        over its mean squared error out of bag. Members that differ little weigh much the
        same.
    calibrate : bool, default=False
        With a bag: pass the mean probabilities through a logistic curve a label, learned
        out of bag, rare labels leaning on the others. A label is then predicted when its
        calibrated probability is above one half, whatever `voting` says.
    max_features : int or float, default=None
        Features that a member sees: a number, or a share of them; anew for each member.
        None, as in the paper: all. Fewer make a member cheaper, and members that differ more.
    feature_draw : {"uniform", "importance"}, default="uniform"
        With `max_features`, how they are drawn. importance: in proportion to their share in
        a first projection, from pairs of its own; that one sees all features, so that
        nothing becomes cheaper.

    Attributes
    ----------
    estimators_ : list of n_estimators classifiers
        Each fitted on what the projection of the same index gives.
    projections_ : list of n_estimators PairwiseConstraintProjection
        The projections, of all features; with `max_features` those that a member did not
        see have zeros in its ``components_``.
    thresholds_ : ndarray of shape (n_estimators,)
        Θ of each member.
    threshold_ : float
        With ``threshold="auto"``: the Θ chosen.
    threshold_scores_ : dict of ndarray
        With ``threshold="auto"``: the Θ tried as ``"threshold"``, the last out-of-bag
        ``"score"`` of each, and of how many trial members, ``"n_members"``. The better
        ones had more, so only scores of equally many are to be compared.
    errors_ : ndarray of shape (n_estimators,)
        θ: the share of training samples each member misclassifies; with a bag, of those
        outside it.
    sample_weights_ : ndarray of shape (n_samples,)
        The weights after the last round; they add up to 1.
    oob_proba_ : ndarray of shape (n_samples, n_labels)
        With a bag: the mean of the probabilities given by the members that had the sample
        outside their bag, before calibration; NaN, and a warning, for a sample that none
        had.
    oob_score_ : float
        With a bag: the value of `oob_metric` for these predictions, an estimate of what new
        samples will give. (A little low: fewer members speak than for a new sample.)
    vote_weights_ : ndarray of shape (n_estimators,)
        What each member weighs; the mean is 1.
    calibration_ : callable or None
        From mean to calibrated probabilities.
    feature_importances_ : ndarray of shape (n_features,)
        Mean share of each feature in the value of the projections; they add up to 1. See
        `labelkin.selection.feature_importances`.
    classes_ : ndarray of shape (n_labels, 2)
        0 and 1 for each label. After a one-dimensional target: its classes, of shape (2,).
    label_names_ : ndarray of shape (n_labels,)
        Column names of Y, when Y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    See Also
    --------
    BaggingVPCPClassifier : The same without the weights.

    Notes
    -----
    X and Y can be Dask arrays whose rows live on different machines, with ML-kNN as the base:
    the rows stay there, in the workers' memory, and the model is the one that the same data
    give in memory. Dask arrays are then answered lazily, with Dask arrays. Blocks of some
    ten thousand rows are a good size. Pickling such a model brings its rows into memory.
    Under ``joblib.parallel_config("dask")`` members and query blocks of data in memory are
    computed on the cluster.

    With ML-kNN as the base, a fixed Θ or a range, and no bag, a sparse Y stays sparse, and
    ``predict`` gives a sparse matrix: thousands of labels of a million samples fit in memory.
    ``predict_proba`` is dense: ask for a block of samples at a time.

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

    def _fit_members(self, data: TrainingData, seeds: Array) -> list[Member]:
        members: list[Member] = []
        for member, weights in self._rounds(data, seeds):
            members.append(member)
            self.sample_weights_ = weights
            self._after_member(len(members), member.error)
        return members

    def _rounds(self, data: TrainingData, seeds: Array) -> Iterator[tuple[Member, Array]]:
        n = data.Y.shape[0]
        weights = np.full(n, 1 / n)
        previous = None
        for seed in seeds:
            member = Member(self, data, seed, weights)
            theta = member.error if previous is None else previous
            previous = member.error
            if data.bag is None:
                weights = reweight(weights, member.wrong, theta)
            else:
                weights = reweight_outside(weights, member.wrong, member.outside[0], theta)
            yield member, weights


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
    threshold : float, (low, high) or "auto", default=0.6
        As in `VPCMEClassifier`.
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
    bag, oob_metric, vote_weights, calibrate, max_features, feature_draw
        As in `VPCMEClassifier`; there are no sample weights to drive.

    Attributes
    ----------
    estimators_, projections_, thresholds_, threshold_, threshold_scores_, errors_, oob_proba_,
    oob_score_, vote_weights_, calibration_, feature_importances_, classes_, label_names_
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

    def _fit_members(self, data: TrainingData, seeds: Array) -> list[Member]:
        n = data.Y.shape[0]
        self.sample_weights_ = np.full(n, 1 / n)
        number = count(1)

        def train(seed: int) -> Member:
            return Member(self, data, seed)

        def tell(member: Member) -> None:
            self._after_member(next(number), member.error)

        if is_foreign(data.labels):
            members = []
            for member, _ in self._rounds(data, seeds):
                members.append(member)
                tell(member)
            return members
        run = map_threads if data.in_blocks else map_anywhere
        return run(train, seeds, self.n_jobs, tell)

    def _rounds(self, data: TrainingData, seeds: Any) -> Iterator[tuple[Member, Array]]:
        equal = np.full(data.Y.shape[0], 1 / data.Y.shape[0])
        if can_be_stacked(self, data):
            for batch in gen_batches(len(seeds), stack_size(self, data)):
                yield from ((member, equal) for member in train_stack(self, data, seeds[batch]))
            return
        for seed in seeds:
            yield Member(self, data, seed), equal


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


def reweight_outside(weights: Array, wrong: Array, rows: Array, error: float) -> Array:
    """Reweight the samples outside the bag, which alone have a verdict.

    They share anew what they weighed together, and the samples in the bag keep their
    weight. Were the wrong ones simply raised, as all samples are without a bag, a sample
    would gain on the others by being outside more often: with many errors chance alone
    would soon put nearly all weight on a few.

    Parameters
    ----------
    weights, wrong, error
        As in `reweight`.
    rows : ndarray of int
        The samples outside the bag.

    Returns
    -------
    ndarray of shape (n_samples,)
        Weights that add up to 1, none above `MOST_WEIGHT` times their mean.
    """
    weights = weights.copy()
    weights[rows] = weights[rows].sum() * reweight(weights[rows], wrong[rows], error)
    return bound_weights(weights, MOST_WEIGHT)


def _last(stages: Iterator[tuple[Array, Array]]) -> tuple[Array, Array]:
    return deque(stages, maxlen=1)[0]
