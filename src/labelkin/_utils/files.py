"""Files: compressed or not, written whole or not at all, with errors that name the place."""

import bz2
import errno
import gzip
import os
import uuid
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO, cast

_COMPRESSIONS = (".gz", ".bz2")


class FormatError(ValueError):
    """A file does not follow its format; the message names the file and the line.

    Parameters
    ----------
    path : str or Path
        The file.
    message : str
        What is wrong, and the cure.
    line : int, optional
        The line, counted from 1, where the format has lines.
    *arguments : str
        Names of the arguments that the message mentions as ``name=``.

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


@contextmanager
def open_for_reading(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file as bytes, decompressed by its suffix; damaged streams become `FormatError`."""
    suffix = Path(path).suffix.lower()
    with open(path, "rb") as raw:
        file: BinaryIO = raw
        if suffix == ".gz":
            file = cast(BinaryIO, gzip.GzipFile(fileobj=raw, mode="rb"))
        elif suffix == ".bz2":
            file = cast(BinaryIO, bz2.BZ2File(raw, mode="rb"))
        try:
            yield file
        except (EOFError, zlib.error) as error:
            raise FormatError(
                path, f"the compressed file is damaged or cut short ({error})"
            ) from error
        except OSError as error:
            if error.errno is not None:  # the disk's trouble, not the format's
                raise
            raise FormatError(path, f"not a valid {suffix} file ({error})") from error


@contextmanager
def open_for_writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes its place only when it is complete, compressed by its suffix.

    A link is followed: the file it points to is replaced, not the link. A device or a pipe is
    written directly.
    """
    real = Path(os.path.realpath(path))
    if real.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if real.exists() and not real.is_file():
        with open(real, "wb") as raw:
            yield raw
        return
    temporary = real.with_name(f".{real.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as raw, _compressor(raw, Path(path).suffix.lower()) as file:
            yield file
        os.replace(temporary, real)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and str(error.filename) == str(temporary):
            error.filename, error.filename2 = str(path), None
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
    return repr(text if len(text) <= width else text[: width - 1] + "…")


def reason(error: Exception, width: int = 200) -> str:
    """One short line of a foreign error's message."""
    return " ".join(str(error).split())[:width] or type(error).__name__
