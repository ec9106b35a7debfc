"""What VPCME and Bagging_VPCP share: their parameters, checks and fit, but for the loop."""

import time
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context, clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

from labelkin._utils.array_api import is_device_array, to_device_of, to_numpy
from labelkin.base import Array, Matrix, is_dask
from labelkin.calibration._curves import SlopeCalibration
from labelkin.ensemble._bags import OutOfBag, precision_weights
from labelkin.ensemble._member import Member, TrainingData
from labelkin.ensemble._threshold import choose_threshold
from labelkin.ensemble._voting import VotingMembers
from labelkin.metrics import METRICS
from labelkin.neighbors._mlknn import MLkNNClassifier
from labelkin.projection._features import feature_importances
from labelkin.projection._pairwise import warn_if_missing


class ConstraintEnsemble(VotingMembers):
    """Members in constraint projections: parameters, and the fit around Table 1's loop.

    The loop itself is `_fit_members`, in `labelkin.ensemble._vpcme`.
    """

    sample_weights_: Array
    _supports_dask = True
    _fitted_array = "sample_weights_"
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

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> "ConstraintEnsemble":
        """Train the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label.
        sample_weight : array-like of shape (n_samples,), optional
            Table 1's w at the start: samples are drawn into pairs in proportion to it, and
            one of weight 0 is in no pair. The base classifiers learn from all samples alike.

        Returns
        -------
        self
        """
        X, y = self._validate_fit(X, y)
        self._check_threshold()
        self._check_bag()
        self._check_blocks(X)
        rng = check_random_state(self.random_state)
        seeds = rng.randint(2**31 - 1, size=self.n_estimators)
        data = TrainingData(X, y, self._base(X), self._threshold_range(), self.bag, sample_weight)
        self._started = time.perf_counter()
        if self.threshold == "auto":
            # The members' seeds come first: they are what they are with this Θ given.
            self.threshold_, self.threshold_scores_ = choose_threshold(self, data, rng)
            data = data.with_settings((self.threshold_, self.threshold_), self.bag)
            self._after_choice()
        members = self._fit_members(data, seeds)
        if sample_weight is not None:
            drawn_by = data.draw_by(to_numpy(self.sample_weights_))
            self.sample_weights_ = drawn_by / drawn_by.sum()
        del self._started
        self.estimators_ = [member.estimator for member in members]
        self.projections_ = [member.projection for member in members]
        self.thresholds_ = np.array([p.threshold for p in self.projections_])
        self.errors_ = np.array([member.error for member in members])
        self.vote_weights_ = np.ones(len(members))
        self.calibration_ = None
        if self.bag is not None:
            self._judge_outside(members, to_numpy(y), X)
        for name in ("thresholds_", "errors_", "sample_weights_", "vote_weights_"):
            setattr(self, name, to_device_of(getattr(self, name), X))
        warn_if_missing(self.projections_[0])
        return self

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
        self.oob_proba_ = to_device_of(self._as_proba(proba), X)
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

    def _check_blocks(self, X: Matrix) -> None:
        in_memory = {
            "bag": self.bag is not None,
            "threshold='auto'": self.threshold == "auto",
            "max_features": self.max_features is not None,
        }
        needed = [setting for setting, is_set in in_memory.items() if is_set]
        if is_dask(X) and needed:
            raise ValueError(
                f"{needed[0]} needs the rows in memory: give X and y as NumPy arrays, or leave "
                f"{needed[0].partition('=')[0]} at its default."
            )

    def _threshold_range(self) -> Any:
        """Low and high Θ; with "auto" not known before the trials."""
        number = isinstance(self.threshold, Real)
        return (self.threshold, self.threshold) if number else self.threshold

    def _after_choice(self) -> None:
        """Show progress; called once Θ is chosen."""
        if self.verbose:
            print(
                f"[{type(self).__name__}] threshold {self.threshold_:.3g} of "
                f"{len(self.threshold_scores_['threshold'])} tried, "
                f"{time.perf_counter() - self._started:.1f} s",
                flush=True,
            )

    def _after_member(self, number: int, error: float) -> None:
        """Show progress; called after each member."""
        if self.verbose:
            seconds = time.perf_counter() - self._started
            print(
                f"[{type(self).__name__}] member {number} of {self.n_estimators}, "
                f"training error {error:.3f}, {seconds:.1f} s",
                flush=True,
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base = self.estimator
        tags.array_api_support = base is None or get_tags(base).array_api_support
        return tags
