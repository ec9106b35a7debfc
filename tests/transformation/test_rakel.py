"""RAkEL against figures by hand, plain transcriptions, and Mulan."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from labelkin.metrics import average_precision, hamming_loss
from labelkin.transformation import LabelPowersetClassifier, RAkELClassifier
from labelkin.transformation._rakel import random_labelsets, random_partition
from support.data import make_data
from support.mulan import break_ties_as_mulan

# --------------------------------------------------------------------------- the labelsets


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_labelsets_are_different_and_of_size_k(data):
    q = data.draw(st.integers(1, 9))
    k = data.draw(st.integers(1, q))
    m = data.draw(st.integers(1, comb(q, k)))
    drawn = random_labelsets(q, k, m, np.random.RandomState(data.draw(st.integers(0, 99))))
    assert len({tuple(labelset) for labelset in drawn}) == len(drawn) == m
    for labelset in drawn:
        assert len(labelset) == k
        assert (np.diff(labelset) > 0).all()
        assert 0 <= labelset[0] <= labelset[-1] < q


@pytest.mark.parametrize("m", [2, 8])  # drawn one by one; chosen from the list
def test_labelsets_are_equally_likely(m):
    rng = np.random.RandomState(0)
    counts = dict.fromkeys(combinations(range(5), 2), 0)
    for _ in range(2000):
        for labelset in random_labelsets(5, 2, m, rng):
            counts[tuple(labelset)] += 1
    shares = np.array(list(counts.values())) / (2000 * m)
    np.testing.assert_allclose(shares, 0.1, atol=0.015)


def test_many_labelsets_of_many_labels():
    drawn = random_labelsets(100, 50, 200, np.random.RandomState(0))
    assert len({tuple(labelset) for labelset in drawn}) == 200


@pytest.mark.parametrize(("q", "k"), [(1, 1), (5, 2), (6, 3), (7, 7), (7, 3)])
def test_a_partition_holds_each_label_once(q, k):
    parts = random_partition(q, k, np.random.RandomState(0))
    assert sorted(np.concatenate(parts)) == list(range(q))
    assert all(len(part) == k for part in parts[:-1])
    assert 0 < len(parts[-1]) <= k
    assert all((np.diff(part) > 0).all() for part in parts)


# -------------------------------------------------------------------------------- RAkEL


@pytest.mark.parametrize(
    ("q", "k", "m"), [(1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 2, 6), (5, 2, 10), (7, 3, 14)]
)
def test_half_the_labels_and_twice_as_many_members(q, k, m):
    X, Y = make_data(q=q)
    model = RAkELClassifier(random_state=0).fit(X, Y)
    assert len(model.estimators_) == len(model.labelsets_) == m
    assert {len(labelset) for labelset in model.labelsets_} == {k}
    assert model.predict(X).shape == Y.shape


@pytest.mark.parametrize("base", [None, GaussianNB(), DecisionTreeClassifier(random_state=1)])
@pytest.mark.parametrize("threshold", [0.3, 0.5, 1.0])
def test_votes_are_their_definition(base, threshold):
    X, Y = make_data(120, 5, 6)
    model = RAkELClassifier(base, labelset_size=3, voting_threshold=threshold, random_state=0)
    model.fit(X, Y)
    queries = make_data(50, 5, 1, seed=9)[0]
    votes, possible = np.zeros((50, 6)), np.zeros(6)
    for labelset in model.labelsets_:
        member = LabelPowersetClassifier(base).fit(X, Y[:, labelset])
        votes[:, labelset] += member.predict(queries)
        possible[labelset] += 1
    np.testing.assert_array_equal(model.predict_proba(queries), votes / possible)
    np.testing.assert_array_equal(model.predict(queries), votes / possible >= threshold)


def test_exactly_half_the_votes_are_enough():
    """Two members share the label in the middle and disagree on it."""
    X, Y = make_data(q=3)
    model = RAkELClassifier(labelset_size=2, random_state=0).fit(X, Y)
    yes, no = (LabelPowersetClassifier().fit(X, np.full((len(X), 2), v)) for v in (1, 0))
    model.labelsets_ = [np.array([0, 1]), np.array([1, 2])]
    model.estimators_ = [yes, no]
    assert model.predict_proba(X[:1]).tolist() == [[1, 0.5, 0]]
    assert model.predict(X[:1]).tolist() == [[1, 1, 0]]


def test_one_labelset_of_all_labels_is_the_powerset(data):
    X, Y = data
    model = RAkELClassifier(labelset_size=4, random_state=0).fit(X, Y)
    assert len(model.estimators_) == 1
    np.testing.assert_array_equal(model.predict(X), LabelPowersetClassifier().fit(X, Y).predict(X))


def test_disjoint_members_have_their_labels_alone():
    X, Y = make_data(120, 5, 5)
    model = RAkELClassifier(overlapping=False, random_state=0).fit(X, Y)
    assert [len(labelset) for labelset in model.labelsets_] == [2, 2, 1]
    for labelset in model.labelsets_:
        alone = LabelPowersetClassifier().fit(X, Y[:, labelset])
        np.testing.assert_array_equal(model.predict(X)[:, labelset], alone.predict(X))
        np.testing.assert_array_equal(model.predict_proba(X)[:, labelset], alone.predict_proba(X))


def test_a_label_in_no_labelset_has_no_vote():
    X, Y = make_data(q=5)
    with pytest.warns(UserWarning, match="3 of 5 labels are in no labelset"):
        model = RAkELClassifier(labelset_size=2, n_estimators=1, random_state=0).fit(X, Y)
    left_out = np.setdiff1d(np.arange(5), model.labelsets_[0])
    assert not model.predict_proba(X)[:, left_out].any()
    assert not model.predict(X)[:, left_out].any()


def test_constant_labels(data):
    X, Y = data
    Y = np.column_stack([Y, np.ones(len(Y), int), np.zeros(len(Y), int)])
    labels = RAkELClassifier(random_state=0).fit(X, Y).predict(X)
    assert labels[:, -2].all()
    assert not labels[:, -1].any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"labelset_size": 5}, "labelset_size=5 is more than the 4 labels of y"),
        ({"labelset_size": 3, "n_estimators": 5}, "more than the 4 labelsets of size 3"),
        ({"overlapping": False, "n_estimators": 2}, "must be None when overlapping=False"),
        ({"voting_threshold": 0.0}, "'voting_threshold' parameter"),
        ({"labelset_size": 0}, "'labelset_size' parameter"),
        ({"estimator": 3}, "'estimator' parameter"),
    ],
)
def test_impossible_parameters_are_named(parameters, message, data):
    with pytest.raises(ValueError, match=message):
        RAkELClassifier(**parameters).fit(*data)


@pytest.mark.parametrize("overlapping", [True, False])
def test_results_do_not_depend_on_threads(overlapping, data):
    X, Y = data
    for base in (None, DecisionTreeClassifier(max_features=1)):
        first, *others = (
            RAkELClassifier(base, overlapping=overlapping, random_state=3, n_jobs=jobs)
            .fit(X, Y)
            .predict_proba(X)
            for jobs in (1, 2, 3, None)
        )
        for other in others:
            np.testing.assert_array_equal(other, first)


def test_the_random_state_decides_the_labelsets():
    X, Y = make_data(q=6)
    first, again, other = (RAkELClassifier(random_state=s).fit(X, Y).labelsets_ for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("overlapping", [True, False])
def test_sparse_equals_dense(overlapping):
    X, Y = make_data(80, 6)
    X = np.rint(X)
    model = RAkELClassifier(overlapping=overlapping, random_state=0)
    expected = model.fit(X, Y).predict_proba(X)
    S = sparse.csr_matrix(X)
    np.testing.assert_array_equal(model.fit(S, sparse.csr_matrix(Y)).predict_proba(S), expected)


def test_progress(data, capsys):
    RAkELClassifier(verbose=2, random_state=0).fit(*data)
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 6
    assert shown[-1].startswith("[RAkELClassifier] 6 of 6 members, ")
    LabelPowersetClassifier(verbose=1).fit(*data)
    assert "1 of 1 classifiers" in capsys.readouterr().out


# ----------------------------------------------------------------------------------- Mulan


class JavaRandom:
    """java.util.Random, as its documentation defines it: the source of Mulan's labelsets."""

    def __init__(self, seed):
        self.state = (seed ^ 0x5DEECE66D) % 2**48

    def next(self):
        self.state = (self.state * 0x5DEECE66D + 0xB) % 2**48
        return self.state >> 17

    def below(self, n):
        if n & -n == n:
            return n * self.next() >> 31
        while True:
            bits = self.next()
            if bits - bits % n + n - 1 < 2**31:
                return bits % n


