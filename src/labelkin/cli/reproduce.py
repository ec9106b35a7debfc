"""``labelkin reproduce``: the paper's experiments, with the user's own methods and data."""

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelkin.cli._errors import Interrupted
from labelkin.cli._output import plural, shell_line, split_names

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from labelkin.experiments.run.plan import Plan
    from labelkin.experiments.run.protocol import Cell
    from labelkin.experiments.run.runner import Summary
    from labelkin.experiments.run.sources import Source
    from labelkin.experiments.run.store import Store
    from labelkin.experiments.run.views import View
    from labelkin.methods import Method
    from labelkin.metrics import Metric


def command(
    context: typer.Context,
    group: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="table3 (the compared methods, also for Table 4), figure1 (thresholds), table5 "
            "(ensemble sizes), figure2 (the parts of VPCME), bases (other base learners), "
            "frontier (all methods, with those of other libraries, on five fixed folds) or "
            "holdout (the same on published test rows).",
        ),
    ],
    datasets: Annotated[
        str | None,
        typer.Option(help="Run only these datasets: names or files, separated by commas."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Run only these methods, separated by commas; mlknn@n_neighbors=5 is mlknn with "
            "a parameter changed."
        ),
    ] = None,
    repeats: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT|FIRST-LAST",
            help="Repeats of the cross-validation: 20 by default, 1 for frontier; 5-9 computes "
            "the sixth to the tenth (the first is 0).",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER/COUNT",
            help="Compute only a part: 2/4 on the second of four machines. labelkin merge puts "
            "the stores together.",
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default="5; holdout: 1",
            help="Folds per repeat. 1: train on the published training rows of a dataset and "
            "predict its test rows.",
        ),
    ] = None,
    stratified: Annotated[
        bool, typer.Option("--stratified", help="Spread the labels evenly over the folds.")
    ] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="One repeat on the bundled digit scenes (or on --datasets): a few minutes, no "
            "files needed.",
        ),
    ] = False,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]MODULE:FACTORY",
            help="Add your own method: a class, function or estimator of a module, or of a file "
            "(mine.py:MyClassifier), that gives a scikit-learn classifier. The report includes a "
            "verdict on it. May be repeated.",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]PATH",
            help="Your own dataset, alone or in addition to --datasets. May be repeated.",
        ),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES|COUNT",
            help="Label columns of a --data file that does not declare them: names separated by "
            "commas, or a count (3: the first three columns, -3: the last three). May be repeated.",
        ),
    ] = None,
    store: Annotated[
        Path, typer.Option(help="File of the results; cells in it are not computed again.")
    ] = Path("results.db"),
    jobs: Annotated[
        int, typer.Option(help="Cells computed at the same time; -1: one per core.")
    ] = -1,
    threads: Annotated[
        bool, typer.Option("--threads", help="Use threads instead of processes.")
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="tcp://…", help="Run on the Dask cluster with this scheduler."),
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Compute failed cells again.")] = False,
    mix_revisions: Annotated[
        bool,
        typer.Option(
            "--mix-revisions", help="Resume even if other code computed the stored cells."
        ),
    ] = False,
) -> None:
    """Run the experiments of the VPCME paper (section 4), or resume them.

    A cell is one method on one fold of one repeat of one dataset. Each finished cell is stored
    at once: after an interruption of any kind, the same command resumes the run.
    """
    from rich.console import Console

    from labelkin.experiments.run.groups import QUICK_DATASET, find_group
    from labelkin.experiments.run.peers import COMPARED
    from labelkin.experiments.run.plan import Plan
    from labelkin.experiments.run.protocol import Protocol
    from labelkin.experiments.run.runner import run

    chosen = find_group(group)
    own = _parse_methods(method or [])
    first, count = _parse_repeats(repeats) or (0, 1 if quick else chosen.repeats)
    plan = Plan(
        group=chosen.name,
        sources=_find_sources(
            split_names(datasets),
            data or [],
            labels or [],
            default=(QUICK_DATASET,) if quick else chosen.datasets,
        ),
        methods=tuple(dict.fromkeys([*(split_names(methods) or chosen.methods), *own])),
        registry={**COMPARED, **own},
        protocol=Protocol(
            count,
            folds or chosen.folds,
            stratified,
            None if folds == 1 else chosen.seed,
            first_repeat=first,
        ),
        shard=_parse_shard(shard),
    )
    if not mix_revisions:
        _confirm_revision(plan, store)
    console = Console(highlight=False)
    # After kill -9, joblib's resource tracker would warn of every file that it cleans up.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    command_line = shell_line("labelkin", *(context.obj or []))
    try:
        summary = run(
            plan,
            store,
            jobs=jobs,
            threads=threads,
            cluster=cluster,
            retry=retry,
            command=command_line,
            view=_make_view(plan, chosen.title, store, console, jobs),
        )
    except KeyboardInterrupt:
        raise Interrupted(_interruption(plan, store, command_line)) from None
    _print_summary(plan, store, summary, console)


