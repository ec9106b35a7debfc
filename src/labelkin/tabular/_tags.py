"""Cells that list the labels of a row: how they are written, and what they hold."""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np

from labelkin._utils.files import shorten
from labelkin._utils.names import join_names, plural
from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.datasets.formats._numbers import MISSING
from labelkin.datasets.formats._raw_table import Guess, as_string

# Marks between tags that are recognised without being given.
SEPARATORS = (";", "|", ",", "/", "\t", "\n", "、", "，", "；", "،", "؛")
# Those of them that occur in labels, too.
_PUNCTUATION = (",", "/", "、", "，", "،")
# Marks that may separate tags, too, if they stand between spaces, once or repeated.
_SPACED = re.compile(r"(?<= )([-‐‑‒–—―−&+·•∙‧⋅*~#@\\¦_=])\1*+(?= )")
_BARE = re.compile(r"(?<=\w)[+&](?=\w)")
_MIN_TOGETHER = 5  # rows in which two labels stand side by side, and none in which they do not
_MANY = 20  # labels, so that there are more than rows not only because there are few rows
_OPENING, _CLOSING = "([{（", ")]}）"
_ENCLOSING = {*_OPENING, *_CLOSING, '"'}
# What people write into a column of tags for a row without any, without spaces and brackets.
_NONE = re.compile(
    r"none|nothing|n[./]?a|k\.a|null|nil|nan|--?|empty|notapplicable|noneof(?:the)?(?:above|these)"
    r"|un(?:tagged|labell?ed|categori[sz]ed|classified)|ohne(?:befund)?|o\.b"
    r"|no(?:label|tag|genre|topic|keyword|subject|category|categorie|answer)s?"
    r"|no.{2,30}(?:listed|given|assigned|specified|selected)"
    r"|keine?s?|keineangaben?|nichts|aucune?|ras|néant|rien|sansobjet|ningun[oa]|nada|nenhuma?"
    r"|nessun[oa]|niente|geen|niets|brak|żad(?:en|na|ne)|žádn[áéý]|žiadn[aey]|ing[ae]n|inget|intet"
    r"|eimitään|nincs|semmi|yok|hiçbiri|niciun(?:ul|a)|nimic|нет|ничего|немає|нема|κανένα|なし|无|無"
)

_CONJUNCTIONS = {"and", "or", "&", "+", "und", "oder", "et", "ou", "y", "e"}

