"""Folds of the rows, and bags of whole folds."""

import numpy as np
import pytest

from labelkin.kin._folds import draw_bags, draw_folds


@pytest.mark.parametrize(
    ("n", "n_folds"), [(1, 1), (3, 3), (60, 10), (250, 12), (400, 20), (5000, 20)]
)
def test_folds_are_equal_and_not_small(n, n_folds):
    fold_of = draw_folds(n, np.random.RandomState(0))
    sizes = np.bincount(fold_of)
    assert len(sizes) == n_folds
    assert sizes.max() - sizes.min() <= 1


def test_every_fold_is_outside_equally_often():
    fold_of = np.arange(100) % 10
    bags = draw_bags(fold_of, 7, 0.55, np.random.RandomState(0))
    outside = [np.setdiff1d(np.arange(100), bag) for bag in bags]
    times = np.zeros(10, dtype=int)
    for rows in outside:
        folds = np.unique(fold_of[rows])
        assert len(rows) == 10 * len(folds) == 40
        times[folds] += 1
    assert times.max() - times.min() <= 1


def test_a_single_fold_is_in_every_bag():
    bags = draw_bags(np.zeros(3, dtype=int), 2, 0.5, np.random.RandomState(0))
    assert [len(bag) for bag in bags] == [3, 3]


def test_some_rows_may_be_in_no_fold():
    fold_of = draw_folds(1000, np.random.RandomState(0), 200)
    assert (fold_of >= 0).sum() == 200
    assert fold_of.max() + 1 == 10
    assert fold_of.min() == -1
