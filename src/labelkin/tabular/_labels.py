"""The labels of a table: one column per label, or one column that lists them."""

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, shorten
from labelkin._utils.labels import MANY_LABELS, as_target
from labelkin._utils.names import join_names
from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.datasets.formats._columns import (
    Labels,
    check_missing_labels,
    fill_missing_labels,
    find_columns,
    find_labels,
    normal_form,
    repeats_name,
    split_names,
)
from labelkin.datasets.formats._numbers import MISSING
from labelkin.datasets.formats._raw_table import NO_LABELS, Guess
from labelkin.tabular._lists import cells_of, list_fields
from labelkin.tabular._tags import (
    SEPARATORS,
    find_absent,
    find_doubts,
    find_inner_separator,
    find_joined,
    guess_separator,
    join_parts,
    read_tags,
    unify_spelling,
)

# In English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Polish, Czech, Turkish,
# Russian, Chinese, Japanese and Arabic.
_YES = {"yes", "true", "1", "y", "t", "ja", "wahr", "oui", "vrai", "sí", "si", "x", "✓", "✔", "☑"}
_YES |= {"verdadero", "sì", "vero", "sim", "tak", "ano", "evet", "да", "是", "はい", "نعم"}
_NO = {"no", "false", "0", "n", "f", "nein", "falsch", "non", "faux", "falso", "não", "nao", "nee"}
_NO |= {"nej", "nie", "ne", "hayır", "нет", "否", "いいえ", "لا", "☐"}
TRUTH = dict.fromkeys(_YES, 1.0) | dict.fromkeys(_NO, 0.0) | {"+1": 1.0, "-1": -1.0}
# Yes and no if a column has no other words; one of them alone beside empty cells is a mark.
_FINDINGS = {"pos": "neg", "positive": "negative", "positiv": "negativ", "present": "absent"}
_FINDINGS |= {"checked": "unchecked", "selected": "not selected"}
_BOX = re.compile(r"\[(?:\s+|\s*(\S)\s*)\]")  # [ ] and [x]
_WHOLE = re.compile(r"-?[0-9]{1,18}")
# Marks on a form.
_MARKS = {"x", "✓", "✔", "☑"}


