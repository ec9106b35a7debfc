"""Arrays and JSON values from untrusted files, validated before other code uses them.

SciPy, scikit-learn and numba follow the indices in an array without a check. Whatever reads
arrays from a file checks them here.
"""

import io
import json
import math
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from labelkin._utils.files import shorten
from labelkin._utils.limits import check_archive, read_part

_SPACE = re.compile(r"\s*")


class ObjectArrayError(ValueError):
    """An array holds Python objects, and loading these could execute anything."""


def check_json(value: Any, form: Any) -> None:
    """Raise ValueError unless a value from JSON has a form.

    A form is a type, where `object` is any; None; a tuple of forms, one of which fits; a set of
    the strings allowed; a list with the form of each item; or a dictionary of forms by key. Keys
    may be absent; other keys have the form of the key ``str``, and without one are refused.

    >>> check_json({"a": [1, None]}, {"a": [(int, None)], "b": str})
    """
    if isinstance(form, tuple):
        for one in form:
            with suppress(ValueError):
                return check_json(value, one)
        valid = False
    elif isinstance(form, list):
        valid = isinstance(value, list)
        for item in value if valid else ():
            check_json(item, form[0])
    elif isinstance(form, dict):
        valid = isinstance(value, dict) and (str in form or value.keys() <= form.keys())
        for key, item in value.items() if valid else ():
            check_json(item, form.get(key, form.get(str)))
    elif isinstance(form, set):
        valid = isinstance(value, str) and value in form
    else:
        valid = value is None if form is None else form in (type(value), object)
    if not valid:
        raise ValueError(f"{shorten(repr(value))} is not expected there")


def iter_json(text: str, **options: Any) -> Iterator[Any]:
    """Yield the JSON values in a text, one after the other, such as one per line."""
    decoder, at = json.JSONDecoder(object_pairs_hook=unique_fields, **options), 0
    while (at := _SPACE.match(text, at).end()) < len(text):  # type: ignore[union-attr]
        found, at = decoder.raw_decode(text, at)
        yield found


def unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of an object; of two with one name Python would keep the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"an object has two fields named {shorten(twice)}; rename one")
    return found


def array_of(raw: Any, dtype: np.dtype, shape: Sequence[int], order: Any = "C") -> np.ndarray:
    """Return an array of a dtype of numbers, strings or records of them, made of bytes.

    ValueError is raised unless the bytes are as many as the dtype and the shape need.
    """
    if min(shape, default=0) < 0:
        raise ValueError("an array has a negative length")
    # No memory for an array without entries, whatever its other lengths: they are bounded too.
    # Entries without bytes get some from NumPy.
    large = max(shape, default=0) > max(len(raw), 2**24) or not dtype.itemsize
    if math.prod(shape) * dtype.itemsize != len(raw) or large:
        raise ValueError("the header of an array does not fit its content")
    if dtype.kind == "U" and len(raw):
        codes = np.frombuffer(raw, f"{dtype.byteorder}u4")
        if codes.max() > sys.maxunicode:
            raise ValueError("an array of strings holds invalid Unicode code points")
    if dtype.kind == "b" and len(raw) and np.frombuffer(raw, np.uint8).max() > 1:
        raise ValueError("an array of booleans holds other values")
    return np.ndarray(tuple(shape), dtype, raw, order=order).copy(order)


def read_npy(raw: bytes) -> np.ndarray:
    """Return an array in NumPy's format; the header must fit the content to the byte."""
    stream = io.BytesIO(raw)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError("an array has an unknown version of NumPy's format")
    if dtype.hasobject:
        raise ObjectArrayError("an array holds Python objects, which are not loaded")
    if dtype.kind not in "biufUS":
        raise ValueError(f"an array holds {dtype}, which is not expected here")
    return array_of(raw[stream.tell() :], dtype, shape, "F" if fortran else "C")


def read_npz(raw: bytes, names: Iterable[str], limit: int) -> dict[str, np.ndarray]:
    """Return those arrays of an ``.npz`` archive that have one of some names.

    All of its arrays together have at most `limit` bytes.
    """
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        check_archive(archive, limit)
        members = set(archive.namelist())
        found = [name for name in names if f"{name}.npy" in members]
        return {name: read_npy(read_part(archive, f"{name}.npy")) for name in found}


def check_compressed(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Any) -> None:
    """Raise ValueError unless arrays are a valid CSR matrix of a shape.

    SciPy's own ``check_format(full_check=True)`` passes over the indices where ``indptr[-1]`` is
    0, and its compiled code then follows the other entries of `indptr` out of bounds.
    """
    sizes = tuple(int(size) for size in shape)
    if len(sizes) != 2 or min(sizes) < 0 or max(sizes) > np.iinfo(np.int64).max // 16:
        raise ValueError("the shape of a sparse matrix is not two sizes")
    n_rows, n_columns = sizes
    arrays = {"data": data, "indices": indices, "indptr": indptr}
    for name, array in arrays.items():
        kinds = "biuf" if name == "data" else "iu"
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in kinds:
            raise ValueError(f"{name} of a sparse matrix is not a vector of numbers")
    if len(indptr) != n_rows + 1:
        raise ValueError(f"indptr of a sparse matrix has {len(indptr)} entries, not {n_rows + 1}")
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("indptr of a sparse matrix does not begin with 0 or decreases")
    if not int(indptr[-1]) == len(indices) == len(data):
        raise ValueError(
            f"indptr of a sparse matrix ends with {int(indptr[-1])} for {len(indices)} indices "
            f"and {len(data)} values"
        )
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < n_columns:
        raise ValueError("an index of a sparse matrix is out of range")
