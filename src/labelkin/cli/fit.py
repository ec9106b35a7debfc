"""``labelkin fit``: from a file to a model in a file."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelkin.cli import _common as common
from labelkin.cli import _device, _models

if TYPE_CHECKING:
    from labelkin.registry import Method

EXAMPLES = """Examples:

labelkin fit movies.csv --text plot --ignore id --labels drama,comedy,crime

labelkin fit posts.csv --text body --label-column tags --out tags.skops

labelkin fit digit-scenes --model mlknn --set n_neighbors=5 --out knn.skops

labelkin fit digit-scenes --set n_estimators=10 --out scenes.skops"""


def command(
    data: common.DataFile,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The model file to write.", rich_help_panel=common.OUTPUT),
    ] = Path("model.skops"),
    labels: common.LabelNames = None,
    label_column: common.LabelColumn = None,
    separator: common.Separator = ";",
    text: common.Text = None,
    category: common.Category = None,
    ignore: common.Ignore = None,
    missing: common.MissingOption = common.Missing.impute,
    scale: common.ScaleOption = common.Scale.auto,
    max_words: common.MaxWords = 5000,
    delimiter: common.Delimiter = None,
    encoding: common.Encoding = "utf-8",
    model: common.ModelName = _models.DEFAULT,
    settings: common.Settings = None,
    seed: common.Seed = 0,
    device: common.Device = None,
    overwrite: common.Overwrite = False,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Learn from a file and write the model, ready for new rows of the same columns.

    Numbers are taken as they are, columns of few words become categories, columns named with
    --text become TF-IDF weights. All of it is in the model file: predict takes raw rows. The
    file runs nothing when it is loaded.
    """
    from labelkin.persistence import save_model
    from labelkin.tabular._pipeline import make_pipeline

    notes = common.Notes(quiet or as_json)
    method = _models.find_method(model)
    chosen = _models.parse_settings(settings or [])
    classifier = _models.make_model(method, chosen, seed)
    common.check_output(out, overwrite, [data])
    _device.check(device)
    said = common.Said(
        labels,
        label_column,
        separator,
        tuple(text or ()),
        tuple(category or ()),
        tuple(ignore or ()),
        missing,
        scale,
        max_words,
        delimiter,
        encoding,
    )
    given = said.read(data, notes.waiting)
    notes.flush()
    notes.say(given.line())
    pipeline = make_pipeline(given.schema, classifier)
    started = time.perf_counter()
    fit_watched(pipeline, given, method, device, quiet or as_json)
    seconds = time.perf_counter() - started
    details = {
        "model": method.name,
        "settings": {name: _plain(value) for name, value in chosen.items()},
        "seed": seed,
        "rows": given.table.n_rows,
        "schema": given.schema.to_dict(),
        "labels": {"column": given.labels.column, "separator": given.labels.separator},
        "ignore": list(said.ignore),
    }
    save_model(pipeline, out, label_names=given.labels.names, details=details)
    size = out.stat().st_size if out.is_file() else 0
    if as_json:
        facts = {"model": method.name, "settings": details["settings"], "seed": seed}
        told = {"out": str(out), "bytes": size, "seconds": round(seconds, 3)}
        common.print_json({**given.summary(), **facts, **told})
    elif not quiet:
        typer.echo(f"written: {out} ({method.title}, {_size(size)}, fitted in {seconds:.1f} s)")
        typer.echo(f"next:    {common.shell('labelkin', 'predict', out)} NEW --out predictions.csv")


def fit_watched(
    pipeline: Any, given: common.Given, method: "Method", device: str | None, quiet: bool
) -> None:
    """Fit, with a bar where somebody watches an ensemble grow."""
    classifier = pipeline.steps[-1][1]
    total = getattr(classifier, "n_estimators", None)
    console = common.progress_console(quiet)
    if console is None or not hasattr(classifier, "_after_member") or not isinstance(total, int):
        fit(pipeline, given, device)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(f"fitting {method.title}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        classifier._after_member = lambda number, error: progress.update(task, completed=number)
        try:
            fit(pipeline, given, device)
        finally:
            del classifier._after_member  # the bar is no part of the model


def fit(pipeline: Any, given: common.Given, device: str | None) -> None:
    """Fit the pipeline; on a device, the classifier alone runs there."""
    from labelkin.tabular._pipeline import fit_pipeline

    if device is not None and _device.elsewhere(device):
        _device.fit(pipeline, given.X, given.Y, device)
    else:
        fit_pipeline(pipeline, given.X, given.Y, given.labels.names)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{max(size / 1e3, 0.1):.1f} kB"
