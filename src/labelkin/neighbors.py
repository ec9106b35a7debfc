"""ML-kNN and IBLR-ML: what the labels of the nearest neighbours say."""

from collections.abc import Callable
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import expit
from sklearn.base import _fit_context
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import Interval

from labelkin._array import (
    astype,
    convert_arrays,
    is_numpy,
    label_histogram,
    like,
    namespace,
    neighbor_sums,
    to_numpy,
)
from labelkin._logistic import logistic_coefficients
from labelkin._progress import Progress
from labelkin._search import NeighborSearch, query_together
from labelkin._threads import map_threads
from labelkin.base import Array, Matrix, MultiLabelClassifier


class NeighborCounts:
    """How often each label occurs among the k nearest training samples.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Training rows. The work is done on their device.
    Y : array of shape (n_samples, n_labels)
        Their labels, 0 or 1, on the host or on the device of X.
    n_neighbors : int
        k. With k ≥ n every other sample is a neighbour: k becomes n − 1.
    n_jobs : int, optional
        Threads of the search.
    """

    def __init__(self, X: Matrix, Y: Array, n_neighbors: int, n_jobs: int | None = None) -> None:
        self.n_neighbors = min(n_neighbors, X.shape[0] - 1)
        self.n_jobs = n_jobs
        self.Y = like(Y, X) if isinstance(Y, np.ndarray) else Y
        self.search = NeighborSearch(X, self.n_neighbors)

    def __call__(self, Q: Matrix | None = None) -> Array:
        """Count labels around each row of `Q` (None: each training row, itself left out)."""
        return neighbor_sums(self.Y, self.search.query(Q, self.n_jobs))

    def __sklearn_array_api_convert__(self, converter: Callable[[Any], Any]) -> "NeighborCounts":
        moved = copy(self)
        moved.Y, moved.search = converter(self.Y), convert_arrays(self.search, converter)
        return moved


