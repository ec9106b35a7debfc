"""Draws by weight: samples within groups, and indices by cumulated mass."""

from typing import Any

import numpy as np

from labelkin.base import Array


class WeightedGroups:
    """Samples in groups, to be drawn by weight within their group.

    `order` are the samples group by group; `starts`, (n_groups + 1,), is where each group begins
    in this order, and where the last one ends.
    """

    def __init__(self, weights: Array, order: Array, starts: Array) -> None:
        self._order, self._start = order, starts
        w = weights[order]
        g = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self.mass = np.add.reduceat(w, starts[:-1])
        # Pairs within a group: w_i times the weight of the others, exactly 0 without others.
        paired = w * np.maximum(self.mass[g] - w, 0)
        self.mass_within = np.add.reduceat(paired, self._start[:-1])
        # Shares of the group: groups of tiny weight lose no digits against heavy ones.
        self._share = _divide(w, self.mass[g])
        self._cumulated = np.concatenate([[0.0], np.cumsum(self._share)])
        self._cumulated_within = np.concatenate(
            [[0.0], np.cumsum(_divide(paired, self.mass_within[g]))]
        )

    def mass_of_all_pairs(self) -> Array:
        """Return the total weight of the pairs between any two groups."""
        mass = np.multiply.outer(self.mass, self.mass)
        np.fill_diagonal(mass, self.mass_within)
        return mass

    def draw_pairs(self, left: Array, right: Array, rng: Any) -> Array:
        """Draw one pair (i, j), i ≠ j, for each pair of groups; no pairs if a group has none."""
        within = left == right
        if within.any() and not self.mass_within[left[within]].all():
            return no_pairs()
        u = rng.random_sample((2, len(left)))
        pairs = np.empty((len(left), 2), dtype=np.intp)
        for chosen in (within, ~within):
            if not chosen.any():
                continue
            (a, b), (u_first, u_second) = (left[chosen], right[chosen]), u[:, chosen]
            if chosen is within:
                first = self._position(self._cumulated_within, a, u_first)
                second = self._position_without(first, a, u_second)
            else:
                first = self._position(self._cumulated, a, u_first)
                second = self._position(self._cumulated, b, u_second)
            pairs[chosen, 0], pairs[chosen, 1] = self._order[first], self._order[second]
        return pairs

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


def _divide(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def no_pairs() -> Array:
    """Return an empty list of pairs."""
    return np.empty((0, 2), dtype=np.intp)
