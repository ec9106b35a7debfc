"""Any classifier with learned cuts: where its scores come from, and what it accepts."""

from inspect import signature

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils._testing import ignore_warnings

from labelkin import BaggingVPCPClassifier, BinaryRelevanceClassifier, MLkNNClassifier
from labelkin.decisions import DecisionClassifier, LabelDecision
from labelkin.metrics import METRICS
from labelkin.metrics._estimators import labels_and_scores
from support.data import make_data


class Recorder(ClassifierMixin, BaseEstimator):
    """Predicts the labels of the rows it was fitted on exactly, and 0.3 for all others."""

    def fit(self, X, y):
        self.seen_ = {int(x[0]): labels for x, labels in zip(X, y, strict=True)}
        self.classes_ = [np.array([0, 1])] * y.shape[1]
        return self

    def predict_proba(self, X):
        unknown = np.full(len(self.classes_), 0.3)
        return np.array([self.seen_.get(int(x[0]), unknown) for x in X], dtype=float)

    def predict(self, X):
        return (self.predict_proba(X) > 0.5).astype(int)


@pytest.mark.parametrize("cv", [3, KFold(4)])
def test_scores_come_from_models_fitted_without_the_row(cv, monkeypatch):
    X, Y = np.arange(40.0)[:, None], make_data(40)[1]
    seen = {}
    fit = LabelDecision.fit
    monkeypatch.setattr(
        LabelDecision, "fit", lambda self, S, Y: fit(self, seen.setdefault("scores", S), Y)
    )
    model = DecisionClassifier(Recorder(), "f1", cv=cv, random_state=0).fit(X, Y)
    assert model.scores_from_ == "cv"
    assert (seen["scores"] == 0.3).all()
    assert model.estimator_.seen_.keys() == set(range(40))


def test_test_labels_cannot_matter(data):
    # Rows outside the training part never enter: any change to them changes nothing.
    X, Y = make_data(120)
    train, test = np.arange(80), np.arange(80, 120)
    shuffled = Y.copy()
    shuffled[test] = np.random.RandomState(1).permutation(Y[test])
    predictions = [
        DecisionClassifier(OneVsRestClassifier(LogisticRegression()), "macro_f1", random_state=0)
        .fit(X[train], labels[train])
        .predict(X[test])
        for labels in (Y, shuffled)
    ]
    np.testing.assert_array_equal(*predictions)


def test_leave_one_out_scores_are_used_where_there_are_some(data):
    X, Y = data
    model = DecisionClassifier(decision="f1").fit(X, Y)
    assert model.scores_from_ == "fit_loo_proba"
    strict = "strict" in signature(MLkNNClassifier.fit_loo_proba).parameters
    loo = MLkNNClassifier().fit_loo_proba(X, Y, **({"strict": True} if strict else {}))
    expected = LabelDecision("f1").fit(loo, Y)
    np.testing.assert_array_equal(model.thresholds_, expected.thresholds_)
    proba = MLkNNClassifier().fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), proba)
    np.testing.assert_array_equal(model.predict(X), expected.apply(proba))


def test_leave_one_out_is_strict_where_possible(data):
    X, Y = data

    class Strict(MLkNNClassifier):
        def fit_loo_proba(self, X, Y, strict=False):
            super().fit_loo_proba(X, Y)
            return np.where(Y, 0.2, 0.1) + 0.6 * strict

    model = DecisionClassifier(Strict(), "micro_f1").fit(X, Y)
    np.testing.assert_allclose(model.thresholds_, 0.75)


@pytest.mark.parametrize("name", ["oob_proba_", "loo_proba_"])
def test_scores_left_by_fit_are_used(name, data):
    X, Y = data

    class WithScores(MLkNNClassifier):
        fit_loo_proba = property()  # hides the method

        def fit(self, X, Y):
            setattr(self, name, np.where(Y, 0.2, 0.1))
            self.inner_ = MLkNNClassifier().fit(X, Y)
            self.classes_ = self.inner_.classes_
            return self

        def predict_proba(self, X):
            return self.inner_.predict_proba(X)

    model = DecisionClassifier(WithScores(), "micro_f1").fit(X, Y)
    assert model.scores_from_ == name
    np.testing.assert_allclose(model.thresholds_, 0.15)


@pytest.mark.parametrize(("decision", "fits"), [("fixed", 1), ("f1", 4)])
def test_folds_are_fitted_only_where_scores_are_needed(decision, fits, monkeypatch):
    X, Y = np.arange(40.0)[:, None], make_data(40)[1]
    count = []
    fit = Recorder.fit
    monkeypatch.setattr(Recorder, "fit", lambda self, X, y: count.append(1) or fit(self, X, y))
    DecisionClassifier(Recorder(), decision, cv=3).fit(X, Y)
    assert len(count) == fits


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(20),
        OneVsRestClassifier(LogisticRegression()),
        BaggingVPCPClassifier(n_estimators=3),
        OneVsRestClassifier(LinearSVC()),
        RidgeClassifier(),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("decision", ["auto", "macro_f1", "cardinality", "fixed"])
def test_any_multi_label_classifier(estimator, decision):
    X, Y = make_data(150)
    model = DecisionClassifier(estimator, decision, cv=3, random_state=0).fit(X, Y)
    assert (model.predict(X) == Y).mean() > 0.7
    if hasattr(estimator, "predict_proba"):
        assert model.predict_proba(X).shape == Y.shape
        assert not hasattr(model, "decision_function")
    else:
        assert not hasattr(model, "predict_proba")
        assert model.decision_function(X).shape == Y.shape
        if decision == "fixed":
            assert (model.thresholds_ == 0).all()


