"""What a model's input looks like, found from a table once and then required of others."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np
from scipy import sparse

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, shorten
from labelkin._utils.optional import import_optional
from labelkin._utils.untrusted import check_json
from labelkin.datasets.formats._columns import find_columns
from labelkin.tabular._dates import parse_date
from labelkin.tabular._kinds import ColumnOptions, Kind, Missing, Scale, find_kind
from labelkin.tabular._labels import LabelColumns, join_names
from labelkin.tabular._tables import ArrowTable, MatrixTable, RawTable

_STRINGS = ("category", "text", "date", "day_first_date")
_FORM = {
    "columns": (None, {str: {*get_args(Kind)}}),
    "names": (None, [str]),
    "n_features": int,
    "missing": {*get_args(Missing)},
    "scale": {*get_args(Scale)},
    "max_words": int,
    "gaps": bool,
}


@dataclass(frozen=True)
class Schema:
    """Named columns with their kinds, or a plain matrix of numbers."""

    columns: dict[str, Kind] | None
    """Kind of each column of a table; None: a matrix of numbers."""
    names: tuple[str, ...] | None = None
    """Names of a matrix's columns, where it has any."""
    n_features: int = 0
    """Number of columns of a matrix."""
    missing: Missing = "impute"
    scale: Scale = "none"
    max_words: int = 5000
    gaps: bool = False
    """Whether a matrix had missing values when the model was fitted."""

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as values that JSON can hold; `from_dict` reads them back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Schema":
        """Return the schema that `to_dict` gave; ValueError for other values."""
        check_json(values, _FORM)
        names = values.get("names")
        return cls(**{**values, "names": None if names is None else tuple(names)})

    @property
    def string_columns(self) -> frozenset[str]:
        """Columns that are read as they are written."""
        return frozenset(name for name, kind in (self.columns or {}).items() if kind in _STRINGS)

    def of_kind(self, *kinds: str) -> list[str]:
        """Return the names of the columns of these kinds."""
        return [name for name, found in (self.columns or {}).items() if found in kinds]

    # --- finding ----------------------------------------------------------------------------

    @classmethod
    def find(
        cls, table: RawTable, labels: LabelColumns, options: ColumnOptions, notes: list[str]
    ) -> "Schema":
        """Find the kind of each column but the labels; remarks are added to `notes`."""
        names = _feature_names(table, labels, options)
        has_kinds = options.text or options.category or options.number
        if isinstance(table, MatrixTable) and not has_kinds:
            return cls._find_matrix(table, names, options)
        assert names is not None
        found = {name: find_kind(table, name, options) for name in names}
        kinds: dict[str, Kind] = {name: kind for name, kind in found.items() if kind is not None}
        if not kinds:
            raise FormatError(
                table.path,
                "no feature column is left besides labels, identifiers and empty columns; keep "
                f"one with number={names[0]}",
                None,
                "number",
            )
        scale = options.scale
        if scale == "auto":
            scale = "robust" if len(set(kinds.values())) > 1 else "none"
            if scale == "none" and "numeric" in kinds.values():
                _note_scales(table, kinds, notes)
        return cls(kinds, missing=options.missing, scale=scale, max_words=options.max_words)

    @classmethod
    def _find_matrix(
        cls, table: MatrixTable, names: list[str] | None, options: ColumnOptions
    ) -> "Schema":
        matrix = table.matrix if names is None else table.select(names)
        values = matrix.data if sparse.issparse(matrix) else matrix
        if options.scale == "robust":
            raise ArgumentError(
                "scale=robust needs a table of columns, such as a CSV file; use scale=standard "
                "or scale=minmax for a matrix.",
                "scale",
            )
        return cls(
            columns=None,
            names=None if names is None else tuple(names),
            n_features=matrix.shape[1],
            missing=options.missing,
            scale="none" if options.scale == "auto" else options.scale,
            gaps=bool(np.isnan(values).any()),
        )

    # --- reading ----------------------------------------------------------------------------

    def read(self, table: RawTable, notes: list[str], *, as_frame: bool = True) -> Any:
        """Return a table's features in the form the pipeline takes; remarks go to `notes`.

        Without `as_frame`, the columns of a table are those of an array: a pipeline that was fitted
        on the DataFrame takes them by their places, and pandas need not be imported.
        """
        if not table.n_rows:
            raise FormatError(table.path, "it holds no rows")
        if self.columns is None:
            return self._read_matrix(table, notes)
        _check_present(table, list(self.columns))
        numbers = {name: table.numbers(name) for name in self.of_kind("numeric")}
        self._check_numbers(table, numbers, notes)
        for name in self.of_kind("raw"):
            if table.kind(name) in ("numeric", "missing"):
                numbers[name] = table.numbers(name)
        strings = {name: table.strings(name) for name in self.columns if name not in numbers}
        for name, cells in strings.items():
            if "date" in self.columns[name]:
                _check_dates(table, name, cells, self.columns[name] == "day_first_date")
            self._check_complete(
                table, name, [row for row, cell in enumerate(cells) if cell is None]
            )
        if not as_frame and "raw" not in self.columns.values():
            found = np.empty((table.n_rows, len(self.columns)), dtype=object if strings else float)
            for place, name in enumerate(self.columns):
                found[:, place] = numbers[name] if name in numbers else strings[name]
            return found
        pandas = import_optional("pandas")
        series = {name: pandas.Series(cells, dtype=object) for name, cells in strings.items()}
        return pandas.DataFrame({**numbers, **series})[list(self.columns)]

    def _check_numbers(
        self, table: RawTable, columns: dict[str, np.ndarray], notes: list[str]
    ) -> None:
        gaps: dict[str, int] = {}
        for name, values in columns.items():
            infinite = np.flatnonzero(np.isinf(values))
            if infinite.size:
                raise FormatError(
                    table.path,
                    f"column {shorten(name)} holds an infinite value in row {infinite[0] + 1}",
                )
            missing = np.flatnonzero(np.isnan(values))
            self._check_complete(table, name, missing)
            if missing.size:
                gaps[name] = missing.size
        if gaps:
            total = sum(gaps.values())
            notes.append(
                f"{table.path}: {total:,} missing {'value' if total == 1 else 'values'} in "
                f"{join_names(list(gaps))}: each becomes its column's median in the training rows"
            )

    def _check_complete(self, table: RawTable, name: str, missing: Any) -> None:
        """Refuse missing values, given by their rows, where the user chose so."""
        if self.missing == "refuse" and len(missing):
            raise FormatError(
                table.path,
                f"column {shorten(name)} has no value in {len(missing)} of {table.n_rows} rows, "
                f"first in row {missing[0] + 1}, and missing values are to be refused",
            )

    def _read_matrix(self, table: RawTable, notes: list[str]) -> Any:
        matrix = self._select_matrix(table)
        if matrix.shape[1] != self.n_features:
            raise FormatError(
                table.path,
                f"it has {matrix.shape[1]:,} features, and the model was fitted on "
                f"{self.n_features:,}",
            )
        values = matrix.data if sparse.issparse(matrix) else matrix
        if np.isinf(values).any():
            raise FormatError(table.path, "a feature holds an infinite value")
        missing = int(np.isnan(values).sum())
        if missing and (self.missing == "refuse" or not self.gaps):
            why = "and missing values are to be refused"
            if self.missing != "refuse":
                why = "and the model was fitted on data without any"
            raise FormatError(table.path, f"{missing:,} values are missing, {why}")
        if missing:
            notes.append(
                f"{table.path}: {missing:,} missing values: each becomes its feature's median in "
                "the training rows"
            )
        return matrix

    def _select_matrix(self, table: RawTable) -> Any:
        if isinstance(table, MatrixTable) and (self.names is None or table.names is None):
            return table.matrix
        if self.names is None:
            raise FormatError(
                table.path,
                "the model was fitted on features without names; give it a file of that kind "
                "(LibSVM or .npz)",
            )
        _check_present(table, list(self.names))
        if isinstance(table, ArrowTable):
            return np.column_stack([table.numbers(name) for name in self.names])
        assert isinstance(table, MatrixTable)
        return table.select(self.names)


