"""The memory that reading one file may take: a small hostile file can fill the machine's."""

from pathlib import Path

from labelkin._utils.files import FormatError
from labelkin._utils.limits import max_unpacked, too_large

_COLUMN_BYTES = 100  # what a column without entries takes: its name, its sums
# What Arrow takes for a column of any length, and for a cell besides its text.
_ARROW_BYTES, _CELL_BYTES = 7000, 16
_LINE_BYTES = 100  # for a line that Python reads: bounds the time, too


class Budget:
    """Counts what a reader allocates, and refuses a file that takes more than `max_unpacked`.

    `source` is the file, as errors name it; `packed` its size, by default that on disk.
    """

    def __init__(self, source: str | Path, packed: int | None = None) -> None:
        if packed is None:
            packed = Path(source).stat().st_size if Path(source).exists() else 0
        self.source = source
        self.limit = self.left = max_unpacked(packed)

    def take(self, n_bytes: int, what: str = "the file") -> None:
        """Count bytes that are allocated or about to be; refuse what is too large."""
        self.check(n_bytes, what)
        self.left -= n_bytes

    def check(self, n_bytes: int, what: str = "the file") -> None:
        """Refuse a file that is about to take too much."""
        if not 0 <= n_bytes <= self.left:  # a negative size would add to the budget
            raise FormatError(self.source, too_large(self.limit, what))

    def check_lines(self, content: bytes) -> None:
        """Refuse a text with more lines than memory and time allow for."""
        self.check(_LINE_BYTES * max(content.count(b"\n"), content.count(b"\r")))

    def take_columns(self, count: int, what: str = "columns", each: int = _COLUMN_BYTES) -> None:
        """Count columns, of which a file of any size can declare any number."""
        self.take(count * each, f"a table of {count:,} {what}")

    def take_cells(self, n_cells: int, n_columns: int) -> None:
        """Count cells in columns of Arrow, besides their texts."""
        self.take_columns(n_columns, each=_ARROW_BYTES)
        self.take(_CELL_BYTES * n_cells)
