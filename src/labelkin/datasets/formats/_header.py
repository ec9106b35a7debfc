"""The names of the columns in the first rows of a table, if it has any."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._cells import make_table
from labelkin.datasets.formats._columns import join_headers
from labelkin.datasets.formats._numbers import (
    distinct_cells,
    have_digits,
    is_number,
    is_unknown,
    parse_number,
)
from labelkin.datasets.formats._quantities import split_unit
from labelkin.datasets.formats._raw_table import Guess, Options, RawTable, name_columns
from labelkin.datasets.formats._units import common_form

FIRST_ROWS = 50
"""Rows in which the names are looked for, and with which they are compared."""
_MIN_MEASURED, _MEASURED = 7, 0.8  # rows, and share of numbers in a column with a unit
_DEFAULT_NAME = re.compile(r"c[1-9]\d*")
_MIN_STEPS = 5  # between rising numbers, which are in no such order by chance
_SAMPLE_ROWS = 1000  # with which the first row is compared


def take_header(
    columns: Sequence[Any],
    first: Sequence[str | None],
    source: str,
    guesses: list[Guess],
    options: Options,
) -> RawTable:
    """Return columns of cells as a table; their first row, `first`, may be the header.

    Without one, columns are named c1, c2, …. A table that may have none is refused unless the
    option is given, or one of the `expected` columns is in its first row.
    """
    header = options.header
    below = None if header is False else _find_second_header(columns, first)
    is_merged = below is not None and _have_merged(columns, first, below)
    is_open = header is None and below is None
    units = _find_units(columns, bool(options.expected)) if is_open else []
    if header is None:
        is_header = below is not None or bool(units)
        header = _find_header(columns, first, source, list(options.expected), is_header)
    elif not is_merged:  # the user says that there is one row of names
        below = None
    names, repeats = [f"c{number}" for number in range(1, len(first) + 1)], dict[str, str]()
    units = units if header else []
    if header:
        n_rows = 1 if below is None else 2
        if below is None and _has_question_ids(columns):
            guesses.append(Guess("the questions below the names left out", ()))
            n_rows = 3
        if units:
            guesses.append(Guess("the units below the names left out", ("header",)))
            n_rows = 2
        if below is not None:
            guesses.append(Guess("two rows of names read as one", () if is_merged else ("header",)))
            third = [column[2].as_py() for column in columns]
            first = join_headers(first, below, {*options.expected})
            if not (first[0] or any(third[1:])):  # pandas has a row for the name of the index
                first, n_rows = [third[0], *first[1:]], 3
        if options.trim:
            first = [" ".join((name or "").split()) or None for name in first]
            # The margin of a sheet, and what a delimiter at the end of each row makes.
            used = [i for i, one in enumerate(columns) if first[i] or one.null_count < len(one)]
            first, columns = ([part[i] for i in used or [0]] for part in (first, columns))
            units = [units[i] for i in used] if units else []
        names, renamed, repeats = name_columns(first, source, options.known)
        guesses += renamed
        strings = {*options.as_strings}
        strings |= {name for name, repeated in repeats.items() if repeated in strings}
        options = replace(options, as_strings=strings)
        columns = [column.slice(n_rows) for column in columns]
    table = make_table(dict(zip(names, columns, strict=True)), source, guesses, options)
    found = {name: common_form(unit) for name, unit in zip(names, units, strict=False) if unit}
    for name in [name for name in found if table.kind(name) == "string"]:
        _write_unit(table, name, found.pop(name))
    found = {name: unit for name, unit in found.items() if table.kind(name) == "number"}
    return replace(table, repeats=repeats, units=found | table.units)


def _write_unit(table: RawTable, name: str, unit: str) -> None:
    """Write the unit below the name of a column beside its numbers, as they stand among words."""
    if split_unit(f"1 {unit}")[1]:
        cells = {cell for cell in table.strings(name) if cell}
        bare = {cell for cell in cells if any(is_number(cell, mark) for mark in ".,")}
        new = table.column(name).replace({cell: f"{cell} {unit}" for cell in bare})
        table.data = table.data.assign(**{name: new})


def _find_header(
    columns: Sequence[Any],
    first: Sequence[str | None],
    source: str,
    expected: list[str],
    is_header: bool,
) -> bool:
    """Return whether the first row is the header; refuse a table in which it may be data.

    A table whose columns are `expected` to have default names has none, as when the model was
    fitted. Otherwise the first row `is_header` if a second row of names is below.
    """
    if {*expected} & {*first}:
        return True
    if expected and all(map(_DEFAULT_NAME.fullmatch, expected)):
        return False
    if is_header or not _looks_like_data(columns, first):
        return True
    shown = ", ".join(shorten(cell, 20)[1:-1] for cell in first[:4] if cell)
    raise FormatError(
        source,
        f"the first row ({shown}{', …' if len(first) > 4 else ''}) looks like the others; pass "
        "header=False if the table has no header (its columns are then c1, c2, …), or header=True "
        "if it is the header",
        None,
        "header",
    )


def _looks_like_data(columns: Sequence[Any], first: Sequence[str | None]) -> bool:
    """Return whether the first row has numbers where others have, or words that recur below.

    Numbers in sequence, such as years, may be names, and so may many that only rise; a header may
    be repeated as a whole.
    """
    body = [column.slice(1, _SAMPLE_ROWS) for column in columns]
    repeated = [*range(len(body[0]))]
    for cell, column in zip(first, body, strict=True):
        repeated = [row for row in repeated if column[row].as_py() == cell]
    others = import_optional("pyarrow").array(~np.isin(np.arange(len(body[0])), repeated))
    numbers, recurs = [], False
    for cell, column in zip(first, body, strict=True):
        values = {*distinct_cells(column.filter(others))}
        if values and all(is_number(value) for value in values):
            if cell is None or not is_number(cell):
                return False
            numbers.append(parse_number(cell, "."))
        recurs = recurs or cell in values
    if numbers:
        steps = np.diff(numbers)
        is_sequence = (steps > 0).all() if len(steps) >= _MIN_STEPS else (steps == 1).all()
        return len(steps) == 0 or not is_sequence
    return recurs


def _find_second_header(
    columns: Sequence[Any], first: Sequence[str | None]
) -> list[str | None] | None:
    """Return the second row if it names columns below shared or merged names; None: it holds data.

    It then has a word in each column without a name and no value that recurs beside others, and is
    unlike the rows below: it has a word where they have numbers or other words that recur, or no
    value where all of them have one. A name in both rows, as in merged cells, is enough, too.
    """
    if (all(first) and len({*first}) == len(first)) or len(columns[0]) < 3:
        return None
    second = [column[1].as_py() for column in columns]
    if second[0] and not first[0]:
        return None
    is_merged = _have_merged(columns, first, second)
    has_choices = is_unlike = is_empty = False
    followed = [*first[1:], None]
    for name, after, cell, column in zip(first, followed, second, columns, strict=True):
        below = column.slice(2, _SAMPLE_ROWS)
        values = distinct_cells(below)
        # A choice of a survey, where it is chosen.
        if cell is not None and values == [cell] and not is_number(cell):
            has_choices = True
            continue
        is_named = name or cell or column is columns[0]  # which may be an index
        is_year = is_merged and not (name and after)  # in a group of columns
        is_data = cell in values or (cell is not None and is_number(cell))
        if (is_data and not is_year) or not is_named:
            return None
        n_cells = len(below) - below.null_count
        are_others = 0 < 2 * len(values) <= n_cells or (values and all(map(is_number, values)))
        is_unlike = is_unlike or bool(cell and are_others)
        is_empty = is_empty or (not cell and n_cells == len(below))
    is_found = is_merged or is_empty or (is_unlike and not has_choices)
    return second if is_found else None


def _have_merged(
    columns: Sequence[Any], first: Sequence[str | None], second: Sequence[str | None]
) -> bool:
    """Return whether a name stands in two rows, as merged cells hold it, beside groups of names."""
    both = [i for i, name in enumerate(first) if name and name == second[i]]
    return not all(first) and any(first[i] not in distinct_cells(columns[i].slice(2)) for i in both)


def _has_question_ids(columns: Sequence[Any]) -> bool:
    """Return whether the third row has the identifiers that Qualtrics writes for questions."""
    third = [column[2].as_py() if len(column) > 2 else None for column in columns]
    return all((cell or "").startswith('{"ImportId":') for cell in third)


def _find_units(columns: Sequence[Any], are_few: bool) -> list[str | None]:
    """Return the row below the names if it holds units, else nothing.

    It has words where the rows below have numbers, none that has a digit or recurs in the others.
    New rows may be few.
    """
    least = 3 if are_few else _MIN_MEASURED
    row = [column[1].as_py() if len(column) >= least else None for column in columns]
    n_found = 0
    for column, cell in zip(columns, row, strict=True):
        if cell is None:
            continue
        values = [v for v in distinct_cells(column.slice(2, _SAMPLE_ROWS)) if not is_unknown(v)]
        numbers = [value for value in values if is_number(value) or is_number(value, ",")]
        if is_number(cell) or is_unknown(cell) or cell in values or not have_digits(values):
            return []
        are_numbers = len(numbers) >= max(_MEASURED * len(values), 1 if are_few else 2)
        if not are_numbers and re.search(r"\d", cell):
            return []
        n_found += are_numbers
    units = [cell and cell.strip(" []()") for cell in row]
    return [None if unit == "%" else unit for unit in units] if n_found else []
