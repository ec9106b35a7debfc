"""The options that commands share, each declared once.

Options that always come together are the fields of a dataclass; `expand_groups` lets a command
take such a group as one parameter.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from labelkin.cli._methods import DEFAULT

# Options in the panels "Columns", "Method" and "Output" of ``--help``.
column_option = partial(typer.Option, rich_help_panel="Columns")
method_option = partial(typer.Option, rich_help_panel="Method")
output_option = partial(typer.Option, rich_help_panel="Output")

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A data file (.csv, .tsv, .xlsx, .ods, .jsonl, .json, .parquet, .arff, .svm, .npz or "
        ".npy, also with .gz or .bz2), or the name of a known dataset.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file written by labelkin fit.")
]
Empty = StrEnum("Empty", ["no", "unknown", "drop"])
Labels = Annotated[
    str | None,
    column_option(
        "--labels",
        "-l",
        help="Label columns, if the file does not declare them: names separated by commas, a "
        "count (3: the first three columns, -3: the last three), or one column of tags.",
    ),
]
MissingLabels = Annotated[
    Empty | None,
    column_option(
        "--missing-labels",
        help="What an empty label cell means: no, or unknown (the model is fitted to the known "
        "labels); drop leaves out rows with empty label cells. Guessed if not given.",
    ),
]
Device = Annotated[str | None, method_option(metavar="cpu|cuda", help="Device to compute on.")]
Json = Annotated[bool, output_option("--json", help="Print the results as JSON.")]
Quiet = Annotated[bool, output_option("--quiet", "-q", help="Print only results and errors.")]
Sha256 = Annotated[
    str | None,
    typer.Option(
        "--sha256",
        metavar="DIGEST",
        help="Refuse MODEL unless this is its SHA-256, as printed by labelkin fit --json or by "
        "sha256sum.",
    ),
]
Overwrite = Annotated[
    bool,
    output_option("--overwrite", "--force", "-f", help="Replace the output file if it exists."),
]


Missing = StrEnum("Missing", ["impute", "refuse"])
Embedding = StrEnum("Embedding", ["auto", "none"])
Scale = StrEnum("Scale", ["auto", "none", "robust", "standard", "minmax"])


@dataclass(frozen=True)
class TableOptions:
    """What the columns of a data file are."""

    labels: Labels = None
    label_column: Annotated[
        str | None,
        column_option(
            metavar="COLUMN",
            help="The one column of tags, also if the tags are words such as yes, or numbers.",
        ),
    ] = None
    separator: Annotated[
        str | None,
        column_option(help="Separator between the tags of a row; guessed if not given."),
    ] = None
    ignore_case: Annotated[
        bool, column_option("--ignore-case", help="Tags like Audio and audio are one label.")
    ] = False
    no_label: Annotated[
        list[str] | None, column_option(metavar="TAG", help="A tag for rows without labels.")
    ] = None
    hierarchy: Annotated[
        str | None,
        column_option(
            metavar="FILE|SEPARATOR|none",
            help="Nested labels: the separator inside their names (/ in science/physics), a file "
            "with one pair of parent and child per line, or none; guessed if the parents are "
            "labels, too.",
        ),
    ] = None
    missing_labels: MissingLabels = None
    text: Annotated[
        list[str] | None,
        column_option(
            metavar="COLUMN",
            help="A text column, turned into TF-IDF weights; columns of sentences are "
            "recognised without it. May be repeated.",
        ),
    ] = None
    category: Annotated[
        list[str] | None,
        column_option(
            metavar="COLUMN",
            help="A categorical column; columns of a few repeated words are recognised without "
            "it. May be repeated.",
        ),
    ] = None
    number: Annotated[
        list[str] | None,
        column_option(
            metavar="COLUMN",
            help="A column of numbers to keep although it looks like an identifier. May be "
            "repeated.",
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        column_option(metavar="COLUMN", help="A column to leave out. May be repeated."),
    ] = None
    missing: Annotated[
        Missing,
        column_option(
            help="Replace missing numbers by the column's median, or refuse files with missing "
            "values."
        ),
    ] = Missing.impute
    scale: Annotated[
        Scale,
        column_option(
            help="Scaling of numeric columns: robust uses medians and quartiles, so that extreme "
            "values have little influence. auto: robust if there are texts or categories too, else "
            "none."
        ),
    ] = Scale.auto
    max_words: Annotated[
        int | None,
        column_option(
            min=1,
            help="Maximum number of words kept per text column; by default 5000, and 100000 with "
            "2000 labels and more.",
        ),
    ] = None
    embedding: Annotated[
        Embedding,
        column_option(
            help="Embeddings of texts, which are alike for words of similar meaning: auto uses "
            "them if the packages of the extra text are installed."
        ),
    ] = Embedding.auto
    trend: Annotated[bool, column_option("--trend", help="Use the year of dates, too.")] = False


@dataclass(frozen=True)
class ReadingOptions:
    """How a file is written."""

    delimiter: Annotated[
        str | None, column_option(help="Delimiter of a CSV file; guessed if not given.")
    ] = None
    encoding: Annotated[
        str | None,
        column_option(help="Text encoding of a CSV or ARFF file; guessed if not given."),
    ] = None
    decimal: Annotated[
        str | None,
        column_option(metavar=".|,", help="Decimal mark of a CSV file; guessed if not given."),
    ] = None
    header: Annotated[
        bool | None, column_option("--header/--no-header", help="Whether row 1 names the columns.")
    ] = None
    sheet: Annotated[str | None, column_option(help="Sheet of a spreadsheet.")] = None
    x: Annotated[str | None, column_option("--x", help="Array of features in .npz.")] = None
    y: Annotated[str | None, column_option("--y", help="Array or .npy file of labels.")] = None


@dataclass(frozen=True)
class DecisionOptions:
    """Which labels are predicted, given their probabilities."""

    decide: Annotated[
        str | None,
        method_option(
            metavar="f1|recall:0.9|cost:FN=5|…",
            help="What the predicted labels optimise: f1, macro_f1, micro_f1, jaccard, "
            "subset_accuracy, cardinality (as many labels as in training), expected_f1, a level "
            "guaranteed for new rows (recall:0.9, precision:0.9, or macro_recall:0.9 for each "
            "label), or costs: "
            "with cost:FN=5 a missed label costs as much as five wrong ones. By default labels "
            "more likely than not are predicted.",
        ),
    ] = None
    threshold: Annotated[
        list[str] | None,
        method_option(
            metavar="[LABEL=]P",
            help="Predict labels with a probability above this, as in 0.3, or billing=0.2 for one "
            "label. May be repeated.",
        ),
    ] = None


def _complete(text: str) -> list[str]:
    from labelkin.methods import METHODS

    return [name for name in ("auto", *METHODS) if name.startswith(text)]


@dataclass(frozen=True)
class MethodOptions:
    """Which method to train, with which parameters, and where."""

    model: Annotated[
        str,
        method_option(
            "--model",
            "-m",
            help="The method: kin (recommended), vpcme, logistic, krr, mlknn, iblr, "
            "rakel, clr, cchains, br, …; auto compares several methods within "
            "--time seconds and uses the best.",
            autocompletion=_complete,
        ),
    ] = DEFAULT
    time: Annotated[
        str | None,
        method_option(
            metavar="SECONDS|COLUMN",
            help="Seconds for comparing methods with --model auto; by default 60. evaluate "
            "also accepts the column with the time of each row: each fold is then predicted from "
            "earlier rows.",
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        method_option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a parameter of the method. May be repeated.",
        ),
    ] = None
    seed: Annotated[
        int, method_option(min=0, max=2**32 - 1, help="Seed of the random numbers.")
    ] = 0
    device: Device = None

    @property
    def time_column(self) -> str | None:
        """The column that --time names, if it is no number."""
        try:
            float(self.time or 0)
        except ValueError:
            return self.time
        return None

    @property
    def seconds(self) -> float:
        """The seconds for comparing methods."""
        if self.time is None or self.time_column is not None:
            return 60
        if not float(self.time) >= 1:
            raise ValueError(f"--time {self.time}: it must be at least one second.")
        return float(self.time)


def names_of(*groups: type) -> set[str]:
    """Return the names of the options in some groups."""
    return {field.name for group in groups for field in fields(group)}


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

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run
