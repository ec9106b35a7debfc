"""Constraint projection: pull must-links together, push cannot-links apart (section 3.2)."""

import math
import warnings
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.utils import Tags, gen_batches
from sklearn.utils._param_validation import Interval

from labelkin._utils.array_api import (
    ascontiguousarray,
    astype,
    is_device_array,
    itemsize,
    matrix_transpose,
    namespace_and_device,
    rows_per_block,
    take_along_axis,
    take_rows,
    to_device_of,
    to_numpy,
)
from labelkin._utils.parallel import map_threads
from labelkin.base import Array, LinearProjection, Matrix, in_blocks
from labelkin.constraints._sampler import ConstraintSampler
from labelkin.neighbors._exact import first_of_equals

# A sparse matrix this small, and not very sparse, is multiplied faster as a dense one.
_DENSE_CELLS = 2**23
_DENSE_SHARE = 0.02
# Rows over coordinates up to which it pays to rotate the rows of a draw once more.
_FEW_ROWS = 0.6
# Cells of a temporary that stays in the cache of one core.
_CACHED_CELLS = 2**16
# Rows of more bytes than this are fetched from memory; the Laplacian fetches each pair's ends
# several times, and multiplies half as much, which pays where rows have more columns than this.
_CACHE_BYTES = 2**25
_NARROW = 256
# Parts of the pairs that threads work on.
_PARTS = 16
# Columns of Xᵀ L X that are computed at once.
_COLUMNS = 128
# Steps of Newton's iteration; from what rounding does to orthogonal columns, three will do.
_MOST_STEPS = 10


def scatter_difference(X: Matrix, must_link: Array, cannot_link: Array) -> tuple[Array, float]:
    """Return S_C − r·S_M (Eq. 5–7) and r (Eq. 4).

    On the host, with L the Laplacian of the graph whose edges are the pairs, the sum over the
    pairs of (x_i − x_j)(x_i − x_j)ᵀ is Xᵀ L X. On a device gathering rows is cheap, and the
    differences are multiplied block by block, always in the same order. So they are on the host
    when X is too large for its cache: no row is fetched from memory twice. Without must-links
    the result is S_C alone.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Samples.
    must_link, cannot_link : ndarray of shape (n_pairs, 2)
        Row indices. On a device they may be those of several projections, (S, n_pairs, 2);
        then so are the results.

    Returns
    -------
    difference : ndarray of shape (n_features, n_features)
        Symmetric.
    scaling : float
        r; on a device an array without dimensions, so as not to wait for it.
    """
    if is_device_array(X) or _out_of_cache(X):
        n_pushed, n_pulled = max(cannot_link.shape[-2], 1), max(must_link.shape[-2], 1)
        scatter = _pair_scatter if is_device_array(X) else _pair_scatter_in_threads
        pushed, pulled = scatter(X, cannot_link), scatter(X, must_link)
        xp, _ = namespace_and_device(X)
        trace = xp.linalg.trace(pulled)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = xp.where(trace > 0, xp.linalg.trace(pushed) / trace, n_pushed / n_pulled)
        difference = pushed - ratio[..., None, None] * pulled
        difference = (difference + xp.matrix_transpose(difference)) * (0.25 / n_pushed)
        return difference, ratio * (n_pulled / n_pushed)
    pushed, pulled = _half_mean_square(X, cannot_link), _half_mean_square(X, must_link)
    # Must-links of identical samples: S_M is zero, and any finite r will do.
    scaling = pushed / pulled if pulled > 0 else 1.0
    L = _laplacian(cannot_link, X) - scaling * _laplacian(must_link, X)
    return _quadratic_form(L, X), scaling


def positive_eigenvectors(
    difference: Array, n_components: int | None = None, dtype: Any = None
) -> tuple[Array, Array]:
    """Return the eigenvectors of the positive eigenvalues, largest first (Eq. 5).

    Parameters
    ----------
    difference : ndarray of shape (k, k)
        S_C − r·S_M.
    n_components : int, optional
        Keep at most so many.
    dtype : dtype, optional
        Precision of the samples, when it is less than that of `difference`.

    Returns
    -------
    vectors : ndarray of shape (k, d)
        Orthonormal columns, d ≥ 1.
    values : ndarray of shape (d,)
        Their eigenvalues.
    """
    xp, _ = namespace_and_device(difference)
    # NumPy's eigh, not SciPy's: each brings a BLAS of its own, and the threads of one spin for
    # work while the other computes, which nearly doubles the time of a fit.
    values, vectors = xp.linalg.eigh(difference)
    eps = float(xp.finfo(values.dtype if dtype is None else dtype).eps)
    # One look at them all: a device is waited for once.
    d = n_positive(to_numpy(values), eps, n_components)
    return xp.flip(vectors[:, -d:], axis=1), xp.flip(values[-d:])


