"""Arrays of NumPy: labelkin's own ``.npz`` format, other ``.npz`` files, and pairs of ``.npy``.

A file of a pair may also hold a sparse matrix, as SciPy's ``save_npz`` writes it.
"""

import io
import zipfile
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils import untrusted
from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, read_unpacked, reason, shorten, strip_compression
from labelkin._utils.names import join_names
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._bunch import spread_classes
from labelkin.datasets.formats._columns import check_unique, normal_form
from labelkin.datasets.formats._raw_table import Guess, Options, RawTable, flatten

_REQUIRED = ("X_data", "X_indices", "X_indptr", "X_shape", "Y")
_OPTIONAL = ("feature_n_values", "feature_names", "label_names", "split")
# What SciPy's save_npz writes of every sparse matrix, and by its form.
_SPARSE = ("format", "shape", "data")
_FORMS = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}
# Of each argument: what its array holds, and the usual names of the array in files of others.
_ROLES = {"x": ("features", "X", "x"), "y": ("labels", "y", "Y")}
# The cure for arrays that only Python could load.
_OBJECTS = "; save X as numbers, and y as numbers or texts: y.astype(str) or, if it holds lists, "
_OBJECTS += "np.array([';'.join(labels) for labels in y])"
# The usual names of arrays with the names of features and of labels.
_FEATURE_NAMES = ("feature_names", "columns")
_LABEL_NAMES = ("label_names", "class_names", "target_names", "labels", "classes")


def read_arrays(raw: bytes, budget: Budget, options: Options) -> RawTable:
    """Return a dataset of arrays; nothing in the file is executed.

    The options `x` and `y` are names of arrays in an ``.npz`` file, or `y` is the file with the
    labels, as it is for an ``.npy`` file or one with a sparse matrix. If `y` is empty, no labels
    are read.
    """
    path, guesses, x, y = budget.source, list[Guess](), options.x, options.y
    if options.labels is not None:
        text = f"{path}: arrays have no named columns; leave out labels="
        text += "" if y else ", or name a file of labels with y="
        raise ArgumentError(text, "labels", "y")
    is_own, file, names = False, path, list[str]()
    try:
        is_array = strip_compression(path).suffix.lower() == ".npy"
        names = names if is_array else _list_arrays(raw)
        if is_array or (x is None and {*_SPARSE} <= {*names}):
            x, y = "X", _find_pair(Path(path), guesses) if y is None else y
            arrays = {x: _read_array(raw, budget)}
        else:
            is_own = x is None and not y and "X_data" in names
            if not is_own:
                x = _find_array(names, "x", x, path)
                is_file = y and y not in names and Path(y).is_file()
                y = y if y == "" or is_file else _find_array(names, "y", y, path)
            wanted = _REQUIRED + _OPTIONAL if is_own else (str(x), str(y))
            arrays = untrusted.read_npz(raw, wanted, budget.limit)
        if y and y not in arrays:
            file, labels = y, read_unpacked(y)
            if not labels.startswith((b"\x93NUMPY", b"PK")):
                text = "y= takes a file that np.save or SciPy's save_npz wrote (.npy or .npz)"
                raise FormatError(y, text, None, "y")
            arrays[y] = _read_array(labels, budget)
    except (FormatError, OSError):
        raise
    except Exception as error:  # zip, deflate and NumPy raise errors of many kinds
        text = f"not a readable file of arrays ({reason(error)})"
        text += _OBJECTS if isinstance(error, untrusted.ObjectArrayError) else ""
        raise FormatError(file, text) from error
    if is_own:
        return _read_own(arrays, budget)
    data = _as_features(arrays[str(x)], budget, guesses)
    names = [name for name in names if name not in (x, y)]
    features = _read_names(raw, _FEATURE_NAMES, names, budget, guesses)
    features = features if len(features) == data.shape[1] else []
    if not y:
        return RawTable(str(path), data, features or None, guesses=guesses)
    if (n_labelled := arrays[y].shape[:1]) != data.shape[:1]:
        text = f"X has {data.shape[0]:,} rows, y has {sum(n_labelled):,}"
        raise FormatError(path, text)
    given = _read_names(raw, _LABEL_NAMES, names, budget, guesses)
    target, label_names = _as_labels(arrays[y], budget, guesses, given)
    return RawTable(str(path), data, features or None, label_names, target, guesses=guesses)


def _read_names(
    raw: bytes, usual: Iterable[str], names: list[str], budget: Budget, guesses: list[Guess]
) -> list[str]:
    """Return the names in the first array that is called as usual; an empty list without any."""
    for name in (name for name in usual if name in names):
        try:
            found = untrusted.read_npz(raw, [name], budget.limit)[name]
        except ValueError:  # Python objects
            text = f"{name} left out: it holds objects; save it as np.array({name}, dtype=str)"
            guesses.append(Guess(text, ()))
            continue
        if found.ndim == 1 and found.dtype.kind == "U":
            chosen = [normal_form(one) for one in found.tolist()]
            check_unique(chosen, name.removesuffix("s").replace("_", " "), budget.source)
            return chosen
    return []


