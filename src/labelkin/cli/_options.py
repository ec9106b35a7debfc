"""The options that commands share, each declared once.

Options that always come together are the fields of a dataclass; `expand_groups` lets a command
take such a group as one parameter.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from labelkin.cli import _methods

COLUMNS, METHOD, OUTPUT = "Columns", "Method", "Output"
"""The panels in which ``--help`` groups the options."""


class Missing(StrEnum):
    """Treatments of missing values."""

    impute = "impute"
    refuse = "refuse"


class Scale(StrEnum):
    """Scalings of numeric columns."""

    auto = "auto"
    none = "none"
    standard = "standard"
    minmax = "minmax"


DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A data file (.csv, .parquet, .arff, .svm or .npz, also with .gz or .bz2), or the "
        "name of a known dataset.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file written by labelkin fit.")
]
LabelNames = Annotated[
    str | None,
    typer.Option(
        "--labels",
        "-l",
        help="Label columns, if the file does not declare them: names separated by commas, or a "
        "count (3: the first three columns, -3: the last three).",
        rich_help_panel=COLUMNS,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="Delimiter of a CSV file; by default detected from its first line.",
        rich_help_panel=COLUMNS,
    ),
]
Encoding = Annotated[
    str, typer.Option(help="Text encoding of a CSV or ARFF file.", rich_help_panel=COLUMNS)
]
Device = Annotated[
    str | None,
    typer.Option(metavar="cpu|cuda", help="Device to compute on.", rich_help_panel=METHOD),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the results as JSON.", rich_help_panel=OUTPUT)
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print only results and errors.", rich_help_panel=OUTPUT),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        "--force",
        "-f",
        help="Replace the output file if it exists.",
        rich_help_panel=OUTPUT,
    ),
]
_ColumnNames = list[str] | None


@dataclass(frozen=True)
class TableOptions:
    """How to read a data file and what its columns are."""

    labels: LabelNames = None
    label_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The single column that lists each row's labels.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    separator: Annotated[
        str,
        typer.Option(
            help="Separator between the labels in --label-column.", rich_help_panel=COLUMNS
        ),
    ] = ";"
    text: Annotated[
        _ColumnNames,
        typer.Option(
            metavar="COLUMN",
            help="A text column, turned into TF-IDF weights. May be repeated.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    category: Annotated[
        _ColumnNames,
        typer.Option(
            metavar="COLUMN",
            help="A categorical column; columns of a few repeated words are recognised without "
            "it. May be repeated.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    ignore: Annotated[
        _ColumnNames,
        typer.Option(
            metavar="COLUMN",
            help="A column to leave out, such as an identifier. May be repeated.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    missing: Annotated[
        Missing,
        typer.Option(
            help="Replace missing numbers by the column's median, or refuse files with missing "
            "values.",
            rich_help_panel=COLUMNS,
        ),
    ] = Missing.impute
    scale: Annotated[
        Scale,
        typer.Option(
            help="Scaling of numeric columns; auto standardises them beside text or categories "
            "and leaves them unscaled otherwise.",
            rich_help_panel=COLUMNS,
        ),
    ] = Scale.auto
    max_words: Annotated[
        int,
        typer.Option(
            min=1, help="Maximum number of words kept per --text column.", rich_help_panel=COLUMNS
        ),
    ] = 5000
    delimiter: Delimiter = None
    encoding: Encoding = "utf-8"


@dataclass(frozen=True)
class MethodOptions:
    """Which method to train, with which parameters, and where."""

    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            help="The method: vpcme, mlknn, iblr, rakel, clr, cchains, br, …",
            autocompletion=_methods.complete,
            rich_help_panel=METHOD,
        ),
    ] = "vpcme"
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a parameter of the method. May be repeated.",
            rich_help_panel=METHOD,
        ),
    ] = None
    seed: Annotated[
        int,
        typer.Option(
            min=0, max=2**32 - 1, help="Seed of the random numbers.", rich_help_panel=METHOD
        ),
    ] = 0
    device: Device = None


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the fields of its dataclass parameters as options.

    Typer makes one option of each parameter in the signature; the fields of a group stand there
    in the group's place and are gathered again when the command is called.
    """
    groups: dict[str, Any] = {}
    parameters = []
    for parameter in inspect.signature(command).parameters.values():
        expanded = [parameter]
        if is_dataclass(group := parameter.annotation):
            groups[parameter.name] = group
            expanded = list(inspect.signature(groups[parameter.name]).parameters.values())
        parameters += [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in expanded]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run
