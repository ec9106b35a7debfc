"""What a comparison says, in sentences and in tables of tests."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from labelkin.experiments.report.comparison import MEASURES, Comparison, Measure, method_title
from labelkin.experiments.report.published import REFERENCE, published
from labelkin.experiments.report.statistics import complete_block, friedman, nemenyi, wilcoxon_holm
from labelkin.experiments.report.tables import Cell, Table, signed

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = [
    "agreement",
    "agreement_table",
    "friedman_table",
    "gaps",
    "headline",
    "leaders",
    "wilcoxon_table",
]

_LEVEL = 0.05
_FIRST = "average_precision"  # the metric the headline speaks of


def listing(names: Sequence[str], word: str = "and") -> str:
    """Return names as a phrase: a, b and c."""
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last


def p_text(p: float) -> str:
    """Return a p-value as text: ``= 0.012`` or ``< 0.001``, unbroken."""
    return "<\u00a00.001" if p < 0.001 else f"=\u00a0{p:.2g}"


def headline_measure(comparison: Comparison) -> Measure | None:
    """Return average precision, or where it was not measured the first metric that was."""
    order = sorted(MEASURES.values(), key=lambda measure: measure.name != _FIRST)
    known = (m for m in order if comparison.means(m).notna().any(axis=None))
    return next(known, None)


def headline(comparison: Comparison) -> str:
    """Return a sentence to quote: who leads, by which test, on how many datasets."""
    measure = headline_measure(comparison)
    if measure is None:
        return "There is no result to compare yet."
    proper = measure.title.startswith(("Hamming", "F1"))
    what = measure.title if proper else measure.title.lower()
    block = complete_block(comparison.means(measure))
    n, k = block.shape
    titles = {name: method_title(str(name)) for name in block}
    if k < 2:
        only = titles[block.columns[0]]
        return f"{only} was run on {_count(n, 'dataset')}, with no other to compare it with."
    if n < 2:
        return _on_one_dataset(block, measure, what)
    result = friedman(block, greater_is_better=measure.greater_is_better)
    ranks = result.ranks.sort_values(kind="stable")
    first = ranks.index[0]
    stand = (
        f"{titles[first]} has the best average rank in {what}, "
        f"{ranks.iloc[0]:.2f} among {k} methods on {n} datasets"
    )
    if k == 2:
        p = wilcoxon_holm(block)["p"].iloc[0]
        verdict = "a significant lead" if p < _LEVEL else "no significant lead"
        other = titles[ranks.index[1]]
        return f"{stand}: {verdict} over {other} (Wilcoxon's test, p {p_text(p)})."
    test = f"(Friedman's test, p {p_text(result.p)})"
    if not result.p < _LEVEL:
        return f"{stand}, but the methods cannot be told apart {test}."
    return f"{stand} {test}. {_nemenyi_sentence(block, list(ranks.index), titles)}"


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'s' * (n != 1)}"


def _on_one_dataset(block: "DataFrame", measure: Measure, what: str) -> str:
    row = block.iloc[0].sort_values(ascending=not measure.greater_is_better, kind="stable")
    first, second = (
        f"{method_title(str(name))} ({measure.number(value * measure.scale)})"
        for name, value in row.iloc[:2].items()
    )
    return (
        f"On {block.index[0]}, {first} is best in {what}, before {second}; "
        "one dataset says nothing about others."
    )


def _nemenyi_sentence(block: "DataFrame", order: list, titles: dict) -> str:
    """Say from whom the first differs at 5 %."""
    p = nemenyi(block).loc[order[0]]
    behind = [titles[name] for name in order[1:] if p[name] < _LEVEL]
    level = [titles[name] for name in order[1:] if not p[name] < _LEVEL]
    if not behind:
        return "By Nemenyi's test at 5 % its lead over no single method is significant."
    sentence = f"By Nemenyi's test at 5 % it is ahead of {listing(behind)}"
    return sentence + (f", but not of {listing(level, 'or')}." if level else ".")


def leaders(comparison: Comparison) -> str:
    """Say which method has the best average rank in each other metric."""
    first = headline_measure(comparison)
    found: dict[str, list[str]] = {}
    for measure in MEASURES.values():
        block = complete_block(comparison.means(measure))
        if measure is first or block.shape[1] < 2 or block.empty:
            continue
        ranks = friedman(block, greater_is_better=measure.greater_is_better).ranks
        best = ranks.index[np.isclose(ranks, ranks.min())]
        who = listing([method_title(str(name)) for name in best])
        found.setdefault(who, []).append(measure.title)
    if not found:
        return ""
    parts = [f"{who} in {listing(metrics)}" for who, metrics in found.items()]
    return f"Best average rank elsewhere: {'; '.join(parts)}."


def gaps(comparison: Comparison) -> list[str]:
    """Say plainly which methods were not run, or failed, on which datasets."""
    where: dict[str, list[str]] = {}
    sentences = []
    for method in comparison.methods:
        counts = {name: comparison.cells(name, method) for name in comparison.datasets}
        absent = [name for name, (run, _) in counts.items() if not run]
        failed = [f"{name} ({bad} of {run} cells)" for name, (run, bad) in counts.items() if bad]
        if absent:
            there = [name for name in comparison.datasets if name not in absent]
            most = len(absent) > max(len(there), 3)
            words = f"only run on {listing(there)}" if most else f"not run on {listing(absent)}"
            where.setdefault(words, []).append(method_title(method))
        if failed:
            sentences.append(f"{method_title(method)} failed on {listing(failed)}.")
    sentences += [
        f"{listing(who)} {'was' if len(who) == 1 else 'were'} {words}."
        for words, who in where.items()
    ]
    return sentences + _left_out(comparison)


def _left_out(comparison: Comparison) -> list[str]:
    """Say what the tests over datasets cannot count for its gaps."""
    measure = headline_measure(comparison)
    if measure is None or len(comparison.methods) < 2:
        return []
    block = complete_block(comparison.means(measure))
    out = [method_title(name) for name in comparison.methods if name not in block]
    out += [name for name in comparison.datasets if name not in block.index]
    if not out:
        return []
    return [f"Average ranks and tests over datasets leave out {listing(out)} for these gaps."]


# ------------------------------------------------------------------------ tables of tests


def friedman_table(comparison: Comparison) -> Table | None:
    """Return Friedman's test in every metric; None where there is nothing to test."""
    columns = {
        "n": "Datasets", "k": "Methods", "chi2": "Friedman χ²", "p": "p",
        "f": "Iman–Davenport F", "f_p": "p of F", "cd": "Critical difference", "best": "Best",
    }  # fmt: skip
    rows, cells = {}, {}
    for key, measure in MEASURES.items():
        block = complete_block(comparison.means(measure))
        if block.shape[0] < 2 or block.shape[1] < 2:
            continue
        result = friedman(block, greater_is_better=measure.greater_is_better)
        rows[key] = f"{measure.title} {measure.arrow}"
        numbers = {
            "n": float(result.n_datasets), "k": float(block.shape[1]), "chi2": result.chi2,
            "p": result.p, "f": result.f, "f_p": result.f_p, "cd": result.cd,
        }  # fmt: skip
        for column, value in numbers.items():
            text = f"{value:.0f}" if column in "nk" else f"{value:.2f}"
            if column in ("p", "f_p"):
                text = p_text(value).removeprefix("=\u00a0")
            known = not np.isnan(value)
            cells[key, column] = (
                Cell(text, {"": value}, value) if known else Cell(hint="needs three methods")
            )
        best = str(result.ranks.idxmin())
        rank = float(result.ranks.min())
        cells[key, "best"] = Cell(f"{method_title(best)} ({rank:.2f})", {"": best}, rank)
    if not rows:
        return None
    return Table(
        "tests_friedman",
        "Friedman's test over datasets",
        "On the datasets where all counted methods were run; critical difference by Nemenyi "
        "at 5 %; last, the best average rank.",
        "Metric",
        columns,
        rows,
        cells,
    )


