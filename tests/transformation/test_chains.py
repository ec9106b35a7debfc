"""Chains and binary relevance: against scikit-learn's, against Mulan, by hand."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.tree import DecisionTreeClassifier

from labelkin.metrics import evaluate
from labelkin.transformation import BinaryRelevanceClassifier, ChainClassifier
from labelkin.tree import C45TreeClassifier
from support.data import make_data
from support.mulan import break_ties_as_mulan

# -------------------------------------------------------------------- against scikit-learn


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    "base",
    [
        LogisticRegression(),
        DecisionTreeClassifier(min_samples_leaf=7, random_state=0),
        C45TreeClassifier(nominal_features="binary"),
    ],
)
def test_a_chain_is_scikit_learns(base, form):
    X, Y = make_data(150, 5, 4)
    order = [2, 0, 3, 1]
    train, test = form(X[:100]), form(X[100:])
    ours = ChainClassifier(base, order=order).fit(train, Y[:100])
    theirs = ClassifierChain(clone(base), order=order).fit(train, Y[:100])
    proba = ours.predict_proba(test)
    assert not (proba == 0.5).any()  # there the two differ
    np.testing.assert_allclose(proba, theirs.predict_proba(test), rtol=1e-9)
    np.testing.assert_array_equal(ours.predict(test), theirs.predict(test))


@pytest.mark.parametrize("nominal", [None, "binary"])
def test_labels_are_columns_to_a_tree(nominal):
    X, Y = make_data(100, 5, 4)
    X[:, 1] = X[:, 1] > 0
    chain = ChainClassifier(C45TreeClassifier(nominal_features=nominal)).fit(X, Y)
    for place, link in enumerate(chain.estimators_[0][1:], start=1):
        alone = C45TreeClassifier(nominal_features=nominal)
        alone.fit(np.hstack([X, Y[:, :place]]), Y[:, place])
        assert link.export_text() == alone.export_text()


@pytest.mark.parametrize("base", [LogisticRegression(), C45TreeClassifier()])
def test_binary_relevance_is_scikit_learns(base):
    X, Y = make_data(150, 5, 4)
    ours = BinaryRelevanceClassifier(base).fit(X[:100], Y[:100])
    theirs = MultiOutputClassifier(clone(base)).fit(X[:100], Y[:100])
    expected = np.column_stack([p[:, 1] for p in theirs.predict_proba(X[100:])])
    np.testing.assert_allclose(ours.predict_proba(X[100:]), expected)
    np.testing.assert_array_equal(ours.predict(X[100:]), theirs.predict(X[100:]))


# ------------------------------------------------------------------------------- by hand


def test_labels_are_passed_on():
    """The second label is the first, turned round by a feature: alone no tree gets it."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, (600, 2))
    first = np.sin(7 * X[:, 0]) > 0
    Y = np.column_stack([first, first ^ (X[:, 1] > 0.8)]).astype(int)
    chain = ChainClassifier().fit(X[:400], Y[:400])
    assert chain.estimators_[0][1].tree_.feature[0] == 2
    alone = BinaryRelevanceClassifier().fit(X[:400], Y[:400])
    wrong = [(m.predict(X[400:]) != Y[400:]).mean(axis=0)[1] for m in (chain, alone)]
    assert wrong[0] < wrong[1]


class Recorder(DecisionTreeClassifier):
    """A tree that keeps what it is shown."""

    seen: list = []

    def fit(self, X, y):
        self.seen.append(("fit", X.copy(), y.copy()))
        return super().fit(X, y)

    def predict_proba(self, X):
        self.seen.append(("predict", X.copy(), None))
        return super().predict_proba(X)


