"""Stacking: curves, weights, the correction by other labels."""

import numpy as np
import pytest
from scipy.special import expit, logit

from labelkin.calibration._curves import SlopeCalibration
from labelkin.kin._stacking import (
    LabelCorrection,
    Stacking,
    fit_member_curves,
    fit_member_weights,
    smooth_targets,
)
from labelkin.metrics import ranking_loss


def noisy_members(n, noises, q=4, seed=0):
    rng = np.random.RandomState(seed)
    truth = rng.standard_normal((n, q))
    Y = (expit(3 * truth) > rng.rand(n, q)).astype(np.uint8)
    return np.stack([3 * truth + s * rng.standard_normal((n, q)) for s in noises]), Y


def test_weights_follow_the_better_member_given_rows():
    odds, Y = noisy_members(2000, [0.5, 5, 5])
    weights = fit_member_weights(odds, Y, np.random.RandomState(0))
    assert weights[0] > 0.8
    assert weights.sum() == pytest.approx(1)
    same, Y = noisy_members(2000, [2, 2, 2])
    np.testing.assert_allclose(
        fit_member_weights(same, Y, np.random.RandomState(0)), 1 / 3, atol=0.07
    )


def test_weights_stay_equal_with_few_rows():
    odds, Y = noisy_members(12, [1, 1.5, 1.2, 1.1])
    np.testing.assert_allclose(
        fit_member_weights(odds, Y, np.random.RandomState(0)), 1 / 4, atol=0.13
    )
    np.testing.assert_array_equal(
        fit_member_weights(odds[:, :5], Y[:5], np.random.RandomState(0)), np.full(4, 0.25)
    )
    np.testing.assert_array_equal(
        fit_member_weights(odds, np.zeros_like(Y), np.random.RandomState(0)), np.full(4, 0.25)
    )


def test_weights_learn_from_a_part_of_very_many_predictions():
    odds, Y = noisy_members(2000, [0.5, 5])
    assert fit_member_weights(odds, Y, np.random.RandomState(0), max_entries=1000)[0] > 0.7


def test_the_correction_uses_other_labels_and_leaves_noise_alone():
    rng = np.random.RandomState(0)
    Y = (rng.rand(800, 1) < 0.4).astype(np.uint8)
    Y = np.hstack([Y, Y, (rng.rand(800, 1) < 0.3)]).astype(np.uint8)  # the second equals the first
    odds = np.column_stack([4 * Y[:, 0] - 2.0, rng.normal(-0.4, 0.1, (800, 2)).T.T])
    correction = LabelCorrection(0.5)
    corrected = correction.fit_loo(odds, Y)
    before, after = (np.mean((expit(o) - Y) ** 2, axis=0) for o in (odds, corrected))
    assert after[1] < 0.5 * before[1]
    assert abs(after[2] - before[2]) < 0.02
    # Applied to the same rows it changes them nearly as it does when they are left out.
    np.testing.assert_allclose(expit(correction.apply(odds)), expit(corrected), atol=0.02)


def test_stacking_is_monotone_in_each_members_scores_without_a_correction():
    odds, Y = noisy_members(300, [1, 2])
    stacking = Stacking(0, correction=0.0)
    proba = stacking.fit_proba(list(odds), Y)
    np.testing.assert_allclose(stacking.proba(list(odds)), proba, atol=1e-12)
    higher = stacking.proba(list(odds + 0.5))
    assert (higher >= proba - 1e-12).all()
    assert (logit(higher) > logit(proba)).mean() > 0.8


