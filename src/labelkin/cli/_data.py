"""Data files as commands read them: training data, and model files with their input."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelkin._utils.files import reason
from labelkin.cli._options import ColumnOptions, Decision, ReadingOptions, label_choice, names_of
from labelkin.cli._output import Notes, plural, progress_bar

if TYPE_CHECKING:
    from labelkin import TableClassifier
    from labelkin.datasets import RawTable
    from labelkin.datasets.formats._raw_table import Guess
    from labelkin.persistence import ModelInfo
    from labelkin.tabular import LabelColumns, TrainingData


def read_training_data(
    path: Path, options: ColumnOptions, reading: ReadingOptions, notes: Notes, *more: str
) -> "TrainingData":
    """Read a labelled table and print what was found in it; `more` are options of the command."""
    from labelkin.datasets import read_table
    from labelkin.tabular import find_training_data

    own = {name: getattr(value, "value", value) for name, value in vars(options).items()}
    columns: dict[str, str] = {}
    for kind in ("text", "category", "number", "date", "day_first_date", "ignore"):
        for name in dict.fromkeys(own.pop(kind) or ()):
            if name in columns:
                raise ValueError(f"column {name!r} is named for two purposes; choose one.")
            columns[name] = kind
    strings = {name for name, kind in columns.items() if kind not in ("number", "ignore")}
    labels = label_choice(own.pop("labels"))
    own["separator"] = [_TAB.get(mark, mark) for mark in options.separator or ()]
    own["no_label"] = options.no_label or ()
    bar, how = f"reading {path.name}", _read_options(reading, strings)
    with progress_bar(bar, hidden=notes.quiet):
        table = read_table(path, **how, labels=labels, expected=columns)
    try:
        with progress_bar(bar, hidden=notes.quiet):
            training = find_training_data(table, labels, columns=columns, **own)
        notes.pending += training.notes
    finally:  # before an error, too, which may come from a wrong guess, such as that of the sheet
        groups = ReadingOptions, type(options)
        print_guesses(table.source, table.guesses, notes, *groups, more=more)
    notes.flush()
    notes.print(str(training))
    notes.print(f"labels: {training.list_labels()}")
    return training


def print_guesses(
    source: str,
    guesses: "Iterable[Guess]",
    notes: Notes,
    *groups: type,
    more: Iterable[str] = (),
) -> None:
    """Print what was guessed about a file in one line, with the options that override it.

    The command has the options in `groups`, and `more`; what others would override is settled in
    the model.
    """
    known = names_of(*groups) | {*more}
    shown = []
    for guess in guesses:
        options = [f"--{name.replace('_', '-')}" for name in guess.arguments if name in known]
        if guess.values:
            options[0] = " ".join(f"{options[0]} {value!r}" for value in guess.values)
        if guess.doubtful:
            notes.pending.append(f"{source}: {guess.text} (set {' or '.join(options)})")
        elif options or not guess.arguments:
            shown.append(f"{guess.text} ({' or '.join(options)})" if options else guess.text)
    if sum(map(len, shown)) > _MAX_LINE:
        for line in (f"reading {source}:", *(f"  {one}" for one in shown)):
            notes.print(line)
    elif shown:
        notes.print(f"reading {source}: {', '.join(shown)}")


_MAX_LINE = 100  # characters of guesses that are printed in one line
_LARGE = 50_000_000  # bytes of a training file that is not read unless it is given
_TAB: dict[str | None, str] = {"\\t": "\t"}  # a tab is hard to type in a shell

# What `fit` records about a model; a model saved from Python may have further details.
_DETAILS = {
    "model": str,
    "decisions": {str: {"thresholds": [float], "at_least_one": bool}},
    str: object,
}


@dataclass(frozen=True)
class SavedModel:
    """A classifier of tables from a model file."""

    classifier: "TableClassifier"
    path: Path
    info: "ModelInfo"

    @property
    def labels(self) -> "LabelColumns":
        """Names and place of the labels."""
        return self.classifier.label_columns_

    def read(
        self, data: Path, reading: ReadingOptions, notes: Notes, *, written: bool = False
    ) -> "tuple[RawTable, Any]":
        """Read a table, print what was guessed, and return it and its features.

        Cells are held as they are `written`, too, if this is asked for. Remarks are added to
        `notes`.
        """
        from labelkin.datasets import read_table

        reads = self.classifier.schema_.reading
        strings = {*reads["as_strings"], *(self.labels.columns if self.labels.column else ())}
        how = reads | _read_options(reading, strings)
        with progress_bar(f"reading {data.name}", hidden=notes.quiet):
            table = read_table(data, **how, written=written)
        print_guesses(table.source, table.guesses, notes, ReadingOptions)
        with self.checked():
            return table, self.classifier.read_rows(table, notes.pending)

    def read_training(self, given: Path | None, reading: ReadingOptions) -> "RawTable | None":
        """Return the rows on which the model was fitted, from the file that is given.

        By default, from the file that `fit` read, if it is still there with the same rows.
        """
        recorded = self.info.details.get("data")
        n = self.info.details.get("rows")
        if given is None:
            path = Path(recorded) if isinstance(recorded, str) else Path()
            if not path.is_file() or path.stat().st_size > _LARGE:
                return None
            with suppress(ValueError, OSError):  # another file of this name
                table, X = self.read(path, reading, Notes(quiet=True))
                if self.classifier.count_training_rows(X) == table.n_rows == n:
                    return table
            return None
        check_data_file(given)
        table, _ = self.read(given, reading, Notes(quiet=True))
        if table.n_rows != (n or table.n_rows):
            raise ValueError(
                f"--training {given}: it has {plural(table.n_rows, 'row')}, and the model was "
                f"fitted on {n:,}; give the file that it was fitted on."
            )
        return table

    def predict(self, X: Any) -> tuple[Any, Any]:
        """Return predicted labels and scores, both of shape (n, q)."""
        with self.checked():
            labels, scores = self.classifier.predict_with_scores(X)
        expected = len(self.labels.names)
        if labels.shape[1] != expected:
            raise ValueError(
                f"{self.path}: the model predicts {labels.shape[1]} labels but has names for "
                f"{expected}."
            )
        return labels, scores

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Name the model file in errors of the model that say nothing of the rows."""
        try:
            yield
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
            raise ValueError(
                f"{self.path}: the model fails on these rows ({reason(error)}); it may be damaged, "
                "or have a preparation of its own that does not take missing values."
            ) from error


