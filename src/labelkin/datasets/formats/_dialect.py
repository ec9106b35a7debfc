"""How a CSV file is written: its encoding and delimiter, guessed where not given.

A guess rests on the whole file or its first rows, never on the locale, so that a file is read in
the same way everywhere.
"""

import codecs
import contextlib
import csv
import io
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, reason
from labelkin.datasets.formats._columns import normal_form
from labelkin.datasets.formats._encodings import rank_encodings
from labelkin.datasets.formats._numbers import MISSING, is_number

_DELIMITERS = ",;\t|"
_SAMPLE_LINES, _SAMPLE_CHARACTERS = 200, 2**20  # from which the delimiter is guessed
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SLOW = ("punycode", "idna")  # codecs that take quadratic time

#: The name of an encoding, or several likely ones of a text that is not UTF-8.
Encoding = str | Sequence[str] | None


def decode(raw: bytes, path: str | Path, encoding: Encoding) -> tuple[str, str]:
    """Return the text, in Unicode's normal form, and its encoding, guessed unless it is one name.

    The byte order mark decides; without one UTF-8 if the bytes are valid, else the first of the
    likely encodings, if they are given, else the one that makes the most likely characters.
    """
    one = [encoding] if isinstance(encoding, str) else None
    for candidate in one or _guess_encodings(raw, encoding or ()):
        try:
            if codecs.lookup(candidate).name in _SLOW:
                raise LookupError
            text = raw.decode(candidate)
        except LookupError:
            raise ArgumentError(f"encoding={candidate} is unknown.", "encoding") from None
        except UnicodeError as error:
            wrong = f"the text is not {candidate} ({reason(error, 80)})"
            cure = "pass its encoding, as in encoding=latin-1"
            continue
        if "\0" not in text:
            text = text.removeprefix("\ufeff")
            return normal_form(text), "utf-8" if candidate == "utf-8-sig" else candidate
        wrong = "this is not text (it holds NUL characters)"
        cure = "if it is in another encoding, pass it, as in encoding=utf-16-le"
        break
    raise FormatError(path, f"{wrong}; {cure}", None, "encoding")


def _guess_encodings(raw: bytes, likely: Iterable[str]) -> Iterator[str]:
    """Yield encodings that a text may have, the most likely one first."""
    mark = next((name for mark, name in _MARKS.items() if raw.startswith(mark)), None)
    yield mark or "utf-8"
    if mark is None:
        yield from (name for name in likely if not name.lower().startswith("u"))
        yield from rank_encodings(raw)


def find_names(text: str, delimiter: str | None, expected: set[str]) -> int:
    """Return where the table begins below a title: lines with at most two cells that are not empty.

    It has three columns at least, as many in all its first rows, and no name that is `expected`
    stands above it.
    """
    lines, best = _sample_lines(text), (3, 0)
    for mark in delimiter or _DELIMITERS:
        reader, rows = split_lines(lines, mark), list[list[str]]()
        ends = []
        with contextlib.suppress(csv.Error):
            for row in reader:
                rows.append(row)
                ends.append(reader.line_num)
        if rows and len(rows[0]) == 2 and lacks_name(text, mark):
            return 0
        filled = [[cell for cell in row if cell.strip()] for row in rows]
        for most in (1, 2):  # cells of a line above the table
            top = next((i for i, row in enumerate(filled) if len(row) > most), len(rows))
            end = len(rows)
            while end > top + 2 and is_note(rows[end - 1], rows[top]):
                end -= 1
            bare = [without_ends(row, len(rows[top])) for row in rows] if rows[top:] else []
            if top == 0 and 2 * sum(len(row) == len(rows[0]) for row in bare[:end]) > end > 0:
                return 0  # the first line has names
            # The last line of the sample may be cut.
            table = bare[top : end - (end == len(rows))] or bare[top:]
            widths = {len(row) for row in table if row}
            if top and len(widths) == 1 and not expected & {*chain(*rows[:top])}:
                best = max(best, (widths.pop(), sum(map(len, lines[: ends[top - 1]]))))
    return best[1]


