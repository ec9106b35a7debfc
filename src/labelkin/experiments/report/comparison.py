"""Comparison of methods on datasets, and of one method under the values of a parameter.

A method's name may carry a setting, as in ``vpcme@threshold=0.1``. Such rows of the results
form sweeps; all others are compared with one another.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from labelkin.experiments.report.footing import Unit, count, keep_common_folds, units
from labelkin.experiments.report.measures import COSTS, MEASURES, Measure
from labelkin.experiments.report.published import COLUMNS, column
from labelkin.experiments.report.statistics import (
    Friedman,
    complete_block,
    corrected_t_test,
    friedman,
    paired_t_test,
)
from labelkin.experiments.run.groups import GROUPS
from labelkin.experiments.run.peers import COMPARED

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Test = Literal["paired", "corrected"]

TESTS: tuple[Test, ...] = ("paired", "corrected")
"""The tests on one dataset: the paper's, and one that allows for shared training rows."""

PAPER_DATASETS = GROUPS["table3"].datasets
"""The paper's datasets in the order of its tables."""

COMPONENTS = ("adaboost_pdt", "bagging_vpcp", "mddm")
"""Methods of the paper's Group 4, which it compares with VPCME alone (Figure 2)."""

_PARAMETERS = {"threshold": "Θ", "size": "S"}
_ALPHA = 0.01  # the paper's level
_DECIMALS = 12  # what differs beyond them is rounding, and counts as equal


def split_method(name: str) -> tuple[str, str, str]:
    """Return method, parameter and value of ``vpcme@size=10``; the last two may be empty."""
    base, _, setting = name.partition("@")
    parameter, _, value = setting.partition("=")
    return base, parameter, value


def method_title(name: str) -> str:
    """Return a method's name in print."""
    base, parameter, value = split_method(name)
    title = COMPARED[base].title if base in COMPARED else base
    return f"{title} {_PARAMETERS.get(parameter, parameter)}={value}" if parameter else title


