"""The ensemble without tuning: honest scores, views, weights, and what it does at the edges."""

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.special import expit, logit
from sklearn.datasets import make_multilabel_classification

from labelkin.calibration._curves import SlopeCalibration
from labelkin.constraints._sampler import draw_constraints
from labelkin.kernel._classifier import KernelRidgeLOOClassifier
from labelkin.kernel._distances import sample_rows
from labelkin.kernel._ridge import RIDGES, RidgeSpectrum, loo_ridge
from labelkin.kernel._ridge import _choose_ridges as choose_ridges
from labelkin.kin import _learners as _kin_members
from labelkin.kin import _stacking, _views
from labelkin.kin._classifier import KinEnsembleClassifier
from labelkin.kin._learners import (
    KernelLearner,
    ProjectionLearner,
    TreesLearner,
    _fit_ridges,
    affordable_threads,
    draw_bags,
    honest_mean,
    landmarks,
    n_landmarks,
    ratio_directions,
)
from labelkin.kin._stacking import (
    LabelCorrection,
    Stacking,
    cautious,
    member_curves,
    member_weights,
)
from labelkin.kin._views import (
    Ranks,
    Standard,
    Words,
    compact,
    is_binary,
    is_text,
    learn_views,
    manageable,
)
from labelkin.metrics import average_precision, hamming_loss, ranking_loss
from labelkin.projection._scatter import TrainingRows
from support.data import make_data


def small(**parameters):
    return KinEnsembleClassifier(
        **{"n_projections": 2, "n_trees": 30, "random_state": 0, **parameters}
    )


def texts(n=120, seed=0):
    """Counts of words, most of them zero, and labels that go with them."""
    X, Y = make_multilabel_classification(
        n, n_features=60, n_classes=5, length=12, random_state=seed
    )
    return X, Y


# ----------------------------------------------------------------------------- honesty


def test_test_labels_are_never_seen():
    X, Y = make_data(150, 6, 3)
    first = small().fit(X[:100], Y[:100])
    shuffled = Y.copy()
    shuffled[100:] = np.random.RandomState(1).permutation(shuffled[100:])
    again = small().fit(X[:100], shuffled[:100])
    np.testing.assert_array_equal(first.predict_proba(X[100:]), again.predict_proba(X[100:]))
    np.testing.assert_array_equal(first.predict(X[100:]), again.predict(X[100:]))


def test_trees_do_not_know_a_rows_own_labels():
    # Flip one row's labels. Scores that had seen them would follow.
    X, Y = make_data(60, 4, 2, seed=3)
    flipped = Y.copy()
    flipped[7] = 1 - flipped[7]
    before, after = (TreesLearner(100, 1).fit(X, y, 0)[7] for y in (Y, flipped))
    assert ((after - before) * (flipped[7] - Y[7]) < 0.1).all()


def test_a_projection_knows_no_label_outside_its_bag():
    X, Y = make_data(60, 4, 2, seed=3)
    bag = draw_bags(60, 1, np.random.RandomState(0))[0]
    outside = np.setdiff1d(np.arange(60), bag)
    changed = Y.copy()
    changed[outside] = 1 - changed[outside]
    learners = [ProjectionLearner(TrainingRows(X), bag, 0.5) for _ in range(2)]
    scores = [m.fit(X, y, 0) for m, y in zip(learners, (Y, changed), strict=True)]
    np.testing.assert_array_equal(learners[0].components_, learners[1].components_)
    assert np.isnan(scores[0][bag]).all()
    assert np.isfinite(scores[0][outside]).all()


def test_random_labels_are_not_learned():
    rng = np.random.RandomState(0)
    X, Y = rng.standard_normal((150, 30)), (rng.rand(150, 6) < 0.4).astype(int)
    model = small().fit(X, Y)
    chance = average_precision(Y, np.tile(Y.mean(axis=0), (len(Y), 1)))
    assert model.oob_score_ < chance + 0.05
    unseen = (rng.rand(150, 6) < 0.4).astype(int)
    assert abs(model.oob_score_ - average_precision(unseen, model.predict_proba(X))) < 0.1
    for value in model.member_scores_.values():
        assert value < chance + 0.07


