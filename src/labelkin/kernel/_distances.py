"""Kernels between rows: distances once, kernels of any width from them.

`RadialRidge` is a kernel ridge on given squared distances. Several of them, of different
kernels, can share one distance matrix, in training and for queries.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._array_api import device, get_namespace

from labelkin._utils.array_api import convert_arrays
from labelkin.base import Array, Matrix
from labelkin.kernel._ridge import RIDGES, LooRidge, RidgeSpectrum, loo_ridge, to_host

RADIAL = ("rbf", "laplacian")
# Scaled columns must lower the error by this factor to be preferred.
SCALED_IS_BETTER = 0.99

# Rows on which the search for a width begins, and on which it ends, at most.
_SOUGHT_ON = 600
_REFINED_ON = 3000
# The width's square stays within 2^±_REACH of where the search starts.
_REACH = 8
# A step must lower the error by this share: beyond lies a plateau.
_WORTHWHILE = 1e-4
# The search for a width looks at every third ridge.
_COARSE = 3


class _Movable:
    """Follows its estimator to another device."""

    def __sklearn_array_api_convert__(self, converter: Callable[[Any], Any]) -> Any:
        moved = copy(self)
        moved.__dict__ = convert_arrays(vars(self), converter)
        return moved


class Preparation(_Movable):
    """What is done to rows and to queries before they are compared.

    Parameters
    ----------
    scale : array of shape (n_features,), optional
        Divisors of the columns.
    unit : bool
        Whether rows, scaled, are brought to length 1; rows of zeros stay.
    """

    def __init__(self, scale: Any = None, unit: bool = False) -> None:
        self.scale, self.unit = scale, unit

    def __call__(self, X: Matrix) -> Matrix:
        """Return rows or queries, scaled and of length 1 as asked for."""
        if self.scale is not None:
            X = X.multiply(1 / self.scale).tocsr() if sparse.issparse(X) else X / self.scale
        return _unit_rows(X) if self.unit else X


class Rows(_Movable):
    """Training rows, prepared for distances to queries and products with them.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Training rows.
    scale, unit
        As in `Preparation`.
    """

    def __init__(self, X: Matrix, scale: Any = None, unit: bool = False) -> None:
        self.prepare = Preparation(scale, unit)
        self.X = self.prepare(X)

    def take(self, rows: Array) -> "Rows":
        """Return some of the rows."""
        part = copy(self)
        part.X = take(self.X, rows)
        return part

    def squared_distances(self, Q: Matrix | None = None) -> Any:
        """Return squared Euclidean distances of queries (None: of the rows) to the rows."""
        X = self.X
        Q = X if Q is None else self.prepare(Q)
        if not sparse.issparse(X) and not sparse.issparse(Q):
            # |x|² − 2x·z + |z|² loses digits when the data lie far from the origin.
            xp, _ = get_namespace(X)
            offset = xp.mean(X, axis=0)
            same = Q is X
            X = X - offset
            Q = X if same else Q - offset
        distances = -2 * _products(Q, X)
        distances += _squared_norms(Q)[:, None]
        distances += _squared_norms(X)[None, :]
        xp, _ = get_namespace(distances)
        distances = xp.where(distances > 0, distances, xp.zeros_like(distances))
        if Q is X:  # rounding
            diagonal = xp.arange(X.shape[0], device=device(distances))
            distances = xp.where(diagonal[:, None] == diagonal[None, :], 0.0, distances)
        return distances

    def products(self, Q: Matrix | None = None) -> Any:
        """Return inner products of queries (None: of the rows) with the rows."""
        return _products(self.X if Q is None else self.prepare(Q), self.X)


def take(A: Matrix, rows: Array, axis: int = 0) -> Matrix:
    """Return rows (or columns) of an array of any namespace, or of a CSR matrix."""
    if sparse.issparse(A):
        return A[rows, :]
    xp, _ = get_namespace(A)
    return xp.take(A, xp.asarray(rows, device=device(A)), axis=axis)


def take_both(A: Any, rows: Array) -> Any:
    """Return some rows, and the same columns, of a square matrix."""
    return A if len(rows) == A.shape[0] else take(take(A, rows), rows, axis=1)


def dense(A: Matrix) -> Any:
    """Return a matrix that may be sparse as an array."""
    return A.toarray() if sparse.issparse(A) else A


def _products(A: Matrix, B: Matrix) -> Any:
    """Return A Bᵀ, dense."""
    if sparse.issparse(A):
        products = A @ B.T
        return products.toarray() if sparse.issparse(products) else np.asarray(products)
    return np.asarray((B @ A.T).T) if sparse.issparse(B) else A @ B.T


def _squared_norms(X: Matrix) -> Any:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    xp, _ = get_namespace(X)
    return xp.sum(X * X, axis=1)


def _unit_rows(X: Matrix) -> Matrix:
    """Return rows of length 1; rows of zeros stay."""
    norms = _squared_norms(X) ** 0.5
    xp, _ = get_namespace(norms)
    norms = xp.where(norms > 0, norms, xp.ones_like(norms))
    if sparse.issparse(X):
        return sparse.csr_matrix(X.multiply(1 / norms[:, None]), dtype=X.dtype)
    return X / norms[:, None]


def column_spread(X: Matrix) -> Any:
    """Return the standard deviation of each column, 1 where it is 0."""
    if sparse.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        squares = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(squares - mean**2, 0)).astype(X.dtype)
        spread[spread <= 1e-6 * np.sqrt(squares)] = 0
    else:
        xp, _ = get_namespace(X)
        spread = xp.std(X, axis=0)
        spread = xp.where(spread > 1e-6 * xp.max(xp.abs(X), axis=0), spread, 0 * spread)
    xp, _ = get_namespace(spread)
    return xp.where(spread > 0, spread, xp.ones_like(spread))


def radial(distances: Any, kernel: str, width: float) -> Any:
    """Return kernel values from squared distances.

    ``"rbf"``: exp(−d² / 2·width²); ``"laplacian"``: exp(−d / width), d Euclidean.
    """
    xp, _ = get_namespace(distances)
    if kernel == "rbf":
        return xp.exp(distances * (-0.5 / width**2))
    return xp.exp(xp.sqrt(distances) * (-1 / width))


class KernelColumns(_Movable):
    """Kernel values between queries and given rows.

    Parameters
    ----------
    rows : Rows
        Training rows, or some of them.
    kernel : str or callable
        As in `KernelRidgeLOOClassifier`, but not precomputed.
    width : float, optional
        Of a radial kernel.
    """

    def __init__(self, rows: Rows, kernel: Any, width: float | None = None) -> None:
        self.rows, self.kernel, self.width = rows, kernel, width

    def __call__(self, Q: Matrix | None = None) -> Any:
        """Return the kernel values of queries (None: of the rows) and the rows, dense."""
        if self.width is not None:
            return radial(self.rows.squared_distances(Q), self.kernel, self.width)
        if callable(self.kernel):
            X = self.rows.X
            return dense(self.kernel(X if Q is None else Q, X))
        return self.rows.products(Q)


def median_distance(distances: Any) -> float:
    """Return the median distance between two rows, 1 if no two rows differ."""
    pairs = to_host(distances)
    pairs = pairs[np.triu_indices(len(pairs), 1)]
    median = float(np.median(pairs)) if len(pairs) else 0.0
    if median == 0:  # many duplicates
        pairs = pairs[pairs > 0]
        median = float(np.median(pairs)) if len(pairs) else 1.0
    return median**0.5


class RadialRidge:
    """Ridge regression with a radial kernel, on squared distances.

    Parameters
    ----------
    distances : array of shape (n_samples, n_samples)
        Squared distances between training rows, as `Rows.squared_distances` gives them.
    Y : ndarray of shape (n_samples, n_labels)
        Their labels, 0 or 1.
    kernel : {"rbf", "laplacian"}
        See `radial`.
    width : float, optional
        None: `find_width`.
    ridges, shrinkage
        As in `loo_ridge`.
    random_state : numpy.random.RandomState, optional
        Draws the rows on which the search for a width begins.

    Attributes
    ----------
    width : float
        The width.
    model : LooRidge
        Ridges, leave-one-out scores, coefficients.
    """

    def __init__(
        self,
        distances: Any,
        Y: Array,
        kernel: str = "rbf",
        width: float | None = None,
        ridges: Array = RIDGES,
        shrinkage: float = 0.0,
        random_state: np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        spectrum = None
        if width is None:
            found = find_width(distances, Y, kernel, ridges, shrinkage, random_state=random_state)
            width, spectrum = found.width, found.spectrum
        self.width = width
        if spectrum is None:
            spectrum = RidgeSpectrum.of_kernel(radial(distances, kernel, width))
        self.model: LooRidge = loo_ridge(spectrum, Y, ridges, shrinkage)

    @property
    def loo_scores(self) -> Any:
        """Score of each training row by the model without it, (n_samples, n_labels)."""
        return self.model.loo_scores

    def scores(self, distances: Any) -> Any:
        """Return scores of queries from their squared distances to the training rows."""
        return self.model.scores(radial(distances, self.kernel, self.width))


@dataclass
class FoundWidth:
    """A width, its leave-one-out error, and the decomposition of all rows, if it was made."""

    width: float
    error: float
    spectrum: RidgeSpectrum | None = None


def find_width(
    distances: Any,
    Y: Array,
    kernel: str,
    ridges: Array = RIDGES,
    shrinkage: float = 0.0,
    start: float | None = None,
    random_state: np.random.RandomState | None = None,
) -> FoundWidth:
    """Find a width of small leave-one-out error, from squared distances.

    From the median distance in large steps on a sample of some hundred rows, then in smaller
    ones on all rows, or on some thousand. Given a `start`, only the latter.
    """
    rng = np.random.RandomState(0) if random_state is None else random_state
    n = len(Y)
    if start is None:
        sample = sample_rows(n, rng)
        start = descend_width(
            take_both(distances, sample), Y[sample], kernel, ridges, shrinkage
        ).width
    sample = sample_rows(n, rng, _REFINED_ON)
    found = descend_width(
        take_both(distances, sample), Y[sample], kernel, ridges, shrinkage, start, 0.5
    )
    if len(sample) < n:
        found.spectrum = None
    return found


def descend_width(
    distances: Any,
    Y: Array,
    kernel: str,
    ridges: Array = RIDGES,
    shrinkage: float = 0.0,
    start: float | None = None,
    step: float = 1.0,
) -> FoundWidth:
    """Go downhill on the leave-one-out error, the width's square in steps of 2^±step.

    Each step costs an eigendecomposition. Without a `start` it is the median distance.
    """
    origin = median_distance(distances) if start is None else start
    found = FoundWidth(origin, np.inf)

    def error(exponent: float) -> float:
        width = origin * 2 ** (exponent / 2)
        spectrum = RidgeSpectrum.of_kernel(radial(distances, kernel, width))
        value = loo_ridge(spectrum, Y, ridges[::_COARSE], shrinkage).error
        if value < (1 - _WORTHWHILE) * found.error:
            found.width, found.error, found.spectrum = width, value, spectrum
        return value

    _descend(error, step)
    return found


def sample_rows(n: int, rng: np.random.RandomState, size: int = _SOUGHT_ON) -> Array:
    """Return all of a few rows, in order, or a random sample of many."""
    return np.arange(n) if n <= size else np.sort(rng.permutation(n)[:size])


def _descend(error: Callable[[float], float], step: float) -> None:
    """Walk from 0 in steps to a local minimum."""
    known = {0.0: error(0.0)}
    best = 0.0
    while True:
        for neighbour in (best - step, best + step):
            if neighbour not in known and abs(neighbour) <= _REACH:
                known[neighbour] = error(neighbour)
        lowest = min(known, key=known.__getitem__)
        if known[lowest] >= (1 - _WORTHWHILE) * known[best]:
            return
        best = lowest
