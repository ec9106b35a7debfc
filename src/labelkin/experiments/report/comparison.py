"""Comparison of methods on the same folds of datasets, and of one method under several settings.

A method's name may carry a setting, as in ``vpcme@threshold=0.1``. Several values of a parameter
form a sweep, which is a comparison of settings. They are compared with other methods, too, where
the method itself was not run; a single value always is.

Spreads and paired tests count runs or folds. A run is one repeat of the cross-validation, whose
figure is the mean over its folds. The paper gives means, standard deviations and paired t-tests
over 20 runs. Where fewer than three runs are complete, those over folds stand in their place, and
every caption says so.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
import pandas as pd

from labelkin._utils.names import plural
from labelkin.experiments.report.published import MEASURES, Published, column, published
from labelkin.experiments.report.statistics import (
    Friedman,
    complete_block,
    friedman,
    paired_t_test,
)
from labelkin.experiments.run.groups import COMPONENTS, GROUPS
from labelkin.experiments.run.peers import COMPARED
from labelkin.experiments.run.store import BY_INDEX
from labelkin.metrics import Metric

TESTS = ("paired", "corrected")
"""The tests on one dataset: the paper's, and one that allows for shared training rows."""

PAPER_DATASETS = GROUPS["table3"].datasets
"""The paper's datasets in the order of its tables."""

_PARAMETERS = {"threshold": "Θ", "size": "S"}
_ALPHA = 0.01  # the paper's level
_DECIMALS = 12  # what differs beyond them is rounding, and counts as equal
_LEAST_RUNS = 3  # from which a standard deviation, or a test, over runs is given


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


def _swept(names: Iterable[str]) -> set[tuple[str, str]]:
    """Return each method and parameter of which several values were run."""
    counts = Counter(split_method(name)[:2] for name in {*names})
    return {kind for kind, count in counts.items() if kind[1] and count > 1}