# A list as Python, JSON or NumPy write it: ['a', 'b'], ["a", "b"], ['a' 'b'], ('a',) or [a, b].
_LIST = re.compile(r"\s*[\[(](?P<items>.*)[\])]\s*", re.DOTALL)
_NUMPY = re.compile(r"""\bnp\.str_\(('[^']*+'|"[^"]*+")\)""")
# Possessive quantifiers, and quotes searched for only where all of them are closed: linear time.
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)\"""", re.DOTALL)
_ALL_QUOTED = re.compile(rf"[ ,\n]*+(?:(?:{_QUOTED.pattern})[ ,\n]*+)*+", re.DOTALL)
_IN_QUOTES = re.compile(r'"\s*[^"\s][^"]*"')
_ANGLES = re.compile(r"\s*+(?:<[^<>]++>\s*+)++")  # <a><b>
# An array as PostgreSQL writes it: {a,"b c",NULL}.
_ITEM = re.compile(r"""\s*+("(?:[^"\\]|\\.)*+"|(?!')[^\s{}",\\]++)\s*+""", re.DOTALL)
_ARRAY = re.compile(rf"\s*+\{{(?:{_ITEM.pattern}(?:,{_ITEM.pattern})*+)?\s*+\}}\s*+", re.DOTALL)
_HASHES = re.compile(r"\s*+(?:#[^\s#;|,]++\s*+)++")  # #a #b
_MAX_JSON = 100_000  # characters of a cell
_LISTS = list | np.ndarray


def unify_spelling(
    rows: Sequence[Sequence[str]],
    ignore_case: bool = False,
    no_label: Iterable[str] = (),
    names: Iterable[str] = (),
) -> list[list[str]]:
    """Return the tags of rows as labels, without those that mean that there is none.

    Of spellings that differ by case, spaces or a final point only and are one label with
    `ignore_case`, that among `names` is used, or else the most frequent.
    """
    none = {_bare(word) for word in no_label}
    kept = [[tag for tag in row if not none or _bare(tag) not in none] for row in rows]
    if not ignore_case:
        return kept
    counts = Counter(tag for row in kept for tag in row)
    # The most frequent spelling comes last, and stays.
    ordered = sorted(counts, key=lambda tag: (counts[tag], tag))
    spelled = {fold_case(tag): tag for tag in [*ordered, *names]}
    return [[spelled[fold_case(tag)] for tag in row] for row in kept]


def find_absent(rows: Iterable[Sequence[str]], no_label: Iterable[str]) -> list[Guess]:
    """Return a doubt if words for no label are no tags; it has those that are, one by one."""
    words = [*no_label]
    known = {_bare(tag) for row in rows for tag in row} | {*map(_bare, MISSING)}
    absent = [word for word in words if _bare(word) not in known]
    parts = [re.split("[,;|]", word) if word in absent else [word] for word in words]
    values = tuple(part.strip() for part in chain(*parts) if _bare(part) in known - {""})
    text = f"no tag {join_names([shorten(word) for word in absent])}"
    return [Guess(text, ("no_label",), True, values)] if absent else []


def fold_case(tag: str) -> str:
    """Return what tags have in common that differ by case, spaces or a final point only."""
    bare = "".join(tag.casefold().split())
    return bare.rstrip(".") or bare


def _bare(tag: str) -> str:
    """Return what words for no label have in common, which may be in brackets."""
    return fold_case(tag).strip("()[]{}<>*.")


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


def read_tags(
    table: RawTable, column: str, separators: Iterable[str], field: str = ""
) -> list[list[str]]:
    """Return the tags of each row; what looks like JSON and lists no names is refused.

    Double quotes around tags are left out if no tag has others. In objects, the tags are in this
    field, a path through objects and lists that may be absent, or else in the usual one.
    """
    found = []
    for number, cell in enumerate(cells_of(table, column), start=1):
        try:
            items = _items_of(cell, field)
            values = _follow(items, field.split(".")) if field else items or ()
            tags = split_tags(cell or "", *separators) if items is None else map(_name_of, values)
            names = [tag.strip() for tag in tags if tag.strip()]
            found.append([*dict.fromkeys(names)] if field else names)
        except (ValueError, RecursionError):
            text = f"column {shorten(column)} holds {shorten(str(cell), 40)} in row {number}, "
            text += 'which names no labels; write them as a;b, as ["a", "b"], or as objects with a '
            text += '"name"'
            if paths := [f"{column}.{path}" for path in list_fields(table, column)]:
                text += f", or choose their field, as with labels='{paths[0]}', among "
                text += join_names(paths, 3)
            raise table.error(text, "labels") from None
    fields = [] if not field or any(found) else list_fields(table, column)
    if fields and not any(f"{field}.".startswith(f"{one}.") for one in fields):
        text = f"no object in column {shorten(column)} has a field {shorten(field)}; their fields "
        raise table.error(f"{text}are {join_names(fields)}")
    quoted = {tag for tags in found for tag in tags if '"' in tag}
    if quoted and all(map(_IN_QUOTES.fullmatch, quoted)):
        return [[tag.strip('"').strip() for tag in tags] for tags in found]
    return found


def list_fields(table: RawTable, column: str) -> list[str]:
    """Return the fields of objects that a column lists, if it does, as paths such as ``a.b``.

    Those of lists of words come first, then those of words, of numbers, and all others.
    """
    ranks = dict[str, int]()
    for cell in cells_of(table, column):
        with suppress(ValueError, RecursionError):
            for path, value in _open_fields(_items_of(cell, "any")):
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


def _follow(item: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield the values to which a path of fields leads, or that stand in the place of an object."""
    if isinstance(item, _LISTS):
        for one in item:
            yield from _follow(one, path)
    elif path and isinstance(item, dict):
        yield from _follow(item.get(path[0]), path[1:])
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
        return [*map(_name_of, items)]
    except ValueError:
        return cell


