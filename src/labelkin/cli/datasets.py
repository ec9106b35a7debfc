"""``labelkin datasets``: list, describe, convert and fetch datasets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from labelkin.cli._data import check_data_file, read_training_data
from labelkin.cli._options import ColumnOptions, Json, Overwrite, ReadingOptions, expand_groups
from labelkin.cli._output import Notes, check_output, echo, print_json, progress_bar

if TYPE_CHECKING:
    from sklearn.utils import Bunch

app = typer.Typer(
    help="List, describe, convert and fetch datasets.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

DataHome = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder of the datasets; by default LABELKIN_DATA or the user's cache."
    ),
]


@app.callback(invoke_without_command=True)
def list_datasets(context: typer.Context, data: DataHome = None, as_json: Json = False) -> None:
    """List the known datasets and which of them are on this machine, or run a command below."""
    if context.invoked_subcommand is not None:
        return
    from labelkin.datasets import data_home_path, dataset_info, dataset_names, find_dataset
    from labelkin.evaluation._figures import text_table

    rows = [(dataset_info(name), find_dataset(name, data)) for name in dataset_names()]
    if as_json:
        fields = ("name", "domain", "task", "paper", "source")
        found = [
            {name: getattr(info, name) for name in fields}
            | {"path": path and str(path), **info.statistics}
            for info, path in rows
        ]
        print_json(found, indent=2)
        return
    counts = ("instances", "features", "labels")
    cells = [["dataset", "here", *counts, "cardinality", "domain"]]
    for info, path in rows:
        figures = info.statistics
        share = f"{figures['cardinality']:.3f}" if "cardinality" in figures else ""
        name = info.name + " *" * bool(info.paper)
        numbers = [f"{figures[column]:,}" for column in counts]
        cells.append([name, "yes" if path else "-", *numbers, share, info.domain])
    Console(highlight=False).print(text_table(cells, right=range(2, 6)))
    present = sum(path is not None for _, path in rows)
    echo(f"{present} of {len(rows)} are here, in {data_home_path(data)}; * in Table 2 of the paper")
    echo("next: labelkin datasets describe yeast    labelkin datasets fetch flags")


@app.command()
@expand_groups
def describe(
    source: Annotated[
        str, typer.Argument(metavar="NAME|PATH", help="A known dataset's name, or a file.")
    ],
    *,
    table: ColumnOptions,
    reading: ReadingOptions,
    data: DataHome = None,
    as_json: Json = False,
) -> None:
    """Show the statistics of a dataset: its size, label sets and imbalance."""
    from labelkin.datasets import describe as compute_statistics
    from labelkin.evaluation._figures import text_table

    bunch = _load(source, table, reading, data)
    statistics = compute_statistics(bunch.target, bunch.data, label_names=bunch.label_names)
    if as_json:
        print_json({"name": bunch.name, **statistics.to_dict()}, indent=2)
        return
    echo(bunch.name)
    Console(highlight=False).print(text_table(statistics.rows(), right=()))


@app.command()
@expand_groups
def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A file, or a known dataset's name.")],
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="File to write; its suffix sets the format.")
    ],
    *,
    table: ColumnOptions,
    reading: ReadingOptions,
    data: DataHome = None,
    overwrite: Overwrite = False,
) -> None:
    """Convert a dataset to another format: ARFF, CSV or .npz."""
    from labelkin.datasets._write import find_suffix, write

    check_output(out, overwrite, inputs=[Path(source)])
    find_suffix(out)
    bunch = _load(source, table, reading, data)
    with progress_bar("converting", 1, hidden=False):
        names = ("feature_names", "label_names", "feature_n_values", "split")
        write(out, bunch.data, bunch.target, **{name: bunch[name] for name in names})
    n, k = bunch.data.shape
    echo(f"written: {out} ({n:,} rows, {k:,} features, {bunch.target.shape[1]:,} labels)")


@app.command()
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Names of datasets.", show_default=False),
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="Fetch the twelve datasets of the VPCME paper.")
    ] = False,
    data: DataHome = None,
) -> None:
    """Download datasets, unless they are already on this machine."""
    from labelkin.datasets import dataset_info, dataset_names, find_dataset, load_dataset

    wanted = [dataset_info(name).name for name in names or ()]
    wanted += [name for name in dataset_names(paper=True) if paper and name not in wanted]
    if not wanted:
        raise ValueError(
            "Name at least one dataset, or add --paper; `labelkin datasets` lists them."
        )
    for name in wanted:
        path = find_dataset(name, data)
        if path is not None:
            echo(f"{name}: {path} (already there)")
        else:
            load_dataset(name, data_home=data, subset="all")
            echo(f"{name}: {find_dataset(name, data)}")


def _load(source: str, table: ColumnOptions, reading: ReadingOptions, data: Path | None) -> "Bunch":
    """Load a known dataset or read a file as fit does; the result has a name."""
    from labelkin.datasets import dataset_info, dataset_names, load_dataset

    path = Path(source)
    check_data_file(path)
    if source.lower() not in dataset_names() and path.exists():
        return read_training_data(path, table, reading, Notes(quiet=False)).as_bunch()
    if table.labels is not None:
        raise ValueError(f"--labels applies only to files; the labels of {source} are known.")
    return load_dataset(dataset_info(source).name, data_home=data)
