"""IBLR-ML: logistic regressions on the labels of the nearest neighbours."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import Interval

from labelkin._utils.parallel import map_threads
from labelkin._utils.progress import CallbackSupportMixin, FitProgress, with_callbacks
from labelkin.base import Array, Matrix, MultiLabelClassifier
from labelkin.calibration._curves import expit, fit_logistic
from labelkin.explain import ExplainMixin
from labelkin.explain._fields import explain_by_neighbors
from labelkin.neighbors._counts import NeighborCounts
from labelkin.rows import astype, concatenate, match, to_device_of, to_numpy


class IBLRClassifier(CallbackSupportMixin, ExplainMixin, MultiLabelClassifier):
    """Instance-based logistic regression, IBLR-ML (Cheng & Hüllermeier, 2009).

    With c(m) the number of a sample's k nearest neighbours that have label m, the log odds
    of label l are

    w(l) + Σ over all labels m of w(l, m) · c(m) / k,

    one logistic regression per label, on the neighbours with this label and with the other
    labels. ``add_features=True`` is IBLR-ML+, which adds the sample's own features
    to the sum. Neighbours are those of `MLkNNClassifier`. A label is predicted when its
    probability is above one half.

    Parameters
    ----------
    n_neighbors : int, default=10
        k, the number of neighbours, in Euclidean distance on the features as given.
    add_features : bool, default=False
        Whether to regress on the features as well (IBLR-ML+).
    ridge : float, default=1e-8
        Weight of the squared coefficients of the standardised inputs, the intercept left
        out. The default, WEKA's, hardly regularises; a larger one helps when labels are
        rare, and is advisable with many features in IBLR-ML+.
    tol : float, default=1e-6
        The fit of a label ends when no entry of the gradient exceeds `tol` times the larger
        of 1 and the objective. Where the neighbours separate a label, the likelihood has no
        maximum, and `tol` rather than the small ridge keeps the coefficients moderate.
    n_jobs : int, default=None
        Threads of the search and over labels; None: as many as BLAS would use. The results
        are the same for every value.
    verbose : int, default=0
        1: about ten lines of progress; more: one line per label.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_inputs)
        w(l, ·), of the inputs as they are, not standardised: shares of the neighbours with
        each label, then, in IBLR-ML+, the features.
    intercept_ : ndarray of shape (n_labels,)
        w(l).
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
    A label constant in training keeps its prior, (1 + samples with it) / (2 + samples).
    Where labels are separable, results differ slightly between implementations, because their
    solvers stop at different points.

    References
    ----------
    W. Cheng, E. Hüllermeier. Combining instance-based learning and logistic regression for
    multilabel classification. Machine Learning 76 (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin import IBLRClassifier
    >>> X = np.arange(12.0)[:, None]
    >>> Y = np.array([[1, 0]] * 5 + [[1, 1]] * 2 + [[0, 1]] * 5)
    >>> IBLRClassifier(n_neighbors=3).fit(X, Y).predict([[1.2], [10.2]])
    array([[1, 0],
           [0, 1]])
    """

    _fitted_array = "coef_"
    _parameter_constraints: dict = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "add_features": ["boolean"],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        add_features: bool = False,
        ridge: float = 1e-8,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.add_features = add_features
        self.ridge = ridge
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: ArrayLike, y: Any) -> "IBLRClassifier":
        """Fit one logistic regression per label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
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
        """Fit, and return leave-one-out probabilities of the training samples.

        The sample is left out of its own neighbours; the coefficients are those of the
        whole training set.

        Parameters
        ----------
        X, y
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            P(label = 1).
        """
        rows, Y, _ = self._validate_known(X, y)
        self._counts = NeighborCounts(rows, Y, self.n_neighbors, self.n_jobs)
        self._with_features = self.add_features
        inputs, Y = self._inputs(self._counts(), rows), to_numpy(Y)
        # The regressions are fitted on the host. Centring an input only changes the intercept,
        # which is free: sparse ones stay sparse.
        scaler = StandardScaler(with_mean=not sparse.issparse(inputs))
        design = _beside(scaler.fit_transform(to_numpy(inputs)), np.ones((len(Y), 1)))
        progress = FitProgress(self, "labels", Y.shape[1], self.verbose)

        def coefficients(label: int) -> Array:
            w = fit_logistic(design, Y[:, label], self.ridge, self.tol)
            progress.step()
            return w

        w = np.array(map_threads(coefficients, range(Y.shape[1]), self.n_jobs))
        coef, intercept = w[:, :-1] / scaler.scale_, w[:, -1]
        if scaler.with_mean:
            intercept = intercept - coef @ scaler.mean_
        self.coef_, self.intercept_ = match(coef, rows), match(intercept, rows)
        return self._regress(inputs, rows.dtype)

    def _inputs(self, counts: Array, X: Matrix) -> Matrix:
        """Return the shares of the neighbours with each label, and the features if wanted."""
        shares = to_device_of(counts / max(1, self._counts.search.n_neighbors), X)
        return _beside(shares, X) if self._with_features else shares

    def _regress(self, inputs: Matrix, dtype: Any) -> Array:
        return expit(astype(inputs, dtype) @ self.coef_.T + self.intercept_)

    def _proba(self, X: Matrix) -> Array:
        return self._regress(self._inputs(self._counts(X), X), X.dtype)

    def _explain_row(self, row: Matrix) -> dict[str, Any]:
        return explain_by_neighbors([(self, row)])


def _beside(inputs: Matrix, more: Matrix) -> Matrix:
    """Return the columns of two matrices beside each other; sparse if one of them is."""
    if sparse.issparse(inputs) or sparse.issparse(more):
        return sparse.csr_array(sparse.hstack([inputs, more]))
    return concatenate([inputs, astype(more, inputs.dtype)], axis=1)
