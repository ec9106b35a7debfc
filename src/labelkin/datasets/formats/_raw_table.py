"""Tables with columns of any kind, and how files of them are written."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.names import join_names
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._columns import (
    Labels,
    check_unique,
    find_columns,
    join_headers,
    normal_form,
    respell,
)
from labelkin.datasets.formats._dialect import Encoding
from labelkin.datasets.formats._nested import open_objects
from labelkin.datasets.formats._numbers import (
    guess_decimal,
    have_digits,
    is_number,
    is_unknown,
    may_be_thousands,
    parse_cell,
    sign_of,
)
from labelkin.datasets.formats._quantities import split_unit, without_limit
from labelkin.datasets.formats._units import is_currency, not_in, ratio, ratio_to_name

NO_YES = ("0", "1")
"""Values of a nominal column that means no and yes: its indices mean the same in every file."""

NO_LABELS = "it holds no labels; if another array or file does, name it with y="

UNITS = "labelkin units"
"""The attribute of a DataFrame that holds the units of its numbers, by column."""

# What pandas finds in a column of objects.
_TIMES = {"time", "timedelta", "timedelta64"}
_NUMBERS = {"integer", "floating", "mixed-integer-float", "boolean", "decimal", *_TIMES}
_DATES = {"date", "datetime", "datetime64"}
_PLAIN = (str, int, float, np.number, np.bool_, date, time, timedelta)
_LISTS = (list, tuple, set, frozenset, np.ndarray)


class _RefusedNumberError(ValueError):
    """Says why a cell that is a number is not taken."""


@dataclass(frozen=True)
class Guess:
    """What was guessed about a file, in a few words, and the arguments that override it, if any."""

    text: str
    arguments: tuple[str, ...]
    doubtful: bool = False
    """Whether it may well be wrong, so that the user should decide."""
    values: tuple[str, ...] = ()
    """What the first of the arguments should be, if it is known."""


@dataclass(frozen=True)
class CsvForm:
    """How a CSV file is written for the program from which another one comes, such as Excel."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"

    @classmethod
    def of(cls, table: "RawTable", delimiter: str, has_mark: bool) -> "CsvForm":
        """Return the form for the program that wrote this table; a comma or semicolon delimits.

        A semicolon stands for countries with a decimal comma, unless numbers have a point. With
        `has_mark`, the encoding has a byte order mark.
        """
        encoding, is_comma = "utf-8-sig" if has_mark else "utf-8", table.decimal == ","
        if delimiter != ";" and (delimiter == "," or not is_comma):
            return cls(encoding=encoding)
        numbers = table.data.select_dtypes("floating")
        has_points = not is_comma and (numbers % 1 > 0).any(axis=None)
        return cls(";", "." if has_points else ",", encoding)


@dataclass(frozen=True)
class Options:
    """How a file is written and what is known about it, where it is given: see `read_table`."""

    delimiter: str | None = None
    encoding: Encoding = None
    decimal: str | Sequence[str] | None = None
    header: bool | None = None
    sheet: str | None = None
    x: str | None = None
    y: str | None = None
    as_strings: Iterable[str] = ()
    expected: Iterable[str] = ()
    labels: Labels | None = None
    n_features: int | None = None
    zero_based: bool | None = None
    written: bool = False
    trim: bool = False
    """Whether spaces and line breaks at the ends of a name, or repeated in it, are left out."""
    xml: str | Path | None = None
    """The labels of an ARFF file, if they are not in an XML file of its name beside it."""

    @property
    def mark(self) -> str | None:
        """The decimal mark that is given, or that is likely; None: it is not known."""
        return self.decimal[0] if self.decimal else None

    @property
    def known(self) -> list[str]:
        """Columns that have these names in the file, whatever their case and spaces."""
        return [*self.expected, *self.as_strings]


def encoding_guess(encoding: str, options: Options) -> list[Guess]:
    """Return the encoding that was found as a guess, unless it is UTF-8 or was given."""
    is_said = not isinstance(options.encoding, str) and encoding != "utf-8"
    return [Guess(encoding, ("encoding",))] if is_said else []