def n_positive(values: Array, eps: float, most: int | None) -> int:
    """Count the positive eigenvalues, at least one.

    A zero eigenvalue is a direction in which no pair differs; rounding makes it ±ε.
    """
    tolerance = len(values) * eps * np.abs(values).max()
    d = max(1, int(np.count_nonzero(values > tolerance)))
    return d if most is None else min(d, most)


class TrainingRows:
    """Training samples in coordinates in which learning a projection is cheap.

    All differences of samples lie in the row space of X. When that is smaller than the
    feature space (k > n) the samples are rotated into it, once for any number of
    projections; eigenvectors found there are rotated back, and nothing is lost.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Samples.
    """

    def __init__(self, X: Matrix) -> None:
        n, k = X.shape
        self.n_features = k
        self._first = first_of_equals(X)
        if self._first is not None:
            self._copies = np.flatnonzero(self._first != np.arange(n))
        self.basis = _row_space(X) if k > n else None
        if self.basis is not None:
            self.rows = X @ self.basis.T
        elif sparse.issparse(X) and n * k <= _DENSE_CELLS and X.nnz > _DENSE_SHARE * n * k:
            self.rows = X.toarray()
        else:
            self.rows = X

    @cached_property
    def _centred(self) -> Matrix:
        """The rows moved, if they are dense: far from the origin a scatter loses digits."""
        if sparse.issparse(self.rows):
            return self.rows
        xp, _ = namespace_and_device(self.rows)
        return self.rows - xp.mean(self.rows, axis=0)

    def project(self, W: Array) -> Array:
        """Return the rows projected; equal samples stay equal to the last digit.

        A matrix product may round equal rows differently, by where they stand, and so
        undo ties between neighbours.
        """
        Z = self.rows @ W
        if self._first is not None:
            Z[self._copies] = Z[self._first[self._copies]]
        return Z

    def scatter_difference(self, must_link: Array, cannot_link: Array) -> tuple[Array, float]:
        """Return S_C − r·S_M and r, in these coordinates."""
        # Differences need no centre, and many rows no copy.
        rows = self.rows if _out_of_cache(self.rows) else self._centred
        return scatter_difference(rows, must_link, cannot_link)

    def in_features(self, vectors: Array) -> Array:
        """Return directions of these coordinates, (p, d), as directions of features, (k, d)."""
        if self.basis is None:
            return vectors
        # Transposed, so that each direction lies side by side in memory.
        return matrix_transpose(matrix_transpose(vectors) @ self.basis)


