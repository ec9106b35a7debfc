"""Rows given as Python values, such as those of a JSON request, as a table."""

from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.names import did_you_mean, join_names
from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.datasets.formats._columns import normal_form, repeats_name, respell
from labelkin.datasets.formats._json import NO_OBJECT, fields_of, find_rows
from labelkin.datasets.formats._numbers import is_unknown
from labelkin.datasets.formats._units import ratio_of_names
from labelkin.tabular._lists import names_in
from labelkin.tabular._schema import Schema, check_present, wrong_length

_MAX_VALUES = 50_000_000  # 400 MB
_FORMS: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}
_MAX_UNKNOWN = 100  # names that the model does not know, kept for errors that suggest one of them


def table_of_records(rows: Sequence[Any], schema: Schema, *, source: str = "rows") -> RawTable:
    """Return rows, such as those of a JSON request, as a table that `Schema.read` takes.

    A row maps columns to values; a column that it lacks is missing there, as is None. Identifiers
    are kept, too, and so are columns that were the same in all training rows. For a schema of a
    matrix, a row may also be a list of all its numbers, or nested lists. As in a file, a field of a
    nested object is the column ``a.b``, missing where a is None, a text may be a number with a
    decimal comma, and one object may hold the rows in one of its fields. Errors call the rows
    `source`.
    """
    is_matrix = schema.columns is None
    names = schema.matrix_names if is_matrix else [*(schema.columns or ())]
    if [type(row) for row in rows] == [dict]:
        rows, _ = find_rows(rows, {*names})
    if len(rows) * len(names) > _MAX_VALUES:
        raise FormatError(source, f"{len(rows):,} rows of {len(names):,} values are too many")
    parents = schema.parents
    records, others = [], [*schema.identifiers, *(schema.constant or ())]
    known = {*names, *others}
    for number, row in enumerate(rows, start=1):
        if isinstance(row, dict) and schema.feature_names is not None:
            record = dict(_flatten(row, parents))
            for name in parents.keys() & record.keys():
                value, parts = record[name], parents[name]
                if value in NO_OBJECT:
                    record = dict.fromkeys(parts) | record
                elif isinstance(value, list) and parts[0] == f"{name}_1":
                    if len(value) != len(parts):
                        text = wrong_length(name, len(value), len(parts), number)
                        raise FormatError(source, text)
                    record |= zip(parts, value, strict=True)
            if not known <= record.keys():
                spelled, _ = respell([*record], known)
                record = dict(zip(map(str, spelled), record.values(), strict=True))
            records.append(record)
        elif is_matrix and isinstance(row, list) and len(flat := _flat(row)) == len(names):
            records.append(dict(zip(names, flat, strict=True)))
        else:
            form = "a list of {:,} numbers" if is_matrix else "an object of columns and values"
            raise FormatError(source, f"row {number} is not {form.format(len(names))}")
    given = dict.fromkeys(name for record in records for name in record)
    left_out = [name for name in names if name not in given]
    known |= {*schema.ignored}
    unknown = [name for name in given if name not in known][:_MAX_UNKNOWN]
    if given and len(left_out) == len(names):
        check_present(RawTable(source, None, [*given][:_MAX_UNKNOWN]), names)  # refuses them
    single = [name for name in left_out if not repeats_name(name, given)]
    for name in () if is_matrix else unknown:
        twins = [one for one in single if ratio_of_names(name, one, "")]
        if len(twins) == 1:  # in another unit, and converted when it is read
            left_out.remove(twins[0])
            names[names.index(twins[0])] = name
    for name in {*unknown}.difference(names):  # a misspelt column is not a missing value
        if hint := did_you_mean(name, single):
            raise FormatError(source, f"the model has no column {shorten(name)}.{hint}")
    for number, record in enumerate(records, start=1):
        if record.keys().isdisjoint(names):
            text = f"row {number} has none of the columns {join_names(names)}"
            raise FormatError(source, text)
    for name in [name for name in others if name in given]:
        are_plain = not any(isinstance(record.get(name), list | dict) for record in records)
        names += [name] if are_plain else []
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


def _flat(row: list[Any]) -> list[Any]:
    """Return the values of a list, or those in nested lists of equal lengths, such as an image."""
    return np.array(row, dtype=object).ravel().tolist()


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
