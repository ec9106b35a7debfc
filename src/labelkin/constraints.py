"""Variable pairwise constraints: which pairs of samples belong together (section 3.1).

Two samples are a *must-link* when their label sets overlap by at least a threshold Θ, else
a *cannot-link* (Eq. 1–2). Only the label sets matter, and samples share them, so all work
is on the distinct label sets: their similarities are a small table, from which pairs of
either kind are drawn exactly, however rare the kind is.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_random_state, gen_batches

from labelkin._array import like, to_numpy
from labelkin._labels import check_labels
from labelkin.base import Array

# Up to this many distinct label sets the table of their similarities is kept (32 MB).
_TABLE_SETS = 2_000
# Beyond it, an exact search looks at no more similarities than this (a few seconds).
_MOST_SIMILARITIES = 400_000_000
# Before that search: how many times as many pairs as wanted are drawn and sorted out.
_REJECTION_ROUNDS = 8


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
    return like(_dice(shared, np.diff(left.indptr) + np.diff(right.indptr)), Y_left)


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
    return like(must_link, Y), like(cannot_link, Y)


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
        than once.

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
        weights = self._check_weights(sample_weight)
        if self.n_samples < 2:
            return _no_pairs(), _no_pairs()
        sets = _WeightedSets(weights, self.set_of_sample, len(self._sizes))
        wanted = {True: n_must_link, False: n_cannot_link}
        drawn = {True: [_no_pairs()], False: [_no_pairs()]}
        if len(self._sizes) > _TABLE_SETS:
            self._draw_by_rejection(threshold, weights, wanted, drawn, rng)
        for kind in (True, False):
            missing = wanted[kind] - sum(map(len, drawn[kind]))
            if missing:
                drawn[kind].append(self._draw_exactly(kind, threshold, missing, sets, rng))
        return np.concatenate(drawn[True]), np.concatenate(drawn[False])

    def _check_weights(self, sample_weight: ArrayLike | None) -> Array:
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

    def _draw_by_rejection(
        self, threshold: float, weights: Array, wanted: dict, drawn: dict, rng: Any
    ) -> None:
        """Draw pairs of any kind and keep those still wanted: quick when no kind is rare."""
        everything = _WeightedSets(weights, np.zeros(self.n_samples, dtype=np.intp), 1)
        batch = sum(wanted.values())
        for _ in range(_REJECTION_ROUNDS):
            missing = {kind: wanted[kind] - sum(map(len, drawn[kind])) for kind in wanted}
            if not any(missing.values()):
                return
            zeros = np.zeros(batch, dtype=np.intp)
            pairs = everything.draw_pairs(zeros, zeros, rng)
            if not len(pairs):
                return
            left, right = self.set_of_sample[pairs].T
            shared = self.label_sets[left].multiply(self.label_sets[right]).sum(axis=1)
            similar = _dice(np.asarray(shared).ravel(), self._sizes[left] + self._sizes[right])
            is_must_link = similar >= threshold
            for kind in wanted:
                drawn[kind].append(pairs[is_must_link == kind][: missing[kind]])

    def _draw_exactly(
        self, kind: bool, threshold: float, size: int, sets: "_WeightedSets", rng: Any
    ) -> Array:
        """Draw `size` pairs of one kind from the table of all pairs of label sets.

        First a pair of sets by its mass, then a sample in each. The table is built block by
        block, so that it is never whole when there are many sets.
        """
        if len(self._sizes) <= _TABLE_SETS:
            cells, cumulated = self._cumulated_mass(kind, threshold, sets)
            if not len(cumulated) or cumulated[-1] == 0:
                return _no_pairs()
            hit = _draw_from(cumulated, rng.random_sample(size))
            hit = hit if cells is None else cells[hit]
            return sets.draw_pairs(*np.divmod(hit, len(self._sizes)), rng)
        blocks = list(self._blocks(sets, rng))
        if len(blocks) == 1:
            per_block = np.array([size])
        else:
            mass = np.array([self._mass(b, kind, threshold, sets).sum() for b in blocks])
            if mass.sum() == 0:
                return _no_pairs()
            per_block = rng.multinomial(size, mass / mass.sum())
        pairs = [_no_pairs()]
        for block, count in zip(blocks, per_block, strict=True):
            if not count:
                continue
            cumulated = np.cumsum(self._mass(block, kind, threshold, sets))
            if cumulated[-1] == 0:
                return _no_pairs()
            hit = _draw_from(cumulated, rng.random_sample(count))
            row, right = np.divmod(hit, len(self._sizes))
            pairs.append(sets.draw_pairs(block[row], right, rng))
        return np.concatenate(pairs)

    def _cumulated_mass(
        self, kind: bool, threshold: float, sets: "_WeightedSets"
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

    def _blocks(self, sets: "_WeightedSets", rng: Any) -> Iterator[Array]:
        """Yield the rows of the table of set pairs in blocks of bounded size.

        With more sets than can all be compared, the rows are a random choice by weight.
        """
        n_sets = len(self._sizes)
        rows = np.arange(n_sets)
        most = _MOST_SIMILARITIES // n_sets
        if n_sets > most:
            share = sets.mass / sets.mass.sum()
            size = min(max(most, 1), np.count_nonzero(share))
            rows = np.sort(rng.choice(n_sets, size=size, replace=False, p=share))
        for batch in gen_batches(len(rows), max(1, _TABLE_SETS**2 // n_sets)):
            yield rows[batch]

    def _mass(self, rows: Array, kind: bool, threshold: float, sets: "_WeightedSets") -> Array:
        """Total weight of the pairs of one kind, for each pair (row, any) of label sets."""
        mass = sets.mass_of_pairs(rows)
        mass[(self._similarities(rows) >= threshold) != kind] = 0
        return mass

    def _similarities(self, rows: Array) -> Array:
        if len(self._sizes) > _TABLE_SETS:
            return self._compute_similarities(rows)
        if self._table is None:
            self._table = self._compute_similarities(rows)
        return self._table

    def _compute_similarities(self, rows: Array) -> Array:
        shared = (self.label_sets[rows] @ self.label_sets.T).toarray()
        return _dice(shared, np.add.outer(self._sizes[rows], self._sizes))


class _WeightedSets:
    """Samples in groups, to be drawn by weight within their group."""

    def __init__(self, weights: Array, group: Array, n_groups: int) -> None:
        self._order = np.argsort(group, kind="stable")
        w = weights[self._order]
        g = group[self._order]
        self._start = np.searchsorted(g, np.arange(n_groups + 1))
        self.mass = np.add.reduceat(w, self._start[:-1])
        # A pair within a group: w_i times what the others weigh, exactly 0 without others.
        paired = w * np.maximum(self.mass[g] - w, 0)
        self.mass_within = np.add.reduceat(paired, self._start[:-1])
        # Shares of the group, so that a group of tiny weight is drawn from as exactly as a
        # heavy one.
        self._share = _divide(w, self.mass[g])
        self._cumulated = np.concatenate([[0.0], np.cumsum(self._share)])
        self._cumulated_within = np.concatenate(
            [[0.0], np.cumsum(_divide(paired, self.mass_within[g]))]
        )

    def mass_of_pairs(self, rows: Array) -> Array:
        """Total weight of the pairs between the groups in `rows` and every group."""
        mass = np.multiply.outer(self.mass[rows], self.mass)
        mass[np.arange(len(rows)), rows] = self.mass_within[rows]
        return mass

    def draw_pairs(self, left: Array, right: Array, rng: Any) -> Array:
        """Draw one pair (i, j), i ≠ j, for each pair of groups; nothing if none has a pair."""
        within = left == right
        if within.any() and not self.mass_within[left[within]].all():
            return _no_pairs()
        u = rng.random_sample((2, len(left)))
        first = np.where(
            within,
            self._position(self._cumulated_within, left, u[0]),
            self._position(self._cumulated, left, u[0]),
        )
        second = np.where(
            within,
            self._position_but(first, left, u[1]),
            self._position(self._cumulated, right, u[1]),
        )
        return self._order[np.column_stack([first, second])]

    def _position(self, cumulated: Array, group: Array, u: Array) -> Array:
        low, high = self._start[group], self._start[group + 1]
        target = cumulated[low] + u * (cumulated[high] - cumulated[low])
        return np.clip(np.searchsorted(cumulated, target, side="right") - 1, low, high - 1)

    def _position_but(self, excluded: Array, group: Array, u: Array) -> Array:
        """Position in the group by weight, jumping over the excluded sample's interval."""
        low, high = self._start[group], self._start[group + 1]
        total = self._cumulated[high] - self._cumulated[low] - self._share[excluded]
        target = self._cumulated[low] + u * total
        target = target + np.where(target >= self._cumulated[excluded], self._share[excluded], 0)
        found = np.searchsorted(self._cumulated, target, side="right") - 1
        found = np.clip(found, low, high - 1)
        # Rounding can still end on the excluded sample; its neighbour in the group is next.
        beside = np.where(excluded + 1 < high, excluded + 1, excluded - 1)
        return np.where(found == excluded, beside, found)


