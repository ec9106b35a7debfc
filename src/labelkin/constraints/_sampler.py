"""Variable pairwise constraints: which pairs of samples belong together (section 3.1).

Two samples are a *must-link* when the similarity of their label sets is at least a threshold
Θ, else a *cannot-link* (Eq. 1–2). Only the label sets matter, and samples share them, so all
work is on the distinct label sets: their similarities are a small table, from which pairs of
either kind are drawn exactly, however rare the kind is.

Where labels are unknown, the similarity of two samples is that of the labels known in both. Two
samples without such a label are of neither kind.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_random_state

from labelkin._utils.labels import split_unknown
from labelkin.base import Array, check_weight
from labelkin.rows import compute, is_dask, to_device_of, to_numpy

# Up to this many distinct label sets, all their similarities are kept (72 MB).
_TABLE_SETS = 3_000
# With more sets, at most this many rounds draw twice as many pairs as needed, of either kind.
_REJECTION_ROUNDS = 8
# A kind that is still too rare is searched for among at most this many pairs (a few seconds),
_MOST_COMPARED = 2**26
# in blocks of all pairs between two lists of this many samples.
_BLOCK = 1_024


def label_similarity(Y_left: Any, Y_right: Any) -> Array:
    """Similarity of label sets, row by row: shared labels over the mean size (Eq. 1–2).

    Parameters
    ----------
    Y_left, Y_right : {array-like, sparse matrix} of shape (n_pairs, n_labels)
        0 and 1; NaN where a label is unknown. Only labels known in both sets count.

    Returns
    -------
    ndarray of shape (n_pairs,)
        2 |A ∩ B| / (|A| + |B|), from 0 (disjoint) to 1 (equal; two empty sets are equal). NaN
        where no label is known in both.

    Examples
    --------
    >>> label_similarity([[1, 1, 0], [0, 0, 0]], [[0, 1, 1], [0, 0, 0]])
    array([0.5, 1. ])
    """
    left, known_left = split_unknown(to_numpy(Y_left), "Y_left")
    right, known_right = split_unknown(to_numpy(Y_right), "Y_right")
    if left.shape != right.shape:
        raise ValueError(
            f"Y_left and Y_right must have the same shape, got {left.shape} and {right.shape}."
        )
    masks = [known for known in (known_left, known_right) if known is not None]
    both = np.logical_and.reduce(masks) if masks else None
    similarity = _similarities(sparse.csr_array(left), sparse.csr_array(right), both)
    return to_device_of(similarity, Y_left)


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
        Label sets, 0 and 1; NaN where a label is unknown.
    threshold, n_must_link, n_cannot_link, sample_weight, random_state
        As in `ConstraintSampler.draw`.

    Returns
    -------
    must_link, cannot_link : ndarray of shape (n_pairs, 2)
        Row indices. The draw runs on the host: the pairs are the same wherever Y is.
    """
    pairs = ConstraintSampler(Y).draw(
        threshold, n_must_link, n_cannot_link, sample_weight, random_state
    )
    return to_device_of(pairs[0], Y), to_device_of(pairs[1], Y)


