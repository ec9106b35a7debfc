"""threshold="auto": Θ chosen out of bag."""

import numpy as np
import pytest

from labelkin import BaggingVPCPClassifier, MLkNNClassifier, VPCMEClassifier
from labelkin.constraints import LabelSets, label_similarity
from labelkin.ensemble._threshold import (
    Trial,
    candidate_thresholds,
    clearly_better,
    score_difference,
    similarity_values,
    successive_halving,
)
from labelkin.metrics import METRICS
from support.data import make_data

BOTH = pytest.mark.parametrize("Ensemble", [VPCMEClassifier, BaggingVPCPClassifier])
RNG = np.random.RandomState(0)


def all_similarities(Y):
    i, j = np.triu_indices(len(Y), k=1)
    return label_similarity(Y[i], Y[j])


# ------------------------------------------------------------------------------ candidates


def test_values_and_shares_of_similarities():
    _, Y = make_data(40)
    expected, counts = np.unique(all_similarities(Y), return_counts=True)
    values, share = similarity_values(LabelSets.from_matrix(Y), RNG)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_allclose(share, counts / counts.sum())


def test_many_label_sets_are_sampled():
    _, Y = make_data(400, q=8)
    exact, expected = similarity_values(LabelSets.from_matrix(Y), RNG)
    values, share = similarity_values(LabelSets.from_matrix(Y), RNG, most=4000)
    assert set(values) <= set(exact)
    np.testing.assert_allclose(share, expected[np.isin(exact, values)], atol=0.05)


def test_candidates_are_all_that_split_differently():
    _, Y = make_data(60, q=3)
    similar = all_similarities(Y)
    candidates = candidate_thresholds(LabelSets.from_matrix(Y), 100)
    must_links = [(similar >= theta).sum() for theta in candidates]
    assert len(set(must_links)) == len(candidates)
    assert min(must_links) > 0
    assert max(must_links) < len(similar)
    # Any Θ in between splits as one of them does.
    for theta in np.linspace(similar[similar > 0].min(), 1, 50):
        assert (similar >= theta).sum() in must_links


@pytest.mark.parametrize("most", [1, 2, 3, 5, 8])
def test_few_candidates_spread_over_the_pairs(most):
    _, Y = make_data(200, q=10)
    everything = candidate_thresholds(LabelSets.from_matrix(Y), 1000)
    few = candidate_thresholds(LabelSets.from_matrix(Y), most)
    assert len(everything) > 8
    assert 1 <= len(few) <= most
    assert set(few) <= set(everything)
    similar = all_similarities(Y)
    assert (similar >= 0.6).sum() in [(similar >= theta).sum() for theta in few]
    if most == 8:
        shares = [(similar >= theta).mean() for theta in few]
        assert -np.diff(shares).min() < 2.5 * np.ptp(shares) / (len(few) - 1)
        assert shares[0] == (similar > 0).mean()


def test_without_a_choice():
    same = np.ones((10, 2), dtype=int)
    assert candidate_thresholds(LabelSets.from_matrix(same), 5).tolist() == [0.6]
    one_label = np.array([[0], [1], [1], [0]])
    assert candidate_thresholds(LabelSets.from_matrix(one_label), 5).tolist() == [0.6]
    # At 0.6 every pair is a must-link.
    alike = np.array([[1, 1], [1, 0], [1, 1]])
    assert candidate_thresholds(LabelSets.from_matrix(alike), 5).tolist() == [1.0]


# --------------------------------------------------------------------------------- halving


def scripted_halving(good, candidates, n_trials, metric="average_precision", noise=0.0):
    """Members right about all samples at the good Θ, and the worse the further from it."""
    Y = np.eye(4, dtype=np.uint8)[np.arange(80) % 4]
    trained = []

    def members(theta):
        for seed in range(100):
            trained.append((theta, seed))
            rng = np.random.RandomState(seed)
            rows = rng.permutation(80)[:40]
            wrong = np.arange(40)[:, None] < 40 * abs(theta - good)
            jitter = noise * np.random.default_rng([seed, int(100 * theta)]).random((40, 4))
            proba = np.clip(np.abs(Y[rows] - wrong) + jitter, 0, 1)
            yield rows, proba, proba > 0.5

    best, scores = successive_halving(
        np.array(candidates),
        n_trials,
        members,
        lambda train, which: list(map(train, which)),
        lambda: Trial(Y, METRICS[metric], above_half),
    )
    return best, scores, trained


def above_half(proba, votes):
    return proba > 0.5


