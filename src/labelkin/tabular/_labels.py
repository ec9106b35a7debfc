"""The labels of a table: one column per label, or one column that lists them."""

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.guesses import Guess
from labelkin.datasets.formats._columns import Labels, find_columns, find_labels, split_names
from labelkin.tabular._tables import ArrowTable, RawTable

# Marks between tags that are recognised without being given.
_SEPARATORS = (";", "|", ",", "/", "\t", "\n")
# A list as Python, JSON or NumPy write it: ['a', 'b'], ["a", "b"], ['a' 'b'] or [a, b].
_LIST = re.compile(r"\s*\[(?P<items>.*)\]\s*", re.DOTALL)
# Possessive quantifiers, and quotes sought only where all of them are closed: linear time.
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)\"""", re.DOTALL)
_ALL_QUOTED = re.compile(rf"[ ,\n]*+(?:(?:{_QUOTED.pattern})[ ,\n]*+)*+", re.DOTALL)


@dataclass(frozen=True)
class LabelColumns:
    """Where a table holds its labels."""

    names: tuple[str, ...]
    """The labels, in the order of the model's outputs."""
    column: str | None = None
    """The one column that lists them; None: one column per label."""
    separator: str = ";"
    """What separates labels in that column."""

    @classmethod
    def find(
        cls,
        table: RawTable,
        labels: Labels | None = None,
        label_column: str | None = None,
        separator: str | None = None,
    ) -> "LabelColumns":
        """Find the labels: those given, or else those that the file declares.

        `labels` may also name the one column of tags. The separator is guessed if None.
        """
        if label_column is None:
            label_column = _single_column_of_tags(table, labels)
        if label_column is not None:
            if table.names is None or table.target is not None:
                raise FormatError(
                    table.path,
                    "label_column= is for tables with named columns",
                    None,
                    "label_column",
                )
            table.check_columns([label_column])
            if separator is None:
                separator = _guess_separator(table, label_column)
            else:
                _doubt_separator(table, label_column, separator)
            listed = sorted({tag for row in _tags(table, label_column, separator) for tag in row})
            if not listed:
                raise FormatError(
                    table.path, f"column {shorten(label_column)} lists no label at all"
                )
            return cls(tuple(listed), label_column, separator)
        if table.target is not None:
            return cls(tuple(table.own_labels or ()))
        if labels is None:
            labels = table.own_labels
            if labels is None:
                raise FormatError(
                    table.path,
                    "the label columns are unknown; name them with labels=a,b,c, or one column of "
                    f"tags with labels=tags. Its columns are {join_names(table.names or [], 20)}.",
                    None,
                    "labels",
                )
        names = table.names or []
        return cls(tuple(names[i] for i in find_labels(labels, names, table.path)))

    def read(self, table: RawTable, notes: list[str]) -> np.ndarray:
        """Return the labels as an (n, q) matrix of 0 and 1; remarks are added to `notes`."""
        if table.target is not None:
            return self._read_target(table, table.target, notes)
        if self.column is not None:
            table.check_columns([self.column])
            return self._read_tags(table, self.column, notes)
        table.check_columns(self.names)
        columns = [table.labels(name) for name in self.names]
        signed = [name for name, values in zip(self.names, columns, strict=True) if -1 in values]
        if signed:
            text = f"-1 means no in {join_names(signed)}"
            table.guesses.append(Guess(text, ()))
        return np.column_stack([values > 0 for values in columns]).astype(np.uint8)

    def _read_target(self, table: RawTable, target: np.ndarray, notes: list[str]) -> np.ndarray:
        own = list(table.own_labels or ())
        if tuple(own) == self.names:
            return target
        unknown = [name for name in own if name not in self.names]
        absent = [name for name in self.names if name not in own]
        if len(absent) == len(self.names):
            find_columns(absent[:1], own, table.path)
        for names, remark in ((unknown, "unknown to the model: left out"), (absent, "not in it")):
            if names:
                notes.append(f"{table.path}: labels {remark}: {join_names(names)}")
        found = np.zeros((table.n_rows, len(self.names)), dtype=np.uint8)
        for i, name in enumerate(self.names):
            if name in own:
                found[:, i] = target[:, own.index(name)]
        return found

    def _read_tags(self, table: RawTable, column: str, notes: list[str]) -> np.ndarray:
        position = {name: i for i, name in enumerate(self.names)}
        found = np.zeros((table.n_rows, len(self.names)), dtype=np.uint8)
        unknown: set[str] = set()
        for row, tags in enumerate(_tags(table, column, self.separator)):
            for tag in tags:
                if tag in position:
                    found[row, position[tag]] = 1
                else:
                    unknown.add(tag)
        if unknown:
            names = join_names(sorted(unknown))
            notes.append(f"{table.path}: labels unknown to the model are left out: {names}")
        return found


