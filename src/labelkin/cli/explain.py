"""``labelkin explain``: why a model predicts the labels of one row."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelkin.cli import _options as options
from labelkin.cli._data import (
    SavedModel,
    check_data_file,
    check_model_file,
    load_saved_model,
    print_guesses,
)
from labelkin.cli._decisions import parse_decision
from labelkin.cli._output import Notes, check_output, plural, print_json

if TYPE_CHECKING:
    from labelkin.cli._reasons import Reasons

EXAMPLES = """Examples:

labelkin explain model.skops new.csv --row 3

labelkin explain model.skops new.csv --row 3 --out why.html

labelkin explain model.skops new.csv --training movies.csv"""

_LONGEST = 100  # characters of a row in a title


@options.expand_groups
def command(
    model: options.ModelFile,
    data: options.DataFile,
    *,
    row: Annotated[int, typer.Option(min=1, help="Number of the row of DATA, counted from 1.")] = 1,
    reading: options.ReadingOptions,
    deciding: options.DecisionOptions,
    training: Annotated[
        Path | None,
        options.output_option(
            metavar="FILE",
            help="The training data, to show training rows in words and not only their numbers.",
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

    Each label has its probability and the words and values that speak most for (+) or against (−)
    it, on the scale of log odds: +0.7 doubles the odds. Kin and kernel ridge also list what each
    member and which training rows add; methods based on neighbours list the nearest training rows.
    """
    if out is not None:
        if out.suffix.lower() not in (".html", ".htm", ".png"):
            raise ValueError(f"{out}: the name does not tell the format; end it in .html or .png.")
        check_output(out, overwrite, inputs=[model, data])
    check_model_file(model)
    check_data_file(data)
    decision = parse_decision(deciding)
    from labelkin.cli._find_reasons import find_reasons

    saved = load_saved_model(model, expected_sha256)
    table = saved.read(data, reading)
    notes = Notes(quiet or as_json)
    print_guesses(table.source, table.guesses, notes, options.ReadingOptions)
    if row > table.n_rows:
        raise ValueError(f"--row {row}: {data} has {plural(table.n_rows, 'row')}.")
    X = saved.schema.read(table, [])
    one = X.iloc[[row - 1]] if hasattr(X, "iloc") else X[[row - 1]]
    labels, scores, _ = saved.predict(one, decision)
    title = f"row {row}{_in_words(saved, X)(row - 1)}"
    describe = _describer(saved, training, reading)
    found = find_reasons(saved.classifier, X, row - 1, labels[0], scores[0], title, describe)
    if out is not None:
        _write(found, out)
    if as_json:
        print_json(found.as_json())
    elif out is None:
        typer.echo(found.as_text())
    elif not quiet:
        typer.echo(f"written: {out}")


def _write(found: "Reasons", out: Path) -> None:
    from labelkin._utils.files import open_for_writing

    with open_for_writing(out) as file:
        if out.suffix.lower() == ".png":
            found.draw(file)
        else:
            file.write(found.as_html().encode())


def _describer(
    saved: SavedModel, training: Path | None, reading: options.ReadingOptions
) -> Callable[[int], str]:
    """Return a function from a training row to its words, without the file to nothing."""
    if training is None:
        return lambda row: ""
    check_data_file(training)
    table = saved.read(training, reading)
    if table.n_rows != saved.info.details.get("rows", table.n_rows):
        raise ValueError(
            f"--training {training}: it has {plural(table.n_rows, 'row')}, and the model was "
            f"fitted on {saved.info.details['rows']:,}; give the file that it was fitted on."
        )
    return _in_words(saved, saved.schema.read(table, []))


def _in_words(saved: SavedModel, X: Any) -> Callable[[int], str]:
    """Return a function from a row's position to its words, after a space, texts in quotes."""
    from labelkin.cli._find_reasons import describe_rows

    describe = describe_rows(saved.schema, X, _LONGEST)
    mark = '"' if saved.schema.of_kind("text") else ""
    return lambda row: f" {mark}{words}{mark}" if (words := describe(row)) else ""
