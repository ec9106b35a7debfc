"""One column of a table: what it holds, and its values as numbers, strings or lists."""

from typing import Any

import numpy as np

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.datasets.formats._columns import check_unique
from labelkin.datasets.formats._dialect import is_number, parse_number

# What pandas finds in a column of objects, by the kind that it is here.
_INFERRED = {
    "string": "string",
    "integer": "number",
    "floating": "number",
    "mixed-integer-float": "number",
    "boolean": "number",
    "decimal": "number",
    "date": "date",
    "datetime": "date",
    "datetime64": "date",
}
_LISTS = (list, tuple, set, frozenset, np.ndarray)


def as_table(X: Any) -> RawTable:
    """Return a DataFrame, an array or a sparse matrix as a table; a table is returned as it is."""
    if isinstance(X, RawTable):
        return X
    if not hasattr(X, "columns"):
        return RawTable("X", X, None)
    names = [str(name) for name in X.columns]
    check_unique(names, "column", "X")
    return RawTable("X", X.set_axis(names, axis=1), names)


def column_kind(table: RawTable, name: str) -> str:
    """Return ``number``, ``string``, ``date``, ``list``, ``missing``, or another type's name."""
    types = import_optional("pandas").api.types
    column = table.column(name)
    if column.dtype == "category":
        column = column.astype(object)
    if len(column) and column.isna().all():
        return "missing"
    if types.is_numeric_dtype(column.dtype):
        return "number" if column.dtype.kind != "c" else str(column.dtype)
    if types.is_datetime64_any_dtype(column.dtype):
        return "date"
    inferred = types.infer_dtype(column, skipna=True)
    if inferred not in ("mixed", "mixed-integer"):
        return _INFERRED.get(inferred, "string" if inferred == "empty" else inferred)
    cells = column[column.notna()]
    if all(isinstance(cell, _LISTS) for cell in cells):
        return "list"
    are_plain = all(isinstance(cell, (str, int, float, np.number)) for cell in cells)
    return "string" if are_plain else type(cells.iloc[0]).__name__


def column_numbers(table: RawTable, name: str) -> np.ndarray:
    """Return a column as float64, NaN where missing; strings are parsed if all are numbers."""
    kind = column_kind(table, name)
    if kind == "string":
        return _parse_numbers(table, name)
    if kind not in ("number", "missing"):
        raise FormatError(table.source, f"column {shorten(name)} holds {kind}, not numbers")
    return table.column(name).to_numpy(dtype=np.float64, na_value=np.nan)


def _parse_numbers(table: RawTable, name: str) -> np.ndarray:
    values = np.full(table.n_rows, np.nan)
    for row, cell in enumerate(column_strings(table, name)):
        if cell is None:
            continue
        try:
            if "_" in cell or not cell.isascii():  # Python's float takes both
                raise ValueError
            values[row] = float(cell)
        except ValueError:
            if not is_number(cell, table.decimal):
                raise FormatError(
                    table.source,
                    f"column {shorten(name)} holds {shorten(cell, 30)} in row {row + 1}, not a "
                    "number",
                ) from None
            values[row] = parse_number(cell, table.decimal)
    return values


def column_strings(table: RawTable, name: str) -> np.ndarray:
    """Return a column as strings, None where missing; numbers and dates are formatted."""
    kind = column_kind(table, name)
    if kind not in ("string", "number", "date", "missing"):
        raise FormatError(table.source, f"column {shorten(name)} holds {kind}, not text")
    column = table.column(name)
    cells = [
        None if missing else _as_string(cell)
        for cell, missing in zip(column, column.isna(), strict=True)
    ]
    found = np.empty(len(cells), dtype=object)
    found[:] = cells
    return found


def _as_string(cell: Any) -> str:
    """Return a cell as text: whole numbers without a fraction, 3.0 like 3."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell)


def column_lists(table: RawTable, name: str) -> list[list[str]]:
    """Return a column of lists, each as strings."""
    return [
        [str(item) for item in cell if item is not None] if isinstance(cell, _LISTS) else []
        for cell in table.column(name)
    ]
