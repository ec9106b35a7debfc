"""All metrics together: which method leads over datasets × metrics, and whether significantly.

Methods are ranked in each pair of a dataset and one of the paper's five metrics, by their means
over the folds, and the ranks averaged; Friedman's and Nemenyi's tests run over these pairs. The
five metrics of a dataset depend on one another, so that this test finds differences too
easily. The test over datasets, each with its mean rank in the five, is therefore given too. A
newcomer's method gets a paragraph, ready for a paper.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from labelkin.experiments.report.comparison import TESTS, Comparison, Test, method_title
from labelkin.experiments.report.findings import (
    leader_phrase,
    listing,
    nemenyi_phrase,
    p_phrase,
)
from labelkin.experiments.report.measures import COSTS, MEASURES, Measure
from labelkin.experiments.report.published import PRINTED_METRICS, REFERENCE, published
from labelkin.experiments.report.significance import LEVEL
from labelkin.experiments.report.statistics import Friedman, complete_block, friedman, nemenyi
from labelkin.experiments.report.table import Entry, Table
from labelkin.experiments.report.tables import signed
from labelkin.experiments.run.peers import COMPARED

if TYPE_CHECKING:
    from pandas import DataFrame

_FIVE = {name: MEASURES[name] for name in PRINTED_METRICS}


@dataclass(frozen=True)
class Overall:
    """A comparison over all pairs of a dataset and a metric."""

    comparison: Comparison

    @cached_property
    def values(self) -> "DataFrame":
        """Means by (dataset, metric) and method, losses negated so that more is better."""
        import pandas as pd

        parts = {
            name: self.comparison.means(measure) * (1 if measure.greater_is_better else -1)
            for name, measure in _FIVE.items()
        }
        pairs = pd.MultiIndex.from_product([self.comparison.datasets, _FIVE])
        return pd.concat(parts).swaplevel().reindex(pairs).dropna(how="all")

    @cached_property
    def block(self) -> "DataFrame":
        """The part of `values` without gaps, which is ranked and tested."""
        return complete_block(self.values)

    @cached_property
    def over_pairs(self) -> Friedman:
        """Friedman's test over the pairs."""
        return friedman(self.block)

    @cached_property
    def dataset_ranks(self) -> "DataFrame":
        """Mean rank of each method over the metrics of a dataset."""
        return self.block.rank(axis=1, ascending=False).groupby(level=0, sort=False).mean()

    @cached_property
    def over_datasets(self) -> Friedman:
        """Friedman's test over the datasets, on mean ranks."""
        return friedman(self.dataset_ranks, greater_is_better=False)

    @property
    def order(self) -> list[str]:
        """The ranked methods, the best first; then the others in the comparison's order."""
        ranked = [str(name) for name in self.over_pairs.ranks.sort_values(kind="stable").index]
        return ranked + [name for name in self.comparison.methods if name not in ranked]

    def best(self, method: str) -> int:
        """Return in how many pairs no ranked method has a better mean."""
        return int((self.block[method] >= self.block.max(axis=1)).sum())

    def tied(self, method: str, test: Test = "corrected") -> int:
        """Return in how many pairs `method` is best, or not surely behind the best (5 %)."""
        return sum(
            method == first
            or not self.comparison.contrast(dataset, first, method, _FIVE[name]).p[test] < LEVEL
            for (dataset, name), first in self.block.idxmax(axis=1).items()
        )

    def beaten(self, method: str) -> tuple[int, int]:
        """Return how many published figures of VPCME `method` beats, and of how many.

        Figures are compared as printed, to two decimals.
        """
        beaten = total = 0
        for name, measure in _FIVE.items():
            for dataset, value in self.comparison.means(measure)[method].dropna().items():
                printed = published(str(dataset), REFERENCE, name)
                if printed:
                    total += 1
                    lead = round(value * measure.scale, 2) - printed.mean
                    beaten += (lead > 1e-9) if measure.greater_is_better else (lead < -1e-9)
        return beaten, total

    def least_lead(self, method: str, other: str) -> tuple[float, str, Measure] | None:
        """Return the least lead of `method` over `other`, with its dataset and metric.

        Negative is behind. Leads are percentage points, or the difference in coverage.
        """
        leads = [
            (lead * _FIVE[name].scale, dataset, _FIVE[name])
            for (dataset, name), lead in (self.values[method] - self.values[other]).dropna().items()
        ]
        return min(leads, key=lambda lead: lead[0], default=None)