@dataclass
class RawTable:
    """The rows of a file, before features are made of them."""

    source: str
    """The file, as errors name it."""
    data: Any
    """All columns: a DataFrame or, of a file that holds only numbers, an array or CSR matrix."""
    names: list[str] | None
    """Names of the columns; None where the format has none."""
    label_names: list[str] | None = None
    """Names of the labels, if the file declares them."""
    target: Any = None
    """Labels that the file holds apart from its columns; None: they are among the columns."""
    label_table: "RawTable | None" = None
    """The table of another file that holds the labels of the same rows, with the same `guesses`."""
    decimal: str | None = None
    """Decimal mark of numbers in columns of strings; None: not known, as in a DataFrame."""
    percentages: frozenset[str] | None = None
    """Columns of numbers that are written with a percent sign; None: not known."""
    units: dict[str, str] = field(default_factory=dict)
    """Currencies, and words such as kg, that are written beside numbers, by column."""
    words: dict[str, list[str]] = field(default_factory=dict)
    """What is read as missing among the numbers of a column."""
    written: dict[str, Any] = field(default_factory=dict)
    """The cells of a CSV file or a sheet as they are written, if these were asked for."""
    repeats: dict[str, str] = field(default_factory=dict)
    """The name in the file of those columns that have one that stands before, such as a of a_2."""
    absent: list[str] = field(default_factory=list)
    """Columns that are empty because no row of a request has them."""
    guesses: list[Guess] = field(default_factory=list)
    """What was guessed about the file and its columns."""
    encoding: str | None = None
    """Encoding of a text file; None: it is of another format."""
    has_types: bool = False
    """Whether columns have types in the file, as in Parquet."""
    csv: CsvForm | None = None
    """How a CSV file is written that belongs to this one; None: it is of another format."""
    nominal: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Values of those columns of a matrix that hold indices of values."""
    texts: tuple[str, ...] = ()
    """Those of them that are text."""
    n_values: np.ndarray | None = None
    """Number of values of each column of a matrix whose values have no names, 0 for numbers."""
    split: np.ndarray | None = None
    """0 for published training rows and 1 for test rows, where known."""
    zero_based: bool | None = None
    """Whether the features of a LibSVM file count from 0, where known."""

    @classmethod
    def of(cls, X: Any) -> "RawTable":
        """Return a DataFrame, an array or a sparse matrix as a table, and a table as it is."""
        if isinstance(X, RawTable):
            return X
        first = X[0] if isinstance(X, list) and X else X
        if type(first) is dict:  # and not a DOK matrix, which is a dict, too
            is_row = first is X and all(np.ndim(cell) == 0 for cell in X.values())
            rows = "[X]" if is_row else "X"
            raise TypeError(f"X must be a DataFrame or an array: pass pandas.DataFrame({rows}).")
        if hasattr(X, "collect"):  # polars
            raise TypeError("X must be a DataFrame, not a LazyFrame: pass X.collect().")
        if not hasattr(X, "columns"):
            form: Any = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": False}
            try:
                matrix, guesses = flatten(check_array(X, allow_nd=True, **form))
                return cls("X", matrix, None, guesses=guesses)
            except (TypeError, ValueError) as error:
                are_words = [isinstance(cell, str) for cell in np.asarray(X, dtype=object).ravel()]
                if not any(are_words) and not hasattr(X, "to_frame"):
                    raise
                cure, when = "an array must hold numbers.", ", not one row or column"
                when = " if it holds words, texts or dates" if any(are_words) else when
                if hasattr(X, "to_frame"):
                    cure = "pass X.to_frame() for one column, X.to_frame().T for one row."
                elif isinstance(X, str | Path):
                    cure = "read a file with labelkin.datasets.read_table."
                raise type(error)(f"X must be a DataFrame{when}; {cure}") from error
        if not hasattr(X, "set_axis") and hasattr(X, "to_pandas"):
            X = X.to_pandas()  # polars, or Arrow
        if X.columns.nlevels == 2:  # as two rows of names in a file
            levels = [X.columns.get_level_values(i).map(str) for i in (0, 1)]
            upper, lower = ([name or None for name in level] for level in levels)
            X = X.set_axis([name or "" for name in join_headers(upper, lower)], axis=1)
        X = open_objects(X)
        names, guesses, repeats = name_columns([str(name) or None for name in X.columns], "X")
        units = dict(getattr(X, "attrs", {}).get(UNITS, {}))
        X = X.set_axis(names, axis=1)
        words = [name for name in names if str(X[name].dtype).startswith("dictionary")]
        X = X.astype(dict.fromkeys(words, "category"))  # of Arrow
        return cls("X", X, names, guesses=guesses, repeats=repeats, units=units)

    def error(self, message: str, *arguments: str) -> FormatError:
        """Return an error that names the file; `arguments` are those that the message mentions."""
        return FormatError(self.source, message, None, *arguments)

    def require(self, names: Iterable[str], among: Sequence[str] | None = None) -> None:
        """Refuse a table that lacks one of these columns, maybe because of a wrong encoding.

        They are looked for `among` all of its columns by default.
        """
        try:
            find_columns(names, (self.names or ()) if among is None else among, self.source)
        except FormatError as error:
            guess = next((one.text for one in self.guesses if "encoding" in one.arguments), None)
            if guess is None:
                raise
            text = f"Its encoding is guessed as {guess}: if letters are wrong, pass encoding=."
            raise self.error(f"{error.message} {text}", "encoding") from None

    def not_binary(self, name: str) -> FormatError:
        """Return the error for a nominal column that is a label but has other values than two."""
        values = shorten(", ".join(self.nominal[name][:6]))
        return self.error(
            f"label {shorten(name)} takes the values {values}: labelkin is for binary labels "
            "(0/1), not multi-target data"
        )

    @property
    def labelled(self) -> "RawTable":
        """The table that holds the labels: that of another file, or this one."""
        return self if self.label_table is None else self.label_table

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.data.shape[0]

    @property
    def is_matrix(self) -> bool:
        """Whether all columns are numbers, in an array or a sparse matrix."""
        return not hasattr(self.data, "columns")

    def select(self, names: Iterable[str]) -> Any:
        """Return columns by name, as a DataFrame or a matrix like `data`."""
        if not self.is_matrix:
            return self.data[list(names)]
        place = {name: i for i, name in enumerate(self.names or ())}
        chosen = [place[name] for name in names]
        return self.data if chosen == list(range(len(place))) else self.data[:, chosen]

    def count_values(self, names: Sequence[str] | None, n: int) -> np.ndarray:
        """Return the number of values of each of `n` columns of a matrix, 0 for numbers."""
        counts: dict[str, int] = {name: len(values) for name, values in self.nominal.items()}
        if self.n_values is not None:
            if names is None or names == self.names:
                return self.n_values.astype(np.int32)
            counts = dict(zip(self.names or (), self.n_values.tolist(), strict=True))
        return np.array([counts.get(name, 0) for name in names or [""] * n], dtype=np.int32)

    def column(self, name: str) -> Any:
        """Return one column as a pandas Series."""
        name = normal_form(name)
        if not self.is_matrix:
            return self.data[name]
        column = self.select([name])
        dense = column.toarray() if sparse.issparse(column) else np.asarray(column)
        return import_optional("pandas").Series(dense.ravel().astype(np.float64), name=name)

    def kind(self, name: str) -> str:
        """Return ``number``, ``string``, ``date``, ``list``, ``missing``, or a type's name."""
        column = self.column(name)
        if _is_plain(column):  # of tables of thousands of columns, most are
            values = column.to_numpy()
            return "missing" if len(values) and (values != values).all() else "number"  # NaN
        types = import_optional("pandas").api.types
        if column.dtype == "category":
            column = column.astype(object)
        if len(column) and column.isna().all():
            return "missing"
        if types.is_numeric_dtype(column.dtype):
            return "number" if column.dtype.kind != "c" else str(column.dtype)
        if types.is_datetime64_any_dtype(column.dtype):
            return "date"
        inferred = types.infer_dtype(column, skipna=True)
        if inferred in _NUMBERS | _DATES:
            return "number" if inferred in _NUMBERS else "date"
        if inferred not in ("mixed", "mixed-integer"):
            return "string" if inferred in ("empty", "interval") else inferred
        cells = column[column.notna()]
        if all(isinstance(cell, (*_LISTS, str)) for cell in cells):
            return "list" if any(len(cell) for cell in cells) else "missing"
        are_plain = all(isinstance(cell, (str, int, float, np.number)) for cell in cells)
        return "string" if are_plain else type(cells.iloc[0]).__name__

    def mixed_cells(self, name: str) -> list[Any] | None:
        """Return a column of numbers, dates and texts, None where missing; None: it is another."""
        types, column = import_optional("pandas").api.types, self.column(name)
        if column.dtype != object or not types.infer_dtype(column, skipna=True).startswith("mixed"):
            return None
        pairs = zip(column, column.isna(), strict=True)
        cells = [None if gone else cell for cell, gone in pairs]
        are_plain = all(cell is None or isinstance(cell, _PLAIN) for cell in cells)
        return cells if are_plain else None

    def numbers(self, name: str, unit: str = "", spare: float = 0.0) -> np.ndarray:
        """Return a column as float64, NaN where missing; strings are parsed if all are numbers.

        Times of day and durations are hours. The numbers of strings may have this unit. Up to a
        share `spare` of the cells may be other words, which become missing and are kept in `words`;
        if all may, so are numbers in other units.
        """
        column, words = self.column(name), {*self.words.get(name, ())}
        kind = "number" if _is_plain(column) else self.kind(name)
        if kind not in ("number", "missing", "string"):
            raise self.error(f"column {shorten(name)} holds {kind}, not numbers")
        if kind == "string":
            values = self._parse_column(name, words, unit, spare)
        else:
            pandas = import_optional("pandas")
            inferred = "" if _is_plain(column) else pandas.api.types.infer_dtype(column)
            if inferred in _TIMES:
                written = column.map(str, na_action="ignore") if inferred == "time" else column
                column = pandas.to_timedelta(written) / pandas.Timedelta(1, "h")
                self.units = self.units | {name: "hours"}
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        bare = (word for word in words if is_number(word) and not sign_of(word))
        missing = [parse_cell(word, ".") for word in bare]  # such as 999, and not €500
        return np.where(np.isin(values, missing), np.nan, values) if missing else values

    def _parse_column(self, name: str, words: set[str], unit: str, spare: float) -> np.ndarray:
        values, column, wrong = np.full(self.n_rows, np.nan), self.column(name), list[int]()
        decimal = self.find_own_decimal(name)
        for row, (cell, gone) in enumerate(zip(column, column.isna(), strict=True)):
            try:
                if not gone and cell not in words:
                    values[row] = (
                        self._parse(name, cell, unit, decimal) if isinstance(cell, str) else cell
                    )
            except (ValueError, TypeError) as error:
                wrong.append(row)
                is_refused = isinstance(error, _RefusedNumberError) and spare < 1
                if is_refused or len(wrong) > spare * column.notna().sum():
                    first = row if is_refused else wrong[0]
                    why = error if is_refused else not_in(unit)
                    shown = shorten(str(column.iloc[first]), 30)
                    text = f"column {shorten(name)} holds {shown} in row {first + 1}, {why}"
                    text += "; leave it empty if it is not known" * (spare > 0 and not is_refused)
                    raise self.error(text) from None
        if wrong:
            others = dict.fromkeys(str(column.iloc[row]) for row in wrong)
            self.words = self.words | {name: [*words, *others]}
        return values

    def find_own_decimal(self, name: str) -> str:
        """Return the decimal mark of a column; where commas are expected, it may have points."""
        if self.decimal != ",":
            return "."
        cells = {c for c in self.column(name) if isinstance(c, str) and re.search(r"\d", c)}
        numbers = [split_unit(without_limit(cell))[0] for cell in cells]
        has_commas = all(is_number(number, ",") for number in numbers)
        return "," if has_commas or not all(map(is_number, numbers)) else "."

    def _parse(self, name: str, cell: str, unit: str, decimal: str) -> float:
        """Return a number in the unit; ValueError is raised for a word."""
        if is_unknown(cell):
            return np.nan
        number, own = split_unit(without_limit(cell))
        value = parse_cell(number, decimal)
        # An amount of a currency is taken where there was none.
        factor = 1.0 if not unit and is_currency(own) else ratio(own, unit)
        factor = ratio_to_name(own, name) if factor is None and not unit else factor
        if factor is None:
            raise _RefusedNumberError(not_in(unit))
        if unit == "hours" and not own and (hour := re.fullmatch(r"(\d+)[.,]([0-5]\d)", number)):
            raise _RefusedNumberError(
                f"which may be {hour[1]}:{hour[2]} or {value:g} hours; write it with a colon"
            )
        if self.decimal is None and may_be_thousands(number):
            whole = float(re.sub("[.,]", "", number))
            text = f"which may be {whole:.0f} or {whole / 1000:g}; write it without a mark between "
            text += "thousands"
            raise _RefusedNumberError(text)
        return value * factor

    def find_decimal(self, names: Iterable[str], likely: str | None = None) -> str | None:
        """Return the decimal mark; if it is not known, what these columns show of it, if any."""
        if self.decimal is not None:
            return self.decimal
        return guess_decimal(self._distinct_strings(names), likely=likely)

    def has_thousands(self, names: Iterable[str]) -> bool:
        """Return whether a mark in one of these columns may stand between thousands."""
        columns = (cells for cells in self._distinct_strings(names) if have_digits(cells))
        return any(may_be_thousands(cell) for cells in columns for cell in cells)

    def _distinct_strings(self, names: Iterable[str]) -> list[set[str]]:
        columns = {name: self.column(name) for name in names}
        others = [name for name, one in columns.items() if not _is_plain(one)]
        strings = [columns[name] for name in others if self.kind(name) == "string"]
        return [
            {c for c in one if isinstance(c, str)} for one in strings if one.dtype != "category"
        ]

    def percent_signs(self, name: str) -> np.ndarray | None:
        """Return which cells of a column have a percent sign; None: not known, as in an array."""
        if not _is_plain(self.column(name)) and self.kind(name) == "string":
            cells = self.strings(name)
            return np.array([cell is not None and sign_of(cell) == "%" for cell in cells])
        if self.percentages is None:
            return None
        return np.full(self.n_rows, name in self.percentages)

    def strings(self, name: str) -> np.ndarray:
        """Return a column as strings, None where missing.

        Numbers and dates are formatted, lists of words are joined by commas.
        """
        kind = self.kind(name)
        if kind == "list" and self.holds_words(name):
            joined = [", ".join(items) or None for items in self.lists(name)]
            return np.array(joined, dtype=object)
        if kind not in ("string", "number", "date", "missing"):
            raise self.error(f"column {shorten(name)} holds {kind}, not text")
        if kind == "missing":
            return np.full(self.n_rows, None)
        column = self.column(name)
        cells = zip(column, column.isna(), strict=True)
        return np.array([None if gone else as_string(cell) for cell, gone in cells], dtype=object)

    def holds_words(self, name: str) -> bool:
        """Return whether all items of a column of lists are strings."""
        return all(isinstance(item, str) for cell in self.lists(name) for item in cell)

    def lists(self, name: str) -> list[list[Any]]:
        """Return a column of lists, each without missing items; a text is a list of one."""
        column = ([cell] if isinstance(cell, str) else cell for cell in self.column(name))
        cells = [cell if isinstance(cell, _LISTS) else () for cell in column]
        return [
            [
                item.item() if isinstance(item, np.generic) else item
                for item in cell
                if item is not None
            ]
            for cell in cells
        ]


