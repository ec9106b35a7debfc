"""Writing and reading model files."""

import hashlib
import io
import json
import math
import os
import warnings
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sklearn

import labelkin
from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, open_for_writing, read_bytes, reason
from labelkin._utils.labels import label_names_of
from labelkin._utils.limits import check_archive, max_unpacked, read_part, too_large
from labelkin._utils.untrusted import check_json
from labelkin.persistence._coding import Decoder, Encoder, UnknownTypeError, paths_of
from labelkin.persistence._types import check_label_names

FORMAT = 3
"""Number of the format that is written. Earlier ones, before the first release, are not read."""

_HEAD, _MODEL, _NUMBERS = "labelkin.json", "model.json", "numbers.bin"
_HEAD_FORM = {
    "format": int,
    "labelkin": str,
    "scikit-learn": str,
    "label_names": (None, [str]),
    "details": {str: object},
    str: object,
}
# JSON takes up to 40 times its size in memory.
_JSON_SHARE = 40
# A tree of a forest takes 1 kB of JSON, whatever its size: this much is always accepted.
_JSON_FLOOR = 2**24


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
    sha256: str = ""
    """Digest of the file, which :func:`save_model` returned and ``sha256sum`` prints."""


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    label_names: Iterable[str] | None = None,
    details: dict[str, Any] | None = None,
    trusted: Iterable[str] = (),
) -> str:
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        One of labelkin's or scikit-learn's, or a pipeline of such.
    path : path-like
        The file, customarily ``.labelkin``. An existing one is replaced once the new one is
        complete.
    label_names : iterable of str, optional
        Names of the labels; by default those the model learned from a DataFrame.
    details : dict, optional
        Anything that JSON can hold; :func:`model_info` returns it.
    trusted : iterable of str, optional
        Full names of further types and functions in the model, such as your own estimator's. The
        same names must be given to :func:`load_model`. Without them such a model is refused here
        rather than when it is loaded. Those of ``__main__``, lambdas, and methods of objects
        would not be found when it is loaded: import a function or class from a module.

    Returns
    -------
    str
        SHA-256 of the file, in hexadecimal digits. If it is sent separately from the file, it
        proves that the file is unaltered: ``load_model(path, expected_sha256=...)``.

    Examples
    --------
    >>> from labelkin import MLkNNClassifier
    >>> model = MLkNNClassifier(n_neighbors=1).fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    >>> save_model(model, "model.labelkin", label_names=["low", "high"])  # doctest: +SKIP
    >>> load_model("model.labelkin").predict([[0.2]])  # doctest: +SKIP
    array([[1, 0]])
    """
    if hasattr(model, "best_estimator_"):
        raise ValueError(f"a {type(model).__name__} is not saved; save its best_estimator_.")
    names = label_names_of(model) if label_names is None else [str(name) for name in label_names]
    classes: Any = getattr(model, "classes_", None)
    n_labels = len(classes) if getattr(classes, "ndim", 1) == 2 else None
    if names is not None and n_labels not in (None, len(names)):
        raise ValueError(f"label_names has {len(names)} names, but the model {n_labels} labels.")
    head = {
        "format": FORMAT,
        "labelkin": labelkin.__version__,
        "scikit-learn": sklearn.__version__,
        "label_names": names,
        "details": details or {},
    }
    trusted = paths_of(trusted)
    encoder = Encoder(trusted)
    try:
        check_label_names(names or ())
        content = encoder.encode(model)
        numbers = b"".join(encoder.blocks)
        if not encoder.unknown:
            Decoder(numbers, trusted).decode_all(content)
    except Exception as error:  # of the model's own types
        raise ValueError(
            f"this {type(model).__name__} cannot be saved ({reason(error)})."
        ) from error
    if encoder.unknown:
        raise ValueError(
            f"this {type(model).__name__} holds {', '.join(sorted(encoder.unknown))}, which "
            "load_model would refuse; if you trust it, name it with trusted= in save_model and "
            "load_model."
        )
    parts = {
        _HEAD: json.dumps(head, ensure_ascii=False).encode(),
        _MODEL: json.dumps(content, separators=(",", ":")).encode(),
        _NUMBERS: numbers,
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    raw = buffer.getvalue()
    with open_for_writing(path) as file:
        file.write(raw)
    return hashlib.sha256(raw).hexdigest()


def load_model(
    path: str | os.PathLike[str],
    *,
    trusted: Iterable[str] = (),
    expected_sha256: str | None = None,
) -> Any:
    """Read a model that :func:`save_model` wrote.

    Nothing in the file is executed. A file that is not a labelkin model, is damaged, or names a
    type outside the fixed list is refused before any part of it is built; so is one whose parts
    do not fit together. A file from an unknown source can still predict wrongly: only
    `expected_sha256` proves that a file is the one that was saved.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : iterable of str, optional
        Full names of further types you trust, such as ``"mypackage.MyClassifier"``. What they
        hold is not checked.
    expected_sha256 : str, optional
        The digest that :func:`save_model` returned, or ``sha256sum`` printed. A file with
        another one is refused before anything else is read.

    Returns
    -------
    estimator
        As it was saved.

    Raises
    ------
    ValueError
        One sentence that names the file and what is wrong with it.

    Notes
    -----
    A file may unpack to 256 MiB or 100 times its size, whichever is more, and to at most half of
    the available memory, unless the environment variable ``LABELKIN_MAX_UNPACKED`` is the number
    of bytes.
    """
    path = Path(path)
    raw = read_bytes(path)
    if expected_sha256 is not None:
        _check_digest(raw, expected_sha256, path)
    info, archive = _open(raw, path)
    if info.sklearn_version != sklearn.__version__:
        warnings.warn(
            f"{path} was saved with scikit-learn {info.sklearn_version}, and {sklearn.__version__} "
            "is installed: its predictions may differ. Install that version, or fit the model "
            "again.",
            stacklevel=2,
        )
    try:
        limit = max(max_unpacked(len(raw)) // _JSON_SHARE, _JSON_FLOOR)
        if archive.getinfo(_MODEL).file_size > limit:
            raise ValueError(too_large(limit, f"its {_MODEL}"))
        content = json.loads(read_part(archive, _MODEL))
        model = Decoder(read_part(archive, _NUMBERS), paths_of(trusted)).decode_all(content)
    except UnknownTypeError as error:
        raise FormatError(
            path,
            f"it names {error}, which labelkin {labelkin.__version__} does not load; nothing was "
            f"loaded. If you trust the file, load it in Python with load_model(path, trusted="
            f"['{error}']), and with any other names that were given to save_model",
        ) from None
    except Exception as error:  # JSON, zip, arrays, checks: each has its own kinds
        raise _damaged(path, error) from error
    if not (hasattr(model, "predict") or hasattr(model, "transform")):
        raise FormatError(path, f"it holds {type(model).__name__}, which is not a model")
    return model


def model_info(path: str | os.PathLike[str]) -> ModelInfo:
    """Return what a model file contains besides the model, without loading the model."""
    path = Path(path)
    raw = read_bytes(path)
    return _open(raw, path)[0]


def _open(raw: bytes, path: Path) -> tuple[ModelInfo, zipfile.ZipFile]:
    """Check that a file is a labelkin model in the format that is read here."""
    if raw[:1] == b"\x80":
        raise FormatError(
            path,
            "it is a pickle, which could run any code when loaded; labelkin reads models that "
            "labelkin fit or save_model wrote",
        )
    limit = max_unpacked(len(raw))
    try:
        archive = zipfile.ZipFile(io.BytesIO(raw))
        check_archive(archive, limit)
        sizes = {part.filename: part.file_size for part in archive.infolist()}
        is_ours = sizes.get(_HEAD, math.inf) <= limit // _JSON_SHARE
        text = read_part(archive, _HEAD) if is_ours else None
    except ValueError as error:
        raise _damaged(path, error) from error
    except Exception as error:  # zipfile and zlib have kinds of their own
        raise FormatError(path, "not a labelkin model, or a truncated one") from error
    if text is None:
        raise FormatError(path, "not a labelkin model (it is a zip archive of something else)")
    try:
        head = json.loads(text)
        check_json(head, _HEAD_FORM)
        json.dumps(head, ensure_ascii=False).encode()  # fails for lone surrogates
        number, version = head["format"], head["labelkin"]
        check_label_names(head.get("label_names") or ())
    except (ValueError, KeyError, RecursionError) as error:
        raise FormatError(path, f"the model's {_HEAD} is damaged") from error
    if number != FORMAT:
        cure = "upgrade labelkin" if number > FORMAT else "fit the model again"
        raise FormatError(
            path,
            f"written by labelkin {version} in a format that labelkin {labelkin.__version__} does "
            f"not read; {cure}",
        )
    versions = version, head.get("scikit-learn", "")
    recorded = head.get("label_names"), head.get("details", {})
    info = ModelInfo(number, *versions, *recorded, hashlib.sha256(raw).hexdigest())
    return info, archive


def _check_digest(raw: bytes, expected: str, path: Path) -> None:
    wanted = expected.strip().lower()
    if len(wanted) != 64 or not set(wanted) <= set("0123456789abcdef"):
        raise ArgumentError(
            f"expected_sha256={expected!r} is not 64 hexadecimal digits, as sha256sum prints them.",
            "expected_sha256",
        )
    found = hashlib.sha256(raw).hexdigest()
    if found != wanted:
        raise FormatError(path, f"its SHA-256 is {found}, not the expected one; nothing was loaded")


def _damaged(path: Path, error: Exception) -> FormatError:
    return FormatError(path, f"the model is damaged or tampered with ({reason(error)})")
