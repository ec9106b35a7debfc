"""Errors and warnings as one line each on stderr, and the exit codes.

0: done. 1: failed (a full disk, no memory, a closed pipe, a defect of labelkin). 2: bad usage or
bad input. 130: interrupted. A traceback is shown only if LABELKIN_TRACEBACK is set.
"""

import errno
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from labelkin._utils.errors import rename_arguments

# The disk or the machine failed; any other trouble with a file is for the user to repair.
_FAILURES = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.ENOMEM, errno.EMFILE}


# The kind of a column, an option of its own on the command line.
_KIND = re.compile(r"columns=\{'(.*?)': '(\w+)'\}")


class Interrupted(Exception):
    """The user interrupted a command that has a line of its own to print."""


def report_error(error: Exception, options: Mapping[str, str]) -> int:
    """Print an error as one sentence and return the exit code.

    `options` are those of the command, such as ``--label-column``, by argument of the library.
    """
    if os.environ.get("LABELKIN_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, BrokenPipeError):
        _discard_stdout()
        return 1
    if isinstance(error, OSError):
        failed = error.errno in _FAILURES
        if failed and not error.filename:  # only stdout has no name
            _discard_stdout()
        text = (error.strerror if failed else None) or str(error)
        named = f"{error.filename}: {error.strerror}" if error.filename else text
        return _print_error(named, 1 if failed else 2)
    if isinstance(error, (ValueError, ImportError)):
        message = _KIND.sub(r"--\2 \1", rename_arguments(error, options))
        known = {"columns", *options}
        others = [f"{name}=" for name in getattr(error, "arguments", ()) if name not in known]
        if others:
            message += f" ({' and '.join(others)} can be passed in Python only)"
        return _print_error(message, 2)
    if isinstance(error, MemoryError):
        return _print_error(f"not enough memory ({error}).".replace(" ()", ""), 1)
    # Typer may carry its own copy of click, so a usage error is recognised by its attributes.
    if hasattr(error, "exit_code"):
        if hasattr(error, "show"):
            error.show()
        return int(error.exit_code)
    name = type(error).__name__
    return _print_error(f"failed: {name}: {error} (LABELKIN_TRACEBACK=1 shows where)", 1)


@contextmanager
def warnings_as_notes(quiet: bool) -> Iterator[None]:
    """Show each warning once, as one line without its place in the code."""
    seen: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if text not in seen and not quiet:
            print(f"note: {text}", file=sys.stderr)
        seen.add(text)

    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")  # deprecations and the like are for programmers
            warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


def _print_error(text: str, code: int) -> int:
    # A path that cannot be encoded is shown with escapes.
    shown = " ".join(text.split()).encode("utf-8", "backslashreplace").decode("utf-8")
    print(f"error: {shown}", file=sys.stderr)
    return code


def _discard_stdout() -> None:
    """Keep Python from failing again at exit, when it flushes what could not be written."""
    with suppress(OSError, ValueError, AttributeError):  # stdout may be no file, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
