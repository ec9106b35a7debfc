"""How a CSV file is written: its encoding, delimiter and decimal mark, guessed where not given.

A guess rests on the whole file or its first rows, never on the locale, so that a file is read in
the same way everywhere.
"""

import codecs
import csv
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, reason
from labelkin._utils.guesses import Guess
from labelkin._utils.optional import import_optional

_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 200  # from which the delimiter is guessed
# Excel's first line, which names the delimiter.
_SEP_LINE = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass
class CsvDialect:
    """How a CSV file is written."""

    delimiter: str
    encoding: str
    decimal: str = "."
    guesses: list[Guess] = field(default_factory=list)
    """What was guessed and is not usual."""


def decode(raw: bytes, path: str | Path, encoding: str | None) -> tuple[str, str]:
    """Return the text and its encoding, guessed if None.

    The byte order mark decides; without one UTF-8 if the bytes are valid, UTF-16 if half of them
    are zero, else cp1252, the encoding of Windows that differs little from latin-1.
    """
    if encoding is None:
        mark = next((name for mark, name in _MARKS.items() if raw.startswith(mark)), None)
        for candidate in [mark] if mark else ["utf-8", *_guess_utf16(raw), "cp1252"]:
            try:
                text = raw.decode(candidate)
            except UnicodeError:
                continue
            if "\0" not in text:
                return text, "utf-8" if candidate == "utf-8-sig" else candidate
        encoding = "latin-1"
    try:
        text = raw.decode(encoding)
    except LookupError:
        raise ArgumentError(f"encoding={encoding} is unknown.", "encoding") from None
    except UnicodeError as error:
        raise FormatError(
            path,
            f"the text is not {encoding} ({reason(error, 80)}); pass its encoding, as in "
            "encoding=latin-1",
            None,
            "encoding",
        ) from None
    if "\0" in text:
        raise FormatError(path, "not a CSV table (it holds NUL characters)")
    return text.removeprefix("\ufeff"), encoding


def _guess_utf16(raw: bytes) -> list[str]:
    sample = raw[:2000]
    if len(sample) < 4 or b"\0" not in sample:
        return []
    return ["utf-16-be"] if sample[::2].count(0) > sample[1::2].count(0) else ["utf-16-le"]


def find_delimiter(text: str) -> str:
    """Return the delimiter with which most of the first rows have as many cells as the header.

    Of several, the one that makes more columns; a comma if there is one column.
    """
    lines = text.splitlines(keepends=True)[:_SAMPLE_LINES]
    best, best_share, best_width = ",", 0.0, 1
    for mark in _DELIMITERS:
        if mark not in (lines[0] if lines else ""):
            continue
        try:
            rows = [row for row in csv.reader(lines, delimiter=mark) if row]
        except csv.Error:
            continue
        # The last of the sample may be cut in a quoted cell.
        rows = rows[:-1] if len(rows) > 2 and len(lines) == _SAMPLE_LINES else rows
        width = len(rows[0])
        share = round(float(np.mean([len(row) == width for row in rows])), 2)
        if width > 1 and (share, width) > (best_share, best_width):
            best, best_share, best_width = mark, share, width
    return best


def split_sep_line(text: str) -> tuple[str, str | None]:
    """Return the text without Excel's line ``sep=;``, and the delimiter it names."""
    found = _SEP_LINE.match(text)
    return (text, None) if found is None else (text[found.end() :], found[1])


# ------------------------------------------------------------------------ numbers as written

_THOUSANDS = {".": ",", ",": "."}
_UNIT = r"[$€£¥%]|EUR|USD|GBP|CHF|JPY"
_UNITS = re.compile(_UNIT)


def _pattern(decimal: str) -> re.Pattern[str]:
    """Match a number with this decimal mark, with or without separated thousands."""
    mark, other = re.escape(decimal), re.escape(_THOUSANDS[decimal])
    whole = rf"(?:\d{{1,3}}(?:{other}\d{{3}})+|\d{{1,3}}(?:['’ \u00a0\u202f]\d{{3}})+|\d+)"
    number = rf"(?:{whole}(?:{mark}\d*)?|{mark}\d+)(?:[eE][-+]?\d+)?"
    # Possessive quantifiers, so that spaces on both sides of a unit take linear time.
    unit = rf"[ \u00a0\u202f]*+(?:{_UNIT})[ \u00a0\u202f]*+"
    text = rf" *+(?:[-+]?{number}(?:{unit})?|{unit}[-+]?{number}|[-+]{unit}{number}) *"
    return re.compile(text, re.ASCII)  # digits of other scripts are no numbers elsewhere


