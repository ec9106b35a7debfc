"""All metrics together: which method leads over datasets × metrics, and whether significantly.

Methods are ranked in each pair of a dataset and one of the paper's five metrics, by their means
over the folds, and the ranks averaged; Friedman's and Nemenyi's tests run over these pairs. The
five metrics of a dataset depend on one another, so that this test finds differences too
easily. The test over datasets, each with its mean rank in the five, is therefore given too.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from labelkin._utils.names import plural
from labelkin.experiments.report.comparison import Comparison, Test, method_title
from labelkin.experiments.report.measures import COSTS, MEASURES, Measure
from labelkin.experiments.report.published import PRINTED_METRICS, REFERENCE, published
from labelkin.experiments.report.significance import LEVEL
from labelkin.experiments.report.statistics import Friedman, complete_block, friedman
from labelkin.experiments.report.table import Entry, Table, signed

_FIVE = {name: MEASURES[name] for name in PRINTED_METRICS}


@dataclass(frozen=True)
class Overall:
    """A comparison over all pairs of a dataset and a metric."""

    comparison: Comparison

    @cached_property
    def values(self) -> pd.DataFrame:
        """Means by (dataset, metric) and method, losses negated so that more is better."""
        parts = {
            name: self.comparison.means(measure) * (1 if measure.greater_is_better else -1)
            for name, measure in _FIVE.items()
        }
        pairs = pd.MultiIndex.from_product([self.comparison.datasets, _FIVE])
        return pd.concat(parts).swaplevel().reindex(pairs).dropna(how="all")

    @cached_property
    def block(self) -> pd.DataFrame:
        """The part of `values` without gaps, which is ranked and tested."""
        return complete_block(self.values)

    @cached_property
    def over_pairs(self) -> Friedman:
        """Friedman's test over the pairs."""
        return friedman(self.block)

    @cached_property
    def dataset_ranks(self) -> pd.DataFrame:
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
            or not self.comparison.contrast(dataset, first, method, _FIVE[name]).p(test) < LEVEL
            for (dataset, name), first in self.block.idxmax(axis=1).items()
        )

    def beaten(self, method: str) -> tuple[int, int]:
        """Return how many published figures of VPCME `method` beats, and of how many.

        Figures are compared as printed, to two decimals.
        """
        beaten = total = 0
        for name, measure in _FIVE.items():
            for dataset, value in self.comparison.means(measure)[method].dropna().items():
                if printed := published(str(dataset), REFERENCE, name):
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
    columns = {
        "rank": f"Average rank ({len(overall.block)} dataset–metric pairs)",
        "best": "Best",
        "tied": "Best or tied, corrected test",
        "tied_paired": "Best or tied, paired test",
        "beaten": "Published VPCME figures beaten",
        "worst": f"Least lead over {method_title(baseline)}",
        "fit": "Mean time to fit (s)",
    }
    explained = (
        " Tied: not behind the best by a t-test over the folds at 5 %. Beaten: mean better than "
        "the published one, to two decimals. Times depend on the machine and its load, so they do "
        "not compare between runs."
    )
    if baseline not in comparison.methods:
        del columns["worst"]
    if comparison.is_holdout:  # no folds to test over, and other rows than the published figures
        columns = {key: columns[key] for key in ("rank", "best", "worst") if key in columns}
        explained = ""
    entries = {}
    datasets = overall.dataset_ranks.index
    seconds = comparison.means(COSTS["fit_s"]).loc[datasets].mean()
    for method in overall.order:
        if method in overall.block:
            is_first = method == overall.order[0]
            rank = float(overall.over_pairs.ranks[method])
            entries[method, "rank"] = Entry.of(rank, best=is_first)
            entries[method, "best"] = Entry.of(overall.best(method), str)
            entries[method, "tied"] = Entry.of(overall.tied(method), str)
            entries[method, "tied_paired"] = Entry.of(overall.tied(method, "paired"), str)
            if np.isfinite(fit := float(seconds[method])):
                entries[method, "fit"] = Entry.of(fit, COSTS["fit_s"].number)
        beaten, total = overall.beaten(method)
        if total:
            entries[method, "beaten"] = Entry.of(beaten, f"{beaten} of {total}")
        least = overall.least_lead(method, baseline) if "worst" in columns else None
        if least and method != baseline:
            lead, dataset, measure = least
            text = f"{signed(lead)} ({dataset}, {measure.title})"
            entries[method, "worst"] = Entry.of(lead, text)
    return Table(
        name="overall",
        title="All metrics together",
        caption=f"Over the paper's five metrics on {plural(len(datasets), 'dataset')}, where all "
        f"ranked methods were run.{explained}",
        corner="Method",
        columns=columns,
        rows={method: method_title(method) for method in overall.order},
        entries=entries,
    )