@dataclass(frozen=True)
class LabelColumns:
    """Where a table holds its labels."""

    names: tuple[str, ...]
    """The labels, in the order of the model's outputs."""
    column: str | None = None
    """The one column that lists them; None: one column per label."""
    separator: str = ";"
    """What separates labels in that column, and in predictions."""
    ignore_case: bool = False
    """Whether labels in it that differ by case, spaces or a final point only are one."""
    no_label: tuple[str, ...] = ()
    """What means in it that a row has no label."""
    missing: str | None = None
    """What empty cells mean: "no", "unknown", or "drop", for rows to be left out; None: a guess."""
    more: tuple[str, ...] = ()
    """Further columns that list them, as for a second and a third tag."""
    are_integers: bool = False
    """Whether that column lists whole numbers, as JSON can, and not words."""
    other_separators: tuple[str, ...] = ()
    """What separates labels in it, too."""
    field: str = ""
    """The field that names a label in objects that it lists; empty: the usual one."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold the labels."""
        return self.names if self.column is None else (self.column, *self.more)

    @classmethod
    def find(
        cls,
        table: RawTable,
        labels: "Labels | LabelColumns | None" = None,
        separator: str | Iterable[str] | None = None,
        *,
        ignore_case: bool = False,
        no_label: str | Iterable[str] = (),
        missing_labels: str | None = None,
        others: Container[str] = (),
    ) -> "LabelColumns":
        """Find the labels: those given, or else those that the file declares.

        `labels` may also name one column of tags, which it is in any case if a separator is given;
        else it must look like one, and the separator is guessed. Several columns hold tags if they
        are filled from the first to the last; so do those that repeat the name of the only one.
        Of these, and of those found by the start of their names, `others` are none.
        """
        check_missing_labels(missing_labels)
        if isinstance(labels, LabelColumns):
            return labels
        separator = () if separator is None else separator
        given = (separator,) if isinstance(separator, str) else tuple(dict.fromkeys(separator))
        if "" in given:
            raise ArgumentError("separator= takes at least one character.", "separator")
        missing = None if missing_labels is None else str(missing_labels)
        if table.target is not None:
            return cls(tuple(table.label_names or ()), missing=missing)
        is_declared = labels is None
        labels = table.label_names if labels is None else labels
        if table.names is None:
            raise table.error(NO_LABELS, "y")
        if labels is None:
            raise table.error(
                "the label columns are unknown; name them with labels='a,b,c', or one column "
                f"of tags with labels='tags'. Its columns are {join_names(table.names, 20)}.",
                "labels",
            )
        labels, field = (labels, "") if is_declared else _split_field(labels, table)
        try:
            chosen = find_labels(labels, table.names, table.source, others)
        except FormatError as error:
            if table.csv is None or len(table.names) > 1:
                raise
            text = "pass delimiter= if another character separates its columns"
            raise table.error(f"{error.message.rstrip('.')}; {text}", "delimiter") from None
        names = [table.names[i] for i in np.sort(chosen)]
        if len(names) == 1 and not is_declared:
            names += _find_more_tags(table, names[0], others)
            names += _find_in_place(table, names[0], others) if len(names) == 1 else []
        column, is_single = names[0], len(names) == 1 and not is_declared
        are_several = len(names) > 1 and not is_declared
        in_place = are_several and {*names[1:]} <= {*_find_in_place(table, column)}
        several = in_place or (are_several and _hold_a_tag_each(table, names))
        is_tagged = several or (is_single and (given or field or _lists_tags(table, column)))
        if not is_tagged:
            listed = names if is_declared else [table.names[i] for i in chosen]
            return cls(tuple(listed), missing=missing)
        # Columns of tags, whose labels are all that they list.
        is_list = table.kind(column) == "list"
        is_guess = not given and not is_list and not several
        marks = (guess_separator(table, column),) if is_guess else given or (";",)
        if several:
            cells = [cell for name in names for cell in cells_of(table, name) if cell]
            inner = None if given else find_inner_separator(c for c in cells if isinstance(c, str))
            marks, how = ((inner,), f", split at {inner!r}") if inner else (marks, "")
            is_found = any(repeats_name(name, [column]) for name in names[1:])
            arguments = ("ignore",) * (is_found or in_place)
            arguments += ("separator",) if inner else ()
            table.guesses.append(Guess(f"tags in {join_names(names)}{how}", arguments))
        none = (no_label,) if isinstance(no_label, str) else tuple(no_label)
        tags = _read_all_tags(table, names, marks, field)
        if joined := find_joined(tags) if marks == (",",) and not is_list else []:
            table.guesses.append(Guess(f"one label, with a comma: {join_names(joined)}", ()))
        tags = join_parts(tags, joined)
        rows = unify_spelling(tags, ignore_case, none)
        listed = sorted({tag for row in rows for tag in row})
        if all(map(_WHOLE.fullmatch, listed)):
            listed.sort(key=int)
        if not listed:
            raise table.error(f"column {shorten(column)} lists no label at all")
        table.guesses += find_absent(tags, none)
        table.guesses += find_doubts(rows, () if is_list else marks, is_guess)
        are_integers = is_list and all(
            type(item) is int for cell in table.lists(column) for item in cell
        )
        described = marks[0], ignore_case, none, missing, tuple(names[1:]), are_integers, marks[1:]
        return cls(tuple(listed), column, *described, field)

    def read(self, table: RawTable, notes: list[str] | None = None) -> Any:
        """Return the labels as an (n, q) matrix of 0 and 1; remarks are added to `notes`.

        Where some are unknown it is of floats, with NaN. Rows to be left out have NaN, too: see
        `drop_unknown`. Thousands of labels in a column of tags are a CSR matrix.
        """
        notes = [] if notes is None else notes
        if table.target is not None:
            return self._read_target(table, table.target, notes)
        if table.names is None:
            raise table.error(NO_LABELS, "y")
        if self.column is not None:
            return self._read_tags(table, notes)
        table.require(self.names)
        return self._read_columns(table)

    def read_target(self, y: Any, notes: list[str]) -> Any:
        """Return a DataFrame of labels or a Series of tags as `read` does; numbers unchanged."""
        is_series = hasattr(y, "to_frame")
        is_one = is_series and (self.column is not None or len(self.names) == 1)
        if not hasattr(y, "columns") and not is_one:
            return y
        table = replace(RawTable.of(y.to_frame(self.columns[0]) if is_series else y), source="y")
        names = (table.names or ()) if is_one else self.columns  # of objects, those of their fields
        if not {*names} <= {*(table.names or ())}:
            return y
        kinds = {table.kind(name) for name in names}
        if kinds.isdisjoint(("string", "list")) and (is_series or self.missing is None):
            return y
        return self.read(table, notes)

    def drop_unknown(self, y: Any) -> tuple[Any, np.ndarray | None]:
        """Return labels without the rows to be left out, and the rows that are kept; None: all."""
        if self.missing != "drop" or sparse.issparse(y):
            return y, None
        unknown = np.isnan(y).any(axis=1)
        if not unknown.any():
            return y, None
        if unknown.all():
            text = "missing_labels=drop leaves no row: each has an empty label cell."
            raise ArgumentError(text, "missing_labels")
        rows = np.flatnonzero(~unknown)
        return y[rows].astype(np.uint8), rows

    def _read_columns(self, table: RawTable) -> np.ndarray:
        words: dict[str, str] = {}
        cells = {n: _words_of(table, n) for n in self.names if table.kind(n) == "string"}
        pairs = (_pair_letters(one) | pair_findings(one) for one in cells.values())
        letters = {word: yes for pair in pairs for word, yes in pair.items()}
        found = (_read_label(table, name, words, cells.get(name), letters) for name in self.names)
        columns, are_marks = zip(*found, strict=True)
        if letters:
            means = [f"{word!r} means {'yes' if yes else 'no'}" for word, yes in letters.items()]
            table.guesses.append(Guess(f"{join_names(means)} in labels", ()))
        if words:
            shown = join_names([f"{shorten(word, 30)} ({name})" for name, word in words.items()])
            table.guesses.append(Guess(f"read as yes: {shown}", ()))
        signed = [name for name, values in zip(self.names, columns, strict=True) if -1 in values]
        if signed:
            table.guesses.append(Guess(f"-1 means no in {join_names(signed)}", ()))
        values = np.column_stack(columns)
        values, guesses = fill_missing_labels(values, self.names, self.missing, np.array(are_marks))
        table.guesses += [Guess(text, ("missing_labels",)) for text in guesses]
        labels = (values > 0).astype(np.uint8)
        unknown = np.isnan(values)
        return np.where(unknown, np.nan, labels) if unknown.any() else labels

    def _read_target(self, table: RawTable, target: np.ndarray, notes: list[str]) -> np.ndarray:
        own = list(table.label_names or ())
        numbered = [f"y{i + 1}" for i in range(len(own))]  # without names
        if tuple(own) == self.names or (
            len(own) == len(self.names) and numbered in (own, [*self.names])
        ):
            return target
        unknown = [name for name in own if name not in self.names]
        absent = [name for name in self.names if name not in own]
        if len(absent) == len(self.names):
            find_columns(absent[:1], own, table.source)
        for names, remark in ((unknown, "unknown to the model: left out"), (absent, "not in it")):
            if names:
                notes.append(f"{table.source}: labels {remark}: {join_names(names)}")
        columns = dict(zip(own, target.T, strict=True))
        none = np.zeros(table.n_rows, dtype=np.uint8)
        return np.column_stack([columns.get(name, none) for name in self.names])

    def _split_tags(
        self, table: RawTable, columns: Sequence[str], marks: Sequence[str]
    ) -> tuple[list[list[str]], set[str], int]:
        """Return the tags of each row, those that are no labels, and the number of the others."""
        tags = join_parts(_read_all_tags(table, columns, marks, self.field), self.names)
        rows = unify_spelling(tags, self.ignore_case, self.no_label, self.names)
        counts = Counter(chain(*rows))
        unknown = counts.keys() - {*self.names}
        return rows, unknown, counts.total() - sum(counts[tag] for tag in unknown)

    def _read_tags(self, table: RawTable, notes: list[str]) -> Any:
        column, names = self.column or "", table.names or ()
        used = own = (self.separator, *self.other_separators)
        # Rows of another file may have more tags, or fewer.
        repeats = [n for n, repeated in table.repeats.items() if self.more and repeated == column]
        found = [] if self.field else _find_in_place(table, column)
        found = [n for n in found if n in self.more or self._split_tags(table, [n], own)[2]]
        if not found:
            find_columns([column], names, table.source)
        elif not {*self.columns}.issuperset(found):
            notes.append(f"{table.source}: labels also in {join_names(found)}")
        further = dict.fromkeys([column, *self.more, *repeats, *found])
        columns = [name for name in further if name in names]
        rows, unknown, n_known = self._split_tags(table, columns, own)
        for mark in (*SEPARATORS, " ") if unknown else ():  # another program may use another one
            others, unlike, n_alike = self._split_tags(table, columns, [mark])
            if n_alike > n_known and len(unlike) < len(unknown):
                used, rows, unknown, n_known = (mark,), others, unlike, n_alike
        if used != own:
            text = f"{column} split at {used[0]!r}, which separates labels of the model"
            notes.append(f"{table.source}: {text}")
        if unknown:
            text = f"labels unknown to the model are left out: {join_names(sorted(unknown))}"
            notes.append(f"{table.source}: {text}")
        known = [[tag for tag in tags if tag not in unknown] for tags in rows]
        many = len(self.names) >= MANY_LABELS
        y = MultiLabelBinarizer(classes=self.names, sparse_output=many).fit_transform(known)
        y = (sparse.csr_array(y) if many else y).astype(np.uint8)
        if self.missing == "no" or (many and self.missing is None):
            return y
        empty = np.ones(table.n_rows, dtype=bool)
        for column in columns:
            is_gone = table.column(column).isna().to_numpy()
            if table.kind(column) == "string":
                is_gone = is_gone | [cell is None for cell in cells_of(table, column)]
            empty &= is_gone
        if empty.any() and self.missing is None:
            text = f"empty cells of {join_names(columns)} mean no label"
            table.guesses.append(Guess(text, ("missing_labels",)))
            return y
        if many and empty.any():
            text = f"of {len(self.names):,} labels, empty cells mean none: missing_labels='no'"
            raise table.error(text, "missing_labels")
        return np.where(empty[:, None], np.nan, y) if empty.any() else y


