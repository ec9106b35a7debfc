"""Writing and reading model files."""

import io
import json
import os
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import labelkin
from labelkin._utils.files import FormatError, open_for_writing, reason
from labelkin._utils.optional import import_optional
from labelkin.persistence._checks import check_model
from labelkin.persistence._names import to_file_names, to_import_paths

FORMAT = 2
"""Number of the format that is written. Number 1, before the first release, is not read."""

_HEAD, _SCHEMA = "labelkin.json", "schema.json"
# Types outside labelkin that models hold and that skops leaves to its caller.
_TRUSTED = {
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "scipy.sparse._csc.csc_array",
    "scipy.sparse._csc.csc_matrix",
    "sklearn.tree._tree.Tree",  # its indices are checked after loading
}


@dataclass(frozen=True)
class ModelInfo:
    """What a model file contains besides the model."""

    format: int
    """Number of the file's format."""
    version: str
    """The version of labelkin that wrote it."""
    sklearn_version: str
    """The version of scikit-learn that was used."""
    label_names: list[str] | None = None
    """Names of the labels in the order of the model's outputs, where known."""
    details: dict[str, Any] = field(default_factory=dict)
    """The ``details`` given to :func:`save_model`."""


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
        Anything that JSON can hold; :func:`model_info` returns it.
    trusted : iterable of str, optional
        Full names of further types in the model, such as your own estimator's. The same
        names must be given to :func:`load_model`. Without them such a model is refused here
        rather than when it is loaded.

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
    try:
        raw = skops.dumps(model)
        named = skops.get_untrusted_types(data=raw)
    except Exception as error:  # skops has its own kinds, and lets those of __reduce__ pass
        raise ValueError(
            f"this {type(model).__name__} cannot be saved ({reason(error)})."
        ) from error
    schema = to_file_names(_read_member(raw, _SCHEMA))
    _, ours = to_import_paths(schema)
    if unknown := _unknown(named, ours, trusted):
        raise ValueError(
            f"this {type(model).__name__} holds {unknown}, which load_model would refuse; "
            "if you trust it, name it with trusted= here and there."
        )
    changed = {_SCHEMA: schema, _HEAD: json.dumps(head, ensure_ascii=False).encode()}
    with open_for_writing(path) as file:
        _copy_archive(raw, file, changed, zipfile.ZIP_DEFLATED)


def load_model(path: str | os.PathLike[str], *, trusted: Iterable[str] = ()) -> Any:
    """Read a model that :func:`save_model` wrote; needs the ``persist`` extra.

    Nothing in the file is executed. A file that is not a labelkin model, is damaged, or names a
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
        schema, ours = to_import_paths(_read_member(raw, _SCHEMA))
        buffer = io.BytesIO()
        _copy_archive(raw, buffer, {_SCHEMA: schema}, zipfile.ZIP_STORED)
        named = skops.get_untrusted_types(data=buffer.getvalue())
    except Exception as error:  # JSON, zip, arrays, schema: each has its own kinds
        raise _damaged(path, error) from error
    if unknown := _unknown(named, ours, trusted):
        raise FormatError(
            path,
            f"it names {unknown}, which labelkin {labelkin.__version__} does not load; nothing "
            "was loaded. If you trust the file, name it with trusted=",
        )
    try:
        model = skops.loads(buffer.getvalue(), trusted=named)
        check_model(model)
    except Exception as error:
        raise _damaged(path, error) from error
    if not (hasattr(model, "predict") or hasattr(model, "transform")):
        raise FormatError(path, f"it holds {type(model).__name__}, which is no model")
    return model


def model_info(path: str | os.PathLike[str]) -> ModelInfo:
    """Return what a model file contains besides the model, without loading the model."""
    path = Path(path)
    return _read_head(path.read_bytes(), path)


def label_names_of(model: Any) -> list[str] | None:
    """Return the label names of a fitted model, or of a pipeline's last step, where known."""
    while not hasattr(model, "label_names_"):
        if hasattr(model, "steps"):
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return None
    return [str(name) for name in model.label_names_]


def _read_head(raw: bytes, path: Path) -> ModelInfo:
    """Check that a file is a labelkin model in the format that is read here."""
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
    if text is None or _SCHEMA not in members:
        raise FormatError(path, "not a labelkin model (it is a zip archive of something else)")
    try:
        head = json.loads(text)
        number, version = head["format"], head["labelkin"]
        names, details = head.get("label_names"), head.get("details", {})
        valid = (
            isinstance(number, int)
            and number >= 1
            and isinstance(version, str)
            and (names is None or all(isinstance(name, str) for name in names))
            and isinstance(details, dict)
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        valid = False
    if not valid:
        raise FormatError(path, f"the model's {_HEAD} is damaged")
    if number > FORMAT:
        raise FormatError(
            path,
            f"written by labelkin {version} in a format newer than labelkin "
            f"{labelkin.__version__} reads; upgrade labelkin",
        )
    if number < FORMAT:
        raise FormatError(
            path,
            "written before the first release of labelkin in a format that is no longer read; "
            "fit the model again",
        )
    return ModelInfo(number, version, str(head.get("scikit-learn", "")), names, details)


def _read_member(raw: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return archive.read(name)


def _copy_archive(raw: bytes, file: BinaryIO, changed: dict[str, bytes], compression: int) -> None:
    """Write a zip archive again with some of its members changed or added."""
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(file, "w", compression) as new:
        for name in dict.fromkeys([*old.namelist(), *changed]):
            new.writestr(name, changed[name] if name in changed else old.read(name))


def _unknown(named: list[str], ours: dict[str, str | None], trusted: Iterable[str]) -> str:
    """Return, as words, the names in a file that neither labelkin nor the caller trusts."""
    unknown = {*named} - _TRUSTED - {*ours.values()}
    unknown |= {name for name, path in ours.items() if path is None}
    listed = sorted(unknown - {*trusted})
    return ", ".join(listed[:3]) + (", …" if len(listed) > 3 else "")


def _damaged(path: Path, error: Exception) -> FormatError:
    return FormatError(path, f"the model is damaged or tampered with ({reason(error)})")
