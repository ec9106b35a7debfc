"""Dates as people write them, and the numbers made of them."""

import contextlib
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import strip_accents_unicode
from sklearn.utils.validation import (
    _check_feature_names,
    _check_feature_names_in,
    _check_n_features,
)

from labelkin._utils.labels import is_missing

# Possessive quantifiers, so that spaces after the time take linear time.
_ZONE = r"(?:Z|(?:UTC|GMT)?[+-]\d{1,2}(?::?\d{2})?|[A-Z]{3,4})"
_OFFSET = re.compile(r"(?:Z|UTC|GMT)?(?:([+-]\d{1,2})(?::?(\d{2}))?)?")
_TIME = (
    r"(?:(?:[T:]|,?\s++)(\d{1,2})[:h](\d{2})(?::(\d{2})(?:[.,]\d+)?)?"
    rf"\s*+(?:([AaPp])(?:\.\s?)?[Mm]\.?(?!\w)\s*+)?({_ZONE})?)?"
)
# A space may follow a point, as in 12. 3. 2025, and a word for year the year, as in 2025 г.
_GAP, _ERA = r"(?:(?<=\.)\s)?", r"(?:\s?(?:г(?:ода)?|р(?:оку)?|r(?:oku)?)\b\.?)?"
_WEEKDAY = r"\s*+(?:[^\W\d_]{2,12}[.,]*+\s++)?"  # Do, 14.03.2025
_YEAR_FIRST = re.compile(
    rf"{_WEEKDAY}(\d{{4}})([-/.]){_GAP}(\d{{1,2}})\2{_GAP}(\d{{1,2}})\.?{_TIME}\s*"
)
_YEAR_LAST = re.compile(
    rf"{_WEEKDAY}(\d{{1,2}})([-/.]){_GAP}(\d{{1,2}})\2{_GAP}(\d{{4}}|\d{{2}}){_ERA}{_TIME}\s*"
)
_CHARACTERS = re.compile(r"(\d{4})[年년]\s?(\d{1,2})[月월]\s?(\d{1,2})[日일]")  # 2025年3月14日
# 14 Mar 2025, 14-Mar-25, March 14, 2025 or 14 de marzo de 2025; a weekday may stand before each.
_WORD, _NTH, _OF = r"([^\W\d_]{3,12})", r"(?:\.|[ºª°]|st|nd|rd|th|er)?", r"(?:del?\s++)?"
_NAMED = re.compile(
    rf"\s*+(?:[^\W\d_][^\s\d.,]{{1,14}}[.,]*+\s++)?"
    rf"(?:(?:den\s++)?(\d{{1,2}}){_NTH}[\s/-]*+{_OF}{_WORD}[\s.,/-]*+{_OF}"
    rf"|{_WORD}\.?[\s-]*+(\d{{1,2}}){_NTH}[\s,-]++)(\d{{4}}|\d{{2}}){_ERA}{_TIME}\s*"
)
# Fri Mar 14 14:05:00 +0000 2025, with the year after the time.
_YEAR_AFTER = re.compile(rf"(\D{{6,20}}\d{{1,2}})( [\d:]{{5,8}}(?: {_ZONE})?)( \d{{4}})")
# März 2025 or 3/2025, which are the first day, and 2025-03 may be the year to 2003.
_MONTH = re.compile(rf"(?:{_WORD}\.?,?\s{_OF}|(\d{{1,2}})[/-])(\d{{4}})")
_UNSURE = re.compile(r"^c(?:irc)?a\.?\s")
# 2025. március 12.
_YEAR_BEFORE = re.compile(r"^\s*(\d{4})[.\s-]\s?([^\W\d_]{3,12})[.\s-]\s?(\d{1,2})(?!\d)\.?")
# How months begin in 19 languages, without accents: five letters are enough, or three of them.
_MONTHS = {
    stem[:end]: number
    for number, stems in reversed([*enumerate((
        "janua janne janvi janei enero genna stycz leden ledna ocak tammi январ січен січня ιανου",
        "febru fevri febre febbr feber fever luty luteg unora subat helmi февра лютии лютог φεβρο",
        "march marz maerz mrz mars marts marzo marco maart mrt marze marca marec marci breze "
        "brezn maali марта берез μαρτι",
        "april avril abril kwiec kwiet duben dubna nisan huhti апрел квіте квітн απριλ",
        "may mayo maio maggi mei mai maja majus mayis kvete kvetn touko маи мая траве травн "
        "μαιοσ μαιου",
        "june juni juin junio juniu junho juna giugn czerw cerven cervn cvn cen hazir kesak "
        "июнь июня черве червн ιουνι",
        "july juli juill julio juliu julho jula lugli lipie lipca cervene cervenc cvc cec temmu "
        "heina июль июля липен липня ιουλι",
        "augus aout agost agust sierp srpen srpna eloku авгус серпе серпн αυγου",
        "septe septi sette setem szept wrzes zari eylul syysk сентя верес σεπτε",
        "octob octub oktob outub ottob pazdz rijen rijna ekim lokak октяб жовте жовтн οκτωβ",
        "novem novie kasim listo marra ноябр листо νοεμβ",
        "decem dezem desem dicie dicem grudz grudn prosi arali joulu декаб груде грудн δεκεμ",
    ), start=1)])
    for stem in stems.split()
    for end in range(3, len(stem) + 1)
}  # fmt: skip