def is_note(row: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether a row that is shorter than the names reads as a note below the table.

    It has one cell that is no number or, unlike the names, a space after each delimiter. Beside two
    columns, one cell may be a row whose other cell was left out.
    """
    is_spaced = all(cell.startswith(" ") for cell in row[1:])
    is_spaced &= len(row) < 2 or not any(name.startswith(" ") for name in names[1:])
    has_number = any(is_number(cell, decimal) for cell in row[:1] for decimal in ".,")
    return len(row) < len(names) > 2 and is_spaced and not has_number


def without_ends(row: list[str], width: int) -> list[str]:
    """Return a row without empty cells at its end beyond the width of the names.

    Of a single column, the delimiter may be part of a text.
    """
    is_longer = len(row) > width > 1 and not any(cell.strip() for cell in row[width:])
    return row[:width] if is_longer else row


def _sample_lines(text: str) -> list[str]:
    # Not `splitlines`, for which other characters end lines, too.
    return list(islice(io.StringIO(text[:_SAMPLE_CHARACTERS], newline=""), _SAMPLE_LINES))


def _sample_rows(text: str, delimiter: str) -> list[list[str]]:
    """Return the first rows that are not empty; none if they cannot be split."""
    lines = _sample_lines(text)
    is_cut = len(lines) == _SAMPLE_LINES or len(text) > _SAMPLE_CHARACTERS
    try:
        rows = [row for row in split_lines(lines, delimiter) if row]
    except csv.Error:
        return []
    return rows[:-1] if len(rows) > 2 and is_cut else rows  # it may be cut in a quoted cell


def split_lines(lines: Iterable[str], delimiter: str, is_strict: bool = False) -> Any:
    """Return a reader of cells; several spaces between them count as one."""
    is_space = delimiter == " "
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=is_space, strict=is_strict)


def find_delimiter(text: str, expected: Container[str] = ()) -> str:
    """Return the delimiter with which most of the first rows have as many cells as the header.

    Of several, the one that makes more columns. A comma if there is one column, or a space if it
    makes three columns or more in all rows, one of numbers, and the first line is no `expected`
    name.
    """
    first = next(iter(_sample_lines(text)), "")
    best, best_share, best_width = ",", 0.0, 1
    for mark in _DELIMITERS:
        if mark not in first or not (rows := _sample_rows(text, mark)):
            continue
        width = len(rows[0])
        are_equal = [len(without_ends(row, width)) == width for row in rows]
        share = round(float(np.mean(are_equal)), 2)
        if width > 1 and (share, width) > (best_share, best_width):
            best, best_share, best_width = mark, share, width
    if best_width == 1 and " " in first and first.strip() not in expected:
        rows = _sample_rows(text, " ")
        is_table = _has_numbers(rows) and len(rows[0]) == len(rows[1]) > 2
        best = " " if is_table or lacks_name(text, " ") else best
    return best


def lacks_name(text: str, delimiter: str) -> bool:
    """Return whether the header lacks the name of the first column, as R writes row names.

    All rows have one cell more than the header. Their first cells differ, the last are not empty,
    as behind a delimiter at the end of each row, and a column holds numbers. One row may have a
    comma in a number or a text, and texts have a space after each.
    """
    rows = _sample_rows(text, delimiter)
    names = [row[0] for row in rows[1:]]
    is_short = len(names) > (delimiter in ",;") and 1 < len(rows[0]) == len(rows[1]) - 1
    if not is_short or len({*names}) < len(names) or not _has_numbers(rows):
        return False
    are_texts = any(row[1].startswith(" ") for row in rows[1:])
    return not are_texts and any(row[-1].strip() for row in rows[1:])


def _has_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the rows below the first are of one width and a column holds numbers."""
    if len({*map(len, rows[1:])}) != 1:
        return False
    columns = zip(*rows[1:], strict=True)
    filled = [[cell for cell in column if cell.strip() not in MISSING] for column in columns]
    return any(c and all(is_number(v) or is_number(v, ",") for v in c) for c in filled)
