"""Numbers as people write them: decimal marks, separated thousands, currencies and units."""

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Any

from labelkin._utils.files import shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._quantities import (
    CLOCK,
    MAX_CATEGORIES,
    count_units,
    split_unit,
    split_units,
    without_limit,
)
from labelkin.datasets.formats._units import (
    CURRENCY,
    FLAGS,
    common_form,
    is_currency,
    main_unit,
    ratio,
)

_THOUSANDS = {".": ",", ",": "."}
_UNIT = f"%|{CURRENCY}"
_UNITS, _SIGN = re.compile(_UNIT), re.compile(f"{_UNIT}|:")
POINT_GROUPS = r"^\s*[-+]?(?:0|[1-9]\d{0,2}(?:\.\d{3})*)\s*$"
"""Matches whole numbers with points between thousands, if they have any."""


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
CODED = re.compile(r"0\d(?!:)")
"""Matches the beginning of a code such as 01.11, as opposed to a number or a time."""
_POINT_THOUSANDS = re.compile(r"\(?[-+]?[1-9]\d{0,2}(?:\.\d{3})+\)?")
_GROUPING = re.compile(r"['’\s]")
MISSING = {"", "?", "-", "--", "–", "—", "NA", "N/A", "n/a", "#N/A", "<NA>"}
"""Cells that are missing in columns of any kind."""
MISSING |= {"NaN", "nan", "null", "NULL", r"\N"}
# Errors of formulas, as spreadsheet programs write them in several languages.
MISSING |= {"#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!", "#WERT!", "#BEZUG!"}
MISSING |= {"#ZAHL!", "#NV", "#VALEUR!", "#NOMBRE!", "#NOM?", "#¡VALOR!", "#¡REF!", "#N/D"}
# What people write for a number that they do not know, in lower case.
_UNKNOWN_WORDS = (
    "unknown|not known|not available|no data|missing|error|#error|n.a.|n. a.|n.a|na|n.d.|nd|nan|"
    "nil|none|null|k.a.|k. a.|k.a|ka|keine angabe|keine angaben|unbekannt|nicht bekannt|fehlt|"
    "don't know|don’t know|dont know|do not know|no answer|not answered|refused|"
    "prefer not to say|prefer not to answer|no response|not applicable|not stated|weiß nicht|"
    "weiss nicht|keine antwort|ne sait pas|sans réponse|no sabe|ns/nc|no contesta|non so|"
    "non risponde|weet niet|geen antwoord|inconnu|non renseigné|nc|desconocido|sconosciuto|"
    "o. d.|o.d.|s. d.|s.d.|undated|undatiert|ohne datum|"
    "onbekend|desconhecido|неизвестно|不明|未回答|未知|n.b.|n. b.|n.b|b/d|b.d.|brak danych|brak"
)
_UNKNOWN = frozenset(_UNKNOWN_WORDS.split("|"))
_SAMPLE = 1000  # values of a column from which it is told whether they may be numbers
# One to three digits, a mark and three digits: 1,234 may be a thousand or little more than one.
_AMBIGUOUS = re.compile(r"\s*[-+]?\d{1,3}[.,]\d{3}\s*")


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
    return any(pattern.fullmatch(text) for pattern in (_PATTERNS[decimal], CLOCK))


def parse_number(text: str, decimal: str) -> float:
    """Return the number that a cell holds; `is_number` is true of it.

    10% is 0.1, which a spreadsheet holds where it shows 10%. Times are hours.
    """
    if time := CLOCK.fullmatch(text):
        sign, days, hours, minutes, seconds, half = (part or "0" for part in time.groups())
        hour = int(hours) if half == "0" else int(hours) % 12 + 12 * (half in "Pp")
        size = 24 * int(days) + hour + int(minutes) / 60 + float(seconds.replace(",", ".")) / 3600
        return -size if sign == "-" else size
    plain = plain_number(_UNITS.sub("", text), decimal)
    sign = -1 if plain.startswith("(") else 1
    plain = plain.strip("()").rstrip("-–")  # 5.- has no cents
    if "%" in text and "e" not in plain.lower():
        return sign * float(f"{plain}e-2")  # rounded once: 12.3 / 100 is not 0.123
    return sign * float(plain) / (100 if "%" in text else 1)


