"""``labelkin predict``: labels and probabilities of new rows, in a file or on stdout."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelkin.cli import _options as options
from labelkin.cli._data import check_data_file, check_model_file, load_saved_model
from labelkin.cli._decisions import parse_decision
from labelkin.cli._methods import check_device
from labelkin.cli._output import Notes, check_output, print_json, split_names
from labelkin.cli._predictions import Predictions, output_format

if TYPE_CHECKING:
    from labelkin.datasets import RawTable

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
    separator: Annotated[
        str | None,
        options.output_option(
            help="Separator between the labels of a row; by default that of the training data."
        ),
    ] = None,
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
    if to_stdout:
        format = "jsonl" if as_json else "csv"
    else:
        format = output_format(out)
        check_output(out, overwrite, inputs=[model, data])
    if separator == "":
        raise ValueError("--separator takes at least one character.")
    check_model_file(model)
    check_data_file(data)
    decision = parse_decision(deciding)
    check_device(device)

    saved = load_saved_model(model, expected_sha256, device)
    separator = separator or saved.labels.separator
    names = list(saved.labels.names)
    mixed = next((name for name in names if separator in name), None)
    if format != "jsonl" and mixed is not None:
        raise ValueError(
            f"label {mixed!r} contains {separator!r}, the separator of labels; choose another "
            "with --separator."
        )
    wanted = [name for text in keep or () for name in split_names(text)]
    notes = Notes(quiet)
    table, X = saved.read(data, reading, notes, keep=[*wanted, *filter(None, [id_column])])
    kept = {"row": list(range(1, table.n_rows + 1))}
    if id_column is not None:
        kept = _columns_as_written(table, [id_column], "--id")
    kept |= _columns_as_written(table, wanted, "--keep")
    notes.flush()
    labels, scores, _ = saved.predict(X, decision)
    if per_label is None:
        per_label = saved.labels.column is None and not top
    predictions = Predictions(kept, names, labels, scores, proba, top, separator, per_label)
    if to_stdout:
        predictions.write_text(sys.stdout, format)
        sys.stdout.flush()
        return
    predictions.write(out, format)

    mean = float(labels.sum(axis=1).mean())
    if as_json:
        facts = {"out": str(out), "rows": len(labels), "labels": names}
        print_json({**facts, "labels_per_row": round(mean, 4)})
    elif not quiet:
        typer.echo(f"written: {out} ({len(labels):,} rows, {mean:.2g} labels per row)")


def _columns_as_written(table: "RawTable", names: list[str], option: str) -> dict[str, list[Any]]:
    """Return columns of the input as they are written; --keep all means all of them."""
    from labelkin.datasets.formats._columns import find_columns
    from labelkin.tabular._columns import column_strings

    if names and table.names is None:
        raise ValueError(f"{option} {names[0]}: {table.source} has no column names.")
    known = table.names or []
    if option == "--keep" and names == ["all"] and "all" not in known:
        names = known
    found = {}
    for name in names:
        find_columns([name], known, table.source)
        found[name] = ["" if cell is None else cell for cell in column_strings(table, name)]
    return found
