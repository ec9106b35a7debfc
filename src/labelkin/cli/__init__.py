"""The command line ``labelkin``: one module per command, the underscored ones are shared.

Ctrl-C and SIGTERM end a command within a second or two, wherever it computes. Python runs a
signal's handler between two of its own instructions. An eigendecomposition of a large matrix is
one instruction and can take minutes, so a second thread watches: if the command has not ended a
moment after the signal, it ends the process. Files are written under
a temporary name and renamed, and stores survive a kill, so nothing is left half-written.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from labelkin._utils.files import remove_unfinished
from labelkin._utils.names import printable

# Seconds from the signal until the process is ended: in compiled code, and in Python's own,
# where the command may still be stopping its worker processes.
_STUCK_SECONDS = 0.8
_ENDING_SECONDS = 3.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line on `argv` (default: ``sys.argv[1:]``) and return its exit code.

    An error is one sentence on stderr and an exit code, never a traceback.
    """
    with terminable() as interrupted:  # also while the commands are imported
        try:
            try:
                import rich  # noqa: F401
                import typer  # noqa: F401
            except ImportError:
                print(
                    "error: the command line needs packages that are not installed. "
                    "Install them with: pip install 'labelkin[cli]'",
                    file=sys.stderr,
                )
                return 2
            from labelkin.cli._app import run

            return run(sys.argv[1:] if argv is None else list(argv), interrupted)
        except KeyboardInterrupt as end:
            line = str(end) or "interrupted"
        except Exception:  # what a signal cuts short may fail in any way
            if not interrupted:
                raise
            line = "interrupted"
        print(printable(line), file=sys.stderr)
    if argv is None:
        # Python would wait for threads that still compute.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)
    return 130


@contextmanager
def terminable() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt on SIGTERM as on Ctrl-C; yield the list of signals received."""
    received: list[int] = []
    handled, ended = threading.Event(), threading.Event()

    def interrupt(number: int, _: Any) -> None:
        received.append(number)
        handled.set()
        raise KeyboardInterrupt

    def report_unraisable(event: Any, default: Any = sys.unraisablehook) -> None:
        if not received:  # an interrupt inside a callback is reported once, by `run`
            default(event)

    try:
        handlers = {s: signal.signal(s, interrupt) for s in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not in the main thread
        yield received
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(reading, handled, ended), daemon=True)
    watcher.start()
    hook, sys.unraisablehook = sys.unraisablehook, report_unraisable
    try:
        yield received
    finally:
        ended.set()
        sys.unraisablehook = hook
        signal.set_wakeup_fd(before)
        os.close(writing)  # ends the watcher
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _watch(reading: int, handled: threading.Event, ended: threading.Event) -> None:
    """End the process if it does not end by itself after SIGINT or SIGTERM."""
    with suppress(OSError):
        while number := os.read(reading, 1):
            if number[0] not in (signal.SIGINT, signal.SIGTERM):
                continue
            if handled.wait(_STUCK_SECONDS) and ended.wait(_ENDING_SECONDS):
                break
            remove_unfinished()
            os.write(2, b"interrupted\n")
            os._exit(130)
    os.close(reading)
