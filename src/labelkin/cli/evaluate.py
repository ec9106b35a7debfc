"""``labelkin evaluate``: cross-validation of methods, or a fitted model on new data."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelkin.cli import _compute
from labelkin.cli import _options as options
from labelkin.cli._compare import FoldResults, Winner, cross_validate, find_winner, split_rows
from labelkin.cli._data import (
    TrainingData,
    check_data_file,
    check_model_file,
    load_saved_model,
    print_guesses,
    read_training_data,
)
from labelkin.cli._decisions import Decision, parse_decision
from labelkin.cli._figures import (
    PEOPLE_METRICS,
    fold_heading,
    label_figures,
    label_table,
    print_figures,
    summarise,
)
from labelkin.cli._methods import DEFAULT, Candidate, find_candidates, parse_settings
from labelkin.cli._output import (
    Notes,
    given_options,
    plural,
    print_json,
    print_table,
    progress_bar,
    shell_line,
    split_names,
)

if TYPE_CHECKING:
    import numpy as np

EXAMPLES = """Examples:

labelkin evaluate movies.csv --text plot --ignore id -l drama,comedy,crime

labelkin evaluate posts.csv --text body --label-column tags --model auto

labelkin evaluate digit-scenes --model mlknn,br --folds 3

labelkin evaluate model.skops new.csv