def test_the_seed_decides_and_the_number_of_jobs_does_not():
    X, Y = make_data(100)
    runs = [
        DecisionClassifier(RandomForestClassifier(5), "f1", cv=3, random_state=seed, n_jobs=jobs)
        .fit(X, Y)
        .predict_proba(X)
        for seed, jobs in ((0, 1), (0, 2), (1, 1))
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()


def test_a_pipeline_on_texts():
    texts = ["red rose", "red car", "blue sea", "blue car", "red sea", "blue rose"] * 5
    Y = np.array([["red" in t, "car" in t] for t in texts]).astype(int)
    base = make_pipeline(CountVectorizer(), OneVsRestClassifier(LogisticRegression()))
    model = DecisionClassifier(base, cv=3, random_state=0).fit(texts, sparse.csr_array(Y))
    np.testing.assert_array_equal(model.predict(texts), Y)
    assert not hasattr(model, "n_features_in_")


def test_a_one_dimensional_target():
    X, Y = make_data(80)
    y = np.where(Y[:, 0], "yes", "no")
    for base in (None, LogisticRegression(), LinearSVC(), RandomForestClassifier(10)):
        model = DecisionClassifier(base, "f1", random_state=0).fit(X, y)
        assert set(model.predict(X)) <= {"yes", "no"}
        assert (model.predict(X) == y).mean() > 0.7


@ignore_warnings(category=UserWarning)
def test_more_folds_than_rows(data):
    X, Y = data
    for rows in (1, 2, 3):
        base = OneVsRestClassifier(MLkNNClassifier())
        assert DecisionClassifier(base, "f1").fit(X[:rows], Y[:rows]).predict(X).shape == Y.shape


def test_cuts_improve_their_metric_on_real_data(paper_data):
    X, Y, folds = paper_data("scene")
    train = np.concatenate(folds[1:])
    figures = {}
    for decision in ("fixed", "auto", "f1"):
        model = DecisionClassifier(decision=decision).fit(X[train], Y[train])
        Z = model.predict(X[folds[0]])
        figures[decision] = {m: METRICS[m](Y[folds[0]], Z) for m in ("f1", "hamming_loss")}
    assert figures["f1"]["f1"] > figures["fixed"]["f1"] + 0.04
    assert figures["auto"]["f1"] > figures["fixed"]["f1"] + 0.04
    assert figures["auto"]["hamming_loss"] < figures["fixed"]["hamming_loss"] + 0.005


def test_thresholds_of_single_labels_by_hand():
    X, Y = make_data(120, 4, 3)
    frame = pd.DataFrame(Y, columns=["obesity", "asthma", "gout"])
    for decision in ("fixed", "f1"):
        plain = DecisionClassifier(decision=decision, random_state=0).fit(X, frame)
        model = DecisionClassifier(decision=decision, cut={"gout": 0.2, 0: 0.9}, random_state=0)
        model.fit(X, frame)
        np.testing.assert_array_equal(model.thresholds_, [0.9, plain.thresholds_[1], 0.2])
        proba = model.predict_proba(X)
        np.testing.assert_array_equal(model.predict(X)[:, 2], proba[:, 2] > 0.2)
    listed = DecisionClassifier(decision="fixed", cut=[0.9, 0.5, 0.2]).fit(X, frame)
    np.testing.assert_array_equal(listed.thresholds_, [0.9, 0.5, 0.2])
    numbered = DecisionClassifier(decision="fixed", cut={1: 0.2})
    numbered.fit(X, frame.set_axis([2, 1, 0], axis=1).iloc[:, [1, 0, 2]])
    np.testing.assert_array_equal(numbered.thresholds_, [0.2, 0.5, 0.5])
    none = DecisionClassifier(decision="fixed", cut={}).fit(X, frame)
    np.testing.assert_array_equal(none.thresholds_, 0.5)


def test_bad_thresholds_by_hand():
    X, Y = make_data(40, 4, 3)
    frame = pd.DataFrame(Y, columns=["obesity", "asthma", "gout"])
    for cut, message in (
        ({"obesitas": 0.2}, "'obesitas', which y does not have.*obesity"),
        ({3: 0.2}, "label 3, which y does not have"),
        ({"gout": "low"}, "must be a number, got 'low'"),
        ({"gout": 20}, "must be a probability, got 20"),
        ([0.2, 0.3, 0.4], "cut must be one number, or for decision='fixed' one per label"),
    ):
        with pytest.raises(ValueError, match=message):
            DecisionClassifier(cut=cut).fit(X, frame)


@pytest.mark.parametrize(
    "base", [MLkNNClassifier(), BinaryRelevanceClassifier(LogisticRegression())], ids=["loo", "cv"]
)
def test_unknown_labels(base):
    X, Y = make_data(n=120)
    y = Y.astype(float)
    y[np.random.default_rng(0).random(y.shape) < 0.5] = np.nan
    model = DecisionClassifier(base, "macro_f1", random_state=0).fit(X, y)
    again = LabelDecision("macro_f1").fit(model.training_scores_, y)
    np.testing.assert_array_equal(model.thresholds_, again.thresholds_)
    assert model.predict(X).shape == Y.shape
    in_pipeline = DecisionClassifier(make_pipeline(StandardScaler(), base)).fit(X, y)
    assert in_pipeline.scores_from_ == "cv"
    with pytest.raises(ValueError, match="DecisionClassifier cannot learn from unknown labels"):
        DecisionClassifier(OneVsRestClassifier(LogisticRegression())).fit(X, y)


def test_labels_and_margins_of_one_pass():
    """An evaluation asks for both, also of an estimator without probabilities."""
    X, Y = make_data(60)
    model = DecisionClassifier(OneVsRestClassifier(RidgeClassifier()), "f1", random_state=0)
    labels, scores = labels_and_scores(model.fit(X, Y), X)
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_array_equal(scores, model.decision_function(X))