def count_labels(y: Any) -> int:
    """Return the number of labels of a target."""
    return int(np.shape(y)[1]) if np.ndim(y) == 2 else 1


def names_columns(y: Any, table: RawTable) -> bool:
    """Return whether a target is the name of a label column, a list of them, or their number."""
    if not isinstance(y, (list, tuple)) or not all(isinstance(name, str) for name in y):
        return isinstance(y, (str, Integral))
    return len(y) != table.n_rows or {*map(normal_form, y)} <= {*(table.names or ())}


def read_target(
    y: Any, guesses: list[Guess], **options: Any
) -> tuple[Any, LabelColumns, np.ndarray | None]:
    """Return a target as labels, their names, and the rows that are kept; None: all.

    A target of one dimension or without names is returned as it is, unless it has empty cells whose
    meaning is given.
    `options` are those of `LabelColumns.find`; what is guessed is added to `guesses`.
    """
    missing = options.get("missing_labels")
    if hasattr(y, "to_pandas"):  # polars
        y = y.to_pandas()
    y = y if hasattr(y, "ndim") else as_target(y)
    is_series, is_frame = hasattr(y, "to_frame"), hasattr(y, "columns")
    is_matrix = y.ndim == 2 and not is_frame and not sparse.issparse(y)
    if is_matrix and missing is not None:
        y = import_optional("pandas").DataFrame(y)
    elif is_series:
        is_named = y.name is not None
        y = y.to_frame(str(y.name) if is_named else "y")
    elif not is_frame:
        return y, LabelColumns(()), None
    table = RawTable.of(y)
    names = tuple(table.names or ())
    if is_series and table.kind(names[0]) not in ("string", "list"):
        return y[names[0]], LabelColumns(names if is_named else ()), None
    found = LabelColumns(names, missing=missing)
    found = LabelColumns.find(table, names, **options) if is_series else found
    labels, rows = found.drop_unknown(found.read(table))
    guesses += [one for one in table.guesses if one not in guesses]
    return labels, LabelColumns(()) if is_matrix else found, rows


