"""Approximate nearest rows, in time and memory proportional to the number of rows.

1. Cells. The rows are divided into cells of a few hundred near rows, the leaves of a tree of
   k-means, and stored cell by cell; a row's position there is its *place*.
2. Candidates. A query is compared with the rows of the cells whose centres are nearest to it (an
   inverted file). Rows stored around its own cell come first: they bound the distance of the
   farthest neighbour, and of all other rows only nearer ones are looked at.
3. Join. Where a sample shows that too many neighbours are missed, the query is also compared with
   the neighbours of its neighbours, as in NN-descent (Dong, Moses & Li, 2011).

All comparisons are matrix products of many queries with many rows. Where the rows differ in few
directions, the products are over these alone. A query meets a bounded number of rows, so that
more neighbours are missed among more rows; how many is measured against exact search.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from labelkin._utils.parallel import limit_blas, map_threads
from labelkin.base import Array, Matrix
from labelkin.neighbors._cells import divide_into_cells, main_directions
from labelkin.neighbors._exact import ExactSearch
from labelkin.neighbors._smallest import N_GROUPED, k_smallest, kth_smallest, kth_smallest_bound

# Neighbours of a row that a join follows.
_LINKS = 16
# Cells listed as near a cell, per cell that a query searches.
_NEAR_CELLS = 4
# Recall at which no join is made.
_ENOUGH_RECALL = 0.99
# Squared difference in the neglected directions, over that of neighbours. On 60,000 rows of 200
# features that differ in 20 directions, an index takes 3.9 s of CPU instead of 13.3.
_NEGLECTED = 0.05
# Queries per task: the results do not depend on the number of threads.
_BLOCK_ROWS = 2**13
_SEED = 0


class ApproximateSearch:
    """Most of the k nearest rows of a matrix on the host, in Euclidean distance.

    The neighbours are the same in every run and for every ``n_jobs``. Distances are compared in
    single precision. A query is compared with the rows of `n_candidates` cells, of at most
    `cell_rows` rows each, and first with `first_rows` rows around its own cell. More cells hold
    more of the true neighbours and take more time. X has more than `first_rows` rows.
    """

    recall: float
    """Share of the true neighbours that are found, or of others as near, of `recall_rows` rows."""
    order: Array
    """The row at each place, (n_samples,)."""
    points: Array
    """By place, the rows in p directions, and their squared norms in all directions."""
    links: Array
    """By place, the places of the nearest rows, the row itself included, (n, at least k + 1)."""

    def __init__(
        self,
        X: Matrix,
        n_neighbors: int,
        n_candidates: int = 64,
        *,
        max_joins: int = 1,
        cell_rows: int = 512,
        n_branches: int = 64,
        first_rows: int = 2048,
        recall_rows: int = 100,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_candidates = n_candidates
        self.width = max(_LINKS, n_neighbors + 1)  # one more than k: a row finds itself
        self.first_rows = max(first_rows, -(-2 * self.width // N_GROUPED) * N_GROUPED)
        # Single precision has few digits: none are spent on the distance to the origin.
        self.centre = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        self.scale = _unit_scale(X)
        sample = np.random.RandomState(_SEED).permutation(X.shape[0])[:recall_rows]
        farthest = self._farthest_neighbor(X, sample)
        self._store(X, _NEGLECTED * float(np.median(farthest)), cell_rows, n_branches)
        # Link every row to its nearest ones, until the sample shows that few are missed.
        n = X.shape[0]
        cell = np.repeat(np.arange(len(self.centres)), np.diff(self.starts))
        self.n_joins = 0
        self.links = self._map(lambda b: self._search_cells(self.rows[b], cell[b]), n, n_jobs)
        self.recall = self._measure_recall(X, sample, farthest)
        while self.recall < _ENOUGH_RECALL and self.n_joins < max_joins:
            self.links = self._map(
                lambda b: self._join(self.rows[b], cell[b], self.links[b]), n, n_jobs
            )
            self.n_joins += 1
            self.recall = self._measure_recall(X, sample, farthest)

    def query(self, Q: Matrix | None = None, n_jobs: int | None = None) -> Array:
        """Find near rows of each query; see `ExactSearch`."""
        if Q is None:
            ranked = self._map(
                lambda b: self._rank(self.rows[b], self.links[b], self.order[b]),
                len(self.order),
                n_jobs,
            )
            return _unsort(ranked, self.order)
        cell = self._own_cell(Q)
        order = np.argsort(cell, kind="stable")

        def nearest(block: slice) -> Array:
            indices = order[block]
            queries = self._to_single(Q[indices])
            places = self._search_cells(queries, cell[indices])
            for _ in range(self.n_joins):
                places = self._join(queries, cell[indices], places)
            return self._rank(queries, places)

        return _unsort(self._map(nearest, len(order), n_jobs), order)

    def distances(self, x: Matrix, rows: Array) -> Array:
        """Return the Euclidean distances from one sample, (1, n_features), to some rows."""
        near = self.rows[_unsort(np.arange(len(self.order)), self.order)[rows]]
        return np.linalg.norm(near - self._to_single(x), axis=1).astype(np.float64) / self.scale

    @property
    def rows(self) -> Array:
        """The rows less their mean, by place."""
        return self.points[:, :-1] if self.whole_rows is None else self.whole_rows

    def _store(self, X: Matrix, neglected: float, cell_rows: int, n_branches: int) -> None:
        """Store the rows cell by cell, and which cells are near each other."""
        rng = np.random.RandomState(_SEED)
        rows = np.empty(X.shape, dtype=np.float32)
        for batch in gen_batches(len(rows), _BLOCK_ROWS):
            rows[batch] = self._to_single(X[batch])
        with limit_blas(1):
            self.directions = main_directions(rows, neglected, rng)
            projected = self._project(rows)
            cells = list(divide_into_cells(projected, rng, cell_rows, n_branches))
            self.order = np.concatenate(cells)
            self.points = np.column_stack([projected, row_norms(rows, squared=True)])[self.order]
            del projected  # as large as the data
            self.whole_rows = None if self.directions is None else rows[self.order]
            # Cell i holds the places from starts[i] to starts[i + 1].
            sizes = np.array([len(cell) for cell in cells])
            self.starts = np.concatenate([[0], np.cumsum(sizes)])
            sums = np.add.reduceat(self.points[:, :-1], self.starts[:-1], axis=0)
            centres = (sums / sizes[:, None]).astype(np.float32)
            self.centres = np.column_stack([centres, row_norms(centres, squared=True)])
            near = ExactSearch(centres, min(_NEAR_CELLS * self.n_candidates, len(sizes)))
            self.near_cells = near.query(centres, n_jobs=1).astype(np.int32)

    def _project(self, rows: Array) -> Array:
        return rows if self.directions is None else rows @ self.directions

    def _augment(self, Q: Array) -> Array:
        """Return [−2q, 1]: its product with a point is the squared distance less |q|².

        In the neglected directions, only the norms of the rows are counted.
        """
        projected = self._project(Q)
        augmented = np.ones((len(Q), projected.shape[1] + 1), dtype=np.float32)
        np.multiply(projected, -2, out=augmented[:, :-1])
        return augmented

    def _search_cells(self, Q: Array, cell: Array) -> Array:
        """Return the `width` nearest places of queries, which are sorted by their cells."""
        room = self.first_rows
        n_cells = min(self.n_candidates, self.near_cells.shape[1])
        queries = self._augment(Q)
        nearest = _NearestPlaces(len(Q), self.width)
        # The rows stored around a query's own cell bound the distance of its last neighbour.
        first = (self.starts[cell] + self.starts[cell + 1] - room) // 2
        first = np.clip(first, 0, len(self.points) - room)
        bound = np.empty((len(Q), 1), dtype=np.float32)
        visits: list[tuple[Array, Array]] = []  # queries, and cells they are compared with
        for run in _runs(cell):
            start = first[run.start]
            distance = queries[run] @ self.points[start : start + room].T
            bound[run] = kth_smallest_bound(distance, self.width)
            within = distance <= bound[run]
            if np.count_nonzero(within) > 4 * self.width * len(distance):
                # Many are equally far: the first ones are enough.
                within[:] = False
                np.put_along_axis(within, k_smallest(distance, self.width), True, axis=1)
            query, place, value = _entries(distance, within)
            nearest.add(run.start + query, start + place, value)
            # Of the cells near its own, a query visits those with the nearest centres.
            near = self.near_cells[cell[run.start]]
            distance = queries[run] @ self.centres[near].T
            query, number, _ = _entries(distance, distance <= kth_smallest(distance, n_cells))
            visits.append((run.start + query, near[number]))
        # Each cell is compared with all its visitors at once.
        visitor, visited = map(np.concatenate, zip(*visits, strict=True))
        # A stable sort of 16-bit integers is a radix sort, in linear time.
        visited = visited.astype(np.min_scalar_type(len(self.starts)))
        order = np.argsort(visited, kind="stable")
        visitor, visited = visitor[order], visited[order].astype(np.intp)
        hits = []
        for run in _runs(visited):
            members, number = visitor[run], visited[run.start]
            start, stop = self.starts[number], self.starts[number + 1]
            distance = queries.take(members, axis=0) @ self.points[start:stop].T
            query, place, value = _entries(distance, distance < bound.take(members, axis=0))
            hits.append((members[query], start + place, value))
        query, place, value = map(np.concatenate, zip(*hits, strict=True))
        new = (place < first[query]) | (place >= first[query] + room)
        nearest.add(query[new], place[new], value[new])
        return nearest.places()

    def _join(self, Q: Array, cell: Array, found: Array) -> Array:
        """Return the `width` nearest among the places found and their neighbours.

        The queries, sorted by their cells, share the candidates of a cell.
        """
        nearest = _NearestPlaces(len(Q), self.width)
        queries = self._augment(Q)
        for run in _runs(cell):
            linked = self.links[_unique(found[run, :_LINKS]), :_LINKS]
            places = _unique(np.concatenate([found[run].ravel(), linked.ravel()]))
            distance = queries[run] @ self.points.take(places, axis=0).T
            known = np.take_along_axis(distance, np.searchsorted(places, found[run]), axis=1)
            query, number, value = _entries(distance, distance <= known.max(axis=1, keepdims=True))
            nearest.add(run.start + query, places[number], value)
        return nearest.places()

    def _rank(self, Q: Array, found: Array, own: Array | None = None) -> Array:
        """Return the k nearest rows at the places found, nearest first, by exact distances.

        `own`: the rows that the queries are, to be left out.
        """
        k = self.n_neighbors
        ranked = np.empty((len(Q), k), dtype=np.intp)
        for batch in gen_batches(len(Q), 2**10):
            rows = self.order[found[batch]]
            distance = _squared_distances(Q[batch], self.rows[found[batch]])
            if own is not None:
                distance[rows == own[batch, None]] = np.inf
            order = np.lexsort((rows, distance), axis=1)[:, :k]
            ranked[batch] = np.take_along_axis(rows, order, axis=1)
        return ranked

    def _own_cell(self, Q: Matrix) -> Array:
        """Return the cell with the nearest centre of each query."""
        search = ExactSearch(self.centres[:, :-1], 1)
        cells = [np.empty(0, dtype=np.intp)]
        for batch in gen_batches(Q.shape[0], _BLOCK_ROWS) if Q.shape[0] else []:
            projected = self._project(self._to_single(Q[batch]))
            cells.append(search.query(projected, n_jobs=1)[:, 0])
        return np.concatenate(cells)

    def _farthest_neighbor(self, X: Matrix, rows: Array) -> Array:
        """Return the squared distance of the last true neighbour of some rows, as a column."""
        true = ExactSearch(X, self.n_neighbors + 1).query(X[rows])
        # A row is its own nearest one, but for duplicates: then any of them may be dropped.
        own = true == rows[:, None]
        own[~own.any(axis=1), -1] = True
        return self._distances_in(X, rows, true[~own].reshape(len(rows), -1)).max(
            axis=1, keepdims=True
        )

    def _measure_recall(self, X: Matrix, rows: Array, farthest: Array) -> float:
        """Return the share of the linked neighbours of some rows that are as near as true ones."""
        places = _unsort(np.arange(len(self.order)), self.order)[rows]
        found = self._rank(self.rows[places], self.links[places], rows)
        return float((self._distances_in(X, rows, found) <= farthest * (1 + 1e-5)).mean())

    def _distances_in(self, X: Matrix, rows: Array, others: Array) -> Array:
        """Return the squared distances of rows, (m,), to other rows of `X`, (m, k)."""
        near = self._to_single(X[others.ravel()]).reshape(*others.shape, -1)
        return _squared_distances(self._to_single(X[rows]), near)

    def _to_single(self, X: Matrix) -> Array:
        dense = X.toarray() if sparse.issparse(X) else X
        return np.ascontiguousarray((dense - self.centre) * self.scale, dtype=np.float32)

    def _map(self, function: Callable[[slice], Array], m: int, n_jobs: int | None) -> Array:
        """Concatenate the results of a function of slices of m rows."""
        found = map_threads(function, gen_batches(m, _BLOCK_ROWS), n_jobs) if m else []
        return np.concatenate(found) if found else np.empty((0, self.n_neighbors), dtype=np.intp)


def _unit_scale(X: Matrix) -> float:
    """Return a power of two that brings the largest range of a column near 1.

    Squares in single precision neither overflow nor underflow then, and a power of two changes
    no digit.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    spread = high.toarray() - low.toarray() if sparse.issparse(X) else high - low
    return float(2.0 ** -int(np.frexp(np.max(spread))[1]))


