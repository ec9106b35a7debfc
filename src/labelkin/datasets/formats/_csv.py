"""CSV tables.

pyarrow splits the text into cells; columns of numbers are then found among them.
"""

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from labelkin._utils.files import FormatError, read_unpacked, reason, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._columns import check_unique, normal_form
from labelkin.datasets.formats._dialect import (
    are_numbers,
    decode,
    find_delimiter,
    guess_decimal,
    has_thousands,
    is_number,
    parse_number,
    unit_of,
)
from labelkin.datasets.formats._raw_table import Guess, RawTable

_MISSING = ["", "?", "-", "--", "–", "—", "NA", "N/A", "n/a", "#N/A", "<NA>"]
_MISSING += ["NaN", "nan", "null", "NULL", "None"]
# Excel's first line, which names the delimiter.
_SEP_LINE = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]++")
_ROW_NUMBER = re.compile(r"Row #(\d+): ")
_WRONG_WIDTH = re.compile(r"Expected (\d+) columns, got (\d+)")
# What Arrow takes for a column of any length, and for a cell besides its text.
_COLUMN_BYTES, _CELL_BYTES = 7000, 16


def read_csv(path: str | Path, **options: Any) -> RawTable:
    """Return a file as a table; `options` are those of `parse_table`."""
    import_optional("pyarrow")  # a missing extra is reported before a missing file
    return parse_table(read_unpacked(path), str(path), packed=Path(path).stat().st_size, **options)


def parse_table(
    raw: bytes,
    source: str,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    as_strings: Iterable[str] = (),
    packed: int | None = None,
) -> RawTable:
    """Return the content of a CSV file as a table; errors name it by `source`.

    Delimiter, encoding and decimal mark are guessed from the content unless they are given. Columns
    `as_strings` are kept as they are written, such as numbers with leading zeros. `packed` is the
    size of the file, by which the memory for it is limited, if it was compressed.
    """
    if not raw.strip():
        raise FormatError(source, "not a CSV table (the file is empty)")
    guesses = []
    text, found = decode(raw, source, encoding)
    if encoding is None and found != "utf-8":
        guesses.append(Guess(found, ("encoding",)))
    if named := _SEP_LINE.match(text):
        text = text[named.end() :]
    if delimiter is None:
        delimiter = named[1] if named else find_delimiter(text)
        if delimiter != ",":
            shown = "tab" if delimiter == "\t" else repr(delimiter)
            guesses.insert(0, Guess(f"{shown} between columns", ("delimiter",)))

    budget = Budget(source, len(raw) if packed is None else packed)
    table = _read_cells(text, budget, delimiter)
    if n_empty := _count_empty_rows(table):
        rows = "an empty row" if n_empty == 1 else f"{n_empty:,} empty rows"
        guesses.append(Guess(f"{rows} at the end left out", ()))
        table = table.slice(0, table.num_rows - n_empty)

    cells = {name: table.column(name) for name in table.column_names}
    columns = dict(cells)
    strings = set(map(normal_form, as_strings))
    names = [name for name in columns if name not in strings]
    for name in names:
        columns[name] = _plain_values(cells[name])
    # What is left are texts, and numbers that people write with commas, spaces and units.
    texts = {name: _distinct(cells[name]) for name in names if columns[name].type == "string"}
    mark = decimal or guess_decimal(texts.values(), delimiter)
    if mark == ",":
        if decimal is None:
            guesses.append(Guess("',' decimal", ("decimal",)))
        # In such a file, 1.234 is more than a thousand.
        points = [name for name in names if columns[name].type == "double"]
        texts |= {name: _distinct(cells[name]) for name in points}
    numeric = [name for name, values in texts.items() if values and are_numbers(values, mark)]
    for name in numeric:
        columns[name] = _parse_numbers(cells[name], texts[name], mark)
    grouped = [name for name in numeric if any(has_thousands(cell, mark) for cell in texts[name])]
    if grouped and decimal is None:
        words = f"thousands separated in {', '.join(grouped)}"
        guesses.append(Guess(words, ("decimal", "category")))
    for name in numeric:
        if unit := max(map(unit_of, texts[name])):
            guesses.append(Guess(f"{name}: numbers in {unit}", ("category",)))
    frame = import_optional("pyarrow").table(columns).to_pandas()
    return RawTable(source, frame, list(columns), decimal=mark, guesses=guesses)


