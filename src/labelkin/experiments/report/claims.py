"""Every claim of the paper's section 4, beside what the results show.

A claim is read as comparisons whose direction it predicts. It *holds* where all of them come out
as predicted, *holds partly* where more than half do, and *does not hold* otherwise; beside it
stand the numbers of comparisons that the tests on one dataset find significant, in the predicted
direction and in the other. Claims on rankings are judged under both rules for ties.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, pairwise

from labelkin.experiments.report.comparison import (
    TESTS,
    Comparison,
    Contrast,
    Sweep,
    Test,
    compare_folds,
    method_title,
)
from labelkin.experiments.report.dataset_table import dataset_table
from labelkin.experiments.report.measures import MEASURES, Measure
from labelkin.experiments.report.published import PRINTED_METRICS
from labelkin.experiments.report.table import Entry, Table
from labelkin.experiments.report.ties import RULES, paper_columns

_FIVE = [MEASURES[name] for name in PRINTED_METRICS]
_SEVEN = list(MEASURES.values())
_CURVES = [MEASURES[name] for name in ("average_precision", "f1", "recall")]
_TEXT = (
    "enron", "medical", "arts", "business", "education", "entertainment", "health", "science",
    "social",
)  # fmt: skip
_PLATEAU = ("0.4", "0.5", "0.6", "0.7")


@dataclass(frozen=True)
class Evidence:
    """Results under one rule for ties."""

    main: Comparison
    components: Comparison
    sweeps: list[Sweep]

    def sweep(self, method: str, parameter: str, dataset: str) -> Sweep | None:
        """Return one sweep, or None where it was not run."""
        wanted = method, parameter, dataset
        found = [s for s in self.sweeps if (s.method, s.parameter, s.dataset) == wanted]
        return found[0] if found else None


@dataclass
class Tally:
    """How many comparisons come out as a claim predicts."""

    n: int = 0
    right: int = 0
    significant: dict[Test, list[int]] = field(default_factory=lambda: {t: [0, 0] for t in TESTS})
    """By test: in the predicted direction, and in the other."""
    examples: list[str] = field(default_factory=list)

    def add(self, contrast: Contrast) -> None:
        """Count a comparison in which the first method is predicted to be better."""
        if math.isnan(contrast.lead):
            return
        self.n += 1
        self.right += contrast.lead > 0
        for test in TESTS:
            mark = contrast.mark(test)
            self.significant[test][0] += mark == "•"
            self.significant[test][1] += mark == "○"

    def add_fact(self, is_right: bool) -> None:
        """Count a comparison without a test."""
        self.n += 1
        self.right += is_right

    @property
    def verdict(self) -> str:
        """The claim's verdict."""
        if not self.n:
            return "not run"
        if self.right == self.n:
            return "holds"
        return "holds partly" if 2 * self.right > self.n else "does not hold"

    @property
    def figure(self) -> str:
        """The count, with examples."""
        return "; ".join([f"{self.right} of {self.n}", *self.examples]) if self.n else ""

    @property
    def tests(self) -> str:
        """Significant comparisons for and against the claim, by each test."""
        if not any(sum(counts) for counts in self.significant.values()):
            return "none significant" if self.n else ""
        return ", ".join(
            f"{t} {yes} for, {no} against" for t, (yes, no) in self.significant.items()
        )


@dataclass(frozen=True)
class Claim:
    """A claim with the tallies under each rule for ties."""

    section: str
    text: str
    source: str
    """Names of the tables it is judged by."""
    tallies: dict[str, Tally]
    tested: bool = True

    def _both(self, part: Callable[[Tally], str]) -> str:
        texts = {rule: part(tally) for rule, tally in self.tallies.items()}
        if len(set(texts.values())) == 1:
            return next(iter(texts.values()))
        return "; ".join(f"{RULES[rule]}: {text}" for rule, text in texts.items())

    @property
    def verdict(self) -> str:
        """Verdict, under each rule where they differ."""
        return self._both(lambda tally: tally.verdict)

    @property
    def figure(self) -> str:
        """Comparisons as predicted, of all."""
        return self._both(lambda tally: tally.figure)

    @property
    def tests(self) -> str:
        """Significant comparisons."""
        return self._both(lambda tally: tally.tests) if self.tested else ""


_Judge = Callable[[Evidence], Tally]