def _list_arrays(raw: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        parts = archive.namelist()
    return [part.removesuffix(".npy") for part in parts if part.endswith(".npy")]


def _read_array(raw: bytes, budget: Budget) -> Any:
    """Return the array of an ``.npy`` file, or a sparse matrix that SciPy's ``save_npz`` wrote."""
    if not raw.startswith(b"PK"):
        return untrusted.read_npy(raw)
    names = {*_SPARSE, *chain(*_FORMS.values())}
    arrays = untrusted.read_npz(raw, names, budget.limit)
    if not {*_SPARSE} <= {*arrays}:
        raise ValueError("it holds neither one array nor a sparse matrix")
    form = str(arrays["format"].astype(str))
    if form not in _FORMS:
        raise ValueError(f"a sparse matrix in the form {form}; save X.tocsr()")
    return _as_csr(arrays, budget, form)


def _as_csr(arrays: Mapping[str, np.ndarray], budget: Budget, form: str = "csr") -> Any:
    """Return a sparse matrix of numbers, in one of SciPy's forms, as CSR."""
    n, d = shape = tuple(int(size) for size in arrays["shape"])
    values, first, second = (arrays[name] for name in ("data", *_FORMS[form]))
    budget.take(8 * n)
    if form == "coo":
        if {first.dtype.kind, second.dtype.kind} - {*"iu"} or values.dtype.kind not in "biuf":
            raise ValueError("a sparse matrix holds other values than numbers")
        matrix: Any = sparse.coo_matrix((values, (first, second)), shape)
    else:
        untrusted.check_compressed(values, first, second, shape if form == "csr" else shape[::-1])
        make = sparse.csr_matrix if form == "csr" else sparse.csc_matrix
        matrix = make((values, first, second), shape=shape)
    matrix = matrix.astype(np.float64, copy=False).tocsr()
    budget.take_columns(d, "features")
    matrix.sum_duplicates()
    return matrix


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
        named = path.with_name(letter + path.name[1:])
        for pair in (named, named.with_suffix(".npy")):  # which may be that of a sparse matrix
            if path.name[0] in "xX" and pair.is_file():
                guesses.append(Guess(f"labels from {pair.name}", ("y",)))
                return str(pair)
    return None


def _as_features(X: Any, budget: Budget, guesses: list[Guess]) -> Any:
    if sparse.issparse(X) and X.shape[0]:
        return _by_density(X)
    if X.ndim < 2 or X.dtype.kind not in "biuf" or not X.shape[0]:
        raise FormatError(budget.source, "X is not an array of numbers with one row per sample")
    budget.take(8 * X.size)
    X, flattened = flatten(X)
    guesses += flattened
    return X.astype(np.float32 if X.dtype == np.float32 else np.float64)


def _by_density(X: Any) -> Any:
    """Return a CSR matrix as an array unless less than half of it is non-zero."""
    return X if 2 * X.nnz < X.shape[0] * X.shape[1] else X.toarray()


def _as_labels(
    y: Any, budget: Budget, guesses: list[Guess], given: list[str]
) -> tuple[np.ndarray, list[str] | None]:
    """Return labels as a matrix of 0 and 1, with their names if they are classes; texts unchanged.

    Those that are `given` are the names if they are as many, also of classes from 0 on.
    """
    if sparse.issparse(y):
        budget.take_columns(y.shape[1], "labels", each=8 * y.shape[0])
        y = y.toarray()
    if y.ndim == 2 and y.dtype.kind in "if" and -1 in y and np.isin(y, (-1, 1)).all():
        guesses.append(Guess("-1 means no", ()))
        y = y > 0
    if y.dtype.kind in "biuf" and y.ndim in (1, 2) and np.isin(y, (0, 1)).all():
        y = y.reshape(len(y), -1).astype(np.uint8)
        return y, given if len(given) == y.shape[1] else None
    if y.dtype.kind == "U" and y.size == len(y):
        return y.ravel(), None
    is_whole = y.dtype.kind in "iu" or (y.dtype.kind == "f" and (y % 1 == 0).all())
    if y.size != len(y) or not is_whole:
        text = "y is neither a matrix of 0 and 1 nor a vector with the class of each row"
        raise FormatError(budget.source, text)
    labels, names = spread_classes(y.ravel(), budget)
    guesses.append(Guess(f"y: {len(names):,} classes, one label each", ()))
    if given and y.min() >= 0 and y.max() < len(given):
        names = [given[int(name)] for name in names]
    return labels, names


def _read_own(arrays: dict[str, np.ndarray], budget: Budget) -> RawTable:
    """Return a dataset in labelkin's own format."""
    path = budget.source
    missing = [key for key in _REQUIRED if key not in arrays]
    if missing:
        raise FormatError(path, f"the array {missing[0]!r} is missing; is it a labelkin dataset?")
    target = arrays["Y"]
    try:
        data = _as_csr({name.removeprefix("X_"): arrays[name] for name in _REQUIRED}, budget)
    except FormatError:
        raise
    except Exception as error:  # SciPy raises errors of many kinds
        raise FormatError(path, f"the X arrays are not a CSR matrix ({reason(error)})") from error
    n, d = data.shape
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
        _by_density(data),
        features,
        labels,
        target.astype(np.uint8),
        n_values=None if n_values is None else n_values.astype(np.int32),
        split=None if split is None else split.astype(np.uint8),
    )
