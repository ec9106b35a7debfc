"""Stratified splits of labels that are known in part."""

import numpy as np
import pandas as pd
import pytest

from labelkin.model_selection import (
    IterativeStratifiedKFold,
    IterativeStratifiedShuffleSplit,
    train_test_split,
)


def partial_labels(n=120, q=4, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random((n, q)) < 0.3).astype(float)
    y[rng.random((n, q)) < 0.5] = np.nan
    return y


@pytest.mark.parametrize("form", ["array", "nullable", "object"])
def test_known_positives_are_spread_evenly(form):
    y = partial_labels()
    given = {
        "array": y,
        "nullable": pd.DataFrame(y).astype("Int8"),
        "object": np.where(np.isnan(y), None, y),
    }[form]
    tests = [test for _, test in IterativeStratifiedKFold(4, random_state=0).split(y, given)]
    assert sorted(map(len, tests)) == [30, 30, 30, 30]
    counts = np.array([np.nansum(y[test], axis=0) for test in tests])
    assert np.ptp(counts, axis=0).max() <= 1


def test_folds_are_those_of_the_known_positives():
    y = partial_labels()
    zeros = np.nan_to_num(y)
    for splitter in (
        IterativeStratifiedKFold(3, random_state=1),
        IterativeStratifiedShuffleSplit(2, test_size=0.25, random_state=1),
    ):
        for (_, test), (_, same) in zip(
            splitter.split(y, y), splitter.split(y, zeros), strict=True
        ):
            np.testing.assert_array_equal(test, same)


def test_train_test_split_keeps_unknown_labels():
    y = partial_labels()
    train, test = train_test_split(y, random_state=0)
    assert len(test) == 30
    assert np.isnan(test).sum() + np.isnan(train).sum() == np.isnan(y).sum()


@pytest.mark.parametrize("form", [np.asarray, lambda y: pd.Series(y, dtype="Int8")])
def test_one_label(form):
    y = np.array([1, 0, np.nan, np.nan] * 5)
    for _, test in IterativeStratifiedKFold(5, random_state=0).split(y, form(y)):
        assert np.nansum(y[test]) == 1