def find_claims(evidence: dict[str, Evidence]) -> list[Claim]:
    """Return all claims, judged by results under each rule for ties.

    Parameters
    ----------
    evidence : dict of str to Evidence
        By rule, ``"against"`` first.
    """
    claims = []

    def judge(section: str, text: str, source: str, judged: _Judge, *, tested: bool = True) -> None:
        tallies = {rule: judged(found) for rule, found in evidence.items()}
        claims.append(Claim(section, text, source, tallies, tested))

    first = next(iter(evidence.values()))
    judge("4.2", "The datasets have the statistics of Table 2", "table2", _statistics, tested=False)
    _judge_bases(judge)
    settings = [False, True]
    if paper_columns(first.main, as_published=True) == paper_columns(
        first.main, as_published=False
    ):
        settings = [False]
    for as_published in settings:
        words = "settings of the published columns" if as_published else "settings of the text"
        _judge_group1(judge, as_published, f" ({words})")
    _judge_group2(judge)
    _judge_group3(judge)
    _judge_group4(judge)
    return claims


def _statistics(evidence: Evidence) -> Tally:
    tally, table = Tally(), dataset_table(evidence.main.datasets)
    for entry in table.entries.values() if table else ():
        tally.add_fact(entry.text == entry.published)
    return tally


def _judge_bases(judge: Callable[..., None]) -> None:
    def degrades(evidence: Evidence) -> Tally:
        return _settings(evidence, "estimator", ("cchains", "clr"), [("c45", "knn")], _FIVE)

    def similar(evidence: Evidence) -> Tally:
        tally = Tally()
        for sweep in evidence.sweeps:
            if sweep.parameter == "estimator" and sweep.method in ("cchains", "clr"):
                for measure in _FIVE:
                    contrast = sweep.contrast("c45", "svm", measure)
                    if not math.isnan(contrast.lead):
                        tally.add_fact(contrast.mark("corrected") == "")
        return tally

    source = "sweep_cchains_estimator, sweep_clr_estimator"
    judge("4.3.1", "KNN as base learner is worse than C4.5 (CChains, CLR)", source, degrades)
    judge(
        "4.3.1",
        "C4.5 and an SVM do not differ as base learners, by the corrected test (CChains, CLR)",
        source,
        similar,
        tested=False,
    )


def _judge_group1(judge: Callable[..., None], as_published: bool, words: str) -> None:
    def pairs(
        better: Iterable[str] | None,
        worse: Iterable[str] | None,
        datasets: Iterable[str] | None = None,
    ) -> _Judge:
        """Compare columns of Table 3; None: all others."""

        def judged(evidence: Evidence) -> Tally:
            main, tally = evidence.main, Tally()
            six = dict(
                zip(("rakel", "iblr", "clr", "cchains", "mlknn", "vpcme"), _six(main), strict=True)
            )
            for first in better or six:
                for second in worse or six:
                    a, b = six[first], six[second]
                    if first != second and a and b:
                        for dataset in datasets or main.datasets:
                            if dataset in main.datasets:
                                for measure in _FIVE:
                                    tally.add(main.contrast(dataset, a, b, measure))
            return tally

        return judged

    def _six(main: Comparison) -> list[str | None]:
        found = {}
        for name in paper_columns(main, as_published=as_published):
            found[name.removesuffix("_k3").removesuffix("_scaled")] = name
        return [found.get(n) for n in ("rakel", "iblr", "clr", "cchains", "mlknn", "vpcme")]

    def narrow(evidence: Evidence) -> Tally:
        main, tally = evidence.main, Tally()
        six = [name for name in _six(main) if name]
        means = main.means(MEASURES["hamming_loss"])[six].dropna() * 100
        spread = means.max(axis=1) - means.min(axis=1)
        text = spread[[d for d in spread.index if d in _TEXT]]
        rest = spread[[d for d in spread.index if d in ("yeast", "scene", "genbase")]]
        for value in text:
            for other in rest:
                tally.add_fact(value < other)
        if len(text) and len(rest):
            tally.examples.append(
                f"best to worst {text.mean():.2f} points on text, {rest.mean():.2f} on the others"
            )
        return tally

    others = ("rakel", "iblr", "clr", "cchains", "mlknn")
    judge(
        "4.4.1 (1)",
        f"VPCME is better than the compared methods{words}",
        "table3",
        pairs(["vpcme"], others),
    )
    judge(
        "4.4.1 (2)",
        f"CChains is worse than the others{words}",
        "table3",
        pairs(["rakel", "iblr", "clr", "mlknn", "vpcme"], ["cchains"]),
    )
    judge(
        "4.4.1 (3)",
        f"IBLR-ML is better than RAkEL and CChains{words}",
        "table3",
        pairs(["iblr"], ["rakel", "cchains"]),
    )
    judge(
        "4.4.1 (4)",
        f"On text, CLR is better than all but VPCME{words}",
        "table3",
        pairs(["clr"], ["rakel", "iblr", "cchains", "mlknn"], _TEXT),
    )
    judge(
        "4.4.1 (5)",
        f"VPCME is better than ML-kNN, its base learner{words}",
        "table3, table4",
        pairs(["vpcme"], ["mlknn"]),
    )
    judge(
        "4.4.1 (6)",
        f"In Hamming loss the methods differ less on text than elsewhere{words}",
        "table3_hamming_loss",
        narrow,
        tested=False,
    )


