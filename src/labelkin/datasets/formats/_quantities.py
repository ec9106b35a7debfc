"""Numbers with a unit, a limit or a flag beside them, as people write them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from labelkin._utils.files import shorten
from labelkin._utils.names import join_names
from labelkin.datasets.formats._units import (
    CURRENCY,
    FLAGS,
    TIME_LETTERS,
    as_time,
    common_form,
    hours_of,
    in_words,
    is_currency,
    ratio,
    size_of,
)

CLOCK = re.compile(
    r"\s*+(-?)(?:(\d{1,9}) days?,? )?(\d{1,4}):([0-5]\d)(?::([0-5]\d(?:[.,]\d+)?))?"
    r"(?:\s*+([AaPp])\.?[Mm]\.?|\s*+Uhr|\s*+h)?\s*",
    re.ASCII,
)
"""A time of day or a duration: 8:30, 08:30:15, 8:30 PM, 26:15:00 or 1 day 02:15:00."""
# 8h30, 2 uur 15 or 8.30 Uhr.
_HOURS_MINUTES = re.compile(
    r"\s*(\d{1,4})(?:\s?(?:[hu]|uur|hours?|Std\.?|godz\.?)\s?([0-5]\d)|\.([0-5]\d)\s+Uhr)\s*"
)
_ANCHOR = re.compile(r"\s*(\d{1,2})\s*[-–=:]\s*[^\W\d_][^\d]*")  # 1 - Poor
_HALF_DAY = re.compile(r"\s*(\d{1,2})\s*([AaPp])\.?\s?[Mm]\.?\s*")  # 7 PM
_FEET = re.compile(r"\s*(\d)['’′]\s?(\d{1,2})(?:[\"”″]|'')?\s*")  # 5'3"
_MINUTES = re.compile(r"\s*(\d+)['’′]\s*")  # 61'
_PART = re.compile(r"\s*(\d{1,4})\s*([^\W\d_]{1,9})\.?,?(?:\s+(?:and|und|et|y|e|en)(?=\s))?")
# PT22510800S as polars writes it, P1DT2H0M0S and P-1DT23H0M0S as pandas does.
_ISO = re.compile(
    r"\s*(-?)P(?:(-?\d+)D)?T(?=-?\d)(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:\.\d+)?)S)?\s*"
)
_LIMIT = re.compile(
    r"\s*+(?:[<>≤≥~≈±]=?|(?:ca\.?|circa|approx\.?|about|from|ab|um|gegen|vers|env\.?)\s)"
    r"\s*(?=[-+.,]?\d|[$£€¥])"
)
# 20+, 127 *, 0.5 + or 180 mg/dL H; alone, H and L may be units.
_FLAGGED = re.compile(
    r"\s*(?:([\d.,]*\d)(?:\+|\s*[*↑↓]{1,2}|\s+[-+]{1,2})"
    r"|([\d.,]*\d\s?(?:%|[^\W\d_]{1,12}(?:/[^\W\d_]{1,6})?))"
    r"(?:\s*[*↑↓]{1,2}|\s+\(?(?:HH?|LL?)\)?))\s*"
)
_YEAR = re.compile(r"\s*\[?(?:c|ca\.? ?|©)?([12]\d{3})\??\]?\s*")  # c1974 or [1974?], in catalogues
_SQUARE = re.compile(r"\bsq\.?\s?(ft|mi|km|m)\b\.?")
# A number before a word such as kg, Jahre, °C, m² or km/h, or before the 20 of 17/20. One capital
# letter after digits may be a unit, as in 230V, or make a code, as in 101B.
_LETTER = "[ACFJLNVW]"
_LETTERED = re.compile(rf".*\d{_LETTER}\s*")
_NUMBER = r"[-+]?\d[\d.,'’ \u00a0\u202f]*?"
_POWER = r"(?:[²³]|(?<=m)[23])?"
_WORD = rf"[^\W\d_]{{1,12}}{_POWER}(?:\.?/[^\W\d_]{{1,6}}{_POWER})?"
_MEASURE = re.compile(
    rf"\s*({_NUMBER})"
    rf"(?:\s+{_WORD}|{_LETTER}|\s*(?![A-Z]\s*$){_WORD}|\s*°{_WORD}|\s*°|\s?/\s?[1-9]\d*)\.?\s*"
)
# £1.2m, 350 k€ or 3 Mio. €, with the prefix of the unit; T€ are thousands.
_AMOUNT = re.compile(
    rf"\s*({CURRENCY})?\s*({_NUMBER})\s*([kK]|T(?=€)|[Tt]sd\.?|[mM]n?|[Mm]io\.?|[bB]n|[Mm]rd\.?)?"
    rf"\s*({CURRENCY})?\s*"
)
# After an amount: /week, per month, pcm (per calendar month), p.a. or /m².
_PER = re.compile(
    r"\s*(?:/|\b(?:per|pro|par|por|al)\s)\s*([^\W\d_]{1,9}[²³23]?)\.?\s*$"
    r"|\s+p\.?\s?(?:c\.?\s?)?([amw])\.?\s*$"
)
_PERIODS = {"a": "year", "m": "month", "w": "week"}
# Credits and debits, in English and, after two decimals, in German.
_ACCOUNT = re.compile(
    rf"\s*[-+]?({_NUMBER})\s*(?:CR|Cr|(DR|Dr))\s*|\s*[-+]?(\d[\d.,]*[.,]\d\d)\s?(?:H|(S))\s*"
)
# 5.00- or 13- EUR, as SAP writes negative numbers.
_TRAILING_MINUS = re.compile(r"^\s*(\d(?:[\d.,'’ \u00a0\u202f]*\d)?)-(?=\s*$|\s+\D)")
_GRADE = re.compile(r"^\s*(\d\d?)-\s*$")
_COUNT = re.compile(rf"\s*({_NUMBER})([kKM])\s*")  # 3.1K, and not 300 K
_THOUSAND_FOLD = {"k": "k", "t": "k", "m": "M", "b": "G"}
MAX_QUANTITY = 40
"""Characters of a number with its unit, at most, which bounds the time."""

MAX_CATEGORIES = 20
"""Different values of a column, at most, that may be categories, also if they are numbers."""


def without_limit(cell: str) -> str:
    """Return a cell without the mark of a limit: 0.5 for <0.5, ca. 0.5, 0.5+ and 0.5 + (high)."""
    if year := _YEAR.fullmatch(cell):
        return year[1]
    found = _LIMIT.match(cell)
    cell = cell[found.end() :] if found else cell
    flagged = _FLAGGED.fullmatch(cell)
    return flagged[1] or flagged[2] if flagged else cell


def split_units(cells: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return number and unit of different cells, without signs of limits, as 0.5 of <0.5.

    The signs stay if most cells have one, as <6 m and >6 m, or if cells, few enough to be
    categories, would be alike without them, as 3 and >3 or the grades 3 and 3-. A letter after
    digits is no unit if cells have several such letters, or the others are without any unit.
    """
    bare = {cell: without_limit(cell) for cell in cells}
    are_few = len(bare) <= MAX_CATEGORIES
    are_alike = are_few and len({_GRADE.sub(r"\1", text) for text in bare.values()}) < len(bare)
    if are_alike or 2 * sum(cell != text for cell, text in bare.items()) > len(bare):
        bare = {cell: cell for cell in bare}
    found = {cell: split_unit(text) for cell, text in bare.items()}
    codes = {cell for cell in bare if are_alike and _GRADE.fullmatch(cell)}
    if all(map(_TRAILING_MINUS.match, bare)):  # 1935-, 1940- are ranges without an end
        codes = {*bare}
    anchored = {cell for cell in bare if _ANCHOR.fullmatch(cell)}
    if 2 * len(anchored) > len(bare):
        codes |= anchored
    lettered = {cell for cell in bare if found[cell][1] and _LETTERED.fullmatch(bare[cell])}
    others = {own for cell, (_, own) in found.items() if cell not in lettered}
    if len({found[cell][1] for cell in lettered}) > 1 or others == {""}:
        codes |= lettered
    return found | {cell: (cell, "") for cell in codes}


