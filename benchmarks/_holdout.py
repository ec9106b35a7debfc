"""Published test rows beside folds: how optimistic the cross-validated figures are.

Choices that were made on the folds of a dataset favour the method they were made for. Its test rows
were left out of them. Every method trains on more rows there than in a fold, so that its figures
improve; the methods of other libraries, for which nothing was chosen on these data, show how much
improvement to expect. If a method improves less, its cross-validated figures may be optimistic;
methods also gain differently from more training rows, so that only a large difference is
meaningful.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from labelkin.experiments.report.comparison import Comparison, method_title
from labelkin.experiments.report.published import MEASURES
from labelkin.experiments.report.ranks import Overall, leader_phrase
from labelkin.experiments.report.table import Entry, Table, listing, signed
from labelkin.experiments.run.peers import PEERS

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_PRECISION = MEASURES["average_precision"]


@dataclass(frozen=True)
class Optimism:
    """Methods on the same datasets by folds and on the published test rows."""

    folds: Comparison
    holdout: Comparison

    @cached_property
    def methods(self) -> list[str]:
        """The ranked methods that both have on all common datasets, the best on test rows first."""
        means = [found.means(_PRECISION).loc[self.datasets] for found in (self.folds, self.holdout)]
        complete = [set(frame.columns[frame.notna().all()]) for frame in means]
        both = [name for name in self.holdout.ranked.methods if all(name in c for c in complete)]
        ranks = self._ranks(self.holdout, both)
        return sorted(both, key=lambda name: (ranks[name], name))

    @cached_property
    def datasets(self) -> list[str]:
        """The datasets that both have."""
        return [name for name in self.holdout.datasets if name in self.folds.datasets]

    def ranks(self, comparison: Comparison) -> "Series":
        """Return average ranks over the pairs of a common dataset and a metric."""
        return self._ranks(comparison, self.methods)

    def _ranks(self, comparison: Comparison, methods: list[str]) -> "Series":
        values = Overall(comparison).values[methods]
        kept = values.index.get_level_values(0).isin(self.datasets)
        return values[kept].rank(axis=1, ascending=False).mean()

    def precision(self, comparison: Comparison) -> "Series":
        """Return the mean average precision over the common datasets, in percent."""
        means: DataFrame = comparison.means(_PRECISION).loc[self.datasets, self.methods]
        return means.mean() * _PRECISION.scale

    @cached_property
    def changes(self) -> "Series":
        """Mean average precision on the test rows minus that of the folds."""
        return self.precision(self.holdout) - self.precision(self.folds)

    @cached_property
    def expected(self) -> float:
        """Mean change of the methods of other libraries."""
        return float(self.changes[[name for name in self.methods if name in PEERS]].mean())


def optimism_table(folds: Comparison, holdout: Comparison) -> Table | None:
    """Return one row per method: ranks and average precision by folds and on test rows.

    None where the two comparisons share no dataset or no method of another library.
    """
    found = Optimism(folds, holdout)
    if not found.datasets or not set(found.methods) & set(PEERS):
        return None
    numbers = {
        "rank_folds": (found.ranks(folds), "{:.2f}".format),
        "rank": (found.ranks(holdout), "{:.2f}".format),
        "precision_folds": (found.precision(folds), "{:.2f}".format),
        "precision": (found.precision(holdout), "{:.2f}".format),
        "change": (found.changes, signed),
        "shortfall": (found.expected - found.changes, signed),
    }
    entries = {
        (method, key): Entry(text(value), {"": round(float(value), 6)}, float(value))
        for key, (series, text) in numbers.items()
        for method, value in series.items()
    }
    n = len(found.datasets)
    return Table(
        name="optimism",
        title="Published test rows beside folds",
        caption=f"Over {listing(found.datasets)}. Ranks are over {n} datasets × 5 metrics, among "
        "these methods. Change: average precision on test rows minus that by folds, whose models "
        "have fewer training rows. Shortfall: the mean change of the methods of other libraries "
        f"({signed(found.expected)}), for which nothing was chosen on these data, minus the "
        "method's own: by how much cross-validated figures may be too high.",
        corner="Method",
        columns={
            "rank_folds": "Rank by folds",
            "rank": "Rank on test rows",
            "precision_folds": "Average precision by folds (%)",
            "precision": "On test rows (%)",
            "change": "Change",
            "shortfall": "Shortfall",
        },
        rows={method: method_title(method) for method in found.methods},
        entries=entries,
    )


def optimism_findings(
    folds: Comparison, holdout: Comparison, methods: tuple[str, ...]
) -> list[str]:
    """Return which method leads on the test rows, and how optimistic the folds are for `methods`.

    These are the methods for which choices were made on the folds.
    """
    found = Optimism(folds, holdout)
    if optimism_table(folds, holdout) is None:
        return []
    ranks, before = found.ranks(holdout), found.ranks(folds)
    n, k = len(found.datasets), len(found.methods)
    sentences = [
        f"On the published test rows of {n} datasets, on which no choice was made, "
        f"{leader_phrase(ranks)} over {n} × 5 dataset–metric pairs, {ranks.min():.2f} among {k} "
        f"methods. By cross-validation on the training rows, {leader_phrase(before)}, "
        f"{before.min():.2f}."
    ]
    judged = [name for name in methods if name in found.methods]
    if judged:
        parts = [f"{signed(found.changes[name])} for {method_title(name)}" for name in judged]
        shortfalls = [signed(found.expected - found.changes[name]) for name in judged]
        sentences.append(
            "From the folds to the test rows, mean average precision changes by "
            f"{signed(found.expected)} points for the methods of other libraries and by "
            f"{listing(parts)}. "
            + ("The difference, " if len(judged) == 1 else "The differences, ")
            + f"{listing(shortfalls)} points, "
            + ("estimates" if len(judged) == 1 else "estimate")
            + " by how much cross-validated figures are too high (negative: too low)."
        )
    return sentences
