"""Logistic regression by Newton's method: at its minimum, also where classes are separable."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from labelkin.calibration._curves import fit_logistic


def regression_data(n=80, p=6, seed=0):
    rng = np.random.RandomState(seed)
    A = np.hstack([rng.standard_normal((n, p)), np.ones((n, 1))])
    return A, (A @ rng.standard_normal(p + 1) + rng.standard_normal(n) > 0).astype(np.uint8)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_gradient_vanishes(form):
    A, y = regression_data()
    w = fit_logistic(form(A), y, 0.1, 1e-9)
    gradient = A.T @ (expit(A @ w) - y) + 2 * 0.1 * w * (np.arange(7) < 6)
    assert np.abs(gradient).max() < 1e-6


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("ridge", [1e-8, 1e-12])
def test_separable_classes_end_somewhere_finite(ridge, form):
    A, _ = regression_data()
    y = (A[:, 0] > 0).astype(np.uint8)
    w = fit_logistic(form(A), y, ridge, 1e-6)
    assert np.isfinite(w).all()
    assert np.abs(expit(A @ w) - y).max() < 1e-4
    # Columns that depend on each other, and one that is constant.
    wide = np.hstack([A[:, :-1], A[:, :-1], np.zeros((80, 1)), A[:, -1:]])
    w = fit_logistic(form(wide), y, ridge, 1e-6)
    assert np.isfinite(w).all()
    assert np.abs(expit(wide @ w) - y).max() < 1e-4


def test_a_single_outlier_among_separable_samples():
    """Newton's full steps would overshoot here; the line search holds them."""
    A, _ = regression_data(200, 10)
    A[:, 0] *= 100
    y = (A[:, 0] > 0).astype(np.uint8)
    y[np.argmax(A[:, 0])] = 0
    w = fit_logistic(A, y, 1e-8, 1e-6)
    p = expit(A @ w)
    gradient = A.T @ (p - y) + 2e-8 * w * (np.arange(11) < 10)
    loss = -np.log(np.where(y, p, 1 - p)).sum()
    assert np.abs(gradient).max() < 1e-4 * max(1, loss)
