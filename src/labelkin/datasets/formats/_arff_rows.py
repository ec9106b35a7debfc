"""The rows of an ARFF file.

A plain row, which has no quotes, is split at its commas. Any other row, and any plain row with
a value that cannot be decoded, is read again token by token: that way is several times
slower, but it reads the whole language and is the only one that reports errors.
"""

import math
import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from scipy import sparse

from labelkin._utils.files import FormatError, shorten
from labelkin.datasets.formats._arff_header import (
    TOKEN,
    Attribute,
    feature_codes,
    label_codes,
    split_values,
    unquote,
    wrong_encoding,
)

_BLOCK = 100_000  # values decoded at once in dense rows
_SPARSE_ROWS = 500  # rows decoded at once
_INDEX = re.compile(r"\s*+([0-9]{1,9})(?=\s)")
_BARE = re.compile(r"""[^\s,'"][^\s,]*""")


class RowReader:
    """Decode the rows below ``@data`` into features and labels.

    Parameters
    ----------
    attributes : list of Attribute
        All columns of the file.
    features, labels : ndarray of int
        Positions of the columns to keep, ascending; the values of others are not decoded.
    path : str or Path
        For messages.
    encoding : str
        Of the text.

    """

    def __init__(
        self,
        attributes: list[Attribute],
        features: np.ndarray,
        labels: np.ndarray,
        path: str | Path,
        encoding: str,
    ) -> None:
        self.attributes, self.features, self.labels = attributes, features, labels
        self.path, self.encoding = path, encoding
        n = len(attributes)
        # By column: the codes of its nominal values (None: a number), and how a plain token
        # is decoded.
        self.codes: list[dict[str, float] | None] = [None] * n
        self.decoders: list[Callable[[str], float]] = [_ignore] * n
        self.defaults: dict[int, float] = {}  # non-zero values of columns a sparse row omits
        self.kept = {*features.tolist(), *labels.tolist()}
        shared: dict[Any, tuple[dict[str, float], Callable[[str], float]]] = {}
        for column in self.kept:
            if attributes[column].kind != "nominal":
                self.decoders[column] = float
                continue
            if column in labels:
                pairs = label_codes(attributes[column], path)
            else:
                pairs = feature_codes(attributes[column].values)
            if pairs not in shared:
                # A value that needs quotes cannot stand in a plain row; "?" is missing there.
                plain = {value: code for value, code in pairs if _BARE.fullmatch(value)}
                shared[pairs] = dict(pairs), {**plain, "?": math.nan}.__getitem__
            self.codes[column], self.decoders[column] = shared[pairs]
            if pairs[0][1]:
                self.defaults[column] = pairs[0][1]

    def read(self, file: BinaryIO, line: int) -> tuple[Any, Any]:
        """Read all rows; ``line`` is that of ``@data``. Sparse rows give sparse matrices."""
        rows = self._rows(file, line)
        first = list(islice(rows, 1))
        read = self._read_sparse if first and first[0][0].startswith("{") else self._read_dense
        return read(chain(first, rows))

    def _rows(self, file: BinaryIO, line: int) -> Iterator[tuple[str, int]]:
        """Yield rows with their line numbers, without blank lines and comments."""
        for raw in file:
            for part in raw.splitlines():  # a lone carriage return ends a line, too
                line += 1
                row = part.strip()
                if row and not row.startswith(b"%"):
                    try:
                        yield row.decode(self.encoding), line
                    except UnicodeDecodeError:
                        raise wrong_encoding(self.encoding, self.path, line) from None

    # --- dense rows -------------------------------------------------------------------------

    def _read_dense(self, rows: Iterator[tuple[str, int]]) -> tuple[np.ndarray, np.ndarray]:
        data, target = _GrowingArray(np.float64), _GrowingArray(np.uint8)
        block_rows = max(1, _BLOCK // len(self.attributes))
        while block := list(islice(rows, block_rows)):
            values = np.array([self._dense_row(text, line) for text, line in block])
            labels = values[:, self.labels]
            for row, column in np.argwhere((labels != 0) & (labels != 1)):
                self._refuse_label(column, labels[row, column], block[row][1])
            data.extend(values[:, self.features])
            target.extend(labels)
        X = data.build().reshape(-1, self.features.size)
        return X, target.build().reshape(len(X), self.labels.size)

    def _dense_row(self, text: str, line: int) -> list[float]:
        if _is_plain(text):
            tokens = text.split(",")
            if " " in text or "\t" in text:
                tokens = [token.strip() for token in tokens]
            try:
                return [decode(token) for decode, token in zip(self.decoders, tokens, strict=True)]
            except (KeyError, ValueError):
                pass  # read again below, where errors are reported
        if text.startswith("{"):
            raise FormatError(self.path, "a sparse row among dense ones", line)
        try:
            found = list(split_values(text))
        except ValueError as error:
            raise FormatError(self.path, str(error), line) from None
        if len(found) != len(self.attributes):
            raise FormatError(
                self.path, f"{len(found)} values for {len(self.attributes)} attributes", line
            )
        return [self._decode(i, token, quoted, line) for i, (token, quoted) in enumerate(found)]

    # --- sparse rows ------------------------------------------------------------------------

    def _read_sparse(
        self, rows: Iterator[tuple[str, int]]
    ) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        n_features, n_labels = self.features.size, self.labels.size
        data, target = _GrowingCSR(n_features, np.float64), _GrowingCSR(n_labels, np.uint8)
        # Where a column goes: features count from 0, labels after them, others nowhere (-1).
        places = np.full(len(self.attributes), -1)
        places[self.features] = np.arange(n_features)
        places[self.labels] = n_features + np.arange(n_labels)
        while block := list(islice(rows, _SPARSE_ROWS)):
            entries = [self._sparse_row(text, line) for text, line in block]
            row = np.repeat(np.arange(len(block)), [len(pairs) for pairs in entries])
            place = places[np.fromiter(chain.from_iterable(entries), np.intp, row.size)]
            value = np.fromiter(
                chain.from_iterable(pairs.values() for pairs in entries), float, row.size
            )
            is_label = place >= n_features
            for at in np.flatnonzero(is_label & (value != 0) & (value != 1)):
                self._refuse_label(place[at] - n_features, value[at], block[row[at]][1])
            is_feature = (place >= 0) & ~is_label
            data.extend(len(block), row[is_feature], place[is_feature], value[is_feature])
            target.extend(len(block), row[is_label], place[is_label] - n_features, value[is_label])
        return data.build(), target.build()

    def _sparse_row(self, text: str, line: int) -> dict[int, float]:
        """Return the values of a row by column, in ascending order."""
        entries = self._plain_sparse_row(text)
        if entries is None:
            entries = self._tokenized_sparse_row(text, line)
        if self.defaults:
            entries = {**self.defaults, **entries}
        columns = list(entries)
        ascending = sorted(columns)
        return entries if columns == ascending else {i: entries[i] for i in ascending}

    def _plain_sparse_row(self, text: str) -> dict[int, float] | None:
        if not (text[0] == "{" and text[-1] == "}" and _is_plain(text)):
            return None
        pairs = text[1:-1].split(",") if len(text) > 2 else []
        decoders = self.decoders
        try:
            tokens = dict(map(str.split, pairs))
            entries = {
                i: decoders[i](token)
                for i, token in zip(map(int, tokens), tokens.values(), strict=True)
            }
        except (KeyError, ValueError, IndexError):
            return None
        # An index that stands twice or is negative is reported by the other way.
        is_valid = len(entries) == len(pairs) and min(entries, default=0) >= 0
        return entries if is_valid else None

    def _tokenized_sparse_row(self, text: str, line: int) -> dict[int, float]:
        if not text.startswith("{"):
            raise FormatError(self.path, "a dense row among sparse ones", line)
        if not text.endswith("}") or len(text) == 1:
            raise FormatError(self.path, "the row has no closing brace", line)
        entries: dict[int, float] = {}
        for column, token, quoted in self._pairs(text[1:-1], line):
            if column in entries:
                raise FormatError(self.path, f"index {column} stands twice", line)
            entries[column] = self._decode(column, token, quoted, line)
        return entries

    def _pairs(self, text: str, line: int) -> Iterator[tuple[int, str, bool]]:
        """Yield column, token and whether the token was quoted."""
        position, more = 0, bool(text.strip())
        while more:
            index = _INDEX.match(text, position)
            found = index and TOKEN.match(text, index.end())
            if not index or not found:
                piece = shorten(text[position:].strip())
                raise FormatError(self.path, f"'index value' expected at {piece}", line)
            column = int(index[1])
            if column >= len(self.attributes):
                raise FormatError(
                    self.path,
                    f"index {column} is out of range: {len(self.attributes)} attributes are "
                    "declared, counted from 0",
                    line,
                )
            try:
                token = unquote(found[1]) if found[1] else found[2]
            except ValueError as error:
                raise FormatError(self.path, str(error), line) from None
            yield column, token, bool(found[1])
            position = found.end()
            more = bool(found[3])
            if not more and position < len(text):
                piece = shorten(text[position:].strip())
                raise FormatError(self.path, f"a comma expected before {piece}", line)

    # --- one token, and errors ------------------------------------------------------------

    def _decode(self, column: int, token: str, quoted: bool, line: int) -> float:
        if column not in self.kept:
            return 0.0
        if token == "?" and not quoted:
            return math.nan
        codes = self.codes[column]
        try:
            return _number(token) if codes is None else _code(token, codes)
        except ValueError as error:
            name = shorten(self.attributes[column].name)
            raise FormatError(self.path, f"attribute {name}: {error}", line) from None

    def _refuse_label(self, number: int, value: float, line: int) -> NoReturn:
        name = shorten(self.attributes[self.labels[number]].name)
        found = "is missing (?)" if math.isnan(value) else f"holds {value:g}"
        raise FormatError(self.path, f"label {name} {found}; it must be 0 or 1", line)


class _GrowingArray:
    """A flat array that grows in place, so that its content is never in memory twice."""

    def __init__(self, dtype: type) -> None:
        self.dtype, self.buffer = dtype, bytearray()

    def extend(self, values: np.ndarray) -> None:
        self.buffer += values.astype(self.dtype, copy=False).tobytes()

    def build(self) -> np.ndarray:
        """Return the array on the same memory."""
        return np.frombuffer(self.buffer, dtype=self.dtype)


class _GrowingCSR:
    """A CSR matrix that grows by blocks of rows."""

    def __init__(self, n_columns: int, dtype: type) -> None:
        self.n_columns = n_columns
        self.values, self.indices = _GrowingArray(dtype), _GrowingArray(np.int32)
        self.counts = _GrowingArray(np.int64)

    def extend(self, n: int, row: np.ndarray, column: np.ndarray, value: np.ndarray) -> None:
        """Add n rows; entries are sorted by row and column, and zeros are left out."""
        stored = value != 0
        self.counts.extend(np.bincount(row[stored], minlength=n))
        self.indices.extend(column[stored])
        self.values.extend(value[stored])

    def build(self) -> sparse.csr_matrix:
        indptr = np.append(0, self.counts.build().cumsum())
        shape = (indptr.size - 1, self.n_columns)
        return sparse.csr_matrix((self.values.build(), self.indices.build(), indptr), shape=shape)


def _ignore(token: str) -> float:
    """Decode a value that is not kept; an empty one is left to the error of the other way."""
    if not token or token.count(" "):
        raise ValueError
    return 0.0


def _is_plain(text: str) -> bool:
    """Tell whether splitting at commas, `float` and `int` read a row as ARFF means it."""
    # float and int also read "1_0" and the digits of other scripts.
    return "'" not in text and '"' not in text and "_" not in text and text.isascii()


def _number(token: str) -> float:
    if token.isascii() and "_" not in token:
        try:
            return float(token)
        except ValueError:
            pass
    raise ValueError(f"{shorten(token)} is not a number")


def _code(token: str, codes: dict[str, float]) -> float:
    """Code of a nominal value, also where it is written as 1.0 and declared as 1."""
    if token in codes:
        return codes[token]
    try:
        number = _number(token)
        same = [code for value, code in codes.items() if _number(value) == number]
    except ValueError:
        same = []
    if len(same) != 1:
        declared = shorten(", ".join(list(codes)[:6]))
        raise ValueError(f"{shorten(token)} is not one of its declared values {declared}")
    return same[0]
