"""Reading by the suffix of a file's name.

`read` returns matrices of numbers. A user's table holds more: text, categories, dates,
identifiers. `read_table` returns it as it is, for `labelkin.TableClassifier`.

A new format is a module in `formats` whose reader returns a `RawTable`, or a Bunch of numbers if
the file holds nothing else; its suffixes are entered in the table below, its reader in `_read`.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, read_unpacked, strip_compression
from labelkin.datasets._digit_scenes import load_digit_scenes
from labelkin.datasets.formats._arff import read_arff
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._columns import Labels, split_names
from labelkin.datasets.formats._csv import read_csv
from labelkin.datasets.formats._json import read_json
from labelkin.datasets.formats._libsvm import read_libsvm
from labelkin.datasets.formats._mulan_xml import read_labels_xml
from labelkin.datasets.formats._npz import read_arrays
from labelkin.datasets.formats._parquet import read_parquet
from labelkin.datasets.formats._raw_table import (
    RawTable,
    bunch_of_table,
    decode_nominal,
    table_of_bunch,
)
from labelkin.datasets.formats._spreadsheet import read_spreadsheet
from labelkin.datasets.known._catalogue import dataset_names
from labelkin.datasets.known._load import load_dataset

SCENES = "digit-scenes"
"""Name of the bundled dataset in experiments and on the command line."""

_SUFFIXES = {
    ".arff": "arff",
    ".npz": "npz",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",  # or LibSVM, by the first line
    ".parquet": "parquet",
    ".npy": "npz",
    ".xlsx": "spreadsheet",
    ".xlsm": "spreadsheet",
    ".ods": "spreadsheet",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
# What a small spreadsheet that was sent may take: with millions of empty elements, reading it would
# take longer than a request may.
_SENT_BYTES = 2**26
# A row of LibSVM: labels, then pairs of a feature's number and its value.
_LIBSVM_ROW = re.compile(rb"\s*#.*|[-+.,\deE]*(?:\s+(?:qid|\d+):\S+)*\s*(?:#.*)?", re.DOTALL)


def format_of(path: str | Path, format: str | None = None) -> str:
    """Name of a file's format: the given one, or by its suffix before ``.gz`` or ``.bz2``.

    A file that ends in ``.txt`` is a table like a CSV file, unless its first line is one of LibSVM.
    """
    if format is None:
        suffix = strip_compression(path).suffix.lower()
        if suffix == ".txt" and _begins_as_libsvm(path):
            return "libsvm"
        if suffix in _SUFFIXES:
            return _SUFFIXES[suffix]
        if suffix in (".xls", ".xlsb", ".numbers"):
            raise ArgumentError(f"{path}: this format cannot be read; save it as .xlsx or CSV.")
        raise ArgumentError(
            f"{path}: the format is unknown from the name; end it in {', '.join(_SUFFIXES)} "
            "(and .gz or .bz2 if it is compressed), or pass format=",
            "format",
        )
    if format not in _SUFFIXES.values():
        known = ", ".join(dict.fromkeys(_SUFFIXES.values()))
        raise ArgumentError(f"format={format!r} is unknown; it is one of {known}", "format")
    return format


def _begins_as_libsvm(path: str | Path) -> bool:
    """Return whether the first line is a row of LibSVM, true of a file that does not exist."""
    if not Path(path).is_file():
        return True
    first = read_unpacked(path).partition(b"\n")[0]
    return _LIBSVM_ROW.fullmatch(first) is not None


def read(
    path: str | Path,
    *,
    labels: Labels | None = None,
    drop: str | Iterable[str] = (),
    xml: str | Path | None = None,
    format: str | None = None,
    missing_labels: str | None = None,
    **options: Any,
) -> Bunch:
    """Read a multi-label dataset of numbers from a file of any known format.

    Parameters
    ----------
    path : str or Path
        ``.arff``, ``.npz``, ``.npy``, ``.svm``/``.libsvm``, ``.csv``/``.tsv``/``.tab``,
        ``.parquet``, ``.xlsx``, ``.ods``, ``.jsonl`` or ``.json``, each optionally followed by
        ``.gz`` or ``.bz2``; ``.txt`` is LibSVM or a table, by its first line.
    labels : names, comma-separated string, or int, optional
        The label columns, where the file does not define them: their names, or a count
        (positive: the first, negative: the last). An ARFF file defines them by the XML file
        of the same name, or by MEKA's ``-C n`` in the relation's name.
    drop : names or comma-separated string, default=()
        Columns to leave out, such as an identifier.
    xml : str or Path, optional
        Mulan's list of labels, where it has another name than the ARFF file.
    format : {"arff", "npz", "libsvm", "csv", "parquet", "spreadsheet", "json"}, optional
        The format, where the name has another suffix.
    missing_labels : {"no", "unknown", "drop"}, optional
        What an empty cell of a label column means: that the label does not apply, or that it is
        unknown; "drop" leaves out its row. By default it is guessed: unknown if the labels are
        written as 0 and 1, no if they are written as 1 only. In ARFF files ? is unknown.
    **options
        How the file is written, such as ``delimiter=``; see `read_table`.

    Returns
    -------
    Bunch
        ``data``: float64, an array or a CSR matrix; missing values are NaN. ``target``: uint8 of
        shape (n, q), dense (CSR above 100 million entries of a sparse file), in the order of the
        columns; float64 with NaN where labels are unknown. ``feature_names`` and ``label_names``,
        None where unknown. ``feature_n_values``: 0 for a numeric feature, k for a nominal one
        with k values, coded by their index (for a yes/no pair: no is 0, yes is 1). ``split``: 0
        for original training rows and 1 for test rows, None where unknown. ``DESCR``.

    Raises
    ------
    FormatError
        A ValueError that names the file, and the line where there is one.

    Examples
    --------
    >>> from labelkin.datasets import read
    >>> yeast = read("yeast.arff.gz")  # doctest: +SKIP
    >>> yeast.data.shape, yeast.target.shape  # doctest: +SKIP
    ((2417, 103), (2417, 14))
    """
    if xml is not None:
        labels = read_labels_xml(xml)
    kind = format_of(path, format)
    if kind == "arff" and missing_labels is None:
        missing_labels = "unknown"  # which is what ? means there
    found = _read(path, kind, labels=labels, **options)
    if isinstance(found, RawTable):
        bunch = bunch_of_table(found, labels, drop, missing_labels)
        if guesses := [one.text for one in found.guesses if "missing_labels" in one.arguments]:
            bunch.guesses = guesses
        return bunch
    if drop:
        raise ArgumentError(f"{path}: its columns have no names; leave out drop=", "drop")
    return found


def _read(
    path: str | Path,
    format: str,
    *,
    labels: Labels | None = None,
    n_features: int | None = None,
    sheet: str | None = None,
    x: str | None = None,
    y: str | None = None,
    **options: Any,
) -> RawTable | Bunch:
    """Return a file by the reader of its format; `options` are those of a table of cells."""
    if labels is not None and not isinstance(labels, int):
        labels = labels if isinstance(labels, str) else list(labels)
        options["expected"] = {*options.get("expected", ()), *split_names(labels)}
    if format == "npz" and labels is not None:
        text = f"{path}: arrays have no named columns; leave out labels=, or name labels with y="
        raise ArgumentError(text, "labels", "y")
    raw, budget = read_unpacked(path), Budget(path)
    match format:
        case "parquet":
            return read_parquet(raw, budget)
        case "arff":
            return read_arff(raw, budget, options.get("encoding"))
        case "libsvm":
            return read_libsvm(raw, budget, labels, n_features)
        case "npz":
            return read_arrays(raw, budget, x, y)
    return _read_cells(raw, budget, format, sheet, **options)


def _read_cells(
    raw: bytes, budget: Budget, format: str, sheet: str | None = None, **options: Any
) -> RawTable:
    """Return a table of cells by its format, of whose options JSON and spreadsheets have some."""
    if format == "csv":
        return read_csv(raw, budget, **options)
    own = ("encoding", "as_strings") if format == "json" else ("header", "expected", "as_strings")
    options = {name: options[name] for name in own if name in options}
    if format == "json":
        return read_json(raw, budget, **options)
    return read_spreadsheet(raw, budget, sheet, **options)


def parse_table(raw: bytes, source: str, **options: Any) -> RawTable:
    """Return a table that was sent or uploaded; errors name it by `source`.

    Its first bytes tell whether it is a spreadsheet, JSON or CSV. `options` are those of
    `read_table` for a CSV file.
    """
    is_json = raw.lstrip()[:1] in (b"[", b"{")
    is_sheet = raw.startswith((b"PK", b"\xd0\xcf"))
    format = "spreadsheet" if is_sheet else "json" if is_json else "csv"
    budget = Budget(source, len(raw))
    if is_sheet:
        budget.limit = budget.left = min(budget.limit, max(_SENT_BYTES, 100 * len(raw)))
    return _read_cells(raw, budget, format, **options)


def read_table(
    source: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    x: str | None = None,
    y: str | None = None,
    as_strings: Iterable[str] = (),
    expected: Iterable[str] = (),
    labels: Labels | None = None,
    n_features: int | None = None,
) -> RawTable:
    r"""Read a table with columns of any kind; needs the ``data`` extra.

    Parameters
    ----------
    source : str or Path
        A file of any format that `read` knows, or a name that `dataset_names` lists.
    delimiter, encoding, decimal : str, optional
        How a CSV file is written; guessed if not given. An ARFF file has an encoding, too.
    header : bool, optional
        Whether the first row of a CSV file or a sheet holds the names of the columns; without
        them they are c1, c2, …. By default it does, and a file whose first row looks like the
        others is refused.
    sheet : str, optional
        The sheet of a spreadsheet; by default the first that has an expected column, else the
        first.
    x, y : str, optional
        Names of the arrays of features and labels in an ``.npz`` file, by default X and y; of an
        ``.npy`` file, `y` is the file with the labels, by default y.npy beside X.npy. Arrays of
        more than two dimensions, such as images, are flattened.
    as_strings : iterable of str, default=()
        Columns to keep as they are written, such as codes with leading zeros.
    expected : iterable of str, default=()
        Names of columns; a first row with one of them is the header.
    labels : names, comma-separated string, or int, optional
        The labels of a LibSVM file, which does not declare them; in a table, one column that it
        names is kept as it is written, since it may hold tags such as 3,10.
    n_features : int, optional
        Number of features of a LibSVM file, whose last ones may be zero in all rows.

    Returns
    -------
    RawTable
        ``data`` is a DataFrame of all columns or, of a file that holds only numbers, a matrix;
        ``guesses`` is what was guessed. `TableClassifier` takes it in place of a DataFrame.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from labelkin.datasets import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "films.csv"
    ...     _ = path.write_text("length;tags\n97,5;drama|crime\n121,0;comedy\n")
    ...     table = read_table(path)
    >>> table.data
       length         tags
    0    97.5  drama|crime
    1   121.0       comedy
    >>> [guess.text for guess in table.guesses]
    ["';' between columns", "',' decimal"]
    """
    path, name = Path(source), str(source)
    if not path.exists() and name in (SCENES, *dataset_names()):
        known = load_digit_scenes(600, random_state=0) if name == SCENES else load_dataset(name)
        return table_of_bunch(name, known)
    if path.is_dir():
        raise FormatError(name, "this is a folder, not a file")
    if not path.exists():
        may_be_name = not path.suffix and len(path.parts) == 1
        cure = " nor a dataset of that name; `labelkin datasets` lists those known"
        raise FileNotFoundError(f"There is no file {name}{cure if may_be_name else ''}.")
    named = [labels] if isinstance(labels, str) else []
    found = _read(
        path,
        format_of(path),
        labels=labels,
        n_features=n_features,
        delimiter=delimiter,
        encoding=encoding,
        decimal=decimal,
        header=header,
        sheet=sheet,
        x=x,
        y=y,
        as_strings={*as_strings, *named},
        expected=expected,
    )
    return decode_nominal(found) if isinstance(found, RawTable) else table_of_bunch(name, found)
