"""Reading and writing by the suffix of a file's name."""

import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import open_for_reading, strip_compression
from labelkin.datasets.formats._columns import Labels

_FORMATS = ("arff", "npz", "libsvm", "csv", "parquet")
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
    if format not in _FORMATS:
        raise ArgumentError(
            f"format={format!r} is unknown; it is one of {', '.join(_FORMATS)}", "format"
        )
    return format


def _function(verb: str, format: str) -> Any:
    """Return the reader or the writer of a format; only its module is imported."""
    return getattr(import_module(f"labelkin.datasets.formats._{format}"), f"{verb}_{format}")


def _begins_as_libsvm(path: str | Path) -> bool:
    """Return whether the first line is a row of LibSVM, true of a file that does not exist."""
    if not Path(path).is_file():
        return True
    with open_for_reading(path) as file:
        return _LIBSVM_ROW.fullmatch(file.readline(2**20)) is not None


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
    return _function("read", chosen)(path, **options)


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
    _function("write", chosen)(
        path, data, target, feature_names=feature_names, label_names=label_names, **options
    )
