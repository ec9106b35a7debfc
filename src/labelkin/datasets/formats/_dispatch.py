"""Reading and writing by the suffix of a file's name."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import strip_compression
from labelkin.datasets.formats._arff import read_arff, write_arff
from labelkin.datasets.formats._columns import Labels
from labelkin.datasets.formats._csv import read_csv, write_csv
from labelkin.datasets.formats._libsvm import read_libsvm, write_libsvm
from labelkin.datasets.formats._npz import read_npz, write_npz
from labelkin.datasets.formats._parquet import read_parquet, write_parquet

_FUNCTIONS: dict[str, tuple[Callable[..., Bunch], Callable[..., None]]] = {
    "arff": (read_arff, write_arff),
    "npz": (read_npz, write_npz),
    "libsvm": (read_libsvm, write_libsvm),
    "csv": (read_csv, write_csv),
    "parquet": (read_parquet, write_parquet),
}
_SUFFIXES = {
    ".arff": "arff",
    ".npz": "npz",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".txt": "libsvm",
    ".csv": "csv",
    ".parquet": "parquet",
}
# The formats that can hold the number of values of each feature, and the original split.
_WITH_N_VALUES = {"arff", "npz", "parquet"}
_WITH_SPLIT = {"npz"}


def format_of(path: str | Path, format: str | None = None) -> str:
    """Name of a file's format: the given one, or by its suffix before ``.gz`` or ``.bz2``."""
    if format is None:
        suffix = strip_compression(path).suffix.lower()
        if suffix in _SUFFIXES:
            return _SUFFIXES[suffix]
        raise ArgumentError(
            f"{path}: the format is unknown from the name; end it in {', '.join(_SUFFIXES)} "
            "(and .gz or .bz2 if it is compressed), or pass format=",
            "format",
        )
    if format not in _FUNCTIONS:
        raise ArgumentError(
            f"format={format!r} is unknown; it is one of {', '.join(_FUNCTIONS)}", "format"
        )
    return format


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
        ``.arff``, ``.npz``, ``.svm``/``.libsvm``/``.txt``, ``.csv`` or ``.parquet``, each
        optionally followed by ``.gz`` or ``.bz2``.
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
    return _FUNCTIONS[chosen][0](path, **options)


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
    _FUNCTIONS[chosen][1](
        path, data, target, feature_names=feature_names, label_names=label_names, **options
    )