def split_unit(cell: str) -> tuple[str, str]:
    """Return a number and its unit: € beside 5 €, kg, /20 of 17/20, hours of 8:30, or nothing.

    £1.2m are 1.2 M£, £1,250 pcm are in £/month, and 1.2M are 1.2 million. A percent sign stays with
    the number. Debits are negative: 5.00 DR, 5,00 S and 5.00-, and so is 13-.
    """
    if len(cell) > MAX_QUANTITY:
        return cell, ""
    cell = _TRAILING_MINUS.sub(r"-\1", cell) if "-" in cell else cell
    if duration := _ISO.fullmatch(cell):
        sign, *counts = duration.groups()
        sizes = zip(counts, (86_400, 3_600, 60, 1), strict=True)
        seconds = sum(float(count or 0) * size for count, size in sizes)
        cell = _as_clock(-seconds if sign else seconds)
    elif written := _HOURS_MINUTES.fullmatch(cell):
        cell = f"{written[1]}:{written[2] or written[3]}"
    elif half := _HALF_DAY.fullmatch(cell):
        cell = f"{half[1]}:00 {half[2]}M"
    elif size := _FEET.fullmatch(cell):
        return f"{int(size[1]) + int(size[2]) / 12:.6f}", "ft"
    elif played := _MINUTES.fullmatch(cell):
        return played[1], "min"
    elif parts := _duration(cell):
        return parts
    if CLOCK.fullmatch(cell):
        return cell, "hours"
    if anchor := _ANCHOR.fullmatch(cell):
        return anchor[1], ""
    if booked := _ACCOUNT.fullmatch(cell):
        return "-" * bool(booked[2] or booked[4]) + (booked[1] or booked[3]), ""
    if count := _COUNT.fullmatch(cell):
        return count[1], "million" if count[2] == "M" else "thousand"
    per = _PER.search(cell)
    amount = _AMOUNT.fullmatch(cell[: per.start()] if per else cell)
    if amount and bool(amount[1]) != bool(amount[4]):
        prefix = _THOUSAND_FOLD[amount[3][0].lower()] if amount[3] else ""
        of = f"/{common_form(per[1] or _PERIODS[per[2]])}" if per else ""
        return amount[2], prefix + common_form(amount[1] or amount[4]) + of
    cell = _SQUARE.sub(r"\1²", cell) if "sq" in cell else cell
    found = _MEASURE.fullmatch(cell)
    if found is None:
        return cell, ""
    return found[1], common_form(re.sub(r"\s", "", cell[found.end(1) :]).rstrip("."))


