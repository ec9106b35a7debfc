"""Peak memory of a cell: what it holds at most beyond what its process held before.

The kernel's high-water mark of resident memory is set back before the cell and read after
it, which costs microseconds and slows nothing down. What counts is therefore real memory of
arrays, trees and compiled code alike, without the interpreter, the libraries and the
dataset. Memory of processes that a method starts itself is not seen.

The mark belongs to the process, so a figure is given only when no other cell ran in it
meanwhile (not with threads), and only where the mark can be set back (Linux).
"""

import ctypes
import threading
from functools import lru_cache
from typing import Any

_lock = threading.Lock()
_entries = _active = 0


class PeakMemory:
    """Context in which a cell runs; afterwards `megabytes` holds its peak, or None."""

    megabytes: float | None = None

    def __enter__(self) -> "PeakMemory":
        global _entries, _active
        with _lock:
            _entries += 1
            _active += 1
            self._entry, self._alone = _entries, _active == 1
        self._before = _reset() if self._alone else None
        return self

    def __exit__(self, *_: Any) -> None:
        global _active
        with _lock:
            _active -= 1
            alone = self._alone and _entries == self._entry
        if alone and self._before is not None:
            self.megabytes = max(0, _kilobytes("VmHWM") - self._before) / 1024


def _reset() -> int | None:
    """Give free memory back, set the mark back, and return the kilobytes now resident."""
    _trim(0)
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        return _kilobytes("VmRSS")
    except OSError:
        return None


def _kilobytes(key: str) -> int:
    with open("/proc/self/status", "rb") as file:
        for line in file:
            if line.startswith(key.encode()):
                return int(line.split()[1])
    raise OSError(f"{key} is not in /proc/self/status")


@lru_cache(maxsize=1)
def _malloc_trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # another C library
        return None


def _trim(pad: int) -> None:
    """Return freed memory to the system: reused by a cell, it would count as none."""
    if (trim := _malloc_trim()) is not None:
        trim(ctypes.c_size_t(pad))
