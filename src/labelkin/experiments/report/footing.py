"""The same folds for all methods, and what a spread or a test counts: runs or folds.

A run is one repeat of the cross-validation, whose figure is the mean over its folds. The paper
gives means, standard deviations and paired t-tests over 20 runs. Where fewer than three runs
are complete, those over folds stand in their place, and every caption says so.
"""

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame, Series

LEAST_RUNS = 3
"""Runs from which a standard deviation, or a test, over runs is given."""

Unit = Literal["runs", "folds"]


def keep_common_folds(frame: "DataFrame") -> "DataFrame":
    """Return the cells of those folds that all methods of a dataset have, failed ones left out.

    Of a dataset where some repeats are complete, only these are kept. A method without any result
    on a dataset does not count there.
    """
    ok = frame[frame["status"] == "ok"]
    methods = ok.groupby("dataset")["method"].transform("nunique")
    found = ok.groupby(["dataset", "repeat", "fold"])["method"].transform("nunique")
    common = ok[found == methods]
    n_folds = ok.groupby("dataset")["fold"].transform("nunique").reindex(common.index)
    folds = common.groupby(["dataset", "repeat"])["fold"].transform("nunique")
    complete = folds == n_folds
    whole = complete.groupby(common["dataset"]).transform("any")
    return common[complete | ~whole]


def units(values: "Series") -> tuple[Unit, "Series"]:
    """Return what a spread or a paired test counts, and its values, from those by fold."""
    import pandas as pd

    # Several times faster than by groups of pandas; a report has thousands of pairs to compare.
    repeats, place, sizes = np.unique(
        values.index.get_level_values("repeat"), return_inverse=True, return_counts=True
    )
    if len(sizes) >= LEAST_RUNS and sizes.min() == sizes.max() > 1:
        return "runs", pd.Series(np.bincount(place, values) / sizes, index=repeats)
    return "folds", values


def count(number: int, unit: str) -> str:
    """Return a number of runs or folds in words.

    >>> count(1, "folds"), count(20, "runs")
    ('1 fold', '20 runs')
    """
    return f"{number} {unit if number != 1 else unit[:-1]}"
