"""Variable pairwise constraints: which pairs of samples belong together (section 3.1).

Two samples are a *must-link* when the similarity of their label sets is at least a threshold
Θ, else a *cannot-link* (Eq. 1–2). Only the label sets matter, and samples share them, so all
work is on the distinct label sets: their similarities are a small table, from which pairs of
either kind are drawn exactly, however rare the kind is.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state, gen_batches

from labelkin._utils.array_api import to_device_of, to_numpy
from labelkin._utils.parallel import map_threads
from labelkin.base import Array
from labelkin.constraints._label_sets import LabelSets
from labelkin.constraints._search import PairSearch, SearchLimits, exists_between_sets
from labelkin.constraints._weighted import WeightedGroups, draw_by_mass, no_pairs


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


class ConstraintSampler:
    """Draws must-link and cannot-link pairs from given label sets: a matrix, or `LabelSets`.

    `limits`: what a draw may cost where label sets are many.
    """

    def __init__(self, Y: Any, limits: SearchLimits | None = None) -> None:
        self.label_sets = Y if isinstance(Y, LabelSets) else LabelSets.from_matrix(Y)
        self.n_samples = len(self.label_sets)
        self.limits = SearchLimits() if limits is None else limits
        self._remembered: tuple[float, bool, list[tuple[Array, Array]]] | None = None

    @cached_property
    def _groups(self) -> tuple[Array, Array]:
        """The samples ordered by their label sets, and where each set begins."""
        of_sample = self.label_sets.set_of_sample
        order = np.argsort(of_sample, kind="stable")
        starts = np.searchsorted(of_sample[order], np.arange(self.label_sets.n_sets + 1))
        return order, starts

    @cached_property
    def _search(self) -> PairSearch:
        return PairSearch(self.label_sets, self.limits)

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
        than once. Pairs are drawn independently; but with more than some 30,000 distinct
        label sets (fewer if there are many labels), those of a rare kind are found among
        all pairs between samples drawn by weight, a thousand by a thousand at a time, so
        that many share a sample, and repeated where the search ends with too few.

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
        weights = self.check_weights(sample_weight)
        if self.n_samples < 2:
            return no_pairs(), no_pairs()
        missing = {
            True: self.n_samples if n_must_link is None else n_must_link,
            False: self.n_samples if n_cannot_link is None else n_cannot_link,
        }
        groups = WeightedGroups(weights, *self._groups)
        n_sets = self.label_sets.n_sets
        if n_sets <= self.limits.table_sets:
            must_link, cannot_link = (
                self._draw_from_table(kind, threshold, size, groups, rng)
                for kind, size in missing.items()
            )
            return must_link, cannot_link
        drawn = self._draw_by_rejection(threshold, weights, missing, rng)
        can_enumerate = n_sets**2 <= min(self.limits.enumerated, self._search.most_similarities)
        for kind, parts in drawn.items():
            size = missing[kind] - sum(map(len, parts))
            if not size:
                continue
            if can_enumerate and exists_between_sets(kind, threshold):
                parts.append(self._draw_from_all(kind, threshold, size, groups, rng))
            else:
                parts.append(self._draw_from_blocks(kind, threshold, size, weights, groups, rng))
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

    def _draw_from_table(
        self, must_link: bool, threshold: float, size: int, groups: WeightedGroups, rng: Any
    ) -> Array:
        """Draw pairs of one kind: first two label sets by their mass, then a sample of each."""
        table = self.label_sets.similarity_table
        set_pairs = np.flatnonzero((table >= threshold) == must_link)
        cumulated = np.cumsum(groups.mass_of_all_pairs().ravel()[set_pairs])
        if not size or not len(cumulated) or cumulated[-1] == 0:
            return no_pairs()
        drawn = set_pairs[draw_by_mass(cumulated, rng.random_sample(size))]
        return groups.draw_pairs(*np.divmod(drawn, len(table)), rng)

    def _draw_by_rejection(
        self, threshold: float, weights: Array, wanted: dict[bool, int], rng: Any
    ) -> dict[bool, list[Array]]:
        """Draw pairs of any kind and keep those that are wanted: fast when no kind is rare."""
        drawn: dict[bool, list[Array]] = {kind: [no_pairs()] for kind in wanted}
        n = self.n_samples
        all_samples = WeightedGroups(weights, np.arange(n), np.array([0, n]))
        left_to_draw = self.limits.rejection_rounds * sum(wanted.values())
        batch = max(wanted.values())
        while batch and left_to_draw > 0:
            batch = min(batch + batch // 10, left_to_draw)  # a tenth more: some are rejected
            zeros = np.zeros(batch, dtype=np.intp)
            pairs = all_samples.draw_pairs(zeros, zeros, rng)
            if not len(pairs):
                break
            left_to_draw -= batch
            left, right = self.label_sets.set_of_sample[pairs].T
            is_must_link = self.label_sets.are_must_links(left, right, threshold)
            needed = [0]
            for kind, size in wanted.items():
                found = pairs[is_must_link == kind]
                missing = size - sum(map(len, drawn[kind]))
                drawn[kind].append(found[:missing])
                if len(found) < missing:
                    needed.append((missing - len(found)) * batch // max(len(found), 1) + 1)
            # A kind that is too rare for this does not prolong the draw of the other.
            batch = max(size for size in needed if size <= left_to_draw)
        return drawn

    def _draw_from_all(
        self, must_link: bool, threshold: float, size: int, groups: WeightedGroups, rng: Any
    ) -> Array:
        """Draw pairs of one kind from all pairs of label sets, enumerated block by block."""
        mass = np.array([groups.mass_of(*b).sum() for b in self._set_pairs(must_link, threshold)])
        if mass.sum() == 0:
            return no_pairs()
        per_block = rng.multinomial(size, mass / mass.sum())
        pairs = [no_pairs()]
        blocks = self._set_pairs(must_link, threshold)
        for (left, right), count in zip(blocks, per_block, strict=True):
            if count:
                cumulated = np.cumsum(groups.mass_of(left, right))
                drawn = draw_by_mass(cumulated, rng.random_sample(count))
                pairs.append(groups.draw_pairs(left[drawn], right[drawn], rng))
        return np.concatenate(pairs)

    def _set_pairs(self, must_link: bool, threshold: float) -> Iterator[tuple[Array, Array]]:
        """Yield all pairs of label sets of one kind in blocks; remember them if they are few."""
        remembered = self._remembered  # read once: other threads may draw too
        if remembered is not None and remembered[:2] == (threshold, must_link):
            yield from remembered[2]
            return
        every = np.arange(self.label_sets.n_sets, dtype=np.int32)
        columns = self._search.side(every)
        kept: list[tuple[Array, Array]] = []
        n_pairs = 0
        for batch in gen_batches(len(every), max(1, self.limits.block**2 // len(every))):
            rows = self._search.side(every[batch])
            row, column = self._search.find(rows, columns, must_link, threshold)
            found = every[batch][row], every[column]
            n_pairs += len(row)
            if n_pairs <= self.limits.remembered:
                kept.append(found)
            else:
                kept.clear()
            yield found
        if n_pairs <= self.limits.remembered:
            self._remembered = threshold, must_link, kept

    def _draw_from_blocks(
        self,
        must_link: bool,
        threshold: float,
        size: int,
        weights: Array,
        groups: WeightedGroups,
        rng: Any,
    ) -> Array:
        """Draw pairs of a rare kind where the pairs of label sets are too many to enumerate.

        Rejection on a large scale: all pairs between two lists of samples drawn by weight are
        compared at once, until enough pairs of the kind are found or the limit of the search
        is reached; then pairs are repeated. Samples with the same label set need no search.
        """
        limits = self.limits
        parts: list[Array] = [no_pairs()]
        n_compared = n_found = 0
        cumulated = np.cumsum(weights)
        can_be_found = exists_between_sets(must_link, threshold)
        while n_compared < self._search.most_similarities and n_found < size and can_be_found:
            u = rng.random_sample((limits.blocks_at_once, 2, limits.block))
            u.sort(axis=2)  # the order within a block does not matter; sorted is faster
            blocks = map_threads(
                lambda samples: self._find_in_block(samples, must_link, threshold),
                draw_by_mass(cumulated, u),
            )
            parts += blocks
            n_found += sum(map(len, blocks))
            n_compared += limits.blocks_at_once * limits.block**2
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

    def _find_in_block(self, samples: Array, must_link: bool, threshold: float) -> Array:
        """Return the pairs of one kind, of different label sets, between two lists of samples."""
        left, right = self.label_sets.set_of_sample[samples]
        row, column = self._search.find(
            self._search.side(left), self._search.side(right), must_link, threshold
        )
        different = left[row] != right[column]
        return np.column_stack([samples[0][row[different]], samples[1][column[different]]])
