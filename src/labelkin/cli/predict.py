"""``labelkin predict``: labels and probabilities of new rows, in a file or on stdout."""

import csv
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from labelkin._utils.files import open_for_writing, strip_compression
from labelkin.cli import _options as options
from labelkin.cli._data import check_data_file, check_model_file, load_saved_model
from labelkin.cli._methods import check_device, parse_decision
from labelkin.cli._output import Notes, check_output, echo, print_json, split_names

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from labelkin.datasets import RawTable
    from labelkin.tabular import LabelColumns

_FORMATS = {".csv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}

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
            help="File to write: .csv, .jsonl (both also with .gz or .bz2) or .parquet; - for "
            "stdout.",
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
            help="Column of DATA that identifies the rows; by default they are numbered from 1.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        options.output_option(
            metavar="COLUMN",
            help="Columns of DATA to copy to the output, separated by commas, or all. May be "
            "repeated.",
        ),
    ] = None,
    formulas: Annotated[
        bool,
        options.output_option(
            "--formulas/--no-formulas",
            help="Leave texts of a CSV file that begin like a formula (=, +, -, @) as they are, or "
            "write a single quote before them, for files of others that a spreadsheet opens.",
        ),
    ] = True,
    expected_sha256: options.Sha256 = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict the labels of new rows.

    The output has one row per row of DATA: its number (or --id), the columns of --keep, the
    predicted labels in one column and the confidence (the probability that the decision on the
    row's least certain label is right). If the model was trained on one column per label, such
    columns of 0 and 1 follow. Columns of DATA that the model was not trained on are ignored.
    --json prints one JSON object per row.
    """
    to_stdout = str(out) == "-"
    format = ("jsonl" if as_json else "csv") if to_stdout else _find_format(out)
    if not to_stdout:
        check_output(out, overwrite, inputs=[model, data])
    check_model_file(model)
    check_data_file(data)
    decision = parse_decision(deciding)
    check_device(device)
    from labelkin.tabular._frames import escape_formulas, row_confidence

    # Read the rows, and predict them.
    saved = load_saved_model(model, expected_sha256, device)
    wanted = [name for text in keep or () for name in split_names(text)]
    notes = Notes(quiet)
    table, X = saved.read(data, reading, notes, keep=[*wanted, *filter(None, [id_column])])
    kept = {"row": list(range(1, table.n_rows + 1))}
    if id_column is not None:
        kept = _columns_as_written(table, [id_column], "--id")
    kept |= _columns_as_written(table, wanted, "--keep")
    notes.flush()
    labels, scores, _ = saved.predict(X, decision)

    # Write one row per row.
    if per_label is None:
        per_label = saved.labels.column is None and not top
    columns = {**kept, "labels": [], "confidence": row_confidence(labels, scores)}
    predictions = _tabulate(columns, saved.labels, labels, scores, format, proba, top, per_label)
    if format == "csv" and not formulas:
        predictions = escape_formulas(predictions)
    if to_stdout:
        # A table for another program is written as it is; the escapes are those of JSON.
        piped = getattr(sys.stdout, "rich_proxied_file", sys.stdout)
        is_escaped = format == "jsonl" or sys.stdout.isatty()
        _write(predictions, sys.stdout if is_escaped else piped, format)
        sys.stdout.flush()
        return
    with open_for_writing(out) as file:
        if format == "parquet":
            predictions.to_parquet(file, index=False)
        else:
            stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
            _write(predictions, stream, format)
            stream.flush()
            stream.detach()  # the file is closed by open_for_writing

    mean = float(labels.sum(axis=1).mean())
    if as_json:
        facts = {"out": str(out), "rows": len(labels), "labels": list(saved.labels.names)}
        print_json({**facts, "labels_per_row": round(mean, 4)})
    elif not quiet:
        echo(f"written: {out} ({len(labels):,} rows, {mean:.2g} labels per row)")


def _find_format(out: Path) -> str:
    """Return ``csv``, ``parquet`` or ``jsonl``, by the suffix of the file to write."""
    suffix = strip_compression(out).suffix.lower()
    compressed = out.suffix.lower() != suffix
    if suffix in _FORMATS and not (compressed and suffix == ".parquet"):
        return _FORMATS[suffix]
    if out.exists() and not out.is_file():
        return "csv"  # a pipe or a device has no suffix
    raise ValueError(
        f"{out}: the format is unknown from the name; end it in .csv, .parquet or .jsonl."
    )


def _tabulate(
    columns: dict[str, Any],
    label_columns: "LabelColumns",
    labels: "np.ndarray",
    scores: "np.ndarray",
    format: str,
    proba: bool,
    top: int,
    per_label: bool,
) -> "pd.DataFrame":
    """Return one row per row, with its labels, and the most likely ones or all if wanted.

    Label sets are joined by the separator of the training data, or written as lists if a label
    contains it. A column that is no label gets a "_" if a label has its name.
    """
    import pandas as pd

    names, separator = list(label_columns.names), label_columns.separator
    sets = [[names[j] for j in row.nonzero()[0]] for row in labels]
    likely, scores = (-scores).argsort(axis=1, kind="stable")[:, :top], scores.round(6)
    if format == "jsonl":
        columns["labels"] = sets
        if top:
            columns["top"] = [
                [{"label": names[j], "probability": p[j]} for j in found]
                for p, found in zip(scores, likely, strict=True)
            ]
        if proba:
            columns["probabilities"] = [dict(zip(names, p, strict=True)) for p in scores]
        return pd.DataFrame(columns)
    as_list = any(separator in name for name in names)
    columns["labels"] = [json.dumps(s) if as_list else separator.join(s) for s in sets]
    for rank, found in enumerate(likely.T, start=1):
        columns[f"label_{rank}"] = [names[j] for j in found]
        columns[f"probability_{rank}"] = [p[j] for p, j in zip(scores, found, strict=True)]
    own = names if proba or per_label else []
    table: dict[str, Any] = {}
    for name, cells in columns.items():
        while name in own or name in table:
            name += "_"
        table[name] = cells
    return pd.DataFrame(table | dict(zip(own, (scores if proba else labels).T, strict=False)))


def _write(table: "pd.DataFrame", stream: TextIO, format: str) -> None:
    if format == "jsonl":
        table.to_json(stream, orient="records", lines=True, force_ascii=False)
    else:
        text = table.to_csv(index=False, lineterminator="\n")
        if "\r" in text:  # which pandas does not quote, and readers take for the end of a line
            text = table.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        stream.write(text)


def _columns_as_written(table: "RawTable", names: list[str], option: str) -> dict[str, list[Any]]:
    """Return columns of the input as they are written; --keep all means all of them."""
    from labelkin.datasets.formats._columns import find_columns

    if names and table.names is None:
        raise ValueError(f"{option} {names[0]}: {table.source} has no column names.")
    known = table.names or []
    if option == "--keep" and names == ["all"] and "all" not in known:
        names = known
    found = {}
    for name in names:
        find_columns([name], known, table.source)
        found[name] = ["" if cell is None else cell for cell in table.strings(name)]
    return found
