"""``labelkin merge``: results of several machines in one store."""

from pathlib import Path
from typing import Annotated

import typer

from labelkin.cli._output import echo, plural


def command(
    target: Annotated[
        Path,
        typer.Argument(metavar="STORE", help="The store to add to; made if it does not exist."),
    ],
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...",
            help="Stores, or results.csv files, whose cells are added.",
        ),
    ],
    stratified: Annotated[
        bool, typer.Option("--stratified", help="The folds of a CSV are stratified.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the folds of a CSV; 0 for those of frontier.")
    ] = None,
) -> None:
    """Add the results of other runs of reproduce to a store.

    Machines that share a run (labelkin reproduce --shard 2/4, or --repeats 5-9) each write a
    store; merge puts them together. From a results.csv it makes a store that labelkin reproduce
    resumes. Of a cell that is in several stores, the first result is kept.
    """
    from labelkin.experiments.run.plan import Protocol
    from labelkin.experiments.run.results import merge

    protocol = (
        Protocol(stratified=stratified, seed=seed) if stratified or seed is not None else None
    )
    for source, counts in zip(sources, merge(target, sources, protocol=protocol), strict=True):
        line = f"{source}: {plural(counts['added'], 'cell')} added"
        if counts["equal"]:
            line += f", {counts['equal']:,} already there"
        if counts["different"]:
            line += f", {counts['different']:,} there with other figures, which are kept"
        echo(line)
    echo(f"store: {target}")
