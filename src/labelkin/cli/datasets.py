"""``labelkin datasets``: what is known and present, its figures, and other formats of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from sklearn.utils import Bunch

app = typer.Typer(
    help="List datasets, describe, convert and fetch them.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

DataHome = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of the data (default: LABELKIN_DATA, else the cache)."),
]
Labels = Annotated[
    str | None,
    typer.Option(
        help="Label columns of a file that does not say: names separated by commas, or a "
        "count (the first n; -n: the last n)."
    ),
]
Subset = Annotated[str | None, typer.Option(help="Rows of a known dataset: all, train or test.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.callback(invoke_without_command=True)
def list_datasets(context: typer.Context, data: DataHome = None, as_json: Json = False) -> None:
    """List what is known and what is present; the commands below do more."""
    if context.invoked_subcommand is not None:
        return
    from labelkin.datasets import data_home_path, dataset_info, dataset_names, find_dataset

    rows = [(dataset_info(name), find_dataset(name, data)) for name in dataset_names()]
    if as_json:
        _print_json(
            [
                {
                    "name": info.name,
                    "domain": info.domain,
                    "task": info.task,
                    "paper": info.paper,
                    "path": path and str(path),
                    "source": info.source,
                    **info.statistics,
                }
                for info, path in rows
            ]
        )
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("dataset", no_wrap=True)
    table.add_column("here", justify="center")
    for column in ("instances", "features", "labels", "cardinality"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("domain", no_wrap=True)
    for info, path in rows:
        figures = info.statistics
        table.add_row(
            info.name + (" *" if info.paper else ""),
            "yes" if path else "-",
            *(f"{figures[column]:,}" for column in ("instances", "features", "labels")),
            f"{figures['cardinality']:.3f}" if "cardinality" in figures else "",
            info.domain,
        )
    _console().print(table)
    present = sum(path is not None for _, path in rows)
    typer.echo(
        f"{present} of {len(rows)} here (folder: {data_home_path(data)}); * in the paper's Table 2"
    )
    typer.echo("next: labelkin datasets describe yeast    labelkin datasets fetch emotions")


@app.command()
def describe(
    source: Annotated[str, typer.Argument(metavar="NAME|PATH", help="A known name, or a file.")],
    plots: Annotated[
        Path | None, typer.Option(help="Folder to write the plots to, as PNG and SVG.")
    ] = None,
    labels: Labels = None,
    subset: Subset = None,
    data: DataHome = None,
    as_json: Json = False,
) -> None:
    """Show a dataset's figures: size, label sets, imbalance; write plots when asked."""
    from labelkin.datasets import describe as figures_of
    from labelkin.datasets import save_plots

    bunch = _open(source, labels, subset, data)
    figures = figures_of(bunch.target, bunch.data, label_names=bunch.label_names)
    written = []
    if plots is not None:
        written = save_plots(
            bunch.target, plots, label_names=bunch.label_names, title=bunch.get("name")
        )
    if as_json:
        _print_json({"name": bunch.name, **figures.to_dict(), "plots": [str(p) for p in written]})
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False, title=Text(bunch.name))
    for word, figure in figures.rows():
        table.add_row(word, Text(figure))
    _console().print(table)
    for path in written:
        typer.echo(f"written: {path}")


@app.command()
def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A file, or a known name.")],
    goal: Annotated[Path, typer.Argument(metavar="OUT", help="A file; its name sets the format.")],
    labels: Labels = None,
    subset: Subset = None,
    data: DataHome = None,
    overwrite: Annotated[bool, typer.Option(help="Replace OUT if it exists.")] = False,
) -> None:
    """Convert between formats: .arff, .csv, .parquet, .npz, LibSVM; .gz and .bz2 too."""
    from labelkin.datasets import write

    if goal.exists() and not overwrite:
        raise ValueError(f"{goal} exists already; choose another name or add --overwrite.")
    bunch = _open(source, labels, subset, data)
    write(
        goal,
        bunch.data,
        bunch.target,
        feature_names=bunch.feature_names,
        label_names=bunch.label_names,
        feature_n_values=bunch.feature_n_values,
        split=bunch.split,
    )
    n, k = bunch.data.shape
    typer.echo(f"written: {goal} ({n:,} rows, {k:,} features, {bunch.target.shape[1]:,} labels)")


@app.command()
def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME...", show_default=False)
    ] = None,
    paper: Annotated[bool, typer.Option(help="Fetch the paper's twelve.")] = False,
    data: DataHome = None,
) -> None:
    """Download datasets that are not there yet."""
    from labelkin.datasets import dataset_info, dataset_names, find_dataset, load_dataset

    wanted = [dataset_info(name).name for name in names or ()]
    wanted += [name for name in dataset_names(paper=True) if paper and name not in wanted]
    if not wanted:
        raise ValueError(
            "Name at least one dataset, or add --paper; `labelkin datasets` lists them."
        )
    for name in wanted:
        there = find_dataset(name, data)
        if there is None:
            load_dataset(name, data_home=data, subset="all")
        typer.echo(
            f"{name}: {there or find_dataset(name, data)}" + (" (was there)" if there else "")
        )


def _open(source: str, labels: str | None, subset: str | None, data: Path | None) -> "Bunch":
    """Load a known name or read a file; the result has a name to show."""
    from labelkin.datasets import dataset_info, dataset_names, load_dataset, read

    path = Path(source)
    looks_like_a_file = path.is_file() or path.suffix or len(path.parts) > 1
    if source.lower() not in dataset_names() and looks_like_a_file:
        if subset is not None:
            raise ValueError("--subset is for known datasets; a file is always taken whole.")
        if not path.is_file():
            raise FileNotFoundError(f"There is no file {source}.")
        bunch = read(path, labels=labels)
        bunch.name = path.name
        return bunch
    if labels is not None:
        raise ValueError(f"--labels is for files; the labels of {source} are known.")
    return load_dataset(dataset_info(source).name, data_home=data, subset=subset)


def _print_json(value: object) -> None:
    import json

    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def _console() -> "Console":
    from rich.console import Console

    return Console(highlight=False)
