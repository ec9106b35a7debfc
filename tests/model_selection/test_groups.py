"""Groups in the stratified splitters: whole, balanced, and bad ones refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier

from labelkin.model_selection import (
    IterativeStratifiedKFold,
    IterativeStratifiedShuffleSplit,
    RepeatedIterativeStratifiedKFold,
    train_test_split,
)

SPLITTERS = [
    IterativeStratifiedKFold(4, random_state=0),
    IterativeStratifiedKFold(4, shuffle=False),
    RepeatedIterativeStratifiedKFold(n_splits=4, n_repeats=2, random_state=0),
    IterativeStratifiedShuffleSplit(3, test_size=0.25, random_state=0),
]


def grouped(n=600, n_groups=60, q=6, seed=0):
    """Labels that are far more alike in a group than between groups."""
    rng = np.random.RandomState(seed)
    groups = rng.randint(n_groups, size=n)
    rates = rng.random_sample((n_groups, q)) ** 3
    return (rng.random_sample((n, q)) < rates[groups]).astype(int), groups


def worst(Y, splits):
    return max(np.abs(4 * Y[test].sum(axis=0) / Y.sum(axis=0) - 1).max() for _, test in splits)


@pytest.mark.parametrize("splitter", SPLITTERS, ids=str)
@pytest.mark.parametrize("as_type", [np.asarray, list, lambda g: pd.Series(g).astype(str)])
def test_groups_are_whole_and_labels_spread(splitter, as_type):
    Y, groups = grouped()
    splits = list(splitter.split(Y, Y, as_type(groups)))
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
        assert abs(len(test) - 150) < 25
        assert len(train) + len(test) == 600
    plain = list(GroupKFold(4).split(Y, Y, groups))
    assert worst(Y, splits) < 0.2 < worst(Y, plain)


def test_each_row_is_tested_once_and_seeds_repeat():
    Y, groups = grouped()
    first, second = (
        [test for _, test in IterativeStratifiedKFold(4, random_state=1).split(Y, Y, groups)]
        for _ in range(2)
    )
    assert sorted(np.concatenate(first)) == list(range(600))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_groups_of_one_row_change_nothing():
    Y, _ = grouped(100)
    splitter = IterativeStratifiedKFold(4, random_state=0)
    for (_, one), (_, other) in zip(
        splitter.split(Y, Y), splitter.split(Y, Y, np.arange(100)), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_a_group_that_fills_a_fold():
    Y, _ = grouped(100)
    groups = np.repeat([0, 1, 2, 3], [70, 28, 1, 1])
    tests = [test for _, test in IterativeStratifiedKFold(4, random_state=0).split(Y, Y, groups)]
    assert sorted(len(test) for test in tests) == [1, 1, 28, 70]
    with pytest.raises(ValueError, match="4 different values, which cannot fill 5 parts"):
        next(IterativeStratifiedKFold(5).split(Y, Y, groups))
    with pytest.raises(ValueError, match="1 different value, which cannot fill 2 parts"):
        train_test_split(Y, groups=np.zeros(100))


def test_bad_groups_get_one_sentence():
    Y, groups = grouped(10, 4)
    with pytest.raises(ValueError, match="groups has 9 entries, but there are 10 rows"):
        next(IterativeStratifiedKFold(2).split(Y, Y, groups[:9]))
    for missing in (np.nan, None, pd.NA):
        bad = [missing, *groups[1:].tolist()]
        with pytest.raises(ValueError, match="groups is missing in row 1: leave out"):
            next(IterativeStratifiedKFold(2).split(Y, Y, bad))


def test_tools_of_scikit_learn():
    Y, groups = grouped(200, 20)
    X = np.random.RandomState(1).normal(size=(200, 3))
    seen = []

    def score(model, X, y):
        seen.append(len(X))
        return 0.0

    cross_val_score(
        OneVsRestClassifier(LogisticRegression()),
        X,
        Y,
        cv=SPLITTERS[0],
        groups=groups,
        scoring=score,
    )
    assert sum(seen) == 200
    with config_context(enable_metadata_routing=True):
        for cv in SPLITTERS:
            search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1]}, cv=cv)
            search.fit(X, Y, groups=groups)
    _, _, g_train, g_test, *_ = train_test_split(X, groups, Y, groups=groups)
    assert not set(g_train) & set(g_test)
