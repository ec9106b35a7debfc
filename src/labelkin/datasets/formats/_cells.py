"""A table of cells as they are written, such as those of a CSV file or of a spreadsheet.

The first row may be the header; columns of numbers and truth values are found among the rest.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, time
from itertools import chain
from typing import Any

import numpy as np

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.names import join_names, plural
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._columns import normal_form
from labelkin.datasets.formats._numbers import (
    MISSING,
    POINT_GROUPS,
    are_numbers,
    guess_decimal,
    has_thousands,
    have_commas,
    have_digits,
    is_number,
    is_unknown,
    other_mark,
    parse_number,
    sign_of,
    strip_units,
    with_point,
)
from labelkin.datasets.formats._raw_table import (
    Guess,
    Options,
    RawTable,
    as_string,
    name_columns,
)
from labelkin.datasets.formats._units import common_form, describe_numbers

# What people write before sums and means below a table. Others are found by their values.
_TOTALS = {
    *(
        "total",
        "totals",
        "grand total",
        "subtotal",
        "sum",
        "sums",
        "summe",
        "gesamt",
        "gesamtsumme",
    ),
    *(
        "gesamtergebnis",
        "endsumme",
        "zwischensumme",
        "σ",
        "average",
        "overall average",
        "mean",
        "durchschnitt",
    ),
    *("mittelwert", "ø", "moyenne", "promedio", "gemiddelde", "total general", "total général"),
    *("insgesamt", "totale", "totaal", "somme", "suma", "soma", "итого", "合計", "总计", "المجموع"),
}
FIRST_ROWS = 50
"""Rows in which the names are looked for, and with which they are compared."""
_MAX_ABOVE = 20  # rows above the names
_MAX_BELOW = 10  # rows of totals and notes below the table
# Rows of which sums are looked for: of fewer, a row is the sum by chance, and more take time.
_SUMMED = range(5, 100_000)
_MIN_MEASURED, _MEASURED = 7, 0.8  # rows, and share of numbers in a column with a unit
_DEFAULT_NAME = re.compile(r"c[1-9]\d*")
_MIN_STEPS = 5  # between rising numbers, which are in no such order by chance
_SAMPLE_ROWS = 1000  # with which the first row is compared


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
    texts = _distinct(make_column(cell for cell in cells if not isinstance(cell, NumberText)))
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
        options = Options(decimal=".", as_strings=strings)
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
    if isinstance(cell, datetime) and cell.time() == time():
        return str(cell.date())
    is_number = isinstance(cell, int | float | np.number)
    return NumberText(as_string(cell)) if is_number else str(cell)


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
            first = _join_headers(first, below, {*options.expected})
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
    found = {name: unit for name, unit in found.items() if table.kind(name) == "number"}
    return replace(table, repeats=repeats, units=found | table.units)


def make_table(
    cells: dict[str, Any], source: str, guesses: list[Guess], options: Options
) -> RawTable:
    """Return named columns of strings as a table, with numbers and truth values where all are such.

    `guesses` are those about the file; those about its columns are added. The decimal mark is one
    of them, for which the delimiter is evidence.
    """
    pyarrow = import_optional("pyarrow")
    cells = _leave_out_rows(cells, guesses)

    strings, decimal = set(map(normal_form, options.as_strings)), options.decimal
    names = [name for name in cells if name not in strings]
    columns = cells | {name: _plain_values(cells[name]) for name in names}
    # What is left are texts, and numbers that people write with commas, spaces and units.
    texts = {name: _distinct(cells[name]) for name in names if columns[name].type == "string"}
    texts = {name: values for name, values in texts.items() if have_digits(values)}
    points = [name for name in names if columns[name].type == "double"]
    shown = [*texts.values()]
    if decimal is None and all(_may_be_grouped(cells[name]) for name in points):
        shown += [_distinct(cells[name]) for name in points]
    known = decimal or guess_decimal(shown, options.delimiter)
    mark = known or "."
    read = dict(texts)
    if mark == ",":
        if decimal is None:
            guesses.append(Guess("',' decimal", ("decimal",)))
        # In such a file, 1.234 is more than a thousand.
        read |= {name: _distinct(cells[name]) for name in points}
    grouped, of_columns, unknown = list[str](), list[Guess](), dict[str, list[str]]()
    units = dict[str, str]()
    for name, values in read.items():
        written, unit = strip_units(values)
        marks = (mark, other_mark(mark)) if name in texts else (mark,)
        numbers = [text for text, _ in written.values()]
        own = next((one for one in marks if are_numbers(numbers, one, unit)), "")
        if not written or not own:
            continue
        value = {cell: parse_number(text, own) * by for cell, (text, by) in written.items()}
        parsed = [value.get(cell) for cell in cells[name].to_pylist()]
        columns[name] = pyarrow.array(parsed, pyarrow.float64())
        grouped += [name] if any(has_thousands(text, own) for text in numbers) else []
        units[name] = unit = unit or max(map(sign_of, numbers))
        if (words := describe_numbers(values, unit)) != "numbers":
            of_columns.append(Guess(f"{name}: {words}", ("category",)))
        if own != mark:
            known = own if own == "," else known
            of_columns.append(Guess(f"{name}: {own!r} decimal", ("category",)))
        if gone := [cell for cell in values if cell not in written]:
            unknown[name] = gone
    known = mark if grouped else known
    if grouped and decimal is None:
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
    )


# ------------------------------------------------------------------------------ the header


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
        values = {*_distinct(column.filter(others))}
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
        values = _distinct(below)
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
    return not all(first) and any(first[i] not in _distinct(columns[i].slice(2)) for i in both)


def _join_headers(
    upper: Sequence[str | None], lower: Sequence[str | None], expected: set[str]
) -> list[str | None]:
    """Return the names in two rows: the lower ones, with those of their groups where they recur.

    Questions of a survey are named by the upper row if Response stands below each of them. A name
    with its group is taken, too, if it is `expected`.
    """
    followed = [*upper[1:], "end"]  # by a column of its own
    grouped = {
        below
        for above, below, after in zip(upper, lower, followed, strict=True)
        if not (above and after and upper.count(above) == 1)
    }
    names, group = list[str | None](), None
    for above, below in zip(upper, lower, strict=True):
        group = above or group
        full = f"{group} / {below}" if group and below and group != below else None
        if full and lower.count(below) > 1:
            names.append(full if below in grouped else above)
        elif full and is_number(str(below)):  # such as a year
            names.append(full)
        else:
            names.append(full if full in expected else below or above)
    return names


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
        values = _distinct(column.slice(2, _SAMPLE_ROWS))
        numbers = [value for value in values if is_number(value) or is_number(value, ",")]
        if is_number(cell) or is_unknown(cell) or cell in values or not have_digits(values):
            return []
        are_numbers = len(numbers) >= max(_MEASURED * len(values), 1 if are_few else 2)
        if not are_numbers and re.search(r"\d", cell):
            return []
        n_found += are_numbers
    units = [cell and cell.strip(" []()") for cell in row]
    return [None if unit == "%" else unit for unit in units] if n_found else []


# ---------------------------------------------------------------------------- rows of no data


def _leave_out_rows(cells: dict[str, Any], guesses: list[Guess]) -> dict[str, Any]:
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
    n_below = _count_below([*cells.values()], np.diff(rows) > 1)
    if n_below:
        words = f"{plural(n_below, 'row')} of totals or notes at the end left out"
        guesses.append(Guess(words, ()))
        n = len(rows) - n_below
        cells = {name: column.slice(0, n) for name, column in cells.items()}
    return cells


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

    Directly below them, it is no number and lacks two values or more that are none of labels.
    """
    written = [cell for cell in row if cell is not None]
    if len(written) > 1 or len(row) < 3:
        return False
    if is_apart:
        return bool(lacking)
    return not is_number(written[0]) and sum(len(column.unique()) > 2 for column in lacking) > 1


