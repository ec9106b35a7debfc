"""Models in files that run nothing when they are read.

A pickle may run any code; these files cannot. They are `skops <https://skops.readthedocs.io>`_
archives: arrays and plain values, and the names of types. A name outside a fixed list is
refused before anything is built: labelkin's own estimators and their parts, and what skops
itself trusts of scikit-learn, NumPy and SciPy. Beside the model lies a small head,
``labelkin.json``, with the format's number, the versions, the label names, and what the
caller added.
"""

import errno
import importlib
import inspect
import io
import json
import os
import stat
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

import labelkin
from labelkin._utils.files import FormatError, open_for_writing, reason
from labelkin._utils.optional import import_optional

__all__ = ["ModelInfo", "label_names_of", "load_model", "model_info", "save_model"]

FORMAT = 1
"""Number of the format written now. Every earlier one is read."""

_HEAD = "labelkin.json"
# Modules whose classes may stand in a file. None of these classes does anything when it is
# made but keep its arguments.
_MODULES = tuple(
    f"labelkin.{room}."
    for room in [
        "calibration",
        "constraints",
        "decisions",
        "ensemble",
        "kernel",
        "kin",
        "neighbors",
        "projection",
        "tabular",
        "transformation",
        "tree",
    ]
)
# What else known models hold. No other function: it may be called with what the file says.
_NAMES = {
    "labelkin.registry.to_dense",
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "scipy.sparse._csc.csc_array",
    "scipy.sparse._csc.csc_matrix",
    # Skops leaves this one to its caller, for its indices are followed unchecked; see _check.
    "sklearn.tree._tree.Tree",
}


@dataclass(frozen=True)
class ModelInfo:
    """What a model file says about itself."""

    format: int
    """Number of the file's format."""
    version: str
    """The labelkin that wrote it."""
    sklearn_version: str
    """The scikit-learn that wrote it."""
    label_names: list[str] | None = None
    """Names of the labels in the order of the model's outputs, where known."""
    details: dict[str, Any] = field(default_factory=dict)
    """What else the caller of :func:`save_model` had to say."""


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    label_names: Iterable[str] | None = None,
    details: dict[str, Any] | None = None,
    trusted: Iterable[str] = (),
) -> None:
    """Write a fitted model to a file, whole or not at all; needs the ``persist`` extra.

    Parameters
    ----------
    model : estimator
        One of labelkin's or scikit-learn's, or a pipeline of such.
    path : path-like
        The file, customarily ``.skops``. An existing one is replaced once the new one is
        complete.
    label_names : iterable of str, optional
        Names of the labels; by default those the model learned from a DataFrame.
    details : dict, optional
        Anything that JSON can hold; :func:`model_info` gives it back.
    trusted : iterable of str, optional
        Full names of further types the model holds, such as your own estimator's. The same
        names must be given to :func:`load_model`. Without them such a model is refused here
        and not only when it is needed.

    Examples
    --------
    >>> from labelkin import MLkNNClassifier
    >>> model = MLkNNClassifier(n_neighbors=1).fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    >>> save_model(model, "model.skops", label_names=["low", "high"])  # doctest: +SKIP
    >>> load_model("model.skops").predict([[0.2]])  # doctest: +SKIP
    array([[1, 0]])
    """
    import sklearn

    skops = import_optional("skops.io", "persist")
    names = label_names_of(model) if label_names is None else [str(name) for name in label_names]
    head = {
        "format": FORMAT,
        "labelkin": labelkin.__version__,
        "scikit-learn": sklearn.__version__,
        "label_names": names,
        "details": details or {},
    }
    buffer = io.BytesIO()
    try:
        skops.dump(model, buffer, compression=zipfile.ZIP_DEFLATED)
        named = skops.get_untrusted_types(data=buffer.getvalue())
    except Exception as error:  # skops has its own kinds, and lets __reduce__'s pass
        raise ValueError(
            f"this {type(model).__name__} cannot be saved ({reason(error)})."
        ) from error
    if unknown := _unknown(named, trusted):
        raise ValueError(
            f"this {type(model).__name__} holds {_listed(unknown)}, which load_model would refuse; "
            "if you trust it, name it with trusted= here and there."
        )
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_HEAD, json.dumps(head, ensure_ascii=False))
    with write_whole(path) as file:
        file.write(buffer.getbuffer())


def load_model(path: str | os.PathLike[str], *, trusted: Iterable[str] = ()) -> Any:
    """Read a model that :func:`save_model` wrote; needs the ``persist`` extra.

    Nothing in the file is executed. What is not a labelkin model, is damaged, or names a
    type outside the fixed list is refused before any part of it is built.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : iterable of str, optional
        Full names of further types you trust, such as ``"mypackage.MyClassifier"``.

    Returns
    -------
    estimator
        As it was saved.

    Raises
    ------
    ValueError
        One sentence that names the file and what is wrong with it.
    """
    skops = import_optional("skops.io", "persist")
    path = Path(path)
    raw = path.read_bytes()
    _read_head(raw, path)
    try:
        named = skops.get_untrusted_types(data=raw)
    except Exception as error:  # JSON, zip, arrays, schema: each has its own kinds
        raise FormatError(
            path, f"the model is damaged or tampered with ({reason(error)})"
        ) from error
    if unknown := _unknown(named, trusted):
        raise FormatError(
            path,
            f"it names {_listed(unknown)}, which no labelkin model needs; nothing was loaded. "
            "If you know where the file comes from, name it with trusted=",
        )
    try:
        model = skops.loads(raw, trusted=named)
        _check(model)
    except Exception as error:
        raise FormatError(
            path, f"the model is damaged or tampered with ({reason(error)})"
        ) from error
    if not (hasattr(model, "predict") or hasattr(model, "transform")):
        raise FormatError(path, f"it holds {type(model).__name__}, which is no model")
    return model


