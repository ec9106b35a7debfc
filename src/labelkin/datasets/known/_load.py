"""Loading a dataset by its name, from disk or else from where it is published."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from labelkin._utils.files import read_unpacked
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._bunch import make_bunch, present
from labelkin.datasets.formats._npz import read_arrays
from labelkin.datasets.formats._raw_table import Options
from labelkin.datasets.known._catalogue import DatasetInfo, dataset_info
from labelkin.datasets.known._fetch import fetch


def load_dataset(
    name: str | DatasetInfo,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    subset: str | None = None,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load a well-known dataset by its name, downloading it the first time.

    ``<data_home>/<name>.npz`` is read if it exists. Otherwise the published files are
    downloaded, checked against their checksums, converted, checked against the expected
    statistics (Table 2 of the paper for its twelve datasets), and saved under that name.

    Parameters
    ----------
    name : str or DatasetInfo
        A name that `dataset_names` lists, such as ``"yeast"``; or, for a dataset that the
        package does not know, its description.
    data_home : path-like, default=None
        Folder of the data; by default the environment variable ``LABELKIN_DATA``, else
        ``labelkin`` in the user's cache. A dataset that is not there is also looked for in
        the user's cache, and saved there if the folder cannot be written to.
    download : bool, default=True
        Whether a dataset that is not on disk may be downloaded.
    subset : {"all", "train", "test"}, default=None
        Which rows: all of them, or one part of the published partition. The default
        is what the paper (Table 2) uses: the 2000 training documents of the Yahoo
        sets (arts, business, ...), all rows of every other dataset.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether ``data`` and ``target`` are DataFrames. Where the source gives no names, the
        columns are ``x1, x2, …`` and ``y1, y2, …``. Needs pandas.

    Returns
    -------
    sklearn.utils.Bunch, or the pair (data, target)
        ``data`` (an array, or a CSR matrix where most values are zero; a DataFrame if
        `as_frame`, its columns sparse in the latter case), ``target`` (n × q array of 0 and 1,
        or a DataFrame), ``frame`` (a DataFrame of both if `as_frame`, else None),
        ``feature_names`` and ``label_names`` (None where the source gives none),
        ``feature_n_values`` (0 for numeric, else the number of nominal values), ``split``
        (0: training row, 1: test row, None: not known), ``name`` and ``DESCR``.

    Examples
    --------
    >>> from labelkin.datasets import load_dataset
    >>> yeast = load_dataset("yeast")  # doctest: +SKIP
    >>> yeast.data.shape, yeast.target.shape  # doctest: +SKIP
    ((2417, 103), (2417, 14))
    >>> X, y = load_dataset("yeast", return_X_y=True, as_frame=True)  # doctest: +SKIP
    """
    info = name if isinstance(name, DatasetInfo) else dataset_info(name)
    if subset not in (None, "all", "train", "test"):
        raise ValueError(f"subset must be 'all', 'train', 'test' or None, not {subset!r}.")
    path = find_dataset(info.name, data_home)
    if path is None:
        home = data_home_path(data_home)
        if not download:
            raise FileNotFoundError(
                f"{info.name}.npz is not in {home} and download=False; allow the download, or set "
                "LABELKIN_DATA to a folder that has it."
            )
        path = fetch(info, [home, _user_cache()])
    bunch = make_bunch(read_arrays(read_unpacked(path), Budget(path), Options()))
    bunch.update(name=info.name, DESCR=info.description)
    subset = subset or info.rows
    if subset != "all":
        if bunch.split is None:
            raise ValueError(
                f"{info.name} has no published partition, so subset={subset!r} cannot be given; "
                "use subset='all' and split it yourself."
            )
        keep = np.flatnonzero(bunch.split == (subset == "test"))
        bunch.update({name: bunch[name][keep] for name in ("data", "target", "split")})
    return present(bunch, return_X_y=return_X_y, as_frame=as_frame)


def data_home_path(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of data: the argument, else ``LABELKIN_DATA``, else the user's cache."""
    chosen = data_home or os.environ.get("LABELKIN_DATA")
    return Path(chosen).expanduser() if chosen else _user_cache()


def find_dataset(name: str, data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the path of a dataset's ``.npz`` if it is on disk."""
    paths = [f / f"{name}.npz" for f in (data_home_path(data_home), _user_cache())]
    return next(filter(Path.is_file, paths), None)


def _user_cache() -> Path:
    """Return the folder for files of labelkin that can be downloaded again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(base) / "labelkin" / "labelkin" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "labelkin"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "labelkin"
