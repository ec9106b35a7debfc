"""The paper's Tables 2 to 5, filled with measured figures, the published ones below them."""

from itertools import product
from typing import Any

import numpy as np

from labelkin._utils.names import plural
from labelkin.datasets import dataset_info
from labelkin.experiments.report.comparison import (
    Comparison,
    Sweep,
    count_marks,
    method_title,
    units,
)
from labelkin.experiments.report.published import (
    MEASURES,
    PRINTED_METRICS,
    REFERENCE,
    TIE_RULES,
    printed_statistics,
)
from labelkin.experiments.report.table import Entry, Table, signed, slug
from labelkin.metrics import Metric

_Entries = dict[tuple[str, str], Entry]
_STATISTICS = {
    "instances": "Instances", "features": "Features", "labels": "Labels",
    "distinct": "Distinct label sets", "cardinality": "Cardinality", "density": "Density",
}  # fmt: skip


def dataset_table(datasets: list[str]) -> Table | None:
    """Return the six statistics of those of the paper's datasets that were run (Table 2).

    Ours are the known figures, which every dataset is checked against when it is read.
    """
    known = [name for name in printed_statistics() if name in datasets]
    entries, differences = {}, []
    for dataset in known:
        ours, printed = dataset_info(dataset).statistics, printed_statistics()[dataset]
        for key, title in _STATISTICS.items():
            digits = 3 if key in ("cardinality", "density") else 0
            text, beneath = (f"{value:.{digits}f}" for value in (ours[key], printed[key]))
            if text != beneath:
                differences.append(f"{dataset}: {title.lower()} {text}, printed {beneath}")
            numbers = {"": ours[key], "published": printed[key]}
            entries[dataset, key] = Entry(text, numbers, float(ours[key]), published=beneath)
    agree = len(entries) - len(differences)
    caption = f"Beneath: as printed. {agree} of {len(entries)} figures agree"
    caption += f"; others: {'; '.join(differences)}." if differences else "."
    rows = {name: name for name in known}
    title = "Table 2: the datasets"
    return Table("table2", title, caption, "Dataset", _STATISTICS, rows, entries) if rows else None


# ------------------------------------------------------------------ Table 3 and Figure 2


def measure_table(
    comparison: Comparison, measure: Metric, *, name: str = "table3", title: str = "Table 3"
) -> Table:
    """Return one metric of every method on every dataset (Table 3).

    `name` and `title` begin the file's name and the heading.
    """
    entries: _Entries = {}
    for dataset in comparison.datasets:
        row = _row(comparison, dataset, measure)
        entries |= {(dataset, method): entry for method, entry in row.items()}
    caption = _caption(entries)
    left_out = int((comparison.frame["status"] == "ok").sum()) - len(comparison.common)
    if left_out:
        caption += f" {left_out:,} cells of folds that not all methods have are left out."
    if comparison.reference is not None and len(comparison.methods) > 1:
        reference, words = method_title(comparison.reference), comparison.describe_test("paired")
        caption += f" •/○: {reference} is better/worse, {words}."
    subject_first = sorted(comparison.methods, key=lambda name: name != comparison.reference)
    return Table(
        name=f"{name}_{measure.name}",
        title=f"{title}: {measure.heading}",
        caption=caption,
        corner="Dataset",
        columns={method: method_title(method) for method in subject_first},
        subject=comparison.reference or "",
        rows={dataset: dataset for dataset in comparison.datasets},
        entries=entries,
        greater_is_better=measure.greater_is_better,
    )


def _row(comparison: Comparison, dataset: str, measure: Metric) -> dict[str, Entry]:
    """Return the entries of all methods, the best and those that print alike in bold."""
    known = (comparison.means(measure).loc[dataset] * measure.scale).dropna()
    printed = known.map("{:.2f}".format)
    best = printed[(known * measure.sign).idxmax()] if len(known) > 1 else ""
    return {
        method: _entry(comparison, dataset, method, measure, printed.get(method) == best)
        for method in comparison.methods
    }


def _entry(
    comparison: Comparison, dataset: str, method: str, measure: Metric, is_best: bool
) -> Entry:
    """Return mean and standard deviation, above the published figure."""
    values = comparison.values(dataset, method, measure) * measure.scale
    n_failed, reference = comparison.failed[dataset, method], comparison.reference
    beneath, printed_numbers = "", {}
    if printed := comparison.published(dataset, method, measure):
        # Published marks refer to VPCME; they mislead beside those of another reference.
        beneath = printed.text(marked=reference in (REFERENCE, None))
        keys = ("published", "published std", "published mark")
        printed_numbers = dict(zip(keys, (printed.mean, printed.std, printed.mark), strict=True))
    if values.empty:
        return Entry("failed" if n_failed else "–", printed_numbers, published=beneath)
    unit, counted = units(values)
    mean = float(counted.mean())
    numbers: dict[str, Any] = {"mean": round(mean, 6), "std": "", "n": len(values)}
    text = f"{mean:.2f}"
    if len(counted) > 1:
        std = float(counted.std(ddof=1))
        numbers["std"] = round(std, 6)
        if unit == "runs":
            numbers |= {"runs": len(counted), "std folds": round(float(values.std(ddof=1)), 6)}
        text += f"±{std:.2f}"
    text += "†" * (n_failed > 0)
    mark = ""
    if reference not in (None, method):
        contrast = comparison.contrast(dataset, str(reference), method, measure)
        mark = numbers["mark"] = contrast.mark("paired")
        if np.isfinite(contrast.paired):
            numbers |= {"p": contrast.paired, "p corrected": contrast.corrected}
    return Entry(text, numbers | printed_numbers, mean, is_best, mark, beneath)


