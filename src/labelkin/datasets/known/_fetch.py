"""Downloading a dataset: published files are converted to one ``.npz`` and checked."""

import hashlib
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPException, IncompleteRead
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from labelkin._utils.files import read_unpacked
from labelkin._utils.limits import SIZE_VARIABLE, max_unpacked
from labelkin.datasets._describe import describe
from labelkin.datasets._write import write
from labelkin.datasets.formats._arff import read_arff
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._bunch import make_bunch
from labelkin.datasets.formats._raw_table import Options, RawTable
from labelkin.datasets.known._catalogue import DatasetInfo, SourceFile
from labelkin.rows import first_of_equals

_TIMEOUT = 30.0  # seconds without a byte, after which the next address is tried


def fetch(info: DatasetInfo, folders: Sequence[Path]) -> Path:
    """Download, convert and check one dataset; return the path of its ``.npz``.

    It is kept in the first of the folders that can be written to. The downloads go to a temporary
    folder there and `write` ends with a rename, so that no partial file is ever visible, also when
    several processes fetch at once.
    """
    for folder in folders:
        with suppress(OSError):  # access bits are unreliable on network disks
            folder.mkdir(parents=True, exist_ok=True)
            temporary = tempfile.TemporaryDirectory(dir=folder, prefix=f".{info.name}-")
            break
    else:
        raise PermissionError(
            f"Neither {' nor '.join(map(str, folders))} can be written to, so {info.name} cannot "
            "be kept; set LABELKIN_DATA to a folder that can."
        )
    path = folder / f"{info.name}.npz"
    with temporary as scratch:
        files = {file.role: _retrieve(info, file, Path(scratch)) for file in info.files}
        try:
            bunch = _read(info, files)
        except ValueError as error:
            reason = str(error).replace(f"{scratch}{os.sep}", "")
            raise ValueError(
                f"The files downloaded for {info.name} cannot be read ({reason}); nothing was kept."
            ) from error
    _check_statistics(info, bunch)
    names = ("feature_names", "label_names", "feature_n_values", "split")
    write(path, bunch.data, bunch.target, **{name: bunch[name] for name in names})
    return path


def _check_statistics(info: DatasetInfo, bunch: Bunch) -> None:
    """Compare the data with the catalogue's figures (to the three decimals of Table 2)."""
    rows = slice(None) if info.rows == "all" else np.flatnonzero(bunch.split == 0)
    figures = describe(bunch.target[rows], bunch.data[rows]).table2()
    wrong = [
        f"{column} {figures[column]:.6g} instead of {expected:.6g}"
        for column, expected in info.statistics.items()
        if abs(figures[column] - expected) > (0 if isinstance(expected, int) else 1e-3)
    ]
    if wrong:
        raise ValueError(
            f"The files downloaded for {info.name} do not give the published statistics "
            f"({', '.join(wrong)}); nothing was kept."
        )


def _read(info: DatasetInfo, paths: dict[str, Path]) -> Bunch:
    """Read the downloaded files, by role, as one dataset."""
    if paths.get("all", Path()).suffix == ".mat":
        return _from_mat(paths["all"])
    xml = paths.pop("labels", None)
    labels = None if xml else -(info.labels_last or 0)
    parts = {}
    for role, path in paths.items():
        table = read_arff(read_unpacked(path), Budget(path), Options(xml=xml))
        parts[role] = make_bunch(table, labels, info.drop)
    if "all" not in parts:
        return _stack(parts["train"], parts["test"])
    if "train" in parts:
        parts["all"].split = _recover_split(parts["all"], parts["train"])
    return parts["all"]


def _retrieve(info: DatasetInfo, file: SourceFile, scratch: Path) -> Path:
    """Download one file from the first of its addresses that gives the right bytes."""
    failures, damaged = [], False
    for url in file.urls:
        if sys.stderr.isatty():
            print(f"downloading {url}", file=sys.stderr)
        try:
            content = _download(url)
            if hashlib.sha256(content).hexdigest() != file.sha256:
                raise ValueError("the file's sha256 is not the published one")
        except (OSError, HTTPException, ValueError) as error:
            damaged |= isinstance(error, ValueError)
            failures.append(f"{url}: {_reason(error)}")
        else:
            path = scratch / file.name
            path.write_bytes(content)
            return path
    arff = next((file.name for file in info.files if file.name.endswith(".arff")), None)
    by_hand = f", or download {arff} by hand and run `labelkin datasets convert` on it"
    raise (ValueError if damaged else ConnectionError)(
        f"{info.name} could not be downloaded ({'; '.join(failures)}); nothing was kept: try again "
        f"with a connection, or set LABELKIN_DATA to a folder that holds {info.name}.npz"
        f"{by_hand if arff else ''}."
    )


def _download(url: str) -> bytes:
    """Return what a server sends, at most what a file may unpack to."""
    from urllib.request import urlopen  # slow to import

    limit = max_unpacked(0)
    with urlopen(url, timeout=_TIMEOUT) as answer:
        content = answer.read(limit + 1)
        if len(content) > limit:
            raise ValueError(
                f"the server sent more than {limit / 2**20:,.0f} MiB; if the file is that large, "
                f"set {SIZE_VARIABLE} to a larger number of bytes"
            )
        if answer.length:  # what is still to come
            raise IncompleteRead(content)
    return content


def _reason(error: Exception) -> str:
    """Return why a download failed in a few words."""
    if (status := getattr(error, "code", None)) is not None:
        return f"the server answered {status}"
    cause = getattr(error, "reason", error)
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    if isinstance(cause, IncompleteRead):
        return "the connection was interrupted"
    return "no connection" if isinstance(cause, OSError) else str(cause) or type(cause).__name__


def _from_mat(path: Path) -> Bunch:
    """Read the Yahoo sets: train_data, train_target, ... of a MATLAB file, targets −1 and 1."""
    from scipy.io import loadmat  # slow to import

    content = loadmat(path)
    parts = []
    for part in ("train", "test"):
        X = sp.csr_matrix(content[f"{part}_data"])
        Y = sp.csr_array(content[f"{part}_target"]).toarray()
        Y = Y.T if Y.shape[1] == X.shape[0] else Y  # published with one column per sample
        parts.append(make_bunch(RawTable(path.name, X, None, target=(Y > 0).astype(np.uint8))))
    return _stack(*parts)


def _stack(train: Bunch, test: Bunch) -> Bunch:
    """Stack training and test rows, which have the same columns."""
    data = sp.vstack([sp.csr_array(train.data), sp.csr_array(test.data)], format="csr")
    split = np.repeat(np.array([0, 1], dtype=np.uint8), [len(train.target), len(test.target)])
    target = np.vstack([train.target, test.target])
    return Bunch(**train | {"data": data, "target": target, "split": split})


def _recover_split(full: Bunch, train: Bunch) -> np.ndarray:
    """Mark the rows of the full file that the published training file holds by 0, others by 1.

    Rows are matched by their values. Of equal rows in both parts, the first is marked as a
    training row: each part then holds the right rows, whichever copy it is.
    """
    rows = [sp.hstack([sp.csr_array(b.data), sp.csr_array(b.target)]) for b in (full, train)]
    matrix = sp.vstack(rows, format="csr", dtype=np.float64)
    matrix.sort_indices()
    first = first_of_equals(matrix)
    keys = np.arange(matrix.shape[0]) if first is None else first
    n = len(full.target)
    in_train = Counter(keys[n:].tolist())
    split = np.ones(n, dtype=np.uint8)
    for i, key in enumerate(keys[:n].tolist()):
        if in_train[key]:
            in_train[key] -= 1
            split[i] = 0
    return split
