"""Every claim of the paper's section 4, read as comparisons whose direction it predicts.

A claim *holds* where all comparisons come out as predicted, *holds partly* where more than half
do, and *does not hold* otherwise; beside it stand the numbers of comparisons that the tests on one
dataset find significant, in the predicted direction and in the other. Claims on rankings are
judged under both rules for ties; claims on Table 3 by the settings that the paper states.

``data/claims.csv`` lists the claims: what is compared (`over`: Table 3, the parts of VPCME, or the
settings of a parameter), in which way (`judge`, see `_judge`), and which methods or settings
should be `better` than which.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, product

import pandas as pd

from labelkin.experiments.report.comparison import (
    TESTS,
    Comparison,
    Contrast,
    Sweep,
    compare_folds,
)
from labelkin.experiments.report.published import COLUMNS, MEASURES, TIE_RULES, read_data
from labelkin.experiments.report.table import Table, word_table
from labelkin.experiments.report.tables import dataset_table

_BASES = ("cchains", "clr")  # the methods whose base learners the paper compares
_NO_TEXT = ("yeast", "scene", "genbase")  # the datasets without texts


@dataclass(frozen=True)
class Evidence:
    """Results under one rule for ties: all methods, the parts of VPCME, and settings."""

    main: Comparison
    components: Comparison
    sweeps: list[Sweep]

    @classmethod
    def of(cls, frame: pd.DataFrame, reference: str | None = "vpcme") -> "Evidence":
        """Return the comparisons of checked results."""
        main = Comparison.of(frame, reference)
        components = Comparison.of(frame, reference, components=True)
        if not main:  # Group 4 alone was run
            main, components = components, main
        return cls(main, components, Sweep.all_of(frame))

    @cached_property
    def _table3(self) -> Comparison:
        """The methods of Table 3, with the settings that the paper states."""
        return self.main.among(COLUMNS)

    def over(self, what: str) -> list[Comparison]:
        """Return the comparisons that a claim is about."""
        if what in ("table3", "components"):
            return [self._table3 if what == "table3" else self.components]
        methods = _BASES if what == "estimator" else ("vpcme",)
        return [s for s in self.sweeps if s.parameter == what and s.method in methods]


def find_claims(evidence: dict[str, Evidence]) -> list[dict[str, str]]:
    """Return all claims, judged by results under each rule for ties, ``"against"`` first.

    A claim has its section, its words, the tables it is judged by, the verdict, how many
    comparisons are as predicted, and how many are significant for and against it by each test.
    """
    claims = []
    for row in read_data("claims.csv"):
        claim = {"section": row["section"], "claim": row["claim"], "source": row["tables"]}
        judged = {rule: _count(_judge(found, row)) for rule, found in evidence.items()}
        for key in ("verdict", "figure", "tests"):
            parts = [f"{TIE_RULES[rule]}: {found[key]}" for rule, found in judged.items()]
            alike = len({found[key] for found in judged.values()}) == 1
            claim[key] = judged["against"][key] if alike else "; ".join(parts)
        claims.append(claim)
    return claims


Finding = Contrast | bool
"""A comparison whose first side is claimed to be better, or one without a test."""


def _count(findings: Iterable[Finding]) -> dict[str, str]:
    """Return the verdict, the count, and the tests of a claim."""
    found = list(findings)
    contrasts = [f for f in found if isinstance(f, Contrast) and not math.isnan(f.lead)]
    outcomes = [f for f in found if isinstance(f, bool)] + [c.lead > 0 for c in contrasts]
    n, right = len(outcomes), sum(outcomes)
    if not n:
        return {"verdict": "not run", "figure": "", "tests": ""}
    verdict = "holds" if right == n else "holds partly" if 2 * right > n else "does not hold"
    marks = {test: [c.mark(test) for c in contrasts] for test in TESTS if contrasts}
    tests = ", ".join(f"{t} {m.count('•')} for, {m.count('○')} against" for t, m in marks.items())
    if marks and not any(map(any, marks.values())):
        tests = "none significant"
    return {"verdict": verdict, "figure": f"{right} of {n}", "tests": tests}


def _judge(evidence: Evidence, row: dict[str, str]) -> Iterator[Finding]:
    """Yield the comparisons of a claim."""
    if row["judge"] == "statistics":
        if table := dataset_table(evidence.main.datasets):
            yield from (entry.text == entry.published for entry in table.entries.values())
        return
    better, worse, datasets, metrics = (
        row[key].split() for key in ("better", "worse", "datasets", "metrics")
    )
    for comparison, metric in product(evidence.over(row["over"]), metrics):
        measure, methods = MEASURES[metric], set(comparison.methods)
        means = comparison.means(measure)
        first_dataset = next(iter(comparison.datasets), "")  # the only one of a sweep
        match row["judge"]:
            case "better":
                for first, second in product(better, worse):
                    for dataset in datasets or comparison.datasets:
                        if first != second:
                            yield comparison.contrast(dataset, first, second, measure)
            case "alike":  # no two settings differ, by the corrected test
                for first, second in combinations(better, 2):
                    contrast = comparison.contrast(first_dataset, first, second, measure)
                    if not math.isnan(contrast.lead):
                        yield contrast.mark("corrected") == ""
            case "rising":  # each setting is better than the one before
                for before, after in pairwise(comparison.methods):
                    yield comparison.contrast(first_dataset, after, before, measure)
            case "narrower":  # the methods differ less on `datasets` than on those without text
                spread = means.dropna().max(axis=1) - means.dropna().min(axis=1)
                text, rest = (spread[spread.index.isin(names)] for names in (datasets, _NO_TEXT))
                yield from (bool(value < other) for value, other in product(text, rest))
            case "steeper":  # the means have a wider range on yeast than on business
                ranges = {}
                for sweep in evidence.over(row["over"]):
                    values = sweep.means(measure).iloc[0]
                    ranges[sweep.datasets[0]] = float(values.max() - values.min())
                if first_dataset == "yeast" and "business" in ranges:
                    yield ranges["yeast"] > ranges["business"]
            case "single":  # a setting is better than a method of Table 3
                [setting], [method], main = better, worse, evidence.main
                if setting in methods and method in main.methods and first_dataset in main.datasets:
                    ours = comparison.values(first_dataset, setting, measure)
                    alone = main.values(first_dataset, method, measure)
                    yield compare_folds(ours, alone, measure)
            case "slight":  # from the second to the third setting at most a tenth of the first step
                if set(better) <= methods:
                    one, two, three = means.iloc[0][better]
                    yield bool(abs(three - two) <= abs(two - one) / 10)


def claims_table(evidence: dict[str, Evidence]) -> Table | None:
    """Return one line per claim: verdict, figures, tests, and the tables they are from."""
    columns = {
        "section": "Section", "claim": "Claim", "verdict": "Verdict",
        "figure": "Comparisons as claimed", "tests": "Significant at 1 %", "source": "From",
    }  # fmt: skip
    return word_table(
        "claims",
        "The claims of the paper's section 4",
        columns,
        find_claims(evidence),
        caption="A claim is read as comparisons of means over the same folds. It holds if all "
        "come out as claimed, holds partly if more than half do, and otherwise does not hold. "
        "Significant: comparisons for and against the claim by the paired t-test and by the "
        "corrected one. Ties: labels with equal scores count against the method, or are ranked "
        "by index as in Mulan.",
        bold="verdict",
    )
