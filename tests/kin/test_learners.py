"""Learners of the Kin ensemble: directions, bags, out-of-sample scores."""

import numpy as np
import pytest
from scipy import linalg

from labelkin.constraints import draw_constraints
from labelkin.kernel._regression import KernelRidge
from labelkin.kin._folds import draw_bags
from labelkin.kin._learners import (
    ProjectionLearner,
    RelevanceLearner,
    mean_out_of_sample,
    ratio_directions,
)
from labelkin.projection._scatter import TrainingRows
from support.data import make_data


def projection(bag, ridge):
    return ProjectionLearner(bag, 0.5, ridge)


@pytest.mark.parametrize("make", [projection, RelevanceLearner])
def test_directions_depend_on_no_label_outside_their_bag(make):
    X, Y = make_data(60, 4, 2, seed=3)
    fold_of = np.arange(60) % 6
    bag = draw_bags(fold_of, 1, 0.55, np.random.RandomState(0))[0]
    outside = np.setdiff1d(np.arange(60), bag)
    one = fold_of == fold_of[outside[0]]
    changed = Y.copy()
    changed[one] = 1 - changed[one]
    ridge = np.array([0.01])
    learners = [make(bag, KernelRidge(width=1.0, ridges=ridge)) for _ in range(2)]
    scores = [m.fit_scores(X, y, 0, fold_of) for m, y in zip(learners, (Y, changed), strict=True)]
    np.testing.assert_array_equal(learners[0].components_, learners[1].components_)
    assert np.isnan(scores[0][bag]).all()
    assert np.isfinite(scores[0][outside]).all()
    np.testing.assert_allclose(scores[0][one], scores[1][one], atol=1e-7)


def test_features_without_relevance_hardly_count():
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(300, 12)) * 10.0 ** np.arange(12)
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 3]).astype(int)
    learner = RelevanceLearner(np.arange(150), KernelRidge("manhattan"))
    learner.fit_scores(X, Y, 0, np.arange(300) // 15)
    scales = np.diag(learner.components_) * X.std(axis=0)
    assert scales[:2].min() > 5 * scales[2:].max() > 0
    constant = RelevanceLearner(np.arange(150), KernelRidge("manhattan"))
    assert np.isfinite(constant.fit_scores(X, Y * 0, 0, np.arange(300) // 15)[150:]).all()


def test_ratio_directions_solve_the_generalised_problem():
    X, Y = make_data(80, 6, 3)
    must, cannot = draw_constraints(Y, 0.5, random_state=0)
    W = ratio_directions(TrainingRows(X), must, cannot)

    def scatter(pairs):
        D = X[pairs[:, 0]] - X[pairs[:, 1]]
        return D.T @ D / (2 * len(D))

    S_C, S_M = scatter(cannot), scatter(must)
    B = S_M + np.trace(S_M) / 6 * np.eye(6)
    ratios = linalg.eigh(S_C, B, eigvals_only=True)[1:]  # 30 % of 6: one is dropped
    assert W.shape == (6, 5)
    np.testing.assert_allclose(W.T @ B @ W, np.diag(ratios), atol=1e-10)
    np.testing.assert_allclose(W.T @ S_C @ W, np.diag(ratios**2), atol=1e-10)


def test_ratio_directions_stay_within_the_rank_of_the_rows():
    X, Y = make_data(60, 4, 3)
    pairs = draw_constraints(Y, 0.5, random_state=0)
    wide = X @ np.random.RandomState(0).normal(size=(4, 20))  # 70 % would be 14 directions
    assert ratio_directions(TrainingRows(wide), *pairs).shape == (20, 4)


def test_ratio_directions_without_pairs_or_differences():
    X, none = np.arange(8.0).reshape(4, 2), np.empty((0, 2), dtype=int)
    pairs = np.array([[0, 1]])
    for must, cannot in [(none, pairs), (pairs, none)]:
        np.testing.assert_array_equal(ratio_directions(TrainingRows(X), must, cannot), np.eye(2))
    same = np.repeat(X[:2], 2, axis=0)
    training = TrainingRows(same)
    np.testing.assert_array_equal(ratio_directions(training, pairs, pairs + 1), np.eye(2))


def test_mean_of_out_of_sample_scores():
    Y = np.array([[1, 0], [0, 0], [1, 1]])
    nan = np.nan
    scores = [
        np.array([[0.2, 0.4], [nan, nan], [nan, nan]]),
        np.array([[0.4, 0.0], [0.6, 0.2], [nan, nan]]),
    ]
    fold_of = np.array([0, 1, 1])
    mean = mean_out_of_sample(scores, Y, fold_of)
    np.testing.assert_allclose(mean, [[0.3, 0.2], [0.6, 0.2], [1, 0]])
    nothing = mean_out_of_sample([np.full((3, 2), nan)], Y, fold_of)
    np.testing.assert_allclose(nothing, [[0.5, 0.5], [1, 0], [1, 0]])
    weighted = mean_out_of_sample([np.full((3, 2), nan)], Y, fold_of, np.array([1, 1, 3]))
    np.testing.assert_allclose(weighted[0], [0.75, 0.75])
