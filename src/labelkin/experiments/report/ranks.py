"""Ranks of methods over datasets and the tests of their differences, in tables and sentences.

In one metric, methods are ranked on each dataset, by their means over the folds. Over all metrics
together, they are ranked in each pair of a dataset and one of the paper's five metrics. The five
metrics of a dataset depend on one another, so tests are over datasets, each with its mean ranks.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from labelkin._utils.names import plural
from labelkin.experiments.report.comparison import Comparison, method_title
from labelkin.experiments.report.published import MEASURES, PRINTED_METRICS, REFERENCE, published
from labelkin.experiments.report.statistics import (
    complete_block,
    friedman,
    wilcoxon_holm,
)
from labelkin.experiments.report.table import Entry, Table, listing
from labelkin.metrics import Metric

LEVEL = 0.05
"""Level of all tests over datasets."""

_FIRST = "average_precision"  # the metric of the headline
_FIVE = {name: MEASURES[name] for name in PRINTED_METRICS}


def format_p(p: float) -> str:
    """Return a p-value as text, such as ``0.012`` or ``< 0.001``."""
    return "<\u00a00.001" if p < 0.001 else f"{p:.2g}"


_FRIEDMAN: dict[str, tuple[str, Callable[[float], str]]] = {
    "n_datasets": ("Datasets", "{:.0f}".format),
    "chi2": ("Friedman χ²", "{:.2f}".format),
    "p": ("p", format_p),
    "cd": ("Critical difference", "{:.2f}".format),
}


def friedman_table(comparison: Comparison) -> Table | None:
    """Return average ranks and Friedman's test in every metric; None where there is no test."""
    found = {key: comparison.friedman(measure) for key, measure in MEASURES.items()}
    tests = {key: test for key, test in found.items() if test is not None}
    entries = {}
    for key, test in tests.items():
        for method, rank in test.ranks.items():
            entries[key, str(method)] = Entry.of(rank, best=rank == test.ranks.min())
        for column, (_, text) in _FRIEDMAN.items():
            value = float(getattr(test, column))
            if not np.isnan(value):  # without three methods there is no test
                entries[key, column] = Entry(text(value), {"": value}, value)
    ranked = [m for m in comparison.methods if any(m in test.ranks for test in tests.values())]
    table = Table(
        name="tests_friedman",
        title="Average ranks and Friedman's test over datasets",
        caption="On the datasets where all ranked methods were run, 1 the best; critical "
        "difference by Nemenyi at 5 %. A second setting of a column of the paper, such as RAkEL "
        "with k = 3, is not ranked beside the first.",
        corner="Metric",
        columns={name: method_title(name) for name in ranked}
        | {key: title for key, (title, _) in _FRIEDMAN.items()},
        rows={key: MEASURES[key].directed_title for key in tests},
        entries=entries,
    )
    return table if tests else None


def wilcoxon_table(comparison: Comparison) -> Table | None:
    """Return Wilcoxon's test of the reference against each method, corrected by Holm."""
    reference = comparison.reference
    rows, entries = {}, {}
    for key, measure in MEASURES.items():
        scores = comparison.scores(measure)
        if reference is None or reference not in scores or min(scores.shape) < 2:
            continue
        rows[key] = measure.directed_title
        lead = scores.rsub(scores[reference], axis=0).median()
        for method, p, holm in wilcoxon_holm(scores, control=reference).itertuples():
            mark = ("•" if lead[method] > 0 else "○") if holm < LEVEL else ""
            numbers = {"p": p, "p holm": holm}
            entries[key, method] = Entry(format_p(holm), numbers, holm, mark=mark)
    if not rows or reference is None:
        return None
    tested = {method for _, method in entries}
    title = method_title(reference)
    return Table(
        name="tests_wilcoxon",
        title=f"Wilcoxon's signed-rank test of {title} over datasets, p-values corrected by Holm",
        caption=f"•/○: {title} is better/worse at 5 %.",
        corner="Metric",
        columns={name: method_title(name) for name in comparison.methods if name in tested},
        rows=rows,
        entries=entries,
    )


