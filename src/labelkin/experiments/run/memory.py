"""Peak memory of a job: the most it holds beyond what its process held before.

The kernel's high-water mark of resident memory is reset before the job and read after it. The
figure counts real memory of arrays, trees and compiled code alike, without the interpreter, the
libraries and the dataset. Memory of processes that a method starts itself is not counted. The mark
can be reset on Linux only, and is that of all threads of the process.
"""

import ctypes
from contextlib import suppress
from pathlib import Path
from typing import Any

_PROCESS = Path("/proc/self")


class PeakMemory:
    """Context in which a job runs; afterwards `megabytes` holds its peak, or None."""

    megabytes: float | None = None

    def __enter__(self) -> "PeakMemory":
        with suppress(OSError, AttributeError, TypeError):  # of another C library
            # Freed memory goes back to the system first: a job that reused it would not be charged.
            ctypes.CDLL(None).malloc_trim(ctypes.c_size_t(0))
        try:
            (_PROCESS / "clear_refs").write_text("5")
            self._before: int | None = _kilobytes("VmRSS")
        except OSError:
            self._before = None
        return self

    def __exit__(self, *_: Any) -> None:
        if self._before is not None:
            self.megabytes = max(0, _kilobytes("VmHWM") - self._before) / 1024


def _kilobytes(key: str) -> int:
    lines = (_PROCESS / "status").read_text(errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key))