def _is_total(row: list[str | None], above: list[Any], is_lacking: bool) -> bool:
    """Return whether a row has sums or means of the rows above, some value of which it may lack."""
    first = next(cell for cell in row if cell is not None)
    if is_lacking and re.sub(r"[\W\d]+", " ", first).strip().casefold() in _TOTALS:
        return True
    n_found = 0
    for cell, column in zip(row, above, strict=True):
        if cell is None or len(column) not in _SUMMED or not is_number(cell):
            continue
        values = _plain_values(column)
        if values.type not in ("int64", "double"):
            continue
        numbers = values.drop_null().to_numpy().astype(np.float64)
        if (numbers == numbers[:1]).all():
            continue
        n_decimals = len(cell.strip().partition(".")[2])
        rounding = 0.5 * 10.0**-n_decimals if n_decimals > 1 else 0.0  # of a mean
        sums = [numbers.sum(), numbers.mean()]
        if not np.isclose(parse_number(cell, "."), sums, 1e-9, rounding).any():
            return False
        n_found += 1
    return n_found > (0 if is_lacking else 1)


# ------------------------------------------------------------------------------ the columns


def _plain_values(cells: Any) -> Any:
    """Return a column of strings as numbers or truth values, if all of it are such.

    Values of equal length are codes if some have leading zeros, as postcodes have. So are others if
    one of three digits or more has a leading zero and is longer than the shortest, so that the
    zeros are not for padding.
    """
    pyarrow, compute = import_optional("pyarrow"), import_optional("pyarrow.compute")
    trimmed = compute.utf8_trim_whitespace(cells)

    def cast(kind: Any) -> Any:
        try:
            return trimmed.cast(kind)
        except pyarrow.ArrowInvalid:
            return None

    numbers = cast(pyarrow.float64())
    if numbers is None:
        truth = cast(pyarrow.bool_())
        return cells if truth is None else truth
    zeros = trimmed.filter(compute.match_substring_regex(trimmed, r"^0\d+([.]\d+)?$"))
    if len(zeros):
        length, padded = (compute.min_max(compute.utf8_length(x)).as_py() for x in (trimmed, zeros))
        if length["min"] == length["max"] or padded["max"] > max(2, length["min"]):
            return cells
    integers = cast(pyarrow.int64())
    return numbers if integers is None else integers


def _may_be_grouped(cells: Any) -> bool:
    """Return whether each point in a column of numbers may be one between thousands."""
    compute = import_optional("pyarrow.compute")
    return compute.all(compute.match_substring_regex(cells, POINT_GROUPS)).as_py() is True


def _distinct(cells: Any) -> list[str]:
    return cells.unique().drop_null().to_pylist()
