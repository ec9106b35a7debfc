"""``labelkin evaluate``: cross-validation of methods, or a fitted model on new data."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelkin.cli import _compute
from labelkin.cli import _options as options
from labelkin.cli._data import (
    TrainingData,
    check_data_file,
    check_model_file,
    load_saved_model,
    read_training_data,
)
from labelkin.cli._figures import Figures, figures_table, summarise
from labelkin.cli._methods import find_method, make_classifier, parse_settings
from labelkin.cli._output import Notes, print_json, print_table, progress_bar, split_names

if TYPE_CHECKING:
    import numpy as np

    from labelkin.registry import Method

    Split = tuple[np.ndarray, np.ndarray]
    """Positions of the training rows and of the test rows."""

EXAMPLES = """Examples:

labelkin evaluate movies.csv --text plot --ignore id -l drama,comedy,crime

labelkin evaluate digit-scenes --model mlknn,br --folds 3

labelkin evaluate model.skops new.csv

labelkin evaluate model.skops new.csv --metrics f1,micro_f1,macro_f1 --json"""

_OPTIONS_OF_FITTED_MODELS = [
    "source",
    "data",
    "delimiter",
    "encoding",
    "device",
    "metrics",
    "as_json",
    "quiet",
]


@options.expand_groups
def command(
    context: typer.Context,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|DATA",
            help="The data to cross-validate on (a file or the name of a known dataset), or a "
            "model file.",
            show_default=False,
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="After a model file: the data to evaluate it on.",
            show_default=False,
        ),
    ] = None,
    *,
    table: options.TableOptions,
    choice: options.MethodOptions,
    folds: Annotated[
        int, options.method_option(min=2, help="Number of cross-validation folds.")
    ] = 5,
    repeats: Annotated[
        int,
        options.method_option(
            min=1, help="Number of times the cross-validation is repeated, shuffled anew."
        ),
    ] = 1,
    stratified: Annotated[
        bool, options.method_option(help="Spread the labels evenly over the folds.")
    ] = True,
    metrics: Annotated[
        str | None,
        options.output_option(
            help="Names of metrics separated by commas, or all; by default the seven metrics of "
            "the VPCME paper."
        ),
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate methods by cross-validation, or a fitted model on new data.

    With one argument, DATA, the methods named by --model (separated by commas) are
    cross-validated; the preparation of the columns is learned from the training rows of each
    fold. With two arguments, MODEL and DATA, the fitted model is evaluated on the data.
    """
    if data is not None:
        _refuse_training_options(context)
        check_model_file(source)
    check_data_file(data or source)
    names = _parse_metrics(metrics)
    _compute.check_device(choice.device)
    notes = Notes(quiet)
    if data is not None:
        figures, n_rows = _evaluate_model(source, data, table, choice.device, names, notes)
        results, titles = {source.name: figures}, {source.name: source.name}
        heading = f"{source.name} on {data}: {n_rows:,} rows"
        facts: dict[str, Any] = {"model": str(source), "data": str(data), "rows": n_rows}
    elif source.suffix.lower() == ".skops":
        raise ValueError(f"{source} is a model; add the data: labelkin evaluate {source} DATA.")
    else:
        methods = [find_method(name, importable=True) for name in split_names(choice.model)]
        if not methods:
            raise ValueError("--model names no method.")
        settings = parse_settings(choice.settings)
        for method in methods:  # refuse wrong settings before the data are read
            make_classifier(method, settings, choice.seed)
        training = read_training_data(source, table, notes)
        splits = _split(training, folds, repeats, stratified, choice.seed)
        steps = len(methods) * len(splits)
        with progress_bar("", steps, hidden=quiet or as_json) as update:
            results = _cross_validate(training, methods, settings, choice, splits, names, update)
        titles = {method.name: method.title for method in methods}
        heading = f"{folds} folds" + (f" × {repeats}" if repeats > 1 else "") + ", mean ± std"
        facts = {**training.summary(), "folds": folds, "repeats": repeats}
        facts |= {"stratified": stratified, "seed": choice.seed}
        facts["settings"] = {name: str(value) for name, value in settings.items()}

    if as_json:
        summaries = {
            name: {key: summarise(values) for key, values in figures.items()}
            for name, figures in results.items()
        }
        print_json({**facts, "results": summaries})
    else:
        columns = {titles[name]: figures for name, figures in results.items()}
        print_table(figures_table(columns, names, heading))


