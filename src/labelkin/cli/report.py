"""``labelkin report``: tables, figures and one page from stored results."""

from pathlib import Path
from typing import Annotated

import typer

from labelkin.cli._output import echo, progress_bar


def command(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS...",
            help="Stores written by labelkin reproduce, or results.csv files. If several contain "
            "the same cell, the first is used.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("report"),
    reference: Annotated[
        str, typer.Option(help="Method with which the others are compared.")
    ] = "vpcme",
) -> None:
    """Write the tables and figures of stored results, and report.html with all of them.

    The page is a single file and needs no network. The folder also holds results.csv, the tables
    as Markdown and CSV, and the figures as PNG and SVG.
    """
    from labelkin.experiments.report.page import write_report
    from labelkin.experiments.run.results import read_results

    recorded, source = read_results(*results), " ".join(map(str, results))
    names = sorted(set(recorded.results.get("method", ())))
    if reference not in (*names, "vpcme"):
        raise ValueError(
            f"--reference {reference}: no such method in {source}; its methods: {', '.join(names)}."
        )
    with progress_bar("drawing and testing", 1, hidden=False):
        page = write_report(recorded, out, reference=reference, sources=results)
    failed = sum(status != "ok" for status in recorded.results.get("status", ()))
    cells = f"{len(recorded.results):,} cells"
    echo(cells + (f", {failed:,} of them failed" if failed else ""))
    echo(f"page:    {page}", f"tables:  {out / 'tables'}", f"figures: {out / 'figures'}")
