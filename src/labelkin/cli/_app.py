"""The tree of commands, and how one of them is run."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

import labelkin
from labelkin.cli import datasets, demo, evaluate, export, fit, merge, predict, report, reproduce
from labelkin.cli._errors import Interrupted, report_error, report_interrupt, warnings_as_notes

app = typer.Typer(
    name="labelkin",
    help="Multi-label classification: train, predict, evaluate and compare, from files.",
    epilog="""From a table to predictions for new rows:

labelkin evaluate movies.csv --text plot --ignore id -l drama,comedy,crime

labelkin fit movies.csv --text plot --ignore id -l drama,comedy,crime

labelkin predict model.skops new.csv --id id --out predictions.csv

The method is kin unless --model names another, such as vpcme, the paper's.

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


app.command("fit", epilog=fit.EXAMPLES)(fit.command)
app.command("predict", epilog=predict.EXAMPLES)(predict.command)
app.command("evaluate", epilog=evaluate.EXAMPLES)(evaluate.command)
app.command("export", epilog=export.EXAMPLES)(export.command)
app.add_typer(datasets.app, name="datasets")
app.command("demo")(demo.command)
app.command("reproduce")(reproduce.command)
app.command("merge")(merge.command)
app.command("report")(report.command)


def run(argv: list[str]) -> int:
    """Run one command line and return its exit code."""
    quiet = "-q" in argv or "--quiet" in argv
    with _terminable() as interrupted, warnings_as_notes(quiet):
        try:
            code = app(args=argv, prog_name="labelkin", standalone_mode=False, obj=argv)
            sys.stdout.flush()
        except Interrupted as end:
            return report_interrupt(str(end))
        except KeyboardInterrupt:
            return report_interrupt()
        except SystemExit as end:  # Typer's response to a broken pipe
            return end.code if isinstance(end.code, int) else 1
        except Exception as error:
            # An import that Ctrl-C cuts short may fail in any way.
            return report_interrupt() if interrupted else report_error(error, _options_of(argv))
        if code == 130:  # Typer turns KeyboardInterrupt into this code, without a word
            return report_interrupt()
    return code if isinstance(code, int) else 0


def _options_of(argv: list[str]) -> dict[str, str]:
    """Return the options of the command that was run, by the name of the argument they set."""
    command: Any = typer.main.get_command(app)
    for word in argv:
        command = getattr(command, "commands", {}).get(word, command)
    return {option.name: option.opts[0] for option in command.params if option.opts[0][0] == "-"}


@contextmanager
def _terminable() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt on SIGTERM as on Ctrl-C; yield the list of signals received."""
    received: list[int] = []

    def interrupt(number: int, _: Any) -> None:
        received.append(number)
        raise KeyboardInterrupt

    def report_unraisable(event: Any, default: Any = sys.unraisablehook) -> None:
        if not received:  # an interrupt inside a callback is reported once, by `run`
            default(event)

    try:
        handlers = {s: signal.signal(s, interrupt) for s in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not in the main thread
        yield received
        return
    hook, sys.unraisablehook = sys.unraisablehook, report_unraisable
    try:
        yield received
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)
