"""Data files as commands read them: training data, and model files with their input."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelkin._utils.files import reason
from labelkin.cli import _compute
from labelkin.cli._decisions import Decision
from labelkin.cli._fingerprint import count_known_rows, fingerprint
from labelkin.cli._options import ReadingOptions, TableOptions, names_of
from labelkin.cli._output import Notes, plural

if TYPE_CHECKING:
    import numpy as np

    from labelkin.persistence import ModelInfo
    from labelkin.tabular import LabelColumns, RawTable, ReadOptions, Schema


# Kinds of columns, as they are named in print.
_KINDS = (
    ("text", "text"),
    ("category", "category"),
    ("date", "date", "day_first_date"),
    ("numeric", "numeric"),
)
# What `fit` records about a model; a model saved from Python may have further details.
_DETAILS = {
    "model": str,
    "rows": int,
    "labels": {"column": (None, str), "separator": str},
    "ignore": [str],
    "decimal": {".", ","},
    "fingerprint": [str],
    "decisions": {str: {"thresholds": [float], "at_least_one": bool}},
    str: object,
}


@dataclass(frozen=True)
class TrainingData:
    """A labelled table: features as the pipeline takes them, labels, and what the columns are."""

    table: "RawTable"
    schema: "Schema"
    labels: "LabelColumns"
    ignored: tuple[str, ...]
    X: Any
    y: "np.ndarray"

    def details(self) -> dict[str, Any]:
        """Return what a model file records about its input, for `load_saved_model`."""
        return {
            "rows": self.table.n_rows,
            "schema": self.schema.to_dict(),
            "labels": {"column": self.labels.column, "separator": self.labels.separator},
            "ignore": list(self.ignored),
            "decimal": self.table.decimal,
            "fingerprint": fingerprint(self.X),
        }

    def summary(self) -> dict[str, Any]:
        """Return the figures that commands print."""
        kinds: dict[str, Any] = {"numeric": self.schema.n_features}
        if self.schema.columns is not None:
            kinds = {title: self.schema.of_kind(*kinds) for title, *kinds in _KINDS}
        return {
            "data": self.table.path,
            "guesses": [guess.text for guess in self.table.guesses],
            "rows": self.table.n_rows,
            "columns": {kind: names for kind, names in kinds.items() if names},
            "labels": list(self.labels.names),
            "labels_per_row": round(float(self.y.sum(axis=1).mean()), 4),
            "rows_without_labels": int((~self.y.any(axis=1)).sum()),
        }

    def __str__(self) -> str:
        """Return the summary in words."""
        from labelkin.tabular import join_names

        figures = self.summary()
        kinds, empty = figures["columns"], figures["rows_without_labels"]
        columns = "; ".join(
            f"{kind}: {join_names(names)}" if isinstance(names, list) else f"{names:,} {kind}"
            for kind, names in kinds.items()
        )
        n_columns = sum(len(x) if isinstance(x, list) else x for x in kinds.values())
        return (
            f"{figures['data']}: {plural(figures['rows'], 'row')}, "
            f"{plural(n_columns, 'column')} ({columns}), "
            f"{plural(len(figures['labels']), 'label')}, {figures['labels_per_row']:.2g} per row"
            + (f", {plural(empty, 'row')} without any" if empty else "")
        )


def read_training_data(
    path: Path, options: TableOptions, reading: ReadingOptions, notes: Notes
) -> TrainingData:
    """Read a labelled table; what the user should know about it goes to `notes`."""
    from labelkin.datasets import FormatError
    from labelkin.tabular import ColumnOptions, LabelColumns, Schema, read_raw_table

    if options.labels is not None and options.label_column is not None:
        raise ValueError("--labels and --label-column exclude each other; give one of them.")
    separator = _unescape(options.separator)
    if separator == "":
        raise ValueError("--separator takes at least one character.")
    kinds: dict[str, Any] = {
        kind: tuple(getattr(options, kind) or ())
        for kind in ("text", "category", "number", "ignore")
    }
    columns = ColumnOptions(
        **kinds,
        missing=options.missing.value,
        scale=options.scale.value,
        max_words=options.max_words,
    )
    as_strings = {*columns.text, *columns.category, *filter(None, [options.label_column])}
    how = _read_options(reading, as_strings, columns.ignore)
    # The readers of these formats separate labels from features themselves.
    early = options.labels if _format_of(path) in ("libsvm", "npz") else None
    table = read_raw_table(str(path), how, labels=early)
    if not table.n_rows:
        raise FormatError(table.path, "it has no rows")
    labels = LabelColumns.find(table, options.labels, options.label_column, separator)
    schema = Schema.find(table, labels, columns, notes.pending)
    y = labels.read(table, notes.pending)
    never = [name for name, count in zip(labels.names, y.sum(axis=0), strict=True) if not count]
    if len(never) == len(labels.names):
        raise ValueError(f"{path}: no row has any label, so there is nothing to learn.")
    if never:
        notes.pending.append(f"{path}: no row has the label {', '.join(never[:5])}")
    X = schema.read(table, notes.pending)
    data = TrainingData(table, schema, labels, columns.ignore, X, y)
    print_guesses(table, notes, ReadingOptions, TableOptions)
    notes.flush()
    notes.print(str(data))
    return data


def print_guesses(table: "RawTable", notes: Notes, *groups: type) -> None:
    """Print what was guessed about a file in one line, with the options that override it.

    The command has the options in `groups`; what others would override is settled in the model.
    """
    known = names_of(*groups)
    shown = []
    for guess in table.guesses:
        options = [f"--{name}" for name in guess.arguments if name in known]
        if options or not guess.arguments:
            shown.append(f"{guess.text} ({' or '.join(options)})" if options else guess.text)
    if shown:
        notes.print(f"reading {table.path}: {', '.join(shown)}")


@dataclass(frozen=True)
class FittedModel:
    """A fitted model, with the columns and labels it was fitted on."""

    model: Any
    schema: "Schema"
    labels: "LabelColumns"


@dataclass(frozen=True)
class SavedModel(FittedModel):
    """A fitted model from a file."""

    path: Path
    info: "ModelInfo"

    def read(self, data: Path, reading: ReadingOptions, keep: Iterable[str] = ()) -> "RawTable":
        """Read a table for this model; the columns `keep` are read as they are written."""
        from labelkin.tabular import read_raw_table

        width = self.schema.n_features or None if _format_of(data) == "libsvm" else None
        return read_raw_table(str(data), self._read_options(reading, keep), n_features=width)

    def parse(self, content: bytes, source: str) -> "RawTable":
        """Return the content of a CSV file as `read` does; errors name it by `source`."""
        from labelkin.tabular import parse_raw_table

        return parse_raw_table(content, source, self._read_options(ReadingOptions()))

    def _read_options(self, reading: ReadingOptions, keep: Iterable[str] = ()) -> "ReadOptions":
        as_strings = {*self.schema.string_columns, *keep, *filter(None, [self.labels.column])}
        ignored = {*self.info.details.get("ignore", [])} - as_strings
        # The decimal mark of the training data, unless the user gives another; a file in which
        # it does not occur reads the same with either.
        return _read_options(reading, as_strings, ignored, self.decimal_comma)

    @property
    def decimal_comma(self) -> str | None:
        """A comma, if it is the decimal mark of the training data."""
        return "," if self.info.details.get("decimal") == "," else None

    def predict(
        self, X: Any, device: str | None, decision: Decision | None = None
    ) -> "tuple[np.ndarray, np.ndarray, np.ndarray]":
        """Return predicted labels and scores, both of shape (n, q), and the q thresholds.

        Labels are those of the model, unless a decision is given.
        """
        try:
            with self._model_for(X) as model:
                labels, scores = _compute.predict(model, X, device)
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
            # Most likely an array or a setting in the file that no fit gives.
            raise ValueError(
                f"{self.path}: the model fails on these rows ({reason(error)}); is it damaged?"
            ) from error
        expected = len(self.labels.names)
        if labels.shape[1] != expected:
            raise ValueError(
                f"{self.path}: the model predicts {labels.shape[1]} labels but has names for "
                f"{expected}."
            )
        if decision is None:
            return labels, scores, _compute.thresholds(self.model, expected)
        stored = self.info.details.get("decisions")
        labels, thresholds = decision.apply(scores, self.labels.names, stored)
        return labels, scores, thresholds

    def _model_for(self, X: Any) -> AbstractContextManager[Any]:
        """Return a context with the model, in a form that takes the columns as X has them."""
        from labelkin.tabular import columns_by_place

        if self.schema.columns is None or hasattr(X, "columns"):
            return nullcontext(self.model)
        return columns_by_place(self.model, self.schema.columns)

    def count_training_rows(self, X: Any) -> int:
        """Return how many rows the model was trained on, estimated for large tables."""
        return count_known_rows(X, self.info.details.get("fingerprint"))


def load_saved_model(path: Path, expected_sha256: str | None = None) -> SavedModel:
    """Load a model file with what it records about its input and labels.

    With `expected_sha256`, a file of another digest is refused.
    """
    from labelkin.persistence import load_model, model_info

    info = model_info(path)
    model = load_model(path, expected_sha256=expected_sha256)
    if not hasattr(model, "predict"):
        raise ValueError(f"{path} holds a {type(model).__name__}, which predicts no labels.")
    return describe_model(model, info, path)


def describe_model(model: Any, info: "ModelInfo", path: Path) -> SavedModel:
    """Return a model with its input and labels as its file describes them, once validated."""
    from labelkin._utils.untrusted import check_json
    from labelkin.tabular import LabelColumns, Schema

    recorded = info.details.get("schema")
    names = info.label_names
    try:
        check_json(info.details, _DETAILS)
        schema = _schema_of(model) if recorded is None else Schema.from_dict(recorded)
        if names is None:
            names = [f"y{i + 1}" for i in range(len(getattr(model, "classes_", ())))]
        where = info.details.get("labels", {})
        labels = LabelColumns(tuple(names), where.get("column"), where.get("separator") or ";")
    except (TypeError, ValueError):
        raise ValueError(f"{path}: the model's description of its input is damaged.") from None
    return SavedModel(model, schema, labels, path, info)


def check_data_file(path: Path) -> None:
    """Refuse a path that is neither a file nor could be the name of a known dataset."""
    could_be_name = not path.suffix and len(path.parts) == 1
    if not path.exists() and not could_be_name:
        raise FileNotFoundError(f"There is no file {path}.")


def check_model_file(path: Path) -> None:
    """Refuse a path that cannot be a model file."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a model file.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")


