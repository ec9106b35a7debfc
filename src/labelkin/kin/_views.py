"""Views of the features: the same rows on other scales, learned without labels.

A kernel depends on distances, and distances on how features are scaled. Which scale is right
differs between word counts, measurements and codes; an ensemble need not choose, it uses several.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from labelkin.base import Array, Matrix
from labelkin.kin._limits import Limits
from labelkin.projection._scatter import TrainingRows
from labelkin.rows import (
    HOST,
    DaskRows,
    Place,
    as_rows,
    is_device_array,
    namespace_and_device,
    rows_in_memory,
    to_numpy,
)

View = Callable[[Matrix], Matrix]

# Rows are of one length when the standard deviation of their lengths is below this share.
_SAME_LENGTH = 0.01
# Columns with more than this share of values that are not zero...
_FILLED = 0.9
# ... are at least this share of the columns of a table, and fewer of a text's.
_FILLED_COLUMNS = 0.05


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

    def __init__(self, X: Any) -> None:
        self.divisor = as_rows(X).moments().spread()

    def __call__(self, X: Matrix) -> Matrix:
        """Return the view of rows."""
        return _scale_columns(X, 1 / self.divisor)


class Ranks:
    """Each value's share of smaller training values of its feature, ties counted half."""

    def __init__(self, X: Any, max_rows: int) -> None:
        n = X.shape[0]
        self.values = np.sort(
            as_rows(X).take(np.arange(0, n, -(-n // max_rows))).gather().T, axis=1
        )

    def __call__(self, X: Array) -> Array:
        """Return the view of rows."""
        ranks = np.empty(X.shape)
        for j, known in enumerate(self.values):
            low, high = (known.searchsorted(X[:, j], side) for side in ("left", "right"))
            ranks[:, j] = (low + high) / (2 * len(known))
        return ranks


class Words:
    """Counts times log(n / rows with the word), to a power, in rows of length 1.

    With the power ½, frequent words of a document dominate the others less.
    """

    def __init__(self, X: Any, power: float) -> None:
        rows_with = as_rows(X).total(_count_positive)
        self.weight = np.log((X.shape[0] + 1) / (rows_with + 1)) ** power
        self.power = power

    def __call__(self, X: Matrix) -> Matrix:
        """Return the view of rows."""
        if sparse.issparse(X):
            counts = X.copy()
            counts.data = np.maximum(counts.data, 0) ** self.power
        else:
            counts = np.maximum(X, 0) ** self.power
        return _unit_rows(_scale_columns(counts, self.weight))


class Reduced:
    """A view in fewer, orthonormal directions, which are stored in half precision."""

    def __init__(self, view: View, basis: Array) -> None:
        self.view, self.basis = view, basis.astype(np.float16)

    def __call__(self, X: Matrix) -> Array:
        """Return the view of rows."""
        return np.asarray(self.view(X) @ self.basis.T.astype(np.float64))


class Topics(Reduced):
    """Directions of words that occur together, in rows of length 1.

    Words of the same meaning are near each other there: the leading singular directions of
    weighted words (latent semantic analysis).
    """

    def __call__(self, X: Matrix) -> Array:
        """Return the view of rows."""
        return _unit_rows(super().__call__(X))


def learn_views(
    X: Any,
    seed: int = 0,
    limits: Limits | None = None,
    *,
    projected: bool = True,
    topics: bool = True,
    place: Place = HOST,
) -> dict[str, View]:
    """Learn the views that suit the rows, as `as_float_rows` returns them.

    Rows that are mostly zero are taken for texts (see `is_text`): ``"idf"``
    and ``"root_idf"`` weigh words. Others are measurements: ``"standard"``, ``"ranks"``.
    ``"raw"`` is always there, ``"unit"`` where rows differ in length. ``"reduced"`` is the last
    of these views in fewer columns, where it has too many to learn projections of it;
    ``"topics"``, which take time on very many rows, are the leading directions of texts with many
    words. The last view but ``"topics"`` is the one for projections. Both need the rows in memory,
    and are computed at `place`; the others are learned from rows in blocks on workers too.
    """
    limits = limits or Limits()
    views: dict[str, View] = {"raw": Raw()}
    lengths = np.sqrt(np.concatenate(as_rows(X).collect(_squared_norms)))
    if lengths.std() > _SAME_LENGTH * lengths.mean():
        views["unit"] = Unit()
    if is_text(X):
        views["idf"] = Words(X, 1.0)
        views["root_idf"] = Words(X, 0.5)
    else:
        views["standard"] = Standard(X)
        if not has_sparse_rows(X):
            views["ranks"] = Ranks(X, limits.ranked_rows)
    if projected:
        last = list(views.values())[-1]
        basis = reduced_basis(last(X), seed, limits, place)
        if basis is not None:
            views["reduced"] = Reduced(last, basis)
    if topics and "idf" in views and min(X.shape) >= limits.topics_share * limits.topics:
        words = views[word_view(views, is_weighted(X))]
        directions = leading_directions(words(X), limits.topics, 3, seed, place)
        views["topics"] = Topics(words, directions)
    return views


def word_view(views: Iterable[str], weighted: bool) -> str:
    """Return the name of the view for linear models.

    Words as they are if they are weighted already (see `is_weighted`), else by their rarity.
    Measurements of a table divided by their standard deviations. A single view is the one.
    """
    names = list(views)
    if len(names) == 1:
        return names[0]
    if "idf" in views:
        return "raw" if weighted else "idf"
    return "standard" if "ranks" in views else "raw"


def reduced_basis(rows: Matrix, seed: int, limits: Limits, place: Place = HOST) -> Array | None:
    """Return few orthonormal directions, (d, k), in which to learn projections; None: all.

    With more columns than rows these span the space of the rows, without loss. Of large and of
    sparse rows they are the leading singular directions.
    """
    n, k = rows.shape
    if sparse.issparse(rows) or min(n, k) > limits.max_projected_columns:
        size = max(1, min(limits.reduced_columns, min(n, k) - 1))
        return leading_directions(rows, size, 5, seed, place)
    return TrainingRows(rows).basis if k > n else None


def leading_directions(rows: Matrix, size: int, n_iter: int, seed: int, place: Place) -> Array:
    """Return the leading right singular vectors of rows, (size, k), approximately."""
    if place.on_host:
        from sklearn.decomposition import TruncatedSVD

        return TruncatedSVD(size, n_iter=n_iter, random_state=seed).fit(rows).components_
    from sklearn.utils.extmath import randomized_svd, svd_flip

    # As TruncatedSVD, but with QR: the array API has no LU.
    found = randomized_svd(
        place.put(rows),
        size,
        n_iter=n_iter,
        power_iteration_normalizer="QR",
        flip_sign=False,
        random_state=seed,
    )
    return to_numpy(svd_flip(found[0], found[2], u_based_decision=False)[1])


def is_text(X: Any) -> bool:
    """Return whether rows look like weights of words: most values zero, hardly any negative.

    A table with categories in columns of their own may look the same, but for its measurements:
    columns with hardly any zero, or with negative values, of which a text has few. Beside the
    words of a text some such columns change nothing.
    """
    stored, negative = as_rows(X).total(_count_filled)
    filled = stored / X.shape[0]
    measured = np.mean((filled > _FILLED) | (negative > 0))
    return bool(filled.mean() < 0.5 and measured < _FILLED_COLUMNS)


def is_weighted(X: Any) -> bool:
    """Return whether words have weights rather than counts, which are integers."""
    integers, stored = as_rows(X).total(_count_integers)
    return bool(stored and integers < 0.5 * stored)


def is_binary(X: Any) -> bool:
    """Return whether all values are 0 or 1: then |x − z|₁ is |x − z|₂²."""
    return not as_rows(X).total(_count_other)


def has_sparse_rows(X: Any) -> bool:
    """Return whether rows, or some blocks of them, are sparse."""
    return bool(as_rows(X).total(sparse.issparse))


def stored_values(X: Any) -> int:
    """Return how many values are not zero."""
    return as_rows(X).n_stored()


def rows_on_host(X: Any, limits: Limits) -> Matrix:
    """Return the rows on the host; large texts from a device become CSR matrices."""
    n, k = X.shape
    if not is_device_array(X) or n * k <= limits.dense_entries:
        return to_numpy(X)
    rows = sparse_on_host(X)
    return rows if is_text(rows) else to_numpy(X)


def sparse_on_host(X: Any) -> Matrix:
    """Return dense rows on a device as a CSR matrix; rows in memory as they are."""
    if not is_device_array(X):
        return X
    xp, _ = namespace_and_device(X)
    values, *places = (to_numpy(array) for array in (X[X != 0], *xp.nonzero(X)))
    return sparse.csr_matrix((values, tuple(places)), X.shape)


def as_float_rows(X: Any, dense: bool) -> Any:
    """Return rows in double precision: C-ordered arrays if `dense` or if they were, else CSR."""
    if isinstance(X, DaskRows):
        return X.apply(as_float_rows, [dense])
    if sparse.issparse(X) and not dense:
        return sparse.csr_matrix(X, dtype=np.float64)
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


# Sums over rows in memory, or over the rows of one block.


def _count_positive(X: Matrix) -> Array:
    return np.asarray((X > 0).sum(axis=0)).ravel()


def _count_filled(X: Matrix) -> tuple[Array, Array]:
    """Return how many values of each column are not zero, and how many are negative."""
    return (
        np.asarray((X != 0).sum(axis=0)).ravel(),
        np.asarray((X < 0).sum(axis=0)).ravel(),
    )


def _count_integers(X: Matrix) -> tuple[int, int]:
    """Return how many stored values are integers, and how many there are."""
    stored = X.data if sparse.issparse(X) else X[X != 0]
    return int(np.count_nonzero(stored == np.rint(stored))), stored.size


def _count_other(X: Matrix) -> int:
    stored = X.data if sparse.issparse(X) else X
    return int(np.count_nonzero((stored != 0) & (stored != 1)))


def _scale_columns(X: Matrix, factors: Array) -> Any:
    if sparse.issparse(X):
        return sparse.csr_matrix(X.multiply(factors[None, :]))
    return X * factors


def _unit_rows(X: Matrix) -> Matrix:
    return rows_in_memory(X).unit().gather()


def _squared_norms(X: Matrix) -> Array:
    return rows_in_memory(X).squared_norms()
