"""Metrics of the first k labels: by hand, and against a direct computation over all orders."""

import tracemalloc
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from scipy import sparse

from labelkin import LabelTreeClassifier
from labelkin.metrics import (
    METRICS,
    evaluate,
    get_scorer,
    label_propensities,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
)

Y = np.array([[1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
S = np.array([[0.9, 0.8, 0.7, 0.1], [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
RULES = ["against", "index"]
PROPENSITY = np.array([0.5, 0.25, 1.0, 0.2])


def test_by_hand():
    assert precision_at_k(Y, S, 3) == pytest.approx((2 / 3 + 0 + 0) / 3)
    assert recall_at_k(Y, S, 1) == pytest.approx((1 / 2 + 0 + 0) / 3)
    assert recall_at_k(Y, S, 4) == pytest.approx((1 + 1 + 0) / 3)
    first = (1 + 1 / np.log2(4)) / (1 + 1 / np.log2(3))
    assert ndcg_at_k(Y, S, 3) == pytest.approx(first / 3)


def test_propensity_scored_by_hand():
    # First row: gains 2 and 1 of 2 + 1; second row: nothing of 5.
    assert precision_at_k(Y, S, 3, propensity=PROPENSITY) == pytest.approx(3 / 8)
    assert recall_at_k(Y, S, 3, propensity=PROPENSITY) == pytest.approx((3 / 2) / (3 / 2 + 5))
    norm = 1 + 1 / np.log2(3)
    found, best = (2 + 1 / 2) / norm, (2 + 1 / np.log2(3)) / norm + 5
    assert ndcg_at_k(Y, S, 3, propensity=PROPENSITY) == pytest.approx(found / best)


def test_propensities_by_hand():
    labels = np.zeros((100, 2))
    labels[:7, 0] = 1
    C = (np.log(100) - 1) * 2.5**0.55
    expected = [1 / (1 + C * 8.5**-0.55), 1 / (1 + C * 1.5**-0.55)]
    np.testing.assert_allclose(label_propensities(labels), expected)
    C = (np.log(100) - 1) * 1.4**0.5
    assert label_propensities(labels, A=0.5, B=0.4)[0] == pytest.approx(1 / (1 + C * 7.4**-0.5))


def direct(metric, labels, scores, k, ties, propensity=None):
    """Return a metric from the orders of each row, one place after the other."""
    worth = np.ones(labels.shape[1]) if propensity is None else 1 / propensity
    discount = 1 / np.log2(np.arange(2, k + 2)) if metric is ndcg_at_k else np.ones(k)
    total = best = 0.0
    for relevant, score in zip(labels, scores, strict=True):
        gains, size = relevant * worth, relevant.sum()
        norm = {precision_at_k: k, recall_at_k: size, ndcg_at_k: discount[: int(size)].sum()}
        orders = [
            order
            for order in permutations(range(len(score)))
            if all(score[a] >= score[b] for a, b in pairwise(order))
        ]
        if ties == "index":
            orders = [max(orders, key=lambda order: [(score[i], i) for i in order])]
        found = [gains[list(order[:k])] @ discount for order in orders]
        chosen = min(found)
        if size:
            total += chosen / norm[metric]
            best += np.sort(gains)[::-1][:k] @ discount / norm[metric]
    return total / len(labels) if propensity is None else total / best


@pytest.mark.parametrize("metric", [precision_at_k, recall_at_k, ndcg_at_k])
@pytest.mark.parametrize("ties", ["against", "index"])
def test_equals_a_direct_computation(metric, ties):
    rng = np.random.default_rng(0)
    for k, scored in product([1, 2, 4], [False, True]):
        labels = rng.integers(0, 2, (20, 5))
        scores = rng.integers(-1, 3, (20, 5)) / 2  # many ties, and zeros between others
        propensity = rng.uniform(0.1, 1, 5) if scored else None
        expected = direct(metric, labels, scores, k, ties, propensity)
        for form in (np.asarray, sparse.csr_array, sparse.csc_matrix):
            value = metric(form(labels), form(scores), k, propensity=propensity, ties=ties)
            assert value == pytest.approx(expected)


def test_columns_without_scores_can_be_left_out():
    """Sparse scores with k positive ones in each row are computed with few columns."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, (30, 40)) * (rng.random((30, 40)) < 0.2)
    scores = np.zeros((30, 40))
    for row in scores:
        row[rng.choice(40, 6, replace=False)] = rng.integers(-1, 3, 6) + 0.5
    scores[:, :3] = np.abs(scores[:, :3]) + 1  # three positive ones at least
    for metric, ties in product([precision_at_k, recall_at_k, ndcg_at_k], RULES):
        found = metric(labels, sparse.csr_array(scores), 3, ties=ties)
        assert found == pytest.approx(metric(labels, scores, 3, ties=ties))


def test_many_labels_stay_sparse():
    rng = np.random.default_rng(0)
    n, q = 30, 50_000
    labels = sparse.csr_array((np.ones(n), (np.arange(n), rng.integers(0, q, n))), shape=(n, q))
    assert precision_at_k(labels, labels, 1) == 1
    assert precision_at_k(labels, labels, 5) == pytest.approx(0.2)
    assert recall_at_k(labels, -labels, 5) == 0


def test_metrics_by_name():
    found = evaluate(Y, S, metrics=["precision_at_1", "precision_at_5", "recall_at_5", "ndcg_at_5"])
    # With four labels the first five are all of them.
    assert found == {
        "precision_at_1": pytest.approx(1 / 3),
        "precision_at_5": precision_at_k(Y, S, 4),
        "recall_at_5": recall_at_k(Y, S, 4),
        "ndcg_at_5": ndcg_at_k(Y, S, 4),
    }


def test_unknown_labels_are_not_ranked():
    unknown = np.where([[0, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]], np.nan, Y)
    # Known are labels 0, 2 and 3 of the first row, label 3 of the second, and none of the third.
    assert precision_at_k(unknown, S, 2) == pytest.approx((2 / 2 + 1 / 1) / 2)
    assert recall_at_k(unknown, S, 1) == pytest.approx((1 / 2 + 1) / 2)
    assert ndcg_at_k(unknown, S, 3) == 1


ROWWISE = [
    *("hamming_loss", "ranking_loss", "one_error", "coverage", "average_precision", "f1", "recall"),
    *("micro_f1", "macro_f1", "subset_accuracy", "precision_at_5", "ndcg_at_5"),
]


@pytest.mark.parametrize("name", ROWWISE)
def test_metrics_of_sparse_matrices_need_little_memory(name):
    """Dense, each of the matrices would take 80 MB."""
    n, q = 100, 100_000
    labels = sparse.csr_array((np.ones(n), (np.arange(n), np.arange(n) % 7)), shape=(n, q))
    tracemalloc.start()
    assert METRICS[name](labels, labels) in (0, 1, pytest.approx(1 / 5))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6


def test_scorer_takes_sparse_probabilities():
    labels = np.eye(30)[np.arange(300) % 30]
    model = LabelTreeClassifier(sparse_output=True, random_state=0).fit(labels, labels)
    assert sparse.issparse(model.predict_proba(labels))
    assert get_scorer("precision_at_1")(model, labels, labels) == 1


@pytest.mark.parametrize("k", [0, 5, 2.5, True, "2"])
@pytest.mark.parametrize("metric", [precision_at_k, recall_at_k, ndcg_at_k])
def test_bad_k(metric, k):
    with pytest.raises(ValueError, match="k must be a whole number from 1 to 4"):
        metric(Y, S, k)


def test_bad_input():
    with pytest.raises(ValueError, match="propensity must hold 4 numbers"):
        precision_at_k(Y, S, 2, propensity=[0.5, 0.5, 0.5, 0])
    with pytest.raises(ValueError, match="same shape"):
        precision_at_k(Y, S[:, :3], 2)
    with pytest.raises(ValueError, match="finite"):
        precision_at_k(Y, sparse.csr_array(S * np.inf), 2)
    with pytest.raises(ValueError, match="ties must be"):
        precision_at_k(Y, S, 2, ties="random")
