"""CSV tables.

pyarrow splits the text into cells; columns of numbers are then found among them.
"""

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from labelkin._utils.files import FormatError, read_unpacked, reason, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._cells import (
    CELL_BYTES,
    COLUMN_BYTES,
    MISSING,
    default_names,
    table_of_cells,
)
from labelkin.datasets.formats._dialect import decode, find_delimiter, is_number
from labelkin.datasets.formats._raw_table import Guess, RawTable

# Excel's first line, which names the delimiter.
_SEP_LINE = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]++")
_ROW_NUMBER = re.compile(r"Row #(\d+): ")
_WRONG_WIDTH = re.compile(r"Expected (\d+) columns, got (\d+)")


def read_csv(path: str | Path, **options: Any) -> RawTable:
    """Return a file as a table; `options` are those of `parse_csv`."""
    import_optional("pyarrow")  # a missing extra is reported before a missing file
    return parse_csv(read_unpacked(path), str(path), packed=Path(path).stat().st_size, **options)


def parse_csv(
    raw: bytes,
    source: str,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    expected: Iterable[str] = (),
    as_strings: Iterable[str] = (),
    packed: int | None = None,
) -> RawTable:
    """Return the content of a CSV file as a table; errors name it by `source`.

    Delimiter, encoding and decimal mark are guessed from the content unless they are given. Without
    a `header`, columns are named c1, c2, …; a file that may have none is refused if it is None,
    unless one of the `expected` columns is in its first row. Columns
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
    table, first = _read_cells(text, budget, delimiter)
    return table_of_cells(
        table, first, source, guesses, header, expected, delimiter, decimal, as_strings
    )


def _read_cells(text: str, budget: Budget, delimiter: str) -> tuple[Any, list[str]]:
    """Return an Arrow table of strings, None where a value is missing, and its first row."""
    path = budget.source
    pyarrow, arrow_csv = import_optional("pyarrow"), import_optional("pyarrow.csv")
    content = text.encode("utf-8")
    n_rows = max(content.count(b"\n"), content.count(b"\r"))
    budget.take(CELL_BYTES * (n_rows + content.count(delimiter.encode())))
    _check_quotes(content, path, delimiter)
    first = _read_first(text, path, delimiter)
    budget.take_columns(len(first), each=COLUMN_BYTES)
    names = default_names(len(first))
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
                null_values=MISSING,
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
    return table, first


def _read_first(text: str, path: str | Path, delimiter: str) -> list[str]:
    rows = csv.reader((line[0] for line in _LINE.finditer(text)), delimiter=delimiter)
    try:
        return next(row for row in rows if row)
    except (csv.Error, StopIteration) as error:
        raise FormatError(path, f"the header cannot be read ({reason(error)})", 1) from None


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
