"""Columns of an Arrow table, which CSV and Parquet files are read into."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._columns import find_features


def column_kind(column: Any) -> str:
    """Return ``numeric``, ``string``, ``list``, ``missing``, or the name of the Arrow type."""
    types, kind = import_optional("pyarrow").types, column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_null(kind) or (len(column) and column.null_count == len(column)):
        return "missing"
    if types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view":
        return "string"
    if types.is_list(kind) or types.is_large_list(kind):
        return "list"
    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return "numeric" if any(is_kind(kind) for is_kind in numeric) else str(kind)


def column_numbers(column: Any) -> np.ndarray:
    """Return a ``numeric`` or ``missing`` column as float64, NaN where a value is missing.

    Arrow's own ``to_numpy`` imports pandas, which takes longer than to read a small file.
    """
    pyarrow = import_optional("pyarrow")
    values = np.full(len(column), np.nan)
    if column.null_count == len(column):
        return values
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pyarrow.types.is_boolean(column.type):
        column = column.cast(pyarrow.uint8())
    present: Any = slice(None)
    if column.null_count:
        present = _as_numpy(column.is_valid().cast(pyarrow.uint8())).astype(bool)
    values[present] = _as_numpy(column.cast(pyarrow.float64(), safe=False).drop_null())
    return values


def _as_numpy(column: Any) -> np.ndarray:
    """Return a column of numbers without missing values; its memory may be Arrow's."""
    return np.concatenate([np.from_dlpack(chunk) for chunk in column.chunks if len(chunk)])


def split_table(
    table: Any, label_columns: np.ndarray, drop: str | Iterable[str], path: str | Path
) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
    """Return features, labels, and the names of both; columns that hold no numbers are refused."""
    names = table.column_names
    features = find_features(names, label_columns, drop, path)
    data = np.empty((table.num_rows, features.size))
    for at, column in enumerate(features.tolist()):
        data[:, at] = _require_numbers(table.column(column), names[column], path)
    target = np.empty((table.num_rows, label_columns.size), dtype=np.uint8)
    for at, column in enumerate(label_columns.tolist()):
        values = _require_numbers(table.column(column), names[column], path)
        bad = np.flatnonzero((values != 0) & (values != 1))
        if bad.size:
            value = values[bad[0]]
            found = "is missing" if np.isnan(value) else f"holds {value:g}"
            raise FormatError(
                path,
                f"label {shorten(names[column])} {found} in data row {bad[0] + 1}; "
                "it must be 0 or 1",
            )
        target[:, at] = values
    return data, target, [names[i] for i in features], [names[i] for i in label_columns]


def _require_numbers(column: Any, name: str, path: str | Path) -> np.ndarray:
    if column_kind(column) not in ("numeric", "missing"):
        example = next((str(cell) for cell in column if cell.is_valid), "")
        raise FormatError(
            path,
            f"column {shorten(name)} holds {column.type} values such as {shorten(example, 30)}, "
            "not numbers; encode it as numbers, or leave it out with drop=",
            None,
            "drop",
        )
    return column_numbers(column)