def model_info(path: str | os.PathLike[str]) -> ModelInfo:
    """Return what a model file says about itself, without loading the model."""
    path = Path(path)
    return _read_head(path.read_bytes(), path)


def label_names_of(model: Any) -> list[str] | None:
    """Return the label names a fitted model, or a pipeline's last step, knows."""
    while not hasattr(model, "label_names_"):
        if hasattr(model, "steps"):
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return None
    return [str(name) for name in model.label_names_]


@contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that appears whole or not at all; a device or a pipe is written as it is.

    A link is followed: what it points to is replaced, not the link.
    """
    real = Path(os.path.realpath(path))
    try:
        mode = real.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        with open(real, "wb") as file:
            yield file
        return
    try:
        with open_for_writing(real) as file:
            yield file
    except OSError as error:  # the temporary neighbour's name says nothing to a user
        if error.filename and str(error.filename).endswith(".tmp"):
            error.filename, error.filename2 = str(path), None
        raise


def _read_head(raw: bytes, path: Path) -> ModelInfo:
    """Check that a file is a labelkin model of a format known here."""
    if raw[:1] == b"\x80":
        raise FormatError(
            path,
            "it is a pickle, which could run any code when loaded; labelkin reads models that "
            "labelkin fit or save_model wrote",
        )
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = set(archive.namelist())
            text = archive.read(_HEAD) if _HEAD in members else None
    except Exception as error:  # zipfile and zlib have kinds of their own
        raise FormatError(path, "not a labelkin model, or one that was cut short") from error
    if text is None or "schema.json" not in members:
        raise FormatError(path, "not a labelkin model (it is a zip archive of something else)")
    try:
        head = json.loads(text)
        number, version = head["format"], head["labelkin"]
        names, details = head.get("label_names"), head.get("details", {})
        fits = (
            isinstance(number, int)
            and number >= 1
            and isinstance(version, str)
            and (names is None or all(isinstance(name, str) for name in names))
            and isinstance(details, dict)
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        fits = False
    if not fits:
        raise FormatError(path, f"the model's {_HEAD} is damaged")
    if number > FORMAT:
        raise FormatError(
            path,
            f"written by labelkin {version} in a format newer than labelkin "
            f"{labelkin.__version__} knows; upgrade labelkin",
        )
    return ModelInfo(number, version, str(head.get("scikit-learn", "")), names, details)


def _unknown(named: list[str], trusted: Iterable[str]) -> list[str]:
    """Return those of a file's names (less skops' own) that are neither ours nor the caller's."""
    known = set(trusted)
    return [name for name in named if name not in known and not _is_ours(name)]


def _is_ours(name: str) -> bool:
    """Tell whether a name is a class that one of our model modules defines itself."""
    if name in _NAMES:
        return True
    module, _, attribute = name.rpartition(".")
    if not module.startswith(_MODULES):
        return False
    found = getattr(importlib.import_module(module), attribute, None)
    return inspect.isclass(found) and found.__module__ == module


def _check(model: Any) -> None:
    """Refuse indices that point nowhere: compiled code would follow them unchecked."""
    waiting, seen = [model], {id(model)}
    while waiting:
        part = waiting.pop()
        inner: Iterable[Any] = ()
        if sparse.issparse(part):
            if part.format in ("csr", "csc"):
                part.check_format(full_check=True)
        elif isinstance(part, np.ndarray):
            inner = part.ravel() if part.dtype == object else ()
        elif isinstance(part, dict):
            inner = part.values()
        elif isinstance(part, (list, tuple, set)):
            inner = part
        elif hasattr(part, "__dict__"):
            if hasattr(part, "tree_"):
                _check_tree(part.tree_, getattr(part, "n_features_in_", np.inf))
            inner = vars(part).values()
        for item in inner:
            if id(item) not in seen:
                seen.add(id(item))
                waiting.append(item)


def _check_tree(tree: Any, n_features: float) -> None:
    """Refuse a decision tree, ours or scikit-learn's, with a node that leads nowhere or back."""
    feature, left, right = tree.feature, tree.children_left, tree.children_right
    n = len(left)
    node = np.arange(n)
    # A child comes after its parent, so no walk down can turn in circles.
    inner = (left > node) & (left < n) & (right > node) & (right < n)
    inner &= (feature >= 0) & (feature < n_features)
    lengths = {len(part) for part in (feature, left, right, tree.threshold, tree.value)}
    if not n or lengths != {n} or not (inner | (left == -1)).all():
        raise ValueError("a decision tree is not one")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