PER_SECOND = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
"""The units of times since 1970, as computers write them."""
# 1740787200, 1740787200.5 or 1.7407872e+18.
_EPOCH = re.compile(r"\s*(?:\d{9,19}(?:\.\d*)?|[1-9]\.\d+[eE]\+?\d{1,2})\s*", re.ASCII)
# 20230616 or, as a float, 20230616.0.
_BASIC = re.compile(r"\s*((?:19|20)\d{2})(\d{2})(\d{2})(?:\.0*)?\s*", re.ASCII)
_EPOCHS = 631_152_000, 2_871_763_200  # seconds: the years 1990 to 2060
_AT = re.compile(r",?\s(?:at|um|à|a las|alle|om|kl\.?|@)\s(?=\d)", re.IGNORECASE)  # 2:00 PM
_FULL_YEAR = re.compile(r"[12]\d{3}")
FIRST_YEAR = 1970
"""Years of two digits are 1970 to 2069 where nothing else is known."""
_AHEAD = 10  # years from now, which the middle of such years does not pass


def parse_date(
    text: str, day_first: bool, zone: tzinfo | None = None, first_year: int = FIRST_YEAR
) -> datetime | None:
    """Return the date that a cell holds, or None.

    With points the day is first in any case. A year of two digits is one of the hundred from
    `first_year`. A date with an offset from UTC is converted to `zone`; without one, dates are read
    as they are written.
    """
    found = _read_date(text, day_first, first_year)
    if found is not None and found.tzinfo and zone:
        with contextlib.suppress(OverflowError):  # of the first day of all, or the last
            found = found.astimezone(zone)
    return found and found.replace(tzinfo=None)


def parse_dates(
    cells: Iterable[str | None],
    day_first: bool,
    zone: tzinfo | None = None,
    first_year: int = FIRST_YEAR,
) -> list[datetime | None]:
    """Return the dates of a column; see `parse_date`."""
    return [
        None if cell is None else parse_date(cell, day_first, zone, first_year) for cell in cells
    ]


def epoch_unit(low: float, high: float, limits: tuple[float, float] = _EPOCHS) -> str:
    """Return the unit in which numbers are times since 1970, such as milliseconds.

    These are between the `limits`, in seconds; nothing is returned if they are in no unit.
    """
    found = PER_SECOND.items()
    return next((u for u, n in found if limits[0] * n <= low <= high < limits[1] * n), "")


def write_dates(cells: Iterable[str | None]) -> np.ndarray:
    """Return cells with dates such as 20230616 with hyphens, and times since 1970 in UTC."""
    return np.array([cell and _write_date(cell) for cell in cells], dtype=object)