class PairwiseConstraintProjection(LinearProjection):
    """Linear projection learned from must-link and cannot-link pairs (Eq. 3–7).

    With S_C and S_M the scatter of the differences over the cannot-links and over the
    must-links, and r the ratio of their mean squared distances, the projection W
    maximises tr(Wᵀ (S_C − r·S_M) W) over orthonormal W: its columns are the eigenvectors of
    the positive eigenvalues.

    `fit` makes the pairs from label sets; `fit_pairs` takes your own.

    Parameters
    ----------
    threshold : float, default=0.6
        Θ: two samples are a must-link when their label sets overlap by at least so much, in
        [0, 1]; see `labelkin.constraints._sampler.label_similarity`.
    n_must_link, n_cannot_link : int, default=None
        How many pairs to draw; None: as many as there are samples.
    n_components : int, default=None
        At most so many dimensions; None: one per positive eigenvalue.
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
            0 and 1, one column per label. (A vector of classes is taken too: a set of one.)
        sample_weight : array-like of shape (n_samples,), optional
            Samples are drawn into pairs in proportion to their weight.

        Returns
        -------
        self
        """
        if in_blocks(X):
            from labelkin.distributed import _blocks as _dask

            _dask.fit_projection(self, X, y, sample_weight)
            warn_if_missing(self)
            return self
        rows = self._validate_rows(X, reset=True)
        sampler = ConstraintSampler(self._validate_label_sets(rows, y))
        self._draw_and_learn(TrainingRows(rows), sampler, sample_weight, self.random_state)
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
        training = TrainingRows(self._validate_rows(X, reset=True))
        n = training.rows.shape[0]
        pulled, pushed = (
            _check_pairs(must_link, n, "must_link"),
            _check_pairs(cannot_link, n, "cannot_link"),
        )
        if not len(pulled) and not len(pushed):
            raise ValueError("must_link and cannot_link are both empty; give at least one pair.")
        self._learn(training, pulled, pushed)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def _draw_and_learn(
        self, training: TrainingRows, sampler: ConstraintSampler, weights: Any, random_state: Any
    ) -> Array:
        """Draw pairs and learn from them; return W in the coordinates of the rows."""
        return self._learn(training, *self._draw(sampler, weights, random_state))

    def _draw(
        self, sampler: ConstraintSampler, weights: Any, random_state: Any
    ) -> tuple[Array, Array]:
        """Draw must-links and cannot-links."""
        n = sampler.n_samples
        return sampler.draw(
            self.threshold,
            n if self.n_must_link is None else self.n_must_link,
            n if self.n_cannot_link is None else self.n_cannot_link,
            weights,
            random_state,
        )

    def _learn(self, training: TrainingRows, must_link: Array, cannot_link: Array) -> Array:
        """Learn from pairs of prepared rows; return W in their coordinates."""
        rows = training.rows
        xp, device = namespace_and_device(rows)
        self.must_link_, self.cannot_link_ = (
            to_device_of(must_link, rows),
            to_device_of(cannot_link, rows),
        )
        if not len(cannot_link):
            # Nothing to push apart: S_C − r·S_M has no positive direction. Leave the data be.
            self.scaling_ = 1.0
            self.components_ = xp.eye(training.n_features, dtype=rows.dtype, device=device)
            self.eigenvalues_ = xp.zeros(training.n_features, dtype=xp.float64, device=device)
            return self.components_ if training.basis is None else training.basis
        paired, *pairs = _paired_rows(training, self.must_link_, self.cannot_link_)
        difference, scaling = paired.scatter_difference(*pairs)
        vectors, self.eigenvalues_ = positive_eigenvectors(
            astype(difference, "float64"), self.n_components, rows.dtype
        )
        vectors = vectors if paired is training else paired.in_features(vectors)
        self.scaling_ = float(scaling)
        # Side by side in memory, as components_ are to be.
        vectors = ascontiguousarray(astype(vectors, rows.dtype).T).T
        directions = training.in_features(vectors)
        largest = xp.argmax(xp.abs(directions.T), axis=1)
        entries = take_along_axis(directions, largest[None, :], axis=0)
        W = vectors * (signs := entries / xp.abs(entries))
        self.components_ = ascontiguousarray(
            (W if training.basis is None else directions * signs).T
        )
        return W