@dataclass(frozen=True)
class Overall:
    """A comparison over all pairs of a dataset and a metric."""

    comparison: Comparison

    @cached_property
    def values(self) -> pd.DataFrame:
        """Means by (dataset, metric) and method, losses negated so that more is better."""
        parts = {name: self.comparison.means(m) * m.sign for name, m in _FIVE.items()}
        pairs = pd.MultiIndex.from_product([self.comparison.datasets, _FIVE])
        return pd.concat(parts).swaplevel().reindex(pairs).dropna(how="all")

    @cached_property
    def block(self) -> pd.DataFrame:
        """The part of `values` without gaps, which is ranked and tested."""
        return complete_block(self.values)

    @cached_property
    def ranks(self) -> pd.Series:
        """Average rank of each method over the pairs, 1 the best."""
        return self.block.rank(axis=1, ascending=False).mean()

    @cached_property
    def dataset_scores(self) -> pd.DataFrame:
        """Mean rank of each method over the metrics of a dataset, negated: more is better."""
        return -self.block.rank(axis=1, ascending=False).groupby(level=0, sort=False).mean()

    @property
    def order(self) -> list[str]:
        """The ranked methods, the best first; then the others in the comparison's order."""
        ranked = [str(name) for name in self.ranks.sort_values(kind="stable").index]
        return ranked + [name for name in self.comparison.methods if name not in ranked]

    def best(self, method: str) -> int:
        """Return in how many pairs no ranked method has a better mean."""
        return int((self.block[method] >= self.block.max(axis=1)).sum())

    def tied(self, method: str) -> int:
        """Return in how many pairs `method` is best, or not surely behind the best (5 %)."""
        return sum(
            method == first
            or not self.comparison.contrast(dataset, first, method, _FIVE[name]).corrected < LEVEL
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
                    beaten += lead * measure.sign > 1e-9
        return beaten, total


def overall_table(comparison: Comparison) -> Table | None:
    """Return one row per method: rank over all pairs, pairs won or tied, published ones beaten."""
    overall = Overall(comparison)
    if min(overall.block.shape) < 2:
        return None
    columns = {
        "rank": f"Average rank ({len(overall.block)} dataset–metric pairs)",
        "best": "Best",
        "tied": "Best or tied, corrected test",
        "beaten": "Published VPCME figures beaten",
        "fit": "Mean time to fit (s)",
    }
    explained = (
        " The sentence and the diagram rank the methods once per dataset, by their mean rank there."
        " Tied: not behind the best by a t-test over the folds at 5 %. Beaten: mean better than "
        "the published one, to two decimals. Times depend on the machine and its load, so they "
        "cannot be compared between runs."
    )
    if comparison.is_holdout:  # no folds to test over, and other rows than the published figures
        columns, explained = {key: columns[key] for key in ("rank", "best")}, ""
    entries = {}
    datasets = overall.dataset_scores.index
    times = comparison.common[comparison.common["dataset"].isin(datasets)]
    seconds = times.groupby(["method", "dataset"])["fit_s"].mean().groupby("method").mean()
    for method in overall.order:
        if method in overall.block:
            rank = float(overall.ranks[method])
            entries[method, "rank"] = Entry.of(rank, best=method == overall.order[0])
            entries[method, "best"] = Entry.of(overall.best(method), str)
            entries[method, "tied"] = Entry.of(overall.tied(method), str)
            if np.isfinite(fit := float(seconds[method])):
                entries[method, "fit"] = Entry.of(fit, "{:.3g}".format)
        beaten, total = overall.beaten(method)
        if total:
            entries[method, "beaten"] = Entry.of(beaten, f"{beaten} of {total}")
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


# ------------------------------------------------------------------------------ sentences


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


def rank_sentence(scores: pd.DataFrame, what: str) -> str:
    """Return which method has the best average rank in `what`, and ahead of which significantly.

    `scores` has one row per dataset and one column per method, without gaps; more is better.
    """
    result = friedman(scores)
    first, *others = map(str, result.ranks.sort_values(kind="stable").index)
    lead = (
        f"{leader_phrase(result.ranks)} in {what}, {result.ranks.min():.2f} among "
        f"{result.n_methods} methods on {result.n_datasets} datasets"
    )
    if len(others) == 1:
        p = wilcoxon_holm(scores, control=first)["p"].iloc[0]
        verdict = "a significant lead" if p < LEVEL else "no significant lead"
        return f"{lead}: {verdict} over {_titles(others)} (Wilcoxon's test, {p_phrase(p)})."
    test = f"(Friedman's test, {p_phrase(result.p)})"
    if not result.p < LEVEL:
        return f"{lead}, but the methods cannot be told apart {test}."
    is_behind = result.ranks - result.ranks[first] > result.cd
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
    if not k:
        return "No two methods have results on the same dataset: there is nothing to compare."
    if k < 2:
        only = _titles(scores.columns)
        return f"{only} was run on {plural(n, 'dataset')}, with no other method to compare it with."
    if n < 2:
        row = scores.iloc[0].sort_values(ascending=False, kind="stable")
        shown = [f"({value * measure.sign * measure.scale:.2f})" for value in row]
        titles = [method_title(str(name)) for name in row.index]
        n_best = shown.count(shown[0])
        best = listing(titles[:n_best])
        verb = "is" if n_best == 1 else "are"
        text = f"On {scores.index[0]}, {best} {shown[0]} {verb} best in {what}"
        if n_best < k:
            text += f", before {titles[n_best]} {shown[n_best]}"
        return f"{text}; one dataset does not show how they compare on others."
    return rank_sentence(scores, what)


def overall_sentence(comparison: Comparison) -> str:
    """Return which method leads over all metrics, and over which others significantly."""
    scores = Overall(comparison).dataset_scores
    if scores.shape[1] < 3 or len(scores) < 2:
        return ""
    return rank_sentence(scores, "the paper's five metrics together")