def guess_separator(table: RawTable, column: str) -> str:
    """Return the mark that splits the cells into the fewest, most repeated labels.

    Choosing among equals is refused.
    """
    cells = [cell for cell in cells_of(table, column) if cell]
    if lists := [cell for cell in cells if _looks_like_list(cell)]:
        table.guesses.append(Guess(f"{column} holds lists such as {shorten(lists[0], 30)}", ()))
        cells = [cell for cell in cells if not _looks_like_list(cell)]
    are_hashes = bool(cells) and all(_HASHES.fullmatch(cell) for cell in cells)
    counts = {" ": (0, 0)} if are_hashes else {}
    if are_hashes and any("\n" in cell.strip() for cell in cells):
        counts = {"\n": (0, 0)}
    spaced = _find_spaced(cells)
    for mark in () if are_hashes else (*SEPARATORS, *spaced, " "):
        if any(mark in cell for cell in cells):
            tags = [tag.strip() for cell in cells for tag in split_tags(cell, mark) if tag.strip()]
            counts[mark] = len(set(tags)), -len(tags)
    # Slashes and spaces are parts of many labels: they separate only if that gives fewer labels.
    whole = {cell.strip() for cell in cells}
    if "/" in counts and counts["/"][0] > len(whole):
        del counts["/"]
    doubtful = {mark: counts.pop(mark) for mark in spaced if not _separates(mark, whole)}
    parts = {part for cell in whole for part in cell.split()}
    is_open = " " in counts and (len(counts) > 1 or 2 * counts[" "][0] > len(whole))
    if is_open and not parts < whole:
        del counts[" "]
    if " " in counts:  # between single words, they are no labels
        counts |= {mark: count for mark, count in doubtful.items() if count < counts[" "]}
    if not counts:
        return ";"
    best, *others = sorted(counts, key=lambda mark: counts[mark])
    if others and counts[others[0]] == counts[best]:
        raise table.error(
            f"column {shorten(column)} has {counts[best][0]:,} different labels split at {best!r} "
            f"and as many split at {others[0]!r}; choose with separator={best!r}, "
            f"separator={others[0]!r} or both",
            "separator",
        )
    shown = "spaces" if best == " " else repr(best)
    table.guesses.append(Guess(f"{column} split at {shown}", ("separator",)))
    return best


def _find_spaced(cells: Iterable[str]) -> list[str]:
    """Return marks between spaces in cells, with these, and + and & between letters."""
    spaced = {f" {found[0]} " for cell in cells for found in _SPACED.finditer(cell)}
    return sorted(spaced | {found[0] for cell in cells for found in _BARE.finditer(cell)})


def _separates(mark: str, cells: set[str]) -> bool:
    """Return whether a mark, such as the & in Arts & Crafts, separates tags.

    It stands in half of the different cells, which have different numbers of parts, and most of
    these recur in other cells.
    """
    rows = [{part.strip() for part in split_tags(cell, mark)} for cell in cells]
    counts = Counter(part for row in rows for part in row)
    lengths = Counter(map(len, rows))
    n_recurring = sum(count > 1 for count in counts.values())
    is_frequent = 2 * lengths[1] <= len(rows) and len(lengths) > 1
    return is_frequent and len(counts) < len(rows) and 2 * n_recurring >= len(counts)


def find_inner_separator(cells: Iterable[str]) -> str | None:
    """Return the mark that splits cells of one tag each or more, if fewer tags are found then."""
    whole = {cell.strip() for cell in cells}
    tags = {m: {tag.strip() for cell in whole for tag in split_tags(cell, m)} for m in SEPARATORS}
    best = min(tags, key=lambda mark: len(tags[mark]))
    return best if len(tags[best]) < len(whole) else None


