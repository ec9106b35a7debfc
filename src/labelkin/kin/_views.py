"""Views of the features: the same rows on other scales, learned without labels.

A kernel sees distances, and distances depend on how features are scaled. Which scale is right
differs between word counts, measurements and codes; an ensemble need not choose, it takes
several. Every view is learned from training rows alone and never from labels.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from labelkin.base import Array, Matrix
from labelkin.kernel._distances import _squared_norms, _unit_rows, column_spread
from labelkin.projection._scatter import TrainingRows

View = Callable[[Matrix], Matrix]

# Rows from which the distribution of a feature is learned, at most.
_RANKED_ROWS = 10_000
# Up to this many cells a sparse matrix is worked on as a dense one.
_DENSE_CELLS = 2**24
# Rows are of one length when their lengths vary by less than this share.
_SAME_LENGTH = 0.01
# Wider views are reduced to so many directions before projections are learned.
_WIDEST = 1_500
_REDUCED = 1_000


class Raw:
    """The features as they are."""

    def __call__(self, X: Matrix) -> Matrix:
        """Return the view of rows."""
        return X


class Unit:
    """Rows brought to length 1: directions only."""

    def __call__(self, X: Matrix) -> Matrix:
        """Return the view of rows."""
        return _unit_rows(X)


class Standard:
    """Each feature divided by its standard deviation."""

    def __init__(self, X: Matrix) -> None:
        self.divisor = column_spread(X)

    def __call__(self, X: Matrix) -> Matrix:
        """Return the view of rows."""
        return _scale_columns(X, 1 / self.divisor)


class Ranks:
    """Each value's share of smaller training values of its feature, ties counted half."""

    def __init__(self, X: Array) -> None:
        step = -(-len(X) // _RANKED_ROWS)
        self.values = np.sort(X[::step].T, axis=1)

    def __call__(self, X: Array) -> Array:
        """Return the view of rows."""
        ranks = np.empty(X.shape)
        for j, known in enumerate(self.values):
            low, high = (known.searchsorted(X[:, j], side) for side in ("left", "right"))
            ranks[:, j] = (low + high) / (2 * len(known))
        return ranks


class Words:
    """Counts times log(n / rows with the word), to a power, in rows of length 1.

    The power ½ keeps frequent words of a document from drowning the others.
    """

    def __init__(self, X: Matrix, power: float) -> None:
        n = X.shape[0]
        rows_with = np.asarray((X > 0).sum(axis=0)).ravel()
        self.weight = np.log((n + 1) / (rows_with + 1)) ** power
        self.power = power

    def __call__(self, X: Matrix) -> Matrix:
        """Return the view of rows."""
        if sparse.issparse(X):
            counts = X.copy()
            counts.data = np.maximum(counts.data, 0) ** self.power
        else:
            counts = np.maximum(X, 0) ** self.power
        return _unit_rows(_scale_columns(counts, self.weight))


class Rotated:
    """A view in fewer, orthonormal directions."""

    def __init__(self, view: View, basis: Array) -> None:
        self.view, self.basis = view, basis

    def __call__(self, X: Matrix) -> Array:
        """Return the view of rows."""
        return self.view(X) @ self.basis.T


def compact(view: View, rows: Matrix, seed: int) -> View:
    """Return a view in so few dense columns that projections of it can be learned.

    With more columns than rows it is rotated into the space of the rows, without loss. Large
    ones are reduced to their leading singular directions.

    Parameters
    ----------
    view : callable
        The view.
    rows : ndarray or CSR matrix
        The training rows in it.
    seed : int
        Of the randomised decomposition.
    """
    n, k = rows.shape
    if sparse.issparse(rows) or min(n, k) > _WIDEST:
        size = max(1, min(_REDUCED, min(n, k) - 1))
        return Rotated(view, TruncatedSVD(size, random_state=seed).fit(rows).components_)
    return view if k <= n else Rotated(view, TrainingRows(rows).basis)


def learn_views(X: Matrix) -> dict[str, View]:
    """Learn the views that suit the rows.

    Rows that are never negative and mostly zero are taken for texts: ``"idf"`` and
    ``"root_idf"`` weigh words. Others are measurements: ``"standard"``, ``"ranks"``.
    ``"raw"`` is always there, ``"unit"`` where rows differ in length.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Training rows, prepared by `manageable`.

    Returns
    -------
    dict of str to callable
        Each turns rows into their view. The last one suits the rows best.
    """
    views: dict[str, View] = {"raw": Raw()}
    lengths = np.sqrt(_squared_norms(X))
    if lengths.std() > _SAME_LENGTH * lengths.mean():
        views["unit"] = Unit()
    if is_text(X):
        views["idf"] = Words(X, 1.0)
        views["root_idf"] = Words(X, 0.5)
        return views
    views["standard"] = Standard(X)
    if not sparse.issparse(X):
        views["ranks"] = Ranks(X)
    return views


def is_text(X: Matrix) -> bool:
    """Tell whether rows are counts of words: no value negative, most of them zero."""
    stored = X.data if sparse.issparse(X) else X
    if stored.size and stored.min() < 0:
        return False
    return 2 * np.count_nonzero(stored) < X.shape[0] * X.shape[1]


def is_binary(X: Matrix) -> bool:
    """Tell whether all values are 0 or 1: then |x − z|₁ is |x − z|₂²."""
    stored = X.data if sparse.issparse(X) else X
    return bool(((stored == 0) | (stored == 1)).all())


def manageable(X: Matrix, dense: bool | None = None) -> Matrix:
    """Return rows in double precision, dense where that is small, in order in memory.

    Parameters
    ----------
    X : ndarray or CSR matrix
        Rows.
    dense : bool, optional
        Whether a sparse matrix is made dense; None: if it is small.
    """
    if not sparse.issparse(X):
        return np.ascontiguousarray(X, dtype=np.float64)
    if dense if dense is not None else X.shape[0] * X.shape[1] <= _DENSE_CELLS:
        return X.toarray().astype(np.float64, copy=False)
    return sparse.csr_matrix(X, dtype=np.float64)


def _scale_columns(X: Matrix, factors: Array) -> Any:
    if sparse.issparse(X):
        return sparse.csr_matrix(X.multiply(factors[None, :]))
    return X * factors
