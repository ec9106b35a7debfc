"""Records in JSON: one object per line, or one array of them."""

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from labelkin._utils.files import FormatError, reason, shorten
from labelkin._utils.names import did_you_mean, join_names
from labelkin._utils.optional import import_optional
from labelkin._utils.untrusted import iter_json, unique_fields
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._cells import make_column, make_table
from labelkin.datasets.formats._columns import normal_form, repeats_name, respell, split_names
from labelkin.datasets.formats._dialect import decode
from labelkin.datasets.formats._raw_table import (
    Guess,
    Options,
    RawTable,
    as_string,
    encoding_guess,
    name_columns,
)

_CURE = "write one object per line, or one array of objects"
# Of a field that is an object in a list.
_FIELD_NAMES = ("name", "key", "title", "label", "field", "id")
_SPLIT = {"columns", "index", "data"}  # what pandas writes with orient="split"
# What writers put in the place of an object without fields.
NO_OBJECT: tuple[Any, ...] = (None, "", [])
# What Python takes for a value, an object and an array, besides its text.
_VALUE_BYTES, _OBJECT_BYTES, _ARRAY_BYTES = 40, 240, 80


def read_json(raw: bytes, budget: Budget, options: Options) -> RawTable:
    """Return records as a table; a field of a nested object becomes a column such as ``a.b``."""
    path = str(budget.source)
    budget.take(2 * len(raw) + _VALUE_BYTES * raw.count(b","))
    budget.take(_OBJECT_BYTES * raw.count(b"{") + _ARRAY_BYTES * raw.count(b"["))
    text, encoding = decode(raw, path, options.encoding)
    try:
        expected = {*map(normal_form, options.expected)}
        labels = options.labels if isinstance(options.labels, Iterable) else ()
        kept = {*map(normal_form, split_names(labels))}
        parsed, place = find_rows(_parse(text, path), expected, kept)
        budget.take(_OBJECT_BYTES * len(parsed))
        records = [unique_fields(list(_flatten(record, budget, kept))) for record in parsed]
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(path, str(error)) from None
    except RecursionError:
        raise FormatError(path, f"its values are nested too deeply; {_CURE}") from None
    given = dict.fromkeys(key for one in records for key in one)
    known, named = sorted({*given, *expected}), expected | kept
    for name in [name for name in given if name not in named]:
        # Columns such as name.a, which sort before name/, are missing where name is empty.
        inner = known[bisect_left(known, f"{name}.") : bisect_left(known, f"{name}/")]
        if inner and all(record.get(name) in NO_OBJECT for record in records):
            del given[name]
            given |= dict.fromkeys(inner)
    names, *_ = name_columns(given, path)
    if not names:
        raise FormatError(path, f"it holds no records; {_CURE}")
    guesses = encoding_guess(encoding, options)
    guesses += [Guess(f"the rows in {place}", ())] if place else []
    spelled, respelled = respell(names, options.known)
    guesses += [Guess(f"column {own} read as {name}", ()) for own, name in respelled]
    fields = dict(zip(map(str, spelled), names, strict=True))
    names = [*fields]
    listed = {key for one in records for key, cell in one.items() if isinstance(cell, list)}
    absent = _left_out(names, {name for name in names if fields[name] in listed}, options, path)
    if absent:
        guesses.append(Guess(f"no record has {join_names(absent)}: missing values", ()))
        names += absent
    budget.take_cells(2 * len(records) * len(names), len(names))
    columns, lists, mark = {}, {}, options.mark or "."
    for name in names:
        cells = [record.get(fields.get(name, name)) for record in records]
        if any(isinstance(cell, list) for cell in cells):
            lists[name] = cells
        try:
            columns[name] = make_column(_as_cell(cell, mark) for cell in cells)
        except UnicodeEncodeError:  # JSON can hold lone surrogates
            message = f"column {shorten(name)} holds text that is not valid Unicode"
            raise FormatError(path, message) from None
    options = replace(options, decimal=mark, written=False)  # numbers, texts and lists have types
    found = make_table(columns, path, guesses, options)
    found.encoding = encoding
    for name, cells in lists.items():
        found.data[name] = import_optional("pandas").Series(cells[: found.n_rows], dtype=object)
    return found


def _left_out(names: list[str], lists: set[str], options: Options, path: str) -> list[str]:
    """Return the expected columns that no record has, as writers leave out empty fields.

    There are none if all columns are others, which is refused later, or one has a similar name.
    Those that are parts of one of the `lists`, such as v_1 of v, are not absent.
    """
    labels = options.labels if isinstance(options.labels, Iterable) else ()
    expected = dict.fromkeys(map(normal_form, options.expected))
    absent = [name for name in expected if name not in {*names, *split_names(labels)}]
    absent = [name for name in absent if not repeats_name(name, lists)]
    others = [name for name in names if name not in expected]
    is_misspelt = any(did_you_mean(name, absent) for name in others)
    return [] if is_misspelt or len(absent) == len(expected) else absent


