"""Every claim of the paper's section 4, read as comparisons whose direction it predicts.

A claim *holds* where all comparisons come out as predicted, *holds partly* where more than half
do, and *does not hold* otherwise; beside it stand the numbers of comparisons that the tests on one
dataset find significant, in the predicted direction and in the other. Claims on rankings are
judged under both rules for ties.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise, product
from typing import NamedTuple

from labelkin.experiments.report.agreement import dataset_table
from labelkin.experiments.report.comparison import (
    TESTS,
    Comparison,
    Contrast,
    Sweep,
    Test,
    compare_folds,
    method_title,
)
from labelkin.experiments.report.measures import MEASURES, Measure
from labelkin.experiments.report.published import PRINTED_METRICS, column
from labelkin.experiments.report.table import Entry, Table
from labelkin.experiments.report.ties import RULES, paper_columns

_FIVE = [MEASURES[name] for name in PRINTED_METRICS]
_SEVEN = list(MEASURES.values())
_TWO = _SEVEN[5:]
_CURVES = [MEASURES[name] for name in ("average_precision", "f1", "recall")]
_TEXT = (
    "enron", "medical", "arts", "business", "education", "entertainment", "health", "science",
    "social",
)  # fmt: skip
_PLATEAU = ("0.4", "0.5", "0.6", "0.7")
_OTHERS = ("rakel", "iblr", "clr", "cchains", "mlknn")


@dataclass(frozen=True)
class Evidence:
    """Results under one rule for ties."""

    main: Comparison
    components: Comparison
    sweeps: list[Sweep]

    def sweeps_of(
        self, parameter: str, methods: Iterable[str] = ("vpcme",), dataset: str | None = None
    ) -> list[Sweep]:
        """Return the sweeps of a parameter that were run, on one dataset or all."""
        return [
            sweep
            for sweep in self.sweeps
            if sweep.parameter == parameter
            and sweep.method in methods
            and dataset in (sweep.dataset, None)
        ]


class Claim(NamedTuple):
    """A claim and what became of it, in words."""

    section: str
    text: str
    source: str
    """Names of the tables it is judged by."""
    verdict: str
    figure: str
    """Comparisons as predicted, of all, and examples."""
    tests: str
    """Significant comparisons for and against the claim, by each test."""


Finding = Contrast | bool | str
"""A comparison whose first side is claimed to be better, one without a test, or an example."""

_Judge = Callable[[Evidence], Iterable[Finding]]


def find_claims(evidence: dict[str, Evidence]) -> list[Claim]:
    """Return all claims, judged by results under each rule for ties, ``"against"`` first."""
    claims = []
    for section, text, source, judge in _claims(next(iter(evidence.values())).main):
        parts = zip(*(_count(judge(found)) for found in evidence.values()), strict=True)
        claims.append(Claim(section, text, source, *(_by_rule(evidence, part) for part in parts)))
    return claims


def _count(findings: Iterable[Finding]) -> tuple[str, str, str]:
    """Return the verdict, the count with examples, and the tests of a claim."""
    n = right = 0
    significant: dict[Test, list[int]] = {}
    examples = []
    for finding in findings:
        if isinstance(finding, str):
            examples.append(finding)
        elif isinstance(finding, bool):
            n += 1
            right += finding
        elif not math.isnan(finding.lead):
            n += 1
            right += finding.lead > 0
            for test in TESTS:
                counts = significant.setdefault(test, [0, 0])
                counts[0] += finding.mark(test) == "•"
                counts[1] += finding.mark(test) == "○"
    if not n:
        return "not run", "", ""
    verdict = "holds" if right == n else "holds partly" if 2 * right > n else "does not hold"
    tests = ", ".join(f"{t} {yes} for, {no} against" for t, (yes, no) in significant.items())
    if significant and not any(map(sum, significant.values())):
        tests = "none significant"
    return verdict, "; ".join([f"{right} of {n}", *examples]), tests


def _by_rule(rules: Iterable[str], texts: tuple[str, ...]) -> str:
    """Return the texts of all rules for ties, told apart where they differ."""
    if len(set(texts)) == 1:
        return texts[0]
    pairs = zip(rules, texts, strict=True)
    return "; ".join(f"{RULES[rule]}: {text}" for rule, text in pairs)


def _claims(main: Comparison) -> Iterator[tuple[str, str, str, _Judge]]:
    """Yield section, text, tables and judge of each claim."""
    yield "4.2", "The datasets have the statistics of Table 2", "table2", _statistics
    source = "sweep_cchains_estimator, sweep_clr_estimator"
    worse = "KNN as base learner is worse than C4.5 (CChains, CLR)"
    yield "4.3.1", worse, source, lambda e: _base_learners(e, "c45", "knn")
    alike = "C4.5 and an SVM do not differ as base learners, by the corrected test (CChains, CLR)"
    yield "4.3.1", alike, source, _similar_bases
    settings = {"settings of the text": False, "settings of the published columns": True}
    if paper_columns(main, as_published=True) == paper_columns(main, as_published=False):
        del settings["settings of the published columns"]
    for words, as_published in settings.items():
        # The columns of Table 3 that are better, and those that are worse.
        for number, text, source, better, others, datasets in (
            (1, "VPCME is better than the compared methods", "table3", ["vpcme"], _OTHERS, None),
            (2, "CChains is worse than the others", "table3", [*_OTHERS, "vpcme"], ["cchains"],
             None),
            (3, "IBLR-ML is better than RAkEL and CChains", "table3", ["iblr"],
             ["rakel", "cchains"], None),
            (4, "On text, CLR is better than all but VPCME", "table3", ["clr"], _OTHERS, _TEXT),
            (5, "VPCME is better than ML-kNN, its base learner", "table3, table4", ["vpcme"],
             ["mlknn"], None),
        ):  # fmt: skip
            judge = partial(_columns, as_published, better, others, datasets)
            yield f"4.4.1 ({number})", f"{text} ({words})", source, judge
        text = f"In Hamming loss the methods differ less on text than elsewhere ({words})"
        yield "4.4.1 (6)", text, "table3_hamming_loss", partial(_narrow, as_published)
    curves = "Average precision, F1 and recall"
    five, two = "The five metrics of Table 5", "F1 and recall"
    boosted, bagged, reduced = three = ["adaboost_pdt", "bagging_vpcp", "mddm"]
    titles = [method_title(name) for name in three]
    yield from (
        ("4.4.2", f"{curves} rise with Θ at first (0.4 is better than 0.1)", "figure1",
         lambda e: _thresholds(e, "0.4", "0.1")),
        ("4.4.2", f"{curves} are stable for Θ from 0.4 to 0.7 (no two differ, by the corrected "
         "test)", "figure1", _stable),
        ("4.4.2", f"{curves} fall as Θ nears 1 (0.7 is better than 1.0)", "figure1",
         lambda e: _thresholds(e, "0.7", "1.0")),
        ("4.4.2", "Θ matters more on yeast than on business (range of the means over Θ)",
         "figure1", _steeper),
        ("4.4.3", f"{five} improve with each step of S", "table5", partial(_rises, _FIVE)),
        ("4.4.3", f"{five} are better at S = 30 than at S = 1", "table5", partial(_sizes, _FIVE)),
        ("4.4.3", f"{two} are better at S = 30 than at S = 1", "table5", partial(_sizes, _TWO)),
        ("4.4.3", f"{two} improve with each step of S", "table5", partial(_rises, _TWO)),
        ("4.4.3", "A single member in the projected space (S = 1) is good: better than ML-kNN",
         "table5, table3", _single),
        ("4.4.3", "Beyond S = 30 little changes: 30 to 50 at most a tenth of 1 to 30", "table5",
         _slight),
    )  # fmt: skip
    for text, better, others in (
        ("VPCME is better than {0}, {1} and {2}", ["vpcme"], three),
        ("{0} is the worst", ["vpcme", bagged, reduced], [boosted]),
        ("{1} is better than {0} and {2}", [bagged], [boosted, reduced]),
        ("Boosting beats bagging: VPCME is better than {1}", ["vpcme"], [bagged]),
    ):
        judge = partial(_components, better, others)
        yield "4.4.4", f"{text.format(*titles)} (seven metrics)", "figure2", judge


# ------------------------------------------------------------------------------ the judges


def _statistics(evidence: Evidence) -> Iterator[Finding]:
    if table := dataset_table(evidence.main.datasets):
        yield from (entry.text == entry.published for entry in table.entries.values())


def _base_learners(evidence: Evidence, better: str, worse: str) -> Iterator[Contrast]:
    sweeps = evidence.sweeps_of("estimator", ("cchains", "clr"))
    return (sweep.contrast(better, worse, measure) for sweep, measure in product(sweeps, _FIVE))


def _similar_bases(evidence: Evidence) -> Iterator[Finding]:
    for contrast in _base_learners(evidence, "c45", "svm"):
        if not math.isnan(contrast.lead):
            yield contrast.mark("corrected") == ""


def _pairs(
    comparison: Comparison,
    names: dict[str, str],
    better: Iterable[str],
    worse: Iterable[str],
    datasets: Iterable[str],
    measures: list[Measure],
) -> Iterator[Finding]:
    """Compare methods, which `names` has under the names of the claim."""
    for first, second in product(better, worse):
        if first != second and first in names and second in names:
            for dataset, measure in product(datasets, measures):
                yield comparison.contrast(dataset, names[first], names[second], measure)


def _printed_columns(main: Comparison, as_published: bool) -> dict[str, str]:
    """Return the methods of Table 3 by the names of its columns."""
    return {column(name): name for name in paper_columns(main, as_published=as_published)}


def _columns(
    as_published: bool,
    better: Iterable[str],
    worse: Iterable[str],
    datasets: Iterable[str] | None,
    evidence: Evidence,
) -> Iterator[Finding]:
    main = evidence.main
    datasets = [d for d in main.datasets if datasets is None or d in datasets]
    return _pairs(main, _printed_columns(main, as_published), better, worse, datasets, _FIVE)


def _narrow(as_published: bool, evidence: Evidence) -> Iterator[Finding]:
    names = list(_printed_columns(evidence.main, as_published).values())
    means = evidence.main.means(MEASURES["hamming_loss"])[names].dropna() * 100
    spread = means.max(axis=1) - means.min(axis=1)
    text = spread[[d for d in spread.index if d in _TEXT]]
    rest = spread[[d for d in spread.index if d in ("yeast", "scene", "genbase")]]
    yield from (bool(value < other) for value, other in product(text, rest))
    if len(text) and len(rest):
        yield f"best to worst {text.mean():.2f} points on text, {rest.mean():.2f} on the others"


def _thresholds(evidence: Evidence, better: str, worse: str) -> Iterator[Finding]:
    for sweep, measure in product(evidence.sweeps_of("threshold"), _CURVES):
        yield sweep.contrast(better, worse, measure)
        low, high = (_number(sweep, measure, s) for s in sorted((better, worse)))
        yield f"{measure.title} on {sweep.dataset} {low} to {high}"


def _stable(evidence: Evidence) -> Iterator[Finding]:
    for dataset in ("yeast", "business"):
        for sweep, measure in product(evidence.sweeps_of("threshold", dataset=dataset), _CURVES):
            for pair in combinations(_PLATEAU, 2):
                yield sweep.contrast(*pair, measure).mark("corrected") == ""
            numbers = sorted((_number(sweep, measure, s) for s in _PLATEAU), key=float)
            yield f"{measure.title} on {dataset} {numbers[0]} to {numbers[-1]}"


def _steeper(evidence: Evidence) -> Iterator[Finding]:
    yeast, business = (evidence.sweeps_of("threshold", dataset=d) for d in ("yeast", "business"))
    if yeast and business:
        for measure in (*_CURVES, *_FIVE[:3]):
            spreads = []
            for sweep in (yeast[0], business[0]):
                means = [sweep.values(s, measure).mean() for s in sweep.settings]
                spreads.append(max(means) - min(means))
            yield bool(spreads[0] > spreads[1])


def _sizes(measures: list[Measure], evidence: Evidence) -> Iterator[Finding]:
    for sweep, measure in product(evidence.sweeps_of("size"), measures):
        yield sweep.contrast("30", "1", measure)


def _rises(measures: list[Measure], evidence: Evidence) -> Iterator[Finding]:
    for sweep, measure in product(evidence.sweeps_of("size"), measures):
        for before, after in pairwise(sweep.settings):
            yield sweep.contrast(after, before, measure)
        if measure.name in ("f1", "average_precision"):
            ends = sweep.settings[0], sweep.settings[-1]
            low, high = (f"{_number(sweep, measure, s)} at S = {s}" for s in ends)
            yield f"{measure.title} on {sweep.dataset} {low}, {high}"


def _single(evidence: Evidence) -> Iterator[Finding]:
    main = evidence.main
    for dataset in ("medical", "entertainment"):
        for sweep in evidence.sweeps_of("size", dataset=dataset):
            if "1" in sweep.settings and "mlknn" in main.methods and dataset in main.datasets:
                for measure in _FIVE:
                    alone = main.values(dataset, "mlknn", measure)
                    yield compare_folds(sweep.values("1", measure), alone, measure)


def _slight(evidence: Evidence) -> Iterator[Finding]:
    sizes = ("1", "30", "50")
    for sweep, measure in product(evidence.sweeps_of("size"), _FIVE):
        if set(sizes) <= set(sweep.settings):
            one, thirty, fifty = (sweep.values(s, measure).mean() for s in sizes)
            yield bool(abs(fifty - thirty) <= abs(thirty - one) / 10)


def _components(better: list[str], worse: list[str], evidence: Evidence) -> Iterator[Finding]:
    group = evidence.components
    names = {name: name for name in group.methods}
    return _pairs(group, names, better, worse, group.datasets, _SEVEN)


def _number(sweep: Sweep, measure: Measure, setting: str) -> str:
    return measure.number(float(sweep.values(setting, measure).mean()) * measure.scale)


def claims_table(claims: list[Claim]) -> Table:
    """Return one line per claim: verdict, figures, tests, and the tables they are from."""
    columns = {
        "claim": "Claim", "verdict": "Verdict", "figure": "Comparisons as claimed",
        "tests": "Significant at 1 %", "source": "From",
    }  # fmt: skip
    texts = {
        (str(number), key): getattr(claim, "text" if key == "claim" else key)
        for number, claim in enumerate(claims)
        for key in columns
    }
    return Table(
        name="claims",
        title="The claims of the paper's section 4",
        caption="A claim is read as comparisons of means over the same folds. It holds where all "
        "come out as claimed, partly where more than half do, and else does not hold. "
        "Significant: comparisons for and against the claim by the paired t-test and by the "
        "corrected one. Ties: labels with equal scores count against the method, or are ranked "
        "by index as in Mulan.",
        corner="Section",
        columns=columns,
        rows={str(number): claim.section for number, claim in enumerate(claims)},
        entries={
            place: Entry(text or "–", {"": text}, best=place[1] == "verdict")
            for place, text in texts.items()
        },
        holds_words=True,
    )
