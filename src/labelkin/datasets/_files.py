"""Reading and writing by the suffix of a file's name.

`read` returns matrices of numbers. A user's table holds more: text, categories, dates,
identifiers. `read_table` returns it as it is, for `labelkin.TableClassifier`.

A new format is a module in `formats`, entered in the tables below and, if its columns are not
all numbers, in `read_table`.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, read_unpacked, strip_compression
from labelkin.datasets._digit_scenes import load_digit_scenes
from labelkin.datasets.formats._arff import read_arff, read_arff_table, write_arff
from labelkin.datasets.formats._columns import Labels
from labelkin.datasets.formats._csv import read_csv, read_csv_table, write_csv
from labelkin.datasets.formats._libsvm import read_libsvm, write_libsvm
from labelkin.datasets.formats._npz import read_npz, write_npz
from labelkin.datasets.formats._parquet import read_parquet, read_parquet_table, write_parquet
from labelkin.datasets.formats._raw_table import RawTable, table_of_bunch
from labelkin.datasets.known._catalogue import dataset_names
from labelkin.datasets.known._load import load_dataset

SCENES = "digit-scenes"
"""Name of the bundled dataset in experiments and on the command line."""

_READERS: dict[str, Callable[..., Bunch]] = {
    "arff": read_arff,
    "npz": read_npz,
    "libsvm": read_libsvm,
    "csv": read_csv,
    "parquet": read_parquet,
}
_WRITERS: dict[str, Callable[..., None]] = {
    "arff": write_arff,
    "npz": write_npz,
    "libsvm": write_libsvm,
    "csv": write_csv,
    "parquet": write_parquet,
}
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
}
# A row of LibSVM: labels, then pairs of a feature's number and its value.
_LIBSVM_ROW = re.compile(rb"\s*#.*|[-+.,\deE]*(?:\s+(?:qid|\d+):\S+)*\s*(?:#.*)?", re.DOTALL)
# The formats that can hold the number of values of each feature, and the original split.
_WITH_N_VALUES = {"arff", "npz", "parquet"}
_WITH_SPLIT = {"npz"}


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
        if suffix in (".xlsx", ".xls", ".ods"):
            raise ArgumentError(f"{path}: a spreadsheet cannot be read; save the sheet as CSV.")
        raise ArgumentError(
            f"{path}: the format is unknown from the name; end it in {', '.join(_SUFFIXES)} "
            "(and .gz or .bz2 if it is compressed), or pass format=",
            "format",
        )
    if format not in _READERS:
        raise ArgumentError(
            f"format={format!r} is unknown; it is one of {', '.join(_READERS)}", "format"
        )
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
    format: str | None = None,
    **options: Any,
) -> Bunch:
    """Read a multi-label dataset from a file of any known format.

    Parameters
    ----------
    path : str or Path
        ``.arff``, ``.npz``, ``.svm``/``.libsvm``, ``.csv``/``.tsv``/``.tab`` or ``.parquet``,
        each optionally followed by ``.gz`` or ``.bz2``; ``.txt`` is LibSVM or a table, by its
        first line.
    labels : names, comma-separated string, or int, optional
        The label columns, where the file does not define them: their names, or a count
        (positive: the first, negative: the last).
    format : {"arff", "npz", "libsvm", "csv", "parquet"}, optional
        The format, where the name has another suffix.
    **options
        For the format's own reader, such as ``drop=`` or ``xml=``.

    Returns
    -------
    Bunch
        ``data``, ``target``, ``feature_names``, ``label_names``, ``feature_n_values``,
        ``split``, ``DESCR``; see `read_arff`.

    Raises
    ------
    FormatError
        A ValueError that names the file, and the line where there is one.

    """
    chosen = format_of(path, format)
    if chosen == "npz":
        if labels is not None:
            raise ArgumentError(
                f"{path}: an .npz dataset names its labels itself; leave out labels=", "labels"
            )
    else:
        options["labels"] = labels
    return _READERS[chosen](path, **options)


def read_table(
    source: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    as_strings: Iterable[str] = (),
    ignore: Iterable[str] = (),
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
    as_strings : iterable of str, default=()
        Columns of a CSV file to keep as they are written, such as codes with leading zeros.
    ignore : iterable of str, default=()
        Columns of an ARFF file that may hold anything.
    labels : names, comma-separated string, or int, optional
        The labels of a LibSVM file, which does not declare them.
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
    match format_of(path):
        case "csv":
            return read_csv_table(
                path,
                delimiter=delimiter,
                encoding=encoding,
                decimal=decimal,
                as_strings=as_strings,
            )
        case "parquet":
            return read_parquet_table(path)
        case "arff":
            return read_arff_table(path, encoding=encoding, ignore=ignore)
        case "libsvm":
            return table_of_bunch(name, read_libsvm(path, labels, n_features=n_features))
        case _:
            return table_of_bunch(name, read(path, labels=labels))


def write(
    path: str | Path,
    data: Any,
    target: Any,
    *,
    feature_names: Iterable[str] | None = None,
    label_names: Iterable[str] | None = None,
    feature_n_values: Any = None,
    split: Any = None,
    format: str | None = None,
    **options: Any,
) -> None:
    """Write a multi-label dataset to a file of any known format, whole or not at all.

    Parameters
    ----------
    path : str or Path
        Its suffix determines the format, as in `read`.
    data : array-like, sparse matrix or DataFrame of shape (n, d)
    target : array-like, sparse matrix or DataFrame of shape (n, q)
    feature_names, label_names : iterable of str, optional
    feature_n_values : array-like of int, optional
        0 for a numeric feature, k for a nominal one. LibSVM and CSV cannot store it.
    split : array-like, optional
        Original training (0) and test (1) rows. Only ``.npz`` can store it.
    format : str, optional
        The format, where the name has another suffix.
    **options
        For the format's own writer, such as ``meka=True``.

    """
    chosen = format_of(path, format)
    if chosen in _WITH_N_VALUES:
        options["feature_n_values"] = feature_n_values
    if chosen in _WITH_SPLIT:
        options["split"] = split
    _WRITERS[chosen](
        path, data, target, feature_names=feature_names, label_names=label_names, **options
    )