class _NearestPlaces:
    """The `width` nearest places of each query, out of all that are added; none comes twice."""

    def __init__(self, n_queries: int, width: int) -> None:
        self.n_queries, self.width = n_queries, width
        self.parts: list[tuple[Array, Array, Array]] = []

    def add(self, query: Array, place: Array, distance: Array) -> None:
        """Add a place per entry; each query needs at least `width` in all."""
        self.parts.append((query, place.astype(np.int32), distance))

    def places(self) -> Array:
        """Return the nearest places, (n_queries, width), nearest first."""
        query, place, distance = map(np.concatenate, zip(*self.parts, strict=True))
        # One sort of 64-bit integers orders by (query, distance), in a third of the time of a
        # lexsort: the bits of a float sort like an integer, those of negative ones reversed.
        bits = distance.astype(np.float32).view(np.int32)
        bits ^= (bits >> 31) & np.int32(0x7FFFFFFF)
        order = np.argsort((query.astype(np.int64) << 32) + bits)
        count = np.bincount(query, minlength=self.n_queries)
        begin = np.cumsum(count) - count
        return place[order[begin[:, None] + np.arange(self.width)]]


def _unsort(found: Array, order: Array) -> Array:
    """Return rows in the order that they had before ``[order]`` was taken of them."""
    back = np.empty_like(found)
    back[order] = found
    return back


def _entries(values: Array, mask: Array) -> tuple[Array, Array, Array]:
    """Return row, column and value where a mask is true; faster than `np.nonzero` in 2-D."""
    flat = mask.ravel().nonzero()[0]
    row, column = np.divmod(flat, values.shape[1])
    return row, column, values.ravel().take(flat)


def _unique(values: Array) -> Array:
    """Return the distinct values, sorted; for few values several times faster than `np.unique`."""
    values = np.sort(values, axis=None)
    return values[np.append(True, values[1:] != values[:-1])]


def _runs(values: Array) -> Iterator[slice]:
    """Yield the slices of equal values."""
    ends = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return map(slice, ends[:-1], ends[1:])


def _squared_distances(Q: Array, rows: Array) -> Array:
    """Return the distances of each query to rows of its own, (m, k, d)."""
    difference = rows - Q[:, None, :]
    return np.einsum("ijk,ijk->ij", difference, difference)
