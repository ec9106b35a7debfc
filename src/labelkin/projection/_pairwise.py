"""Constraint projection: pull must-links together, push cannot-links apart (section 3.2)."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval

from labelkin.base import Array, Matrix, validate_rows
from labelkin.constraints import ConstraintSampler
from labelkin.projection._base import LinearProjection
from labelkin.rows import (
    DaskBlocks,
    DaskRows,
    as_dense,
    ascontiguousarray,
    astype,
    first_of_equals,
    is_dask,
    namespace_and_device,
    rows_per_block,
    take,
    to_device_of,
    to_numpy,
)

# A sparse matrix of at most 2²³ entries (64 MB dense) of which more than 2 % are stored is
# multiplied faster as a dense one.
_DENSE_ENTRIES = 2**23
_DENSE_SHARE = 0.02


class PairwiseConstraintProjection(LinearProjection):
    """Linear projection learned from must-link and cannot-link pairs, as in VPCME (Eq. 3–7).

    With S_C and S_M the scatter of the differences over the cannot-links and over the
    must-links, and r the ratio of their mean squared distances, the projection W
    maximises tr(Wᵀ (S_C − r·S_M) W) over orthonormal W: its columns are the eigenvectors of
    the positive eigenvalues.

    `fit` draws the pairs by label sets; `fit_pairs` uses given pairs.

    Parameters
    ----------
    threshold : float, default=0.6
        Θ in [0, 1]: two samples are a must-link when the similarity of their label sets is at
        least Θ; see `labelkin.constraints.label_similarity`.
    n_must_link, n_cannot_link : int, default=None
        Number of pairs to draw; None: as many as there are samples.
    n_components : int, default=None
        Maximal number of dimensions; None: one per positive eigenvalue.
    random_state : int, RandomState instance or None, default=None
        Source of the draw.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        Wᵀ: orthonormal rows, the largest entry of each positive.
    eigenvalues_ : ndarray of shape (d,)
        Their eigenvalues, decreasing. Without cannot-links, when the projection is the
        identity, zeros.
    scaling_ : float
        r (Eq. 4).
    must_link_, cannot_link_ : ndarray of shape (n_pairs, 2)
        Row indices of the pairs.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin import PairwiseConstraintProjection
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> projection = PairwiseConstraintProjection().fit_pairs(
    ...     X, must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (1, 3)]
    ... )
    >>> projection.transform(X).ravel()
    array([0., 0., 1., 1.])
    """

    _stored_array = "eigenvalues_"
    _directions: Array
    """W in the coordinates of the training rows, (p, d)."""
    _basis: Array
    """Basis of these coordinates, (p, n_features); None: they are the features."""
    _fits_unknown = True
    _parameter_constraints: dict = {
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "n_must_link": [None, Interval(Integral, 1, None, closed="left")],
        "n_cannot_link": [None, Interval(Integral, 1, None, closed="left")],
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        threshold: float = 0.6,
        *,
        n_must_link: int | None = None,
        n_cannot_link: int | None = None,
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.threshold = threshold
        self.n_must_link = n_must_link
        self.n_cannot_link = n_cannot_link
        self.n_components = n_components
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> "PairwiseConstraintProjection":
        """Draw pairs by their label sets and learn the projection.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label; NaN where a label is unknown. Two samples are compared by
            the labels known in both. (A vector of classes is accepted too: sets of one.)
        sample_weight : array-like of shape (n_samples,), optional
            Samples are drawn into pairs in proportion to their weight.

        Returns
        -------
        self
        """
        rows, labels = self._validate(X, y)
        pairs = ConstraintSampler(labels).draw(
            self.threshold, self.n_must_link, self.n_cannot_link, sample_weight, self.random_state
        )
        self._learn(TrainingRows(rows), *pairs)
        warn_if_missing(self)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_pairs(
        self, X: ArrayLike, must_link: ArrayLike, cannot_link: ArrayLike
    ) -> "PairwiseConstraintProjection":
        """Learn the projection from given pairs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        must_link, cannot_link : array-like of shape (n_pairs, 2)
            Row indices of pairs that belong together, and that do not. One of them may be
            empty.

        Returns
        -------
        self
        """
        rows = validate_rows(self, X)
        pairs = (
            _check_pairs(must_link, rows.shape[0], "must_link"),
            _check_pairs(cannot_link, rows.shape[0], "cannot_link"),
        )
        if not any(map(len, pairs)):
            raise ValueError("must_link and cannot_link are both empty; give at least one pair.")
        self._learn(TrainingRows(rows), *pairs)
        return self

    def _learn(self, training: "TrainingRows", must_link: Array, cannot_link: Array) -> Array:
        """Learn W from pairs of training rows (Eq. 3–7); return it in their coordinates, (p, d)."""
        rows = training.rows
        xp, device = namespace_and_device(rows)
        self.must_link_ = to_device_of(must_link, rows)
        self.cannot_link_ = to_device_of(cannot_link, rows)
        if not len(cannot_link):
            # Nothing to push apart: S_C − r·S_M has no positive direction. Keep the data.
            k, self._basis, self.scaling_ = training.n_features, None, 1.0
            self._directions = xp.eye(k, dtype=rows.dtype, device=device)
            self.eigenvalues_ = xp.zeros(k, dtype=xp.float64, device=device)
            return self._directions if training.basis is None else training.basis
        # Eq. 6 and 7: the scatter of cannot-links and of must-links.
        S_C, S_M = training.scatter(cannot_link), training.scatter(must_link)
        # Eq. 4: r is the ratio of their traces; where S_M is zero, any finite r is valid.
        trace_C, trace_M = float(xp.linalg.trace(S_C)), float(xp.linalg.trace(S_M))
        self.scaling_ = trace_C / trace_M if trace_M > 0 else 1.0
        # Eq. 5: the eigenvectors of the positive eigenvalues maximise the objective of Eq. 3.
        # NumPy's eigh, not SciPy's: each brings its own BLAS, and idle threads of one slow the
        # other, which nearly doubles the time of a fit.
        values, vectors = xp.linalg.eigh(astype(S_C - self.scaling_ * S_M, "float64"))
        # A zero eigenvalue is a direction in which no pair differs; rounding makes it ±ε.
        eps = float(xp.finfo(rows.dtype).eps)
        tolerance = values.shape[0] * eps * float(xp.max(xp.abs(values)))
        d = max(1, int(xp.count_nonzero(values > tolerance)))
        d = d if self.n_components is None else min(d, self.n_components)
        self.eigenvalues_ = xp.flip(values[-d:])
        # Largest first; transposed twice, so that each direction is contiguous in memory.
        vectors = xp.flip(vectors[:, -d:], axis=1)
        vectors = ascontiguousarray(astype(vectors, rows.dtype).T).T
        directions = training.in_features(vectors)
        # The largest entry of each is positive: the signs that LAPACK chose do not matter.
        negative = xp.max(directions, axis=0) < -xp.min(directions, axis=0)
        signs = 1 - 2 * astype(negative, directions.dtype)
        self._directions, self._basis = vectors * signs, training.basis
        return self._directions

    @property
    def components_(self) -> Array:
        """Wᵀ as directions of features."""
        W = self._directions
        return W.T if self._basis is None else W.T @ self._basis

    def _project(self, X: Matrix) -> Array:
        return (X if self._basis is None else X @ self._basis.T) @ self._directions

    @property
    def _n_features_out(self) -> int:
        return self._directions.shape[1]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags


def warn_if_missing(projection: PairwiseConstraintProjection) -> None:
    """Warn, in one sentence, when no pair of a kind exists at all."""
    if not projection.cannot_link_.shape[0]:
        kind, result, change = "cannot-link", "is the identity", "higher"
    elif not projection.must_link_.shape[0]:
        kind, result, change = "must-link", "is learned from cannot-links alone", "lower"
    else:
        return
    warnings.warn(
        f"No two samples are a {kind} at threshold={projection.threshold:g}; the projection "
        f"{result}. A {change} threshold makes more {kind}s.",
        stacklevel=3,
    )


def _check_pairs(pairs: ArrayLike, n_samples: int, name: str) -> Array:
    """Validate a user's pairs of row indices."""
    array = np.asarray(to_numpy(pairs))
    if array.size == 0:
        return np.empty((0, 2), dtype=np.intp)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must hold pairs of row indices, as integers of shape (n_pairs, 2), got "
            f"{array.dtype} of shape {array.shape}."
        )
    if array.min() < 0 or array.max() >= n_samples:
        raise ValueError(
            f"{name} has the row index {array.min() if array.min() < 0 else array.max()}, but "
            f"X has {n_samples} rows: indices go from 0 to {n_samples - 1}."
        )
    return array.astype(np.intp)


