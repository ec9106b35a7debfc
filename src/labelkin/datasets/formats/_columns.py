"""Columns of a file by name or by count, and what empty cells of label columns mean."""

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, shorten
from labelkin._utils.names import abbreviate, join_names, plural
from labelkin.datasets.formats._numbers import is_number

_COUNT = re.compile(r"\s*[-+]?[0-9]{1,9}\s*")
_REPEATED = re.compile(r"(.+)[._][1-9][0-9]*", re.DOTALL)

#: Names, one comma-separated string of names, or a count (negative: the last ones).
Labels = str | int | Iterable[str]


_MARKS = re.compile(r"(?<!\d)[._-]|[._-](?!\d)")


def normal_form(name: str) -> str:
    """Return a name in the normal form in which names are compared.

    A letter with an accent is one character or two, by the system on which it was typed.
    """
    return unicodedata.normalize("NFC", name)


def respell(
    names: Sequence[str | None], expected: Iterable[str]
) -> tuple[list[str | None], list[tuple[str, str]]]:
    """Return names as they are expected where they differ little, and which do.

    That is by case, spaces, and points, hyphens and underscores that are not between digits:
    created_at for Created at, and not q11 for q1_1.
    """
    absent: dict[str, list[str]] = {}
    for wanted in {*map(normal_form, expected)} - {*names}:
        absent.setdefault(_MARKS.sub("", fold(wanted)), []).append(wanted)
    folded = [name and _MARKS.sub("", fold(name)) for name in names]
    counts = Counter(folded)
    found, changed = list(names), []
    for place, (name, key) in enumerate(zip(names, folded, strict=True)):
        if name and key and len(absent.get(key, ())) == counts[key] == 1:
            (found[place],) = absent[key]
            changed.append((name, absent[key][0]))
    return found, changed


def fold(name: str) -> str:
    """Return what names have in common that differ by case or spaces only."""
    return "".join(normal_form(name).casefold().split())


def repeats_name(name: str, names: Container[str]) -> bool:
    """Return whether a name is one of others with a number, as those that occur twice are given.

    A second tag is tag_2, and tag.1 in pandas.
    """
    found = _REPEATED.fullmatch(name)
    return found is not None and found[1] in names


def join_headers(
    upper: Sequence[str | None], lower: Sequence[str | None], expected: Container[str] = ()
) -> list[str | None]:
    """Return the names in two rows: the lower ones, with those of their groups where they recur.

    Questions of a survey are named by the upper row if Response stands below each of them. A name
    with its group is taken, too, if it is `expected`.
    """
    followed = [*upper[1:], "end"]  # by a column of its own
    grouped = {
        below
        for above, below, after in zip(upper, lower, followed, strict=True)
        if not (above and after and upper.count(above) == 1)
    }
    names, group = list[str | None](), None
    for above, below in zip(upper, lower, strict=True):
        group = above or group
        full = f"{group} / {below}" if group and below and group != below else None
        if full and lower.count(below) > 1:
            names.append(full if below in grouped else above)
        elif full and is_number(str(below)):  # such as a year
            names.append(full)
        else:
            names.append(full if full in expected else below or above)
    return names


def find_columns(wanted: Iterable[str], names: Sequence[str], path: str | Path) -> np.ndarray:
    """Positions of the wanted columns, as listed; an unknown one, or one named twice, raises."""
    position = {normal_form(name): index for index, name in enumerate(names)}
    found = []
    for name in wanted:
        if normal_form(name) not in position:
            raise FormatError(path, f"no column {shorten(name)}.{_suggestion(name, names)}")
        found.append(position[normal_form(name)])
    if len(set(found)) < len(found):
        twice = next(names[i] for i in found if found.count(i) > 1)
        raise FormatError(path, f"column {shorten(twice)} is named twice; name it once")
    return np.array(found, dtype=np.intp)


def open_start(name: str, names: Sequence[str]) -> list[str]:
    """Return the columns whose names begin with q7_ for q7_*, and any other name as it is."""
    start = normal_form(name)
    is_start = start.endswith("*") and start not in names
    return [one for one in names if is_start and one.startswith(start[:-1])] or [name]


def open_names(wanted: Iterable[str], names: Sequence[str]) -> list[str]:
    """Return the wanted columns, in the place of an object a those of its fields, such as a.b."""
    found = list[str]()
    for name in wanted:
        fields = [one for one in names if one.startswith(f"{name}.")] if name not in names else []
        found += fields or [name]
    return found