def plain_number(text: str, decimal: str) -> str:
    """Return a number with a decimal point and without marks and spaces between thousands."""
    return _GROUPING.sub("", text).replace(_THOUSANDS[decimal], "").replace(decimal, ".")


def is_any_number(text: str, decimal: str) -> bool:
    """Return whether a cell is a number with this decimal mark, or else only with the other one."""
    return is_number(text, decimal) or is_number(text, other_mark(decimal))


def parse_cell(text: str, decimal: str) -> float:
    """Return the number that a cell is, as people write it or else in Python's notation."""
    for mark in (decimal, other_mark(decimal)):
        if is_number(text, mark):
            return parse_number(text, mark)
    return parse_plain_number(text)


def are_numbers(cells: Iterable[str], decimal: str, unit: str = "", mixed: bool = False) -> bool:
    """Return whether the cells of a column are numbers: no codes, and all of the same unit.

    If `mixed`, some have the other decimal mark, as 36,7 beside 36.7, and none of these may stand
    between thousands. Leading zeros, as in 01234, are those of a code. All numbers but 0 must have
    a percent sign if one has, and be times if one is, unless these are in the `unit`; a currency
    may be missing.
    """
    cells = list(cells)
    bare = (_UNITS.sub("", cell).strip() for cell in cells)
    is_one = is_any_number if mixed else is_number
    if not all(is_one(cell, decimal) for cell in cells) or any(map(CODED.match, bare)):
        return False
    if mixed and any(map(_AMBIGUOUS.fullmatch, cells)):
        return False
    signs = {sign_of(cell) for cell in cells if re.search("[1-9]", cell)}
    are_alike = "%" not in signs and (":" not in signs or bool(unit))
    return len(signs) <= 1 or (len(signs) == 2 and "" in signs and are_alike)


def sign_of(cell: str) -> str:
    """Return the currency or percent sign in a number, the colon of a time, or nothing."""
    found = _SIGN.search(cell)
    return common_form(found[0]) if found else ""


def strip_units(
    cells: Iterable[str], counts: Mapping[str, int] | None = None
) -> tuple[dict[str, tuple[str, float]], str]:
    """Return number and factor of different cells, in the unit of most of them; and the unit.

    `counts` are the numbers of rows with each cell; by default, they are equal. The unit is empty
    if they have none, or several that cannot be converted. Cells that say that a number is not
    known are left out, unless they may be categories.
    """
    cells = list(cells)
    known = [cell for cell in cells if not is_unknown(cell)]
    known = known if len(known) > MAX_CATEGORIES else cells
    split = split_units(known)
    unit = main_unit(count_units(split, counts or {}))
    found = {cell: (text, ratio(own, unit)) for cell, (text, own) in split.items()}
    has_times = any(CLOCK.fullmatch(text) for text, _ in split.values())
    is_mixed = has_times and any(not own and text.strip("0.,") for text, own in split.values())
    if is_mixed or any(factor is None for _, factor in found.values()):
        plain = {"", *FLAGS}
        return {c: (text if own in plain else c, 1.0) for c, (text, own) in split.items()}, ""
    return {cell: (text, factor or 0.0) for cell, (text, factor) in found.items()}, unit


def is_unknown(cell: str) -> bool:
    """Return whether a cell among numbers says that the number is not known."""
    return cell.strip() in MISSING or cell.strip().casefold() in _UNKNOWN


def have_digits(values: Iterable[str]) -> bool:
    """Return whether most of the first values of a column have a digit, as numbers have."""
    first = [*islice(values, _SAMPLE)]
    return 2 * sum(re.search(r"\d", value) is not None for value in first) >= len(first)


