"""ML-kNN: the posterior of each label given its count among the nearest neighbours."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from labelkin.base import Array, Matrix, MultiLabelClassifier
from labelkin.explain import ExplainMixin
from labelkin.explain._fields import explain_by_neighbors
from labelkin.neighbors._blocks import BlockCounts, predict_blocks
from labelkin.neighbors._counts import NeighborCounts, likely_labels, look_up
from labelkin.rows import Labels, as_dense, is_dask, match, to_device_of, to_numpy


class MLkNNClassifier(ExplainMixin, MultiLabelClassifier):
    """Multi-label k-nearest neighbours (Zhang & Zhou, 2007).

    A sample has label l when that is more likely than not, given the number c of its k
    nearest neighbours that have l. With s the smoothing and n training samples,

    - P(l) = (s + number of samples with l) / (2s + n),
    - P(c | l) = (s + number of samples with l and c such neighbours) /
      (s(k + 1) + number of samples with l), and likewise P(c | not l),

    and Bayes' rule gives P(l | c). A training sample is never its own neighbour; a
    duplicate of it can be. Among equally distant samples the one that comes first in the
    training data is nearer. With k ≥ n all other samples are neighbours. A label that is
    constant in training keeps its prior, which is close to 0 or 1.

    Labels may be unknown in some samples (NaN in y). Each label is then learned from the samples
    for which it is known: n and all numbers of samples are of these, and so are the k nearest
    neighbours. A label known for no sample has a probability of one half, and is not predicted.

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
    of labels of a million samples fit in memory. ``predict_proba`` and ``fit_loo_proba`` are
    dense: predict one block of samples at a time.

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

    _counts: Any
    _fitted_array = "prior_"
    _fits_blocks = True
    _fits_unknown = True
    _fits_unknown_blocks = False
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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any) -> "MLkNNClassifier":
        """Estimate the prior and the likelihoods from the training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label; NaN where a label is unknown.

        Returns
        -------
        self
        """
        self._fit_valid(*self._validate_known(X, y))
        return self

    def _keeps_sparse_labels(self) -> bool:
        return True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_loo_proba(self, X: ArrayLike, y: Any, strict: bool = False) -> Array:
        """Fit, and return leave-one-out probabilities of the training samples.

        Parameters
        ----------
        X, y
            As in ``fit``.
        strict : bool, default=False
            False: the sample is left out of its own neighbours; the prior and the
            likelihoods are those of the whole training set. True: it is left out of these
            as well, so that its own labels have no influence. With rare labels or few
            samples that makes a difference.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            P(label = 1).
        """
        rows, Y, known = self._validate_known(X, y)
        counts = self._fit_valid(rows, as_dense(Y), known)
        posterior = to_numpy(self._posterior)
        if not strict:
            found = self._counts.apply(_posterior_of, counts, posterior)
        else:
            shared = self._counts.histogram(counts), self.smoothing, posterior.dtype
            found = self._counts.apply(_strict_posterior, counts, *shared)
        return to_device_of(found, rows)

    def _fit_loo_wrong(self, X: Matrix, labels: Labels) -> Array:
        """Fit; return which training samples, each left out, are misclassified in a known label.

        An ensemble uses it in place of probabilities, which are dense: those of 5,000 samples
        and 20,000 labels take 400 MB, the whole fit with sparse labels less than 80.
        """
        self._validate_params()
        self._set_shapes(X, labels.Y)
        counts = self._fit_valid(X, labels.Y, labels.known)
        return np.asarray(self._counts.apply(_misclassified, counts, to_numpy(self._posterior)))

    def _fit_valid(self, X: Matrix, Y: Matrix, known: Array | None) -> Matrix:
        """Fit to validated data; return the counts around the training samples."""
        if is_dask(X):
            self._counts = BlockCounts(X, Y, self.n_neighbors, self.n_jobs)
        else:
            self._counts = NeighborCounts(X, Y, self.n_neighbors, self.n_jobs, known)
        counts = self._counts()
        # Training samples without and with each label, by the number of their neighbours that have
        # it: (2, n_labels, k + 1).
        histogram = self._counts.histogram(counts)
        totals = histogram.sum(axis=2, keepdims=True)
        found = _bayes(histogram, totals, self.smoothing, histogram.shape[2])
        prior, self.likelihood_, self._posterior = (match(part, X) for part in found)
        self.prior_ = prior[:, 0]
        return counts

    def _proba(self, X: Matrix) -> Array:
        return to_device_of(look_up(self._posterior, self._counts(X)), X)

    def _predict_dask(self, X: Any, method: str) -> Any:
        if not isinstance(getattr(self, "_counts", None), BlockCounts):
            return super()._predict_dask(X, method)
        return predict_blocks(self, [self], X, method)

    def _combine(self, probabilities: list[Array], method: str) -> Array:
        """Turn the probabilities of `predict_blocks` into the result of a method."""
        [proba] = probabilities
        return self._as_proba(proba) if method == "predict_proba" else self._as_target(proba > 0.5)

    def _predict_sparse(self, X: Matrix) -> sparse.csr_array:
        counts = self._counts(X)
        if not sparse.issparse(counts):  # fitted by fit_loo_proba, which is dense
            return super()._predict_sparse(X)
        return likely_labels(self._posterior, counts)

    def _explain_row(self, row: Matrix) -> dict[str, Any]:
        return explain_by_neighbors([(self, row)])


def _bayes(
    with_count: Array, totals: Array, smoothing: float, n_counts: int
) -> tuple[Array, Array, Array]:
    """Return P(l), P(c | not l) with P(c | l), and P(l | c), by Bayes' rule.

    `totals` are the numbers of samples without and with a label, and `with_count` those of them of
    whose neighbours c have the label. Where 0 is divided by 0, for a label constant in training or
    a count never seen, the prior remains; that of a label known for no sample is one half.
    """
    s, n = smoothing, totals[0] + totals[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        prior = (s + totals[1]) / (2 * s + n)
        likelihood = (s + with_count) / (s * n_counts + totals)
        present, absent = prior * likelihood[1], (1 - prior) * likelihood[0]
        posterior = present / (present + absent)
    if s == 0:
        prior = np.where(n == 0, 0.5, prior)
        posterior = np.where(np.isnan(posterior), prior, posterior)
    return prior, likelihood, posterior


# Functions of the counts and labels of some training samples.


def _posterior_of(counts: Matrix, labels: Array, known: Array | None, posterior: Array) -> Array:
    return look_up(posterior, counts)


def _misclassified(counts: Matrix, labels: Matrix, known: Array | None, posterior: Array) -> Array:
    if sparse.issparse(counts):
        wrong = likely_labels(posterior, counts) != labels
        return np.diff(sparse.csr_array(wrong).indptr) > 0
    wrong = look_up(posterior > 0.5, counts) != labels
    return (wrong if known is None else wrong & known).any(axis=1)


def _strict_posterior(
    counts: Array,
    labels: Array,
    known: Array | None,
    histogram: Array,
    smoothing: float,
    dtype: Any,
) -> Array:
    """Return the posterior of each training sample from the histogram of the others."""
    absent = (1 if known is None else known.astype(np.int64)) - labels.astype(np.int64)
    own = np.stack([absent, labels])  # what the sample itself adds, and is left out
    with_count = np.stack(
        [np.take_along_axis(histogram[present].T, counts, axis=0) for present in (0, 1)]
    )
    totals = histogram.sum(axis=2)[:, None, :]
    n_counts = histogram.shape[2]
    return _bayes(with_count - own, totals - own, smoothing, n_counts)[2].astype(dtype)
