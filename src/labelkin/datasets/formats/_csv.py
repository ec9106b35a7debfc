"""CSV tables: the text is split into cells, among which columns of numbers are then found."""

import codecs
import csv
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.names import plural
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._around import count_above
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._cells import make_column
from labelkin.datasets.formats._dialect import (
    decode,
    find_delimiter,
    find_names,
    is_note,
    lacks_name,
    split_lines,
    without_ends,
)
from labelkin.datasets.formats._header import FIRST_ROWS, take_header
from labelkin.datasets.formats._numbers import is_number
from labelkin.datasets.formats._raw_table import CsvForm, Guess, Options, RawTable, encoding_guess

_MAX_CELL = 2**24  # characters, of which each takes many bytes while a cell is read
csv.field_size_limit(_MAX_CELL)  # its own limit is shorter than some texts

_MAX_NOTES = 100  # lines below the table
_BLOCK = 100_000  # cells that are made into columns at once
# Excel's first line, which names the delimiter.
_SEP_LINE = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
# Lines on top that begin with #.
_HASH_LINES = re.compile(r"(?:#[^\r\n]*+(?:\r\n|\r|\n))++")
# Lines of dashes around rows with bars between cells, as SAP and PostgreSQL write them.
_RULE = re.compile(r"^[ \t]*[|+]?-{3}[-+| \t]*+(?:\r\n|\r|\n|\Z)", re.MULTILINE)
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n|\Z)")