def _read_all_tags(
    table: RawTable, columns: Sequence[str], marks: Sequence[str], field: str
) -> list[list[str]]:
    """Return the tags of each row in all columns."""
    rows = zip(*(read_tags(table, name, marks, field) for name in columns), strict=True)
    return [[*chain(*tags)] for tags in rows]


def _split_field(labels: Labels, table: RawTable) -> tuple[Labels, str]:
    """Return a column of lists of objects, and their field b, where labels are named ``a.b``."""
    names = table.names or []
    given = [] if isinstance(labels, (int, np.integer)) else split_names(labels, names)
    wanted = normal_form(given[0]) if len(given) == 1 else ""
    columns = [name for name in names if wanted.startswith(f"{name}.") and wanted not in names]
    columns = [name for name in columns if table.kind(name) in ("string", "list")]
    for name in sorted(columns, key=len, reverse=True):
        if list_fields(table, name):
            return [name], wanted.removeprefix(f"{name}.")
    return labels, ""


def _find_more_tags(table: RawTable, column: str, others: Container[str]) -> list[str]:
    """Return columns that repeat the name of a column of tags, if they hold the second and so on.

    Where a program has written a number after the name, they are filled like such.
    """
    same = [name for name, repeated in table.repeats.items() if repeated == column]
    numbered = [name for name in table.names or () if repeats_name(name, [column])]
    for names in (same, numbered):
        more = [name for name in names if name not in others]
        if _hold_a_tag_each(table, [column, *more]):
            return more
    return []


