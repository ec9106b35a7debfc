"""What results show, in sentences, and what was run."""

import shlex
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from labelkin._utils.names import plural
from labelkin.experiments.report.comparison import (
    COMPONENTS,
    PAPER_DATASETS,
    TESTS,
    Comparison,
    count_marks,
    in_order,
    method_title,
    split_method,
)
from labelkin.experiments.report.measures import MEASURES, Measure
from labelkin.experiments.report.overall import Overall
from labelkin.experiments.report.published import PRINTED_METRICS, REFERENCE
from labelkin.experiments.report.significance import LEVEL, format_p, published_parts
from labelkin.experiments.report.statistics import friedman, nemenyi, wilcoxon_holm
from labelkin.experiments.run.groups import GROUPS
from labelkin.experiments.run.peers import COMPARED

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
            not_run.setdefault(words, []).append(method)
        if failed:
            sentences.append(f"{method_title(method)} failed on {listing(failed)}.")
    for words, methods in not_run.items():
        sentences.append(f"{_titles(methods)} {'was' if len(methods) == 1 else 'were'} {words}.")
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


# ------------------------------------------------------------------ the verdict on a newcomer


def find_verdicts(comparison: Comparison) -> list[str]:
    """Return a paragraph, ready for a paper, for each method that is not one of this library's."""
    own = [name for name in comparison.methods if name not in COMPARED]
    return [_verdict(comparison, name) for name in own] if len(comparison.methods) > 1 else []


def _verdict(comparison: Comparison, method: str) -> str:
    others = [name for name in comparison.methods if name != method]
    n = int(comparison.means(MEASURES[PRINTED_METRICS[0]])[method].count())
    sentences = [
        f"{method_title(method)} was compared with {_titles(others)} on {plural(n, 'dataset')} in "
        f"{len(PRINTED_METRICS)} metrics, on the same folds."
    ]
    counts = []
    for other in others:
        contrasts = [
            contrast
            for dataset in comparison.datasets
            for name in PRINTED_METRICS
            for contrast in [comparison.contrast(dataset, method, other, MEASURES[name])]
            if not np.isnan(contrast.lead)
        ]
        if contrasts:
            paired, corrected = (
                "/".join(map(str, count_marks(c.mark(test) for c in contrasts))) for test in TESTS
            )
            counts.append(f"{corrected} ({paired}) against {method_title(other)}")
    if counts:
        paired, corrected = (comparison.describe_test(test) for test in TESTS)
        sentences.append(
            f"Wins/ties/losses by the {corrected}, and in brackets by the {paired}: "
            f"{listing(counts)}."
        )
    return " ".join([*sentences, *_ranked(comparison, method)])


def _ranked(comparison: Comparison, method: str) -> list[str]:
    overall = Overall(comparison)
    if method not in overall.block or overall.block.shape[1] < 3:
        return []
    ranks, result = overall.dataset_ranks, overall.over_datasets
    if len(ranks) < 2:
        return ["One dataset does not tell how the methods compare on others."]
    rank, place = result.ranks[method], int((result.ranks < result.ranks[method]).sum()) + 1
    p = nemenyi(ranks).loc[method]
    ahead = [m for m in ranks if p[m] < LEVEL and result.ranks[m] > rank]
    behind = [m for m in ranks if p[m] < LEVEL and result.ranks[m] < rank]
    parts = [
        f"significantly {word} {_titles(found)}"
        for word, found in (("ahead of", ahead), ("behind", behind))
        if found
    ]
    verdict = listing(parts) if parts else "not significantly apart from any other method"
    return [
        f"Its average rank over {len(ranks)} datasets is {rank:.2f}, place {place} of "
        f"{len(result.ranks)} (Friedman's test, {p_phrase(result.p)}); by Nemenyi's test at 5 %, "
        f"with the critical difference {result.cd:.2f}, it is {verdict}."
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
    repeats = frame.groupby(_groups(frame))["repeat"].nunique()
    parts = [
        f"{repeats[name]} for {group.title.partition(':')[0]}"
        for name, group in GROUPS.items()
        if name in repeats
    ]
    return f"Repeats of the cross-validation, 20 in the paper: {listing(parts)}." if parts else ""


def find_commands(frame: pd.DataFrame) -> list[str]:
    """Return commands that compute these cells again, for results without recorded commands."""
    commands = []
    for name, rows in frame.groupby(_groups(frame)):
        datasets = in_order(rows["dataset"], PAPER_DATASETS)
        words = ["labelkin", "reproduce", str(name), "--datasets", shlex.quote(",".join(datasets))]
        if name in ("table3", "frontier", "holdout"):
            methods = in_order(rows["method"], COMPARED)
            known = [method for method in methods if method in COMPARED]
            words += ["--methods", ",".join(known)] if known else []
            for method in methods[len(known) :]:
                words += ["--method", shlex.quote(f"{method}=module:factory")]
        words += ["--repeats", str(rows["repeat"].max() + 1)]
        words += ["--folds", str(rows["fold"].nunique()), "--store", "results.db"]
        commands.append((list(GROUPS).index(str(name)), " ".join(words)))
    return [command for _, command in sorted(commands)]


def _groups(frame: pd.DataFrame) -> pd.Series:
    """Return the group of experiments that each row belongs to; None where it is unknown."""
    beyond = {*GROUPS["frontier"].methods} - {*GROUPS["table3"].methods, *COMPONENTS}
    compared = "frontier" if beyond & set(frame["method"]) else "table3"
    if compared == "frontier" and frame["fold"].nunique() < 2:
        compared = "holdout"
    varied = {"": compared, "threshold": "figure1", "size": "table5", "estimator": "bases"}

    def group_of(method: str) -> str | None:
        if method in COMPONENTS and compared == "table3":
            return "figure2"
        return varied.get(split_method(method)[1])

    return frame["method"].map(group_of)
