"""Boosted trees against rounds by hand, scikit-learn's AdaBoost, and a plain transcription."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from labelkin.transformation import AdaBoostPDTClassifier
from labelkin.tree import C45TreeClassifier
from support.data import make_data

STUMP = DecisionTreeClassifier(max_depth=1, random_state=0)


def noisy_data(n=150, q=3, seed=0):
    X, Y = make_data(n, 4, q, seed)
    flipped = np.random.RandomState(seed + 1).rand(*Y.shape) < 0.15
    return X, np.where(flipped, 1 - Y, Y)


# ---------------------------------------------------------------------------------- by hand


class Scripted(ClassifierMixin, BaseEstimator):
    """Predicts as told, the next answer in each round, and notes the weights it is given."""

    def __init__(self, script=None):
        self.script = script

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([0, 1])
        self.answer_ = np.array(self.script.answers[len(self.script.weights)])
        self.script.weights.append(sample_weight.copy())
        return self

    def predict(self, X):
        return self.answer_[X[:, 0].astype(int)]


class Script:
    def __init__(self, *answers):
        self.answers, self.weights = answers, []

    def __deepcopy__(self, memo):  # cloning keeps the one script
        return self


def boost(y, *answers):
    script = Script(*answers)
    X = np.arange(len(y), dtype=float)[:, None]
    model = AdaBoostPDTClassifier(Scripted(script), n_estimators=len(answers), n_jobs=1)
    return model.fit(X, np.array(y)[:, None]), X, script.weights


def test_rounds_by_hand():
    """Errors 1/6 and, with weights 3, .6, .6, …, 1.2/6; hence the weights ln 5 and ln 4.

    The first round misses row 0: 1·5, the others 1, which sum to 10: times 6/10. The second
    misses rows 1 and 2: .6·4 = 2.4, the sum 3 + 4.8 + 1.8 = 9.6: times 6/9.6.
    """
    y = [1, 1, 1, 0, 0, 0]
    answers = [0, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0]
    model, X, weights = boost(y, *answers)
    np.testing.assert_allclose(weights[0], np.ones(6))
    np.testing.assert_allclose(weights[1], [3, 0.6, 0.6, 0.6, 0.6, 0.6])
    np.testing.assert_allclose(weights[2], [1.875, 1.5, 1.5, 0.375, 0.375, 0.375])
    np.testing.assert_allclose(model.estimator_errors_[0], [1 / 6, 0.2, 0.0625])
    np.testing.assert_allclose(model.estimator_weights_[0], np.log([5, 4, 15]))
    # Row 0: the second and the third are for it, 4·15 against 5. Row 3: 15 against 5·4.
    expected = [60 / 65, 75 / 79, 75 / 79, 15 / 35, 1 / 301, 1 / 301]
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], expected)
    assert model.predict(X)[:, 0].tolist() == y


def test_a_perfect_first_member_stands_alone():
    model, X, weights = boost([1, 0, 1], [1, 0, 1], [0, 0, 0])
    assert len(weights) == len(model.estimators_[0]) == 1
    assert model.predict_proba(X)[:, 0].tolist() == [1, 0, 1]


def test_a_later_perfect_member_is_dropped():
    model, X, weights = boost([1, 1, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0])
    assert len(weights) == 2
    assert len(model.estimators_[0]) == 1
    assert model.predict(X)[:, 0].tolist() == [0, 1, 1, 0]


def test_a_first_member_no_better_than_chance_is_kept():
    model, X, weights = boost([1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0])
    assert len(weights) == len(model.estimators_[0]) == 1
    assert model.predict(X)[:, 0].tolist() == [1, 0, 1, 0]


def test_a_later_member_no_better_than_chance_is_dropped():
    """After the first round the missed row weighs half of all: missing it again is chance."""
    model, _, weights = boost([1, 1, 1, 0], [0, 1, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0])
    assert len(weights) == 2
    assert len(model.estimators_[0]) == 1


def test_an_even_leaf_is_positive():
    """As in Mulan's binary relevance: nothing to split, half and half."""
    X, y = np.zeros((4, 1)), np.array([[1], [1], [0], [0]])
    model = AdaBoostPDTClassifier().fit(X, y)
    assert model.predict_proba([[0.0]]).tolist() == [[0.5]]
    assert model.predict([[0.0]]).tolist() == [[1]]


