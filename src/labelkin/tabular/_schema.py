"""What a model's input looks like, found from a table once and then required of others."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from scipy import sparse

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, shorten
from labelkin._utils.labels import MANY_LABELS
from labelkin._utils.names import did_you_mean, join_names, plural
from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.datasets.formats._cells import read_mixed
from labelkin.datasets.formats._columns import (
    find_columns,
    normal_form,
    repeats_name,
    respell,
)
from labelkin.datasets.formats._dialect import (
    in_words,
    is_currency,
    is_same_unit,
    is_unknown,
)
from labelkin.datasets.formats._json import NO_OBJECT, fields_of
from labelkin.datasets.formats._raw_table import Guess, spread_cure
from labelkin.tabular._dates import (
    as_days,
    as_zone,
    find_zone,
    has_order,
    is_one_month,
    parse_date,
    parse_dates,
)
from labelkin.tabular._kinds import (
    Embedding,
    Kind,
    Scale,
    find_constant,
    find_identifiers,
    find_kind,
    find_title,
)
from labelkin.tabular._scaling import are_counts
from labelkin.tabular._tags import names_in, read_names
from labelkin.tabular._text import affordable_ngrams, is_unspaced

_MAX_VALUES = 50_000_000  # of rows given as Python values: 400 MB
_FORMS: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}
_MANY_TEXTS = 5_000  # from which rare words are frequent enough to learn from
_MAX_WORDS = 1 / 3  # share of the cells of a column of numbers that may be words in new rows
_CHANCE = 0.05  # of a note on values outside of their ranges in rows like those of training
_MAX_RANGES = 10_000  # columns of a matrix whose ranges are kept
_MAX_UNKNOWN = 100  # names that the model does not know, kept for errors that suggest one of them


@dataclass(frozen=True)
class Schema:
    """Named columns with their kinds, or a plain matrix of numbers."""

    columns: dict[str, Kind] | None
    """Kind of each column of a table; None: a matrix of numbers."""
    names: tuple[str, ...] | None = None
    """Names of a matrix's columns, where it has any."""
    n_features: int = 0
    """Number of columns of a matrix."""
    scale: Scale = "none"
    max_words: int = 5000
    embedding: Embedding = "auto"
    """Whether texts have embeddings: with "auto", where the packages are installed."""
    ngrams: tuple[str, ...] = ()
    """Kinds of n-grams that texts have, for classifiers that gain by them."""
    unspaced: tuple[str, ...] = ()
    """Columns of texts without spaces between words."""
    zero_based: bool | None = None
    """Whether the features of the LibSVM file of the training data counted from 0."""
    gaps: bool = False
    """Whether a matrix had missing values when the model was fitted."""
    decimal: str = "."
    """Decimal mark of numbers that are given as strings."""
    trend: bool = False
    """Whether the year of dates is used."""
    ranges: dict[str, list[float]] | None = None
    """Lowest and highest value of columns of numbers and dates, in days, in the training rows.

    Also of the columns of a dense matrix of at most 10,000.
    """
    n_rows: int = 0
    """Number of the training rows."""
    identifiers: tuple[str, ...] = ()
    """Columns of the training data that told its rows apart and are not learned from.

    The best names of rows come first: those without gaps, and those named like an identifier.
    """
    ignored: tuple[str, ...] = ()
    """All columns of the training data that are not learned from, also its labels."""
    title: str = ""
    """The column of texts by which a reader knows a row."""
    year_first: tuple[str, ...] = ()
    """Columns of dates that began with the year: in others, day or month may be first."""
    zones: dict[str, str] | None = None
    """Time zones of the columns of dates that had one, or offsets from UTC that all dates had.

    Dates with another one are converted to it.
    """
    percentages: tuple[str, ...] | None = None
    """Columns of numbers with a percent sign, of which 10% is 0.1; None: not known."""
    units: dict[str, str] | None = None
    """Currencies, and words such as kg, that were written beside numbers, by column."""
    words: dict[str, list[str]] | None = None
    """What was read as missing among the numbers of a column."""
    encoding: str | None = None
    """Encoding of the file of the training data, if it was text."""

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns that are used; None where they have none."""
        if self.columns is not None:
            return list(self.columns)
        return None if self.names is None else list(self.names)

    @property
    def matrix_names(self) -> list[str]:
        """Names of the columns of a matrix, which are numbered if they have none."""
        return [*(self.names or (f"feature {j + 1}" for j in range(self.n_features)))]

    @property
    def reading(self) -> dict[str, Any]:
        """Options by which `read_table` reads new rows as it read the training data.

        A decimal comma is kept; a file in which none occurs reads the same with either mark.
        """
        strings = [*self.of_kind("category", "text", "date", "day_first_date"), *self.identifiers]
        comma = "," if self.decimal == "," else None
        named = {"as_strings": strings, "expected": self.feature_names or ()}
        likely = [self.encoding] if self.encoding else None
        return named | {"encoding": likely, "decimal": comma, "zero_based": self.zero_based}

    def of_kind(self, *kinds: str) -> list[str]:
        """Return the names of the columns of these kinds."""
        return [name for name, found in (self.columns or {}).items() if found in kinds]

    def words_of(self, name: str) -> list[str]:
        """Return the words that were read as missing in a column of numbers."""
        return (self.words or {}).get(name, [])

    def label_rows(self, names: Iterable[str]) -> Any:
        """Return rows with the names of labels as texts; None if not all columns are texts."""
        if not names or {*(self.columns or {}).values()} != {"text"}:
            return None
        first, *others = self.columns or {}
        rows = {first: list(names)} | dict.fromkeys(others, "")
        return import_optional("pandas").DataFrame(rows)

    # --- finding ----------------------------------------------------------------------------

    @classmethod
    def find(
        cls,
        table: RawTable,
        label_columns: Iterable[str] = (),
        columns: "Mapping[str, str] | Schema | None" = None,
        n_labels: int = 0,
        *,
        scale: Scale = "auto",
        max_words: int | None = None,
        embedding: Embedding = "auto",
        ngrams: Embedding = "auto",
        trend: bool = False,
    ) -> "Schema":
        """Find the kind of each column but the labels, of which there are `n_labels`.

        `columns` are kinds that the user chose, by name; a schema is returned as it is.
        """
        if isinstance(columns, Schema):
            return columns
        columns = {normal_form(str(name)): kind for name, kind in (columns or {}).items()}
        known = [kind for kind in (*get_args(Kind), "ignore") if kind != "raw"]
        for name, chosen in columns.items():
            if chosen not in known:
                raise ArgumentError(
                    f"columns={{{name!r}: {chosen!r}}}: no such kind."
                    f"{did_you_mean(str(chosen), known)} The kinds are {', '.join(known)}."
                )
        names = _feature_names(table, set(label_columns), columns)
        if table.is_matrix and all(kind == "ignore" for kind in columns.values()):
            if scale == "robust":
                raise ArgumentError(
                    "scale=robust needs a table of columns, such as a CSV file; use scale=standard "
                    "or scale=minmax for a matrix.",
                    "scale",
                )
            matrix = table.data if names is None else table.select(names)
            values = matrix.data if sparse.issparse(matrix) else matrix
            schema = cls(
                None,
                None if names is None else tuple(names),
                matrix.shape[1],
                "none" if scale == "auto" else scale,
                zero_based=table.zero_based,
                gaps=bool(np.isnan(values).any()),
                encoding=table.encoding,
                n_rows=table.n_rows,
            )
            if sparse.issparse(matrix) or matrix.shape[1] > _MAX_RANGES:
                return schema
            by_name = zip(schema.matrix_names, matrix.T, strict=True)
            return replace(schema, ranges=_ranges(by_name))
        assert names is not None
        written = [name for name, kind in columns.items() if kind != "number"]
        read_mixed(table, names, written)
        read_names(table, [name for name in names if columns.get(name, "text") == "text"])
        if table.decimal is None:
            read = [name for name in names if columns.get(name, "number") == "number"]
            table.decimal = table.find_decimal(read)
            table.guesses += [Guess("',' decimal", ("decimal",))] if table.decimal == "," else []
        table.words = {}
        constant = find_constant(table, [name for name in names if name not in columns])
        found = {n: find_kind(table, n, columns.get(n)) for n in names if n not in constant}
        kinds: dict[str, Kind] = {name: kind for name, kind in found.items() if kind is not None}
        if not kinds:
            kept = next((name for name in names if table.kind(name) != "list"), None)
            cure = (
                f"keep one with columns={{{kept!r}: 'number'}}" if kept else spread_cure(names[0])
            )
            text = "no feature column is left besides labels, identifiers, lists and columns that"
            raise table.error(f"{text} are empty or the same in all rows; {cure}", "columns")
        if n_labels >= MANY_LABELS:  # embeddings of all rows would take most of the time
            embedding = "none"
        texts = {n: [text or "" for text in table.strings(n)] for n in kinds if kinds[n] == "text"}
        size = sum(len(text) for column in texts.values() for text in column)
        if max_words is None:
            # Words that only a few titles have decide between labels that only a few titles have.
            max_words = 5_000 if table.n_rows < _MANY_TEXTS else 20_000
            max_words = 100_000 if n_labels >= MANY_LABELS else max_words
        ignored = [name for name in table.names or () if name not in kinds]
        others = [name for name in ignored if name not in {*label_columns}]
        measured = [name for name in kinds if kinds[name] not in ("category", "text", "raw")]
        units = {name: unit for name, unit in table.units.items() if kinds.get(name) == "number"}
        zones = {n: zone for n in kinds if "date" in kinds[n] and (zone := _zone_of(table, n))}
        numbers = {
            n: _read_column(table, n, kinds[n], units.get(n, ""), zones.get(n, ""))[1]
            for n in measured
        }
        dates = [n for n in kinds if kinds[n] == "date" and not has_order(table.strings(n))]
        if scale == "auto" and len(set(kinds.values())) > 1:
            scale = "robust"
        elif scale == "auto" and are_counts([v[np.isfinite(v)] for v in numbers.values()]):
            scale = "none"
        return cls(
            kinds,
            scale=scale,
            max_words=max_words,
            embedding=embedding,
            ngrams=affordable_ngrams(table.n_rows, size, n_labels) if ngrams == "auto" else (),
            unspaced=tuple(name for name in texts if is_unspaced(texts[name])),
            decimal=table.decimal,
            trend=trend,
            ranges=_ranges(numbers.items()),
            n_rows=table.n_rows,
            identifiers=find_identifiers(table, others),
            ignored=tuple(ignored),
            title=find_title(table, kinds),
            percentages=tuple(name for name in measured if _has_percent_sign(table, name)),
            year_first=tuple(name for name in dates if name not in columns),
            units=units,
            zones=zones,
            words=table.words,
            encoding=table.encoding,
        )

    # --- reading ----------------------------------------------------------------------------

    def read(self, X: Any, notes: list[str] | None = None) -> Any:
        """Return the features of a table in the form the pipeline takes; remarks go to `notes`.

        They are a DataFrame of numbers and strings or, of a matrix, a matrix. A table may lack some
        columns, and a few numbers and dates may be words, if there are notes, which name these.
        """
        table, is_strict = replace(RawTable.of(X), words=self.words or {}), notes is None
        notes = [] if notes is None else notes
        if not table.n_rows:
            raise table.error("it holds no rows")
        if self.columns is None:
            return self._read_matrix(table, notes)
        pandas = import_optional("pandas")
        needs_all = is_strict or table.is_matrix
        if absent := _check_present(table, list(self.columns), needs_all, self.ignored):
            empty = pandas.DataFrame(None, table.data.index, absent, dtype=object)
            table = replace(table, data=pandas.concat([table.data, empty], axis=1), absent=absent)
        if absent := table.absent:
            words = "its values are" if len(absent) == 1 else "their values are"
            notes.append(f"{table.source}: no column {join_names(absent)}: {words} missing")
        table.decimal = self.reading["decimal"] or table.decimal
        read_mixed(table, self.columns, [*self.reading["as_strings"], *self.of_kind("raw")])
        read_names(table, self.of_kind("text"))
        table.decimal = table.find_decimal(self.of_kind("number"))
        found, measured, gaps = {}, list[tuple[str, str, Any]](), dict[str, int]()
        for name, kind in self.columns.items():
            unit = (self.units or {}).get(name, "")
            is_open = name in self.year_first and table.kind(name) == "string"
            is_turned = is_open and _is_day_first(table, name, notes)
            zone = (self.zones or {}).get(name, "")
            spare = 0.0 if is_strict else _MAX_WORDS
            cells, numbers = _read_column(table, name, kind, unit, zone, spare, is_turned)
            if kind == "number":
                _check_unit(table, name, unit)
            if kind == "number" and self.percentages is not None:
                _check_percentages(table, name, cells, name in self.percentages)
            found[name] = pandas.Series(cells, dtype=cells.dtype)
            if (
                kind == "number"
                and name not in absent
                and (n_missing := int(np.isnan(cells).sum()))
            ):
                gaps[name] = n_missing
            if name in (self.ranges or {}):
                measured.append((name, kind, numbers))
        for name, read in table.words.items():
            if others := [shorten(word, 20) for word in read if word not in self.words_of(name)]:
                text = f"words in {name} read as missing: {join_names(others, 3)}"
                notes.append(f"{table.source}: {text}")
        self._note_outside(table, measured, notes)
        _note_gaps(table, sum(gaps.values()), [*gaps], notes)
        return pandas.DataFrame(found)

    def _note_outside(
        self, table: RawTable, columns: Sequence[tuple[str, str, Any]], notes: list[str]
    ) -> None:
        """Add a note on rows outside of the ranges of training, if they are many or far.

        `columns` are names, kinds and numbers. Of m new rows like the n of training, k or more are
        above all of these with the probability Π (m − i) / (n + m − i), i < k. It may be 0.05 for
        any column and side together; so may the probability of a value outside by more than half
        of `widths` times the range, if values are distributed exponentially.
        """
        if not columns:
            return
        m, n, n_sides = table.n_rows, max(self.n_rows, 2), 2 * len(self.ranges or ())
        shown = list[str]()
        least, chance = 0, float(n_sides)  # of so many rows
        while least < m and chance > _CHANCE:
            chance *= (m - least) / (n + m - least)
            least += 1
        least += chance > _CHANCE
        widths = 2 * max(1.0, np.log(n_sides * m / _CHANCE) / np.log(n) - 1)
        for name, kind, numbers in columns:
            low, high = (self.ranges or {})[name]
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

    def _read_matrix(self, table: RawTable, notes: list[str]) -> Any:
        matrix = table.data
        if self.names is not None and table.names is not None:
            _check_present(table, list(self.names))
            matrix = table.select(self.names)
            if not table.is_matrix:
                matrix = np.column_stack([table.numbers(name) for name in self.names])
        elif not table.is_matrix:
            raise table.error(
                "the model was fitted on features without names; give it a file of that kind "
                "(LibSVM or .npz)"
            )
        if table.zero_based is not None and matrix.shape[1] != self.n_features:
            # A LibSVM file ends at the highest feature of its rows.
            new = np.unique(matrix.indices[matrix.indices >= self.n_features])
            if len(new) and matrix.indices.min() >= self.n_features:
                text = f"none of its features is one of the {self.n_features:,} of the model"
                raise table.error(text)
            matrix = matrix.copy()
            matrix.resize(table.n_rows, self.n_features)
            if len(new):
                text = f"{plural(len(new), 'feature')} unknown to the model: left out"
                notes.append(f"{table.source}: {text}")
        if matrix.shape[1] != self.n_features:
            raise table.error(
                f"it has {matrix.shape[1]:,} features, and the model was fitted on "
                f"{self.n_features:,}"
            )
        values = matrix.data if sparse.issparse(matrix) else matrix
        if np.isinf(values).any():
            raise table.error("a feature holds an infinite value")
        if self.ranges and not sparse.issparse(matrix):
            names = self.matrix_names
            low, high = np.array([self.ranges.get(name, (-np.inf, np.inf)) for name in names]).T
            some = np.flatnonzero(((matrix < low) | (matrix > high)).any(axis=0))
            self._note_outside(table, [(names[j], "number", matrix[:, j]) for j in some], notes)
        missing = int(np.isnan(values).sum())
        if missing and not self.gaps:
            text = f"{missing:,} values are missing, and the model was fitted on data without any"
            raise table.error(text)
        _note_gaps(table, missing, [], notes)
        return matrix


def _read_column(
    table: RawTable,
    name: str,
    kind: str,
    unit: str = "",
    zone: str = "",
    spare: float = 0.0,
    is_turned: bool = False,
) -> tuple[np.ndarray, Any]:
    """Return the numbers or strings of a column, and its numbers or, of dates, days, if any.

    Infinite numbers, and words in more than a share `spare` of the cells of numbers or dates are
    refused. Dates are converted to the time zone, if it is given, and have the day
    before the month if the kind says so or, with `is_turned`, if it does not.
    """
    if kind == "number" or (kind == "raw" and table.kind(name) in ("number", "missing")):
        cells = table.numbers(name, unit, spare)
        if kind == "number" and np.isinf(cells).any():
            text = f"holds an infinite value in row {np.isinf(cells).argmax() + 1}"
            raise table.error(f"column {shorten(name)} {text}; write a number, or none if unknown")
        return cells, cells
    cells = table.strings(name)
    if kind == "category":  # spaces around a value are no part of it
        cells = np.array([cell if cell is None else cell.strip() for cell in cells], dtype=object)
    if "date" not in kind:
        return cells, None
    day_first = is_turned != (kind == "day_first_date")
    to, words = as_zone(zone), table.words.get(name, [])
    cells[[cell is not None and (cell in words or is_unknown(cell)) for cell in cells]] = None
    dates = parse_dates(cells, day_first, to)
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


def _ranges(columns: Iterable[tuple[str, np.ndarray]]) -> dict[str, list[float]]:
    """Return the lowest and the highest number of columns, by name; of empty ones nothing."""
    finite = ((name, values[np.isfinite(values)]) for name, values in columns)
    return {name: [float(v.min()), float(v.max())] for name, v in finite if v.size}


def _zone_of(table: RawTable, name: str) -> str:
    """Return the time zone of a column of dates, or their offset from UTC; empty: none, or many."""
    zone = str(getattr(getattr(table.column(name), "dt", None), "tz", None) or "")
    return zone if as_zone(zone) else find_zone(table.strings(name))


def _has_percent_sign(table: RawTable, name: str) -> bool:
    signs = table.percent_signs(name)
    return signs is not None and bool(signs.any())


def _check_unit(table: RawTable, name: str, expected: str) -> None:
    """Refuse numbers in another unit; those without one are taken as they are.

    So are amounts of a currency where there was none.
    """
    found = table.units.get(name, "")
    if not expected and is_currency(found):
        return
    if found and not is_same_unit(found, expected):
        of = in_words(expected) if expected else "numbers without a unit"
        text = f"column {shorten(name)} holds {in_words(found)}, and the model was fitted on {of}"
        raise table.error(f"{text}; convert them")


def _check_percentages(table: RawTable, name: str, numbers: np.ndarray, expected: bool) -> None:
    """Refuse a number with a percent sign among those without, and the reverse.

    Numbers that are not written, as in a DataFrame, are taken as they are.
    """
    signs = table.percent_signs(name)
    wrong = np.zeros(len(numbers), bool) if signs is None else signs != expected
    for row in np.flatnonzero(wrong & (np.nan_to_num(numbers) != 0)):
        shown = f"{numbers[row]:g}" if expected else f"{100 * numbers[row]:g} %"
        has = "no percent sign; write it like 25 %" if expected else "a percent sign; leave it out"
        of = "percentages" if expected else "numbers that are no percentages"
        text = f"column {shorten(name)} holds {of}, and {shown} in row {row + 1} has {has}"
        raise table.error(text)


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


def _feature_names(
    table: RawTable, label_columns: set[str], columns: Mapping[str, str]
) -> list[str] | None:
    """Return the columns that are neither labels nor ignored; None where they have no names."""
    if table.names is None:
        if columns:
            raise table.error(f"it has no column names, so none is {next(iter(columns))!r}")
        return None
    find_columns(columns, table.names, table.source)
    for name in columns:
        if name in label_columns:
            raise ArgumentError(f"column {name!r} is a label and cannot have another role.")
    ignored = {name for name, kind in columns.items() if kind == "ignore"}
    names = [name for name in table.names if name not in label_columns | ignored]
    if not names:
        raise table.error("no feature column is left besides the labels")
    return names


def _check_present(
    table: RawTable, names: list[str], is_strict: bool = True, ignored: Sequence[str] = ()
) -> list[str]:
    """Return the columns that a table lacks of those the model was fitted on.

    It is refused if it lacks all, one that may be misspelt or, with `is_strict`, any. Those
    `ignored` in training are no other spelling of one.
    """
    if table.names is None:
        raise table.error(
            f"it has no column names, and the model needs the columns {join_names(names)}"
        )
    present, known = {*table.names}, {*names, *ignored}
    absent = [name for name in names if name not in present]
    others = [name for name in table.names if name not in known]
    # Rows may have fewer tags, without a column tag_2 beside tag.
    single = [name for name in absent if not repeats_name(name, present)]
    misspelt = [name for name in single if did_you_mean(name, others)]
    if not absent or (len(absent) < len(names) and not (is_strict or misspelt)):
        return absent
    first = (misspelt or absent)[0]
    try:
        table.require([first], others if misspelt else None)
    except FormatError as error:
        if len(absent) == len(names):  # it is another table
            raise
        more = [name for name in absent if name != first]
        also = f" It also lacks {join_names(more)}." if more else ""
        cure = "Where the values are not known, add an empty column of that name."
        raise table.error(f"{error.message}{also} {cure}", *error.arguments) from None
    return []


def _note_gaps(table: RawTable, count: int, names: list[str], notes: list[str]) -> None:
    """Add a note on missing numbers, in the columns `names` where they have names."""
    if count:
        where = f" in {join_names(names)}" if names else ""
        notes.append(
            f"{table.source}: {plural(count, 'missing value')}{where}: each is replaced by the "
            "median of its column in the training rows"
        )


def table_of_records(rows: Sequence[Any], schema: Schema, *, source: str = "rows") -> RawTable:
    """Return rows, such as those of a JSON request, as a table that `Schema.read` takes.

    A row maps columns to values; a column that it lacks is missing there, as is None. Identifiers
    are kept, too. For a schema of a matrix, a row may also be a list of all its numbers. As in a
    file, a field of a nested object is the column ``a.b``, missing where a is None, and a text may
    be a number with a decimal comma. Errors call the rows `source`.
    """
    is_matrix = schema.columns is None
    names = schema.matrix_names if is_matrix else [*(schema.columns or ())]
    if len(rows) * len(names) > _MAX_VALUES:
        raise FormatError(source, f"{len(rows):,} rows of {len(names):,} values are too many")
    parents: dict[str, list[str]] = {}
    for name in names:
        for dot in re.finditer(r"\.", name):
            parents.setdefault(name[: dot.start()], []).append(name)
    records, known = [], {*names, *schema.identifiers}
    for number, row in enumerate(rows, start=1):
        if isinstance(row, dict) and schema.feature_names is not None:
            record = dict(_flatten(row, parents))
            for name in parents.keys() & record.keys():
                if record[name] in NO_OBJECT:
                    record = dict.fromkeys(parents[name]) | record
            if not known <= record.keys():
                spelled, _ = respell([*record], known)
                record = dict(zip(map(str, spelled), record.values(), strict=True))
            records.append(record)
        elif is_matrix and isinstance(row, list) and len(row) == len(names):
            records.append(dict(zip(names, row, strict=True)))
        else:
            form = "a list of {:,} numbers" if is_matrix else "an object of columns and values"
            raise FormatError(source, f"row {number} is not {form.format(len(names))}")
    given = dict.fromkeys(name for record in records for name in record)
    left_out = [name for name in names if name not in given]
    known |= {*schema.ignored}
    unknown = [name for name in given if name not in known][:_MAX_UNKNOWN]
    if given and len(left_out) == len(names):
        find_columns(left_out, [*given][:_MAX_UNKNOWN], source)  # which refuses them
    single = [name for name in left_out if not repeats_name(name, given)]
    for name in unknown:  # a misspelt column is not a missing value
        if hint := did_you_mean(name, single):
            raise FormatError(source, f"the model has no column {shorten(name)}.{hint}")
    for number, record in enumerate(records, start=1):
        if record.keys().isdisjoint(names):
            text = f"row {number} has none of the columns {join_names(names)}"
            raise FormatError(source, text)
    names += [name for name in schema.identifiers if name in given]
    cells = {}
    for name in names:
        values = enumerate((record.get(name) for record in records), start=1)
        cells[name] = [_read_value(value, is_matrix, source, name, row) for row, value in values]
    if is_matrix:
        matrix = np.array([*cells.values()], dtype=np.float64).T
        return RawTable(source, matrix, schema.feature_names)
    frame = import_optional("pandas").DataFrame(cells, dtype=object)
    left_out = left_out if len(left_out) < len(names) else []
    percentages = frozenset[str]()
    return RawTable(source, frame, names, percentages=percentages, absent=left_out)


def _flatten(
    row: dict[str, Any], parents: Container[str], prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    """Yield columns and values; an object is opened only if the model has columns in it."""
    for key, value in row.items():
        name = prefix + normal_form(key)
        if name in parents and isinstance(fields := fields_of(value), dict):
            yield from _flatten(fields, parents, f"{name}.")
        else:
            yield name, value


def _read_value(value: Any, is_matrix: bool, source: str, name: str, row: int) -> Any:
    """Return a number, a text or None; the empty text is missing."""
    value = names_in(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = ", ".join(value)  # as `RawTable.strings` joins lists of words
    if value is None or (isinstance(value, str) and (not is_matrix or is_unknown(value))):
        return None if is_matrix else value or None
    held = _FORMS.get(type(value))
    if held is None:
        try:
            return float(value)
        except OverflowError:
            held = "a number beyond the range of numbers"
    else:
        held += ", not a number" if is_matrix else ", not a number or text"
    column = name if is_matrix else f"column {shorten(name)}"
    raise FormatError(source, f"row {row}: {column} holds {held}")