def _suggestion(name: str, names: Sequence[str]) -> str:
    parts = split_names(name)
    if len(parts) > 1 and {*map(normal_form, parts)} <= {*names}:
        return f" Name {join_names(parts)} one at a time."
    folded = {candidate.casefold(): candidate for candidate in reversed(names)}
    close = [folded[key] for key in difflib.get_close_matches(name.casefold(), folded, n=3)]
    close.sort(key=names.index)
    if close:
        return f" Columns that could be meant: {join_names([abbreviate(n, 40) for n in close])}."
    return f" Its columns are {join_names([abbreviate(n, 40) for n in names])}."


def split_names(names: str | Iterable[str], known: Sequence[str] = ()) -> list[str]:
    """Names from a list, or from one string at its commas (unless it is a known name whole)."""
    if not isinstance(names, str):
        return [str(name) for name in names]
    if normal_form(names) in known:
        return [normal_form(names)]
    return [name.strip() for name in names.split(",") if name.strip()]


def find_labels(
    labels: Labels, names: Sequence[str], path: str | Path, others: Container[str] = ()
) -> np.ndarray:
    """Positions of the label columns, in the order in which they are listed.

    A positive count means the first columns, a negative one the last; q7_* those whose names begin
    with q7_ but for `others`, in the order of the columns, and an object those of its fields.
    """
    if isinstance(labels, str) and labels not in names and _COUNT.fullmatch(labels):
        labels = int(labels)
    if isinstance(labels, bool):
        raise TypeError("labels= takes names or a count, not a bool")
    if isinstance(labels, (int, np.integer)):
        count = int(labels)
        if not 0 < abs(count) < len(names):
            raise FormatError(
                path,
                f"{abs(count)} label columns are requested, but the file has "
                f"{plural(len(names), 'column')}; give a count of at least 1 that leaves a feature",
            )
        return np.arange(count) if count > 0 else np.arange(len(names) + count, len(names))
    wanted = list[str]()
    for name in split_names(labels, names):
        found = [one for one in open_start(name, names) if one == name or one not in others]
        wanted += open_names(found or [name], names)
    columns = find_columns(wanted, names, path)
    if not columns.size:
        raise FormatError(path, "labels= names no label column", None, "labels")
    return columns


def check_unique(names: Sequence[str], what: str, path: str | Path) -> None:
    """Refuse names that occur twice or are not valid Unicode text."""
    seen: set[str] = set()
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:  # NumPy and JSON can hold lone surrogates
            message = f"{what} name {shorten(name)} is not valid Unicode text"
            raise FormatError(path, message) from None
        if name in seen:
            raise FormatError(path, f"two {what}s are named {shorten(name)}; rename one")
        seen.add(name)


# ------------------------------------------------------------------- empty cells of labels

MISSING_LABELS = ("no", "unknown", "drop")
"""What an empty cell of a label can mean; with "drop" its row is left out."""


def check_missing_labels(missing: str | None) -> None:
    """Raise an error for a meaning that is not known; None is a guess."""
    if missing is not None and missing not in MISSING_LABELS:
        raise ArgumentError(
            f"missing_labels={missing!r}: choose no, unknown or drop.", "missing_labels"
        )


def fill_missing_labels(
    values: np.ndarray, names: Sequence[str], missing: str | None, are_marks: Any = False
) -> tuple[np.ndarray, list[str]]:
    """Return labels, (n, q), with 0 where an empty cell, which is NaN, means no; NaN: unknown.

    Also returned is what was guessed, in words; without `missing` the meaning is. An empty cell of
    a label that is 0 elsewhere is unknown: what does not apply is written. Where all cells that are
    written are 1, the others mean no; but not in a table in which empty cells of other labels are
    unknown, unless the cells hold marks (`are_marks`, of each label). If no cell is written, all
    are unknown.
    """
    check_missing_labels(missing)
    empty = np.isnan(values)
    if missing in ("unknown", "drop") or not empty.any() or (missing is None and empty.all()):
        return values, []
    if missing == "no":
        return np.where(empty, 0.0, values), []
    some_empty = empty.any(axis=0)
    is_unknown = some_empty & (values <= 0).any(axis=0)
    if is_unknown.any():
        is_unknown = some_empty & ~np.broadcast_to(are_marks, some_empty.shape)
    guesses = [
        f"empty cells of {join_names([names[int(j)] for j in np.flatnonzero(chosen)])} {meaning}"
        for chosen, meaning in (
            (some_empty & ~is_unknown, "mean no"),
            (is_unknown, "are unknown labels"),
        )
        if chosen.any()
    ]
    return np.where(empty & ~is_unknown, 0.0, values), guesses
