"""The page: everything about an evaluation, in one file that needs no network."""

import platform
from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import labelkin
from labelkin._utils.names import abbreviate, plural
from labelkin._utils.optional import installed_version
from labelkin._utils.pages import render_page
from labelkin.base import Array
from labelkin.evaluation._figures import (
    MEANINGS,
    OutOfSample,
    format_summary,
    label_figures,
    summarise,
)
from labelkin.evaluation._findings import (
    ASSUMED,
    NAME,
    WORDS,
    explain_mistakes,
    find_suspects,
    measure_growth,
)
from labelkin.evaluation._remarks import DECIDED
from labelkin.explain._explain import describe_row, find_vectorizers
from labelkin.metrics import METRICS

if TYPE_CHECKING:
    from labelkin.evaluation._evaluation import Evaluation

# What a page holds at most, so that it stays small whatever the data.
_LABELS = 500
_SUSPECTS = 30
# Thresholds of probabilities, finer near 0 and 1, where those of rare labels lie; and bins.
_TAIL = [0.001, 0.002, 0.005]
_STEPS = [0.0, *_TAIL, *(i / 100 for i in range(1, 100)), *(1 - x for x in reversed(_TAIL))]
_BINS = 10
_PACKAGES = ("labelkin", "scikit-learn", "numpy", "scipy", "pandas")


def render_report(
    found: "Evaluation",
    *,
    source: Any = None,
    schema: Any = None,
    notes: Sequence[str] = (),
    card: Sequence[tuple[str, str]] = (),
    command: str | None = None,
    next_command: str | None = None,
    decide_command: str | None = None,
    progress: Callable[..., None] = lambda **_: None,
) -> str:
    """Return the page as HTML; the parameters are those of `Evaluation.write_report`."""
    title = "the data" if source is None else Path(source).name
    growth = measure_growth(found, progress)
    once = found.predictions(found.folds)
    best, metrics = found.results[found.best], [METRICS[key] for key in found.metrics]
    vectorizers = find_vectorizers(best.models[0]) if best.models else {}
    describe = describe_row(found.X, vectorizers, WORDS)
    labels, curves = _label_curves(once)
    suspects, n_suspects = find_suspects(once, _SUSPECTS)
    methods = [
        {
            "title": one.title,
            "figures": [format_summary(summarise(one.figures[m.name]), m) for m in metrics],
            "is_best": name == found.best,
        }
        for name, one in found.results.items()
    ]
    mean = {"mean": summarise(best.figures[metrics[0].name])["mean"]}
    value = format_summary(mean, metrics[0]) + " %" * metrics[0].percent
    folds = f"in cross-validation on {min(found.folds, found.n_done)} folds"
    size = f"{plural(len(found.y), 'row')}, {plural(len(found.label_names), 'label')}"
    return render_page(
        "labelkin.evaluation",
        "evaluation",
        "cli",
        version=labelkin.__version__,
        title=abbreviate(title, WORDS),
        headline=f"{best.title}: {metrics[0].title} {value} "
        f"{folds if found.fit_part else f'on {title}'} ({size})",
        notes=[*notes, *(f"{note[0].upper()}{note[1:]}." for note in found.remarks)],
        n_labels=len(found.label_names),
        metrics=[(f"{one.title}{', %' * one.percent}", MEANINGS.get(one.name)) for one in metrics],
        methods=methods,
        decisions=_decision_rows(found, decide_command),
        best=next(one["figures"] for one in methods if one["is_best"]),
        labels=labels,
        curves=curves,
        growth=growth,
        cross_validated=found.fit_part is not None,
        mistakes=explain_mistakes(found, once, describe),
        suspects=[{**one, "words": describe(one["row"] - 1).strip('"')} for one in suspects],
        n_suspects=n_suspects,
        assumed=ASSUMED,
        are_probabilities=once.are_probabilities,
        card=[
            (abbreviate(name, NAME), abbreviate(value, 4 * WORDS))
            for name, value in [*card, *_model_card(found, source, schema, command)]
        ],
        command=next_command,
    )


def _decision_rows(found: "Evaluation", command: str | None) -> list[dict[str, Any]]:
    """Return title, figures and command of each decision that is compared.

    `command` fits the method with its own decision.
    """
    cuts = np.concatenate(found.results[found.best].thresholds)
    own = "those above one half" if (cuts == 0.5).all() else "as evaluated"
    return [
        {
            "title": DECIDED.get(one["decide"], own),
            "figures": [
                format_summary(summarise(one["figures"][key]), METRICS[key])
                for key in found.metrics
            ],
            "option": one["decide"] and f"{command or ''} --decide {one['decide']}".strip(),
        }
        for one in found.decisions
    ]


