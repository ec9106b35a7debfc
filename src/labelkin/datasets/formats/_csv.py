"""CSV tables.

pyarrow splits the text into cells; columns of numbers are then found among them.
"""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from labelkin._utils.files import FormatError, reason, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._cells import MISSING, default_names, take_header
from labelkin.datasets.formats._dialect import decode, find_delimiter, is_number
from labelkin.datasets.formats._raw_table import Guess, Options, RawTable

# Excel's first line, which names the delimiter.
_SEP_LINE = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
# Lines on top that begin with #.
_HASH_LINES = re.compile(r"(?:#[^\r\n]*+(?:\r\n|\r|\n))++")
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]++")
_ROW_NUMBER = re.compile(r"Row #(\d+): ")
_WRONG_WIDTH = re.compile(r"Expected (\d+) columns, got (\d+)")


def read_csv(raw: bytes, budget: Budget, options: Options) -> RawTable:
    """Return the content of a CSV file as a table.

    Delimiter, encoding and decimal mark are guessed from the content unless they are given.
    """
    source, delimiter = str(budget.source), options.delimiter
    if not raw.strip():
        raise FormatError(source, "not a CSV table (the file is empty)")
    guesses = []
    text, found = decode(raw, source, options.encoding)
    if options.encoding is None and found != "utf-8":
        guesses.append(Guess(found, ("encoding",)))
    if named := _SEP_LINE.match(text):
        text = text[named.end() :]
    if (table := _without_comments(text, source, delimiter)) != text:
        text = table
        guesses.append(Guess("comments on top left out", ()))
    if delimiter is None:
        delimiter = named[1] if named else find_delimiter(text)
        if delimiter != ",":
            shown = "tab" if delimiter == "\t" else repr(delimiter)
            guesses.insert(0, Guess(f"{shown} between columns", ("delimiter",)))
    first = _read_first(text, source, delimiter)
    columns = _read_cells(text.encode(), len(first), budget, delimiter)
    return take_header(columns, first, source, guesses, replace(options, delimiter=delimiter))


def _read_cells(content: bytes, width: int, budget: Budget, delimiter: str) -> list[Any]:
    """Return columns of strings, null where a value is missing."""
    path = budget.source
    pyarrow, arrow_csv = import_optional("pyarrow"), import_optional("pyarrow.csv")
    n_rows = max(content.count(b"\n"), content.count(b"\r"))
    budget.take_cells(n_rows + content.count(delimiter.encode()), width)
    _check_quotes(content, path, delimiter)
    names = default_names(width)
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
        if wrong := _WRONG_WIDTH.search(message):
            message = (
                f"not a CSV table with {delimiter!r} between columns (the header has {wrong[1]} of "
                f"them, and this line {wrong[2]}); correct the line, or choose the right delimiter"
            )
        raise FormatError(path, message, int(row[1]) if row else None) from None
    return table.columns


def _without_comments(text: str, source: str, delimiter: str | None) -> str:
    """Return a table without lines on top that begin with # and have another width."""
    top = _HASH_LINES.match(text)
    if top is None or not (body := text[top.end() :]).strip():
        return text
    delimiter = delimiter or find_delimiter(body)
    width = len(_read_first(body, source, delimiter))
    for line in _LINE.finditer(top[0]):
        if len(_read_first(line[0], source, delimiter)) == width:  # a header such as #id,size
            return text[line.start() :]
    return body


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
    end = rb"(?=" + mark + rb"|[\r\n]|\Z)"
    opened = rb"(?:(?<=[\r\n])|(?<=" + mark + rb')|\A)"(?:[^"]++|"")*+'
    closed = rb'(?:(?P<closed>"' + end + rb')|"(?P<text>[^\r\n]*?' + end + rb")|\Z)"
    for cell in re.finditer(opened + closed, content):
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