def _hold_a_tag_each(table: RawTable, names: list[str]) -> bool:
    """Return whether columns hold the first tag of a row, the second and so on, which recur.

    Those of the same name in the file hold tags in any case, unless these are words such as yes.
    """
    if len(names) < 2 or any(table.kind(name) not in ("string", "missing") for name in names):
        return False
    columns = [[(cell or "").strip() for cell in cells_of(table, name)] for name in names]
    filled = np.array(columns) != ""
    cells = [cell.lower() for column in columns for cell in column if cell]
    if any(cell in TRUTH for cell in cells) or pair_findings(cells):
        return False
    if all(table.repeats.get(name) == names[0] for name in names[1:]):
        return True
    are_in_order = not (filled[1:] & ~filled[:-1]).any() and not filled[-1].all()
    are_several = any(len({*column} - {""}) > 1 for column in columns)  # not one word of each
    recur = 2 * len({*cells}) <= len(cells)
    return bool(are_in_order and are_several and recur)


def _find_in_place(table: RawTable, column: str, others: Container[str] = ()) -> list[str]:
    """Return columns of tags that are filled only where one is empty, or that stand for it.

    Such is topic.choices beside topic where a field of JSON holds a text or else an object.
    """
    names = [name for name in table.names or () if name not in others]
    names = [n for n in names if n.startswith(f"{column}.") or column.startswith(f"{n}.")]
    names = [n for n in names if table.kind(n) in ("string", "list") and _lists_tags(table, n)]
    if names and column in (table.names or ()):
        own, *filled = (np.array([*map(bool, cells_of(table, n))]) for n in (column, *names))
        names = [n for n, one in zip(names, filled, strict=True) if not (one & own).any()]
    return [name for name in names if table.kind(name) == "list"] or names


