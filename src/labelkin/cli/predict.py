"""``labelkin predict``: labels and probabilities for new rows, in a file or on stdout."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelkin.cli import _common as common
from labelkin.cli import _device

if TYPE_CHECKING:
    import numpy as np

EXAMPLES = """Examples:

labelkin predict model.skops new.csv --out predictions.csv

labelkin predict model.skops new.csv --id id --proba --out proba.parquet

labelkin predict model.skops new.csv --top 2

labelkin predict model.skops new.csv --json"""

_SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_ROWS = 10_000  # written at once


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that labelkin fit wrote.")],
    data: common.DataFile,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="File to write: .csv, .parquet, .jsonl (.csv and .jsonl also with .gz or .bz2); "
            "- for stdout.",
            rich_help_panel=common.OUTPUT,
        ),
    ] = Path("-"),
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            help="A column of probabilities for each label, instead of 0 and 1.",
            rich_help_panel=common.OUTPUT,
        ),
    ] = False,
    top: Annotated[
        int,
        typer.Option(
            min=0,
            help="The n most likely labels with their probabilities, instead of a column each.",
            rich_help_panel=common.OUTPUT,
        ),
    ] = 0,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="A column of DATA to name the rows by, instead of their number from 1.",
            rich_help_panel=common.OUTPUT,
        ),
    ] = None,
    separator: Annotated[
        str,
        typer.Option(help="Between the labels of a row.", rich_help_panel=common.OUTPUT),
    ] = ";",
    delimiter: common.Delimiter = None,
    encoding: common.Encoding = "utf-8",
    device: common.Device = None,
    overwrite: common.Overwrite = False,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Predict the labels of new rows.

    Each row has its number (or --id), its labels joined in one column, then a column of 0 and
    1 for each label: probabilities with --proba, only the most likely labels with --top.
    Columns of DATA that the model does not know are passed over. With --json, stdout takes
    one JSON object a row.
    """
    to_stdout = str(out) == "-"
    kind = "jsonl" if as_json else "csv"
    if not to_stdout:
        kind = _format(out)
        common.check_output(out, overwrite, [model, data])
    if not separator:
        raise ValueError("--separator takes at least one character.")
    _device.check(device)
    notes = common.Notes(quiet)
    loaded = common.load(model)
    table = loaded.table(data, delimiter, encoding, id_column)
    names = loaded.labels.names
    _check_separator(names, separator, kind)
    ids, id_name = _ids(table, id_column)
    X = loaded.schema.read(table, notes.waiting)
    notes.flush()
    labels, scores = predictions(loaded, X, device)
    answer = Answer(id_name, ids, list(names), labels, scores, proba, top, separator)
    if to_stdout:
        for part in answer.text(kind):
            sys.stdout.write(part)
        sys.stdout.flush()
        return
    write(answer, out, kind)
    mean = float(labels.sum(axis=1).mean())
    if as_json:
        facts = {"out": str(out), "rows": len(labels), "labels": list(names)}
        common.print_json({**facts, "labels_per_row": round(mean, 4)})
    elif not quiet:
        typer.echo(f"written: {out} ({len(labels):,} rows, {mean:.2g} labels a row)")


def predictions(
    loaded: common.Loaded, X: Any, device: str | None
) -> "tuple[np.ndarray, np.ndarray]":
    """Return labels and scores, both (n, q)."""
    from labelkin._utils.scoring import estimator_labels, estimator_scores

    model = loaded.model
    if device is not None and _device.elsewhere(device):
        if not hasattr(model, "steps"):
            raise ValueError(f"--device: {loaded.path} was not written by labelkin fit.")
        return _device.predict(model, X, device)
    labels = estimator_labels(model, X)
    if labels.shape[1] != len(loaded.labels.names):
        raise ValueError(
            f"{loaded.path}: the model predicts {labels.shape[1]} labels and names "
            f"{len(loaded.labels.names)}."
        )
    if not (hasattr(model, "predict_proba") or hasattr(model, "decision_function")):
        return labels, labels.astype(float)
    return labels, estimator_scores(model, X, labels.shape[1])


