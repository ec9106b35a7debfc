"""Records in JSON: one object per line, or one array of them."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from labelkin._utils.files import FormatError, read_unpacked, reason, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._cells import CELL_BYTES, COLUMN_BYTES, MISSING, table_of_cells
from labelkin.datasets.formats._dialect import decode
from labelkin.datasets.formats._raw_table import RawTable, as_string, name_columns

_CURE = "write one object per line, or one array of objects"
# What Python takes for a value, an object and an array, besides its text.
_VALUE_BYTES, _OBJECT_BYTES, _ARRAY_BYTES = 40, 240, 80


def read_json(path: str | Path, **options: Any) -> RawTable:
    """Return the records of a file as a table; the arguments are those of `parse_json`."""
    import_optional("pyarrow")  # a missing extra is reported before a missing file
    return parse_json(read_unpacked(path), str(path), packed=Path(path).stat().st_size, **options)


def parse_json(
    raw: bytes,
    path: str,
    *,
    encoding: str | None = None,
    as_strings: Iterable[str] = (),
    packed: int | None = None,
) -> RawTable:
    """Return records as a table; a field of a nested object becomes a column such as ``a.b``."""
    pyarrow = import_optional("pyarrow")
    budget = Budget(path, len(raw) if packed is None else packed)
    counts = {mark: raw.count(mark) for mark in (b",", b"{", b"[")}
    budget.take(2 * len(raw) + _VALUE_BYTES * counts[b","])
    budget.take(_OBJECT_BYTES * counts[b"{"] + _ARRAY_BYTES * counts[b"["])
    text, _found = decode(raw, path, encoding)
    try:
        records = [_unique(list(_flatten(record, budget))) for record in _parse(text, path)]
    except _TwoFields as error:
        raise FormatError(path, f"{error}; rename one") from None
    except RecursionError:
        raise FormatError(path, f"its values are nested too deeply; {_CURE}") from None
    names, _renamed = name_columns(dict.fromkeys(key for one in records for key in one), path)
    if not names:
        raise FormatError(path, f"it holds no records; {_CURE}")
    budget.take_columns(len(names), each=COLUMN_BYTES)
    budget.take(2 * CELL_BYTES * len(records) * len(names))
    missing = {*MISSING}
    lists: dict[str, list[Any]] = {}
    columns: dict[str, Any] = {}
    for name in names:
        cells = [record.get(name) for record in records]
        if any(isinstance(cell, list) for cell in cells):
            lists[name] = cells
            cells = [None if cell is None else "list" for cell in cells]
        strings = [None if cell is None else _as_cell(cell) for cell in cells]
        kept = [None if cell is None or cell.strip() in missing else cell for cell in strings]
        try:
            columns[name] = pyarrow.array(kept, pyarrow.string())
        except UnicodeEncodeError:  # JSON can hold lone surrogates
            message = f"column {shorten(name)} holds text that is not valid Unicode"
            raise FormatError(path, message) from None
    table = pyarrow.table(columns)
    found = table_of_cells(
        pyarrow.concat_tables([table.slice(0, 1), table]),  # the place of a header
        names,
        path,
        [],
        header=True,
        decimal=".",
        as_strings=as_strings,
    )
    for name, cells in lists.items():
        found.data[name] = import_optional("pandas").Series(cells[: found.n_rows], dtype=object)
    return found


class _TwoFields(ValueError):
    """An object has two fields of one name, of which Python would keep the last."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise _TwoFields(f"an object has two fields named {shorten(twice)}")
    return found


def _parse(text: str, path: str | Path) -> list[dict[str, Any]]:
    """Return the objects in a text."""
    try:
        records = json.loads(text, object_pairs_hook=_unique)
    except _TwoFields:
        raise
    except ValueError:
        records = list(_parse_lines(text, path))
    records = [records] if isinstance(records, dict) else records
    if not isinstance(records, list):
        raise FormatError(path, f"not a table of records; {_CURE}")
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            message = (
                f"record {number} is {shorten(json.dumps(record), 30)}, not an object; {_CURE}"
            )
            raise FormatError(path, message)
    return records


def _parse_lines(text: str, path: str | Path) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield json.loads(line, object_pairs_hook=_unique)
            except _TwoFields:
                raise
            except ValueError as error:
                message = f"not JSON ({reason(error, 100)}); {_CURE}"
                raise FormatError(path, message, number) from None


def _flatten(record: dict[str, Any], budget: Budget, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if prefix:
            budget.take(len(prefix) + len(key))
        if isinstance(value, dict):
            yield from _flatten(value, budget, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _as_cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return as_string(value)
