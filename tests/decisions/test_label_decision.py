"""Learned cuts: against brute force, and their properties."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import RidgeClassifier

from labelkin import KinEnsembleClassifier
from labelkin.decisions import DECISIONS, DecisionClassifier, LabelDecision
from labelkin.decisions._cuts import best_cut
from labelkin.metrics import METRICS
from support.data import make_data

SHARED = ["f1", "jaccard", "subset_accuracy", "micro_f1"]
PER_LABEL = ["hamming_loss", "macro_f1"]


def sample(n=12, q=3, seed=0, levels=6):
    """Labels correlated with scores; few levels, so that scores tie."""
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
def test_never_worse_than_one_half_on_the_training_scores(data, name):
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
@given(matrices, st.sampled_from(sorted(set(DECISIONS) - {"fixed"})))
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


def test_thresholds_of_rare_labels_are_shrunk_to_the_shared_one():
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
    for name in set(DECISIONS) - {"fixed"}:
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
    ("name", "missed", "wrong"),
    [("cost:FN=5", 5, 1), ("COST: fn=1, FP=3", 1, 3), ("cost:FP=2", 1, 2)],
)
def test_costs(name, missed, wrong):
    p = np.linspace(0.001, 0.999, 999)[:, None]
    decision = LabelDecision(name).fit(p, np.ones_like(p))  # a constant label, too
    np.testing.assert_array_equal(decision.apply(p), wrong * (1 - p) < missed * p)
    cut = wrong / (wrong + missed)
    X, Y = make_data()
    kin = KinEnsembleClassifier(n_trees=0, n_projections=0, decision=name, random_state=0)
    for model in (DecisionClassifier(decision=name), kin):
        model.fit(X, Y)
        np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) > cut)
    by_hand = DecisionClassifier(decision=name, cut={0: 0.9}).fit(X, Y)
    assert by_hand.thresholds_[:2].tolist() == [0.9, cut]
    assert by_hand.scores_from_ is None
    with pytest.raises(ValueError, match="needs probabilities, and RidgeClassifier has no"):
        DecisionClassifier(RidgeClassifier(), name).fit(X, Y)


@pytest.mark.parametrize("name", ["cost:", "cost:FN", "cost:FN=-1", "cost:FN=inf", "cost:XX=1"])
def test_wrong_costs(name):
    why = f"decision='{name}': write the cost .* as in cost:FN=5 .* with positive numbers"
    for model in (DecisionClassifier(decision=name), KinEnsembleClassifier(decision=name)):
        with pytest.raises(ValueError, match=why):
            model.fit(*make_data())


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nonsense", "no such decision"),
        ("recall", "every label"),
        ("coverage", "metric of rankings"),
    ],
)
def test_unknown_decisions(name, why):
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


# --------------------------------------------------------------------- unknown labels


def hide(Y, seed, share=0.4):
    Y = Y.astype(float)
    Y[np.random.default_rng(seed).random(Y.shape) < share] = np.nan
    return Y


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("at_least_one", [False, True])
@pytest.mark.parametrize("name", SHARED)
def test_shared_thresholds_are_optimal_on_known_labels(name, at_least_one, seed):
    Y, S = sample(seed=seed)
    Y = hide(Y, seed)
    decision = LabelDecision(name, at_least_one=at_least_one).fit(S, Y)
    sets = [t < S for t in every_cut(S)]
    if at_least_one:
        sets = [filled(Z, S) for Z in sets]
    best = max(value(name, Y, Z) for Z in sets)
    assert value(name, Y, decision.apply(S)) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("name", PER_LABEL)
def test_threshold_of_a_label_is_that_of_its_known_rows(name):
    Y, S = sample(n=60, seed=1)
    Y = hide(Y, 1)
    decision = LabelDecision(name, shrinkage=0, at_least_one=False).fit(S, Y)
    metric = "hamming_loss" if name == "hamming_loss" else "micro_f1"
    for j in range(3):
        known = ~np.isnan(Y[:, j])
        y, s = Y[known, j], S[known, j]
        best = max(value(metric, y, t < s) for t in every_cut(S))
        assert value(metric, y, decision.apply(S)[known, j]) == pytest.approx(best, abs=1e-12)


def test_cardinality_counts_known_labels():
    Y, S = sample(n=200, seed=2, levels=10_000)
    Y = hide(Y, 2)
    sets = LabelDecision("cardinality").fit(S, Y).apply(S)
    assert sets[~np.isnan(Y)].sum() == np.nansum(Y)


@pytest.mark.parametrize("name", sorted(set(DECISIONS) - {"fixed"}))
def test_unknown_labels_and_constant_ones(name):
    Y, S = sample(n=30, q=4, seed=3)
    Y = hide(Y, 3)
    Y[:, 0] = np.nan
    Y[:, 1] = np.where(np.isnan(Y[:, 1]), np.nan, 1)
    thresholds = LabelDecision(name).fit(S, Y).thresholds_
    assert thresholds[0] == np.inf
    assert thresholds[1] == -np.inf
    assert np.isfinite(thresholds[2:]).all()
    # Scores of unknown labels have no influence.
    other = np.where(np.isnan(Y), 0.0, S)
    same = LabelDecision(name, at_least_one=False).fit(other, Y).thresholds_
    np.testing.assert_array_equal(
        LabelDecision(name, at_least_one=False).fit(S, Y).thresholds_, same
    )


@pytest.mark.parametrize("name", DECISIONS)
def test_nothing_known(name):
    decision = LabelDecision(name).fit(np.full((3, 2), 0.5), np.full((3, 2), np.nan))
    assert not decision.apply([[0.4, 0.3]]).any()
