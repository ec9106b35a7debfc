"""The page: everything about an evaluation, in one file that needs no network.

Besides the figures it shows whether more rows would help, the worst mistakes, explained by the
models that made them, and given labels that are more likely wrong than right.
"""

import platform
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse, stats
from sklearn.isotonic import IsotonicRegression
from sklearn.utils import _safe_indexing

import labelkin
from labelkin._utils.labels import MANY_LABELS
from labelkin._utils.names import abbreviate, plural
from labelkin._utils.optional import installed_version
from labelkin._utils.pages import render_page
from labelkin.base import Array
from labelkin.evaluation._figures import (
    FEW_ROWS,
    MEANINGS,
    OutOfSample,
    format_summary,
    label_figures,
    summarise,
)
from labelkin.explain._explain import describe_row, explain, find_vectorizers
from labelkin.metrics import METRICS
from labelkin.metrics._estimators import labels_and_scores
from labelkin.rows import as_dense

if TYPE_CHECKING:
    from labelkin.evaluation._evaluation import Evaluation

# What a page holds at most, so that it stays small whatever the data.
_LABELS = 500
_OF_MANY = 20  # labels shown of thousands: as many frequent ones, rare ones and weak ones
_SUSPECTS = 30
_PER_ROW = 2  # doubtful labels of one row
_MISTAKES = 20  # all folds together
_VERDICTS = 5  # missed labels of a row, and as many false alarms
_NAME, _PART, _WORDS = 80, 60, 400  # characters of a label, of a word or value, of a row in words

# Thresholds of probabilities, finer near 0 and 1, where those of rare labels lie; and bins.
_TAIL = [0.001, 0.002, 0.005]
_STEPS = [0.0, *_TAIL, *(i / 100 for i in range(1, 100)), *(1 - x for x in reversed(_TAIL))]
_BINS = 10
_PACKAGES = ("labelkin", "scikit-learn", "numpy", "scipy", "pandas")

PARTS, MOST_FOLDS, _FEWEST_ROWS = (1 / 8, 1 / 4, 1 / 2), 5, 20
"""Of the learning curve: parts of the training rows besides all of them, folds, rows of a part."""
_SMALLEST_GAIN = 0.005
"""Gains of micro F1 below this are not worth collecting rows for."""
_SMALLEST_REASON = 0.05  # log odds; what adds less is not shown
_ASSUMED = 0.05
"""Share of the given labels that is assumed to be wrong, before predictions are used."""
_SMALLEST = 1e-9


def render_report(
    found: "Evaluation",
    *,
    source: Any = None,
    card: Sequence[tuple[str, str]] = (),
    next_command: str | None = None,
    decide_command: str | None = None,
    progress: Callable[..., None] = lambda **_: None,
) -> str:
    """Return the page as HTML; the parameters are those of `Evaluation.write_report`."""
    title = "the data" if source is None else Path(source).name
    growth = _measure_growth(found, progress)
    once = found.predictions(found.folds)
    best, metrics = found.results[found.best], [METRICS[key] for key in found.metrics]
    vectorizers = find_vectorizers(best.models[0]) if best.models else {}
    describe = partial(describe_row, found.X, vectorizers=vectorizers, longest=_WORDS)
    labels, curves = _label_curves(once)
    suspects, n_suspects = find_label_errors(once, _SUSPECTS)

    def name_of(row: int) -> str:
        return f"row {row + 1}" if found.row_names is None else found.row_names[row]

    def show(title: str, figures: dict[str, list[float]]) -> dict[str, Any]:
        """Return a row of the tables of methods and of decisions."""
        values = [format_summary(summarise(figures[one.name]), one) for one in metrics]
        return {"title": title, "figures": values}

    shown = show(best.title, best.figures)["figures"]
    value = shown[0].split(" ± ")[0] + " %" * metrics[0].percent
    folds = f"in cross-validation on {min(found.folds, found.n_done)} folds"
    size = f"{plural(found.y.shape[0], 'row')}, {plural(len(found.label_names), 'label')}"
    return render_page(
        "labelkin.evaluation",
        "evaluation",
        "cli",
        version=labelkin.__version__,
        title=abbreviate(title, _WORDS),
        headline=f"{best.title}: {metrics[0].title} {value} "
        f"{folds if found.fit_part else f'on {title}'} ({size})",
        notes=[f"{note[0].upper()}{note[1:]}." for note in found.remarks],
        n_labels=len(found.label_names),
        metrics=[(f"{one.title}{', %' * one.percent}", MEANINGS.get(one.name)) for one in metrics],
        methods=[
            show(one.title, one.figures) | {"is_best": one is best}
            for one in found.results.values()
        ],
        decisions=[
            show(one["title"], one["figures"]) | {"decide": one["decide"]}
            for one in found.decisions
        ],
        decide_command=decide_command,
        best=shown,
        labels=labels,
        curves=curves,
        many=sparse.issparse(once.y),
        varied=bool((np.ptp(best.thresholds[: found.folds], axis=0) > 0).any()),
        few_rows=FEW_ROWS,
        growth=growth,
        cross_validated=found.fit_part is not None,
        mistakes=[
            one | {"name": name_of(one["row"] - 1)}
            for one in _explain_mistakes(found, once, describe)
        ],
        suspects=[
            one | {"name": name_of(one["row"] - 1), "words": describe(one["row"] - 1).strip('"')}
            for one in suspects
        ],
        n_suspects=n_suspects,
        assumed=_ASSUMED,
        are_probabilities=once.are_probabilities,
        card=[
            (abbreviate(name, _NAME), abbreviate(value, 4 * _WORDS))
            for name, value in [*_model_card(found, source), *card]
        ],
        command=next_command,
    )


