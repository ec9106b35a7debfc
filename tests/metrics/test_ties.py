"""The rules for labels with equal scores, against all orders of the ties."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from labelkin.datasets import load_dataset
from labelkin.metrics import METRICS, evaluate
from labelkin.transformation import ChainClassifier
from support.data import DATA, REFERENCE, needs_reference

TIED = [name for name, metric in METRICS.items() if metric.has_ties]


@st.composite
def cases(draw):
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 5)))
    Y = draw(arrays(np.int8, shape, elements=st.integers(0, 1)))
    return Y, draw(arrays(float, shape, elements=st.sampled_from([0.0, 0.2, 0.7])))


def orders(scores):
    """All scores without ties that keep the order of different scores."""
    q = len(scores)
    for order in itertools.permutations(range(q)):
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order)):
            distinct = np.empty(q)
            distinct[list(order)] = np.arange(q, 0, -1)
            yield distinct


@pytest.mark.parametrize("name", [name for name in TIED if name != "average_precision"])
@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_against_is_the_worst_of_all_orders(name, case):
    Y, S = case
    worst = min if METRICS[name].greater_is_better else max
    values = [
        worst(METRICS[name](y[None], distinct[None]) for distinct in orders(s))
        for y, s in zip(Y, S, strict=True)
    ]
    assert METRICS[name](Y, S, ties="against") == pytest.approx(np.mean(values), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_index_ranks_the_higher_label_first(case):
    Y, S = case
    broken = S + 1e-6 * np.arange(S.shape[1])
    for name in TIED:
        expected = pytest.approx(METRICS[name](Y, broken), abs=1e-12)
        assert METRICS[name](Y, S, ties="index") == expected, name


@pytest.mark.parametrize("ties", ["against", "index"])
def test_without_ties_the_rules_agree(ties):
    rng = np.random.default_rng(0)
    Y, S = rng.integers(0, 2, (50, 30)), rng.permuted(np.arange(1500.0)).reshape(50, 30)
    assert evaluate(Y, S, Y, ties=ties) == pytest.approx(evaluate(Y, S, Y), rel=1e-12)


def test_many_rows_are_the_mean_of_their_blocks():
    rng = np.random.default_rng(0)
    Y, S = rng.integers(0, 2, (9000, 60)), rng.integers(0, 5, (9000, 60)).astype(float)
    halves = [evaluate(Y[i::2], S[i::2], Y[i::2], ties="index") for i in (0, 1)]
    both = {name: (halves[0][name] + halves[1][name]) / 2 for name in halves[0]}
    assert evaluate(Y, S, Y, ties="index") == pytest.approx(both)


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="ties must be 'against' or 'index'"):
        evaluate([[1, 0]], [[0.5, 0.5]], metrics=["hamming_loss"], ties="random")


@needs_reference
@pytest.mark.parametrize("fold", [0, 3])
def test_index_gives_mulans_figures_of_chains(fold):
    """Chains of trees tie in most rows: on yeast one-error is 35 % by index, 51 % against."""
    mulan = json.loads(REFERENCE.read_text())["yeast"]["CC"]
    yeast = load_dataset("yeast", data_home=DATA)
    X, Y = yeast.data, np.asarray(yeast.target)
    test = np.array_split(np.random.default_rng(0).permutation(len(Y)), 5)[fold]
    train = np.setdiff1d(np.arange(len(Y)), test)
    chains = ChainClassifier(random_state=0).fit(X[train], Y[train])
    scores, labels = chains.predict_proba(X[test]), chains.predict(X[test])
    ours = evaluate(Y[test], scores, labels, ties="index")
    assert ours["one_error"] == pytest.approx(mulan["OneError"][fold], abs=0.005)
    assert ours["ranking_loss"] == pytest.approx(mulan["RankingLoss"][fold], abs=0.005)
    assert ours["coverage"] == pytest.approx(mulan["Coverage"][fold], abs=0.05)
    assert ours["average_precision"] == pytest.approx(mulan["AveragePrecision"][fold], abs=0.005)
    assert evaluate(Y[test], scores, labels)["one_error"] > ours["one_error"] + 0.1
