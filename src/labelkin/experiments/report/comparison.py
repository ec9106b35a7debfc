"""From cells to a comparison: which methods on which datasets, with means and marks.

Results come as a DataFrame with a row a cell: ``dataset, method, repeat, fold``, the
metrics as fractions, ``fit_s, predict_s, peak_mb``, ``status`` and ``error``. A method
may carry a setting, as in ``vpcme@threshold=0.1``; such rows form sweeps, all others
are compared with one another.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from labelkin.experiments.report.published import COLUMNS, column
from labelkin.experiments.report.statistics import corrected_t_test, paired_t_test
from labelkin.experiments.run.peers import COMPARED
from labelkin.metrics import METRICS, PAPER_METRICS

if TYPE_CHECKING:
    from pandas import DataFrame, Series

__all__ = ["COSTS", "MEASURES", "Comparison", "Measure", "Sweep", "check_results"]

Test = Literal["paired", "corrected"]

TESTS: dict[Test, str] = {
    "paired": "paired t-test at 1 %, as in the paper",
    "corrected": "corrected resampled t-test (Nadeau–Bengio) at 1 %",
}
"""The tests on one dataset, in words."""

PAPER_DATASETS = (
    "yeast", "scene", "enron", "genbase", "medical", "arts", "business", "education",
    "entertainment", "health", "science", "social",
)  # fmt: skip
"""The paper's datasets in the order of its tables."""

COMPONENTS = ("adaboost_pdt", "bagging_vpcp", "mddm")
"""Methods of the paper's Group 4, which it compares with VPCME alone (Figure 2)."""

_CELL = ["dataset", "method", "repeat", "fold"]
_PARAMETERS = {"threshold": "Θ", "size": "S"}
_ALPHA = 0.01  # the paper's level


@dataclass(frozen=True)
class Measure:
    """What a table shows: a metric, or a cost."""

    name: str
    """Column of the results."""
    title: str
    greater_is_better: bool
    scale: float
    """Tables show values times this."""
    unit: str
    is_cost: bool = False

    @property
    def arrow(self) -> str:
        """The direction as a sign: ↑ larger is better, ↓ smaller is better."""
        return "↑" if self.greater_is_better else "↓"

    @property
    def heading(self) -> str:
        """Title with direction and unit."""
        return f"{self.title} {self.arrow}" + (f" ({self.unit})" if self.unit else "")

    def number(self, value: float) -> str:
        """Return a scaled value as text: two decimals, or three digits for a cost."""
        if self.is_cost:
            return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
        return f"{value:.2f}"


MEASURES: dict[str, Measure] = {
    name: Measure(
        name,
        METRICS[name].title,
        METRICS[name].greater_is_better,
        100.0 if METRICS[name].percent else 1.0,
        "%" if METRICS[name].percent else "",
    )
    for name in PAPER_METRICS
}
"""The paper's seven metrics, in its order."""

COSTS: dict[str, Measure] = {
    "fit_s": Measure("fit_s", "Time to fit", False, 1.0, "s", is_cost=True),
    "predict_s": Measure("predict_s", "Time to predict", False, 1.0, "s", is_cost=True),
    "peak_mb": Measure("peak_mb", "Peak memory", False, 1.0, "MB", is_cost=True),
}
"""What one fold costs."""


