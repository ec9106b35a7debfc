"""The tree of commands, and how one of them is run.

Errors and warnings are one line each on stderr. Exit codes: 0: done. 1: failed (a full disk, no
memory, a closed pipe, a defect of labelkin). 2: bad usage or bad input. 130: interrupted. A
traceback is shown only if LABELKIN_TRACEBACK is set.
"""

import ast
import errno
import inspect
import io
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import typer

import labelkin
from labelkin._utils.errors import rename_arguments
from labelkin._utils.names import printable
from labelkin.cli import (
    datasets,
    demo,
    evaluate,
    explain,
    export,
    fit,
    predict,
    report,
    reproduce,
    serve,
)
from labelkin.cli._output import Interrupted, escaped_output

# The disk or the machine failed; any other error of a file can be corrected by the user.
_FAILURES = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.ENOMEM, errno.EMFILE}

# The kind of a column, an option of its own on the command line.
_KIND = re.compile(r"columns=(\{['\"].*?['\"]: '\w+'\})")

app = typer.Typer(
    name="labelkin",
    help="Multi-label classification: train, predict, evaluate and compare, from files.",
    epilog="""From a table to predictions for new rows:

labelkin evaluate movies.csv --labels drama,comedy,crime

labelkin fit movies.csv --labels drama,comedy,crime

labelkin predict model.labelkin new.csv --out predictions.csv

The method is kin, an ensemble, unless --model names another.

The VPCME paper is that of Li, Li and Wu (2013); its method is vpcme.

labelkin COMMAND --help shows more examples.""",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Take the options before the command."""
    if version:
        typer.echo(f"labelkin {labelkin.__version__}")
        raise typer.Exit


_DATA, _PAPER = "Your data", "Examples, and the experiments of the VPCME paper"
for _panel, _module in (
    *((_DATA, one) for one in (evaluate, fit, predict, explain, serve, export)),
    *((_PAPER, one) for one in (demo, datasets, reproduce, report)),
):
    _name = _module.__name__.rpartition(".")[2]
    if hasattr(_module, "app"):
        app.add_typer(_module.app, name=_name, rich_help_panel=_panel)
        continue
    # The lines of a docstring are joined, as terminals differ in width.
    _paragraphs = (inspect.getdoc(_module.command) or "").split("\n\n")
    app.command(
        _name,
        help="\n\n".join(part.replace("\n", " ") for part in _paragraphs),
        epilog=getattr(_module, "EXAMPLES", None),
        rich_help_panel=_panel,
    )(_module.command)


def run(argv: list[str], interrupted: list[int]) -> int:
    """Run one command line and return its exit code; `interrupted` are the signals received.

    After a signal it raises KeyboardInterrupt, or what the signal made of it.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name that cannot be encoded is shown with escapes, as on stderr.
        sys.stdout.reconfigure(errors="backslashreplace")
    quiet = "-q" in argv or "--quiet" in argv
    with escaped_output(), warnings_as_notes(quiet):
        try:
            code = app(args=argv, prog_name="labelkin", standalone_mode=False, obj=argv)
            sys.stdout.flush()
        except Interrupted as end:
            raise KeyboardInterrupt(str(end)) from None
        except SystemExit as end:  # Typer's response to a broken pipe
            return end.code if isinstance(end.code, int) else 1
        except Exception as error:
            if interrupted:
                raise
            command: Any = typer.main.get_command(app)
            for word in argv:
                command = getattr(command, "commands", {}).get(word, command)
            options = {one.name: one.opts[0] for one in command.params if one.opts[0][0] == "-"}
            return report_error(error, options)
        if code == 130:  # Typer turns KeyboardInterrupt into this code silently
            raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def report_error(error: Exception, options: Mapping[str, str]) -> int:
    """Print an error as one sentence and return the exit code.

    `options` are those of the command, such as ``--missing-labels``, by argument of the library.
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
        message = rename_arguments(error, options)
        message = _KIND.sub(_show_kind, message)
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
            usage: Any = error
            usage.message = printable(str(usage.message))
            usage.show()
        return int(error.exit_code)
    name = type(error).__name__
    return _print_error(f"failed: {name}: {error} (LABELKIN_TRACEBACK=1 shows where)", 1)


def _show_kind(found: re.Match[str]) -> str:
    ((name, kind),) = ast.literal_eval(found[1]).items()
    return f"--{kind.replace('_', '-')} {shlex.quote(name)}"


@contextmanager
def warnings_as_notes(quiet: bool) -> Iterator[None]:
    """Show each warning once, as one line without its place in the code."""
    seen: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if text not in seen and not quiet:
            print(f"note: {printable(text)}", file=sys.stderr)
        seen.add(text)

    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")  # deprecations and the like are for programmers
            warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


def _print_error(text: str, code: int) -> int:
    print(f"error: {printable(' '.join(text.split()))}", file=sys.stderr)
    return code


def _discard_stdout() -> None:
    """Keep Python from failing again at exit, when it flushes what could not be written."""
    with suppress(OSError, ValueError, AttributeError):  # stdout may be no file, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