def flatten(X: Any) -> tuple[Any, list[Guess]]:
    """Return an array with one row per sample, such as an image, and what was flattened if any."""
    if X.ndim <= 2:
        return X, []
    size, n = " × ".join(map(str, X.shape[1:])), math.prod(X.shape[1:])
    return X.reshape(len(X), n), [Guess(f"X: arrays of {size} flattened to {n:,} features", ())]


def _is_plain(column: Any) -> bool:
    """Return whether a column holds numbers in NumPy's types."""
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf"


def name_columns(
    names: Iterable[str | None], source: str, expected: Iterable[str] = ()
) -> tuple[list[str], list[Guess], dict[str, str]]:
    """Return names in normal form of which none occurs twice, and what was changed.

    Also returned are the names of those that occur twice, by the new ones.

    The second a becomes a_2. A missing name, and a second empty one, becomes c and its number; that
    of the first column becomes index, as it is most often the index of a DataFrame. A name that
    differs from an expected one by case, spaces, points, hyphens and underscores only becomes that.
    """
    names, respelled = respell([None if n is None else normal_form(n) for n in names], expected)
    guesses = [Guess(f"column {own} read as {name}", ()) for own, name in respelled]
    used, counts, found, changed = {*names}, dict[str, int](), [], []
    for number, name in enumerate(names, start=1):
        is_empty = name is None or (name == "" and name in counts)
        default = "index" if number == 1 else f"c{number}"
        chosen = bare = default if is_empty else str(name)
        while chosen in counts or (chosen != name and chosen in used):
            counts[bare] = counts.get(bare, 1) + 1
            chosen = f"{bare}_{counts[bare]}"
        counts.setdefault(chosen, 1)
        found.append(chosen)
        changed += [chosen] if chosen != name else []
    check_unique(found, "column", source)
    text = f"columns without a name of their own renamed: {join_names(changed)}"
    repeats = {new: name for new, name in zip(found, names, strict=True) if name and new != name}
    guesses += [Guess(text, ())] if changed else []
    return found, guesses, repeats


def as_string(cell: Any) -> str:
    """Return a cell as text: whole numbers without a fraction, 3.0 like 3, days without a time."""
    if isinstance(cell, datetime) and not cell.tzinfo and cell.time() == time():
        return str(cell.date())
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell)
