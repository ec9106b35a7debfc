"""Rows given as Python values, such as those of a JSON request, as a table."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.tabular._schema import Schema

# Numbers of a matrix made of rows: 400 MB.
_MAX_NUMBERS = 50_000_000
_MAX_UNKNOWN = 100


def table_of_records(rows: Sequence[Any], schema: Schema, *, source: str = "rows") -> RawTable:
    """Return rows, each a mapping of columns to values, as a table that `Schema.read` takes.

    A column that a row lacks is missing there, as is None. For a schema of a matrix, a row may also
    be a list of all its numbers. Errors call the rows `source`.
    """
    if schema.columns is None:
        return _matrix_of_records(rows, schema, source)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise FormatError(source, f"row {number} is not an object of columns and values")
    pandas = import_optional("pandas")
    present = dict.fromkeys(name for row in rows for name in row if _is_unicode(name))
    columns: dict[str, Any] = {}
    for name in schema.columns:
        if name in present:
            cells = [_check_cell(row.get(name), name, i, source) for i, row in enumerate(rows, 1)]
            columns[name] = pandas.Series([None if c == "" else c for c in cells], dtype=object)
    # Names that the model does not know are kept, for errors that suggest one of them.
    unknown = [name for name in present if name not in columns][:_MAX_UNKNOWN]
    frame = pandas.DataFrame(columns, index=range(len(rows)))
    return RawTable(source, frame, [*columns, *unknown], decimal=schema.decimal)


def _check_cell(value: Any, name: str, number: int, source: str) -> Any:
    where = f"row {number}: column {shorten(name)} holds"
    if isinstance(value, Real):
        _as_float(value, where, source)
    elif isinstance(value, str):
        if not _is_unicode(value):
            raise FormatError(source, f"{where} {shorten(value)}, which is not valid Unicode text")
    elif value is not None:
        held = "a list" if isinstance(value, list) else "an object"
        raise FormatError(source, f"{where} {held}, not a number or text")
    return value


def _is_unicode(text: str) -> bool:
    """Return whether a text can be encoded; JSON may hold halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _as_float(value: Real, where: str, source: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise FormatError(source, f"{where} a number beyond the range of numbers") from None


def _matrix_of_records(rows: Sequence[Any], schema: Schema, source: str) -> RawTable:
    if len(rows) * schema.n_features > _MAX_NUMBERS:
        raise FormatError(
            source, f"{len(rows):,} rows of {schema.n_features:,} numbers are too many"
        )
    matrix = np.full((len(rows), schema.n_features), np.nan)
    for number, row in enumerate(rows, start=1):
        values = row
        if isinstance(row, dict):
            if schema.names is None:
                raise FormatError(
                    source,
                    f"row {number}: the model's features have no names; give "
                    f"a list of {schema.n_features:,} numbers",
                )
            values = [row.get(name) for name in schema.names]
        if not isinstance(values, list) or len(values) != schema.n_features:
            raise FormatError(
                source, f"row {number} is not a list of {schema.n_features:,} numbers"
            )
        for j, value in enumerate(values):
            if value is None:
                continue
            where = f"row {number}: feature {j + 1} holds"
            if not isinstance(value, Real):
                raise FormatError(source, f"{where} no number")
            matrix[number - 1, j] = _as_float(value, where, source)
    return RawTable(source, matrix, schema.feature_names)