def has_thousands(cell: str, decimal: str) -> bool:
    """Return whether the thousands of a number are separated."""
    bare = _UNITS.sub("", cell).strip()
    return not CLOCK.fullmatch(cell) and (
        _THOUSANDS[decimal] in bare or _GROUPING.search(bare) is not None
    )


def guess_decimal(
    columns: Iterable[Collection[str]], delimiter: str | None = None, likely: str | None = None
) -> str | None:
    """Return the decimal mark that the values of string columns show; None: they show none.

    A comma, if a column is made of numbers with one and some of them cannot be read with a
    comma between thousands; where all could, it is a decimal comma in files that keep the comma
    for that, those with semicolons. In these, points between thousands mean a comma, too, if they
    can be such in all numbers. So do points in amounts of a currency (and commas in them mean a
    point), since prices have no three decimals, and those of a column in which numbers without a
    point end below a thousand, such as 950 and 1.026. Points that can be decimal ones are such
    where this is `likely`.
    """
    has_point = is_open = False
    for values in columns:
        written, unit = strip_units(values) if have_digits(values) else ({}, "")
        texts = [text.strip() for text, _ in written.values()]
        pointed = [text for text in texts if "." in text]
        are_groups = bool(pointed) and all(map(_POINT_THOUSANDS.fullmatch, pointed))
        are_prices = is_currency(unit.partition("/")[0])
        seem_groups = _reach_thousands(texts) or (are_groups and are_prices)
        if seem_groups and likely != ".":
            return ","
        # The others may be words for missing values.
        numbers = [text for text in texts if is_number(text, ",") or is_number(text)]
        if len(numbers) < 0.9 * len(texts):
            continue
        can_be_point = all(map(is_number, numbers))
        if not can_be_point and all(is_number(number, ",") for number in numbers):
            return ","
        with_comma = [text for text in numbers if "," in text]
        are_ambiguous = bool(with_comma) and all(map(_AMBIGUOUS.fullmatch, with_comma))
        is_open |= are_groups or are_ambiguous
        has_point |= bool(pointed) and not are_groups and can_be_point
        has_point |= are_ambiguous and are_prices
    if is_open and delimiter == ";" and not has_point and likely != ".":
        return ","
    return "." if has_point else None


def _reach_thousands(values: list[str]) -> bool:
    """Return whether whole numbers have points between thousands and otherwise are below 1000."""
    lengths = {len(value.lstrip("+-")) for value in values if "." not in value}
    is_pointed = any("." in value for value in values)
    return is_pointed and 3 in lengths and all(re.match(POINT_GROUPS, value) for value in values)


def may_be_thousands(cell: str) -> bool:
    """Return whether a mark in a number may be the decimal mark, or one between thousands."""
    return _AMBIGUOUS.fullmatch(split_unit(cell)[0]) is not None


def have_commas(texts: Iterable[str], decimal: str | None) -> bool:
    """Return whether texts beside the numbers of a spreadsheet are numbers with a decimal comma.

    All of them are, but for words without digits; the mark is guessed unless it is given.
    """
    known = [text for text in texts if re.search(r"\d", text)]
    written, unit = strip_units(known)
    are_all = are_numbers((text for text, _ in written.values()), ",", unit)
    return are_all and (decimal or guess_decimal([known])) == ","


def with_point(text: str) -> str:
    """Return a number with a decimal comma as one with a decimal point, and other texts as is."""
    is_one = ":" not in text and is_number(split_unit(without_limit(text))[0], ",")
    # The point of an abbreviation, as in ca. 1.000, stays.
    return re.sub(r"(?<=\d)\.(?=\d)", "", text).replace(",", ".") if is_one else text


def plain_values(cells: Any) -> Any:
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


def distinct_cells(cells: Any) -> list[str]:
    """Return the different values of a column."""
    return cells.unique().drop_null().to_pylist()


def count_cells(cells: Any) -> dict[str, int]:
    """Return the number of rows with each value of a column."""
    found = cells.value_counts()
    return dict(zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True))
