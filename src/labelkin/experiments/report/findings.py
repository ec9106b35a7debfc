"""What results show, in sentences, and what was run."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from labelkin._utils.names import plural
from labelkin.experiments.report.comparison import TESTS, Comparison, method_title
from labelkin.experiments.report.published import MEASURES, REFERENCE
from labelkin.experiments.report.ranks import LEVEL, Overall, format_p
from labelkin.experiments.report.statistics import friedman, nemenyi, wilcoxon_holm
from labelkin.experiments.report.tables import published_parts
from labelkin.experiments.run.groups import GROUPS
from labelkin.metrics import Metric

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


def leader_phrase(ranks: pd.Series) -> str:
    """Return which methods have the best average rank."""
    best = ranks.index[np.isclose(ranks, ranks.min())]
    return f"{_titles(best)} {'has' if len(best) == 1 else 'have'} the best average rank"


def rank_sentence(scores: pd.DataFrame, what: str, units: str) -> str:
    """Return which method has the best average rank in `what`, and ahead of which significantly.

    `scores` has one row per unit and one column per method, without gaps; more is better.
    """
    result = friedman(scores)
    first, *others = map(str, result.ranks.sort_values(kind="stable").index)
    lead = (
        f"{leader_phrase(result.ranks)} in {what}, {result.ranks.min():.2f} among "
        f"{result.n_methods} methods on {result.n_datasets} {units}"
    )
    if len(others) == 1:
        p = wilcoxon_holm(scores)["p"].iloc[0]
        verdict = "a significant lead" if p < LEVEL else "no significant lead"
        return f"{lead}: {verdict} over {_titles(others)} (Wilcoxon's test, {p_phrase(p)})."
    test = f"(Friedman's test, {p_phrase(result.p)})"
    if not result.p < LEVEL:
        return f"{lead}, but the methods cannot be told apart {test}."
    is_behind = nemenyi(scores).loc[first] < LEVEL
    behind = [name for name in others if is_behind[name]]
    level = [name for name in others if not is_behind[name]]
    ahead = f"is significantly ahead of {_titles(behind)}"
    if not behind:
        ahead = "is not significantly ahead of any other method"
    elif level:
        ahead += f", but not of {_titles(level, 'or')}"
    return (
        f"{lead} {test}. By Nemenyi's test at 5 % (critical difference {result.cd:.2f}), "
        f"{method_title(first)} {ahead}."
    )


def headline_measure(comparison: Comparison) -> Metric | None:
    """Return average precision, or where it was not measured the first metric that was."""
    measured = comparison.measured
    return min(measured, key=lambda measure: measure.name != _FIRST, default=None)


def headline(comparison: Comparison) -> str:
    """Return a sentence to quote: which method leads, by which test, on how many datasets."""
    measure = headline_measure(comparison)
    if measure is None:
        return "There is no result to compare yet."
    is_name = measure.title.startswith(("Hamming", "F1"))
    what = measure.title if is_name else measure.title.lower()
    scores = comparison.scores(measure)
    n, k = scores.shape
    if k < 2:
        only = _titles(scores.columns)
        return f"{only} was run on {plural(n, 'dataset')}, with no other method to compare it with."
    if n < 2:
        row = scores.iloc[0].sort_values(ascending=False, kind="stable")
        first, second = (
            f"{method_title(str(name))} ({value * measure.sign * measure.scale:.2f})"
            for name, value in row.iloc[:2].items()
        )
        return (
            f"On {scores.index[0]}, {first} is best in {what}, before {second}; "
            "one dataset does not show how they compare on others."
        )
    return rank_sentence(scores, what, "datasets")


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
    if overall.block.shape[1] < 3 or len(overall.dataset_scores) < 2:
        return []
    what = "the paper's five metrics"
    strict = rank_sentence(overall.dataset_scores, what, "datasets")
    return [
        rank_sentence(overall.block, what, "dataset–metric pairs"),
        f"By the stricter test over datasets, each with its mean rank: {strict}",
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
