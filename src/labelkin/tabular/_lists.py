"""Cells that list names: separated by marks, or as Python, JSON and others write lists."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, chain
from typing import Any

import numpy as np

from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.datasets.formats._numbers import MISSING
from labelkin.datasets.formats._raw_table import as_string

_OPENING, _CLOSING = "([{（", ")]}）"
_ENCLOSING = {*_OPENING, *_CLOSING, '"'}
# A list as Python, JSON or NumPy write it: ['a', 'b'], ["a", "b"], ['a' 'b'], ('a',) or [a, b].
_LIST = re.compile(r"\s*[\[(](?P<items>.*)[\])]\s*", re.DOTALL)
_NUMPY = re.compile(r"""\bnp\.str_\(('[^']*+'|"[^"]*+")\)""")
# Possessive quantifiers, and quotes searched for only where all of them are closed: linear time.
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)\"""", re.DOTALL)
_ALL_QUOTED = re.compile(rf"[ ,\n]*+(?:(?:{_QUOTED.pattern})[ ,\n]*+)*+", re.DOTALL)
_ANGLES = re.compile(r"\s*+(?:<[^<>]++>\s*+)++")  # <a><b>
# An array as PostgreSQL writes it: {a,"b c",NULL}.
_ITEM = re.compile(r"""\s*+("(?:[^"\\]|\\.)*+"|(?!')[^\s{}",\\]++)\s*+""", re.DOTALL)
_ARRAY = re.compile(rf"\s*+\{{(?:{_ITEM.pattern}(?:,{_ITEM.pattern})*+)?\s*+\}}\s*+", re.DOTALL)
_MAX_JSON = 100_000  # characters of a cell
_LISTS = list | np.ndarray


def split_tags(cell: str, *separators: str) -> list[str]:
    """Return the parts of a cell between separators.

    A separator in brackets, or in a part in quotes, belongs to the part, as in ``a (b, c), d``.
    Brackets that are not closed, as in ``a), b)`` and ``:(, :)``, do not count.
    """
    separator, *others = separators
    if others:
        return [tag for part in split_tags(cell, separator) for tag in split_tags(part, *others)]
    parts = cell.split(separator)
    if len(parts) == 1 or _ENCLOSING.isdisjoint(cell) or not _ENCLOSING.isdisjoint(separator):
        return parts
    found, held, depth, is_quoted = [], list[str](), 0, False
    for part in parts:
        bare = part.strip()
        depth += sum(map(part.count, _OPENING)) - sum(map(part.count, _CLOSING))
        if depth < 0 or bare.endswith(tuple(_OPENING)):
            return parts
        if is_quoted or (not held and bare.startswith('"')):
            is_quoted ^= bool(part.count('"') % 2)
        held.append(part)
        if depth == 0 and not is_quoted:
            found.append(separator.join(held))
            held.clear()
    return parts if held else found


def list_fields(table: RawTable, column: str) -> list[str]:
    """Return the fields of objects that a column lists, if it does, as paths such as ``a.b``.

    Those of lists of words come first, then those of words, of numbers, and all others.
    """
    ranks = dict[str, int]()
    for cell in cells_of(table, column):
        with suppress(ValueError, RecursionError):
            for path, value in _open_fields(items_of(cell, "any")):
                items = value if (is_list := isinstance(value, _LISTS)) else [value]
                is_word = len(items) > 0 and isinstance(items[0], str)
                is_number = len(items) > 0 and type(items[0]) in (int, float)
                rank = 1 - is_list if is_word else 3 - is_number
                ranks[path] = min(rank, ranks.get(path, rank))
    parents = (accumulate(path.split(".")[:-1], "{}.{}".format) for path in ranks)
    opened = {"", *chain(*parents)}  # elsewhere, if they are empty in some rows
    return sorted((path for path in ranks if path not in opened), key=ranks.__getitem__)


def _open_fields(item: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what is neither an object nor a list of some, with the path of fields to it."""
    if isinstance(item, dict):
        for key, value in item.items():
            yield from _open_fields(value, f"{path}.{key}".lstrip("."))
    elif isinstance(item, _LISTS) and any(isinstance(one, dict | _LISTS) for one in item):
        for one in item:
            yield from _open_fields(one, path)
    else:
        yield path, item


