"""The paper's tables, filled with measured figures, the published ones below them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from labelkin.experiments.report.comparison import (
    TESTS,
    Comparison,
    Contrast,
    Sweep,
    Test,
    best_of,
    method_title,
)
from labelkin.experiments.report.footing import count, units
from labelkin.experiments.report.measures import MEASURES, Measure
from labelkin.experiments.report.published import (
    PRINTED_METRICS,
    REFERENCE,
    Published,
    published,
)
from labelkin.experiments.report.statistics import friedman
from labelkin.experiments.report.table import Entry, Table, slug

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_Counts = tuple[int, int, int]
_Entries = dict[tuple[str, str], Entry]


def signed(value: float) -> str:
    """Return a difference with its sign, and zero without one."""
    text = f"{value:+.2f}" if abs(value) < 10 else f"{value:+.1f}"
    return "0.00" if float(text) == 0 else text.replace("-", "−")


def measure_table(
    comparison: Comparison, measure: Measure, *, name: str = "table3", title: str = "Table 3"
) -> Table:
    """Return one metric, or cost, of every method on every dataset (Table 3).

    `name` and `title` begin the file's name and the heading.
    """
    means = comparison.means(measure)
    entries = {}
    for dataset in comparison.datasets:
        scaled = means.loc[dataset] * measure.scale
        best = best_of(scaled, measure.greater_is_better, measure.number)
        for method in comparison.methods:
            entry = _measured(comparison, dataset, method, measure, method in best)
            entries[dataset, method] = entry
    caption = _caption(entries, measure)
    if left_out := comparison.left_out():
        caption += f" {left_out:,} cells of folds that not all methods have are left out."
    rows = {dataset: dataset for dataset in comparison.datasets}
    block = (comparison if measure.is_cost else comparison.ranked).complete_means(measure)
    unranked = [method_title(m) for m in comparison.methods if m not in comparison.ranked.methods]
    if unranked and not measure.is_cost:
        caption += f" Not ranked, as second settings of a column: {', '.join(unranked)}."
    has_foot = min(block.shape) >= 2
    if has_foot:
        rows["foot"], foot = _foot(block, measure)
        entries |= foot
    marks: dict[Test, str] = {}
    if comparison.reference is not None and not measure.is_cost and len(comparison.methods) > 1:
        reference = method_title(comparison.reference)
        marks = {
            test: f"•/○: {reference} is better/worse, {comparison.describe_test(test)}."
            for test in TESTS
        }
    subject_first = sorted(comparison.methods, key=lambda name: name != comparison.reference)
    return Table(
        name=f"{name}_{measure.name}",
        title=f"{title}: {measure.heading}",
        caption=caption,
        corner="Dataset",
        columns={method: method_title(method) for method in subject_first},
        subject=comparison.reference or "",
        rows=rows,
        entries=entries,
        greater_is_better=measure.greater_is_better,
        marks=marks,
        foot=("foot",) if has_foot else (),
    )


def _measured(
    comparison: Comparison, dataset: str, method: str, measure: Measure, best: bool
) -> Entry:
    reference = comparison.reference
    contrast = None
    if reference not in (None, method) and not measure.is_cost:
        contrast = comparison.contrast(dataset, str(reference), method, measure)
    return _entry(
        comparison.values(dataset, method, measure),
        measure,
        published(dataset, method, measure.name),
        best=best,
        contrast=contrast,
        n_failed=comparison.cells(dataset, method)[1],
        # Published marks refer to VPCME; they mislead beside those of another reference.
        with_published_mark=reference in (REFERENCE, None),
    )


def _entry(
    values: "Series",
    measure: Measure,
    printed: Published | None,
    *,
    best: bool,
    contrast: Contrast | None = None,
    n_failed: int = 0,
    with_published_mark: bool = True,
) -> Entry:
    """Return mean and standard deviation, above the published figure."""
    beneath, printed_numbers = "", {}
    if printed is not None:
        beneath = printed.text(marked=with_published_mark)
        printed_numbers = {
            "published": printed.mean,
            "published std": printed.std,
            "published mark": printed.mark,
        }
    if values.empty:
        text, hint = ("failed", f"{n_failed} cells failed") if n_failed else ("–", "not run")
        return Entry(text, printed_numbers, published=beneath, hint=hint)
    unit, counted = units(values * measure.scale)
    mean = float(counted.mean())
    numbers: dict[str, Any] = {"mean": round(mean, 6), "std": "", "n": len(values)}
    text, hint = measure.number(mean), count(len(values), "folds")
    if len(counted) > 1:
        std = float(counted.std(ddof=1))
        numbers["std"] = round(std, 6)
        if unit == "runs":
            over_folds = float((values * measure.scale).std(ddof=1))
            numbers |= {"runs": len(counted), "std folds": round(over_folds, 6)}
        text += "" if measure.is_cost else f"±{measure.number(std)}"
    if n_failed:
        text, hint = f"{text}†", f"{hint}, {n_failed} failed"
    mark = contrast.mark("paired") if contrast else ""
    corrected = contrast.mark("corrected") if contrast else ""
    numbers |= {"mark": mark, "mark corrected": corrected} | printed_numbers
    if contrast and np.isfinite(contrast.p["paired"]):
        hint += (
            f"; p = {contrast.p['paired']:.2g} paired over {count(contrast.n_units, contrast.unit)}"
            f", {contrast.p['corrected']:.2g} corrected over folds"
        )
    return Entry(text, numbers, mean, best, mark, corrected, beneath, hint)


def _caption(entries: _Entries, measure: Measure | None = None) -> str:
    """Return how the entries were made, and what else is in them."""
    filled = [entry.numbers for entry in entries.values() if "n" in entry.numbers]
    folds = _count_range([numbers["n"] for numbers in filled], "folds")
    runs = [numbers.get("runs") for numbers in filled]
    if measure is not None and measure.is_cost:
        parts = [f"Mean over {folds}; the smallest in bold."]
    elif filled and all(runs):
        parts = [
            f"Mean over {folds}, ±standard deviation over {_count_range(runs, 'runs')}, as in the "
            "paper; the best in bold."
        ]
    else:
        parts = [f"Mean±standard deviation over {folds}; the best in bold."]
    if any(entry.published for entry in entries.values()):
        parts.append("Beneath: the figure published in the paper.")
    if any("†" in entry.text for entry in entries.values()):
        parts.append("†: some folds failed.")
    return " ".join(parts)


def _count_range(counts: list[Any], unit: str) -> str:
    """Return a number of folds or runs in words: 1 fold, 5 folds, 4 to 5 folds."""
    if not counts:
        return f"no {unit[:-1]}"
    low, high = min(counts), max(counts)
    return f"{low} to {high} {unit}" if low != high else count(low, unit)


def _foot(block: "DataFrame", measure: Measure) -> tuple[str, _Entries]:
    """Return title and entries of the last row: average ranks, or mean costs."""
    if measure.is_cost:
        values, title, text = block.mean(), "mean", measure.number
    else:
        values = friedman(block, greater_is_better=measure.greater_is_better).ranks
        title, text = "average rank", "{:.2f}".format
    lowest = best_of(values, False, text)
    entries = {
        ("foot", method): Entry(text(value), {"mean": round(value, 6)}, value, method in lowest)
        for method, value in values.items()
    }
    return f"{title} ({len(block)} datasets)", entries


# ----------------------------------------------------------------------------- Table 4


def wins_table(comparison: Comparison, test: Test = "paired") -> Table | None:
    """Return wins/ties/losses of the reference against each method (Table 4).

    None where there is nothing to count: no reference, or no other method.
    """
    others = [name for name in comparison.methods if name != comparison.reference]
    if comparison.reference is None or not others:
        return None
    entries: _Entries = {}
    for method in others:
        counts = {key: comparison.wins(method, m, test) for key, m in MEASURES.items()}
        printed = {key: _printed_wins(comparison, method, m) for key, m in MEASURES.items()}
        for key in MEASURES:
            entries[key, method] = _wins_entry(counts[key], printed[key])
        # The paper's total is over its five metrics; with F1 and recall it would not compare.
        entries["total", method] = _wins_entry(
            _sum([counts[key] for key in PRINTED_METRICS]),
            _sum([printed[key] for key in PRINTED_METRICS]),
        )
    beneath = any(entry.published for entry in entries.values())
    return Table(
        name="table4" if test == "paired" else "table4_corrected",
        title=f"Table 4: wins/ties/losses of {method_title(comparison.reference)}, "
        f"{comparison.describe_test(test)}",
        caption="Over the datasets both methods were run on, on the same folds."
        + (" Beneath: as published for these." if beneath else ""),
        corner="Metric",
        columns={method: method_title(method) for method in others},
        rows={key: measure.directed_title for key, measure in MEASURES.items()}
        | {"total": "Total of the paper's five"},
        entries=entries,
        foot=("total",),
    )


def _printed_wins(comparison: Comparison, method: str, measure: Measure) -> _Counts:
    """Count the published marks of the datasets that are counted here too.

    Over all twelve datasets these are the counts of the paper's own Table 4.
    """
    if comparison.reference != REFERENCE:
        return 0, 0, 0
    found = [published(d, method, measure.name) for d in comparison.against(method, measure)]
    marks = [printed.mark for printed in found if printed]
    return marks.count("•"), marks.count(""), marks.count("○")


def _sum(counts: list[_Counts]) -> _Counts:
    win, tie, loss = (sum(column) for column in zip(*counts, strict=True))
    return win, tie, loss


def _wins_entry(counts: _Counts, printed: _Counts) -> Entry:
    beneath = "/".join(map(str, printed)) if any(printed) else ""
    if not any(counts):
        return Entry(numbers={"published": beneath}, published=beneath, hint="not run")
    numbers = dict(zip(("win", "tie", "loss"), counts, strict=True)) | {"published": beneath}
    text = "/".join(map(str, counts))
    return Entry(text, numbers, float(counts[0] - counts[2]), published=beneath)


# -------------------------------------------------------------------- Figure 1, Table 5

_PAPER_SWEEPS = {"threshold": ("figure1", "Figure 1"), "size": ("table5", "Table 5")}


def sweep_table(sweep: Sweep) -> Table:
    """Return every metric under every value of a parameter (Figure 1, Table 5)."""
    import pandas as pd

    entries, rows = {}, {}
    for key, measure in MEASURES.items():
        values = {setting: sweep.values(setting, measure) for setting in sweep.settings}
        if not any(len(found) for found in values.values()):
            continue
        rows[key] = measure.heading
        means = pd.Series({setting: found.mean() for setting, found in values.items()})
        best = best_of(means * measure.scale, measure.greater_is_better, measure.number)
        for setting, found in values.items():
            printed = published(sweep.dataset, sweep.variant(setting), measure.name)
            entries[key, setting] = _entry(found, measure, printed, best=setting in best)
    name, title = _PAPER_SWEEPS.get(sweep.parameter, ("", "Sweep"))
    if not name or sweep.method != "vpcme":
        name = f"sweep_{slug(sweep.method)}_{slug(sweep.parameter)}"
    return Table(
        name=f"{name}_{slug(sweep.dataset)}",
        title=f"{title}: {method_title(sweep.method)} on {sweep.dataset} by {sweep.symbol}",
        caption=_caption(entries),
        corner="Metric",
        columns={setting: f"{sweep.symbol} = {setting}" for setting in sweep.settings},
        rows=rows,
        entries=entries,
    )
