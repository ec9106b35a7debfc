"""What VPCME and Bagging_VPCP share: parameters, validation, fitted attributes, prediction."""

import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Tags, check_random_state, gen_batches, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from labelkin._utils.labels import fits_unknown
from labelkin._utils.parallel import effective_n_threads, map_threads
from labelkin._utils.progress import CallbackSupportMixin, FitProgress, warn_if_long
from labelkin.base import MAX_SEED, Array, Matrix, MultiLabelClassifier, check_weight
from labelkin.calibration._curves import SlopeCalibration
from labelkin.constraints import ConstraintSampler
from labelkin.ensemble._member import Member, TrainingSet, proba_and_labels
from labelkin.explain import ExplainMixin
from labelkin.explain._fields import explain_by_neighbors
from labelkin.metrics import average_precision
from labelkin.neighbors import MLkNNClassifier
from labelkin.neighbors._blocks import BlockCounts, predict_blocks
from labelkin.projection import feature_importances
from labelkin.projection._pairwise import TrainingRows, warn_if_missing
from labelkin.rows import Labels, is_device_array, to_device_of


class ConstraintEnsemble(CallbackSupportMixin, ExplainMixin, MultiLabelClassifier):
    """Members that vote, each fitted in its own constraint projection.

    A subclass trains the members in its ``fit``, between `_prepare` and `_finish`.
    """

    projections_: list[Any]
    estimators_: list[Any]
    calibration_: SlopeCalibration | None
    sample_weights_: Array
    _fitted_array = "sample_weights_"
    _fits_unknown_blocks = False
    _parameter_constraints: dict = {
        "estimator": [None, HasMethods(["fit", "predict"])],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, 1, closed="both"), tuple, list],
        "n_must_link": [None, Interval(Integral, 1, None, closed="left")],
        "n_cannot_link": [None, Interval(Integral, 1, None, closed="left")],
        "voting": [StrOptions({"hard", "soft"})],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "bag": [None, Interval(Real, 0, 1, closed="neither")],
        "calibrate": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 30,
        *,
        threshold: float | tuple[float, float] = 0.6,
        n_must_link: int | None = None,
        n_cannot_link: int | None = None,
        voting: str = "hard",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        bag: float | None = None,
        calibrate: bool = False,
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
        self.calibrate = calibrate

    def _prepare(
        self, X: Matrix, y: Matrix, known: Array | None, sample_weight: Any, at_once: int = 1
    ) -> tuple[TrainingSet, Array, Callable[[int, Member], None]]:
        """Check the parameters and prepare the data.

        Returned are the data, the members' seeds, and a function to be called with the number of
        each member, from 1, and the member; `at_once` of them are trained at the same time.
        """
        base = self._check_parameters(X)
        labels = Labels(y, check_weight(sample_weight, y.shape[0]), known)
        data = TrainingSet(self, base, TrainingRows(X), labels, ConstraintSampler(y, known))
        seeds = check_random_state(self.random_state).randint(MAX_SEED, size=self.n_estimators)
        progress = FitProgress(self, "members", self.n_estimators, self.verbose)
        started = time.perf_counter()

        def report(number: int, member: Member) -> None:
            if number == at_once:
                seconds = (time.perf_counter() - started) / number
                cure = "fewer members or fewer features take less time"
                warn_if_long(self.n_estimators - number, "members", seconds, cure)
            error = f"training error {member.error:.3f}"
            progress.step(text=f"member {number} of {self.n_estimators}, {error}")

        return data, seeds, report

    def _finish(self, data: TrainingSet, members: list[Member], weights: Array) -> Any:
        """Set the fitted attributes; the weights are those after the last member."""
        if data.labels.weight is not None:
            weights = data.labels.weight * weights
            weights = weights / weights.sum()
        self.estimators_ = [member.estimator for member in members]
        self.projections_ = [member.projection for member in members]
        self.calibration_ = None
        if self.bag is not None:
            self._set_out_of_bag(data, members)
        thresholds = np.array([p.threshold for p in self.projections_])
        errors = np.array([member.error for member in members])
        self.sample_weights_, self.thresholds_, self.errors_ = (
            to_device_of(array, data.rows.rows) for array in (weights, thresholds, errors)
        )
        warn_if_missing(self.projections_[0])
        return self

    def _set_out_of_bag(self, data: TrainingSet, members: list[Member]) -> None:
        """Set the attributes that are learned from predictions outside the bags."""
        labels = data.labels
        proba, counts = np.zeros(labels.shape), np.zeros(len(labels))
        for member in members:
            proba[member.outside] += member.proba
            counts[member.outside] += 1
        predicted = counts > 0
        if not predicted.all():
            warnings.warn(
                f"{np.count_nonzero(~predicted)} of {len(labels)} samples are in the bag of every "
                "member and have no out-of-bag prediction; increase n_estimators or decrease bag.",
                stacklevel=3,
            )
        with np.errstate(invalid="ignore"):
            proba /= counts[:, None]
        judged = predicted if labels.known is None else predicted & labels.known.any(axis=1)
        truth = labels.with_nan()[judged]
        self.oob_score_ = average_precision(truth, proba[judged]) if judged.any() else np.nan
        self.oob_proba_ = to_device_of(self._as_proba(proba), data.rows.rows)
        if self.calibrate and predicted.any():
            self.calibration_ = SlopeCalibration().fit(proba[predicted], labels.take(predicted))

    def _member_outputs(self, X: Matrix) -> Iterator[tuple[Array, Array]]:
        """Yield (probabilities, labels) of each member in turn, on the host."""
        bases = [p._basis for p in self.projections_ if p._basis is not None]
        shared = X @ bases[0].T if bases else None  # coordinates in the row space

        def output(member: tuple[Any, Any]) -> tuple[Array, Array]:
            p, estimator = member
            Z = p._project(X) if p._basis is None else shared @ p._directions
            return proba_and_labels(estimator, Z)

        members = list(zip(self.projections_, self.estimators_, strict=True))
        n_jobs = 1 if is_device_array(X) else self.n_jobs
        # In batches, so that the outputs of one batch are held at a time.
        for batch in gen_batches(len(members), effective_n_threads(n_jobs)):
            yield from map_threads(output, members[batch], n_jobs)

    def _stages(self, outputs: Iterable[tuple[Array, Array]]) -> Iterator[tuple[Array, Array]]:
        """Yield mean probability and share of votes with one member, with two, and so on."""
        proba, votes = 0, 0
        for number, output in enumerate(outputs, 1):
            proba = proba + output[0]
            votes = votes + output[1].astype(output[0].dtype)
            yield proba / number, votes / number

    def _mean(self, outputs: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
        """Return mean probability and share of votes from the outputs of all members."""
        return deque(self._stages(outputs), maxlen=1)[0]

    def _decide(self, proba: Array, votes: Array) -> Array:
        """Return labels: by the vote, or by calibrated probabilities if there are any."""
        if self.calibration_ is not None:
            return self._calibrated(proba) > 0.5
        if self.voting == "soft":
            return proba > 0.5
        return (votes > 0.5) | ((votes == 0.5) & (proba > 0.5))

    def _calibrated(self, proba: Array) -> Array:
        if self.calibration_ is None:
            return proba
        return self.calibration_(proba).astype(proba.dtype)

    def _proba(self, X: Matrix) -> Array:
        return to_device_of(self._calibrated(self._mean(self._member_outputs(X))[0]), X)

    def _labels(self, X: Matrix) -> Array:
        return to_device_of(self._decide(*self._mean(self._member_outputs(X))), X)

    def _predict_dask(self, X: Any, method: str) -> Any:
        members = getattr(self, "estimators_", [None])
        if not isinstance(getattr(members[0], "_counts", None), BlockCounts):
            return super()._predict_dask(X, method)
        return predict_blocks(self, members, X, method)

    def _combine(self, probabilities: list[Array], method: str) -> Array:
        """Turn the members' probabilities into the result of ``predict`` or ``predict_proba``."""
        proba, votes = self._mean((proba, proba > 0.5) for proba in probabilities)
        if method == "predict_proba":
            return self._as_proba(self._calibrated(proba))
        return self._as_target(self._decide(proba, votes))

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
        X = self._validate_predict(X, "staged_predict_proba")
        for proba, _ in self._stages(self._member_outputs(X)):
            yield self._as_proba(to_device_of(self._calibrated(proba), X))

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
        X = self._validate_predict(X, "staged_predict")
        for proba, votes in self._stages(self._member_outputs(X)):
            yield self._as_target(to_device_of(self._decide(proba, votes), X))

    def _explain_row(self, row: Matrix) -> dict[str, Any]:
        if not all(hasattr(member, "_counts") for member in self.estimators_):
            return {}
        projected = [projection._project(row) for projection in self.projections_]
        return explain_by_neighbors(list(zip(self.estimators_, projected, strict=True)))

    @property
    def feature_importances_(self) -> Array:
        """Mean share of each feature in the value of the members' projections."""
        return feature_importances(self)

    def _keeps_sparse_labels(self) -> bool:
        known = self.estimator is None or type(self.estimator) is MLkNNClassifier
        return known and self.bag is None

    @property
    def _fits_unknown(self) -> bool:  # type: ignore[override]
        return self.estimator is None or fits_unknown(self.estimator)

    @property
    def _fits_blocks(self) -> bool:  # type: ignore[override]
        return self._keeps_sparse_labels()

    def _check_parameters(self, X: Matrix) -> Any:
        """Check parameters that depend on each other; return an unfitted copy of the base."""
        base = MLkNNClassifier() if self.estimator is None else clone(self.estimator)
        if is_device_array(X) and not get_tags(base).array_api_support:
            raise ValueError(
                f"estimator={type(base).__name__} works on the host only: give X and y as "
                "NumPy arrays, or use a base with array API support."
            )
        if "n_jobs" in (parameters := base.get_params()) and parameters["n_jobs"] is None:
            base.set_params(n_jobs=self.n_jobs)
        bounds = self.threshold if isinstance(self.threshold, (tuple, list)) else (0, 1)
        if not (
            len(bounds) == 2
            and isinstance(bounds[0], Real)
            and isinstance(bounds[1], Real)
            and 0 <= bounds[0] <= bounds[1] <= 1
        ):
            raise ValueError(
                "threshold must be a number in [0, 1] or a pair (low, high) with "
                f"0 <= low <= high <= 1, got {self.threshold!r}."
            )
        if self.calibrate and self.bag is None:
            raise ValueError(
                "calibrate=True learns from out-of-bag predictions: set bag too, for instance "
                "bag=0.6."
            )
        return base

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base = self.estimator
        tags.array_api_support = base is None or get_tags(base).array_api_support
        return tags