def test_true_labels_in_training_hard_predictions_after():
    X, Y = make_data(60, 3, 3)
    Recorder.seen.clear()
    chain = ChainClassifier(Recorder(max_depth=1), order=[1, 2, 0], n_jobs=1).fit(X, Y)
    fits = list(Recorder.seen)
    for place, (_, rows, target) in enumerate(fits):
        np.testing.assert_array_equal(rows, np.hstack([X, Y[:, [1, 2, 0]][:, :place]]))
        np.testing.assert_array_equal(target, Y[:, [1, 2, 0][place]])
    Recorder.seen.clear()
    predicted = chain.predict(X)
    assert (predicted != Y).any()
    for place, (_, rows, _) in enumerate(list(Recorder.seen)):
        np.testing.assert_array_equal(rows, np.hstack([X, predicted[:, [1, 2, 0]][:, :place]]))


@pytest.mark.parametrize("Classifier", [BinaryRelevanceClassifier, ChainClassifier])
def test_one_half_is_positive(Classifier):
    X, Y = np.zeros((8, 1)), np.repeat([[0, 1], [1, 0]], 4, axis=0)
    model = Classifier().fit(X, Y)
    assert model.predict_proba(X[:1])[0, 0] == 0.5
    assert model.predict(X[:1])[0, 0] == 1


# --------------------------------------------------------------------------- awkward labels

BASES = [None, LogisticRegression(), RidgeClassifier(), DecisionTreeClassifier(random_state=0)]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(
    "model", [BinaryRelevanceClassifier(), ChainClassifier(), ChainClassifier(n_estimators=3)]
)
def test_labels_always_on_and_always_off(model, base):
    X, Y = make_data(60, 4, 2)
    Y = np.column_stack([np.ones(60), Y[:, 0], np.zeros(60), Y[:, 1]]).astype(int)
    model = clone(model).set_params(estimator=base, random_state=0).fit(X, Y)
    labels, proba = model.predict(X), model.predict_proba(X)
    assert labels[:, 0].all()
    assert not labels[:, 2].any()
    assert (proba[:, 0] == 1).all()
    assert (proba[:, 2] == 0).all()
    assert (labels[:, [1, 3]] == Y[:, [1, 3]]).mean() > 0.8


@pytest.mark.parametrize("q", [1, 2])
def test_few_labels(q):
    X, Y = make_data(60, 4, q)
    for model in (ChainClassifier(), ChainClassifier(n_estimators=3, random_state=0)):
        assert model.fit(X, Y).predict(X).shape == (60, q)
    if q == 1:
        alone = C45TreeClassifier(nominal_features="binary").fit(X, Y[:, 0])
        np.testing.assert_array_equal(
            ChainClassifier().fit(X, Y).predict_proba(X)[:, 0], alone.predict_proba(X)[:, 1]
        )


def test_label_sets_never_seen_can_be_predicted():
    X = np.array([[0.0, 0], [0, 1], [1, 0]] * 10)
    Y = X.astype(int)  # never both
    model = BinaryRelevanceClassifier().fit(X, Y)
    assert model.predict([[1.0, 1.0]]).tolist() == [[1, 1]]
    assert ChainClassifier().fit(X, Y).predict([[1.0, 1.0]]).shape == (1, 2)


def test_several_chains_are_the_mean_of_single_ones():
    X, Y = make_data(120, 5, 4)
    ensemble = ChainClassifier(n_estimators=6, random_state=3).fit(X[:80], Y[:80])
    assert len({tuple(order) for order in ensemble.orders_}) > 1
    assert all(sorted(order) == [0, 1, 2, 3] for order in ensemble.orders_)
    single = [ChainClassifier(order=order).fit(X[:80], Y[:80]) for order in ensemble.orders_]
    proba = np.mean([chain.predict_proba(X[80:]) for chain in single], axis=0)
    votes = np.mean([chain.predict(X[80:]) for chain in single], axis=0)
    np.testing.assert_allclose(ensemble.predict_proba(X[80:]), proba)
    assert (votes == 0.5).any()
    expected = (votes > 0.5) | ((votes == 0.5) & (proba >= 0.5))
    np.testing.assert_array_equal(ensemble.predict(X[80:]), expected)
    soft = ensemble.set_params(voting="soft").predict(X[80:])
    np.testing.assert_array_equal(soft, proba >= 0.5)