def _feature_names(
    table: RawTable, labels: LabelColumns, options: ColumnOptions
) -> list[str] | None:
    """Return the columns that are neither labels nor ignored; None where they have no names."""
    named = [*options.text, *options.category, *options.number, *options.ignore]
    if table.names is None:
        if named:
            raise FormatError(table.path, f"it has no column names, so none is {named[0]!r}")
        return None
    table.check_columns([*options.text, *options.category, *options.number])
    for name in options.ignore:  # one by one: to ignore a column twice is no error
        table.check_columns([name])
    label_columns: set[str] = set()
    if table.target is None:
        label_columns = {labels.column} if labels.column else set(labels.names)
    for name in named:
        if name in label_columns:
            raise ArgumentError(f"column {name!r} is a label, so it can be nothing else.")
        if named.count(name) > 1:
            raise ArgumentError(f"column {name!r} is named for two purposes; choose one.")
    excluded = label_columns.union(options.ignore)
    names = [name for name in table.names if name not in excluded]
    if not names:
        raise FormatError(table.path, "no feature column is left besides the labels")
    return names


def _check_dates(table: RawTable, name: str, cells: np.ndarray, day_first: bool) -> None:
    """Refuse a column of dates with a value that is none."""
    for row, cell in enumerate(cells):
        if cell is not None and parse_date(cell, day_first) is None:
            raise FormatError(
                table.path,
                f"column {shorten(name)} holds {shorten(cell, 30)} in row {row + 1}, not a date "
                f"with the {'day' if day_first else 'month'} before the "
                f"{'month' if day_first else 'day'}",
            )


def _check_present(table: RawTable, names: list[str]) -> None:
    """Refuse a table that lacks a column the model was fitted on."""
    if table.names is None:
        raise FormatError(
            table.path,
            f"it has no column names, and the model needs the columns {join_names(names)}",
        )
    known = set(table.names)
    absent = [name for name in names if name not in known]
    if absent:
        try:
            find_columns(absent[:1], table.names, table.path)
        except FormatError as error:
            more = f" {len(absent)} of the model's columns are missing."
            raise FormatError(
                table.path, error.message + (more if len(absent) > 1 else "")
            ) from None


def _note_scales(table: RawTable, names: Iterable[str], notes: list[str]) -> None:
    """Add a note when one column dominates all distances."""
    with np.errstate(all="ignore"):
        spread = {name: float(np.nanstd(table.numbers(name))) for name in names}
    spread = {name: s for name, s in spread.items() if np.isfinite(s) and s > 0}
    if len(spread) < 2:
        return
    low, high = min(spread, key=lambda n: spread[n]), max(spread, key=lambda n: spread[n])
    if spread[high] > 100 * spread[low]:
        notes.append(
            f"{table.path}: {high!r} varies {spread[high] / spread[low]:,.0f} times as much as "
            f"{low!r} and dominates all distances; scale=robust makes columns comparable"
        )
