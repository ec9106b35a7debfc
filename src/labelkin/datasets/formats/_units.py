"""Units beside numbers: how they are written, and which can be converted into each other."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from labelkin._utils.files import shorten
from labelkin._utils.names import join_names

# Signs, such as € or R$, codes of ISO 4217 and abbreviations that stand before amounts.
CURRENCY = (
    r"[A-Z]{0,3}[$£¥฿₠-₿]|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HUF|INR|JPY|MXN|NOK|PLN|SEK|TRY|USD"
    r"|ZAR|zł|[Kk]r\.?|Rs\.?|Rp\.?|SFr\.?|Fr\."
)
_IS_CURRENCY = re.compile(CURRENCY)
_SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "US$": "$", "BRL": "R$", "AUD": "A$"}
_SIGNS |= {"CAD": "C$", "CA$": "C$", "AU$": "A$", "SFr": "CHF", "Fr": "CHF", "Kr": "kr"}
_SIGNS |= {"PLN": "zł"}
CLOCK = re.compile(
    r"\s*+(-?)(?:(\d{1,4}) days?,? )?(\d{1,4}):([0-5]\d)(?::([0-5]\d(?:[.,]\d+)?))?"
    r"(?:\s*+([AaPp])\.?[Mm]\.?)?\s*",
    re.ASCII,
)
"""A time of day or a duration: 8:30, 08:30:15, 8:30 PM, 26:15:00 or 1 day 02:15:00."""
_ISO = re.compile(r"\s*P(?:(\d+)D)?T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?\s*")
_LIMIT = re.compile(r"\s*+[<>≤≥~≈]=?\s*(?=[-+.,]?\d|[$£€¥])")
# A number before a word such as kg, Jahre, °C, m² or km/h, or before the 20 of 17/20. One capital
# letter stands apart: 101A is a code.
_NUMBER = r"[-+]?\d[\d.,'’ \u00a0\u202f]*?"
_POWER = r"(?:[²³]|(?<=m)[23])?"
_WORD = rf"[^\W\d_]{{1,12}}{_POWER}(?:/[^\W\d_]{{1,6}}{_POWER})?"
_MEASURE = re.compile(
    rf"\s*({_NUMBER})(?:\s+{_WORD}|\s*(?![A-Z]\s*$){_WORD}|\s*°{_WORD}|\s*°|\s?/\s?[1-9]\d*)\.?\s*"
)
# £1.2m, 350 k€ or 3 Mio. €, with the prefix of the unit; T€ are thousands.
_AMOUNT = re.compile(
    rf"\s*({CURRENCY})?\s*({_NUMBER})\s*([kK]|T(?=€)|[Tt]sd\.?|[mM]n?|[Mm]io\.?|[bB]n|[Mm]rd\.?)?"
    rf"\s*({CURRENCY})?\s*"
)
_THOUSAND_FOLD = {"k": "k", "t": "k", "m": "M", "b": "G"}
MAX_QUANTITY = 40
"""Characters of a number with its unit, at most, which bounds the time."""

# Hours in units of time, in English, German, French, Spanish, Italian, Portuguese and Dutch.
_HOURS = {
    1 / 3600: "s sec second sekunde seconde segundo secondo",
    1 / 60: "min minute minuto minuut",
    1: "h hr hour std stunde heure hora ora uur",
    24: "d day tag jour día dia giorno dag",
    168: "wk week woche semaine semana settimana",
    730.5: "month mon monat mois mes mese mês maand",
    8766: "y yr year jahr an année año anno ano jaar",
}
_WORDS = {word: ("time", size) for size, words in _HOURS.items() for word in words.split()}
_WORDS |= {"oz": ("g", 28.349523), "lb": ("g", 453.59237), "t": ("g", 1e6)}
_WORDS |= {"in": ("m", 0.0254), "ft": ("m", 0.3048), "mi": ("m", 1609.344)}
_PREFIXES = {"n": 1e-9, "μ": 1e-6, "m": 1e-3, "c": 1e-2, "d": 0.1}
_PREFIXES |= {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "": 1.0}
_BASES = {"g", "m", "l", "L", "M", "mol", "B", "W", "Wh", "J", "Hz", "V", "A", "Pa"}


def without_limit(cell: str) -> str:
    """Return a cell without the sign before a limit: 0.5 for <0.5, which is all that is known."""
    found = _LIMIT.match(cell)
    return cell[found.end() :] if found else cell


def split_unit(cell: str) -> tuple[str, str]:
    """Return a number and its unit: € beside 5 €, kg, /20 of 17/20, hours of 8:30, or nothing.

    £1.2m are 1.2 M£. A percent sign stays with the number.
    """
    if len(cell) > MAX_QUANTITY:
        return cell, ""
    if duration := _ISO.fullmatch(cell):  # as pandas writes it in JSON
        days, hours, minutes, seconds = (float(part or 0) for part in duration.groups())
        cell = f"{days:.0f} days {hours:.0f}:{minutes:02.0f}:{seconds:06.3f}"
    if CLOCK.fullmatch(cell):
        return cell, "hours"
    amount = _AMOUNT.fullmatch(cell)
    if amount and bool(amount[1]) != bool(amount[4]):
        prefix = _THOUSAND_FOLD[amount[3][0].lower()] if amount[3] else ""
        return amount[2], prefix + common_form(amount[1] or amount[4])
    found = _MEASURE.fullmatch(cell)
    if found is None:
        return cell, ""
    return found[1], common_form(re.sub(r"\s", "", cell[found.end(1) :]).rstrip("."))


@lru_cache
def common_form(unit: str) -> str:
    """Return one of the ways of writing a unit: € for EUR, Rs for Rs. and m² for m2."""
    unit = unit.rstrip(".").replace("µ", "μ")  # the sign of micro, and the Greek letter
    return _SIGNS.get(unit, re.sub("(?<=m)[23]", lambda power: "²³"[power[0] == "3"], unit))


def ratio(unit: str, to: str) -> float | None:
    """Return by what a number in a unit is multiplied for another; None: they are not of one kind.

    A number without a unit is taken as it is.
    """
    own, other = _size_of(unit), _size_of(to)
    if own and other and own[0] == other[0]:
        return own[1] / other[1]
    return 1.0 if not unit or _is_same(unit, to) else None


@lru_cache
def _is_same(first: str, second: str) -> bool:
    """Return whether units are the same: day and days, or an and ans, may differ by an ending."""
    first, second = common_form(first), common_form(second)
    short, long = sorted((first.casefold(), second.casefold()), key=len)
    is_ending = re.fullmatch(r"[^\W\d_]{0,2}" if len(short) > 2 else "s", long[len(short) :])
    return first == second or (len(short) > 1 and long.startswith(short) and bool(is_ending))


@lru_cache
def _size_of(unit: str) -> tuple[str, float] | None:
    """Return what a unit measures, and its size; None: it is not known."""
    unit, slash, per = unit.partition("/")
    if slash:  # mg/l
        found = _size_of(unit) if unit else None
        return found and (f"{found[0]}/{per}", found[1])
    for end in (0, 1, 2):  # of a plural
        word = unit.casefold()[: len(unit) - end]
        if word in _WORDS and (end == 0 or len(word) > 2):
            return _WORDS[word]
    for prefix, size in _PREFIXES.items():
        base = unit.removeprefix(prefix)
        if prefix + base == unit and (base in _BASES or is_currency(base)):
            return base.lower() if base == "L" else base, size
    return None


def main_unit(units: Iterable[str]) -> str:
    """Return the most frequent unit of numbers; nothing: most have none, and those no currency."""
    counts = Counter(units)
    n_bare = counts.pop("", 0)
    unit = max(counts, key=lambda one: (counts[one], one), default="")
    return unit if n_bare < counts.total() or is_currency(unit) else ""


def is_currency(unit: str) -> bool:
    """Return whether a unit is a currency."""
    return _IS_CURRENCY.fullmatch(unit) is not None


def in_words(unit: str) -> str:
    """Return what a column of numbers with this unit holds."""
    words = {"%": "percentages, 10% is 0.1", "hours": "times, in hours", "": "numbers"}
    return words.get(unit) or f"numbers {'out of' if unit[0] == '/' else 'in'} {unit.strip('/')}"


def describe_numbers(cells: Iterable[str], unit: str) -> str:
    """Return what a column of numbers in a unit holds, with other units and limits in it."""
    bare = {cell: without_limit(cell) for cell in cells}
    own = {split_unit(text)[1] for text in bare.values()}
    others = sorted(one for one in own if one and ratio(one, unit) not in (None, 1.0))
    limits = sorted(cell for cell, text in bare.items() if cell != text)
    text = in_words(unit)
    text += f", converted from {join_names(others)}" if others else ""
    return text + (f", {shorten(limits[0], 20)} read as the number" if limits else "")
