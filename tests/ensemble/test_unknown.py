"""VPCME and Bagging_VPCP with unknown labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from labelkin import (
    BaggingVPCPClassifier,
    BinaryRelevanceClassifier,
    MLkNNClassifier,
    VPCMEClassifier,
)
from labelkin.constraints import label_similarity
from labelkin.ensemble._vpcme import reweight
from labelkin.metrics import METRICS, average_precision
from support.data import make_data

BOTH = pytest.mark.parametrize("Ensemble", [VPCMEClassifier, BaggingVPCPClassifier])


@pytest.fixture
def data():
    X, Y = make_data(n=300, k=6, q=5)
    y = Y.astype(float)
    y[np.random.default_rng(0).random(y.shape) < 0.5] = np.nan
    y[3] = np.nan
    return X, y, Y


@BOTH
def test_pairs_and_predictions(Ensemble, data):
    X, y, Y = data
    model = Ensemble(n_estimators=3, random_state=0).fit(X[:200], y[:200])
    for projection in model.projections_:
        for pairs, kind in ((projection.must_link_, True), (projection.cannot_link_, False)):
            similar = label_similarity(y[pairs[:, 0]], y[pairs[:, 1]])
            assert ((similar >= 0.6) == kind).all()
            assert not np.isnan(similar).any()
            assert 3 not in pairs
    # Better than what reads unknown labels as absent.
    zeros = Ensemble(n_estimators=3, random_state=0).fit(X[:200], np.nan_to_num(y[:200]))
    assert average_precision(Y[200:], model.predict_proba(X[200:])) > 0.8
    f1 = METRICS["micro_f1"]
    assert f1(Y[200:], model.predict(X[200:])) > f1(Y[200:], zeros.predict(X[200:])) + 0.1


def test_misclassified_samples_gain_weight(data):
    X, y, _ = data
    model = VPCMEClassifier(n_estimators=1, random_state=0).fit(X, y)
    Z = model.projections_[0].transform(X)
    known = ~np.isnan(y)
    wrong = (known & ((MLkNNClassifier().fit_loo_proba(Z, y) > 0.5) != (y == 1))).any(axis=1)
    assert not wrong[3]
    error = wrong.sum() / known.any(axis=1).sum()
    assert model.errors_[0] == pytest.approx(error)
    expected = reweight(np.full(len(X), 1 / len(X)), wrong, error)
    np.testing.assert_allclose(model.sample_weights_, expected)


@BOTH
def test_out_of_bag(Ensemble, data):
    X, y, _ = data
    model = Ensemble(n_estimators=15, bag=0.6, calibrate=True, random_state=0).fit(X, y)
    assert model.oob_score_ == average_precision(y, model.oob_proba_)
    assert model.oob_score_ > 0.8
    assert np.isfinite(model.predict_proba(X)).all()


@BOTH
def test_other_bases(Ensemble, data):
    X, y, _ = data
    base = BinaryRelevanceClassifier(LogisticRegression())
    for options in ({"n_estimators": 2}, {"n_estimators": 15, "bag": 0.4}):
        model = Ensemble(base, random_state=0, **options).fit(X, y)
        assert model.predict_proba(X).shape == y.shape
    with pytest.raises(ValueError, match="cannot learn from unknown labels"):
        Ensemble(OneVsRestClassifier(LogisticRegression()), 2).fit(X, y)


@BOTH
def test_nullable_columns_and_weights(Ensemble, data):
    X, y, _ = data
    frame = pd.DataFrame(y).astype("Int8")
    weight = np.random.default_rng(0).random(len(X))
    one, other = (Ensemble(n_estimators=2, random_state=0).fit(X, t, weight) for t in (y, frame))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@BOTH
def test_dask_rows_with_unknown_labels_are_brought_into_memory(Ensemble, data):
    dask = pytest.importorskip("dask.array")
    X, y, _ = data
    expected = Ensemble(n_estimators=2, random_state=0).fit(X, y).predict_proba(X)
    rows, labels = dask.from_array(X, chunks=(100, -1)), dask.from_array(y, chunks=(100, -1))
    model = Ensemble(n_estimators=2, random_state=0).fit(rows, labels)
    np.testing.assert_allclose(np.asarray(model.predict_proba(rows)), expected)


@BOTH
def test_all_known_is_as_before(Ensemble, data):
    """Labels in floats without NaN give the same model to the last bit."""
    X, _, Y = data
    one, other = (
        Ensemble(n_estimators=2, random_state=0).fit(X, t).predict_proba(X)
        for t in (Y, Y.astype(float))
    )
    np.testing.assert_array_equal(one, other)