def overall_table(comparison: Comparison, baseline: str = "krr") -> Table | None:
    """Return one row per method: rank over all pairs, pairs won or tied, published ones beaten.

    The last columns compare with `baseline`; they are left out where it was not run.
    """
    overall = Overall(comparison)
    if min(overall.block.shape) < 2:
        return None
    with_baseline = baseline in comparison.methods
    columns = {
        "rank": f"Average rank ({len(overall.block)} dataset–metric pairs)",
        "best": "Best",
        "tied": "Best or tied, corrected test",
        "tied_paired": "Best or tied, paired test",
        "beaten": "Published VPCME figures beaten",
        "worst": f"Least lead over {method_title(baseline)}",
        "fit": "Mean time to fit (s)",
    }
    if not with_baseline:
        del columns["worst"]
    if comparison.is_holdout:  # no folds to test over, and other rows than the published figures
        for key in ("tied", "tied_paired", "beaten", "fit"):
            del columns[key]
    explained = (
        " Tied: not behind the best by a t-test over the folds at 5 %. Beaten: mean better than "
        "the published one, to two decimals. Times depend on the machine and its load, so they do "
        "not compare between runs."
        if "tied" in columns
        else ""
    )
    datasets = overall.dataset_ranks.index
    return Table(
        name="overall",
        title="All metrics together",
        caption=f"Over the paper's five metrics on {len(datasets)} dataset"
        f"{'s' * (len(datasets) != 1)}, where all ranked methods were run.{explained}",
        corner="Method",
        columns=columns,
        rows={method: method_title(method) for method in overall.order},
        entries=_overall_entries(overall, baseline if with_baseline else None),
    )


def _overall_entries(overall: Overall, baseline: str | None) -> dict[tuple[str, str], Entry]:
    """Return the entries of the table by method and column."""
    datasets = overall.dataset_ranks.index
    fit_seconds = overall.comparison.means(COSTS["fit_s"]).loc[datasets].mean()
    entries: dict[tuple[str, str], Entry] = {}
    for method in overall.order:
        if method in overall.block:
            rank = float(overall.over_pairs.ranks[method])
            first = method == overall.order[0]
            entries[method, "rank"] = Entry(f"{rank:.2f}", {"": round(rank, 6)}, rank, first)
            for key, count in (
                ("best", overall.best(method)),
                ("tied", overall.tied(method)),
                ("tied_paired", overall.tied(method, "paired")),
            ):
                entries[method, key] = Entry(str(count), {"": count}, float(count))
            if np.isfinite(fit := float(fit_seconds[method])):
                text = COSTS["fit_s"].number(fit)
                entries[method, "fit"] = Entry(text, {"": round(fit, 6)}, fit)
        beaten, total = overall.beaten(method)
        if total:
            text = f"{beaten} of {total}"
            entries[method, "beaten"] = Entry(text, {"": beaten}, float(beaten))
        if baseline not in (None, method) and (least := overall.least_lead(method, baseline)):
            lead, dataset, measure = least
            text = f"{signed(lead)} ({dataset}, {measure.title})"
            entries[method, "worst"] = Entry(text, {"": round(lead, 6)}, lead)
    return entries


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
        corrected, paired = (comparison.describe_test(test) for test in TESTS[::-1])
        sentences.append(
            f"Wins/ties/losses by the {corrected}, and in brackets by the {paired}: "
            f"{listing(counts)}."
        )
    return " ".join([*sentences, *_ranked(comparison, method)])


def _against(comparison: Comparison, method: str, other: str, datasets: list[str]) -> str:
    """Return wins, ties and losses by both tests; nothing where no dataset has both methods."""
    counts = []
    for test in TESTS[::-1]:
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
