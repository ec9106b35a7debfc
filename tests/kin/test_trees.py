"""Forests of the Kin ensemble: scores without a fold's labels, trees for each label, memory."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from labelkin.kin._limits import Limits
from labelkin.kin._trees import LabelTreesLearner, TreesLearner
from labelkin.metrics import average_precision
from support.data import make_data

LEARNERS = {
    "random splits": lambda: TreesLearner(ExtraTreesRegressor(30)),
    "best splits": lambda: TreesLearner(RandomForestRegressor(30)),
    "for each label": lambda: LabelTreesLearner(RandomForestRegressor(30)),
}


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_trees_score_a_fold_without_its_labels(make):
    X, Y = make_data(60, 4, 2, seed=3)
    fold_of = np.arange(60) % 5
    changed = Y.copy()
    changed[fold_of == 2] = 1 - changed[fold_of == 2]
    before, after = (make().fit_scores(X, y, 0, fold_of) for y in (Y, changed))
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
    fold_of = np.arange(250) % 10
    forest = RandomForestRegressor(50, max_features=8, bootstrap=False, min_samples_leaf=3)
    shared, alone = TreesLearner(forest), LabelTreesLearner(forest)
    own = [m.fit_scores(X, Y, 0, fold_of) for m in (shared, alone)]
    together, apart = (average_precision(labels, m.scores(new)) for m in (shared, alone))
    assert apart > together + 0.05
    assert average_precision(Y, own[1]) > average_precision(Y, own[0]) + 0.05
    assert [len(m.forest_.estimators_) for m in alone.learners_] == [50] * 8


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix])
def test_scores_are_those_of_the_forest(n_jobs, as_rows):
    X, Y = make_data(60, 4, 3)
    rows = as_rows(X)
    learner = TreesLearner(ExtraTreesRegressor(7, n_jobs=n_jobs))
    learner.fit_scores(rows, Y, 0, np.arange(60) % 5)
    np.testing.assert_allclose(learner.scores(rows), learner.forest_.predict(rows), rtol=1e-12)
    one = TreesLearner(ExtraTreesRegressor(1, n_jobs=n_jobs))
    one.fit_scores(rows, Y[:, :1], 0, np.arange(60) % 5)
    np.testing.assert_array_equal(one.scores(rows)[:, 0], one.forest_.predict(rows))


def test_threads_over_labels_change_nothing():
    X, Y = make_data(60, 4, 3)
    fold_of = np.arange(60) % 5
    forest = RandomForestRegressor(10)
    one, two = (LabelTreesLearner(forest, n_jobs).fit_scores(X, Y, 0, fold_of) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_each_label_has_a_forest_where_there_is_time():
    limits = Limits()
    small = limits.label_forest(400, 30, 5, None)
    assert small["n_estimators"] == limits.label_trees
    assert small["max_features"] == 10
    assert limits.min_trees <= limits.label_forest(800, 30, 10, None)["n_estimators"] < 200
    assert limits.label_forest(400, 30, 5, 20)["n_estimators"] == 20
    assert limits.label_forest(4_000, 30, 5, None) is None
    assert limits.label_forest(4_000, 30, 5, None, spent=20.0) is not None
    assert Limits(seconds=1_500).label_forest(4_000, 30, 5, None) is not None


def test_trees_bound_their_memory():
    X, Y = make_data(200, 5, 4)
    limits = Limits(leaf_entries=30_000, tree_rows=100)
    forest = ExtraTreesRegressor(**limits.forest(200, 5, 4, 200))
    learner = TreesLearner(forest)
    scores = learner.fit_scores(X, Y, 0, np.arange(200) % 5)
    entries = sum(tree.tree_.node_count * 4 for tree in learner.forest_.estimators_)
    assert entries <= 30_000
    assert limits.forest(200, 5, 40, 200) is None
    assert np.isfinite(scores).any()
