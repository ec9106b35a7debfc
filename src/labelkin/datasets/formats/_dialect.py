"""How a CSV file is written: its encoding, delimiter and decimal mark, guessed where not given.

A guess rests on the whole file or its first rows, never on the locale, so that a file is read in
the same way everywhere.
"""

import codecs
import contextlib
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path

import numpy as np

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, reason, shorten
from labelkin.datasets.formats._columns import normal_form
from labelkin.datasets.formats._encodings import rank_encodings

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
        reader, rows = csv.reader(lines, delimiter=mark), list[list[str]]()
        ends = []
        with contextlib.suppress(csv.Error):
            for row in reader:
                rows.append(row)
                ends.append(reader.line_num)
        filled = [[cell for cell in row if cell.strip()] for row in rows]
        for most in (1, 2):  # cells of a line above the table
            top = next((i for i, row in enumerate(filled) if len(row) > most), len(rows))
            end = len(rows)
            while end > top + 2 and is_note(rows[end - 1], rows[top]):
                end -= 1
            if top == 0 and 2 * sum(len(row) == len(rows[0]) for row in rows[:end]) > end > 0:
                return 0  # the first line has names
            # The last line of the sample may be cut.
            table = rows[top : end - (end == len(rows))] or rows[top:]
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


def _sample_lines(text: str) -> list[str]:
    # Not `splitlines`, for which other characters end lines, too.
    return list(islice(io.StringIO(text[:_SAMPLE_CHARACTERS], newline=""), _SAMPLE_LINES))


def find_delimiter(text: str) -> str:
    """Return the delimiter with which most of the first rows have as many cells as the header.

    Of several, the one that makes more columns; a comma if there is one column.
    """
    lines = _sample_lines(text)
    is_cut = len(lines) == _SAMPLE_LINES or len(text) > _SAMPLE_CHARACTERS
    best, best_share, best_width = ",", 0.0, 1
    for mark in _DELIMITERS:
        if mark not in (lines[0] if lines else ""):
            continue
        try:
            rows = [row for row in csv.reader(lines, delimiter=mark) if row]
        except csv.Error:
            continue
        rows = rows[:-1] if len(rows) > 2 and is_cut else rows  # it may be cut in a quoted cell
        width = len(rows[0])
        share = round(float(np.mean([len(row) == width for row in rows])), 2)
        if width > 1 and (share, width) > (best_share, best_width):
            best, best_share, best_width = mark, share, width
    return best


# ------------------------------------------------------------------------ numbers as written

_THOUSANDS = {".": ",", ",": "."}
# Signs, such as € or R$, codes of ISO 4217 and abbreviations that stand before amounts.
_CURRENCY = (
    r"[A-Z]{0,3}[$£¥฿₠-₿]|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HUF|INR|JPY|MXN|NOK|PLN|SEK|TRY|USD"
    r"|ZAR|[Kk]r\.?|Rs\.?|Rp\.?|SFr\.?|Fr\."
)
_UNIT = f"%|{_CURRENCY}"
_UNITS, _SIGN = re.compile(_UNIT), re.compile(f"{_UNIT}|:")
_SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "US$": "$", "BRL": "R$", "AUD": "A$"}
_SIGNS |= {"CAD": "C$", "CA$": "C$", "AU$": "A$", "SFr": "CHF", "Fr": "CHF", "Kr": "kr"}
_CURRENCIES = re.compile(_CURRENCY)
POINT_GROUPS = r"^\s*[-+]?(?:0|[1-9]\d{0,2}(?:\.\d{3})*)\s*$"
"""Matches whole numbers with points between thousands, if they have any."""
_POINT_THOUSANDS = re.compile(r"\(?[-+]?\d{1,3}(?:\.\d{3})+\)?")


def other_mark(decimal: str) -> str:
    """Return the comma for the point, and the reverse."""
    return _THOUSANDS[decimal]


