"""The level of out-of-sample scores."""

import numpy as np
import pytest
from scipy.special import logit

from labelkin.calibration._means import mean_and_error, restore_means


@pytest.fixture
def rows():
    rng = np.random.RandomState(0)
    return (rng.rand(60, 3) < [0.1, 0.4, 0.9]).astype(np.uint8), rng.permutation(60) % 6


@pytest.mark.parametrize("alone", [False, True])
def test_scores_that_are_shares_are_the_same_for_all_rows(rows, alone):
    """They would otherwise tell the label: lower for the rows that have it."""
    Y, fold_of = rows
    fold_of = np.arange(60) if alone else fold_of
    without = np.array([Y[fold_of != fold].mean(axis=0) for fold in fold_of])
    assert np.corrcoef(without[:, 0], Y[:, 0])[0, 1] < -0.1
    restored = restore_means(without, Y, fold_of)
    np.testing.assert_allclose(restored, np.tile(Y.mean(axis=0), (60, 1)))


def test_log_odds_move_with_the_counts(rows):
    Y, fold_of = rows
    moved = restore_means(np.zeros((60, 3)), Y, fold_of, log_odds=True)
    rest = Y[fold_of != fold_of[0]]
    odds = logit((Y.sum(axis=0) + 1) / 62) - logit((rest.sum(axis=0) + 1) / (len(rest) + 2))
    np.testing.assert_allclose(moved[0], odds)


def test_weights_are_repeated_rows(rows):
    Y, fold_of = rows
    rng = np.random.RandomState(1)
    scores, weight = rng.standard_normal((60, 3)), rng.randint(1, 4, 60)
    again = np.repeat(np.arange(60), weight)
    repeated = restore_means(scores[again], Y[again], fold_of[again])
    np.testing.assert_allclose(restore_means(scores, Y, fold_of, weight=weight)[again], repeated)


def test_a_single_fold_stays_as_it_is(rows):
    Y, _ = rows
    scores = np.ones((60, 3))
    np.testing.assert_array_equal(restore_means(scores, Y, np.zeros(60, dtype=int)), scores)


def test_the_error_of_a_mean_is_the_standard_deviation_over_the_root_of_the_rows():
    values = np.random.RandomState(0).standard_normal((50, 2))
    for rows in (values, values[:, 0]):
        mean, error = mean_and_error(rows)
        np.testing.assert_allclose(mean, rows.mean(axis=0))
        np.testing.assert_allclose(error, rows.std(axis=0) / 50**0.5)
    weight = np.arange(50) % 3  # a row of no weight does not count
    found = mean_and_error(values, weight)
    np.testing.assert_allclose(found, mean_and_error(values[weight > 0], weight[weight > 0]))
