"""``labelkin fit``: from a data file to a model file."""

import time
from pathlib import Path
from typing import Annotated, Any

from rich.filesize import decimal

from labelkin.cli import _options as options
from labelkin.cli._data import check_data_file, read_training_data
from labelkin.cli._output import (
    Notes,
    check_output,
    echo,
    print_json,
    progress_bar,
    shell_line,
)

EXAMPLES = """Examples:

labelkin fit movies.csv --text plot --ignore id --labels drama,comedy,crime

labelkin fit posts.csv --labels tags --out tags.labelkin

labelkin fit posts.csv --labels tags --model auto --time 5

labelkin fit digit-scenes -m vpcme --set n_estimators=10 --out scenes.labelkin"""

ModelOut = Annotated[Path, options.output_option("--out", "-o", help="Model file to write.")]


@options.expand_groups
def command(
    data: options.DataFile,
    *,
    table: options.TableOptions,
    reading: options.ReadingOptions,
    choice: options.MethodOptions,
    deciding: options.DecisionOptions,
    out: ModelOut = Path("model.labelkin"),
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a model on a data file and write it to a file, ready to predict new rows.

    Columns of numbers, dates, categories and texts are recognised, and turned into numbers; the
    options below override what is recognised. The model file contains these steps, so that predict
    takes rows with the same columns as DATA. Loading a model file runs no code from it.
    """
    # Refuse what cannot work, if possible before scikit-learn is imported.
    check_output(out, overwrite, inputs=[data])
    check_data_file(data)
    decision = options.parse_decision(deciding)
    options.check_device(choice.device, decision)
    methods = options.find_methods(choice)
    from labelkin._utils.labels import has_one_label_each
    from labelkin.cli.evaluate import compare_methods
    from labelkin.decisions import learn_thresholds
    from labelkin.persistence import save_model

    # Read the table and find what its columns are.
    notes = Notes(quiet or as_json)
    training = read_training_data(data, table, reading, notes)
    hidden = quiet or as_json
    if len(methods) > 1:
        folds = min(5, training.y.shape[0])
        found = compare_methods(training, methods, choice, decision, folds=folds, hidden=hidden)
        if not hidden:
            found.print(per_label=False)
            echo(f"best:    {found.best}, {found.reason}")
        notes.pending += found.remarks
        notes.flush()
        methods = {found.best: methods[found.best]}
    ((name, method),) = methods.items()

    # Fit the preparation of the columns and the classifier.
    model = options.make_model(method, choice, decision, training)
    started = time.perf_counter()
    faster = "" if name == options.FASTER else f"--model {options.FASTER}"
    with progress_bar(f"fitting {method.title}", 1, hidden=hidden, faster=faster):
        model.fit(training.X, training.y)
    model.set_params(device=None)  # the file is for any machine
    seconds = time.perf_counter() - started

    # Save the model with all that is needed to read new rows.
    facts: dict[str, Any] = {
        "model": name,
        "settings": {
            name: value if isinstance(value, bool | int | float | str | None) else repr(value)
            for name, value in options.parse_settings(choice.settings).items()
        },
        "seed": choice.seed,
    }
    if deciding.decide or deciding.threshold:
        facts["decide"] = deciding.decide or deciding.threshold
    details = {**facts, "data": str(data), "rows": training.y.shape[0]}
    with progress_bar("saving", hidden=hidden):
        details["decisions"] = learn_thresholds(model.estimator_, training.y)
        digest = save_model(model, out, details=details)
    learned = details["decisions"].get("subset_accuracy", {})
    if decision is None and learned.get("at_least_one") and has_one_label_each(training.y):
        notes.pending.append(
            "each row has exactly one label, but rows without a label above one half will get "
            "none; to give these their most probable label, predict with --decide subset_accuracy"
        )
    notes.flush()

    # Report what was done.
    size = out.stat().st_size if out.is_file() else 0
    if as_json:
        written = {"out": str(out), "bytes": size, "sha256": digest, "seconds": round(seconds, 3)}
        print_json({**training.summary(), **facts, **written})
    elif not quiet:
        cost = f"{decimal(size)}, fitted in {seconds:.1f} s"
        echo(f"written: {out} ({method.title}, {cost})")
        suffix = ".xlsx" if data.suffix.lower() in (".xlsx", ".xlsm", ".ods") else ".csv"
        line = shell_line("labelkin", "predict", out)
        echo(f"next:    {line} NEW --out predictions{suffix}")
