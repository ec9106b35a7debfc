"""Views of the features: the same rows on other scales, learned without labels.

A kernel depends on distances, and distances on how features are scaled. Which scale is right
differs between word counts, measurements and codes, so the ensemble uses several.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from labelkin.base import Array, Matrix
from labelkin.kin._plan import Limits
from labelkin.rows import Place, Rows, as_dense, count_stored, scale_columns, to_numpy, unit_rows

View = Callable[[Matrix], Matrix]
# A value that differs from a training value by this share of it, by rounding of the steps before
# or to single precision, has that value's rank.
EQUAL = 1e-7


class Raw:
    """The features as they are."""

    def __call__(self, X: Matrix) -> Matrix:
        """Return the view of rows."""
        return X


@dataclass(eq=False, repr=False)
class Columns:
    """A view of neighbouring columns alone, from `start` to before `stop`."""

    view: View
    start: int
    stop: int

    def __call__(self, X: Matrix) -> Matrix:
        """Return the view of rows."""
        return self.view(X[:, self.start : self.stop])


@dataclass(eq=False, repr=False)
class Beside:
    """Views of several columns side by side, sparse if the first one is."""

    views: list[Columns]

    def __call__(self, X: Matrix) -> Matrix:
        """Return the view of rows."""
        first, *others = (view(X) for view in self.views)
        if sparse.issparse(first):
            return sparse.hstack([first, *others], format="csr")
        return np.hstack([first, *map(as_dense, others)])


@dataclass(eq=False, repr=False)
class Standard:
    """Each feature divided by its standard deviation."""

    divisor: Array

    def __call__(self, X: Matrix) -> Matrix:
        """Return the view of rows."""
        return scale_columns(X, 1 / self.divisor)


@dataclass(eq=False, repr=False)
class Ranks:
    """Each value's share of smaller training values of its feature, ties counted half.

    `values`, (k, n), are those of each feature, sorted. Values that differ by rounding only, as
    TF-IDF weights of one text in ``fit`` and ``predict`` may, are ties.
    """

    values: Array

    def __call__(self, X: Array) -> Array:
        """Return the view of rows."""
        ranks = np.zeros(X.shape)
        for j, known in enumerate(self.values):
            margin = np.abs(X[:, j]) * EQUAL
            low = known.searchsorted(X[:, j] - margin, "left")
            high = known.searchsorted(X[:, j] + margin, "right")
            ranks[:, j] = (low + high) / (2 * len(known))
        return ranks


@dataclass(eq=False, repr=False)
class Words:
    """Counts times log(n / rows with the word), to a power, in rows of length 1.

    With the power ½, frequent words of a document dominate the others less. `weight` are the
    logarithms to this power.
    """

    weight: Array
    power: float

    def __call__(self, X: Matrix) -> Matrix:
        """Return the view of rows."""
        if sparse.issparse(X):
            counts = X.copy()
            counts.data[:] = np.maximum(counts.data, 0) ** self.power
        else:
            counts = np.maximum(X, 0) ** self.power
        return unit_rows(scale_columns(counts, self.weight))


@dataclass(eq=False, repr=False)
class Topics:
    """Directions of words that occur together, in rows of length 1.

    Words of the same meaning are near each other there: the leading singular directions of
    weighted words (latent semantic analysis), stored in half precision.
    """

    words: View
    directions: Array

    def __call__(self, X: Matrix) -> Array:
        """Return the view of rows."""
        topics = np.asarray(self.words(X) @ self.directions.T.astype(np.float64))
        return unit_rows(topics)


def learn_views(
    rows: Rows, limits: Limits, seed: int, n_ngrams: int = 0, n_embedding: int = 0
) -> dict[str, View]:
    """Learn the views that suit the rows, as `as_floats` returns them.

    The last columns are embeddings of texts and, after them, n-grams. Embeddings are part of
    ``"topics"`` and ``"linear"``, and of no other view; if the first columns are not words, they
    are columns like the others. ``"ngrams"`` is ``"linear"`` and n-grams, which no other view has.

    Texts, see `is_text`, have ``"raw"`` words, ``"root"``, square roots of weights times rarity,
    ``"linear"``, words weighted by their rarity unless they are weighted already, and ``"topics"``,
    which need the rows in memory. Tables have ``"raw"`` and ``"linear"``, features divided by their
    standard deviations, and ``"ranks"`` unless rows are sparse.
    """
    k = rows.shape[1]
    if n_ngrams:
        first = k - n_ngrams
        found = learn_views(rows.apply(Columns(Raw(), 0, first)), limits, seed, 0, n_embedding)
        views: dict[str, View] = {name: Columns(view, 0, first) for name, view in found.items()}
        last = Columns(Raw(), first, k)
        return views | {"ngrams": Beside([Columns(found["linear"], 0, first), last])}
    if n_embedding:
        first = k - n_embedding
        words = rows.apply(Columns(Raw(), 0, first))
        if is_text(words, limits):
            found = learn_views(words, limits, seed)
            alone = {name: Columns(view, 0, first) for name, view in found.items()}
            last = Columns(Raw(), first, k)
            beside = [name for name in ("linear", "topics") if name in alone]
            return {**alone, **{name: Beside([alone[name], last]) for name in beside}}
    views = {"raw": Raw()}
    n = len(rows)
    if is_text(rows, limits):
        filled, negative = rows.total(_count_filled)
        rarity = np.log((n + 1) / (filled - negative + 1))
        views["root"] = Words(rarity**0.5, 0.5)
        views["linear"] = Raw() if is_weighted(rows) else Words(rarity, 1.0)
        size = min(limits.topics, min(rows.shape) // 5)
        if size > 1 and not rows.lazy:
            weighted = views["linear"]
            directions = _leading_directions(weighted(rows.gather()), size, seed, rows.place)
            views["topics"] = Topics(weighted, directions.astype(np.float16))
    else:
        views["linear"] = Standard(rows.moments().spread())
        if not rows.total(count_stored)[1]:
            some = rows.take(np.arange(0, n, -(-n // limits.sample_rows)))
            views["ranks"] = Ranks(np.sort(some.gather().T, axis=1))
    return views


def _leading_directions(words: Matrix, size: int, seed: int, place: Place) -> Array:
    """Return the leading right singular vectors of rows, (size, k), approximately."""
    from sklearn.utils.extmath import randomized_svd, svd_flip

    # As TruncatedSVD, but with QR: the array API has no LU.
    found = randomized_svd(
        place.put(words.astype(np.float32)),
        size,
        n_iter=3,
        power_iteration_normalizer="QR",
        flip_sign=False,
        random_state=seed,
    )
    return to_numpy(svd_flip(found[0], found[2], u_based_decision=False)[1])


def is_text(rows: Rows, limits: Limits) -> bool:
    """Return whether rows look like weights of words: hardly any column is a measurement.

    A column is one if most of its values are not zero, or some are negative. A table with
    categories in columns of their own has several of these; a text with a few other columns beside
    its words stays a text.
    """
    stored, negative = rows.total(_count_filled)
    measured = (stored > 0.5 * len(rows)) | (negative > 0)
    return bool(measured.mean() < limits.text_columns)


def is_weighted(rows: Rows) -> bool:
    """Return whether words have weights rather than counts, which are integers."""
    integers, stored = rows.total(_count_integers)
    return bool(stored and integers < 0.5 * stored)


# Functions of a block of rows.


def as_floats(X: Matrix, dense: bool) -> Matrix:
    """Return rows in double precision on the host: a C-ordered array if `dense`, else CSR."""
    X = to_numpy(X)
    if not dense:
        return sparse.csr_matrix(X, dtype=np.float64)
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


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