# ------------------------------------------------------------------------------ brute force


def test_equals_scikit_learns_adaboost():
    """Where no round is perfect or worse than chance, the two are one algorithm."""
    X, Y = noisy_data()
    model = AdaBoostPDTClassifier(STUMP).fit(X, Y)
    for label in range(Y.shape[1]):
        theirs = AdaBoostClassifier(STUMP, n_estimators=10).fit(X, Y[:, label])
        np.testing.assert_allclose(model.estimator_errors_[label], theirs.estimator_errors_)
        np.testing.assert_allclose(model.estimator_weights_[label], theirs.estimator_weights_)
        np.testing.assert_array_equal(model.predict(X)[:, label], theirs.predict(X))
        # Theirs is twice the same margin over the sum of the weights.
        margin = theirs.decision_function(X) * theirs.estimator_weights_.sum() / 2
        np.testing.assert_allclose(
            model.predict_proba(X)[:, label], 1 / (1 + np.exp(-margin)), atol=1e-12
        )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_boosted_c45_is_its_definition(form):
    X, Y = noisy_data()
    X = np.round(X, 1)
    model = AdaBoostPDTClassifier(n_estimators=4).fit(form(X), Y)
    for label in range(Y.shape[1]):
        y, weight, margin = Y[:, label], np.ones(len(Y)), np.zeros(len(Y))
        for error in model.estimator_errors_[label]:
            tree = C45TreeClassifier(nominal_features="binary").fit(X, y, sample_weight=weight)
            votes = tree.predict(X)
            assert error == pytest.approx(weight[votes != y].sum() / weight.sum())
            odds = (1 - error) / error
            margin += np.log(odds) * (2 * votes - 1)
            weight = np.where(votes != y, weight * odds, weight)
            weight *= len(y) / weight.sum()
        assert len(model.estimator_errors_[label]) > 1
        np.testing.assert_allclose(
            model.predict_proba(form(X))[:, label], 1 / (1 + np.exp(-margin)), atol=1e-9
        )


def test_boosting_lowers_the_training_error():
    X, Y = make_data(300, 20, 4)
    errors = [
        (AdaBoostPDTClassifier(n_estimators=m).fit(X, Y).predict(X) != Y).mean() for m in (1, 10)
    ]
    assert errors[1] < 0.5 * errors[0]


# --------------------------------------------------------------------------- edges, options


def test_constant_labels_stay_constant(data):
    X, Y = data
    Y = np.column_stack([Y, np.ones(len(Y), int), np.zeros(len(Y), int)])
    proba = AdaBoostPDTClassifier().fit(X, Y).predict_proba(X)
    assert (proba[:, -2] == 1).all()
    assert (proba[:, -1] == 0).all()


def test_other_bases():
    X, Y = noisy_data()
    proba = AdaBoostPDTClassifier(LogisticRegression()).fit(X, Y).predict_proba(X)
    assert ((proba >= 0.5) == Y).mean() > 0.75
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        AdaBoostPDTClassifier(KNeighborsClassifier()).fit(X, Y)


def test_results_do_not_depend_on_threads():
    X, Y = noisy_data(q=5)
    first, *others = (
        AdaBoostPDTClassifier(STUMP, random_state=3, n_jobs=jobs).fit(X, Y).predict_proba(X)
        for jobs in (1, 2, 3, None)
    )
    for other in others:
        np.testing.assert_array_equal(other, first)


def test_progress(data, capsys):
    AdaBoostPDTClassifier(verbose=1, n_estimators=2).fit(*data)
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 4
    assert shown[-1].startswith("[AdaBoostPDTClassifier] 4 of 4 labels, ")


def test_impossible_parameters_are_named(data):
    with pytest.raises(ValueError, match="'n_estimators' parameter"):
        AdaBoostPDTClassifier(n_estimators=0).fit(*data)
    with pytest.raises(ValueError, match="'estimator' parameter"):
        AdaBoostPDTClassifier("J48").fit(*data)