def _duration(cell: str) -> tuple[str, str] | None:
    """Return several numbers in units of one kind as one, with its unit; None: they are none.

    1 h 7 min are a time, 3 years 6 months are 42 months, and 5 lb 4 oz are 5.25 lb.
    """
    parts = _PART.findall(cell)
    if len(parts) < 2 or _PART.sub("", cell).strip():
        return None
    units = [TIME_LETTERS.get(unit, unit) for _, unit in parts]
    units = [as_time(unit, units) for unit in units]
    other = "month" if units[0] == "m" else "min"  # 6m 3d, and 2d 30m
    sizes = [hours_of(other if unit == "m" else unit) for unit in units]
    hours = sum(int(number) * size for (number, _), size in zip(parts, sizes, strict=True))
    if min(sizes) > 168:
        return f"{hours / 730.5:.0f}", "months"
    if min(sizes):
        return _as_clock(3600 * hours), "hours"
    found = [ratio(unit, units[0]) for unit in units]
    if not size_of(units[0]) or None in found:
        return None
    total = sum(int(number) * (by or 0) for (number, _), by in zip(parts, found, strict=True))
    return f"{total:.6f}", units[0]


def _as_clock(seconds: float) -> str:
    """Return a number of seconds as a time that `CLOCK` matches."""
    minutes, rest = divmod(round(abs(seconds), 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{'-' * (seconds < 0)}{hours // 24} days {hours % 24}:{minutes:02}:{rest:06.3f}"


def count_units(split: Mapping[str, tuple[str, str]], counts: Mapping[str, int]) -> Counter[str]:
    """Return how many rows have each unit, of numbers split from it; by default one per cell."""
    found = Counter[str]()
    for cell, (_, own) in split.items():
        found[own] += counts.get(cell, 1)
    return found


def is_bare(cell: str) -> bool:
    """Return whether a cell is a number without a unit, other than 0."""
    return not split_unit(without_limit(cell))[1] and re.search("[1-9]", cell) is not None


def doubt_times(cells: Iterable[str]) -> str:
    """Return what is doubtful about times such as 58:00 beside 1:02:10; nothing: they are clear."""
    found = [time for cell in {*cells} if (time := CLOCK.fullmatch(cell)) and not time[6]]
    long = sorted(time[0] for time in found if not time[5] and int(time[3]) > 23)
    full = sorted(time[0] for time in found if time[5])
    if not long or not full:
        return ""
    return (
        f"{long[0]} is read as hours and minutes beside {full[0]}; write 0:{long[0]} if it is not"
    )


def describe_numbers(cells: Iterable[str], unit: str) -> str:
    """Return what a column of numbers in a unit holds, with other units and limits in it."""
    bare = {cell: without_limit(cell) for cell in cells}
    own = {split_unit(text)[1] for text in bare.values()}
    others = sorted(one for one in own if one and ratio(one, unit) not in (None, 1.0))
    flags = own & FLAGS - {unit}
    limits = sorted(
        cell for cell, text in bare.items() if cell != text or split_unit(text)[1] in flags
    )
    text = in_words(unit)
    has_bare = unit and unit != "hours" and not is_currency(unit) and any(map(is_bare, bare))
    text += ", also where they have no unit" if has_bare and unit != "%" else ""
    text += f", converted from {join_names(others)}" if others else ""
    return text + (f", {shorten(limits[0], 20)} read as the number" if limits else "")
