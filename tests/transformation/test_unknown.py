"""Binary relevance and chains with unknown labels: each classifier on its known samples."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from labelkin import (
    AdaBoostPDTClassifier,
    BinaryRelevanceClassifier,
    CalibratedLabelRankingClassifier,
    ChainClassifier,
    LabelPowersetClassifier,
    RAkELClassifier,
)
from labelkin.tree import C45TreeClassifier
from support.data import make_data


@pytest.fixture
def data():
    X, Y = make_data(n=120, k=5, q=4)
    y = Y.astype(float)
    y[np.random.default_rng(0).random(y.shape) < 0.4] = np.nan
    y[5] = np.nan
    return X, y


BASES = pytest.mark.parametrize("base", [LogisticRegression(), C45TreeClassifier()])


@BASES
@pytest.mark.parametrize("weighted", [False, True])
def test_each_label_is_fitted_to_its_known_samples(base, weighted, data):
    X, y = data
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float) if weighted else None
    model = BinaryRelevanceClassifier(base).fit(X, y, weight)
    for j in range(4):
        rows = ~np.isnan(y[:, j]) & (True if weight is None else weight > 0)
        part = None if weight is None else weight[rows]
        alone = BinaryRelevanceClassifier(base).fit(X[rows], y[rows, j : j + 1], part)
        np.testing.assert_allclose(model.predict_proba(X)[:, j], alone.predict_proba(X)[:, 0])


@BASES
def test_a_chain_fills_unknown_labels_with_its_predictions(base, data):
    X, y = data
    order = [2, 0, 3, 1]
    model = ChainClassifier(base, order=order).fit(X, y)
    filled = y.copy()
    for place, label in enumerate(order):
        inputs = np.hstack([X, filled[:, order[:place]]])
        known = ~np.isnan(y[:, label])
        link = BinaryRelevanceClassifier(base).fit(inputs[known], y[known, label : label + 1])
        np.testing.assert_allclose(
            model.estimators_[0][place].predict_proba(inputs)[:, -1],
            link.predict_proba(inputs)[:, 0],
        )
        filled[~known, label] = link.predict_proba(inputs[~known])[:, 0] >= 0.5


def test_several_chains_and_sparse_rows(data):
    X, y = data
    options = {"n_estimators": 3, "random_state": 0}
    chains = ChainClassifier(LogisticRegression(), **options).fit(X, y)
    same = ChainClassifier(LogisticRegression(), **options).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(chains.predict_proba(X), same.predict_proba(X), atol=1e-4)
    again = ChainClassifier(LogisticRegression(), n_jobs=1, **options).fit(X, y)
    np.testing.assert_array_equal(chains.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize("Classifier", [BinaryRelevanceClassifier, ChainClassifier])
def test_a_label_that_is_never_known_is_never_predicted(Classifier, data):
    X, y = data
    y[:, 1] = np.nan
    model = Classifier(LogisticRegression()).fit(X, y)
    assert not model.predict(X)[:, 1].any()
    assert (model.predict_proba(X)[:, 1] == 0).all()
    with pytest.raises(ValueError, match="y holds no known label"):
        Classifier(LogisticRegression()).fit(X, np.full(y.shape, np.nan))


@pytest.mark.parametrize(
    "model",
    [
        LabelPowersetClassifier(),
        RAkELClassifier(),
        CalibratedLabelRankingClassifier(),
        AdaBoostPDTClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_others_refuse_in_one_sentence(model, data):
    with pytest.raises(ValueError, match=rf"{type(model).__name__} cannot learn from unknown") as e:
        model.fit(*data)
    assert "\n" not in str(e.value)
