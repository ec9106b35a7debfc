"""The rows of an ARFF file: a bulk path for plain rows, a careful path for all others.

Both paths read the same language. The bulk path gives up on a block of rows at the first
thing it does not know (a quote, an odd space, a wrong count, an unknown word); the careful
path then reads the block row by row, and is the only one that reports errors.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from labelkin._utils.files import FormatError, shorten
from labelkin.datasets.formats import _bulk
from labelkin.datasets.formats._arff_header import (
    TOKEN,
    Attribute,
    feature_codes,
    label_codes,
    split_values,
    unquote,
    wrong_encoding,
)

_BLOCK = 1 << 17  # bytes read at once: large for NumPy, small for the cache
_INDEX = re.compile(r"\s*+([0-9]{1,9})(?=\s)")
_BARE = re.compile(r"""[^\s,'"][^\s,]*""")


@dataclass(frozen=True)
class _Codec:
    """How a group of attributes with the same values is decoded; no table: numbers."""

    table: dict[str, float] | None
    encoded: dict[bytes, float]
    columns: np.ndarray

    def bulk(self, tokens: _bulk.Tokens) -> np.ndarray | None:
        if self.table is None:
            return _bulk.decimals(tokens)
        return _bulk.codes(tokens, self.encoded)

    def one(self, token: str, quoted: bool) -> float:
        """Value of one token; ValueError with the reason when it has none."""
        if token == "?" and not quoted:
            return np.nan
        if self.table is None:
            return _number(token)
        if token in self.table:
            return self.table[token]
        try:  # 1.0 where 1 is declared
            number = _number(token)
            same = {value: code for value, code in self.table.items() if _number(value) == number}
        except ValueError:
            same = {}
        if len(same) != 1:
            declared = ", ".join(list(self.table)[:6])
            raise ValueError(
                f"{shorten(token)} is not one of its declared values {shorten(declared)}"
            )
        return next(iter(same.values()))


def _number(token: str) -> float:
    if token.isascii() and "_" not in token:
        try:
            return float(token)
        except ValueError:
            pass
    raise ValueError(f"{shorten(token)} is not a number")


@dataclass
class _Block:
    """A block of decoded sparse rows: entries row by row, and each row's line."""

    row: np.ndarray
    column: np.ndarray
    value: np.ndarray
    lines: np.ndarray


class RowReader:
    """Decode the rows below ``@data`` into features and labels.

    Parameters
    ----------
    attributes : list of Attribute
        All columns of the file.
    features, labels : ndarray of int
        Positions of the columns to keep; others are dropped, unread.
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
        codec_of, default = [-1] * n, [0.0] * n  # -1: dropped
        codecs: dict[tuple[tuple[str, float], ...] | None, int] = {}
        is_label = set(labels.tolist())
        for position in [*features.tolist(), *is_label]:
            attribute = attributes[position]
            key = None
            if attribute.kind == "nominal":
                if position in is_label:
                    key = label_codes(attribute, path)
                else:
                    key = feature_codes(attribute.values)
                default[position] = key[0][1]
            codec_of[position] = codecs.setdefault(key, len(codecs))
        self.codec_of, self.default = np.array(codec_of), np.array(default)
        self.codecs = [
            self._codec(key, np.flatnonzero(self.codec_of == index))
            for key, index in codecs.items()
        ]
        # Where a kept column goes: features count from 0, labels after them.
        self.place = np.full(n, -1)
        self.place[features] = np.arange(features.size)
        self.place[labels] = features.size + np.arange(labels.size)

    def _codec(self, key: tuple[tuple[str, float], ...] | None, columns: np.ndarray) -> _Codec:
        table = None if key is None else dict(key)
        # A value that needs quotes is never met bare, where the bulk path would look.
        encoded = {
            value.encode(self.encoding): code
            for value, code in (table or {}).items()
            if value != "?" and "\0" not in value and _BARE.fullmatch(value)
        }
        return _Codec(table, encoded, columns)

    def read(self, file: BinaryIO, line: int) -> tuple[Any, Any]:
        """Read all rows; ``line`` is that of ``@data``. Sparse rows give sparse matrices."""
        blocks = self._blocks(file, line)
        first = next(blocks, None)
        if first is not None and first[0][0].startswith(b"{"):
            return self._read_sparse(first, blocks)
        return self._read_dense(first, blocks)

    @staticmethod
    def _blocks(file: BinaryIO, line: int) -> Iterator[tuple[list[bytes], np.ndarray]]:
        """Blocks of rows without blank lines and comments, with their line numbers."""
        while text := file.read(_BLOCK):
            if not text.endswith(b"\n"):
                text += file.readline()
            rows, lines = [], []
            for raw in text.splitlines():
                line += 1
                row = raw.strip()
                if row and not row.startswith(b"%"):
                    rows.append(row)
                    lines.append(line)
            if rows:
                yield rows, np.array(lines)

    # --- dense rows -------------------------------------------------------------------------

    def _read_dense(
        self,
        first: tuple[list[bytes], np.ndarray] | None,
        blocks: Iterator[tuple[list[bytes], np.ndarray]],
    ) -> tuple[np.ndarray, np.ndarray]:
        data, target = _Growing(np.float64), _Growing(np.uint8)
        block = first
        while block is not None:
            rows, lines = block
            values = self._dense_bulk(rows)
            if values is None:
                values = self._dense_careful(rows, lines)
            labels = values[:, _as_slice(self.labels)]
            bad = (labels != 0) & (labels != 1)
            if bad.any():
                row, column = np.argwhere(bad)[0]
                self._refuse_label(column, labels[row, column], lines[row])
            data.append(values[:, _as_slice(self.features)])
            target.append(labels)
            block = next(blocks, None)
        found = data.array().reshape(-1, self.features.size)
        return found, target.array().reshape(len(found), self.labels.size)

    def _dense_bulk(self, rows: list[bytes]) -> np.ndarray | None:
        n, d = len(rows), len(self.attributes)
        text = b",".join(rows) + b","
        if any(sign in text for sign in b"'\"\0"):
            return None
        tokens = _bulk.tokenize(text, spaces=False)
        row_ends = np.cumsum(np.fromiter(map(len, rows), np.int64, n) + 1)
        # Each row has exactly d tokens when every d-th token ends where a row does.
        if (
            tokens.ends.size != n * d
            or (np.diff(tokens.ends[d - 1 :: d]) != np.diff(row_ends)).any()
        ):
            return None
        if tokens.ends[d - 1] - tokens.starts[0] + 1 != row_ends[0]:
            return None
        if b" " in text or b"\t" in text:
            clean = _bulk.stripped(tokens)
            if clean is None:
                return None
            tokens = clean
        table = tokens.reshape(n, d)
        values = np.zeros((n, d))
        for codec in self.codecs:
            columns = _as_slice(codec.columns)
            decoded = codec.bulk(table[:, columns])
            if decoded is None:
                return None
            values[:, columns] = decoded
        return values

    def _dense_careful(self, rows: list[bytes], lines: np.ndarray) -> np.ndarray:
        d = len(self.attributes)
        values = np.zeros((len(rows), d))
        for out, raw, line in zip(values, rows, lines.tolist(), strict=True):
            if raw.startswith(b"{"):
                raise FormatError(self.path, "a sparse row among dense ones", line)
            text = self._text(raw, line)
            try:
                tokens = list(split_values(text))
            except ValueError as error:
                raise FormatError(self.path, str(error), line) from None
            if len(tokens) != d:
                raise FormatError(self.path, f"{len(tokens)} values for {d} attributes", line)
            for column, (token, quoted) in enumerate(tokens):
                if self.codec_of[column] >= 0:
                    out[column] = self._decode(column, token, quoted, line)
        return values

    # --- sparse rows ------------------------------------------------------------------------

    def _read_sparse(
        self,
        first: tuple[list[bytes], np.ndarray],
        blocks: Iterator[tuple[list[bytes], np.ndarray]],
    ) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        data, target = _CSR(self.features.size, np.float64), _CSR(self.labels.size, np.uint8)
        block: tuple[list[bytes], np.ndarray] | None = first
        while block is not None:
            rows, lines = block
            entries = self._sparse_bulk(rows, lines)
            if entries is None:
                entries = self._sparse_careful(rows, lines)
            entries = self._with_defaults(self._in_order(entries))
            place = self.place[entries.column]
            is_label = place >= self.features.size
            column, value = place[is_label] - self.features.size, entries.value[is_label]
            bad = np.flatnonzero((value != 0) & (value != 1))
            if bad.size:
                at = bad[0]
                row = entries.row[is_label][at]
                self._refuse_label(column[at], value[at], lines[row])
            n = len(rows)
            target.append(n, entries.row[is_label], column, value)
            kept = (place >= 0) & ~is_label
            data.append(n, entries.row[kept], place[kept], entries.value[kept])
            block = next(blocks, None)
        return data.build(), target.build()

    def _sparse_bulk(self, rows: list[bytes], lines: np.ndarray) -> _Block | None:
        whole = b"\n".join(rows)
        if whole.count(b"}\n{") != len(rows) - 1 or whole[0] != 123 or whole[-1] != 125:
            return None
        inner = [row[1:-1] for row in rows]
        text = b",".join(filter(None, inner)) + b","
        if any(sign in text for sign in b"'\"\0{}"):
            return None
        row = np.repeat(
            np.arange(len(rows)), [pairs.count(b",") + 1 if pairs else 0 for pairs in inner]
        )
        if b", " in text:
            text = text.replace(b", ", b",")
        tokens = _bulk.tokenize(text if row.size else b"", spaces=True)
        ends = _bulk.separators(tokens)
        indices, values = tokens[0::2], tokens[1::2]
        if ends.size != 2 * row.size or (ends[0::2] != 32).any() or (ends[1::2] != 44).any():
            return None
        column = _bulk.whole_numbers(indices)
        if column is None or (column >= len(self.attributes)).any():
            return None
        value = np.zeros(column.size)
        codec_of = self.codec_of[column]
        for index in np.flatnonzero(np.bincount(codec_of[codec_of >= 0])):
            mine = _as_slice(np.flatnonzero(codec_of == index))
            decoded = self.codecs[index].bulk(values[mine])
            if decoded is None:
                return None
            value[mine] = decoded
        return _Block(row, column, value, lines)

    def _sparse_careful(self, rows: list[bytes], lines: np.ndarray) -> _Block:
        entries: list[tuple[int, int, float]] = []
        for row, (raw, line) in enumerate(zip(rows, lines.tolist(), strict=True)):
            text = self._text(raw, line)
            if not text.startswith("{"):
                raise FormatError(self.path, "a dense row among sparse ones", line)
            if not text.endswith("}") or len(text) == 1:
                raise FormatError(self.path, "the row has no closing brace", line)
            entries += ((row, *pair) for pair in self._pairs(text[1:-1], line))
        row_, column, value = np.array(entries, dtype=np.float64).reshape(-1, 3).T
        return _Block(row_.astype(np.int64), column.astype(np.int64), value, lines)

    def _pairs(self, text: str, line: int) -> Iterator[tuple[int, float]]:
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
            if self.codec_of[column] >= 0:
                try:
                    token = unquote(found[1]) if found[1] else found[2]
                except ValueError as error:
                    raise FormatError(self.path, str(error), line) from None
                yield column, self._decode(column, token, bool(found[1]), line)
            else:
                yield column, 0.0
            position = found.end()
            more = bool(found[3])
            if not more and position < len(text):
                piece = shorten(text[position:].strip())
                raise FormatError(self.path, f"a comma expected before {piece}", line)

    def _in_order(self, entries: _Block) -> _Block:
        """Entries sorted within rows; an index given twice is refused."""
        key = entries.row * len(self.attributes) + entries.column
        step = np.diff(key)
        if (step > 0).all():
            return entries
        order = np.argsort(key, kind="stable")
        key = key[order]
        twice = np.flatnonzero(np.diff(key) == 0)
        if twice.size:
            at = order[twice[0]]
            line = int(entries.lines[entries.row[at]])
            raise FormatError(self.path, f"index {entries.column[at]} stands twice", line)
        return _Block(
            entries.row[order], entries.column[order], entries.value[order], entries.lines
        )

    def _with_defaults(self, entries: _Block) -> _Block:
        """Fill in omitted entries whose default (the first nominal value) is not coded 0."""
        columns = np.flatnonzero(self.default)
        if not columns.size:
            return entries
        n = entries.lines.size
        position = np.full(len(self.attributes), -1)
        position[columns] = np.arange(columns.size)
        omitted = np.ones((n, columns.size), dtype=bool)
        given = position[entries.column]
        omitted[entries.row[given >= 0], given[given >= 0]] = False
        row, at = np.nonzero(omitted)
        return self._in_order(
            _Block(
                np.concatenate([entries.row, row]),
                np.concatenate([entries.column, columns[at]]),
                np.concatenate([entries.value, self.default[columns[at]]]),
                entries.lines,
            )
        )

    # --- one token, and errors ------------------------------------------------------------

    def _text(self, raw: bytes, line: int) -> str:
        try:
            return raw.decode(self.encoding)
        except UnicodeDecodeError:
            raise wrong_encoding(self.encoding, self.path, line) from None

    def _decode(self, column: int, token: str, quoted: bool, line: int) -> float:
        try:
            return self.codecs[self.codec_of[column]].one(token, quoted)
        except ValueError as error:
            name = shorten(self.attributes[column].name)
            raise FormatError(self.path, f"attribute {name}: {error}", line) from None

    def _refuse_label(self, column: int, value: float, line: int) -> None:
        name = shorten(self.attributes[self.labels[column]].name)
        found = "is missing (?)" if np.isnan(value) else f"holds {value:g}"
        raise FormatError(self.path, f"label {name} {found}; it must be 0 or 1", int(line))


class _Growing:
    """An array grown by blocks in one buffer, so that it is never in memory twice."""

    def __init__(self, dtype: type) -> None:
        self.dtype, self.buffer = dtype, bytearray()

    def append(self, block: np.ndarray) -> None:
        self.buffer += block.astype(self.dtype, copy=False).tobytes()

    def array(self) -> np.ndarray:
        """Return the whole as a flat array on the same memory."""
        if not self.buffer:
            return np.empty(0, dtype=self.dtype)
        return np.frombuffer(self.buffer, dtype=self.dtype)


class _CSR:
    """A CSR matrix grown by blocks of rows."""

    def __init__(self, n_columns: int, dtype: type) -> None:
        self.n_columns = n_columns
        self.counts, self.indices, self.values = (
            _Growing(np.int64),
            _Growing(np.int32),
            _Growing(dtype),
        )

    def append(self, n: int, row: np.ndarray, column: np.ndarray, value: np.ndarray) -> None:
        """Add n rows; entries come sorted by row, and explicit zeros are left out."""
        kept = value != 0
        self.counts.append(np.bincount(row[kept], minlength=n))
        self.indices.append(column[kept])
        self.values.append(value[kept])

    def build(self) -> sparse.csr_matrix:
        counts = self.counts.array()
        indptr = np.zeros(counts.size + 1, dtype=np.int64)
        np.cumsum(counts, out=indptr[1:])
        if indptr[-1] <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        return sparse.csr_matrix(
            (self.values.array(), self.indices.array(), indptr),
            shape=(counts.size, self.n_columns),
        )


def _as_slice(columns: np.ndarray) -> Any:
    """Return a slice where the positions are consecutive: a view instead of a copy."""
    if columns.size and columns[-1] - columns[0] + 1 == columns.size:
        return slice(int(columns[0]), int(columns[-1]) + 1)
    return columns
