"""Columns of numbers and dates: what training rows had in them, and how new rows are read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labelkin._utils.files import shorten
from labelkin._utils.names import plural
from labelkin.datasets import RawTable
from labelkin.datasets.formats._numbers import MISSING, is_unknown
from labelkin.datasets.formats._quantities import split_unit, without_limit
from labelkin.datasets.formats._raw_table import as_string
from labelkin.datasets.formats._units import in_words, is_currency, is_time, ratio, ratio_to_name
from labelkin.tabular._dates import (
    FIRST_YEAR,
    as_days,
    as_zone,
    epoch_unit,
    find_day_first,
    find_first_year,
    find_zone,
    has_order,
    is_basic_date,
    is_one_month,
    parse_date,
    parse_dates,
    write_dates,
)
from labelkin.tabular._kinds import Kind
from labelkin.tabular._labels import TRUTH

_CHANCE = 0.05  # of a note on values outside of their ranges in rows like those of training


@dataclass(frozen=True)
class Measured:
    """What the training rows had in a column of numbers or dates."""

    range: tuple[float, float] | None = None
    """The lowest and the highest number or day; None: no row had any."""
    unit: str = ""
    """A currency or a word such as kg beside numbers, or %, with which 10% is 0.1."""
    zone: str = ""
    """The time zone of dates, or the offset from UTC that all had; others are converted to it."""
    is_year_first: bool = False
    """Whether dates began with the year: in others, the day or the month may be first."""
    first_year: int = FIRST_YEAR
    """The first of the hundred years that years of two digits stand for."""
    words: tuple[str, ...] = ()
    """What was read as missing."""
    gaps: bool = False
    """Whether values are missing."""
    is_given: bool = False
    """Whether the user chose the kind, so that all that is not of it is missing."""

    @classmethod
    def of(cls, table: RawTable, name: str, kind: Kind, *, is_given: bool) -> "Measured":
        """Return what a column of this kind has; `is_given`: the user chose the kind."""
        words = tuple(table.words.get(name, ()))
        found = cls(unit=table.units.get(name, ""), words=words, is_given=is_given)
        if kind != "number":
            cells = write_dates(table.strings(name))
            is_open = kind == "date" and not is_given and not has_order(cells)
            first_year = find_first_year(cells, kind == "day_first_date")
            zone = str(getattr(getattr(table.column(name), "dt", None), "tz", None) or "")
            zone = zone if as_zone(zone) else find_zone(cells)
            found = replace(found, is_year_first=is_open, first_year=first_year, zone=zone)
        values = read_column(table, name, kind, found)[1]
        found = replace(found, range=find_range(values), gaps=bool(np.isnan(values).any()))
        signs = table.percent_signs(name) if kind == "number" else None
        is_percent = signs is not None and bool(signs.any())
        return replace(found, unit="%" if is_percent else table.units.get(name, ""))


def find_range(numbers: np.ndarray) -> tuple[float, float] | None:
    """Return the lowest and the highest finite number; None: there is none."""
    finite = numbers[np.isfinite(numbers)]
    return (float(finite.min()), float(finite.max())) if finite.size else None


def read_column(
    table: RawTable,
    name: str,
    kind: str,
    known: Measured | None = None,
    spare: float = 0.0,
    is_turned: bool = False,
) -> tuple[np.ndarray, Any]:
    """Return the numbers or strings of a column, and its numbers or, of dates, days, if any.

    Infinite numbers, and words in more than a share `spare` of the cells of numbers or dates are
    refused. Dates have the day before the month if the kind says so or, with `is_turned`, if it
    does not.
    """
    known = known or Measured()
    if kind == "number" or (kind == "raw" and table.kind(name) in ("number", "missing")):
        cells = table.numbers(name, "" if known.unit == "%" else known.unit, spare)
        if kind == "number" and np.isinf(cells).any():
            text = f"holds an infinite value in row {np.isinf(cells).argmax() + 1}"
            raise table.error(
                f"column {shorten(name)} {text}; write a number, or leave the cell empty"
            )
        return cells, cells
    cells = table.strings(name)
    if kind in ("category", "text"):  # spaces around a value, and words such as NA, are none of it
        bare = [cell and cell.strip() for cell in cells]
        bare = [None if cell in MISSING else cell for cell in bare]
        cells = np.array(bare if kind == "category" else cells, dtype=object)
        cells[[cell is None for cell in bare]] = None
    if "date" not in kind:
        return cells, None
    day_first = is_turned != (kind == "day_first_date")
    to, words = as_zone(known.zone), table.words.get(name, [])
    cells = write_dates(cells)
    cells[[cell is not None and (cell in words or is_unknown(cell)) for cell in cells]] = None
    dates = parse_dates(cells, day_first, to, known.first_year)
    days = as_days(dates)
    wrong = [row for row in np.flatnonzero(np.isnan(days)) if cells[row] is not None]
    reversed_ = [row for row in wrong if parse_date(cells[row], not day_first)]
    if reversed_ or len(wrong) > spare * sum(cell is not None for cell in cells):
        row = (reversed_ or wrong)[0]
        example = "with the day before the month" if day_first else "such as 2025-12-31"
        text = f"{shorten(cells[row], 30)} in row {row + 1}, not a date {example}"
        is_other = kind == "date" and reversed_
        text += f"; fit the model with columns={{{name!r}: 'day_first_date'}}" * bool(is_other)
        raise table.error(f"column {shorten(name)} holds {text}", *["columns"] * bool(is_other))
    if wrong:
        table.words = table.words | {name: [*words, *dict.fromkeys(cells[wrong])]}
        cells[wrong] = None
    if to is not None or is_turned:  # as the pipeline reads them
        cells = np.array([date and str(date) for date in dates], dtype=object)
    return cells, days


def read_measured(
    table: RawTable, name: str, kind: str, known: Measured, spare: float, notes: list[str]
) -> tuple[np.ndarray, Any]:
    """Return a column of new rows as `read_column` does; other units are refused.

    Where the training rows had 0 and 1, or truth values, words such as TRUE and no are numbers.
    """
    spare = 1.0 if known.is_given and spare else spare
    if kind == "number" and known.range == (0, 1) and table.kind(name) == "string":
        truth = {cell: TRUTH.get((cell or "").strip().casefold()) for cell in table.strings(name)}
        words = {cell: f"{value:g}" for cell, value in truth.items() if cell and value is not None}
        table.data = table.data.assign(**{name: table.column(name).replace(words)})
    if kind == "number" and table.kind(name) in ("string", "date"):
        _check_numbers(table, name, known)
    is_open = known.is_year_first and table.kind(name) == "string"
    is_turned = is_open and _is_day_first(table, name, notes)
    cells, numbers = read_column(table, name, kind, known, spare, is_turned)
    if kind == "number":
        _check_percentages(table, name, cells, known.unit == "%")
        to = "" if known.unit == "%" else known.unit
        cells = numbers = _convert(table, name, cells, to, known.is_given)
    return cells, numbers


def note_bare(table: RawTable, name: str, numbers: np.ndarray, unit: str, notes: list[str]) -> None:
    """Add a note if numbers have no unit where the training rows had times or durations."""
    if not is_time(unit) or name in table.units or ratio_to_name(unit, name) is not None:
        return
    bare = np.nan_to_num(numbers) != 0
    if table.kind(name) == "string":
        cells = table.strings(name)
        bare &= [cell is not None and not split_unit(without_limit(cell))[1] for cell in cells]
    if count := int(bare.sum()):
        text = f"{count:,} of {plural(table.n_rows, 'row')} {'has' if count == 1 else 'have'}"
        text += f" a bare number for {name}, read as {unit}, as training rows have times"
        notes.append(f"{table.source}: {text} or durations")


def note_outside(
    table: RawTable,
    columns: Sequence[tuple[str, str, Any]],
    known: Mapping[str, Measured],
    n_rows: int,
    notes: list[str],
) -> None:
    """Add a note on rows outside of the ranges of the training rows, if they are many or far.

    `columns` are names, kinds and numbers. Of m new rows like the n of training, k or more are
    above all of these with the probability Π (m − i) / (n + m − i), i < k. It may be 0.05 for any
    column and side together; so may the probability of a value outside by more than half of
    `widths` times the range, if values are distributed exponentially.
    """
    m, n = table.n_rows, max(n_rows, 2)
    n_sides = 2 * sum(column.range is not None for column in known.values())
    shown = list[str]()
    least, chance = 0, float(n_sides)  # rows, and the probability of as many
    while least < m and chance > _CHANCE:
        chance *= (m - least) / (n + m - least)
        least += 1
    least += chance > _CHANCE
    widths = 2 * max(1.0, np.log(max(n_sides, 1) * m / _CHANCE) / np.log(n) - 1)
    for name, kind, numbers in columns:
        low, high = known[name].range or (-np.inf, np.inf)
        words = ("above", "below") if kind == "number" else ("later than", "earlier than")
        counts = [int((numbers > high).sum()), int((numbers < low).sum())]
        beyond = np.maximum(numbers - high, low - numbers)
        is_far = high > low and bool((beyond > widths * (high - low)).any())
        if max(counts) < least and not is_far:
            continue
        (count, word), *others = [(k, word) for k, word in zip(counts, words, strict=True) if k]
        of = "" if shown else f" of {plural(m, 'row')}"
        text = f"{count:,}{of} {'has' if count == 1 else 'have'} {name} {word} any in training"
        text += "".join(f" ({k:,} {word} any)" for k, word in others)
        if is_far:
            row = int(np.nanargmax(beyond))
            where = [f"{numbers[row]:g}"] * (kind == "number")
            where += [f"row {row + 1}"] * (m > 1)  # one row may be any of a file
            text += f" (farthest: {' in '.join(where)})" * bool(where)
        shown.append(text)
    if shown:
        more = f" and {len(shown) - 5:,} more columns" if len(shown) > 5 else ""
        text = f"{', '.join(shown[:5])}{more}; such predictions are less certain"
        notes.append(f"{table.source}: {text}")


def _convert(
    table: RawTable, name: str, numbers: np.ndarray, to: str, is_given: bool
) -> np.ndarray:
    """Return numbers in the unit of training; those without one are taken as they are.

    So are amounts of a currency where there was none. Units that cannot be converted are refused,
    unless the user chose the kind: then all other cells were missing in training, too.
    """
    unit = table.units.get(name, "")
    if not to and is_currency(unit):
        return numbers
    factor = ratio(unit, to)
    factor = ratio_to_name(unit, name) if factor is None and not to else factor
    if factor is None and is_given:
        table.words = table.words | {name: [*table.words.get(name, ()), in_words(unit)]}
        return np.full(len(numbers), np.nan)
    if factor is None:
        of = in_words(to) if to else "numbers without a unit"
        text = f"column {shorten(name)} holds {in_words(unit)}, and the model was fitted on {of}"
        raise table.error(f"{text}; convert them")
    return numbers * factor


def _check_percentages(table: RawTable, name: str, numbers: np.ndarray, expected: bool) -> None:
    """Refuse a number with a percent sign among those without, and the reverse.

    Numbers that are not written, as in a DataFrame, are taken as they are.
    """
    signs = table.percent_signs(name)
    if signs is None:
        return
    wrong = signs != expected
    for row in np.flatnonzero(wrong & (np.nan_to_num(numbers) != 0)):
        shown = f"{numbers[row]:g}" if expected else f"{100 * numbers[row]:g} %"
        has = (
            "no percent sign; write it like 25 %"
            if expected
            else f"a percent sign; write {numbers[row]:g}"
        )
        of = "percentages" if expected else "numbers that are no percentages"
        text = f"column {shorten(name)} holds {of}, and {shown} in row {row + 1} has {has}"
        raise table.error(text)


def _check_numbers(table: RawTable, name: str, known: Measured) -> None:
    """Refuse dates where the training rows had numbers that may be dates."""
    ends = known.range or (0.0, 0.0)
    unit = epoch_unit(*ends)
    are_basic = all(is_basic_date(as_string(end)) for end in ends)
    may_be = "dates such as 20230616" if are_basic else unit and f"{unit} since 1970"
    for row, cell in enumerate(table.strings(name) if may_be else (), start=1):
        if cell and find_day_first([cell]) is not None:
            text = f"column {shorten(name)} holds {shorten(cell, 30)} in row {row}, and the model "
            text += f"was fitted on numbers, which may be {may_be}: write such a number, or fit "
            raise table.error(f"{text}the model with columns={{{name!r}: 'date'}}")


def _is_day_first(table: RawTable, name: str, notes: list[str]) -> bool:
    """Return whether new dates begin with the day, where those of training do not tell.

    Dates that leave it open are refused, and so are those of both orders.
    """
    cells = [(row, cell) for row, cell in enumerate(table.strings(name), 1) if has_order([cell])]
    orders = [first for first in (True, False) if all(parse_date(cell, first) for _, cell in cells)]
    if not cells:
        return False
    if len(orders) == 2 and is_one_month(cell for _, cell in cells):
        orders = [True]
    if len(orders) == 1:
        if any(parse_date(cell, not orders[0]) for _, cell in cells):
            order = "day first" if orders[0] else "month first"
            notes.append(f"{table.source}: dates of {name} read with the {order}")
        return orders[0]
    text, cure = "dates with the day first and others with the month first", ""
    if orders:
        row, cell = cells[0]
        text = f"{shorten(cell, 30)} in row {row}, in which the day or the month may be first"
        cure = f", or fit the model with columns={{{name!r}: 'day_first_date'}} if the day is"
    text += "; write the year first, as in 2025-12-31" + cure
    raise table.error(f"column {shorten(name)} holds {text}", *["columns"] * bool(cure))