def is_basic_date(cell: str) -> bool:
    """Return whether a cell holds a date such as 20230616, of the years 1900 to 2099."""
    return _BASIC.fullmatch(cell) is not None and _write_date(cell) != cell


def _write_date(cell: str) -> str:
    if found := _BASIC.fullmatch(cell):
        written = "-".join(found.groups())
        return written if parse_date(written, False) else cell
    number = float(cell) if _EPOCH.fullmatch(cell) else 0.0
    unit = epoch_unit(number, number)
    start = datetime(1970, 1, 1, tzinfo=UTC)
    return str(start + timedelta(seconds=number / PER_SECOND[unit])) if unit else cell


def have_full_years(dates: Iterable[str]) -> bool:
    """Return whether all dates have a year of four digits."""
    return all(_FULL_YEAR.search(written) for written in dates)


def find_first_year(cells: Iterable[str | None], day_first: bool) -> int:
    """Return the first of the hundred years that years of two digits stand for in a column.

    In their middle is that of the years with four digits, if there are some. Otherwise it is that
    of the years after the largest gap between those with two digits, and at most ten years from
    now: 25 to 99 and 00 to 04 are 1925 to 2004, and 24 to 35 are 2024 to 2035.
    """
    known = {cell: found for cell in {*cells} if cell and (found := _read_date(cell, day_first))}
    years = {found.year for cell, found in known.items() if _FULL_YEAR.search(cell)}
    if not years and known:
        digits = sorted({found.year % 100 for found in known.values()})
        following = [*digits[1:], digits[0] + 100]
        pairs = zip(following, digits, strict=True)
        gap, last = max((after - before, before) for after, before in pairs)
        latest, middle = date.today().year + _AHEAD, last + gap + (100 - gap) // 2
        years = {latest - (latest - middle) % 100}
    return (min(years) + max(years)) // 2 - 50 if years else FIRST_YEAR


def find_zone(cells: Iterable[str | None]) -> str:
    """Return the offset from UTC with which dates are written, such as UTC-05:00.

    Nothing if they have none, or several, as those of a place with summer time.
    """
    dates = (_read_date(cell, False) or _read_date(cell, True) for cell in cells if cell)
    names = {found.tzname() for found in dates if found and found.tzinfo}
    return names.pop() or "" if len(names) == 1 else ""


def as_zone(name: str) -> tzinfo | None:
    """Return the time zone of a name such as Europe/Berlin, or of an offset such as UTC-05:00.

    None: there is none of this name.
    """
    try:
        return _as_offset(name) or (ZoneInfo(name) if name else None)
    except (ValueError, OSError, LookupError):
        return None


@lru_cache
def _as_offset(written: str | None) -> timezone | None:
    """Return an offset from UTC; None: the name of a zone, or nothing."""
    found = _OFFSET.fullmatch(written or "")
    if not written or not found:
        return None
    hours, minutes = int(found[1] or 0), int(found[2] or 0)
    offset = timedelta(hours=hours, minutes=-minutes if (found[1] or "")[:1] == "-" else minutes)
    return timezone(offset) if abs(offset) < timedelta(days=1) else None


def _bare(text: str) -> str:
    """Return a date without marks of doubt, as in [ca. 3.5.1848?]."""
    return _UNSURE.sub("", text.strip().lstrip("[(").rstrip("])?"))


@lru_cache(maxsize=2**16)  # a column is read several times
def _read_date(text: str, day_first: bool, first_year: int = FIRST_YEAR) -> datetime | None:
    """Return a date as it is written, with its offset from UTC if it has one."""
    written: tuple[Any, Any, Any]
    text = _bare(text)
    if alone := _MONTH.fullmatch(text):
        text = f"1 {alone[1]} {alone[3]}" if alone[1] else f"{alone[3]}-{alone[2]}-1"
    text = _AT.sub(" ", _CHARACTERS.sub(r"\1-\2-\3", text, count=1), count=1)
    if found := _YEAR_FIRST.fullmatch(text):
        written = found[1], found[3], found[4]
    elif found := _YEAR_LAST.fullmatch(text):
        is_day_first = day_first or found[2] == "."
        written = found[4], *((found[3], found[1]) if is_day_first else (found[1], found[3]))
    elif found := _NAMED.fullmatch(
        _YEAR_BEFORE.sub(r"\3 \2 \1", _YEAR_AFTER.sub(r"\1\3\2", text, count=1))
    ):
        name = strip_accents_unicode(found[2] or found[3]).casefold().replace("ı", "i")
        month = _MONTHS.get(name[:7]) or _MONTHS.get(name[:5], 0)
        written = found[5], month, found[1] or found[4]
    else:
        return None
    year, month, day = map(int, written)
    if len(written[0]) == 2:
        year = first_year + (year - first_year) % 100
    *clock, half, zone = found.groups()[-5:]
    hour, minute, second = (int(part or 0) for part in clock)
    if half:
        hour = hour % 12 + (12 if half in "Pp" else 0) if 1 <= hour <= 12 else -1
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=_as_offset(zone))
    except ValueError:
        return None


def is_month(text: str) -> bool:
    """Return whether a cell holds a month without a day, such as March 2025 or 3/2025."""
    return _MONTH.fullmatch(_bare(text)) is not None and parse_date(text, True) is not None


def needs_order(values: Iterable[str]) -> bool:
    """Return whether there is a date that begins with the number of a day or a month."""
    return any(_YEAR_LAST.fullmatch(value) for value in values)


def has_order(cells: Iterable[str | None]) -> bool:
    """Return whether any date reads differently with the day first than with the month first."""
    return any(cell and parse_date(cell, True) != parse_date(cell, False) for cell in cells)


def find_day_first(values: Iterable[str]) -> bool | None:
    """Return whether the day comes before the month; None: the values are not dates.

    Where every date could be read both ways, points mean day first, and slashes month first,
    unless 1/3, 2/3 and 5/3 would be the same day of several months, other than the first.
    """
    values = list(values)
    points = any((found := _YEAR_LAST.fullmatch(value)) and found[2] == "." for value in values)
    for day_first in (True, False) if points or is_one_month(values) else (False, True):
        if values and all(parse_date(value, day_first) is not None for value in values):
            return day_first
    return None


def is_one_month(values: Iterable[str]) -> bool:
    """Return whether dates would be the same day of several months with the month first.

    Other than the first day, on which months begin: of 1/3 and 1/7 of several years, 1 is the day.
    """
    written = [_YEAR_LAST.fullmatch(value) for value in values]
    firsts, seconds, years = ({found and int(found[i]) for found in written} for i in (1, 3, 4))
    are_firsts = firsts == {1} and len(seconds) > 1 and len(years) > 1
    return are_firsts or (len(firsts) > len(seconds) == 1 and 1 not in seconds)


def as_days(dates: Iterable[datetime | None]) -> np.ndarray:
    """Return dates as days, NaN where there is none."""
    day = timedelta(days=1)
    return np.array([np.nan if one is None else (one - datetime.min) / day for one in dates])


def as_times(values: Any, name: str) -> np.ndarray:
    """Return dates or numbers as floats that sort like them; a missing one is refused."""
    array = np.asarray(values)
    if array.dtype.kind == "M":
        times = array.astype("datetime64[us]").astype(np.float64)
        times[np.isnat(array)] = np.nan
    elif array.dtype.kind in "biuf":
        times = array.astype(np.float64)
    else:
        cells = [None if is_missing(x) else str(x).strip() or None for x in array.tolist()]
        written = {row: cell for row, cell in enumerate(cells) if cell is not None}
        day_first = find_day_first(written.values())
        try:
            if day_first is None:
                numbers = [cell and cell.replace(",", ".") for cell in cells]
                times = np.array(numbers, dtype=np.float64)
            else:
                first_year = find_first_year(cells, day_first)
                times = as_days(parse_dates(cells, day_first, UTC, first_year))
        except ValueError:
            wrong = [row for row, cell in written.items() if find_day_first([cell]) is None]
            row = min(wrong or written)
            raise ValueError(
                f"{name} holds {written[row][:30]!r} in row {row + 1}, which cannot be read as a "
                "date or a number like the others."
            ) from None
    if np.isnan(times).any():
        raise ValueError(
            f"{name} is missing in row {int(np.isnan(times).argmax()) + 1}: leave out the rows "
            "without it, or fill it in."
        )
    return times


