"""The tree of commands, and the one place where errors become exit codes."""

import sys

import typer

import labelkin
from labelkin.cli import datasets, demo, report, reproduce

app = typer.Typer(
    name="labelkin",
    help="Multi-label classification: from a file to predictions, figures and comparisons.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


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


app.command("demo")(demo.command)
app.command("report")(report.command)
app.add_typer(datasets.app, name="datasets")
app.command("reproduce")(reproduce.command)


def run(argv: list[str]) -> int:
    """Run one command line; bad input and bad usage end with one sentence and code 2."""
    try:
        code = app(args=argv, prog_name="labelkin", standalone_mode=False, obj=argv)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        print(f"error: {what}", file=sys.stderr)
        return 2
    except (ValueError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except Exception as error:
        # Typer may carry its own copy of click, so a usage error is known by its methods.
        if not hasattr(error, "exit_code"):
            raise
        if hasattr(error, "show"):
            error.show()
        return int(error.exit_code)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return code if isinstance(code, int) else 0
