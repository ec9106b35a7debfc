"""The tree of commands, and the one place where errors become exit codes.

0: done. 1: failed (a full disk, no memory, a reader that went away, a defect of ours).
2: bad usage or bad input. 130: interrupted. Never a traceback, unless LABELKIN_TRACEBACK is
set.
"""

import errno
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer
from typer.core import TyperGroup

import labelkin
from labelkin.cli import datasets, demo, evaluate, export, fit, predict, report, reproduce


class Commands(TyperGroup):
    """All commands; Typer ends an interrupted one without a word, so we say it."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; one that tells its own end raises ``Exit`` instead."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(_say_interrupted()) from None


app = typer.Typer(
    name="labelkin",
    cls=Commands,
    help="Multi-label classification: from a file to predictions, figures and comparisons.",
    epilog="""From a table to predictions for new rows:

labelkin evaluate movies.csv --text plot --ignore id -l drama,comedy,crime

labelkin fit movies.csv --text plot --ignore id -l drama,comedy,crime

labelkin predict model.skops new.csv --id id --out predictions.csv

labelkin COMMAND --help shows more examples.""",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

# The disk or the machine gave out; any other trouble with a file is the user's to mend.
_FAILURES = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.ENOMEM, errno.EMFILE}


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"labelkin {labelkin.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Options that stand before any command."""


app.command("fit", epilog=fit.EXAMPLES)(fit.command)
app.command("predict", epilog=predict.EXAMPLES)(predict.command)
app.command("evaluate", epilog=evaluate.EXAMPLES)(evaluate.command)
app.command("export", epilog=export.EXAMPLES)(export.command)
app.add_typer(datasets.app, name="datasets")
app.command("demo")(demo.command)
app.command("reproduce")(reproduce.command)
app.command("report")(report.command)


def run(argv: list[str]) -> int:
    """Run one command line and return its exit code; errors are one sentence on stderr."""
    with _interruptions() as interrupted, _warnings_as_notes("-q" in argv or "--quiet" in argv):
        try:
            code = app(args=argv, prog_name="labelkin", standalone_mode=False, obj=argv)
            sys.stdout.flush()
        except KeyboardInterrupt:
            return _say_interrupted()
        except SystemExit as end:  # Typer's answer to a broken pipe
            return end.code if isinstance(end.code, int) else 1
        except Exception as error:
            # An import that Ctrl-C cuts short may fail in any way.
            if interrupted:
                return _say_interrupted()
            return _report(error)
    return code if isinstance(code, int) else 0


def _say_interrupted() -> int:
    print("interrupted", file=sys.stderr)
    return 130


def _report(error: Exception) -> int:
    """Tell an error in one sentence and return the exit code."""
    if os.environ.get("LABELKIN_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, BrokenPipeError):
        _silence_stdout()
        return 1
    if isinstance(error, OSError):
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        failed = error.errno in _FAILURES
        if failed and not error.filename:
            _silence_stdout()
            what = error.strerror or what
        return _sentence(what, 1 if failed else 2)
    if isinstance(error, (ValueError, ImportError)):
        return _sentence(str(error), 2)
    if isinstance(error, MemoryError):
        return _sentence(f"not enough memory ({error}).".replace(" ()", ""), 1)
    # Typer may carry its own copy of click, so a usage error is known by its methods.
    if hasattr(error, "exit_code"):
        if hasattr(error, "show"):
            error.show()
        return int(error.exit_code)
    name = type(error).__name__
    return _sentence(f"failed: {name}: {error} (LABELKIN_TRACEBACK=1 shows where)", 1)


def _sentence(text: str, code: int) -> int:
    # A path that is no text in this locale is shown in escapes.
    shown = " ".join(text.split()).encode("utf-8", "backslashreplace").decode("utf-8")
    print(f"error: {shown}", file=sys.stderr)
    return code


def _silence_stdout() -> None:
    """Keep Python from flushing once more, at exit, to where nothing can be written."""
    with suppress(OSError, ValueError, AttributeError):  # stdout may be no file, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _interruptions() -> Iterator[list[int]]:
    """Have Ctrl-C and a polite kill end a command alike; the list is empty unless one came."""
    came: list[int] = []

    def interrupt(number: int, _: Any) -> None:
        came.append(number)
        raise KeyboardInterrupt

    def unraisable(event: Any, before: Any = sys.unraisablehook) -> None:
        if not came:  # an interrupt inside a callback is told once, by us
            before(event)

    try:
        earlier = {s: signal.signal(s, interrupt) for s in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not in the main thread
        yield came
        return
    hook, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        yield came
    finally:
        sys.unraisablehook = hook
        for number, handler in earlier.items():
            signal.signal(number, handler)


@contextmanager
def _warnings_as_notes(quiet: bool) -> Iterator[None]:
    """Show a warning as one line, once, without the place in our code."""
    seen: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if text not in seen and not quiet:
            print(f"note: {text}", file=sys.stderr)
        seen.add(text)

    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")  # what speaks to programmers
            warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield
