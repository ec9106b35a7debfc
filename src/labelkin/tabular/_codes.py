"""What the numbers of a column may be instead: codes, dates, or signs of missing values."""

import re
from collections.abc import Iterable, Sequence
from datetime import date

import numpy as np

from labelkin._utils.files import shorten
from labelkin._utils.names import join_names, plural
from labelkin.datasets import RawTable
from labelkin.datasets.formats._quantities import MAX_CATEGORIES
from labelkin.datasets.formats._raw_table import Guess, as_string
from labelkin.tabular._dates import PER_SECOND, epoch_unit, is_basic_date

_NINES, _LONG_NINES = re.compile(r"9+[6-9](\.9)?"), re.compile(r"9{3,}(\.9)?")
IDENTIFIER_NAME = re.compile(
    r"(?i:((^|[\W_])(id|ids|no|key|uuid|guid|index|row|zeile|mrn|nhc|ssn|ean|gtin|isbn|pesel)"
    r"|nr|number|nummer)\.?$|^id[\W_])"
    r"|([a-z]|^[A-Z])(Id|ID|No)\.?$|^id[A-Z]"
    # What pandas calls an index without a name in a file.
    r"|^(Unnamed: |__index_level_|index_)\d",
)
_TIME_NAME = re.compile(r"(?i:time|date|stamp|epoch|unix|zeit|datum)|(^|[\W_])(t|ts|at)$|[a-z]At$")


def find_codes(name: str, numbers: np.ndarray) -> list[Guess]:
    """Return a guess if a few whole numbers of three digits or more recur, as codes do.

    Years do so, too, but their order counts.
    """
    values = np.unique(numbers[np.isfinite(numbers)])
    are_few = 2 < len(values) <= MAX_CATEGORIES and 10 * len(values) <= len(numbers)
    if not are_few or (values % 1).any() or values[0] < 100:
        return []
    if values[0] >= 1900 and values[-1] < 2100:
        return []
    return [Guess(f"{name}: numbers, of which only {len(values)} differ", ("category",))]


def find_dates(name: str, numbers: np.ndarray) -> list[Guess]:
    """Return a guess if many different numbers may be dates such as 20230616 or times since 1970.

    The times begin with 1, as those since 2001 do, are at most a few years from now, and span a day
    or more. Seconds are whole minutes unless the column is named like a time, as phone numbers have
    ten digits, too; nanoseconds are whole microseconds, as identifiers are not.
    """
    values = np.unique(numbers[np.isfinite(numbers)])
    if len(values) <= MAX_CATEGORIES or (values % 1).any() or IDENTIFIER_NAME.search(name):
        return []
    if all(is_basic_date(as_string(value)) for value in values):
        return [Guess(f"{name} may be dates such as {values[0]:.0f}", ("date",))]
    limits = 1e9, (date.today().year - 1965) * 365.25 * 86_400
    unit = epoch_unit(values[0], values[-1], limits)
    steps = {"seconds": 1 if _TIME_NAME.search(name) else 60, "nanoseconds": 1_000}
    if not unit or (values % steps.get(unit, 1)).any():
        return []
    if np.ptp(values) < 86_400 * PER_SECOND[unit]:
        return []
    return [Guess(f"{name} may be {unit} since 1970", ("date",))]


def find_sentinels(table: RawTable, name: str, numbers: np.ndarray) -> None:
    """Read cells that stand for missing numbers, such as -999, as missing, with a guess.

    They recur, have no digit but 9, or end in 6 to 8 as codes of surveys do, and are the only
    negative numbers or ten times beyond all others; from 996 on, five times the range of the others
    is far enough, and 999 stands in two cells at least. Where they are nearer, but farther than a
    third of the range, a guess says so. Numbers most of which end in 9 are prices.
    """
    values, counts = np.unique(numbers[np.isfinite(numbers)], return_counts=True)
    ends = {*values[counts > 1][:4], *values[counts > 1][-4:]}
    forms = {n: _LONG_NINES if n in values[counts == 2] else _NINES for n in sorted(ends)}
    found = np.array([n for n, form in forms.items() if form.fullmatch(as_string(abs(n)))])
    others = values[~np.isin(values, found)]
    if not len(found) or len(others) < 2:
        return
    low, high = others[0], others[-1]
    ranges = np.maximum(low - found, found - high) / (high - low)
    ranges *= np.mean(others % 10 >= 9) <= 0.5
    is_missing = (found < 0) & (low >= 0) | (abs(found) > 10 * abs(others).max())
    is_missing |= (abs(found) > 990) & (ranges > 5)
    words = [as_string(n) for n in numbers[np.isin(numbers, found[is_missing])]]
    read_as_missing(table, name, words, "number")
    near = found[~is_missing & (ranges > 1 / 3)]
    above, below = (near[near > high], f"{high:g} at most"), (near[near < low], f"{low:g} at least")
    for codes, rest in (above, below):
        shown = [as_string(n) for n in codes]
        if any({*code} <= {*"-9."} for code in shown):
            text = f"{np.isin(numbers, codes).sum():,} cells of {name} are {' or '.join(shown)}"
            text += f", and all others {rest}: empty them if that means missing"
            table.guesses.append(Guess(text, ("number", "ignore"), True))


def read_as_missing(
    table: RawTable, name: str, words: Sequence[str], keep: str = "category"
) -> None:
    """Add a guess with the kind of column that keeps the words."""
    if words:
        text = f"{plural(len(words), 'cell')} of {name} read as missing: {first_of(words)}"
        table.guesses.append(Guess(text, (keep, "ignore"), True))
        table.words[name] = list(dict.fromkeys(words))


def first_of(words: Iterable[str]) -> str:
    """Return the first three of different words, and the number of the others."""
    return join_names([shorten(word, 20) for word in dict.fromkeys(words)], 3)
