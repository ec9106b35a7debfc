"""Rows given as Python values, such as those of a JSON request, as a table."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.tabular._schema import Schema

_MAX_VALUES = 50_000_000  # 400 MB
_MAX_UNKNOWN = 100  # names that the model does not know, kept for errors that suggest one of them


def table_of_records(rows: Sequence[Any], schema: Schema, *, source: str = "rows") -> RawTable:
    """Return rows, each a mapping of columns to values, as a table that `Schema.read` takes.

    A column that a row lacks is missing there, as is None. For a schema of a matrix, a row may also
    be a list of all its numbers. Errors call the rows `source`.
    """
    names, is_matrix = schema.feature_names, schema.columns is None
    n = schema.n_features if names is None else len(names)
    if len(rows) * n > _MAX_VALUES:
        raise FormatError(source, f"{len(rows):,} rows of {n:,} values are too many")
    cells: list[list[Any]] = []
    for number, row in enumerate(rows, start=1):
        if names is not None and isinstance(row, dict):
            row = [row.get(name) for name in names]
        elif not (is_matrix and isinstance(row, list) and len(row) == n):
            form = f"a list of {n:,} numbers" if is_matrix else "an object of columns and values"
            raise FormatError(source, f"row {number} is not {form}")
        cells.append([])
        for j, value in enumerate(row):
            try:
                cells[-1].append(_read_value(value, is_matrix))
            except ValueError as error:
                column = f"feature {j + 1}" if names is None else f"column {shorten(names[j])}"
                raise FormatError(source, f"row {number}: {column} holds {error}") from None
    if is_matrix:
        return RawTable(source, np.array(cells, dtype=np.float64), names)
    present = dict.fromkeys(name for row in rows for name in row if _is_unicode(name))
    known = [name for name in names or () if name in present]
    unknown = [name for name in present if name not in known][:_MAX_UNKNOWN]
    frame = import_optional("pandas").DataFrame(cells, columns=names, dtype=object)
    return RawTable(source, frame[known], [*known, *unknown], decimal=schema.decimal)


def _read_value(value: Any, is_matrix: bool) -> float | str | None:
    """Return a number, a text or None; the empty text is missing."""
    if isinstance(value, Real):
        try:
            return float(value)
        except OverflowError:
            raise ValueError("a number beyond the range of numbers") from None
    if value is None or (value == "" and not is_matrix):
        return None
    if is_matrix:
        raise ValueError("no number")
    if not isinstance(value, str):
        held = "a list" if isinstance(value, list) else "an object"
        raise ValueError(f"{held}, not a number or text")
    if not _is_unicode(value):
        raise ValueError(f"{shorten(value)}, which is not valid Unicode text")
    return value


def _is_unicode(text: str) -> bool:
    """Return whether a text can be encoded; JSON may hold unpaired surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
