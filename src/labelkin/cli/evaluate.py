"""``labelkin evaluate``: cross-validation of methods, or a model on new data."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelkin.cli import _common as common
from labelkin.cli import _device, _models
from labelkin.cli.fit import fit
from labelkin.cli.predict import predictions

if TYPE_CHECKING:
    import numpy as np
    from rich.table import Table

    from labelkin.registry import Method

EXAMPLES = """Examples:

labelkin evaluate movies.csv --text plot --ignore id -l drama,comedy,crime

labelkin evaluate digit-scenes --model mlknn,br --folds 3

labelkin evaluate model.skops new.csv

labelkin evaluate model.skops new.csv --metrics f1,micro_f1,macro_f1 --json"""

Figures = dict[str, list[float]]


def command(
    context: typer.Context,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|DATA",
            help="Data to cross-validate on: a file, or a known dataset's name. Or a model file.",
            show_default=False,
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA", help="With a model file: the data to measure it on.", show_default=False
        ),
    ] = None,
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
    folds: Annotated[
        int,
        typer.Option(min=2, help="Folds of the cross-validation.", rich_help_panel=common.MODEL),
    ] = 5,
    repeats: Annotated[
        int,
        typer.Option(
            min=1, help="Times it is repeated, shuffled anew.", rich_help_panel=common.MODEL
        ),
    ] = 1,
    stratified: Annotated[
        bool,
        typer.Option(help="Spread labels evenly over the folds.", rich_help_panel=common.MODEL),
    ] = True,
    seed: common.Seed = 0,
    device: common.Device = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Metrics, separated by commas, or all; by default the paper's seven.",
            rich_help_panel=common.OUTPUT,
        ),
    ] = None,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Measure methods by cross-validation, or a fitted model on data it has not seen.

    One argument: the data; --model may name several methods, separated by commas. Whatever is
    learned from columns (words, categories, medians) is learned anew in each fold. Two
    arguments: a model file and the data.
    """
    notes = common.Notes(quiet)
    wanted = _metrics(metrics)
    _device.check(device)
    if data is not None:
        _refuse_training_options(context)
        loaded = common.load(source)
        table = loaded.table(data, delimiter, encoding, None)
        Y = loaded.labels.read(table, notes.waiting)
        X = loaded.schema.read(table, notes.waiting)
        notes.flush()
        found, scores = predictions(loaded, X, device)
        figures = _measure(Y, scores, found, wanted)
        runs = {source.name: {name: [value] for name, value in figures.items()}}
        head = {"model": str(source), "data": str(data), "rows": len(Y)}
        _show(runs, wanted, f"{source.name} on {data}: {len(Y):,} rows", head, as_json)
        return
    if source.suffix.lower() == ".skops":
        raise ValueError(f"{source} is a model; add the data: labelkin evaluate {source} DATA.")
    methods = [_models.find_method(name, own=True) for name in common.split_names(model)]
    if not methods:
        raise ValueError("--model names no method.")
    chosen = _models.parse_settings(settings or [])
    for method in methods:
        _models.make_model(method, chosen, seed)
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
    given = said.read(source, notes.waiting)
    if folds > given.table.n_rows:
        raise ValueError(
            f"--folds {folds}: {source} has {given.table.n_rows} rows only; take at most as many."
        )
    notes.flush()
    notes.say(given.line())
    splits = list(_splits(given.Y, folds, repeats, stratified, seed))
    results: dict[str, Figures] = {m.title: {} for m in methods}
    with _Bar(len(splits) * len(methods), quiet or as_json) as bar:
        for method in methods:
            bar.at(method.title)
            for number, (train, test) in enumerate(splits):
                _add(
                    results[method.title],
                    _fold(given, method, chosen, seed + number, train, test, wanted, device),
                )
                bar.step()
    head = {**given.summary(), "folds": folds, "repeats": repeats, "stratified": stratified}
    head.update(seed=seed, settings={name: str(value) for name, value in chosen.items()})
    title = f"{folds} folds" + (f" × {repeats}" if repeats > 1 else "") + ", mean ± std"
    _show(results, wanted, title, head, as_json, {m.title: m.name for m in methods})


def _refuse_training_options(context: typer.Context) -> None:
    """Refuse options that a fitted model leaves no room for."""
    fixed = "labels label_column text category ignore missing scale max_words model settings folds"
    for name in (*fixed.split(), "repeats", "stratified", "seed"):
        given = context.get_parameter_source(name)
        if given is not None and given.name == "COMMANDLINE":
            option = {"settings": "set"}.get(name, name.replace("_", "-"))
            raise ValueError(f"--{option} has no meaning for a model that is fitted already.")


def _metrics(text: str | None) -> list[str]:
    from labelkin._utils.names import did_you_mean
    from labelkin.metrics import METRICS, PAPER_METRICS

    if text is None:
        return list(PAPER_METRICS)
    names = list(METRICS) if text.strip() == "all" else common.split_names(text)
    for name in names:
        if name not in METRICS:
            raise ValueError(
                f"--metrics {name}: no such metric.{did_you_mean(name, METRICS)} Known are "
                f"{', '.join(METRICS)}."
            )
    if not names:
        raise ValueError("--metrics names no metric.")
    return names


