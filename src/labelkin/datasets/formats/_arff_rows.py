"""The rows of an ARFF file.

NumPy's text reader decodes a block of rows, unless something in it is not plain: a quote, a
sparse row out of order, a nominal value it cannot convert. Such a block is read again token by
token. That way is several times slower, but it reads the whole language and is the only one
that reports errors.
"""

import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
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
from labelkin.datasets.formats._content import overflows

_BLOCK = 100_000  # values decoded at once in dense rows
_SPARSE_ROWS = 500  # rows decoded at once
_INDEX = re.compile(r"\s*+([0-9]{1,9})(?=\s)")
_MISSING = re.compile(r"(?<![^, \t])\?(?![^, \t])")
_PAIR = np.dtype([("column", np.int64), ("value", np.float64)])


class RowReader:
    """Decode the rows below ``@data`` into features and labels.

    `features` and `labels` are the positions of the columns to keep, ascending; the values of
    others are not decoded.
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
        self.kept = np.union1d(features, labels).astype(int)
        self.is_kept = np.isin(np.arange(len(attributes)), self.kept)
        self.codes: dict[int, _Codes] = {}  # of the nominal columns kept
        self.defaults: dict[int, float] = {}  # non-zero values of columns a sparse row omits
        # How NumPy's reader gets the same values: as numbers that are codes 0..k-1 (0: any
        # number), or else by a conversion of each token.
        self.n_codes = np.zeros(len(attributes), dtype=int)
        self.converters: dict[int, Callable[[str], float]] = {}
        is_label = set(labels.tolist())
        for column in self.kept.tolist():
            attribute = attributes[column]
            if attribute.kind != "nominal":
                continue
            if column in is_label:
                codes = _Codes(label_codes(attribute, path))
            else:
                codes = _Codes(feature_codes(attribute.values))
            self.codes[column] = codes
            if default := next(iter(codes.values())):
                self.defaults[column] = default
            if set(codes) == {str(code) for code in range(len(codes))}:
                self.n_codes[column] = len(codes)
            else:
                self.converters[column] = codes.__getitem__

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

    def _load(self, lines: list[str], **options: Any) -> np.ndarray | None:
        """Return plain lines as NumPy's reader decodes them, None if it refuses one.

        Also None if a value is infinite: as written it may be a number that is too large.
        """
        text = "\n".join(lines)
        if "'" in text or '"' in text:
            return None
        if "?" in text:
            if self.converters:
                return None
            lines = _MISSING.sub("nan", text).split("\n")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # some NumPy read 1.5 as an integer and warn
                found = np.loadtxt(lines, comments=None, encoding=None, **options)
            numbers = found if found.dtype.names is None else found["value"]
            return None if np.isinf(numbers).any() else found
        except (ValueError, KeyError, Warning):
            return None

    def _are_codes(self, value: np.ndarray, column: np.ndarray) -> bool:
        """Return whether the values of nominal columns are among their codes, or missing."""
        n_codes = self.n_codes[column]
        valid = (value >= 0) & (value < n_codes) & (value == np.floor(value))
        return bool((valid | (n_codes == 0) | np.isnan(value)).all())

    # --- dense rows -------------------------------------------------------------------------

    def _read_dense(self, rows: Iterator[tuple[str, int]]) -> tuple[np.ndarray, np.ndarray]:
        data = [np.empty((0, self.features.size))]
        target = [np.empty((0, self.labels.size), dtype=np.uint8)]
        at_features = np.searchsorted(self.kept, self.features)
        at_labels = np.searchsorted(self.kept, self.labels)
        block_rows = max(1, _BLOCK // len(self.attributes))
        while block := list(islice(rows, block_rows)):
            values = self._load_dense([text for text, _ in block])
            if values is None:
                values = np.array([self._dense_row(text, line) for text, line in block])
            labels = values[:, at_labels]
            for row, number in np.argwhere((labels != 0) & (labels != 1)):
                self._refuse_label(number, labels[row, number], block[row][1])
            data.append(values[:, at_features])
            target.append(labels.astype(np.uint8))
        return np.concatenate(data), np.concatenate(target)

    def _load_dense(self, lines: list[str]) -> np.ndarray | None:
        """Return the values of the columns kept, None where the rows are not plain."""
        n_commas = len(self.attributes) - 1
        if any(line.count(",") != n_commas for line in lines):
            return None
        lines = [line.replace(", ", ",") for line in lines]  # converters do not strip
        values = self._load(
            lines, delimiter=",", usecols=self.kept, converters=self.converters, ndmin=2
        )
        return values if values is not None and self._are_codes(values, self.kept) else None

    def _dense_row(self, text: str, line: int) -> list[float]:
        if text.startswith("{"):
            raise FormatError(self.path, "a sparse row among dense ones", line)
        try:
            tokens = list(split_values(text))
        except ValueError as error:
            raise FormatError(self.path, str(error), line) from None
        if len(tokens) != len(self.attributes):
            raise FormatError(
                self.path, f"{len(tokens)} values for {len(self.attributes)} attributes", line
            )
        kept = ((column, *tokens[column]) for column in self.kept.tolist())
        return [self._decode(column, token, quoted, line) for column, token, quoted in kept]

    # --- sparse rows ------------------------------------------------------------------------

    def _read_sparse(
        self, rows: Iterator[tuple[str, int]]
    ) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        n_features, n_labels = self.features.size, self.labels.size
        data = [sparse.csr_matrix((0, n_features))]
        target = [sparse.csr_matrix((0, n_labels), dtype=np.uint8)]
        # Where a column goes: features count from 0, labels after them, others nowhere (-1).
        places = np.full(len(self.attributes), -1)
        places[self.features] = np.arange(n_features)
        places[self.labels] = n_features + np.arange(n_labels)
        while block := list(islice(rows, _SPARSE_ROWS)):
            entries = self._load_sparse([text for text, _ in block])
            if entries is None:
                entries = self._sparse_entries(block)
            row, column, value = entries
            place = places[column]
            is_label = place >= n_features
            for at in np.flatnonzero(is_label & (value != 0) & (value != 1)):
                self._refuse_label(place[at] - n_features, value[at], block[row[at]][1])
            stored = (place >= 0) & (value != 0)
            chosen = stored & ~is_label
            shape = len(block), n_features
            data.append(_csr(value[chosen], row[chosen], place[chosen], shape))
            chosen = stored & is_label
            shape, ones = (len(block), n_labels), value[chosen].astype(np.uint8)
            target.append(_csr(ones, row[chosen], place[chosen] - n_features, shape))
        return sparse.vstack(data, format="csr"), sparse.vstack(target, format="csr")

    def _load_sparse(self, lines: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return row, column and value of each entry, None where the rows are not plain."""
        if self.converters or self.defaults:
            return None
        if any(line[0] != "{" or line[-1] != "}" or len(line) == 1 for line in lines):
            return None
        inner = [line[1:-1].strip() for line in lines]
        counts = [pairs.count(",") + 1 if pairs else 0 for pairs in inner]
        row = np.repeat(np.arange(len(lines)), counts)
        pairs = np.empty(0, dtype=_PAIR)
        if row.size:
            loaded = self._load(",".join(filter(None, inner)).split(","), dtype=_PAIR, ndmin=1)
            if loaded is None or loaded.size != row.size:
                return None
            pairs = loaded
        column, value = pairs["column"], pairs["value"]
        d = len(self.attributes)
        if ((column < 0) | (column >= d)).any() or (np.diff(row * d + column) <= 0).any():
            return None
        return (row, column, value) if self._are_codes(value, column) else None

    def _sparse_entries(
        self, block: list[tuple[str, int]]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = [sorted(self._sparse_row(text, line).items()) for text, line in block]
        row = np.repeat(np.arange(len(rows)), [len(entries) for entries in rows])
        column, value = np.array(list(chain.from_iterable(rows)), dtype=float).reshape(-1, 2).T
        return row, column.astype(int), value

    def _sparse_row(self, text: str, line: int) -> dict[int, float]:
        """Return the values of a row by column."""
        if not text.startswith("{"):
            raise FormatError(self.path, "a dense row among sparse ones", line)
        if not text.endswith("}") or len(text) == 1:
            raise FormatError(self.path, "the row has no closing brace", line)
        entries: dict[int, float] = {}
        for column, token, quoted in self._pairs(text[1:-1], line):
            if column in entries:
                raise FormatError(self.path, f"index {column} occurs twice", line)
            is_kept = self.is_kept[column]
            entries[column] = self._decode(column, token, quoted, line) if is_kept else 0.0
        return {**self.defaults, **entries}

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
        if token == "?" and not quoted:
            return math.nan
        codes = self.codes.get(column)
        try:
            return _number(token) if codes is None else _code(token, codes)
        except ValueError as error:
            name = shorten(self.attributes[column].name)
            raise FormatError(self.path, f"attribute {name}: {error}", line) from None

    def _refuse_label(self, number: int, value: float, line: int) -> NoReturn:
        name = shorten(self.attributes[self.labels[number]].name)
        found = "is missing (?)" if math.isnan(value) else f"holds {value:g}"
        raise FormatError(self.path, f"label {name} {found}; it must be 0 or 1", line)


def _csr(
    value: np.ndarray, row: np.ndarray, column: np.ndarray, shape: tuple[int, int]
) -> sparse.csr_matrix:
    """Return a matrix of entries that are sorted by row and column."""
    indptr = np.append(0, np.bincount(row, minlength=shape[0]).cumsum())
    return sparse.csr_matrix((value, column, indptr), shape=shape)


def _number(token: str) -> float:
    if token.isascii() and "_" not in token:
        try:
            value = float(token)
        except ValueError:
            pass
        else:
            if overflows(token):
                raise ValueError(f"{shorten(token)} is beyond the range of numbers")
            return value
    raise ValueError(f"{shorten(token)} is not a number")


class _Codes(dict[str, float]):
    """The code of each value of a nominal attribute, as it is declared."""

    @cached_property
    def by_number(self) -> dict[float, float]:
        """The codes of values that are one number each, if all are numbers."""
        try:
            numbers = [_number(value) for value in self]
        except ValueError:
            return {}
        counts = Counter(numbers)
        pairs = zip(numbers, self.values(), strict=True)
        return {number: code for number, code in pairs if counts[number] == 1}


def _code(token: str, codes: _Codes) -> float:
    """Code of a nominal value, also where it is written as 1.0 and declared as 1."""
    if token in codes:
        return codes[token]
    try:
        return codes.by_number[_number(token)]
    except (KeyError, ValueError):
        declared = shorten(", ".join(islice(codes, 6)))
        raise ValueError(f"{shorten(token)} is not one of its declared values {declared}") from None
