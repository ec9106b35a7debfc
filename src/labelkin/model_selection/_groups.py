"""Stratification of groups: rows that belong together are assigned to one part.

Groups are assigned one after the other, the hardest to place first, to the part where the labels
and the number of rows come closest to their shares; then single groups move while that makes the
parts more even. The measure is Σ (count − expected)² / expected over the labels of each part, and
the same of the rows.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

_PASSES = 20  # over all groups, in search of moves; far fewer are needed


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas' NA."""
    same = value == value
    return value is None or not (isinstance(same, bool | np.bool_) and same)


def number_groups(groups: Iterable[Any], n_rows: int) -> np.ndarray:
    """Return the number of each row's group, from 0 in the order of their first rows."""
    found, codes = {}, []  # type: ignore[var-annotated]
    for row, group in enumerate(groups):
        if is_missing(group):
            raise ValueError(
                f"groups is missing in row {row + 1}: leave out such rows, or give each of them a "
                "group of its own."
            )
        codes.append(found.setdefault(group, len(found)))
    if len(codes) != n_rows:
        raise ValueError(f"groups has {len(codes)} entries, but there are {n_rows} rows.")
    return np.array(codes, dtype=np.intp)


def stratify_groups(
    Y: sparse.csr_array,
    group_of: np.ndarray,
    shares: np.ndarray,
    rng: np.random.RandomState | None,
) -> np.ndarray:
    """Return the number of the part that each row is assigned to; groups are never divided.

    `rng` breaks ties; None prefers earlier groups and parts. Every part gets a group.
    """
    n, n_groups = Y.shape[0], int(group_of.max()) + 1
    if n_groups < len(shares):
        raise ValueError(
            f"groups has {n_groups} different {'value' if n_groups == 1 else 'values'}, which "
            f"cannot fill {len(shares)} parts: ask for fewer folds, or for smaller groups."
        )
    member = sparse.csr_array((np.ones(n), (group_of, np.arange(n))), shape=(n_groups, n))
    # The rows count like one more label.
    counts = sparse.csr_array(sparse.hstack([member @ Y, member.sum(axis=1)[:, None]]))
    counts.eliminate_zeros()
    totals = np.asarray(counts.sum(axis=0)).ravel()
    state = _GroupParts(counts, np.outer(shares, totals))
    chance = np.arange(n_groups) if rng is None else rng.permutation(n_groups)
    # Large groups and those with much of a rare label first.
    weight = counts.multiply(counts) @ (1 / np.maximum(totals, 1))
    for group in np.lexsort((chance, -weight)).tolist():
        state.put(group, int(state.costs(group).argmin()))
    for _ in range(_PASSES):
        if not sum(state.improve(group) for group in chance.argsort().tolist()):
            break
    state.fill_empty()
    return state.part[group_of]


class _GroupParts:
    """The part of each group so far, and what each part still lacks of every label."""

    def __init__(self, counts: sparse.csr_array, expected: np.ndarray) -> None:
        self.counts, self.wanted = counts, expected.copy()
        self.inverse = 1 / np.maximum(expected, np.finfo(float).tiny)
        self.part = np.full(counts.shape[0], -1, dtype=np.intp)

    def labels(self, group: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels of a group, and how many of its rows have each."""
        where = slice(*self.counts.indptr[group : group + 2])
        return self.counts.indices[where], self.counts.data[where]

    def put(self, group: int, part: int, times: int = 1) -> None:
        """Add a group to a part; with ``times=-1``, take it away."""
        labels, count = self.labels(group)
        self.wanted[part, labels] -= times * count
        self.part[group] = part if times > 0 else -1

    def costs(self, group: int) -> np.ndarray:
        """Return by how much each part becomes less even with a group."""
        labels, count = self.labels(group)
        change = (count**2 - 2 * count * self.wanted[:, labels]) * self.inverse[:, labels]
        return change.sum(axis=1)

    def improve(self, group: int) -> bool:
        """Move a group to where it makes the parts more even; return whether there is such."""
        source = int(self.part[group])
        self.put(group, source, -1)
        costs = self.costs(group)
        target = int(costs.argmin())
        moves = costs[target] < costs[source] - 1e-9 * abs(costs[source])
        self.put(group, target if moves else source)
        return moves

    def fill_empty(self) -> None:
        """Give each part without a group the smallest group of a part that has several."""
        sizes = np.asarray(self.counts[:, [-1]].todense()).ravel()
        for part in range(len(self.wanted)):
            n_groups = np.bincount(self.part, minlength=len(self.wanted))
            if not n_groups[part]:
                group = int(np.where(n_groups[self.part] > 1, sizes, np.inf).argmin())
                self.put(group, int(self.part[group]), -1)
                self.put(group, part)
