"""How many values the pages of a Parquet file declare, before pyarrow makes room for them.

The number of rows bounds a flat column. A list may hold any number of values per row, and a run of
equal ones takes a few bytes whatever its length: only the header of each page tells how many there
are. Headers and footer are in the compact protocol of Thrift; numbers in brackets below are those
of its fields.
"""

from collections.abc import Container, Iterator
from typing import Any

_OVERRUN = 100  # bytes by which old files declare a column too short, and pyarrow reads on
_MAX_BITS = 70  # of a variable-length integer


def count_values(raw: bytes, leaves: Container[int]) -> int:
    """Return how many values pyarrow reads of some leaf columns, given by their positions."""
    length = int.from_bytes(raw[-8:-4], "little")
    footer = _Thrift(raw, len(raw) - 8 - length).read_struct()
    groups = footer.get(4, [])
    chunks = [chunk[3] for group in groups for i, chunk in enumerate(group[1]) if i in leaves]
    return sum(sum(_page_counts(raw, chunk)) for chunk in chunks)


def _page_counts(raw: bytes, chunk: dict[int, Any]) -> Iterator[int]:
    """Yield the number of values of each page of a column chunk, as far as pyarrow reads it."""
    declared, size, at = chunk[5], chunk[7], chunk[9]
    if 0 < chunk.get(11, 0) < at:  # a dictionary comes first
        at = chunk[11]
    end, seen = at + size + _OVERRUN, 0
    while seen < declared and 0 <= at < min(end, len(raw)):
        reader = _Thrift(raw, at)
        header = reader.read_struct()
        if header[3] < 0:
            raise ValueError("a page has a negative size")
        at = reader.at + header[3]
        count = (header.get(5) or header.get(8) or {}).get(1, 0)
        seen += count
        yield count


class _Thrift:
    """A reader of structs in the compact protocol, as dictionaries by the numbers of fields."""

    def __init__(self, raw: bytes, at: int) -> None:
        self.raw, self.at = raw, at

    def read_struct(self) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            found[number] = kind == 1 if kind in (1, 2) else self._value(kind)
        return found

    def _value(self, kind: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 7:
            return self._skip(8)
        if kind == 8:
            return self._skip(self._unsigned())
        if kind in (9, 10):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15) for _ in range(count)]
        if kind == 12:
            return self.read_struct()
        raise ValueError("a value of the footer has an unknown type")

    def _byte(self) -> int:
        self.at += 1
        return self.raw[self.at - 1]

    def _unsigned(self) -> int:
        found = shift = 0
        while shift < _MAX_BITS:
            byte = self._byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found
        raise ValueError("a number of the footer is too long")

    def _integer(self) -> int:
        found = self._unsigned()
        return (found >> 1) ^ -(found & 1)

    def _skip(self, count: int) -> None:
        self.at += count