def _label_curves(once: OutOfSample) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the rows of the table of labels, and what the script draws of them."""
    grid = np.round(_STEPS, 3)
    if not once.are_probabilities:
        grid = np.unique(np.quantile(once.score, np.linspace(0, 1, len(_STEPS))))

    figures = label_figures(once)
    reasons = _choose_labels(figures)
    position = {name: j for j, name in enumerate(once.label_names)}
    table, is_other = [], np.ones(len(position), dtype=bool)
    parts: list[tuple[dict[str, Any], slice, int]] = []  # names, pairs, rows with the label
    for row in figures:
        if row["label"] in reasons:
            name, j = abbreviate(row["label"], _NAME), position[row["label"]]
            table.append({**row, "label": name, "reason": reasons[row["label"]]})
            names = {"name": name, "option": row["label"], "threshold": row["threshold"]}
            parts.append((names, slice(*once.start[j : j + 2]), row["rows"]))
            is_other[j] = False
    parts.append(({"name": "all labels together"}, slice(None), int(once.support.sum())))
    drawn = [
        names
        | label_curves(once.given[pairs], once.score[pairs], grid, once.are_probabilities)
        | {"rows": n_rows}  # some may have no score
        for names, pairs, n_rows in parts
    ]
    hits, predicted = (
        int(once.count(chosen)[is_other].sum())
        for chosen in (once.given & once.predicted, once.predicted)
    )
    others = {"hits": hits, "wrong": predicted - hits, "rows": int(once.support[is_other].sum())}
    return table, {
        "thresholds": grid.tolist(),
        "labels": drawn[:-1],
        "others": others,  # labels that are not shown, as evaluated
        "all": drawn[-1],
        "are_probabilities": once.are_probabilities,
        "rows": once.y.shape[0],
    }


def _choose_labels(figures: list[dict[str, Any]]) -> dict[str, str]:
    """Return the labels that are shown: the most frequent ones, or of thousands, each with why."""
    frequent = sorted(figures, key=lambda row: -row["rows"])
    if len(figures) < MANY_LABELS:
        return {row["label"]: "" for row in frequent[:_LABELS]}
    rare = [row for row in frequent if row["rows"] >= FEW_ROWS][-_OF_MANY:]
    parts = {"frequent": frequent[:_OF_MANY], "rare": rare, "weak": figures[:_OF_MANY]}
    reasons: dict[str, list[str]] = {}
    for reason, rows in parts.items():
        for row in rows:
            reasons.setdefault(row["label"], []).append(reason)
    return {label: ", ".join(names) for label, names in reasons.items()}


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


def _measure_growth(found: "Evaluation", progress: Callable[..., None]) -> dict[str, Any] | None:
    """Return the learning curve of the best method, by models of parts of the training rows.

    A part holds the first of the training rows in a random order, so that larger parts contain
    the smaller ones. None for a model that is already fitted, and for few rows or one fold.
    """
    if found.fit_part is None:
        return None
    best = found.results[found.best].labels
    splits = found.splits[: min(found.folds, len(best), MOST_FOLDS)]
    n_train = [len(train) for train, _ in splits]
    parts = [part for part in PARTS if round(part * min(n_train)) >= _FEWEST_ROWS]
    values = np.full((len(splits), len(parts) + 1), np.nan)
    for number, (train, test) in enumerate(splits):
        order = np.random.default_rng(found.settings["seed"] + number).permutation(train)
        X, y = _safe_indexing(found.X, test), found.y[test]
        for place, part in enumerate(parts):
            progress(completed=number * len(parts) + place, description="learning curve")
            try:
                model = found.fit_part(found.best, number, order[: round(part * len(train))])
                values[number, place] = METRICS["micro_f1"](y, labels_and_scores(model, X)[0])
            except ValueError:  # too few rows for this method or its decision
                continue
        values[number, -1] = METRICS["micro_f1"](y, best[number])
    usable = np.flatnonzero(~np.isnan(values).any(axis=0))
    if len(usable) < 2 or len(splits) < 2:
        return None
    sizes = [round(part * np.mean(n_train)) for part in (*parts, 1)]
    of_fold = " (on average of the folds)" if max(n_train) > 1.1 * min(n_train) else ""
    return describe_growth([sizes[i] for i in usable], values[:, usable], of_fold)


def describe_growth(sizes: list[int], values: Array, of_fold: str = "") -> dict[str, Any]:
    """Return what the last doubling of the rows means, and the points of the learning curve.

    `values`, of shape (n_folds, n_sizes), is the micro F1 of test rows by the number of training
    rows; `of_fold` says what these are if folds differ in size, as those by time do.
    """
    values = np.hstack([values, values[:, -1:] - values[:, -2:-1]])  # the last column: the gain
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    mean, margin = values.mean(axis=0), stats.t.ppf(0.975, len(values) - 1) * error
    gain, low, high = mean[-1], mean[-1] - margin[-1], mean[-1] + margin[-1]
    if low > _SMALLEST_GAIN / 2 and gain >= _SMALLEST_GAIN:
        verdict = "would help"
    elif high < 2 * _SMALLEST_GAIN:
        verdict = "would hardly help"
    else:
        verdict = "may help"
    sentence = (
        f"More rows {verdict}: from {sizes[-2]:,} to {sizes[-1]:,} training rows{of_fold}, "
        f"micro F1 changed by {100 * gain:+.1f} points "
        f"(95 % interval {100 * low:+.1f} to {100 * high:+.1f})."
    )
    points = list(zip(sizes, mean.tolist()[:-1], margin.tolist()[:-1], strict=True))
    return {"sentence": sentence, "points": points}


def _explain_mistakes(
    found: "Evaluation", once: OutOfSample, describe: Callable[[int], str]
) -> list[dict[str, Any]]:
    """Return the worst mistakes of the best method, explained by the models that made them.

    A mistake has its row, counted from 1, in words, verdicts on wrongly decided labels (kind,
    label, score and reasons, the most confident errors first), how many more there are, the labels
    that are right, and how the reasons were found. `once` are the predictions of the first folds.
    """
    models = found.results[found.best].models
    if not models:
        return []
    model_of = [model for model, (_, test) in zip(models, found.splits, strict=False) for _ in test]
    mistakes = []
    for i in worst_rows(once, _MISTAKES):
        row, model = int(once.rows[i]), model_of[i]
        y, labels, scores = (as_dense(one[[i]])[0] for one in (once.y, once.labels, once.scores))
        given, predicted = y == 1, (labels == 1) & (y == y)  # NaN is unequal to itself
        why = None
        if hasattr(model, "predict_proba") or hasattr(model, "decision_function"):
            # A classifier of tables takes missing values, other pipelines may refuse them.
            is_table = hasattr(found.X, "iloc") and not hasattr(model, "schema_")
            background = found.X if is_table or isinstance(found.X, np.ndarray) else None
            why = explain(model, _safe_indexing(found.X, [row]), background=background)
        missed, wrong = np.flatnonzero(given & ~predicted), np.flatnonzero(predicted & ~given)
        errors = [("missed", j) for j in missed[np.argsort(scores[missed])][:_VERDICTS].tolist()]
        errors += [("wrong", j) for j in wrong[np.argsort(-scores[wrong])][:_VERDICTS].tolist()]
        verdicts = [
            {
                "kind": kind,
                "label": abbreviate(once.label_names[j], _NAME),
                "score": float(scores[j]),
                "reasons": [
                    (abbreviate(part, _PART), value)
                    for part, value in ([] if why is None else why.sum_up(j))
                    if abs(value) >= _SMALLEST_REASON
                ],
            }
            for kind, j in errors
        ]
        right = ", ".join(once.label_names[j] for j in np.flatnonzero(given & predicted))
        mistakes.append(
            {
                "row": row + 1,
                "words": describe(row).strip('"'),
                "verdicts": verdicts,
                "more": len(missed) + len(wrong) - len(verdicts),
                "right": abbreviate(right, _WORDS),
                "method": "" if why is None else why.method,
            }
        )
    return mistakes


def odds_against(y: Array, probability: Array, share: Array) -> Array:
    """Return how strongly a model is against each given label, as odds.

    With the probability p of a label that the share s of the rows has, these are

        the row lacks the label:  p / (1 - p)
        the row has it:           (1 - p) / p · s / (1 - s)

    Without the last factor, rows of a rare label, whose p is always low, would stand out most.
    """
    p = np.clip(probability, _SMALLEST, 1 - _SMALLEST)
    s = np.clip(share, _SMALLEST, 1 - _SMALLEST)
    return np.where(y.astype(bool), (1 - p) / p * s / (1 - s), p / (1 - p))


def worst_rows(found: OutOfSample, most: int) -> Array:
    """Return the positions of the worst mistakes, the largest first.

    The size of a row's mistake is the largest `odds_against` among its labels that were decided
    wrongly; for scores that are not probabilities, the largest distance from 0. Rows without a
    mistake are left out.
    """
    wrong = np.flatnonzero(found.given != found.predicted)
    against = np.abs(found.score[wrong])
    if found.are_probabilities:
        share = found.share[found.label[wrong]]
        against = odds_against(found.given[wrong], found.score[wrong], share)
    sizes = np.full(len(found.rows), -np.inf)
    np.maximum.at(sizes, found.row[wrong], against)
    order = np.argsort(-sizes, kind="stable")[:most]
    return order[np.isfinite(sizes[order])]


def find_label_errors(found: OutOfSample, most: int) -> tuple[list[dict[str, Any]], int]:
    """Return the most doubtful labels, and how many are more likely wrong than right.

    Of the rows that should have a label, the share `_ASSUMED` is taken to lack it, and as many
    others to have it wrongly. By Bayes' rule the odds that a label is wrong are then `_ASSUMED`
    times those of `odds_against`. A doubtful label has its row, counted from 1, its name,
    whether it is given, its predicted probability, and the probability that it is wrong, `doubt`.
    """
    if not found.are_probabilities:
        return [], 0
    # Probabilities that are too certain are corrected by a nondecreasing curve from them to
    # observed shares, fitted to all pairs of a row and a label: one pair hardly influences it.
    # Both are clipped to [1 / (n + 2), 1 − 1 / (n + 2)], for n pairs.
    smallest = 1 / (len(found.score) + 2)
    curve = IsotonicRegression(y_min=smallest, y_max=1 - smallest, out_of_bounds="clip")
    fitted = curve.fit_transform(found.score, found.given.astype(float))
    fitted, score = (np.clip(one, smallest, 1 - smallest) for one in (fitted, found.score))
    probability = np.where(np.abs(fitted - 0.5) < np.abs(score - 0.5), fitted, score)
    odds = _ASSUMED * odds_against(found.given, probability, found.share[found.label])
    doubtful = np.flatnonzero(odds > 1)
    order = np.lexsort((found.label[doubtful], found.row[doubtful], -odds[doubtful]))
    listed: Counter[int] = Counter()
    suspects: list[dict[str, Any]] = []
    for pair in doubtful[order]:
        i, j = found.row[pair], found.label[pair]
        # All labels of a row that is unlike the others would fill the list.
        listed[i] += 1
        if listed[i] <= _PER_ROW and len(suspects) < most:
            suspects.append(
                {
                    "row": int(found.rows[i]) + 1,
                    "label": abbreviate(found.label_names[j], _NAME),
                    "given": bool(found.given[pair]),
                    "probability": float(found.score[pair]),
                    "doubt": float(odds[pair] / (1 + odds[pair])),
                }
            )
    return suspects, len(doubtful)


def _model_card(found: "Evaluation", source: Any) -> list[tuple[str, str]]:
    """Return names and values of the facts about an evaluation.

    `source` is the file or the name of the data.
    """
    y, best, settings = found.y, found.results[found.best], found.settings
    card = [("data", Path(source).name)] if source else []
    schema = getattr(best.models[0], "schema_", None) if best.models else None
    if schema is not None:
        kinds: dict[str, list[str]] = {}
        for name, kind in (schema.columns or {}).items():
            kinds.setdefault(f"{kind.replace('_', ' ')} columns", []).append(name)
        card += [(kind, ", ".join(names)) for kind, names in kinds.items()]
        card += [] if kinds else [("columns", f"{schema.n_features:,} numbers")]
    if source and Path(source).is_file():
        card.append(("SHA-256 of the data", sha256(Path(source).read_bytes()).hexdigest()))
    n, q = y.shape
    card += [("rows", f"{n:,}"), ("labels", f"{q:,}, {(y == 1).sum() / n:.2f} per row")]
    if found.n_unknown:
        card.append(("known labels", f"{y.size - found.n_unknown:,} of {y.size:,} cells"))
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
        if settings["repeats"] > 1:
            how += f", {settings['repeats']} repetitions (the curves and rows are of the first)"
        card += [("evaluation", how), ("seed", str(settings["seed"]))]
    versions = [f"{name} {version}" for name in _PACKAGES if (version := installed_version(name))]
    return [
        *card,
        ("date", datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %z")),
        ("versions", ", ".join([f"Python {platform.python_version()}", *versions])),
    ]
