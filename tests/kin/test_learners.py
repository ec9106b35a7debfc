"""Learners of the Kin ensemble: directions, bags, out-of-sample scores."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from labelkin.constraints import draw_constraints
from labelkin.kernel._regression import KernelRidge
from labelkin.kin._learners import (
    LabelTreesLearner,
    ProjectionLearner,
    TreesLearner,
    draw_bags,
    mean_scores,
    ratio_directions,
)
from labelkin.metrics import average_precision
from labelkin.projection._pairwise import TrainingRows
from labelkin.rows import Labels, as_rows
from support.data import make_data


def test_every_fold_is_outside_equally_often():
    fold_of = np.repeat(np.arange(-1, 10), 3)
    bags = draw_bags(fold_of, 5, 0.6, np.random.RandomState(0))
    outside = [np.setdiff1d(np.arange(len(fold_of)), bag) for bag in bags]
    assert [len(rows) for rows in outside] == [12] * 5
    counts = np.bincount(fold_of[np.concatenate(outside)], minlength=10)
    assert counts.tolist() == [6] * 10
    assert draw_bags(np.zeros(4, int), 1, 0.6, np.random.RandomState(0))[0].tolist() == [0, 1, 2, 3]


def test_directions_depend_on_no_label_outside_their_bag():
    X, Y = make_data(60, 4, 2, seed=3)
    fold_of = np.arange(60) % 6
    bag = draw_bags(fold_of, 1, 0.55, np.random.RandomState(0))[0]
    outside = np.setdiff1d(np.arange(60), bag)
    one = fold_of == fold_of[outside[0]]
    changed = Y.copy()
    changed[one] = 1 - changed[one]
    regression = {"width": 1.0, "ridges": np.array([0.01])}
    learners = [ProjectionLearner(bag, 0.5, 0.3, KernelRidge(**regression)) for _ in range(2)]
    scores = [
        learner.fit_scores(as_rows(X), Labels(y), 0, fold_of)
        for learner, y in zip(learners, (Y, changed), strict=True)
    ]
    np.testing.assert_array_equal(learners[0].components_, learners[1].components_)
    assert np.isnan(scores[0][bag]).all()
    assert np.isfinite(scores[0][outside]).all()
    np.testing.assert_allclose(scores[0][one], scores[1][one], atol=1e-7)


def test_ratio_directions_solve_the_generalised_problem():
    X, Y = make_data(80, 6, 3)
    must, cannot = draw_constraints(Y, 0.5, random_state=0)
    W = ratio_directions(TrainingRows(X), must, cannot, 0.3)

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
    assert ratio_directions(TrainingRows(wide), *pairs, 0.3).shape == (20, 4)


def test_ratio_directions_without_pairs_or_differences():
    X, none = np.arange(8.0).reshape(4, 2), np.empty((0, 2), dtype=int)
    pairs = np.array([[0, 1]])
    for must, cannot in [(none, pairs), (pairs, none)]:
        found = ratio_directions(TrainingRows(X), must, cannot, 0.3)
        np.testing.assert_array_equal(found, np.eye(2))
    same = np.repeat(X[:2], 2, axis=0)
    training = TrainingRows(same)
    np.testing.assert_array_equal(ratio_directions(training, pairs, pairs + 1, 0.3), np.eye(2))


def test_mean_of_out_of_sample_scores():
    Y = np.array([[1, 0], [0, 0], [1, 1]])
    nan = np.nan
    scores = [
        np.array([[0.2, 0.4], [nan, nan], [nan, nan]]),
        np.array([[0.4, 0.0], [0.6, 0.2], [nan, nan]]),
    ]
    fold_of = np.array([0, 1, 1])
    mean = mean_scores(scores, Labels(Y), fold_of)
    np.testing.assert_allclose(mean, [[0.3, 0.2], [0.6, 0.2], [1, 0]])
    nothing = mean_scores([np.full((3, 2), nan)], Labels(Y), fold_of)
    np.testing.assert_allclose(nothing, [[0.5, 0.5], [1, 0], [1, 0]])
    weighted = mean_scores([np.full((3, 2), nan)], Labels(Y, np.array([1, 1, 3])), fold_of)
    np.testing.assert_allclose(weighted[0], [0.75, 0.75])


FORESTS = {
    "random splits": lambda: TreesLearner(ExtraTreesRegressor(30), 0.6),
    "for each label": lambda: LabelTreesLearner(RandomForestRegressor(30), 0.6),
}


@pytest.mark.parametrize("share", [1, 0.6])
@pytest.mark.parametrize("make", FORESTS.values(), ids=FORESTS)
def test_trees_score_a_fold_without_its_labels(make, share):
    X, Y = make_data(60, 4, 2, seed=3)
    known = None if share == 1 else np.random.default_rng(0).random(Y.shape) < share
    fold_of = np.arange(60) % 5
    changed = Y.copy()
    changed[fold_of == 2] = 1 - changed[fold_of == 2]
    before, after = (
        make().fit_scores(as_rows(X), Labels(y * (known is None or known), None, known), 0, fold_of)
        for y in (Y, changed)
    )
    np.testing.assert_array_equal(before[fold_of == 2], after[fold_of == 2])
    assert (before != after)[fold_of != 2].any()


def rules(n, rng):
    """Labels by steps of two features each, of numbers on scales that differ."""
    X = rng.standard_normal((n, 16))
    Y = np.column_stack([(X[:, i] > 0) & (X[:, i + 8] > -0.5) for i in range(8)])
    return X * 10.0 ** np.arange(-8, 8), Y.astype(int)


def test_labels_with_features_of_their_own_have_trees_of_their_own():
    rng = np.random.RandomState(0)
    (X, Y), (new, labels) = rules(250, rng), rules(400, rng)
    forest = RandomForestRegressor(30, max_features=8, bootstrap=False, min_samples_leaf=3)
    shared, alone = TreesLearner(forest, 0.6), LabelTreesLearner(forest, 0.6)
    for learner in (shared, alone):
        learner.fit_scores(as_rows(X), Labels(Y), 0, np.arange(250) % 10)
    together, apart = (average_precision(labels, m.scores(new)) for m in (shared, alone))
    assert apart > together + 0.05


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_scores_are_those_of_the_forest(convert):
    X, Y = make_data(60, 4, 3)
    rows = convert(X)
    learner = TreesLearner(ExtraTreesRegressor(7, n_jobs=2), 0.6)
    learner.fit_scores(as_rows(rows), Labels(Y), 0, np.arange(60) % 5)
    np.testing.assert_allclose(learner.scores(rows), learner.forest_.predict(rows), rtol=1e-12)
