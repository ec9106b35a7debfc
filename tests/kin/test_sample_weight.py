"""Weights of samples in Kin: repeated rows, in every stage."""

import numpy as np
import pytest
from scipy.special import logit
from sklearn import config_context
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from labelkin import KinEnsembleClassifier
from labelkin.calibration._curves import fit_logistic
from labelkin.kin import Limits
from labelkin.kin._classifier import repeat_rows
from labelkin.kin._combination import Combination, smooth_targets
from labelkin.kin._learners import TreesLearner
from labelkin.linear._learner import LogisticLearner
from labelkin.rows import Labels, as_rows
from support.data import make_data


@pytest.fixture(scope="module")
def stage_data():
    """Return scores of two members, labels, folds, weights, and the index of repeated rows."""
    rng = np.random.RandomState(0)
    X, Y = make_data(90, 4, 3)
    signal = 0.3 * X[:, :3] + 0.4 * Y
    scores = [signal + 0.2 * rng.standard_normal((90, 3)) for _ in range(2)]
    weight = rng.randint(1, 4, 90).astype(float)
    return scores, Y, np.arange(90) % 6, weight, np.repeat(np.arange(90), weight.astype(int))


def small(**parameters):
    return KinEnsembleClassifier(n_projections=0, n_trees=10, random_state=0, **parameters)


def test_pooled_logistic_regression(stage_data):
    scores, Y, _, weight, again = stage_data
    A, y = np.column_stack([scores[0], np.ones(90)]), Y[:, 0]
    weighted = fit_logistic(A, y, 0.1, 1e-8, weight=weight)
    np.testing.assert_allclose(weighted, fit_logistic(A[again], y[again], 0.1, 1e-8), atol=1e-5)
    assert np.abs(weighted - fit_logistic(A, y, 0.1, 1e-8)).max() > 1e-3


def test_smoothed_targets(stage_data):
    _, Y, _, weight, again = stage_data
    weighted, repeated = (smooth_targets(one, 0.3) for one in (Labels(Y, weight), Labels(Y[again])))
    np.testing.assert_allclose(weighted.Y[again], repeated.Y)


@pytest.mark.parametrize("scale", ["deviation", "log_odds"])
def test_curves_and_member_weights(stage_data, scale):
    """The second stage is that of repeated rows."""
    scores, Y, _, weight, again = stage_data
    limits = Limits(few_rows=1)  # whose effect depends on the number of rows

    def fit(rows, weight):
        labels = Labels(Y[rows], weight)
        return Combination(limits, [scale] * 2).fit([s[rows] for s in scores], labels)

    weighted, repeated = fit(slice(None), weight), fit(again, None)
    np.testing.assert_allclose(weighted.label_weights_, repeated.label_weights_, atol=1e-3)
    np.testing.assert_allclose(weighted.proba(scores), repeated.proba(scores), atol=1e-3)


def test_trees_and_logistic_regression_follow_the_weights():
    """Rows twice with opposite labels: the heavier ones decide."""
    X, Y = make_data(100, 4, 3)
    both, labels = np.vstack([X, X]), np.vstack([Y, 1 - Y])
    weight = np.repeat([1.0, 0.01], 100)
    fold_of = np.tile(np.arange(100) % 5, 2)
    trees = TreesLearner(ExtraTreesRegressor(20, min_samples_leaf=2), 0.6)
    for learner, cut in ((trees, 0.5), (LogisticLearner(), 0.0)):
        for w, expected in ((weight, Y), (weight[::-1].copy(), 1 - Y)):
            scores = learner.fit_scores(as_rows(both), Labels(labels, w), 0, fold_of)
            assert np.mean((scores[:100] > cut) == expected) > 0.75
            assert np.mean((learner.scores(X) > cut) == expected) > 0.85


def test_rows_repeated_by_weight():
    def repeat(weight):
        return repeat_rows(Labels(np.zeros((len(weight), 1)), weight))

    np.testing.assert_array_equal(repeat(np.array([2.0, 1.0, 3.0])), [0, 0, 1, 2, 2, 2])
    weight = np.random.RandomState(0).rand(1000)
    counts = np.bincount(repeat(weight), minlength=1000)
    assert counts.sum() == 10_000
    np.testing.assert_allclose(counts, 10 * weight / weight.mean(), atol=1)
    assert len(repeat(np.full(5, 1e9))) == 50


@pytest.fixture(scope="module")
def plain():
    X, Y = make_data(80, 4, 3)
    return small().fit(X, Y)


def test_equal_weights_change_nothing():
    """But for random forests, which draw their bootstrap samples by the weights."""
    X, Y = make_data(80, 4, 3)
    plain, weighted = (
        KinEnsembleClassifier(n_projections=0, n_trees=0, random_state=0).fit(X, Y, w)
        for w in (None, np.ones(80))
    )
    np.testing.assert_allclose(weighted.oob_proba_, plain.oob_proba_, atol=1e-4)
    np.testing.assert_allclose(weighted.predict_proba(X), plain.predict_proba(X), atol=1e-4)
    assert weighted.oob_score_ == pytest.approx(plain.oob_score_, abs=1e-6)


def test_samples_of_weight_zero_are_absent():
    """As many samples with wrong labels beside them change nothing."""
    X, Y = make_data(80, 4, 3)
    order = np.random.RandomState(0).permutation(160)
    both, labels = np.vstack([X, X])[order], np.vstack([Y, 1 - Y])[order]
    weight = (order < 80).astype(float)
    model = small().fit(both, labels, sample_weight=weight)
    np.testing.assert_array_equal(model.oob_indices_, np.flatnonzero(weight))
    used = order[order < 80]
    expected = small().fit(X[used], Y[used], sample_weight=np.ones(80))
    np.testing.assert_allclose(model.oob_proba_, expected.oob_proba_)
    assert model.oob_score_ == expected.oob_score_


def test_the_score_counts_weights():
    """Labels are noise in half of the samples; by weight in few or in most of them."""
    X, Y = make_data(160, 4, 3)
    Y[80:] = np.random.RandomState(0).randint(0, 2, (80, 3))
    scores = [
        KinEnsembleClassifier(n_projections=1, n_trees=10, random_state=0)
        .fit(X, Y, sample_weight=np.repeat(weights, 80))
        .oob_score_
        for weights in ((1.0, 0.02), (0.02, 1.0))
    ]
    assert scores[0] > 0.9 > scores[1] + 0.05  # chance is 0.77
    assert logit(scores[0]) > logit(scores[1])


def test_weights_are_routed(plain):
    X, Y = make_data(80, 4, 3)
    weight = np.arange(80.0)
    with config_context(enable_metadata_routing=True):
        model = small().set_fit_request(sample_weight=True)
        routed = make_pipeline(FunctionTransformer(), model).fit(X, Y, sample_weight=weight)
    assert np.abs(routed.predict_proba(X) - plain.predict_proba(X)).max() > 0.01
    with pytest.raises(ValueError, match=r"sample_weight.*shape"):
        small().fit(X, Y, sample_weight=weight[:-1])
