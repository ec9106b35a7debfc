import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelkin import (
    BaggingVPCPClassifier,
    MLkNNClassifier,
    PairwiseConstraintProjection,
    VPCMEClassifier,
)
from labelkin.constraints import ConstraintSampler, draw_constraints
from labelkin.datasets import load_digit_scenes
from labelkin.ensemble._vpcme import reweight
from labelkin.metrics import average_precision
from labelkin.projection import feature_importances
from support.data import make_data

BOTH = pytest.mark.parametrize("Ensemble", [VPCMEClassifier, BaggingVPCPClassifier])


# ------------------------------------------------------------------------- the algorithm


def test_weights_of_two_rounds_by_hand():
    weights = np.full(4, 0.25)
    # Round 1: two of four wrong, θ = 1/2 of the same round. 3/8 3/8 1/4 1/4 before normalising.
    weights = reweight(weights, np.array([True, True, False, False]), 0.5)
    np.testing.assert_allclose(weights, np.array([3, 3, 2, 2]) / 10)
    # Round 2: one wrong, by the error of round 1, 1/2: 4.5 3 2 2.
    weights = reweight(weights, np.array([True, False, False, False]), 0.5)
    np.testing.assert_allclose(weights, np.array([9, 6, 4, 4]) / 23)


class Scripted(MLkNNClassifier):
    """A base whose left-out predictions are wrong on given samples, round after round."""

    script: list = []

    def fit_loo_proba(self, X, Y):
        super().fit_loo_proba(X, Y)
        wrong = self.script.pop(0)
        labels = Y.astype(float)
        labels[wrong, 0] = 1 - labels[wrong, 0]
        return labels


def test_vpcme_weights_use_the_error_of_the_round_before(data):
    X, Y = data
    n = len(X)
    rounds = [np.arange(30), np.arange(6), np.array([], dtype=int)]
    Scripted.script = list(rounds)
    model = VPCMEClassifier(Scripted(), n_estimators=3, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.errors_, [30 / n, 6 / n, 0])
    w = np.full(n, 1 / n)
    for wrong, theta in zip(rounds, [30 / n, 30 / n, 6 / n], strict=True):
        w[wrong] *= 1 + theta
    np.testing.assert_allclose(model.sample_weights_, w / w.sum())


def test_misclassified_means_another_label_set_with_the_sample_left_out(data):
    X, Y = data
    model = VPCMEClassifier(n_estimators=1, random_state=0).fit(X, Y)
    Z = model.projections_[0].transform(X)
    left_out = MLkNNClassifier().fit_loo_proba(Z, Y) > 0.5
    assert model.errors_[0] == (left_out != Y).any(axis=1).mean()


def test_members_draw_by_the_weights(data):
    """Push the weights onto ten samples; the later members draw nearly all pairs there."""
    X, Y = data
    Scripted.script = [np.arange(10)] * 40
    model = VPCMEClassifier(Scripted(), n_estimators=40, random_state=0).fit(X, Y)
    drawn = [(p.cannot_link_ < 10).mean() for p in model.projections_]
    assert np.mean(drawn[:2]) < 0.4
    assert np.mean(drawn[-2:]) > 0.9
    Scripted.script = [np.arange(10)] * 40
    model = BaggingVPCPClassifier(Scripted(), n_estimators=40, n_jobs=1, random_state=0).fit(X, Y)
    assert np.mean([(p.cannot_link_ < 10).mean() for p in model.projections_[-2:]]) < 0.4
    np.testing.assert_allclose(model.sample_weights_, 1 / len(X))


def test_boosting_begins_with_the_weights_given(data):
    X, Y = data
    first = np.arange(1.0, len(X) + 1)
    model = VPCMEClassifier(n_estimators=2, random_state=0).fit(X, Y, sample_weight=first)
    w, theta = first, model.errors_[0]
    for projection in model.projections_:
        wrong = MLkNNClassifier().fit_loo_proba(projection.transform(X), Y) > 0.5
        w = np.where((wrong != Y).any(axis=1), w * (1 + theta), w)
    np.testing.assert_allclose(model.sample_weights_, w / w.sum())


