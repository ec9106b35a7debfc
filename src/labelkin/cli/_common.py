"""What the commands share: options, notes, files to write, and what is read."""

import json
import os
import shlex
import sys
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelkin.cli import _models

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    from labelkin.persistence import ModelInfo
    from labelkin.tabular._pipeline import LabelColumns, Schema
    from labelkin.tabular._raw import RawTable

COLUMNS, MODEL, OUTPUT = "Columns", "Model", "Output"


class Missing(StrEnum):
    """What becomes of missing values."""

    impute = "impute"
    refuse = "refuse"


class Scale(StrEnum):
    """What becomes of numeric columns."""

    auto = "auto"
    none = "none"
    standard = "standard"
    minmax = "minmax"


DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A file (.csv, .parquet, .arff, .svm, .npz; also .gz and .bz2) or a known "
        "dataset's name.",
        show_default=False,
    ),
]
LabelNames = Annotated[
    str | None,
    typer.Option(
        "--labels",
        "-l",
        help="Label columns, where the file does not say: names separated by commas, or a count "
        "(the first n; -n: the last n).",
        rich_help_panel=COLUMNS,
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(help="One column that lists each row's labels.", rich_help_panel=COLUMNS),
]
Separator = Annotated[
    str,
    typer.Option(help="What stands between the labels in --label-column.", rich_help_panel=COLUMNS),
]
Text = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="A column of text, turned into TF-IDF weights. May be repeated.",
        rich_help_panel=COLUMNS,
    ),
]
Category = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="A column of categories; columns of few words are taken so anyway. May be repeated.",
        rich_help_panel=COLUMNS,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="A column to leave out, such as an identifier. May be repeated.",
        rich_help_panel=COLUMNS,
    ),
]
MissingOption = Annotated[
    Missing,
    typer.Option(
        help="Missing numbers become the column's median, or are refused.",
        rich_help_panel=COLUMNS,
    ),
]
ScaleOption = Annotated[
    Scale,
    typer.Option(
        help="Numeric columns: auto standardises them beside text or categories, else takes "
        "them as they are.",
        rich_help_panel=COLUMNS,
    ),
]
MaxWords = Annotated[
    int,
    typer.Option(min=1, help="Most words kept of each --text column.", rich_help_panel=COLUMNS),
]
Delimiter = Annotated[
    str | None,
    typer.Option(help="Of a CSV file; by default found in its head line.", rich_help_panel=COLUMNS),
]
Encoding = Annotated[
    str, typer.Option(help="Of a CSV or ARFF file's text.", rich_help_panel=COLUMNS)
]
ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        help="The method: vpcme, mlknn, iblr, rakel, clr, cchains, br, …",
        autocompletion=_models.complete,
        rich_help_panel=MODEL,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter of the method. May be repeated.",
        rich_help_panel=MODEL,
    ),
]
Seed = Annotated[
    int,
    typer.Option(min=0, max=2**32 - 1, help="Seed of all that is drawn.", rich_help_panel=MODEL),
]
Device = Annotated[
    str | None,
    typer.Option(metavar="cpu|cuda", help="Where to compute.", rich_help_panel=MODEL),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print results as JSON.", rich_help_panel=OUTPUT)
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print results and errors only.", rich_help_panel=OUTPUT),
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


@dataclass
class Notes:
    """Remarks on stderr, one line each, unless quiet."""

    quiet: bool = False
    waiting: list[str] = field(default_factory=list)

    def flush(self) -> None:
        """Print what came up since."""
        for note in dict.fromkeys(self.waiting):
            if not self.quiet:
                typer.echo(f"note: {note}", err=True)
        self.waiting.clear()

    def say(self, text: str) -> None:
        """Print a line of progress on stderr."""
        if not self.quiet:
            typer.echo(text, err=True)


def print_json(value: object) -> None:
    """Print a value for programs, on one line."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def shell(*words: "str | Path") -> str:
    """Return a command as one would type it."""
    return shlex.join(str(word) for word in words)


def split_names(text: str) -> list[str]:
    """Split names at commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def check_output(path: Path, overwrite: bool, inputs: "Iterable[Path]" = ()) -> None:
    """Refuse an output that could not be written, before anything is computed."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}; make it first.")
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise ValueError(f"{path} is an input too; choose another name.")
    if path.is_file() and not overwrite:
        raise ValueError(f"{path} exists already; choose another name or add --overwrite.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{path} cannot be written: permission denied.")


def progress_console(quiet: bool) -> Any:
    """Return a console on stderr for bars, or None where nobody watches."""
    if quiet or not sys.stderr.isatty():
        return None
    from rich.console import Console

    return Console(stderr=True, highlight=False)


@dataclass(frozen=True)
class Given:
    """Training data as read: raw features, labels, and what they are."""

    table: "RawTable"
    schema: "Schema"
    labels: "LabelColumns"
    X: Any
    Y: "np.ndarray"

    def summary(self) -> dict[str, Any]:
        """Return the figures that commands print."""
        schema = self.schema
        kinds = {k: len(schema.of_kind(k)) for k in ("text", "category", "numeric")}
        if schema.columns is None:
            kinds = {"numeric": schema.n_features}
        return {
            "data": self.table.path,
            "rows": self.table.n_rows,
            "columns": {kind: count for kind, count in kinds.items() if count},
            "labels": list(self.labels.names),
            "labels_per_row": round(float(self.Y.sum(axis=1).mean()), 4),
        }

    def line(self) -> str:
        """Return the summary in words."""
        said = self.summary()
        columns = ", ".join(f"{count:,} {kind}" for kind, count in said["columns"].items())
        total = sum(said["columns"].values())
        return (
            f"{said['data']}: {said['rows']:,} {_plural('row', said['rows'])}, "
            f"{total:,} {_plural('column', total)} ({columns}), {len(said['labels']):,} "
            f"{_plural('label', len(said['labels']))}, {said['labels_per_row']:.2g} a row"
        )


def _plural(word: str, count: int) -> str:
    return word if count == 1 else word + "s"


@dataclass(frozen=True)
class Said:
    """The options about a data file, as given."""

    labels: str | None = None
    label_column: str | None = None
    separator: str = ";"
    text: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    missing: Missing = Missing.impute
    scale: Scale = Scale.auto
    max_words: int = 5000
    delimiter: str | None = None
    encoding: str = "utf-8"

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if self.labels is not None and self.label_column is not None:
            raise ValueError("--labels and --label-column exclude each other; give one of them.")
        if not self.separator:
            raise ValueError("--separator takes at least one character.")
        if self.delimiter is not None and len(self._delimiter or "") != 1:
            raise ValueError(f"--delimiter {self.delimiter}: it takes one character, or \\t.")

    @property
    def _delimiter(self) -> str | None:
        return "\t" if self.delimiter == "\\t" else self.delimiter

    def read(self, data: Path, notes: list[str]) -> Given:
        """Read training data."""
        from labelkin.tabular._pipeline import Columns, LabelColumns, Schema
        from labelkin.tabular._raw import Reading, read_raw_table

        self.check()
        words = {*self.text, *self.category}
        if self.label_column is not None:
            words.add(self.label_column)
        reading = Reading(self._delimiter, self.encoding, frozenset(words), frozenset(self.ignore))
        # These readers must know the labels at once, or know them already.
        early = self.labels if _format(data) in ("libsvm", "npz") else None
        table = read_raw_table(str(data), reading, labels=early)
        if not table.n_rows:
            from labelkin.datasets import FormatError

            raise FormatError(table.path, "it holds no rows")
        separator = "\t" if self.separator == "\\t" else self.separator
        labels = LabelColumns.find(table, self.labels, self.label_column, separator)
        said = Columns(
            self.text,
            self.category,
            self.ignore,
            self.missing.value,
            self.scale.value,
            self.max_words,
        )
        schema = Schema.find(table, labels, said, notes)
        Y = labels.read(table, notes)
        never = [name for name, count in zip(labels.names, Y.sum(axis=0), strict=True) if not count]
        if len(never) == len(labels.names):
            raise ValueError(f"{data}: no row has any label, so there is nothing to learn.")
        if never:
            notes.append(f"{data}: no row has the label {', '.join(never[:5])}")
        return Given(table, schema, labels, schema.read(table, notes), Y)


def _format(data: Path) -> str | None:
    """Name of a file's format, or None where the name does not tell."""
    from labelkin.datasets.formats._formats import format_of

    try:
        return format_of(data)
    except ValueError:
        return None


@dataclass(frozen=True)
class Loaded:
    """A model from a file, and how to read its input."""

    path: Path
    model: Any
    info: "ModelInfo"
    schema: "Schema"
    labels: "LabelColumns"

    def table(self, data: Path, delimiter: str | None, encoding: str, keep: str | None) -> Any:
        """Read a file for this model; the column `keep` as it is written."""
        from labelkin.tabular._raw import Reading, read_raw_table

        words = set(self.schema.worded) | ({keep} if keep else set())
        if self.labels.column:
            words.add(self.labels.column)
        ignored = self.info.details.get("ignore", [])
        skip = frozenset(ignored) - words
        said = Said(delimiter=delimiter, encoding=encoding)
        said.check()
        reading = Reading(said._delimiter, encoding, frozenset(words), skip)
        width = self.schema.n_features or None if _format(data) == "libsvm" else None
        return read_raw_table(str(data), reading, n_features=width)


def check_model(path: Path) -> None:
    """Refuse a path where no model file can be."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a model file.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")


def load(path: Path) -> Loaded:
    """Load a model file and what it says about its input and labels."""
    check_model(path)
    from labelkin.persistence import load_model, model_info
    from labelkin.tabular._pipeline import LabelColumns, Schema

    info = model_info(path)
    model = load_model(path)
    said = info.details.get("schema")
    try:
        schema = Schema.from_dict(said) if said is not None else _schema_of(model)
        names = info.label_names
        if names is None:
            count = len(getattr(model, "classes_", ()))
            names = [f"y{i + 1}" for i in range(count)]
        where = info.details.get("labels", {})
        labels = LabelColumns(tuple(names), where.get("column"), where.get("separator", ";"))
    except (TypeError, ValueError, AttributeError):
        raise ValueError(f"{path}: what the model says about its input is damaged.") from None
    if not hasattr(model, "predict"):
        raise ValueError(f"{path} holds {type(model).__name__}, which predicts no labels.")
    return Loaded(path, model, info, schema, labels)


def _schema_of(model: Any) -> "Schema":
    """Return the input of a model that was saved from Python."""
    from labelkin.tabular._pipeline import Schema

    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return Schema(columns=dict.fromkeys(map(str, names), "raw"))
    return Schema(columns=None, n_features=int(model.n_features_in_))
