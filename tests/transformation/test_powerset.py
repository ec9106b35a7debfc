"""Label powersets against figures by hand and plain transcriptions."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from labelkin.transformation import LabelPowersetClassifier
from labelkin.transformation._powerset import distinct_label_sets
from labelkin.tree import C45TreeClassifier
from support.data import make_data


def test_probabilities_by_hand():
    """Four neighbours: {a}, {a, b} twice, {c}. So a 3/4, b 1/2, c 1/4, and the set {a, b}."""
    X = np.array([[0.0], [0.1], [0.2], [0.3], [9.0]])
    Y = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]])
    model = LabelPowersetClassifier(KNeighborsClassifier(n_neighbors=4)).fit(X, Y)
    assert model.predict_proba([[0.1]]).tolist() == [[0.75, 0.5, 0.25]]
    assert model.predict([[0.1]]).tolist() == [[1, 1, 0]]
    # The most frequent set first, the others in lexicographic order.
    assert model.label_sets_.tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1], [1, 0, 0]]


def test_the_set_is_the_most_probable_not_the_likely_labels():
    """One leaf with {a} 3 times, {b} and {b, c} twice: {a} it is, though b has 4/7."""
    X = np.zeros((7, 1))
    Y = np.array([[1, 0, 0]] * 3 + [[0, 1, 0]] * 2 + [[0, 1, 1]] * 2)
    model = LabelPowersetClassifier().fit(X, Y)
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[3 / 7, 4 / 7, 2 / 7]])
    assert model.predict([[0.0]]).tolist() == [[1, 0, 0]]


def test_of_equally_probable_sets_the_more_frequent(data):
    X, _ = data
    Y = np.array([[0, 0]] * 10 + [[1, 1]] * 30 + [[0, 1]] * 20)
    model = LabelPowersetClassifier(DummyClassifier(strategy="uniform")).fit(X, Y)
    assert model.predict(X[:1]).tolist() == [[1, 1]]


@pytest.mark.parametrize("base", [None, GaussianNB(), LogisticRegression()])
def test_only_sets_seen_in_training_are_predicted(base):
    X, Y = make_data(200, 5, 5)
    seen = {tuple(row) for row in Y[:40]}
    labels = LabelPowersetClassifier(base).fit(X[:40], Y[:40]).predict(X[40:])
    assert {tuple(row) for row in labels} <= seen
    assert {tuple(row) for row in Y[40:]} - seen  # or the test would see nothing new


def test_probabilities_are_their_definition():
    X, Y = make_data(150, 4, 4)
    model = LabelPowersetClassifier(GaussianNB()).fit(X, Y)
    names = ["".join(map(str, row)) for row in Y]
    direct = GaussianNB().fit(X, names)
    expected, sets = np.zeros(Y.shape), []
    for i, row in enumerate(direct.predict_proba(X)):
        for name, p in zip(direct.classes_, row, strict=True):
            expected[i] += p * np.array(list(name), dtype=int)
        sets.append([int(c) for c in direct.classes_[row.argmax()]])
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), sets)


def test_a_tree_with_outcomes_at_its_nodes_predicts_as_its_classes_do():
    X, Y = make_data(200, 5, 4)
    Y = np.where(np.random.RandomState(0).rand(*Y.shape) < 0.2, 1 - Y, Y)
    model = LabelPowersetClassifier().fit(X, Y)
    assert isinstance(model.estimator_, C45TreeClassifier)
    queries, sets = make_data(300, 5, 1, seed=9)[0], model.label_sets_
    proba = model.estimator_.predict_proba(queries)
    np.testing.assert_array_equal(model.predict(queries), sets[proba.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_proba(queries), proba @ sets, atol=1e-12)
    # The tree itself is left whole.
    assert model.estimator_.predict_proba(X).shape == (200, len(model.label_sets_))


def test_one_label_set(data):
    X, _ = data
    model = LabelPowersetClassifier().fit(X, np.tile([1, 0, 1], (len(X), 1)))
    assert model.predict(X[:2]).tolist() == [[1, 0, 1]] * 2
    assert model.predict_proba(X[:2]).tolist() == [[1, 0, 1]] * 2


def test_threads_are_handed_to_the_base(data):
    model = LabelPowersetClassifier(KNeighborsClassifier(), n_jobs=2).fit(*data)
    assert model.estimator_.n_jobs == 2
    model = LabelPowersetClassifier(KNeighborsClassifier(n_jobs=1), n_jobs=2).fit(*data)
    assert model.estimator_.n_jobs == 1


@pytest.mark.parametrize("order", ["C", "F"])  # columns chosen from Y come column by column
@pytest.mark.parametrize("q", [1, 3, 12, 13, 70])
def test_distinct_label_sets_are_those_of_numpy(q, order):
    Y = (np.random.default_rng(0).random((200, q)) < 2 / q).astype(np.uint8)
    Y[::3] = Y[0]
    Y = np.asarray(Y, order=order)
    for weight in (None, np.random.default_rng(1).integers(1, 9, 200) / 4):
        sets, codes = distinct_label_sets(Y, weight)
        expected, numbers = np.unique(Y, axis=0, return_inverse=True)
        by_frequency = np.argsort(-np.bincount(numbers.reshape(-1), weight), kind="stable")
        np.testing.assert_array_equal(sets, expected[by_frequency])
        np.testing.assert_array_equal(sets[codes], Y)
        assert sets.dtype == Y.dtype
