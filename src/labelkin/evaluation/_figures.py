"""Figures of methods and of labels out of sample, and their tables on the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from labelkin._utils.errors import ArgumentError
from labelkin._utils.names import did_you_mean, printable
from labelkin._utils.optional import import_optional
from labelkin.base import Array
from labelkin.metrics import METRICS, Metric, evaluate

_STYLE: dict[str, Any] = {"box": None, "pad_edge": False, "padding": (0, 2, 0, 0)}  # of tables
FEW_ROWS = 10
"""Labels with fewer rows are judged roughly at best."""

PEOPLE_METRICS = (
    "micro_f1",
    "macro_f1",
    "micro_precision",
    "micro_recall",
    "subset_accuracy",
    "average_precision",
)
"""What is shown by default; the first one decides which method is best."""

MEANINGS = {
    "micro_f1": "precision and recall combined, over all labels",
    "macro_f1": "mean F1 of the labels, rare and frequent alike",
    "micro_precision": "share of the predicted labels that are true",
    "micro_recall": "share of the true labels that are predicted",
    "subset_accuracy": "share of rows with every label right",
    "average_precision": "how high the true labels of a row rank",
    "hamming_loss": "share of label decisions that are wrong",
    "ranking_loss": "share of label pairs in the wrong order",
    "one_error": "share of rows whose top label is wrong",
    "coverage": "labels to look through to find all true ones",
    "f1": "mean F1 of the rows",
    "recall": "mean recall of the rows",
    "precision": "mean precision of the rows",
    "jaccard": "overlap of true and predicted sets",
}


@dataclass
class OutOfSample:
    """Labels and scores of rows, each predicted by a model that was not fitted on the row."""

    label_names: tuple[str, ...]
    rows: Array  # (n,): positions in the user's table
    y: Array  # (n, q): true labels, 0 or 1; NaN where they are unknown
    labels: Array  # (n, q): predicted labels
    scores: Array  # (n, q): probabilities, or other scores by which labels are ranked
    thresholds: Array  # (q,): predicted above them; NaN where label sets are decided otherwise

    def __post_init__(self) -> None:
        self.known = self.y == self.y  # (n, q); NaN is unequal to itself
        self.has_label = self.y == 1  # (n, q)
        self.support = self.has_label.sum(axis=0, dtype=int)  # (q,): rows with each label
        self.share = self.support / np.maximum(self.known.sum(axis=0), 1)
        self.are_probabilities = bool(self.scores.min() >= 0 and self.scores.max() <= 1)


def check_metrics(names: Sequence[str]) -> list[str]:
    """Return the names of metrics, each once, if all are known."""
    for name in names:
        if name not in METRICS:
            raise ArgumentError(
                f"metrics={name}: no such metric.{did_you_mean(name, METRICS)} "
                f"Known metrics: {', '.join(METRICS)}.",
                "metrics",
            )
    if not names:
        raise ArgumentError("metrics= names no metric.", "metrics")
    return list(dict.fromkeys(names))


def evaluate_judged(
    y: np.ndarray, scores: np.ndarray, labels: np.ndarray, metrics: Sequence[str]
) -> dict[str, float]:
    """Return the metrics of predictions; means over labels are over those that can be judged.

    A label that is neither in `y` nor predicted counts as perfect in `labelkin.metrics`, so that
    labels of a few rows would raise the mean in every fold that has none of these rows.
    """
    known = y == y  # NaN, an unknown label, is unequal to itself
    if not known.any():
        return dict.fromkeys(metrics, np.nan)
    judged = (known & ((y == 1) | (labels == 1))).any(axis=0)
    judged |= not judged.any()
    means = [key for key in metrics if key.startswith("macro_")]
    others = [key for key in metrics if key not in means]
    found = evaluate(y, scores, labels, metrics=others)
    found |= evaluate(y[:, judged], scores[:, judged], labels[:, judged], metrics=means)
    return {key: found[key] for key in metrics}


def summarise(values: Sequence[float]) -> dict[str, Any]:
    """Return the mean of the defined values and, of several folds, their deviation and values."""
    defined = [value for value in values if not np.isnan(value)]
    mean = float(np.mean(defined)) if defined else None
    if len(values) == 1:
        return {"mean": mean}
    return {
        "mean": mean,
        "std": float(np.std(defined)) if defined else None,
        "folds": [None if np.isnan(value) else value for value in values],
    }


def format_summary(summary: Mapping[str, Any], metric: Metric) -> str:
    """Return the mean and the deviation that `summarise` found, in percent where usual."""
    mean, std = summary["mean"], summary.get("std")
    shown = "–" if mean is None else f"{metric.scale * mean:.2f}"
    return shown if std is None else f"{shown} ± {metric.scale * std:.2f}"


def print_figures(
    console: Any,
    runs: Mapping[str, Mapping[str, Sequence[float]]],
    metrics: Sequence[str],
    heading: str,
    best: str | None,
    meanings: bool,
) -> None:
    """Print the methods' means and what the metrics mean, on a console of rich.

    `runs` has each method's values per fold, by metric and for the seconds ``fit_s`` and
    ``predict_s``. The best value of each metric and the name of the method `best` are bold.
    Methods that do not fit side by side are in several tables; the meanings stand below.
    """
    Text = import_optional("rich.text", "cli").Text
    Table = import_optional("rich.table", "cli").Table
    rows = [["", *(Text(printable(name), "bold" if name == best else "") for name in runs)]]
    for key in metrics:
        metric = METRICS[key]
        found = [summarise(figures[key]) for figures in runs.values()]
        means = [metric.sign * one["mean"] for one in found if one["mean"] is not None]
        unit = "" if metric.percent else " (not in %)"
        rows.append([f"{metric.title}{unit} {metric.arrow}"])
        for one in found:
            is_top = one["mean"] is not None and metric.sign * one["mean"] == max(means)
            style = "bold" if is_top and len(runs) > 1 else ""
            rows[-1].append(Text(format_summary(one, metric), style))
    for key in ("fit", "predict"):
        if all(f"{key}_s" in figures for figures in runs.values()):
            seconds = [np.mean(figures[f"{key}_s"]) for figures in runs.values()]
            rows.append([Text(f"{key} time", "dim"), *(Text(f"{s:.2f} s", "dim") for s in seconds)])
    console.print(f"{printable(heading)}, in %", markup=False, soft_wrap=True)
    titles, *columns = zip(*rows, strict=True)
    while columns:
        width = max(map(len, titles))
        shown: list[Any] = []
        while columns and (not shown or width + 2 + max(map(len, columns[0])) <= console.width):
            width += 2 + max(map(len, columns[0]))
            shown.append(columns.pop(0))
        table = Table(**_STYLE, show_header=False)
        for place in range(1 + len(shown)):
            table.add_column(justify="right" if place else "left", no_wrap=True)
        for cells in zip(titles, *shown, strict=True):
            table.add_row(*cells)
        console.print(table)
    for key in metrics if meanings else ():
        if key in MEANINGS:
            console.print(f"[dim]{METRICS[key].title}: {MEANINGS[key]}[/]", soft_wrap=True)


def label_figures(found: OutOfSample) -> list[dict[str, Any]]:
    """Return the figures of each label, the label of lowest F1 first.

    Labels with few rows, which can hardly be judged, come after the others, and of labels with
    the same F1 those with more rows come first.
    """
    labels, support = found.labels.astype(bool) & found.known, found.support
    hits, predicted = (labels & found.has_label).sum(axis=0), labels.sum(axis=0, dtype=int)
    parts = {
        "precision": (hits, predicted),
        "recall": (hits, support),
        "f1": (2 * hits, predicted + support),
    }
    rows: list[dict[str, Any]] = []
    for j, name in enumerate(found.label_names):
        ratios = {
            key: float(part[j] / whole[j]) if whole[j] else None
            for key, (part, whole) in parts.items()
        }
        known, cut, ranked = found.known[:, j], found.thresholds[j], None
        if support[j]:
            ranked = float(average_precision_score(found.y[known, j], found.scores[known, j]))
        threshold = float(cut) if np.isfinite(cut) else None
        rows.append(
            {"label": name, "rows": int(support[j]), **ratios}
            | {"average_precision": ranked, "threshold": threshold}
        )
    return sorted(
        rows,
        key=lambda row: (row["rows"] < FEW_ROWS, not row["rows"], row["f1"] or 0, -row["rows"]),
    )


def label_table(rows: Sequence[dict[str, Any]]) -> Any:
    """Return the rows of `label_figures` as a table."""
    Text = import_optional("rich.text", "cli").Text
    table = import_optional("rich.table", "cli").Table(**_STYLE)
    table.add_column("label, worst first (%)")
    for title in ("rows", "precision", "recall", "F1", "avg precision", "threshold"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        values = [row[key] for key in ("precision", "recall", "f1", "average_precision")]
        table.add_row(
            Text(printable(row["label"])),
            f"{row['rows']:,}",
            *("–" if value is None else f"{100 * value:.1f}" for value in values),
            "–" if row["threshold"] is None else f"{row['threshold']:.2f}",
        )
    return table