def check_results(frame: "DataFrame") -> "DataFrame":
    """Return results in a known form, or say in one sentence what is wrong with them."""
    import pandas as pd

    absent = [name for name in _CELL if name not in frame]
    if absent:
        raise ValueError(
            f"the results have no column {', '.join(map(repr, absent))}; needed are "
            f"{', '.join(_CELL)} and at least one metric."
        )
    if frame.empty:
        raise ValueError("the results hold no cell: run labelkin reproduce first.")
    if not any(name in frame for name in MEASURES):
        raise ValueError(f"the results have no metric; known are {', '.join(MEASURES)}.")
    frame = frame.copy()
    for name in ("dataset", "method"):
        frame[name] = frame[name].astype(str)
    numbers = [*MEASURES, *COSTS]
    for name in numbers:
        column = frame[name] if name in frame else pd.Series(np.nan, index=frame.index)
        frame[name] = pd.to_numeric(column, errors="coerce").astype(float)
    if "status" not in frame:
        frame["status"] = "ok"
    error = frame["error"].astype(object) if "error" in frame else pd.Series("", frame.index)
    frame["error"] = error.where(error.notna(), "").astype(str)
    # A cell that failed has no figures, whatever is written beside it.
    frame.loc[frame["status"] != "ok", numbers] = np.nan
    twice = frame[frame.duplicated(_CELL)]
    if len(twice):
        cell = ", ".join(f"{name} {twice.iloc[0][name]}" for name in _CELL)
        raise ValueError(f"the results hold a cell more than once ({cell}): keep one row a cell.")
    return frame.sort_values(_CELL, kind="stable", ignore_index=True)


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
    """Return names, the known ones first and in the known order, the rest as they come."""
    names = list(dict.fromkeys(names))
    known = [name for name in known if name in names]
    return known + [name for name in names if name not in known]


def _methods_in_order(names: Iterable[str], reference: str | None) -> list[str]:
    """Return methods as the paper has them, the reference after them, then all others."""
    names = in_order(names, COMPARED)
    paper = [name for name in names if column(name) in COLUMNS or name in COMPONENTS]
    paper.sort(key=lambda name: COLUMNS.index(column(name)) if column(name) in COLUMNS else -1)
    last = [] if reference is None else [reference]
    first = [name for name in paper if name not in last]
    return first + last + [name for name in names if name not in first + last]


@dataclass(frozen=True)
class Comparison:
    """Methods beside one another on datasets.

    Marks say how `reference` stands to each other method on a dataset: • it is better,
    ○ it is worse, by a paired test at 1 % over the folds both have.
    """

    frame: "DataFrame"
    """Checked results of these methods and datasets."""
    methods: list[str]
    datasets: list[str]
    reference: str | None
    """The method marks refer to; None for no marks."""

    @classmethod
    def of(
        cls,
        results: "DataFrame",
        reference: str | None = "vpcme",
        *,
        components: bool | None = False,
    ) -> "Comparison":
        """Choose from checked results what is compared.

        Parameters
        ----------
        results : DataFrame
            From :func:`check_results`.
        reference : str or None
            The method marks refer to; ignored where it was not run.
        components : bool or None
            Choose Group 4 (its methods and the reference, on the datasets where any of
            them was run) instead of all methods but Group 4's. None: all methods.
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
    def _by_pair(self) -> dict[tuple[str, str], "DataFrame"]:
        grouped = self.frame.groupby(["dataset", "method"], sort=False)
        return {pair: rows.set_index(["repeat", "fold"]) for pair, rows in grouped}

    def values(self, dataset: str, method: str, measure: Measure) -> "Series":
        """Return the values of one method on one dataset by (repeat, fold), unscaled."""
        import pandas as pd

        rows = self._by_pair.get((dataset, method))
        return pd.Series(dtype=float) if rows is None else rows[measure.name].dropna()

    def cells(self, dataset: str, method: str) -> tuple[int, int]:
        """Return how many cells were run, and how many of them failed."""
        rows = self._by_pair.get((dataset, method))
        return (0, 0) if rows is None else (len(rows), int((rows["status"] != "ok").sum()))

    def means(self, measure: Measure) -> "DataFrame":
        """Return the means, unscaled: a row a dataset, a column a method, NaN for gaps."""
        import pandas as pd

        table = {
            method: [self.values(d, method, measure).mean() for d in self.datasets]
            for method in self.methods
        }
        return pd.DataFrame(table, index=self.datasets, columns=self.methods, dtype=float)

    def n_folds(self, dataset: str) -> int:
        """Return the number of folds of one repeat."""
        return int(self.frame.loc[self.frame["dataset"] == dataset, "fold"].nunique())

    @cached_property
    def _leads(self) -> dict[tuple[str, str, str], tuple[float, float, float]]:
        return {}

    def _lead(self, dataset: str, method: str, measure: Measure) -> tuple[float, float, float]:
        """Return the reference's mean lead on the folds both have, and both p-values."""
        key = dataset, method, measure.name
        if key not in self._leads:
            ours = self.values(dataset, str(self.reference), measure)
            theirs = self.values(dataset, method, measure)
            shared = ours.index.intersection(theirs.index)
            a, b = ours.loc[shared].to_numpy(), theirs.loc[shared].to_numpy()
            lead = float((a - b).mean()) if len(shared) else float("nan")
            n_folds = self.n_folds(dataset)
            self._leads[key] = lead, paired_t_test(a, b), corrected_t_test(a, b, n_folds)
        return self._leads[key]

    def p_value(self, dataset: str, method: str, measure: Measure, test: Test = "paired") -> float:
        """Return how surely `method` differs from the reference; NaN where it cannot be said."""
        if self.reference in (None, method):
            return float("nan")
        return self._lead(dataset, method, measure)[1 if test == "paired" else 2]

    def mark(self, dataset: str, method: str, measure: Measure, test: Test = "paired") -> str:
        """Return • where the reference is better than `method`, ○ where worse, else nothing."""
        if not self.p_value(dataset, method, measure, test) < _ALPHA:
            return ""
        lead = self._lead(dataset, method, measure)[0]
        return "•" if (lead > 0) == measure.greater_is_better else "○"

    def wins(self, method: str, measure: Measure, test: Test = "paired") -> tuple[int, int, int]:
        """Return wins, ties and losses of the reference over the datasets both were run on."""
        both = [
            name for name in self.datasets if np.isfinite(self.p_value(name, method, measure, test))
        ]
        marks = [self.mark(name, method, measure, test) for name in both]
        win, loss = marks.count("•"), marks.count("○")
        return win, len(marks) - win - loss, loss


