"""labelkin's own format: one ``.npz`` file of plain arrays."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from labelkin._utils import untrusted
from labelkin._utils.files import FormatError, open_for_writing, read_unpacked, reason
from labelkin.datasets.formats._columns import check_unique
from labelkin.datasets.formats._content import check_content, check_width, make_bunch

_REQUIRED = ("X_data", "X_indices", "X_indptr", "X_shape", "Y")
_OPTIONAL = ("feature_n_values", "feature_names", "label_names", "split")
# Features with a smaller share of non-zeros stay sparse.
_DENSE_SHARE = 0.5


def read_npz(path: str | Path) -> Bunch:
    """Read a dataset from labelkin's ``.npz`` format.

    Parameters
    ----------
    path : str or Path
        A file as `write_npz` makes it. Nothing in it is executed (``allow_pickle=False``).

    Returns
    -------
    Bunch
        As `read_arff` describes; ``data`` is CSR when less than half of it is non-zero,
        ``split`` is 0 for original training rows and 1 for test rows, where known.

    """
    raw = read_unpacked(path)
    try:
        arrays = untrusted.read_npz(raw, _REQUIRED + _OPTIONAL)
    except Exception as error:  # zip, deflate and NumPy raise errors of many kinds
        raise FormatError(path, f"not a readable .npz file ({reason(error)})") from error
    missing = [key for key in _REQUIRED if key not in arrays]
    if missing:
        raise FormatError(path, f"the array {missing[0]!r} is missing; is it a labelkin dataset?")
    data, target = _features(arrays, path), arrays["Y"]
    if target.ndim != 2 or target.dtype.kind not in "biuf" or not np.isin(target, (0, 1)).all():
        raise FormatError(path, "Y is not a matrix of 0 and 1")
    n, d = data.shape
    if target.shape[0] != n:
        raise FormatError(path, f"X has {n} rows, Y has {target.shape[0]}")
    n_values = _vector(arrays, "feature_n_values", d, "iu", path)
    split = _vector(arrays, "split", n, "biu", path)
    return make_bunch(
        data if data.nnz < _DENSE_SHARE * n * d else data.toarray(),
        target.astype(np.uint8),
        feature_names=_names(arrays, "feature_names", d, path),
        label_names=_names(arrays, "label_names", target.shape[1], path),
        feature_n_values=None if n_values is None else n_values.astype(np.int32),
        split=None if split is None else split.astype(np.uint8),
        descr=Path(path).name,
    )


def _features(arrays: dict[str, np.ndarray], path: str | Path) -> sparse.csr_matrix:
    parts = arrays["X_data"], arrays["X_indices"], arrays["X_indptr"]
    try:
        shape = tuple(int(size) for size in arrays["X_shape"])
        untrusted.check_compressed(*parts, shape)
        data = sparse.csr_matrix((parts[0].astype(np.float64), *parts[1:]), shape=shape)
    except Exception as error:  # SciPy raises errors of many kinds
        raise FormatError(path, f"the X arrays are not a CSR matrix ({reason(error)})") from error
    check_width(shape[1], "features", path)
    if not data.has_canonical_format:
        data.sum_duplicates()
    return data


def _vector(
    arrays: dict[str, np.ndarray], key: str, size: int, kinds: str, path: str | Path
) -> np.ndarray | None:
    array = arrays.get(key)
    if array is not None and (array.shape != (size,) or array.dtype.kind not in kinds):
        raise FormatError(path, f"{key} is not a vector of {size} entries of the right type")
    return array


def _names(
    arrays: dict[str, np.ndarray], key: str, size: int, path: str | Path
) -> list[str] | None:
    array = _vector(arrays, key, size, "U", path)
    if array is None:
        return None
    names = array.tolist()
    check_unique(names, key.removesuffix("s").replace("_", " "), path)
    return names


def write_npz(
    path: str | Path,
    data: Any,
    target: Any,
    *,
    feature_names: Iterable[str] | None = None,
    label_names: Iterable[str] | None = None,
    feature_n_values: Any = None,
    split: Any = None,
) -> None:
    """Write a dataset in labelkin's ``.npz`` format, whole or not at all.

    Parameters
    ----------
    path : str or Path
    data, target, feature_names, label_names, feature_n_values
        As in `write_arff`; names that are not given are left out of the file.
    split : array-like of shape (n,), optional
        0 for original training rows, 1 for test rows.

    """
    content = check_content(
        path, data, target, feature_names, label_names, feature_n_values, one_table=False
    )
    features = sparse.csr_matrix(content.data, copy=True)
    features.eliminate_zeros()
    arrays = {
        "X_data": features.data,
        "X_indices": features.indices,
        "X_indptr": features.indptr,
        "X_shape": np.array(features.shape, dtype=np.int64),
        "Y": content.target.toarray(),
        "feature_n_values": content.feature_n_values,
    }
    for key, names, given in zip(
        ("feature_names", "label_names"),
        (content.feature_names, content.label_names),
        content.named,
        strict=True,
    ):
        if given:
            arrays[key] = np.array(names, dtype=np.str_)
            if arrays[key].tolist() != names:
                raise ValueError(f"{key}: NumPy cannot store a name that ends with a NUL character")
    if split is not None:
        arrays["split"] = np.asarray(split).astype(np.uint8)
        if arrays["split"].shape != (features.shape[0],):
            raise ValueError(f"split takes one entry per row, {features.shape[0]}")
    buffer = io.BytesIO()  # a zip file seeks, which a compressed stream cannot
    np.savez_compressed(buffer, **arrays)
    with open_for_writing(path) as file:
        file.write(buffer.getbuffer())
