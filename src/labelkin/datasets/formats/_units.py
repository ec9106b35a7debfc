"""Units of numbers: which are the same, and which can be converted into each other."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

# Signs, such as € or R$, codes of ISO 4217 and abbreviations that stand before amounts.
CURRENCY = (
    r"[A-Z]{0,3}[$£¥฿₠-₿]|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HUF|INR|JPY|MXN|NOK|PLN|SEK|TRY|USD"
    r"|ZAR|zł|[Kk]r\.?|Rs\.?|Rp\.?|SFr\.?|Fr\."
)
_IS_CURRENCY = re.compile(CURRENCY)
_SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "US$": "$", "BRL": "R$", "AUD": "A$"}
_SIGNS |= {"CAD": "C$", "CA$": "C$", "AU$": "A$", "SFr": "CHF", "Fr": "CHF", "Kr": "kr"}
_SIGNS |= {"PLN": "zł", "Euro": "€", "Euros": "€", "euro": "€", "euros": "€"}
_SIGNS |= {
    "hours": "h",
    "dollars": "$",
    "Dollar": "$",
    "sqft": "ft²",
    "sqm": "m²",
    "qm": "m²",
    "mq": "m²",
}
_STATED = re.compile(r"\s*[\[(]\s*([^\])\d]{1,20}?[23]?)\s*[\])]\s*$")  # the unit in Weight (kg)
_PER = re.compile(r"(?i)(?:\b|_)(?:per|pro|par|por|al|je|pr|each|every)[\W_]+[^\W\d_]+")  # per week
_NAME_WORD = re.compile(r"[^\W\d_]+[²³]?(?:/[^\W\d_]+)?")
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
TIME_LETTERS = {"J": "year", "a": "year", "M": "month", "u": "hour"}
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


def hours_of(unit: str) -> float:
    """Return the size of a unit of time in hours; 0 of other units."""
    kind, size = size_of(unit) or ("", 0.0)
    return size if kind == "time" else 0.0


def as_time(unit: str, others: Iterable[str]) -> str:
    """Return the word for a letter that is a unit of time beside others.

    m are minutes beside hours, minutes or seconds, and otherwise months beside years or months.
    """
    sizes = [size for other in others if (size := hours_of(other))]
    if unit == "m" and sizes:
        return "min" if min(sizes) <= 1 else "month" if max(sizes) > 168 else unit
    return TIME_LETTERS.get(unit, unit) if sizes else unit


@lru_cache
def common_form(unit: str) -> str:
    """Return one of the ways of writing a unit: € for EUR, Rs for Rs. and m² for m2."""
    unit = unit.rstrip(".").replace("µ", "μ")  # the sign of micro, and the Greek letter
    return _SIGNS.get(unit, re.sub("(?<=m)[23]", lambda power: "²³"[power[0] == "3"], unit))


def ratio(unit: str, to: str) -> float | None:
    """Return by what a number in a unit is multiplied for another; None: they are not of one kind.

    A number without a unit, or with a flag, is taken as it is.
    """
    own, other = size_of(as_time(unit, [to])), size_of(to)
    if own and own[0] == "number" and not to:
        return own[1]
    if own and other and (own[0] == other[0] or (own[0] == "number" and is_currency(other[0]))):
        return own[1] / other[1]  # also 2.5k beside €2,500
    return 1.0 if not unit or unit in FLAGS or _is_same(unit, to) else None


def unit_in_name(unit: str, name: str) -> str:
    """Return the unit of the same kind that the name of a column states, or nothing.

    As in weight_kg, Age (y) or distanceInMeters; Hours per week are hours. Days and longer times
    are units in brackets, behind an underscore and as the first word, and not in Time on day 1.
    """
    name = _PER.sub("", re.sub("(?<=[a-z])In(?=[A-Z])", "_", name))
    ages = "year" if hours_of(unit) >= 24 else ""  # 60s is no age
    for found in reversed([*_NAME_WORD.finditer(name)]):
        word = ages if found[0].casefold() in _AGES else found[0]
        is_stated = hours_of(found[0]) < 24 or name[: found.start()][-1:] in ("", "_", "(", "[")
        if word and is_stated and ratio(unit, word) is not None:
            return word
    return ""


def ratio_to_name(unit: str, name: str) -> float | None:
    """Return the same for the unit that the name of a column states."""
    stated = unit_in_name(unit, name)
    return ratio(unit, stated) if stated else None


def without_unit(name: str) -> str:
    """Return the name of a column without the unit in brackets at its end."""
    return _STATED.sub("", name)


def ratio_of_names(name: str, other: str, unit: str) -> float | None:
    """Return the ratio of the units in which two names differ, as weight_lb and weight_kg do.

    So may Weight (lb) and Weight, whose numbers are in the `unit` if they have one.
    """
    own = _STATED.search(name)
    if own and without_unit(name) == other and (size_of(common_form(own[1])) or own[1] == "%"):
        return ratio(common_form(own[1]), unit) if unit not in ("", "%") else 1.0
    if name == without_unit(other):
        return 1.0
    words = [re.split(r"([^\W\d_]+[²³]?(?:/[^\W\d_]+[²³]?)?)", one) for one in (name, other)]
    if len(words[0]) != len(words[1]):
        return None
    pairs = [(one, two) for one, two in zip(*words, strict=True) if one != two]
    units = [*map(common_form, pairs[0])] if len(pairs) == 1 else [""]
    if max(map(len, units)) < 2 or not all(map(size_of, units)):
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
def size_of(unit: str) -> tuple[str, float] | None:
    """Return what a unit measures, and its size; None: it is not known."""
    unit, slash, per = unit.partition("/")
    if not unit:
        return None
    if slash:  # mg/l
        found, below = size_of(unit), size_of(per) or (per, 1.0)
        return found and (f"{found[0]}/{below[0]}", found[1] / below[1])
    if unit in _WORDS:
        return _WORDS[unit]
    power = " ²³".find(unit[-1]) + 1
    if power > 1 and (side := size_of(unit[:-1])):
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
    return None if usual == unit else size_of(usual)


def main_unit(counts: Counter[str]) -> str:
    """Return the most frequent unit of numbers; nothing: most have none.

    A currency, or a unit that is the only one, is that of numbers without any, too; beside
    these, or amounts of another size, it is the currency itself, and not millions of it. L is a
    flag where H is one, too, or most numbers have neither. Thousands are no unit.
    """
    counts = counts.copy()
    # A single 3 s among lengths in m does not make these minutes.
    n_times = sum(counts[unit] for unit in counts if hours_of(unit))
    has_times = "hours" in counts or 10 * n_times >= counts.total()
    words = {unit: as_time(unit, counts) for unit in counts if has_times}
    numbers = [own for own in counts if (size_of(own) or ("",))[0] == "number"]  # such as million
    counts[""] += sum(counts.pop(own) for own in numbers)
    if not counts.keys().isdisjoint(FLAGS - {"L"}):
        counts[""] += sum(counts.pop(flag, 0) for flag in FLAGS)
    n_bare = counts.pop("", 0)
    unit = max(counts, key=lambda one: (counts[one], one), default="")
    letters = [one for one, word in words.items() if one != word]
    is_open = any(as_time(one, [unit]) == one for one in letters)
    if is_open and hours_of(words.get(unit, "")):  # beside this unit, they could be others
        unit = "hours" if words.get("m") == "min" else "months"
    if unit and (n_bare or len(counts) > 1) and is_currency(kind := (size_of(unit) or " ")[0]):
        unit = kind  # 199159 beside $1.3M
    is_frequent = len(unit) > 2 and 10 * counts[unit] >= counts.total() + n_bare  # not 12a or 1OT
    is_word = size_of(unit) is not None or unit in TIME_LETTERS or is_frequent
    is_only = len(counts) == 1 and unit not in {*FLAGS, "hours"} and is_word
    return unit if n_bare < counts.total() or is_currency(unit) or is_only else ""


def is_time(unit: str) -> bool:
    """Return whether numbers with this unit are times of day or durations."""
    return hours_of(unit) > 0


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
