"""``labelkin reproduce``: the paper's experiments, and one's own beside them."""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from labelkin.experiments.run.plan import Plan
    from labelkin.experiments.run.protocol import Cell
    from labelkin.experiments.run.runner import Summary
    from labelkin.experiments.run.sources import Source
    from labelkin.experiments.run.views import View
    from labelkin.metrics import Metric
    from labelkin.registry import Method


def command(
    context: typer.Context,
    group: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="table3 (the compared methods, also for Table 4), figure1 (thresholds), "
            "table5 (ensemble sizes), figure2 (the parts of VPCME) or frontier (all methods "
            "and what others use, on five fixed folds).",
        ),
    ],
    datasets: Annotated[
        str | None,
        typer.Option(help="Only these: names or files, separated by commas."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Only these, separated by commas; mlknn@n_neighbors=5 changes a parameter."
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Repeats of the cross-validation. [default: 20; frontier: 1]"),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of a repeat.")] = 5,
    stratified: Annotated[
        bool, typer.Option("--stratified", help="Spread labels evenly over the folds.")
    ] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="One repeat on the embedded digit scenes (or on what --datasets says): a few "
            "minutes, no files needed.",
        ),
    ] = False,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=MODULE:FACTORY",
            help="Add your own: anything importable that gives a scikit-learn classifier. "
            "May be repeated.",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]PATH",
            help="Your own dataset, alone or beside those of --datasets. May be repeated.",
        ),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            help="Label columns of each --data that does not say: names separated by commas, "
            "or a count (the first n; -n: the last n)."
        ),
    ] = None,
    store: Annotated[
        Path, typer.Option(help="File of the results; cells that are in it are not repeated.")
    ] = Path("results.db"),
    jobs: Annotated[int, typer.Option(help="Cells at a time; -1: one a core.")] = -1,
    threads: Annotated[
        bool, typer.Option("--threads", help="Threads instead of processes.")
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="tcp://…", help="Run on the Dask cluster with this scheduler."),
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Compute cells that failed again.")
    ] = False,
) -> None:
    """Run the experiments of the paper's section 4, and go on where a run was cut off.

    Every finished cell (dataset, method, repeat, fold) is in the store at once. Stop with
    Ctrl-C or in any other way; the same command goes on.
    """
    from rich.console import Console

    from labelkin.experiments.run.groups import QUICK_DATASET, find_group
    from labelkin.experiments.run.plan import Plan
    from labelkin.experiments.run.protocol import Protocol
    from labelkin.experiments.run.runner import run

    wanted = find_group(group)
    registry = _registry(method or [])
    by_default = (QUICK_DATASET,) if quick else wanted.datasets
    plan = Plan(
        group=wanted.name,
        sources=_sources(_split(datasets), data or [], labels or [], by_default),
        methods=_methods(_split(methods), wanted.methods, method or []),
        registry=registry,
        protocol=Protocol(
            repeats or (1 if quick else wanted.repeats), folds, stratified, wanted.seed
        ),
    )
    console = Console(highlight=False)
    # After kill -9, joblib's janitor cleans up behind us and would report every piece.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    again = shlex.join(["labelkin", *(context.obj or [])])
    try:
        summary = run(
            plan,
            store,
            jobs=jobs,
            threads=threads,
            cluster=cluster,
            retry=retry,
            command=again,
            view=_view(plan, wanted.title, store, console, jobs),
        )
    except KeyboardInterrupt:
        typer.echo(_interrupted(plan, store, again), err=True)
        raise typer.Exit(130) from None
    _conclude(plan, store, summary, console)


def _split(names: str | None) -> list[str]:
    return [name.strip() for name in (names or "").split(",") if name.strip()]


def _registry(own: list[str]) -> "dict[str, Method]":
    """Return all known methods and the user's."""
    from labelkin.experiments.run.peers import COMPARED
    from labelkin.registry import user_method

    methods = [user_method(text, COMPARED) for text in own]
    names = [method.name for method in methods]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"--method: two methods are called {twice.pop()!r}.")
    return {**COMPARED, **{method.name: method for method in methods}}