def _parse_repeats(text: str | None) -> tuple[int, int] | None:
    """Return the first repeat and the number after the last; None where nothing is given."""
    if text is None:
        return None
    found = re.fullmatch(r"(?:(\d+)\s*-\s*)?(\d+)", text.strip())
    first, last = (found[1], int(found[2])) if found else (None, 0)
    end = last if first is None else last + 1
    if not found or end <= int(first or 0):
        raise ValueError(f"--repeats {text}: write a number from 1, or a range as in 5-9.")
    return int(first or 0), end


def _parse_shard(text: str | None) -> tuple[int, int]:
    if text is None:
        return 1, 1
    found = re.fullmatch(r"(\d+)\s*/\s*(\d+)", text.strip())
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise ValueError(f"--shard {text}: write it as 2/4, the second of four parts.")
    return int(found[1]), int(found[2])


def _confirm_revision(plan: "Plan", path: Path) -> None:
    """Have the user confirm that cells of other code stay beside new ones."""
    from labelkin.experiments.run.environment import source_revision
    from labelkin.experiments.run.store import Store

    if not path.is_file():
        return
    here = source_revision()
    with Store(path) as store:
        cells = plan.cells()
        if store.done().issuperset(cells):
            return  # nothing will be computed
        stored = store.revisions(cells)
    other = {name or "unknown": n for name, n in stored.items() if name != here}
    if not other:
        return
    listed = ", ".join(f"{plural(n, 'cell')} of {name[:16]}" for name, n in other.items())
    text = f"{path} holds {listed}, and the code is now {here[:16]}"
    if not sys.stdin.isatty():
        raise ValueError(f"{text}: write to another --store, or pass --mix-revisions to keep both.")
    typer.confirm(f"{text}. Keep these cells and compute the others now?", abort=True)


def _parse_methods(texts: list[str]) -> "dict[str, Method]":
    """Return the user's methods by name."""
    from labelkin.experiments.run.peers import COMPARED
    from labelkin.methods import user_method

    methods: dict[str, Method] = {}
    for text in texts:
        method = user_method(text, COMPARED)
        if method.name in methods:
            raise ValueError(f"--method: two methods are named {method.name!r}.")
        methods[method.name] = method
    return methods


def _find_sources(
    names: list[str], files: list[str], labels: list[str], default: tuple[str, ...]
) -> "tuple[Source, ...]":
    """Return the datasets to run on; the user's files alone replace the default."""
    from labelkin.experiments.run.sources import file_source, find_source

    if len(labels) not in (0, 1, len(files)):
        raise ValueError("--labels: give it once for all --data, or once for each, in order.")
    if labels and not files:
        raise ValueError("--labels: it describes a --data file, and none is given.")
    if not names and not files:
        names = list(default)
    columns = labels * len(files) if len(labels) == 1 else labels or [""] * len(files)
    own = [file_source(file, which or None) for file, which in zip(files, columns, strict=True)]
    return tuple(dict.fromkeys([*(find_source(name) for name in names), *own]))


