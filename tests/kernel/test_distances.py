"""Distances between rows."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from labelkin.kernel._regression import SquaredDistances, distances


@pytest.mark.parametrize("n_full", [0, 2, 9])
def test_sums_of_differences_of_sparse_rows(n_full):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((70, 9)) * (rng.uniform(size=(70, 9)) < 0.15)
    X[:, :n_full] = rng.standard_normal((70, n_full))
    X[3] = 0
    Q = np.vstack([X[:5], rng.standard_normal((4, 9))])
    found = distances("manhattan", sparse.csr_matrix(X), sparse.csr_matrix(Q))
    np.testing.assert_allclose(found, cdist(Q, X, "cityblock"), atol=1e-12)
    assert (found >= 0).all()


@pytest.mark.parametrize("n_full", [0, 2, 9])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_squared_distances(form, n_full):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((70, 9)) * (rng.uniform(size=(70, 9)) < 0.04)
    X[:, :n_full] = rng.standard_normal((70, n_full))  # frequent columns and rare ones
    Q = np.vstack([X[:5], rng.standard_normal((4, 9))])
    between, expected = SquaredDistances(form(X)), cdist(Q, X, "sqeuclidean")
    np.testing.assert_allclose(between(form(Q)), expected, atol=1e-12)
    np.testing.assert_allclose(between(form(Q), 30), expected[:, 30:], atol=1e-12)
    np.testing.assert_allclose(between(), cdist(X, X, "sqeuclidean"), atol=1e-12)
    assert (np.diagonal(between()) == 0).all()


def test_squared_distances_far_from_the_origin():
    X = np.random.RandomState(0).standard_normal((20, 3))
    np.testing.assert_allclose(
        SquaredDistances(X + 1e8)(X[:4] + 1e8), cdist(X[:4], X, "sqeuclidean"), atol=1e-6
    )
