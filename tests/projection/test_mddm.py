"""MDDM against its definition: the trace with all its n × n matrices."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from labelkin import MLkNNClassifier
from labelkin.projection import MDDM


def data(n=60, k=12, q=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k)) * rng.uniform(0.5, 3, k) + rng.normal(size=k)
    Y = (X[:, :q] + X[:, q : 2 * q] + rng.normal(size=(n, q)) > 0.3).astype(int)
    return X, Y


def objective(P, X, L):
    """tr(HKHL) with K = XPPᵀXᵀ: HSIC but for its factor."""
    n = len(X)
    H = np.eye(n) - 1 / n
    return np.trace(H @ (X @ P @ P.T @ X.T) @ H @ L)


@pytest.mark.parametrize(("n", "k"), [(60, 12), (15, 40)])
def test_the_objective_is_its_definition_and_its_maximum(n, k):
    X, Y = data(n, k)
    model = MDDM(1.0).fit(X, Y)
    P, L = model.components_.T, (Y @ Y.T).astype(float)
    np.testing.assert_allclose(P.T @ P, np.eye(P.shape[1]), atol=1e-8)
    value = objective(P, X, L)
    assert model.eigenvalues_.sum() == pytest.approx(value)
    # All eigenvalues of the problem as the paper states it.
    H = np.eye(n) - 1 / n
    values = linalg.eigh(X.T @ H @ L @ H @ X, eigvals_only=True)[::-1]
    np.testing.assert_allclose(model.eigenvalues_, values[: P.shape[1]], rtol=1e-8)
    assert values[P.shape[1] :].max() < 1e-9 * values[0]
    rng = np.random.default_rng(1)
    for _ in range(20):
        Q, _ = linalg.qr(rng.normal(size=P.shape), mode="economic")
        assert objective(Q, X, L) < value


def test_it_finds_the_subspace_the_labels_depend_on():
    rng = np.random.default_rng(0)
    k, n = 30, 4000
    basis, _ = linalg.qr(rng.normal(size=(k, 2)), mode="economic")
    X = rng.normal(size=(n, k))
    hidden = X @ basis
    angles = np.arange(5) * 2 * np.pi / 5
    Y = (hidden @ np.array([np.cos(angles), np.sin(angles)]) > 0.5).astype(int)
    model = MDDM().fit(X, Y)
    assert model.components_.shape == (2, k)
    largest_angle = linalg.subspace_angles(model.components_.T, basis).max()
    assert np.degrees(largest_angle) < 10
    assert np.degrees(linalg.subspace_angles(np.eye(k)[:, :2], basis).max()) > 60


def test_number_of_dimensions():
    X, Y = data(n=200, k=12, q=6)
    values = MDDM(1.0).fit(X, Y).eigenvalues_
    assert len(values) == 6
    share = np.cumsum(values) / values.sum()
    for threshold in (0.3, 0.9, 0.99):
        model = MDDM(threshold).fit(X, Y)
        d = len(model.components_)
        assert share[d - 1] >= threshold
        assert d == 1 or share[d - 2] < threshold
    assert len(MDDM(3).fit(X, Y).components_) == 3
    assert len(MDDM(1).fit(X, Y).components_) == 1
    assert len(MDDM(100).fit(X, Y).components_) == 6


@pytest.mark.parametrize(("n", "k"), [(60, 12), (15, 40)])
def test_forms_of_input_agree(n, k):
    X, Y = data(n, k)
    X[np.abs(X) < 1] = 0
    before = X.copy(), Y.copy()
    model = MDDM()
    expected = model.fit_transform(X, Y)
    for form in (sparse.csr_matrix, sparse.csr_array, sparse.csc_array):
        Z = clone(model).fit_transform(form(X), sparse.csr_array(Y))
        assert isinstance(Z, np.ndarray)
        np.testing.assert_allclose(Z, expected, rtol=1e-6, atol=1e-8)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(k)])
    fitted = clone(model).fit(frame, pd.DataFrame(Y))
    np.testing.assert_allclose(fitted.transform(frame), expected, rtol=1e-6, atol=1e-8)
    assert list(fitted.get_feature_names_out()[:2]) == ["mddm0", "mddm1"]
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(frame), fitted.transform(frame))
    assert clone(model).fit_transform(X.astype(np.float32), Y).dtype == np.float32
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(Y, before[1])


def test_wide_sparse_samples_stay_sparse():
    """200,000 features: a dense copy would be 3 GB, features × features 300 GB."""
    rng = np.random.default_rng(0)
    cells = rng.integers(2000, size=40_000), rng.integers(200_000, size=40_000)
    X = sparse.csr_array((rng.random(40_000), cells), shape=(2000, 200_000))
    Y = (rng.random((2000, 20)) < 0.2).astype(int)
    assert MDDM().fit(X, Y).transform(X[:5]).shape[0] == 5


def test_labels_that_say_nothing():
    X, _ = data()
    for rows in (X, 0 * X):
        with pytest.warns(UserWarning, match="No label depends"):
            model = MDDM().fit(rows, np.ones((60, 2), dtype=int))
        assert model.components_.shape == (1, 12)
        assert np.isfinite(model.transform(X)).all()


def test_few_labels_and_a_class_vector():
    X, Y = data()
    one = MDDM().fit(X, Y[:, :1])
    assert one.components_.shape == (1, 12)
    # One label and its complement span the same direction as a vector of two classes.
    np.testing.assert_allclose(MDDM().fit(X, Y[:, 0]).components_, one.components_)
    assert MDDM(1.0).fit(X, Y[:, :2]).components_.shape == (2, 12)
    constant = np.column_stack([Y, np.ones(len(Y)), np.zeros(len(Y))])
    np.testing.assert_allclose(
        MDDM(1.0).fit(X, constant).components_, MDDM(1.0).fit(X, Y).components_, atol=1e-10
    )


def test_far_from_the_origin():
    X, Y = data()
    near = MDDM().fit(X, Y).components_
    np.testing.assert_allclose(MDDM().fit(X + 1e6, Y).components_, near, atol=1e-5)


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 1.5}, "n_components"),
    ],
)
def test_bad_parameters(parameters, name):
    X, Y = data()
    with pytest.raises(ValueError, match=f"'{name}' parameter of MDDM"):
        MDDM(**parameters).fit(X, Y)


def test_bad_labels():
    X, Y = data()
    with pytest.raises(ValueError, match="must hold only 0 and 1"):
        MDDM().fit(X, Y * 2)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MDDM().fit(X, Y[:-1])


def test_behind_it_a_classifier():
    X, Y = data(n=300)
    model = make_pipeline(MDDM(), MLkNNClassifier()).fit(X[:200], Y[:200])
    plain = MLkNNClassifier().fit(X[:200], Y[:200])
    wrong = [(m.predict(X[200:]) != Y[200:]).mean() for m in (model, plain)]
    assert wrong[0] < wrong[1]