def _label_sets(Y: Any) -> sparse.csr_array:
    """Return label sets as CSR, every stored entry 1."""
    return sparse.csr_array(check_labels(to_numpy(Y), "Y"), dtype=np.int64)


def _distinct_rows(Y: sparse.csr_array) -> tuple[sparse.csr_array, Array]:
    """Return the distinct rows of Y, and for each row which one it is.

    Rows are told apart by two random 64-bit sums, and every row is compared with the one
    that stands for it: a collision of the sums would only cost another round.
    """
    rng = np.random.default_rng(0)
    while True:
        codes = rng.integers(1, 2**63, size=(Y.shape[1], 2), dtype=np.uint64)
        sums = np.ascontiguousarray(Y.astype(np.uint64) @ codes)
        keys = sums.view([("", np.uint64)] * 2).ravel()
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        which = which.ravel()
        if (Y[first[which]] != Y).nnz == 0:
            return Y[first], which


def _dice(shared: Array, sizes: Array) -> Array:
    """2 · shared / sizes, and 1 for two empty sets."""
    return np.where(sizes == 0, 1.0, 2.0 * shared / np.maximum(sizes, 1))


def _draw_from(cumulated: Array, u: Array) -> Array:
    """Draw indices by cumulated mass; never one without mass."""
    hit = np.searchsorted(cumulated, u * cumulated[-1], side="right")
    return np.minimum(hit, np.searchsorted(cumulated, cumulated[-1], side="left"))


def _divide(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _no_pairs() -> Array:
    return np.empty((0, 2), dtype=np.intp)