def _caption(entries: _Entries) -> str:
    """Return how the entries were made, and what else is in them."""
    filled = [entry.numbers for entry in entries.values() if "n" in entry.numbers]
    folds = _count_range([numbers["n"] for numbers in filled], "fold")
    runs = [numbers.get("runs", 0) for numbers in filled]
    caption = f"Mean±standard deviation over {folds}; the best in bold."
    if filled and all(runs):
        caption = (
            f"Mean over {folds}, ±standard deviation over {_count_range(runs, 'run')}, as in the "
            "paper; the best in bold."
        )
    if any(entry.published for entry in entries.values()):
        caption += " Beneath: the figure published in the paper."
    if any("†" in entry.text for entry in entries.values()):
        caption += " †: some folds failed."
    return caption


def _count_range(counts: list[int], unit: str) -> str:
    """Return a number of folds or runs in words: 1 fold, 5 folds, 4 to 5 folds."""
    low, high = min(counts, default=0), max(counts, default=0)
    return plural(low, unit) if low == high else f"{low} to {high} {unit}s"


# ------------------------------------------------------------------- Figure 1 and Table 5


def sweep_table(sweep: Sweep) -> Table:
    """Return every metric under every value of a parameter (Figure 1, Table 5)."""
    entries: _Entries = {}
    for measure in sweep.measured:
        row = _row(sweep, sweep.dataset, measure)
        entries |= {(measure.name, setting): entry for setting, entry in row.items()}
    papers = {"threshold": ("figure1", "Figure 1"), "size": ("table5", "Table 5")}
    name, title = papers.get(sweep.parameter, ("", "Sweep"))
    if not name or sweep.method != "vpcme":
        name = f"sweep_{slug(sweep.method)}_{slug(sweep.parameter)}"
    return Table(
        name=f"{name}_{slug(sweep.dataset)}",
        title=f"{title}: {method_title(sweep.method)} on {sweep.dataset} by {sweep.symbol}",
        caption=_caption(entries),
        corner="Metric",
        columns={setting: f"{sweep.symbol} = {setting}" for setting in sweep.methods},
        rows={measure.name: measure.heading for measure in sweep.measured},
        entries=entries,
    )


# ------------------------------------------------------------------- Table 4: wins and losses


def wins_table(comparison: Comparison, test: str = "paired", rule: str = "against") -> Table | None:
    """Return wins/ties/losses of the reference against each method (Table 4).

    `rule`: the rule for tied labels by which the figures were made. None where there is nothing
    to count: no reference, or no other method.
    """
    others = [name for name in comparison.methods if name != comparison.reference]
    if comparison.reference is None or not others:
        return None
    names, by_paper = ("win", "tie", "loss"), comparison.reference == REFERENCE
    counts: dict[str, dict[str, Any]] = {}  # measured and published, by metric and method
    for key, measure in MEASURES.items():
        marks = comparison.marks(measure, test)
        # Over all twelve datasets the published marks give the counts of the paper's own Table 4.
        printed = comparison.printed(measure, "mark").where(marks.notna() & by_paper)
        counts[key] = {
            m: np.array([count_marks(marks[m]), count_marks(printed[m])]) for m in others
        }
    # The paper's total is over its five metrics; with F1 and recall it would not compare.
    counts["total"] = {m: sum(counts[key][m] for key in PRINTED_METRICS) for m in others}
    entries: _Entries = {}
    for key, method in product(counts, others):
        ours, published = counts[key][method].tolist()
        text, beneath = ("/".join(map(str, c)) if any(c) else "" for c in (ours, published))
        numbers = (dict(zip(names, ours, strict=True)) if text else {}) | {"published": beneath}
        value = float(ours[0] - ours[2]) if text else None
        entries[key, method] = Entry(text or "–", numbers, value, published=beneath)
    beneath = " Beneath: as published for these."
    return Table(
        name="table4" + "_index" * (rule == "index") + "_corrected" * (test == "corrected"),
        title=f"Table 4: wins/ties/losses of {method_title(comparison.reference)}, "
        f"{comparison.describe_test(test)}" + f", {TIE_RULES[rule]}" * (rule == "index"),
        caption="Over the datasets both methods were run on, on the same folds."
        + beneath * any(entry.published for entry in entries.values()),
        corner="Metric",
        columns={method: method_title(method) for method in others},
        rows={key: measure.directed_title for key, measure in MEASURES.items()}
        | {"total": "Total of the paper's five"},
        entries=entries,
    )


# ------------------------------------------------------------------------ measured, published


def agreement_table(comparison: Comparison, rule: str = "against") -> Table | None:
    """Return measured minus published by method and metric; None where nothing is published.

    `rule`: the rule for tied labels by which the figures were made.
    """
    entries, columns = {}, {}
    for key, measure in MEASURES.items():
        mean, std = (comparison.printed(measure, part) for part in ("mean", "std"))
        found = (comparison.means(measure) * measure.scale - mean).dropna(how="all", axis=1)
        near = found.abs() <= 2 * std[found.columns]
        for method in found:
            columns[key] = measure.heading
            median, n_near = float(found[method].median()), int(near[method].sum())
            n = int(found[method].count())
            numbers = {"median difference": round(median, 6), "within": n_near, "of": n}
            entries[str(method), key] = Entry(f"{signed(median)} ({n_near}/{n})", numbers, median)
    if not entries:
        return None
    printed = {method for method, _ in entries}
    return Table(
        name="agreement" if rule == "against" else f"agreement_{rule}",
        title=f"Measured minus published, {TIE_RULES[rule]}",
        caption="Median difference over datasets, and the number of datasets whose measured mean "
        "is within two published standard deviations.",
        corner="Method",
        columns=columns,
        rows={name: method_title(name) for name in comparison.methods if name in printed},
        entries=entries,
    )