@pytest.mark.parametrize(
    "settings",
    [{}, {"bag": 0.5}],
    ids=repr,
)
@BOTH
def test_samples_of_weight_zero_are_in_no_pair(Ensemble, settings, data):
    X, Y = data
    weight = (np.arange(len(X)) < 30) * np.linspace(1, 3, len(X))
    model = Ensemble(n_estimators=6, random_state=0, **settings)
    model.fit(X, Y, sample_weight=weight)
    for projection in model.projections_:
        assert projection.must_link_.max() < 30
        assert projection.cannot_link_.max() < 30
    assert model.sample_weights_.sum() == pytest.approx(1)
    assert not model.sample_weights_[30:].any()
    assert model.estimators_[0].n_features_in_ <= X.shape[1]
    equal = Ensemble(n_estimators=6, random_state=0, **settings).fit(X, Y)
    same = Ensemble(n_estimators=6, random_state=0, **settings).fit(X, Y, np.full(len(X), 3.0))
    np.testing.assert_array_equal(same.predict_proba(X), equal.predict_proba(X))


@BOTH
def test_a_bag_without_any_weight(Ensemble, data):
    """The one sample that counts is outside most bags: pairs are drawn as without weights."""
    X, Y = data
    weight = np.zeros(len(X))
    weight[3] = 1.0
    model = Ensemble(n_estimators=6, bag=0.3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a single sample makes no pair
        model.fit(X, Y, sample_weight=weight)
    assert np.isfinite(model.predict_proba(X)).all()


@BOTH
def test_bad_weights(Ensemble, data):
    X, Y = data
    for weight in (np.zeros(len(X)), -np.ones(len(X)), np.full(len(X), np.nan)):
        with pytest.raises(ValueError, match="at least 0, and not only zeros"):
            Ensemble(n_estimators=2).fit(X, Y, sample_weight=weight)
    with pytest.raises(ValueError, match="one entry per sample"):
        Ensemble(n_estimators=2).fit(X, Y, sample_weight=np.ones(3))


@BOTH
def test_members_are_fitted_in_their_projection(Ensemble, data):
    X, Y = data
    model = Ensemble(n_estimators=3, random_state=0).fit(X, Y)
    for projection, estimator in zip(model.projections_, model.estimators_, strict=True):
        np.testing.assert_allclose(
            projection.transform(X),
            estimator._counts.search.X + (estimator._counts.search.offset or 0),
            atol=1e-12,
        )


def test_first_member_draws_as_the_projection_does(data):
    X, Y = data
    model = BaggingVPCPClassifier(n_estimators=1, threshold=0.5, random_state=0).fit(X, Y)
    projection = model.projections_[0]
    assert isinstance(projection, PairwiseConstraintProjection)
    again = PairwiseConstraintProjection(0.5).fit_pairs(
        X, projection.must_link_, projection.cannot_link_
    )
    np.testing.assert_allclose(again.components_, projection.components_, atol=1e-12)
    assert len(projection.must_link_) == len(draw_constraints(Y)[0]) == len(X)


@BOTH
def test_a_member_draws_its_threshold_and_its_pairs(Ensemble, data):
    X, Y = data
    model = Ensemble(n_estimators=1, random_state=0).fit(X, Y)
    rng = np.random.RandomState(np.random.RandomState(0).randint(2**31 - 1, size=1)[0])
    rng.uniform(0.6, 0.6)
    must_link, cannot_link = ConstraintSampler(Y).draw(0.6, len(X), len(X), None, rng)
    np.testing.assert_array_equal(model.projections_[0].must_link_, must_link)
    np.testing.assert_array_equal(model.projections_[0].cannot_link_, cannot_link)


@BOTH
def test_feature_importances(Ensemble):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((200, 4))
    Y = np.column_stack([X[:, 2] > 0, X[:, 2] < 0]).astype(int)
    model = Ensemble(n_estimators=4, random_state=0).fit(X, Y)
    assert model.feature_importances_.shape == (4,)
    assert model.feature_importances_.argmax() == 2
    assert model.feature_importances_.sum() == pytest.approx(1)
    np.testing.assert_array_equal(model.feature_importances_, feature_importances(model))
    assert not hasattr(Ensemble(), "feature_importances_")


# ------------------------------------------------------------------------------- the vote


class Fixed(ClassifierMixin, BaseEstimator):
    """A base classifier whose members have fixed probabilities, one row of `votes` each."""

    votes: list = []

    def fit(self, X, Y):
        self.answer_ = np.array(self.votes.pop(0))
        return self

    def predict_proba(self, X):
        return np.tile(self.answer_, (len(X), 1))

    def predict(self, X):
        return (self.predict_proba(X) > 0.5).astype(int)


def vote_of(votes, data, voting):
    X, Y = data
    Fixed.votes = list(votes)
    model = VPCMEClassifier(Fixed(), n_estimators=len(votes), voting=voting, random_state=0)
    model.fit(X, Y[:, :3])
    return model.predict_proba(X[:1])[0], model.predict(X[:1])[0]


def test_votes_by_hand(data):
    # Two members. Label 0: both yes. Label 1: a tie, mean 0.55. Label 2: a tie, mean 0.35.
    votes = [(0.9, 0.9, 0.6), (0.6, 0.2, 0.1)]
    proba, hard = vote_of(votes, data, "hard")
    np.testing.assert_allclose(proba, [0.75, 0.55, 0.35])
    assert hard.tolist() == [1, 1, 0]
    # Three members. Label 0: two of three say no, though the mean says yes.
    votes = [(0.45, 0.6, 0.0), (0.45, 0.6, 0.0), (1.0, 0.0, 0.0)]
    proba, hard = vote_of(votes, data, "hard")
    _, soft = vote_of(votes, data, "soft")
    assert hard.tolist() == [0, 1, 0]
    assert soft.tolist() == [1, 0, 0]


@BOTH
@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_stages_are_what_smaller_ensembles_say(Ensemble, voting, data):
    X, Y = data
    settings = {"voting": voting, "random_state": 0}
    model = Ensemble(n_estimators=4, **settings).fit(X, Y)
    stages = list(model.staged_predict_proba(X))
    labels = list(model.staged_predict(X))
    assert len(stages) == len(labels) == 4
    for m in range(4):
        # The first m of the same seeds are the same members.
        smaller = Ensemble(n_estimators=m + 1, **settings).fit(X, Y)
        np.testing.assert_allclose(stages[m], smaller.predict_proba(X), atol=1e-12)
        np.testing.assert_array_equal(labels[m], smaller.predict(X))
    np.testing.assert_array_equal(stages[-1], model.predict_proba(X))


# ----------------------------------------------------------------------------- the options


@BOTH
def test_same_results_for_every_n_jobs(Ensemble):
    X, Y = make_data(300, 12, 5)
    X[::9] = X[0]
    one = Ensemble(n_estimators=5, n_jobs=1, random_state=0).fit(X, Y)
    for n_jobs in (None, 2, -1):
        other = Ensemble(n_estimators=5, n_jobs=n_jobs, random_state=0).fit(X, Y)
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
        np.testing.assert_array_equal(one.sample_weights_, other.sample_weights_)


@BOTH
def test_threshold_range(Ensemble, data):
    X, Y = data
    model = Ensemble(n_estimators=6, threshold=(0.2, 0.9), random_state=0).fit(X, Y)
    assert len(set(model.thresholds_)) == 6
    assert (model.thresholds_ >= 0.2).all()
    assert (model.thresholds_ <= 0.9).all()
    fixed = Ensemble(n_estimators=2, threshold=0.6, random_state=0).fit(X, Y)
    assert fixed.thresholds_.tolist() == [0.6, 0.6]


@BOTH
@pytest.mark.parametrize("threshold", [(0.9, 0.2), (0.1, 1.2), (0.1,), ("a", "b"), [0, 0.5, 1]])
def test_bad_threshold_ranges(Ensemble, threshold, data):
    with pytest.raises(ValueError, match=r"threshold must be a number in \[0, 1\] or a pair"):
        Ensemble(threshold=threshold).fit(*data)


@BOTH
@pytest.mark.parametrize("threshold", [-0.1, 1.1, "best"])
def test_bad_thresholds(Ensemble, threshold, data):
    with pytest.raises(ValueError, match="'threshold' parameter"):
        Ensemble(threshold=threshold).fit(*data)


@BOTH
def test_missing_kinds_warn_once(Ensemble, data):
    X, _ = data
    with pytest.warns(UserWarning, match="cannot-link") as caught:
        Ensemble(n_estimators=4).fit(X, np.ones((len(X), 2), dtype=int))
    assert len(caught) == 1


BASES = {
    "neighbours": KNeighborsClassifier(3),
    "forest": RandomForestClassifier(5),
    "one-vs-rest": OneVsRestClassifier(LogisticRegression()),
    "multi-output": MultiOutputClassifier(LogisticRegression()),
    "chain": ClassifierChain(LogisticRegression()),
    "no probabilities": RidgeClassifier(),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(5)),
    "vpcme": VPCMEClassifier(n_estimators=2),
}


