"""Calibration curves: against logistic regression, and at the edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from labelkin.calibration._curves import (
    SlopeCalibration,
    fit_better_curves,
    restore_means,
    to_log_odds_scale,
)
from labelkin.rows import Labels


def scores_and_labels(n=4000, seed=0):
    """Scores of frequent labels and of a rare one, their log odds linear in the scores.

    As those of a regression do, scores spread less for a rare label.
    """
    rng = np.random.RandomState(seed)
    S = rng.standard_normal((n, 4)) * [0.3, 0.3, 0.3, 0.015]
    slopes, intercepts = np.array([4.0, 8.0, 3.0, 50.0]), np.array([0.0, -1.0, -1.0, -6.5])
    Y = rng.rand(n, 4) < 1 / (1 + np.exp(-(slopes * S + intercepts)))
    return S, Y.astype(np.uint8)


def test_without_shrinkage_it_is_a_logistic_regression():
    S, Y = scores_and_labels()
    calibration = SlopeCalibration(precision=0).fit(S, Y)
    for label in range(4):
        oracle = LogisticRegression(C=np.inf, tol=1e-10).fit(S[:, [label]], Y[:, label])
        np.testing.assert_allclose(calibration.slope_[label], oracle.coef_[0, 0], rtol=1e-4)
        np.testing.assert_allclose(calibration.intercept_[label], oracle.intercept_[0], rtol=1e-4)


def test_shrinkage_moves_rare_labels_only():
    S, Y = scores_and_labels()
    assert Y[:, 3].sum() < 15
    free, drawn = (SlopeCalibration(precision=p).fit(S, Y) for p in (0, 1))
    share = Y.mean(axis=0)
    unit = np.sqrt(share * (1 - share))
    shared = drawn.shared_slope_
    np.testing.assert_allclose(drawn.slope_[:3], free.slope_[:3], rtol=0.05)
    before, after = (abs(c.slope_[3] * unit[3] - shared) for c in (free, drawn))
    assert after < 0.75 * before
    tied = SlopeCalibration(precision=1e9).fit(S, Y)
    np.testing.assert_allclose(tied.slope_ * unit, shared, rtol=1e-4)


def test_shared_slope_is_that_of_one_regression():
    """One logistic regression on all labels' scores, with an indicator of each label."""
    S, Y = scores_and_labels(500)
    S, Y = S[:, :3], Y[:, :3]
    share = Y.mean(axis=0)
    long = np.zeros((1500, 4))
    for label in range(3):
        rows = slice(500 * label, 500 * label + 500)
        long[rows, 0] = S[:, label] / np.sqrt(share[label] * (1 - share[label]))
        long[rows, 1 + label] = 1
    oracle = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10).fit(long, Y.T.ravel())
    calibration = SlopeCalibration().fit(S, Y)
    assert calibration.shared_slope_ == pytest.approx(oracle.coef_[0, 0], rel=1e-3)


def test_penalised_likelihood_is_at_its_minimum():
    S, Y = scores_and_labels(300, seed=3)
    calibration = SlopeCalibration(precision=2.0).fit(S, Y)
    p = calibration(S)
    share = Y.mean(axis=0)
    unit = np.sqrt(share * (1 - share))
    away = calibration.slope_ * unit - calibration.shared_slope_
    np.testing.assert_allclose(p.mean(axis=0), share, rtol=1e-6)
    np.testing.assert_allclose(((p - Y) * S / unit).sum(axis=0) + 2 * away, 0, atol=1e-5)


def test_scores_that_point_the_wrong_way_are_ignored():
    S, Y = scores_and_labels()
    S[:, 0] *= -1
    calibration = SlopeCalibration().fit(S, Y)
    assert calibration.slope_[0] == 0
    np.testing.assert_allclose(calibration(S)[:, 0], Y[:, 0].mean())
    # All of them: nothing but priors.
    calibration = SlopeCalibration().fit(-np.abs(Y - 0.1), Y)
    np.testing.assert_allclose(calibration(S), np.tile(Y.mean(axis=0), (len(Y), 1)))


def test_separable_and_constant_scores_are_finite():
    Y = np.repeat([[0, 0, 1, 0], [1, 0, 1, 0]], 20, axis=0)
    Y[0, 1] = 1
    S = np.column_stack([Y[:, 0], np.zeros(40), np.ones(40), np.arange(40.0)])
    calibration = SlopeCalibration().fit(S, Y)
    P = calibration(S)
    assert np.isfinite(calibration.slope_).all()
    assert (P > 0).all()
    assert (P < 1).all()
    assert ((P[:, 0] > 0.5) == Y[:, 0]).all()
    np.testing.assert_allclose(P[:, 1], Y[:, 1].mean())
    np.testing.assert_allclose(logit(P[:, 2]), np.log(41))
    np.testing.assert_allclose(logit(P[:, 3]), -np.log(41))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.3, 30), st.floats(-5, 5))
