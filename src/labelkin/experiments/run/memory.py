"""Peak memory of a job: the most it holds beyond what its process held before.

The kernel's high-water mark of resident memory is reset before the job and read after it,
which takes microseconds. The figure counts real memory of arrays, trees and compiled code
alike, without the interpreter, the libraries and the dataset. Memory of processes that a
method starts itself is not counted.

The mark belongs to the process, so there is a figure only when no other job ran in it
meanwhile (not with threads), and only where the mark can be reset (Linux).
"""

import ctypes
import threading
from functools import lru_cache
from typing import Any

_lock = threading.Lock()
_entries = _active = 0


class PeakMemory:
    """Context in which a job runs; afterwards `megabytes` holds its peak, or None."""

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
    """Reset the mark and return the kilobytes now resident.

    Freed memory goes back to the system first: a job that reused it would not be charged.
    """
    if (trim := _malloc_trim()) is not None:
        trim(ctypes.c_size_t(0))
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
