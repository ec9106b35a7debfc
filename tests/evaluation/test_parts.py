"""The parts of the page: curves, learning curve, mistakes, likely labelling errors."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score

from labelkin.evaluation._figures import OutOfSample
from labelkin.evaluation._page import (
    describe_growth,
    find_label_errors,
    label_curves,
    odds_against,
    worst_rows,
)


def make_predictions(n=400, q=3, seed=0):
    """Return predictions whose probabilities are right."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, [0.8, 1.2, 6.0][:q], size=(n, q))
    y = (rng.random((n, q)) < p).astype(int)
    names = tuple("abc"[:q])
    return OutOfSample(names, np.arange(n), y, (p > 0.5).astype(int), p, np.full(q, 0.5))


def test_counts_above_are_those_of_the_definition():
    found = make_predictions()
    grid = np.linspace(0, 1, 101)
    y, p = found.y[:, 1], found.scores[:, 1]
    curves = label_curves(y, p, grid, are_probabilities=True)
    for place in (0, 17, 53, 80):
        labels = (p > grid[place]).astype(int)
        hits, wrong = curves["hits"][place], curves["wrong"][place]
        assert hits / (hits + wrong) == pytest.approx(precision_score(y, labels))
        assert hits / curves["rows"] == pytest.approx(recall_score(y, labels))


def test_a_score_at_the_threshold_is_not_above_it():
    curves = label_curves(np.array([1, 1, 0]), np.array([0.5, 0.6, 0.5]), np.array([0.5]), True)
    assert (curves["hits"], curves["wrong"]) == ([1], [0])


def test_calibration_bins_hold_all_rows():
    found = make_predictions()
    bins = np.array(label_curves(found.y[:, 0], found.scores[:, 0], np.ones(1), True)["bins"])
    assert bins[:, 2].sum() == 400
    assert bins[:, 1].sum() == found.y[:, 0].sum()
    assert (np.diff(bins[:, 0]) > 0).all()
    curves = label_curves(np.ones(2), np.array([0.0, 1.0]), np.ones(1), True)
    assert curves["bins"] == [[0, 1, 1], [1000, 1, 1]]


def test_scores_that_are_no_probabilities_raise_no_suspicion():
    found = make_predictions()
    other = replace(found, scores=10 * found.scores - 5, thresholds=np.zeros(3))
    assert label_curves(other.y[:, 0], other.scores[:, 0], np.zeros(1), False)["bins"] == []
    assert find_label_errors(other, 5) == ([], 0)


# -------------------------------------------------------------------------- learning curve


@pytest.mark.parametrize(
    ("last", "sentence"),
    [
        ([0.62, 0.63, 0.61], "More rows would help: from 100 to 200 training rows, micro F1"),
        ([0.501, 0.499, 0.5], "More rows would hardly help: from 100 to 200"),
        ([0.7, 0.4, 0.5], "More rows may help: from 100 to 200"),
    ],
)
def test_growth_is_judged_by_the_last_doubling(last, sentence):
    values = np.column_stack([[0.4, 0.4, 0.4], [0.5, 0.5, 0.5], last])
    growth = describe_growth([50, 100, 200], values)
    assert growth["sentence"].startswith(sentence)
    assert f"changed by {100 * (np.mean(last) - 0.5):+.1f} points" in growth["sentence"]
    assert [size for size, _, _ in growth["points"]] == [50, 100, 200]
    assert growth["points"][1] == (100, 0.5, 0)


# -------------------------------------------------------- mistakes and labelling errors


def test_worst_rows_are_confident_and_wrong():
    y = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    scores = np.array([[0.9, 0.2], [0.6, 0.9], [0.1, 0.1], [0.995, 0.99]])
    labels = (scores > 0.5).astype(int)
    found = OutOfSample(("a", "b"), np.arange(4), y, labels, scores, np.full(2, 0.5))
    assert worst_rows(found, 10).tolist() == [3, 2, 1]  # the first row is right
    assert worst_rows(found, 2).tolist() == [3, 2]
    perfect = OutOfSample(("a", "b"), np.arange(4), y, y, scores, np.full(2, 0.5))
    assert worst_rows(perfect, 10).size == 0


def test_a_missed_rare_label_is_no_surprise():
    odds = odds_against(np.array([[1, 1]]), np.array([[0.01, 0.01]]), np.array([0.3, 0.01]))
    assert odds[0, 0] == pytest.approx(99 * 0.3 / 0.7)
    assert odds[0, 1] == pytest.approx(1)


def test_flipped_labels_are_suspected():
    """Labels are certain from the probabilities, but for a few that were changed."""
    rng = np.random.default_rng(0)
    truth = (rng.random((2000, 3)) < [0.4, 0.2, 0.05]).astype(int)
    p = np.where(truth, 0.995, 0.002)
    y = truth.copy()
    flipped = rng.choice(2000, 12, replace=False)
    y[flipped, rng.integers(2, size=12)] ^= 1
    found = OutOfSample(("a", "b", "c"), np.arange(2000), y, (p > 0.5).astype(int), p, np.ones(3))
    suspects, count = find_label_errors(found, 50)
    assert count == len(suspects)
    assert {one["row"] - 1 for one in suspects} == set(flipped)
    assert all(one["given"] == y[one["row"] - 1, "abc".index(one["label"])] for one in suspects)
    assert len(find_label_errors(found, 5)[0]) == 5


def test_a_row_unlike_the_others_does_not_fill_the_list():
    rng = np.random.default_rng(0)
    y = (rng.random((500, 30)) < 0.3).astype(int)
    p = np.where(y, 0.99, 0.01)
    p[7], p[9, 3] = 1 - p[7], 1 - p[9, 3]  # all labels of one row, one of another
    names = tuple(f"label {j}" for j in range(30))
    found = OutOfSample(names, np.arange(500), y, (p > 0.5).astype(int), p, np.full(30, 0.5))
    suspects, count = find_label_errors(found, 20)
    assert count >= 20
    assert [one["row"] for one in suspects].count(8) == 2
    assert 10 in [one["row"] for one in suspects]


def test_right_probabilities_raise_hardly_any_suspicion():
    found = make_predictions(5000)
    _, count = find_label_errors(found, 10)
    assert count < 0.005 * found.y.size


def test_overconfident_probabilities_are_corrected():
    """A model that is always certain and right in four of five pairs proves nothing."""
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=(500, 2))
    p = np.where(rng.random(y.shape) < 0.8, y, 1 - y).astype(float)
    found = OutOfSample(("a", "b"), np.arange(500), y, p.astype(int), p, np.ones(2))
    assert find_label_errors(found, 10) == ([], 0)
