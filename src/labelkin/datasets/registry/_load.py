"""``load_dataset``: from a name to data, from disk when it is there, else from its source."""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from labelkin.datasets.formats._npz import read_npz
from labelkin.datasets.registry._known import DatasetInfo, dataset_info

__all__ = ["data_home_path", "find_dataset", "load_dataset"]


def load_dataset(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    subset: str | None = None,
    progress: bool | None = None,
) -> Bunch:
    """Load a dataset of the registry, downloading it the first time.

    ``<data_home>/<name>.npz`` is read if it is there. If not, the published files are
    downloaded, checked against their sums, converted, checked against the expected
    statistics (Table 2 of the paper for its twelve datasets), and kept in that place.

    Parameters
    ----------
    name : str
        A name that `dataset_names` lists, such as ``"yeast"``.
    data_home : path-like, default=None
        Folder of the data; by default the environment variable ``LABELKIN_DATA``, else
        ``labelkin`` in the user's cache. A dataset that is not there is looked for in
        the user's cache too, and kept there where the folder cannot be written to.
    download : bool, default=True
        Whether a dataset that is not on disk may be downloaded.
    subset : {"all", "train", "test"}, default=None
        Which rows: all of them, or one part of the published partition. The default
        is what the paper (Table 2) uses: the 2000 training documents of the Yahoo
        sets (arts, business, ...), all rows of every other dataset.
    progress : bool, default=None
        Whether to show a progress bar; by default when stderr is a terminal.

    Returns
    -------
    sklearn.utils.Bunch
        ``data`` (an array, or a CSR matrix where most values are zero), ``target``
        (n × q array of 0 and 1), ``feature_names`` and ``label_names`` (None where the
        source gives none), ``feature_n_values`` (0 for numeric, else the number of
        nominal values), ``split`` (0: training row, 1: test row, None: not known),
        ``name`` and ``DESCR``.

    Examples
    --------
    >>> from labelkin.datasets import load_dataset
    >>> yeast = load_dataset("yeast")  # doctest: +SKIP
    >>> yeast.data.shape, yeast.target.shape  # doctest: +SKIP
    ((2417, 103), (2417, 14))
    """
    info = dataset_info(name)
    if subset not in (None, "all", "train", "test"):
        raise ValueError(f"subset must be 'all', 'train', 'test' or None, not {subset!r}.")
    path = find_dataset(info.name, data_home)
    if path is None:
        path = _download(info, data_home, download, progress)
    bunch = read_npz(path)
    bunch.update(name=info.name, DESCR=info.description)
    return _rows(bunch, subset or info.rows)


def data_home_path(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Folder of the data: the argument, else ``LABELKIN_DATA``, else the user's cache."""
    chosen = data_home or os.environ.get("LABELKIN_DATA")
    return Path(chosen).expanduser() if chosen else _user_cache()


def find_dataset(name: str, data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """Path of a dataset's ``.npz`` if it is on disk."""
    for folder in (data_home_path(data_home), _user_cache()):
        path = folder / f"{name}.npz"
        if path.is_file():
            return path
    return None


def _user_cache() -> Path:
    """Name the user's cache folder: ``pooch.os_cache("labelkin")``, without needing pooch."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(base) / "labelkin" / "labelkin" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "labelkin"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "labelkin"


def _download(
    info: DatasetInfo,
    data_home: str | os.PathLike[str] | None,
    allowed: bool,
    progress: bool | None,
) -> Path:
    home = data_home_path(data_home)
    if not allowed:
        raise FileNotFoundError(
            f"{info.name}.npz is not in {home} and download=False; allow the download, or set "
            "LABELKIN_DATA to a folder that has it."
        )
    from labelkin.datasets.registry._fetch import fetch

    folder = next((f for f in (home, _user_cache()) if _writable(f)), None)
    if folder is None:
        raise PermissionError(
            f"Neither {home} nor {_user_cache()} can be written to, so {info.name} cannot be "
            "kept; set LABELKIN_DATA to a folder that can."
        )
    return fetch(info, folder, progress=sys.stderr.isatty() if progress is None else progress)


def _writable(folder: Path) -> bool:
    """Whether a file can really be made there (access bits say little on network disks)."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _rows(bunch: Bunch, subset: str) -> Bunch:
    if subset == "all":
        return bunch
    if bunch.split is None:
        raise ValueError(
            f"{bunch.name} has no published partition, so subset={subset!r} cannot be given; "
            "use subset='all' and split it yourself."
        )
    keep = np.flatnonzero(bunch.split == (subset == "test"))
    bunch.update(data=bunch.data[keep], target=bunch.target[keep], split=bunch.split[keep])
    return bunch
