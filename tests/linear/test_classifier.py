"""Logistic regression of all labels: scikit-learn's optimum, folds that leak nothing."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from labelkin import MultiLabelLogisticRegression
from labelkin.linear._learner import LabelFitter, draw_folds
from labelkin.rows import Labels, as_rows
from support.data import make_data


def exact(C=1.0, **settings):
    """One C, converged to rounding, not calibrated."""
    return MultiLabelLogisticRegression(C, tol=1e-10, calibrate=False, **settings)


def noisy(n=120, k=6, q=4, seed=0):
    """Labels that depend on the features by chance, one of them rare."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, k))
    Y = (rng.rand(n, q) < expit(2 * X[:, :q] - 0.5)).astype(int)
    Y[:, 0] = X[:, 0] > np.sort(X[:, 0])[-5]
    return X, Y


# ------------------------------------------------------------------------- the optimum


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("k", [6, 200])  # more samples than features, and fewer
def test_scikit_learns_optimum(form, C, k):
    X, Y = noisy(k=k)
    X += 3  # the intercept is not penalised, so that an offset of the features does not matter
    model = exact(C).fit(form(X), Y)
    for label in range(Y.shape[1]):
        expected = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10, max_iter=1000)
        expected.fit(X, Y[:, label])
        np.testing.assert_allclose(model.coef_[label], expected.coef_[0], atol=1e-6)
        np.testing.assert_allclose(model.intercept_[label], expected.intercept_[0], atol=1e-5)


def test_lbfgs_finds_the_same():
    X, Y = noisy()
    model = MultiLabelLogisticRegression(2.0).fit(X, Y)
    for label in range(Y.shape[1]):
        expected = LogisticRegression(C=2.0, tol=1e-8, max_iter=10_000).fit(X, Y[:, label])
        odds = expected.decision_function(X)
        np.testing.assert_allclose(model.decision_function(X)[:, label], odds, atol=1e-2)
        distance = np.linalg.norm(model.coef_[label] - expected.coef_[0])
        assert distance <= 2e-3 * np.linalg.norm(expected.coef_)


def test_the_tolerance_bounds_the_distance_to_the_optimum():
    X, Y = noisy(200, 30)
    optimum = exact(10.0).fit(X, Y).coef_
    for tol in (0.3, 0.1, 0.01):
        coef = MultiLabelLogisticRegression(10.0, tol=tol).fit(X, Y).coef_
        distance = np.linalg.norm(coef - optimum, axis=1) / np.linalg.norm(optimum, axis=1)
        assert (distance <= 2 * tol / (1 - tol)).all()


def test_each_label_is_fitted_as_if_alone():
    X, Y = noisy(q=5)
    together = exact(3.0).fit(X, Y)
    for label in range(5):
        alone = exact(3.0).fit(X, Y[:, [label]])
        np.testing.assert_allclose(alone.coef_[0], together.coef_[label], atol=1e-8)
        np.testing.assert_allclose(alone.intercept_[0], together.intercept_[label], atol=1e-8)


def test_many_batches_of_labels():
    rng = np.random.RandomState(0)
    X, Y = rng.standard_normal((50, 8)), (rng.rand(50, 150) < 0.2).astype(int)
    model = exact().fit(X, Y)
    for label in (0, 77, 149):
        expected = LogisticRegression(tol=1e-10, max_iter=1000).fit(X, Y[:, label])
        np.testing.assert_allclose(model.coef_[label], expected.coef_[0], atol=1e-4)
    threads = exact(n_jobs=3).fit(X, Y)
    np.testing.assert_array_equal(threads.coef_, model.coef_)


def test_separable_labels_and_little_regularisation():
    X, _ = noisy()
    Y = (X[:, :2] > 0).astype(int)
    model = exact(1e6).fit(X, Y)
    assert np.isfinite(model.coef_).all()
    np.testing.assert_array_equal(model.predict(X), Y)


def test_it_stops():
    X, Y = noisy()
    model = MultiLabelLogisticRegression(1e4, tol=1e-12, max_iter=2).fit(X, Y)
    assert model.n_iter_.max() == 2