def test_the_out_of_bag_score_foretells_the_test_score():
    X, Y = make_data(500, 6, 4, seed=2)
    model = small().fit(X[:250], Y[:250])
    new = average_precision(Y[250:], model.predict_proba(X[250:]))
    assert abs(model.oob_score_ - new) < 0.04


def test_sure_members_do_not_make_it_overconfident(paper_data):
    X, Y, folds = paper_data("genbase")
    # Nearly every label is separable: each curve on another would be surer than the last.
    train = np.sort(np.concatenate(folds[1:]))[:250]
    model = small().fit(X[train], Y[train])
    test = model.predict_proba(X[folds[0]])
    assert model.oob_proba_.min() > 1e-5
    krr = KernelRidgeLOOClassifier(random_state=0).fit(X[train], Y[train])
    assert (
        average_precision(Y[folds[0]], test)
        > average_precision(Y[folds[0]], krr.predict_proba(X[folds[0]])) - 0.005
    )


# --------------------------------------------------------------------------- fitted state


def test_fitted_attributes():
    X, Y = make_data(80, 5, 3)
    model = small(oob_metric="hamming_loss").fit(X, Y)
    names = [name for name, _ in model.members_]
    assert names == [
        "raw_rbf",
        "unit_rbf",
        "standard_rbf",
        "ranks_rbf",
        "raw_laplacian",
        "ranks_laplacian",
        "projections",
        "trees",
    ]
    assert model.estimators_ == [member for _, member in model.members_]
    assert len(dict(model.members_)["projections"].learners) == 2
    assert model.weights_.shape == (8,)
    assert model.weights_.min() >= 0
    assert model.weights_.sum() == pytest.approx(1)
    assert list(model.member_scores_) == names
    assert model.oob_proba_.shape == Y.shape
    assert model.oob_score_ == hamming_loss(Y, model.oob_proba_ > 0.5)
    none = small(n_projections=0, n_trees=0).fit(X, Y)
    assert [name for name, _ in none.members_] == names[:6]


def test_oob_metric_changes_no_prediction():
    X, Y = make_data(60)
    first, second = (small(oob_metric=m).fit(X, Y) for m in ("one_error", "f1"))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_change_nothing(n_jobs):
    X, Y = make_data(80)
    expected = small(n_jobs=None).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(
        small(n_jobs=n_jobs).fit(X, Y).predict_proba(X), expected, rtol=0, atol=1e-10
    )


def test_decisions():
    X, Y = make_data(120, 5, 4)
    fixed, chosen = (small(decision=d).fit(X, Y) for d in ("fixed", "cardinality"))
    proba = fixed.predict_proba(X)
    np.testing.assert_array_equal(fixed.predict(X), proba > 0.5)
    np.testing.assert_array_equal(chosen.predict_proba(X), proba)
    np.testing.assert_array_equal(chosen.predict(X), chosen.decision_.apply(proba))
    predicted = chosen.decision_.apply(chosen.oob_proba_)
    assert predicted.sum() == pytest.approx(Y.sum(), abs=1)
    with pytest.raises(ValueError, match="decision"):
        small(decision="nonsense").fit(X, Y)


def test_one_dimensional_target():
    X, Y = make_data(80)
    y = np.where(Y[:, 0], "yes", "no")
    model = small().fit(X, y)
    assert model.oob_proba_.shape == (80, 2)
    assert (model.predict(X) == y).mean() > 0.9


def test_progress(capsys):
    X, Y = make_data(30)
    small(verbose=2).fit(X, Y)
    assert "[KinEnsembleClassifier] 9 of 9 learners" in capsys.readouterr().out


# ----------------------------------------------------------------------------- robustness


def test_members_that_fail_on_raw_scales_lose_their_weight():
    # Steps in a few of many features, on scales that tell nothing.
    rng = np.random.RandomState(0)
    Z = rng.standard_normal((300, 40))
    Y = np.column_stack([Z[:, 0] > 0, (Z[:, 1] > -0.5) & (Z[:, 2] > -0.5), Z[:, 3] > 1]).astype(int)
    X = np.sinh(2 * Z) * 10.0 ** rng.uniform(-3, 3, 40)
    model = small(n_trees=100).fit(X, Y)
    weights = dict(zip(model.member_scores_, model.weights_, strict=True))
    scores = model.member_scores_
    assert scores["trees"] > scores["raw_rbf"] + 0.05
    assert weights["trees"] > 2 * weights["raw_rbf"]
    assert model.oob_score_ > max(scores.values()) - 0.01


