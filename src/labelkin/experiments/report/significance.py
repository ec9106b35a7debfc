"""Tables of the tests over datasets: Friedman's, and Wilcoxon's with Holm's correction."""

import numpy as np

from labelkin.experiments.report.comparison import Comparison, method_title
from labelkin.experiments.report.measures import MEASURES
from labelkin.experiments.report.statistics import wilcoxon_holm
from labelkin.experiments.report.table import Entry, Table

LEVEL = 0.05
"""Level of all tests over datasets."""


def format_p(p: float) -> str:
    """Return a p-value as text, such as ``0.012`` or ``< 0.001``."""
    return "<\u00a00.001" if p < 0.001 else f"{p:.2g}"


def friedman_table(comparison: Comparison) -> Table | None:
    """Return Friedman's test in every metric; None where there is nothing to test."""
    rows, entries = {}, {}
    for key, measure in MEASURES.items():
        result = comparison.friedman(measure)
        if result is None:
            continue
        rows[key] = measure.directed_title
        numbers = {
            "n": (result.n_datasets, "{:.0f}".format),
            "k": (len(result.ranks), "{:.0f}".format),
            "chi2": (result.chi2, "{:.2f}".format),
            "p": (result.p, format_p),
            "f": (result.f, "{:.2f}".format),
            "f_p": (result.f_p, format_p),
            "cd": (result.cd, "{:.2f}".format),
        }
        for column, (value, text) in numbers.items():
            entries[key, column] = (
                Entry(hint="needs three methods")
                if np.isnan(value)
                else Entry(text(value), {"": float(value)}, float(value))
            )
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
        columns={
            "n": "Datasets",
            "k": "Methods",
            "chi2": "Friedman χ²",
            "p": "p",
            "f": "Iman–Davenport F",
            "f_p": "p of F",
            "cd": "Critical difference",
            "best": "Best",
        },
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
            entries[key, method] = Entry(
                format_p(p),
                {"p": row["p"], "p holm": p},
                p,
                mark=mark,
                corrected=mark,
                hint=f"p = {row['p']:.2g} before the correction",
            )
    if not rows or reference is None:
        return None
    tested = {method for _, method in entries}
    return Table(
        name="tests_wilcoxon",
        title=f"Wilcoxon's signed-rank test of {method_title(reference)} over datasets, "
        "p-values corrected by Holm",
        caption=f"•/○: {method_title(reference)} is better/worse at 5 %.",
        corner="Metric",
        columns={name: method_title(name) for name in comparison.methods if name in tested},
        rows=rows,
        entries=entries,
    )