def test_orders_and_seeds():
    X, Y = make_data()
    assert ChainClassifier().fit(X, Y).orders_.tolist() == [[0, 1, 2, 3]]
    assert ChainClassifier(order="natural").fit(X, Y).orders_.tolist() == [[0, 1, 2, 3]]
    drawn = [ChainClassifier(order="random", random_state=s).fit(X, Y).orders_ for s in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()
    base = DecisionTreeClassifier(splitter="random")
    first, again = (
        ChainClassifier(base, n_estimators=3, random_state=0).fit(X, Y).predict_proba(X + 0.1)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize(
    "model",
    [
        BinaryRelevanceClassifier(),
        ChainClassifier(),
        ChainClassifier(n_estimators=5, random_state=0),
        ChainClassifier(DecisionTreeClassifier(max_features=1), n_estimators=5, random_state=0),
    ],
)
def test_threads_change_nothing(model):
    X, Y = make_data(100, 5, 6)
    one, three = (
        clone(model).set_params(n_jobs=n_jobs).fit(X, Y).predict_proba(X) for n_jobs in (1, 3)
    )
    np.testing.assert_array_equal(one, three)


def test_progress(capsys):
    X, Y = make_data()
    ChainClassifier(n_estimators=2, verbose=2, random_state=0).fit(X, Y)
    BinaryRelevanceClassifier(verbose=1).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8 + 4
    assert re.fullmatch(r"\[ChainClassifier\] 8 of 8 links, \d+\.\d s", lines[7])
    assert re.fullmatch(r"\[BinaryRelevanceClassifier\] 4 of 4 labels, \d+\.\d s", lines[-1])


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 1, 2, 2], [1, 2, 3, 4], ["a", "b", "c", "d"]])
def test_bad_orders(order):
    X, Y = make_data()
    with pytest.raises(ValueError, match="order must hold each label's column number once, 0 to 3"):
        ChainClassifier(order=order).fit(X, Y)


def test_other_refusals():
    X, Y = make_data()
    with pytest.raises(ValueError, match="'order' parameter of ChainClassifier"):
        ChainClassifier(order="shuffled").fit(X, Y)
    for order in ("natural", [3, 2, 1, 0]):
        with pytest.raises(ValueError, match="would make all 5 chains the same"):
            ChainClassifier(order=order, n_estimators=5).fit(X, Y)
    with pytest.raises(ValueError, match="'estimator' parameter of ChainClassifier"):
        ChainClassifier(estimator=3).fit(X, Y)


def test_many_labels():
    X, Y = make_data(300, 20, 100)
    model = ChainClassifier(n_jobs=1).fit(X, Y)
    assert model.predict(X).shape == Y.shape


# --------------------------------------------------------------- against Mulan, on its folds


@pytest.mark.parametrize("name", ["yeast", "medical", "genbase"])
@pytest.mark.parametrize(
    ("learner", "model"), [("BR", BinaryRelevanceClassifier()), ("CC", ChainClassifier())]
)
def test_equal_to_mulan(paper_data, mulan, name, learner, model):
    X, Y, folds = paper_data(name)
    theirs = mulan[name][learner]
    for fold, test in enumerate(folds[: 2 if name == "yeast" else 5]):
        train = np.setdiff1d(np.arange(len(Y)), test)
        model.fit(X[train], Y[train])
        scores = break_ties_as_mulan(model.predict_proba(X[test]))
        ours = evaluate(Y[test], scores, model.predict(X[test]))
        for metric, mulans in {
            "hamming_loss": "HammingLoss",
            "ranking_loss": "RankingLoss",
            "one_error": "OneError",
            "coverage": "Coverage",
            "average_precision": "AveragePrecision",
        }.items():
            assert ours[metric] == pytest.approx(theirs[mulans][fold], abs=5e-4), (metric, fold)