def _format(out: Path) -> str:
    from labelkin._utils.files import strip_compression

    suffix = strip_compression(out).suffix.lower()
    packed = out.suffix.lower() != suffix
    if suffix not in _SUFFIXES or (packed and suffix == ".parquet"):
        if out.exists() and not out.is_file():
            return "csv"  # a pipe or a device: its name says nothing
        raise ValueError(
            f"{out}: the name does not tell the format; end it in .csv, .parquet or .jsonl."
        )
    return _SUFFIXES[suffix]


def _check_separator(names: "tuple[str, ...]", separator: str, kind: str) -> None:
    if kind == "jsonl":
        return
    for name in names:
        if separator in name:
            raise ValueError(
                f"label {name!r} holds {separator!r}, which would stand between labels; choose "
                "another with --separator."
            )


def _ids(table: Any, column: str | None) -> tuple[list[Any], str]:
    if column is None:
        return list(range(1, table.n_rows + 1)), "row"
    from labelkin.tabular._raw import positions_of

    if table.names is None:
        raise ValueError(f"--id {column}: {table.path} has no column names.")
    positions_of([column], table)
    return ["" if cell is None else cell for cell in table.strings(column)], column


@dataclass(frozen=True)
class Answer:
    """Predictions as they are shown."""

    id_name: str
    ids: list[Any]
    names: list[str]
    labels: "np.ndarray"
    scores: "np.ndarray"
    proba: bool
    top: int
    separator: str

    @property
    def header(self) -> list[str]:
        """Return the columns' names; ours give way where a label is called the same."""
        own = [self.id_name, "labels"]
        best = [f"{word}{i + 1}" for i in range(self._n_top) for word in ("label_", "probability_")]
        each = self.names if self._each else []
        taken = set(each)
        shown = []
        for name in own + best:
            while name in taken:
                name += "_"
            taken.add(name)
            shown.append(name)
        return shown + each

    @property
    def _n_top(self) -> int:
        return min(self.top, len(self.names))

    @property
    def _each(self) -> bool:
        return self.proba or not self.top

    def rows(self) -> Iterator[list[Any]]:
        """Yield each row's cells."""
        for i, found in enumerate(self.labels):
            joined = self.separator.join(self._present(found))
            best = [cell for pair in self._best(i) for cell in pair]
            each: list[Any] = []
            if self._each:
                each = (
                    [round(float(p), 6) for p in self.scores[i]] if self.proba else found.tolist()
                )
            yield [self.ids[i], joined, *best, *each]

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a JSON object."""
        for i, found in enumerate(self.labels):
            row: dict[str, Any] = {self.id_name: self.ids[i], "labels": self._present(found)}
            if self.top:
                row["top"] = [{"label": n, "probability": p} for n, p in self._best(i)]
            if self.proba:
                pairs = zip(self.names, self.scores[i], strict=True)
                row["probabilities"] = {name: round(float(p), 6) for name, p in pairs}
            yield row

    def _present(self, found: "np.ndarray") -> list[str]:
        return [self.names[j] for j in found.nonzero()[0]]

    def _best(self, i: int) -> list[tuple[str, float]]:
        order = (-self.scores[i]).argsort(kind="stable")[: self._n_top]
        return [(self.names[j], round(float(self.scores[i, j]), 6)) for j in order]

    def text(self, kind: str) -> Iterator[str]:
        """Yield the whole as text, some rows at a time."""
        if kind == "jsonl":
            for item in self.objects():
                yield json.dumps(item, ensure_ascii=False) + "\n"
            return
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(self.header)
        for number, row in enumerate(self.rows(), start=1):
            writer.writerow(row)
            if number % _ROWS == 0:
                yield buffer.getvalue()
                buffer.seek(0)
                buffer.truncate()
        yield buffer.getvalue()


def write(answer: Answer, out: Path, kind: str) -> None:
    """Write the predictions to a file, whole or not at all."""
    from labelkin._utils.files import open_for_writing

    if kind != "parquet":
        with open_for_writing(out) as file:
            for part in answer.text(kind):
                file.write(part.encode("utf-8"))
        return
    from labelkin._utils.optional import import_optional

    arrow, parquet = import_optional("pyarrow"), import_optional("pyarrow.parquet")
    columns = list(zip(*answer.rows(), strict=True))
    table = arrow.table(dict(zip(answer.header, map(list, columns), strict=True)))
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    with open_for_writing(out) as file:
        file.write(buffer.getbuffer())