def test_rare_and_constant_labels():
    X, Y = make_data(100, 5, 2)
    rare = np.zeros((100, 3), dtype=int)
    rare[0, 0] = 1
    rare[:, 2] = 1
    model = small().fit(X, np.hstack([Y, rare]))
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba[:, 3], 1 / 102)
    np.testing.assert_allclose(proba[:, 4], 101 / 102)
    assert (proba[1:, 2] < 0.5).all()  # the only row that has the label may be known


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 20])
def test_few_rows(n):
    X, Y = make_data(n)
    proba = small().fit(X, Y).predict_proba(X)
    assert np.isfinite(proba).all()


def test_more_labels_than_rows():
    X, Y = make_data(15, 4, 40)
    model = small().fit(X, Y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_duplicates_and_constant_features():
    X, Y = make_data(60)
    X[:, 0] = 7
    X = np.repeat(X[:20], 3, axis=0)
    assert np.isfinite(small().fit(X, Y).predict_proba(X)).all()


def test_single_precision_is_worked_on_in_double():
    X, Y = texts()
    single = X.astype(np.float32)  # counts: the same numbers
    np.testing.assert_allclose(
        small().fit(single, Y).predict_proba(single), small().fit(X, Y).predict_proba(X)
    )


def test_large_sparse_rows_stay_sparse(monkeypatch):
    X, Y = texts()
    dense = small().fit(X, Y)
    monkeypatch.setattr(_views, "_DENSE_CELLS", 0)
    S = sparse.csr_matrix(X)
    monkeypatch.setattr(S, "toarray", None)
    model = small().fit(S, Y)
    assert not model._dense
    assert "compact" in model.views_
    for name in ("raw_rbf", "root_idf_laplacian", "idf_rbf", "trees"):
        assert model.member_scores_[name] == pytest.approx(dense.member_scores_[name], abs=1e-6)
    proba = model.predict_proba(S)
    assert np.abs(proba - dense.predict_proba(X)).mean() < 0.05


def coefficients(model):
    """Return how many rows have a coefficient in two of the members."""
    learners = {name: member.learners[0] for name, member in model.members_}
    return {
        "raw_rbf": len(learners["raw_rbf"]._coef),
        "projections": len(learners["projections"].ridge_._coef),
    }


def test_many_rows_are_seen_through_landmarks(monkeypatch):
    X, Y = make_data(400, 4, 3)
    exact = small().fit(X[:250], Y[:250])
    monkeypatch.setattr(_kin_members, "_MAX_EXACT_PROJECTED", 100)
    monkeypatch.setattr(_kin_members, "_LANDMARK_WORK", 250 * 150**2)
    assert coefficients(small().fit(X[:250], Y[:250])) == {"raw_rbf": 250, "projections": 150}
    monkeypatch.setattr(_kin_members, "MAX_EXACT", 100)
    model = small().fit(X[:250], Y[:250])
    assert coefficients(model) == {"raw_rbf": 150, "projections": 150}
    near = average_precision(Y[250:], model.predict_proba(X[250:]))
    assert near > average_precision(Y[250:], exact.predict_proba(X[250:])) - 0.02


def test_trees_bound_their_memory(monkeypatch):
    X, Y = make_data(200, 5, 4)
    monkeypatch.setattr(_kin_members, "_LEAF_CELLS", 10_000)
    monkeypatch.setattr(_kin_members, "_TREE_ROWS", 100)
    learner = TreesLearner(200, 1)
    scores = learner.fit(X, Y, 0)
    cells = sum(tree.tree_.node_count * 4 for tree in learner.forest_.estimators_)
    assert cells <= 10_000
    assert np.isfinite(scores).any()


# ---------------------------------------------------------------------------------- views


def test_texts_are_told_by_their_zeros():
    X, _ = texts()
    X[X < 1] = 0
    assert is_text(X) == (np.mean(X == 0) > 0.5)
    sparse_rows = np.where(np.random.RandomState(0).rand(20, 9) < 0.2, 1.0, 0.0)
    assert is_text(sparse_rows)
    assert is_text(sparse.csr_matrix(sparse_rows))
    assert not is_text(-sparse_rows)
    assert not is_text(1 - sparse_rows)


def test_word_weights():
    X = np.array([[4.0, 0, 0, 1], [1, 2, 0, 1], [0, 0, 0, 1]])
    view = Words(X, 0.5)
    idf = np.log(4 / (np.array([2, 1, 0, 3]) + 1))
    raw = np.sqrt(X * idf)
    length = np.linalg.norm(raw, axis=1, keepdims=True)
    expected = raw / np.where(length > 0, length, 1)
    np.testing.assert_allclose(view(X), expected)
    np.testing.assert_allclose(view(sparse.csr_matrix(X)).toarray(), expected)
    assert np.isfinite(view(-X)).all()


def test_ranks_and_standard():
    X = np.array([[1.0, 5], [3, 5], [3, 5], [9, 5]])
    view = Ranks(X)
    np.testing.assert_allclose(view(X)[:, 0], [0.125, 0.5, 0.5, 0.875])
    np.testing.assert_allclose(view(np.array([[-1e9, 0], [1e9, 9]])), [[0, 0], [1, 1]])
    np.testing.assert_allclose(view(X**3), Ranks(X)(X**3))
    np.testing.assert_allclose(Standard(X)(X)[:, 0], X[:, 0] / X[:, 0].std())


def test_views_of_unit_rows_need_no_unit_view():
    X = np.random.RandomState(0).standard_normal((20, 3))
    assert "unit" in learn_views(X)
    assert "unit" not in learn_views(X / np.linalg.norm(X, axis=1, keepdims=True))


def test_compact_keeps_distances_where_it_can():
    X = np.random.RandomState(0).standard_normal((20, 50))
    view = compact(learn_views(X)["raw"], X, 0)
    Z = view(X)
    assert Z.shape[1] <= 20
    np.testing.assert_allclose(Z @ Z.T, X @ X.T, atol=1e-9)
    assert compact(view, X.T, 0) is view


def test_manageable():
    S = sparse.random(10, 8, 0.3, format="csr", random_state=0, dtype=np.float32)
    assert manageable(S).dtype == np.float64
    assert sparse.issparse(manageable(S, dense=False))
    np.testing.assert_array_equal(manageable(S), S.toarray())


# -------------------------------------------------------------------------------- members


@pytest.mark.parametrize("metric", ["l1", "l2"])
def test_kernel_scores_are_those_of_refits(metric):
    X, Y = make_data(40, 3, 2)
    learner = KernelLearner(metric)
    loo = learner.fit(X, Y, 0)
    D = np.abs(X[:, None] - X) ** (1 if metric == "l1" else 2)
    K = np.exp(-D.sum(axis=2) / (2 * learner.width_**2))
    np.testing.assert_allclose(learner.scores(X), K @ learner._coef + learner._intercept)
    # A ridge with an intercept, without row 7.
    rest = np.delete(np.arange(40), 7)
    fitted = learner.scores(X)
    ridge = ((Y - fitted) / learner._coef).mean(axis=0)
    for label in range(2):
        A = np.ones((40, 40))
        A[:-1, :-1] = K[np.ix_(rest, rest)] + ridge[label] * np.eye(39)
        A[-1, -1] = 0
        solution = np.linalg.solve(A, np.append(Y[rest, label], 0))
        assert K[7, rest] @ solution[:-1] + solution[-1] == pytest.approx(loo[7, label])


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


def test_ratio_directions_without_pairs_or_differences():
    X, none = np.arange(8.0).reshape(4, 2), np.empty((0, 2), dtype=int)
    pairs = np.array([[0, 1]])
    for must, cannot in [(none, pairs), (pairs, none)]:
        np.testing.assert_array_equal(ratio_directions(TrainingRows(X), must, cannot), np.eye(2))
    same = np.repeat(X[:2], 2, axis=0)
    training = TrainingRows(same)
    np.testing.assert_array_equal(ratio_directions(training, pairs, pairs + 1), np.eye(2))


def test_ridges_behind_a_projection_are_chosen_by_the_judged_rows():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((300, 3))
    Y = np.column_stack([X[:, :2] > 0, rng.rand(300, 2) < 0.5]).astype(np.uint8)  # rules and noise
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    spectrum = RidgeSpectrum.of_kernel(np.exp(-distances / 4))
    judged = np.arange(100, 300)
    model = _fit_ridges(spectrum, Y, judged)
    ridges = RIDGES[::3]
    alone = [loo_ridge(spectrum, Y, ridges[[i]]) for i in range(len(ridges))]
    errors = [np.mean((Y[judged] - m.loo_scores[judged]) ** 2, axis=0) for m in alone]
    best = choose_ridges(np.array(errors), Y[judged], 50.0)
    assert len(set(best)) > 1  # else the test could not tell labels apart
    for label, i in enumerate(best):
        np.testing.assert_allclose(model.ridge[label], alone[i].ridge[label])
        np.testing.assert_allclose(model.loo_scores[:, label], alone[i].loo_scores[:, label])
        np.testing.assert_allclose(model.coef[:, label], alone[i].coef[:, label])
        np.testing.assert_allclose(model.intercept[label], alone[i].intercept[label])


def test_binary_features_need_no_second_kernel():
    X, Y = make_data(60, 6, 3)
    B = (X > 0).astype(float)
    np.testing.assert_allclose(KernelLearner("l1").fit(B, Y, 0), KernelLearner("l2").fit(B, Y, 0))
    names = [name for name, _ in small().fit(B, Y).members_]
    assert "raw_laplacian" not in names
    assert any(name.endswith("_laplacian") for name in names)
    assert is_binary(sparse.csr_matrix(B))
    assert not is_binary(sparse.csr_matrix(B * 2))


def test_rare_words_are_weighted_up_where_that_suits_the_labels():
    """Labels are named by one rare word each; common words are noise, or the labels."""
    rng = np.random.RandomState(0)
    Y = (rng.rand(300, 4) < 0.1).astype(np.uint8)
    common = 3.0 * (rng.rand(300, 12) < 0.45)
    named = np.hstack([common, Y, np.zeros((300, 10))])
    assert is_text(named)
    noise = (rng.rand(300, 200) < 0.01).astype(float)
    loud = np.hstack([3.0 * Y, noise])
    for X, scaled in ((named, True), (loud, False)):
        model = small(n_projections=0, n_trees=0).fit(X, Y)
        kernel = dict(model.members_)["raw_rbf"].learners[0]
        assert (kernel._rows.prepare.scale is not None) == scaled
        np.testing.assert_array_equal(model.predict(X[:50]), Y[:50])
    # Tables have a view for that.
    X, Y = make_data(80, 5, 3)
    kernel = dict(small().fit(X * [1, 1, 1, 1, 100], Y).members_)["raw_rbf"].learners[0]
    assert kernel._rows.prepare.scale is None


def test_learners_share_the_memory(monkeypatch):
    assert affordable_threads(1000, 16) == 16
    few, many = (affordable_threads(n, 16) for n in (5000, 1_000_000))
    assert 1 <= many <= few < 16
    monkeypatch.setattr(_kin_members, "_MEMORY", 0)
    assert affordable_threads(1000, 16) == 1


def test_landmarks_fall_smoothly_from_all_rows():
    assert n_landmarks(1) == 1
    assert n_landmarks(8000) == 8000
    assert n_landmarks(8001) == n_landmarks(8001, 5000) < 8000
    sizes = np.unique(np.geomspace(5001, 1e6, 200).astype(int))
    marks = np.array([n_landmarks(n, 5000) for n in sizes])
    assert 0.75 * 5001 < marks[0] < 5001
    # 1.03 times the rows: hardly fewer landmarks, never more.
    assert (np.diff(marks) <= 0).all()
    assert (marks[1:] > 0.95 * marks[:-1]).all()
    assert (sizes * marks.astype(float) ** 2 <= 8e10).all()
    assert (sizes * marks)[marks > 100].max() <= 2**26
    assert marks.min() == 100


def test_landmarks_are_means_of_the_rows_nearest_to_a_drawn_one():
    X = np.random.RandomState(0).standard_normal((40, 3))
    drawn = X[sample_rows(40, np.random.RandomState(1), 12)]
    nearest = ((X[:, None] - drawn) ** 2).sum(axis=2).argmin(axis=1)
    expected = [X[nearest == i].mean(axis=0) for i in range(12)]
    means = landmarks(X, 12, np.random.RandomState(1))
    np.testing.assert_allclose(means, expected, atol=1e-12)
    S = landmarks(sparse.csr_matrix(X), 12, np.random.RandomState(1))
    assert sparse.issparse(S)
    np.testing.assert_allclose(S.toarray(), expected, atol=1e-9)


def test_twins_among_landmarks_are_merged():
    X = np.repeat(np.random.RandomState(0).standard_normal((6, 3)), 5, axis=0)
    means = landmarks(X, 29, np.random.RandomState(1))
    np.testing.assert_allclose(np.sort(means, axis=0), np.sort(X[::5], axis=0), atol=1e-12)


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_almost_all_rows_as_landmarks_are_almost_exact(monkeypatch, metric):
    X, Y = make_data(120, 4, 3)
    exact = KernelLearner(metric)
    scores = exact.fit(X, Y, 0)
    calls = []
    of_landmarks = RidgeSpectrum.of_landmarks
    monkeypatch.setattr(
        RidgeSpectrum, "of_landmarks", lambda *a: calls.append(1) or of_landmarks(*a)
    )
    monkeypatch.setattr(_kin_members, "n_landmarks", lambda n, max_exact: n - 1)
    near = KernelLearner(metric)
    np.testing.assert_allclose(near.fit(X, Y, 0), scores, atol=0.1)
    assert calls
    assert near.width_ == pytest.approx(exact.width_)
    np.testing.assert_allclose(near.scores(X + 0.1), exact.scores(X + 0.1), atol=0.1)


def test_every_row_is_outside_one_bag_of_two():
    bags = draw_bags(101, 6, np.random.RandomState(0))
    assert len(bags) == 6
    everyone = set(range(101))
    for first, second in zip(bags[::2], bags[1::2], strict=True):
        assert len(first) == len(second) == 56
        # Of the two bags only ten rows are shared; they are outside another pair's bag.
        assert set(first) | set(second) == everyone
    outside = [everyone - set(bag) for bag in bags]
    assert set.union(*outside) == everyone


def test_honest_mean():
    Y = np.array([[1, 0], [0, 0], [1, 1]])
    nan = np.nan
    scores = [
        np.array([[0.2, 0.4], [nan, nan], [nan, nan]]),
        np.array([[0.4, 0.0], [0.6, 0.2], [nan, nan]]),
    ]
    np.testing.assert_allclose(honest_mean(scores, Y), [[0.3, 0.2], [0.6, 0.2], [0.45, 0.2]])
    np.testing.assert_allclose(
        honest_mean([np.full((3, 2), nan)], Y), np.tile(Y.mean(axis=0), (3, 1))
    )


# ------------------------------------------------------------------------------- stacking


def noisy_members(n, noises, q=4, seed=0):
    rng = np.random.RandomState(seed)
    truth = rng.standard_normal((n, q))
    Y = (expit(3 * truth) > rng.rand(n, q)).astype(np.uint8)
    return np.stack([3 * truth + s * rng.standard_normal((n, q)) for s in noises]), Y


def test_weights_follow_the_better_member_given_rows():
    odds, Y = noisy_members(2000, [0.5, 5, 5])
    weights = member_weights(odds, Y, np.random.RandomState(0))
    assert weights[0] > 0.8
    assert weights.sum() == pytest.approx(1)
    same, Y = noisy_members(2000, [2, 2, 2])
    np.testing.assert_allclose(member_weights(same, Y, np.random.RandomState(0)), 1 / 3, atol=0.07)


def test_weights_stay_equal_with_few_rows():
    odds, Y = noisy_members(12, [1, 1.5, 1.2, 1.1])
    np.testing.assert_allclose(member_weights(odds, Y, np.random.RandomState(0)), 1 / 4, atol=0.13)
    np.testing.assert_array_equal(
        member_weights(odds[:, :5], Y[:5], np.random.RandomState(0)), np.full(4, 0.25)
    )
    np.testing.assert_array_equal(
        member_weights(odds, np.zeros_like(Y), np.random.RandomState(0)), np.full(4, 0.25)
    )


def test_weights_learn_from_a_part_of_very_many_cells(monkeypatch):
    odds, Y = noisy_members(2000, [0.5, 5])
    monkeypatch.setattr(_stacking, "_CELLS", 1000)
    assert member_weights(odds, Y, np.random.RandomState(0))[0] > 0.7


def test_the_correction_uses_other_labels_and_leaves_noise_alone():
    rng = np.random.RandomState(0)
    Y = (rng.rand(800, 1) < 0.4).astype(np.uint8)
    Y = np.hstack([Y, Y, (rng.rand(800, 1) < 0.3)]).astype(np.uint8)  # the second equals the first
    odds = np.column_stack([4 * Y[:, 0] - 2.0, rng.normal(-0.4, 0.1, (800, 2)).T.T])
    correction = LabelCorrection()
    corrected = correction.fit(odds, Y)
    before, after = (np.mean((expit(o) - Y) ** 2, axis=0) for o in (odds, corrected))
    assert after[1] < 0.5 * before[1]
    assert abs(after[2] - before[2]) < 0.02
    # Asked about the same rows it says nearly what it says of them left out.
    np.testing.assert_allclose(expit(correction(odds)), expit(corrected), atol=0.02)


def test_stacking_is_monotone_in_each_members_scores_without_a_correction(monkeypatch):
    monkeypatch.setattr(_stacking, "_SHARE", 0.0)
    odds, Y = noisy_members(300, [1, 2])
    stacking = Stacking(0)
    honest = stacking.fit(list(odds), Y)
    np.testing.assert_allclose(stacking(list(odds)), honest, atol=1e-12)
    higher = stacking(list(odds + 0.5))
    assert (higher >= honest - 1e-12).all()
    assert (logit(higher) > logit(honest)).mean() > 0.8


@pytest.mark.parametrize("probabilities", [True, False])
def test_curves_bend_where_scores_are_probabilities(probabilities):
    """Members that say P(y) plainly, or a straight line of the log odds, with some noise."""
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
    curves = member_curves(scores, Y)
    assert {curve.bent for curve in curves} == {probabilities}
    stacking = Stacking(0)
    stacking.fit(scores, Y)
    assert stacking.calibrations_[0].bent == probabilities
    assert np.abs(stacking(scores) - truth).mean() < 0.06


def test_curves_are_chosen_for_the_members_together():
    """Two members err in opposite directions: each alone is no probability, their mean is."""
    rng = np.random.RandomState(2)
    truth = rng.beta(0.05, 1.2, size=(2000, 3))
    Y = (rng.rand(*truth.shape) < truth).astype(np.uint8)
    shift = rng.choice([0.05, 20], size=truth.shape)
    scores = [truth * shift, truth / shift]
    assert not any(member_curves([alone], Y)[0].bent for alone in scores)
    assert all(curve.bent for curve in member_curves(scores, Y))


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
    together.fit(scores, Y)
    alone = [
        ranking_loss(truth, SlopeCalibration().fit(s, Y)(q))
        for s, q in zip(scores, queries, strict=True)
    ]
    assert ranking_loss(truth, together(queries)) < min(alone)


def test_a_label_never_seen_does_not_rank_behind_labels_that_are_excluded():
    scores, Y, queries, truth = rare_labels(0, noise=0.05)
    stacking = Stacking(0)
    stacking.fit(scores, Y)
    proba = stacking(queries)
    prior = 1 / (len(Y) + 2)
    np.testing.assert_allclose(proba[:, -1], prior)
    # Scores exclude nearly all labels of a row: they are less likely than what nobody knows.
    excluded = truth[:, 10:-1] == 0
    assert (proba[:, 10:-1][excluded] < prior).mean() > 0.9


def test_targets_are_less_sure_the_fewer_samples_there_are():
    Y = np.zeros((20, 4), dtype=np.uint8)
    Y[:1, 0] = Y[:9, 1] = Y[:, 2] = 1
    targets = cautious(Y)
    assert 0.5 < targets[0, 0] < targets[0, 1] < 1
    assert 0 < targets[-1, 0] < targets[-1, 1] < 0.5
    np.testing.assert_array_equal(targets[:, 2:], Y[:, 2:])
    # All negatives together hold no more doubt than one sample.
    assert np.where(Y == 0, targets, 0).sum() < 1
    # A single label has its doubt for itself.
    np.testing.assert_allclose(cautious(Y[:, :1])[[0, -1], 0], [1.3 / 1.6, 1 / 21])