def _parse(text: str, path: str) -> list[dict[str, Any]]:
    """Return the objects in a text, one after the other or in arrays."""
    records = list[Any]()
    try:
        for found in iter_json(text):
            records += found if isinstance(found, list) else [found]
    except json.JSONDecodeError as error:
        message = f"not JSON ({reason(error, 100)}); {_CURE}"
        raise FormatError(path, message, error.lineno) from None
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            shown = shorten(json.dumps(record), 30)
            raise FormatError(path, f"record {number} is {shown}, not an object; {_CURE}")
    return records


def _from_pandas(frame: dict[str, Any], expected: set[str]) -> list[dict[str, Any]] | None:
    """Return the rows of a DataFrame that pandas' to_json writes as one object; None: it is none.

    The object has the cells by column and row number, or three lists. One with an expected column
    ``a.b`` in it is a row.
    """
    parts = [*frame.values()]
    lists = [*parts, *frame["data"]] if {*frame} == _SPLIT and isinstance(parts[-1], list) else []
    if lists and all(isinstance(part, list) for part in lists):
        return [dict(zip(map(str, frame["columns"]), row, strict=True)) for row in frame["data"]]
    are_objects = parts and all(isinstance(part, dict) for part in parts)
    if not are_objects or any([*part] != [*parts[0]] for part in parts):
        return None
    if any(name.startswith(f"{key}.") for key in frame for name in expected):
        return None
    if parts[0] and all(map(str.isdecimal, parts[0])):
        rows = zip(*(part.values() for part in parts), strict=True)
        return [dict(zip(frame, row, strict=True)) for row in rows]
    return None


def find_rows(
    records: Sequence[Any], expected: set[str], labels: Iterable[str] = ()
) -> tuple[Sequence[Any], str]:
    """Return the rows in a single object, and in which of its fields, or the records themselves.

    Rows may be the only list of the outermost objects with any, as in answers of web services, or
    of several lists the one whose objects have the most columns that are `expected` or `labels`.
    They may also be the fields of the object, if their names are whole numbers, or those that
    pandas writes. An object that has as many of these columns is a row itself, unless there are
    `labels`, which one row is too few to learn.
    """
    if len(records) != 1 or not records[0]:
        return records, ""
    if rows := _from_pandas(records[0], expected):
        return rows, ""
    keys, _ = respell([*records[0]], expected)
    parts = [f"{key}." for key in keys]
    n_own = sum(name in keys or name.startswith(tuple(parts)) for name in expected)
    if not n_own and all(k.isdecimal() and isinstance(v, dict) for k, v in records[0].items()):
        return [*records[0].values()], ""
    lists, level = dict[str, list[Any]](), records[0]
    while level and not lists:  # one level of nested objects after the other
        lists = {name: cell for name, cell in level.items() if isinstance(cell, list) and cell}
        nested = {name: cell for name, cell in level.items() if isinstance(cell, dict)}
        level = {f"{n}.{key}": cell for n, one in nested.items() for key, cell in one.items()}
    tables = {n: rows for n, rows in lists.items() if all(isinstance(row, dict) for row in rows)}
    if len(lists) == len(tables) == 1 and not n_own:
        ((place, rows),) = tables.items()
        return rows, place
    wanted = expected | {*labels}
    counts = {n: len(wanted & {key for row in rows for key in row}) for n, rows in tables.items()}
    places = [name for name, count in counts.items() if count == max(counts.values())]
    if len(places) == 1 and counts[places[0]] > (0 if labels else n_own):
        return tables[places[0]], places[0]
    return records, ""


def _flatten(
    record: dict[str, Any], budget: Budget, labels: set[str], prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        name = f"{prefix}{normal_form(key)}"
        if prefix:
            budget.take(len(name))
        fields = value if name in labels else fields_of(value)
        if isinstance(fields, dict):
            yield from _flatten(fields, budget, labels, f"{name}.")
        else:
            yield name, value


def fields_of(value: Any) -> Any:
    """Return fields in a list, such as ``[{"name": "size", "value": 3}]``, as an object.

    Anything else is returned as it is.
    """
    if not isinstance(value, list) or not value:
        return value
    if not all(isinstance(one, dict) and "value" in one for one in value):
        return value
    for key in _FIELD_NAMES:
        names = [str(one.get(key) or "") for one in value]
        if all(names) and len({*names}) == len(names):
            return dict(zip(names, (one["value"] for one in value), strict=True))
    return value


def _as_cell(value: Any, decimal: str) -> str | None:
    """Return a value as it would be written in a table with this decimal mark."""
    if value is None or isinstance(value, list):
        return None if value is None else "list"
    if isinstance(value, bool):
        return str(value).lower()
    written = as_string(value)
    return written.replace(".", decimal) if isinstance(value, float) else written
