"""ML-kNN and IBLR-ML: what the labels of the nearest neighbours say."""

from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import expit
from sklearn.base import _fit_context
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval, StrOptions

from labelkin._utils.array_api import (
    astype,
    convert_arrays,
    is_device_array,
    is_numpy,
    label_histogram,
    namespace_and_device,
    neighbor_sums,
    take_along_axis,
    to_device_of,
    to_numpy,
)
from labelkin._utils.parallel import map_threads
from labelkin._utils.progress import FitProgress
from labelkin.base import Array, Matrix, MultiLabelClassifier, is_dask
from labelkin.calibration._logistic import logistic_coefficients
from labelkin.explain import Explanation, explain
from labelkin.neighbors._approximate import ApproximateSearch
from labelkin.neighbors._exact import NeighborSearch, query_together
from labelkin.neighbors._sparse_counts import (
    dense_posterior,
    sparse_histogram,
    sparse_labels,
    sparse_misclassified,
)

# Rows whose sparse counts are looked at together; and cells of dense ones.
_SPARSE_ROWS = 2**14
_DENSE_CELLS = 2**23


class NeighborCounts:
    """How often each label occurs among the k nearest training samples.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Training rows. The work is done on their device.
    Y : array or CSR array of shape (n_samples, n_labels)
        Their labels, 0 or 1, on the host or on the device of X. Sparse labels give sparse
        counts.
    n_neighbors : int
        k. With k ≥ n every other sample is a neighbour: k becomes n − 1.
    n_jobs : int, optional
        Threads of the search.
    search : callable, default=NeighborSearch
        ``search(X, n_neighbors)`` gives what finds the neighbours.
    """

    def __init__(
        self,
        X: Matrix,
        Y: Array,
        n_neighbors: int,
        n_jobs: int | None = None,
        search: Callable[[Matrix, int], Any] = NeighborSearch,
    ) -> None:
        self.n_neighbors = min(n_neighbors, X.shape[0] - 1)
        self.n_jobs = n_jobs
        self.Y = to_device_of(Y, X) if isinstance(Y, np.ndarray) else Y
        self.search = search(X, self.n_neighbors)

    @classmethod
    def of(cls, search: Any, Y: Array, n_jobs: int | None = None) -> "NeighborCounts":
        """Return the counts by a search that is there already."""
        counts = object.__new__(cls)
        counts.n_neighbors, counts.n_jobs = search.n_neighbors, n_jobs
        counts.Y, counts.search = Y, search
        return counts

    def __call__(self, Q: Matrix | None = None) -> Array:
        """Count labels around each row of `Q` (None: each training row, itself left out)."""
        return neighbor_sums(self.Y, self.search.query(Q, self.n_jobs))

    def labels_of(self, rows: Any) -> Array:
        """Return the labels of some training samples as a dense array."""
        labels = self.Y[rows]
        return labels.toarray() if sparse.issparse(labels) else labels

    def __sklearn_array_api_convert__(self, converter: Callable[[Any], Any]) -> "NeighborCounts":
        moved = copy(self)
        moved.search = convert_arrays(self.search, converter)
        if not sparse.issparse(self.Y):
            moved.Y = converter(self.Y)
        elif not hasattr(moved.search, "X"):  # on a device labels are dense
            moved.Y = converter(self.Y.toarray())
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
    neighbors : {"exact", "approximate"}, default="exact"
        "approximate": most of the nearest neighbours, in much less time than n² beyond some
        ten thousand samples; up to 16,000 all of them.
    n_candidates : int, default=64
        Of an approximate search: how many cells, of a few hundred samples each, it looks
        into. More find more of the true neighbours, and take more time; ``recall_`` tells
        what they find.

    Attributes
    ----------
    recall_ : float
        Of an approximate search: the share of the true neighbours that it finds, measured
        on 100 training samples.
    prior_ : ndarray of shape (n_labels,)
        P(l).
    likelihood_ : ndarray of shape (2, n_labels, k + 1)
        P(c | not l) and P(c | l).
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
    X and y can be Dask arrays: neighbours are found in each block of rows, and merged. What
    is fitted keeps the Dask array, and reads its rows again for each prediction; persist it
    first to hold the rows in the workers' memory.

    A sparse y stays sparse in ``fit``, and ``predict`` then gives a sparse matrix: thousands
    of labels of a million samples fit in memory. ``predict_proba`` is dense: ask for a block
    of samples at a time. So is ``fit_loo_proba``.

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
    _supports_dask = True
    _parameter_constraints: dict = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "neighbors": [StrOptions({"exact", "approximate"})],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        smoothing: float = 1.0,
        n_jobs: int | None = None,
        neighbors: str = "exact",
        n_candidates: int = 64,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.n_jobs = n_jobs
        self.neighbors = neighbors
        self.n_candidates = n_candidates

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any) -> "MLkNNClassifier":
        """Estimate the prior and the likelihoods from the training samples.

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
        X, y = self._validate_fit(X, y)
        if is_dask(X) or is_device_array(X):
            self._fit_valid(X, y)
        else:
            self._fit_and_judge(X, y)
        return self

    def _keeps_sparse_labels(self) -> bool:
        return True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_loo_proba(self, X: ArrayLike, y: Any, strict: bool = False) -> Array:
        """Fit, and return what the fitted model says of each training sample left out.

        Parameters
        ----------
        X, y
            As in ``fit``.
        strict : bool, default=False
            False: the sample is left out of its own neighbours; the prior and the
            likelihoods are those of the whole training set. True: it is left out of these
            as well, so that its own labels say nothing about it. With rare labels or few
            samples that makes a difference.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            P(label = 1).
        """
        X, y = self._validate_fit(X, y)
        return self._fit_valid(X, y.toarray() if sparse.issparse(y) else y, strict=strict)

    def _fit_valid(self, X: Matrix, Y: Array, strict: bool = False) -> Array:
        if is_dask(X):
            from labelkin.distributed import _blocks as _dask

            return _dask.fit_mlknn(self, X, Y)
        self._prepare_counts(X, Y)
        return self._fit_counts(self._counts(), X.dtype, strict)

    def _fit_counts(self, counts: Array, dtype: Any, strict: bool) -> Array:
        """Estimate from the counts around the training samples; return their probabilities."""
        histogram = label_histogram(counts, self._counts.Y, self._counts.n_neighbors + 1)
        self._estimate(histogram, dtype)
        if strict:
            return astype(self._strict_posterior(histogram, counts), dtype)
        return self._posterior_of(counts)

    def _prepare_counts(self, X: Matrix, Y: Matrix) -> None:
        self._counts = NeighborCounts(X, Y, self.n_neighbors, self.n_jobs, self._search())
        if self.neighbors == "approximate":
            self.recall_ = self._counts.search.recall

    def _fit_and_judge(self, X: Matrix, Y: Matrix) -> Array:
        """Fit on the host; return which training samples, left out, are misclassified.

        Rows are counted block by block, so that no (n, q) matrix but Y is ever whole.
        """
        self._prepare_counts(X, Y)
        width = self._counts.n_neighbors + 1
        neighbors = self._counts.search.query(None, self.n_jobs)
        thin = sparse.issparse(Y)
        size = _SPARSE_ROWS if thin else max(1, _DENSE_CELLS // Y.shape[1])
        blocks = list(gen_batches(X.shape[0], size))
        tally: Callable[..., Array] = sparse_histogram if thin else label_histogram

        def counted() -> Iterator[tuple[Matrix, Matrix]]:
            return ((neighbor_sums(Y, neighbors[rows]), Y[rows]) for rows in blocks)

        # Of several blocks, counts are not kept but counted again: they are many times Y.
        counts: Any = list(counted()) if len(blocks) == 1 else None
        self._estimate(sum(tally(*block, width) for block in counts or counted()), X.dtype)
        return np.concatenate([self._judge(*block) for block in counts or counted()])

    def _judge(self, counts: Matrix, Y: Matrix) -> Array:
        """Tell whose label sets are not those more likely than not."""
        if sparse.issparse(counts):
            return sparse_misclassified(counts, Y, self._posterior)
        return ((self._posterior_of(counts) > 0.5) != Y).any(axis=1)

    def _search(self) -> Callable[[Matrix, int], Any]:
        if self.neighbors == "exact":
            return NeighborSearch
        return partial(ApproximateSearch, n_candidates=self.n_candidates, n_jobs=self.n_jobs)

    def _estimate(self, histogram: Array, dtype: Any) -> None:
        width = histogram.shape[2]
        s = self.smoothing
        histogram = astype(histogram, "float64")
        xp, _ = namespace_and_device(histogram)
        totals = xp.sum(histogram, axis=2)
        n = totals[0, 0] + totals[1, 0]
        with np.errstate(invalid="ignore"):
            prior = (s + totals[1, :]) / (2 * s + n)
            likelihood = (s + histogram) / (s * width + totals)[:, :, None]
            present = prior[:, None] * likelihood[1, :, :]
            absent = (1 - prior)[:, None] * likelihood[0, :, :]
            # 0/0, only without smoothing: a label that is constant in training, or a count
            # never met. Neither says anything beyond the prior.
            if s == 0:
                present = xp.where(xp.isnan(present), 0.0, present)
                absent = xp.where(xp.isnan(absent), 0.0, absent)
            posterior = present / (present + absent)
            if s == 0:
                posterior = xp.where(xp.isnan(posterior), prior[:, None], posterior)
        self.prior_, self.likelihood_ = astype(prior, dtype), astype(likelihood, dtype)
        self._posterior = astype(posterior, dtype)

    def _strict_posterior(self, histogram: Array, counts: Array) -> Array:
        """Posterior of each training sample from the histogram of the others."""
        xp, _ = namespace_and_device(histogram)
        s, width = self.smoothing, self._counts.n_neighbors + 1
        own = astype(self._counts.Y, "float64")
        n = own.shape[0]
        joint, totals = [], []
        for kind, itself in enumerate([1 - own, own]):
            table = astype(histogram[kind, :, :], "float64")
            cells = take_along_axis(table.T, counts, axis=0) - itself
            total = xp.sum(table, axis=1)[None, :] - itself
            with np.errstate(invalid="ignore", divide="ignore"):
                joint.append((s + total) / (2 * s + n - 1) * (s + cells) / (s * width + total))
            totals.append(total)
        with np.errstate(invalid="ignore", divide="ignore"):
            posterior = joint[1] / (joint[0] + joint[1])
        prior = (s + totals[1]) / max(2 * s + n - 1, 1)
        return xp.where(xp.isnan(posterior), prior, posterior)

    def _posterior_of(self, counts: Matrix) -> Array:
        if sparse.issparse(counts):
            return dense_posterior(counts, self._posterior)
        if is_numpy(namespace_and_device(counts)[0]):
            return self._posterior[np.arange(counts.shape[1]), counts]
        return take_along_axis(self._posterior.T, counts, axis=0)

    def _proba(self, X: Matrix) -> Array:
        return self._posterior_of(self._counts(X))

    def _predict_sparse(self, X: Matrix) -> sparse.csr_array:
        counts = self._counts(X)
        if not sparse.issparse(counts):  # fitted by fit_loo_proba, which is dense
            return super()._predict_sparse(X)
        return sparse_labels(counts, self._posterior)

    def explain(self, x: ArrayLike) -> Explanation:
        """Say on which training samples the prediction for one sample rests.

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

    @staticmethod
    def _proba_together(models: list["MLkNNClassifier"], queries: list[Array]) -> Array | None:
        """Probabilities of several models fitted to the same labels, (S, n, q), on a device.

        None where they are too large to be asked at once.
        """
        neighbors = query_together([model._counts.search for model in models], queries)
        if neighbors is None:
            return None
        xp, _ = namespace_and_device(neighbors)
        S, m, k = neighbors.shape
        sums = neighbor_sums(models[0]._counts.Y, xp.reshape(neighbors, (S * m, k)))
        counts = xp.reshape(sums, (S, m, -1))
        posteriors = xp.stack([model._posterior.T for model in models])
        return take_along_axis(posteriors, counts, axis=1)


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
    Where labels are separable, figures differ a little between implementations: each stops
    somewhere else on the way.

    References
    ----------
    W. Cheng, E. Hüllermeier. Combining instance-based learning and logistic regression for
    multilabel classification. Machine Learning 76 (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin.neighbors._mlknn import IBLRClassifier
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

    def fit(self, X: ArrayLike, y: Any) -> "IBLRClassifier":
        """Fit one logistic regression a label.

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
        """Fit, and return what the fitted model says of each training sample left out.

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
        return self._fit_valid(*self._validate_fit(X, y))

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
        progress = FitProgress(self, "labels", Y.shape[1], self.verbose)

        def coefficients(label: int) -> Array:
            w = logistic_coefficients(standardised, Y[:, label], self.ridge, self.tol)
            progress.step()
            return w

        w = np.array(map_threads(coefficients, range(Y.shape[1]), self.n_jobs))
        coef, intercept = w[:, :-1] / scaler.scale_, w[:, -1]
        if not sparse.issparse(inputs):
            intercept = intercept - coef @ scaler.mean_
        self.coef_ = astype(to_device_of(coef, X), X.dtype)
        self.intercept_ = astype(to_device_of(intercept, X), X.dtype)
        return self._regress(counts, X)

    def _inputs(self, counts: Array, X: Matrix) -> Matrix:
        xp, _ = namespace_and_device(counts)
        shares = astype(counts, "float64") / max(1, self._counts.n_neighbors)
        if not self._with_features:
            return shares
        if sparse.issparse(X):
            return sparse.csr_array(sparse.hstack([sparse.csr_array(shares), X]))
        return xp.concat([shares, astype(X, "float64")], axis=1)

    def _regress(self, counts: Array, X: Matrix) -> Array:
        xp, _ = namespace_and_device(counts)
        inputs = self._inputs(counts, X)
        if not sparse.issparse(inputs):
            inputs = astype(inputs, X.dtype)
        odds = inputs @ self.coef_.T + self.intercept_
        return expit(odds) if is_numpy(xp) else 1 / (1 + xp.exp(-odds))

    def _proba(self, X: Matrix) -> Array:
        return self._regress(self._counts(X), X)