def read_csv(raw: bytes, budget: Budget, options: Options) -> RawTable:
    """Return the content of a CSV file as a table.

    Delimiter, encoding and decimal mark are guessed from the content unless they are given.
    """
    source, delimiter = str(budget.source), options.delimiter
    text, encoding = decode(raw, source, options.encoding)
    guesses, above = encoding_guess(encoding, options), ""
    budget.check(sys.getsizeof(text))  # four times the file for a single emoji
    if named := _SEP_LINE.match(text):
        text = text[named.end() :]
    without = _RULE.sub("", text) if _RULE.search(text) else text
    if without != text and without.count("|") > without.count("\n"):
        text = without
        guesses.append(Guess("lines of dashes left out", ()))
    if (table := _without_comments(text, budget, delimiter)) != text:
        text = table
        guesses.append(Guess("comments at the top left out", ()))
    if start := find_names(text, delimiter or (named and named[1]), {*options.expected}):
        above, text = text[:start], text[start:]
    if delimiter is None:
        delimiter = named[1] if named else find_delimiter(text, {*options.expected})
        if delimiter != ",":
            shown = {"\t": "tab", " ": "spaces"}.get(delimiter, repr(delimiter))
            guesses.insert(0, Guess(f"{shown} between columns", ("delimiter",)))
    if (closed := _close_quotes(text, delimiter)) != text:
        text = closed
        guesses.append(Guess("quotes that are not closed read as part of the text", ()))
    if options.header is not False and lacks_name(text, delimiter):
        text = f'""{delimiter}{text}'
        guesses.append(Guess("row names in the first column, which has no name", ()))
    notes = list[str]()
    rows = _read_rows("\n" * above.count("\n") + text, source, delimiter, notes)
    first = next(rows, None)
    if first is None:
        raise FormatError(source, "not a CSV table (the file is empty)")
    n_rows = max(text.count("\n"), text.count("\r"))
    budget.take_cells(n_rows + text.count(delimiter), len(first))
    n_above, top = 0, [first, *islice(rows, FIRST_ROWS)]
    if options.header is not False:
        n_above = count_above(top, {*options.expected})
    if n_above or above.strip():
        guesses.append(Guess("the lines above the names left out", ()))
    first, rows = top[n_above], chain(top[n_above + 1 :], rows)
    size = max(1, _BLOCK // len(first))
    blocks = chain([[first]], iter(lambda: list(islice(rows, size)), []))
    parts = [[make_column(cells) for cells in zip(*block, strict=True)] for block in blocks]
    if notes:
        words = f"{plural(len(notes), 'line')} below the table left out: {shorten(notes[0], 30)}"
        guesses.append(Guess(words + ", …" * (len(notes) > 1), ()))
    chunked = import_optional("pyarrow").chunked_array
    columns = [chunked(column) for column in zip(*parts, strict=True)]
    options = replace(options, delimiter=delimiter)
    result = take_header(columns, first, source, guesses, options)
    has_mark = raw.startswith(codecs.BOM_UTF8) or encoding != "utf-8"
    return replace(result, csv=CsvForm.of(result, delimiter, has_mark), encoding=encoding)


def _without_comments(text: str, budget: Budget, delimiter: str | None) -> str:
    """Return a table without lines on top that begin with # and have another width."""
    top = _HASH_LINES.match(text)
    if top is None or not (body := text[top.end() :]).strip():
        return text
    budget.check_lines(top[0].encode())
    source, delimiter = str(budget.source), delimiter or find_delimiter(body)
    width = len(next(_read_rows(body, source, delimiter)))
    lines = top[0].splitlines(keepends=True)
    for i, line in enumerate(lines):
        if len(next(_read_rows(line, source, delimiter))) == width:  # a header such as #id,size
            return "".join(lines[i:]) + body
    return body


def _close_quotes(text: str, delimiter: str) -> str:
    """Return a table in which a quote that opens a cell and is not closed in its line is text.

    So it is where each line has as many cells as the first, three or more, or two between tabs:
    else a cell may have several lines.
    """
    if not any(line[0].count('"') % 2 for line in _LINE.finditer(text)):
        return text
    lines = [line[0] for line in _LINE.finditer(text)]
    counts = {line.count(delimiter) for line in lines if line.strip()}
    if len(counts) > 1 or counts.pop() < (1 if delimiter == "\t" else 2):
        return text
    open_ = re.compile(rf'(?<![^{re.escape(delimiter)}])"[^{re.escape(delimiter)}\r\n]*+')

    def close(found: re.Match[str]) -> str:
        cell = found[0]
        return '"{}"'.format(cell.replace('"', '""')) if cell.count('"') % 2 else cell

    return "".join(open_.sub(close, line) if line.count('"') % 2 else line for line in lines)


def _read_rows(
    text: str, source: str, delimiter: str, notes: list[str] | None = None
) -> Iterator[list[str]]:
    """Yield the rows that are not empty; one of another width than the first is refused.

    Empty cells at the end of a longer row are left out, as a delimiter may end each row.
    The lines below the table, which are shorter and begin with a note, are added to `notes`.
    """
    notes = [] if notes is None else notes
    lines, first = list[str](), list[str]()  # those of the row that is read, and the first row
    is_apart, n_rows = False, 0
    wrong = None  # the number and cells of the first line of another width

    def remembered() -> Iterator[str]:
        for line in _LINE.finditer(text):  # io.StringIO would take four bytes for a character
            lines.append(line[0] or "\n")
            yield lines[-1]

    rows = split_lines(remembered(), delimiter, is_strict=True)
    while True:
        number = rows.line_num + 1
        lines.clear()
        try:
            row = next(rows, None)
        except csv.Error:
            row = _join_quotes(lines, source, delimiter, number)
        if row is None:
            return
        if not row:
            is_apart = n_rows > 0
            continue
        first = first or row
        row = without_ends(row, len(first))
        if len(row) == len(first) and not notes:
            if is_apart and 2 * sum(map(bool, row)) < len(row):  # it may be a note
                yield [""] * len(row)
            is_apart, n_rows = False, n_rows + 1
            yield row
            continue
        wrong = wrong or (number, len(row))
        may_be_note = notes or (n_rows > 1 and is_note(row, first))
        if may_be_note and len(row) < len(first) and len(notes) < _MAX_NOTES:
            notes.append(delimiter.join(row))
            continue
        message = (
            f"not a CSV table with {delimiter!r} between columns (the header has "
            f"{plural(len(first), 'column')}, and this line {wrong[1]}); correct or delete the "
            "line, or choose the right delimiter"
        )
        raise FormatError(source, message, wrong[0])


def _join_quotes(lines: list[str], source: str, delimiter: str, number: int) -> list[str]:
    """Return a row in which text follows a quote that closes a cell, joined to the cell.

    A quote that is not closed would swallow the rows after it. It is found where the file ends, or
    where the quote that closes it lies on a later line and is followed by text: that one was meant
    to open a cell. Text that makes a number is refused, too: ``"2"3`` is not 23.
    """
    try:
        row = next(split_lines(lines, delimiter))
    except csv.Error:
        message = f"a cell has more than {_MAX_CELL:,} characters; is a quote not closed?"
        raise FormatError(source, message, number) from None
    if len(lines) > 1 or row[-1].endswith(("\n", "\r")):
        raise FormatError(source, "a quote opens here and is not closed", number)
    mark = re.escape(delimiter)
    for cell in re.findall(rf'(?<![^{mark}])"(?:[^"]|"")*+"[^\r\n{mark}]++', lines[0]):
        if any(is_number(cell.replace('"', "").strip(), decimal) for decimal in ".,"):
            message = f"the cell {shorten(cell)} is neither a number nor a text in quotes"
            raise FormatError(source, message, number)
    return row