labelkin evaluate model.skops new.csv --metrics paper --json"""

# Rows of the table of labels, unless all are requested.
_WEAKEST = 5

_OPTIONS_OF_FITTED_MODELS = [
    "source",
    "data",
    "delimiter",
    "encoding",
    "decimal",
    "device",
    "decide",
    "threshold",
    "metrics",
    "per_label",
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
            "--per-label", help="Show the figures of every label, not of the weakest few."
        ),
    ] = False,
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
    decision = parse_decision(deciding.decide, deciding.threshold)
    _compute.check_device(choice.device, decision if data is None else None)
    notes = Notes(quiet)
    if data is not None:
        report = _evaluate_model(source, data, reading, choice.device, decision, names, notes)
    elif source.suffix.lower() == ".skops":
        raise ValueError(f"{source} is a model; add the data: labelkin evaluate {source} DATA.")
    else:
        settings = parse_settings(choice.settings)
        candidates = find_candidates(
            split_names(choice.model), settings, choice.seed, importable=True
        )
        training = read_training_data(source, table, reading, notes)
        splits = split_rows(training, folds, repeats, stratified, choice.seed)
        with progress_bar("", len(candidates) * len(splits), hidden=quiet or as_json) as update:
            results = cross_validate(
                training,
                candidates,
                splits,
                names,
                decision=decision,
                device=choice.device,
                seconds=choice.seconds if choice.model == "auto" else None,
                update=update,
            )
        report = _report_folds(training, candidates, results, splits, names)
        report.facts |= {"folds": folds, "repeats": repeats, "stratified": stratified}
        report.facts |= {"seed": choice.seed}
        report.facts["settings"] = {name: str(value) for name, value in settings.items()}
        report.next = _fit_command(context, source, report.winner, candidates)
    if as_json:
        print_json(report.as_json())
    else:
        report.print(names, per_label, notes)


@dataclass
class Report:
    """What an evaluation found, for the terminal and as JSON."""

    heading: str
    facts: dict[str, Any]
    results: dict[str, FoldResults]
    labels: list[dict[str, Any]]
    """Figures of each label, by `label_figures`."""
    n_rows: int
    n_empty: int
    """Number of rows without a label."""
    winner: Winner
    next: str | None = None
    """The command to run next."""

    def as_json(self) -> dict[str, Any]:
        """Return all figures as values that JSON can hold."""
        summaries = {
            name: {key: summarise(values) for key, values in found.figures.items()}
            for name, found in self.results.items()
        }
        facts = {**self.facts, "rows_without_labels": self.n_empty, "results": summaries}
        facts["labels_of"] = self.winner.name
        facts["per_label"] = self.labels
        if self.next is not None:
            facts |= {"best": self.winner.name, "reason": self.winner.reason, "next": self.next}
        return facts

    def print(self, metrics: list[str], per_label: bool, notes: Notes) -> None:
        """Print the tables, the best method and the next command."""
        if self.n_empty:
            notes.print(self._remark_on_empty_rows(metrics))
        columns = {found.title: found.figures for found in self.results.values()}
        several = len(self.results) > 1
        best = self.results[self.winner.name].title
        print_figures(
            columns,
            metrics,
            self.heading,
            best=best if several else None,
            meanings=not notes.quiet,
        )
        if notes.quiet and not per_label:
            return
        shown = self.labels if per_label else self.labels[:_WEAKEST]
        typer.echo()
        print_table(label_table(shown))
        if len(shown) < len(self.labels):
            typer.echo(f"… and {plural(len(self.labels) - len(shown), 'label')} (--per-label)")
        if notes.quiet or self.next is None:
            return
        typer.echo()
        if several:
            typer.echo(f"best: {self.winner.name}, {self.winner.reason}")
        typer.echo(f"next: {self.next}")

    def _remark_on_empty_rows(self, metrics: list[str]) -> str:
        share = 100 * self.n_empty / self.n_rows
        remark = f"note: {self.n_empty:,} of {self.n_rows:,} rows have no label"
        if "one_error" in metrics:
            return f"{remark}: one-error cannot fall below {share:.1f} %, as each counts as one"
        return f"{remark} ({share:.1f} %); predicting none for such a row is right"


def _evaluate_model(
    path: Path,
    data: Path,
    reading: options.ReadingOptions,
    device: str | None,
    decision: Decision | None,
    metrics: list[str],
    notes: Notes,
) -> Report:
    """Evaluate a fitted model on a data file."""
    from labelkin.metrics import evaluate

    saved = load_saved_model(path)
    rows = saved.read(data, reading)
    y = saved.labels.read(rows, notes.pending)
    X = saved.schema.read(rows, notes.pending)
    print_guesses(rows, notes)
    if seen := saved.count_training_rows(X):
        notes.pending.append(
            f"{data}: {seen:,} of {len(y):,} rows are among those the model was trained on, so "
            "these figures tell how well it remembers, not how well it predicts; evaluate it on "
            f"other rows, or cross-validate: labelkin evaluate {data} …"
        )
    notes.flush()
    labels, scores, thresholds = saved.predict(X, device, decision)
    figures = evaluate(y, scores, labels, metrics=metrics)
    found = FoldResults(path.name, {name: [value] for name, value in figures.items()})
    return Report(
        f"{path.name} on {data}: {len(y):,} rows",
        {"model": str(path), "data": str(data), "rows": len(y), "training_rows": seen},
        {path.name: found},
        label_figures(saved.labels.names, y, labels, scores, thresholds),
        len(y),
        int((~y.any(axis=1)).sum()),
        Winner(path.name, ""),
    )


def _report_folds(
    training: TrainingData,
    candidates: list[Candidate],
    results: dict[str, FoldResults],
    splits: "list[tuple[np.ndarray, np.ndarray]]",
    metrics: list[str],
) -> Report:
    import numpy as np

    winner = find_winner(results, metrics[0])
    best = results[winner.name]
    n_folds = len(best.labels)
    facts = {**training.summary(), "folds_done": n_folds}
    heading = fold_heading(n_folds, len(splits))
    skipped = [one.name for one in candidates if one.name not in results]
    if skipped:
        facts["skipped"] = skipped
        heading += f", no time for {', '.join(skipped)}"
    y = np.concatenate([training.y[test] for _, test in splits[:n_folds]])
    return Report(
        heading,
        facts,
        results,
        label_figures(
            training.labels.names,
            y,
            np.concatenate(best.labels),
            np.concatenate(best.scores),
            np.mean(best.thresholds, axis=0),
        ),
        len(training.y),
        int((~training.y.any(axis=1)).sum()),
        winner,
    )


def _fit_command(
    context: typer.Context, source: Path, winner: Winner, candidates: list[Candidate]
) -> str | None:
    """Return the command that fits the best method as it was evaluated; None for a user's own."""
    from labelkin.registry import METHODS

    if winner.name not in METHODS:
        return None
    model = [] if winner.name == DEFAULT else ["--model", winner.name]
    words = given_options(context, {*_options_of_fit()} - {"model", "seconds"})
    return shell_line("labelkin", "fit", source, *words, *model)


def _options_of_fit() -> list[str]:
    groups = (
        options.TableOptions,
        options.ReadingOptions,
        options.MethodOptions,
        options.DecisionOptions,
    )
    return [field.name for group in groups for field in fields(group)]


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