def _judge_group2(judge: Callable[..., None]) -> None:
    datasets = ("yeast", "business")

    def stable(evidence: Evidence) -> Tally:
        tally = Tally()
        for dataset in datasets:
            if sweep := evidence.sweep("vpcme", "threshold", dataset):
                for measure in _CURVES:
                    for first, second in combinations(_PLATEAU, 2):
                        mark = sweep.contrast(first, second, measure).mark("corrected")
                        tally.add_fact(mark == "")
                    low, high = _range(sweep, measure, _PLATEAU)
                    name = f"{measure.title} on {dataset}"
                    tally.examples.append(f"{name} {low} to {high}")
        return tally

    def steeper(evidence: Evidence) -> Tally:
        tally = Tally()
        yeast, business = (evidence.sweep("vpcme", "threshold", d) for d in datasets)
        if yeast and business:
            for measure in (*_CURVES, *(MEASURES[n] for n in PRINTED_METRICS[:3])):
                spreads = []
                for sweep in (yeast, business):
                    means = [sweep.values(s, measure).mean() for s in sweep.settings]
                    spreads.append(max(means) - min(means))
                tally.add_fact(spreads[0] > spreads[1])
        return tally

    curves = "Average precision, F1 and recall"
    judge(
        "4.4.2",
        f"{curves} rise with Θ at first (0.4 is better than 0.1)",
        "figure1",
        lambda e: _settings(e, "threshold", ("vpcme",), [("0.4", "0.1")], _CURVES),
    )
    judge(
        "4.4.2",
        f"{curves} are stable for Θ from 0.4 to 0.7 (no two differ, by the corrected test)",
        "figure1",
        stable,
        tested=False,
    )
    judge(
        "4.4.2",
        f"{curves} fall as Θ nears 1 (0.7 is better than 1.0)",
        "figure1",
        lambda e: _settings(e, "threshold", ("vpcme",), [("0.7", "1.0")], _CURVES),
    )
    judge(
        "4.4.2",
        "Θ matters more on yeast than on business (range of the means over Θ)",
        "figure1",
        steeper,
        tested=False,
    )


def _judge_group3(judge: Callable[..., None]) -> None:
    def rises(measures: list[Measure]) -> _Judge:
        def judged(evidence: Evidence) -> Tally:
            tally = Tally()
            for sweep in evidence.sweeps:
                if (sweep.method, sweep.parameter) == ("vpcme", "size"):
                    for measure in measures:
                        for before, after in pairwise(sweep.settings):
                            tally.add(sweep.contrast(after, before, measure))
                        if measure.name in ("f1", "average_precision"):
                            ends = [sweep.settings[0], sweep.settings[-1]]
                            low, high = (_number(sweep, measure, s) for s in ends)
                            tally.examples.append(
                                f"{measure.title} on {sweep.dataset} {low} at S = {ends[0]}, "
                                f"{high} at S = {ends[1]}"
                            )
            return tally

        return judged

    def single(evidence: Evidence) -> Tally:
        tally, main = Tally(), evidence.main
        for dataset in ("medical", "entertainment"):
            sweep = evidence.sweep("vpcme", "size", dataset)
            if (
                sweep
                and "1" in sweep.settings
                and "mlknn" in main.methods
                and dataset in main.datasets
            ):
                for measure in _FIVE:
                    alone = main.values(dataset, "mlknn", measure)
                    tally.add(compare_folds(sweep.values("1", measure), alone, measure))
        return tally

    def slight(evidence: Evidence) -> Tally:
        tally = Tally()
        for sweep in evidence.sweeps:
            sizes = ("1", "30", "50")
            if (sweep.method, sweep.parameter) == ("vpcme", "size") and set(sizes) <= set(
                sweep.settings
            ):
                for measure in _FIVE:
                    one, thirty, fifty = (sweep.values(s, measure).mean() for s in sizes)
                    tally.add_fact(abs(fifty - thirty) <= abs(thirty - one) / 10)
        return tally

    judge(
        "4.4.3", "The five metrics of Table 5 improve with each step of S", "table5", rises(_FIVE)
    )
    for measures, words in ((_FIVE, "The five metrics of Table 5"), (_SEVEN[5:], "F1 and recall")):
        judge(
            "4.4.3",
            f"{words} are better at S = 30 than at S = 1",
            "table5",
            partial(
                _settings,
                parameter="size",
                methods=("vpcme",),
                pairs=[("30", "1")],
                measures=measures,
            ),
        )
    judge("4.4.3", "F1 and recall improve with each step of S", "table5", rises(_SEVEN[5:]))
    judge(
        "4.4.3",
        "A single member in the projected space (S = 1) is good: better than ML-kNN",
        "table5, table3",
        single,
    )
    judge(
        "4.4.3",
        "Beyond S = 30 little changes: 30 to 50 at most a tenth of 1 to 30",
        "table5",
        slight,
        tested=False,
    )


