"""How much a file may unpack to: a small hostile file can fill the machine's memory."""

import os
import zipfile
from pathlib import Path

from labelkin._utils.errors import ArgumentError

SIZE_VARIABLE = "LABELKIN_MAX_UNPACKED"
"""Environment variable with the most bytes that one file may unpack to."""

# Every file may unpack to this many bytes, a larger one to this multiple of its own size. Deflate
# reaches a ratio of 1,000 on zeros; real data and models stay below 60.
_FREE_BYTES = 2**28
_MAX_RATIO = 100


def max_unpacked(packed: int) -> int:
    """Return the most bytes that a compressed file of `packed` bytes may unpack to.

    That is the environment variable ``LABELKIN_MAX_UNPACKED``, or 256 MiB or 100 times the file's
    size, whichever is more, and at most half of the memory that is available.
    """
    if text := os.environ.get(SIZE_VARIABLE):
        if not text.isascii() or not text.isdigit():
            raise ArgumentError(f"{SIZE_VARIABLE} must be a number of bytes, not {text!r}.")
        return int(text)
    limit = max(_FREE_BYTES, _MAX_RATIO * packed)
    memory = available_memory()
    return limit if memory is None else min(limit, max(memory // 2, _FREE_BYTES // 4))


def available_memory() -> int | None:
    """Return the bytes that can be allocated without swapping; None where it is not known."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = (line.split() for line in file)
            found = next(1024 * int(line[1]) for line in lines if line[0] == "MemAvailable:")
    except (OSError, StopIteration, ValueError, IndexError):
        return None
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
    except (OSError, ValueError):  # no group, or no limit
        return found
    return min(found, max(limit - used, 0))


def too_large(limit: int, what: str = "the file") -> str:
    """Return the sentence on a file that unpacks to more than the limit."""
    return (
        f"{what} unpacks to more than {limit / 2**20:,.0f} MiB, as a small malicious file "
        f"would; if you trust it, set {SIZE_VARIABLE} to a larger number of bytes"
    )


def check_archive(archive: zipfile.ZipFile, limit: int) -> None:
    """Raise ValueError for a zip archive that unpacks to too much, or that names a part twice.

    The sum of the sizes that its directory declares bounds the memory, as `read_part` reads no
    more; `zipfile` has no such bound for other compressions than deflate.
    """
    entries = archive.infolist()
    if sum(entry.file_size for entry in entries) > limit:
        raise ValueError(too_large(limit))
    names = {entry.filename for entry in entries}
    if len(names) < len(entries):
        raise ValueError("the archive holds two parts of the same name")
    if not {entry.compress_type for entry in entries} <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise ValueError("a part of the archive is compressed in another way than by deflate")


def read_part(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a part of an archive; ``archive.read`` unpacks more than the directory declares."""
    with archive.open(name) as part:
        return part.read(archive.getinfo(name).file_size)
