"""``labelkin reproduce``: the paper's experiments, with the user's own methods and data."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelkin.cli._output import Interrupted, Notes, echo, progress_bar, shell_line, split_names

if TYPE_CHECKING:
    from labelkin.experiments.run.plan import Plan
    from labelkin.experiments.run.sources import Dataset, Source


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
    folds: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default="5; holdout: 1",
            help="Folds per repeat. 1: train on the published training rows of a dataset and "
            "predict its test rows.",
        ),
    ] = None,
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
            "(mine.py:MyClassifier), that returns a scikit-learn classifier. May be repeated.",
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
    retry: Annotated[bool, typer.Option("--retry", help="Compute failed cells again.")] = False,
) -> None:
    """Run the experiments of the VPCME paper (section 4), or resume them.

    A cell is one method on one fold of one repeat of one dataset. Each finished cell is stored
    at once: after an interruption of any kind, the same command resumes the run.
    """
    from labelkin.experiments.run.groups import QUICK_DATASET, SECOND_SETTINGS, find_group
    from labelkin.experiments.run.peers import COMPARED
    from labelkin.experiments.run.plan import Cell, Plan, Protocol
    from labelkin.experiments.run.runner import read_stored, run
    from labelkin.experiments.run.sources import find_sources
    from labelkin.methods import user_method

    chosen = find_group(group)
    own = {found.name: found for found in (user_method(text, COMPARED) for text in method or [])}
    if len(own) < len(method or []):
        raise ValueError(f"--method: two methods have the same name, of {', '.join(own)}.")
    names, among = split_names(datasets), split_names(methods)
    if not names and not data:
        names = [QUICK_DATASET] if quick else list(chosen.datasets)
    if not among:
        among = [m for m in chosen.methods if names or m not in SECOND_SETTINGS]
    first, count = _parse_repeats(repeats) or (0, 1 if quick else chosen.repeats)
    seed = None if folds == 1 else chosen.seed
    plan = Plan(
        sources=find_sources(names, data or [], labels or []),
        methods=tuple(dict.fromkeys([*among, *own])),
        registry={**COMPARED, **own},
        protocol=Protocol(count, folds or chosen.folds, seed, first_repeat=first),
    )
    # After kill -9, joblib's resource tracker would warn of every file that it cleans up.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    command_line = shell_line("labelkin", *(context.obj or []))
    total, heading = len(plan.cells()), f"{chosen.title} · {plan} · store {store}"
    with progress_bar("cells", total, hidden=False) as show:

        def stored(done: int, row: dict[str, Any] | None) -> None:
            show(completed=done)
            if row is None:
                echo(heading + (f" ({done} already stored)" if done else ""))
                return
            if row["status"] != "ok":
                echo(f"failed: {Cell.of(row)}: {row['error']}")
            if 10 * done // total > 10 * (done - 1) // total:  # each tenth
                echo(f"{done}/{total} cells")

        try:
            found = run(
                plan,
                store,
                jobs=jobs,
                retry=retry,
                command=command_line,
                loaded=_print_guesses,
                stored=stored,
            )
        except KeyboardInterrupt:
            n_stored = len(read_stored(store).keys() & set(plan.cells()))
            raise Interrupted(
                f"interrupted: {n_stored} of {total} cells are stored in {store}; "
                f"resume with: {command_line}"
            ) from None
    _print_summary(plan, store, found, command_line)


def _print_guesses(source: "Source", data: "Dataset") -> None:
    """Print what was guessed about a user's table; no option of this command overrides it."""
    if data.guesses:
        Notes(quiet=False).print(f"reading {source.path}: {', '.join(data.guesses)}")


def _parse_repeats(text: str | None) -> tuple[int, int] | None:
    """Return the first repeat and the number after the last; None where nothing is given."""
    if text is None:
        return None
    found = re.fullmatch(r"(?:(\d+)\s*-\s*)?(\d+)", text.strip())
    first, end = (int(found[1] or 0), int(found[2]) + bool(found[1])) if found else (0, 0)
    if end <= first:
        raise ValueError(f"--repeats {text}: write a number from 1, or a range as in 5-9.")
    return first, end


def _print_summary(plan: "Plan", path: Path, rows: list[dict[str, Any]], command: str) -> None:
    from rich.console import Console

    from labelkin.experiments.run.plan import Cell
    from labelkin.experiments.run.runner import print_means

    echo("")
    print_means(plan, rows, Console(highlight=False))
    echo("", f"{len(rows)} cells in {path}")
    failures = [row for row in rows if row["status"] != "ok"]
    if failures:
        shown = (f"failed: {Cell.of(row)}: {row['error']}" for row in failures[:5])
        echo("* without the folds that failed", *shown)
    if len(failures) > 5:
        echo(f"… and {len(failures) - 5} more failed")
    if failures:
        command = command.removesuffix(" --retry")
        echo(f"to compute the failed cells again: {command} --retry")
    echo(f"next: {shell_line('labelkin', 'report', path, '--out', 'report')}")
    if failures:
        raise typer.Exit(1)