class TrainingRows:
    """Training samples, also on Dask, in coordinates in which learning a projection is cheap.

    All differences of samples lie in the row space of X. When that is smaller than the feature
    space (k > n) the samples are rotated into it, once for any number of projections; eigenvectors
    found there are rotated back. This is exact. ``basis`` are the orthonormal rows that span it;
    None: the coordinates are the features. The work is done where X lies.
    """

    def __init__(self, X: Any) -> None:
        n, k = X.shape
        self.n_features, self.rows, self.basis = k, X, None
        if is_dask(X):
            self.rows = X.persist()
        elif k > n:
            self.basis = _row_space(X)
            self.rows = X @ self.basis.T
        elif sparse.issparse(X) and n * k <= _DENSE_ENTRIES and X.nnz > _DENSE_SHARE * n * k:
            self.rows = X.toarray()
        self._first_equal = first_of_equals(X)

    def scatter(self, pairs: Array) -> Array:
        """Return the scatter of pairs (i, j), a NumPy array, in these coordinates (Eq. 6–7).

        That is the sum of (x_i − x_j)(x_i − x_j)ᵀ over twice the number of pairs.
        """
        if is_dask(self.rows) and len(pairs):
            total = _sum_of_squares_on_workers(self.rows, pairs)
        else:
            total = _sum_of_squares(self.rows, pairs, self.rows.dtype)
        return total / (2 * max(len(pairs), 1))

    def project(self, W: Array) -> Any:
        """Return the rows projected by W, (p, d); equal samples stay equal to the last digit.

        A matrix product may round equal rows differently, by their position, and so undo
        ties between neighbours.
        """
        Z = self.rows @ W
        return Z if self._first_equal is None else Z[self._first_equal]

    def in_features(self, vectors: Array) -> Array:
        """Return directions of these coordinates, (p, d), as directions of features, (k, d)."""
        # Transposed, so that each direction is contiguous in memory.
        return vectors if self.basis is None else (vectors.T @ self.basis).T


