"""The parts of the page: curves, learning curve, mistakes, likely labelling errors."""

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score

from labelkin.evaluation._growth import fit_growth
from labelkin.evaluation._mistakes import find_suspects, odds_against, worst_rows
from labelkin.evaluation._predictions import (
    OutOfSample,
    calibration_bins,
    counts_above,
    find_together,
    label_curves,
    pooled_curves,
    precision_recall,
    threshold_grid,
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
    grid = threshold_grid(found)
    curves = label_curves(found, 1, grid)
    y, p = found.y[:, 1], found.scores[:, 1]
    for place in (0, 17, 53, 80):
        labels = (p > grid[place]).astype(int)
        hits, wrong = curves["hits"][place], curves["wrong"][place]
        assert hits / (hits + wrong) == pytest.approx(precision_score(y, labels))
        assert hits / curves["rows"] == pytest.approx(recall_score(y, labels))


def test_a_score_at_the_threshold_is_not_above_it():
    hits, wrong = counts_above(np.array([1, 1, 0]), np.array([0.5, 0.6, 0.5]), np.array([0.5]))
    assert (hits.tolist(), wrong.tolist()) == ([1], [0])


def test_pooled_curves_are_the_sums_of_the_labels():
    found = make_predictions()
    grid = threshold_grid(found)
    labels = [label_curves(found, j, grid) for j in range(3)]
    pooled = pooled_curves(found, grid)
    for key in ("hits", "wrong"):
        np.testing.assert_array_equal(pooled[key], np.sum([one[key] for one in labels], axis=0))
    assert pooled["rows"] == found.y.sum()


def test_precision_recall_keeps_its_ends_and_is_short():
    found = make_predictions(3000)
    recall, precision = precision_recall(found.y[:, 0], found.scores[:, 0], 60)
    assert len(recall) <= 60
    assert (np.diff(recall) > 0).all()
    assert recall[-1] == 1
    assert precision[-1] >= found.y[:, 0].mean()
    assert precision_recall(np.zeros(5), np.arange(5.0), 60)[0].size == 0  # a label without rows


def test_calibration_bins_hold_all_rows():
    found = make_predictions()
    bins = np.array(calibration_bins(found.y[:, 0], found.scores[:, 0]))
    assert bins[:, 2].sum() == 400
    assert bins[:, 1].sum() == found.y[:, 0].sum()
    assert (np.diff(bins[:, 0]) > 0).all()
    assert calibration_bins(np.ones(2), np.array([0.0, 1.0])) == [[0, 1, 1], [1000, 1, 1]]


def test_scores_that_are_no_probabilities_have_their_own_thresholds():
    found = make_predictions()
    other = OutOfSample(*[getattr(found, n) for n in ("label_names", "rows", "y", "labels")],
                        scores=10 * found.scores - 5, thresholds=np.zeros(3))  # fmt: skip
    grid = threshold_grid(other)
    assert grid[0] == other.scores.min()
    assert label_curves(other, 0, grid)["bins"] == []
    assert find_suspects(other, 5) == ([], 0)


# -------------------------------------------------------------------------- learning curve


def rows_of_curve(values, n=3000, folds=5, seed=0):
    """Return counts of one label per row, of which a model finds the share that F1 asks for."""
    rng = np.random.default_rng(seed)
    found = rng.random((n, 1)) < np.array(values)
    # One of a found label, or one missed and one wrong: F1 is the share found.
    counts = np.stack([found, ~found, ~found], axis=-1).astype(int)
    return counts, np.arange(n) % folds


def test_growth_finds_the_gain_of_a_power_law():
    sizes = [250, 500, 1000, 2000]
    law = 0.9 - 3 * np.array([*sizes, 4000]) ** -0.5
    counts, folds = rows_of_curve(law[:-1], n=20_000)
    growth = fit_growth(sizes, counts, folds)
    np.testing.assert_allclose(growth.values, law[:-1], atol=0.01)
    assert growth.gain == pytest.approx(law[-1] - law[-2], abs=0.01)
    assert growth.gain_low < law[-1] - law[-2] < growth.gain_high
    assert growth.sentence().startswith("More rows would help: twice as many should add +")


def test_growth_of_a_flat_curve_is_nothing():
    counts, folds = rows_of_curve([0.8] * 4, n=20_000)
    growth = fit_growth([100, 200, 400, 800], counts, folds)
    assert growth.gain < 0.01
    assert "would help:" not in growth.sentence()


def test_a_curve_of_another_form_has_a_wide_interval():
    sizes = [50, 100, 200, 400]
    smooth, rising = ([0.2, 0.3, 0.36, 0.4], [0.1, 0.12, 0.14, 0.34])
    widths = []
    for values in (smooth, rising):
        growth = fit_growth(sizes, *rows_of_curve(values, n=4000))
        widths.append(growth.gain_high - growth.gain_low)
    assert widths[1] > 2 * widths[0]


def test_growth_of_few_sizes_makes_no_forecast():
    counts, folds = rows_of_curve([0.5, 0.6])
    growth = fit_growth([20, 40], counts, folds)
    assert growth.gain is None
    assert "too few rows" in growth.sentence()
    assert fit_growth([40], counts[:, 1:], folds) is None


def test_interval_of_few_rows_is_wider():
    def width(n):
        counts, folds = rows_of_curve([0.5, 0.6, 0.65, 0.68], n=n)
        growth = fit_growth([100, 200, 400, 800], counts, folds)
        return growth.gain_high - growth.gain_low

    assert width(200) > 2 * width(4000)


# -------------------------------------------------------- mistakes and labelling errors


def test_worst_rows_are_confident_and_wrong():
    y = np.array([[1, 0], [0, 1], [1, 0], [0, 0]])
    scores = np.array([[0.9, 0.2], [0.6, 0.9], [0.1, 0.1], [0.2, 0.99]])
    labels = (scores > 0.5).astype(int)
    rows, sizes = worst_rows(y, labels, scores, np.array([0.5, 0.5]), 10)
    assert rows.tolist() == [3, 2, 1]  # the first row is right
    np.testing.assert_allclose(sizes, [99, 9, 1.5])
    assert worst_rows(y, y, scores, y.mean(axis=0), 10)[0].size == 0


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
    suspects, count = find_suspects(found, 50)
    assert count == len(suspects)
    assert {one["row"] - 1 for one in suspects} == set(flipped)
    assert all(one["given"] == y[one["row"] - 1, one["label"]] for one in suspects)
    assert len(find_suspects(found, 5)[0]) == 5


def test_a_row_unlike_the_others_does_not_fill_the_list():
    rng = np.random.default_rng(0)
    y = (rng.random((500, 30)) < 0.3).astype(int)
    p = np.where(y, 0.99, 0.01)
    p[7], p[9, 3] = 1 - p[7], 1 - p[9, 3]  # all labels of one row, one of another
    names = tuple(f"label {j}" for j in range(30))
    found = OutOfSample(names, np.arange(500), y, (p > 0.5).astype(int), p, np.full(30, 0.5))
    suspects, count = find_suspects(found, 20)
    assert count >= 20
    assert [one["row"] for one in suspects].count(8) == 2
    assert 10 in [one["row"] for one in suspects]


def test_right_probabilities_raise_hardly_any_suspicion():
    found = make_predictions(5000)
    _, count = find_suspects(found, 10)
    assert count < 0.005 * found.y.size


def test_overconfident_probabilities_are_corrected():
    """A model that is always certain and right in four of five pairs proves nothing."""
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=(500, 2))
    p = np.where(rng.random(y.shape) < 0.8, y, 1 - y).astype(float)
    found = OutOfSample(("a", "b"), np.arange(500), y, p.astype(int), p, np.ones(2))
    assert found.pooled_scores.max() < 0.9
    assert find_suspects(found, 10) == ([], 0)


def test_labels_together():
    y = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    found = OutOfSample(("a", "b", "c"), np.arange(4), y, 0 * y, y * 1.0, np.ones(3))
    together = find_together(found, 10)
    assert together["labels"] == [0, 1]  # the third label has no rows
    assert together["counts"] == [[3, 2], [2, 3]]
    assert together["predicted"] == [[0, 0], [0, 0]]
