"""The tree of commands, and how one of them is run."""

import inspect
import io
import sys
from collections.abc import Callable
from typing import Any

import typer

import labelkin
from labelkin.cli import (
    datasets,
    demo,
    evaluate,
    explain,
    export,
    fit,
    merge,
    predict,
    report,
    reproduce,
    serve,
)
from labelkin.cli._errors import Interrupted, report_error, warnings_as_notes

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


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"labelkin {labelkin.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_print_version,
        is_eager=True,
        help="Print the version and exit.",
    ),
) -> None:
    """Take the options before the command."""


def _add(panel: str, name: str, command: Callable[..., Any], examples: str | None = None) -> None:
    """Add a command; the lines of its docstring are joined, as terminals differ in width."""
    help = "\n\n".join(
        part.replace("\n", " ") for part in (inspect.getdoc(command) or "").split("\n\n")
    )
    app.command(name, help=help, epilog=examples, rich_help_panel=panel)(command)


_DATA, _PAPER = "Your data", "Examples, and the experiments of the VPCME paper"
_add(_DATA, "evaluate", evaluate.command, evaluate.EXAMPLES)
_add(_DATA, "fit", fit.command, fit.EXAMPLES)
_add(_DATA, "predict", predict.command, predict.EXAMPLES)
_add(_DATA, "explain", explain.command, explain.EXAMPLES)
_add(_DATA, "serve", serve.command, serve.EXAMPLES)
_add(_DATA, "export", export.command, export.EXAMPLES)
_add(_PAPER, "demo", demo.command)
app.add_typer(datasets.app, name="datasets", rich_help_panel=_PAPER)
_add(_PAPER, "reproduce", reproduce.command)
_add(_PAPER, "report", report.command)
_add(_PAPER, "merge", merge.command)


def run(argv: list[str], interrupted: list[int]) -> int:
    """Run one command line and return its exit code; `interrupted` are the signals received.

    After a signal it raises KeyboardInterrupt, or what the signal made of it.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name that cannot be encoded is shown with escapes, as on stderr.
        sys.stdout.reconfigure(errors="backslashreplace")
    quiet = "-q" in argv or "--quiet" in argv
    with warnings_as_notes(quiet):
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