class DateEncoder(TransformerMixin, BaseEstimator):
    """Turn columns of dates into numbers: month, weekday and hour of each, and the year if wanted.

    A date outside of the range of the training rows has the year of the end of the range, and its
    month, too, unless the range includes the month of the date in some year: no classifier was
    fitted to others.

    Parameters
    ----------
    day_first : bool, default=False
        Whether 3/4/2025 is the third of April. Dates that begin with the year are always read
        as year, month, day.
    trend : bool, default=False
        Whether the year is used.

    Attributes
    ----------
    first_, last_ : ndarray of shape (n_columns, 2)
        Year, with the day of the year as its fraction, and month of the first and the last date
        of each column; NaN where it has none.
    has_words_ : bool
        Whether a date has words, such as March or PM.
    first_years_ : list of int
        The first of the hundred years that years of two digits stand for, by column.
    """

    def __init__(self, day_first: bool = False, trend: bool = False) -> None:
        self.day_first = day_first
        self.trend = trend

    def fit(self, X: Any, y: Any = None) -> "DateEncoder":
        """Find the range of the dates of each column."""
        _check_n_features(self, X, reset=True)
        _check_feature_names(self, X, reset=True)
        cells = np.asarray(X, dtype=object)
        texts = [[None if is_missing(one) else str(one) for one in column] for column in cells.T]
        self.first_years_ = [find_first_year(column, self.day_first) for column in texts]
        parts = self._parse(X)[:, :, :2]
        written = (text for column in texts for text in column if text)
        self.has_words_ = any(re.search(r"[^\W\d_TZ]", text) for text in written)
        self.first_, self.last_ = np.full((2, self.n_features_in_, 2), np.nan)
        for j in range(self.n_features_in_):
            if len(known := parts[~np.isnan(parts[:, j, 0]), j]):
                self.first_[j] = known[known[:, 0].argmin()]
                self.last_[j] = known[known[:, 0].argmax()]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return three or four columns for each column of X, NaN where a date is missing.

        The year has the day of the year as its fraction, Monday is 0, the hour has minutes as
        its fraction.
        """
        found = self._parse(X)
        year, month = found[:, :, 0].copy(), found[:, :, 1]
        is_new = (month - self.first_[:, 1]) % 12 > self.n_months()
        for outside, end in (
            (year < self.first_[:, 0], self.first_),
            (year > self.last_[:, 0], self.last_),
        ):
            found[:, :, 0] = np.where(outside, end[:, 0], found[:, :, 0])
            found[:, :, 1] = np.where(outside & is_new, end[:, 1], found[:, :, 1])
        return found[:, :, 0 if self.trend else 1 :].reshape(len(found), -1)

    def n_months(self) -> np.ndarray:
        """Return the number of months from the first date of each column to the last."""
        (first, month), (last, last_month) = np.floor(self.first_.T), np.floor(self.last_.T)
        return 12 * (last - first) + last_month - month

    def _parse(self, X: Any) -> np.ndarray:
        """Return year, month, weekday and hour of each cell."""
        cells = np.asarray(X, dtype=object)
        found = np.full((*cells.shape, 4), np.nan)
        for place, cell in np.ndenumerate(cells):
            text = "" if is_missing(cell) else str(cell).strip()
            if not text:
                continue
            when = parse_date(text, self.day_first, None, self.first_years_[place[1]])
            if when is None:
                raise ValueError(f"{text!r} is not a date that can be read.")
            year = when.year + (when.timetuple().tm_yday - 1) / 366
            found[place] = year, when.month, when.weekday(), when.hour + when.minute / 60
        return found

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of `transform`."""
        names = _check_feature_names_in(self, input_features)
        parts = ("year", "month", "weekday", "hour")[0 if self.trend else 1 :]
        return np.array([f"{name} {part}" for name in names for part in parts], object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags
