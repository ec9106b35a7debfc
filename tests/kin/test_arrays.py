"""Arrays of other libraries: fetched to the host by ``fit``."""

import numpy as np
import pytest

from labelkin import KinEnsembleClassifier
from labelkin._utils.array_api import array_api_dispatch
from support.data import make_data


@pytest.fixture(scope="module")
def data():
    return make_data(60)


@pytest.fixture(scope="module")
def model(data):
    return small().fit(*data)


def small():
    return KinEnsembleClassifier(n_projections=0, n_trees=5, random_state=0)


def test_arrays_on_a_device_give_the_same_model_and_predictions_there(data, model):
    xp = pytest.importorskip("array_api_strict")
    X, Y = (xp.asarray(array) for array in data)
    with array_api_dispatch():
        there = small().fit(X, Y)
        proba, labels = there.predict_proba(X), there.predict(X)
        assert {type(array) for array in (proba, labels)} == {type(X)}
        np.testing.assert_array_equal(there.predict_proba(data[0]), model.predict_proba(data[0]))
    np.testing.assert_array_equal(np.asarray(proba), model.predict_proba(data[0]))
    np.testing.assert_array_equal(np.asarray(labels), model.predict(data[0]))


def test_dask_arrays_are_predicted_in_blocks(data, model):
    da = pytest.importorskip("dask.array")
    X = da.from_array(data[0], chunks=(25, -1))
    lazy = model.predict_proba(X)
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), model.predict_proba(data[0]), rtol=1e-9)
