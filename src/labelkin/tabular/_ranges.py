"""The range of the numbers and dates of training, and the rows of other tables outside of it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from labelkin.datasets import RawTable
from labelkin.tabular._dates import parse_date


def find_ranges(table: RawTable, kinds: Mapping[str, str]) -> dict[str, list[float]]:
    """Return the lowest and the highest value of each column of numbers or dates."""
    found = {}
    for name, kind in kinds.items():
        if kind == "number" or "date" in kind:
            cells = table.numbers(name) if kind == "number" else table.strings(name)
            values = _as_numbers(cells, kind)
            if (values := values[np.isfinite(values)]).size:
                found[name] = [float(values.min()), float(values.max())]
    return found


def note_outside(
    columns: Mapping[str, Any],
    kinds: Mapping[str, str],
    ranges: Mapping[str, list[float]],
    n_training: int,
) -> str | None:
    """Return a sentence on the rows whose values lie outside of the range of training.

    Of new rows like those of training, a share of 2 / (n + 1) lies outside by chance: columns are
    named in which there are more than that explains.
    """
    parts: list[str] = []
    for name, (low, high) in ranges.items():
        values = _as_numbers(columns[name], kinds[name])
        n = len(values)
        words = ("above", "below") if kinds[name] == "number" else ("later than", "earlier than")
        counts = [int((values > high).sum()), int((values < low).sum())]
        expected = 2 * n / (n_training + 1)
        if sum(counts) <= expected + 2 * expected**0.5:
            continue
        sides = [(count, word) for count, word in zip(counts, words, strict=True) if count]
        count, word = sides[0]
        of = "" if parts else f" of {n:,} rows"
        verb = "has" if count == 1 else "have"
        text = f"{count:,}{of} {verb} {name} {word} any in training"
        parts.append(text + "".join(f" ({n:,} {word} any)" for n, word in sides[1:]))
    if not parts:
        return None
    more = f" and {len(parts) - 5} more columns" if len(parts) > 5 else ""
    return f"{', '.join(parts[:5])}{more}; such predictions are less certain"


def _as_numbers(cells: Any, kind: str) -> np.ndarray:
    """Return numbers as they are, and dates as days."""
    if kind == "number":
        return np.asarray(cells, dtype=np.float64)
    found = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        date = None if cell is None else parse_date(cell, kind == "day_first_date")
        if date is not None:
            found[row] = date.toordinal() + (date.hour + date.minute / 60) / 24
    return found