class MLkNNClassifier(MultiLabelClassifier):
    """Multi-label k-nearest neighbours (Zhang & Zhou, 2007).

    A sample has label l when that is more likely than not, given the number c of its k
    nearest neighbours that have l. With s the smoothing and n training samples,

    - P(l) = (s + number of samples with l) / (2s + n),
    - P(c | l) = (s + number of samples with l and c such neighbours) /
      (s(k + 1) + number of samples with l), and likewise P(c | not l),

    and Bayes' rule gives P(l | c). A training sample is never its own neighbour; a
    duplicate of it can be. Among equally distant samples the one that comes first in the
    training data is nearer. With k ≥ n all other samples are neighbours. A label that is
    constant in training keeps its prior, all but certain.

    Parameters
    ----------
    n_neighbors : int, default=10
        k, the number of neighbours, in Euclidean distance on the features as given.
    smoothing : float, default=1.0
        s, the weight of a uniform prior (1: Laplace). With 0 a count never seen in
        training leaves the prior of the label as it is.
    n_jobs : int, default=None
        Threads of the neighbour search; None: as many as BLAS would use. The results are
        the same for every value.

    Attributes
    ----------
    prior_ : ndarray of shape (n_labels,)
        P(l).
    likelihood_ : ndarray of shape (2, n_labels, k + 1)
        P(c | not l) and P(c | l).
    classes_ : list of n_labels arrays [0, 1]
        The two classes of a one-dimensional target if that was fitted.
    label_names_ : ndarray of shape (n_labels,)
        Column names of Y, when Y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou. ML-KNN: A lazy learning approach to multi-label learning.
    Pattern Recognition 40 (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin import MLkNNClassifier
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 0], [1, 1], [1, 1], [0, 1]])
    >>> MLkNNClassifier(n_neighbors=2).fit(X, Y).predict([[0.05], [1.15]])
    array([[1, 0],
           [1, 1]])
    """

    _fitted_array = "prior_"
    _parameter_constraints: dict = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self, n_neighbors: int = 10, *, smoothing: float = 1.0, n_jobs: int | None = None
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, Y: Any) -> "MLkNNClassifier":
        """Estimate the prior and the likelihoods from the training samples.

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
        self.fit_loo_proba(X, Y)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_loo_proba(self, X: ArrayLike, Y: Any) -> Array:
        """Fit, and return what the fitted model says of each training sample left out.

        The sample is left out of its own neighbours; the prior and the likelihoods are
        those of the whole training set.

        Parameters
        ----------
        X, Y
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            P(label = 1).
        """
        return self._fit_valid(*self._validate_fit(X, Y))

    def _fit_valid(self, X: Matrix, Y: Array) -> Array:
        self._counts = NeighborCounts(X, Y, self.n_neighbors, self.n_jobs)
        counts = self._counts()
        self._estimate(counts, X.dtype)
        return self._posterior_of(counts)

    def _estimate(self, counts: Array, dtype: Any) -> None:
        Y, width = self._counts.Y, self._counts.n_neighbors + 1
        s, n = self.smoothing, Y.shape[0]
        histogram = astype(label_histogram(counts, Y, width), "float64")
        xp, _ = namespace(histogram)
        totals = xp.sum(histogram, axis=2)
        with np.errstate(invalid="ignore"):
            prior = (s + totals[1, :]) / (2 * s + n)
            likelihood = (s + histogram) / (s * width + totals)[:, :, None]
            present = prior[:, None] * likelihood[1, :, :]
            absent = (1 - prior)[:, None] * likelihood[0, :, :]
            # 0/0, only without smoothing: a label that is constant in training, or a count
            # never met. Neither says anything beyond the prior.
            present = xp.where(xp.isnan(present), 0.0, present)
            absent = xp.where(xp.isnan(absent), 0.0, absent)
            posterior = present / (present + absent)
        posterior = xp.where(xp.isnan(posterior), prior[:, None], posterior)
        self.prior_, self.likelihood_ = astype(prior, dtype), astype(likelihood, dtype)
        self._posterior = astype(posterior, dtype)

    def _posterior_of(self, counts: Array) -> Array:
        xp, _ = namespace(counts)
        if is_numpy(xp):
            return self._posterior[np.arange(counts.shape[1]), counts]
        return xp.take_along_axis(self._posterior.T, counts, axis=0)

    def _proba(self, X: Matrix) -> Array:
        return self._posterior_of(self._counts(X))

    @staticmethod
    def _proba_together(models: list["MLkNNClassifier"], queries: list[Array]) -> Array | None:
        """Probabilities of several models fitted to the same labels, (S, n, q), on a device.

        None where they are too large to be asked at once.
        """
        neighbors = query_together([model._counts.search for model in models], queries)
        if neighbors is None:
            return None
        xp, _ = namespace(neighbors)
        S, m, k = neighbors.shape
        sums = neighbor_sums(models[0]._counts.Y, xp.reshape(neighbors, (S * m, k)))
        counts = xp.reshape(sums, (S, m, -1))
        posteriors = xp.stack([model._posterior.T for model in models])
        return xp.take_along_axis(posteriors, counts, axis=1)


class IBLRClassifier(MultiLabelClassifier):
    """Instance-based logistic regression, IBLR-ML (Cheng & Hüllermeier, 2009).

    With c(m) the number of a sample's k nearest neighbours that have label m, the log odds
    of label l are

    w(l) + Σ over all labels m of w(l, m) · c(m) / k,

    one logistic regression a label: neighbours speak for a label, and through the other
    labels they have. ``add_features=True`` is IBLR-ML+, which adds the sample's own features
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
        maximum, the ridge draws it far away, and this is what keeps coefficients moderate.
    n_jobs : int, default=None
        Threads of the search and over labels; None: as many as BLAS would use. The results
        are the same for every value.
    verbose : int, default=0
        1: about ten lines of progress; more: a line for each label.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_inputs)
        w(l, ·), of the inputs as they are, not standardised: shares of the neighbours with
        each label, then, in IBLR-ML+, the features.
    intercept_ : ndarray of shape (n_labels,)
        w(l).
    classes_ : list of n_labels arrays [0, 1]
        The two classes of a one-dimensional target if that was fitted.
    label_names_ : ndarray of shape (n_labels,)
        Column names of Y, when Y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    Notes
    -----
    A label constant in training keeps its prior, (1 + samples with it) / (2 + samples).
    Where labels are separable, figures differ a little between implementations: each stops
    somewhere else on the way.

    References
    ----------
    W. Cheng, E. Hüllermeier. Combining instance-based learning and logistic regression for
    multilabel classification. Machine Learning 76 (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin.neighbors import IBLRClassifier
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

    def fit(self, X: ArrayLike, Y: Any) -> "IBLRClassifier":
        """Fit one logistic regression a label.

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
        self.fit_loo_proba(X, Y)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_loo_proba(self, X: ArrayLike, Y: Any) -> Array:
        """Fit, and return what the fitted model says of each training sample left out.

        The sample is left out of its own neighbours; the coefficients are those of the
        whole training set.

        Parameters
        ----------
        X, Y
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            P(label = 1).
        """
        return self._fit_valid(*self._validate_fit(X, Y))

    def _fit_valid(self, X: Matrix, Y: Array) -> Array:
        self._counts = NeighborCounts(X, Y, self.n_neighbors, self.n_jobs)
        self._with_features = self.add_features
        counts = self._counts()
        # The regressions are fitted on the host.
        host_counts, host_X, Y = to_numpy(counts), to_numpy(X), to_numpy(Y)
        inputs = self._inputs(host_counts, host_X)
        # Moving an input only moves the intercept, which is free: sparse ones stay in place.
        scaler = StandardScaler(with_mean=not sparse.issparse(inputs), copy=True)
        ones = np.ones((len(Y), 1))
        stack = sparse.hstack if sparse.issparse(inputs) else np.hstack
        standardised = stack([scaler.fit_transform(inputs), ones])
        if sparse.issparse(standardised):
            standardised = sparse.csr_array(standardised)
        progress = Progress(self, "labels", Y.shape[1], self.verbose)

        def coefficients(label: int) -> Array:
            w = logistic_coefficients(standardised, Y[:, label], self.ridge, self.tol)
            progress.step()
            return w

        w = np.array(map_threads(coefficients, range(Y.shape[1]), self.n_jobs))
        coef, intercept = w[:, :-1] / scaler.scale_, w[:, -1]
        if not sparse.issparse(inputs):
            intercept = intercept - coef @ scaler.mean_
        self.coef_ = astype(like(coef, X), X.dtype)
        self.intercept_ = astype(like(intercept, X), X.dtype)
        return self._regress(counts, X)

    def _inputs(self, counts: Array, X: Matrix) -> Matrix:
        xp, _ = namespace(counts)
        shares = astype(counts, "float64") / max(1, self._counts.n_neighbors)
        if not self._with_features:
            return shares
        if sparse.issparse(X):
            return sparse.csr_array(sparse.hstack([sparse.csr_array(shares), X]))
        return xp.concat([shares, astype(X, "float64")], axis=1)

    def _regress(self, counts: Array, X: Matrix) -> Array:
        xp, _ = namespace(counts)
        inputs = self._inputs(counts, X)
        if not sparse.issparse(inputs):
            inputs = astype(inputs, X.dtype)
        odds = inputs @ self.coef_.T + self.intercept_
        return expit(odds) if is_numpy(xp) else 1 / (1 + xp.exp(-odds))

    def _proba(self, X: Matrix) -> Array:
        return self._regress(self._counts(X), X)
