"""labelkin's own format: one ``.npz`` file of plain arrays."""

from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from labelkin._utils import untrusted
from labelkin._utils.files import FormatError, read_unpacked, reason
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._columns import check_unique
from labelkin.datasets.formats._raw_table import make_bunch

_REQUIRED = ("X_data", "X_indices", "X_indptr", "X_shape", "Y")
_OPTIONAL = ("feature_n_values", "feature_names", "label_names", "split")
# Features with a smaller share of non-zeros stay sparse.
_DENSE_SHARE = 0.5


def read_npz(path: str | Path) -> Bunch:
    """Return a dataset in labelkin's own format; nothing in the file is executed.

    ``data`` is CSR when less than half of it is non-zero; ``split`` is 0 for original training rows
    and 1 for test rows, where known.
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
    if n_values is not None and not ((n_values >= 0) & (n_values < 2**31)).all():
        raise FormatError(path, "feature_n_values holds a number that is no count of values")
    if split is not None and not np.isin(split, (0, 1)).all():
        raise FormatError(path, "split holds other values than 0 (training rows) and 1 (test rows)")
    return make_bunch(
        path,
        data if data.nnz < _DENSE_SHARE * n * d else data.toarray(),
        target.astype(np.uint8),
        feature_names=_names(arrays, "feature_names", d, path),
        label_names=_names(arrays, "label_names", target.shape[1], path),
        feature_n_values=None if n_values is None else n_values.astype(np.int32),
        split=None if split is None else split.astype(np.uint8),
    )


def _features(arrays: dict[str, np.ndarray], path: str | Path) -> sparse.csr_matrix:
    parts = arrays["X_data"], arrays["X_indices"], arrays["X_indptr"]
    try:
        shape = tuple(int(size) for size in arrays["X_shape"])
        untrusted.check_compressed(*parts, shape)
        data = sparse.csr_matrix((parts[0].astype(np.float64), *parts[1:]), shape=shape)
    except Exception as error:  # SciPy raises errors of many kinds
        raise FormatError(path, f"the X arrays are not a CSR matrix ({reason(error)})") from error
    Budget(path).take_columns(shape[1], "features")
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
