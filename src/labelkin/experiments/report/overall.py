"""All metrics together: who leads over datasets × metrics, and by how much it can be said.

A cell here is one metric of the paper's five on one dataset, averaged over the folds. Methods
are ranked in every cell and the ranks averaged; Friedman's and Nemenyi's tests run over the
cells. The five metrics of a dataset lean on one another, so that this test is too sure of
itself: beside it stands the one over datasets, each with its mean rank in the five.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from labelkin.experiments.report.comparison import (
    COSTS,
    MEASURES,
    Comparison,
    Measure,
    method_title,
)
from labelkin.experiments.report.findings import listing, p_text
from labelkin.experiments.report.published import PRINTED_METRICS, REFERENCE, published
from labelkin.experiments.report.statistics import (
    Friedman,
    complete_block,
    corrected_t_test,
    friedman,
    nemenyi,
    paired_t_test,
)
from labelkin.experiments.report.tables import Cell, Table, signed

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Overall", "overall_findings", "overall_table"]

_LEVEL = 0.05
_FIVE = {name: MEASURES[name] for name in PRINTED_METRICS}


@dataclass(frozen=True)
class Overall:
    """A comparison, seen over all cells at once."""

    comparison: Comparison

    @cached_property
    def values(self) -> "DataFrame":
        """Means by (dataset, metric) and method, turned so that more is better."""
        import pandas as pd

        parts = {
            name: self.comparison.means(measure) * (1 if measure.greater_is_better else -1)
            for name, measure in _FIVE.items()
        }
        stacked = pd.concat(parts, names=["metric", "dataset"]).swaplevel()
        return stacked.reindex(
            pd.MultiIndex.from_product([self.comparison.datasets, _FIVE]),
        ).dropna(how="all")

    @cached_property
    def block(self) -> "DataFrame":
        """The part without gaps: what ranks and tests are about."""
        return complete_block(self.values)

    @cached_property
    def by_cell(self) -> Friedman:
        """Friedman's test over the cells."""
        return friedman(self.block)

    @cached_property
    def by_dataset_block(self) -> "DataFrame":
        """Mean rank of each method over the metrics of a dataset."""
        return self.block.rank(axis=1, ascending=False).groupby(level=0, sort=False).mean()

    @cached_property
    def by_dataset(self) -> Friedman:
        """Friedman's test over the datasets, on mean ranks."""
        return friedman(self.by_dataset_block, greater_is_better=False)

    @property
    def order(self) -> list[str]:
        """The ranked methods, the best first; then the others as they stand."""
        ranked = [str(name) for name in self.by_cell.ranks.sort_values(kind="stable").index]
        return ranked + [name for name in self.comparison.methods if name not in ranked]

    def best(self, method: str) -> int:
        """Return in how many cells no ranked method has a better mean."""
        return int((self.block[method] >= self.block.max(axis=1)).sum())

    def tied(self, method: str, *, corrected: bool = True) -> int:
        """Return in how many cells `method` is best, or not surely behind the best (5 %)."""
        return sum(self._is_tied(cell, method, corrected) for cell in self.block.index)

    def _is_tied(self, cell: tuple[str, str], method: str, corrected: bool) -> bool:
        first = str(self.block.loc[cell].idxmax())
        if method == first:
            return True
        dataset, measure = cell[0], _FIVE[cell[1]]
        a = self.comparison.values(dataset, first, measure)
        b = self.comparison.values(dataset, method, measure)
        shared = a.index.intersection(b.index)
        a, b = a.loc[shared].to_numpy(), b.loc[shared].to_numpy()
        n_folds = self.comparison.n_folds(dataset)
        p = corrected_t_test(a, b, n_folds) if corrected else paired_t_test(a, b)
        return not p < _LEVEL

    def beaten(self, method: str) -> tuple[int, int]:
        """Return how many published cells of VPCME `method` beats, and of how many.

        Compared as printed, to two places.
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

    def worst(self, method: str, other: str) -> tuple[float, str, Measure] | None:
        """Return where `method` is most behind `other` (or least ahead): points, dataset, metric.

        Negative is behind. Per cent count as points, coverage as it is.
        """
        leads = [
            ((self.values.at[cell, method] - self.values.at[cell, other]) * _FIVE[cell[1]].scale,
             cell[0], _FIVE[cell[1]])
            for cell in self.values[[method, other]].dropna().index
        ]  # fmt: skip
        return min(leads, key=lambda lead: lead[0], default=None)


def overall_table(comparison: Comparison, baseline: str = "krr") -> Table | None:
    """Return a row a method: rank over all cells, cells won or tied, published ones beaten.

    Parameters
    ----------
    comparison : Comparison
        Methods and datasets.
    baseline : str
        The method the last columns compare with; left out where it was not run.
    """
    overall = Overall(comparison)
    n, k = overall.block.shape
    if n < 2 or k < 2:
        return None
    columns = {
        "rank": f"Average rank ({n} cells)",
        "best": "Best",
        "tied": "Best or tied, corrected test",
        "tied_paired": "Best or tied, paired test",
        "beaten": "Published VPCME cells beaten",
    }
    with_baseline = baseline in comparison.methods
    if with_baseline:
        columns["worst"] = f"Least lead over {method_title(baseline)}"
    columns["fit"] = "Mean time to fit (s)"
    datasets = overall.block.index.get_level_values(0).unique()
    fits = comparison.means(COSTS["fit_s"]).loc[datasets]
    cells: dict[tuple[str, str], Cell] = {}
    for method in overall.order:
        if method in overall.block:
            rank = float(overall.by_cell.ranks[method])
            lead = method == overall.order[0]
            cells[method, "rank"] = Cell(f"{rank:.2f}", {"": round(rank, 6)}, rank, best=lead)
            if np.isfinite(fit := float(fits[method].mean())):
                cells[method, "fit"] = Cell(COSTS["fit_s"].number(fit), {"": round(fit, 6)}, fit)
            for key, count in (
                ("best", overall.best(method)),
                ("tied", overall.tied(method)),
                ("tied_paired", overall.tied(method, corrected=False)),
            ):
                cells[method, key] = Cell(str(count), {"": count}, float(count))
        beaten, total = overall.beaten(method)
        if total:
            cells[method, "beaten"] = Cell(f"{beaten} of {total}", {"": beaten}, float(beaten))
        if with_baseline and method != baseline:
            cells[method, "worst"] = _worst_cell(overall.worst(method, baseline))
    return Table(
        "overall",
        "All metrics together",
        f"Over the paper's five metrics on {len(datasets)} datasets, "
        f"where all ranked methods were run. Tied: not behind the cell's best by a "
        f"t-test over the folds at 5 %. Beaten: mean better than printed, to two places. Times are "
        "those of the machine and the load at hand; between runs they do not compare.",
        "Method",
        columns,
        {method: method_title(method) for method in overall.order},
        cells,
    )


def _worst_cell(found: tuple[float, str, Measure] | None) -> Cell:
    if found is None:
        return Cell()
    lead, dataset, measure = found
    text = f"{signed(lead)} ({dataset}, {measure.title})"
    return Cell(text, {"": round(lead, 6)}, lead)


def overall_findings(comparison: Comparison) -> list[str]:
    """Say who leads over all cells, and over whom the lead is significant."""
    overall = Overall(comparison)
    n, k = overall.block.shape
    n_datasets = overall.block.index.get_level_values(0).nunique() if n else 0
    if k < 3 or n_datasets < 2:
        return []
    first = overall.order[0]
    rank = overall.by_cell.ranks[first]
    return [
        f"Over {n} cells ({n_datasets} datasets × {n // n_datasets} metrics) "
        f"{method_title(first)} has the best average rank, {rank:.2f} among {k} methods.",
        f"Nemenyi's test over the cells (critical difference {overall.by_cell.cd:.2f}, "
        f"Friedman's p {p_text(overall.by_cell.p)}): {_verdict(overall.block, overall.order)}",
        f"The stricter test over the {n_datasets} datasets, each with its mean rank (critical "
        f"difference {overall.by_dataset.cd:.2f}, Friedman's p {p_text(overall.by_dataset.p)}): "
        f"{_verdict(overall.by_dataset_block, overall.order)}",
    ]


def _verdict(block: "DataFrame", order: list[str]) -> str:
    """Say of whom the first is surely ahead."""
    p = nemenyi(block).loc[order[0]]
    ranked = [name for name in order[1:] if name in block]
    behind = [method_title(name) for name in ranked if p[name] < _LEVEL]
    level = [method_title(name) for name in ranked if not p[name] < _LEVEL]
    if not behind:
        return "at 5 % it is ahead of no single method."
    sentence = f"at 5 % it is ahead of {listing(behind)}"
    return sentence + (f", but not of {listing(level, 'or')}." if level else ".")