def test_calibration_does_not_depend_on_the_units_of_scores(seed, factor, shift):
    """Each label's scores moved: the same probabilities; all multiplied: nearly so."""
    S, Y = scores_and_labels(120, seed)
    Y[:2] = [[0] * 4, [1] * 4]
    P = SlopeCalibration(precision=0.5).fit(S, Y)(S)
    moved = SlopeCalibration(precision=0.5).fit(S + shift, Y)(S + shift)
    np.testing.assert_allclose(moved, P, atol=1e-6)
    stretched = SlopeCalibration(precision=0.5 * factor**2).fit(S * factor, Y)(S * factor)
    np.testing.assert_allclose(stretched, P, atol=0.01)


def test_scores_on_the_log_odds_scale():
    share = np.array([0.01, 0.3, 0.7])
    grid = np.linspace(-1, 2, 301)[:, None] + np.zeros(3)
    scaled = to_log_odds_scale(grid, share)
    assert (np.diff(scaled, axis=0) > 0).all()
    # Well above a small share, log(score / share); in proportion around 0; mirrored.
    np.testing.assert_allclose(
        to_log_odds_scale(np.array([[0.5]]), share[:1]), np.log(0.5 / 0.01), atol=1e-3
    )
    np.testing.assert_allclose(
        to_log_odds_scale(np.array([[1e-4]]), share[:1]), 1e-4 / 0.02, rtol=1e-4
    )
    np.testing.assert_allclose(scaled[:, 2], -to_log_odds_scale(1 - grid, 1 - share)[:, 2])


def test_log_odds_curves_fit_scores_that_are_probabilities():
    """Scores equal to the probabilities, of rare labels too; a straight curve cannot fit them."""
    rng = np.random.RandomState(0)
    P = rng.beta(0.05, 1.2, size=(4000, 6))
    P[:, 5] = 1 - P[:, 5]
    Y = rng.rand(*P.shape) < P
    straight, curved = (SlopeCalibration(scale=z).fit(P, Y) for z in ("deviation", "log_odds"))
    loss = [np.abs(c(P) - P).mean() for c in (straight, curved)]
    assert loss[1] < 0.5 * loss[0]
    assert np.abs(curved(P) - P).max() < 0.25
    np.testing.assert_allclose(curved(P).mean(axis=0), Y.mean(axis=0), atol=1e-6)


def test_the_curve_that_predicts_better_is_chosen():
    rng = np.random.RandomState(0)
    P = rng.beta(0.05, 1.2, size=(1500, 4))
    S, Y = scores_and_labels(1500)
    assert fit_better_curves(P, Labels(rng.rand(*P.shape) < P))[0].scale == "log_odds"
    assert fit_better_curves(S, Labels(Y))[0].scale == "deviation"
    for n in (1, 2, 7):
        curves, proba = fit_better_curves(S[:n], Labels(Y[:n]))
        assert np.isfinite(curves(S)).all()
        assert np.isfinite(proba).all()


def test_held_out_probabilities_depend_on_no_label_of_their_part():
    """Noise with rare labels: curves that have seen a sample's labels rank them better."""
    rng = np.random.RandomState(0)
    S, Y = rng.standard_normal((300, 60)), (rng.rand(300, 60) < 0.05).astype(np.uint8)
    curves, proba = fit_better_curves(S, Labels(Y))
    difference = [P[Y == 1].mean() - P[Y == 0].mean() for P in (curves(S), proba)]
    assert difference[0] > 0.004
    assert abs(difference[1]) < 0.002


@pytest.mark.parametrize("scale", ["deviation", "log_odds"])
def test_weights_are_repetitions(scale):
    S, Y = scores_and_labels(200)
    weight = np.random.RandomState(0).randint(1, 4, 200)
    again = np.repeat(np.arange(200), weight)
    weighted = SlopeCalibration(1.0, scale).fit(S, Labels(Y, weight.astype(float)))
    repeated = SlopeCalibration(1.0, scale).fit(S[again], Y[again])
    np.testing.assert_allclose(weighted(S), repeated(S), atol=1e-6)
    assert np.abs(weighted(S) - SlopeCalibration(1.0, scale).fit(S, Y)(S)).max() > 0.01