def test_features_without_information():
    X, Y = noisy()
    for useless in (np.zeros_like(X), np.full_like(X, 7.0)):
        model = MultiLabelLogisticRegression(random_state=0).fit(useless, Y)
        np.testing.assert_allclose(model.coef_, 0, atol=1e-8)
        np.testing.assert_allclose(model.predict_proba(useless)[0], Y.mean(axis=0), atol=0.02)


def test_constant_labels_keep_their_prior():
    X, Y = noisy(38)
    Y[:, 0], Y[:, 1] = 1, 0
    for model in (exact(), MultiLabelLogisticRegression(random_state=0)):
        proba = model.fit(X, Y).predict_proba(X[:3])
        np.testing.assert_allclose(proba[:, 0], 39 / 40)
        np.testing.assert_allclose(proba[:, 1], 1 / 40)
        assert not model.coef_[:2].any()
        assert (model.n_iter_[:2] == 0).all()


# ---------------------------------------------------------------------- sample weights


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "model",
    [
        exact(),
        MultiLabelLogisticRegression(random_state=0),
        MultiLabelLogisticRegression(calibrate=True, random_state=0),
    ],
    ids=str,
)
def test_weights_are_repetitions(form, model):
    X, Y = noisy()
    weight = np.random.RandomState(1).randint(0, 4, len(X))
    again = np.random.RandomState(2).permutation(np.repeat(np.arange(len(X)), weight))
    weighted = model.fit(form(X), Y, sample_weight=weight)
    expected = weighted.coef_, weighted.intercept_, weighted.C_
    proba = getattr(weighted, "oof_proba_", None)
    repeated = model.fit(form(X[again]), Y[again])
    for found, value in zip(
        (repeated.coef_, repeated.intercept_, repeated.C_), expected, strict=True
    ):
        np.testing.assert_allclose(found, value, rtol=1e-6, atol=1e-8)
    if proba is not None:
        np.testing.assert_allclose(repeated.oof_proba_, proba[again], atol=1e-8)


# --------------------------------------------------------------------------------- folds


def test_out_of_fold_log_odds_are_those_of_refits():
    X, Y = noisy()
    fold = draw_folds(as_rows(X), np.ones(len(X)), 4, np.random.RandomState(0))
    assert np.bincount(fold).tolist() == [30, 30, 30, 30]
    fitter = LabelFitter(as_rows(X), Labels(Y), tol=1e-9, max_iter=100, n_jobs=1)
    odds, _ = fitter.fit_folds(fold, np.full(4, 0.7))
    for number in range(4):
        part = fold == number
        refit = exact(0.7).fit(X[~part], Y[~part])
        np.testing.assert_allclose(odds[part], refit.decision_function(X[part]), atol=1e-7)


def test_out_of_fold_probabilities_do_not_see_the_labels_of_their_fold():
    """Other labels in a fold change no uncalibrated probability in it."""
    X, Y = noisy()
    rows = as_rows(X)
    fold = draw_folds(rows, np.ones(len(X)), 5, np.random.RandomState(0))
    other = Y.copy()
    other[fold == 2] = 1 - other[fold == 2]
    found = [
        LabelFitter(rows, Labels(y), tol=1e-3, max_iter=100, n_jobs=1).fit_folds(
            fold, np.full(4, 1.0)
        )[0]
        for y in (Y, other)
    ]
    np.testing.assert_array_equal(found[0][fold == 2], found[1][fold == 2])


def test_noise_is_not_predicted_out_of_fold():
    rng = np.random.RandomState(0)
    X, Y = rng.standard_normal((300, 40)), (rng.rand(300, 20) < 0.3).astype(int)
    proba = MultiLabelLogisticRegression(random_state=0).fit(X, Y).oof_proba_
    above = [np.mean(p[y == 1]) - np.mean(p[y == 0]) for p, y in zip(proba.T, Y.T, strict=True)]
    assert np.mean(above) < 0.01
    assert abs(proba.mean() - 0.3) < 0.02


