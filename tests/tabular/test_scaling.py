"""Scaling by quartiles."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelkin import MultiLabelLogisticRegression
from labelkin.tabular import RobustLogScaler, Schema
from labelkin.tabular._pipeline import make_pipeline


@parametrize_with_checks([RobustLogScaler()])
def test_estimator(estimator, check):
    check(estimator)


def test_formula():
    column = np.arange(9.0)[:, None]  # quartiles 2 and 6
    scaler = RobustLogScaler().fit(column)
    assert (scaler.center_, scaler.scale_) == (4, 2)
    expected = np.log([3, 2, 1, 2, 3]) * [-1, -1, 0, 1, 1]
    assert scaler.transform([[0], [2], [4], [6], [1e9]]).ravel() == pytest.approx(expected)


def test_equal_values():
    constant, rare = np.ones(50), np.repeat([0.0, 1.0], [47, 3])
    scaler = RobustLogScaler().fit(np.column_stack([constant, rare]))
    assert scaler.scale_.tolist() == [1, 0.25]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_values_stay_small(dtype):
    column = np.append(np.arange(100), np.finfo(dtype).max).astype(dtype)[:, None]
    scaler = RobustLogScaler().fit(column)
    assert scaler.scale_ == pytest.approx(25)
    scaled = scaler.transform(np.vstack([column, -column]))
    assert scaled.dtype == dtype
    assert np.isfinite(scaled).all()
    assert np.abs(scaled[:100]).max() < 2


def test_a_huge_value_does_not_drive_the_labels():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    size = rng.lognormal(6, 1.5, 300)
    kind = rng.choice(["a", "b", "c"], 300)
    y = np.column_stack([kind == "a", (kind == "b") | (size > 1500), rng.random(300) < 0.1])
    rows = pandas.DataFrame({"size": size, "kind": kind})
    schema = Schema({"size": "number", "kind": "category"}, scale="robust")
    model = make_pipeline(schema, MultiLabelLogisticRegression()).fit(rows, y.astype(int))
    new = pandas.DataFrame({"size": [500.0, 1e9], "kind": ["c", "c"]})
    proba = model.predict_proba(new)
    assert proba[0, 1] < 0.5 < proba[1, 1]  # size matters for this label
    assert (proba[:, [0, 2]] < 0.5).all()  # and for no other