def _methods(only: list[str], of_group: tuple[str, ...], own: list[str]) -> tuple[str, ...]:
    """Return the names to run; the user's own always belong to them."""
    names = [text.partition("=")[0].strip() for text in own]
    return tuple(dict.fromkeys([*(only or of_group), *names]))


def _sources(
    only: list[str], files: list[str], labels: list[str], by_default: tuple[str, ...]
) -> "tuple[Source, ...]":
    from labelkin.experiments.run.sources import file_source, find_source

    if len(labels) not in (0, 1, len(files)):
        raise ValueError("--labels: give it once for all --data, or once for each, in order.")
    if labels and not files:
        raise ValueError("--labels tells the label columns of a --data file, and none is given.")
    columns = labels * len(files) if len(labels) == 1 else labels or [""] * len(files)
    names = only or ([] if files else by_default)
    own = [file_source(file, which or None) for file, which in zip(files, columns, strict=True)]
    return tuple(dict.fromkeys([*(find_source(name) for name in names), *own]))


def _view(plan: "Plan", title: str, store: Path, console: "Console", jobs: int) -> "View":
    from joblib import effective_n_jobs

    from labelkin.experiments.run.views import LiveView, PlainView

    protocol, n_methods, n_datasets = plan.protocol, len(plan.methods), len(plan.sources)
    heading = (
        f"{title} · {n_datasets} {'dataset' if n_datasets == 1 else 'datasets'} × {n_methods} "
        f"{'method' if n_methods == 1 else 'methods'} × {protocol.repeats} × {protocol.folds} "
        f"folds = {len(plan.cells())} cells · store {store}"
    )
    if not console.is_terminal:
        return PlainView(heading, typer.echo)
    titles = {name: plan.short_title(name) for name in plan.methods}
    return LiveView(heading, console, titles, effective_n_jobs(jobs))


def _interrupted(plan: "Plan", path: Path, again: str) -> str:
    from labelkin.experiments.run.store import Store

    cells = set(plan.cells())
    try:
        with Store(path) as store:
            stored = len(cells & store.done())
    except (OSError, ValueError):
        stored = 0
    return f"interrupted: {stored} of {len(cells)} cells are stored in {path}; go on with: {again}"


def _conclude(plan: "Plan", path: Path, summary: "Summary", console: "Console") -> None:
    from labelkin.experiments.run.store import Store

    with Store(path) as store:
        console.print()
        console.print(_table(plan, store))
        failures = store.failures(plan.cells())
    console.print(f"\n{summary.total} cells in {path}", end="")
    console.print(f", {summary.computed} of them computed now" if summary.before else "")
    if failures:
        console.print("* without the folds that failed")
    for cell, failure in list(failures.items())[:5]:
        console.print(f"failed: {cell}: {failure['error']}", style="red", markup=False)
    if len(failures) > 5:
        console.print(f"… and {len(failures) - 5} more failed", style="red")
    console.print(f"next: [bold]labelkin report {shlex.quote(str(path))} --out report[/]")
    if failures:
        raise typer.Exit(1)


def _table(plan: "Plan", store: Any) -> "Table":
    """Return the means of this plan's cells: a row a method, a column a metric."""
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
        columns.append(_means(plan, store.metric(key), metric))
    for row, name in enumerate(plan.methods):
        table.add_row(plan.short_title(name), *(column[row] for column in columns))
    return table


def _means(plan: "Plan", stored: "dict[Cell, float]", metric: "Metric") -> list[str]:
    """Return each method's mean, the best bold; over fewer folds than others' with a star."""
    values: dict[str, list[float]] = {name: [] for name in plan.methods}
    for cell in plan.cells():
        if cell in stored:
            values[cell.method].append(stored[cell])
    expected = len(plan.cells()) // len(plan.methods)
    means = {name: sum(found) / len(found) for name, found in values.items() if found}
    comparable = [means[name] for name, found in values.items() if len(found) == expected]
    best = (max if metric.greater_is_better else min)(comparable, default=None)

    def text(name: str) -> str:
        if name not in means:
            return "–"
        number = f"{means[name] * (100 if metric.percent else 1):.2f}"
        if len(values[name]) < expected:
            return f"{number}*"
        return f"[bold]{number}[/]" if means[name] == best else number

    return [text(name) for name in plan.methods]
