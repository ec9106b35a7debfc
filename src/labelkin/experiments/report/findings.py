"""What results show, in sentences, and what was run."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from labelkin._utils.names import plural
from labelkin.experiments.report.comparison import TESTS, Comparison, method_title
from labelkin.experiments.report.measures import MEASURES, Measure
from labelkin.experiments.report.published import REFERENCE
from labelkin.experiments.report.ranks import LEVEL, Overall, format_p
from labelkin.experiments.report.statistics import friedman, nemenyi, wilcoxon_holm
from labelkin.experiments.report.tables import published_parts
from labelkin.experiments.run.groups import GROUPS

_FIRST = "average_precision"  # the metric of the headline


def listing(names: Sequence[str], word: str = "and") -> str:
    """Return names as a phrase: a, b and c."""
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last


def _titles(methods: Iterable[str], word: str = "and") -> str:
    return listing([method_title(str(name)) for name in methods], word)


def p_phrase(p: float) -> str:
    """Return a p-value as a phrase, such as ``p = 0.012``, without a line break."""
    text = format_p(p)
    return f"p {text}" if text.startswith("<") else f"p =\u00a0{text}"


def nemenyi_phrase(block: pd.DataFrame, order: Sequence[str], subject: str = "it") -> str:
    """Return over which methods the first of `order`, the best first, leads by Nemenyi's test.

    `block` has values or ranks, one row per dataset and one column per method, without gaps.
    """
    p = nemenyi(block).loc[order[0]]
    others = [name for name in order[1:] if name in block]
    behind = [name for name in others if p[name] < LEVEL]
    level = [name for name in others if not p[name] < LEVEL]
    if not behind:
        return f"{subject} is not significantly ahead of any other method."
    phrase = f"{subject} is significantly ahead of {_titles(behind)}"
    return phrase + (f", but not of {_titles(level, 'or')}." if level else ".")


def _leaders(ranks: pd.Series) -> list[str]:
    return list(ranks.index[np.isclose(ranks, ranks.min())])


def leader_phrase(ranks: pd.Series) -> str:
    """Return which methods have the best average rank, and that rank."""
    best = _leaders(ranks)
    return f"{_titles(best)} {'has' if len(best) == 1 else 'have'} the best average rank"


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
    if k < 2:
        only = _titles(block.columns)
        return f"{only} was run on {plural(n, 'dataset')}, with no other method to compare it with."
    if n < 2:
        row = block.iloc[0].sort_values(ascending=not measure.greater_is_better, kind="stable")
        first, second = (
            f"{method_title(str(name))} ({measure.number(value * measure.scale)})"
            for name, value in row.iloc[:2].items()
        )
        return (
            f"On {block.index[0]}, {first} is best in {what}, before {second}; "
            "one dataset does not show how they compare on others."
        )
    result = friedman(block, greater_is_better=measure.greater_is_better)
    ranks = result.ranks.sort_values(kind="stable")
    first, second = (method_title(str(name)) for name in ranks.index[:2])
    lead = (
        f"{first} has the best average rank in {what}, "
        f"{ranks.iloc[0]:.2f} among {k} methods on {n} datasets"
    )
    if k == 2:
        p = wilcoxon_holm(block)["p"].iloc[0]
        verdict = "a significant lead" if p < LEVEL else "no significant lead"
        return f"{lead}: {verdict} over {second} (Wilcoxon's test, {p_phrase(p)})."
    test = f"(Friedman's test, {p_phrase(result.p)})"
    if not result.p < LEVEL:
        return f"{lead}, but the methods cannot be told apart {test}."
    return f"{lead} {test}. By Nemenyi's test at 5 %, {nemenyi_phrase(block, list(ranks.index))}"


def leaders(comparison: Comparison) -> str:
    """Return which method has the best average rank in each metric but the headline's."""
    first = headline_measure(comparison)
    found: dict[str, list[str]] = {}
    for measure in MEASURES.values():
        block = comparison.complete_means(measure)
        if measure is first or block.shape[1] < 2 or block.empty:
            continue
        ranks = friedman(block, greater_is_better=measure.greater_is_better).ranks
        found.setdefault(_titles(_leaders(ranks)), []).append(measure.title)
    if not found:
        return ""
    parts = [f"{who} in {listing(metrics)}" for who, metrics in found.items()]
    return f"Best average rank in the other metrics: {'; '.join(parts)}."