def _read_cells(text: str, budget: Budget, delimiter: str) -> Any:
    """Return an Arrow table of strings, None where a value is missing."""
    path = budget.source
    pyarrow, arrow_csv = import_optional("pyarrow"), import_optional("pyarrow.csv")
    content = text.encode("utf-8")
    n_rows = max(content.count(b"\n"), content.count(b"\r"))
    budget.take(_CELL_BYTES * (n_rows + content.count(delimiter.encode())))
    _check_quotes(content, path, delimiter)
    names = _read_header(text, path, delimiter)
    budget.take_columns(len(names), each=_COLUMN_BYTES)
    check_unique(names, "column", path, 1)
    try:
        table = arrow_csv.read_csv(
            io.BytesIO(content),
            # One block: a row wider than a block would be refused.
            read_options=arrow_csv.ReadOptions(
                column_names=names,
                block_size=min(len(content) + 1, 2**31 - 1),
                use_threads=False,
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                null_values=_MISSING,
                strings_can_be_null=True,
                column_types=dict.fromkeys(names, pyarrow.string()),
            ),
        )
    except Exception as error:  # pyarrow raises errors of many kinds
        message = reason(error)
        row = _ROW_NUMBER.search(message)
        message = f"not a CSV table ({_ROW_NUMBER.sub('', message)})"
        if width := _WRONG_WIDTH.search(message):
            message = (
                f"not a CSV table with {delimiter!r} between columns (the header has {width[1]} of "
                f"them, and this line {width[2]}); correct the line, or choose the right delimiter"
            )
        raise FormatError(path, message, int(row[1]) if row else None) from None
    return table.slice(1)  # without the header


def _read_header(text: str, path: str | Path, delimiter: str) -> list[str]:
    rows = csv.reader((line[0] for line in _LINE.finditer(text)), delimiter=delimiter)
    try:
        return next(row for row in rows if row)
    except (csv.Error, StopIteration) as error:
        raise FormatError(path, f"the header cannot be read ({reason(error)})", 1) from None


def _count_empty_rows(table: Any) -> int:
    """Return the number of rows at the end in which no column has a value."""
    if table.num_columns < 2:
        return 0  # an empty cell of a single column may be a row without text
    used = np.zeros(table.num_rows, dtype=bool)
    for column in table.columns:
        used |= column.is_valid().to_numpy()
    return table.num_rows - int(np.flatnonzero(used).max(initial=-1)) - 1


def _check_quotes(content: bytes, path: str | Path, delimiter: str) -> None:
    """Refuse a quote that opens a cell and is not closed: it would swallow the rows after it.

    It is found where the file ends before the quote is closed, or where the quote that closes it
    lies on a later line and is followed by text: that one was meant to open a cell. Text behind
    a quote on the same line is joined to it by Arrow, which is refused where it makes a number:
    ``"2"3`` is not 23.
    """
    if b'"' not in content:
        return
    mark = re.escape(delimiter.encode())
    cells = re.compile(
        rb"(?:(?<=[\r\n])|(?<=" + mark + rb')|\A)"(?:[^"]++|"")*+'
        rb'(?:(?P<closed>"(?='
        + mark
        + rb'|[\r\n]|\Z))|"(?P<text>[^\r\n]*?(?='
        + mark
        + rb"|[\r\n]|\Z))|\Z)"
    )
    for cell in cells.finditer(content):
        if cell["closed"] is not None:
            continue
        line = len(content[: cell.start() + 1].splitlines())
        within_line = b"\n" not in cell[0] and b"\r" not in cell[0]
        if not (cell["text"] and within_line):
            raise FormatError(path, "a quote opens here and is not closed", line)
        joined = cell[0].replace(b'"', b"").decode()
        if any(is_number(joined.strip(), mark) for mark in ".,"):
            message = (
                f"the cell {shorten(cell[0].decode())} is neither a number nor a text in quotes"
            )
            raise FormatError(path, message, line)


def _plain_values(cells: Any) -> Any:
    """Return a column of strings as numbers or truth values, if all of it are such."""
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
    integers = cast(pyarrow.int64())
    return numbers if integers is None else integers


def _distinct(cells: Any) -> list[str]:
    return cells.unique().drop_null().to_pylist()


def _parse_numbers(cells: Any, distinct: list[str], decimal: str) -> Any:
    """Return a column of numbers as people write them as float64."""
    pyarrow = import_optional("pyarrow")
    number = {cell: parse_number(cell, decimal) for cell in distinct}
    return pyarrow.array([number.get(cell) for cell in cells.to_pylist()], pyarrow.float64())
