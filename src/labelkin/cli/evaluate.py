"""``labelkin evaluate``: cross-validation of methods, or a fitted model on new data."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelkin._utils.optional import import_optional
from labelkin.cli import _options as options
from labelkin.cli._data import (
    check_data_file,
    check_model_file,
    load_saved_model,
    print_guesses,
    read_training_data,
)
from labelkin.cli._output import (
    Notes,
    check_output,
    echo,
    given_options,
    print_json,
    progress_bar,
    shell_line,
    split_names,
)

if TYPE_CHECKING:
    from labelkin.evaluation import Evaluation
    from labelkin.methods import Method
    from labelkin.tabular import TrainingData

EXAMPLES = """Examples:

labelkin evaluate movies.csv --labels drama,comedy,crime

labelkin evaluate posts.csv --labels tags --model auto

labelkin evaluate digit-scenes --model mlknn,br --folds 3

labelkin evaluate model.labelkin new.csv

labelkin evaluate movies.csv -l drama,comedy,crime -m logistic --report r.html

labelkin evaluate model.labelkin new.csv --metrics paper --json"""

# Options that are printed in place of arguments of the library.
_OPTION_NAMES = {"decision": "--decide", "per_label": "--per-label"}

# What has an effect on a model that is already fitted.
_FOR_FITTED_MODELS = {
    *("source", "data", "device", "metrics", "per_label", "report", "overwrite", "as_json"),
    *("quiet", "missing_labels"),
    *options.names_of(options.ReadingOptions, options.DecisionOptions),
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
        int,
        options.method_option(
            min=2, help="Number of folds; the labels are spread evenly over them."
        ),
    ] = 5,
    repeats: Annotated[
        int,
        options.method_option(
            min=1, help="Number of times the cross-validation is repeated, shuffled anew."
        ),
    ] = 1,
    group: Annotated[
        str | None,
        options.method_option(
            metavar="COLUMN",
            help="The column with the group of each row, such as the patient. All rows of a group "
            "are in one fold, so that the figures hold for new groups. The column is not used as "
            "a feature.",
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        options.output_option(
            help="Names of metrics separated by commas, paper (the seven of the VPCME paper), or "
            "all. The first one decides which method is best."
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
            "mistakes and likely labelling errors. This takes about as long as the evaluation.",
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
        names = {str(one.name) for one in context.command.params} - _FOR_FITTED_MODELS
        if words := given_options(context, names):
            raise ValueError(
                f"{words[0]} has no effect on a model that is already fitted; leave it out."
            )
        check_model_file(source)
    check_data_file(data or source)
    from sklearn.utils import _safe_indexing

    from labelkin.evaluation import evaluate_model
    from labelkin.evaluation._figures import choose_metrics
    from labelkin.tabular._predictions import name_rows

    chosen = None if metrics is None else choose_metrics(split_names(metrics))
    decision = options.parse_decision(deciding)
    options.check_device(choice.device, decision if data is None else None)
    if report is not None:
        if report.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"--report {report}: the page is HTML; end the name in .html.")
        check_output(report, overwrite, inputs=[source, *filter(None, [data])])
        import_optional("jinja2", "cli")
    if data is None and source.suffix.lower() == ".labelkin":
        raise ValueError(f"{source} is a model; add the data: labelkin evaluate {source} DATA.")
    notes, hidden = Notes(quiet), quiet or as_json
    next_command = None
    if data is not None:
        saved = load_saved_model(source, device=choice.device, decision=decision)
        rows, X = saved.read(data, reading, notes)
        n_guesses, missing = len(rows.guesses), table.missing_labels or saved.labels.missing
        columns = replace(saved.labels, missing=missing)
        y, kept = columns.drop_unknown(columns.read(rows.labelled, notes.pending))
        X, labels = _safe_indexing(X, kept), columns.names
        new = rows.guesses[n_guesses:]
        print_guesses(f"labels of {rows.source}", new, notes, options.TableOptions)
        notes.flush()
        with saved.checked(), progress_bar("predicting", y.shape[0], hidden=quiet) as update:
            found = evaluate_model(
                saved.classifier,
                X,
                y,
                metrics=chosen,
                label_names=labels,
                title=source.name,
                progress=update,
            )
        found.option_names = _OPTION_NAMES
        found.row_names = name_rows(rows, saved.classifier.schema_, kept)
        facts = {"model": str(source), "data": str(data), "rows": y.shape[0]}
        facts["training_rows"] = found.n_seen
        heading = f"{source.name} on {data}: {y.shape[0]:,} rows"
        card = [
            ("model", source.name),
            ("SHA-256 of the model", saved.info.sha256),
            ("training rows", str(saved.info.details.get("rows", "unknown"))),
            ("rows also in training", f"{found.n_seen:,}"),
        ]
        page: dict[str, Any] = {"source": data}
    else:
        methods = options.find_methods(choice, several=True)
        if group is not None:
            table = replace(table, ignore=[*(table.ignore or ()), group])
        training = read_training_data(source, table, reading, notes, "group")
        _, column = choice.parse_time()
        found = compare_methods(
            training,
            methods,
            choice,
            decision,
            folds=folds,
            repeats=repeats,
            groups=None if group is None else training.column(group, "--group"),
            time=None if column is None else training.column(column, "--time"),
            metrics=chosen,
            keep_models=report is not None,
            hidden=hidden,
        )
        found.row_names = name_rows(training.table, training.schema, training.kept)
        settings = options.parse_settings(choice.settings)
        facts = training.summary()
        facts["settings"] = {name: str(value) for name, value in settings.items()}
        heading, next_command = None, _fit_command(context, source, found.best)
        page = {"source": training.source}
        page["decide_command"] = _fit_command(context, source, found.best, decided=False)
        card = [("read as", ", ".join(facts["guesses"]))] if facts["guesses"] else []
    if report is not None:
        page["card"] = [*card, ("command", shell_line("labelkin", *context.obj))]
        with progress_bar("learning curve", found.n_curve_fits, hidden=hidden) as update:
            found.write_report(report, **page, next_command=next_command, progress=update)
    if as_json:
        facts |= found.to_dict() | ({"next": next_command} if next_command else {})
        print_json(facts | ({"report": str(report)} if report else {}))
        return
    notes.pending += found.remarks
    notes.flush()
    all_labels = per_label or (False if quiet else None)
    found.print(heading=heading, per_label=all_labels, meanings=not quiet)
    lines = [f"next: {next_command}"] if next_command else []
    if next_command and len(found.results) > 1:
        lines.insert(0, f"best: {found.best}, {found.reason}")
    lines += [f"page: {report} (curves, thresholds, mistakes explained)"] if report else []
    if lines and not quiet:
        echo("", *lines)


def compare_methods(
    training: "TrainingData",
    methods: "dict[str, Method]",
    choice: options.MethodOptions,
    decision: options.Decision | None,
    *,
    folds: int,
    hidden: bool,
    **settings: Any,
) -> "Evaluation":
    """Cross-validate methods on a table, with a progress bar unless `hidden`."""
    from labelkin.evaluation import compare

    total = len(methods) * folds * settings.get("repeats", 1)
    faster = "" if set(methods) == {options.FASTER} else f"--model {options.FASTER}"
    with progress_bar("", total, hidden=hidden, faster=faster) as update:
        found = compare(
            {
                n: partial(options.make_model, one, choice, decision, training)
                for n, one in methods.items()
            },
            training.X,
            training.y,
            folds=folds,
            label_names=training.labels.names,
            titles={name: one.title for name, one in methods.items()},
            seconds=choice.parse_time()[0] if choice.model == "auto" else None,
            random_state=choice.seed,
            progress=update,
            **settings,
        )
    found.option_names = _OPTION_NAMES
    return found


def _fit_command(
    context: typer.Context, source: Path, best: str, decided: bool = True
) -> str | None:
    """Return the command that fits the best method as it was evaluated; None for a user's own."""
    from labelkin.methods import METHODS

    if best not in METHODS:
        return None
    groups = [options.TableOptions, options.ReadingOptions, options.MethodOptions]
    groups += [options.DecisionOptions] if decided else []
    names = options.names_of(*groups) - {"model", "time"}
    model = [] if best == options.DEFAULT else ["--model", best]
    if group := context.params["group"]:
        model += ["--ignore", group]
    return shell_line("labelkin", "fit", source, *given_options(context, names), *model)