class MulansRAkEL(RAkELClassifier):
    """RAkEL with the labelsets that Mulan draws."""

    def _draw_labelsets(self, q, rng):
        """Labels one by one until there are k, sets until there are m different ones; seed 0."""
        k = self.labelset_size or q // 2
        random, drawn = JavaRandom(0), {}
        while len(drawn) < min(2 * q, comb(q, k)):
            labelset = set()
            while len(labelset) < k:
                labelset.add(random.below(q))
            drawn[tuple(sorted(labelset))] = None
        return [np.array(labelset) for labelset in drawn]


def figures(model, X, Y, test):
    train = np.setdiff1d(np.arange(len(Y)), test)
    model.fit(X[train], Y[train])
    precision = average_precision(Y[test], break_ties_as_mulan(model.predict_proba(X[test])))
    return 100 * hamming_loss(Y[test], model.predict(X[test])), 100 * precision


@pytest.mark.parametrize(
    ("name", "learner", "fold"),
    [
        ("medical", "RAkEL_half", 0),
        ("medical", "RAkEL_k3", 0),
        ("genbase", "RAkEL_half", 1),
        ("scene", "RAkEL_half", 1),
        ("yeast", "RAkEL_k3", 0),
    ],
)
def test_with_mulans_labelsets_the_figures_are_mulans(name, learner, fold, paper_data, mulan):
    """What is left is how ties between label sets are broken: Mulan draws."""
    X, Y, tests = paper_data(name)
    k = 3 if learner == "RAkEL_k3" else None
    loss, precision = figures(MulansRAkEL(labelset_size=k), X, Y, tests[fold])
    theirs = mulan[name][learner]
    assert loss == pytest.approx(100 * theirs["HammingLoss"][fold], abs=0.15)
    assert precision == pytest.approx(100 * theirs["AveragePrecision"][fold], abs=0.25)


@pytest.mark.parametrize(
    ("name", "learner", "k"), [("genbase", "RAkEL_half", None), ("medical", "RAkEL_k3", 3)]
)
def test_with_labelsets_of_our_own_the_figures_are_near(name, learner, k, paper_data, mulan):
    X, Y, tests = paper_data(name)
    model, theirs = RAkELClassifier(labelset_size=k, random_state=1), mulan[name][learner]
    ours = [figures(model, X, Y, test) for test in tests[:2]]
    expected = 100 * np.array([theirs["HammingLoss"][:2], theirs["AveragePrecision"][:2]])
    np.testing.assert_allclose(np.mean(ours, axis=0), expected.mean(axis=1), atol=1.5)