def _schema_of(model: Any) -> "Schema":
    """Return the input of a model that was saved from Python, without a schema."""
    from labelkin.tabular import Schema

    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return Schema(columns=dict.fromkeys(map(str, names), "raw"))
    return Schema(columns=None, n_features=int(model.n_features_in_))


def _format_of(path: Path) -> str | None:
    """Return the name of a file's format, or None if its suffix is unknown."""
    from labelkin.datasets.formats._dispatch import format_of

    try:
        return format_of(path)
    except ValueError:
        return None


def _read_options(
    reading: ReadingOptions,
    as_strings: Iterable[str],
    ignore: Iterable[str],
    decimal: str | None = None,
) -> "ReadOptions":
    """Return how to read a file; `decimal` is its decimal mark unless the user gives one."""
    from labelkin.tabular import ReadOptions

    delimiter = _unescape(reading.delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"--delimiter {reading.delimiter}: it takes one character, or \\t.")
    if reading.decimal not in (None, ".", ","):
        raise ValueError(f"--decimal {reading.decimal}: it is a point or a comma.")
    decimal = reading.decimal or decimal
    strings, ignored = frozenset(as_strings), frozenset(ignore)
    return ReadOptions(delimiter, reading.encoding, decimal, strings, ignored)


def _unescape(text: str | None) -> str | None:
    """Return a tab for a backslash and t: a tab is hard to type in a shell."""
    return "\t" if text == "\\t" else text
