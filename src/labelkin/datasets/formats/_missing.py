"""Empty cells of label columns: no, or unknown."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from labelkin._utils.errors import ArgumentError
from labelkin._utils.names import join_names

MISSING_LABELS = ("no", "unknown", "drop")
"""What an empty cell of a label can mean; with "drop" its row is left out."""


def check_missing_labels(missing: str | None) -> None:
    """Raise an error for a meaning that is not known; None is a guess."""
    if missing is not None and missing not in MISSING_LABELS:
        raise ArgumentError(
            f"missing_labels={missing!r}: choose no, unknown or drop.", "missing_labels"
        )


def settle_missing(
    values: np.ndarray, names: Sequence[str], missing: str | None, are_marks: Any = False
) -> tuple[np.ndarray, list[str]]:
    """Return labels, (n, q), with 0 where an empty cell, which is NaN, means no; NaN: unknown.

    Also returned is what was guessed, in words; without `missing` the meaning is. An empty cell of
    a label that is 0 elsewhere is unknown: what does not apply is written. Where all cells that are
    written are 1, the others mean no; but not in a table in which empty cells of other labels are
    unknown, unless the cells hold marks (`are_marks`, of each label).
    """
    check_missing_labels(missing)
    empty = np.isnan(values)
    if missing in ("unknown", "drop") or not empty.any():
        return values, []
    if missing == "no":
        return np.where(empty, 0.0, values), []
    some_empty = empty.any(axis=0)
    is_unknown = some_empty & (values <= 0).any(axis=0)
    if is_unknown.any():
        is_unknown = some_empty & ~np.broadcast_to(are_marks, some_empty.shape)
    guesses = [
        f"empty cells of {join_names([names[int(j)] for j in np.flatnonzero(chosen)])} {meaning}"
        for chosen, meaning in (
            (some_empty & ~is_unknown, "mean no"),
            (is_unknown, "are unknown labels"),
        )
        if chosen.any()
    ]
    return np.where(empty & ~is_unknown, 0.0, values), guesses
