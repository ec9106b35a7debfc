"""Tables with columns of numbers, text, lists or dates, before features are made of them.

The readers of `labelkin.datasets` return matrices of numbers. A user's table holds more: text,
categories, identifiers. A `RawTable` returns a column's kind, its numbers or its strings,
whatever the file's format, so that an error can name the column and the row.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.guesses import Guess
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._arrow import column_kind, column_numbers
from labelkin.datasets.formats._columns import find_columns
from labelkin.datasets.formats._content import overflows
from labelkin.datasets.formats._dialect import is_number, parse_number

_YES = {"yes", "true", "1", "y", "t", "ja", "wahr", "oui", "vrai", "sí", "si", "x", "✓"}
_NO = {"no", "false", "0", "n", "f", "nein", "falsch", "non", "faux"}
_TRUTH = dict.fromkeys(_YES, 1.0) | dict.fromkeys(_NO, 0.0) | {"+1": 1.0, "-1": -1.0}
# Marks on a form: an empty cell beside them means no.
_MARKS = {"x", "✓"}


class RawTable(ABC):
    """Named columns of a file, and the labels that the file itself declares."""

    path: str
    names: list[str] | None
    """Every column; None where the format gives features no names."""
    own_labels: list[str] | None
    """Names of the labels, if the file declares them."""
    target: np.ndarray | None = None
    """Labels that are stored apart from the columns; `own_labels` are their names."""
    decimal: str = "."
    """Decimal mark of numbers in columns of strings."""
    guesses: list[Guess]
    """What was guessed about the file and its columns, in the order in which it was."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @abstractmethod
    def kind(self, name: str) -> str:
        """Return ``numeric``, ``string``, ``list``, ``missing``, or another type's name."""

    @abstractmethod
    def numbers(self, name: str) -> np.ndarray:
        """Return a column as float64, NaN where missing; any other value is an error."""

    @abstractmethod
    def strings(self, name: str) -> np.ndarray:
        """Return a column as strings, None where missing."""

    def check_columns(self, names: Iterable[str]) -> None:
        """Raise an error that suggests other names if a column does not exist."""
        find_columns(names, self.names or [], self.path)

    def has_truth_values(self, name: str) -> bool:
        """Return whether a value of a column is a word for yes or no."""
        return any(cell.strip().lower() in _TRUTH for cell in self.strings(name) if cell)

    def labels(self, name: str) -> np.ndarray:
        """Return a label column as 0 and 1, or as -1 and 1; any other value is an error."""
        is_text = self.kind(name) == "string"
        cells = self.strings(name) if is_text else self.numbers(name)
        values = cells
        if is_text:
            words = ["" if cell is None else cell.strip().lower() for cell in cells]
            empty = 0.0 if {*words} <= _MARKS | {""} else np.nan
            values = np.array([_TRUTH.get(word, np.nan) if word else empty for word in words])
        if np.isin(values, (-1, 1)).all():
            return values.astype(np.int8)
        bad = np.flatnonzero((values != 0) & (values != 1))
        if bad.size:
            cell = cells[bad[0]]
            if cell is None or cell != cell:
                held = "nothing"
            else:
                held = shorten(cell if is_text else f"{cell:g}")
            raise FormatError(
                self.path,
                f"label {shorten(name)} holds {held} in row {bad[0] + 1}; a label column takes 0 "
                "and 1 (for one column of tags, use label_column=)",
                None,
                "label_column",
            )
        return values.astype(np.uint8)


class ArrowTable(RawTable):
    """A CSV or Parquet table, or an ARFF file with nominal attributes."""

    def __init__(
        self,
        path: str,
        table: Any,
        own_labels: list[str] | None = None,
        *,
        decimal: str = ".",
        guesses: Iterable[Guess] = (),
    ) -> None:
        self.path, self.table, self.own_labels = path, table, own_labels
        self.decimal, self.guesses = decimal, list(guesses)
        self.names = list(table.column_names)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.num_rows

    def kind(self, name: str) -> str:
        """Return the kind of a column, by its Arrow type."""
        return column_kind(self.table.column(name))

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as float64; strings are parsed if each of them is a number."""
        kind = self.kind(name)
        if kind == "string":
            return self._parse_numbers(name)
        if kind not in ("numeric", "missing"):
            raise FormatError(self.path, f"column {shorten(name)} holds {kind}, not numbers")
        return column_numbers(self.table.column(name))

    def _parse_numbers(self, name: str) -> np.ndarray:
        values = np.full(self.n_rows, np.nan)
        for row, cell in enumerate(self.strings(name)):
            if cell is None:
                continue
            trouble = "not a number"
            try:
                if "_" in cell or not cell.isascii():  # Python's float takes both
                    raise ValueError
                values[row] = float(cell)
                if not overflows(cell):
                    continue
                trouble = "beyond the range of numbers"
            except ValueError:
                if is_number(cell, self.decimal):
                    values[row] = parse_number(cell, self.decimal)
                    continue
            raise FormatError(
                self.path,
                f"column {shorten(name)} holds {shorten(cell, 30)} in row {row + 1}, {trouble}",
            )
        return values

    def strings(self, name: str) -> np.ndarray:
        """Return a column as strings; numbers are formatted."""
        pyarrow = import_optional("pyarrow")
        column = self.table.column(name)
        try:
            cells = column.cast(pyarrow.string()).to_pylist()
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
            raise FormatError(
                self.path, f"column {shorten(name)} holds {column.type}, not text"
            ) from error
        return _object_array(cells)

    def lists(self, name: str) -> list[list[str]]:
        """Return a column of lists, each as strings."""
        cells = self.table.column(name).to_pylist()
        return [[str(item) for item in cell or () if item is not None] for cell in cells]


class MatrixTable(RawTable):
    """A dense or sparse matrix of numbers, its columns named or not."""

    def __init__(
        self,
        path: str,
        matrix: Any,
        names: Sequence[str] | None,
        own_labels: list[str] | None = None,
        target: np.ndarray | None = None,
    ) -> None:
        self.path, self.matrix, self.own_labels, self.target = path, matrix, own_labels, target
        self.guesses = []
        self.names = None if names is None else list(names)
        self._position = {name: i for i, name in enumerate(self.names or ())}

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.matrix.shape[0]

    def kind(self, name: str) -> str:
        """Return ``missing`` for a column without any value, else ``numeric``."""
        return "missing" if self.n_rows and np.isnan(self.numbers(name)).all() else "numeric"

    def numbers(self, name: str) -> np.ndarray:
        """Return a column of the matrix."""
        column = self.matrix[:, [self._position[name]]]
        dense = column.toarray() if sparse.issparse(column) else np.asarray(column)
        return dense.ravel().astype(np.float64)

    def strings(self, name: str) -> np.ndarray:
        """Return a column of the matrix, formatted."""
        return _object_array([None if np.isnan(x) else f"{x:g}" for x in self.numbers(name)])

    def select(self, names: Sequence[str]) -> Any:
        """Return columns by name, as a matrix of the same kind."""
        positions = [self._position[name] for name in names]
        if positions == list(range(self.matrix.shape[1])):
            return self.matrix
        return self.matrix[:, positions]


def _object_array(cells: list[str | None]) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