class LabelSets:
    """The distinct label sets of all samples, a CSR array, and the number of each sample's set.

    `Y` is an (n, q) matrix of 0 and 1, also on a device or on Dask. Unknown labels
    are False in `known`, or NaN in the matrix. Sets that differ in their known labels are distinct.
    """

    def __init__(self, Y: Any, known: Array | None = None) -> None:
        labels, found = split_unknown(compute([Y])[0] if is_dask(Y) else to_numpy(Y), "y")
        known = found if known is None else known
        rows, q = sparse.csr_array(labels, dtype=np.int64), labels.shape[1]
        if known is not None:
            both = sparse.hstack([rows, sparse.csr_array(known != 0)])
            rows = sparse.csr_array(both, dtype=np.int64)
            rows.sort_indices()
        distinct, self.set_of_sample = distinct_rows(rows)
        self.distinct = distinct if known is None else sparse.csr_array(distinct[:, :q])
        self.known = None if known is None else distinct[:, q:].toarray().astype(bool)
        """Which labels of the distinct sets are known, (n_sets, q); None: all."""
        self.shape = len(self.set_of_sample), q
        self.n_sets = distinct.shape[0]
        self.sizes = np.diff(self.distinct.indptr)
        """Number of labels of each distinct set."""

    @cached_property
    def similarity_table(self) -> Array:
        """Similarities of all pairs of distinct sets, (n_sets, n_sets)."""
        return self.table(np.arange(self.n_sets), np.arange(self.n_sets))

    def table(self, left: Array, right: Array) -> Array:
        """Return the similarities of all pairs between two lists; NaN: none is known in both."""
        if self.known is None:
            shared = (self.distinct[left] @ self.distinct[right].T).toarray()
            return dice(shared, np.add.outer(self.sizes[left], self.sizes[right]))
        # Products of these are exact, and many times faster than those of sparse matrices.
        A, B = (self.distinct[sets].toarray().astype(np.float32) for sets in (left, right))
        known_a, known_b = (self.known[sets].astype(np.float32) for sets in (left, right))
        similar = dice((A @ B.T).astype(np.float64), A @ known_b.T + known_a @ B.T)
        similar[known_a @ known_b.T == 0] = np.nan
        return similar

    def similarities(self, left: Array, right: Array) -> Array:
        """Return the similarities of pairs of distinct sets."""
        both = None if self.known is None else self.known[left] & self.known[right]
        return _similarities(self.distinct[left], self.distinct[right], both)

    def matrix(self, rows: Any = slice(None)) -> Array:
        """Return the labels of some rows, or of all, as a matrix."""
        return labels_of_sets(self.set_of_sample[rows], self.distinct)


def labels_of_sets(sets: Array, distinct: sparse.csr_array) -> Array:
    """Return the (n, q) label matrix of rows from the numbers of their label sets."""
    return distinct[sets].toarray().astype(np.uint8)


def distinct_rows(Y: sparse.csr_array) -> tuple[sparse.csr_array, Array]:
    """Return the distinct rows of Y, and for each row which of them it is.

    Rows are grouped by random 64-bit sums, and every row is compared with the first of its
    group: a collision of the sums only costs another round.
    """
    rng = np.random.default_rng(0)
    sizes = np.diff(Y.indptr)
    while True:
        codes = rng.integers(1, 2**63, size=(Y.shape[1], 2), dtype=np.uint64)[:, 0]
        sums = Y.astype(np.uint64) @ codes
        _, first, which = np.unique(sums, return_index=True, return_inverse=True)
        which = which.ravel()
        same_sizes = (sizes[first[which]] == sizes).all()
        if same_sizes and (Y[first[which]].indices == Y.indices).all():
            return Y[first], which


def _similarities(left: sparse.csr_array, right: sparse.csr_array, both: Array | None) -> Array:
    """Return the similarities of two lists of label sets, row by row.

    `both` marks the labels that are known in both sets; None: all.
    """
    if both is not None:
        left, right = left.multiply(both), right.multiply(both)
    shared, n_left, n_right = (
        np.asarray(part.sum(axis=1)).ravel() for part in (left.multiply(right), left, right)
    )
    similar = dice(shared, n_left + n_right)
    if both is not None:
        similar[~both.any(axis=1)] = np.nan
    return similar


def dice(shared: Array, sizes: Array) -> Array:
    """Return 2 · shared / sizes, and 1 for two empty sets."""
    return np.where(sizes == 0, 1.0, 2.0 * shared / np.maximum(sizes, 1))


