"""Cuts against brute force, and the classifier that applies them."""

import itertools
from inspect import signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils._testing import ignore_warnings

from labelkin import BaggingVPCPClassifier, MLkNNClassifier
from labelkin.decisions import DECISIONS, DecisionClassifier, LabelDecision, expected_f1_sets
from labelkin.decisions._cuts import best_cut
from labelkin.metrics import METRICS
from support.data import make_data

SHARED = ["f1", "jaccard", "subset_accuracy", "micro_f1"]
PER_LABEL = ["hamming_loss", "macro_f1", "weighted_f1"]


def sample(n=12, q=3, seed=0, levels=6):
    """Labels that scores say something about; few levels, so that scores tie."""
    rng = np.random.RandomState(seed)
    Y = (rng.random_sample((n, q)) < 0.4).astype(int)
    scores = np.clip(0.25 * Y + 0.7 * rng.random_sample((n, q)), 0, 1)
    return Y, np.round(scores * levels) / levels


def every_cut(scores):
    """One threshold for each way to cut the scores."""
    levels = np.unique(scores)
    return [-1.0, *((levels[1:] + levels[:-1]) / 2), 2.0]


def filled(sets, scores):
    sets = sets.copy()
    for i in np.flatnonzero(~sets.any(axis=1)):
        sets[i, np.argmax(scores[i])] = True
    return sets


def value(name, Y, Z):
    return METRICS[name].sign * METRICS[name](Y, Z)


# ------------------------------------------------------------------------- brute force


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("at_least_one", [False, True])
@pytest.mark.parametrize("name", SHARED)
def test_shared_thresholds_are_optimal(name, at_least_one, seed):
    Y, S = sample(seed=seed)
    decision = LabelDecision(name, at_least_one=at_least_one).fit(S, Y)
    assert len(np.unique(decision.thresholds_)) == 1
    sets = [t < S for t in every_cut(S)]
    if at_least_one:
        sets = [filled(Z, S) for Z in sets]
    best = max(value(name, Y, Z) for Z in sets)
    assert value(name, Y, decision.apply(S)) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", PER_LABEL)
def test_thresholds_of_single_labels_are_optimal(name, seed):
    Y, S = sample(n=8, seed=seed, levels=4)
    decision = LabelDecision(name, at_least_one=False, shrinkage=0).fit(S, Y)
    combinations = itertools.product(*(every_cut(S[:, label]) for label in range(3)))
    best = max(value(name, Y, np.array(t) < S) for t in combinations)
    assert value(name, Y, decision.apply(S)) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("at_least_one", [False, True])
def test_cardinality_is_as_near_as_a_cut_can_be(seed, at_least_one):
    Y, S = sample(seed=seed)
    Z = LabelDecision("cardinality", at_least_one=at_least_one).fit(S, Y).apply(S)
    sets = [filled(t < S, S) if at_least_one else t < S for t in every_cut(S)]
    nearest = min(abs(int(each.sum()) - Y.sum()) for each in sets)
    assert abs(int(Z.sum()) - Y.sum()) == nearest


@pytest.mark.parametrize("name", [*SHARED, *PER_LABEL])
def test_filling_empty_sets_is_chosen_where_it_helps(name):
    for seed in range(5):
        Y, S = sample(seed=seed)
        results = {
            choice: LabelDecision(name, at_least_one=choice).fit(S, Y)
            for choice in (False, True, "auto")
        }
        values = {choice: value(name, Y, d.apply(S)) for choice, d in results.items()}
        assert values["auto"] == max(values.values())


@pytest.mark.parametrize("q", [1, 2, 5])
def test_expected_f1_against_all_label_sets(q):
    rng = np.random.RandomState(q)
    P = rng.random_sample((20, q)) ** 2
    sets = np.array(list(itertools.product([0, 1], repeat=q)))
    sizes = np.maximum(sets.sum(axis=1)[:, None] + sets.sum(axis=1), 1)
    f1 = 2 * (sets @ sets.T) / sizes
    f1[0, 0] = 1  # two empty sets
    for p, chosen in zip(P, expected_f1_sets(P), strict=True):
        expected = f1 @ np.prod(np.where(sets, p, 1 - p), axis=1)
        which = np.flatnonzero((sets == chosen).all(axis=1))
        assert expected[which] == pytest.approx(expected.max(), abs=1e-12)


def test_expected_f1_with_many_labels():
    P = np.full((3, 300), 0.01)
    P[:, 7] = [0.9, 0.2, 0.0]
    Z = expected_f1_sets(P)
    assert Z[0].nonzero()[0].tolist() == [7]
    assert Z.sum(axis=1).max() <= 64


# ---------------------------------------------------------------------------- properties

matrices = st.integers(1, 12).flatmap(
    lambda n: st.integers(1, 4).flatmap(
        lambda q: st.tuples(
            st.lists(st.integers(0, 1), min_size=n * q, max_size=n * q),
            st.lists(st.integers(0, 5), min_size=n * q, max_size=n * q),
        ).map(lambda c: (np.reshape(c[0], (n, q)), np.reshape(c[1], (n, q)) / 5))
    )
)


@settings(max_examples=60, deadline=None)
@given(matrices, st.sampled_from(DECISIONS))
def test_never_worse_than_one_half_where_it_was_learned(data, name):
    Y, S = data
    decision = LabelDecision(name, shrinkage=0).fit(S, Y)
    Z = decision.apply(S)
    assert Z.shape == Y.shape
    assert Z.dtype == bool
    if decision.metric_:
        fixed = value(decision.metric_, Y, S > 0.5)
        assert value(decision.metric_, Y, Z) >= fixed - 1e-9


