"""Tables as they come: numbers, words and dates in named columns, nothing refused yet.

The readers of `labelkin.datasets` give matrices of numbers. A user's table holds more: text,
categories, identifiers. Here every format becomes one thing to ask for a column's kind,
its numbers or its strings, so that a refusal can name the column and the row.
"""

import io
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.files import FormatError, open_for_reading, reason, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets import dataset_names, load_dataset, load_digit_scenes, read
from labelkin.datasets.formats._arff_header import Header, _signs, read_header
from labelkin.datasets.formats._arff_rows import RowReader
from labelkin.datasets.formats._columns import Labels, check_unique, find_columns, find_labels
from labelkin.datasets.formats._formats import format_of
from labelkin.datasets.formats._mulan_xml import find_labels_xml, read_labels_xml
from labelkin.datasets.formats._tables import _MISSING, _csv_error, _metadata

SCENES = "digit-scenes"
"""The embedded dataset, by the name under which experiments know it."""
_DELIMITERS = ",;\t|"
_TRUTH = {"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}


class RawTable(ABC):
    """Named columns of a file, and what the file itself says about labels."""

    path: str
    names: list[str] | None
    """Every column; None where the format gives features no names."""
    own_labels: list[str] | None
    """The label columns as far as the file says."""
    target: np.ndarray | None = None
    """Labels that stand apart from the columns; `own_labels` are their names."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @abstractmethod
    def kind(self, name: str) -> str:
        """``numeric``, ``string``, ``list``, ``missing``, or what else the column holds."""

    @abstractmethod
    def numbers(self, name: str) -> np.ndarray:
        """Column as float64, NaN where missing; what is no number is refused by row."""

    @abstractmethod
    def strings(self, name: str) -> np.ndarray:
        """Column as strings, None where missing."""

    def marks(self, name: str) -> np.ndarray:
        """Label column as 0 and 1; anything else is refused by row."""
        if self.kind(name) == "string":
            told = [_TRUTH.get(str(cell).strip().lower(), np.nan) for cell in self.strings(name)]
            values = np.array(told, dtype=float)
            shown = self.strings(name)
        else:
            values = self.numbers(name)
            shown = values
        bad = np.flatnonzero((values != 0) & (values != 1))
        if bad.size:
            cell = shown[bad[0]]
            empty = cell is None or (isinstance(cell, float) and np.isnan(cell))
            held = "nothing" if empty else shorten(f"{cell:g}" if values is shown else str(cell))
            raise FormatError(
                self.path,
                f"label {shorten(name)} holds {held} in row {bad[0] + 1}; a label column takes 0 "
                "and 1 (for one column of tags, use --label-column)",
            )
        return values.astype(np.uint8)


class ArrowTable(RawTable):
    """A CSV or Parquet table, or an ARFF file with nominal attributes."""

    def __init__(self, path: str, table: Any, own_labels: list[str] | None = None) -> None:
        self.path, self.table, self.own_labels = path, table, own_labels
        self.names = list(table.column_names)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.num_rows

    def kind(self, name: str) -> str:
        """Kind of a column, by its Arrow type."""
        kinds, kind = import_optional("pyarrow").types, self.table.column(name).type
        if kinds.is_dictionary(kind):
            kind = kind.value_type
        column = self.table.column(name)
        if kinds.is_null(kind) or (len(column) and column.null_count == len(column)):
            return "missing"
        if kinds.is_string(kind) or kinds.is_large_string(kind) or str(kind) == "string_view":
            return "string"
        if kinds.is_list(kind) or kinds.is_large_list(kind):
            return "list"
        numeric = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal)
        return "numeric" if any(test(kind) for test in numeric) else str(kind)

    def numbers(self, name: str) -> np.ndarray:
        """Column as float64; a column of strings is read as numbers if all of it is."""
        arrow = import_optional("pyarrow")
        column = self.table.column(name)
        kind = self.kind(name)
        if kind == "missing":
            return np.full(self.n_rows, np.nan)
        if kind == "string":
            return self._parsed(name)
        if kind != "numeric":
            raise FormatError(self.path, f"column {shorten(name)} holds {kind}, not numbers")
        if arrow.types.is_boolean(column.type):
            column = column.cast(arrow.uint8())
        return column.cast(arrow.float64(), safe=False).to_numpy().astype(np.float64)

    def _parsed(self, name: str) -> np.ndarray:
        values = np.full(self.n_rows, np.nan)
        for row, cell in enumerate(self.strings(name)):
            if cell is None:
                continue
            try:
                values[row] = float(cell)
            except ValueError:
                raise FormatError(
                    self.path,
                    f"column {shorten(name)} holds {shorten(cell, 30)} in row {row + 1}, not a "
                    "number",
                ) from None
        return values

    def strings(self, name: str) -> np.ndarray:
        """Column as strings; numbers are written out."""
        arrow = import_optional("pyarrow")
        column = self.table.column(name)
        try:
            cells = column.cast(arrow.string()).to_pylist()
        except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
            raise FormatError(
                self.path, f"column {shorten(name)} holds {column.type}, not text"
            ) from error
        found = np.empty(len(cells), dtype=object)
        found[:] = cells
        return found

    def lists(self, name: str) -> list[list[str]]:
        """Column of lists, each as strings."""
        cells = self.table.column(name).to_pylist()
        return [[str(item) for item in cell or () if item is not None] for cell in cells]


class MatrixTable(RawTable):
    """Numbers only: a dense or sparse matrix, its columns named or not."""

    def __init__(
        self,
        path: str,
        matrix: Any,
        names: Sequence[str] | None,
        own_labels: list[str] | None = None,
        target: np.ndarray | None = None,
    ) -> None:
        self.path, self.matrix, self.own_labels, self.target = path, matrix, own_labels, target
        self.names = None if names is None else list(names)
        self._place = {name: i for i, name in enumerate(self.names or ())}

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.matrix.shape[0]

    def kind(self, name: str) -> str:
        """Tell a column of numbers from one with nothing in it."""
        return "missing" if self.n_rows and np.isnan(self.numbers(name)).all() else "numeric"

    def numbers(self, name: str) -> np.ndarray:
        """Column of the matrix."""
        column = self.matrix[:, [self._place[name]]]
        dense = column.toarray() if sparse.issparse(column) else np.asarray(column)
        return dense.ravel().astype(np.float64)

    def strings(self, name: str) -> np.ndarray:
        """Numbers written out; none of these formats holds text."""
        found = np.empty(self.n_rows, dtype=object)
        found[:] = [None if np.isnan(value) else f"{value:g}" for value in self.numbers(name)]
        return found

    def select(self, names: Sequence[str]) -> Any:
        """Columns by name, as a matrix of the same kind."""
        positions = [self._place[name] for name in names]
        if positions == list(range(self.matrix.shape[1])):
            return self.matrix
        return self.matrix[:, positions]


@dataclass(frozen=True)
class Reading:
    """How to read a file, as far as its format leaves that open."""

    delimiter: str | None = None
    """Of a CSV table; None: comma, or what the head line holds instead."""
    encoding: str = "utf-8"
    """Of a CSV table or ARFF file."""
    as_strings: frozenset[str] = frozenset()
    """Columns kept as they are written: text, categories, tags."""
    skip: frozenset[str] = frozenset()
    """Columns nobody asks for, which may hold anything."""


def read_raw_table(
    source: str,
    reading: Reading = Reading(),  # noqa: B008 (immutable)
    *,
    labels: Labels | None = None,
    n_features: int | None = None,
) -> RawTable:
    """Read a file of any known format, or load a dataset by its name.

    Parameters
    ----------
    source : str
        A path, or a name that `dataset_names` lists.
    reading : Reading
        What the format leaves open.
    labels, n_features
        For LibSVM files, which name neither.
    """
    path = Path(source)
    if not path.exists() and source in (SCENES, *dataset_names()):
        bunch = load_digit_scenes(600, random_state=0) if source == SCENES else load_dataset(source)
        return _from_bunch(source, bunch)
    if path.is_dir():
        raise FormatError(source, "this is a folder, not a file")
    if not path.exists():
        raise FileNotFoundError(_no_file(source))
    kind = format_of(path)
    if kind == "csv":
        return ArrowTable(source, _read_csv(path, reading))
    if kind == "parquet":
        return _read_parquet(path)
    if kind == "arff":
        return _read_arff(path, reading)
    if kind == "libsvm":
        bunch = read(path, labels=labels, n_features=n_features)
    elif labels is not None:
        raise ValueError(f"{path}: an .npz dataset knows its labels; leave --labels out.")
    else:
        bunch = read(path)
    return _from_bunch(source, bunch)


def _no_file(source: str) -> str:
    looks_like_a_name = not Path(source).suffix and len(Path(source).parts) == 1
    known = " nor a dataset of that name; `labelkin datasets` lists those known"
    return f"There is no file {source}{known if looks_like_a_name else ''}."


def _from_bunch(source: str, bunch: Any) -> MatrixTable:
    target = bunch.target.toarray() if sparse.issparse(bunch.target) else bunch.target
    names = bunch.label_names or [f"y{i + 1}" for i in range(target.shape[1])]
    return MatrixTable(source, bunch.data, bunch.feature_names, list(names), np.asarray(target))


def _read_csv(path: Path, reading: Reading) -> Any:
    arrow, arrow_csv = import_optional("pyarrow"), import_optional("pyarrow.csv")
    with open_for_reading(path) as file:
        text = file.read()
    if not text.strip():
        raise FormatError(path, "the file is empty")
    try:
        if reading.encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
            text = text.decode(reading.encoding).encode("utf-8")
        head = text.partition(b"\n")[0].decode("utf-8-sig")
    except LookupError:
        raise ValueError(f"--encoding {reading.encoding}: no such encoding is known.") from None
    except UnicodeError as error:
        raise _not_text(path, reading, error) from None
    if b"\0" in text:
        raise FormatError(path, "not a CSV table (it holds NUL characters)")
    delimiter = reading.delimiter or max(_DELIMITERS, key=lambda mark: (mark in head, mark == ","))
    try:
        table = arrow_csv.read_csv(
            io.BytesIO(text),
            read_options=arrow_csv.ReadOptions(
                block_size=min(len(text) + 1, 2**31 - 1), use_threads=False
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                null_values=_MISSING,
                strings_can_be_null=True,
                column_types=dict.fromkeys(reading.as_strings, arrow.string()),
            ),
        )
        names = table.column_names
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_text(path, reading, error) from None
    except Exception as error:  # pyarrow's kinds vary
        if "UTF8" in str(error):
            raise _not_text(path, reading, error) from None
        raise _csv_error(path, error) from None
    check_unique(names, "column", path, 1)
    return table


def _not_text(path: Path, reading: Reading, error: Exception) -> FormatError:
    return FormatError(
        path,
        f"the text is not {reading.encoding} ({reason(error, 80)}); name its encoding, as in "
        "--encoding latin-1",
    )


def _read_parquet(path: Path) -> ArrowTable:
    parquet = import_optional("pyarrow.parquet")
    with open_for_reading(path) as file:
        raw = io.BytesIO(file.read())
    try:
        table = parquet.read_table(raw)
        names = table.column_names
        said = _metadata(table.schema.metadata)
    except Exception as error:  # pyarrow's kinds vary
        raise FormatError(path, f"not a readable Parquet file ({reason(error)})") from None
    check_unique(names, "column", path)
    return ArrowTable(str(path), table, said.get("label_names"))


def _read_arff(path: Path, reading: Reading) -> RawTable:
    """Read every attribute, labels too: in new rows they may be missing or marked unknown."""
    with open_for_reading(path) as file:
        header = read_header(file, path, reading.encoding)
        attributes = header.attributes
        kept = [i for i, one in enumerate(attributes) if one.name not in reading.skip]
        for position in kept:
            attribute = attributes[position]
            if attribute.kind not in ("numeric", "nominal"):
                raise FormatError(
                    path,
                    f"attribute {shorten(attribute.name)} is of type {attribute.kind}, which ARFF "
                    "files are not read with; leave it out with --ignore, or convert to CSV",
                    attribute.line,
                )
        if not kept:
            raise FormatError(path, "no attribute is left besides those ignored")
        columns = np.array(kept, dtype=np.intp)
        none = np.empty(0, dtype=np.intp)
        reader = RowReader(attributes, columns, none, path, reading.encoding)
        matrix, _ = reader.read(file, header.last_line)
    names = [attributes[i].name for i in kept]
    own = _arff_labels(header, path, [one.name for one in attributes])
    values = [attributes[i].values for i in kept]
    # A yes/no pair is 0 and 1; the codes of other words depend on the file that lists them.
    worded = {i for i, words in enumerate(values) if words and not _is_pair(words)}
    if not worded or sparse.issparse(matrix):
        return MatrixTable(str(path), matrix, names, own)
    arrow = import_optional("pyarrow")
    return ArrowTable(
        str(path),
        arrow.table(
            {
                name: _words(matrix[:, i], values[i]) if i in worded else matrix[:, i]
                for i, name in enumerate(names)
            }
        ),
        own,
    )


def _is_pair(words: tuple[str, ...]) -> bool:
    return len(words) == 2 and _signs(words) is not None


def _words(codes: np.ndarray, values: Sequence[str]) -> list[str | None]:
    """Nominal codes as the words they stand for."""
    return [None if np.isnan(code) else values[int(code)] for code in codes]


def _arff_labels(header: Header, path: Path, names: list[str]) -> list[str] | None:
    xml = find_labels_xml(path)
    if xml is not None:
        return [name for name in read_labels_xml(xml) if name in names] or None
    if header.meka_count is not None:
        return [names[i] for i in find_labels(header.meka_count, names, path)]
    return None


def positions_of(wanted: Iterable[str], table: RawTable) -> list[str]:
    """Names of the wanted columns as the table has them, or a refusal that suggests others."""
    names = table.names or []
    return [names[i] for i in find_columns(list(wanted), names, table.path)]
