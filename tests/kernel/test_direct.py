"""Kernel ridge by one factorisation: equal to refits without each fold."""

import numpy as np
import pytest
from scipy import sparse

from labelkin.kernel._direct import DirectKernelRidge, solve_ridge
from labelkin.kernel._regression import KernelRidge, kernel_values
from labelkin.kernel._ridge import RidgeSpectrum, fit_ridge
from labelkin.rows import Labels, as_rows
from support.data import make_data


@pytest.mark.parametrize("folds", [None, 7])
def test_scores_are_those_of_the_decomposition(folds):
    X, Y = make_data(90, 4, 3)
    fold_of = None if folds is None else np.arange(90) % folds
    K = kernel_values("rbf", X, None, 1.5)
    ridges = np.full(3, 0.2)
    expected = fit_ridge(RidgeSpectrum.of_kernel(K), Labels(Y), ridges, fold_of)
    for dtype, tolerance in ((np.float32, 2e-4), (np.float64, 1e-5)):
        found = solve_ridge(K.astype(dtype), Labels(Y), 0.2, fold_of)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)


def test_scores_of_a_fold_are_those_of_a_fit_without_it():
    X, Y = make_data(80, 4, 3)
    fold_of = np.arange(80) % 5
    learner = DirectKernelRidge("rbf", width=1.0)
    scores = learner.fit_scores(as_rows(X), Labels(Y), 0, fold_of)
    rest = fold_of != 2
    K = kernel_values("rbf", X[rest].astype(np.float32), None, 1.0)
    _, coef, intercept = solve_ridge(np.ascontiguousarray(K), Labels(Y[rest]), learner.ridge_[0])
    queries = kernel_values("rbf", X[rest], X[~rest], 1.0) @ coef + intercept
    np.testing.assert_allclose(scores[~rest], queries, atol=1e-3)


def test_it_predicts_as_with_one_ridge_per_label():
    X, Y = make_data(600, 4, 3)
    direct, usual = (kind("rbf", refine_rows=0) for kind in (DirectKernelRidge, KernelRidge))
    for learner in (direct, usual):
        learner.fit_scores(as_rows(X[:400]), Labels(Y[:400]), 0, np.arange(400) % 10)
    errors = [np.mean((learner.scores(X[400:]) - Y[400:]) ** 2) for learner in (direct, usual)]
    assert errors[0] < 1.05 * errors[1]


def test_coefficients_are_short_where_that_does_not_matter():
    X, Y = make_data(300, 4, 3)
    rough, smooth = DirectKernelRidge("rbf", width=0.5), DirectKernelRidge("rbf", width=30.0)
    smooth.ridges = np.array([1e-9])
    for learner, dtype in ((rough, np.float16), (smooth, np.float32)):
        learner.fit_scores(as_rows(X), Labels(Y), 0)
        assert learner.coef_.dtype == dtype


def test_sparse_rows():
    X, Y = make_data(60, 6, 3)
    X = np.where(X > 0.5, X, 0)
    dense, sparse_rows = DirectKernelRidge("manhattan"), DirectKernelRidge("manhattan")
    expected = dense.fit_scores(as_rows(X), Labels(Y), 0)
    np.testing.assert_allclose(
        sparse_rows.fit_scores(as_rows(sparse.csr_matrix(X)), Labels(Y), 0), expected, atol=1e-3
    )
    np.testing.assert_allclose(sparse_rows.scores(sparse.csr_matrix(X)), dense.scores(X), atol=5e-3)


def test_a_ridge_below_rounding_is_raised():
    X, Y = make_data(50, 2, 2)
    X = np.repeat(X, 3, axis=0)
    scores, coef, _ = solve_ridge(
        kernel_values("rbf", X, None, 50.0).astype(np.float32),
        Labels(np.repeat(Y, 3, axis=0)),
        1e-12,
    )
    assert np.isfinite(scores).all()
    assert np.isfinite(coef).all()


@pytest.mark.parametrize("ridge", [1e-6, 1e-3])
def test_rounded_coefficients_do_not_shift_scores(ridge):
    """The mean of the fitted values is that of the labels, also for a very wide kernel."""
    X, Y = make_data(200, 4, 3)
    learner = DirectKernelRidge("rbf", width=20.0, ridges=np.array([ridge]))
    learner.fit_scores(as_rows(X), Labels(Y), 0)
    assert learner.coef_.dtype != np.float64
    np.testing.assert_allclose(learner.scores(X).mean(axis=0), Y.mean(axis=0), atol=1e-3)
