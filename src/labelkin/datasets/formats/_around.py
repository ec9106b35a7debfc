"""Rows around a table: a title above the names, empty rows, totals and notes below."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from labelkin._utils.names import plural
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._numbers import (
    is_any_number,
    is_number,
    parse_number,
    plain_values,
)
from labelkin.datasets.formats._raw_table import Guess

# What people write before sums, means and balances below a table. Others are found by their values.
_TOTAL_WORDS = (
    "i alt|ialt|totalt|samlet|yhteensä|összesen|celkem|razem|ogółem|toplam|ukupno|всего|小計|"
    "total|totals|grand total|subtotal|sum|sums|summe|gesamt|gesamtsumme|gesamtergebnis|endsumme|"
    "zwischensumme|σ|average|overall average|mean|durchschnitt|mittelwert|ø|moyenne|promedio|"
    "gemiddelde|total general|total général|insgesamt|totale|totaal|somme|suma|soma|итого|合計|"
    "总计|المجموع|closing balance|opening balance|ending balance|beginning balance|balance|"
    "endsaldo|schlusssaldo|abschlusssaldo|anfangssaldo|eröffnungssaldo|saldo|solde final|"
    "solde initial|solde|saldo final|saldo inicial|saldo finale|saldo iniziale|eindsaldo|"
    "beginsaldo|saldo końcowe|saldo początkowe|исходящий остаток|входящий остаток|期末残高|"
    "期首残高|期末余额|期初余额|الرصيد الختامي|الرصيد الافتتاحي"
)
_TOTALS = frozenset(_TOTAL_WORDS.split("|"))
_TOTAL_MARK = re.compile(r"\s*\*+\s*")  # as SAP writes it
_MAX_ABOVE = 20  # rows above the names
_MAX_BELOW = 10  # rows of totals and notes below the table
# Rows of which sums are looked for: of fewer, a row is the sum by chance, and more take time.
_SUMMED = range(5, 100_000)


def count_above(rows: Sequence[Sequence[str | None]], expected: set[str]) -> int:
    """Return how many of the first rows stand above the names, such as a title with a date.

    The row of names follows an empty row and has an `expected` name. Or it has a word of its own in
    each column, the rows above have empty cells, and it has an expected name or two of these hold:
    it follows an empty row, the rows above fill half of the columns at most, it is unlike the rows
    below.
    """
    cells = [[(cell or "").strip() for cell in row] for row in rows]
    for number, names in enumerate(cells[:_MAX_ABOVE]):
        above, below = cells[:number], cells[number + 1 :]
        words = [name for name in names if name]
        has_expected = not expected.isdisjoint(words)
        is_after_gap = number > 0 and not any(above[-1])
        if has_expected and (is_after_gap or number == 0):
            return number
        if number == 0 and all(names) and all(map(any, below[:_MAX_ABOVE])):
            return 0
        if number == 0 or len({*words}) < max(2, len(words)) or any(map(is_number, words)):
            continue
        used = [i for i, name in enumerate(names) if name or any(row[i] for row in below)]
        n_above = max(sum(bool(row[i]) for i in used) for row in above)
        is_found = n_above < len(used) == len(words)
        if is_found and not has_expected:
            is_unlike = False
            for i in used:
                values = [row[i] for row in below if row[i]]
                is_found &= names[i] not in values
                are_numbers = all(is_number(value) or is_number(value, ",") for value in values)
                is_unlike |= bool(values) and (are_numbers or 2 * len({*values}) <= len(values))
            is_found &= is_after_gap + (2 * n_above <= len(used)) + is_unlike > 1
        if is_found:  # or the row above is the first of two that share names, as merged cells do
            return number - any(name and name == above[-1][i] for i, name in enumerate(names))
        if has_expected:
            return 0
    return 0


def leave_out_rows(cells: dict[str, Any], guesses: list[Guess]) -> dict[str, Any]:
    """Return columns without empty rows, and without totals and notes below the table.

    An empty cell of a single column may be a row without text.
    """
    if len(cells) < 2:
        return cells
    used = np.logical_or.reduce([column.is_valid() for column in cells.values()])
    rows = np.flatnonzero(used)
    if n_empty := len(used) - len(rows):
        guesses.append(Guess(f"{plural(n_empty, 'empty row')} left out", ()))
        mask = import_optional("pyarrow").array(used)
        cells = {name: column.filter(mask) for name, column in cells.items()}
    is_within = _find_subtotals([*cells.values()])
    if n_within := int(is_within.sum()):
        guesses.append(Guess(f"{plural(n_within, 'row')} of subtotals left out", ()))
        rows, mask = rows[~is_within], import_optional("pyarrow").array(~is_within)
        cells = {name: column.filter(mask) for name, column in cells.items()}
    n_below = _count_below([*cells.values()], np.diff(rows) > 1)
    if n_below:
        words = f"{plural(n_below, 'row')} of totals or notes at the end left out"
        guesses.append(Guess(words, ()))
        n = len(rows) - n_below
        cells = {name: column.slice(0, n) for name, column in cells.items()}
    return cells


def _find_subtotals(columns: list[Any]) -> np.ndarray:
    """Return which rows are totals of the rows above them, of which there are several.

    They are named like such in four words at most, hold a number, and lack what all other rows
    have.
    """
    valid = np.array([column.is_valid().to_numpy(zero_copy_only=False) for column in columns])
    found = np.zeros(valid.shape[1], dtype=bool)
    if len(found) not in _SUMMED:
        return found
    texts = [column.to_pylist() for column in columns]
    for row in np.flatnonzero(~valid.all(axis=0)):
        first, *others = (cells[row] for cells in texts if cells[row] is not None)
        words = _bare_words(first).split(" ")
        is_named = len(words) < 5 and not _TOTALS.isdisjoint((words[0], words[-1]))
        found[row] = is_named and any(is_any_number(cell, ".") for cell in others)
    is_full = valid[:, ~found].all(axis=1)
    found &= ~valid[is_full].all(axis=0)
    return found & (found.sum() > 1)


def _bare_words(cell: str) -> str:
    return re.sub(r"[\W\d]+", " ", cell).strip().casefold()


def _count_below(columns: list[Any], gaps: np.ndarray) -> int:
    """Return the number of rows at the end that are totals or notes.

    `gaps` tells which rows but the first follow an empty one.
    """
    n_tail = min(_MAX_BELOW, len(gaps))
    tail = [column.slice(len(column) - n_tail).to_pylist() for column in columns]
    valid = np.array([[cell is not None for cell in cells] for cells in tail])
    n_missing = np.array([column.null_count for column in columns])
    for n in range(n_tail, 0, -1):
        is_full = n_missing == (~valid[:, -n:]).sum(axis=1)  # in all rows of the table above
        above = [column.slice(0, len(column) - n) for column in columns]
        is_apart = False  # from the table, by an empty row or a row of totals
        for i in range(-n, 0):
            is_apart |= bool(gaps[i])
            row = [cells[i] for cells in tail]
            lacking = [above[j] for j in np.flatnonzero(is_full) if row[j] is None]
            if _is_total(row, above, bool(lacking)):
                is_apart = True
            elif not _is_note(row, lacking, is_apart):
                break
        else:
            return n
    return 0


def _is_note(row: list[str | None], lacking: list[Any], is_apart: bool) -> bool:
    """Return whether a row is a note: one cell, where the rows above have values (`lacking`).

    Directly below them, it is no number and lacks two values or more that are none of labels. If it
    is apart, it may be two of five cells or more, such as a word and a number.
    """
    written = [cell for cell in row if cell is not None]
    if is_apart and len(written) == 2 and len(row) > 4:
        return len(lacking) > 1
    if len(written) > 1 or len(row) < 3:
        return False
    if is_apart:
        return bool(lacking)
    return not is_number(written[0]) and sum(len(column.unique()) > 2 for column in lacking) > 1


def _is_total(row: list[str | None], above: list[Any], is_lacking: bool) -> bool:
    """Return whether a row has sums or means of the rows above, some value of which it may lack."""
    place, first = next((i, cell) for i, cell in enumerate(row) if cell is not None)
    is_mark = _TOTAL_MARK.fullmatch(first) and first not in above[place].to_pylist()
    word = _bare_words(first)
    if is_lacking and (is_mark or word in _TOTALS):
        return True
    is_named = is_lacking or word.partition(" ")[0] in _TOTALS
    n_found = 0
    for cell, column in zip(row, above, strict=True):
        if cell is None or len(column) not in _SUMMED:
            continue
        for decimal in (mark for mark in ".," if is_number(cell, mark)):
            numbers = _read_numbers(column, decimal)
            if numbers is None or (numbers == numbers[:1]).all():
                continue
            n_decimals = len(cell.strip().partition(decimal)[2])
            rounding = 0.5 * 10.0**-n_decimals if n_decimals > 1 else 0.0  # of a mean
            sums = [numbers.sum(), numbers.mean()]
            if not np.isclose(parse_number(cell, decimal), sums, 1e-9, rounding).any():
                return False
            n_found += 1
            break
    return n_found > (0 if is_named else 1)


def _read_numbers(column: Any, decimal: str) -> np.ndarray | None:
    """Return the numbers of a column that holds no others; None: it does."""
    cells = column.drop_null()
    values = plain_values(cells)
    if values.type in ("int64", "double"):
        return values.to_numpy().astype(np.float64) if decimal == "." else None
    texts = cells.to_pylist()
    if not all(is_number(text, decimal) for text in texts):
        return None
    return np.array([parse_number(text, decimal) for text in texts])