@settings(max_examples=60, deadline=None)
@given(matrices, st.sampled_from(["cardinality", "auto", *SHARED]))
def test_the_order_of_rows_and_labels_does_not_matter(data, name):
    Y, S = data
    rows, labels = np.random.RandomState(0).permutation(len(Y)), np.arange(Y.shape[1])[::-1]
    first = LabelDecision(name, at_least_one=False).fit(S, Y)
    again = LabelDecision(name, at_least_one=False).fit(S[rows][:, labels], Y[rows][:, labels])
    np.testing.assert_array_equal(first.apply(S), again.apply(S[:, labels])[:, labels])


@settings(max_examples=60, deadline=None)
@given(matrices, st.sampled_from(sorted(set(DECISIONS) - {"fixed", "expected_f1"})))
def test_stretched_scores_give_the_same_sets(data, name):
    # Doubling is exact in binary, so that the shrunken thresholds double as well.
    Y, S = data
    first = LabelDecision(name).fit(S, Y).apply(S)
    again = LabelDecision(name, cut=1.0).fit(2 * S, Y).apply(2 * S)
    np.testing.assert_array_equal(first, again)


# ------------------------------------------------------------------------- where cuts lie


def test_cuts_lie_between_scores_and_stay_at_the_reference_where_they_can():
    ordered = np.array([0.9, 0.7, 0.3, 0.1])
    assert best_cut(ordered, np.array([0, 1, 2, 1, 0.0]), 0.5) == 0.5
    assert best_cut(ordered, np.array([0, 1, 2, 1, 0.0]), 0.8) == 0.5
    assert best_cut(ordered, np.array([0, 1, 0, 2, 0.0]), 0.5) == pytest.approx(0.2)
    assert best_cut(ordered, np.array([1, 0, 0, 0, 0.0]), 0.5) == 0.9
    assert best_cut(ordered, np.array([0, 0, 0, 0, 1.0]), 0.5) < 0.1
    assert best_cut(ordered, np.array([1, 0, 0, 1, 0.0]), 0.5) == pytest.approx(0.2)
    # No cut goes through equal scores, however good it would be.
    assert best_cut(np.array([0.7, 0.7]), np.array([0, 5, 1.0]), 0.5) == 0.5


def test_rare_labels_are_drawn_to_the_shared_threshold():
    rng = np.random.RandomState(0)
    Y = (rng.random_sample((400, 2)) < [0.5, 0.01]).astype(int)
    S = np.clip(0.3 * Y + 0.6 * rng.random_sample(Y.shape), 0, 1)
    own = LabelDecision("macro_f1", shrinkage=0).fit(S, Y).thresholds_
    some = LabelDecision("macro_f1", shrinkage=20).fit(S, Y).thresholds_
    shared = LabelDecision("macro_f1", shrinkage=1e12).fit(S, Y).thresholds_
    assert shared[0] == pytest.approx(shared[1])
    counts = np.minimum(Y.sum(axis=0), len(Y) - Y.sum(axis=0))
    trust = counts / (counts + 20)
    assert own[1] != shared[1]
    np.testing.assert_allclose(some, trust * own + (1 - trust) * shared)


def test_constant_labels_stay_constant():
    Y, S = sample()
    Y[:, 0], Y[:, 1] = 0, 1
    for name in set(DECISIONS) - {"fixed", "expected_f1"}:
        decision = LabelDecision(name, at_least_one=True).fit(S, Y)
        Z = decision.apply(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
        assert not Z[:, 0].any()
        assert Z[:, 1].all()


def test_rows_without_scores_are_left_out():
    Y, S = sample(n=30)
    S[::3] = np.nan
    known = np.isfinite(S[:, 0])
    for name in DECISIONS:
        all_rows = LabelDecision(name).fit(S, Y)
        np.testing.assert_array_equal(
            all_rows.thresholds_, LabelDecision(name).fit(S[known], Y[known]).thresholds_
        )
    none = LabelDecision("f1").fit(np.full(S.shape, np.nan), Y)
    assert (none.thresholds_ == 0.5).all()


@pytest.mark.parametrize(
    ("name", "why"),
    [("nonsense", "is not known"), ("recall", "every label"), ("coverage", "metric of rankings")],
)
def test_what_is_no_decision(name, why):
    with pytest.raises(ValueError, match=why):
        LabelDecision(name).fit(*sample()[::-1])
    with pytest.raises(ValueError, match=why):
        DecisionClassifier(decision=name).fit(*make_data())


def test_bad_scores():
    Y, S = sample()
    with pytest.raises(ValueError, match="same shape"):
        LabelDecision().fit(S[:, :2], Y)
    with pytest.raises(ValueError, match="one column per label"):
        LabelDecision().fit(S, Y).apply(S[:, :2])
    with pytest.raises(ValueError, match="between 0 and 1"):
        LabelDecision("expected_f1").fit(S, Y).apply(S + 1)


# ------------------------------------------------------------------------ the classifier


class Recorder(ClassifierMixin, BaseEstimator):
    """Knows by heart the labels of the rows it was fitted on, and of no other."""

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
def test_no_row_is_judged_by_a_model_that_saw_it(cv, monkeypatch):
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


def test_strict_leave_one_out_is_asked_for(data):
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


@pytest.mark.parametrize(("decision", "fits"), [("fixed", 1), ("expected_f1", 1), ("f1", 4)])
def test_no_fold_is_fitted_for_nothing(decision, fits, monkeypatch):
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


def test_it_pays_on_real_data(paper_data):
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
