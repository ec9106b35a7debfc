"""What VPCME and Bagging_VPCP share: parameters, validation, fitted attributes, prediction."""

import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

from labelkin._utils.array_api import astype, is_device_array, to_device_of, to_numpy
from labelkin._utils.progress import FitProgress, warn_if_long
from labelkin.base import MAX_SEED, Array, Matrix, MultiLabelClassifier, is_dask
from labelkin.calibration._curves import SlopeCalibration
from labelkin.ensemble._explain import explain_ensemble
from labelkin.ensemble._member import Member, TrainingSet
from labelkin.ensemble._oob import OutOfBag, precision_weights
from labelkin.ensemble._threshold import choose_threshold
from labelkin.ensemble._voting import WeightedVotes, member_outputs, vote
from labelkin.explain import Explanation
from labelkin.metrics import METRICS
from labelkin.neighbors import MLkNNClassifier
from labelkin.neighbors._blocks import BlockCounts, predict_blocks
from labelkin.projection import feature_importances
from labelkin.projection._pairwise import warn_if_missing


class ConstraintEnsemble(MultiLabelClassifier):
    """Members in constraint projections that vote.

    A subclass trains the members in its ``fit``, between `_prepare` and `_finish`.
    """

    projections_: list[Any]
    estimators_: list[Any]
    vote_weights_: Array
    calibration_: SlopeCalibration | None
    sample_weights_: Array
    _needs = None
    _fitted_array = "sample_weights_"
    # Called with the number and the training error of each member when it is trained. Set it
    # on an instance to follow a long fit; it is no parameter, and a clone does not have it.
    _callback: Callable[[int, float], None] | None = None
    _parameter_constraints: dict = {
        "estimator": [None, HasMethods(["fit", "predict"])],
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
        estimator: Any = None,
        n_estimators: int = 30,
        *,
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
        self.estimator = estimator
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

    @abstractmethod
    def _rounds(self, data: TrainingSet, seeds: Array) -> Iterator[tuple[Member, Array]]:
        """Train a member per seed; yield each, and the sample weights after it."""

    def _prepare(
        self, X: Matrix, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[TrainingSet, Array, Callable[[int, Member], None]]:
        """Check the parameters, prepare the data, and choose Θ if it is "auto".

        Returned are the data, the members' seeds, and a function to be called with the number of
        each member, from 1, and the member.
        """
        self._check_threshold()
        self._check_bag()
        base = self._base(X)
        self._check_dask(X, base)
        rng = check_random_state(self.random_state)
        seeds = rng.randint(MAX_SEED, size=self.n_estimators)
        data = TrainingSet.prepare(self, X, y, base, sample_weight)
        progress = FitProgress(self, "members", self.n_estimators, self.verbose)
        if self.threshold == "auto":
            # Drawn after the members' seeds, which are those of an ensemble with Θ given.
            self.threshold_, self.threshold_scores_ = choose_threshold(self, data, rng)
            data = data.with_threshold(self.threshold_, self.bag)
            n_tried = len(self.threshold_scores_["threshold"])
            progress.print(f"threshold {self.threshold_:.3g} of {n_tried} tried")

        started, at_once = time.perf_counter(), self._members_at_once()

        def report(number: int, member: Member) -> None:
            if number == at_once:
                seconds = (time.perf_counter() - started) / number
                cure = "fewer members or, with max_features, fewer features take less time"
                warn_if_long(self.n_estimators - number, "members", seconds, cure)
            error = f"training error {member.error:.3f}"
            progress.print(f"member {number} of {self.n_estimators}, {error}")
            if self._callback is not None:
                self._callback(number, member.error)

        return data, seeds, report

    def _members_at_once(self) -> int:
        """Return how many members are trained at the same time."""
        return 1

    def _finish(self, data: TrainingSet, members: list[Member]) -> Any:
        """Set the fitted attributes; ``sample_weights_`` are those after the last member."""
        if data.sample_weight is not None:
            weights = data.sample_weight * self.sample_weights_
            self.sample_weights_ = weights / weights.sum()
        self.estimators_ = [member.estimator for member in members]
        self.projections_ = [member.projection for member in members]
        self.thresholds_ = np.array([p.threshold for p in self.projections_])
        self.errors_ = np.array([member.error for member in members])
        self.vote_weights_ = np.ones(len(members))
        self.calibration_ = None
        if self.bag is not None:
            self._set_out_of_bag(members, data)
        for name in ("thresholds_", "errors_", "sample_weights_", "vote_weights_"):
            setattr(self, name, to_device_of(getattr(self, name), data.X))
        warn_if_missing(self.projections_[0])
        return self

    def _set_out_of_bag(self, members: list[Member], data: TrainingSet) -> None:
        """Set the attributes that are learned from predictions outside the bags."""
        Y, outside = data.Y, [member.outside for member in members if member.outside is not None]
        if self.vote_weights == "oob":
            self.vote_weights_ = precision_weights(outside, Y)
        oob = OutOfBag(Y)
        for predictions, weight in zip(outside, self.vote_weights_, strict=True):
            oob.add(*predictions, weight)
        if not oob.predicted.all():
            warnings.warn(
                f"{np.count_nonzero(~oob.predicted)} of {len(Y)} samples are in the bag of every "
                "member and have no out-of-bag prediction; more members or a smaller bag give "
                "them one.",
                stacklevel=3,
            )
        proba = oob.proba()
        self.oob_score_ = oob.score(METRICS[self.oob_metric], vote(proba, oob.votes(), self.voting))
        self.oob_proba_ = to_device_of(self._as_proba(proba), data.X)
        if self.calibrate and oob.predicted.any():
            self.calibration_ = SlopeCalibration().fit(proba[oob.predicted], Y[oob.predicted])

    def _member_outputs(self, X: Matrix) -> Iterator[tuple[Array, Array]]:
        """Yield (probabilities, labels) of each member in turn."""
        n_labels = 1 if self._one_target else self.classes_.shape[0]
        return member_outputs(self.projections_, self.estimators_, X, n_labels, self.n_jobs)

    def _mean(self, outputs: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
        """Return mean probability and share of votes from the outputs of all members."""
        total = WeightedVotes()
        for (proba, labels), weight in self._weighted(outputs):
            total.add(proba, labels, weight)
        return total.mean()

    def _staged_means(self, X: ArrayLike, method: str) -> Iterator[tuple[Array, Array]]:
        """Yield mean probability and share of votes after each member."""
        total = WeightedVotes()
        outputs = self._member_outputs(self._validate_predict(X, method))
        for (proba, labels), weight in self._weighted(outputs):
            total.add(proba, labels, weight)
            yield total.mean()

    def _weighted(self, outputs: Iterable[tuple[Array, Array]]) -> Iterable[Any]:
        """Return pairs of a member's output and its weight."""
        return zip(outputs, to_numpy(self.vote_weights_).tolist(), strict=True)

    def _decide(self, proba: Array, votes: Array) -> Array:
        """Return labels: by the vote, or by calibrated probabilities if there are any."""
        if self.calibration_ is None:
            return vote(proba, votes, self.voting)
        return self._calibrated(proba) > 0.5

    def _calibrated(self, proba: Array) -> Array:
        if self.calibration_ is None:
            return proba
        return astype(to_device_of(self.calibration_(to_numpy(proba)), proba), proba.dtype)

    def _proba(self, X: Matrix) -> Array:
        return self._calibrated(self._mean(self._member_outputs(X))[0])

    def _labels(self, X: Matrix) -> Array:
        return self._decide(*self._mean(self._member_outputs(X)))

    def _predict_dask(self, X: Any, method: str) -> Any:
        members = getattr(self, "estimators_", [None])
        if not isinstance(getattr(members[0], "_counts", None), BlockCounts):
            return super()._predict_dask(X, method)
        without_rows = copy(self)
        del without_rows.estimators_, without_rows.projections_, without_rows.sample_weights_
        answer = _mean_proba if method == "predict_proba" else _voted_labels
        return predict_blocks(without_rows, members, X, answer)

    def staged_predict_proba(self, X: ArrayLike) -> Iterator[Array]:
        """Yield the result of ``predict_proba`` with one member, with two, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_labels)
        """
        for proba, _ in self._staged_means(X, "staged_predict_proba"):
            yield self._as_proba(self._calibrated(proba))

    def staged_predict(self, X: ArrayLike) -> Iterator[Array]:
        """Yield the result of ``predict`` with one member, with two, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of int of shape (n_samples, n_labels)
        """
        for proba, votes in self._staged_means(X, "staged_predict"):
            yield self._as_target(self._decide(proba, votes))

    def explain(self, x: ArrayLike) -> Explanation:
        """Return the training samples and votes on which the prediction for one sample rests.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The sample.

        Returns
        -------
        Explanation
            Print it, or read its arrays.
        """
        return explain_ensemble(self, x)

    @property
    def feature_importances_(self) -> Array:
        """Mean share of each feature in the value of the members' projections."""
        return feature_importances(self)

    def _keeps_sparse_labels(self) -> bool:
        known = self.estimator is None or type(self.estimator) is MLkNNClassifier
        return known and self.bag is None and self.threshold != "auto"

    def _base(self, X: Matrix) -> Any:
        base = MLkNNClassifier() if self.estimator is None else clone(self.estimator)
        if is_device_array(X) and not get_tags(base).array_api_support:
            raise ValueError(
                f"estimator={type(base).__name__} works on the host only: give X and y as "
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

    def _check_dask(self, X: Matrix, base: Any) -> None:
        if not is_dask(X):
            return
        if not isinstance(base, MLkNNClassifier):
            raise ValueError(
                f"estimator={type(base).__name__} cannot be fitted to Dask arrays, only "
                "MLkNNClassifier can; bring the data into memory with X.compute()."
            )
        in_memory = {
            "bag": self.bag is not None,
            "threshold='auto'": self.threshold == "auto",
            "max_features": self.max_features is not None,
        }
        for setting, is_set in in_memory.items():
            if is_set:
                raise ValueError(
                    f"{setting} needs the rows in memory: give X and y as NumPy arrays, or "
                    f"leave {setting.partition('=')[0]} at its default."
                )

    def _threshold_range(self) -> Any:
        """Return the lowest and highest Θ; with "auto" it is not known before the trials."""
        number = isinstance(self.threshold, Real)
        return (self.threshold, self.threshold) if number else self.threshold

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base = self.estimator
        tags.array_api_support = base is None or get_tags(base).array_api_support
        return tags


def _mean_proba(model: ConstraintEnsemble, probabilities: list[Array]) -> Array:
    """Turn the members' probabilities into the result of ``predict_proba``."""
    proba, _ = model._mean((proba, proba > 0.5) for proba in probabilities)
    return model._as_proba(model._calibrated(proba))


def _voted_labels(model: ConstraintEnsemble, probabilities: list[Array]) -> Array:
    """Turn the members' probabilities into the result of ``predict``."""
    means = model._mean((proba, proba > 0.5) for proba in probabilities)
    return model._as_target(model._decide(*means))
