"""Tables of the tests over datasets, of average ranks, and of how far the paper is confirmed."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from labelkin.experiments.report.comparison import Comparison, method_title
from labelkin.experiments.report.measures import MEASURES, Measure
from labelkin.experiments.report.published import PRINTED_METRICS, TIE_RULES
from labelkin.experiments.report.statistics import wilcoxon_holm
from labelkin.experiments.report.table import Entry, Table, signed
from labelkin.experiments.run.store import BY_INDEX

LEVEL = 0.05
"""Level of all tests over datasets."""


def format_p(p: float) -> str:
    """Return a p-value as text, such as ``0.012`` or ``< 0.001``."""
    return "<\u00a00.001" if p < 0.001 else f"{p:.2g}"


_FRIEDMAN: dict[str, tuple[str, str, Callable[[float], str]]] = {
    "n": ("n_datasets", "Datasets", "{:.0f}".format),
    "k": ("n_methods", "Methods", "{:.0f}".format),
    "chi2": ("chi2", "Friedman χ²", "{:.2f}".format),
    "p": ("p", "p", format_p),
    "f": ("f", "Iman–Davenport F", "{:.2f}".format),
    "f_p": ("f_p", "p of F", format_p),
    "cd": ("cd", "Critical difference", "{:.2f}".format),
}


def friedman_table(comparison: Comparison) -> Table | None:
    """Return Friedman's test in every metric; None where there is nothing to test."""
    rows, entries = {}, {}
    for key, measure in MEASURES.items():
        if (result := comparison.friedman(measure)) is None:
            continue
        rows[key] = measure.directed_title
        for column, (name, _, text) in _FRIEDMAN.items():
            value = float(getattr(result, name))
            entry = Entry(text(value), {"": value}, value)
            entries[key, column] = Entry(hint="needs three methods") if np.isnan(value) else entry
        best, rank = str(result.ranks.idxmin()), float(result.ranks.min())
        entries[key, "best"] = Entry(f"{method_title(best)} ({rank:.2f})", {"": best}, rank)
    if not rows:
        return None
    return Table(
        name="tests_friedman",
        title="Friedman's test over datasets",
        caption="On the datasets where all counted methods were run; critical difference by "
        "Nemenyi at 5 %; last, the best average rank.",
        corner="Metric",
        columns={key: title for key, (_, title, _) in _FRIEDMAN.items()} | {"best": "Best"},
        rows=rows,
        entries=entries,
    )


def wilcoxon_table(comparison: Comparison) -> Table | None:
    """Return Wilcoxon's test of the reference against each method, corrected by Holm."""
    reference = comparison.reference
    rows, entries = {}, {}
    for key, measure in MEASURES.items():
        block = comparison.complete_means(measure)
        if reference not in block or min(block.shape) < 2:
            continue
        rows[key] = measure.directed_title
        lead = block.rsub(block[reference], axis=0).median()
        for _, row in wilcoxon_holm(block, control=reference).iterrows():
            method, p = row["second"], row["p_holm"]
            better = (lead[method] > 0) == measure.greater_is_better
            mark = ("•" if better else "○") if p < LEVEL else ""
            numbers, hint = (
                {"p": row["p"], "p holm": p},
                f"p = {row['p']:.2g} before the correction",
            )
            entries[key, method] = Entry(format_p(p), numbers, p, False, mark, mark, hint=hint)
    if not rows or reference is None:
        return None
    tested = {method for _, method in entries}
    title = method_title(reference)
    return Table(
        name="tests_wilcoxon",
        title=f"Wilcoxon's signed-rank test of {title} over datasets, p-values corrected by Holm",
        caption=f"•/○: {title} is better/worse at 5 %.",
        corner="Metric",
        columns={name: method_title(name) for name in comparison.methods if name in tested},
        rows=rows,
        entries=entries,
    )


def rank_tables(comparisons: dict[str, Comparison]) -> list[Table]:
    """Return the average ranks of the paper's six columns, under each rule for ties.

    One table has the settings that the text states, the other those that the printed columns
    match; other methods are not ranked.
    """
    first = next(iter(comparisons.values()))
    names = ("ranks_text", "ranks_published")
    tables = [
        _rank_table(comparisons, list(columns.values()), name, words)
        for name, (words, columns) in zip(names, first.readings.items(), strict=False)
    ]
    return [table for table in tables if table is not None]


def _rank_table(
    comparisons: dict[str, Comparison], methods: list[str], name: str, words: str
) -> Table | None:
    rows, entries, n_datasets = {}, {}, []
    for metric in PRINTED_METRICS:
        for rule, comparison in comparisons.items():
            has_ties = metric in BY_INDEX.values()
            result = comparison.among(methods).friedman(MEASURES[metric])
            if result is None or len(result.ranks) < len(methods):
                continue
            if rule != "against" and not has_ties:
                continue
            key = f"{metric} {rule}"
            rows[key] = MEASURES[metric].directed_title
            rows[key] += f", {TIE_RULES[rule]}" if has_ties else ""
            n_datasets.append(result.n_datasets)
            for method, rank in result.ranks.items():
                entries[key, str(method)] = Entry.of(rank, best=rank == result.ranks.min())
            entries[key, "cd"] = Entry.of(result.cd)
    if not rows:
        return None
    counted = " to ".join(map(str, sorted({min(n_datasets), max(n_datasets)})))
    return Table(
        name=name,
        title=f"Average ranks of the paper's six methods, {words}",
        caption=f"Over {counted} datasets, 1 the best; last, Nemenyi's critical difference at 5 %.",
        corner="Metric",
        columns={m: method_title(m) for m in methods} | {"cd": "Critical difference"},
        rows=rows,
        entries=entries,
    )


# ------------------------------------------------------------------------ measured, published


def published_parts(comparison: Comparison, measure: Measure) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return measured minus published, scaled, and the published standard deviations.

    Datasets by methods that have both figures.
    """
    measured = comparison.means(measure) * measure.scale
    printed = pd.DataFrame(
        {m: {d: comparison.published(d, m, measure) for d in measured.index} for m in measured},
        dtype=object,
    )
    mean, std = (
        printed.map(lambda found, part=part: getattr(found, part, np.nan)).astype(float)
        for part in ("mean", "std")
    )
    differences = (measured - mean).dropna(how="all").dropna(how="all", axis=1)
    return differences, std.reindex_like(differences)


def agreement_table(comparison: Comparison, rule: str = "against") -> Table | None:
    """Return measured minus published by method and metric; None where nothing is published.

    `rule`: the rule for tied labels by which the figures were made.
    """
    entries, columns = {}, {}
    for key, measure in MEASURES.items():
        found, std = published_parts(comparison, measure)
        near = found.abs() <= 2 * std
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
