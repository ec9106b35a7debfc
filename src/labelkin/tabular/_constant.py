"""Columns that are the same in all training rows: they are left out, other new values are noted."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from labelkin._utils.files import shorten
from labelkin._utils.names import join_names, plural
from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.datasets.formats._columns import fold
from labelkin.datasets.formats._numbers import MISSING, is_number, parse_number
from labelkin.datasets.formats._quantities import split_unit
from labelkin.datasets.formats._raw_table import Guess, as_string
from labelkin.tabular._dates import parse_date, write_dates

_MAX_NOTES = 5  # columns that have a note of their own


def find_constant(table: RawTable, names: Iterable[str]) -> dict[str, str]:
    """Return those of the columns that are empty or the same in all rows; they are left out.

    The value of each is returned as text; that of an empty column is empty.
    """
    kinds = {name: table.kind(name) for name in names}
    empty = [name for name, kind in kinds.items() if kind == "missing"]
    plain = [name for name, kind in kinds.items() if kind in ("number", "string", "date")]
    same = [name for name in plain if table.n_rows > 1 and table.column(name).nunique(False) == 1]
    for found, text, cures in ((empty, "empty", ()), (same, "the same in all rows", ("category",))):
        if len(found) == 1:
            table.guesses.append(Guess(f"{found[0]} left out: it is {text}", cures))
        elif found:
            text = f"{len(found):,} columns left out, which are {text}: {join_names(found)}"
            table.guesses.append(Guess(text, cures))
    return dict.fromkeys(empty, "") | {
        name: next(iter(_texts(table, name).dropna()), "") for name in same
    }


def note_changed(table: RawTable, known: Mapping[str, str], notes: list[str]) -> None:
    """Add a note on each column that was the same in all training rows and has other values.

    `known` are these columns with their values in training.
    """
    present, changed = {*(table.names or ())}, list[str]()
    for name in [name for name in known if name in present]:
        texts, value = _texts(table, name), _normal_form(known[name])
        others = (text for text in texts.dropna().unique() if _normal_form(text) != value)
        first = next(others, None)
        changed += [] if first is None else [name]
        if first is None or len(changed) > _MAX_NOTES:
            continue
        found = [first, *others]
        count = int(texts.isin(found).sum())
        text = f"{name} is {shorten(known[name], 20)} in all training rows and not used; {count:,}"
        text += f" of {plural(table.n_rows, 'row')} {'has' if count == 1 else 'have'} others: "
        text += join_names([shorten(other, 20) for other in found], 3)
        notes.append(f"{table.source}: {text}")
    if more := changed[_MAX_NOTES:]:
        text = f"{join_names(more)}, which are the same in all training rows and not used"
        notes.append(f"{table.source}: other values, too, in {text}")


def _texts(table: RawTable, name: str) -> Any:
    """Return the cells of a column as texts, numbers with their unit; None where missing."""
    kind = table.kind(name)
    known = table.strings(name) if kind in ("string", "date") else np.full(table.n_rows, None)
    cells = import_optional("pandas").Series(table.numbers(name) if kind == "number" else known)
    unit = f" {table.units.get(name, '')}".rstrip()  # of durations, too, which `numbers` finds
    texts = {cell: as_string(cell).strip() for cell in cells.dropna().unique()}
    return cells.map({c: text + unit for c, text in texts.items() if text not in MISSING})


def _normal_form(text: str) -> str:
    """Return what texts have in common that mean the same number, date or word."""
    (text,) = write_dates([text])
    number, unit = split_unit(text)
    if is_number(number):
        return f"{parse_number(number, '.')!r} {unit}"
    return str(parse_date(text, False) or fold(text))
