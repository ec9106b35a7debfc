"""Out-of-bag predictions: out-of-sample, and what the weights follow."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier

from labelkin import BaggingVPCPClassifier, IBLRClassifier, MLkNNClassifier, VPCMEClassifier
from labelkin.calibration._curves import SlopeCalibration
from labelkin.constraints import ConstraintSampler, draw_bag, label_similarity
from labelkin.ensemble._vpcme import MAX_WEIGHT, bound_weights, reweight
from labelkin.metrics import METRICS, average_precision, hamming_loss
from support.data import make_data

BOTH = pytest.mark.parametrize("Ensemble", [VPCMEClassifier, BaggingVPCPClassifier])
NEVER_OUT = pytest.mark.filterwarnings("ignore:.*no out-of-bag prediction:UserWarning")


def member_seeds(n_members, random_state=0):
    """Return the seeds that an ensemble gives its members."""
    return np.random.RandomState(random_state).randint(2**31 - 1, size=n_members)


def outside_of(n, share, seed):
    return np.setdiff1d(np.arange(n), draw_bag(n, share, seed))


# ---------------------------------------------------------------------------------- bags


@pytest.mark.parametrize(
    ("n", "share", "size"),
    [(100, 0.6, 60), (10, 0.01, 2), (10, 0.999, 9), (3, 0.5, 2), (2, 0.5, 2), (1, 0.5, 1)],
)
def test_sizes_of_bags(n, share, size):
    bag = draw_bag(n, share, seed=1)
    assert len(bag) == size
    assert len(set(bag)) == size
    assert (np.diff(bag) > 0).all()


def test_bags_differ_by_seed_and_cover_everyone():
    bags = [draw_bag(50, 0.6, seed) for seed in range(200)]
    share = np.bincount(np.concatenate(bags), minlength=50) / 200
    assert share.min() > 0.45
    assert share.max() < 0.75
    np.testing.assert_array_equal(draw_bag(50, 0.6, 7), bags[7])


def test_pairs_stay_in_the_bag_and_follow_the_weights():
    _, Y = make_data(100)
    bag = draw_bag(100, 0.5, 0)
    weights = np.ones(100)
    weights[bag[:5]] = 50
    weights[outside_of(100, 0.5, 0)] = 1e6
    pairs = ConstraintSampler(Y, bag=bag).draw(0.6, 400, 400, weights, 0)
    for kind in pairs:
        assert np.isin(kind, bag).all()
        assert np.isin(kind, bag[:5]).mean() > 0.6
    assert (label_similarity(Y[pairs[0][:, 0]], Y[pairs[0][:, 1]]) >= 0.6).all()
    assert (label_similarity(Y[pairs[1][:, 0]], Y[pairs[1][:, 1]]) < 0.6).all()


@BOTH
def test_labels_outside_the_bag_change_no_pair(Ensemble):
    """The first member of either, and each of bagging's, is blind to what is outside."""
    X, Y = make_data(80)
    S = 4 if Ensemble is BaggingVPCPClassifier else 1
    settings = {"n_estimators": S, "bag": 0.6, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = Ensemble(**settings).fit(X, Y)
        for m, seed in enumerate(member_seeds(S)):
            rows = outside_of(80, 0.6, seed)
            shuffled = Y.copy()
            shuffled[rows] = 1 - Y[rows[::-1]]
            moved = X.copy()
            moved[rows] += 3
            after = Ensemble(**settings).fit(moved, shuffled)
            for kind in ("must_link_", "cannot_link_"):
                pairs = getattr(before.projections_[m], kind)
                np.testing.assert_array_equal(pairs, getattr(after.projections_[m], kind))
                assert not np.isin(pairs, rows).any()
            np.testing.assert_allclose(
                before.projections_[m].components_,
                after.projections_[m].components_,
                atol=1e-10,
            )


# ---------------------------------------------------------------------------- predictions


@BOTH
@pytest.mark.parametrize("base", [None, RandomForestClassifier(5, random_state=0)])
def test_oob_proba_by_hand(Ensemble, base):
    X, Y = make_data(70)
    S = 20
    model = Ensemble(base, n_estimators=S, bag=0.6, random_state=0).fit(X, Y)
    total, count = np.zeros(Y.shape), np.zeros((70, 1))
    for m, seed in enumerate(member_seeds(S)):
        rows = outside_of(70, 0.6, seed)
        Z = model.projections_[m].transform(X)
        if base is None:
            proba = MLkNNClassifier().fit_loo_proba(Z, Y, strict=True)[rows]
            wrong = ((proba > 0.5) != Y[rows]).any(axis=1)
        else:
            proba = np.column_stack([p[:, 1] for p in model.estimators_[m].predict_proba(Z[rows])])
            wrong = (model.estimators_[m].predict(Z[rows]) != Y[rows]).any(axis=1)
        assert model.errors_[m] == pytest.approx(wrong.mean())
        total[rows] += proba
        count[rows] += 1
    assert count.min() > 0
    np.testing.assert_allclose(model.oob_proba_, total / count, atol=1e-9)
    assert model.oob_score_ == pytest.approx(average_precision(Y, model.oob_proba_))


def test_a_base_that_cannot_leave_out_learns_from_the_bag_only():
    seen = []

    class Spy(ClassifierMixin, BaseEstimator):
        def fit(self, X, Y):
            seen.append(len(X))
            return self

        def predict(self, X):
            seen.append(len(X))
            return np.zeros((len(X), 4), dtype=int)

    X, Y = make_data(50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        BaggingVPCPClassifier(Spy(), n_estimators=2, bag=0.6, n_jobs=1, random_state=0).fit(X, Y)
    assert seen == [30, 20, 30, 20]


def random_labels(k):
    """120 training and 800 fresh samples whose labels mean nothing."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((920, k)), (rng.random((920, 5)) < 0.3).astype(int)
    Y[np.arange(920), rng.integers(5, size=920)] = 1
    return X[:120], Y[:120], X[120:], Y[120:]


def test_random_labels_are_at_chance_out_of_bag_and_not_inside():
    """Leaving a sample out of its neighbours does not help when the projection has seen it."""
    X, Y, fresh_X, fresh_Y = random_labels(400)
    settings = {"n_estimators": 15, "n_must_link": 1200, "n_cannot_link": 1200, "random_state": 0}
    model = BaggingVPCPClassifier(bag=0.5, **settings).fit(X, Y)
    fresh = average_precision(fresh_Y, model.predict_proba(fresh_X))
    assert model.oob_score_ == pytest.approx(fresh, abs=0.05)
    projections = BaggingVPCPClassifier(**settings).fit(X, Y).projections_
    inside = [MLkNNClassifier().fit_loo_proba(p.transform(X), Y, strict=True) for p in projections]
    assert average_precision(Y, np.mean(inside, axis=0)) > fresh + 0.1


def test_out_of_bag_the_sample_must_be_left_out_of_the_likelihoods_too():
    X, Y, fresh_X, fresh_Y = random_labels(8)
    model = BaggingVPCPClassifier(n_estimators=15, bag=0.5, random_state=0).fit(X, Y)
    fresh = average_precision(fresh_Y, model.predict_proba(fresh_X))
    assert model.oob_score_ == pytest.approx(fresh, abs=0.05)
    total, count = np.zeros(Y.shape), np.zeros((120, 1))
    for projection, seed in zip(model.projections_, member_seeds(15), strict=True):
        rows = outside_of(120, 0.5, seed)
        total[rows] += MLkNNClassifier().fit_loo_proba(projection.transform(X), Y)[rows]
        count[rows] += 1
    assert average_precision(Y, total / count) > fresh + 0.1


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_strict_means_without_the_sample_in_the_likelihoods(smoothing):
    X, Y = make_data(30)
    model = MLkNNClassifier(3, smoothing=smoothing)
    strict = model.fit_loo_proba(X, Y, strict=True)
    counts = model._counts()
    for i in range(30):
        others = np.arange(30) != i
        for j in range(4):
            has, c = Y[others, j] == 1, counts[others, j] == counts[i, j]
            odds = [
                (smoothing + group.sum())
                * (smoothing + (group & c).sum())
                / (4 * smoothing + group.sum())
                for group in (~has, has)
            ]
            if sum(odds) > 0:
                assert strict[i, j] == pytest.approx(odds[1] / sum(odds))
            else:
                assert strict[i, j] == pytest.approx(has.mean())
    np.testing.assert_array_equal(
        MLkNNClassifier(3, smoothing=smoothing).fit(X, Y).predict_proba(X), model.predict_proba(X)
    )


def test_the_score_is_that_of_new_samples():
    X, Y = make_data(1500, 8, 5, seed=3)
    train, test = np.arange(500), np.arange(500, 1500)
    model = VPCMEClassifier(n_estimators=20, bag=0.6, random_state=0).fit(X[train], Y[train])
    fresh = average_precision(Y[test], model.predict_proba(X[test]))
    assert model.oob_score_ == pytest.approx(fresh, abs=0.02)


@BOTH
def test_samples_in_every_bag_warn_once_and_are_nan(Ensemble):
    X, Y = make_data(60)
    with pytest.warns(
        UserWarning, match="no out-of-bag prediction; increase n_estimators"
    ) as caught:
        model = Ensemble(n_estimators=2, bag=0.8, random_state=0).fit(X, Y)
    assert len(caught) == 1
    missing = np.isnan(model.oob_proba_).all(axis=1)
    inside = [np.isin(np.arange(60), draw_bag(60, 0.8, seed)) for seed in member_seeds(2)]
    np.testing.assert_array_equal(missing, np.logical_and(*inside))
    assert str(missing.sum()) in str(caught[0].message)
    judged = ~missing
    assert model.oob_score_ == average_precision(Y[judged], model.oob_proba_[judged])


@NEVER_OUT
@pytest.mark.filterwarnings("ignore:No two samples:UserWarning")
@pytest.mark.parametrize("n", [1, 2])
def test_too_few_samples_to_leave_one_out(n):
    X, Y = np.eye(n), np.eye(n, 2, dtype=int)
    model = VPCMEClassifier(n_estimators=2, bag=0.6, random_state=0).fit(X, Y)
    assert np.isnan(model.oob_score_)
    assert np.isnan(model.oob_proba_).all()
    np.testing.assert_array_equal(model.errors_, 0)


@NEVER_OUT
def test_one_dimensional_targets():
    X, Y = make_data(60)
    target = np.where(Y[:, 0], "yes", "no")
    model = BaggingVPCPClassifier(n_estimators=9, bag=0.5, random_state=0).fit(X, target)
    assert model.oob_proba_.shape == (60, 2)
    judged = ~np.isnan(model.oob_proba_[:, 0])
    np.testing.assert_allclose(model.oob_proba_[judged].sum(axis=1), 1)


@BOTH
@NEVER_OUT
@pytest.mark.parametrize(
    "base",
    [
        IBLRClassifier(ridge=1.0),
        OneVsRestClassifier(LogisticRegression()),
        RidgeClassifier(),
        VPCMEClassifier(None, 2),
    ],
)
def test_any_base(Ensemble, base):
    X, Y = make_data(80)
    model = Ensemble(base, n_estimators=4, bag=0.6, random_state=0).fit(X, Y)
    assert model.oob_score_ > 0.7
    assert model.predict_proba(X).shape == Y.shape


def test_a_base_that_refuses_constant_labels_is_explained():
    X, Y = make_data(60)
    Y[:, 2] = 0
    Y[0, 2] = 1
    model = BaggingVPCPClassifier(MultiOutputClassifier(LogisticRegression()), bag=0.5)
    with pytest.raises(ValueError, match=r"label 2 is\s+constant .* use a larger bag, or a base"):
        model.set_params(n_estimators=10, random_state=0).fit(X, Y)


@BOTH
@NEVER_OUT
def test_stages_and_threads_with_a_bag(Ensemble):
    X, Y = make_data(120)
    settings = {"bag": 0.6, "random_state": 0}
    model = Ensemble(n_estimators=4, n_jobs=1, **settings).fit(X, Y)
    stages = list(model.staged_predict_proba(X))
    for m in range(4):
        smaller = Ensemble(n_estimators=m + 1, n_jobs=2, **settings).fit(X, Y)
        np.testing.assert_allclose(stages[m], smaller.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(smaller.oob_proba_, model.oob_proba_)
    np.testing.assert_array_equal(smaller.sample_weights_, model.sample_weights_)


@BOTH
@pytest.mark.parametrize("bag", [0, 1, 1.5, -0.1, "some"])
def test_bad_bags(Ensemble, bag):
    with pytest.raises(ValueError, match="'bag' parameter"):
        Ensemble(bag=bag).fit(*make_data())


@BOTH
def test_without_a_bag_there_is_no_score(Ensemble):
    model = Ensemble(n_estimators=2, random_state=0).fit(*make_data())
    assert not hasattr(model, "oob_score_")
    assert not hasattr(model, "oob_proba_")


# -------------------------------------------------------------------------------- weights


def test_two_rounds_of_weights_by_hand():
    w = np.full(5, 0.2)
    # Round 1: samples 0, 1, 2 outside, 0 wrong, θ = 1/3. They share 0.6 as 4 : 3 : 3.
    w = reweight(w, np.array([True, False, False]), 1 / 3, np.array([0, 1, 2]))
    np.testing.assert_allclose(w, [0.24, 0.18, 0.18, 0.2, 0.2])
    # Round 2: samples 0 and 3 outside, both wrong: no weight gains on another.
    w = reweight(w, np.array([True, True]), 0.9, np.array([0, 3]))
    np.testing.assert_allclose(w, [0.24, 0.18, 0.18, 0.2, 0.2])
    # Round 3: 3 and 4 outside, 4 wrong, θ = 1: they share 0.4 as 1 : 2.
    w = reweight(w, np.array([False, True]), 1.0, np.array([3, 4]))
    np.testing.assert_allclose(w, [0.24, 0.18, 0.18, 0.4 / 3, 0.8 / 3])


def test_vpcme_reweights_by_the_samples_outside():
    X, Y = make_data(70)
    model = VPCMEClassifier(n_estimators=20, bag=0.6, random_state=0).fit(X, Y)
    w, theta = np.full(70, 1 / 70), model.errors_[0]
    for m, seed in enumerate(member_seeds(20)):
        rows = outside_of(70, 0.6, seed)
        Z = model.projections_[m].transform(X)
        labels = MLkNNClassifier().fit_loo_proba(Z, Y, strict=True) > 0.5
        wrong = rows[(labels != Y).any(axis=1)[rows]]
        mass = w[rows].sum()
        w[wrong] *= 1 + theta
        w[rows] *= mass / w[rows].sum()
        theta = model.errors_[m]
    assert w.max() * 70 < MAX_WEIGHT  # the guard had nothing to do here
    np.testing.assert_allclose(model.sample_weights_, w)


@pytest.mark.parametrize("most", [1.0, 1.5, 5.0])
def test_the_guard(most):
    w = np.random.default_rng(0).pareto(0.5, size=300)
    w /= w.sum()
    bounded = bound_weights(w, most)
    assert bounded.max() <= most / 300 * (1 + 1e-9)
    assert bounded.sum() == pytest.approx(1)
    # The order stays, and samples below the bound keep their proportions.
    assert (np.diff(bounded[np.argsort(w)]) >= -1e-15).all()
    below = bounded < most / 300 * (1 - 1e-9)
    if below.any():
        np.testing.assert_allclose(np.ptp(bounded[below] / w[below]), 0, atol=1e-9)


def test_the_guard_leaves_moderate_weights_alone():
    w = np.array([0.1, 0.4, 0.2, 0.3])
    np.testing.assert_array_equal(bound_weights(w, 2.0), w)


class Hopeless(MLkNNClassifier):
    """A base that is always wrong on the first three samples, and on no other."""

    def fit_loo_proba(self, X, Y, strict=False):
        super().fit_loo_proba(X, Y)
        labels = Y.astype(float)
        labels[:3] = 1 - labels[:3]
        return labels * 0.5 + 0.25


def test_weights_cannot_run_away(monkeypatch):
    X, Y = make_data(60)

    def heaviest():
        # Three samples wrong whenever they are outside, and θ large.
        w = np.full(60, 1 / 60)
        for seed in range(60):
            outside = outside_of(60, 0.6, seed)
            w = reweight(w, outside < 3, 0.9, outside)
        return w.max() * 60

    assert heaviest() <= MAX_WEIGHT * (1 + 1e-9)
    model = VPCMEClassifier(Hopeless(), n_estimators=40, bag=0.6, random_state=0).fit(X, Y)
    assert model.sample_weights_.max() * 60 <= MAX_WEIGHT * (1 + 1e-9)
    monkeypatch.setattr("labelkin.ensemble._vpcme.MAX_WEIGHT", np.inf)
    assert heaviest() > 3 * MAX_WEIGHT


def test_out_of_bag_on_yeast(paper_data):
    """One fold: out-of-bag probabilities predict the Hamming loss of the test rows."""
    X, Y, folds = paper_data("yeast")
    train = np.setdiff1d(np.arange(len(Y)), folds[0])
    model = VPCMEClassifier(n_estimators=12, bag=0.6, voting="soft", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[train], Y[train])
    fresh = hamming_loss(Y[folds[0]], model.predict(X[folds[0]]))
    seen = ~np.isnan(model.oob_proba_[:, 0])
    out_of_bag = hamming_loss(Y[train][seen], model.oob_proba_[seen] > 0.5)
    assert out_of_bag == pytest.approx(fresh, abs=0.01)


# -------------------------------------------------------------- what is learned out of bag


@BOTH
def test_calibration_is_learned_out_of_bag_and_applied_to_new_samples(Ensemble):
    X, Y = make_data(200, 6)
    new = make_data(50, 6, seed=5)[0]
    settings = {"n_estimators": 12, "bag": 0.5, "random_state": 0}
    plain = Ensemble(**settings).fit(X, Y)
    model = Ensemble(calibrate=True, **settings).fit(X, Y)
    np.testing.assert_array_equal(model.oob_proba_, plain.oob_proba_)
    assert model.oob_score_ == plain.oob_score_
    curve = SlopeCalibration().fit(plain.oob_proba_, Y)
    np.testing.assert_allclose(model.predict_proba(new), curve(plain.predict_proba(new)))
    np.testing.assert_array_equal(model.predict(new), model.predict_proba(new) > 0.5)
    assert METRICS["log_loss"](Y, curve(plain.oob_proba_)) < METRICS["log_loss"](
        Y, plain.oob_proba_
    )
    *_, last = model.staged_predict_proba(new)
    np.testing.assert_array_equal(last, model.predict_proba(new))
    *_, labels = model.staged_predict(new)
    np.testing.assert_array_equal(labels, model.predict(new))


@BOTH
def test_what_is_learned_out_of_bag_needs_a_bag(Ensemble):
    with pytest.raises(ValueError, match=r"learns from out-of-bag predictions: set bag too"):
        Ensemble(calibrate=True).fit(*make_data())


@NEVER_OUT
@pytest.mark.filterwarnings("ignore:No two samples:UserWarning")
def test_nothing_to_calibrate_by():
    settings = {"n_estimators": 2, "bag": 0.6, "calibrate": True}
    model = VPCMEClassifier(**settings, random_state=0).fit(np.eye(2), np.eye(2, dtype=int))
    assert model.calibration_ is None
    assert model.predict(np.eye(2)).shape == (2, 2)