def _sum_of_squares(X: Matrix, pairs: Array, dtype: Any) -> Array:
    """Return the sum of (x_i − x_j)(x_i − x_j)ᵀ over the pairs, by blocks of bounded memory."""
    xp, device = namespace_and_device(X)
    k = X.shape[1]
    total = xp.zeros((k, k), dtype=dtype, device=device)
    # A block of k differences is as large as the result; sparse ones need no blocks.
    most = len(pairs) if sparse.issparse(X) else rows_per_block(3 * k, device, most=2**20)
    size = max(k, most)
    for start in range(0, len(pairs), size):
        i, j = pairs[start : start + size].T
        differences = take(X, i) - take(X, j)
        total = total + as_dense(differences.T @ differences)
    return total


def _sum_of_squares_on_workers(rows: DaskRows, pairs: Array) -> Array:
    """Return the same in double precision from rows on Dask, of which those in pairs are sent."""
    # Pairs whose first rows are near each other, at most as many as the largest block has rows.
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    needed, places, size = [], [], int(rows.sizes.max())
    for start in range(0, len(pairs), size):
        distinct, place = np.unique(pairs[start : start + size], return_inverse=True)
        needed.append(rows.take(distinct).stacked())
        places.append(place.reshape(-1, 2))
    return DaskBlocks(needed).total(_sum_of_squares, [places], [np.float64])


def _row_space(X: Matrix) -> Array:
    """Return an orthonormal basis of the row space, (rank, n_features), from the small X·Xᵀ."""
    xp, device = namespace_and_device(X)
    values, vectors = xp.linalg.eigh(astype(as_dense(X @ X.T), "float64"))
    tolerance = values.shape[0] * float(xp.finfo(X.dtype).eps) * values[-1]
    rank = int(xp.count_nonzero(values > tolerance))
    if rank == 0:  # all rows are zero
        return xp.eye(1, X.shape[1], dtype=X.dtype, device=device)
    # Orthogonal up to rounding, which QR removes.
    basis, _ = xp.linalg.qr(astype(X, "float64").T @ vectors[:, -rank:])
    return ascontiguousarray(astype(basis.T, X.dtype))
