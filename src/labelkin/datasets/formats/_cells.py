"""A table of cells as they are written, such as those of a CSV file or of a spreadsheet.

Columns of numbers and truth values are found among them.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from labelkin._utils.files import shorten
from labelkin._utils.names import join_names
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._around import leave_out_rows
from labelkin.datasets.formats._columns import normal_form
from labelkin.datasets.formats._numbers import (
    MISSING,
    POINT_GROUPS,
    are_numbers,
    count_cells,
    distinct_cells,
    guess_decimal,
    has_thousands,
    have_commas,
    have_digits,
    other_mark,
    parse_cell,
    plain_values,
    sign_of,
    strip_units,
    with_point,
)
from labelkin.datasets.formats._quantities import describe_numbers, doubt_times, is_bare
from labelkin.datasets.formats._raw_table import Guess, Options, RawTable, as_string
from labelkin.datasets.formats._units import is_currency


class NumberText(str):
    """A number that has a decimal point, as in a spreadsheet, as opposed to a text."""

    __slots__ = ()


def make_column(cells: Iterable[str | None]) -> Any:
    """Return cells as an Arrow array of strings, null where a value is missing."""
    pyarrow = import_optional("pyarrow")
    kept = (None if cell is None or cell.strip() in MISSING else cell for cell in cells)
    return pyarrow.array(kept, pyarrow.string())


def with_points(cells: list[str | None], decimal: str | None) -> list[str | None]:
    """Return a column with points in its texts if they are numbers with a decimal comma."""
    texts = distinct_cells(make_column(cell for cell in cells if not isinstance(cell, NumberText)))
    if not texts or not have_commas(texts, decimal):
        return cells
    return [c if c is None or isinstance(c, NumberText) else with_point(c) for c in cells]


def read_mixed(table: RawTable, names: Iterable[str], as_strings: Iterable[str] = ()) -> None:
    """Read numbers, dates and texts in one column of a DataFrame like those of a spreadsheet.

    Columns are then numbers or, also those of `as_strings`, texts, with numbers if there are some.
    """
    if table.is_matrix:
        return
    series, strings, changed = import_optional("pandas").Series, {*as_strings}, dict[str, Any]()
    for name in names:
        cells = table.mixed_cells(name)
        if cells is None:
            continue
        written = [None if cell is None else _as_written(cell) for cell in cells]
        if name not in strings:
            written = with_points(written, table.decimal)
        options = Options(decimal=".", as_strings=strings, expected=[name])
        read = make_table({name: make_column(written)}, table.source, [], options)
        table.guesses, table.units = [*table.guesses, *read.guesses], table.units | read.units
        if table.percentages is not None and read.percentages:
            table.percentages |= read.percentages
        pairs = zip(cells, read.data[name], written, strict=True)
        kept = [cell if isinstance(text, NumberText) else value for cell, value, text in pairs]
        is_read = read.kind(name) != "string"
        changed[name] = series(read.data[name].array if is_read else kept, table.data.index)
    if changed:
        table.data = table.data.assign(**changed)


def _as_written(cell: Any) -> str:
    """Return a cell of a DataFrame as text, as in a spreadsheet."""
    if isinstance(cell, bool | np.bool_):
        return str(cell).lower()
    is_number = isinstance(cell, int | float | np.number)
    return NumberText(as_string(cell)) if is_number else as_string(cell)


def make_table(
    cells: dict[str, Any], source: str, guesses: list[Guess], options: Options
) -> RawTable:
    """Return named columns of strings as a table, with numbers and truth values where all are such.

    `guesses` are those about the file; those about its columns are added. The decimal mark is one
    of them, for which the delimiter is evidence.
    """
    pyarrow = import_optional("pyarrow")
    cells = leave_out_rows(cells, guesses)

    strings = set(map(normal_form, options.as_strings))
    decimal = options.decimal if isinstance(options.decimal, str) else None
    names = [name for name in cells if name not in strings]
    columns = cells | {name: plain_values(cells[name]) for name in names}
    # What is left are texts, and numbers that people write with commas, spaces and units.
    texts = {name: distinct_cells(cells[name]) for name in names if columns[name].type == "string"}
    texts = {name: values for name, values in texts.items() if have_digits(values)}
    points = [name for name in names if columns[name].type == "double"]
    shown = [*texts.values()]
    are_open = all(_may_be_grouped(cells[name]) for name in points)
    if decimal is None and are_open:
        shown += [distinct_cells(cells[name]) for name in points]
    known = decimal or guess_decimal(shown, options.delimiter, options.mark)
    if known is None:  # points that must be decimal ones say more than what is likely
        has_points = points and (not are_open or (options.mark and options.delimiter == ","))
        known = "." if has_points else options.mark
    mark = known or "."
    read = dict(texts)
    if mark == ",":
        if options.mark is None:
            guesses.append(Guess("',' decimal", ("decimal",)))
        # In such a file, 1.234 is more than a thousand.
        read |= {name: distinct_cells(cells[name]) for name in points}
    grouped, of_columns, unknown = list[str](), list[Guess](), dict[str, list[str]]()
    units = dict[str, str]()
    for name, values in read.items():
        written, unit = strip_units(values, count_cells(cells[name]))
        marks = (mark, other_mark(mark)) if name in texts else (mark,)
        numbers = [text for text, _ in written.values()]
        own = next((one for one in marks if are_numbers(numbers, one, unit)), "")
        is_mixed = not own and name in texts and are_numbers(numbers, mark, unit, mixed=True)
        own = mark if is_mixed else own
        if not written or not own:
            continue
        are_amounts = is_currency(unit) and all(by == 1 for _, by in written.values())
        if unit and not are_amounts and any(map(is_bare, written)):
            continue  # numbers without a unit are in that of training
        value = {cell: parse_cell(text, own) * by for cell, (text, by) in written.items()}
        parsed = [value.get(cell) for cell in cells[name].to_pylist()]
        columns[name] = pyarrow.array(parsed, pyarrow.float64())
        has_groups = not is_mixed and any(has_thousands(text, own) for text in numbers)
        grouped += [name] if has_groups else []
        units[name] = unit = unit or max(map(sign_of, numbers))
        if (words := describe_numbers(values, unit)) != "numbers":
            of_columns.append(Guess(f"{name}: {words}", ("category",)))
        if doubt := doubt_times(numbers):
            of_columns.append(Guess(f"{name}: {doubt}", ("ignore",), True))
        if is_mixed:
            of_columns.append(Guess(f"{name}: ',' and '.' decimal", ("category",)))
        if own != mark:
            known = own if own == "," else known
            of_columns.append(Guess(f"{name}: {own!r} decimal", ("category",)))
        if gone := [cell for cell in values if cell not in written]:
            unknown[name] = gone
    known = mark if grouped else known
    if grouped and options.mark is None:
        words = f"thousands separated in {', '.join(grouped)}"
        guesses.append(Guess(words, ("decimal", "category")))
    guesses += of_columns
    if unknown:
        words = join_names([shorten(word, 20) for word in sorted({*chain(*unknown.values())})])
        text = f"{words} read as missing in {join_names([*unknown])}"
        guesses.append(Guess(text, ("category",)))
    return RawTable(
        source,
        pyarrow.table(columns).to_pandas(),
        list(columns),
        decimal=known,
        guesses=guesses,
        percentages=frozenset(name for name, unit in units.items() if unit == "%"),
        units={name: unit for name, unit in units.items() if unit not in ("", "%")},
        written=cells if options.written else {},
    )


def _may_be_grouped(cells: Any) -> bool:
    """Return whether each point in a column of numbers may be one between thousands."""
    compute = import_optional("pyarrow.compute")
    return compute.all(compute.match_substring_regex(cells, POINT_GROUPS)).as_py() is True