class WeightedGroups:
    """Samples in groups, to be drawn by weight within their group.

    `order` are the samples group by group; `starts`, (n_groups + 1,), is where each group begins
    in this order, and where the last one ends.
    """

    def __init__(self, weights: Array, order: Array, starts: Array) -> None:
        self.weights, self._order, self._start = weights, order, starts
        w = weights[order]
        g = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self.mass = np.add.reduceat(w, starts[:-1])
        # Pairs within a group: w_i times the weight of the others, exactly 0 without others.
        paired = w * np.maximum(self.mass[g] - w, 0)
        self.mass_within = np.add.reduceat(paired, self._start[:-1])
        # Shares of the group: groups of tiny weight lose no digits against heavy ones.
        with np.errstate(invalid="ignore"):
            self._share = np.where(w > 0, w / self.mass[g], 0.0)
            share_within = np.where(paired > 0, paired / self.mass_within[g], 0.0)
        self._cumulated = np.concatenate([[0.0], np.cumsum(self._share)])
        self._cumulated_within = np.concatenate([[0.0], np.cumsum(share_within)])

    def draw_pairs(self, left: Array, right: Array, rng: Any) -> Array:
        """Draw one pair (i, j), i ≠ j, for each pair of groups; no pairs if a group has none."""
        within = left == right
        if within.any() and not self.mass_within[left[within]].all():
            return no_pairs()
        u = rng.random_sample((2, len(left)))
        first, second = (
            self._position(self._cumulated, *part) for part in ((left, u[0]), (right, u[1]))
        )
        if within.any():
            groups, (u_first, u_second) = left[within], u[:, within]
            first[within] = self._position(self._cumulated_within, groups, u_first)
            second[within] = self._position_without(first[within], groups, u_second)
        return np.column_stack([self._order[first], self._order[second]])

    def _position(self, cumulated: Array, group: Array, u: Array) -> Array:
        """Return one position of each group, drawn by the cumulated shares."""
        low, high = self._start[group], self._start[group + 1]
        target = cumulated[low] + u * (cumulated[high] - cumulated[low])
        return np.clip(np.searchsorted(cumulated, target, side="right") - 1, low, high - 1)

    def _position_without(self, excluded: Array, group: Array, u: Array) -> Array:
        """Return positions by weight, as `_position` does, skipping the excluded sample."""
        low, high = self._start[group], self._start[group + 1]
        total = self._cumulated[high] - self._cumulated[low] - self._share[excluded]
        target = self._cumulated[low] + u * total
        target = target + np.where(target >= self._cumulated[excluded], self._share[excluded], 0)
        found = np.searchsorted(self._cumulated, target, side="right") - 1
        found = np.clip(found, low, high - 1)
        # Rounding can still end on the excluded sample; its neighbour in the group is next.
        beside = np.where(excluded + 1 < high, excluded + 1, excluded - 1)
        return np.where(found == excluded, beside, found)


def draw_by_mass(cumulated: Array, u: Array) -> Array:
    """Draw indices by cumulated mass; never one without mass."""
    drawn = np.searchsorted(cumulated, u * cumulated[-1], side="right")
    return np.minimum(drawn, np.searchsorted(cumulated, cumulated[-1], side="left"))


def no_pairs() -> Array:
    """Return an empty list of pairs."""
    return np.empty((0, 2), dtype=np.intp)