def _pattern(decimal: str) -> re.Pattern[str]:
    """Match a number with this decimal mark, with or without separated thousands."""
    mark, other = re.escape(decimal), re.escape(_THOUSANDS[decimal])
    whole = rf"(?:\d{{1,3}}(?:{other}\d{{3}})+|\d{{1,3}}(?:['’ \u00a0\u202f]\d{{3}})+|\d+)"
    number = rf"(?:{whole}(?:{mark}(?:\d*|[-–]))?|{mark}\d+)(?:[eE][-+]?\d+)?"
    # Possessive quantifiers, so that spaces on both sides of a unit take linear time.
    unit = rf"[ \u00a0\u202f]*+(?:{_UNIT})[ \u00a0\u202f]*+"
    loss = rf"\((?:{unit})?{number}(?:{unit})?\)"  # (5.00) is -5, as accountants write it
    text = rf" *+(?:[-+]?{number}(?:{unit})?|{unit}[-+]?{number}|[-+]{unit}{number}|{loss}) *"
    return re.compile(text, re.ASCII)  # other libraries read no digits of other scripts


_PATTERNS = {decimal: _pattern(decimal) for decimal in _THOUSANDS}
# A time of day or a duration: 8:30, 08:30:15, 8:30 PM, 26:15:00 or 1 day 02:15:00, as pandas does.
_CLOCK = re.compile(
    r"\s*+(-?)(?:(\d{1,4}) days?,? )?(\d{1,4}):([0-5]\d)(?::([0-5]\d(?:[.,]\d+)?))?"
    r"(?:\s*+([AaPp])\.?[Mm]\.?)?\s*",
    re.ASCII,
)
_CODED = re.compile(r"0\d(?!:)")
_GROUPING = re.compile(r"['’\s]")
# A number before a word such as kg, Jahre, °C, m² or km/h, or before the 20 of 17/20. One capital
# letter stands apart: 101A is a code.
_POWER = r"(?:[²³]|(?<=m)[23])?"
_WORD = rf"[^\W\d_]{{1,12}}{_POWER}(?:/[^\W\d_]{{1,6}}{_POWER})?"
_MEASURE = re.compile(
    rf"\s*([-+]?\d[\d.,'’ \u00a0\u202f]*?)(?:\s+{_WORD}|\s*(?![A-Z]\s*$){_WORD}|\s*°{_WORD}|\s*°"
    r"|\s?/\s?[1-9]\d*)\.?\s*"
)
_MAX_MEASURE = 40  # characters, which bounds the time
MISSING = {"", "?", "-", "--", "–", "—", "NA", "N/A", "n/a", "#N/A", "<NA>"}
"""Cells that are missing in columns of any kind."""
MISSING |= {"NaN", "nan", "null", "NULL", "None"}
# Errors of formulas, as spreadsheet programs write them in several languages.
MISSING |= {"#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!", "#WERT!", "#BEZUG!"}
MISSING |= {"#ZAHL!", "#NV", "#VALEUR!", "#NOMBRE!", "#NOM?", "#¡VALOR!", "#¡REF!", "#N/D"}
# What people write for a number that they do not know, in lower case.
_UNKNOWN = {
    *("unknown", "not known", "not available", "no data", "missing", "error", "#error", "n.a."),
    *("n. a.", "n.a", "na", "n.d.", "nd", "nan", "nil", "none", "null", "k.a.", "k. a.", "k.a"),
    *("ka", "keine angabe", "keine angaben", "unbekannt", "nicht bekannt", "fehlt"),
    *(
        "don't know",
        "don’t know",
        "dont know",
        "do not know",
        "no answer",
        "not answered",
        "refused",
    ),
    *("prefer not to say", "prefer not to answer", "no response", "not applicable", "not stated"),
    *("weiß nicht", "weiss nicht", "keine antwort", "ne sait pas", "sans réponse", "no sabe"),
    *("ns/nc", "no contesta", "non so", "non risponde", "weet niet", "geen antwoord"),
    *("inconnu", "non renseigné", "nc", "desconocido", "sconosciuto", "onbekend", "desconhecido"),
    *("неизвестно", "不明", "未回答", "未知"),
}
# With fewer different numbers than this, a word such as unknown may be one of a few categories.
_MIN_NUMBERS = 20
# One to three digits, a comma and three digits: 1,234 may be a thousand or little more than one.
_AMBIGUOUS = re.compile(r"\s*[-+]?\d{1,3},\d{3}\s*")


