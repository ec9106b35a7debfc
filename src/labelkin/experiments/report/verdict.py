"""A paragraph on a newcomer's method, ready for a paper."""

import math

from labelkin.experiments.report.comparison import Comparison, Test, method_title
from labelkin.experiments.report.findings import listing, p_phrase
from labelkin.experiments.report.measures import MEASURES
from labelkin.experiments.report.overall import Overall
from labelkin.experiments.report.published import PRINTED_METRICS
from labelkin.experiments.report.significance import LEVEL
from labelkin.experiments.report.statistics import nemenyi
from labelkin.experiments.run.peers import COMPARED

_TESTS: tuple[Test, ...] = ("corrected", "paired")


def find_verdicts(comparison: Comparison) -> list[str]:
    """Return a paragraph for each method that is not one of this library's comparison."""
    own = [name for name in comparison.methods if name not in COMPARED]
    return [_verdict(comparison, name) for name in own] if len(comparison.methods) > 1 else []


def _verdict(comparison: Comparison, method: str) -> str:
    others = [name for name in comparison.methods if name != method]
    first = MEASURES[PRINTED_METRICS[0]]
    datasets = [d for d in comparison.datasets if len(comparison.values(d, method, first))]
    n = len(datasets)
    sentences = [
        f"{method_title(method)} was compared with {listing([method_title(m) for m in others])} on "
        f"{n} dataset{'s' * (n != 1)} in {len(PRINTED_METRICS)} metrics, on the same folds."
    ]
    counts = [
        f"{found} against {method_title(other)}"
        for other in others
        if (found := _against(comparison, method, other, datasets))
    ]
    if counts:
        corrected, paired = (comparison.describe_test(test) for test in _TESTS)
        sentences.append(
            f"Wins/ties/losses by the {corrected}, and in brackets by the {paired}: "
            f"{listing(counts)}."
        )
    return " ".join([*sentences, *_ranked(comparison, method)])


def _against(comparison: Comparison, method: str, other: str, datasets: list[str]) -> str:
    """Return wins, ties and losses by both tests; nothing where no dataset has both methods."""
    counts = []
    for test in _TESTS:
        marks = [
            contrast.mark(test)
            for dataset in datasets
            for name in PRINTED_METRICS
            for contrast in [comparison.contrast(dataset, method, other, MEASURES[name])]
            if not math.isnan(contrast.lead)
        ]
        counts.append("/".join(str(marks.count(mark)) for mark in ("•", "", "○")))
    return "" if counts[0] == "0/0/0" else f"{counts[0]} ({counts[1]})"


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
        f"significantly {word} {listing([method_title(str(m)) for m in found])}"
        for word, found in (("ahead of", ahead), ("behind", behind))
        if found
    ]
    verdict = listing(parts) if parts else "not significantly apart from any other method"
    return [
        f"Its average rank over {len(ranks)} datasets is {rank:.2f}, place {place} of "
        f"{len(result.ranks)} (Friedman's test, {p_phrase(result.p)}); by Nemenyi's test at 5 %, "
        f"with the critical difference {result.cd:.2f}, it is {verdict}."
    ]