def in_order(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return distinct names: the known ones first, in the known order, then the others."""
    names = list(dict.fromkeys(names))
    known = [name for name in known if name in names]
    return known + [name for name in names if name not in known]


def _methods_in_order(names: Iterable[str], reference: str | None) -> list[str]:
    """Return methods in the paper's order, the reference after them, then all others."""
    names = in_order(names, COMPARED)
    paper = [name for name in names if column(name) in COLUMNS or name in COMPONENTS]
    paper.sort(key=lambda name: COLUMNS.index(column(name)) if column(name) in COLUMNS else -1)
    first = [name for name in paper if name != reference]
    return in_order(names, first + [name for name in names if name == reference])


@dataclass(frozen=True)
class Contrast:
    """One method against another on one dataset, over the same folds."""

    lead: float
    """Mean lead of the first; positive where it is better."""
    p: dict[Test, float]
    """p-value of each test; NaN for fewer than two folds."""
    unit: Unit
    """What the paired test counts; the corrected one counts folds."""
    n_units: int

    def mark(self, test: Test) -> str:
        """Return • where the first is better at 1 %, ○ where it is worse, else nothing."""
        if not self.p[test] < _ALPHA:
            return ""
        return "•" if self.lead > 0 else "○"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Comparison of methods on datasets.

    All methods are compared on the same folds of a dataset, see
    :func:`~labelkin.experiments.report.footing.keep_common_folds`. Marks tell how `reference`
    compares with each other method there: • it is better, ○ it is worse, by a test at 1 %.
    """

    frame: "DataFrame"
    """Checked results of these methods and datasets."""
    methods: list[str]
    datasets: list[str]
    reference: str | None
    """The method that marks refer to; None for no marks."""

    @classmethod
    def of(
        cls,
        results: "DataFrame",
        reference: str | None = "vpcme",
        *,
        components: bool | None = False,
    ) -> "Comparison":
        """Choose from checked results what is compared; a reference that was not run is ignored.

        With `components` Group 4 is chosen (its methods and the reference, on the datasets where
        any of them was run) instead of all methods but Group 4's. None: all methods.
        """
        plain = results[~results["method"].str.contains("@", regex=False)]
        chosen = plain["method"].isin(COMPONENTS)
        if components:
            datasets = set(plain.loc[chosen, "dataset"])
            chosen = (chosen | (plain["method"] == reference)) & plain["dataset"].isin(datasets)
        else:
            chosen = ~chosen | (components is None)
        frame = plain[chosen]
        if reference not in set(frame["method"]):
            reference = None
        methods = _methods_in_order(frame["method"], reference)
        return cls(frame, methods, in_order(frame["dataset"], PAPER_DATASETS), reference)

    def __bool__(self) -> bool:
        return bool(self.methods)

    @cached_property
    def common(self) -> "DataFrame":
        """The cells of the folds that all methods have: what every figure is made of."""
        return keep_common_folds(self.frame)

    @property
    def is_holdout(self) -> bool:
        """Whether each method predicted the published test rows once, so that no test applies."""
        return self.common["fold"].nunique() < 2 and self.common["repeat"].nunique() < 2

    def among(self, methods: Iterable[str]) -> "Comparison":
        """Return the comparison of some of the methods, on the same folds as of all."""
        chosen = [name for name in methods if name in self.methods]
        frame = self.common[self.common["method"].isin(chosen)]
        reference = self.reference if self.reference in chosen else None
        return replace(self, frame=frame, methods=chosen, reference=reference)

    @cached_property
    def ranked(self) -> "Comparison":
        """The methods that are ranked together: each column of the paper once.

        A second setting of a column, such as RAkEL with k = 3, is compared but not ranked.
        """
        return self.among(
            name
            for name in self.methods
            if name == column(name) or column(name) not in self.methods
        )

    def left_out(self) -> int:
        """Return the number of cells without failure that are not on common folds."""
        return int((self.frame["status"] == "ok").sum()) - len(self.common)

    @cached_property
    def _folds(self) -> dict[tuple[str, str], "DataFrame"]:
        """Values by (dataset, measure): one row per (repeat, fold), one column per method."""
        names = [*MEASURES, *COSTS]
        found = {}
        for dataset in self.datasets:
            rows = self.common[self.common["dataset"] == dataset]
            rows = rows.set_index(["repeat", "fold", "method"])
            for name in names:
                found[dataset, name] = rows[name].unstack().reindex(columns=self.methods)
        return found

    @cached_property
    def _counts(self) -> dict[tuple[str, str], tuple[int, int]]:
        ok = self.frame["status"].eq("ok")
        grouped = ok.groupby([self.frame["dataset"], self.frame["method"]])
        return {pair: (len(rows), int((~rows).sum())) for pair, rows in grouped}

    @cached_property
    def _contrasts(self) -> dict[tuple[str, str, str, str], Contrast]:
        return {}  # filled by `contrast`: the tests of all pairs take seconds

    def values(self, dataset: str, method: str, measure: Measure) -> "Series":
        """Return the values of one method on one dataset by (repeat, fold), unscaled."""
        return self._folds[dataset, measure.name][method].dropna()

    def cells(self, dataset: str, method: str) -> tuple[int, int]:
        """Return the number of cells that were run, and of those that failed."""
        return self._counts.get((dataset, method), (0, 0))

    @cached_property
    def _means(self) -> dict[str, "DataFrame"]:
        """Means by measure, rounded, so that those equal in exact arithmetic share a rank."""
        import pandas as pd

        found = {}
        for measure in (*MEASURES, *COSTS):
            means = {name: self._folds[name, measure].mean() for name in self.datasets}
            frame = pd.DataFrame(means, dtype=float).T.reindex(columns=self.methods)
            found[measure] = frame.round(_DECIMALS)
        return found

    def means(self, measure: Measure) -> "DataFrame":
        """Return the means, unscaled: one row per dataset, one column per method, NaN for gaps."""
        return self._means[measure.name]

    def measured(self, measures: dict[str, Measure]) -> list[Measure]:
        """Return those of the measures that have any value."""
        return [m for m in measures.values() if self.means(m).notna().any(axis=None)]

    def complete_means(self, measure: Measure) -> "DataFrame":
        """Return the largest part of the means without gaps: what is ranked and tested."""
        return complete_block(self.means(measure))

    def friedman(self, measure: Measure) -> Friedman | None:
        """Return Friedman's test over the datasets; None for fewer than two by two."""
        block = self.complete_means(measure)
        if min(block.shape) < 2:
            return None
        return friedman(block, greater_is_better=measure.greater_is_better)

    def contrast(self, dataset: str, first: str, second: str, measure: Measure) -> Contrast:
        """Return how the first method compares with the second on a dataset."""
        key = dataset, first, second, measure.name
        if key not in self._contrasts:
            folds = self._folds[dataset, measure.name]
            self._contrasts[key] = compare_folds(folds[first], folds[second], measure)
        return self._contrasts[key]

    def describe_test(self, test: Test) -> str:
        """Return a test on one dataset in words."""
        if test == "corrected":
            return "corrected resampled t-test (Nadeau–Bengio) over folds at 1 %"
        return self._paired_test

    @cached_property
    def _paired_test(self) -> str:
        counted = {
            (unit, len(found))
            for dataset in self.datasets
            for name in MEASURES
            for unit, found in [units(self._folds[dataset, name].mean(axis=1).dropna())]
            if len(found)
        }
        kinds = {unit for unit, _ in counted}
        if kinds != {"runs"}:
            return "paired t-test over folds at 1 % (in the paper over 20 runs)"
        least = min(n for _, n in counted)
        return f"paired t-test over {count(least, 'runs')} at 1 %, as in the paper over 20"

    def against(self, method: str, measure: Measure, test: Test = "paired") -> dict[str, Contrast]:
        """Return how the reference compares with a method, by dataset; where there is a test."""
        if self.reference is None or method == self.reference:
            return {}
        found = {d: self.contrast(d, self.reference, method, measure) for d in self.datasets}
        return {d: contrast for d, contrast in found.items() if np.isfinite(contrast.p[test])}

    def wins(self, method: str, measure: Measure, test: Test = "paired") -> tuple[int, int, int]:
        """Return wins, ties and losses of the reference over the datasets both were run on."""
        marks = [found.mark(test) for found in self.against(method, measure, test).values()]
        return marks.count("•"), marks.count(""), marks.count("○")


def compare_folds(first: "Series", second: "Series", measure: Measure) -> Contrast:
    """Return how one method compares with another, given the values of both by (repeat, fold)."""
    differences = (first - second).dropna()
    if not measure.greater_is_better:
        differences = -differences
    unit, counted = units(differences)
    n_folds = differences.index.get_level_values("fold").nunique()
    zero = np.zeros(len(differences))
    return Contrast(
        round(float(differences.mean()), _DECIMALS) if len(differences) else float("nan"),
        {
            "paired": paired_t_test(counted, np.zeros(len(counted))),
            "corrected": corrected_t_test(differences, zero, n_folds),
        },
        unit,
        len(counted),
    )


@dataclass(frozen=True)
class Sweep:
    """One method on one dataset under the values of one parameter (Figure 1, Table 5)."""

    frame: "DataFrame"
    method: str
    parameter: str
    dataset: str

    @classmethod
    def all_of(cls, results: "DataFrame") -> list["Sweep"]:
        """Return every sweep in checked results."""
        swept = [split_method(name)[:2] for name in results["method"]]
        kinds = {kind for kind in swept if kind[1]}
        sweeps = []
        for base, parameter in sorted(kinds, key=lambda kind: (kind[1] != "threshold", kind)):
            frame = results[[kind == (base, parameter) for kind in swept]]
            for dataset in in_order(frame["dataset"], PAPER_DATASETS):
                rows = keep_common_folds(frame[frame["dataset"] == dataset])
                if len(rows):
                    sweeps.append(cls(rows, base, parameter, dataset))
        return sweeps

    @property
    def symbol(self) -> str:
        """The parameter in print."""
        return _PARAMETERS.get(self.parameter, self.parameter)

    @cached_property
    def settings(self) -> list[str]:
        """The values as written, in ascending order."""
        values = {split_method(name)[2] for name in self.frame["method"].unique()}
        return sorted(values, key=_number_key)

    @cached_property
    def _folds(self) -> "DataFrame":
        return self.frame.set_index(["repeat", "fold"])

    def variant(self, setting: str) -> str:
        """Return the method's full name under a setting."""
        return f"{self.method}@{self.parameter}={setting}"

    def values(self, setting: str, measure: Measure) -> "Series":
        """Return the values under one setting by (repeat, fold), unscaled."""
        rows = self._folds["method"] == self.variant(setting)
        return self._folds.loc[rows, measure.name].dropna()

    def contrast(self, first: str, second: str, measure: Measure) -> Contrast:
        """Return how one setting compares with another."""
        return compare_folds(self.values(first, measure), self.values(second, measure), measure)

    def positions(self) -> list[float]:
        """Return where the settings are drawn on an axis: at their values, or in order."""
        numbers = [_number_key(setting)[0] for setting in self.settings]
        return numbers if np.isfinite(numbers).all() else list(map(float, range(len(numbers))))


def _number_key(text: str) -> tuple[float, str]:
    """Return a key that sorts numbers by value and other text after them."""
    try:
        return float(text), text
    except ValueError:
        return float("inf"), text


def best_of(values: "Series", greater_is_better: bool, number: Callable[[float], str]) -> set[str]:
    """Return the keys of the best value and of those that print alike."""
    known = values.dropna()
    if len(known) < 2:
        return set()
    best = number(known.max() if greater_is_better else known.min())
    return {str(key) for key, value in known.items() if number(value) == best}