def agreement_findings(comparison: Comparison) -> list[str]:
    """Return sentences on how far the measured figures confirm the published ones."""
    near = total = 0
    marked = []
    for measure in MEASURES.values():
        found, std = published_parts(comparison, measure)
        near += int((found.abs() <= 2 * std).to_numpy().sum())
        total += int(found.count().sum())
        for method in comparison.methods:
            for dataset, contrast in comparison.against(method, measure).items():
                printed = comparison.published(dataset, method, measure)
                if printed and printed.mark == "•":
                    marked.append(contrast)
    sentences = []
    if total:
        sentences.append(
            f"{near} of {total} measured means ({near / total:.0%}) are within two published "
            "standard deviations of the published mean."
        )
    if marked and comparison.reference == REFERENCE:
        paired, corrected = (sum(c.mark(test) == "•" for c in marked) for test in TESTS)
        sentences.append(
            f"Of {len(marked)} published wins of VPCME that were measured here, {paired} hold by "
            f"the paper's test and {corrected} by the corrected one."
        )
    return sentences


def overall_findings(comparison: Comparison) -> list[str]:
    """Return which method leads over all pairs, and over which others significantly."""
    overall = Overall(comparison)
    n, k = overall.block.shape
    n_datasets = len(overall.dataset_ranks) if n else 0
    if k < 3 or n_datasets < 2:
        return []
    pairs, datasets = overall.over_pairs, overall.over_datasets
    first = method_title(overall.order[0])
    return [
        f"Over {n} dataset–metric pairs ({n_datasets} datasets × {n // n_datasets} metrics), "
        f"{leader_phrase(pairs.ranks)}, {pairs.ranks.min():.2f} among {k} methods.",
        f"By Nemenyi's test at 5 % over the pairs (critical difference {pairs.cd:.2f}, "
        f"Friedman's {p_phrase(pairs.p)}), {nemenyi_phrase(overall.block, overall.order, first)}",
        f"By the stricter test over the {n_datasets} datasets, each with its mean rank (critical "
        f"difference {datasets.cd:.2f}, Friedman's {p_phrase(datasets.p)}), "
        f"{nemenyi_phrase(overall.dataset_ranks, overall.order, first)}",
    ]


# ------------------------------------------------------------------------- what was run


def count_cells(frame: pd.DataFrame) -> str:
    """Return how many cells there are, of what."""
    failed = int((frame["status"] != "ok").sum())
    repeats, folds = frame["repeat"].nunique(), frame["fold"].nunique()
    text = (
        f"{len(frame):,} cells: {plural(frame['dataset'].nunique(), 'dataset')}, "
        f"{frame['method'].nunique()} methods and variants, up to {repeats} × {folds} folds"
    )
    return f"{text}; {failed:,} failed." if failed else f"{text}."


def count_repeats(frame: pd.DataFrame) -> str:
    """Return how many repeats each group of the paper's experiments has."""
    main = set(GROUPS["table3"].methods)
    parts = []
    for name in ("table3", "figure1", "table5", "figure2", "bases"):
        methods = set(GROUPS[name].methods) - (set() if name == "table3" else main)
        repeats = frame.loc[frame["method"].isin(methods), "repeat"].nunique()
        if repeats:
            parts.append(f"{repeats} for {GROUPS[name].title.partition(':')[0]}")
    return f"Repeats of the cross-validation, 20 in the paper: {listing(parts)}." if parts else ""
