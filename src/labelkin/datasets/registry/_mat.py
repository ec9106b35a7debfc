"""Matrices of a MATLAB file (version 5), read by ourselves.

`scipy.io.loadmat` builds whatever a file describes: sparse matrices with indices out of range,
objects, functions, and arrays of any declared size. Here a file holds numeric matrices or none.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from labelkin._utils.files import FormatError
from labelkin._utils.limits import max_unpacked, too_large
from labelkin._utils.untrusted import check_compressed

_HEADER_BYTES = 128
_MATRIX, _COMPRESSED = 14, 15
_SPARSE_CLASS = 5
_COMPLEX_FLAG = 0x0800
# Types of data by their numbers in the format, and the numbers of the classes of dense matrices.
_TYPES = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
_DENSE_CLASSES = range(6, 16)


def read_mat(path: str | Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Return numeric matrices of a MATLAB file as dense arrays of doubles.

    Parameters
    ----------
    path : str or Path
        The file, written by MATLAB 5 to 7.2 (``-v7``).
    names : iterable of str
        The matrices to read; others are passed over.

    Raises
    ------
    FormatError
        If the file is not such a file, or a matrix is missing or invalid.
    """
    raw = Path(path).read_bytes()
    wanted, found = set(names), {}
    limit = max_unpacked(len(raw))
    try:
        order = {b"IM": "<", b"MI": ">"}[raw[126:128]] if len(raw) > _HEADER_BYTES else ""
        for kind, content in _elements(memoryview(raw)[_HEADER_BYTES:], order):
            if kind == _COMPRESSED:
                kind, content = _unpack(content, order, limit)
                limit -= len(content)
            if kind != _MATRIX:
                raise ValueError(f"an element of type {kind} is no matrix")
            name, matrix = _matrix(content, order, wanted, limit)
            if matrix is not None:
                found[name] = matrix
                limit -= matrix.nbytes
    except (ValueError, KeyError, struct.error, zlib.error, OverflowError) as error:
        raise FormatError(path, f"not a valid MATLAB file ({error})") from error
    if missing := sorted(wanted - found.keys()):
        raise FormatError(path, f"the MATLAB file has no numeric matrix {missing[0]}")
    return found


def _elements(content: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield type and content of each data element."""
    at = 0
    while at < len(content):
        (kind,) = struct.unpack_from(order + "I", content, at)
        if kind >> 16:  # a short element: its length stands in the same word
            size, start, following = kind >> 16, at + 4, at + 8
            kind &= 0xFFFF
            if size > 4:
                raise ValueError("a short element is too long")
        else:
            (size,) = struct.unpack_from(order + "I", content, at + 4)
            start = at + 8
            # Elements begin at multiples of 8 bytes, except after compressed ones.
            following = start + size + (0 if kind == _COMPRESSED else -size % 8)
        if start + size > len(content):
            raise ValueError("it is cut short")
        yield kind, content[start : start + size]
        at = following


def _unpack(content: memoryview, order: str, limit: int) -> tuple[int, memoryview]:
    """Return the one element inside a compressed element."""
    unpacked = zlib.decompressobj().decompress(content, limit + 1)
    if len(unpacked) > limit:
        raise ValueError(too_large(limit))
    inner = list(_elements(memoryview(unpacked), order))
    if len(inner) != 1:
        raise ValueError("a compressed element holds no single element")
    return inner[0]


def _matrix(
    content: memoryview, order: str, wanted: set[str], limit: int
) -> tuple[str, np.ndarray | None]:
    """Return the name and the values of a matrix; None for one that is not wanted."""
    parts = list(_elements(content, order))
    if len(parts) < 3:
        raise ValueError("a matrix has no name")
    flags, shape, name = (_numbers(part, order) for part in parts[:3])
    text = name.astype(np.uint8).tobytes().decode("latin-1")
    if text not in wanted:
        return text, None
    kind, is_complex = int(flags[0]) & 0xFF, bool(int(flags[0]) & _COMPLEX_FLAG)
    if shape.shape != (2,) or (shape < 0).any() or is_complex:
        raise ValueError(f"{text} is not a matrix of real numbers")
    rows, columns = (int(size) for size in shape)
    if 8 * rows * columns > limit:
        raise ValueError(too_large(limit, text))
    values = [_numbers(part, order) for part in parts[3:]]
    if kind == _SPARSE_CLASS and len(values) == 3:
        # Row numbers, the start of each column, and the values; room may be left at the end.
        indices, starts, data = values
        count = int(starts[-1]) if len(starts) else 0
        csc = data[:count].astype(float), indices[:count], starts
        check_compressed(*csc, (rows, columns), "csc")
        return text, sp.csc_array(csc, shape=(rows, columns)).toarray()
    if kind not in _DENSE_CLASSES or len(values) != 1 or len(values[0]) != rows * columns:
        raise ValueError(f"{text} is not a matrix of real numbers")
    return text, values[0].astype(float).reshape(rows, columns, order="F")


def _numbers(element: tuple[int, memoryview], order: str) -> np.ndarray:
    kind, content = element
    if kind not in _TYPES:
        raise ValueError(f"an element of type {kind} holds no numbers")
    return np.frombuffer(content, dtype=order + _TYPES[kind])
