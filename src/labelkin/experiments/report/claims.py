"""Every claim of the paper's section 4, read as comparisons whose direction it predicts.

A claim *holds* where all comparisons come out as predicted, *holds partly* where more than half
do, and *does not hold* otherwise; beside it stand the numbers of comparisons that the tests on one
dataset find significant, in the predicted direction and in the other. Claims on rankings are
judged under both rules for ties, and claims on Table 3 under two readings of its settings.

``data/claims.csv`` lists the claims: what is compared (`over`: Table 3, the parts of VPCME, or the
settings of a parameter), by which of the functions below (`judge`), and which methods or settings
should be `better` than which.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, groupby, pairwise, product
from typing import NamedTuple

from labelkin.experiments.report.comparison import (
    TESTS,
    Comparison,
    Contrast,
    Sweep,
    compare_folds,
)
from labelkin.experiments.report.published import MEASURES, TIE_RULES, read_data
from labelkin.experiments.report.table import Table, word_table
from labelkin.experiments.report.tables import dataset_table
from labelkin.metrics import Metric

_BASES = ("cchains", "clr")  # the methods whose base learners the paper compares


@dataclass(frozen=True)
class Evidence:
    """Results under one rule for ties."""

    main: Comparison
    components: Comparison
    sweeps: list[Sweep]

    def over(self, what: str, reading: str = "") -> list[Comparison]:
        """Return the comparisons that a claim is about; `reading` is one of Table 3's settings."""
        if what == "table3":
            return [self.main.in_paper_columns(reading)]
        if what == "components":
            return [self.components]
        methods = _BASES if what == "estimator" else ("vpcme",)
        return [s for s in self.sweeps if s.parameter == what and s.method in methods]


class Claim(NamedTuple):
    """A claim and what became of it, in words."""

    section: str
    claim: str
    source: str
    """Names of the tables it is judged by."""
    verdict: str
    figure: str
    """Comparisons as predicted, of all."""
    tests: str
    """Significant comparisons for and against the claim, by each test."""


def find_claims(evidence: dict[str, Evidence]) -> list[Claim]:
    """Return all claims, judged by results under each rule for ties, ``"against"`` first."""
    readings = next(iter(evidence.values())).main.readings
    claims = []
    for over, rows in groupby(read_data("claims.csv"), key=lambda row: row["over"]):
        about = list(rows)
        for reading in readings if over == "table3" else [""]:
            for row in about:
                claim = f"{row['claim']} ({reading})" if reading else row["claim"]
                judged = [_count(_judge(found, row, reading)) for found in evidence.values()]
                parts = zip(*judged, strict=True)
                told = (_by_rule(evidence, part) for part in parts)
                claims.append(Claim(row["section"], claim, row["tables"], *told))
    return claims


def _by_rule(rules: Iterable[str], texts: tuple[str, ...]) -> str:
    """Return the texts of all rules for ties, told apart where they differ."""
    if len(set(texts)) == 1:
        return texts[0]
    pairs = zip(rules, texts, strict=True)
    return "; ".join(f"{TIE_RULES[rule]}: {text}" for rule, text in pairs)


Finding = Contrast | bool
"""A comparison whose first side is claimed to be better, or one without a test."""


def _count(findings: Iterable[Finding]) -> tuple[str, str, str]:
    """Return the verdict, the count, and the tests of a claim."""
    found = list(findings)
    contrasts = [f for f in found if isinstance(f, Contrast) and not math.isnan(f.lead)]
    outcomes = [f for f in found if isinstance(f, bool)] + [c.lead > 0 for c in contrasts]
    n, right = len(outcomes), sum(outcomes)
    if not n:
        return "not run", "", ""
    verdict = "holds" if right == n else "holds partly" if 2 * right > n else "does not hold"
    marks = {test: [c.mark(test) for c in contrasts] for test in TESTS if contrasts}
    tests = ", ".join(f"{t} {m.count('•')} for, {m.count('○')} against" for t, m in marks.items())
    if marks and not any(mark for found in marks.values() for mark in found):
        tests = "none significant"
    return verdict, f"{right} of {n}", tests


# ------------------------------------------------------------------------------ the judges


@dataclass(frozen=True)
class _Question:
    """One comparison that a claim is about, in one metric."""

    evidence: Evidence
    comparison: Comparison
    measure: Metric
    better: list[str]
    worse: list[str]
    datasets: list[str]


