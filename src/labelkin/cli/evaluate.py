"""``labelkin evaluate``: cross-validation of methods, or a fitted model on new data."""

import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelkin.cli import _compute
from labelkin.cli._data import TrainingData, load_saved_model, read_training_data
from labelkin.cli._figures import Figures, figures_table, summarise
from labelkin.cli._methods import find_method, make_classifier, parse_settings
from labelkin.cli._options import (
    METHOD,
    OUTPUT,
    Json,
    MethodOptions,
    Quiet,
    TableOptions,
    expand_groups,
)
from labelkin.cli._output import Notes, print_json, progress_bar, split_names

if TYPE_CHECKING:
    import numpy as np

EXAMPLES = """Examples:

labelkin evaluate movies.csv --text plot --ignore id -l drama,comedy,crime

labelkin evaluate digit-scenes --model mlknn,br --folds 3

labelkin evaluate model.skops new.csv

labelkin evaluate model.skops new.csv --metrics f1,micro_f1,macro_f1 --json"""


@expand_groups
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
    table: TableOptions,
    choice: MethodOptions,
    folds: Annotated[
        int,
        typer.Option(min=2, help="Number of cross-validation folds.", rich_help_panel=METHOD),
    ] = 5,
    repeats: Annotated[
        int,
        typer.Option(
            min=1,
            help="How often to repeat the cross-validation, shuffled anew.",
            rich_help_panel=METHOD,
        ),
    ] = 1,
    stratified: Annotated[
        bool,
        typer.Option(help="Spread the labels evenly over the folds.", rich_help_panel=METHOD),
    ] = True,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Names of metrics separated by commas, or all; by default the seven metrics of "
            "the VPCME paper.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Evaluate methods by cross-validation, or a fitted model on new data.

    With one argument, DATA, the methods named by --model (separated by commas) are
    cross-validated; the preparation of the columns is learned from the training rows of each
    fold. With two arguments, MODEL and DATA, the fitted model is evaluated on the data.
    """
    names = _parse_metrics(metrics)
    notes = Notes(quiet)
    _compute.check_device(choice.device)
    if data is not None:
        _refuse_training_options(context)
        evaluation = _evaluate_model(source, data, table, choice.device, names, notes)
    else:
        if source.suffix.lower() == ".skops":
            raise ValueError(f"{source} is a model; add the data: labelkin evaluate {source} DATA.")
        protocol = _Protocol(folds, repeats, stratified)
        hidden = quiet or as_json
        evaluation = _cross_validate(source, table, choice, protocol, names, notes, hidden)

    if as_json:
        results = {
            name: {key: summarise(values) for key, values in figures.items()}
            for name, figures in evaluation.results.items()
        }
        print_json({**evaluation.facts, "results": results})
        return
    from rich.console import Console

    columns = {evaluation.titles[name]: run for name, run in evaluation.results.items()}
    Console(highlight=False).print(figures_table(columns, names, evaluation.heading))


@dataclass(frozen=True)
class _Protocol:
    """How the rows are split for cross-validation."""

    folds: int
    repeats: int
    stratified: bool

    def splits(self, y: "np.ndarray", seed: int) -> "list[tuple[np.ndarray, np.ndarray]]":
        """Return the training and test rows of each fold."""
        from sklearn.model_selection import RepeatedKFold

        from labelkin.model_selection import RepeatedIterativeStratifiedKFold

        splitter = RepeatedIterativeStratifiedKFold if self.stratified else RepeatedKFold
        cv = splitter(n_splits=self.folds, n_repeats=self.repeats, random_state=seed)
        return list(cv.split(y, y))

    def __str__(self) -> str:
        return f"{self.folds} folds" + (f" × {self.repeats}" if self.repeats > 1 else "")


@dataclass(frozen=True)
class _Evaluation:
    """The figures of each method by its name, with titles and a heading to show them under."""

    results: dict[str, Figures]
    titles: dict[str, str]
    heading: str
    facts: dict[str, Any]
    """What was evaluated, for ``--json``."""


def _evaluate_model(
    path: Path,
    data: Path,
    options: TableOptions,
    device: str | None,
    metrics: list[str],
    notes: Notes,
) -> _Evaluation:
    """Evaluate a fitted model."""
    from labelkin.metrics import evaluate

    saved = load_saved_model(path)
    table = saved.read(data, options.delimiter, options.encoding)
    y = saved.labels.read(table, notes.pending)
    X = saved.schema.read(table, notes.pending)
    notes.flush()
    labels, scores = saved.predict(X, device)
    figures = evaluate(y, scores, labels, metrics=metrics)
    return _Evaluation(
        {path.name: {name: [value] for name, value in figures.items()}},
        {path.name: path.name},
        f"{path.name} on {data}: {len(y):,} rows",
        {"model": str(path), "data": str(data), "rows": len(y)},
    )


def _cross_validate(
    data: Path,
    table: TableOptions,
    choice: MethodOptions,
    protocol: _Protocol,
    metrics: list[str],
    notes: Notes,
    hidden: bool,
) -> _Evaluation:
    """Cross-validate the chosen methods on the same folds."""
    methods = [find_method(name, importable=True) for name in split_names(choice.model)]
    if not methods:
        raise ValueError("--model names no method.")
    settings = parse_settings(choice.settings)
    for method in methods:  # refuse bad settings before the data are read
        make_classifier(method, settings, choice.seed)
    training = read_training_data(data, table, notes)
    if protocol.folds > training.table.n_rows:
        raise ValueError(
            f"--folds {protocol.folds}: {data} has only {training.table.n_rows} rows; choose at "
            "most that many folds."
        )
    splits = protocol.splits(training.y, choice.seed)
    results: dict[str, Figures] = {method.name: {} for method in methods}
    done = 0
    with progress_bar("", len(splits) * len(methods), hidden=hidden) as update:
        for method in methods:
            for number, rows in enumerate(splits):
                update(completed=done, description=method.title)
                classifier = make_classifier(method, settings, choice.seed + number)
                figures = _evaluate_fold(training, classifier, rows, metrics, choice.device)
                for name, value in figures.items():
                    results[method.name].setdefault(name, []).append(float(value))
                done += 1
    facts = {**training.summary(), **asdict(protocol), "seed": choice.seed}
    facts["settings"] = {name: str(value) for name, value in settings.items()}
    titles = {method.name: method.title for method in methods}
    return _Evaluation(results, titles, f"{protocol}, mean ± std", facts)


def _evaluate_fold(
    training: TrainingData,
    classifier: Any,
    rows: "tuple[np.ndarray, np.ndarray]",
    metrics: list[str],
    device: str | None,
) -> dict[str, float]:
    """Fit on the training rows and evaluate on the test rows, with the seconds of both."""
    from sklearn.utils import _safe_indexing

    from labelkin.metrics import evaluate
    from labelkin.tabular._pipeline import make_pipeline

    train, test = rows
    pipeline = make_pipeline(training.schema, classifier)
    started = time.perf_counter()
    X_train, y_train = _safe_indexing(training.X, train), training.y[train]
    _compute.fit(pipeline, X_train, y_train, training.labels.names, device)
    fitted = time.perf_counter()
    labels, scores = _compute.predict(pipeline, _safe_indexing(training.X, test), device)
    predicted = time.perf_counter()
    figures = evaluate(training.y[test], scores, labels, metrics=metrics)
    return {**figures, "fit_s": fitted - started, "predict_s": predicted - fitted}


def _refuse_training_options(context: typer.Context) -> None:
    """Refuse the options of training, which have no effect on a fitted model."""
    used = {"delimiter", "encoding", "device"}
    names = {field.name for group in (TableOptions, MethodOptions) for field in fields(group)}
    for parameter in context.command.params:
        if parameter.name not in (names | {"folds", "repeats", "stratified"}) - used:
            continue
        given = context.get_parameter_source(parameter.name)
        if given is not None and given.name == "COMMANDLINE":
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