def find_doubts(
    rows: Sequence[Sequence[str]], separators: Sequence[str], is_guess: bool
) -> list[Guess]:
    """Return what may be wrong with labels, each with the argument that decides.

    `separators` are the marks at which cells were split; without any, they are lists.
    """
    counts = Counter(tag for row in rows for tag in row)
    used = separators if any(len(row) > 1 for row in rows) else ()
    found = []
    for mark in (*SEPARATORS, *_find_spaced(counts)) if separators else ():
        if mark in separators:  # part of a tag in quotes
            continue
        holding = sorted(tag for tag in counts if len(split_tags(tag, mark)) > 1)
        recur = len({p.strip() for tag in counts for p in split_tags(tag, mark)}) < len(counts)
        is_doubtful = recur or (is_guess and mark in SEPARATORS)
        if holding and is_doubtful and not _NONE.fullmatch(_bare(holding[0])):
            text = f"{plural(len(holding), 'label')} not split at {mark!r}, "
            text += "though the parts recur, " * recur + f"such as {shorten(holding[0])}"
            arguments = ("separator", "hierarchy") if mark == "/" else ("separator",)
            found.append(Guess(text, arguments, True, (*used, mark)))
    joined = sorted(t for t in counts if " " in t and {*t.split()} <= counts.keys())
    if separators and " " not in separators and joined:
        text = f"{plural(len(joined), 'label')} not split at spaces, though the parts are labels, "
        found.append(
            Guess(f"{text}such as {shorten(joined[0])}", ("separator",), True, (*used, " "))
        )
    points = sorted(t for t in counts if t.count(".") and {*t.split(".")} <= counts.keys())
    if separators and "." not in separators and points:
        parts = " and ".join(points[0].split("."))
        text = f"{points[0]} is learned as one label, though {parts} are labels, too"
        found.append(Guess(text, ("separator",), True, (*used, ".")))
    are_doubtful = [mark.strip() in _PUNCTUATION or len(mark) > 1 for mark in separators]
    if separators and all(are_doubtful) and (pairs := _find_inseparable(rows, counts)):
        together = join_names([f"{shorten(a)} and {shorten(b)}" for a, b in pairs], 3)
        marks = " or ".join(map(repr, separators))
        text = f"{together} always stand side by side: if {marks} is part of a label, put "
        found.append(Guess(f"{text}another mark between labels", ("separator",), True))
    joining = {*_CONJUNCTIONS, *(mark.strip() for mark in _find_spaced(f" {t} " for t in counts))}
    if is_guess and " " in separators and (words := sorted(joining & counts.keys())):
        text = f"learned as a label, though it may join two: {join_names(words)}"
        found.append(Guess(text, ("separator",), True))
    spellings: dict[str, list[str]] = {}
    for tag in sorted(counts, key=lambda tag: (-counts[tag], tag)):
        spellings.setdefault(fold_case(tag), []).append(tag)
    if several := [same for same in spellings.values() if len(same) > 1]:
        shown = [" and ".join(f"{tag} ({counts[tag]:,})" for tag in same) for same in several]
        text = "labels that differ by case, spaces or a final point only are kept apart: "
        found.append(Guess(text + join_names(shown, 3), ("ignore_case",), True))
    if len(counts) > max(len(rows), _MANY) and 2 * counts.total() < 3 * len(counts):
        text = f"{len(counts):,} labels in {len(rows):,} rows, of which most occur once"
        found.append(Guess(f"{text}: they may be no tags", ("labels",), True))
    if none := [tag for tag in counts if _NONE.fullmatch(_bare(tag))]:
        shown = [f"{tag} ({counts[tag]:,})" for tag in sorted(none)]
        text = f"learned as a label, though it may mean that there is none: {join_names(shown)}"
        found.append(Guess(text, ("no_label",), True))
    return found


def join_parts(rows: Sequence[Sequence[str]], names: Iterable[str]) -> list[list[str]]:
    """Return the tags of rows; the parts of a name such as ``Mail, calls``, side by side, are one.

    So are split answers of a form, in whose choices there are commas.
    """
    first = {name.split(", ")[0]: name for name in names if ", " in name}
    joined = []
    for row in rows if first else ():
        found, rest = list[str](), [*row]
        while rest:
            name = first.get(rest[0], "")
            n = len(name.split(", "))
            is_name = ", ".join(rest[:n]) == name
            found.append(name if is_name else rest[0])
            del rest[: n if is_name else 1]
        joined.append(found)
    return joined if first else [*map(list, rows)]


def find_joined(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the labels in which a comma seems to belong to a label, as in ``Mail, calls``.

    The parts always stand side by side, and those after the first begin with a small letter, other
    than most labels.
    """
    counts = Counter(chain(*rows))
    small = {tag for tag in counts if tag[:1].islower()}
    if 2 * len(small) > len(counts):
        return []
    following = {one: other for one, other in _find_inseparable(rows, counts) if other in small}
    found = []
    for tag in following.keys() - {*following.values()}:
        parts = [tag]
        while parts[-1] in following:
            parts.append(following[parts[-1]])
        found.append(", ".join(parts))
    return sorted(found)


def _find_inseparable(rows: Sequence[Sequence[str]], counts: Counter[str]) -> list[tuple[str, str]]:
    """Return the pairs of labels of which one always follows the other."""
    followed = Counter(pair for row in rows for pair in pairwise(row))
    return [
        (one, other)
        for (one, other), n in followed.items()
        if one != other and n == counts[one] == counts[other] >= _MIN_TOGETHER
    ]


def _items_of(cell: Any, field: str = "") -> list[Any] | None:
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


def _looks_like_list(cell: str) -> bool:
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


def _name_of(item: Any) -> str:
    """Return the label that an item of a list names."""
    if isinstance(item, dict):  # such as a person without a name but with a login
        item = item.get("name") or ("name" in item and item.get("login")) or item.get("name")
    if isinstance(item, bool) or not isinstance(item, (str, int, float)):
        raise ValueError("no name")
    return as_string(item)