def follow_path(item: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield the values to which a path of fields leads, or that stand in the place of an object."""
    if isinstance(item, _LISTS):
        for one in item:
            yield from follow_path(one, path)
    elif path and isinstance(item, dict):
        yield from follow_path(item.get(path[0]), path[1:])
    elif item is not None:
        yield item


def cells_of(table: RawTable, column: str) -> Iterable[Any]:
    """Return lists, or texts that may be some; None for a cell that is missing in a file."""
    if table.kind(column) == "list":
        return table.lists(column)
    return [None if (c or "").strip() in MISSING else c for c in table.strings(column)]


def read_names(table: RawTable, columns: Iterable[str]) -> None:
    """Replace lists of objects with a name, also in JSON, by lists of the names.

    They become texts in a column that has other texts, too.
    """
    series, found = import_optional("pandas").Series, dict[str, Any]()
    for name in () if table.is_matrix else columns:
        kind, column = table.kind(name), table.column(name).astype(object)
        cells = [*map(names_in, column)] if kind in ("string", "list") else [*column]
        if all(one is other for one, other in zip(cells, column, strict=True)):
            continue
        n_lists = sum(isinstance(cell, list) for cell in cells)
        if kind == "string" and n_lists < column.notna().sum():
            cells = [", ".join(cell) or None if isinstance(cell, list) else cell for cell in cells]
        found[name] = series(cells, table.data.index, dtype=object)
    if found:
        table.data = table.data.assign(**found)


def names_in(cell: Any) -> Any:
    """Return the names, or texts, in a list of objects, also in JSON; any other cell as it is."""
    items = cell
    if isinstance(cell, str):
        start = "".join(cell[:40].split())
        if not start.startswith(("[{", "[]")):
            return cell
        try:
            items = _parse(cell)
        except ValueError:
            return cell
    is_list = isinstance(items, _LISTS)
    if not is_list or not all(isinstance(item, dict) for item in items):
        return cell
    items = [*items]
    for key in ("text", "content"):  # messages, which have no name
        if items and all(isinstance(item.get(key), str) for item in items):
            items = [{"name": item[key]} for item in items]
    try:
        return [*map(name_of, items)]
    except ValueError:
        return cell


def items_of(cell: Any, field: str = "") -> list[Any] | None:
    """Return the items that a cell lists; None for a text.

    An object lists itself if its fields are asked for, and else what its only list does.
    """
    items = cell if isinstance(cell, list) else _list_items(cell or "")
    if not isinstance(items, dict):
        return items
    lists = [one for one in items.values() if isinstance(one, list)]
    if not field and len(lists) != 1:
        raise ValueError("not one list")
    return [items] if field else lists[0]


def looks_like_list(cell: str) -> bool:
    try:
        return _list_items(cell) is not None
    except ValueError:
        return True  # refused when it is read


def _list_items(cell: str) -> list[Any] | dict[str, Any] | None:
    """Return the items of a list in brackets, or an object; None for any other cell.

    ValueError is raised for a cell that looks like JSON and is none, or neither of them.
    """
    if _ANGLES.fullmatch(cell):
        return cell.strip()[1:-1].replace("\n", " ").split("><")
    if _ARRAY.fullmatch(cell):
        found = [item for item in _ITEM.findall(cell) if item != "NULL"]
        return [re.sub(r'\\(.)|"', r"\1", item, flags=re.DOTALL) for item in found]
    start, end = "".join(cell[:40].split()), cell.rstrip()[-1:]
    if start.startswith(("[{", "[[", "set()")) or (start[:1] == "{" and end == "}"):
        return _parse(cell)
    written = _LIST.fullmatch(cell)
    if written is None:
        return None
    items = _NUMPY.sub(r"\1", written["items"])
    if _ALL_QUOTED.fullmatch(items):
        try:
            return json.loads(cell)  # with its escapes
        except ValueError:
            return [one or other for one, other in _QUOTED.findall(items)]
    return None if start[0] == "(" or set(items) & set("[]'\"") else split_tags(items, ",")


def _parse(cell: str) -> list[Any] | dict[str, Any]:
    """Return a list or object that is written in JSON, or that or a set as Python writes it."""
    found = None
    for parse in (json.loads, ast.literal_eval) if len(cell) <= _MAX_JSON else ():
        try:
            found = found or parse(cell.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
    if not isinstance(found, list | dict | set):
        raise ValueError("no list")
    return sorted(found, key=str) if isinstance(found, set) else found


def name_of(item: Any) -> str:
    """Return the label that an item of a list names."""
    if isinstance(item, dict):  # such as a person without a name but with a login
        item = item.get("name") or ("name" in item and item.get("login")) or item.get("name")
    if isinstance(item, bool) or not isinstance(item, (str, int, float)):
        raise ValueError("no name")
    return as_string(item)
