"""``labelkin predict``: labels and probabilities of new rows, in a file or on stdout."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from labelkin._utils.files import open_for_writing, strip_compression
from labelkin.cli import _options as options
from labelkin.cli._data import check_data_file, check_model_file, load_saved_model
from labelkin.cli._output import (
    Notes,
    check_output,
    echo,
    plural,
    print_json,
    progress_bar,
    split_names,
)

# Labels that are written for each row by a model of thousands of labels.
_TOP_OF_MANY = 10
_BLOCK = 2000  # rows that are predicted at a time
_FORMATS = {".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_BINARY = {".xlsx": "xlsx", ".parquet": "parquet"}

EXAMPLES = """Examples:

labelkin predict model.labelkin new.csv --out predictions.csv

labelkin predict model.labelkin new.csv --id id --proba --out proba.parquet

labelkin predict model.labelkin new.csv --keep id,plot --top 2

labelkin predict model.labelkin new.csv --decide cost:FN=5 --out careful.csv

labelkin predict model.labelkin new.csv --json"""


@options.expand_groups
def command(
    model: options.ModelFile,
    data: options.DataFile,
    *,
    reading: options.ReadingOptions,
    deciding: options.DecisionOptions,
    device: options.Device = None,
    out: Annotated[
        Path,
        options.output_option(
            "--out",
            "-o",
            help="File to write: .csv, .tsv, .jsonl (these also with .gz or .bz2), .xlsx or "
            ".parquet; - for stdout.",
        ),
    ] = Path("-"),
    proba: Annotated[
        bool,
        options.output_option("--proba", help="Write one column of probabilities per label."),
    ] = False,
    per_label: Annotated[
        bool | None,
        options.output_option(
            "--per-label/--no-per-label",
            help="Write one column of 0 and 1 per label; the default if the training data had one "
            "column per label.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int,
        options.output_option(
            min=0,
            help="Write this many of the most likely labels with their probabilities.",
        ),
    ] = 0,
    id_column: Annotated[
        str | None,
        options.output_option(
            "--id",
            metavar="COLUMN",
            help="Column of DATA that identifies the rows; by default the one that was "
            "recognised in training; without one, rows are numbered from 1.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        options.output_option(
            metavar="COLUMN",
            help="Columns of DATA to copy to the output, separated by commas, or all, or none; by "
            "default the start of a text, such as the title. May be repeated.",
        ),
    ] = None,
    formulas: Annotated[
        bool,
        options.output_option(
            "--formulas/--no-formulas",
            help="With --no-formulas, texts of a CSV file that begin like a formula (=, +, -, @) "
            "get a single quote before them, so that a spreadsheet program does not evaluate them.",
        ),
    ] = True,
    expected_sha256: options.Sha256 = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict the labels of new rows.

    The output has one row per row of DATA: its identifier or number, the start of a text (or the
    columns of --keep), the predicted labels in one column and the confidence (the probability that
    the decision on the row's least certain label is right). If the model was trained on one column
    per label, such columns of 0 and 1 follow. If the output also has the true labels, the columns
    of predictions are named predicted_…. Columns of DATA that the model was not trained on are
    ignored. A CSV file is written like DATA, with semicolons and decimal commas where it has them.
    --json prints one JSON object per row. Rows are predicted and written in blocks.
    """
    to_stdout = str(out) == "-"
    format = ("jsonl" if as_json else "csv") if to_stdout else _find_format(out)
    if not to_stdout:
        check_output(out, overwrite, inputs=[model, data])
    check_model_file(model)
    check_data_file(data)
    decision = options.parse_decision(deciding)
    options.check_device(device)
    from sklearn.utils import _safe_indexing, gen_batches

    from labelkin._utils.labels import MANY_LABELS
    from labelkin.datasets.formats._raw_table import CsvForm
    from labelkin.decisions._risk import compare_with_half
    from labelkin.tabular._predictions import (
        CONFIDENCE,
        frame_predictions,
        kept_columns,
        write_predictions,
    )

    # Read the rows, and predict them.
    saved = load_saved_model(model, expected_sha256, device, decision)
    wanted = [name for text in keep or () for name in split_names(text)]
    notes = Notes(quiet)
    copies = bool(wanted or id_column)
    table, X = saved.read(data, reading, notes, written=copies)
    n, schema = table.n_rows, saved.classifier.schema_
    columns = None if keep is None else wanted
    kept = kept_columns(table, schema, id_column, columns, format)
    if remark := compare_with_half(deciding.decide, saved.classifier.thresholds_):
        notes.pending.append(remark)
    notes.flush()

    # Predict block by block; each is written before the next one is predicted.
    n_labels = len(saved.labels.names)
    if n_labels >= MANY_LABELS:
        top = top or _TOP_OF_MANY
        if proba or per_label:
            raise ValueError(
                "--proba and --per-label write one column per label, of which the model has "
                f"{n_labels:,}; use --top."
            )
        per_label = False
    if per_label is None:
        per_label = saved.labels.column is None and not top
    total = 0
    hidden = quiet or (to_stdout and sys.stdout.isatty())  # printed rows show the progress
    form: Any = {"nested": format == "jsonl", "proba": proba, "top": top, "per_label": per_label}

    def predict_blocks() -> Iterator[Any]:
        nonlocal total
        for block in gen_batches(n, _BLOCK):
            labels, scores = saved.predict(_safe_indexing(X, block))
            copied = {name: cells[block] for name, cells in kept.items()}
            yield frame_predictions(saved.labels, copied, labels, scores, **form)
            total += int(labels.sum())
            update(completed=block.stop)

    csv_form = table.csv or CsvForm()
    if strip_compression(out).suffix.lower() == ".tsv":
        csv_form = replace(csv_form, delimiter="\t")
    encoding = "utf-8" if format == "jsonl" else csv_form.encoding
    with (
        _opened(out, format, encoding) as stream,
        progress_bar("predicting", n, hidden=hidden) as update,
    ):
        write_predictions(predict_blocks(), stream, format, formulas=formulas, form=csv_form)
    notes.print(f"confidence: {CONFIDENCE}")
    if as_json and not to_stdout:
        facts = {"out": str(out), "rows": n, "labels": list(saved.labels.names)}
        print_json({**facts, "labels_per_row": round(total / n, 4)})
    elif not (quiet or to_stdout):
        echo(f"written: {out} ({plural(n, 'row')}, on average {total / n:.2g} labels)")


@contextmanager
def _opened(out: Path, format: str, encoding: str) -> Iterator[Any]:
    """Open the output: a file, which appears when all of it is written, or stdout."""
    if str(out) == "-":
        # A table for another program is written as it is; the escapes are those of JSON.
        piped = getattr(sys.stdout, "rich_proxied_file", sys.stdout)
        yield sys.stdout if format == "jsonl" or sys.stdout.isatty() else piped
        return
    with open_for_writing(out) as file:
        if format in _BINARY.values():
            yield file
            return
        stream = io.TextIOWrapper(file, encoding=encoding, newline="")
        yield stream
        stream.detach()  # the file is closed by open_for_writing


def _find_format(out: Path) -> str:
    """Return the format of the file to write, by its suffix."""
    suffix = out.suffix.lower()
    if suffix in _BINARY:
        return _BINARY[suffix]
    if (text := strip_compression(out).suffix.lower()) in _FORMATS:
        return _FORMATS[text]
    if out.exists() and not out.is_file():
        return "csv"  # a pipe or a device has no suffix
    raise ValueError(
        f"{out}: the suffix gives no known format; end the name in .csv, .tsv, .xlsx, .parquet or "
        ".jsonl."
    )