def load_saved_model(
    path: Path,
    expected_sha256: str | None = None,
    device: str | None = None,
    decision: Decision | None = None,
) -> SavedModel:
    """Load a model file with what it records about its input and labels.

    With `expected_sha256`, a file of another digest is refused. A `decision` takes the place of the
    model's own.
    """
    from sklearn.utils.validation import check_is_fitted

    from labelkin import TableClassifier
    from labelkin._utils.untrusted import check_json
    from labelkin.persistence import load_model, model_info
    from labelkin.tabular import LabelColumns, Schema

    info = model_info(path)
    try:
        check_json(info.details, _DETAILS)
    except ValueError:
        raise ValueError(f"{path}: the model's description of its input is damaged.") from None
    model = load_model(path, expected_sha256=expected_sha256)
    if not hasattr(model, "predict"):
        raise ValueError(f"{path} holds a {type(model).__name__}, which predicts no labels.")
    check_is_fitted(model, msg=f"{path} holds a %(name)s that is not fitted.")
    if not isinstance(model, TableClassifier):
        model = TableClassifier.around(model, info.label_names)
    elif not isinstance(model.schema_, Schema) or not isinstance(
        model.label_columns_, LabelColumns
    ):
        raise ValueError(f"{path}: the model's description of its input is damaged.")
    if decision is not None:
        names = model.label_columns_.names
        model._decision = decision.restore(names, info.details.get("decisions"))
    return SavedModel(model.set_params(device=device), path, info)


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


def _read_options(reading: ReadingOptions, as_strings: Iterable[str]) -> dict[str, Any]:
    """Return how the user says that a file is to be read."""
    delimiter = _TAB.get(reading.delimiter, reading.delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"--delimiter {reading.delimiter}: it takes one character, or \\t.")
    if reading.decimal not in (None, ".", ","):
        raise ValueError(f"--decimal {reading.decimal}: it must be a point or a comma.")
    given = vars(reading) | {"delimiter": delimiter, "as_strings": as_strings}
    return {name: value for name, value in given.items() if value is not None}
