"""Kernel ridge regression for label sets: tuned and calibrated by leaving one out."""

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import _fit_context
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from labelkin._utils.array_api import astype, is_numpy, namespace_and_device, to_device_of
from labelkin.base import Array, Matrix, MultiLabelClassifier
from labelkin.calibration._curves import bend, better_curve
from labelkin.kernel._distances import (
    RADIAL,
    SCALED_IS_BETTER,
    FoundWidth,
    KernelColumns,
    Rows,
    column_spread,
    dense,
    descend_width,
    find_width,
    sample_rows,
    take,
)
from labelkin.kernel._ridge import RIDGES, RidgeSpectrum, loo_ridge, to_host

LINEAR = ("linear", "cosine")
# Queries are answered in blocks of so many kernel values.
_BLOCK_CELLS = 2**24


class KernelRidgeLOOClassifier(MultiLabelClassifier):
    """Kernel ridge regression of every label, tuned by leave-one-out error, calibrated.

    Each label, as 0 and 1, is regressed on a kernel with a ridge and an intercept. The error
    of every training sample under a model fitted without it has a closed form; one
    eigendecomposition gives it for all labels and all ridges. It chooses the width of the
    kernel, once, and the ridge, label by label. A logistic curve fitted on the leave-one-out
    scores then turns each label's scores into probabilities; the slopes of rare labels are
    drawn towards one that all labels share. The curve is straight in the score, or in the
    score bent to the scale of log odds, whichever foretells samples left out of it better.

    There is nothing to tune for most users. Training costs a few eigendecompositions of
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
        Width of an RBF or Laplacian kernel. ``"auto"``: found from the median distance,
        downhill on the leave-one-out error.
    ridges : array-like, default=None
        Ridges to choose from, in units of the mean squared norm of the centred samples in
        the kernel's space. None: 22 from 10⁻⁴ to 10³.
    ridge_shrinkage : float, default=50
        How much a label's ridge depends on the others: as if `ridge_shrinkage` positive
        samples with the mean error of all labels were added. 0: not at all.
    slope_shrinkage : float, default=1
        Precision with which a label's slope is drawn towards the shared one. 0: not at all.
    scale : bool or "auto", default="auto"
        Whether to divide each feature by its standard deviation first (not for precomputed
        kernels and callables). ``"auto"``: if that lowers the leave-one-out error on a sample
        of the rows by a hundredth or more.
    max_exact : int, default=20000
        With more samples than this the kernel is approximated. Memory up to it: about five
        arrays of n × n.
    n_landmarks : int, default=2000
        Samples, drawn at random, from which the kernel is approximated then.
    random_state : int, RandomState instance or None, default=None
        Draws landmarks, and the sample of 600 rows on which searches begin.

    Attributes
    ----------
    loo_proba_ : ndarray of shape (n_samples, n_labels)
        Calibrated probabilities of the training samples, from `loo_scores_`. A sample is
        left out of the regression; the scale, the width, the ridges and the two numbers a label of
        the calibration are those of the whole training set.
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
        None: the curves are straight. Else they are bent, and this is p: the share of the
        training samples with the label; 1/2 where none or all have it.
    slope_, intercept_ : ndarray of shape (n_labels,)
        Log odds of a label are slope_ · score + intercept_; of bent curves
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
    Single precision is kept: float32 features are worked on in float32. Arrays of torch and
    CuPy are worked on where they lie; the calibration is fitted on the host. A label constant in
    training keeps its prior, (1 + samples with it) / (2 + samples).

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin.kernel._classifier import KernelRidgeLOOClassifier
    >>> X = np.arange(12.0)[:, None]
    >>> Y = np.array([[1, 0]] * 5 + [[1, 1]] * 2 + [[0, 1]] * 5)
    >>> KernelRidgeLOOClassifier().fit(X, Y).predict([[1.2], [10.2]])
    array([[1, 0],
           [0, 1]])
    """

    _fitted_array = "slope_"
    share_: Any = (
        None  # in a model saved by labelkin 0.1, whose curves are on the scores as they are
    )
    _parameter_constraints: dict = {
        "kernel": [StrOptions({*RADIAL, "linear", "cosine", "precomputed"}), callable],
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

    def fit(self, X: ArrayLike, y: Any) -> "KernelRidgeLOOClassifier":
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
    def fit_loo_proba(self, X: ArrayLike, y: Any) -> Array:
        """Fit, and return what the fitted model says of each training sample left out.

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
        X = _in_order(X)
        choice: dict[str, Any] = {"ridges": self._candidates(), "shrinkage": self.ridge_shrinkage}
        rng = check_random_state(self.random_state)
        self.width_: float | None = None
        self.scale_: Any = None
        self.landmarks_: Array | None = None
        self._columns: Callable[..., Any] = dense
        spectrum = self._decompose(X, y, choice, rng)
        model = loo_ridge(spectrum, y, **choice)
        self.ridge_ = to_device_of(model.ridge, X)
        self.loo_scores_ = model.loo_scores
        self._coef, self._offset = model.coef, model.intercept
        curves = better_curve(to_host(model.loo_scores), y, self.slope_shrinkage)
        self.slope_, self.intercept_ = (
            to_device_of(curves.slope_, X),
            to_device_of(curves.intercept_, X),
        )
        self.share_ = to_device_of(curves.share_, X) if curves.bent else None
        self.loo_proba_ = self._calibrated(self.loo_scores_)
        return self.loo_proba_

    def _calibrated(self, scores: Array) -> Array:
        wide = astype(scores, "float64")
        curved = wide if self.share_ is None else bend(wide, self.share_)
        odds = self.slope_ * curved + self.intercept_
        xp, _ = namespace_and_device(odds)
        return astype(expit(odds) if is_numpy(xp) else 1 / (1 + xp.exp(-odds)), scores.dtype)

    def _candidates(self) -> Array:
        if self.ridges is None:
            return RIDGES
        ridges = np.unique(np.asarray(self.ridges, dtype=np.float64))
        if not ridges.size or not np.isfinite(ridges).all() or ridges[0] <= 0:
            raise ValueError("ridges must hold positive numbers, at least one.")
        return ridges

    def _decompose(
        self, X: Matrix, Y: Array, choice: dict[str, Any], rng: np.random.RandomState
    ) -> RidgeSpectrum:
        """Decompose in the smallest form: features, kernel or landmarks; set `_columns`."""
        n, k = X.shape
        if self.kernel == "precomputed":
            if n != k:
                raise ValueError(
                    "X must hold the kernel values between the training samples, a square "
                    f'matrix, when kernel="precomputed"; it is {n} × {k}.'
                )
            return RidgeSpectrum.of_kernel(dense(X))
        self.scale_, start = self._choose_scale(X, Y, choice, rng)
        rows = self._rows(X, self.scale_)
        if self.kernel in LINEAR and k < n:
            self._columns = rows.prepare
            return RidgeSpectrum.of_features(rows.X)
        if n > self.max_exact:
            chosen = np.sort(rng.permutation(n)[: self.n_landmarks])
            self.landmarks_ = to_device_of(chosen, X)
            rows, Y = rows.take(chosen), Y[chosen]
        found = None
        if self.kernel in RADIAL and self.width == "auto":
            distances = rows.squared_distances()
            found = find_width(distances, Y, self.kernel, **choice, start=start, random_state=rng)
            self.width_ = found.width
        elif self.kernel in RADIAL:
            self.width_ = float(self.width)
        self._columns = columns = KernelColumns(rows, self.kernel, self.width_)
        if self.landmarks_ is not None:
            return RidgeSpectrum.of_landmarks(columns(), map(columns, _blocks(X, len(Y))))
        if found is not None and found.spectrum is not None:
            return found.spectrum
        return RidgeSpectrum.of_kernel(columns())

    def _rows(self, X: Matrix, scale: Any) -> Rows:
        return Rows(X, scale, unit=self.kernel == "cosine")

    def _choose_scale(
        self, X: Matrix, Y: Array, choice: dict[str, Any], rng: np.random.RandomState
    ) -> tuple[Any, float | None]:
        """Return the divisors of the features, or None, and where to look for a width."""
        # A callable knows its features; whoever gives a width has measured them.
        by_error = self.scale == "auto" and self.width == "auto"
        if callable(self.kernel) or not (self.scale is True or by_error):
            return None, None
        spread = column_spread(X)
        if self.scale is True:
            return spread, None
        sample = sample_rows(X.shape[0], rng)

        def attempt(scale: Any) -> FoundWidth:
            rows = self._rows(take(X, sample), scale)
            if self.kernel in RADIAL:
                return descend_width(rows.squared_distances(), Y[sample], self.kernel, **choice)
            spectrum = RidgeSpectrum.of_kernel(rows.products())
            return FoundWidth(np.nan, loo_ridge(spectrum, Y[sample], **choice).error)

        scaled, plain = attempt(spread), attempt(None)
        better = scaled.error < SCALED_IS_BETTER * plain.error
        return (spread, scaled.width) if better else (None, plain.width)

    def _scores(self, X: Matrix) -> Array:
        """Return the regressions' scores of validated rows."""
        X = _in_order(X)
        blocks = _blocks(X, self._coef.shape[0])
        scores = [self._columns(block) @ self._coef + self._offset for block in blocks]
        return (
            scores[0]
            if len(scores) == 1
            else namespace_and_device(*scores)[0].concat(scores, axis=0)
        )

    def _proba(self, X: Matrix) -> Array:
        return self._calibrated(self._scores(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _in_order(X: Matrix) -> Matrix:
    """Return rows one after the other in memory, so that its layout changes no rounding."""
    return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X


def _blocks(X: Matrix, width: int) -> Iterator[Matrix]:
    """Yield some rows at a time, so that arrays of `width` columns stay small."""
    size = max(1, _BLOCK_CELLS // width)
    for start in range(0, X.shape[0], size):
        yield X[start : min(start + size, X.shape[0]), :]
