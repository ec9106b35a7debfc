"""Variable pairwise constraints: which pairs of samples belong together (section 3.1).

Two samples are a *must-link* when their label sets overlap by at least a threshold Θ, else
a *cannot-link* (Eq. 1–2). Only the label sets matter, and samples share them, so all work
is on the distinct label sets: their similarities are a small table, from which pairs of
either kind are drawn exactly, however rare the kind is.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_random_state, gen_batches

from labelkin._utils.array_api import to_device_of, to_numpy
from labelkin._utils.labels import check_labels
from labelkin._utils.parallel import map_threads
from labelkin.base import Array, Matrix
from labelkin.constraints._weighted import WeightedSets, draw_from, no_pairs

# Up to this many distinct label sets the table of their similarities is kept (32 MB).
_TABLE_SETS = 2_000
# Beyond it, no search for pairs looks at more similarities than this (a second or two).
_MOST_SIMILARITIES = 1_000_000_000
# Before that search: how many times as many pairs as wanted are drawn and sorted out.
_REJECTION_ROUNDS = 8
# So many pairs of label sets of a rare kind are remembered for the next draw (128 MB).
_MOST_KEPT = 2**24
# Similarities that are computed at once, by a matrix product that stays in cache.
_GRID = 1024
# Grids that are looked through before the next look at how many pairs are still missing.
_GRIDS_AT_A_TIME = 32
# Work of that search, in multiplications of a dense matrix product: fewer similarities are
# looked at where each takes longer, because there are many labels.
_MOST_PRODUCTS = 64 * _MOST_SIMILARITIES
# What a multiplication of a sparse matrix product takes, in those of a dense one.
_SPARSE_PRODUCT = 160
# Up to so many labels, label sets are kept as rows of bits as well.
_BIT_LABELS = 512
# More than single precision rounds in the comparison of two label sets.
_SLACK = 0.01
_BITS_OF_BYTE = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)


def label_similarity(Y_left: Any, Y_right: Any) -> Array:
    """Similarity of label sets, row by row: shared labels over the mean size (Eq. 1–2).

    Parameters
    ----------
    Y_left, Y_right : {array-like, sparse matrix} of shape (n_pairs, n_labels)
        0 and 1.

    Returns
    -------
    ndarray of shape (n_pairs,)
        2 |A ∩ B| / (|A| + |B|), from 0 (disjoint) to 1 (equal; two empty sets are equal).

    Examples
    --------
    >>> label_similarity([[1, 1, 0], [0, 0, 0]], [[0, 1, 1], [0, 0, 0]])
    array([0.5, 1. ])
    """
    left, right = _label_sets(Y_left), _label_sets(Y_right)
    if left.shape != right.shape:
        raise ValueError(
            f"Y_left and Y_right must have the same shape, got {left.shape} and {right.shape}."
        )
    shared = np.asarray(left.multiply(right).sum(axis=1)).ravel()
    return to_device_of(_dice(shared, np.diff(left.indptr) + np.diff(right.indptr)), Y_left)


def draw_constraints(
    Y: Any,
    threshold: float = 0.6,
    n_must_link: int | None = None,
    n_cannot_link: int | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
) -> tuple[Array, Array]:
    """Draw must-link and cannot-link pairs; see `ConstraintSampler.draw`.

    Parameters
    ----------
    Y : {array-like, sparse matrix} of shape (n_samples, n_labels)
        Label sets, 0 and 1.
    threshold, n_must_link, n_cannot_link, sample_weight, random_state
        As in `ConstraintSampler.draw`; the numbers of pairs default to `n_samples`.

    Returns
    -------
    must_link, cannot_link : ndarray of shape (n_pairs, 2)
        Row indices. The draw runs on the host: the pairs are the same wherever Y lies.
    """
    sampler = ConstraintSampler(Y)
    n = sampler.n_samples
    must_link, cannot_link = sampler.draw(
        threshold,
        n if n_must_link is None else n_must_link,
        n if n_cannot_link is None else n_cannot_link,
        sample_weight,
        random_state,
    )
    return to_device_of(must_link, Y), to_device_of(cannot_link, Y)


class ConstraintSampler:
    """Draws must-link and cannot-link pairs from given label sets.

    Parameters
    ----------
    Y : {array-like, sparse matrix} of shape (n_samples, n_labels)
        Label sets, 0 and 1.

    Attributes
    ----------
    n_samples : int
        Number of samples.
    label_sets : CSR array of shape (n_sets, n_labels)
        The distinct label sets.
    set_of_sample : ndarray of shape (n_samples,)
        Which of them each sample has.
    """

    def __init__(self, Y: Any) -> None:
        Y = _label_sets(Y)
        self.n_samples = Y.shape[0]
        self.label_sets, self.set_of_sample = _distinct_rows(Y)
        self._sizes = np.diff(self.label_sets.indptr)
        self._table: Array | None = None
        self._alike: tuple[float, Array] | None = None
        self._rare: tuple[float, bool, list[tuple[Array, Array]]] | None = None

    @cached_property
    def _order(self) -> tuple[Array, Array]:
        """The samples set by set, and where each set begins."""
        order = np.argsort(self.set_of_sample, kind="stable")
        starts = np.searchsorted(self.set_of_sample[order], np.arange(len(self._sizes) + 1))
        return order, starts

    @cached_property
    def _products(self) -> tuple[float, float]:
        """Multiplications that a similarity takes in a dense and in a sparse matrix product."""
        n_sets, q = self.label_sets.shape
        share = np.bincount(self.label_sets.indices, minlength=q) / n_sets
        return float(q), _SPARSE_PRODUCT * float(share @ share)

    @property
    def _most_similarities(self) -> float:
        return min(_MOST_SIMILARITIES, _MOST_PRODUCTS / max(min(self._products), 1))

    @cached_property
    def _bits(self) -> Array | None:
        """The label sets as rows of bits; None where there are many labels for that."""
        n_sets, q = self.label_sets.shape
        if q > _BIT_LABELS:
            return None
        bits = np.zeros((n_sets, -(-q // 64) * 8), dtype=np.uint8)
        for batch in gen_batches(n_sets, _GRID):
            rows = self.label_sets[batch].toarray()
            bits[batch, : -(-q // 8)] = np.packbits(rows.astype(bool), axis=1)
        return bits.view(np.uint64)

    def draw(
        self,
        threshold: float,
        n_must_link: int,
        n_cannot_link: int,
        sample_weight: ArrayLike | None = None,
        random_state: Any = None,
    ) -> tuple[Array, Array]:
        """Draw pairs (i, j), i ≠ j, with probability proportional to w_i · w_j in each kind.

        That is the law of drawing i and j by their weights until both sets are full, but
        without the waiting: the time is bounded for every Y, Θ and w. A pair can come more
        than once. Pairs are drawn independently; but with more than some 30,000 distinct
        label sets (fewer if there are many labels), those of a rare kind are picked among
        all pairs between samples drawn by weight, a thousand against a thousand at a time,
        so that many share a sample, and repeated where a billion such pairs, or what can be
        looked at in the same time, hold too few.

        Parameters
        ----------
        threshold : float
            Θ in [0, 1].
        n_must_link, n_cannot_link : int
            How many pairs of each kind.
        sample_weight : array-like of shape (n_samples,), optional
            w; None: all equal.
        random_state : int, RandomState instance or None
            Source of randomness.

        Returns
        -------
        must_link, cannot_link : ndarray of shape (n_pairs, 2)
            Row indices. A kind of which no pair exists comes back empty.
        """
        rng = check_random_state(random_state)
        weights = self.check_weights(sample_weight)
        if self.n_samples < 2:
            return no_pairs(), no_pairs()
        sets = WeightedSets(weights, *self._order)
        wanted = {True: n_must_link, False: n_cannot_link}
        drawn = {True: [no_pairs()], False: [no_pairs()]}
        if len(self._sizes) > _TABLE_SETS:
            self._draw_by_rejection(threshold, weights, wanted, drawn, rng)
        for kind in (True, False):
            missing = wanted[kind] - sum(map(len, drawn[kind]))
            if not missing:
                continue
            if self._can_be_exact(kind, threshold):
                pairs = self._draw_exactly(kind, threshold, missing, sets, rng)
            else:
                pairs = self._draw_from_grids(kind, threshold, missing, weights, sets, rng)
            drawn[kind].append(pairs)
        return np.concatenate(drawn[True]), np.concatenate(drawn[False])

    def check_weights(self, sample_weight: ArrayLike | None) -> Array:
        """Return valid weights, the largest of them 1; None: all equal."""
        if sample_weight is None:
            return np.full(self.n_samples, 1 / self.n_samples)
        weights = np.asarray(to_numpy(sample_weight), dtype=np.float64)
        if weights.shape != (self.n_samples,):
            raise ValueError(
                f"sample_weight must have one entry per sample, shape ({self.n_samples},), "
                f"got shape {weights.shape}."
            )
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise ValueError(
                "sample_weight must hold finite numbers of at least 0, and not only zeros."
            )
        return weights / weights.max()

    def _can_be_exact(self, kind: bool, threshold: float) -> bool:
        """Whether pairs of sets are few enough to look at all, and that is needed."""
        n_sets = len(self._sizes)
        if n_sets <= _TABLE_SETS:
            return True
        return n_sets**2 <= self._most_similarities and _between_sets(kind, threshold)

    def _draw_by_rejection(
        self, threshold: float, weights: Array, wanted: dict, drawn: dict, rng: Any
    ) -> None:
        """Draw pairs of any kind and keep those still wanted: quick when no kind is rare."""
        n = self.n_samples
        everything = WeightedSets(weights, np.arange(n), np.array([0, n]))
        left_to_draw = _REJECTION_ROUNDS * sum(wanted.values())
        batch = max(wanted.values())
        while batch and left_to_draw > 0:
            batch = min(batch + batch // 10, left_to_draw)  # a few more: not all will do
            zeros = np.zeros(batch, dtype=np.intp)
            pairs = everything.draw_pairs(zeros, zeros, rng)
            if not len(pairs):
                return
            left_to_draw -= batch
            left, right = self.set_of_sample[pairs].T
            is_must_link = self._are_alike(left, right, threshold)
            needed = [0]
            for kind in wanted:
                found = pairs[is_must_link == kind]
                missing = wanted[kind] - sum(map(len, drawn[kind]))
                drawn[kind].append(found[:missing])
                if len(found) < missing:
                    needed.append((missing - len(found)) * batch // max(len(found), 1) + 1)
            # A kind that is too rare to be found so does not keep the others waiting.
            batch = max(n for n in needed if n <= left_to_draw)

    def _draw_exactly(
        self, kind: bool, threshold: float, size: int, sets: WeightedSets, rng: Any
    ) -> Array:
        """Draw `size` pairs of one kind from the table of all pairs of label sets.

        First a pair of sets by its mass, then a sample in each. The table is built block by
        block, so that it is never whole when there are many sets.
        """
        if len(self._sizes) <= _TABLE_SETS:
            cells, cumulated = self._cumulated_mass(kind, threshold, sets)
            if not len(cumulated) or cumulated[-1] == 0:
                return no_pairs()
            hit = draw_from(cumulated, rng.random_sample(size))
            hit = hit if cells is None else cells[hit]
            return sets.draw_pairs(*np.divmod(hit, len(self._sizes)), rng)
        mass = np.array([sets.mass_of(*cells).sum() for cells in self._cells(kind, threshold)])
        if mass.sum() == 0:
            return no_pairs()
        per_block = rng.multinomial(size, mass / mass.sum())
        pairs = [no_pairs()]
        for (left, right), count in zip(self._cells(kind, threshold), per_block, strict=True):
            if count:
                hit = draw_from(np.cumsum(sets.mass_of(left, right)), rng.random_sample(count))
                pairs.append(sets.draw_pairs(left[hit], right[hit], rng))
        return np.concatenate(pairs)

    def _draw_from_grids(
        self,
        kind: bool,
        threshold: float,
        size: int,
        weights: Array,
        sets: WeightedSets,
        rng: Any,
    ) -> Array:
        """Draw `size` pairs of a rare kind where all pairs of sets are too many to look at.

        Rejection on a large scale: samples drawn by weight are set against others drawn so,
        all pairs of the two at once, until enough pairs have been met, or the bound on the
        search is. In the latter case pairs are repeated. Samples with the same label set need
        no search.
        """
        met: list[Array] = []
        looked_at = n_met = 0
        cumulated = np.cumsum(weights)
        searched = _between_sets(kind, threshold)
        while looked_at < self._most_similarities and n_met < size and searched:
            sides = rng.random_sample((_GRIDS_AT_A_TIME, 2, _GRID))
            sides.sort(axis=2)  # one grid, any order
            samples = draw_from(cumulated, sides)
            grids = map_threads(lambda rows: self._met_in_grid(rows, kind, threshold), samples)
            met += grids
            n_met += sum(map(len, grids))
            looked_at += _GRIDS_AT_A_TIME * _GRID**2
        found = np.concatenate([no_pairs(), *met])
        between = len(found) / looked_at * weights.sum() ** 2 if looked_at else 0.0
        within = sets.mass_within.sum() if kind else 0.0
        if between + within == 0:
            return no_pairs()
        n_within = rng.binomial(size, within / (between + within))
        groups = draw_from(np.cumsum(sets.mass_within), rng.random_sample(n_within))
        n_between = size - n_within
        repeats = -(-n_between // max(len(found), 1))
        chosen = np.concatenate([rng.permutation(len(found)) for _ in range(repeats)] or [[]])
        between_sets = found[chosen[:n_between].astype(np.intp)]
        return np.concatenate([between_sets, sets.draw_pairs(groups, groups, rng)])

    def _met_in_grid(self, samples: Array, kind: bool, threshold: float) -> Array:
        """Return the pairs of one kind, of different label sets, between two lists of samples."""
        left, right = self.set_of_sample[samples]
        sides = self._grid_side(left), self._grid_side(right)
        row, column = _search_grid(*sides, kind, threshold)
        different = left[row] != right[column]
        return np.column_stack([samples[0][row[different]], samples[1][column[different]]])

    def _cumulated_mass(
        self, kind: bool, threshold: float, sets: WeightedSets
    ) -> tuple[Array | None, Array]:
        """Cumulate the mass of the pairs of sets of one kind; return which, and their sums.

        Must-links are few among the pairs of sets: only these are looked at. Of the
        cannot-links, which are most, the cells are all (None), must-links without mass.
        """
        rows = np.arange(len(self._sizes))
        known = self._alike  # read once: members of a bag draw in threads
        if known is None or known[0] != threshold:
            known = threshold, np.flatnonzero(self._similarities(rows) >= threshold)
            self._alike = known
        alike = known[1]
        mass = sets.mass_of_pairs(rows).ravel()
        if kind:
            return alike, np.cumsum(mass[alike])
        mass[alike] = 0
        return None, np.cumsum(mass, out=mass)

    def _cells(self, kind: bool, threshold: float) -> Iterator[tuple[Array, Array]]:
        """Yield the pairs of sets of one kind, block by block; remember them if they are few."""
        known = self._rare  # read once: members of a bag draw in threads
        if known is not None and known[:2] == (threshold, kind):
            yield from known[2]
            return
        every = np.arange(len(self._sizes), dtype=np.int32)
        columns = self._grid_side(every)
        kept: list[tuple[Array, Array]] | None = []
        n_kept = 0
        for batch in gen_batches(len(every), max(1, _GRID**2 // len(every))):
            rows = self._grid_side(every[batch])
            row, column = _search_grid(rows, columns, kind, threshold)
            cells = every[batch][row], every[column]
            n_kept += len(row)
            kept = [*kept, cells] if kept is not None and n_kept <= _MOST_KEPT else None
            yield cells
        if kept is not None:
            self._rare = threshold, kind, kept

    def _grid_side(self, sets: Array) -> tuple[Matrix, Array]:
        """Return label sets ready for a product, and their sizes."""
        rows, sizes = self.label_sets[sets].astype(np.float32), self._sizes[sets]
        dense, thin = self._products
        if dense <= thin:
            return rows.toarray(), sizes.astype(np.float32)
        # Empty sets are alike: a label of their own makes them so.
        empty = sparse.csr_array((sizes == 0)[:, None], dtype=np.float32)
        return sparse.csr_array(sparse.hstack([rows, empty])), sizes.astype(np.float32)

    def _are_alike(self, left: Array, right: Array, threshold: float) -> Array:
        """Tell which pairs of sets are must-links."""
        if self._bits is None:
            both = self.label_sets[left].multiply(self.label_sets[right])
            shared = np.asarray(both.sum(axis=1)).ravel()
        else:
            shared = _count_bits(self._bits[left] & self._bits[right])
        return _dice(shared, self._sizes[left] + self._sizes[right]) >= threshold

    def _similarities(self, rows: Array) -> Array:
        if len(self._sizes) > _TABLE_SETS:
            return self._compute_similarities(rows)
        if self._table is None:
            self._table = self._compute_similarities(rows)
        return self._table

    def _compute_similarities(self, rows: Array) -> Array:
        shared = (self.label_sets[rows] @ self.label_sets.T).toarray()
        return _dice(shared, np.add.outer(self._sizes[rows], self._sizes))


def _label_sets(Y: Any) -> sparse.csr_array:
    """Return label sets as CSR, every stored entry 1."""
    return sparse.csr_array(check_labels(to_numpy(Y), "y"), dtype=np.int64)


def _distinct_rows(Y: sparse.csr_array) -> tuple[sparse.csr_array, Array]:
    """Return the distinct rows of Y, and for each row which one it is.

    Rows are told apart by random 64-bit sums, and every row is compared with the one that
    stands for it: a collision of the sums would only cost another round.
    """
    rng = np.random.default_rng(0)
    sizes = np.diff(Y.indptr)
    while True:
        codes = rng.integers(1, 2**63, size=(Y.shape[1], 2), dtype=np.uint64)[:, 0]
        sums = Y.astype(np.uint64) @ codes
        _, first, which = np.unique(sums, return_index=True, return_inverse=True)
        which = which.ravel()
        if (sizes[first[which]] != sizes).any():
            continue
        if (Y[first[which]].indices == Y.indices).all():
            return Y[first], which


def _search_grid(
    rows: tuple[Matrix, Array], columns: tuple[Matrix, Array], kind: bool, threshold: float
) -> tuple[Array, Array]:
    """Find the pairs of one kind between two lists of label sets; return row and column.

    2 |A ∩ B| − Θ (|A| + |B|) tells the kind but for rounding. Single precision gives it fast
    for all pairs; those that come out right, or nearly so, are looked at again. Of sparse
    label sets only those with a common label can be must-links.
    """
    (A, a), (B, b) = rows, columns
    if sparse.issparse(A) and kind and threshold > 0:
        shared = (A @ B.T).tocoo()
        return _of_kind(shared.row, shared.col, shared.data, a, b, kind, threshold)
    if sparse.issparse(A):
        excess = (A @ B.T).toarray()
        excess *= 2
        excess -= np.add.outer(threshold * a, threshold * b).astype(np.float32)
    else:
        ones_a, ones_b = np.ones_like(a), np.ones_like(b)
        left = np.column_stack([2 * A, -threshold * a, ones_a]).astype(np.float32)
        right = np.column_stack([B, ones_b, -threshold * b]).astype(np.float32)
        excess = left @ right.T
    near = excess > -_SLACK if kind else excess < _SLACK
    row, column = np.divmod(np.flatnonzero(near), len(b))
    shared = np.rint((excess[row, column] + threshold * (a[row] + b[column])) / 2)
    return _of_kind(row, column, shared, a, b, kind, threshold)


def _of_kind(
    row: Array, column: Array, shared: Array, a: Array, b: Array, kind: bool, threshold: float
) -> tuple[Array, Array]:
    """Return the pairs that are of one kind, from the number of common labels and the sizes."""
    similarity = _dice(shared.astype(np.float64), a[row].astype(np.float64) + b[column])
    chosen = (similarity >= threshold) == kind
    return row[chosen], column[chosen]


def _between_sets(kind: bool, threshold: float) -> bool:
    """Whether pairs of this kind can have different label sets."""
    return threshold < 1 if kind else threshold > 0


def _count_bits(words: Array) -> Array:
    """Count the bits of each row of 64-bit words."""
    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(words).sum(axis=1, dtype=np.intp)
    return _BITS_OF_BYTE[words.view(np.uint8)].sum(axis=1, dtype=np.intp)  # before NumPy 2


def _dice(shared: Array, sizes: Array) -> Array:
    """2 · shared / sizes, and 1 for two empty sets."""
    return np.where(sizes == 0, 1.0, 2.0 * shared / np.maximum(sizes, 1))
