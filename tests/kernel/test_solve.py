"""One factorisation for all targets, on the host and on a device."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from labelkin.kernel._direct import DirectKernelRidge, solve_ridge
from labelkin.kernel._regression import distances
from labelkin.rows import Labels, array_api_dispatch, as_rows, namespace_and_device
from support.arrays import import_library


@pytest.fixture(params=["array_api_strict", "torch"])
def xp(request):
    library = import_library(request.param)
    with array_api_dispatch():
        yield library


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, size=(70, 12)).astype(float)
    Y = (X[:, :3] + rng.normal(size=(70, 3)) > 0.8).astype(int)
    return X, Y


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("folds", [None, 7])
def test_a_device_gives_what_the_host_does(xp, data, folds, weighted):
    X, Y = data
    K = np.exp(-cdist(X, X) / 2)
    fold_of = None if folds is None else np.arange(len(Y)) % folds
    weight = np.random.default_rng(1).uniform(0.5, 2, len(Y)) if weighted else None
    here = solve_ridge(K.copy(), Labels(Y, weight), 0.2, fold_of)
    there = solve_ridge(xp.asarray(K), Labels(Y, weight), 0.2, fold_of)
    for ours, theirs in zip(here, there, strict=True):
        np.testing.assert_allclose(np.asarray(theirs), ours, rtol=1e-9, atol=1e-11)


def test_sums_of_absolute_differences_on_a_device(xp, data, monkeypatch):
    monkeypatch.setattr("labelkin.kernel._regression._DIFFERENCES", 2_500)  # some rows at a time
    X, _ = data
    Q = np.vstack([X[:20] * 0.7, np.zeros((1, 12))])
    found = distances("manhattan", xp.asarray(X), xp.asarray(Q))
    np.testing.assert_allclose(np.asarray(found), cdist(Q, X, "cityblock"), atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "manhattan"])
def test_a_regression_on_a_device_is_that_of_the_host(xp, data, kernel):
    X, Y = data
    fold_of = np.arange(len(Y)) % 5
    here, there = (DirectKernelRidge(kernel, scale="auto", refine_rows=40) for _ in range(2))
    ours = here.fit_scores(as_rows(X), Labels(Y), 0, fold_of)
    place = namespace_and_device(xp.asarray(X))
    for rows in (as_rows(xp.asarray(X)), as_rows(X, place)):
        theirs = there.fit_scores(as_rows(rows), Labels(Y), 0, fold_of)
        np.testing.assert_allclose(theirs, ours, atol=1e-6)
    assert there.width_ == pytest.approx(here.width_)
    assert isinstance(there.coef_, np.ndarray)
    np.testing.assert_allclose(there.scores(as_rows(X, place)), there.scores(X), atol=1e-12)
