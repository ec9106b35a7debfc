"""Kernel ridge: its leave-one-out scores against refits, its choices against brute force."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import cosine_similarity, linear_kernel, rbf_kernel

from labelkin import KernelRidgeLOOClassifier, MLkNNClassifier, VPCMEClassifier
from labelkin.calibration._curves import SlopeCalibration, fit_better_curves, restore_means
from labelkin.kernel._regression import descend_width, distances, radial
from labelkin.kernel._ridge import RIDGES, RidgeSpectrum, choose_ridges, fit_ridge, loo_errors
from labelkin.metrics import average_precision
from labelkin.rows import Labels, MemoryRows, as_rows, namespace_and_device
from support.data import make_data

KERNELS = ["rbf", "laplacian", "linear", "cosine"]


def noisy(n=50, k=5, q=4, seed=0):
    """Labels that depend on the features, one of them rare, one of them hardly."""
    X, Y = make_data(n, k, q, seed)
    rng = np.random.RandomState(seed)
    Y[:, 0] = X[:, 0] > np.sort(X[:, 0])[-4]
    Y[:, 1] = rng.rand(n) < 0.3
    return X, Y


def ridge_without(K, Y, ridge, left_out):
    """Fit kernel ridge with an intercept on all rows but one; return its score.

    The intercept and the coefficients solve the equations of the problem as it is written,
    without centring.
    """
    n = len(K)
    rest = np.delete(np.arange(n), left_out)
    scores = []
    for label, value in enumerate(ridge):
        A = np.zeros((n, n))
        A[:-1, :-1] = K[np.ix_(rest, rest)] + value * np.eye(n - 1)
        A[-1, :-1] = A[:-1, -1] = 1
        solution = np.linalg.solve(A, np.append(Y[rest, label], 0))
        scores.append(K[left_out, rest] @ solution[:-1] + solution[-1])
    return scores


# ---------------------------------------------------------------------- leave one out


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("k", [5, 80])  # k < n: linear and cosine on features
def test_leave_one_out_scores_are_those_of_refits(kernel, k):
    X, Y = noisy(k=k)
    model = KernelRidgeLOOClassifier(kernel, random_state=0, scale=False).fit(X, Y)
    if kernel in ("rbf", "laplacian"):
        d2 = ((X[:, None] - X) ** 2).sum(axis=2)
        width = model.width_
        K = np.exp(-d2 / (2 * width**2)) if kernel == "rbf" else np.exp(-np.sqrt(d2) / width)
    else:
        K = linear_kernel(X) if kernel == "linear" else cosine_similarity(X)
    refits = [ridge_without(K, Y, model.ridge_, i) for i in range(len(X))]
    np.testing.assert_allclose(model.loo_scores_, refits, atol=1e-8)


def test_leave_one_out_with_landmarks():
    X, Y = noisy(60)
    model = KernelRidgeLOOClassifier(max_exact=50, n_landmarks=15, random_state=0).fit(X, Y)
    assert len(model.landmarks_) == 15
    Z = X if model.scale_ is None else X / model.scale_
    L = Z[model.landmarks_]
    gamma = 0.5 / model.width_**2
    # The approximate kernel, written as Nyström did.
    C = rbf_kernel(Z, L, gamma=gamma)
    K = C @ np.linalg.pinv(rbf_kernel(L, gamma=gamma), rcond=1e-13, hermitian=True) @ C.T
    refits = [ridge_without(K, Y, model.ridge_, i) for i in range(len(X))]
    np.testing.assert_allclose(model.loo_scores_, refits, atol=1e-7)


def test_all_rows_as_landmarks_is_exact():
    X, Y = noisy(60)
    K, queries = rbf_kernel(X), rbf_kernel(X + 1, X)
    spectra = (
        RidgeSpectrum.of_kernel(K),
        RidgeSpectrum.of_landmarks(K, MemoryRows([K[:25], K[25:]])),
    )
    exact, approximate = (fit_ridge(spectrum, Labels(Y), np.full(4, 0.1)) for spectrum in spectra)
    np.testing.assert_allclose(approximate[0], exact[0], atol=1e-6)
    scores = [queries @ coef + intercept for _, coef, intercept in (exact, approximate)]
    np.testing.assert_allclose(*scores, atol=1e-5)
    # The classifier needs no approximation from all of its samples.
    model = KernelRidgeLOOClassifier(max_exact=10, n_landmarks=60, random_state=0).fit(X, Y)
    assert model.landmarks_ is None


@pytest.mark.parametrize("kind", ["twins", "indefinite", "zero"])
def test_landmarks_of_any_rank(kind):
    X, Y = noisy(60)
    L = X[np.r_[:10, :10]]  # each twice: K has rank 10
    C, K = rbf_kernel(X, L), rbf_kernel(L)
    if kind == "indefinite":  # no kernel, but a user may give one
        C, K = C - 0.5, K - 0.5
        assert np.linalg.eigvalsh(K)[0] < -0.1
    elif kind == "zero":
        C, K = 0 * C, 0 * K
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-9
    Z = C @ vectors[:, kept] / np.sqrt(values[kept])
    features = RidgeSpectrum.of_features(as_rows(Z))
    landmarks = RidgeSpectrum.of_landmarks(K, MemoryRows([C[:25], C[25:26], C[26:]]))
    expected, model = (
        fit_ridge(s, Labels(Y), choose_ridges(s, Labels(Y))[0]) for s in (features, landmarks)
    )
    np.testing.assert_allclose(model[0], expected[0], atol=1e-6)
    np.testing.assert_allclose(C @ model[1] + model[2], Z @ expected[1] + expected[2], atol=1e-6)


def test_predictions_are_those_of_scikit_learns_ridge():
    X, Y = noisy(60)
    model = KernelRidgeLOOClassifier("linear", ridges=[0.3], scale=False).fit(X[:50], Y[:50])
    expected = Ridge(alpha=model.ridge_[0]).fit(X[:50], Y[:50]).predict(X[50:])
    np.testing.assert_allclose(model._regression.scores(X[50:]), expected, atol=1e-10)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_features_and_kernel_give_the_same(form):
    """Fewer features than rows: the ridge on features equals that on the kernel."""
    X, Y = noisy(60)
    X = np.rint(2 * X) + 3
    primal = KernelRidgeLOOClassifier("linear").fit(form(X[:50]), Y[:50])
    dual = KernelRidgeLOOClassifier(lambda A, B: A @ B.T).fit(X[:50], Y[:50])
    if primal.scale_ is not None:
        dual = KernelRidgeLOOClassifier(
            lambda A, B: (A / primal.scale_) @ (B / primal.scale_).T
        ).fit(X[:50], Y[:50])
    np.testing.assert_allclose(primal.ridge_, dual.ridge_)
    np.testing.assert_allclose(primal.loo_scores_, dual.loo_scores_, atol=1e-9)
    np.testing.assert_allclose(
        primal._regression.scores(form(X[50:])), dual._regression.scores(X[50:]), atol=1e-9
    )


def test_precomputed_and_callable_equal_rbf():
    X, Y = noisy(60)
    rbf = KernelRidgeLOOClassifier(width=1.5).fit(X[:50], Y[:50])
    K = rbf_kernel(X, X[:50], gamma=0.5 / 1.5**2)
    given = KernelRidgeLOOClassifier("precomputed").fit(K[:50], Y[:50])
    called = KernelRidgeLOOClassifier(lambda A, B: rbf_kernel(A, B, gamma=0.5 / 1.5**2))
    called.fit(X[:50], Y[:50])
    for model, queries in ((given, K[50:]), (called, X[50:])):
        np.testing.assert_allclose(model.loo_proba_, rbf.loo_proba_, atol=1e-9)
        np.testing.assert_allclose(
            model.predict_proba(queries), rbf.predict_proba(X[50:]), atol=1e-9
        )


# ------------------------------------------------------------------- what it chooses


@pytest.mark.parametrize("shrinkage", [0.0, 7.0, np.inf])
def test_ridges_minimise_the_leave_one_out_error(shrinkage):
    X, Y = noisy(40)
    K = rbf_kernel(X, gamma=0.1)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    ridges = RIDGES[::3]
    errors = np.zeros((len(ridges), Y.shape[1]))
    for r, ridge in enumerate(ridges * np.trace(centred) / 40):
        for i in range(40):
            errors[r] += (ridge_without(K, Y, [ridge] * 4, i) - Y[i]) ** 2 / 40
    relative = errors / Y.var(axis=0)
    smaller = np.minimum(Y.sum(axis=0), 40 - Y.sum(axis=0))
    pooled = relative.mean(axis=1, keepdims=True)
    criterion = (
        smaller * relative + shrinkage * pooled if shrinkage < np.inf else pooled + 0 * relative
    )
    best = criterion.argmin(axis=0)
    chosen, error = choose_ridges(RidgeSpectrum.of_kernel(K), Labels(Y), ridges, shrinkage)
    np.testing.assert_allclose(chosen, ridges[best] * np.trace(centred) / 40)
    np.testing.assert_allclose(error, errors[best, range(4)].sum())
    if shrinkage == 0:
        assert len(set(best)) > 1


def test_interpolated_errors_choose_nearly_the_best_ridge():
    X, Y = noisy(150, q=8, seed=3)
    spectrum = RidgeSpectrum.of_kernel(rbf_kernel(X, gamma=0.1))
    ridges = RIDGES * spectrum.scale
    # Of few ridges, errors are not interpolated.
    errors = np.vstack([loo_errors(spectrum, Labels(Y), some) for some in np.split(ridges, 11)])
    exact, least = ridges[errors.argmin(axis=0)], errors.min(axis=0).sum()
    near, _ = choose_ridges(spectrum, Labels(Y))
    coarse = choose_ridges(spectrum, Labels(Y), RIDGES[::3])[1]
    error = np.diag(loo_errors(spectrum, Labels(Y), near)).sum()
    assert error - least < 0.3 * (coarse - least)
    assert np.abs(np.log10(near / exact)).max() < 0.4  # a neighbour on the grid at most


def test_a_large_kernel_is_factored_once(monkeypatch):
    sizes = []

    def counted(A):
        sizes.append(len(A))
        return eigh(A)

    linalg = namespace_and_device()[0].linalg
    eigh = linalg.eigh
    monkeypatch.setattr(linalg, "eigh", counted)
    X, Y = noisy(1300, k=3)
    KernelRidgeLOOClassifier(random_state=0).fit(X, Y)
    assert sizes.count(1300) == 1
    assert max(sizes[:-1]) == 1000


def test_one_ridge_for_thousands_of_rows(monkeypatch):
    monkeypatch.setattr("labelkin.kernel._classifier._MAX_EIGEN", 500)
    X, Y = noisy(800, k=3)
    X, Y, queries, truth = X[:600], Y[:600], X[600:], Y[600:]
    direct = KernelRidgeLOOClassifier(random_state=0).fit(X, Y)
    assert len(np.unique(direct.ridge_)) == 1
    own = KernelRidgeLOOClassifier(random_state=0, ridges=RIDGES).fit(X, Y)
    assert len(np.unique(own.ridge_)) > 1
    errors = [np.mean((m.predict_proba(queries) - truth) ** 2) for m in (direct, own)]
    assert errors[0] < 1.1 * errors[1]
    assert direct.loo_scores_.shape == (600, 4)
    # Single precision is kept here as well.
    single = KernelRidgeLOOClassifier(width=1.0).fit(X.astype(np.float32), Y)
    assert single.loo_proba_.dtype == np.float32


def test_ridges_by_the_errors_of_some_rows():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((300, 3))
    Y = np.column_stack([X[:, :2] > 0, rng.rand(300, 2) < 0.5]).astype(np.uint8)  # rules and noise
    spectrum = RidgeSpectrum.of_kernel(rbf_kernel(X, gamma=0.25))
    rows = np.arange(100, 300)
    ridges = RIDGES[::3] * spectrum.scale
    models = [fit_ridge(spectrum, Labels(Y), np.full(4, ridge)) for ridge in ridges]
    expected = [np.mean((Y[rows] - loo_scores[rows]) ** 2, axis=0) for loo_scores, _, _ in models]
    np.testing.assert_allclose(loo_errors(spectrum, Labels(Y), ridges, rows), expected)
    chosen, _ = choose_ridges(spectrum, Labels(Y), RIDGES[::3], 0.0, rows)
    best = len(ridges) - 1 - np.argmin(expected[::-1], axis=0)
    np.testing.assert_allclose(chosen, ridges[best])
    assert len(set(best)) > 1  # otherwise labels could have been mixed up
    for fitted, alone in zip(
        fit_ridge(spectrum, Labels(Y), chosen), zip(*models, strict=True), strict=True
    ):
        for label, i in enumerate(best):
            np.testing.assert_allclose(fitted[..., label], alone[i][..., label])


def test_ridges_of_rare_labels_depend_more_on_the_others():
    X, Y = noisy(200, q=6)
    K = RidgeSpectrum.of_kernel(rbf_kernel(X, gamma=0.1))
    shared, own, drawn = (choose_ridges(K, Labels(Y), shrinkage=s)[0] for s in (np.inf, 0, 50))
    away = np.abs(np.log(drawn / shared)) <= np.abs(np.log(own / shared)) + 1e-12
    assert away.all()
    assert Y[:, 0].sum() < 10
    assert abs(np.log(drawn / shared))[0] < abs(np.log(own / shared))[0]


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_width_is_a_minimum_of_the_error(kernel):
    X, Y = noisy(120)
    among = distances("rbf", X)
    start = descend_width(among, Labels(Y), kernel)[0]
    found, least = descend_width(among, Labels(Y), kernel, start=start, step=0.5)

    def error(width):
        spectrum = RidgeSpectrum.of_kernel(radial(among, kernel, width))
        return choose_ridges(spectrum, Labels(Y), RIDGES[::3])[1]

    assert least == pytest.approx(error(found))
    for factor in (2**-0.25, 2**0.25, 0.5, 2):
        assert least <= error(found * factor)


@pytest.mark.parametrize("kernel", KERNELS)
def test_scale_is_chosen_when_it_helps(kernel):
    X, Y = make_data(150, 4)
    plain = KernelRidgeLOOClassifier(kernel, random_state=0)
    assert plain.fit(X, Y).scale_ is None
    stretched = X * [1, 1, 1, 1] + 0
    noise = np.random.RandomState(0).standard_normal((150, 3)) * 1000
    model = plain.fit(np.hstack([stretched, noise]), Y)
    np.testing.assert_allclose(model.scale_, np.hstack([X, noise]).std(axis=0))
    given = KernelRidgeLOOClassifier(kernel, scale=False, random_state=0)
    assert given.fit(np.hstack([X, noise]), Y).scale_ is None
    always = KernelRidgeLOOClassifier(kernel, scale=True, random_state=0).fit(X, Y)
    np.testing.assert_allclose(always.scale_, X.std(axis=0))


def test_a_column_without_spread_is_left_alone():
    X = np.column_stack([np.full(9, 0.1), np.arange(9.0), np.zeros(9)])
    for form in (np.asarray, sparse.csr_matrix):
        np.testing.assert_allclose(as_rows(form(X)).moments().spread(), [1, np.arange(9).std(), 1])


# ----------------------------------------------------------------------- the estimator


@pytest.mark.parametrize("scale", ["deviation", "log_odds"])
def test_both_curves_apply_to_new_samples(scale):
    X, Y = noisy(80)
    model = KernelRidgeLOOClassifier(random_state=0).fit(X, Y)
    curves = SlopeCalibration(1.0, scale).fit(model.loo_scores_, Y)
    model.slope_, model.intercept_ = curves.slope_, curves.intercept_
    model.share_ = curves.share_ if scale == "log_odds" else None
    expected = curves(model._regression.scores(X))
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)


def test_leave_one_out_probabilities_are_cross_fitted():
    X, Y = noisy(80)
    model = KernelRidgeLOOClassifier(random_state=0)
    proba = model.fit_loo_proba(X, Y)
    np.testing.assert_array_equal(proba, model.loo_proba_)
    scores = restore_means(model.loo_scores_, Labels(Y), np.arange(80))
    curves, expected = fit_better_curves(scores, Labels(Y))
    np.testing.assert_allclose(proba, expected)
    np.testing.assert_allclose(model.slope_, curves.slope_)
    assert np.abs(curves(scores) - proba).max() > 0.01


def test_leave_one_out_error_predicts_the_test_error():
    X, Y = make_data(600, 6, 5, seed=1)
    Y ^= np.random.RandomState(0).rand(*Y.shape) < 0.1
    model = KernelRidgeLOOClassifier(random_state=0).fit(X[:300], Y[:300])
    promised = np.mean((model.loo_proba_ - Y[:300]) ** 2)
    kept = np.mean((model.predict_proba(X[300:]) - Y[300:]) ** 2)
    seen = np.mean((model.predict_proba(X[:300]) - Y[:300]) ** 2)
    assert abs(promised - kept) < 0.02
    assert seen < promised


def test_labels_without_signal_keep_their_share():
    rng = np.random.RandomState(0)
    X, Y = rng.standard_normal((300, 5)), (rng.rand(300, 3) < [0.5, 0.2, 0.03]).astype(int)
    proba = KernelRidgeLOOClassifier(random_state=0).fit(X, Y).predict_proba(rng.rand(50, 5))
    np.testing.assert_allclose(proba, np.tile(Y.mean(axis=0), (50, 1)), atol=0.15)


def test_it_is_a_base_of_the_ensemble():
    X, Y = make_data(80)
    base = KernelRidgeLOOClassifier(random_state=0)
    model = VPCMEClassifier(base, n_estimators=3, random_state=0).fit(X, Y)
    assert (model.predict(X) == Y).mean() > 0.8
    assert 0 < model.errors_[0] < 1


def test_single_precision_is_kept():
    X, Y = noisy(100, k=8)
    exact = KernelRidgeLOOClassifier(random_state=0).fit(X, Y)
    model = KernelRidgeLOOClassifier(random_state=0).fit(X.astype(np.float32), Y)
    assert model.loo_scores_.dtype == model._regression.coef_.dtype == np.float32
    np.testing.assert_allclose(model.loo_proba_, exact.loo_proba_, atol=0.02)


@pytest.mark.parametrize("kernel", KERNELS)
def test_sparse_equals_dense_for_every_kernel(kernel):
    X, Y = noisy(60, k=7)
    X = np.rint(X)
    dense = KernelRidgeLOOClassifier(kernel, scale=True).fit(X[:50], Y[:50])
    csr = KernelRidgeLOOClassifier(kernel, scale=True).fit(sparse.csr_matrix(X[:50]), Y[:50])
    expected = dense.predict_proba(X[50:])
    for model in (dense, csr):
        for queries in (X[50:], sparse.csr_array(X[50:])):
            np.testing.assert_allclose(model.predict_proba(queries), expected, atol=1e-8)


def test_far_from_the_origin():
    X, Y = noisy(60)
    near = KernelRidgeLOOClassifier(random_state=0).fit(X, Y)
    far = KernelRidgeLOOClassifier(random_state=0).fit(X + 1e6, Y)
    np.testing.assert_allclose(far.loo_proba_, near.loo_proba_, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(KERNELS), st.floats(0.01, 100))
def test_units_and_order_do_not_matter(seed, kernel, unit):
    """All features in another unit, rows and labels in another order: the same model."""
    rng = np.random.RandomState(seed)
    X, Y = make_data(40, 3, 4, seed)
    rows, labels = rng.permutation(40), rng.permutation(4)
    P = KernelRidgeLOOClassifier(kernel).fit(X, Y).loo_proba_
    other = KernelRidgeLOOClassifier(kernel).fit(unit * X[rows], Y[np.ix_(rows, labels)])
    np.testing.assert_allclose(other.loo_proba_, P[np.ix_(rows, labels)], atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 3), st.sampled_from(KERNELS))
def test_tiny_data(seed, n, q, kernel):
    """A few rows, many of them equal: finite probabilities whatever the labels."""
    rng = np.random.RandomState(seed)
    X, Y = rng.randint(0, 2, (n, 2)).astype(float), rng.randint(0, 2, (n, q))
    model = KernelRidgeLOOClassifier(kernel).fit(X, Y)
    for proba in (model.loo_proba_, model.predict_proba(X)):
        assert np.isfinite(proba).all()
        assert (proba > 0).all()
        assert (proba < 1).all()


def test_pickles_with_each_form():
    X, Y = noisy(50)
    for model in (
        KernelRidgeLOOClassifier("linear"),
        KernelRidgeLOOClassifier(rbf_kernel),
        KernelRidgeLOOClassifier(max_exact=20, n_landmarks=10, random_state=0),
    ):
        proba = model.fit(X, Y).predict_proba(X)
        restored = pickle.loads(pickle.dumps(model))
        np.testing.assert_allclose(restored.predict_proba(X), proba, rtol=1e-12)


def test_blocks_of_queries_change_nothing(monkeypatch):
    X, Y = noisy(60)
    regression = KernelRidgeLOOClassifier(random_state=0).fit(X, Y)._regression
    expected = regression.scores(X)
    monkeypatch.setattr("labelkin.rows._arrays._CACHED_ENTRIES", 7 * 60)
    np.testing.assert_allclose(regression.scores(X), expected, rtol=1e-9)


# --------------------------------------------------------------------------- bad input


def test_bad_parameters():
    X, Y = noisy(30)
    with pytest.raises(ValueError, match="square"):
        KernelRidgeLOOClassifier("precomputed").fit(X, Y)
    for ridges in ([], [0.0, 1.0], [-1.0], [np.inf]):
        with pytest.raises(ValueError, match="ridges must hold positive numbers"):
            KernelRidgeLOOClassifier(ridges=ridges).fit(X, Y)
    for bad in ({"width": 0.0}, {"scale": "yes"}, {"kernel": "poly"}, {"n_landmarks": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            KernelRidgeLOOClassifier(**bad).fit(X, Y)


# ---------------------------------------------------------------- on the paper's data


def test_far_better_than_ml_knn_on_medical(paper_data):
    from labelkin.metrics import evaluate

    X, Y, folds = paper_data("medical")
    test = folds[0]
    train = np.setdiff1d(np.arange(len(Y)), test)
    figures = {}
    for model in (KernelRidgeLOOClassifier(random_state=0), MLkNNClassifier()):
        model.fit(X[train], Y[train])
        figures[type(model)] = evaluate(
            Y[test], model.predict_proba(X[test]), model.predict(X[test])
        )
    ours, theirs = figures.values()
    assert ours["average_precision"] > theirs["average_precision"] + 0.05
    assert ours["hamming_loss"] < 0.8 * theirs["hamming_loss"]
    assert ours["ranking_loss"] < 0.8 * theirs["ranking_loss"]


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_rounding_of_the_samples_does_not_reach_the_scores(kernel):
    """Few features: most eigenvalues are next to 0, and their vectors are noise."""
    rng = np.random.RandomState(0)
    X, Q = rng.standard_normal((300, 2)), rng.standard_normal((50, 2))
    Y = (X @ rng.standard_normal((2, 3)) + 0.3 * rng.standard_normal((300, 3)) > 0).astype(int)
    scores = [
        KernelRidgeLOOClassifier(kernel, width=1.0).fit(X * factor, Y)._regression.scores(Q)
        for factor in (1, 1 + 1e-14)
    ]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-8)


def test_leave_one_out_probabilities_are_out_of_sample():
    """Weak features, 400 rows and 150 labels: never better than on new rows, little worse."""
    gaps = []
    for seed in range(3):
        rng = np.random.RandomState(seed)
        hidden = rng.standard_normal((1400, 6))
        X = hidden @ rng.standard_normal((6, 10)) + 4 * rng.standard_normal((1400, 10))
        odds = hidden @ rng.standard_normal((6, 150)) + rng.standard_normal((1400, 150))
        Y = (odds > np.quantile(odds, rng.uniform(0.85, 0.99, 150), axis=0).diagonal()).astype(int)
        model = KernelRidgeLOOClassifier(random_state=0).fit(X[:400], Y[:400])
        promised = average_precision(Y[:400], model.loo_proba_)
        gaps.append(promised - average_precision(Y[400:], model.predict_proba(X[400:])))
    # Without the means of all rows it was two points too low.
    assert -0.016 < np.mean(gaps) < 0.005
