"""Figures of methods and of labels out of sample, and their tables on the terminal."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.errors import ArgumentError
from labelkin._utils.names import did_you_mean, printable
from labelkin._utils.optional import import_optional
from labelkin.base import Array, Matrix
from labelkin.metrics import METRICS, PAPER_METRICS, Metric, evaluate

FEW_ROWS = 10
"""The figures of labels with fewer rows are rough."""

PEOPLE_METRICS = (
    "micro_f1",
    "macro_f1",
    "micro_precision",
    "micro_recall",
    "subset_accuracy",
    "average_precision",
)
"""What is shown by default; the first one decides which method is best."""

MANY_METRICS = (
    "precision_at_1",
    "precision_at_5",
    "recall_at_5",
    "ndcg_at_5",
    "micro_f1",
    "macro_f1",
)
"""What is shown by default of thousands of labels."""

MEANINGS = {
    "micro_f1": "precision and recall combined, over all labels",
    "macro_f1": "mean F1 of the labels, which count equally",
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
    "precision_at_1": "share of rows whose top label is true",
    "precision_at_5": "share of true labels among the five that rank highest",
    "recall_at_5": "share of a row's true labels that are among these five",
    "ndcg_at_5": "how high true labels rank among them, relative to the best ranking",
}


@dataclass
class OutOfSample:
    """Labels and scores of rows, each predicted by a model that was not fitted on the row.

    Of thousands of labels, `y`, `labels` and `scores` are CSR. Pairs of a row and a label have one
    entry each in `row`, `label`, `score`, `given` and `predicted`, sorted by label, those of label
    j from ``start[j]`` to ``start[j + 1]``: all known pairs or, of sparse scores, those with a
    score, among which are all predicted labels.
    """

    label_names: tuple[str, ...]
    rows: Array  # (n,): positions in the user's table
    y: Matrix  # (n, q): true labels, 0 or 1; NaN where they are unknown
    labels: Matrix  # (n, q): predicted labels
    scores: Matrix  # (n, q): probabilities, or other scores by which labels are ranked
    thresholds: Array  # (q,): predicted above them; NaN where label sets are decided otherwise

    def __post_init__(self) -> None:
        n, q = self.y.shape
        if sparse.issparse(self.y):
            scores = self.scores.tocsc()
            self.row, self.score = scores.indices, scores.data
            self.label = np.repeat(np.arange(q), np.diff(scores.indptr))
            self.given, self.predicted = (
                np.isin(self.row * np.int64(q) + self.label, one.row * np.int64(q) + one.col)
                for one in (self.y.tocoo(), self.labels.tocoo())
            )
            self.n_known, self.support = np.full(q, n), self.y.sum(axis=0, dtype=int)
        else:
            known = self.y == self.y  # NaN, an unknown label, is unequal to itself
            self.label, self.row = np.nonzero(known.T)
            self.score = self.scores[self.row, self.label]
            self.given, self.predicted = (
                matrix[self.row, self.label] == 1 for matrix in (self.y, self.labels)
            )
            self.n_known, self.support = known.sum(axis=0), self.count(self.given)
        self.start = np.append(0, np.cumsum(np.bincount(self.label, minlength=q)))
        self.share = self.support / np.maximum(self.n_known, 1)
        self.are_probabilities = bool(
            self.score.min(initial=0) >= 0 and self.score.max(initial=1) <= 1
        )

    def count(self, chosen: Array) -> Array:
        """Return how many of the chosen pairs each label has."""
        return np.bincount(self.label[chosen], minlength=self.y.shape[1])


def choose_metrics(names: Sequence[str] | None, many: bool = False) -> list[str]:
    """Return the names of metrics, each once, if all are known; None: the default ones.

    ``paper`` and ``all`` stand for several metrics. `many`: there are thousands of labels.
    """
    if names is None:
        return list(MANY_METRICS if many else PEOPLE_METRICS)
    groups = {"paper": PAPER_METRICS, "all": tuple(METRICS)}
    names = [name for word in names for name in groups.get(word, (word,))]
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
    y: Matrix, scores: Matrix, labels: Matrix, metrics: Sequence[str]
) -> dict[str, float]:
    """Return the metrics of predictions; means over labels are over those that can be judged.

    A label that is neither in `y` nor predicted counts as perfect in `labelkin.metrics`, so that
    labels of a few rows would raise the mean in every fold that has none of these rows.
    """
    if sparse.issparse(y):
        judged = (y + labels).sum(axis=0) > 0
    else:
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
    """Return the mean of the defined values and, of several folds, their deviation and values.

    The standard deviation is that of a sample, with n − 1, as in the report on experiments.
    """
    defined = [value for value in values if not np.isnan(value)]
    mean = float(np.mean(defined)) if defined else None
    if len(values) == 1:
        return {"mean": mean}
    return {
        "mean": mean,
        "std": float(np.std(defined, ddof=1)) if len(defined) > 1 else None,
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
        console.print(text_table(list(zip(titles, *shown, strict=True))))
    for key in metrics if meanings else ():
        if key in MEANINGS:
            console.print(f"[dim]{METRICS[key].title}: {MEANINGS[key]}[/]", soft_wrap=True)


def label_figures(found: OutOfSample) -> list[dict[str, Any]]:
    """Return the figures of each label, the label of lowest F1 first.

    Of labels with the same F1 those with more rows come first, and labels without rows come last.
    """
    support, ranked = found.support, _average_precisions(found)
    hits, predicted = found.count(found.given & found.predicted), found.count(found.predicted)
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
        cut = found.thresholds[j]
        rows.append(
            {"label": name, "rows": int(support[j]), **ratios}
            | {"average_precision": float(ranked[j]) if support[j] else None}
            | {"threshold": float(cut) if np.isfinite(cut) else None}
        )
    return sorted(rows, key=lambda row: (not row["rows"], row["f1"] or 0, -row["rows"]))


def _average_precisions(found: OutOfSample) -> Array:
    """Return the average precision of each label, as scikit-learn defines it.

    Pairs of equal score have the precision of all pairs down to the last of them. Pairs without a
    score come last, so that theirs is the share of the label.
    """
    order = np.lexsort((-found.score, found.label))
    label, score, given = found.label[order], found.score[order], found.given[order]
    different = (np.diff(label) != 0) | (np.diff(score) != 0)
    last = np.append(np.flatnonzero(different), len(order) - 1)  # of each group of equal scores
    hits = np.append(0, np.cumsum(given))
    last = last[np.searchsorted(last, np.arange(len(order)))]
    first = found.start[label]
    precision = (hits[last + 1] - hits[first]) / (last + 1 - first)
    total = np.bincount(label, precision * given, found.y.shape[1])
    without = (found.support - found.count(found.given)) * found.share
    return (total + without) / np.maximum(found.support, 1)


def label_table(rows: Sequence[dict[str, Any]]) -> Any:
    """Return the rows of `label_figures` as a table; few rows are marked by ~."""
    Text = import_optional("rich.text", "cli").Text
    titles = "label, worst first (%)", "rows", "precision", "recall", "F1", "avg precision"
    cells: list[Sequence[Any]] = [[Text(title, "bold") for title in (*titles, "threshold")]]
    for row in rows:
        values = [row[key] for key in ("precision", "recall", "f1", "average_precision")]
        shown = ["–" if value is None else f"{100 * value:.1f}" for value in values]
        cut = "–" if row["threshold"] is None else f"{row['threshold']:.2f}"
        few = "~" * (row["rows"] < FEW_ROWS)
        cells.append([row["label"], f"{few}{row['rows']:,}", *shown, cut])
    return text_table(cells)


def text_table(rows: Sequence[Sequence[Any]], right: Container[int] | None = None) -> Any:
    """Return rows of cells, strings or texts of rich, as a table for a console of rich.

    Columns numbered in `right`, by default all but the first, are aligned to the right.
    """
    Text = import_optional("rich.text", "cli").Text
    Table = import_optional("rich.table", "cli").Table
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for number in range(max(map(len, rows))):
        is_right = number > 0 if right is None else number in right
        table.add_column(justify="right" if is_right else "left", no_wrap=number > 0)
    for row in rows:
        table.add_row(*(Text(printable(one)) if isinstance(one, str) else one for one in row))
    return table
