"""What a model's input looks like, found from a table once and then required of others."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, takewhile
from typing import Any, get_args

import numpy as np
from scipy import sparse

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, shorten
from labelkin._utils.labels import MANY_LABELS
from labelkin._utils.names import did_you_mean, join_names, plural
from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.datasets.formats._cells import read_mixed
from labelkin.datasets.formats._columns import (
    find_columns,
    normal_form,
    repeats_name,
    respell,
)
from labelkin.datasets.formats._nested import read_lists, spread_lists
from labelkin.datasets.formats._raw_table import UNITS, Guess
from labelkin.datasets.formats._units import ratio_of_names, without_unit
from labelkin.tabular._categories import merge_spellings
from labelkin.tabular._constant import find_constant, note_changed
from labelkin.tabular._kinds import (
    Embedding,
    Kind,
    Scale,
    find_identifiers,
    find_kind,
    find_title,
    spread_columns,
)
from labelkin.tabular._lists import read_names
from labelkin.tabular._measured import (
    Measured,
    find_range,
    note_bare,
    note_outside,
    read_column,
    read_measured,
)
from labelkin.tabular._scaling import are_counts
from labelkin.tabular._text import affordable_ngrams, is_unspaced

_MANY_TEXTS = 5_000  # from which rare words are frequent enough to learn from
_LONG = 400  # days, from which on years may tell rows apart
_MAX_WORDS = 1 / 3  # share of the cells of a column of numbers that may be words in new rows
_CHANCE = 0.05  # of a note on values outside of their ranges in rows like those of training
_MAX_RANGES = 10_000  # columns of a matrix whose ranges are kept
# What a sender can do about a column that is not there, if the model takes missing values or not.
_EMPTY = "Where the values are not known, add an empty column of that name."
_AS_TABLE = "fit the model on a table, such as a CSV file, to allow for missing values"
_MAX_ERRORS = 5  # columns that are refused in one message


@dataclass(frozen=True)
class Schema:
    """Named columns with their kinds, or a plain matrix of numbers."""

    columns: dict[str, Kind] | None
    """Kind of each column of a table; None: a matrix of numbers."""
    names: tuple[str, ...] | None = None
    """Names of a matrix's columns, where it has any."""
    n_features: int = 0
    """Number of columns of a matrix."""
    scale: Scale = "none"
    max_words: int = 5000
    embedding: Embedding = "auto"
    """Whether texts have embeddings: with "auto", where the packages are installed."""
    ngrams: tuple[str, ...] = ()
    """Kinds of n-grams that texts have, for classifiers that gain by them."""
    unspaced: tuple[str, ...] = ()
    """Columns of texts without spaces between words."""
    zero_based: bool | None = None
    """Whether the features of the LibSVM file of the training data counted from 0."""
    gaps: bool = False
    """Whether a matrix had missing values when the model was fitted."""
    decimal: str | None = None
    """Decimal mark of numbers that were strings; None: they did not show it."""
    trend: bool = False
    """Whether the year of dates is used."""
    measured: dict[str, Measured] | None = None
    """What the training rows had in columns of numbers and dates; None: not known.

    Also in those of a dense matrix of at most 10,000.
    """
    n_rows: int = 0
    """Number of the training rows."""
    identifiers: tuple[str, ...] = ()
    """Columns of the training data that told its rows apart and are not learned from.

    The best names of rows come first: those without gaps, and those named like an identifier.
    """
    ignored: tuple[str, ...] = ()
    """All columns of the training data that are not learned from, also its labels."""
    constant: dict[str, str] | None = None
    """Those of them that were the same in all rows, with their value; None: not known."""
    title: str = ""
    """The column of texts by which a reader knows a row."""
    encoding: str | None = None
    """Encoding of the file of the training data, if it was text."""

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns that are used; None where they have none."""
        if self.columns is not None:
            return list(self.columns)
        return None if self.names is None else list(self.names)

    @property
    def matrix_names(self) -> list[str]:
        """Names of the columns of a matrix, which are numbered if they have none."""
        return [*(self.names or (f"feature {j + 1}" for j in range(self.n_features)))]

    @property
    def reading(self) -> dict[str, Any]:
        """Options by which `read_table` reads new rows as it read the training data.

        The decimal mark of the training rows is likely, unless the content shows another one.
        """
        strings = [*self.of_kind("category", "text", "date", "day_first_date"), *self.identifiers]
        decimal = [self.decimal] if self.decimal else None
        named = {"as_strings": strings, "expected": self.feature_names or ()}
        likely = [self.encoding] if self.encoding else None
        return named | {"encoding": likely, "decimal": decimal, "zero_based": self.zero_based}

    @property
    def parents(self) -> dict[str, list[str]]:
        """Columns of an object a, ``a.b``, and of a list v, ``v_1`` to ``v_n``, by its name."""
        found = dict[str, list[str]]()
        for name in [*(self.feature_names or ()), *(self.constant or ())]:
            for dot in re.finditer(r"\.", name):
                found.setdefault(name[: dot.start()], []).append(name)
        numbers = {*self.of_kind("number")}
        for name in [name for name in numbers if name.endswith("_1")]:
            parts = (f"{name[:-1]}{i}" for i in count(1))
            found.setdefault(name[:-2], [*takewhile(numbers.__contains__, parts)])
        return found

    def of_kind(self, *kinds: str) -> list[str]:
        """Return the names of the columns of these kinds."""
        return [name for name, found in (self.columns or {}).items() if found in kinds]

    def label_rows(self, names: Iterable[str]) -> Any:
        """Return rows with the names of labels as texts; None if not all columns are texts."""
        if not names or {*(self.columns or {}).values()} != {"text"}:
            return None
        first, *others = self.columns or {}
        rows = {first: list(names)} | dict.fromkeys(others, "")
        return import_optional("pandas").DataFrame(rows)

    # --- finding ----------------------------------------------------------------------------

    @classmethod
    def find(
        cls,
        table: RawTable,
        label_columns: Iterable[str] = (),
        columns: "Mapping[str, str] | Schema | None" = None,
        n_labels: int = 0,
        *,
        scale: Scale = "auto",
        max_words: int | None = None,
        embedding: Embedding = "auto",
        ngrams: Embedding = "auto",
        trend: bool = False,
    ) -> "Schema":
        """Find the kind of each column but the labels, of which there are `n_labels`.

        `columns` are kinds that the user chose, by name; a schema is returned as it is.
        """
        if isinstance(columns, Schema):
            return columns
        columns = {normal_form(str(name)): kind for name, kind in (columns or {}).items()}
        known = [kind for kind in (*get_args(Kind), "ignore") if kind != "raw"]
        for name, chosen in columns.items():
            if chosen not in known:
                raise ArgumentError(
                    f"columns={{{name!r}: {chosen!r}}}: no such kind."
                    f"{did_you_mean(str(chosen), known)} The kinds are {', '.join(known)}."
                )
        label_columns = {*label_columns}
        columns = spread_columns(table, label_columns, columns)
        names = _feature_names(table, label_columns, columns)
        if table.is_matrix and all(kind == "ignore" for kind in columns.values()):
            if scale == "robust":
                raise ArgumentError(
                    "scale=robust needs a table of columns, such as a CSV file; use scale=standard "
                    "or scale=minmax for a matrix.",
                    "scale",
                )
            matrix = table.data if names is None else table.select(names)
            values = matrix.data if sparse.issparse(matrix) else matrix
            schema = cls(
                None,
                None if names is None else tuple(names),
                matrix.shape[1],
                "none" if scale == "auto" else scale,
                zero_based=table.zero_based,
                gaps=bool(np.isnan(values).any()),
                encoding=table.encoding,
                n_rows=table.n_rows,
            )
            if sparse.issparse(matrix) or matrix.shape[1] > _MAX_RANGES:
                return schema
            ranges = map(find_range, matrix.T)
            named = zip(schema.matrix_names, ranges, strict=True)
            return replace(schema, measured={name: Measured(r) for name, r in named if r})
        assert names is not None
        written = [name for name, kind in columns.items() if kind != "number"]
        read_mixed(table, names, written)
        read_names(table, [name for name in names if columns.get(name, "text") == "text"])
        read = [name for name in names if columns.get(name, "number") == "number"]
        decimal = table.find_decimal(read) or ("." if table.has_thousands(read) else None)
        if decimal == "," and table.decimal is None:
            table.guesses.append(Guess("',' decimal", ("decimal",)))
        table.words = {}
        table = replace(table, decimal=decimal or ".")
        constant = find_constant(table, [name for name in names if name not in columns])
        found = _find_kinds(table, [name for name in names if name not in constant], columns)
        kinds: dict[str, Kind] = {name: kind for name, kind in found.items() if kind is not None}
        if not kinds:
            kept = next((name for name in names if table.kind(name) != "list"), None)
            cure = f"; keep one with columns={{{kept!r}: 'number'}}" if kept else ""
            text = "no feature column is left besides labels, identifiers, lists and columns that"
            raise table.error(f"{text} are empty or the same in all rows{cure}", "columns")
        for name in [name for name, kind in kinds.items() if kind == "category"]:
            if spelled := merge_spellings(read_column(table, name, "category")[0]):
                shown = join_names([f"{other!r} as {one!r}" for other, one in spelled.items()], 3)
                table.guesses.append(Guess(f"spellings of {name} read as one: {shown}", ()))
        if n_labels >= MANY_LABELS:  # embeddings of all rows would take most of the time
            embedding = "none"
        texts = {n: [text or "" for text in table.strings(n)] for n in kinds if kinds[n] == "text"}
        size = sum(len(text) for column in texts.values() for text in column)
        if max_words is None:
            # Words that only a few titles have decide between labels that only a few titles have.
            max_words = 5_000 if table.n_rows < _MANY_TEXTS else 20_000
            max_words = 100_000 if n_labels >= MANY_LABELS else max_words
        ignored = [name for name in table.names or () if name not in kinds]
        others = [name for name in ignored if name not in {*label_columns}]
        measured = {
            name: Measured.of(table, name, kind, is_given=name in columns)
            for name, kind in kinds.items()
            if kind not in ("category", "text", "raw")
        }
        spans = {n: np.ptp(one.range or 0) for n, one in measured.items() if "date" in kinds[n]}
        long = [name for name, span in spans.items() if span > _LONG]
        if long and not trend:
            table.guesses.append(Guess(f"the year of {join_names(long)} is not used", ("trend",)))
        if scale == "auto" and len(set(kinds.values())) > 1:
            scale = "robust"
        elif scale == "auto" and {*kinds.values()} == {"number"}:
            numbers = (read_column(table, n, "number", measured[n])[1] for n in measured)
            scale = "none" if are_counts([v[np.isfinite(v)] for v in numbers]) else "auto"
        return cls(
            kinds,
            scale=scale,
            max_words=max_words,
            embedding=embedding,
            ngrams=affordable_ngrams(table.n_rows, size, n_labels) if ngrams == "auto" else (),
            unspaced=tuple(name for name in texts if is_unspaced(texts[name])),
            decimal=decimal,
            trend=trend,
            measured=measured,
            n_rows=table.n_rows,
            identifiers=find_identifiers(table, others),
            ignored=tuple(ignored),
            constant={name: value for name, value in constant.items() if value},
            title=find_title(table, kinds),
            encoding=table.encoding,
        )

    # --- reading ----------------------------------------------------------------------------

    def read(self, X: Any, notes: list[str] | None = None, unlike: list[str] | None = None) -> Any:
        """Return the features of a table in the form the pipeline takes; remarks go to `notes`.

        They are a DataFrame of numbers and strings or, of a matrix, a matrix. A table may lack some
        columns, and a few numbers and dates may be words, if there are notes, which name these.
        Remarks on values unlike those of training go to `unlike`, if given.
        """
        table, is_strict = replace(RawTable.of(X)), notes is None
        notes = [] if notes is None else notes
        unlike = notes if unlike is None else unlike
        if not table.n_rows:
            raise table.error("it holds no rows")
        if self.columns is None:
            return self._read_matrix(table, notes)
        pandas = import_optional("pandas")
        self._open(table)
        self._respell(table, unlike)
        self._convert_names(table, unlike)
        needs_all = is_strict or table.is_matrix
        if absent := check_present(table, list(self.columns), needs_all, self.ignored):
            empty = pandas.DataFrame(None, table.data.index, absent, dtype=object)
            table = replace(table, data=pandas.concat([table.data, empty], axis=1), absent=absent)
        if absent := table.absent:
            words = "its values are" if len(absent) == 1 else "their values are"
            notes.append(f"{table.source}: no column {join_names(absent)}: {words} missing")
        table.decimal = table.decimal or ("," if self.decimal == "," else None)
        read_mixed(table, self.columns, [*self.reading["as_strings"], *self.of_kind("raw")])
        read_names(table, self.of_kind("text"))
        read = self.of_kind("number")
        table.decimal = table.find_decimal(read, self.decimal) or self.decimal
        known = self.measured or {}
        table.words = {name: [*one.words] for name, one in known.items() if one.words}
        spare = 0.0 if is_strict else _MAX_WORDS
        found, numbers = dict[str, Any](), dict[str, np.ndarray]()
        for name, kind in self.columns.items():
            if name in known:
                cells, numbers[name] = read_measured(table, name, kind, known[name], spare, notes)
                note_bare(table, name, numbers[name], known[name].unit, unlike)
            else:
                cells, _ = read_column(table, name, kind, None, spare)
            is_float = cells.dtype.kind == "f"  # of strings, pandas would change the type
            found[name] = cells if is_float else pandas.Series(cells, dtype=cells.dtype)
        for name, read in table.words.items():
            own = known[name].words if name in known else ()
            if others := [shorten(word, 20) for word in read if word not in own]:
                text = f"cells of {name} read as missing: {join_names(others, 3)}"
                notes.append(f"{table.source}: {text}")
        columns = [(name, self.columns[name], numbers[name]) for name in numbers]
        note_outside(table, columns, known, self.n_rows, unlike)
        note_changed(table, self.constant or {}, unlike)
        gaps = {name: int(np.isnan(numbers[name]).sum()) for name in numbers}
        present = [name for name in self.columns if name in gaps and name not in table.absent]
        gaps = {name: gaps[name] for name in present}
        with_gaps = [name for name in present if gaps[name]]
        _note_gaps(table, sum(gaps.values()), with_gaps, notes)
        frame = pandas.DataFrame(found)
        frame.attrs[UNITS] = {n: one.unit for n, one in known.items() if one.unit not in ("", "%")}
        return frame

    def _open(self, table: RawTable) -> None:
        """Spread lists of numbers, and missing lists and objects, over the columns of the model."""
        parents, names = self.parents, {*(table.names or ())}
        known = () if table.is_matrix else (parents.keys() & names) - {*(self.columns or ())}
        for name in known:
            parts, kind = parents[name], table.kind(name)
            is_list = kind in ("list", "string") and parts[0] == f"{name}_1"
            lists = read_lists(table.column(name)) if is_list or kind == "missing" else None
            if lists is None or not names.isdisjoint(parts):
                continue
            for row, one in enumerate(lists, start=1):
                if len(one) not in (0, len(parts)):
                    raise table.error(wrong_length(name, len(one), len(parts), row))
            table.data = spread_lists(table.data, name, lists, parts)
            table.names = [*table.data.columns]

    def _respell(self, table: RawTable, notes: list[str]) -> None:
        """Give columns of a DataFrame the names of the model from which theirs differ little."""
        if table.is_matrix or {*(self.columns or ())} <= {*(table.names or ())}:
            return
        names, changed = respell(table.names or [], self.columns or ())
        if changed:
            table.data, table.names = table.data.set_axis(names, axis=1), [*map(str, names)]
            notes += [f"{table.source}: column {own!r} read as {name}" for own, name in changed]

    def _convert_names(self, table: RawTable, notes: list[str]) -> None:
        """Convert numbers whose column has the name of one of the model but for the unit."""
        names = [] if table.is_matrix else table.names or []
        others = [n for n in names if n not in {*(self.columns or ()), *self.ignored}]
        for name in sorted({*self.of_kind("number")}.difference(names)):
            unit = (self.measured or {}).get(name, Measured()).unit
            found = {one: by for one in others if (by := ratio_of_names(one, name, unit))}
            if len(found) != 1:
                continue
            ((other, factor),) = found.items()
            if other in table.units:  # beside the numbers
                table.units, factor = table.units | {name: table.units[other]}, 1.0
            if factor == 1 or table.kind(other) == "number":
                cells = table.data[other] if factor == 1 else table.data[other] * factor
                table.data, text = table.data.assign(**{name: cells}), f"{name} is {other}"
                table.names = [*table.data.columns]
                notes.append(f"{table.source}: {text}{f' times {factor:g}' * (factor != 1)}")

    def _read_matrix(self, table: RawTable, notes: list[str]) -> Any:
        matrix = table.data
        if self.names is not None and table.names is not None:
            cure = f"The model needs all columns of its matrix; {_AS_TABLE}."
            check_present(table, list(self.names), cure=_EMPTY if self.gaps else cure)
            matrix = table.select(self.names)
            if not table.is_matrix:
                matrix = np.column_stack([table.numbers(name) for name in self.names])
        elif not table.is_matrix:
            raise table.error(
                "the model was fitted on features without names; give it a file of that kind "
                "(LibSVM or .npz)"
            )
        if table.zero_based is not None and matrix.shape[1] != self.n_features:
            # A LibSVM file ends at the highest feature of its rows.
            new = np.unique(matrix.indices[matrix.indices >= self.n_features])
            if len(new) and matrix.indices.min() >= self.n_features:
                text = f"none of its features is one of the {self.n_features:,} of the model"
                raise table.error(text)
            matrix = matrix.copy()
            matrix.resize(table.n_rows, self.n_features)
            if len(new):
                text = f"{plural(len(new), 'feature')} unknown to the model: left out"
                notes.append(f"{table.source}: {text}")
        if matrix.shape[1] != self.n_features:
            raise table.error(
                f"it has {matrix.shape[1]:,} features, and the model was fitted on "
                f"{self.n_features:,}"
            )
        values = matrix.data if sparse.issparse(matrix) else matrix
        if np.isinf(values).any():
            raise table.error("a feature holds an infinite value")
        if self.measured and not sparse.issparse(matrix):
            names, everywhere = self.matrix_names, Measured((-np.inf, np.inf))
            ranges = [self.measured.get(name, everywhere).range for name in names]
            low, high = np.array(ranges, dtype=np.float64).T
            some = np.flatnonzero(((matrix < low) | (matrix > high)).any(axis=0))
            columns = [(names[j], "number", matrix[:, j]) for j in some]
            note_outside(table, columns, self.measured, self.n_rows, notes)
        missing = int(np.isnan(values).sum())
        if missing and not self.gaps:
            are = "value is" if missing == 1 else "values are"
            text = f"{missing:,} {are} missing, and the model was fitted on data without any"
            raise table.error(f"{text}; fill in all values, or {_AS_TABLE}")
        _note_gaps(table, missing, [], notes)
        return matrix


def wrong_length(name: str, length: int, expected: int, row: int) -> str:
    """Return what is wrong with a list of numbers, such as an embedding by another program."""
    return (
        f"column {shorten(name)} holds a list of {plural(length, 'number')} in row {row}, and the "
        f"model was fitted on lists of {expected:,}"
    )


def _feature_names(
    table: RawTable, label_columns: set[str], columns: Mapping[str, str]
) -> list[str] | None:
    """Return the columns that are neither labels nor ignored; None where they have no names."""
    if table.names is None:
        if columns:
            raise table.error(f"it has no column names, so none is {next(iter(columns))!r}")
        return None
    find_columns(columns, table.names, table.source)
    for name in columns:
        if name in label_columns:
            raise ArgumentError(f"column {name!r} is a label and cannot have another role.")
    ignored = {name for name, kind in columns.items() if kind == "ignore"}
    names = [name for name in table.names if name not in label_columns | ignored]
    if not names:
        raise table.error("no feature column is left besides the labels")
    return names


def _find_kinds(
    table: RawTable, names: Iterable[str], given: Mapping[str, str]
) -> dict[str, Kind | None]:
    """Return the kinds of columns; all that cannot be read are refused in one message."""
    found, errors = dict[str, Kind | None](), list[FormatError]()
    for name in names:
        try:
            found[name] = find_kind(table, name, given.get(name))
        except FormatError as error:
            errors.append(error)
    if errors:
        text = "; ".join(error.message for error in errors[:_MAX_ERRORS])
        if (n_more := len(errors) - _MAX_ERRORS) > 0:
            text += f"; {plural(n_more, 'more column')} cannot be read, either"
        raise table.error(text, "columns")
    return found


def check_present(
    table: RawTable,
    names: list[str],
    is_strict: bool = True,
    ignored: Sequence[str] = (),
    cure: str = _EMPTY,
) -> list[str]:
    """Return the columns that a table lacks of those the model was fitted on.

    It is refused if it lacks all, one that may be misspelt or, with `is_strict`, any; with the
    `cure` in the message unless it lacks all. Those `ignored` in training are no other spelling
    of one.
    """
    if table.names is None:
        raise table.error(
            f"it has no column names, and the model needs the columns {join_names(names)}"
        )
    present, known = {*table.names}, {*names, *ignored}
    absent = [name for name in names if name not in present]
    others = [name for name in table.names if name not in known]
    # Rows may have fewer tags, without a column tag_2 beside tag.
    single = [name for name in absent if not repeats_name(name, present)]
    bare = {without_unit(name): name for name in others}
    misspelt = [n for n in single if did_you_mean(n, others) or without_unit(n) in bare]
    if not absent or (len(absent) < len(names) and not (is_strict or misspelt)):
        return absent
    first = (misspelt or absent)[0]
    try:
        table.require([first], others if misspelt else None)
    except FormatError as error:
        more = [name for name in absent if name != first]
        also = f" It also lacks {join_names(more)}." if more else ""
        if twin := bare.get(without_unit(first)):
            also += f" The values of {twin} are in another unit: convert them."
        also += f" {cure}" if len(absent) < len(names) else ""  # else it is another table
        raise table.error(f"{error.message}{also}", *error.arguments) from None
    return []


def _note_gaps(table: RawTable, count: int, names: list[str], notes: list[str]) -> None:
    """Add a note on missing numbers, in the columns `names` where they have names."""
    if count:
        where = f" in {join_names(names)}" if names else ""
        notes.append(
            f"{table.source}: {plural(count, 'missing value')}{where}: in a model, each counts as "
            "the median of its column in the training rows"
        )