@pytest.mark.parametrize("probabilities", [True, False])
def test_curves_are_on_the_log_odds_scale_where_scores_are_probabilities(probabilities):
    """Members whose scores are P(y), or linear in the log odds, with some noise."""
    rng = np.random.RandomState(0)
    if probabilities:
        truth = rng.beta(0.05, 1.2, size=(1500, 4))
        line = truth
    else:
        line = 0.15 * rng.standard_normal((1500, 4))
        truth = expit(20 * line - 5)
    Y = (rng.rand(*truth.shape) < truth).astype(np.uint8)
    noises = (1 + 0.1 * rng.standard_normal(truth.shape) for _ in range(3))
    scores = [line * noise for noise in noises]
    curves = fit_member_curves(scores, Y)
    assert {curve.scale == "log_odds" for curve in curves} == {probabilities}
    stacking = Stacking(0)
    stacking.fit_proba(scores, Y)
    assert (stacking.calibrations_[0].scale == "log_odds") == probabilities
    assert np.abs(stacking.proba(scores) - truth).mean() < 0.06


def test_curves_are_chosen_for_the_members_together():
    """Two members err in opposite directions: each alone is no probability, their mean is."""
    rng = np.random.RandomState(2)
    truth = rng.beta(0.05, 1.2, size=(2000, 3))
    Y = (rng.rand(*truth.shape) < truth).astype(np.uint8)
    shift = rng.choice([0.05, 20], size=truth.shape)
    scores = [truth * shift, truth / shift]
    for alone in scores:
        assert fit_member_curves([alone], Y)[0].scale == "deviation"
    assert all(curve.scale == "log_odds" for curve in fit_member_curves(scores, Y))


def rare_labels(seed, n=400, q=30, noise=0.18):
    """Several members' scores of labels with 1 to 40 positives; the last label is never seen."""
    rng = np.random.RandomState(seed)
    positives = np.r_[np.round(np.logspace(0, np.log10(40), q - 1)), 0].astype(int)
    Y = np.zeros((2 * n, q), dtype=np.uint8)
    for label, count in enumerate(positives):
        for half in (0, n):
            Y[half + rng.permutation(n)[:count], label] = 1
    Y[n + rng.permutation(n)[:6], -1] = 1
    scores = [0.5 * Y + noise * s * rng.standard_normal(Y.shape) for s in (1.0, 1.1, 1.2)]
    for member in scores:
        member[:, -1] = 0  # nothing was there to learn
    return [m[:n] for m in scores], Y[:n], [m[n:] for m in scores], Y[n:]


@pytest.mark.parametrize("seed", range(3))
def test_rare_labels_rank_as_well_as_by_the_best_member(seed):
    scores, Y, queries, truth = rare_labels(seed)
    together = Stacking(0)
    together.fit_proba(scores, Y)
    alone = [
        ranking_loss(truth, SlopeCalibration().fit(s, Y)(q))
        for s, q in zip(scores, queries, strict=True)
    ]
    assert ranking_loss(truth, together.proba(queries)) < min(alone)


def test_a_label_never_seen_does_not_rank_behind_labels_that_are_excluded():
    scores, Y, queries, truth = rare_labels(0, noise=0.05)
    stacking = Stacking(0)
    stacking.fit_proba(scores, Y)
    proba = stacking.proba(queries)
    prior = 1 / (len(Y) + 2)
    np.testing.assert_allclose(proba[:, -1], prior)
    # Scores exclude nearly all labels of a row: they are less likely than a label never seen.
    excluded = truth[:, 10:-1] == 0
    assert (proba[:, 10:-1][excluded] < prior).mean() > 0.9


def test_targets_are_smoother_the_fewer_samples_there_are():
    Y = np.zeros((20, 4), dtype=np.uint8)
    Y[:1, 0] = Y[:9, 1] = Y[:, 2] = 1
    targets = smooth_targets(Y)
    assert 0.5 < targets[0, 0] < targets[0, 1] < 1
    assert 0 < targets[-1, 0] < targets[-1, 1] < 0.5
    np.testing.assert_array_equal(targets[:, 2:], Y[:, 2:])
    # The pseudo-counts of all negatives together are below one.
    assert np.where(Y == 0, targets, 0).sum() < 1
    # With a single label it has them alone.
    np.testing.assert_allclose(smooth_targets(Y[:, :1])[[0, -1], 0], [1.3 / 1.6, 1 / 21])