@pytest.mark.parametrize("metric", ["average_precision", "hamming_loss"])
@pytest.mark.parametrize("good", [0.1, 0.35, 0.6, 1.0])
def test_the_best_survives(good, metric):
    best, scores, _ = scripted_halving(good, [0.1, 0.35, 0.6, 1.0], 20, metric)
    assert best == good
    assert scores["threshold"].tolist() == [0.1, 0.35, 0.6, 1.0]
    assert scores["n_members"][scores["threshold"] == good] == scores["n_members"].max()


@pytest.mark.parametrize("c", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("n_trials", [1, 8, 10, 30, 100])
def test_no_more_members_than_allowed(c, n_trials):
    candidates = np.linspace(0.1, 1, c)
    _, scores, trained = scripted_halving(0.5, candidates, n_trials)
    assert len(trained) == scores["n_members"].sum() <= n_trials
    assert len(trained) > 0.6 * n_trials or c == 1 or c > n_trials
    # The paper's is there to the end; all start with the same bags.
    reference = candidates[np.searchsorted(candidates, 0.6).clip(max=c - 1)]
    assert scores["n_members"][candidates == reference] == scores["n_members"].max()
    for theta in candidates:
        mine = [seed for other, seed in trained if other == theta]
        assert mine == list(range(len(mine)))


def test_without_a_clear_winner_it_stays_with_the_papers():
    assert scripted_halving(0.6, [0.2, 0.6, 1.0], 12)[0] == 0.6
    # Hardly a difference, and much noise.
    chosen = [scripted_halving(0.6 + d, [0.6, 0.605], 12, noise=1.0)[0] for d in (0, 0.001)]
    assert chosen == [0.6, 0.6]
    # Too few samples to tell.
    Y = np.eye(2, dtype=np.uint8)[np.arange(6) % 2]

    def members(theta):
        while True:
            yield np.arange(6), Y * theta, Y * theta > 0.5

    best, _ = successive_halving(
        np.array([0.1, 0.6, 1.0]),
        9,
        members,
        lambda f, which: list(map(f, which)),
        lambda: Trial(Y, METRICS["log_loss"], above_half),
    )
    assert best == 0.6


# -------------------------------------------------------------------------------- evidence


def trial(n, n_members, seed, effect=0.0, by_row=0.0, by_member=0.0, by_both=0.0, strangers=0):
    """A trial whose squared errors are a constant and effects of rows, of members, of both.

    The members see all rows, so that the mean over members is that of the effects.
    """
    own = np.random.default_rng([seed, strangers])
    error = (
        0.5
        - effect
        + by_row * own.standard_normal(n)
        + by_member * own.standard_normal(n_members)[:, None]
        + by_both * own.standard_normal((n_members, n))
    )
    made = Trial(np.zeros((n, 1), dtype=np.uint8), Linear(), above_half)
    made.outside = [(np.arange(n), e[:, None], np.zeros((n, 1))) for e in error]
    return made


class Linear:
    """A metric that is the mean score, the lower the better."""

    sign, needs = -1, "score"

    def __call__(self, Y, score):
        return float(score.mean())


@pytest.mark.parametrize(
    ("by_row", "by_member", "by_both"), [(1, 0, 0), (0, 0.1, 0), (0, 0, 2), (1, 0.1, 2)]
)
def test_the_variance_of_a_gain_is_that_of_repeated_trials(by_row, by_member, by_both):
    groups = np.array_split(np.arange(200), 10)
    effects = {"by_row": by_row, "by_member": by_member, "by_both": by_both}
    found = np.array(
        [
            score_difference(
                trial(200, 8, seed, effect=0.3, strangers=1, **effects),
                trial(200, 8, seed, strangers=2, **effects),
                groups,
            )
            for seed in range(100)
        ]
    )
    assert found[:, 0].mean() == pytest.approx(0.3, abs=0.04)
    # On the safe side where both parts are nothing but their interaction; twice were too much.
    assert 0.75 < found[:, 1].mean() / found[:, 0].var() < 1.6


def test_a_gain_must_be_two_standard_errors():
    two = [trial(200, 8, 0, strangers=s, by_row=1, by_member=0.1) for s in (1, 2)]
    rows = np.array_split(np.random.default_rng(0).permutation(200), 10)
    mean, variance = score_difference(*two, rows)
    # Of five, one chance in 44 divided by five: 2.6 standard errors.
    for factor, many, expected in [
        (1.9, 1, False),
        (2.1, 1, True),
        (2.5, 5, False),
        (2.7, 5, True),
    ]:
        shift = factor * np.sqrt(variance) - mean
        better = trial(200, 8, 0, strangers=1, by_row=1, by_member=0.1, effect=shift)
        assert clearly_better(better, two[1], many) == expected
        assert not clearly_better(two[1], better, many)
    # Too few members to know what a draw changes; too few samples.
    for n, n_members in [(200, 2), (19, 8)]:
        assert not clearly_better(trial(n, n_members, 0, effect=9), trial(n, n_members, 0))
    assert clearly_better(trial(20, 3, 0, effect=9), trial(20, 3, 0))


def test_staying_is_the_papers_ensemble_to_the_bit():
    X, Y = make_data(90, q=2, seed=3)
    stays = [
        (VPCMEClassifier(n_estimators=9, threshold="auto", random_state=s).fit(X, Y), s)
        for s in range(3)
    ]
    stays = [(model, s) for model, s in stays if model.threshold_ == 0.6]
    assert stays
    for model, s in stays:
        fixed = VPCMEClassifier(n_estimators=9, random_state=s).fit(X, Y)
        np.testing.assert_array_equal(model.predict_proba(X), fixed.predict_proba(X))


# ------------------------------------------------------------------------------ ensembles


@BOTH
@pytest.mark.parametrize("bag", [None, 0.5])
def test_auto_is_the_ensemble_with_its_threshold_given(Ensemble, bag):
    X, Y = make_data(90, q=6)
    settings = {"n_estimators": 12, "bag": bag, "random_state": 0}
    auto = Ensemble(threshold="auto", **settings).fit(X, Y)
    given = Ensemble(threshold=auto.threshold_, **settings).fit(X, Y)
    np.testing.assert_array_equal(auto.predict_proba(X), given.predict_proba(X))
    assert (auto.thresholds_ == auto.threshold_).all()
    assert auto.threshold_ in auto.threshold_scores_["threshold"]
    assert hasattr(auto, "oob_score_") == (bag is not None)


class Counted(MLkNNClassifier):
    """ML-kNN that counts how often it is fitted."""

    trained: list = []

    def fit_loo_proba(self, X, y, strict=False):
        self.trained.append(1)
        return super().fit_loo_proba(X, y, strict=strict)


@BOTH
@pytest.mark.parametrize("S", [1, 2, 5, 20])
def test_auto_trains_no_more_than_twice_as_many(Ensemble, S):
    Counted.trained.clear()
    X, Y = make_data(60, q=6)
    model = Ensemble(Counted(), S, threshold="auto", n_jobs=1, random_state=0).fit(X, Y)
    assert len(Counted.trained) == S + model.threshold_scores_["n_members"].sum() <= 2 * S
    assert len(model.estimators_) == S


def test_auto_finds_the_threshold_that_matters():
    """Nearly all samples share a label: at Θ = 0.5 nearly all pairs are must-links.

    What tells the other four labels apart is then pulled together; only Θ = 1 keeps it.
    """
    rng = np.random.default_rng(0)
    group, common = rng.integers(4, size=240), rng.random(240) < 0.85
    Y = np.column_stack([np.eye(4, dtype=int)[group], common])
    noise = 1.5 * rng.standard_normal((240, 12))
    X = np.column_stack([2.0 * np.eye(4)[group], 4.0 * common, noise])
    X[:, :5] += 0.5 * rng.standard_normal((240, 5))
    model = BaggingVPCPClassifier(n_estimators=15, threshold="auto", random_state=0).fit(X, Y)
    assert model.threshold_ == 1
    tried = model.threshold_scores_
    assert tried["threshold"].tolist() == pytest.approx([0.5, 0.6, 1])
    fixed = BaggingVPCPClassifier(n_estimators=15, threshold=0.5, bag=0.5, random_state=0)
    low = fixed.fit(X, Y).oob_score_
    assert fixed.set_params(threshold=1).fit(X, Y).oob_score_ > low + 0.03


@pytest.mark.filterwarnings("ignore:.* no out-of-bag prediction:UserWarning")
def test_trials_are_boosted_as_the_ensemble_is():
    """The scores are those of small ensembles of the same kind, on the trial seeds."""
    X, Y = make_data(90, q=2, seed=1)
    settings = {"threshold": "auto", "bag": 0.5, "random_state": 0}
    model = VPCMEClassifier(n_estimators=16, **settings).fit(X, Y)
    tried = model.threshold_scores_
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=27)[16:]
    for theta, score, m in zip(*tried.values(), strict=True):
        fixed = VPCMEClassifier(n_estimators=m, threshold=theta, bag=0.5)
        fixed.random_state = FixedSeeds(seeds[:m])
        assert fixed.fit(X, Y).oob_score_ == pytest.approx(score)


class FixedSeeds(np.random.RandomState):
    """Gives members the seeds it was told."""

    def __init__(self, seeds):
        super().__init__(0)
        self.seeds = seeds

    def randint(self, *args, size=None, **kwargs):
        return self.seeds


@BOTH
def test_same_choice_for_every_n_jobs(Ensemble):
    X, Y = make_data(100, q=6)
    models = [
        Ensemble(n_estimators=6, threshold="auto", n_jobs=n, random_state=0).fit(X, Y)
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