def _label_curves(once: OutOfSample) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the rows of the table of labels, and what the script draws of them."""
    grid, are_probabilities = threshold_grid(once), once.are_probabilities
    position = {name: j for j, name in enumerate(once.label_names)}
    figures = label_figures(once)
    frequent = {row["label"] for row in sorted(figures, key=lambda row: -row["rows"])[:_LABELS]}
    table, drawn = [], []
    for row in figures:
        if row["label"] in frequent:
            j, name = position[row["label"]], abbreviate(row["label"], NAME)
            rows = once.known[:, j]
            y, scores = once.y[rows, j], once.scores[rows, j]
            curves = label_curves(y, scores, grid, are_probabilities)
            table.append({**row, "label": name})
            names = {"name": name, "option": row["label"], "threshold": row["threshold"]}
            drawn.append({**names, **curves})
    y, scores = once.y[once.known], once.scores[once.known]
    pooled = label_curves(y, scores, grid, are_probabilities)
    return table, {
        "thresholds": grid.tolist(),
        "labels": drawn,
        "all": {"name": "all labels together", **pooled},
        "are_probabilities": are_probabilities,
        "rows": len(once.y),
    }


def threshold_grid(found: OutOfSample) -> Array:
    """Return the thresholds a reader can choose, in increasing order."""
    if found.are_probabilities:
        return np.round(_STEPS, 3)
    return np.unique(np.quantile(found.scores, np.linspace(0, 1, len(_STEPS))))


def label_curves(y: Array, scores: Array, grid: Array, are_probabilities: bool) -> dict[str, Any]:
    """Return what the curves of a label are drawn from, as values that JSON can hold.

    `y` and `scores` have one entry per row. ``hits`` and ``wrong`` count the rows above each
    threshold of `grid` that have the label and that do not; ``bins`` holds mean probability in
    thousandths, rows with the label, and rows.
    """
    parts = [np.sort(scores[y.astype(bool) == has]) for has in (True, False)]
    hits, wrong = (len(p) - np.searchsorted(p, grid, side="right") for p in parts)
    bins: list[list[int]] = []
    if are_probabilities:
        place = np.minimum((scores * _BINS).astype(int), _BINS - 1)
        rows, total, positives = (np.bincount(place, w, _BINS) for w in (None, scores, y))
        used = np.flatnonzero(rows)
        means = np.round(1000 * total[used] / rows[used])
        bins = np.column_stack([means, positives[used], rows[used]]).astype(int).tolist()
    return {"rows": len(parts[0]), "hits": hits.tolist(), "wrong": wrong.tolist(), "bins": bins}


def _model_card(
    found: "Evaluation", source: Any, schema: Any, command: str | None
) -> list[tuple[str, str]]:
    """Return names and values of the facts about an evaluation.

    `source` is the file or the name of the data, `schema` the `labelkin.tabular.Schema` of a table.
    """
    y, best, settings = found.y, found.results[found.best], found.settings
    card = [("data", Path(source).name)] if source else []
    if schema is not None:
        kinds: dict[str, list[str]] = {}
        for name, kind in (schema.columns or {}).items():
            kinds.setdefault(f"{kind.replace('_', ' ')} columns", []).append(name)
        card += [(kind, ", ".join(names)) for kind, names in kinds.items()]
        card += [] if kinds else [("columns", f"{schema.n_features:,} numbers")]
    if source and Path(source).is_file():
        card.append(("SHA-256 of the data", sha256(Path(source).read_bytes()).hexdigest()))
    per_row = (y == 1).sum() / len(y)
    card += [("rows", f"{len(y):,}"), ("labels", f"{y.shape[1]:,}, {per_row:.2f} per row")]
    if found.n_known < y.size:
        card.append(("known labels", f"{found.n_known:,} of {y.size:,} cells"))
    if best.models:
        model = getattr(best.models[0], "pipeline_", best.models[0])
        model = model.steps[-1][1] if hasattr(model, "steps") else model
        parameters = model.get_params(deep=False).items()
        card += [
            ("method", f"{best.title}, {type(model).__name__}"),
            ("settings", ", ".join(f"{key}={value!r}" for key, value in parameters)),
        ]
    if settings:
        how = f"{found.n_done} folds"
        how += ", labels spread evenly" if settings["stratified"] else ", drawn at random"
        if settings["repeats"] > 1:
            how += f", {settings['repeats']} repetitions (the curves and rows are of the first)"
        card += [("evaluation", how), ("seed", str(settings["seed"]))]
    versions = [f"{name} {version}" for name in _PACKAGES if (version := installed_version(name))]
    return [
        *card,
        ("date", datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %z")),
        ("versions", ", ".join([f"Python {platform.python_version()}", *versions])),
        *([("command", command)] if command else []),
    ]
