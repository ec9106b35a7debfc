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

from labelkin._utils.labels import is_missing

_PASSES = 20  # over all groups, in search of moves; far fewer are needed


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
    n, n_groups, n_parts = Y.shape[0], int(group_of.max()) + 1, len(shares)
    if n_groups < n_parts:
        raise ValueError(
            f"groups has {n_groups} different {'value' if n_groups == 1 else 'values'}, which "
            f"cannot fill {n_parts} parts: choose fewer folds, or smaller groups."
        )
    member = sparse.csr_array((np.ones(n), (group_of, np.arange(n))), shape=(n_groups, n))
    sizes = np.bincount(group_of)
    # The rows count like one more label.
    counts = sparse.csr_array(sparse.hstack([member @ Y, sizes[:, None].astype(float)]))
    counts.eliminate_zeros()
    totals = np.asarray(counts.sum(axis=0)).ravel()
    wanted = np.outer(shares, totals)  # what each part still lacks
    inverse = 1 / np.maximum(wanted, np.finfo(float).tiny)
    part = np.full(n_groups, -1, dtype=np.intp)

    def put(group: int, target: int, times: int = 1) -> None:
        """Add a group to a part; with ``times=-1``, take it away."""
        where = slice(*counts.indptr[group : group + 2])
        wanted[target, counts.indices[where]] -= times * counts.data[where]
        part[group] = target

    def costs(group: int) -> np.ndarray:
        """Return by how much each part becomes less even with a group."""
        where = slice(*counts.indptr[group : group + 2])
        labels, count = counts.indices[where], counts.data[where]
        return ((count**2 - 2 * count * wanted[:, labels]) * inverse[:, labels]).sum(axis=1)

    # Large groups and those with much of a rare label first
    chance = np.arange(n_groups) if rng is None else rng.permutation(n_groups)
    weight = counts.multiply(counts) @ (1 / np.maximum(totals, 1))
    for group in np.lexsort((chance, -weight)).tolist():
        put(group, int(costs(group).argmin()))
    # Groups move to where they make the parts more even
    for _ in range(_PASSES):
        n_moves = 0
        for group in chance.argsort().tolist():
            source = int(part[group])
            put(group, source, -1)
            cost = costs(group)
            target = int(cost.argmin())
            moves = cost[target] < cost[source] - 1e-9 * abs(cost[source])
            put(group, target if moves else source)
            n_moves += moves
        if not n_moves:
            break
    # A part without a group gets the smallest one of a part that has several
    for empty in range(n_parts):
        n_in_part = np.bincount(part, minlength=n_parts)
        if not n_in_part[empty]:
            part[np.where(n_in_part[part] > 1, sizes, np.inf).argmin()] = empty
    return part[group_of]