def _judge(evidence: Evidence, row: dict[str, str], reading: str) -> Iterator[Finding]:
    if row["judge"] == "statistics":
        if table := dataset_table(evidence.main.datasets):
            yield from (entry.text == entry.published for entry in table.entries.values())
        return
    for comparison, metric in product(evidence.over(row["over"], reading), row["metrics"].split()):
        words = (row[key].split() for key in ("better", "worse", "datasets"))
        yield from _JUDGES[row["judge"]](_Question(evidence, comparison, MEASURES[metric], *words))


def _better(asked: _Question) -> Iterator[Finding]:
    comparison, measure = asked.comparison, asked.measure
    for first, second in product(asked.better, asked.worse):
        for dataset in asked.datasets or comparison.datasets:
            if first != second:
                yield comparison.contrast(dataset, first, second, measure)


def _alike(asked: _Question) -> Iterator[Finding]:
    """Find whether no two settings differ by the corrected test."""
    sweep = asked.comparison
    [dataset] = sweep.datasets
    for first, second in combinations(asked.better, 2):
        contrast = sweep.contrast(dataset, first, second, asked.measure)
        if not math.isnan(contrast.lead):
            yield contrast.mark("corrected") == ""


def _narrower(asked: _Question) -> Iterator[Finding]:
    means = asked.comparison.means(asked.measure).dropna() * asked.measure.scale
    spread = means.max(axis=1) - means.min(axis=1)
    text = spread[spread.index.isin(asked.datasets)]
    rest = spread[spread.index.isin(["yeast", "scene", "genbase"])]
    yield from (bool(value < other) for value, other in product(text, rest))


def _steeper(asked: _Question) -> Iterator[Finding]:
    """Compare the range on yeast with that on business, once both are there."""
    sweeps = {c.datasets[0]: c for c in asked.evidence.over("threshold")}
    if asked.comparison.datasets == ["yeast"] and "business" in sweeps:
        means = [sweeps[d].means(asked.measure).loc[d] for d in ("yeast", "business")]
        yeast, business = (found.max() - found.min() for found in means)
        yield bool(yeast > business)


def _rising(asked: _Question) -> Iterator[Finding]:
    sweep, measure = asked.comparison, asked.measure
    [dataset] = sweep.datasets
    for before, after in pairwise(sweep.methods):
        yield sweep.contrast(dataset, after, before, measure)


def _single(asked: _Question) -> Iterator[Finding]:
    main, sweep, [dataset] = asked.evidence.main, asked.comparison, asked.comparison.datasets
    [setting], [method] = asked.better, asked.worse
    if setting in sweep.methods and method in main.methods and dataset in main.datasets:
        alone = main.values(dataset, method, asked.measure)
        yield compare_folds(sweep.values(dataset, setting, asked.measure), alone, asked.measure)


def _slight(asked: _Question) -> Iterator[Finding]:
    if set(asked.better) <= set(asked.comparison.methods):
        one, thirty, fifty = asked.comparison.means(asked.measure).iloc[0][asked.better]
        yield bool(abs(fifty - thirty) <= abs(thirty - one) / 10)


_JUDGES: dict[str, Callable[[_Question], Iterator[Finding]]] = {
    "better": _better,
    "alike": _alike,
    "narrower": _narrower,
    "steeper": _steeper,
    "rising": _rising,
    "single": _single,
    "slight": _slight,
}


def claims_table(claims: list[Claim]) -> Table | None:
    """Return one line per claim: verdict, figures, tests, and the tables they are from."""
    columns = {
        "section": "Section", "claim": "Claim", "verdict": "Verdict",
        "figure": "Comparisons as claimed", "tests": "Significant at 1 %", "source": "From",
    }  # fmt: skip
    return word_table(
        "claims",
        "The claims of the paper's section 4",
        columns,
        [claim._asdict() for claim in claims],
        caption="A claim is read as comparisons of means over the same folds. It holds where all "
        "come out as claimed, partly where more than half do, and else does not hold. "
        "Significant: comparisons for and against the claim by the paired t-test and by the "
        "corrected one. Ties: labels with equal scores count against the method, or are ranked "
        "by index as in Mulan.",
        bold="verdict",
    )