def _lists_tags(table: RawTable, name: str) -> bool:
    """Return whether a column looks like one of tags, and not like one of 0 and 1."""
    kind = table.kind(name)
    if kind not in ("string", "number"):
        return kind == "list"
    if kind == "number":
        values = table.numbers(name)[~np.isnan(table.numbers(name))]
        if (values % 1).any() or 2 * len(np.unique(values)) > len(values):
            return False  # measurements, not numbered tags
    # One label has words for yes and no, or 0 and 1; a few of these may be tags, too.
    words = [word for word in _words_of(table, name) if word]
    known = TRUTH | _pair_letters(words)
    return 2 * sum(word in known for word in words) < len(words)


def _words_of(table: RawTable, name: str) -> list[str]:
    """Return the cells of a label in lower case; [x] and [ ] are x and ☐."""
    words = [(cell or "").strip() for cell in table.strings(name)]
    words = ["" if word in {*MISSING, "None"} else word.lower() for word in words]
    return [found[1] or "☐" if (found := _BOX.fullmatch(word)) else word for word in words]


def _pair_letters(words: Iterable[str]) -> dict[str, float]:
    """Return the meaning of J beside N, or ✗ beside ✓: of the one that is in no list."""
    distinct = {*words} - {""}
    known = [TRUTH[word] for word in distinct if word in TRUTH]
    if len(distinct) != 2 or len(known) != 1 or max(map(len, distinct)) > 1:
        return {}
    return dict.fromkeys(distinct - TRUTH.keys(), 1.0 - known[0])


def pair_findings(words: Collection[str]) -> dict[str, float]:
    """Return the meaning of positive beside negative and the like, if there are no other words."""
    distinct = {*words} - {""}
    pairs = ({yes: 1.0, no: 0.0} for yes, no in _FINDINGS.items() if distinct <= {yes, no})
    return next(pairs, {}) if len(distinct) == 2 or (distinct and "" not in words) else {}


def _read_label(
    table: RawTable,
    name: str,
    used: dict[str, str],
    words: list[str] | None,
    letters: dict[str, float],
) -> tuple[np.ndarray, bool]:
    """Return a label column as 0 and 1, or as -1 and 1, NaN where empty; other values are errors.

    Also returned is whether its cells hold marks, such as x. The one word of a column that has no
    other, as in a survey with a column for each choice, is a mark; it is added to those `used`.
    `words` are the cells of a column of strings, and `letters` the meaning of some of them.
    """
    is_text = words is not None
    cells = table.strings(name) if is_text else table.numbers(name)
    values, are_marks = cells, False
    if words is not None:
        meaning = TRUTH | letters
        distinct = {*words} - {""}
        if len(distinct) == 1 and "" in words and not distinct & {*meaning}:
            used[name] = next(filter(None, cells)).strip()
            words = ["x" if word else "" for word in words]
        are_marks = {*words} <= _MARKS | {""}
        # Infinity stands for a word that is neither yes nor no.
        values = np.array([meaning.get(word, np.inf) if word else np.nan for word in words])
    written = ~np.isnan(values)
    if np.isin(values[written], (-1, 1)).all():
        return values.astype(np.float64), are_marks
    bad = np.flatnonzero(written & (values != 0) & (values != 1))
    if bad.size and name in table.nominal:
        raise table.not_binary(name)
    if bad.size:
        cell = cells[bad[0]]
        held = shorten(cell if is_text else f"{cell:g}")
        raise table.error(
            f"label {shorten(name)} holds {held} in row {bad[0] + 1}; a label column takes 0 "
            "and 1, yes and no, or one word where the label applies (a column of tags is named "
            "alone, with separator=), and an empty cell where it is not known: replace all other "
            "words by 1, 0 or nothing",
            "separator",
        )
    return values.astype(np.float64), are_marks