@BOTH
@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize("q", [1, 3])
def test_any_multilabel_classifier_as_base(Ensemble, base, q):
    X, Y = make_data(80, 6, q)
    models = [Ensemble(base, n_estimators=3, random_state=0).fit(X, Y) for _ in range(2)]
    first, again = (m.predict_proba(X) for m in models)
    np.testing.assert_array_equal(first, again)  # the bases' own randomness is seeded
    assert first.shape == (80, q)
    assert models[0].predict(X).shape == (80, q)
    assert average_precision(Y, first) > 0.7


@BOTH
def test_verbose_shows_each_member(Ensemble, data, capsys):
    Ensemble(n_estimators=3, verbose=1, random_state=0).fit(*data)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "member 3 of 3" in lines[-1]
    Ensemble(n_estimators=1, random_state=0).fit(*data)
    assert capsys.readouterr().out == ""


@BOTH
@pytest.mark.parametrize("shape", [(60, 8), (20, 45)])
def test_sparse_equals_dense(Ensemble, shape):
    X, Y = make_data(*shape)
    X[np.abs(X) < 0.5] = 0
    dense = Ensemble(n_estimators=3, random_state=0).fit(X, Y)
    sparse_model = Ensemble(n_estimators=3, random_state=0).fit(
        sparse.csr_matrix(X), sparse.csr_matrix(Y)
    )
    np.testing.assert_allclose(
        sparse_model.predict_proba(sparse.csr_matrix(X)), dense.predict_proba(X), atol=1e-10
    )