@dataclass(frozen=True)
class Sweep:
    """One method on one dataset under the values of one parameter (Figure 1, Table 5)."""

    frame: "DataFrame"
    method: str
    parameter: str
    dataset: str

    @classmethod
    def all_of(cls, results: "DataFrame") -> list["Sweep"]:
        """Find every sweep in checked results."""
        names = {name: split_method(name) for name in results["method"].unique()}
        kinds = dict.fromkeys((base, key) for base, key, _ in names.values() if key)
        sweeps = []
        for base, key in sorted(kinds, key=lambda kind: (kind[1] != "threshold", kind)):
            which = results["method"].map(lambda name, k=(base, key): names[name][:2] == k)
            frame = results[which]
            for dataset in in_order(frame["dataset"], PAPER_DATASETS):
                rows = frame[frame["dataset"] == dataset]
                sweeps.append(cls(rows, base, key, dataset))
        return sweeps

    @property
    def symbol(self) -> str:
        """The parameter in print."""
        return _PARAMETERS.get(self.parameter, self.parameter)

    @property
    def settings(self) -> list[str]:
        """The values as written, in ascending order."""
        values = {split_method(name)[2] for name in self.frame["method"]}
        return sorted(values, key=_number_key)

    def variant(self, setting: str) -> str:
        """Return the method's full name under a setting."""
        return f"{self.method}@{self.parameter}={setting}"

    def values(self, setting: str, measure: Measure) -> "Series":
        """Return the values under one setting, unscaled."""
        rows = self.frame["method"] == self.variant(setting)
        return self.frame.loc[rows, measure.name].dropna()

    def positions(self) -> list[float]:
        """Return where the settings stand on an axis: their values, or their order."""
        numbers = [_number_key(setting)[0] for setting in self.settings]
        return numbers if np.isfinite(numbers).all() else list(map(float, range(len(numbers))))


def _number_key(text: str) -> tuple[float, str]:
    """Sort numbers by value and put other text after them."""
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
