"""``labelkin report``: tables, figures and one page from stored results."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    results: Annotated[
        Path,
        typer.Argument(help="A store written by labelkin reproduce, or a results.csv."),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write into.")] = Path("report"),
    reference: Annotated[
        str, typer.Option(help="The method that marks, wins and losses refer to.")
    ] = "vpcme",
) -> None:
    """Write every table and figure of the results, and report.html that holds them all.

    The page is one file and needs no network. Beside it lie results.csv, the tables as
    Markdown, LaTeX and CSV, and the figures as PNG and SVG.
    """
    from rich.console import Console

    from labelkin.experiments.report.page import read_results, write_report

    recorded = read_results(results)
    frame = recorded.results
    names = sorted(set(frame["method"])) if "method" in frame else []
    if reference not in names and reference != "vpcme":
        raise ValueError(
            f"--reference {reference}: no such method in {results}; there are {', '.join(names)}."
        )
    page = write_report(recorded, out, reference=reference, source=str(results))
    console = Console(highlight=False)
    failed = int((frame["status"] != "ok").sum()) if "status" in frame else 0
    note = f", {failed:,} of them failed" if failed else ""
    console.print(f"{len(frame):,} cells{note}", markup=False)
    console.print(
        f"page:    {page}\ntables:  {out / 'tables'}\nfigures: {out / 'figures'}", markup=False
    )