def test_the_better_curve_is_chosen_by_weighted_samples():
    """Scores of half of the samples suit one kind of curve, those of the others the other."""
    rng = np.random.RandomState(0)
    P = rng.beta(0.05, 1.2, size=(1000, 4))
    S, Y = scores_and_labels(1000)
    scores, labels = np.vstack([P, S]), np.vstack([rng.rand(*P.shape) < P, Y])
    for half, scale in enumerate(("log_odds", "deviation")):
        weight = np.where(np.arange(2000) // 1000 == half, 1.0, 1e-3)
        assert fit_better_curves(scores, Labels(labels, weight))[0].scale == scale


def test_log_odds_are_left_as_they_are_if_they_are_right():
    """Of rare labels too: the slope that all share is 1, whatever the labels' shares."""
    rng = np.random.RandomState(0)
    odds = rng.standard_normal((4000, 5)) * 2 - np.array([0, 1, 3, 5, 6])
    Y = rng.rand(*odds.shape) < expit(odds)
    calibration = SlopeCalibration(30.0, "none").fit(odds, Y)
    assert calibration.shared_slope_ == pytest.approx(1, abs=0.05)
    np.testing.assert_allclose(calibration.slope_, 1, atol=0.15)
    np.testing.assert_allclose(calibration.log_odds(odds), odds, atol=1.0)


def test_a_label_of_all_or_none_has_no_curve():
    S, Y = scores_and_labels(60)
    Y[:, 0], Y[:, 1] = 0, 1
    calibration = SlopeCalibration(scale="log_odds").fit(S, Y)
    np.testing.assert_array_equal(calibration.share_[:2], 0.5)
    np.testing.assert_allclose(calibration(S)[:, :2], np.tile([1 / 62, 61 / 62], (60, 1)))


# ------------------------------------------------ the level of out-of-sample scores


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
    restored = restore_means(without, Labels(Y), fold_of)
    np.testing.assert_allclose(restored, np.tile(Y.mean(axis=0), (60, 1)))


def test_log_odds_move_with_the_counts(rows):
    Y, fold_of = rows
    moved = restore_means(np.zeros((60, 3)), Labels(Y), fold_of, log_odds=True)
    rest = Y[fold_of != fold_of[0]]
    odds = logit((Y.sum(axis=0) + 1) / 62) - logit((rest.sum(axis=0) + 1) / (len(rest) + 2))
    np.testing.assert_allclose(moved[0], odds)


def test_weights_of_the_level_are_repeated_rows(rows):
    Y, fold_of = rows
    rng = np.random.RandomState(1)
    scores, weight = rng.standard_normal((60, 3)), rng.randint(1, 4, 60)
    again = np.repeat(np.arange(60), weight)
    repeated = restore_means(scores[again], Labels(Y[again]), fold_of[again])
    np.testing.assert_allclose(restore_means(scores, Labels(Y, weight), fold_of)[again], repeated)


def test_a_single_fold_stays_as_it_is(rows):
    Y, _ = rows
    scores = np.ones((60, 3))
    np.testing.assert_array_equal(restore_means(scores, Labels(Y), np.zeros(60, dtype=int)), scores)


@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2, 200)], ids=["equal", "weighted"])
def test_curves_of_known_labels_are_those_of_their_rows(weight):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, 3))
    Y = (scores + rng.normal(size=(200, 3)) > 0.5).astype(np.uint8)
    known = rng.random(Y.shape) < [0.9, 0.5, 0.3]
    curves = SlopeCalibration(0.0, "none").fit(scores, Labels(Y * known, weight, known))
    for label, rows in enumerate(known.T):
        some = Labels(Y[rows][:, [label]], None if weight is None else weight[rows])
        alone = SlopeCalibration(0.0, "none").fit(scores[rows][:, [label]], some)
        np.testing.assert_allclose(curves.slope_[label], alone.slope_[0], rtol=1e-6)
        np.testing.assert_allclose(curves.intercept_[label], alone.intercept_[0], rtol=1e-6)


def test_means_are_those_of_known_labels():
    Y = np.array([[1, 1], [0, 0], [1, 0], [1, 0]], dtype=np.uint8)
    known = np.array([[1, 1], [1, 0], [1, 0], [0, 0]], dtype=bool)
    labels, fold_of = Labels(Y * known, None, known), np.array([0, 0, 1, 1])
    restored = restore_means(np.zeros((4, 2)), labels, fold_of)
    # 2 of 3 in all rows; 1 of 1 without the first fold, 1 of 2 without the second. Of the second
    # label nothing is known without the first fold.
    np.testing.assert_allclose(restored[:, 0], np.array([-2, -2, 1, 1]) / 6)
    np.testing.assert_allclose(restored[:, 1], [1, 1, 0, 0])
