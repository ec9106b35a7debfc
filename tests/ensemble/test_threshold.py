"""threshold="auto": Θ chosen out of bag."""

import numpy as np
import pytest

from labelkin import BaggingVPCPClassifier, MLkNNClassifier, VPCMEClassifier
from labelkin.constraints import LabelSets
from labelkin.ensemble._threshold import distinct_thresholds
from support.data import make_data

BOTH = pytest.mark.parametrize("Ensemble", [VPCMEClassifier, BaggingVPCPClassifier])


def test_thresholds_that_are_tried_make_different_pairs():
    _, Y = make_data(200, q=8)
    assert distinct_thresholds(LabelSets.from_matrix(Y)).tolist() == [0.2, 0.4, 0.6, 0.8, 1.0]
    # Two labels: similarities are 0, 2/3 and 1; every Θ up to 2/3 makes the same pairs.
    Y = np.array([[1, 0], [0, 1], [1, 1]])
    assert distinct_thresholds(LabelSets.from_matrix(Y)).tolist() == [0.6, 0.8]
    # One label per sample: every Θ makes the same pairs.
    assert distinct_thresholds(LabelSets.from_matrix(np.eye(4))).tolist() == [0.6]
    assert distinct_thresholds(LabelSets.from_matrix(np.ones((4, 3)))).tolist() == [0.6]


@BOTH
@pytest.mark.parametrize("bag", [None, 0.5])
def test_auto_is_the_ensemble_with_its_threshold_given(Ensemble, bag):
    X, Y = make_data(90, q=6)
    settings = {"n_estimators": 22, "bag": bag, "random_state": 0}
    auto = Ensemble(threshold="auto", **settings).fit(X, Y)
    given = Ensemble(threshold=auto.threshold_, **settings).fit(X, Y)
    np.testing.assert_array_equal(auto.predict_proba(X), given.predict_proba(X))
    assert (auto.thresholds_ == auto.threshold_).all()
    assert auto.threshold_ in auto.threshold_scores_["threshold"]
    assert len(auto.threshold_scores_["score"]) == 5
    assert hasattr(auto, "oob_score_") == (bag is not None)


class Counted(MLkNNClassifier):
    """ML-kNN that counts how often it is fitted."""

    trained: list = []

    def fit_loo_proba(self, X, y, strict=False):
        self.trained.append(1)
        return super().fit_loo_proba(X, y, strict=strict)


@BOTH
@pytest.mark.parametrize(("S", "n_trials"), [(1, 0), (21, 0), (22, 15), (30, 20)])
def test_auto_trains_no_more_than_twice_as_many(Ensemble, S, n_trials):
    Counted.trained.clear()
    X, Y = make_data(60, q=6)
    model = Ensemble(Counted(), S, threshold="auto", n_jobs=1, random_state=0).fit(X, Y)
    assert len(Counted.trained) == S + n_trials
    assert len(model.estimators_) == S


def test_random_labels_leave_the_papers_threshold():
    """Labels that no feature predicts: no Θ is better than another."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((80, 4)), rng.integers(0, 2, (80, 5))
    chosen = [
        BaggingVPCPClassifier(n_estimators=22, threshold="auto", random_state=seed).fit(X, Y)
        for seed in range(6)
    ]
    assert [model.threshold_ for model in chosen] == [0.6] * 6


def test_auto_finds_the_threshold_that_matters():
    """Nearly all samples share two labels: at Θ = 0.6 nearly all pairs are must-links.

    What tells the other four labels apart is then pulled together; only Θ above 2/3 keeps it.
    """
    rng = np.random.default_rng(0)
    group, common = rng.integers(4, size=240), rng.random(240) < 0.85
    Y = np.column_stack([np.eye(4, dtype=int)[group], common, common])
    noise = 1.5 * rng.standard_normal((240, 12))
    X = np.column_stack([2.0 * np.eye(4)[group], 4.0 * common, noise])
    X[:, :5] += 0.5 * rng.standard_normal((240, 5))
    model = BaggingVPCPClassifier(n_estimators=22, threshold="auto", random_state=0).fit(X, Y)
    assert model.threshold_ == 0.8
    assert model.threshold_scores_["threshold"].tolist() == [0.2, 0.6, 0.8]
    fixed = BaggingVPCPClassifier(n_estimators=15, bag=0.5, random_state=0)
    low = fixed.fit(X, Y).oob_score_
    assert fixed.set_params(threshold=0.8).fit(X, Y).oob_score_ > low + 0.03


@BOTH
def test_same_choice_for_every_n_jobs(Ensemble):
    X, Y = make_data(100, q=6)
    models = [
        Ensemble(n_estimators=22, threshold="auto", n_jobs=n, random_state=0).fit(X, Y)
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(
        models[0].threshold_scores_["score"], models[1].threshold_scores_["score"]
    )
    assert models[0].threshold_ == models[1].threshold_


def test_verbose_tells_the_choice(capsys):
    VPCMEClassifier(n_estimators=4, threshold="auto", verbose=1, random_state=0).fit(*make_data())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert "threshold" in lines[0]


def test_auto_as_a_variant_of_a_method():
    from labelkin.experiments.run.variants import check_method, parse_variant
    from labelkin.methods import METHODS

    name = "vpcme@threshold=auto@bag=0.6@size=2"
    check_method(name, METHODS)
    variant = parse_variant(name)
    model = variant.make(METHODS["vpcme"], 0, n_members=3).set_params(bag=0.5)
    with pytest.warns(UserWarning, match="no out-of-bag"):
        model.fit(*make_data())
    assert model.threshold_ > 0
