"""Distances between rows."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from labelkin.kernel._regression import distances


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
