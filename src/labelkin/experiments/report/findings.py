"""What a comparison shows, in sentences."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from labelkin.experiments.report.comparison import Comparison, method_title
from labelkin.experiments.report.measures import MEASURES, Measure
from labelkin.experiments.report.significance import LEVEL, format_p
from labelkin.experiments.report.statistics import friedman, nemenyi, wilcoxon_holm

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_FIRST = "average_precision"  # the metric of the headline


def listing(names: Sequence[str], word: str = "and") -> str:
    """Return names as a phrase: a, b and c."""
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last


def p_phrase(p: float) -> str:
    """Return a p-value as a phrase, such as ``p = 0.012``, without a line break."""
    text = format_p(p)
    return f"p {text}" if text.startswith("<") else f"p =\u00a0{text}"


def nemenyi_phrase(block: "DataFrame", order: Sequence[str], subject: str = "it") -> str:
    """Return over which methods the first of `order`, the best first, leads by Nemenyi's test.

    `block` has values or ranks, one row per dataset and one column per method, without gaps.
    """
    p = nemenyi(block).loc[order[0]]
    others = [name for name in order[1:] if name in block]
    behind = [method_title(str(name)) for name in others if p[name] < LEVEL]
    level = [method_title(str(name)) for name in others if not p[name] < LEVEL]
    if not behind:
        return f"{subject} is not significantly ahead of any other method."
    phrase = f"{subject} is significantly ahead of {listing(behind)}"
    return phrase + (f", but not of {listing(level, 'or')}." if level else ".")


def leader_phrase(ranks: "Series") -> str:
    """Return which methods have the best average rank, and that rank."""
    best = ranks.index[np.isclose(ranks, ranks.min())]
    names = listing([method_title(str(name)) for name in best])
    return f"{names} {'has' if len(best) == 1 else 'have'} the best average rank"


def headline_measure(comparison: Comparison) -> Measure | None:
    """Return average precision, or where it was not measured the first metric that was."""
    measured = comparison.measured(MEASURES)
    return min(measured, key=lambda measure: measure.name != _FIRST, default=None)


def headline(comparison: Comparison) -> str:
    """Return a sentence to quote: which method leads, by which test, on how many datasets."""
    measure = headline_measure(comparison)
    if measure is None:
        return "There is no result to compare yet."
    is_name = measure.title.startswith(("Hamming", "F1"))
    what = measure.title if is_name else measure.title.lower()
    block = comparison.complete_means(measure)
    n, k = block.shape
    titles = {name: method_title(str(name)) for name in block}
    if k < 2:
        only = titles[block.columns[0]]
        datasets = f"{n} dataset{'s' * (n != 1)}"
        return f"{only} was run on {datasets}, with no other method to compare it with."
    if n < 2:
        return _on_one_dataset(block, measure, what)
    result = friedman(block, greater_is_better=measure.greater_is_better)
    ranks = result.ranks.sort_values(kind="stable")
    first, second = ranks.index[:2]
    lead = (
        f"{titles[first]} has the best average rank in {what}, "
        f"{ranks.iloc[0]:.2f} among {k} methods on {n} datasets"
    )
    if k == 2:
        p = wilcoxon_holm(block)["p"].iloc[0]
        verdict = "a significant lead" if p < LEVEL else "no significant lead"
        return f"{lead}: {verdict} over {titles[second]} (Wilcoxon's test, {p_phrase(p)})."
    test = f"(Friedman's test, {p_phrase(result.p)})"
    if not result.p < LEVEL:
        return f"{lead}, but the methods cannot be told apart {test}."
    return f"{lead} {test}. By Nemenyi's test at 5 %, {nemenyi_phrase(block, list(ranks.index))}"


def _on_one_dataset(block: "DataFrame", measure: Measure, what: str) -> str:
    row = block.iloc[0].sort_values(ascending=not measure.greater_is_better, kind="stable")
    first, second = (
        f"{method_title(str(name))} ({measure.number(value * measure.scale)})"
        for name, value in row.iloc[:2].items()
    )
    return (
        f"On {block.index[0]}, {first} is best in {what}, before {second}; "
        "one dataset does not show how they compare on others."
    )


def leaders(comparison: Comparison) -> str:
    """Return which method has the best average rank in each metric but the headline's."""
    first = headline_measure(comparison)
    found: dict[str, list[str]] = {}
    for measure in MEASURES.values():
        block = comparison.complete_means(measure)
        if measure is first or block.shape[1] < 2 or block.empty:
            continue
        ranks = friedman(block, greater_is_better=measure.greater_is_better).ranks
        best = ranks.index[np.isclose(ranks, ranks.min())]
        who = listing([method_title(str(name)) for name in best])
        found.setdefault(who, []).append(measure.title)
    if not found:
        return ""
    parts = [f"{who} in {listing(metrics)}" for who, metrics in found.items()]
    return f"Best average rank in the other metrics: {'; '.join(parts)}."


def gaps(comparison: Comparison) -> list[str]:
    """Return which methods were not run, or failed, on which datasets."""
    not_run: dict[str, list[str]] = {}
    sentences = []
    for method in comparison.methods:
        counts = {name: comparison.cells(name, method) for name in comparison.datasets}
        absent = [name for name, (run, _) in counts.items() if not run]
        failed = [f"{name} ({bad} of {run} cells)" for name, (run, bad) in counts.items() if bad]
        if absent:
            there = [name for name in comparison.datasets if name not in absent]
            most = len(absent) > max(len(there), 3)
            words = f"only run on {listing(there)}" if most else f"not run on {listing(absent)}"
            not_run.setdefault(words, []).append(method_title(method))
        if failed:
            sentences.append(f"{method_title(method)} failed on {listing(failed)}.")
    for words, methods in not_run.items():
        sentences.append(f"{listing(methods)} {'was' if len(methods) == 1 else 'were'} {words}.")
    measure = headline_measure(comparison)
    if measure is not None and len(comparison.methods) > 1:
        block = comparison.complete_means(measure)
        out = [method_title(name) for name in comparison.methods if name not in block]
        out += [name for name in comparison.datasets if name not in block.index]
        if out:
            sentences.append(
                "Because of these gaps, average ranks and tests over datasets leave out "
                f"{listing(out)}."
            )
    return sentences
