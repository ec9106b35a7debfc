"""Verdicts on claims, from comparisons whose direction they predict.

A claim *holds* where all comparisons come out as predicted, *holds partly* where more than half
do, and *does not hold* otherwise; beside it stand the numbers of comparisons that the tests on one
dataset find significant, in the predicted direction and in the other.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from labelkin.experiments.report.comparison import TESTS, Contrast, Test
from labelkin.experiments.report.ties import RULES

Finding = Contrast | bool | str
"""A comparison whose first side is claimed to be better, one without a test, or an example."""


@dataclass
class Tally:
    """How many comparisons come out as a claim predicts."""

    n: int = 0
    right: int = 0
    significant: dict[Test, list[int]] = field(default_factory=dict)
    """By test, if there is any: in the predicted direction, and in the other."""
    examples: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> "Tally":
        """Count findings."""
        tally = cls()
        for finding in findings:
            if isinstance(finding, str):
                tally.examples.append(finding)
            elif isinstance(finding, bool):
                tally.n += 1
                tally.right += finding
            elif not math.isnan(finding.lead):
                tally.n += 1
                tally.right += finding.lead > 0
                for test in TESTS:
                    counts = tally.significant.setdefault(test, [0, 0])
                    counts[0] += finding.mark(test) == "•"
                    counts[1] += finding.mark(test) == "○"
        return tally

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
        if self.significant and not any(map(sum, self.significant.values())):
            return "none significant"
        return ", ".join(
            f"{t} {yes} for, {no} against" for t, (yes, no) in self.significant.items()
        )


@dataclass(frozen=True)
class Claim:
    """A claim with the tallies under each rule for ties, which are told apart where they differ."""

    section: str
    text: str
    source: str
    """Names of the tables it is judged by."""
    tallies: dict[str, Tally]

    def _both(self, part: str) -> str:
        texts = {rule: getattr(tally, part) for rule, tally in self.tallies.items()}
        if len(set(texts.values())) == 1:
            return next(iter(texts.values()))
        return "; ".join(f"{RULES[rule]}: {text}" for rule, text in texts.items())

    @property
    def verdict(self) -> str:
        """The verdict."""
        return self._both("verdict")

    @property
    def figure(self) -> str:
        """Comparisons as predicted, of all."""
        return self._both("figure")

    @property
    def tests(self) -> str:
        """Significant comparisons."""
        return self._both("tests")