def test_equal_rows_are_in_one_fold():
    X, _ = noisy(60)
    twice = np.random.RandomState(0).permutation(np.tile(np.arange(60), 2))
    fold = draw_folds(as_rows(X[twice]), np.ones(120), 5, np.random.RandomState(0))
    for row in range(60):
        assert len(set(fold[twice == row])) == 1
    few = as_rows(X[np.arange(60) % 3])  # three kinds of rows: folds ignore them
    assert len(set(draw_folds(few, np.ones(60), 5, np.random.RandomState(0)))) == 5


def test_a_label_is_learned_from_one_column_of_categories():
    rng = np.random.default_rng(0)
    X = np.eye(20)[rng.integers(20, size=120)]  # about six rows of each kind
    Y = np.column_stack([X[:, :10].any(axis=1), rng.integers(2, size=120)]).astype(int)
    model = MultiLabelLogisticRegression(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X)[:, 0], Y[:, 0])


def test_one_C_for_all_by_held_out_log_loss():
    X, Y = noisy(150, 30)
    fold = draw_folds(as_rows(X), np.ones(150), 5, np.random.RandomState(0))
    model = MultiLabelLogisticRegression(random_state=0, calibrate=False).fit(X, Y)
    assert len(set(model.C_)) == 1
    losses = []
    share = Y.mean(axis=0)
    unit = -(share * np.log(share) + (1 - share) * np.log1p(-share))
    fitter = LabelFitter(as_rows(X), Labels(Y), tol=1e-3, max_iter=100, n_jobs=1)
    for C in model.C_[0] * np.array([10**-0.5, 1, 10**0.5]):
        odds, _ = fitter.fit_folds(fold, np.full(4, C))
        loss = np.logaddexp(0, odds) - Y * odds
        losses.append((loss.mean(axis=0) / unit).mean())
    assert np.argmin(losses) == 1


