"""Kernel ridge regression of labels that are partly unknown."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from labelkin import KernelRidgeLOOClassifier
from labelkin.kernel._direct import DirectKernelRidge, solve_ridge
from labelkin.kernel._regression import KernelRidge
from labelkin.kernel._ridge import RIDGES, RidgeSpectrum, fit_ridge, loo_errors
from labelkin.rows import Labels, as_rows

N, Q = 90, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
Y = (X[:, :1] * [1, -1, 0.5] + X[:, 1:] + RNG.normal(size=(N, Q)) > 0.3).astype(np.uint8)
KNOWN = RNG.random((N, Q)) < [0.9, 0.5, 0.2]
K = RBF(1.5)(X)
WEIGHTS = {"equal": None, "weighted": RNG.uniform(0.5, 2, N)}
RIDGE = 0.7


def unknown(weight=None):
    return Labels(np.where(KNOWN, Y, 0), weight, KNOWN)


def alone(label, rows, weight=None, ridge=RIDGE):
    """Return scores of all rows by a fit to some rows alone."""
    some = None if weight is None else weight[rows]
    spectrum = RidgeSpectrum.of_kernel(K[np.ix_(rows, rows)], some)
    _, coef, intercept = fit_ridge(spectrum, Labels(Y[rows][:, [label]]), np.array([ridge]))
    return (K[:, rows] @ coef + intercept)[:, 0]


SOLVERS = {
    "kernel": lambda labels, fold_of: fit_ridge(
        RidgeSpectrum.of_kernel(K, labels.weight), labels, np.full(Q, RIDGE), fold_of
    ),
    "direct": lambda labels, fold_of: solve_ridge(K.copy(), labels, RIDGE, fold_of),
    "landmarks": lambda labels, fold_of: fit_ridge(
        RidgeSpectrum.of_landmarks(K, as_rows(K), labels.weight), labels, np.full(Q, RIDGE), fold_of
    ),
}


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
def test_fit_is_that_of_each_label_on_its_known_rows(solve, weight):
    _, coef, intercept = solve(unknown(weight), None)
    for label in range(Q):
        expected = alone(label, np.flatnonzero(KNOWN[:, label]), weight)
        np.testing.assert_allclose((K @ coef + intercept)[:, label], expected, atol=1e-6)


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
def test_scores_without_a_fold_see_none_of_its_labels(solve):
    fold_of = np.arange(N) % 5
    labels = unknown()
    scores, _, _ = solve(labels, fold_of)
    for fold, label in [(0, 0), (3, 1), (4, 2)]:
        rows = np.flatnonzero(KNOWN[:, label] & (fold_of != fold))
        out = fold_of == fold
        np.testing.assert_allclose(scores[out, label], alone(label, rows)[out], atol=0.02)
    other = Labels(np.where(KNOWN & (fold_of == 0)[:, None], 1 - labels.Y, labels.Y), None, KNOWN)
    changed, _, _ = solve(other, fold_of)
    np.testing.assert_array_equal(changed[fold_of == 0], scores[fold_of == 0])


def test_ridges_are_chosen_by_cells_that_were_not_fitted():
    spectrum, ridges = RidgeSpectrum.of_kernel(K), RIDGES[::3]
    errors = loo_errors(spectrum, unknown(), ridges)
    true = [
        np.mean((alone(1, np.flatnonzero(KNOWN[:, 1]), None, ridge) - Y[:, 1])[~KNOWN[:, 1]] ** 2)
        for ridge in ridges
    ]
    assert true[np.argmin(errors[:, 1])] < min(true) + 0.02
    # A cell that is unknown has no influence.
    other = Labels(np.where(KNOWN, Y, 1 - Y) * KNOWN, None, KNOWN)
    np.testing.assert_array_equal(loo_errors(spectrum, other, ridges), errors)


@pytest.mark.parametrize("kind", [KernelRidge, DirectKernelRidge])
def test_learners_take_unknown_labels(kind):
    learner = kind("rbf", refine_rows=0)
    scores = learner.fit_scores(as_rows(X), unknown(), 0, np.arange(N) % 5)
    assert np.isfinite(scores).all()
    gain = np.corrcoef(scores[:, 0], Y[:, 0])[0, 1]
    assert gain > 0.4
    all_known = kind("rbf", refine_rows=0)
    complete = all_known.fit_scores(as_rows(X), Labels(Y), 0, np.arange(N) % 5)
    assert gain > np.corrcoef(complete[:, 0], Y[:, 0])[0, 1] - 0.1


def test_classifier_with_unknown_labels():
    y = np.where(KNOWN, Y, np.nan)
    y[:, 2] = np.nan  # nothing is known of it
    model = KernelRidgeLOOClassifier(random_state=0).fit(X, y)
    proba = model.predict_proba(X)
    assert np.mean((proba[:, :2] > 0.5) == Y[:, :2]) > 0.7
    np.testing.assert_array_equal(proba[:, 2], 0.5)
    same = KernelRidgeLOOClassifier(random_state=0).fit(X, y, np.ones(N))
    np.testing.assert_allclose(same.predict_proba(X), proba, atol=1e-8)