def _evaluate_model(
    path: Path,
    data: Path,
    table: options.TableOptions,
    device: str | None,
    metrics: list[str],
    notes: Notes,
) -> tuple[Figures, int]:
    """Return a fitted model's figures on a data file, and the file's number of rows."""
    from labelkin.metrics import evaluate

    saved = load_saved_model(path)
    rows = saved.read(data, table.delimiter, table.encoding)
    y = saved.labels.read(rows, notes.pending)
    X = saved.schema.read(rows, notes.pending)
    notes.flush()
    labels, scores = saved.predict(X, device)
    figures = evaluate(y, scores, labels, metrics=metrics)
    return {name: [value] for name, value in figures.items()}, len(y)


def _split(
    training: TrainingData, folds: int, repeats: int, stratified: bool, seed: int
) -> "list[Split]":
    from sklearn.model_selection import RepeatedKFold

    from labelkin.model_selection import RepeatedIterativeStratifiedKFold

    y = training.y
    if folds > len(y):
        raise ValueError(
            f"--folds {folds}: {training.table.path} has only {len(y)} rows; choose at most that "
            "many folds."
        )
    splitter = RepeatedIterativeStratifiedKFold if stratified else RepeatedKFold
    return list(splitter(n_splits=folds, n_repeats=repeats, random_state=seed).split(y, y))


def _cross_validate(
    training: TrainingData,
    methods: "list[Method]",
    settings: dict[str, Any],
    choice: options.MethodOptions,
    splits: "list[Split]",
    metrics: list[str],
    update: Callable[..., None],
) -> dict[str, Figures]:
    """Return the figures of each method by its name, all on the same folds."""
    results: dict[str, Figures] = {method.name: {} for method in methods}
    done = 0
    for method in methods:
        for number, split in enumerate(splits):
            update(completed=done, description=method.title)
            classifier = make_classifier(method, settings, choice.seed + number)
            figures = _evaluate_fold(training, classifier, split, metrics, choice.device)
            for name, value in figures.items():
                results[method.name].setdefault(name, []).append(float(value))
            done += 1
    return results


def _evaluate_fold(
    training: TrainingData, classifier: Any, split: "Split", metrics: list[str], device: str | None
) -> dict[str, float]:
    """Fit on the training rows and evaluate on the test rows, with the seconds of both."""
    from sklearn.utils import _safe_indexing

    from labelkin.metrics import evaluate
    from labelkin.tabular import make_pipeline

    train, test = split
    X_train, X_test = _safe_indexing(training.X, train), _safe_indexing(training.X, test)
    pipeline = make_pipeline(training.schema, classifier)
    started = time.perf_counter()
    _compute.fit(pipeline, X_train, training.y[train], training.labels.names, device)
    fitted = time.perf_counter()
    labels, scores = _compute.predict(pipeline, X_test, device)
    predicted = time.perf_counter()
    figures = evaluate(training.y[test], scores, labels, metrics=metrics)
    return {**figures, "fit_s": fitted - started, "predict_s": predicted - fitted}


def _refuse_training_options(context: typer.Context) -> None:
    """Refuse the options of training, which have no effect on a fitted model."""
    for parameter in context.command.params:
        given = context.get_parameter_source(str(parameter.name))
        is_given = given is not None and given.name == "COMMANDLINE"
        if is_given and parameter.name not in _OPTIONS_OF_FITTED_MODELS:
            raise ValueError(
                f"{parameter.opts[0]} has no effect on a model that is already fitted; leave it "
                "out."
            )


def _parse_metrics(text: str | None) -> list[str]:
    from labelkin._utils.names import did_you_mean
    from labelkin.metrics import METRICS, PAPER_METRICS

    if text is None:
        return list(PAPER_METRICS)
    names = list(METRICS) if text.strip() == "all" else split_names(text)
    for name in names:
        if name not in METRICS:
            raise ValueError(
                f"--metrics {name}: no such metric.{did_you_mean(name, METRICS)} "
                f"Known metrics: {', '.join(METRICS)}."
            )
    if not names:
        raise ValueError("--metrics names no metric.")
    return names