def _judge_group4(judge: Callable[..., None]) -> None:
    def pairs(better: list[str], worse: list[str]) -> _Judge:
        def judged(evidence: Evidence) -> Tally:
            tally, group = Tally(), evidence.components
            for first in better:
                for second in worse:
                    if first in group.methods and second in group.methods:
                        for dataset in group.datasets:
                            for measure in _SEVEN:
                                tally.add(group.contrast(dataset, first, second, measure))
            return tally

        return judged

    three = ["adaboost_pdt", "bagging_vpcp", "mddm"]
    titles = [method_title(name) for name in three]
    lines = (
        (f"VPCME is better than {titles[0]}, {titles[1]} and {titles[2]}", ["vpcme"], three),
        (f"{titles[0]} is the worst", ["vpcme", "bagging_vpcp", "mddm"], three[:1]),
        (
            f"{titles[1]} is better than {titles[0]} and {titles[2]}",
            three[1:2],
            [three[0], three[2]],
        ),
        (f"Boosting beats bagging: VPCME is better than {titles[1]}", ["vpcme"], three[1:2]),
    )
    for text, better, worse in lines:
        judge("4.4.4", f"{text} (seven metrics)", "figure2", pairs(better, worse))


def _settings(
    evidence: Evidence,
    parameter: str,
    methods: tuple[str, ...],
    pairs: list[tuple[str, str]],
    measures: list[Measure],
) -> Tally:
    """Compare settings of a parameter; the first of each pair is predicted to be better."""
    tally = Tally()
    for sweep in evidence.sweeps:
        if sweep.parameter == parameter and sweep.method in methods:
            for measure in measures:
                for first, second in pairs:
                    tally.add(sweep.contrast(first, second, measure))
                    if parameter == "threshold":
                        texts = [_number(sweep, measure, s) for s in (second, first)]
                        order = sorted(zip((second, first), texts, strict=True))
                        moves = " to ".join(text for _, text in order)
                        tally.examples.append(f"{measure.title} on {sweep.dataset} {moves}")
    return tally


def _number(sweep: Sweep, measure: Measure, setting: str) -> str:
    return measure.number(float(sweep.values(setting, measure).mean()) * measure.scale)


def _range(sweep: Sweep, measure: Measure, settings: Iterable[str]) -> tuple[str, str]:
    means = [float(sweep.values(s, measure).mean()) * measure.scale for s in settings]
    return measure.number(min(means)), measure.number(max(means))


def claims_table(claims: list[Claim]) -> Table:
    """Return one line per claim: verdict, figures, tests, and the tables they are from."""
    columns = {
        "claim": "Claim", "verdict": "Verdict", "figure": "Comparisons as claimed",
        "tests": "Significant at 1 %", "source": "From",
    }  # fmt: skip
    rows, entries = {}, {}
    for number, claim in enumerate(claims):
        key = str(number)
        rows[key] = claim.section
        for column, text in (
            ("claim", claim.text),
            ("verdict", claim.verdict),
            ("figure", claim.figure),
            ("tests", claim.tests),
            ("source", claim.source),
        ):
            entries[key, column] = Entry(text or "–", {"": text}, best=column == "verdict")
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
        rows=rows,
        entries=entries,
        holds_words=True,
    )
