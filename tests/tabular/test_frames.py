"""Predictions as DataFrames."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline

from labelkin import DecisionClassifier, MLkNNClassifier
from labelkin.tabular import predict_frame

NAMES = ["billing", "login"]


@pytest.fixture(scope="module")
def texts():
    words = ["invoice wrong", "password lost", "invoice password", "hello"] * 8
    table = pd.DataFrame({"text": words}, index=[f"T{i}" for i in range(len(words))])
    for name, word in zip(NAMES, ("invoice", "password"), strict=True):
        table[name] = table["text"].str.contains(word).astype(int)
    return table


@pytest.mark.parametrize(
    "classifier",
    [
        MLkNNClassifier(3),
        DecisionClassifier(MLkNNClassifier(3), random_state=0),
        GridSearchCV(MLkNNClassifier(), {"n_neighbors": [3]}, cv=2),
    ],
    ids=lambda c: type(c).__name__,
)
def test_names_and_index_come_from_the_data(texts, classifier):
    model = make_pipeline(TfidfVectorizer(), classifier).fit(texts["text"], texts[NAMES])
    labels = predict_frame(model, texts["text"])
    assert list(labels.columns) == NAMES
    pd.testing.assert_frame_equal(labels, texts[NAMES], check_dtype=False)
    proba = predict_frame(model, texts["text"].head(3), proba=True)
    assert list(proba.index) == ["T0", "T1", "T2"]
    np.testing.assert_array_equal(proba, model.predict_proba(texts["text"].head(3)))


def test_a_classifier_that_returns_a_list_of_arrays(texts):
    forest = RandomForestClassifier(5, random_state=0)
    model = make_pipeline(TfidfVectorizer(), forest).fit(texts["text"], texts[NAMES])
    proba = predict_frame(model, texts["text"], proba=True, label_names=NAMES)
    expected = np.column_stack([part[:, 1] for part in model.predict_proba(texts["text"])])
    np.testing.assert_array_equal(proba, expected)
    assert list(proba.columns) == NAMES


def test_arrays_have_numbers_for_names(texts):
    X = texts[NAMES].to_numpy(float)
    model = MLkNNClassifier(3).fit(X, texts[NAMES].to_numpy())
    frame = predict_frame(model, X)
    assert list(frame.columns) == [0, 1]
    assert list(frame.index) == list(range(len(X)))
    with pytest.raises(ValueError, match="label_names has 1 names, but the model predicts 2"):
        predict_frame(model, X, label_names=["a"])


def test_scores_of_a_classifier_without_any(texts):
    model = make_pipeline(TfidfVectorizer(), MultiOutputClassifier(Perceptron()))
    with pytest.raises(ValueError, match=r"neither predict_proba nor .* without proba=True"):
        predict_frame(model.fit(texts["text"], texts[NAMES]), texts["text"], proba=True)