_PATTERNS = {decimal: _pattern(decimal) for decimal in _THOUSANDS}
_GROUPING = re.compile(r"['’\s]")
# One to three digits, a comma and three digits: 1,234 may be a thousand or little more than one.
_AMBIGUOUS = re.compile(r"\s*[-+]?\d{1,3},\d{3}\s*")


def is_number(text: str, decimal: str = ".") -> bool:
    """Return whether a cell is a number, with this decimal mark.

    Thousands may be apart, and a currency or a percent sign may stand beside it.
    """
    return _PATTERNS[decimal].fullmatch(text) is not None


def parse_number(text: str, decimal: str) -> float:
    """Return the number that a cell holds; `is_number` is true of it."""
    plain = _GROUPING.sub("", _UNITS.sub("", text)).replace(_THOUSANDS[decimal], "")
    return float(plain.replace(decimal, "."))


def _one_unit(cells: Iterable[str]) -> bool:
    """Return whether numbers have the same unit or none; a percent sign must be at all of them."""
    units = {found[0] if (found := _UNITS.search(cell)) else "" for cell in cells}
    return len(units) == 1 or (len(units) == 2 and "" in units and "%" not in units)


def guess_decimal(columns: Iterable[list[str]], delimiter: str) -> str | None:
    """Return the decimal mark that the values of string columns show; None: no evidence.

    A comma, if a column is made of numbers with one and some of them cannot be read with a
    comma between thousands; where all could, it is a decimal comma in files that keep the comma
    for that, those with semicolons.
    """
    ambiguous = False
    for values in columns:
        if not values or not any("," in value for value in values):
            continue
        if all(is_number(value, ",") for value in values):
            if not all(is_number(value) for value in values):
                return ","
            ambiguous |= all(_AMBIGUOUS.fullmatch(value) for value in values if "," in value)
    return "," if ambiguous and delimiter == ";" else None


def convert_numbers(
    table: Any,
    decimal: str,
    as_written: Callable[[list[str]], Any],
    skip: Iterable[str],
) -> tuple[Any, list[str], dict[str, str]]:
    """Return an Arrow table with its columns of numbers as written by people as float64.

    Also return the names of the columns in which thousands are set apart, and the units of those
    that have one. Arrow reads numbers with a decimal comma or separated thousands as strings, but
    1.234 as a number even in a file with decimal commas: `as_written` returns the table with the
    columns of the given names as strings. Columns to `skip` stay as they are.
    """
    pyarrow = import_optional("pyarrow")
    types = pyarrow.types
    names = [name for name in table.column_names if name not in set(skip)]
    floats = [name for name in names if types.is_floating(table.column(name).type)]
    grouped: list[str] = []
    units: dict[str, str] = {}
    written = as_written(floats) if decimal == "," and floats else table
    for name in names:
        column = written.column(name)
        if not types.is_string(column.type):
            continue
        cells = column.to_pylist()
        distinct = {cell for cell in cells if cell is not None}
        # Leading zeros, as in 01234, are those of a code.
        is_code = any(re.match(r"0\d", cell) for cell in distinct)
        are_numbers = all(is_number(cell, decimal) for cell in distinct) and _one_unit(distinct)
        if distinct and not is_code and are_numbers:
            number = {cell: parse_number(cell, decimal) for cell in distinct} | {None: None}
            values = pyarrow.array([number[cell] for cell in cells], pyarrow.float64())
            table = table.set_column(table.column_names.index(name), name, values)
            mark = _THOUSANDS[decimal]
            if unit := next((u[0] for cell in distinct if (u := _UNITS.search(cell))), ""):
                units[name] = unit
            bare = [_UNITS.sub("", cell).strip() for cell in distinct]
            if any(mark in cell or _GROUPING.search(cell) for cell in bare):
                grouped.append(name)
    return table, grouped, units
