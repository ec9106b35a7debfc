"""Arrays of NumPy: labelkin's own ``.npz`` format, other ``.npz`` files, and pairs of ``.npy``."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils import untrusted
from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, read_unpacked, reason, shorten, strip_compression
from labelkin._utils.names import join_names
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._columns import check_unique, normal_form
from labelkin.datasets.formats._raw_table import Guess, Options, RawTable, as_string

_REQUIRED = ("X_data", "X_indices", "X_indptr", "X_shape", "Y")
_OPTIONAL = ("feature_n_values", "feature_names", "label_names", "split")
# Features with a smaller share of non-zeros stay sparse.
_DENSE_SHARE = 0.5
# Of each argument: what its array holds, and the usual names of the array in files of others.
_ROLES = {"x": ("features", "X", "x"), "y": ("labels", "y", "Y")}


def read_arrays(raw: bytes, budget: Budget, options: Options) -> RawTable:
    """Return a dataset of arrays; nothing in the file is executed.

    The options `x` and `y` are names of arrays in an ``.npz`` file; of an ``.npy`` file, `y` is the
    file with the labels.
    """
    path, guesses, x, y = budget.source, list[Guess](), options.x, options.y
    if options.labels is not None:
        text = f"{path}: arrays have no named columns; leave out labels=, or name labels with y="
        raise ArgumentError(text, "labels", "y")
    is_own, file = False, path
    try:
        if strip_compression(path).suffix.lower() == ".npy":
            x, y = "X", y or _find_pair(Path(path), guesses)
            arrays = {x: untrusted.read_npy(raw)}
        else:
            with zipfile.ZipFile(io.BytesIO(raw)) as archive:
                parts = archive.namelist()
            names = [part.removesuffix(".npy") for part in parts if part.endswith(".npy")]
            is_own = x is None and y is None and "X_data" in names
            if not is_own:
                x, y = _find_array(names, "x", x, path), _find_array(names, "y", y, path)
            wanted = _REQUIRED + _OPTIONAL if is_own else (str(x), str(y))
            arrays = untrusted.read_npz(raw, wanted, budget.limit)
        if y is not None and y not in arrays:
            file = y
            arrays[y] = untrusted.read_npy(read_unpacked(y))
    except (FormatError, OSError):
        raise
    except Exception as error:  # zip, deflate and NumPy raise errors of many kinds
        text = f"not a readable file of arrays ({reason(error)})"
        raise FormatError(file, text) from error
    if is_own:
        return _read_own(arrays, budget)
    data = _as_features(arrays[str(x)], budget, guesses)
    if y is None:
        return RawTable(str(path), data, None, guesses=guesses)
    if (n_labelled := arrays[y].shape[:1]) != (len(data),):
        text = f"X has {len(data):,} rows, y has {sum(n_labelled):,}"
        raise FormatError(path, text)
    target, label_names = _as_labels(arrays[y], budget, guesses)
    return RawTable(str(path), data, None, label_names, target, guesses=guesses)


def _find_array(names: list[str], argument: str, given: str | None, path: str | Path) -> str | None:
    """Return the array of features or labels; an archive may lack the latter."""
    role, *usual = _ROLES[argument]
    if argument == "x" and len(names) == 1:
        usual += names
    chosen = given or next((name for name in usual if name in names), None)
    if chosen not in names and (chosen or argument == "x"):
        text = f"no array {shorten(chosen) if chosen else 'X'}; it holds the arrays"
        text += f" {join_names(names)}; name that of the {role} with {argument}="
        raise FormatError(path, text, None, argument)
    return chosen


def _find_pair(path: Path, guesses: list[Guess]) -> str | None:
    """Return the file of labels beside one of features: y.npy of X.npy, y_train.npy of x_train."""
    for letter in "yY":
        pair = path.with_name(letter + path.name[1:])
        if path.name[0] in "xX" and pair.is_file():
            guesses.append(Guess(f"labels from {pair.name}", ("y",)))
            return str(pair)
    return None


def _as_features(X: np.ndarray, budget: Budget, guesses: list[Guess]) -> np.ndarray:
    if X.ndim < 2 or X.dtype.kind not in "biuf" or not len(X):
        raise FormatError(budget.source, "X is not an array of numbers with one row per sample")
    budget.take(8 * X.size)
    if X.ndim > 2:
        size = " × ".join(map(str, X.shape[1:]))
        X = X.reshape(len(X), -1)
        guesses.append(Guess(f"X: arrays of {size} flattened to {X.shape[1]:,} features", ()))
    return X.astype(np.float32 if X.dtype == np.float32 else np.float64)


def _as_labels(
    y: np.ndarray, budget: Budget, guesses: list[Guess]
) -> tuple[np.ndarray, list[str] | None]:
    """Return labels as a matrix of 0 and 1, with their names if they are classes."""
    if y.ndim == 2 and y.dtype.kind in "if" and -1 in y and np.isin(y, (-1, 1)).all():
        guesses.append(Guess("-1 means no", ()))
        y = y > 0
    if y.dtype.kind in "biuf" and y.ndim in (1, 2) and np.isin(y, (0, 1)).all():
        return y.reshape(len(y), -1).astype(np.uint8), None
    is_whole = y.dtype.kind in "iuU" or (y.dtype.kind == "f" and (y % 1 == 0).all())
    if y.size != len(y) or not is_whole:
        text = "y is neither a matrix of 0 and 1 nor a vector with the class of each row"
        raise FormatError(budget.source, text)
    classes, codes = np.unique(y.ravel(), return_inverse=True)
    budget.take_columns(len(classes), "labels", each=len(y))
    guesses.append(Guess(f"y: {len(classes):,} classes, one label each", ()))
    names = [as_string(value) for value in classes.tolist()]
    return (codes.reshape(-1, 1) == np.arange(len(classes))).view(np.uint8), names


def _read_own(arrays: dict[str, np.ndarray], budget: Budget) -> RawTable:
    """Return a dataset in labelkin's own format.

    ``data`` is CSR when less than half of it is non-zero.
    """
    path = budget.source
    missing = [key for key in _REQUIRED if key not in arrays]
    if missing:
        raise FormatError(path, f"the array {missing[0]!r} is missing; is it a labelkin dataset?")
    parts, target = (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"]), arrays["Y"]
    try:
        n, d = shape = tuple(int(size) for size in arrays["X_shape"])
        untrusted.check_compressed(*parts, shape)
        data = sparse.csr_matrix((parts[0].astype(np.float64), *parts[1:]), shape=shape)
    except Exception as error:  # SciPy raises errors of many kinds
        raise FormatError(path, f"the X arrays are not a CSR matrix ({reason(error)})") from error
    budget.take_columns(d, "features")
    data.sum_duplicates()
    if target.ndim != 2 or target.dtype.kind not in "biuf" or not np.isin(target, (0, 1)).all():
        raise FormatError(path, "Y is not a matrix of 0 and 1")
    if target.shape[0] != n:
        raise FormatError(path, f"X has {n} rows, Y has {target.shape[0]}")
    vectors: dict[str, Any] = dict.fromkeys(_OPTIONAL)
    sizes = (d, d, target.shape[1], n)
    for key, size, kinds in zip(_OPTIONAL, sizes, ("iu", "U", "U", "biu"), strict=True):
        if (found := arrays.get(key)) is None:
            continue
        if found.shape != (size,) or found.dtype.kind not in kinds:
            text = f"{key} is not a vector of {size} entries of the right type"
            raise FormatError(path, text)
        vectors[key] = found
        if kinds == "U":
            vectors[key] = [normal_form(name) for name in found.tolist()]
            check_unique(vectors[key], key.removesuffix("s").replace("_", " "), path)
    n_values, features, labels, split = vectors.values()
    if n_values is not None and not ((n_values >= 0) & (n_values < 2**31)).all():
        raise FormatError(path, "feature_n_values holds a number that is not a count")
    if split is not None and not np.isin(split, (0, 1)).all():
        raise FormatError(path, "split holds other values than 0 (training rows) and 1 (test rows)")
    return RawTable(
        str(path),
        data if data.nnz < _DENSE_SHARE * n * d else data.toarray(),
        features,
        labels,
        target.astype(np.uint8),
        n_values=None if n_values is None else n_values.astype(np.int32),
        split=None if split is None else split.astype(np.uint8),
    )