def _splits(
    Y: "np.ndarray", folds: int, repeats: int, stratified: bool, seed: int
) -> "Iterator[tuple[np.ndarray, np.ndarray]]":
    from sklearn.model_selection import RepeatedKFold

    from labelkin.model_selection import RepeatedIterativeStratifiedKFold

    kind = RepeatedIterativeStratifiedKFold if stratified else RepeatedKFold
    yield from kind(n_splits=folds, n_repeats=repeats, random_state=seed).split(Y, Y)


def _fold(
    given: common.Given,
    method: "Method",
    settings: dict[str, Any],
    seed: int,
    train: "np.ndarray",
    test: "np.ndarray",
    wanted: list[str],
    device: str | None,
) -> dict[str, float]:
    """Fit on the training rows, measure on the test rows; seconds are measured too."""
    from dataclasses import replace

    from sklearn.utils import _safe_indexing

    from labelkin.persistence import ModelInfo
    from labelkin.tabular._pipeline import make_pipeline

    pipeline = make_pipeline(given.schema, _models.make_model(method, settings, seed))
    part = replace(given, X=_safe_indexing(given.X, train), Y=given.Y[train])
    started = time.perf_counter()
    fit(pipeline, part, device)
    fitted = time.perf_counter()
    info = ModelInfo(1, "", "", list(given.labels.names))
    loaded = common.Loaded(Path(given.table.path), pipeline, info, given.schema, given.labels)
    found, scores = predictions(loaded, _safe_indexing(given.X, test), device)
    done = time.perf_counter()
    figures = _measure(given.Y[test], scores, found, wanted)
    return {**figures, "fit_s": fitted - started, "predict_s": done - fitted}


def _measure(Y: Any, scores: Any, found: Any, wanted: list[str]) -> dict[str, float]:
    from labelkin.metrics import evaluate

    return evaluate(Y, scores, found, metrics=wanted)


def _add(figures: Figures, fold: dict[str, float]) -> None:
    for name, value in fold.items():
        figures.setdefault(name, []).append(float(value))


class _Bar:
    """A bar on stderr, where somebody watches."""

    def __init__(self, total: int, quiet: bool) -> None:
        self.console, self.total = common.progress_console(quiet), total

    def __enter__(self) -> "_Bar":
        self.progress: Any = None
        if self.console is not None:
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
            )

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            self.progress = Progress(
                *columns, TimeElapsedColumn(), console=self.console, transient=True
            )
            self.progress.start()
            self.task = self.progress.add_task("", total=self.total)
        return self

    def at(self, name: str) -> None:
        """Say what is running."""
        if self.progress is not None:
            self.progress.update(self.task, description=name)

    def step(self) -> None:
        """Advance by one fold."""
        if self.progress is not None:
            self.progress.advance(self.task)

    def __exit__(self, *_: object) -> None:
        if self.progress is not None:
            self.progress.stop()


def _show(
    runs: dict[str, Figures],
    wanted: list[str],
    title: str,
    head: dict[str, Any],
    as_json: bool,
    keys: dict[str, str] | None = None,
) -> None:
    """Print the figures as a table, or as JSON with those of each fold."""
    if as_json:
        results = {
            (keys or {}).get(name, name): {key: _summary(values) for key, values in run.items()}
            for name, run in runs.items()
        }
        common.print_json({**head, "results": results})
        return
    from rich.console import Console

    Console(highlight=False).print(_table(runs, wanted, title))


def _summary(values: list[float]) -> dict[str, Any]:
    import numpy as np

    shown = [None if np.isnan(value) else value for value in values]
    known = [value for value in values if not np.isnan(value)]
    mean = float(np.mean(known)) if known else None
    if len(values) == 1:
        return {"mean": mean}
    return {"mean": mean, "std": float(np.std(known)) if known else None, "folds": shown}


def _table(runs: dict[str, Figures], wanted: list[str], title: str) -> "Table":
    from rich.table import Table
    from rich.text import Text

    from labelkin.metrics import METRICS

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(Text(f"{title}, %"))
    for name in runs:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for key in wanted:
        metric = METRICS[key]
        factor = 100 if metric.percent else 1
        means = [_summary(run[key])["mean"] for run in runs.values()]
        known = [mean for mean in means if mean is not None]
        best = (max if metric.greater_is_better else min)(known, default=None)
        cells = []
        for run, mean in zip(runs.values(), means, strict=True):
            std = _summary(run[key]).get("std")
            shown = "–" if mean is None else f"{factor * mean:.2f}"
            shown += "" if std is None else f" ± {factor * std:.2f}"
            cells.append(Text(shown, style="bold" if mean == best and len(runs) > 1 else ""))
        unit = "" if metric.percent else " (not in %)"
        table.add_row(f"{metric.title}{unit} {metric.arrow}", *cells)
    for key, word in (("fit_s", "fit"), ("predict_s", "predict")):
        if all(key in run for run in runs.values()):
            seconds = [f"[dim]{sum(run[key]) / len(run[key]):.2f} s[/]" for run in runs.values()]
            table.add_row(f"[dim]{word} time[/]", *seconds)
    return table
