"""Weights of samples in kernel ridge: rows repeated as often, left out together."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from labelkin import KernelRidgeLOOClassifier
from labelkin.kernel._direct import DirectKernelRidge, solve_ridge
from labelkin.kernel._regression import KernelRidge
from labelkin.kernel._ridge import RidgeSpectrum, choose_ridges, loo_errors
from labelkin.rows import Labels, MemoryRows, as_rows
from support.data import make_data

KERNELS = ["rbf", "laplacian", "manhattan", "linear", "cosine"]


@pytest.fixture(scope="module")
def data():
    """Return samples, labels, weights of 1 to 3, and the index of each repeated row."""
    X, Y = make_data(50, 4, 3)
    weight = np.random.RandomState(0).randint(1, 4, 50).astype(float)
    return np.rint(2 * X) / 2 + 1, Y, weight, np.repeat(np.arange(50), weight.astype(int))


def ridge(kernel, **parameters):
    """Return a learner that chooses nothing: λ is 0.1 on the scale of the rows."""
    return KernelRidge(kernel, width=1.5, ridges=np.array([0.1]), **parameters)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("k", [4, 80])  # more columns than rows: by the kernel
def test_weights_are_repetitions(data, kernel, scale, form, k):
    X, Y, weight, again = data
    if k > 4:
        X = np.hstack([X] + [X**2 % 3] * 19)
    weighted, repeated = ridge(kernel, scale=scale), ridge(kernel, scale=scale)
    scores = weighted.fit_scores(as_rows(form(X)), Labels(Y, weight))
    # Copies are left out together.
    expected = repeated.fit_scores(as_rows(form(X[again])), Labels(Y[again]), fold_of=again)
    np.testing.assert_allclose(weighted.ridge_, repeated.ridge_)
    np.testing.assert_allclose(scores[again], expected, atol=1e-6)
    queries = form(X[:9] + 0.1)
    np.testing.assert_allclose(weighted.scores(queries), repeated.scores(queries), atol=1e-7)
    plain = ridge(kernel, scale=scale)
    plain.fit_scores(as_rows(form(X)), Labels(Y))
    assert np.abs(plain.scores(queries) - weighted.scores(queries)).max() > 1e-3


def test_folds_are_left_out_with_their_weights(data):
    X, Y, weight, again = data
    fold_of = np.arange(50) % 5
    weighted, repeated = ridge("rbf"), ridge("rbf")
    scores = weighted.fit_scores(as_rows(X), Labels(Y, weight), fold_of=fold_of)
    expected = repeated.fit_scores(as_rows(X[again]), Labels(Y[again]), fold_of=fold_of[again])
    np.testing.assert_allclose(scores[again], expected, atol=1e-7)


@pytest.mark.parametrize("folds", [None, 5])
def test_one_factorisation_with_weights(data, folds):
    X, Y, weight, again = data
    fold_of = np.arange(50) if folds is None else np.arange(50) % folds
    K = rbf_kernel(X, gamma=0.1)
    weighted = solve_ridge(K.copy(), Labels(Y, weight), 0.3, None if folds is None else fold_of)
    repeated = solve_ridge(K[np.ix_(again, again)], Labels(Y[again]), 0.3, fold_of[again])
    np.testing.assert_allclose(weighted[0][again], repeated[0], atol=1e-4)
    scores = K @ weighted[1] + weighted[2]
    np.testing.assert_allclose(scores, K[:, again] @ repeated[1] + repeated[2], atol=1e-8)
    learner = DirectKernelRidge("rbf", width=1.5)
    assert learner.fit_scores(as_rows(X), Labels(Y, weight), 0, fold_of).shape == Y.shape


def test_landmarks_with_weights(data):
    X, _, weight, again = data
    K, C = rbf_kernel(X[:20]), rbf_kernel(X, X[:20])
    weighted = RidgeSpectrum.of_landmarks(K, MemoryRows([C[:30], C[30:]]), weight)
    repeated = RidgeSpectrum.of_landmarks(K, MemoryRows([C[again]]))
    np.testing.assert_allclose(weighted.values, repeated.values, rtol=1e-6)
    np.testing.assert_allclose(np.abs(weighted.mean), np.abs(repeated.mean), atol=1e-6)
    found, expected = weighted.rows.gather()[again], repeated.rows.gather()
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-6)


def test_errors_and_ridges_count_weights(data):
    X, Y, weight, _ = data
    spectrum = RidgeSpectrum.of_kernel(rbf_kernel(X), weight)
    ridges = np.array([0.01, 1.0, 100.0]) * spectrum.scale
    errors = loo_errors(spectrum, Labels(Y), ridges)
    learner = KernelRidge("precomputed", ridges=np.array([1.0]))
    squares = (learner.fit_scores(as_rows(rbf_kernel(X)), Labels(Y, weight)) - Y) ** 2
    np.testing.assert_allclose(errors[1], np.average(squares, axis=0, weights=weight))
    # Rows that hardly count do not choose the ridge: they have other labels.
    many, few = np.repeat([[1.0, 1e-6], [1e-6, 1.0]], 50, axis=1)
    noise = np.random.RandomState(0).randint(0, 2, Y.shape)
    both, labels = np.vstack([X, X + 0.01]), np.vstack([Y, noise])
    chosen = [
        choose_ridges(RidgeSpectrum.of_kernel(rbf_kernel(both), w), Labels(labels, w))[0].mean()
        for w in (many, few)
    ]
    assert chosen[0] < 0.1 * chosen[1]


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_samples_of_weight_zero_are_as_good_as_absent(data, kernel):
    X, Y, weight, _ = data
    weight = np.where(np.arange(50) % 3 == 1, 0, weight)
    used = np.flatnonzero(weight)
    K = rbf_kernel(X) if kernel == "precomputed" else X
    part = K[np.ix_(used, used)] if kernel == "precomputed" else K[used]
    model = KernelRidgeLOOClassifier(kernel, random_state=0).fit(K, Y, sample_weight=weight)
    absent = KernelRidgeLOOClassifier(kernel, random_state=0)
    absent.fit(part, Y[used], sample_weight=weight[used])
    np.testing.assert_allclose(model.loo_proba_[used], absent.loo_proba_)
    np.testing.assert_allclose(model.loo_scores_[used], absent.loo_scores_)
    # The others are predicted by a model that has not seen them.
    unused = np.flatnonzero(weight == 0)
    queries = K[np.ix_(unused, used)] if kernel == "precomputed" else K[unused]
    np.testing.assert_allclose(model.loo_proba_[unused], absent.predict_proba(queries))
    np.testing.assert_allclose(model.predict_proba(K[unused]), absent.predict_proba(queries))


def test_landmarks_are_samples_that_count(data):
    X, Y, _, _ = data
    weight = (np.arange(50) % 2).astype(float)
    model = KernelRidgeLOOClassifier(max_exact=10, n_landmarks=12, random_state=0)
    model.fit(X, Y, sample_weight=weight)
    assert len(model.landmarks_) == 12
    assert weight[model.landmarks_].all()


def test_equal_weights_of_one_change_nothing(data):
    X, Y, _, _ = data
    plain, weighted = (
        KernelRidgeLOOClassifier(random_state=0).fit(X, Y, sample_weight=w)
        for w in (None, np.ones(50))
    )
    np.testing.assert_allclose(weighted.loo_proba_, plain.loo_proba_, atol=1e-8)
    assert weighted.width_ == pytest.approx(plain.width_)


def test_calibration_counts_weights():
    """A label that most samples have by weight, and few by number."""
    rare = (np.arange(50) < 5).astype(int)[:, None]
    weight = np.where(rare[:, 0], 20.0, 1.0)
    noise = np.random.RandomState(0).standard_normal((50, 3))
    model = KernelRidgeLOOClassifier(random_state=0).fit(noise, rare, sample_weight=weight)
    assert np.average(model.predict_proba(noise)[:, 0], weights=weight) > 0.5
    plain = KernelRidgeLOOClassifier(random_state=0).fit(noise, rare)
    assert plain.predict_proba(noise).mean() < 0.2


def test_weights_are_routed(data):
    X, Y, weight, _ = data
    expected = KernelRidgeLOOClassifier(random_state=0).fit(X, Y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        model = KernelRidgeLOOClassifier(random_state=0).set_fit_request(sample_weight=True)
        routed = make_pipeline(FunctionTransformer(), model).fit(X, Y, sample_weight=weight)
        np.testing.assert_array_equal(routed.predict_proba(X), expected.predict_proba(X))
        model.set_fit_request(sample_weight=False)
        plain = make_pipeline(FunctionTransformer(), model).fit(X, Y)
    assert np.abs(plain.predict_proba(X) - expected.predict_proba(X)).max() > 0.01


def test_bad_weights(data):
    X, Y, _, _ = data
    for weight, message in [
        (np.zeros(50), "sample_weight.*not only zeros"),
        (np.full(50, -1.0), "sample_weight.*at least 0"),
        (np.ones(49), r"sample_weight.*shape"),
        (np.full(50, np.nan), "sample_weight|NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            KernelRidgeLOOClassifier().fit(X, Y, sample_weight=weight)