def test_C_is_found_far_from_where_the_search_begins():
    """In units of 1 / mean squared norm: little for noise, much for a rule without exceptions."""
    X = np.random.RandomState(0).standard_normal((150, 30))
    noise = (np.random.RandomState(1).rand(150, 3) < 0.5).astype(int)
    rule = (X[:, :3] > 0).astype(int)
    model = MultiLabelLogisticRegression(random_state=0, calibrate=False)
    unit = ((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()
    found = [float(model.fit(X, Y).C_[0] * unit) for Y in (noise, rule)]
    assert found[0] < 0.5
    assert found[1] > 20


# ------------------------------------------------------------------------- calibration


def test_calibration_is_part_of_the_weights():
    X, Y = noisy(300)
    plain = exact(0.003).fit(X, Y)
    model = exact(0.003, random_state=0).set_params(calibrate=True).fit(X, Y)
    assert (plain.slope_ == 1).all()
    assert (model.slope_ > 1.5).all()  # too much regularisation
    np.testing.assert_allclose(model.coef_, plain.coef_ * model.slope_[:, None], atol=1e-8)
    np.testing.assert_allclose(
        logit(model.predict_proba(X)), X @ model.coef_.T + model.intercept_, atol=1e-8
    )
    queries, truth = noisy(300, seed=1)
    loss = [
        -np.log(np.where(truth == 1, m.predict_proba(queries), 1 - m.predict_proba(queries))).mean()
        for m in (plain, model)
    ]
    assert loss[1] < loss[0]


def test_without_folds_there_are_no_out_of_fold_probabilities():
    X, Y = noisy()
    assert not hasattr(MultiLabelLogisticRegression(1.0).fit(X, Y), "oof_proba_")
    model = MultiLabelLogisticRegression(random_state=0).fit(X, Y)
    assert model.oof_proba_.shape == Y.shape
    assert not hasattr(model.set_params(calibrate=False).fit(X, Y), "oof_proba_")


# ------------------------------------------------------------------------------- forms


def test_large_sparse_samples_in_single_precision():
    X = sparse.random(3000, 500, 0.1, "csr", random_state=0)
    Y = (X[:, :5].toarray() > 0.2).astype(int)
    single = MultiLabelLogisticRegression(1.0).fit(X, Y)
    double = MultiLabelLogisticRegression(1.0, tol=1e-6).fit(X, Y)
    assert single.coef_.dtype == np.float32
    assert double.coef_.dtype == np.float64
    np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=2e-3)


def test_sparse_labels_give_sparse_predictions():
    X, Y = noisy()
    model = exact().fit(X, sparse.csr_array(Y))
    found = model.predict(X)
    assert sparse.issparse(found)
    np.testing.assert_array_equal(found.toarray(), exact().fit(X, Y).predict(X))


def test_decision_function_of_one_target():
    X, Y = make_data(60)
    names = np.array(["no", "yes"])[Y[:, 0]]
    model = MultiLabelLogisticRegression(1.0).fit(X, names)
    odds = model.decision_function(X)
    assert odds.shape == (60,)
    np.testing.assert_array_equal(model.predict(X), np.where(odds > 0, "yes", "no"))


def test_bad_weights():
    X, Y = noisy(20)
    for weight, message in [
        (np.zeros(20), "not only zeros"),
        (np.ones(19), "shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            exact().fit(X, Y, sample_weight=weight)


# ------------------------------------------------------------------------- explanation


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_contributions_add_up(form):
    X, Y = noisy()
    X = np.where(np.abs(X) < 0.5, 0, X)
    model = MultiLabelLogisticRegression(1.0).fit(form(X), Y)
    x = form(X[[3]])
    found = model.explain(x)
    odds = found.feature_effects.sum(axis=1) + found.intercept
    np.testing.assert_allclose(odds, model.decision_function(x)[0])
    assert found.features == [f"x{i}" for i in np.flatnonzero(X[3])]
    np.testing.assert_array_equal(found.probability, model.predict_proba(x)[0])
    np.testing.assert_array_equal(found.predicted, model.predict(x)[0])


def test_explanation_by_words():
    X, Y = noisy(q=2)
    model = MultiLabelLogisticRegression(1.0).fit(X, Y)
    words = ["ant", "bee", "cat", "dog", "eel", "fox"]
    found = model.explain(X[0], feature_names=words)
    assert "bee" in str(found)
    total = found.feature_effects.sum(axis=1) + found.intercept
    np.testing.assert_allclose(expit(total), found.probability)
    with pytest.raises(ValueError, match=r"one name for each of the 6 features, got 2"):
        model.explain(X[0], feature_names=["a", "b"])


# ------------------------------------------------------------------------ rounding


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("C", ["auto", 1.0, 1e6])
def test_columns_that_vary_by_rounding_only(C, dtype):
    """Variances and curvatures are then differences of equal numbers: zero, or below."""
    X, Y = make_data(40)
    for rows in (np.repeat(X[:1], 40, axis=0), X + dtype(1e12), X[:, :1] + dtype(1e5) * (X > 0)):
        model = MultiLabelLogisticRegression(C, random_state=0).fit(rows.astype(dtype), Y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.predict_proba(rows.astype(dtype))).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_unknown_labels_are_left_out_of_the_loss(weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    Y = (X[:, :3] + rng.normal(size=(150, 3)) > 0.5).astype(float)
    known = rng.random(Y.shape) < [0.8, 0.5, 0.3]
    weight = rng.uniform(0.5, 2, 150) if weighted else None
    model = MultiLabelLogisticRegression(C=2.0, tol=1e-8)
    model.fit(X, np.where(known, Y, np.nan), weight)
    for label, rows in enumerate(known.T):
        alone = MultiLabelLogisticRegression(C=2.0, tol=1e-8)
        alone.fit(X[rows], Y[rows][:, [label]], None if weight is None else weight[rows])
        np.testing.assert_allclose(model.coef_[label], alone.coef_[0], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(model.intercept_[label], alone.intercept_[0], atol=1e-6)


def test_out_of_fold_odds_and_C_do_not_depend_on_unknown_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    Y = (X[:, :2] + rng.normal(size=(120, 2)) > 0).astype(float)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    Y[:, 1] = np.nan  # no information: probability one half
    model = MultiLabelLogisticRegression(random_state=0).fit(X, Y)
    alone = MultiLabelLogisticRegression(random_state=0).fit(X, Y[:, :1])
    np.testing.assert_allclose(model.oof_proba_[:, 0], alone.oof_proba_[:, 0], atol=1e-6)
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1], 0.5)
