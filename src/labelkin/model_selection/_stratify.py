"""Iterative stratification: assigns rows to parts so that every label is spread evenly.

The algorithm is that of Sechidis, Tsoumakas and Vlahavas, "On the stratification of multi-label
data" (ECML PKDD 2011): take the label with the fewest rows left, assign each of these rows to the
part that lacks the label most, and repeat. Three things are ours:

- All rows of the label are assigned at once. Each row lowers by one what its part lacks of this
  label and of rows, whatever other labels it has, so the sequence of parts can be computed without
  a loop over rows.
- The order of these rows, which the algorithm leaves open, follows their other labels, from
  rare to common. Similar rows then go to different parts, so that label sets are spread, too.
- What the greedy pass leaves uneven is repaired: rows move until the sizes are exact, then
  pairs of rows are exchanged while that makes the labels more even.
"""

from math import ceil

import numpy as np
from scipy import sparse

# Rows considered for an exchange; labels with few rows are spread by the greedy pass.
_MAX_CANDIDATES = 4096


def stratify(
    Y: sparse.csr_array, shares: np.ndarray, rng: np.random.RandomState | None
) -> np.ndarray:
    """Return the number of the part that each row of a CSR matrix of labels is assigned to.

    A part's size is its share of n, rounded down or up. `rng` shuffles rows and breaks ties; None
    keeps the given order and prefers earlier parts.
    """
    n = Y.shape[0]
    order = np.arange(n) if rng is None else rng.permutation(n)
    state = _Parts(Y[order], shares)
    _assign_all(state, rng)
    _repair_sizes(state)
    _repair_labels(state)
    part = np.empty(n, dtype=np.intp)
    part[order] = state.part
    return part


class _Parts:
    """The part of each row so far, and what each part still lacks."""

    def __init__(self, Y: sparse.csr_array, shares: np.ndarray) -> None:
        n, q = Y.shape
        self.Y = Y
        self.n_labels = np.diff(Y.indptr)  # of each row
        self.frequency = np.bincount(Y.indices, minlength=q)  # of each label
        self.part = np.full(n, -1, dtype=np.intp)
        self.room = shares * n  # number of rows each part lacks; negative: it has too many
        self.wanted = np.outer(shares, self.frequency)  # the same per part and label

    def put(self, rows: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """Assign rows to parts; return the number of these rows with each label."""
        n_parts, q = self.wanted.shape
        cells = (parts * q).repeat(self.n_labels[rows]) + self.Y[rows].indices
        got = np.bincount(cells, minlength=n_parts * q).reshape(n_parts, q)
        self.part[rows] = parts
        self.wanted -= got
        self.room -= np.bincount(parts, minlength=n_parts)
        return got.sum(axis=0)

    def labels(self, row: int) -> np.ndarray:
        """Return the labels of a row."""
        return self.Y.indices[slice(*self.Y.indptr[row : row + 2])]

    def move(self, row: int, source: int, target: int) -> None:
        """Move one row to another part."""
        labels = self.labels(row)
        self.part[row] = target
        self.wanted[source, labels] += 1
        self.wanted[target, labels] -= 1
        self.room[source] += 1
        self.room[target] -= 1


def _assign_all(state: _Parts, rng: np.random.RandomState | None) -> None:
    """Assign rows label by label, the rarest remaining label first; rows without labels last."""
    order = _similarity_order(state.Y, state.frequency)
    by_label = state.Y[order].tocsc()  # within a label, similar rows are adjacent
    left = np.where(state.frequency > 0, state.frequency, np.inf)
    while left[label := left.argmin()] < np.inf:
        rows = order[by_label.indices[slice(*by_label.indptr[label : label + 2])]]
        rows = rows[state.part[rows] < 0]
        left -= state.put(rows, _assign_rows(state.wanted[:, label], state.room, len(rows), rng))
        left[left == 0] = np.inf
    rows = np.flatnonzero(state.part < 0)
    if len(rows):
        state.put(rows, _assign_rows(state.room, state.room, len(rows), rng))


def _similarity_order(Y: sparse.csr_array, frequency: np.ndarray) -> np.ndarray:
    """Return the rows in lexicographic order of their label sets, rare labels first.

    The key of a row is a sum of powers of two, so rows that agree in more labels than a float has
    digits are not distinguished. With more labels than its exponent can hold, the powers are
    closer together and the order is approximate.
    """
    rank = frequency.argsort(kind="stable").argsort()
    keys = Y @ np.exp2(-rank * min(1.0, 1000 / len(rank)))
    return keys.argsort(kind="stable")


def _assign_rows(
    wanted: np.ndarray, room: np.ndarray, n_rows: int, rng: np.random.RandomState | None
) -> np.ndarray:
    """Return the parts that `n_rows` rows go to in turn.

    Each row goes to the part that lacks the label most; of several, to the one with most room;
    of several, to a random one. After k rows of a part, both are lower by k, so sorting the
    values for all k gives the sequence.
    """
    # The level to which the parts are filled: what they lack above it sums to n_rows.
    level, total = np.inf, 0.0
    for number, want in enumerate(sorted(wanted.tolist(), reverse=True), start=1):
        total += want
        if (total - n_rows) / number < want:
            level = (total - n_rows) / number
    counts = [ceil(max(want - level, 0.0)) + 1 for want in wanted.tolist()]
    part = np.arange(len(counts)).repeat(counts)
    k = np.concatenate([np.arange(count) for count in counts])
    tie = part if rng is None else rng.random_sample(len(part))
    return part[np.lexsort((tie, k - room[part], k - wanted[part]))[:n_rows]]


def _repair_sizes(state: _Parts) -> None:
    """Move rows from the largest to the smallest part until each size is its share, rounded."""
    while np.abs(state.room).max() >= 1 - 1e-9:
        source, target = int(state.room.argmin()), int(state.room.argmax())
        # Half the change in the sum of squares of `wanted` if the row moved.
        change = state.Y @ (state.wanted[source] - state.wanted[target]) + state.n_labels
        row = np.where(state.part == source, change, np.inf).argmin()
        state.move(int(row), source, target)


def _repair_labels(state: _Parts) -> None:
    """Exchange rows of two parts while the sum of squares of `wanted` falls.

    The parts are those with most and fewest rows of the label that is spread worst; a label that
    cannot be improved is not tried again. Every exchange lowers the sum, so this ends.
    """
    n, q = state.Y.shape
    step = -(-n // _MAX_CANDIDATES)
    Y = state.Y if step == 1 else state.Y[::step]
    part, weight = state.part[::step], state.n_labels[::step]
    open_labels = np.ones(q, dtype=bool)
    while True:
        spread = (state.wanted.max(axis=0) - state.wanted.min(axis=0)) * open_labels
        label = spread.argmax()
        if spread[label] <= 1 + 1e-9:
            return
        over, under = (int(f(state.wanted[:, label])) for f in (np.argmin, np.argmax))
        gap = state.wanted[over] - state.wanted[under]
        pull = Y @ gap
        down = np.where(part == over, weight + pull, np.inf).argmin()
        up = np.where(part == under, weight - pull, np.inf).argmin()
        difference = np.zeros(q)
        difference[state.labels(down * step)] = 1
        difference[state.labels(up * step)] -= 1
        swappable = part[down] == over and part[up] == under
        if swappable and difference @ gap + np.abs(difference).sum() < -1e-9:
            state.move(down * step, over, under)
            state.move(up * step, under, over)
        else:
            open_labels[label] = False
