"""The linear part of kernel ridge: a logistic regression, averaged with it in log odds."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from labelkin import KernelRidgeLOOClassifier, MultiLabelLogisticRegression
from labelkin.calibration._curves import odds_losses, to_log_odds_scale
from labelkin.kernel._linear_part import fit_linear_part, folds_of_both
from labelkin.kernel._regression import KernelRidge
from labelkin.metrics import average_precision
from labelkin.rows import Labels, as_rows


def words(n, k=200, q=4, seed=0):
    """Return sparse rows of about six words, and labels that are linear in them."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, k)) < 0.03, rng.random((n, k)) + 0.5, 0)
    odds = X @ np.random.default_rng(7).normal(0, 2, (k, q)) - 1
    return sparse.csr_matrix(X), (rng.random((n, q)) < expit(odds)).astype(int)


@pytest.fixture(scope="module")
def data():
    return *words(500), *words(400, seed=1)


@pytest.fixture(scope="module")
def model(data):
    """Few landmarks, from which the kernel hardly learns words."""
    model = KernelRidgeLOOClassifier(max_exact=100, n_landmarks=20, linear=True, random_state=0)
    return model.fit(*data[:2])


def kernel_odds(model, scores):
    return model.slope_ * to_log_odds_scale(scores, model.share_) + model.intercept_


def test_log_odds_are_a_weighted_mean(model, data):
    test = data[2]
    kernel, linear = kernel_odds(model, model._regression.scores(test)), model._linear.scores(test)
    weight = model.linear_weight_
    assert 0.5 < weight <= 1
    expected = expit((1 - weight) * kernel + weight * linear)
    np.testing.assert_allclose(model.predict_proba(test), expected, rtol=1e-12)


def test_it_makes_up_for_few_landmarks(model, data):
    X, Y, test, truth = data
    without = KernelRidgeLOOClassifier(
        max_exact=100, n_landmarks=20, linear=False, random_state=0
    ).fit(X, Y)
    assert without.linear_weight_ == 0
    logistic = MultiLabelLogisticRegression(random_state=0).fit(X, Y)
    with_linear, kernel, linear = (
        average_precision(truth, m.predict_proba(test)) for m in (model, without, logistic)
    )
    assert with_linear > kernel + 0.03
    assert with_linear > linear - 0.01


def test_the_estimate_is_out_of_sample(model, data):
    X, Y, test, truth = data
    estimate, new = (
        average_precision(y, p)
        for y, p in ((Y, model.loo_proba_), (truth, model.predict_proba(test)))
    )
    assert abs(estimate - new) < 0.03
    assert average_precision(Y, model.predict_proba(X)) > estimate + 0.03


def test_the_weight_is_learned_from_scores_of_whole_folds(model, data):
    X, Y = data[:2]
    rng = np.random.RandomState(0)
    fold_of = folds_of_both(as_rows(X), Labels(Y), rng)
    kernel = KernelRidge("rbf", scale="auto", shrinkage=50.0, n_landmarks=20)
    np.testing.assert_allclose(kernel.fit_scores(X, Y, rng, fold_of), model.loo_scores_, rtol=1e-9)
    assert np.bincount(fold_of).tolist() == [100] * 5


def test_the_weight_has_the_least_log_loss(data):
    X, Y = data[:2]
    odds = np.random.default_rng(0).normal(0, 0.5, Y.shape) + (Y - 0.5)
    learner, weight, mixed = fit_linear_part(
        as_rows(X), Labels(Y), odds, np.arange(len(Y)) % 5, 1.0, 0
    )
    assert 0 < weight < 1
    linear = odds + (mixed - odds) / weight
    losses = [odds_losses(odds + w * (linear - odds), Y).mean() for w in np.linspace(0, 1, 101)]
    assert np.linspace(0, 1, 101)[np.argmin(losses)] == pytest.approx(weight, abs=0.02)
    # The weights are those of the calibrated log odds, which the training rows follow.
    assert odds_losses(learner.scores(X), Y).mean() < odds_losses(linear, Y).mean()


def test_a_kernel_that_knows_all_needs_no_linear_part(data):
    X, Y = data[:2]
    fold_of = np.arange(len(Y)) % 5
    found = fit_linear_part(as_rows(X), Labels(Y), 40.0 * (Y - 0.5), fold_of, 1.0, 0)
    assert found[:2] == (None, 0)


def test_sparse_equals_dense(model, data):
    X, Y, test, _ = data
    dense = KernelRidgeLOOClassifier(**model.get_params()).fit(X.toarray(), Y)
    proba = dense.predict_proba(test.toarray())
    np.testing.assert_allclose(proba, model.predict_proba(test), atol=1e-4)


def test_samples_without_weight_do_not_count(model, data):
    X, Y, test, _ = data
    more, wrong = sparse.vstack([X, X[:50]]).tocsr(), np.vstack([Y, 1 - Y[:50]])
    weighted = KernelRidgeLOOClassifier(**model.get_params())
    weighted.fit(more, wrong, sample_weight=np.arange(550) < 500)
    np.testing.assert_allclose(weighted.predict_proba(test), model.predict_proba(test), rtol=1e-9)
    np.testing.assert_allclose(weighted.loo_proba_[:500], model.loo_proba_, rtol=1e-9)


@pytest.mark.parametrize(
    ("n", "kernel", "is_sparse", "expected"),
    [
        (6_001, "rbf", True, True),
        (6_000, "rbf", True, False),
        (6_001, "linear", True, False),
        (6_001, "rbf", False, False),
    ],
)
def test_many_sparse_rows_have_it_by_default(n, kernel, is_sparse, expected):
    X, Y = words(n, 60, 2)
    X = X if is_sparse else X.toarray() + 1
    model = KernelRidgeLOOClassifier(kernel, max_exact=100, n_landmarks=10, random_state=0)
    assert (model.fit(X, Y).linear_weight_ > 0) == expected


def test_it_needs_features(data):
    X, Y = data[:2]
    K = (X @ X.T).toarray()
    with pytest.raises(ValueError, match="linear=True needs features"):
        KernelRidgeLOOClassifier("precomputed", linear=True).fit(K, Y)
    assert KernelRidgeLOOClassifier("precomputed").fit(K, Y).linear_weight_ == 0
