"""Dates as people write them, and the numbers made of them."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names,
    _check_feature_names_in,
    _check_n_features,
)

from labelkin._utils.labels import is_missing

# A possessive quantifier, so that spaces after the time take linear time.
_TIME = r"(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*+(?:Z|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = re.compile(rf"\s*(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_TIME}\s*")
_YEAR_LAST = re.compile(rf"\s*(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){_TIME}\s*")


def parse_date(text: str, day_first: bool) -> datetime | None:
    """Return the date that a cell holds, or None.

    With points the day is first in any case. A year of two digits is one of 1970 to 2069. Zones
    are not converted.
    """
    if found := _YEAR_FIRST.fullmatch(text):
        year, month, day = int(found[1]), int(found[3]), int(found[4])
    elif found := _YEAR_LAST.fullmatch(text):
        first, second, year = int(found[1]), int(found[3]), int(found[4])
        day, month = (first, second) if day_first or found[2] == "." else (second, first)
        if len(found[4]) == 2:
            year += 2000 if year < 70 else 1900
    else:
        return None
    hour, minute, second = (int(part or 0) for part in found.groups()[4:7])
    try:
        return datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None


def has_order(cells: Iterable[str | None]) -> bool:
    """Return whether any date reads differently with the day first than with the month first."""
    return any(cell and parse_date(cell, True) != parse_date(cell, False) for cell in cells)


def find_day_first(values: Iterable[str]) -> bool | None:
    """Return whether the day comes before the month; None: the values are not dates.

    Where every date could be read both ways, points mean day first, and slashes month first,
    unless 1/3, 2/3 and 5/3 would be the same day of several months, other than the first.
    """
    values = list(values)
    written = [_YEAR_LAST.fullmatch(value) for value in values]
    firsts, seconds = ({found and int(found[i]) for found in written} for i in (1, 3))
    is_one_month = len(firsts) > len(seconds) == 1 and 1 not in seconds
    points = any("." in value for value in values[:1])
    for day_first in (True, False) if points or is_one_month else (False, True):
        if values and all(parse_date(value, day_first) is not None for value in values):
            return day_first
    return None


def as_days(cells: Iterable[str | None], day_first: bool) -> np.ndarray:
    """Return dates as days, NaN where there is none or it cannot be read."""
    dates = (None if cell is None else parse_date(cell, day_first) for cell in cells)
    day = timedelta(days=1)
    return np.array([np.nan if date is None else (date - datetime.min) / day for date in dates])


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
                times = as_days(cells, day_first)
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

    A date outside of the range of the training rows has the month, and the year, of the end of the
    range, since no classifier was fitted to other dates.

    Parameters
    ----------
    day_first : bool, default=False
        Whether 3/4/2025 is the third of April. Dates that begin with the year are always read
        as year, month, day.
    trend : bool, default=False
        Whether the year is used. Dates after the last one in training count as that one.

    Attributes
    ----------
    first_, last_ : ndarray of shape (n_columns, 2)
        Year, with the day of the year as its fraction, and month of the first and the last date
        of each column; NaN where it has none.
    """

    def __init__(self, day_first: bool = False, trend: bool = False) -> None:
        self.day_first = day_first
        self.trend = trend

    def fit(self, X: Any, y: Any = None) -> "DateEncoder":
        """Find the range of the dates of each column."""
        _check_n_features(self, X, reset=True)
        _check_feature_names(self, X, reset=True)
        parts = self._parse(X)[:, :, :2]
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
        year = found[:, :, 0]
        for outside, end in (
            (year < self.first_[:, 0], self.first_),
            (year > self.last_[:, 0], self.last_),
        ):
            found[:, :, :2] = np.where(outside[:, :, None], end, found[:, :, :2])
        return found[:, :, 0 if self.trend else 1 :].reshape(len(found), -1)

    def _parse(self, X: Any) -> np.ndarray:
        """Return year, month, weekday and hour of each cell."""
        cells = np.asarray(X, dtype=object)
        found = np.full((*cells.shape, 4), np.nan)
        for place, cell in np.ndenumerate(cells):
            text = "" if is_missing(cell) else str(cell).strip()
            if not text:
                continue
            date = parse_date(text, self.day_first)
            if date is None:
                raise ValueError(f"{text!r} is not a date that can be read.")
            year = date.year + (date.timetuple().tm_yday - 1) / 366
            found[place] = year, date.month, date.weekday(), date.hour + date.minute / 60
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
