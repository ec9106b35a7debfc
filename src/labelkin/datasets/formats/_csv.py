"""CSV tables with named label columns, through pyarrow."""

import csv
import functools
import io
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from labelkin._utils.files import (
    FormatError,
    open_for_reading,
    open_for_writing,
    reason,
    shorten,
    strip_compression,
)
from labelkin._utils.guesses import Guess
from labelkin._utils.limits import max_unpacked, too_large
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._arrow import split_table
from labelkin.datasets.formats._columns import Labels, check_unique, find_labels
from labelkin.datasets.formats._content import check_content, make_bunch, number_text, overflows
from labelkin.datasets.formats._dialect import (
    CsvDialect,
    convert_numbers,
    decode,
    find_delimiter,
    guess_decimal,
    split_sep_line,
)

_MISSING = ["", "?", "-", "--", "–", "—", "NA", "N/A", "n/a", "#N/A", "<NA>"]
_MISSING += ["NaN", "nan", "null", "NULL", "None"]
_ROW_NUMBER = re.compile(r"Row #(\d+): ")
_WRONG_WIDTH = re.compile(r"Expected (\d+) columns, got (\d+)")
_ROWS = 10_000  # written at once
_HEADER = re.compile(rb'\s*+(?:"[^"]*+"|[^"\r\n]++)*+')
_COLUMN_BYTES = 7000  # what Arrow takes for a column of any length
_HEXADECIMAL = re.compile(rb"(?<![0-9A-Za-z.])[-+]?0[xX][0-9a-fA-F]+(?![0-9A-Za-z.])")


def read_csv(
    path: str | Path,
    labels: Labels | None = None,
    *,
    drop: str | Iterable[str] = (),
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> Bunch:
    """Read a CSV table with a header line; needs the ``data`` extra.

    Parameters
    ----------
    path : str or Path
        The file; ``.gz`` and ``.bz2`` are decompressed.
    labels : names, comma-separated string, or int
        The label columns, by name or by count (negative: the last ones). Their values are
        0 and 1, or false and true.
    drop : names or comma-separated string, default=()
        Columns to leave out, such as an identifier.
    delimiter : str, optional
        By default a comma, in files whose name ends in ``.tsv`` or ``.tab`` a tab.
    encoding : str, default="utf-8"

    Returns
    -------
    Bunch
        As `read_arff` describes; ``data`` is dense, empty cells are NaN. A feature column
        of text is refused by name: encode it as numbers first, or drop it.

    """
    import_optional("pyarrow")  # a missing extra is reported before a missing file
    with open_for_reading(path) as file:
        raw = file.read()
    delimiter = delimiter or _usual_delimiter(path)
    table, _ = parse_csv_table(raw, path, delimiter=delimiter, encoding=encoding, decimal=".")
    if labels is None:
        raise FormatError(
            path, "the label columns of the CSV table are unknown; pass labels=", None, "labels"
        )
    label_columns = find_labels(labels, table.column_names, path)
    data, target, features, columns = split_table(table, label_columns, drop, path)
    return make_bunch(
        data, target, feature_names=features, label_names=columns, descr=Path(path).name
    )


def _usual_delimiter(path: str | Path) -> str:
    return "\t" if strip_compression(path).suffix.lower() in (".tsv", ".tab") else ","


def parse_csv_table(
    raw: bytes,
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    as_strings: Iterable[str] = (),
) -> tuple[Any, CsvDialect]:
    """Return a file's content as an Arrow table with unique names, and how it is written.

    Delimiter, encoding and decimal mark are guessed from the content unless they are given. Columns
    `as_strings` are kept as they are written, such as numbers with leading zeros. Errors name the
    file by `path`.
    """
    if not raw.strip():
        raise FormatError(path, "not a CSV table (the file is empty)")
    text, found_encoding = decode(raw, path, encoding)
    text, named = split_sep_line(text)
    dialect = CsvDialect(delimiter or named or find_delimiter(text), found_encoding)
    if delimiter is None and dialect.delimiter != ",":
        shown = "tab" if dialect.delimiter == "\t" else repr(dialect.delimiter)
        dialect.guesses.append(Guess(f"{shown} between columns", ("delimiter",)))
    if encoding is None and dialect.encoding != "utf-8":
        dialect.guesses.append(Guess(dialect.encoding, ("encoding",)))

    content = text.encode("utf-8")
    _check_width(content, path, dialect.delimiter)
    _check_quotes(content, path, dialect.delimiter)
    as_strings = list(as_strings)

    def read(strings: Iterable[str]) -> Any:
        table = _read_arrow(content, path, dialect.delimiter, [*as_strings, *strings])
        return table.slice(0, table.num_rows - n_empty)

    n_empty = 0
    n_empty = _count_empty_rows(table := read([]))
    if n_empty:
        rows = "an empty row" if n_empty == 1 else f"{n_empty:,} empty rows"
        dialect.guesses.append(Guess(f"{rows} at the end left out", ()))
        table = read([])
    check_unique(table.column_names, "column", path, 1)
    if _HEXADECIMAL.search(content):  # Arrow takes 0x1F for a number
        as_strings += _hexadecimal_columns(read(table.column_names))
        table = read([])
    if decimal is None:
        strings = _string_columns(table, as_strings)
        dialect.decimal = guess_decimal(strings, dialect.delimiter) or "."
        if dialect.decimal != ".":
            dialect.guesses.append(Guess(f"{dialect.decimal!r} decimal", ("decimal",)))
    else:
        dialect.decimal = decimal
    _check_range(table, read, path)
    table, grouped, units = convert_numbers(table, dialect.decimal, read, as_strings)
    if grouped and decimal is None:
        text = f"thousands separated in {', '.join(grouped)}"
        dialect.guesses.append(Guess(text, ("decimal", "category")))
    for name, unit in units.items():
        dialect.guesses.append(Guess(f"{name}: numbers in {unit}", ("category",)))
    return table, dialect


def _check_width(content: bytes, path: str | Path, delimiter: str) -> None:
    """Refuse a header of more columns than memory allows: they take room however short they are."""
    header = _HEADER.match(content)
    n_columns = 1 + header[0].count(delimiter.encode()) if header else 0
    if n_columns * _COLUMN_BYTES > (limit := max_unpacked(len(content))):
        raise FormatError(path, too_large(limit, f"a table of {n_columns:,} columns"))


def _count_empty_rows(table: Any) -> int:
    """Return the number of rows at the end in which no column has a value."""
    compute = import_optional("pyarrow.compute")
    if table.num_columns < 2 or not table.num_rows:
        return 0  # an empty cell of a single column may be a row without text
    if any(column[-1].is_valid for column in table.columns):
        return 0
    used = [column.is_valid() for column in table.columns]
    any_used = np.flatnonzero(functools.reduce(compute.or_, used).to_numpy())
    return table.num_rows - (int(any_used[-1]) + 1 if any_used.size else 0)


def _check_quotes(content: bytes, path: str | Path, delimiter: str) -> None:
    """Refuse a quote that opens a cell and is not closed: it would swallow the rows after it.

    It is found where the file ends before the quote is closed, or where the quote that closes it
    lies on a later line and is followed by text: that one was meant to open a cell.
    """
    if b'"' not in content:
        return
    mark = re.escape(delimiter.encode())
    cells = re.compile(
        rb"(?:(?<=[\r\n])|(?<=" + mark + rb')|\A)"(?:[^"]++|"")*+'
        rb'(?:(?P<closed>"(?=' + mark + rb'|[\r\n]|\Z))|(?P<text>")|\Z)'
    )
    for cell in cells.finditer(content):
        within_line = b"\n" not in cell[0] and b"\r" not in cell[0]
        if cell["closed"] is None and not (cell["text"] and within_line):
            line = len(content[: cell.start() + 1].splitlines())
            raise FormatError(path, "a quote opens here and is not closed", line)


def _hexadecimal_columns(written: Any) -> list[str]:
    """Return the columns of a table of strings that hold a number such as 0x1F."""
    return [
        name
        for name in written.column_names
        if any(
            _HEXADECIMAL.fullmatch(cell.strip().encode())
            for cell in written.column(name).unique().to_pylist()
            if cell is not None
        )
    ]


def _check_range(table: Any, read: Callable[[list[str]], Any], path: str | Path) -> None:
    """Refuse a number that is infinite as a double, such as 1e400, with its place."""
    pyarrow, compute = import_optional("pyarrow"), import_optional("pyarrow.compute")
    for name in table.column_names:
        column = table.column(name)
        if not pyarrow.types.is_floating(column.type):
            continue
        infinite = compute.is_inf(column)
        if not compute.any(infinite).as_py():
            continue
        cells = read([name]).column(name).to_pylist()
        for row, is_infinite in enumerate(infinite.to_pylist()):
            if is_infinite and overflows(cells[row]):
                raise FormatError(
                    path,
                    f"column {shorten(name)} holds {shorten(cells[row], 30)} in data row "
                    f"{row + 1}, which is beyond the range of numbers",
                )


def _string_columns(table: Any, skip: Iterable[str]) -> Iterator[list[str]]:
    """Yield the distinct values of each column of strings."""
    types, skipped = import_optional("pyarrow").types, set(skip)
    for name in table.column_names:
        column = table.column(name)
        if name not in skipped and types.is_string(column.type):
            yield [value for value in column.unique().to_pylist() if value is not None]


def _read_arrow(text: bytes, path: str | Path, delimiter: str, as_strings: list[str]) -> Any:
    pyarrow, arrow_csv = import_optional("pyarrow"), import_optional("pyarrow.csv")
    try:
        return arrow_csv.read_csv(
            io.BytesIO(text),
            # One block: a row wider than a block would be refused.
            read_options=arrow_csv.ReadOptions(
                block_size=min(len(text) + 1, 2**31 - 1), use_threads=False
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                null_values=_MISSING,
                strings_can_be_null=True,
                column_types=dict.fromkeys(as_strings, pyarrow.string()),
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


def write_csv(
    path: str | Path,
    data: Any,
    target: Any,
    *,
    feature_names: Iterable[str] | None = None,
    label_names: Iterable[str] | None = None,
) -> None:
    """Write a CSV table: features, then labels; missing values are empty cells.

    Parameters
    ----------
    path, data, target, feature_names, label_names
        As in `write_arff`; nominal features become plain numbers. Give the label names to
        `read_csv` to read the file back.

    """
    content = check_content(path, data, target, feature_names, label_names)
    names = content.feature_names + content.label_names
    if any("\0" in name for name in names):
        raise ValueError(f"{path}: a CSV table cannot hold a name with a NUL character")
    with open_for_writing(path) as file:
        # csv leaves a carriage return unquoted, which readers take for the end of a line.
        delimiter = _usual_delimiter(path)
        quote_all = any("\r" in name for name in names)
        file.write(_csv_text([names], delimiter, quote_all))
        for first in range(0, content.target.shape[0], _ROWS):
            features, labels = content.rows(first, first + _ROWS)
            file.write(
                _csv_text(
                    [
                        [number_text(value, missing="") for value in row] + label_row
                        for row, label_row in zip(features.tolist(), labels.tolist(), strict=True)
                    ],
                    delimiter,
                ),
            )


def _csv_text(rows: Iterable[list[Any]], delimiter: str, quote_all: bool = False) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(
        text,
        delimiter=delimiter,
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL,
    )
    writer.writerows(rows)
    return text.getvalue().encode("utf-8")
