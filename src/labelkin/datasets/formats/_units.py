"""Units beside numbers: how they are written, and which can be converted into each other."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
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
_SIGNS |= {"PLN": "zł", "Euro": "€", "Euros": "€", "euro": "€", "euros": "€"}
_SIGNS |= {"dollars": "$", "Dollar": "$", "sqft": "ft²", "sqm": "m²", "qm": "m²", "mq": "m²"}
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
_HALF_DAY = re.compile(r"\s*(\d{1,2})\s*([AaPp])\.?\s?[Mm]\.?\s*")  # 7 PM
_FEET = re.compile(r"\s*(\d)['’′]\s?(\d{1,2})(?:[\"”″]|'')?\s*")  # 5'3"
_MINUTES = re.compile(r"\s*(\d+)['’′]\s*")  # 61'
_PART = re.compile(r"\s*(\d{1,4})\s*([^\W\d_]{1,9})\.?,?(?:\s+(?:and|und|et|y|e|en)(?=\s))?")
# PT22510800S as polars writes it, P1DT2H0M0S and P-1DT23H0M0S as pandas does.
_ISO = re.compile(
    r"\s*(-?)P(?:(-?\d+)D)?T(?=-?\d)(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:\.\d+)?)S)?\s*"
)
_STATED = re.compile(r"\s*[\[(]\s*([^\])]{1,20}?)\s*[\])]\s*$")  # the unit in Weight (kg)
_LIMIT = re.compile(
    r"\s*+(?:[<>≤≥~≈±]=?|(?:ca\.?|circa|approx\.?|about|from|ab|um|gegen|vers|env\.?)\s)\s*(?=[-+.,]?\d|[$£€¥])"
)
# 20+, 127 *, 0.5 + or 180 mg/dL H; alone, H and L may be units.
_FLAGGED = re.compile(
    r"\s*(?:([\d.,]*\d)(?:\+|\s*[*↑↓]{1,2}|\s+[-+]{1,2})"
    r"|([\d.,]*\d\s?(?:%|[^\W\d_]{1,12}(?:/[^\W\d_]{1,6})?))(?:\s*[*↑↓]{1,2}|\s+\(?(?:HH?|LL?)\)?))\s*"
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

FLAGS = {"H", "HH", "L", "LL"}
"""What laboratories write beside values that are high or low; L is a litre, too."""

# Units of time in hours, in English, German, French, Spanish, Italian, Portuguese, Dutch, Polish.
_HOURS = {
    1 / 3_600_000: "ms msec millisecond",
    1 / 3600: "s sec second sek sekunde seconde segundo secondo sekund sekunda",
    1 / 60: "min minute minuto minuut minut minuta",
    1: "h hr hour std stunde heure hora ora uur uhr godz godzin godzina",
    24: "d day tag jour día dia giorno dag dni dzień",
    168: "w wk week woche semaine semana settimana tydz tydzień tygodni",
    730.5: "mo mth month mon monat mois mes mese mês maand mies miesiąc miesięcy",
    8766: "y yr year jahr an année año anno ano jaar rok lat",
}
# Beside other units of time, such as 3 J. 6 M.
_LETTERS = {"J": "year", "a": "year", "M": "month", "u": "hour"}
_WORDS = {word: ("time", size) for size, words in _HOURS.items() for word in words.split()}
# What is measured in years, as the name of a column.
_AGES = {"age", "ages", "alter", "lebensalter", "âge", "edad", "età", "idade", "leeftijd"}
_WORDS |= {"thousand": ("number", 1e3), "million": ("number", 1e6)}
_COUNTS = "x mal times fois keer veces volte pc pcs piece stk stück stuks szt pz pezzi ud"
_WORDS |= dict.fromkeys(_COUNTS.split(), ("number", 1.0))
_WORDS |= {"oz": ("g", 28.349523), "lb": ("g", 453.59237), "gr": ("g", 1.0), "mol": ("mol", 1.0)}
_WORDS |= dict.fromkeys(("t", "ton", "tonne"), ("g", 1e6))
_METRIC = {"gram": ("g", 1.0), "gramm": ("g", 1.0), "gramme": ("g", 1.0), "meter": ("m", 1.0)}
_METRIC |= {"metre": ("m", 1.0), "liter": ("m³", 1e-3), "litre": ("m³", 1e-3)}
_WORDS |= {
    prefix + word: (base, size * factor)
    for word, (base, size) in _METRIC.items()
    for prefix, factor in {"": 1.0, "kilo": 1e3, "centi": 1e-2, "milli": 1e-3}.items()
}
_WORDS |= {"inch": ("m", 0.0254), "ft": ("m", 0.3048), "mi": ("m", 1609.344)}
_WORDS |= {"mph": ("m/time", 1609.344), "kmh": ("m/time", 1000.0)}
_WORDS |= {"psi": ("Pa", 6894.757), "mmHg": ("Pa", 133.322), "ha": ("m²", 1e4)}
_WORDS |= {"rpm": ("turn/time", 60.0), **dict.fromkeys(("obr", "U", "tr"), ("turn", 1.0))}
_PREFIXES = {"n": 1e-9, "μ": 1e-6, "m": 1e-3, "c": 1e-2, "d": 0.1, "h": 100.0}
_PREFIXES |= {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_PREFIXES |= {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "": 1.0}
_BASES = ("g", "m", "M", "mol", "B", "W", "J", "Hz", "V", "A", "N", "Nm", "Pa")
_SIZES = {base: (base, 1.0) for base in _BASES}
_SIZES |= {"l": ("m³", 1e-3), "L": ("m³", 1e-3), "bar": ("Pa", 1e5), "Wh": ("J", 3600.0)}
_CASED = {"kg", "mg", "km", "cm", "mm", "ml", "kB", "MB", "GB", "TB", "kWh", "kHz", "MHz", "GHz"}
_CASED |= {"bar", "hPa", "kPa", "MPa", "kN", "kNm"}
_USUAL = {unit.lower(): unit for unit in _CASED}


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
    units = [_LETTERS.get(unit, unit) for _, unit in parts]
    units = [_as_time(unit, units) for unit in units]
    other = "month" if units[0] == "m" else "min"  # 6m 3d, and 2d 30m
    sizes = [_hours(other if unit == "m" else unit) for unit in units]
    hours = sum(int(number) * size for (number, _), size in zip(parts, sizes, strict=True))
    if min(sizes) > 168:
        return f"{hours / 730.5:.0f}", "months"
    if min(sizes):
        return _as_clock(3600 * hours), "hours"
    found = [ratio(unit, units[0]) for unit in units]
    if not _size_of(units[0]) or None in found:
        return None
    total = sum(int(number) * (by or 0) for (number, _), by in zip(parts, found, strict=True))
    return f"{total:.6f}", units[0]


def _as_clock(seconds: float) -> str:
    """Return a number of seconds as a time that `CLOCK` matches."""
    minutes, rest = divmod(round(abs(seconds), 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{'-' * (seconds < 0)}{hours // 24} days {hours % 24}:{minutes:02}:{rest:06.3f}"


def _hours(unit: str) -> float:
    """Return the size of a unit of time in hours; 0 of other units."""
    kind, size = _size_of(unit) or ("", 0.0)
    return size if kind == "time" else 0.0


def _as_time(unit: str, others: Iterable[str]) -> str:
    """Return the word for a letter that is a unit of time beside others.

    m are minutes beside hours, minutes or seconds, and otherwise months beside years or months.
    """
    sizes = [size for other in others if (size := _hours(other))]
    if unit == "m" and sizes:
        return "min" if min(sizes) <= 1 else "month" if max(sizes) > 168 else unit
    return _LETTERS.get(unit, unit) if sizes else unit


@lru_cache
def common_form(unit: str) -> str:
    """Return one of the ways of writing a unit: € for EUR, Rs for Rs. and m² for m2."""
    unit = unit.rstrip(".").replace("µ", "μ")  # the sign of micro, and the Greek letter
    return _SIGNS.get(unit, re.sub("(?<=m)[23]", lambda power: "²³"[power[0] == "3"], unit))


def ratio(unit: str, to: str) -> float | None:
    """Return by what a number in a unit is multiplied for another; None: they are not of one kind.

    A number without a unit, or with a flag, is taken as it is.
    """
    own, other = _size_of(_as_time(unit, [to])), _size_of(to)
    if own and own[0] == "number" and not to:
        return own[1]
    if own and other and (own[0] == other[0] or (own[0] == "number" and is_currency(other[0]))):
        return own[1] / other[1]  # also 2.5k beside €2,500
    return 1.0 if not unit or unit in FLAGS or _is_same(unit, to) else None


def unit_in_name(unit: str, name: str) -> str:
    """Return the unit of the same kind that the name of a column states, or nothing.

    As in weight_kg, Age (y) or distanceInMeters.
    """
    words = re.findall(r"[^\W\d_]+[²³]?(?:/[^\W\d_]+)?", re.sub("(?<=[a-z])In(?=[A-Z])", "_", name))
    ages = "year" if _hours(unit) >= 24 else ""  # 60s is no age
    words = [ages if word.casefold() in _AGES else word for word in reversed(words)]
    return next((word for word in words if word and ratio(unit, word) is not None), "")


def ratio_to_name(unit: str, name: str) -> float | None:
    """Return the same for the unit that the name of a column states."""
    stated = unit_in_name(unit, name)
    return ratio(unit, stated) if stated else None


def ratio_of_names(name: str, other: str, unit: str) -> float | None:
    """Return the ratio of the units in which two names differ, as weight_lb and weight_kg do.

    So may Weight (lb) and Weight, whose numbers are in the `unit` if they have one.
    """
    bare, own = _STATED.sub("", name), _STATED.search(name)
    if own and bare == other and _size_of(common_form(own[1])):
        return ratio(common_form(own[1]), unit) if unit else 1.0
    if name == _STATED.sub("", other):
        return 1.0
    words = [re.split(r"([^\W\d_]+[²³]?(?:/[^\W\d_]+[²³]?)?)", one) for one in (name, other)]
    if len(words[0]) != len(words[1]):
        return None
    pairs = [(one, two) for one, two in zip(*words, strict=True) if one != two]
    units = [*map(common_form, pairs[0])] if len(pairs) == 1 else [""]
    if max(map(len, units)) < 2 or not all(map(_size_of, units)):
        return None
    return ratio(*units)


@lru_cache
def _is_same(first: str, second: str) -> bool:
    """Return whether units are the same: day and days, or an and ans, may differ by an ending."""
    first, second = common_form(first), common_form(second)
    short, long = sorted((first.casefold(), second.casefold()), key=len)
    is_ending = re.fullmatch(r"[^\W\d_]{0,2}" if len(short) > 2 else "s?", long[len(short) :])
    return first == second or (len(short) > 1 and long.startswith(short) and bool(is_ending))


@lru_cache
def _size_of(unit: str) -> tuple[str, float] | None:
    """Return what a unit measures, and its size; None: it is not known."""
    unit, slash, per = unit.partition("/")
    if not unit:
        return None
    if slash:  # mg/l
        found, below = _size_of(unit), _size_of(per) or (per, 1.0)
        return found and (f"{found[0]}/{below[0]}", found[1] / below[1])
    if unit in _WORDS:
        return _WORDS[unit]
    power = " ²³".find(unit[-1]) + 1
    if power > 1 and (side := _size_of(unit[:-1])):
        return f"{side[0]}{unit[-1]}", side[1] ** power
    for end in (0, 1, 2):  # of a plural
        word = unit.casefold()[: len(unit) - end]
        if word in _WORDS and len(word) > max(1, end):
            return _WORDS[word]
    for prefix, size in _PREFIXES.items():
        base = unit.removeprefix(prefix)
        if prefix + base == unit and (base in _SIZES or is_currency(base)):
            kind, factor = _SIZES.get(base, (base, 1.0))
            return kind, size * factor
    usual = _USUAL.get(unit.lower(), unit)
    return None if usual == unit else _size_of(usual)


def count_units(split: Mapping[str, tuple[str, str]], counts: Mapping[str, int]) -> Counter[str]:
    """Return how many rows have each unit, of numbers split from it; by default one per cell."""
    found = Counter[str]()
    for cell, (_, own) in split.items():
        found[own] += counts.get(cell, 1)
    return found


def main_unit(counts: Counter[str]) -> str:
    """Return the most frequent unit of numbers; nothing: most have none.

    A currency, or a unit that is the only one, is that of numbers without any, too; beside
    these, or amounts of another size, it is the currency itself, and not millions of it. L is a
    flag where H is one, too, or most numbers have neither. Thousands are no unit.
    """
    counts = counts.copy()
    # A single 3 s among lengths in m does not make these minutes.
    n_times = sum(counts[unit] for unit in counts if _hours(unit))
    has_times = "hours" in counts or 10 * n_times >= counts.total()
    words = {unit: _as_time(unit, counts) for unit in counts if has_times}
    numbers = [own for own in counts if (_size_of(own) or ("",))[0] == "number"]  # such as million
    counts[""] += sum(counts.pop(own) for own in numbers)
    if not counts.keys().isdisjoint(FLAGS - {"L"}):
        counts[""] += sum(counts.pop(flag, 0) for flag in FLAGS)
    n_bare = counts.pop("", 0)
    unit = max(counts, key=lambda one: (counts[one], one), default="")
    letters = [one for one, word in words.items() if one != word]
    is_open = any(_as_time(one, [unit]) == one for one in letters)
    if is_open and _hours(words.get(unit, "")):  # beside this unit, they could be others
        unit = "hours" if words.get("m") == "min" else "months"
    if unit and (n_bare or len(counts) > 1) and is_currency(kind := (_size_of(unit) or " ")[0]):
        unit = kind  # 199159 beside $1.3M
    is_frequent = len(unit) > 2 and 10 * counts[unit] >= counts.total() + n_bare  # not 12a or 1OT
    is_word = _size_of(unit) is not None or unit in _LETTERS or is_frequent
    is_only = len(counts) == 1 and unit not in {*FLAGS, "hours"} and is_word
    return unit if n_bare < counts.total() or is_currency(unit) or is_only else ""


def is_bare(cell: str) -> bool:
    """Return whether a cell is a number without a unit, other than 0."""
    return not split_unit(without_limit(cell))[1] and re.search("[1-9]", cell) is not None


def is_time(unit: str) -> bool:
    """Return whether numbers with this unit are times of day or durations."""
    return _hours(unit) > 0


def is_currency(unit: str) -> bool:
    """Return whether a unit is a currency."""
    return _IS_CURRENCY.fullmatch(unit) is not None


def not_in(unit: str) -> str:
    """Return what is wrong with a cell that is no number in a unit."""
    if unit == "hours":
        return "not a time or a duration"
    return "not a number" + in_words(unit).removeprefix("numbers")


def in_words(unit: str) -> str:
    """Return what a column of numbers with this unit holds."""
    words = {"%": "percentages, 10% is 0.1", "hours": "times, in hours", "": "numbers"}
    return words.get(unit) or f"numbers {'out of' if unit[0] == '/' else 'in'} {unit.strip('/')}"


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
