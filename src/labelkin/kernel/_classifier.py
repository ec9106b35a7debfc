"""Kernel ridge regression for label sets: tuned and calibrated by leaving one out."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import _fit_context
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from labelkin._utils.array_api import astype, is_numpy, namespace_and_device, to_device_of, to_numpy
from labelkin.base import Array, Matrix, MultiLabelClassifier
from labelkin.calibration._curves import fit_better_curves, to_log_odds_scale
from labelkin.kernel._regression import KernelRidge
from labelkin.kernel._ridge import RIDGES


class KernelRidgeLOOClassifier(MultiLabelClassifier):
    """Kernel ridge regression of every label, tuned by leave-one-out error, calibrated.

    Each label, as 0 and 1, is regressed on a kernel with a ridge and an intercept. The error
    of every training sample under a model fitted without it has a closed form; one
    eigendecomposition gives it for all labels and all ridges. By this error the width of the
    kernel is chosen once, and the ridge for each label. A logistic curve fitted on the
    leave-one-out scores then turns each label's scores into probabilities; the slopes of rare
    labels are shrunk towards one that all labels share. The curve is a function of the score, or
    of the score on the scale of log odds, whichever predicts held-out samples better.

    Most users need not tune anything. Training costs a few eigendecompositions of
    order n, the number of samples; of order k, the number of features, for a linear or
    cosine kernel with k < n; beyond `max_exact` samples the kernel is approximated from
    `n_landmarks` of them (Nyström).

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "linear", "cosine", "precomputed"} or callable, default="rbf"
        - ``"rbf"``: exp(−d² / 2·width²), d the Euclidean distance;
        - ``"laplacian"``: exp(−d / width), with the same d;
        - ``"linear"``: xᵀz; ``"cosine"``: the same for rows of length 1;
        - ``"precomputed"``: X is the kernel matrix, (n, n) in ``fit`` and (m, n) later;
        - a callable: ``kernel(A, B)`` returns the kernel matrix of two sets of rows.
    width : "auto" or float, default="auto"
        Width of an RBF or Laplacian kernel. ``"auto"``: found by descent on
        the leave-one-out error, starting at the median distance.
    ridges : array-like, default=None
        Ridges to choose from, in units of the mean squared norm of the centred samples in
        the kernel's space. None: 22 from 10⁻⁴ to 10³.
    ridge_shrinkage : float, default=50
        How much a label's ridge depends on the others: as if `ridge_shrinkage` positive
        samples with the mean error of all labels were added. 0: not at all.
    slope_shrinkage : float, default=1
        Weight with which a label's slope is shrunk towards the shared one. 0: not at all.
    scale : bool or "auto", default="auto"
        Whether to divide each feature by its standard deviation first (not for precomputed
        kernels and callables). ``"auto"``: if that lowers the leave-one-out error on a sample
        of the rows by a hundredth or more; not with a given `width`.
    max_exact : int, default=20000
        With more samples than this the kernel is approximated. Memory up to it: about five
        arrays of n × n.
    n_landmarks : int, default=2000
        Number of samples, drawn at random, from which it is then approximated.
    random_state : int, RandomState instance or None, default=None
        Draws landmarks, and the sample of 600 rows on which the search for a width starts.

    Attributes
    ----------
    loo_proba_ : ndarray of shape (n_samples, n_labels)
        Calibrated probabilities of the training samples, from `loo_scores_`. A sample is
        left out of the regression; the scale, the width, the ridges and the two parameters per
        label of the calibration are those of the whole training set.
    loo_scores_ : ndarray of shape (n_samples, n_labels)
        Score of each training sample by a model of the same width and ridge fitted without
        it: near 0 or 1, not confined to that range.
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
    _parameter_constraints: dict = {
        "kernel": [StrOptions({"rbf", "laplacian", "linear", "cosine", "precomputed"}), callable],
        "width": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "ridges": [None, "array-like"],
        "ridge_shrinkage": [Interval(Real, 0, None, closed="left")],
        "slope_shrinkage": [Interval(Real, 0, None, closed="left")],
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
        ridge_shrinkage: float = 50.0,
        slope_shrinkage: float = 1.0,
        scale: bool | str = "auto",
        max_exact: int = 20_000,
        n_landmarks: int = 2_000,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.width = width
        self.ridges = ridges
        self.ridge_shrinkage = ridge_shrinkage
        self.slope_shrinkage = slope_shrinkage
        self.scale = scale
        self.max_exact = max_exact
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "KernelRidgeLOOClassifier":
        """Choose width and ridges, fit, and calibrate.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; with ``kernel="precomputed"`` their kernel matrix.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label.

        Returns
        -------
        self
        """
        self.fit_loo_proba(X, y)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_loo_proba(self, X: Any, y: Any) -> Array:
        """Fit, and return leave-one-out probabilities of the training samples.

        Parameters
        ----------
        X, y
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            P(label = 1), as in `loo_proba_`.
        """
        X, y = self._validate_fit(X, y)
        n, k = X.shape
        if self.kernel == "precomputed" and n != k:
            raise ValueError(
                "X must hold the kernel values between the training samples, a square "
                f'matrix, when kernel="precomputed"; it is {n} × {k}.'
            )
        self._regression = KernelRidge(
            self.kernel,
            width=None if self.width == "auto" else float(self.width),
            scale=self.scale,
            ridges=self._check_ridges(),
            shrinkage=self.ridge_shrinkage,
            n_landmarks=self.n_landmarks if n > self.max_exact else None,
        )
        self.loo_scores_ = self._regression.fit_scores(X, y, self.random_state)
        self.ridge_ = to_device_of(self._regression.ridge_, X)
        self.width_, self.scale_ = self._regression.width_, self._regression.scale_
        landmarks = self._regression.landmarks_
        self.landmarks_ = None if landmarks is None else to_device_of(landmarks, X)

        curves = fit_better_curves(to_numpy(self.loo_scores_), y, self.slope_shrinkage)
        self.slope_, self.intercept_ = (
            to_device_of(curves.slope_, X),
            to_device_of(curves.intercept_, X),
        )
        self.share_ = to_device_of(curves.share_, X) if curves.scale == "log_odds" else None
        self.loo_proba_ = self._calibrate(self.loo_scores_)
        return self.loo_proba_

    def _check_ridges(self) -> Array:
        if self.ridges is None:
            return RIDGES
        ridges = np.unique(np.asarray(self.ridges, dtype=np.float64))
        if not ridges.size or not np.isfinite(ridges).all() or ridges[0] <= 0:
            raise ValueError("ridges must hold positive numbers, at least one.")
        return ridges

    def _calibrate(self, scores: Array) -> Array:
        wide = astype(scores, "float64")
        scaled = wide if self.share_ is None else to_log_odds_scale(wide, self.share_)
        log_odds = self.slope_ * scaled + self.intercept_
        xp, _ = namespace_and_device(log_odds)
        proba = expit(log_odds) if is_numpy(xp) else 1 / (1 + xp.exp(-log_odds))
        return astype(proba, scores.dtype)

    def _proba(self, X: Matrix) -> Array:
        return self._calibrate(self._regression.scores(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
