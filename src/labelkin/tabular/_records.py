"""Rows given as Python values, such as those of a JSON request, as a table."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.tabular._schema import Schema

_MAX_NUMBERS = 50_000_000  # of a matrix made of rows: 400 MB
_MAX_UNKNOWN = 100  # names that the model does not know, kept for errors that suggest one of them


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
    present = dict.fromkeys(name for row in rows for name in row if _is_unicode(name))
    known = [name for name in schema.columns if name in present]
    pandas = import_optional("pandas")
    columns = {
        name: pandas.Series(
            [_cell(row, name, i, source) for i, row in enumerate(rows, 1)], dtype=object
        )
        for name in known
    }
    unknown = [name for name in present if name not in columns][:_MAX_UNKNOWN]
    frame = pandas.DataFrame(columns, index=range(len(rows)))
    return RawTable(source, frame, [*known, *unknown], decimal=schema.decimal)


def _cell(row: dict[str, Any], name: str, number: int, source: str) -> Any:
    """Return a number, a text or None; the empty text is missing."""
    value = row.get(name)
    where = f"row {number}: column {shorten(name)} holds"
    if isinstance(value, Real):
        return _as_float(value, where, source)
    if isinstance(value, str):
        if not _is_unicode(value):
            raise FormatError(source, f"{where} {shorten(value)}, which is not valid Unicode text")
        return value or None
    if value is not None:
        held = "a list" if isinstance(value, list) else "an object"
        raise FormatError(source, f"{where} {held}, not a number or text")
    return None


def _is_unicode(text: str) -> bool:
    """Return whether a text can be encoded; JSON may hold unpaired surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _as_float(value: Real, where: str, source: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise FormatError(source, f"{where} a number beyond the range of numbers") from None


def _matrix_of_records(rows: Sequence[Any], schema: Schema, source: str) -> RawTable:
    n, names = schema.n_features, schema.names
    if len(rows) * n > _MAX_NUMBERS:
        raise FormatError(source, f"{len(rows):,} rows of {n:,} numbers are too many")
    matrix = np.full((len(rows), n), np.nan)
    for i, row in enumerate(rows):
        if isinstance(row, dict) and names is not None:
            row = [row.get(name) for name in names]
        if not isinstance(row, list) or len(row) != n:
            why = f"is not a list of {n:,} numbers"
            if isinstance(row, dict):
                why = f"is an object, but the model's features have no names; give {n:,} numbers"
            raise FormatError(source, f"row {i + 1} {why}")
        for j, value in enumerate(row):
            where = f"row {i + 1}: feature {j + 1} holds"
            if value is not None and not isinstance(value, Real):
                raise FormatError(source, f"{where} no number")
            matrix[i, j] = np.nan if value is None else _as_float(value, where, source)
    return RawTable(source, matrix, schema.feature_names)
