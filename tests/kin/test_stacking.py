"""Stacking: curves, cross-fitted probabilities, what the second stage consists of."""

import numpy as np
import pytest
from scipy.special import expit, logit

from labelkin.calibration._curves import SlopeCalibration
from labelkin.calibration._means import shares_without_fold
from labelkin.kin._member_curves import choose_scales, smooth_targets
from labelkin.kin._stacking import Stacking
from labelkin.metrics import average_precision, ranking_loss
from labelkin.rows import HOST, Place, array_api_dispatch
from support.members import noisy_members


def folds(Y, n_folds=8):
    return np.arange(len(Y)) % n_folds


def test_stacking_is_monotone_in_each_members_scores_without_a_correction():
    odds, Y = noisy_members(300, [1, 2])
    stacking = Stacking(0, share=0.0)
    stacking.fit_proba(list(odds), Y, folds(Y))
    proba = stacking.proba(list(odds))
    higher = stacking.proba(list(odds + 0.5))
    assert (higher >= proba - 1e-12).all()
    assert (logit(higher) > logit(proba)).mean() > 0.8


def test_the_number_of_threads_changes_nothing():
    odds, Y = noisy_members(500, [1, 2, 3])
    found = []
    for n_jobs in (1, 3):
        stacking = Stacking(0, corrected_rows=10)
        proba, _ = stacking.fit_proba(list(odds), Y, folds(Y), n_parts=3, n_jobs=n_jobs)
        found.append((proba, stacking.label_weights_))
    for one, three in zip(*found, strict=True):
        np.testing.assert_array_equal(three, one)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_device_gives_what_the_host_does(weighted):
    xp = pytest.importorskip("array_api_strict")
    odds, Y = noisy_members(500, [1, 2, 3])
    weight = np.random.default_rng(0).uniform(0.5, 2, len(Y)) if weighted else None
    found = []
    with array_api_dispatch():
        for place in (HOST, Place.of(xp.zeros(1, device=xp.Device("device1")))):
            stacking = Stacking(0, corrected_rows=10)
            proba, _ = stacking.fit_proba(
                list(odds), Y, folds(Y), 3, [True] * len(odds), weight, 1, place
            )
            found.append((proba, stacking.label_weights_, stacking.proba(list(odds))))
    for here, there in zip(*found, strict=True):
        np.testing.assert_allclose(there, here, atol=1e-9)


def test_label_frequencies_do_not_flatter_the_estimate():
    """Scores are noise: what is left is the labels' frequencies, of many rare labels."""
    rng = np.random.RandomState(0)
    share = np.clip(rng.beta(0.5, 10, 100), 0.005, 1)
    Y = (rng.rand(2200, 100) < share).astype(np.uint8)
    known = shares_without_fold(Y[:200], folds(Y[:200]))
    scores = [known + 0.02 * rng.standard_normal((200, 100)) for _ in range(2)]
    stacking = Stacking(0)
    proba, alone = stacking.fit_proba(scores, Y[:200], folds(Y[:200]))
    new = average_precision(Y[200:], np.tile(stacking.proba(scores).mean(axis=0), (2000, 1)))
    assert abs(average_precision(Y[:200], proba) - new) < 0.02
    for member in alone:
        assert abs(average_precision(Y[:200], member) - new) < 0.02
    fitted = average_precision(Y[:200], stacking.proba(scores))
    assert fitted > new + 0.02


@pytest.mark.parametrize("related", [True, False])
def test_the_correction_is_kept_where_it_helps(related):
    rng = np.random.RandomState(0)
    Y = (rng.rand(600, 4) < 0.3).astype(np.uint8)
    if related:
        Y[:, 1] = Y[:, 0]
    odds = 4 * Y - 3.0 + rng.standard_normal(Y.shape)
    odds[:, 1] = -0.8 + 0.3 * rng.standard_normal(600)  # nothing but noise about this label
    stacking = Stacking(0)
    proba, _ = stacking.fit_proba([odds], Y, folds(Y))
    assert stacking.corrected_ == related
    assert (np.mean((proba - Y)[:, 1] ** 2) < 0.18) == related


def test_the_correction_needs_folds_with_more_rows_than_labels():
    rng = np.random.RandomState(0)
    Y = (rng.rand(600, 1) < 0.3).astype(np.uint8) * np.ones(20, dtype=np.uint8)
    odds = 2 * Y - 2.0 + rng.standard_normal(Y.shape)
    for n_folds, corrected in ((10, True), (40, False)):
        stacking = Stacking(0)
        stacking.fit_proba([odds], Y, folds(Y, n_folds))
        assert stacking.corrected_ == corrected


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
    assert (choose_scales(scores, Y, folds(Y), [False] * 3)[0] == "log_odds") == probabilities
    stacking = Stacking(0)
    stacking.fit_proba(scores, Y, folds(Y))
    assert np.abs(stacking.proba(scores) - truth).mean() < 0.06


def test_curves_are_chosen_for_the_members_together():
    """Two members err in opposite directions: each alone is no probability, their mean is."""
    rng = np.random.RandomState(2)
    truth = rng.beta(0.05, 1.2, size=(2000, 3))
    Y = (rng.rand(*truth.shape) < truth).astype(np.uint8)
    shift = rng.choice([0.05, 20], size=truth.shape)
    scores = [truth * shift, truth / shift]
    for alone in scores:
        assert choose_scales([alone], Y, folds(Y), [False]) == ["deviation"]
    assert choose_scales(scores, Y, folds(Y), [False] * 2) == ["log_odds"] * 2


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
    together.fit_proba(scores, Y, folds(Y))
    alone = [
        ranking_loss(truth, SlopeCalibration().fit(s, Y)(q))
        for s, q in zip(scores, queries, strict=True)
    ]
    assert ranking_loss(truth, together.proba(queries)) < min(alone)


def test_a_label_never_seen_does_not_rank_behind_labels_that_are_excluded():
    scores, Y, queries, truth = rare_labels(0, noise=0.05)
    stacking = Stacking(0)
    stacking.fit_proba(scores, Y, folds(Y))
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
