"""Kernel ridge regression for label sets: tuned and calibrated by leaving one out."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from labelkin._utils.parallel import limit_blas
from labelkin.base import Array, Matrix, MultiLabelClassifier
from labelkin.calibration._curves import expit, fit_better_curves, restore_means, to_log_odds_scale
from labelkin.explain import ExplainMixin
from labelkin.explain._fields import typical_values
from labelkin.kernel._direct import DirectKernelRidge
from labelkin.kernel._explain import explain_rows
from labelkin.kernel._regression import RADIAL, KernelRidge
from labelkin.kernel._ridge import RIDGES
from labelkin.kernel._unknown import left_out_rows
from labelkin.rows import HOST, Rows, as_rows, astype, concatenate, take, to_device_of, to_numpy

# Samples up to which labels have their own ridges, by eigenvectors: beyond, one factorisation
# takes a tenth of the time.
_MAX_EIGEN = 2_000


class KernelRidgeLOOClassifier(ExplainMixin, MultiLabelClassifier):
    """Kernel ridge regression of every label, tuned by leave-one-out error, calibrated.

    Each label, as 0 and 1, is regressed on a kernel with a ridge and an intercept. The error
    of every training sample under a model fitted without it has a closed form; one
    eigendecomposition gives it for all labels and all ridges. By this error the width of the
    kernel is chosen once, and the ridge for each label. A logistic curve fitted on the
    leave-one-out scores then turns each label's scores into probabilities; the slopes of rare
    labels are shrunk towards one that all labels share. The curve is a function of the score, or
    of the score on the scale of log odds, whichever predicts held-out samples better.

    Most users need not tune anything. The width is chosen on a sample of the rows. Up to 2,000
    samples training costs one eigendecomposition of order n, the number of samples (several if
    there are at most 1,000). Beyond, for an RBF or Laplacian kernel all labels share one ridge,
    unless `ridges` is given; a Cholesky factorisation replaces the eigendecomposition, and width
    and ridge are refined by the log loss of calibrated leave-one-out scores of 2,000 samples. For a
    linear or cosine kernel with fewer features than samples the decomposition is of order k, the
    number of features. Beyond `max_exact` samples the kernel is approximated from `n_landmarks` of
    them (Nyström).

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "linear", "cosine", "precomputed"} or callable, default="rbf"
        - ``"rbf"``: exp(−d² / 2·width²), d the Euclidean distance;
        - ``"laplacian"``: exp(−d / width), with the same d;
        - ``"linear"``: xᵀz; ``"cosine"``: the same for rows of length 1;
        - ``"precomputed"``: X is the kernel matrix, (n, n) in ``fit`` and (m, n) later;
        - a callable: ``kernel(A, B)`` returns the kernel matrix of two sets of rows.
    width : "auto" or float, default="auto"
        Width of an RBF or Laplacian kernel. ``"auto"``: found by descent on the leave-one-out
        error of 600 rows, then of 1,000, starting at the median distance.
    ridges : array-like, default=None
        Ridges to choose from, in units of the mean squared norm of the centred samples in
        the kernel's space. None: 22 from 10⁻⁴ to 10³. That of a label is chosen as if 50 positive
        samples with the mean error of all labels were added.
    scale : bool or "auto", default="auto"
        Whether to divide each feature by its standard deviation first (not for precomputed
        kernels and callables). ``"auto"``: if that lowers the leave-one-out error on a sample
        of the rows by a hundredth or more; not with a given `width`.
    max_exact : int, default=20000
        With more samples than this the kernel is approximated. Memory up to it: an array of n × n
        in single precision; with `ridges`, another kernel or on a device about five arrays.
    n_landmarks : int, default=2000
        Number of samples, drawn at random, from which it is then approximated.
    random_state : int, RandomState instance or None, default=None
        Source of the landmarks, and of the rows on which the width is chosen.

    Attributes
    ----------
    loo_proba_ : ndarray of shape (n_samples, n_labels)
        Probabilities of the training samples, an estimate of those of new samples: `loo_scores_`,
        calibrated by curves that were fitted without the fifth of the samples to which the sample
        belongs. The scale, the width, the ridges and the slope that labels share are those of the
        whole training set. Before calibration, the mean of the labels without the sample, which is
        part of the scores, is replaced by that of all samples, as for a new sample. With few rows
        and many rare labels the estimate may be pessimistic, by about one point of average
        precision with 400 rows and 150 labels.
    loo_scores_ : ndarray of shape (n_samples, n_labels)
        Score of each training sample by a model of the same width and ridge fitted without it: near
        0 or 1, not confined to that range. If y has unknown labels, a tenth of the samples is left
        out at a time, those whose numbers are equal modulo 10. They cannot train a second model
        that combines the scores of many labels: each is biased slightly away from the label of its
        own sample, and that model would recover the label from the bias.
    ridge_ : ndarray of shape (n_labels,)
        Ridge of each label: λ in Σ (y − f(x) − b)² + λ|f|².
    width_ : float or None
        Width of an RBF or Laplacian kernel.
    scale_ : ndarray of shape (n_features,) or None
        Divisors of the features, if they were scaled.
    landmarks_ : ndarray of int or None
        Training samples from which the kernel was approximated.
    share_ : ndarray of shape (n_labels,) or None
        None: the curves are functions of the score. Otherwise of the score on the scale of log
        odds, and this is p: the share of the training samples with the label; 1/2 where none or
        all have it.
    slope_, intercept_ : ndarray of shape (n_labels,)
        Log odds of a label are slope_ · score + intercept_; with `share_`,
        slope_ · asinh(score / 2p) + intercept_, or for p above 1/2
        intercept_ − slope_ · asinh((1 − score) / 2(1 − p)).
    classes_ : ndarray of shape (n_labels, 2)
        0 and 1 for each label. After a one-dimensional target: its classes, of shape (2,).
    label_names_ : ndarray of shape (n_labels,)
        Column names of y, when y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    Notes
    -----
    Single precision is kept: float32 features are processed in float32. Arrays of torch and
    CuPy are processed on their device; the calibration is fitted on the host. A label constant
    in training keeps its prior, (1 + samples with it) / (2 + samples).

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin import KernelRidgeLOOClassifier
    >>> X = np.arange(12.0)[:, None]
    >>> Y = np.array([[1, 0]] * 5 + [[1, 1]] * 2 + [[0, 1]] * 5)
    >>> KernelRidgeLOOClassifier().fit(X, Y).predict([[1.2], [10.2]])
    array([[1, 0],
           [0, 1]])
    """

    _fitted_array = "slope_"
    _fits_unknown = True
    _parameter_constraints: dict = {
        "kernel": [StrOptions({"rbf", "laplacian", "linear", "cosine", "precomputed"}), callable],
        "width": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "ridges": [None, "array-like"],
        "scale": ["boolean", StrOptions({"auto"})],
        "max_exact": [Interval(Integral, 1, None, closed="left")],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        *,
        width: str | float = "auto",
        ridges: ArrayLike | None = None,
        scale: bool | str = "auto",
        max_exact: int = 20_000,
        n_landmarks: int = 2_000,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.width = width
        self.ridges = ridges
        self.scale = scale
        self.max_exact = max_exact
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> "KernelRidgeLOOClassifier":
        """Choose width and ridges, fit, and calibrate.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; with ``kernel="precomputed"`` their kernel matrix.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label; NaN, None or pandas' NA where a label is unknown. A label
            is fitted to the samples for which it is known.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 has the same effect as repeating the sample, and 0 as removing it. A
            sample is left out with its whole weight.

        Returns
        -------
        self
        """
        self.fit_loo_proba(X, y, sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @limit_blas(None)
    def fit_loo_proba(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Array:
        """Fit, and return leave-one-out probabilities of the training samples.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            P(label = 1), as in `loo_proba_`.
        """
        rows, labels = self._validate(X, y, sample_weight)
        n, k = rows.shape
        if self.kernel == "precomputed" and n != k:
            raise ValueError(
                "X must hold the kernel values between the training samples, a square "
                f'matrix, when kernel="precomputed"; it is {n} × {k}.'
            )
        X = rows.gather()
        # For explanations
        self._typical = None  # the columns of a kernel matrix are not features
        if self.kernel != "precomputed":
            self._typical = to_device_of(typical_values(X), X)
        self._label_bits = to_device_of(np.packbits(labels.Y > 0, axis=1), X)
        known = None if labels.known is None else np.packbits(labels.known, axis=1)
        self._known_bits = None if known is None else to_device_of(known, X)
        self._row_weight = None if labels.weight is None else to_device_of(labels.weight, X)

        used = np.flatnonzero(labels.weights)
        if len(used) < n:  # as if the others were not there
            rows, labels = rows.take(used), labels.take(used)
            if self.kernel == "precomputed":
                rows = as_rows(take(rows.gather().T, used).T)
        rng = check_random_state(self.random_state)
        self._regression = self._new_regression(rows)
        fold_of = left_out_rows(labels)
        scores = self._regression.fit_scores(rows, labels, rng)
        self.loo_scores_ = astype(to_device_of(scores, X), X.dtype)
        self.ridge_ = to_device_of(self._regression.ridge_, X)
        self.width_, self.scale_ = self._regression.width_, self._regression.scale_

        scores = restore_means(to_numpy(self.loo_scores_), labels, fold_of)
        curves, proba = fit_better_curves(scores, labels)
        self.slope_ = to_device_of(curves.slope_, X)
        self.intercept_ = to_device_of(curves.intercept_, X)
        self.share_ = to_device_of(curves.share_, X) if curves.scale == "log_odds" else None
        self.loo_proba_ = astype(to_device_of(proba, X), self.loo_scores_.dtype)

        landmarks = self._regression.landmarks_
        self.landmarks_ = None if landmarks is None else to_device_of(used[landmarks], X)
        if len(used) < n:
            self._add_unused(X, used)
        return self.loo_proba_

    def _new_regression(self, rows: Rows) -> KernelRidge:
        """Return a learner: with eigenvectors, by one factorisation, or from landmarks."""
        n = len(rows)
        direct = (
            _MAX_EIGEN < n <= self.max_exact
            and self.kernel in RADIAL
            and self.ridges is None
            and rows.place == HOST
        )
        kind = DirectKernelRidge if direct else KernelRidge
        return kind(
            self.kernel,
            width=None if self.width == "auto" else float(self.width),
            scale=self.scale,
            ridges=self._check_ridges(),
            n_landmarks=self.n_landmarks if n > self.max_exact else None,
        )

    def _add_unused(self, X: Matrix, used: Array) -> None:
        """Score the training samples of weight 0, which the model does not depend on."""
        unused = np.setdiff1d(np.arange(X.shape[0]), used)
        order = np.argsort(np.concatenate([used, unused]))

        def merge(known: Any, new: Any) -> Any:
            return take(concatenate([known, new]), order)

        if self.kernel == "precomputed":
            coef = self._regression.coef_
            self._regression.coef_ = merge(coef, 0 * take(coef, np.zeros(len(unused), int)))
        rows = take(X, unused)
        self.loo_scores_ = merge(self.loo_scores_, self._regression.scores(rows))
        self.loo_proba_ = merge(self.loo_proba_, self._proba(rows))

    def _check_ridges(self) -> Array:
        if self.ridges is None:
            return RIDGES
        ridges = np.unique(np.asarray(self.ridges, dtype=np.float64))
        if not ridges.size or not np.isfinite(ridges).all() or ridges[0] <= 0:
            raise ValueError("ridges must hold positive numbers, at least one.")
        return ridges

    def _odds(self, scores: Array) -> Array:
        """Return log odds of rows from their scores."""
        scores = astype(scores, "float64")
        scaled = scores if self.share_ is None else to_log_odds_scale(scores, self.share_)
        return self.slope_ * scaled + self.intercept_

    def _proba(self, X: Matrix) -> Array:
        scores = self._regression.scores(X)
        return astype(expit(self._odds(scores)), scores.dtype)

    def _explain_row(self, row: Matrix) -> dict[str, Any]:
        odds = self._odds(self._regression.scores(row))
        return {
            "member_names": ["kernel"],
            "member_weights": np.ones(1),
            "member_probability": expit(odds),
            "member_effects": odds,
            "intercept": np.zeros(odds.shape[1]),
            **explain_rows(self, [self._regression], row, odds.shape[1]),
        }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
