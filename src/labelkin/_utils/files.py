"""Files: compressed or not, written whole or not at all, with errors that name the place."""

import bz2
import errno
import gzip
import os
import stat
import uuid
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from labelkin._utils.limits import max_unpacked, too_large
from labelkin._utils.names import abbreviate

DISK_FAILURES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG})
"""Numbers of the errors of a disk that is full or failing."""

_COMPRESSIONS = (".gz", ".bz2")
_unfinished: set[Path] = set()


class FormatError(ValueError):
    """A file does not follow its format; the message names the file and the line.

    `arguments` are those that the message mentions as ``name=``.
    """

    def __init__(
        self, path: str | Path, message: str, line: int | None = None, *arguments: str
    ) -> None:
        self.path, self.message, self.line, self.arguments = str(path), message, line, arguments
        super().__init__(
            f"{path}: {message}" if line is None else f"{path}, line {line}: {message}"
        )

    def __reduce__(self) -> tuple[type, tuple[str | int | None, ...]]:
        """Pickle by the constructor's arguments, so that the error crosses processes unchanged."""
        return type(self), (self.path, self.message, self.line, *self.arguments)


def strip_compression(path: str | Path) -> Path:
    """Return the path without a final ``.gz`` or ``.bz2``."""
    path = Path(path)
    return path.with_suffix("") if path.suffix.lower() in _COMPRESSIONS else path


def read_unpacked(path: str | Path) -> bytes:
    """Return the content of a file, decompressed by its suffix.

    `FormatError` is raised for a damaged stream, and for a compressed file or an endless device
    that unpacks to more than `max_unpacked`.
    """
    suffix = Path(path).suffix.lower()
    unpack: Any = {".gz": gzip.open, ".bz2": bz2.open}.get(suffix)
    with open(path, "rb") as raw:
        if unpack is None:
            return _read_within_limit(raw, raw, path)
        try:
            return _read_within_limit(unpack(raw), raw, path)
        except (EOFError, zlib.error) as error:
            raise FormatError(
                path, f"the compressed file is damaged or truncated ({error})"
            ) from error
        except OSError as error:
            if error.errno is not None:  # an error of the disk, not of the format
                raise
            raise FormatError(path, f"not a valid {suffix} file ({error})") from error


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file as it is; `FormatError` for an endless device."""
    with open(path, "rb") as raw:
        return _read_within_limit(raw, raw, path)


def _read_within_limit(stream: Any, raw: BinaryIO, path: str | Path) -> bytes:
    """Read a stream to its end; only that of a regular file as it is may be of any length."""
    status = os.fstat(raw.fileno())
    if stream is raw and stat.S_ISREG(status.st_mode):
        return raw.read()
    limit = max_unpacked(status.st_size)
    found = stream.read(limit + 1)
    if len(found) > limit:
        raise FormatError(path, too_large(limit))
    return found


@contextmanager
def open_for_writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes its place only when it is complete, compressed by its suffix.

    A link is followed: the file it points to is replaced, not the link. A file that is replaced
    keeps its permissions and its owner. A device or a pipe is written directly.
    """
    real = Path(os.path.realpath(path))
    if real.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if real.exists() and not real.is_file():
        with _named_errors(path, real), open(real, "wb") as raw:
            yield raw
        return
    temporary = real.with_name(f".{real.name}.{uuid.uuid4().hex}.tmp")
    _unfinished.add(temporary)
    try:
        with _named_errors(path, temporary):
            with open(temporary, "xb", opener=_open_private if real.exists() else None) as raw:
                if real.exists():
                    _copy_permissions(real, raw)
                with _compressor(raw, Path(path).suffix.lower()) as file:
                    yield file
                raw.flush()
                os.fsync(raw.fileno())
            os.replace(temporary, real)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        _unfinished.discard(temporary)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _copy_permissions(old: Path, new: BinaryIO) -> None:
    """Give an open file the permissions of another one, and its owner and group where allowed."""
    status = old.stat()
    if hasattr(os, "fchown"):
        with suppress(PermissionError):
            os.fchown(new.fileno(), status.st_uid, status.st_gid)
    os.chmod(new.name, stat.S_IMODE(status.st_mode))


def remove_unfinished() -> None:
    """Remove the files that are being written; for a process that is about to end."""
    for temporary in list(_unfinished):
        temporary.unlink(missing_ok=True)


@contextmanager
def _named_errors(path: str | os.PathLike[str], written: Path) -> Iterator[None]:
    """Name the user's file in an error of the disk: that of a write has no name of its own."""
    try:
        yield
    except OSError as error:
        unnamed = error.filename is None and error.errno in DISK_FAILURES
        if unnamed or str(error.filename) == str(written):
            error.filename = str(path)
            if error.filename2 is not None:
                del error.filename2
        raise


def _compressor(raw: BinaryIO, suffix: str) -> AbstractContextManager[BinaryIO]:
    if suffix == ".gz":
        # Neither name nor time in the header: equal data give equal bytes.
        return cast(BinaryIO, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0))
    if suffix == ".bz2":
        return cast(BinaryIO, bz2.BZ2File(raw, mode="wb"))
    return nullcontext(raw)


def shorten(text: str, width: int = 60) -> str:
    """Quote a piece of a file for a message, cut to a readable length."""
    return repr(abbreviate(text, width))


def reason(error: Exception, width: int = 200) -> str:
    """One short line of a foreign error's message."""
    return " ".join(str(error).split())[:width] or type(error).__name__
