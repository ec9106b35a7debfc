"""Every classifier that takes unknown labels: files, explanations, and what is known of nothing."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from labelkin import (
    BaggingVPCPClassifier,
    BinaryRelevanceClassifier,
    ChainClassifier,
    DecisionClassifier,
    KernelRidgeLOOClassifier,
    KinEnsembleClassifier,
    MLkNNClassifier,
    MultiLabelLogisticRegression,
    TableClassifier,
    VPCMEClassifier,
)
from labelkin.explain import explain
from labelkin.metrics import average_precision, get_scorer
from labelkin.model_selection import IterativeStratifiedKFold
from labelkin.onnx import to_onnx
from labelkin.persistence import load_model, save_model
from support.data import make_data

MODELS = {
    "kin": lambda: KinEnsembleClassifier(random_state=0),
    "logistic": MultiLabelLogisticRegression,
    "krr": KernelRidgeLOOClassifier,
    "mlknn": MLkNNClassifier,
    "vpcme": lambda: VPCMEClassifier(n_estimators=2, random_state=0),
    "bagging": lambda: BaggingVPCPClassifier(
        n_estimators=12, bag=0.5, calibrate=True, random_state=0
    ),
    "br": lambda: BinaryRelevanceClassifier(LogisticRegression()),
    "chain": lambda: ChainClassifier(LogisticRegression()),
    "decision": lambda: DecisionClassifier(MLkNNClassifier(), "f1"),
    "table": lambda: TableClassifier(MultiLabelLogisticRegression()),
}
EACH = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def data():
    X, Y = make_data(n=200, k=5, q=4)
    y = Y.astype(float)
    y[np.random.default_rng(0).random(y.shape) < 0.5] = np.nan
    return X, y, Y


@pytest.fixture(scope="module")
def fitted(data):
    """Each model fitted once: to labels of which some rows and one label are all unknown."""
    X, y, _ = data
    y = np.column_stack([y, np.full(len(y), np.nan)])
    y[:3] = np.nan
    made = {}

    def fit(name):
        if name not in made:
            made[name] = MODELS[name]().fit(X, y)
        return made[name]

    return fit


@EACH
def test_files(name, fitted, data, tmp_path):
    model, X = fitted(name), data[0]
    save_model(model, tmp_path / "m.labelkin")
    same = load_model(tmp_path / "m.labelkin")
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


@EACH
def test_explanations(name, fitted, data):
    model, X = fitted(name), data[0]
    found = explain(model, X[:1], background=X)
    np.testing.assert_allclose(found.probability, model.predict_proba(X[:1])[0], atol=1e-6)
    assert str(found)


@EACH
def test_nothing_known_of_a_label_or_a_row(name, fitted, data):
    """Such a label is never predicted, and such rows do not harm the others."""
    model, (X, _, Y) = fitted(name), data
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert not model.predict(X)[:, 4].any()
    assert average_precision(Y[:3], proba[:3, :4]) > 0.7
    assert average_precision(Y, proba[:, :4]) > 0.8


@EACH
def test_nothing_known_at_all(name, data):
    X, y, _ = data
    with pytest.raises(ValueError, match="y holds no known label"):
        MODELS[name]().fit(X, np.full(y.shape, np.nan))


@pytest.mark.parametrize("name", ["mlknn", "krr", "br", "decision"])
def test_cross_val_score(name, data):
    X, y, _ = data
    cv = IterativeStratifiedKFold(3, random_state=0)
    scoring = get_scorer("average_precision")
    assert cross_val_score(MODELS[name](), X, y, cv=cv, scoring=scoring).mean() > 0.8
    accuracy = cross_val_score(MODELS[name](), X, y, cv=cv)
    by_metric = get_scorer("subset_accuracy")
    np.testing.assert_array_equal(
        accuracy, cross_val_score(MODELS[name](), X, y, cv=cv, scoring=by_metric)
    )


def test_counts_of_explanations_are_those_of_known_neighbours(fitted, data):
    model, X = fitted("mlknn"), data[0]
    found = explain(model, X[:1])
    np.testing.assert_array_equal(found.counts[0], model._counts(X[:1])[0])


@pytest.mark.parametrize("name", ["mlknn", "vpcme"])
def test_onnx_refuses_neighbours(name, fitted):
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="fitted with unknown labels cannot be exported to ONNX"):
        to_onnx(fitted(name))