class ConstraintSampler:
    """Draws must-link and cannot-link pairs of samples by their label sets.

    `known` is the mask of known labels, where some are not. With a `bag`, row indices, only samples
    in it are drawn, and labels outside it cannot change a pair.
    """

    def __init__(self, Y: Any, known: Array | None = None, bag: Array | None = None) -> None:
        if bag is not None:
            Y, known = Y[bag], None if known is None else known[bag]
        self._bag = bag
        self.label_sets = LabelSets(Y, known)
        self.n_samples = self.label_sets.shape[0]
        # The samples ordered by their label sets, and where each set begins.
        of_sample = self.label_sets.set_of_sample
        self._order = np.argsort(of_sample, kind="stable")
        self._starts = np.searchsorted(
            of_sample[self._order], np.arange(self.label_sets.n_sets + 1)
        )

    def draw(
        self,
        threshold: float,
        n_must_link: int | None = None,
        n_cannot_link: int | None = None,
        sample_weight: ArrayLike | None = None,
        random_state: Any = None,
    ) -> tuple[Array, Array]:
        """Draw pairs (i, j), i ≠ j, with probability proportional to w_i · w_j in each kind.

        This is the distribution of drawing i and j by their weights until both sets are full
        (Table 1, lines 6–13), in bounded time for every Y, Θ and w. A pair can occur more
        than once. Pairs are drawn independently; but with more than 3,000 distinct label sets,
        those of a rare kind are found among all pairs between samples drawn by weight, a thousand
        by a thousand at a time, so that many share a sample, and repeated where the search ends
        with too few.

        Parameters
        ----------
        threshold : float
            Θ in [0, 1].
        n_must_link, n_cannot_link : int, optional
            Number of pairs of each kind; None: the number of samples.
        sample_weight : array-like of shape (n_samples,), optional
            w; None: all equal.
        random_state : int, RandomState instance or None
            Source of randomness.

        Returns
        -------
        must_link, cannot_link : ndarray of shape (n_pairs, 2)
            Row indices. A kind of which no pair exists is empty.
        """
        rng = check_random_state(random_state)
        n, sets = self.n_samples, self.label_sets
        if self._bag is not None and sample_weight is not None:
            # Equal weights where no sample of the bag has one.
            sample_weight = np.asarray(sample_weight)[self._bag]
            sample_weight = sample_weight if sample_weight.any() else None
        weights = check_weight(sample_weight, n)
        weights = np.ones(n) if weights is None else weights / weights.max()
        if sets.known is not None:  # a sample without known labels is in no pair
            weights = np.where(sets.known.any(axis=1)[sets.set_of_sample], weights, 0.0)
        sizes = [n if size is None else size for size in (n_must_link, n_cannot_link)]
        if n < 2 or not weights.any():
            return no_pairs(), no_pairs()
        groups = WeightedGroups(weights, self._order, self._starts)
        # With unknown labels nearly all samples have a set of their own: a table saves little.
        if sets.n_sets * (1 if sets.known is None else 3) <= _TABLE_SETS:
            similar = sets.similarity_table
            must_link = self._draw_from_table(similar >= threshold, sizes[0], groups, rng)
            cannot_link = self._draw_from_table(similar < threshold, sizes[1], groups, rng)
        else:
            found = self._draw_by_rejection(threshold, sizes[0], sizes[1], weights, rng)
            must_link, cannot_link = (
                np.concatenate(
                    [pairs, self._draw_rare(kind, threshold, size - len(pairs), groups, rng)]
                )
                for kind, pairs, size in zip(("must", "cannot"), found, sizes, strict=True)
            )
        if self._bag is None:
            return must_link, cannot_link
        return self._bag[must_link], self._bag[cannot_link]

    def _draw_from_table(self, linked: Array, size: int, groups: WeightedGroups, rng: Any) -> Array:
        """Draw pairs of linked label sets by their mass, then a sample of each set."""
        mass = np.multiply.outer(groups.mass, groups.mass)
        np.fill_diagonal(mass, groups.mass_within)
        set_pairs = np.flatnonzero(linked)
        cumulated = np.cumsum(mass.ravel()[set_pairs])
        if not size or not len(cumulated) or cumulated[-1] == 0:
            return no_pairs()
        drawn = set_pairs[draw_by_mass(cumulated, rng.random_sample(size))]
        return groups.draw_pairs(*np.divmod(drawn, len(linked)), rng)

    def _draw_by_rejection(
        self, threshold: float, n_must_link: int, n_cannot_link: int, weights: Array, rng: Any
    ) -> tuple[Array, Array]:
        """Draw pairs of any kind and keep those that are wanted: enough where no kind is rare."""
        must_link, cannot_link = no_pairs(), no_pairs()
        n = self.n_samples
        all_samples = WeightedGroups(weights, np.arange(n), np.array([0, n]))
        zeros = np.zeros(2 * max(n_must_link, n_cannot_link), dtype=np.intp)
        for rounds_left in range(_REJECTION_ROUNDS, 0, -1):
            missing = np.array([n_must_link - len(must_link), n_cannot_link - len(cannot_link)])
            pairs = all_samples.draw_pairs(zeros, zeros, rng)
            left, right = self.label_sets.set_of_sample[pairs].T
            similarity = self.label_sets.similarities(left, right)
            similar, different = similarity >= threshold, similarity < threshold
            must_link = np.concatenate([must_link, pairs[similar][: missing[0]]])
            cannot_link = np.concatenate([cannot_link, pairs[different][: missing[1]]])
            found = np.array([similar.sum(), different.sum()])
            # A kind that is too rare for this does not prolong the draw of the other.
            if not ((missing > found) & (missing <= found * rounds_left)).any():
                break
        return must_link, cannot_link

    def _draw_rare(
        self, kind: str, threshold: float, size: int, groups: WeightedGroups, rng: Any
    ) -> Array:
        """Draw "must" or "cannot" links that are rare from more label sets than a table can have.

        All pairs between two lists of samples drawn by weight are compared at a time, until enough
        pairs of the kind are found or the limit is reached; then pairs are repeated. Samples with
        the same label set need no search.
        """
        if not size:
            return no_pairs()
        parts, n_compared, n_found = [no_pairs()], 0, 0
        weights, set_of_sample = groups.weights, self.label_sets.set_of_sample
        cumulated, must_link = np.cumsum(weights), kind == "must"
        # Sets whose known labels differ can have the similarity of equal sets.
        partial = self.label_sets.known is not None
        between_sets = threshold < 1 or partial if must_link else threshold > 0
        while between_sets and n_found < size and n_compared < _MOST_COMPARED:
            left, right = draw_by_mass(cumulated, rng.random_sample((2, _BLOCK)))
            sets = set_of_sample[left], set_of_sample[right]
            similar = self.label_sets.table(*sets)
            wanted = similar >= threshold if must_link else similar < threshold
            row, column = np.nonzero(wanted & np.not_equal.outer(*sets))
            parts.append(np.column_stack([left[row], right[column]]))
            n_found += len(row)
            n_compared += _BLOCK**2
        found = np.concatenate(parts)
        between = n_found / n_compared * weights.sum() ** 2 if n_compared else 0.0
        within = groups.mass_within.sum() if must_link else 0.0
        if between + within == 0:
            return no_pairs()
        n_within = rng.binomial(size, within / (between + within))
        same_set = draw_by_mass(np.cumsum(groups.mass_within), rng.random_sample(n_within))
        n_between = size - n_within
        repeats = -(-n_between // max(len(found), 1))
        order = np.concatenate([rng.permutation(len(found)) for _ in range(repeats)] or [[]])
        chosen = found[order[:n_between].astype(np.intp)]
        return np.concatenate([chosen, groups.draw_pairs(same_set, same_set, rng)])


def draw_bag(n_samples: int, share: float, seed: int) -> Array:
    """Draw the rows of a bag, a share of the samples, without replacement, in order.

    A projection learned from pairs has seen the labels of the samples in them, so that its
    predictions of those samples are optimistic. If the pairs are drawn inside a bag, those of the
    samples outside are not.

    A bag holds at least two samples, to make a pair, and leaves one outside, where there are
    enough. The seed is that of a separate stream: the bag depends on no other draw of a member.
    """
    size = min(max(round(share * n_samples), 2), max(n_samples - 1, 2), n_samples)
    return np.sort(np.random.default_rng(seed).permutation(n_samples)[:size])
