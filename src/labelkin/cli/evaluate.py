"""``labelkin evaluate``: cross-validation of methods, or a fitted model on new data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelkin.cli import _options as options
from labelkin.cli._data import (
    check_data_file,
    check_model_file,
    load_saved_model,
    print_guesses,
    read_training_data,
)
from labelkin.cli._decisions import Decision, parse_decision
from labelkin.cli._methods import DEFAULT, check_device, find_candidates, parse_settings
from labelkin.cli._output import (
    Notes,
    check_output,
    given_options,
    print_json,
    progress_bar,
    shell_line,
    split_names,
)

if TYPE_CHECKING:
    from labelkin.cli._findings import Findings

EXAMPLES = """Examples:

labelkin evaluate movies.csv --labels drama,comedy,crime

labelkin evaluate posts.csv --labels tags --model auto

labelkin evaluate digit-scenes --model mlknn,br --folds 3

labelkin evaluate model.skops new.csv

labelkin evaluate movies.csv -l drama,comedy,crime -m logistic --report r.html

labelkin evaluate model.skops new.csv --metrics paper --json"""

# What has an effect on a model that is already fitted.
_FOR_FITTED_MODELS = {
    *("source", "data", "device", "metrics", "per_label", "report", "overwrite", "as_json"),
    *("quiet", *options.names_of(options.ReadingOptions, options.DecisionOptions)),
}


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
    reading: options.ReadingOptions,
    choice: options.MethodOptions,
    deciding: options.DecisionOptions,
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
            help="Names of metrics separated by commas; paper: the seven of the VPCME paper; all. "
            "The first one decides which method is best."
        ),
    ] = None,
    per_label: Annotated[
        bool,
        options.output_option(
            "--per-label", help="Show the figures of every label, not only of the weakest few."
        ),
    ] = False,
    report: Annotated[
        Path | None,
        options.output_option(
            metavar="FILE",
            help="Write a page (.html) with curves, thresholds to try, a learning curve, the worst "
            "mistakes and likely labelling errors. It takes about as long again.",
        ),
    ] = None,
    overwrite: options.Overwrite = False,
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
    decision = parse_decision(deciding)
    check_device(choice.device, decision if data is None else None)
    if report is not None:
        _check_page(report, overwrite, inputs=[source, *filter(None, [data])])
    if data is None and source.suffix.lower() == ".skops":
        raise ValueError(f"{source} is a model; add the data: labelkin evaluate {source} DATA.")
    notes = Notes(quiet)
    command_line = shell_line("labelkin", *context.obj)
    if data is not None:
        found = _evaluate_model(
            source, data, reading, choice.device, decision, names, notes, report, command_line
        )
        _print(found, names, per_label, notes, as_json)
        return

    # Cross-validate the methods, all on the same folds.
    settings = parse_settings(choice.settings)
    candidates = find_candidates(
        split_names(choice.model), settings, choice.seed, decision, choice.device, importable=True
    )
    from labelkin.cli._compare import cross_validate, split_rows
    from labelkin.cli._find_reasons import FoldMistakes
    from labelkin.cli._findings import find_in_folds
    from labelkin.cli._page import write_fold_page

    training = read_training_data(source, table, reading, notes)
    splits = split_rows(training, folds, repeats, stratified, choice.seed)
    mistakes = FoldMistakes(training, folds if report is not None else 0)
    hidden = quiet or as_json
    with progress_bar("", len(candidates) * len(splits), hidden=hidden) as update:
        results = cross_validate(
            training,
            candidates,
            splits,
            names,
            seconds=choice.seconds if choice.model == "auto" else None,
            update=update,
            inspect=mistakes,
        )

    # Report what was found.
    found = find_in_folds(training, candidates, results, splits, folds, names)
    found.facts |= {"folds": folds, "repeats": repeats, "stratified": stratified}
    found.facts |= {"seed": choice.seed}
    found.facts["settings"] = {name: str(value) for name, value in settings.items()}
    found.next = _fit_command(context, source, found.best)
    if report is not None:
        write_fold_page(
            report,
            found,
            names,
            training,
            candidates,
            splits[:folds],
            mistakes,
            command_line,
            hidden=hidden,
        )
    _print(found, names, per_label, notes, as_json)


def _print(
    found: "Findings", metrics: list[str], per_label: bool, notes: Notes, as_json: bool
) -> None:
    if as_json:
        print_json(found.as_json())
    else:
        found.print(metrics, per_label, notes)


def _check_page(path: Path, overwrite: bool, inputs: list[Path]) -> None:
    """Refuse a page that cannot be written, before anything is computed."""
    from labelkin._utils.optional import import_optional

    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--report {path}: the page is HTML; end the name in .html.")
    check_output(path, overwrite, inputs=inputs)
    import_optional("jinja2", "cli")


def _evaluate_model(
    path: Path,
    data: Path,
    reading: options.ReadingOptions,
    device: str | None,
    decision: Decision | None,
    metrics: list[str],
    notes: Notes,
    page: Path | None,
    command_line: str,
) -> "Findings":
    """Evaluate a fitted model on a data file, and write the page if one is wanted."""
    import numpy as np

    from labelkin.cli._compare import FoldResults
    from labelkin.cli._figures import evaluate_judged, label_figures
    from labelkin.cli._findings import Findings
    from labelkin.cli._page import write_model_page
    from labelkin.evaluation import OutOfSample

    saved = load_saved_model(path, device=device)
    rows = saved.read(data, reading)
    y = saved.labels.read(rows, notes.pending)
    X = saved.schema.read(rows, notes.pending)
    print_guesses(rows.source, rows.guesses, notes, options.ReadingOptions)
    remarks: list[str] = []
    if seen := saved.count_training_rows(X):
        verb = "is" if seen == 1 else "are"
        effect = "are too good" if 10 * seen >= len(y) else "may be slightly too good"
        remarks.append(
            f"{data}: {seen:,} of {len(y):,} rows {verb} among those the model was trained on, so "
            f"these figures {effect}; evaluate the model on other rows, or cross-validate: "
            f"labelkin evaluate {data} …"
        )
    notes.pending += remarks
    notes.flush()
    labels, scores, thresholds = saved.predict(X, decision)
    figures = evaluate_judged(y, scores, labels, metrics)
    results = FoldResults(path.name, {name: [value] for name, value in figures.items()})
    names = saved.labels.names
    found = Findings(
        f"{path.name} on {data}: {len(y):,} rows",
        {"model": str(path), "data": str(data), "rows": len(y), "training_rows": seen},
        {path.name: results},
        label_figures(names, y, labels, scores, thresholds),
        len(y),
        int((~y.any(axis=1)).sum()),
        path.name,
        OutOfSample(names, np.arange(len(y)), y, labels, scores, thresholds),
    )
    if page is not None:
        write_model_page(page, found, metrics, saved, data, X, remarks, command_line)
    return found


def _fit_command(context: typer.Context, source: Path, best: str) -> str | None:
    """Return the command that fits the best method as it was evaluated; None for a user's own."""
    from labelkin.methods import METHODS

    if best not in METHODS:
        return None
    tables = options.TableOptions, options.ReadingOptions
    names = options.names_of(*tables, options.MethodOptions, options.DecisionOptions)
    names -= {"model", "seconds"}
    model = [] if best == DEFAULT else ["--model", best]
    return shell_line("labelkin", "fit", source, *given_options(context, names), *model)


def _refuse_training_options(context: typer.Context) -> None:
    """Refuse the options of training, which have no effect on a fitted model."""
    for parameter in context.command.params:
        given = context.get_parameter_source(str(parameter.name))
        is_given = given is not None and given.name == "COMMANDLINE"
        if is_given and parameter.name not in _FOR_FITTED_MODELS:
            raise ValueError(
                f"{parameter.opts[0]} has no effect on a model that is already fitted; leave it "
                "out."
            )


def _parse_metrics(text: str | None) -> list[str]:
    from labelkin._utils.names import did_you_mean
    from labelkin.cli._figures import PEOPLE_METRICS
    from labelkin.metrics import METRICS, PAPER_METRICS

    groups = {"": PEOPLE_METRICS, "paper": PAPER_METRICS, "all": tuple(METRICS)}
    words = [""] if text is None else split_names(text)
    names = list(dict.fromkeys(name for word in words for name in groups.get(word, (word,))))
    for name in names:
        if name not in METRICS:
            raise ValueError(
                f"--metrics {name}: no such metric.{did_you_mean(name, METRICS)} "
                f"Known metrics: paper, all, {', '.join(METRICS)}."
            )
    if not names:
        raise ValueError("--metrics names no metric.")
    return names