def _single_column_of_tags(table: RawTable, labels: Labels | None) -> str | None:
    """Return the column that `labels` names, if it is one of tags and not of 0 and 1."""
    if not isinstance(labels, str) or table.target is not None or table.names is None:
        return None
    named = split_names(labels, table.names)
    if len(named) != 1 or named[0] not in table.names:
        return None
    name, kind = named[0], table.kind(named[0])
    is_tags = kind == "list" or (kind == "string" and not table.has_truth_values(name))
    return name if is_tags else None


def _guess_separator(table: RawTable, column: str) -> str:
    """Return the mark between tags that occurs in most rows; refuse to choose among equals."""
    if isinstance(table, ArrowTable) and table.kind(column) == "list":
        return ";"
    cells, counts, best = _count_marks(table, column)
    if any(_list_items(cell) is not None for cell in cells):
        table.guesses.append(Guess(f"{column} holds lists such as {shorten(cells[0], 30)}", ()))
        return ";"
    if not counts[best]:
        return ";"
    for mark, count in counts.items():
        # A mark in nearly as many rows may be the separator too, or part of the tags.
        if mark != best and 2 * count > counts[best]:
            evidence = " or ".join(
                f"{one!r} (in {counts[one]:,} of {len(cells):,} rows: "
                f"{len({tag for tags in _split(cells, one) for tag in tags}):,} labels)"
                for one in (best, mark)
            )
            raise FormatError(
                table.path,
                f"column {shorten(column)} may be split at {evidence}; choose with "
                f"separator={best!r} or separator={mark!r}",
                None,
                "separator",
            )
    table.guesses.append(Guess(f"{column} split at {best!r}", ("separator",)))
    return best


def _doubt_separator(table: RawTable, column: str, separator: str) -> None:
    """Warn if no row holds the separator, but some hold another mark."""
    cells, counts, best = _count_marks(table, column)
    if counts[best] and not any(separator in cell for cell in cells):
        warnings.warn(
            f"{table.path}: {separator!r} is in no row of {column}, but {best!r} is in "
            f"{counts[best]:,} of {len(cells):,}, and each such value counts as one label.",
            UserWarning,
            stacklevel=3,
        )


def _count_marks(table: RawTable, column: str) -> tuple[list[str], dict[str, int], str]:
    """Return the cells of a column, in how many of them each mark is, and the most frequent."""
    cells = [cell for cell in table.strings(column) if cell]
    counts = {mark: sum(mark in cell for cell in cells) for mark in _SEPARATORS}
    return cells, counts, max(counts, key=lambda mark: counts[mark])


def _split(cells: Iterable[str | None], separator: str) -> list[list[str]]:
    """Return the tags of each cell, split at the separator unless the cell is a list."""
    found = []
    for cell in cells:
        tags = _list_items(cell or "")
        tags = (cell or "").split(separator) if tags is None else tags
        found.append([tag.strip() for tag in tags if tag.strip()])
    return found


def _list_items(cell: str) -> list[str] | None:
    """Return the items of a list in square brackets; None for a cell that is none."""
    written = _LIST.fullmatch(cell)
    if written is None:
        return None
    items = written["items"]
    if _ALL_QUOTED.fullmatch(items):
        return [one or other for one, other in _QUOTED.findall(items)]
    return None if set(items) & set("[]'\"") else items.split(",")


def _tags(table: RawTable, column: str, separator: str) -> list[list[str]]:
    if isinstance(table, ArrowTable) and table.kind(column) == "list":
        return table.lists(column)
    return _split(table.strings(column), separator)


def join_names(names: Sequence[str], most: int = 5) -> str:
    """Return the first few names for a message, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
