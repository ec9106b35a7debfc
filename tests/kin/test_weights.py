"""Weights of the members."""

import numpy as np
import pytest

from labelkin.kin._weights import Candidate, fit_member_weights
from support.members import noisy_members


def weights_of(log_odds, Y, mixture=None, max_entries=50_000):
    return fit_member_weights(log_odds, Y, mixture, max_entries, seed=0)[0]


def test_weights_follow_the_better_member_given_rows():
    odds, Y = noisy_members(2000, [0.5, 5, 5])
    weights = weights_of(odds, Y)
    assert weights[0] > 0.8
    assert weights.sum() == pytest.approx(1)
    same, Y = noisy_members(2000, [2, 2, 2])
    np.testing.assert_allclose(weights_of(same, Y), 1 / 3, atol=0.07)


def test_weights_stay_equal_with_few_rows():
    odds, Y = noisy_members(12, [1, 1.5, 1.2, 1.1])
    np.testing.assert_allclose(weights_of(odds, Y), 1 / 4, atol=0.13)
    np.testing.assert_array_equal(weights_of(odds[:, :5], Y[:5]), np.full(4, 0.25))
    np.testing.assert_array_equal(weights_of(odds, np.zeros_like(Y)), np.full(4, 0.25))


def test_weights_learn_from_a_part_of_very_many_predictions():
    odds, Y = noisy_members(2000, [0.5, 5])
    assert weights_of(odds, Y, max_entries=1000)[0] > 0.7


def test_a_found_mixture_is_returned_and_can_be_given():
    odds, Y = noisy_members(400, [0.5, 5])
    weights, mixture = fit_member_weights(odds, Y, None, 50_000, 0)
    assert sum(share for _, share in mixture) == pytest.approx(1)
    np.testing.assert_allclose(weights_of(odds, Y, mixture), weights, atol=1e-3)
    equal = [(Candidate((0, 1), np.inf), 1.0)]
    np.testing.assert_array_equal(weights_of(odds, Y, equal), [0.5, 0.5])


def test_the_best_member_is_alone_where_the_others_are_noise():
    odds, Y = noisy_members(1500, [0.3, 20, 20, 20])
    weights, mixture = fit_member_weights(odds, Y, None, 50_000, 0)
    assert weights[0] > 0.95
    assert any(candidate.members == (0,) for candidate, _ in mixture)