def in_order(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return distinct names: the known ones first, in the known order, then the others."""
    names = list(dict.fromkeys(names))
    known = [name for name in known if name in names]
    return known + [name for name in names if name not in known]


# ------------------------------------------------------------------------- folds and runs


def keep_common_folds(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of those folds that all methods of a dataset have, failed ones left out.

    Of a dataset where some repeats are complete, only these are kept. A method without any result
    on a dataset does not count there.
    """
    ok = frame[frame["status"] == "ok"]
    parts = [ok[:0]]
    for _, rows in ok.groupby("dataset", sort=False):
        n_methods = rows.groupby(["repeat", "fold"])["method"].transform("nunique")
        common = rows[n_methods == rows["method"].nunique()]
        n_folds = common.groupby("repeat")["fold"].transform("nunique")
        complete = n_folds == rows["fold"].nunique()
        parts.append(common[complete] if complete.any() else common)
    return pd.concat(parts)


def by_index(results: pd.DataFrame) -> pd.DataFrame:
    """Return checked results with ties broken by label index; only cells that have such figures."""
    kept = results[results[list(BY_INDEX)].notna().all(axis=1) | (results["status"] != "ok")]
    return kept.assign(**{name: kept[column] for column, name in BY_INDEX.items()})


def units(values: pd.Series) -> tuple[str, pd.Series]:
    """Return what a spread or a paired test counts, runs or folds, and its values."""
    # Several times faster than by groups of pandas; a report has thousands of pairs to compare.
    repeats, place, sizes = np.unique(
        values.index.get_level_values("repeat"), return_inverse=True, return_counts=True
    )
    if len(sizes) >= _LEAST_RUNS and sizes.min() == sizes.max() > 1:
        return "runs", pd.Series(np.bincount(place, values) / sizes, index=repeats)
    return "folds", values


@dataclass(frozen=True)
class Contrast:
    """One method against another on one dataset, over the same folds."""

    lead: float = float("nan")
    """Mean lead of the first; positive where it is better, NaN where there is no common fold."""
    paired: float = float("nan")
    """p-value of the paired test; NaN for fewer than two folds."""
    corrected: float = float("nan")

    def mark(self, test: str) -> str:
        """Return • where the first is better at 1 %, ○ where it is worse, else nothing."""
        if not getattr(self, test) < _ALPHA:
            return ""
        return "•" if self.lead > 0 else "○"


def compare_folds(first: pd.Series, second: pd.Series, measure: Metric) -> Contrast:
    """Return how one method compares with another, given the values of both by (repeat, fold)."""
    differences = (first - second).dropna() * measure.sign
    if not len(differences):
        return Contrast()
    n_folds = differences.index.get_level_values("fold").nunique()
    return Contrast(
        round(float(differences.mean()), _DECIMALS),
        paired_t_test(units(differences)[1], 0.0),
        paired_t_test(differences, 0.0, n_folds),
    )


# ------------------------------------------------------------------------- comparisons


@dataclass(frozen=True, eq=False)
class Comparison:
    """Comparison of methods on datasets, on folds that all of them have.

    Marks tell how `reference` compares with each other method on a dataset: • it is better, ○ it
    is worse, by a test at 1 %.
    """

    frame: pd.DataFrame
    """Checked results of these methods and datasets."""
    methods: list[str]
    datasets: list[str]
    reference: str | None = None
    """The method that marks refer to; None for no marks."""

    @classmethod
    def of(
        cls,
        results: pd.DataFrame,
        reference: str | None = "vpcme",
        *,
        components: bool | None = False,
    ) -> "Comparison":
        """Choose from checked results what is compared; a reference that was not run is ignored.

        With `components` Group 4 is chosen (its methods and the reference, on the datasets where
        any of them was run) instead of all methods but Group 4's. None: all methods. A reference
        that was run with one other setting only is compared with that.
        """
        run, swept = {*results["method"]}, _swept(results["method"])
        apart = [n for n in run if split_method(n)[0] in run and split_method(n)[:2] in swept]
        plain = results[~results["method"].isin([n for n in apart if n != reference])]
        bases = plain["method"].str.partition("@")[0]
        if reference not in run and len(settings := {*plain["method"][bases == reference]}) == 1:
            (reference,) = settings
        chosen = bases.isin(COMPONENTS)
        if components:
            datasets = set(plain.loc[chosen, "dataset"])
            chosen = (chosen | (plain["method"] == reference)) & plain["dataset"].isin(datasets)
        else:
            chosen = ~chosen | (components is None)
        frame = plain[chosen]
        if reference not in set(frame["method"]):
            reference = None
        methods = in_order(frame["method"], COMPARED)
        return Comparison(frame, methods, in_order(frame["dataset"], PAPER_DATASETS), reference)

    def __bool__(self) -> bool:
        return bool(self.methods)

    @cached_property
    def common(self) -> pd.DataFrame:
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

    @cached_property
    def _folds(self) -> dict[tuple[str, str], pd.DataFrame]:
        """Values by (dataset, measure): one row per (repeat, fold), one column per method."""
        rows = {name: self.common[self.common["dataset"] == name] for name in self.datasets}
        return {
            (dataset, name): found.pivot(
                index=["repeat", "fold"], columns="method", values=name
            ).reindex(columns=self.methods)
            for (dataset, found), name in product(rows.items(), MEASURES)
        }

    @cached_property
    def _means(self) -> dict[str, pd.DataFrame]:
        """Means by measure, rounded, so that those equal in exact arithmetic share a rank."""
        found = {key: values.mean() for key, values in self._folds.items()}
        return {
            measure: pd.DataFrame({d: found[d, measure] for d in self.datasets}, dtype=float)
            .T.reindex(columns=self.methods)
            .round(_DECIMALS)
            for measure in MEASURES
        }

    def values(self, dataset: str, method: str, measure: Metric) -> pd.Series:
        """Return the values of one method on one dataset by (repeat, fold), unscaled."""
        return self._folds[dataset, measure.name][method].dropna()

    def means(self, measure: Metric) -> pd.DataFrame:
        """Return the means, unscaled: one row per dataset, one column per method, NaN for gaps."""
        return self._means[measure.name]

    @property
    def measured(self) -> list[Metric]:
        """The metrics that have any value."""
        return [m for m in MEASURES.values() if self.means(m).notna().any(axis=None)]

    def published(self, dataset: str, method: str, measure: Metric) -> Published | None:
        """Return the figure that the paper prints for a method."""
        return published(dataset, method, measure.name)

    @cached_property
    def failed(self) -> Counter[tuple[str, str]]:
        """The number of failed cells by dataset and method."""
        failed = self.frame[self.frame["status"] != "ok"]
        return Counter(zip(failed["dataset"], failed["method"], strict=True))

    # --------------------------------------------------------------------------- tests

    def scores(self, measure: Metric) -> pd.DataFrame:
        """Return the largest part of the means without gaps: what is ranked and tested.

        Losses are negated, so that more is better.
        """
        return complete_block(self.means(measure)) * measure.sign

    def friedman(self, measure: Metric) -> Friedman | None:
        """Return Friedman's test over the datasets; None for fewer than two by two."""
        scores = self.scores(measure)
        return friedman(scores) if min(scores.shape) >= 2 else None

    def contrast(self, dataset: str, first: str, second: str, measure: Metric) -> Contrast:
        """Return how the first method compares with the second on a dataset, if both were run."""
        if dataset not in self.datasets or not {first, second} <= set(self.methods):
            return Contrast()
        folds = self._folds[dataset, measure.name]
        return compare_folds(folds[first], folds[second], measure)

    def marks(self, measure: Metric, test: str = "paired") -> pd.DataFrame:
        """Return how the reference compares with each method on each dataset: • better, ○ worse.

        Nothing where the test finds no difference, NaN where there is no test.
        """
        marks = pd.DataFrame(np.nan, self.datasets, self.methods, dtype=object)
        for dataset, method in product(self.datasets, self.methods if self.reference else ()):
            contrast = self.contrast(dataset, str(self.reference), method, measure)
            if method != self.reference and np.isfinite(getattr(contrast, test)):
                marks.loc[dataset, method] = contrast.mark(test)
        return marks

    def printed(self, measure: Metric, part: str) -> pd.DataFrame:
        """Return published ``"mean"``, ``"std"`` or ``"mark"`` by dataset and method."""
        found = {
            m: [getattr(self.published(d, m, measure), part, np.nan) for d in self.datasets]
            for m in self.methods
        }
        return pd.DataFrame(found, self.datasets)

    def describe_test(self, test: str) -> str:
        """Return a test on one dataset in words."""
        if test == "corrected":
            return "corrected resampled t-test (Nadeau–Bengio) over folds at 1 %"
        folds = self.common.groupby(["dataset", "repeat", "fold"]).size()
        found = [units(folds.loc[name]) for name in folds.index.unique("dataset")]
        if not found or any(unit == "folds" for unit, _ in found):
            return "paired t-test over folds at 1 % (in the paper over 20 runs)"
        n_runs = min(len(runs) for _, runs in found)
        return f"paired t-test over {plural(n_runs, 'run')} at 1 %, as in the paper over 20"


def count_marks(marks: pd.Series) -> tuple[int, ...]:
    """Return how many marks are wins, ties and losses."""
    return tuple(int((marks == mark).sum()) for mark in ("•", "", "○"))


@dataclass(frozen=True, eq=False)
class Sweep(Comparison):
    """One method on one dataset under the values of one parameter (Figure 1, Table 5).

    The `methods` that are compared are the values as written, in ascending order.
    """

    method: str = ""
    parameter: str = ""

    @classmethod
    def all_of(cls, results: pd.DataFrame) -> list["Sweep"]:
        """Return every sweep in checked results."""
        split = results["method"].map(split_method)
        sweeps = []
        for kind in sorted(
            _swept(results["method"]), key=lambda kind: (kind[1] != "threshold", kind)
        ):
            frame = results[split.map(lambda found, kind=kind: found[:2] == kind)]
            frame = keep_common_folds(frame.assign(method=split.str[2]))
            for dataset in in_order(frame["dataset"], PAPER_DATASETS):
                rows = frame[frame["dataset"] == dataset]
                settings = sorted(set(rows["method"]), key=_number_key)
                sweeps.append(cls(rows, settings, [dataset], None, *kind))
        return sweeps

    @property
    def dataset(self) -> str:
        """The dataset."""
        return self.datasets[0]

    @property
    def symbol(self) -> str:
        """The parameter in print."""
        return _PARAMETERS.get(self.parameter, self.parameter)

    def published(self, dataset: str, method: str, measure: Metric) -> Published | None:
        """Return the figure that the paper prints for a setting."""
        return published(dataset, f"{self.method}@{self.parameter}={method}", measure.name)

    def positions(self) -> list[float]:
        """Return the settings as numbers; infinite where one is not a number."""
        return [_number_key(setting)[0] for setting in self.methods]


def _number_key(text: str) -> tuple[float, str]:
    """Return a key that sorts numbers by value and other text after them."""
    try:
        return float(text), text
    except ValueError:
        return float("inf"), text