def parse_plain_number(text: str) -> float:
    """Return the number that a text is, with digits of ASCII and a decimal point."""
    try:
        if not text.isascii() or "_" in text:  # Python's float takes both
            raise ValueError
        return float(text)
    except ValueError:
        raise ValueError(f"{shorten(text)} is not a number") from None


def is_number(text: str, decimal: str = ".") -> bool:
    """Return whether a cell is a number, with this decimal mark, or a time such as 08:30.

    Thousands may be apart, and a currency or a percent sign may stand beside it.
    """
    return any(pattern.fullmatch(text) for pattern in (_PATTERNS[decimal], _CLOCK))


def parse_number(text: str, decimal: str) -> float:
    """Return the number that a cell holds; `is_number` is true of it.

    10% is 0.1, which a spreadsheet holds where it shows 10%. Times are hours.
    """
    if time := _CLOCK.fullmatch(text):
        sign, days, hours, minutes, seconds, half = (part or "0" for part in time.groups())
        hour = int(hours) if half == "0" else int(hours) % 12 + 12 * (half in "Pp")
        size = 24 * int(days) + hour + int(minutes) / 60 + float(seconds.replace(",", ".")) / 3600
        return -size if sign == "-" else size
    plain = _GROUPING.sub("", _UNITS.sub("", text)).replace(_THOUSANDS[decimal], "")
    sign = -1 if plain.startswith("(") else 1
    plain = plain.strip("()").rstrip("-–").replace(decimal, ".")  # 5.- has no cents
    if "%" in text and "e" not in plain.lower():
        return sign * float(f"{plain}e-2")  # rounded once: 12.3 / 100 is not 0.123
    return sign * float(plain) / (100 if "%" in text else 1)


def parse_cell(text: str, decimal: str) -> float:
    """Return the number that a cell is, as people write it or else in Python's notation."""
    return parse_number(text, decimal) if is_number(text, decimal) else parse_plain_number(text)


def are_numbers(cells: Iterable[str], decimal: str) -> bool:
    """Return whether the cells of a column are numbers: no codes, and all of the same unit.

    Leading zeros, as in 01234, are those of a code. All numbers but 0 must have a percent sign or
    be times if one is, a currency may be missing.
    """
    cells = list(cells)
    bare = (_UNITS.sub("", cell).strip() for cell in cells)
    if not all(is_number(cell, decimal) for cell in cells) or any(map(_CODED.match, bare)):
        return False
    units = {unit_of(cell) for cell in cells if re.search("[1-9]", cell)}
    return len(units) <= 1 or (len(units) == 2 and "" in units and units.isdisjoint("%:"))


def unit_of(cell: str) -> str:
    """Return the currency or percent sign in a number, the colon of a time, or nothing."""
    found = _SIGN.search(cell)
    return _common_form(found[0]) if found else ""


@lru_cache
def _common_form(unit: str) -> str:
    """Return one of the ways of writing a unit: € for EUR, Rs for Rs. and m² for m2."""
    unit = unit.rstrip(".")
    return _SIGNS.get(unit, re.sub("(?<=m)[23]", lambda power: "²³"[power[0] == "3"], unit))


def split_unit(cell: str) -> tuple[str, str]:
    """Return a number and the unit after it, such as kg or, of 17/20, /20; without one, nothing."""
    found = _MEASURE.fullmatch(cell) if len(cell) <= _MAX_MEASURE else None
    if found is None:
        return cell, ""
    return found[1], re.sub(r"\s", "", cell[found.end(1) :]).rstrip(".")


def is_same_unit(first: str, second: str) -> bool:
    """Return whether units are the same: day and days, or an and ans, may differ by an ending."""
    first, second = _common_form(first), _common_form(second)
    short, long = sorted((first.casefold(), second.casefold()), key=len)
    ending = long[len(short) :]
    is_ending = re.fullmatch(r"[^\W\d_]{0,2}" if len(short) > 2 else "s", ending)
    return first == second or (len(short) > 1 and long.startswith(short) and bool(is_ending))


def find_unit(cells: Iterable[str]) -> str:
    """Return the unit that most cells of a column have; nothing if they have none or several."""
    counts = Counter(split_unit(cell)[1] for cell in cells)
    n_bare = counts.pop("", 0)
    unit = max(counts, key=lambda one: (counts[one], one), default="")
    is_one = all(is_same_unit(unit, other) for other in counts)
    return unit if is_one and n_bare < counts.total() else ""