def wilcoxon_table(comparison: Comparison) -> Table | None:
    """Return Wilcoxon's test of the reference against each method, corrected by Holm."""
    reference = comparison.reference
    rows, cells = {}, {}
    columns: dict[str, str] = {}
    for key, measure in MEASURES.items():
        block = complete_block(comparison.means(measure))
        if reference not in block or block.shape[0] < 2 or block.shape[1] < 2:
            continue
        rows[key] = f"{measure.title} {measure.arrow}"
        lead = (block.rsub(block[reference], axis=0)).median()
        for _, row in wilcoxon_holm(block, control=reference).iterrows():
            method = row["second"]
            columns[method] = method_title(method)
            sure = row["p_holm"] < _LEVEL
            better = (lead[method] > 0) == measure.greater_is_better
            cells[key, method] = Cell(
                p_text(row["p_holm"]).removeprefix("=\u00a0"),
                {"p": row["p"], "p holm": row["p_holm"]},
                row["p_holm"],
                mark=("•" if better else "○") if sure else "",
                corrected=("•" if better else "○") if sure else "",
                hint=f"p = {row['p']:.2g} before the correction",
            )
    if not rows or reference is None:
        return None
    ordered = {name: columns[name] for name in comparison.methods if name in columns}
    return Table(
        "tests_wilcoxon",
        f"Wilcoxon's signed-rank test of {method_title(reference)} over datasets, "
        "p-values corrected by Holm",
        f"•/○: {method_title(reference)} is better/worse at 5 %.",
        "Metric",
        ordered,
        rows,
        cells,
    )


