"""Arrays of other libraries: learners compute where X lies, and the model is on the host."""

import numpy as np
import pytest
from scipy import sparse

from labelkin import KinEnsembleClassifier
from labelkin.kin import Limits
from labelkin.rows import array_api_dispatch, is_device_array
from support.arrays import import_library
from support.data import make_data

# All kinds of learners for few rows: exact kernels by one factorisation, topics.
LIMITS = {"exact_rows": 40, "topics": 6}


@pytest.fixture(params=["array_api_strict", "torch"])
def xp(request):
    return import_library(request.param)


def make_texts(n=150, k=60, q=4):
    """Return counts of words, some of which depend on labels, and the labels."""
    rng = np.random.default_rng(0)
    Y = (rng.random((n, q)) < 0.3).astype(int)
    rates = 0.05 + 0.4 * (Y @ (rng.random((q, k)) < 0.15))
    return rng.poisson(rates).astype(float), Y


def make_table(n=150):
    """Return measurements, and labels that are no linear functions: kernels are not wide."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 5))
    signal = np.sin(3 * X[:, :4]) + X[:, 1:] * X[:, :4]
    return X, (signal + 0.3 * rng.normal(size=signal.shape) > 0.5).astype(int)


def fit(X, Y, **limits):
    model = KinEnsembleClassifier(2, 4, effort=Limits(**LIMITS | limits), random_state=0)
    return model.fit(X, Y)


@pytest.mark.parametrize("kind", ["table", "texts", "parts", "few rows"])
def test_arrays_on_a_device_give_the_same_model_and_predictions_there(xp, kind):
    X, Y = make_texts() if kind == "texts" else make_table()
    limits = {"texts": {"dense_entries": 1_000}, "parts": {"part_work": 150 * 80**2}}
    limits = limits.get(kind, {"exact_rows": 1_000} if kind == "few rows" else {})
    rows = sparse.csr_matrix(X) if kind == "texts" else X
    here = fit(rows, Y, **limits)
    with array_api_dispatch():
        there = fit(xp.asarray(X), xp.asarray(Y), **limits)
        proba, labels = there.predict_proba(xp.asarray(X)), there.predict(xp.asarray(X))
        assert is_device_array(proba)
        assert is_device_array(labels)
    assert [name for name, _ in there.members_] == [name for name, _ in here.members_]
    # Of few rows, a member's ridge may be another one of its grid after rounding.
    assert np.abs(there.weights_ - here.weights_).mean() < 0.02
    assert np.abs(there.oob_proba_ - here.oob_proba_).mean() < 0.02
    assert np.abs(np.asarray(proba) - here.predict_proba(rows)).mean() < 0.02
    np.testing.assert_allclose(there.predict_proba(rows), np.asarray(proba), atol=1e-9)
    np.testing.assert_array_equal(np.asarray(labels), np.asarray(proba) > 0.5)


def test_large_texts_on_a_device_are_stored_sparse(xp):
    X, Y = make_texts()
    with array_api_dispatch():
        model = fit(xp.asarray(X), xp.asarray(Y), dense_entries=1_000)
    stored = {
        name: type(getattr(member.learners[0], "rows_", None)) for name, member in model.members_
    }
    assert stored["raw_laplacian"] is sparse.csr_matrix
    assert stored["topics_rbf"] is np.ndarray


def test_dask_arrays_are_predicted_in_blocks():
    da = pytest.importorskip("dask.array")
    X, Y = make_data(60)
    model = KinEnsembleClassifier(n_projections=0, n_trees=5, random_state=0).fit(X, Y)
    lazy = model.predict_proba(da.from_array(X, chunks=(25, -1)))
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), model.predict_proba(X), rtol=1e-9)