def strip_units(cells: Iterable[str]) -> tuple[dict[str, str], str]:
    """Return the cells of a column without the unit that most of them have, and the unit.

    Those that say that a number is not known are left out, unless they may be categories.
    """
    cells = list(cells)
    known = [cell for cell in cells if not is_unknown(cell)]
    known = known if len(known) > _MIN_NUMBERS else cells
    unit = find_unit(known)
    return {cell: split_unit(cell)[0] if unit else cell for cell in known}, unit


def in_words(unit: str) -> str:
    """Return what a column of numbers with this unit holds."""
    words = {"%": "percentages, 10% is 0.1", ":": "times, in hours", "": "numbers"}
    return words.get(unit) or f"numbers {'out of' if unit[0] == '/' else 'in'} {unit.strip('/')}"


def is_unknown(cell: str) -> bool:
    """Return whether a cell among numbers says that the number is not known."""
    return cell.strip() in MISSING or cell.strip().casefold() in _UNKNOWN


def find_currency(cells: Iterable[str]) -> str:
    """Return the sign of the currency of numbers, of which some have one; nothing: none has."""
    return max((unit for unit in map(unit_of, cells) if unit not in "%:"), default="")


def is_currency(unit: str) -> bool:
    """Return whether a unit is a currency."""
    return unit != "%" and _UNITS.fullmatch(unit) is not None


def has_thousands(cell: str, decimal: str) -> bool:
    """Return whether the thousands of a number are separated."""
    bare = _UNITS.sub("", cell).strip()
    return not _CLOCK.fullmatch(cell) and (
        _THOUSANDS[decimal] in bare or _GROUPING.search(bare) is not None
    )


def guess_decimal(columns: Iterable[Iterable[str]], delimiter: str | None = None) -> str:
    """Return the decimal mark that the values of string columns show; a point without evidence.

    A comma, if a column is made of numbers with one and some of them cannot be read with a
    comma between thousands; where all could, it is a decimal comma in files that keep the comma
    for that, those with semicolons. A comma, too, if a point is followed by three digits in all
    amounts of a currency, since prices have no three decimals, or in all numbers of a column in
    which those without a point end below a thousand, such as 950 and 1.026.
    """
    ambiguous = False
    for values in columns:
        values = list(values)
        if _reach_thousands(values):
            return ","
        are_short = all(len(value) <= _MAX_MEASURE for value in values)
        bare = [(value, _CURRENCIES.sub("", value)) for value in values if are_short]
        amounts = [number.strip() for value, number in bare if "." in number and number != value]
        n_pointed = sum("." in number for _, number in bare)
        if len(amounts) == n_pointed > 0 and all(map(_POINT_THOUSANDS.fullmatch, amounts)):
            return ","
        if not any("," in value for value in values):
            continue
        numbers = [value for value in values if is_number(value, ",")]
        if len(numbers) >= 0.9 * len(values):  # the others may be words for missing values
            if not all(map(is_number, numbers)):
                return ","
            ambiguous |= all(_AMBIGUOUS.fullmatch(value) for value in numbers if "," in value)
    return "," if ambiguous and delimiter == ";" else "."


def _reach_thousands(values: list[str]) -> bool:
    """Return whether whole numbers have points between thousands and otherwise are below 1000."""
    lengths = {len(value.strip().lstrip("+-")) for value in values if "." not in value}
    is_pointed = any("." in value for value in values)
    return is_pointed and 3 in lengths and all(re.match(POINT_GROUPS, value) for value in values)


def have_commas(texts: Iterable[str], decimal: str | None) -> bool:
    """Return whether texts beside the numbers of a spreadsheet are numbers with a decimal comma.

    All of them are, but for words such as unknown; the mark is guessed unless it is given.
    """
    known = [split_unit(text)[0] for text in texts if not is_unknown(text)]
    return are_numbers(known, ",") and (decimal or guess_decimal([known], None)) == ","


def with_point(text: str) -> str:
    """Return a number with a decimal comma as one with a decimal point, and other texts as is."""
    is_one = ":" not in text and is_number(split_unit(text)[0], ",")
    return text.replace(".", "").replace(",", ".") if is_one else text
