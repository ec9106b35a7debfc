"""``labelkin explain``: why a model predicts the labels of one row."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from labelkin._utils.files import open_for_writing
from labelkin.cli import _options as options
from labelkin.cli._data import check_data_file, check_model_file, load_saved_model
from labelkin.cli._output import Notes, check_output, echo, plural, print_json, progress_bar

EXAMPLES = """Examples:

labelkin explain model.labelkin new.csv --row 3

labelkin explain model.labelkin new.csv --row 3 --out why.html

labelkin explain model.labelkin new.csv --training movies.csv"""


@options.expand_groups
def command(
    model: options.ModelFile,
    data: options.DataFile,
    *,
    row: Annotated[int, typer.Option(min=1, help="Number of the row of DATA, counted from 1.")] = 1,
    reading: options.ReadingOptions,
    training: Annotated[
        Path | None,
        options.output_option(
            metavar="FILE",
            help="The training data, to show training rows by identifier and text, not by number; "
            "by default the file that the model was fitted on, if it still exists.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        options.output_option("--out", "-o", help="Page (.html) or picture (.png) to write."),
    ] = None,
    expected_sha256: options.Sha256 = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Explain why a model predicts the labels of one row.

    Each label has its probability and the words and values that count most for (+) or against (−)
    it, on the scale of log odds: +0.7 doubles the odds. Kin and kernel ridge also list what each
    member and which training rows add; methods based on neighbours list the nearest training rows.
    """
    if out is not None:
        if out.suffix.lower() not in (".html", ".htm", ".png"):
            raise ValueError(
                f"{out}: the suffix gives no known format; end the name in .html or .png."
            )
        check_output(out, overwrite, inputs=[model, data])
    check_model_file(model)
    check_data_file(data)
    from labelkin.tabular._predictions import name_rows

    saved = load_saved_model(model, expected_sha256)
    notes = Notes(quiet or as_json)
    table, X = saved.read(data, reading, notes)
    if row > table.n_rows:
        raise ValueError(f"--row {row}: {data} has {plural(table.n_rows, 'row')}.")
    notes.pending = []  # those on other rows
    with suppress(ValueError):  # one row alone may not tell whether the day or the month is first
        saved.classifier.read_rows(replace(table, data=table.data[row - 1 : row]), notes.pending)
    notes.flush()
    known = saved.read_training(training, reading)
    one = X.iloc[[row - 1]] if hasattr(X, "iloc") else X[[row - 1]]
    background = X if type(X).__module__ == "numpy" else None  # a dense matrix
    with saved.checked(), progress_bar("explaining", 1, hidden=quiet or as_json):
        found = saved.classifier.explain(one, background=background, training=known)
    (name,) = name_rows(table, saved.classifier.schema_, [row - 1])
    title = " ".join(filter(None, [name, found.title]))
    found = replace(found, label_names=list(saved.labels.names), title=title, first_row=1)
    if out is not None:
        with open_for_writing(out) as file:
            if out.suffix.lower() == ".png":
                found.plot().savefig(file, dpi=130, format="png")
            else:
                file.write(found.to_html().encode())
    if as_json:
        print_json(found.to_dict())
    elif out is None:
        echo(*str(found).split("\n"))
        if known is None and len(found.rows) and not quiet:
            echo("(--training FILE shows training rows by identifier and text)")
    elif not quiet:
        echo(f"written: {out}")
