"""Cells that list the labels of a row: what separates them, and what may be wrong with them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

from labelkin._utils.files import shorten
from labelkin._utils.names import join_names, plural
from labelkin.datasets import RawTable
from labelkin.datasets.formats._numbers import MISSING
from labelkin.datasets.formats._raw_table import Guess
from labelkin.tabular._lists import (
    cells_of,
    follow_path,
    items_of,
    list_fields,
    looks_like_list,
    name_of,
    split_tags,
)

# Marks between tags that are recognised without being given.
SEPARATORS = (";", "|", ",", "/", "\t", "\n", "、", "，", "；", "،", "؛")
# Those of them that occur in labels, too.
_PUNCTUATION = (",", "/", "、", "，", "،")
# Marks that may separate tags, too, if they stand between spaces, once or repeated.
_SPACED = re.compile(r"(?<= )([-‐‑‒–—―−&+·•∙‧⋅*~#@\\¦_=])\1*+(?= )")
_BARE = re.compile(r"(?<=\w)[+&](?=\w)")
_MIN_TOGETHER = 5  # rows in which two labels stand side by side, and none in which they do not
_MANY = 20  # labels, so that there are more than rows not only because there are few rows
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

_IN_QUOTES = re.compile(r'"\s*[^"\s][^"]*"')
_HASHES = re.compile(r"\s*+(?:#[^\s#;|,]++\s*+)++")  # #a #b


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
            items = items_of(cell, field)
            values = follow_path(items, field.split(".")) if field else items or ()
            tags = split_tags(cell or "", *separators) if items is None else map(name_of, values)
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


def guess_separator(table: RawTable, column: str) -> str:
    """Return the mark that splits the cells into the fewest, most repeated labels.

    Choosing among equals is refused.
    """
    cells = [cell for cell in cells_of(table, column) if cell]
    if lists := [cell for cell in cells if looks_like_list(cell)]:
        table.guesses.append(Guess(f"{column} holds lists such as {shorten(lists[0], 30)}", ()))
        cells = [cell for cell in cells if not looks_like_list(cell)]
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
