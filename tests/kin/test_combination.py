"""The second stage: curves, weights and cross-fitted probabilities, against slow computations."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from labelkin.kin import Limits
from labelkin.kin._combination import (
    fit_combination,
    fit_curves,
    fit_label_weights,
    fit_member_weights,
    smooth_targets,
)
from labelkin.metrics import average_precision
from labelkin.rows import Labels

LIMITS = Limits(few_rows=1)


@pytest.fixture(scope="module")
def data():
    """Log odds of three members, (3, 200, 4), the last without information, and labels."""
    rng = np.random.RandomState(0)
    truth = 1.5 * rng.standard_normal((200, 4)) - 0.5
    Y = (rng.rand(200, 4) < expit(truth)).astype(np.uint8)
    noise = rng.standard_normal((3, 200, 4))
    return np.stack([truth + noise[0], truth + 0.5 * noise[1], noise[2]]), Y


def log_loss(odds, Y):
    return -log_expit(np.where(Y > 0, odds, -odds)).sum()


def test_member_weights_are_those_of_a_ridge_regression(data):
    A, Y = data
    mean = A.mean(axis=0)

    def objective(coef):
        odds = coef[3] * mean + np.tensordot(coef[:3], A - mean, axes=1)
        return log_loss(odds, Y) + LIMITS.member_ridge * Y.size / 2 * (coef[:3] ** 2).sum()

    coef = minimize(objective, [0, 0, 0, 1], tol=1e-10).x
    expected = coef[3] / 3 + coef[:3] - coef[:3].mean()
    expected = np.maximum(expected, 0) / np.maximum(expected, 0).sum()
    weights = fit_member_weights(A, Labels(Y), LIMITS)
    np.testing.assert_allclose(weights, expected, atol=1e-3)
    assert weights[1] > weights[0] > weights[2]
    few = fit_member_weights(A, Labels(Y), Limits(few_rows=10**6))
    np.testing.assert_allclose(few, 1 / 3, atol=1e-6)


def test_weights_of_a_label_are_those_of_a_ridge_regression(data):
    A, Y = data
    A = A.copy()
    A[:2, :, 0] = A[[2, 1], :, 0]  # for the first label, another member knows nothing
    shared = np.array([0.4, 0.5, 0.1])
    weights = fit_label_weights(A, shared, Labels(Y), LIMITS)
    np.testing.assert_allclose(weights.sum(axis=0), 1)
    for label in range(4):
        mean = shared @ A[:, :, label]

        def objective(coef, label=label, mean=mean):
            odds = mean + coef @ (A[:, :, label] - mean)
            return log_loss(odds, Y[:, label]) + LIMITS.label_ridge * 100 * (coef**2).sum()

        coef = minimize(objective, np.zeros(3), tol=1e-10).x
        expected = shared + coef - coef.sum() * shared
        np.testing.assert_allclose(weights[:, label], expected, atol=2e-3)


def test_smoothed_targets():
    Y = np.array([[1, 0, 1], [0, 0, 1], [0, 0, 1], [1, 0, 1]])
    found = smooth_targets(Labels(Y), 0.3).Y
    np.testing.assert_allclose(found[:, 0], np.where(Y[:, 0], 2.3 / 2.6, (1 / 3) / (2 + 2 / 3)))
    np.testing.assert_array_equal(found[:, 1:], Y[:, 1:])


def test_curves_of_condensed_points_are_those_of_all_rows():
    rng = np.random.RandomState(0)
    scores = rng.standard_normal((20_000, 3)) - [0, 2, 4]
    Y = (rng.rand(*scores.shape) < expit(2 * scores - 1)).astype(float)
    few = Limits(stage_entries=1)
    all_rows, condensed = (fit_curves(scores, Labels(Y), "none", one) for one in (LIMITS, few))
    np.testing.assert_allclose(condensed.slope_, all_rows.slope_, rtol=0.01)
    np.testing.assert_allclose(condensed.intercept_, all_rows.intercept_, atol=0.02)


def test_condensed_points_count_known_labels():
    rng = np.random.RandomState(0)
    scores = rng.standard_normal((4000, 2))
    known = rng.rand(4000, 2) < [0.9, 0.4]
    Y = (scores + rng.standard_normal((4000, 2)) > 0).astype(float) * known
    few = Limits(stage_entries=100, edge_points=50)
    all_rows, condensed = (
        fit_curves(scores, Labels(Y, None, known), "none", one) for one in (LIMITS, few)
    )
    np.testing.assert_allclose(condensed.slope_, all_rows.slope_, rtol=0.02)
    np.testing.assert_allclose(condensed.intercept_, all_rows.intercept_, atol=0.03)


def test_cross_fitted_probabilities_depend_on_no_label_of_their_folds(data):
    A, Y = data
    fold_of = np.random.RandomState(0).permutation(np.arange(200) % 10)
    changed = Y.copy()
    out = fold_of // 2 == 3
    changed[out] = 1 - changed[out]
    limits = Limits(slope_precision=(1e-9, 1e-9))  # the shared slope is that of all rows
    found = [
        fit_combination(list(A), Labels(labels), fold_of, [True] * 3, limits)
        for labels in (Y, changed)
    ]
    # Scores are at the level of the labels' shares in the other folds: a number for each fold.
    gap = logit(found[0][1]) - logit(found[1][1])
    for fold in (6, 7):
        assert np.ptp(gap[fold_of == fold], axis=0).max() < 0.02
    assert np.ptp(gap[~out], axis=0).min() > 0.5


def test_the_combination_beats_its_members_on_new_rows(data):
    A, Y = data
    first, second = slice(0, 100), slice(100, None)
    scores = [a[first] for a in A]
    combination, proba, alone = fit_combination(
        scores, Labels(Y[first]), np.arange(100) % 10, [True] * 3, Limits()
    )
    new = combination.proba([a[second] for a in A])
    assert average_precision(Y[second], new) > average_precision(Y[second], A[0, second])
    assert abs(average_precision(Y[second], new) - average_precision(Y[first], proba)) < 0.06
    assert len(alone) == 3
    np.testing.assert_allclose(combination.label_weights_.sum(axis=0), 1)
