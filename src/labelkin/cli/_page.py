"""``evaluate --report``: the page about an evaluation."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from labelkin._utils.files import open_for_writing
from labelkin.cli._card import card_of_folds, card_of_model
from labelkin.cli._compare import MOST_FOLDS, PARTS, Split, measure_growth
from labelkin.cli._data import SavedModel
from labelkin.cli._figures import MEANINGS, format_summary, label_figures, summarise
from labelkin.cli._find_reasons import FoldMistakes, describe_rows, explain_mistakes
from labelkin.cli._findings import Findings
from labelkin.cli._methods import Candidate
from labelkin.cli._output import plural, progress_bar
from labelkin.evaluation import EvaluationPage, Growth, MethodFigures, Mistake
from labelkin.metrics import METRICS
from labelkin.tabular import TrainingData


def write_fold_page(
    path: Path,
    found: Findings,
    metrics: Sequence[str],
    training: TrainingData,
    candidates: Sequence[Candidate],
    splits: Sequence[Split],
    mistakes: FoldMistakes,
    command: str,
    *,
    hidden: bool,
) -> None:
    """Write the page of a cross-validation, after measuring the best method's learning curve.

    `splits` are the folds of the first repetition, `command` is the user's command line, and
    `hidden` suppresses the progress bar.
    """
    best = next(one for one in candidates if one.name == found.best)
    labels = found.results[best.name].labels[: len(splits)]
    splits = splits[: len(labels)]  # the time may have run out
    steps = len(PARTS) * min(len(splits), MOST_FOLDS)
    with progress_bar("learning curve", steps, hidden=hidden) as update:
        growth = measure_growth(training, best, splits, labels, update)
    _write(
        path,
        found,
        metrics,
        title=Path(training.source).name,
        how=f"in cross-validation on {len(splits)} folds",
        notes=[],
        mistakes=mistakes.of(best.name),
        describe=describe_rows(training.schema, training.X),
        card=card_of_folds(training, best, found.facts, command),
        growth=growth,
        growth_note="There are too few rows to measure a learning curve.",
    )


def write_model_page(
    path: Path,
    found: Findings,
    metrics: Sequence[str],
    saved: SavedModel,
    data: Path,
    X: Any,
    notes: list[str],
    command: str,
) -> None:
    """Write the page of a fitted model on the rows `X` of a data file."""
    once = found.predictions
    _write(
        path,
        found,
        metrics,
        title=data.name,
        how=f"on {data.name}",
        notes=notes,
        mistakes=explain_mistakes(saved.classifier, X, once.y, once.labels, once.scores),
        describe=describe_rows(saved.schema, X),
        card=card_of_model(saved, data, X, once.y, found.facts["training_rows"], command),
        growth_note="A learning curve needs models of fewer rows: labelkin evaluate on the "
        "training data, without a model, shows it.",
    )


def _write(
    path: Path,
    found: Findings,
    metrics: Sequence[str],
    *,
    title: str,
    how: str,
    notes: list[str],
    mistakes: list[Mistake],
    describe: Callable[[int], str],
    card: list[tuple[str, str]],
    growth: Growth | None = None,
    growth_note: str = "",
) -> None:
    """Write the page, whole or not at all.

    `how` says how rows were left out of training, and `describe` returns a row in words. Without
    a learning curve the page shows `growth_note`.
    """
    methods = [
        MethodFigures(
            one.title,
            [format_summary(summarise(one.figures[key]), METRICS[key]) for key in metrics],
            is_best=name == found.best,
        )
        for name, one in found.results.items()
    ]
    once, best = found.predictions, found.results[found.best]
    first = METRICS[metrics[0]]
    value = summarise(best.figures[metrics[0]])["mean"]
    shown = "undefined" if value is None else f"{100 * value:.1f} %"
    if value is not None and not first.percent:
        shown = f"{value:.2f}"
    empty = found.remark_on_empty_rows(metrics) + "." if found.n_empty else ""
    page = EvaluationPage(
        title=title,
        headline=f"{best.title}: {first.title} {shown} {how} "
        f"({plural(found.n_rows, 'row')}, {plural(len(found.labels), 'label')})",
        notes=[*notes, *([empty] if empty else [])],
        metrics=[
            (f"{METRICS[key].title}{', %' * METRICS[key].percent}", MEANINGS.get(key, ""))
            for key in metrics
        ],
        methods=methods,
        found=once,
        labels=label_figures(once.label_names, once.y, once.labels, once.scores, once.thresholds),
        mistakes=mistakes,
        describe=describe,
        card=card,
        growth=growth,
        growth_note=growth_note,
        command=found.next,
    )
    with open_for_writing(path) as file:
        file.write(page.render().encode("utf-8"))
    found.page = path