def _make_view(plan: "Plan", title: str, store: Path, console: "Console", jobs: int) -> "View":
    """Return what shows the progress: live on a terminal, else in lines."""
    from joblib import effective_n_jobs

    from labelkin.experiments.run.views import LiveView, PlainView

    protocol, (number, count) = plan.protocol, plan.shard
    repeats = protocol.repeats - protocol.first_repeat
    parts = f"{repeats} × {protocol.folds} folds"
    if protocol.is_holdout:
        parts = plural(repeats, "repeat")
    share = f", part {number} of {count}" if count > 1 else ""
    heading = (
        f"{title} · {plural(len(plan.sources), 'dataset')} × "
        f"{plural(len(plan.methods), 'method')} × {parts}{share} = "
        f"{len(plan.cells())} cells · store {store}"
    )
    if not console.is_terminal:
        return PlainView(heading, typer.echo)
    titles = {name: plan.short_title(name) for name in plan.methods}
    return LiveView(heading, console, titles, effective_n_jobs(jobs))


def _interruption(plan: "Plan", path: Path, command_line: str) -> str:
    from labelkin.experiments.run.store import Store

    cells = set(plan.cells())
    try:
        with Store(path) as store:
            stored = len(cells & store.done())
    except (OSError, ValueError):
        stored = 0
    return (
        f"interrupted: {stored} of {len(cells)} cells are stored in {path}; "
        f"resume with: {command_line}"
    )


def _print_summary(plan: "Plan", path: Path, summary: "Summary", console: "Console") -> None:
    from labelkin.experiments.run.store import Store

    with Store(path) as store:
        console.print()
        console.print(_make_table(plan, store))
        failures = store.failures(plan.cells())
    computed = f", {summary.computed} of them computed now" if summary.before else ""
    console.print(f"\n{summary.total} cells in {path}{computed}", markup=False)
    if failures:
        console.print("* without the folds that failed")
    for cell, failure in list(failures.items())[:5]:
        console.print(f"failed: {cell}: {failure['error']}", style="red", markup=False)
    if len(failures) > 5:
        console.print(f"… and {len(failures) - 5} more failed", style="red")
    next_line = shell_line("labelkin", "report", path, "--out", "report")
    console.print(f"next: {next_line}", style="bold", markup=False)
    if failures:
        raise typer.Exit(1)


def _make_table(plan: "Plan", store: "Store") -> "Table":
    """Return the means of this plan's cells: one row per method, one column per metric."""
    from rich.table import Table

    from labelkin.metrics import METRICS, PAPER_METRICS

    n = len(plan.sources)
    place = plan.sources[0].name if n == 1 else f"{n} datasets, mean"
    table = Table(box=None, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column(f"{place}, %".replace(", ", ",\n"), no_wrap=True)
    columns = []
    for key in PAPER_METRICS:
        metric = METRICS[key]
        header = f"{metric.title} {metric.arrow}".replace(" ", "\n")
        table.add_column(header, justify="right", no_wrap=True)
        columns.append(_format_means(plan, store.metric(key), metric))
    for row, name in enumerate(plan.methods):
        table.add_row(plan.short_title(name), *(column[row] for column in columns))
    return table


def _format_means(plan: "Plan", stored: "dict[Cell, float]", metric: "Metric") -> list[str]:
    """Return each method's mean, the best in bold; with a star if some of its folds failed."""
    values: dict[str, list[float]] = {name: [] for name in plan.methods}
    for cell in plan.cells():
        if cell in stored:
            values[cell.method].append(stored[cell])
    expected = len(plan.cells()) // len(plan.methods)
    complete = [sum(v) / expected for v in values.values() if len(v) == expected]
    best = (max if metric.greater_is_better else min)(complete, default=None)
    shown = []
    for found in values.values():
        mean = sum(found) / len(found) if found else None
        text = "–" if mean is None else f"{mean * (100 if metric.percent else 1):.2f}"
        if found and len(found) < expected:
            text += "*"
        elif mean is not None and mean == best:
            text = f"[bold]{text}[/]"
        shown.append(text)
    return shown
