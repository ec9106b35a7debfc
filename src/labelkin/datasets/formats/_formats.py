"""One door to all formats: the file's name says which."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch

from labelkin._utils.files import strip_compression
from labelkin.datasets.formats._arff import read_arff, write_arff
from labelkin.datasets.formats._columns import Labels
from labelkin.datasets.formats._libsvm import read_libsvm, write_libsvm
from labelkin.datasets.formats._npz import read_npz, write_npz
from labelkin.datasets.formats._tables import read_csv, read_parquet, write_csv, write_parquet

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
    ".txt": "libsvm",
    ".csv": "csv",
    ".parquet": "parquet",
}
# What only some formats can hold.
_KEEPS_KINDS = {"arff", "npz", "parquet"}
_KEEPS_SPLIT = {"npz"}


def format_of(path: str | Path, format: str | None = None) -> str:
    """Name of a file's format: the given one, or by its suffix before ``.gz`` or ``.bz2``."""
    if format is None:
        suffix = strip_compression(path).suffix.lower()
        if suffix in _SUFFIXES:
            return _SUFFIXES[suffix]
        raise ValueError(
            f"{path}: the name does not tell the format; end it in {', '.join(_SUFFIXES)} "
            "(then .gz or .bz2 if you like), or pass format="
        )
    if format not in _READERS:
        raise ValueError(f"format={format!r} is unknown; it is one of {', '.join(_READERS)}")
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
        Which columns are the labels, where the file does not say: their names, or a count
        (positive: the first, negative: the last).
    format : {"arff", "npz", "libsvm", "csv", "parquet"}, optional
        Where the name does not tell.
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
            raise ValueError(f"{path}: an .npz dataset knows its labels; leave labels= out")
    else:
        options["labels"] = labels
    return _READERS[chosen](path, **options)


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
        Its suffix tells the format, as in `read`.
    data : array-like, sparse matrix or DataFrame of shape (n, d)
    target : array-like, sparse matrix or DataFrame of shape (n, q)
    feature_names, label_names : iterable of str, optional
    feature_n_values : array-like of int, optional
        0 for a numeric feature, k for a nominal one. LibSVM and CSV have no place for it.
    split : array-like, optional
        Original training (0) and test (1) rows. Only ``.npz`` has a place for it.
    format : str, optional
        Where the name does not tell.
    **options
        For the format's own writer, such as ``meka=True``.

    """
    chosen = format_of(path, format)
    if chosen in _KEEPS_KINDS:
        options["feature_n_values"] = feature_n_values
    if chosen in _KEEPS_SPLIT:
        options["split"] = split
    _WRITERS[chosen](
        path, data, target, feature_names=feature_names, label_names=label_names, **options
    )
