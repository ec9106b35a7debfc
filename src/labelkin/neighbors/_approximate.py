"""Approximate nearest neighbours, for so many rows that comparing all pairs takes too long.

Rows are sorted into small cells, the leaves of a tree of k-means. A query is compared with the
rows of the cells whose centres are nearest (an inverted file), and then with the neighbours of
the neighbours found so far, as in NN-descent (Dong, Moses & Li, 2011). Both compare blocks of
queries by matrix products, and look closer only at what is nearer than the farthest neighbour
known. Where rows differ in few directions, the products are over these alone. The rows lie in
memory as the cells do, and a query meets a bounded number of them: time and memory grow in
proportion to the rows, and more neighbours are missed where there are more rows. How many is
measured on a sample, against exact search.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from labelkin._utils.parallel import map_threads, one_blas_thread
from labelkin.base import Array, Matrix
from labelkin.neighbors._exact import _GROUP, NeighborSearch, _smallest

_CELL_ROWS = 512  # at most; about half as many on average
_BRANCHES = 64
_SAMPLE = 64  # rows for each centre of a k-means
_LLOYD_STEPS = 5
_NEAR = 4  # cells near a cell, times those that a query looks into
_FIRST_ROWS = 2048  # compared with a query before any others
_LINKS = 16  # neighbours of a row that are followed
_ENOUGH = 0.99  # recall
_JOINS = 1  # at most: a bounded effort for each row, whatever their number
_BLOCK_ROWS = 2**13
_SPREAD = 0.05  # squared difference that is neglected, over that of neighbours
_SPREAD_ROWS = 4096  # on which it is measured
_MOST_COLUMNS = 1024  # beyond, that would take too long
_SEED = 0


class ApproximateSearch:
    """Most of the k nearest rows of a training matrix, in Euclidean distance.

    It takes the place of `NeighborSearch`. The neighbours are the same in every run and for
    every ``n_jobs``. Distances are compared in single precision.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Training rows. The index holds a dense copy in single precision.
    n_neighbors : int
        How many neighbours to find; see `NeighborSearch`.
    n_candidates : int, default=64
        How many cells a query looks into. More find more of the true neighbours, in
        proportionally more time.
    recall_rows : int, default=100
        On so many rows, drawn at random, the recall is measured. Where the cells alone give
        less than 0.99, neighbours of neighbours are compared too.
    exact_rows : int, default=16000
        Up to so many rows, a query is compared with all: that takes no longer.
    n_jobs : int, optional
        Threads while the index is made; None: as many as BLAS would use.

    Attributes
    ----------
    recall : float
        Share of the true neighbours that are found, or of others as near.
    """

    def __init__(
        self,
        X: Matrix,
        n_neighbors: int,
        n_candidates: int = 64,
        recall_rows: int = 100,
        exact_rows: int = 16_000,
        n_jobs: int | None = None,
    ) -> None:
        if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
            raise ValueError(
                "neighbors='approximate' searches NumPy arrays and SciPy sparse matrices, not "
                f"{type(X).__module__} arrays; choose neighbors='exact'."
            )
        self.n_neighbors = n_neighbors
        self.n_candidates = n_candidates
        self.recall = 1.0
        self.exact = None
        # One more than asked for: a training row finds itself.
        self.width = max(_LINKS, n_neighbors + 1)
        self.first_rows = max(_FIRST_ROWS, -(-2 * self.width // _GROUP) * _GROUP)
        if n_neighbors == 0 or X.shape[0] <= max(exact_rows, self.first_rows):
            self.exact = NeighborSearch(X, n_neighbors)
            return
        # Single precision has few digits: none should be spent on the distance to the origin.
        self.centre = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        sample = np.random.RandomState(_SEED).permutation(X.shape[0])[:recall_rows]
        farthest = self._farthest(X, sample)
        self._sort(X, _SPREAD * float(np.median(farthest)))
        self._link(self._recall_on(X, sample, farthest), n_jobs)

    def query(self, Q: Matrix | None = None, n_jobs: int | None = None) -> Array:
        """Find neighbours of each row of `Q`.

        Parameters
        ----------
        Q : ndarray or CSR matrix of shape (n_queries, n_features), optional
            None: the training rows themselves, each left out of its own neighbours (but
            not its duplicates).
        n_jobs : int, optional
            Threads; None: as many as BLAS would use.

        Returns
        -------
        ndarray of shape (n_queries, n_neighbors)
            Row indices, nearest first, equal distances in the order of the rows.
        """
        if self.exact is not None:
            return self.exact.query(Q, n_jobs)
        if Q is None:
            found = self._map(
                lambda rows: self._rank(self.rows[rows], self.links[rows], self.order[rows]),
                len(self.order),
                n_jobs,
            )
            return _put_back(found, self.order)
        order = np.argsort(cell := self._nearest_cell(Q), kind="stable")

        def block(rows: slice) -> Array:
            asked = order[rows]
            queries = self._single(Q[asked])
            found = self._look(queries, cell[asked])
            for _ in range(self.n_joins):
                found = self._join(queries, cell[asked], found)
            return self._rank(queries, found)

        return _put_back(self._map(block, len(order), n_jobs), order)

    @property
    def rows(self) -> Array:
        """The training rows, cell by cell, about the mean of all."""
        return self.points[:, :-1] if self.whole_rows is None else self.whole_rows

    def _sort(self, X: Matrix, spread: float) -> None:
        """Store the rows cell by cell; `order` says which row lies where.

        `points` are the rows in the directions that matter, and their squared norms in all.
        """
        rng = np.random.RandomState(_SEED)
        rows = np.empty(X.shape, dtype=np.float32)
        for batch in gen_batches(len(rows), _BLOCK_ROWS):
            rows[batch] = self._single(X[batch])
        with one_blas_thread:
            self.directions = _directions(rows, spread, rng)
            heads = self._heads(rows)
            cells = list(_cells(heads, rng))
            self.order = np.concatenate(cells)
            norms = row_norms(rows, squared=True)
            self.points = np.column_stack([heads, norms])[self.order]
            del heads
            self.whole_rows = None if self.directions is None else rows[self.order]
            sizes = np.array([len(cell) for cell in cells])
            self.starts = np.concatenate([[0], np.cumsum(sizes)])
            sums = np.add.reduceat(self.points[:, :-1], self.starts[:-1], axis=0)
            centres = (sums / sizes[:, None]).astype(np.float32)
            self.centres = np.column_stack([centres, row_norms(centres, squared=True)])
            near = NeighborSearch(centres, min(_NEAR * self.n_candidates, len(sizes)))
            self.near_cells = near.query(centres, n_jobs=1).astype(np.int32)

    def _heads(self, rows: Array) -> Array:
        return rows if self.directions is None else rows @ self.directions

    def _asked(self, Q: Array) -> Array:
        """Return what a product with `points` turns into distances.

        They are squared, less each query's squared norm, and but for what a product of the
        directions left out would add, which is little.
        """
        heads = self._heads(Q)
        asked = np.ones((len(Q), heads.shape[1] + 1), dtype=np.float32)
        np.multiply(heads, -2, out=asked[:, :-1])
        return asked

    def _link(self, recall: Callable[[], float], n_jobs: int | None) -> None:
        """Find the `width` nearest of each training row, by place: `links`."""
        cell = np.repeat(np.arange(len(self.centres)), np.diff(self.starts))
        n = len(cell)
        self.n_joins = 0
        self.links = self._map(lambda b: self._look(self.rows[b], cell[b]), n, n_jobs)
        self.recall = recall()
        while self.recall < _ENOUGH and self.n_joins < _JOINS:
            self.links = self._map(
                lambda b: self._join(self.rows[b], cell[b], self.links[b]), n, n_jobs
            )
            self.n_joins += 1
            self.recall = recall()

    def _map(self, function: Callable[[slice], Array], m: int, n_jobs: int | None) -> Array:
        """Return what a function makes of blocks of rows, which are the same for any threads."""
        found = map_threads(function, gen_batches(m, _BLOCK_ROWS), n_jobs) if m else []
        return np.concatenate(found) if found else np.empty((0, self.n_neighbors), dtype=np.intp)

    def _look(self, Q: Array, cell: Array) -> Array:
        """Find the places nearest to queries, sorted by cell, in the cells near each.

        The rows stored around a query's own cell come first. Of all others only those matter
        that are nearer than the last of the best `width` of these.
        """
        m, n, room = len(Q), len(self.points), self.first_rows
        begin = (self.starts[cell] + self.starts[cell + 1] - room) // 2
        begin = np.clip(begin, 0, n - room)
        n_cells = min(self.n_candidates, self.near_cells.shape[1])
        bound = np.empty((m, 1), dtype=np.float32)
        nearest = _Nearest(m, self.width)
        asked = self._asked(Q)
        queries, cells = [], []
        for rows in _runs(cell):
            first = begin[rows.start]
            distance = asked[rows] @ self.points[first : first + room].T
            bound[rows] = _bound(distance, self.width)
            nearer = distance <= bound[rows]
            if np.count_nonzero(nearer) > 4 * self.width * len(distance):
                # Many are equally far: those that come first will do.
                nearer[:] = False
                np.put_along_axis(nearer, _smallest(distance, self.width), True, axis=1)
            query, place, value = _where(distance, nearer)
            nearest.add(rows.start + query, first + place, value)
            near = self.near_cells[cell[rows.start]]
            away = asked[rows] @ self.centres[near].T
            query, place, _ = _where(away, away <= _nth(away, n_cells))
            queries.append(rows.start + query)
            cells.append(near[place])
        # Each cell is compared with all queries that look into it at once. Cells are numbered
        # in sixteen bits while these will do: they are sorted in no time.
        keys = np.concatenate(cells).astype(np.min_scalar_type(len(self.starts)))
        order = np.argsort(keys, kind="stable")
        looking, looked_at = np.concatenate(queries)[order], keys[order]
        hits, values, visits = [], [], list(_runs(looked_at))
        visited = looked_at[[pairs.start for pairs in visits]].astype(np.intp)
        ends = zip(self.starts[visited].tolist(), self.starts[visited + 1].tolist(), strict=True)
        for pairs, (start, stop) in zip(visits, ends, strict=True):
            query = looking[pairs]
            distance = asked.take(query, axis=0) @ self.points[start:stop].T
            hit = (distance < bound.take(query, axis=0)).ravel().nonzero()[0]
            hits.append(hit)
            values.append(distance.ravel().take(hit))
        # A loop has no time for more: which query and place, is worked out for all together.
        visit = np.repeat(np.arange(len(visits)), [len(hit) for hit in hits])
        row, column = np.divmod(np.concatenate(hits), np.diff(self.starts)[visited][visit])
        query = looking[np.array([pairs.start for pairs in visits])[visit] + row]
        place = self.starts[visited][visit] + column
        new = (place < begin[query]) | (place >= begin[query] + room)
        nearest.add(query[new], place[new], np.concatenate(values)[new])
        return nearest.places()

    def _join(self, Q: Array, cell: Array, found: Array) -> Array:
        """Compare queries, sorted by cell, with the neighbours of what was found.

        The queries of a cell share theirs.
        """
        nearest = _Nearest(len(Q), self.width)
        asked = self._asked(Q)
        for rows in _runs(cell):
            beyond = self.links[_distinct(found[rows, :_LINKS]), :_LINKS]
            places = _distinct(np.concatenate([found[rows].ravel(), beyond.ravel()]))
            distance = asked[rows] @ self.points.take(places, axis=0).T
            known = np.searchsorted(places, found[rows])
            bound = np.take_along_axis(distance, known, axis=1).max(axis=1, keepdims=True)
            query, column, value = _where(distance, distance <= bound)
            nearest.add(rows.start + query, places[column], value)
        return nearest.places()

    def _rank(self, Q: Array, found: Array, own: Array | None = None) -> Array:
        """Turn places into the nearest row indices, in order; `own`: those of the queries."""
        k = self.n_neighbors
        ranked = np.empty((len(Q), k), dtype=np.intp)
        for rows in gen_batches(len(Q), 2**10):
            index = self.order[found[rows]]
            distance = _squared_distances(Q[rows], self.rows[found[rows]])
            if own is not None:  # itself goes last, and is dropped with what is too much
                distance[index == own[rows, None]] = np.inf
            order = np.lexsort((index, distance), axis=1)[:, :k]
            ranked[rows] = np.take_along_axis(index, order, axis=1)
        return ranked

    def _nearest_cell(self, Q: Matrix) -> Array:
        search = NeighborSearch(self.centres[:, :-1], 1)
        batches = gen_batches(Q.shape[0], _BLOCK_ROWS) if Q.shape[0] else []
        heads = (self._heads(self._single(Q[rows])) for rows in batches)
        found = [search.query(head, n_jobs=1)[:, 0] for head in heads]
        return np.concatenate([np.empty(0, dtype=np.intp), *found])

    def _farthest(self, X: Matrix, rows: Array) -> Array:
        """Return how far the last true neighbour of some rows is, squared, as a column."""
        true = NeighborSearch(X, self.n_neighbors + 1).query(X[rows])
        # Its own row is nearest, but for duplicates: then any one of them may be dropped.
        own = true == rows[:, None]
        own[~own.any(axis=1), -1] = True
        true = true[~own].reshape(len(rows), -1)
        distances = _squared_distances(self._single(X[rows]), self._rows(X, true))
        return distances.max(axis=1, keepdims=True)

    def _recall_on(self, X: Matrix, rows: Array, farthest: Array) -> Callable[[], float]:
        """Return what compares the links with exact search, on a sample of the rows."""
        places = _put_back(np.arange(len(self.order)), self.order)[rows]
        queries = self.rows[places]

        def recall() -> float:
            found = self._rank(queries, self.links[places], rows)
            reached = _squared_distances(queries, self._rows(X, found))
            return float((reached <= farthest * (1 + 1e-5)).mean())

        return recall

    def _rows(self, X: Matrix, index: Array) -> Array:
        return self._single(X[index.ravel()]).reshape(*index.shape, -1)

    def _single(self, X: Matrix) -> Array:
        dense = X.toarray() if sparse.issparse(X) else X
        return np.ascontiguousarray(dense - self.centre, dtype=np.float32)


class _Nearest:
    """The `width` nearest places of each query, out of all that are added; none comes twice."""

    def __init__(self, n_queries: int, width: int) -> None:
        self.n_queries, self.width = n_queries, width
        self.parts: list[tuple[Array, Array, Array]] = []

    def add(self, query: Array, place: Array, value: Array) -> None:
        self.parts.append((query, place.astype(np.int32), value))

    def places(self) -> Array:
        query, place, value = map(np.concatenate, zip(*self.parts, strict=True))
        # One whole number that sorts like (query, value): the bits of a float sort like
        # whole numbers, but for the sign.
        bits = value.astype(np.float32).view(np.int32)
        bits ^= (bits >> 31) & np.int32(0x7FFFFFFF)
        order = np.argsort((query.astype(np.int64) << 32) + bits)
        count = np.bincount(query, minlength=self.n_queries)
        begin = np.cumsum(count) - count
        return place[order[begin[:, None] + np.arange(self.width)]]


def _directions(X: Array, spread: float, rng: np.random.RandomState) -> Array | None:
    """Return the principal directions beyond which rows hardly differ, (d, p); None: all.

    In all others together, the mean squared difference of two rows is at most `spread`.
    """
    n, d = X.shape
    if d > _MOST_COLUMNS:
        return None
    sample = X[rng.choice(n, min(n, _SPREAD_ROWS), replace=False)].astype(np.float64)
    variances, directions = np.linalg.eigh(np.atleast_2d(np.cov(sample.T)))
    p = d - np.count_nonzero(2 * np.cumsum(variances) <= spread)
    p = -(-(p + 1) // 8) * 8 - 1  # products of whole vectors, with the norm
    return directions[:, -p:].astype(np.float32) if p <= d / 2 else None


def _put_back(found: Array, order: Array) -> Array:
    """Return rows in the order in which they were before ``order`` was taken."""
    back = np.empty_like(found)
    back[order] = found
    return back


def _bound(values: Array, n: int) -> Array:
    """Bound the n-th smallest value of each row from above, closely, as a column."""
    least = values.reshape(len(values), _GROUP, -1).min(axis=1)  # of each group
    return _nth(least if least.shape[1] > n else values, n)


def _nth(values: Array, n: int) -> Array:
    """Return the n-th smallest value of each row, as a column."""
    return np.partition(values, n - 1, axis=1)[:, n - 1 : n]


def _where(values: Array, mask: Array) -> tuple[Array, Array, Array]:
    """Return row, column and value of the cells that a mask marks."""
    flat = np.flatnonzero(mask)  # quicker than to look for rows and columns
    row, column = np.divmod(flat, values.shape[1])
    return row, column, values.ravel()[flat]


def _distinct(values: Array) -> Array:
    """Return the values that occur, in order; for few values quicker than np.unique."""
    values = np.sort(values, axis=None)
    return values[np.append(True, values[1:] != values[:-1])]


def _runs(values: Array) -> Iterator[slice]:
    """Yield the slices of equal values."""
    ends = np.append(np.flatnonzero(np.diff(values)) + 1, len(values)).tolist()
    start = 0
    for end in ends:
        yield slice(start, end)
        start = end


def _cells(X: Array, rng: np.random.RandomState) -> Iterator[Array]:
    """Divide rows by k-means, and the parts again, until they are small; near parts in a row."""
    parts = [np.arange(len(X))]
    while parts:
        rows = parts.pop()
        n_parts = min(_BRANCHES, -(-2 * len(rows) // _CELL_ROWS))
        if len(rows) <= _CELL_ROWS:
            yield rows
            continue
        sample = rows[rng.choice(len(rows), min(_SAMPLE * n_parts, len(rows)), replace=False)]
        centres = _k_means(X[sample], n_parts)
        batches = gen_batches(len(rows), _BLOCK_ROWS)
        part = np.concatenate([_nearest(X[rows[batch]], centres) for batch in batches])
        divided = [rows[part == i] for i in range(n_parts)]
        if max(map(len, divided)) == len(rows):  # equal rows: any division will do
            divided = np.array_split(rows, n_parts)
        parts.extend(reversed([rows for rows in divided if len(rows)]))


def _k_means(X: Array, k: int) -> Array:
    """Return centres of rows in random order, after few steps of Lloyd's algorithm."""
    centres = X[:k]
    for _ in range(_LLOYD_STEPS):
        member = (_nearest(X, centres) == np.arange(k)[:, None]).astype(X.dtype)
        size = member.sum(axis=1, keepdims=True)
        centres = np.where(size, member @ X / np.maximum(size, 1), centres)
    return centres


def _nearest(X: Array, centres: Array) -> Array:
    return np.argmin(row_norms(centres, squared=True) - 2 * X @ centres.T, axis=1)


def _squared_distances(Q: Array, rows: Array) -> Array:
    """Distances of each query to rows of its own, (m, k, d)."""
    difference = rows - Q[:, None, :]
    return np.einsum("ijk,ijk->ij", difference, difference)
