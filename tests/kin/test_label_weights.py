"""Weights of the members that differ between labels."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from labelkin.kin._label_weights import SHARE, fit_label_weights
from labelkin.kin._weights import equal_share
from support.members import noisy_members

EQUAL = np.full(2, 0.5)


def two_kinds(n):
    """Return log odds of two members, each of which knows one of two labels, and the labels."""
    rng = np.random.RandomState(0)
    signal = 2 * rng.randn(n, 2)
    Y = (rng.rand(n, 2) < expit(signal)).astype(int)
    noise = 0.5 * rng.randn(2, n, 2)
    odds = np.stack([signal * [1, 0], signal * [0, 1]]) + noise
    return odds, Y, np.arange(n) % 10


def test_a_label_prefers_the_member_that_knows_it():
    odds, Y, fold_of = two_kinds(1000)
    weights, mixture = fit_label_weights(odds, EQUAL, Y, fold_of, None, 10**6, 0)
    assert weights[0, 0] > 0.6 > weights[1, 0]
    assert weights[1, 1] > 0.6 > weights[0, 1]
    np.testing.assert_allclose(weights.sum(axis=0), 1)
    assert sum(share for _, share in mixture) == pytest.approx(1)
    again, _ = fit_label_weights(odds, EQUAL, Y, fold_of, mixture, 10**6, 0)
    np.testing.assert_array_equal(again, weights)


def test_the_weights_minimise_the_penalised_loss():
    odds, Y, fold_of = two_kinds(300)
    ridge, weight = 0.01, np.random.RandomState(1).randint(1, 4, 300).astype(float)
    shared = np.array([0.3, 0.7])
    found, _ = fit_label_weights(odds, shared, Y, fold_of, [(ridge, 1.0)], 10**6, 0, weight)
    applied = SHARE * (1 - equal_share(300, 200))
    for label in range(2):
        mean = shared @ odds[:, :, label]
        differences, sign = odds[:, :, label] - mean, 2 * Y[:, label] - 1

        def loss(coef, mean=mean, differences=differences, sign=sign):
            likelihood = weight @ log_expit(sign * (mean + coef @ differences))
            return ridge * weight.sum() * coef @ coef / 2 - likelihood

        coef = minimize(loss, np.zeros(2)).x
        expected = shared + applied * (coef - coef.sum() * shared)
        np.testing.assert_allclose(found[:, label], expected, atol=1e-3)


def test_labels_that_are_alike_keep_the_shared_weights():
    odds, Y = noisy_members(600, [1, 1, 1])
    weights, _ = fit_label_weights(odds, np.full(3, 1 / 3), Y, np.arange(600) % 10, None, 10**6, 0)
    np.testing.assert_allclose(weights, 1 / 3, atol=0.05)


def test_a_constant_label_and_a_single_fold_keep_the_shared_weights():
    odds, Y, fold_of = two_kinds(300)
    Y[:, 0] = 0
    weights, _ = fit_label_weights(odds, EQUAL, Y, fold_of, None, 10**6, 0)
    np.testing.assert_array_equal(weights[:, 0], EQUAL)
    assert weights[1, 1] > 0.5
    weights, _ = fit_label_weights(odds, EQUAL, Y, 0 * fold_of, None, 10**6, 0)
    np.testing.assert_array_equal(weights, 0.5)


def test_ridges_are_compared_on_some_of_many_labels():
    odds, Y, fold_of = two_kinds(1000)
    many, labels = np.tile(odds, 20), np.tile(Y, 20)
    weights, _ = fit_label_weights(many, EQUAL, labels, fold_of, None, 4000, 0)
    assert weights[0, ::2].min() > 0.6
    assert weights[1, 1::2].min() > 0.6