# ---------------------------------------------------------------- measured and published


def _differences(comparison: Comparison, method: str, measure: Measure) -> tuple[list, int]:
    """Return measured minus published on each dataset, and how many are within two std."""
    found, near = [], 0
    for dataset in comparison.datasets:
        printed = published(dataset, method, measure.name)
        values = comparison.values(dataset, method, measure)
        if printed and len(values):
            difference = float(values.mean()) * measure.scale - printed.mean
            found.append(difference)
            near += abs(difference) <= 2 * printed.std
    return found, near


def agreement_table(comparison: Comparison) -> Table | None:
    """Return how far measured figures are from published ones; None where none are."""
    rows, cells, columns = {}, {}, {}
    for method in comparison.methods:
        for key, measure in MEASURES.items():
            found, near = _differences(comparison, method, measure)
            if not found:
                continue
            rows[method] = method_title(method)
            columns[key] = measure.heading
            middle = float(np.median(found))
            text = f"{signed(middle)} ({near}/{len(found)})"
            numbers = {"median difference": round(middle, 6), "within": near, "of": len(found)}
            cells[method, key] = Cell(text, numbers, middle)
    if not rows:
        return None
    return Table(
        "agreement",
        "Measured minus published",
        "Median difference over datasets, and in how many of them the measured mean is "
        "within two published standard deviations.",
        "Method",
        columns,
        rows,
        cells,
    )


def agreement(comparison: Comparison) -> list[str]:
    """Say how far what is measured bears out what is published."""
    near = total = held = fair = wins = 0
    for measure in MEASURES.values():
        for method in comparison.methods:
            found, close = _differences(comparison, method, measure)
            near, total = near + close, total + len(found)
            for dataset in comparison.datasets:
                printed = published(dataset, method, measure.name)
                tested = np.isfinite(comparison.p_value(dataset, method, measure))
                if comparison.reference == REFERENCE and printed and printed.mark == "•" and tested:
                    wins += 1
                    held += comparison.mark(dataset, method, measure) == "•"
                    fair += comparison.mark(dataset, method, measure, "corrected") == "•"
    sentences = []
    if total:
        sentences.append(
            f"{near} of {total} measured means ({near / total:.0%}) are within two published "
            "standard deviations of the published mean."
        )
    if wins:
        sentences.append(
            f"Of {wins} published wins of VPCME that were measured here, {held} hold by the "
            f"paper's test and {fair} by the corrected one."
        )
    return sentences