# -------------------------------------------------------------------------------- accuracy


def test_vpcme_beats_mlknn_on_digit_scenes():
    scenes = load_digit_scenes(1000, random_state=0)
    train, test = scenes.split == 0, scenes.split == 1
    X, Y = scenes.data[train], scenes.target[train]
    figures = [
        average_precision(scenes.target[test], model.fit(X, Y).predict_proba(scenes.data[test]))
        for model in (MLkNNClassifier(), VPCMEClassifier(n_estimators=15, random_state=0))
    ]
    assert figures[1] > figures[0] + 0.03


def test_no_label_of_the_test_rows_reaches_training():
    """Shuffling the labels of held-out rows changes no prediction: they are never seen."""
    X, Y = make_data(120, 5)
    train, test = np.arange(80), np.arange(80, 120)
    before = VPCMEClassifier(n_estimators=3, random_state=0).fit(X[train], Y[train])
    Y[test] = Y[test][::-1]
    after = VPCMEClassifier(n_estimators=3, random_state=0).fit(X[train], Y[train])
    np.testing.assert_array_equal(before.predict_proba(X[test]), after.predict_proba(X[test]))


def test_accuracy_on_yeast(paper_data):
    """One fold with a third of the members: near the design's figures, above ML-kNN's."""
    X, Y, folds = paper_data("yeast")
    train = np.setdiff1d(np.arange(len(Y)), folds[0])
    model = VPCMEClassifier(n_estimators=10, random_state=0).fit(X[train], Y[train])
    plain = MLkNNClassifier().fit(X[train], Y[train])
    ours, base = (
        average_precision(Y[folds[0]], m.predict_proba(X[folds[0]])) for m in (model, plain)
    )
    assert ours > 0.74
    assert ours > base - 0.005