def warn_if_missing(projection: PairwiseConstraintProjection) -> None:
    """Warn, in one sentence, when no pair of a kind exists at all."""
    if not projection.cannot_link_.shape[0]:
        warnings.warn(
            f"No two samples are a cannot-link at threshold={projection.threshold:g}; the "
            "projection is the identity. A higher threshold makes more cannot-links.",
            stacklevel=3,
        )
    elif not projection.must_link_.shape[0]:
        warnings.warn(
            f"No two samples are a must-link at threshold={projection.threshold:g}; the "
            "projection is learned from cannot-links alone. A lower threshold makes more "
            "must-links.",
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


def _paired_rows(training: Any, must_link: Array, cannot_link: Array) -> tuple[Any, Array, Array]:
    """Return the rows that are in a pair, if they are few, and the pairs among them.

    Weights can leave so few that their row space is much smaller still.
    """
    if not isinstance(training, TrainingRows) or is_device_array(training.rows):
        return training, must_link, cannot_link
    n, k = training.rows.shape
    chosen = np.zeros(n, dtype=bool)
    chosen[must_link], chosen[cannot_link] = True, True
    if np.count_nonzero(chosen) > _FEW_ROWS * k:
        return training, must_link, cannot_link
    place = np.cumsum(chosen) - 1
    return TrainingRows(training._centred[chosen]), place[must_link], place[cannot_link]


def _pair_scatter(X: Array, pairs: Array) -> Array:
    """Sum over the pairs, (..., n_pairs, 2), of (x_i − x_j)(x_i − x_j)ᵀ."""
    xp, device = namespace_and_device(X)
    *stack, n_pairs, _ = pairs.shape
    k = X.shape[1]
    rows = rows_per_block(3 * k * math.prod(stack), itemsize(X), device, most=max(n_pairs, 1))
    scatter = None
    for start in range(0, n_pairs, rows):
        named = xp.reshape(pairs[..., start : min(start + rows, n_pairs), :], (-1,))
        ends = xp.reshape(take_rows(X, named), (*stack, -1, 2, k))
        differences = ends[..., 0, :] - ends[..., 1, :]
        part = xp.matrix_transpose(differences) @ differences
        scatter = part if scatter is None else scatter + part
    return xp.zeros((*stack, k, k), dtype=X.dtype, device=device) if scatter is None else scatter


def _pair_scatter_in_threads(X: Array, pairs: Array) -> Array:
    """Return what `_pair_scatter` does, for many rows on the host.

    In order of one end, rows are fetched as they lie in memory. The parts do not depend on the
    number of threads.
    """
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    parts = np.array_split(pairs, _PARTS)
    return np.sum(map_threads(lambda part: _pair_scatter(X, part), parts), axis=0)


def _out_of_cache(X: Matrix) -> bool:
    """Whether fetching dense rows on the host takes longer than multiplying their differences."""
    return isinstance(X, np.ndarray) and X.nbytes > _CACHE_BYTES and X.shape[1] <= _NARROW


def _laplacian(pairs: Array, X: Matrix) -> sparse.csr_array:
    """Laplacian of the graph of the pairs over twice their number, as in Eq. 6–7."""
    n_samples = X.shape[0]
    i, j = pairs.T
    weight = np.full(len(pairs), 1 / (2 * max(len(pairs), 1)), dtype=X.dtype)
    row, column = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
    data = np.concatenate([weight, weight, -weight, -weight])
    return sparse.csr_array((data, (row, column)), shape=(n_samples, n_samples))


def _half_mean_square(X: Matrix, pairs: Array) -> float:
    """Half the mean of |x_i − x_j|² over the pairs: the trace of S_C or S_M."""
    cells = X.nnz if sparse.issparse(X) else X.size
    size = max(1, _CACHED_CELLS * X.shape[0] // max(cells, 1))
    total = 0.0
    for start in range(0, len(pairs), size):
        i, j = pairs[start : start + size].T
        difference = X[i] - X[j]
        entries = difference.data if sparse.issparse(difference) else difference.ravel()
        total += np.einsum("i,i->", entries, entries, dtype=np.float64)
    return float(total) / (2 * max(len(pairs), 1))


def _quadratic_form(L: sparse.csr_array, X: Matrix) -> Array:
    """Xᵀ L X for a symmetric L, symmetric to the last digit.

    Of a dense X one triangle is computed, some columns at a time, and mirrored: half the
    products, and no matrix of the size of X.
    """
    if sparse.issparse(X):
        form = (X.T @ (L @ X)).toarray()
        return (form + form.T) * 0.5
    k = X.shape[1]
    form = np.empty((k, k), dtype=X.dtype)
    for columns in gen_batches(k, _COLUMNS):
        first, end = columns.start, columns.stop
        np.matmul(X[:, first:].T, L @ X[:, columns], out=form[first:, columns])
        corner = form[columns, columns]
        form[columns, columns] = (corner + corner.T) * 0.5
        form[columns, end:] = form[end:, columns].T
    return form


def _row_space(X: Matrix) -> Array:
    """Orthonormal basis of the row space, (rank, n_features), by way of the small X·Xᵀ."""
    xp, device = namespace_and_device(X)
    gram = X @ X.T
    gram = gram.toarray() if sparse.issparse(gram) else gram
    values, vectors = xp.linalg.eigh(astype(gram, "float64"))
    n = values.shape[0]
    least = n * float(xp.finfo(X.dtype).eps) * values[-1]
    rank = int(xp.count_nonzero(values > least))
    if rank == 0:  # nothing but zeros: any direction will do
        return xp.eye(1, X.shape[1], dtype=X.dtype, device=device)
    columns = X.T if sparse.issparse(X) else astype(X, "float64").T
    basis = _orthonormal(columns @ vectors[:, n - rank :])
    return ascontiguousarray(astype(basis.T, X.dtype))


def _orthonormal(columns: Array) -> Array:
    """Make columns orthonormal that are orthogonal but for rounding.

    By Newton's iteration, which squares the error: three matrix products, where a QR
    decomposition takes several times as long.
    """
    xp, device = namespace_and_device(columns)
    columns = columns / xp.sqrt(xp.sum(columns * columns, axis=0))
    identity = xp.eye(columns.shape[1], dtype=columns.dtype, device=device)
    for _ in range(_MOST_STEPS):
        excess = columns.T @ columns - identity
        columns = columns - columns @ (0.5 * excess)
        if float(xp.sum(excess * excess)) < float(xp.finfo(columns.dtype).eps):
            break
    return columns
