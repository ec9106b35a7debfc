"""Fewer points for curves."""

import numpy as np
import pytest
from scipy.special import expit

from labelkin.calibration._curves import SlopeCalibration
from labelkin.kin._condense import condense
from labelkin.rows import array_api_dispatch, to_numpy


def test_few_rows_stay_as_they_are():
    scores = np.random.RandomState(0).standard_normal((50, 2))
    points, targets, weights = condense(scores, scores)
    assert points is scores
    assert targets is scores
    assert weights is None


def test_blocks_hold_every_row_once():
    rng = np.random.RandomState(0)
    for n, q in ((2001, 100), (70_000, 3)):
        scores, targets = rng.standard_normal((n, q)), rng.rand(n, q)
        points, means, weights = condense(scores, targets)
        assert len(points) < n / 2
        assert weights.sum() == n
        np.testing.assert_allclose(weights @ points, scores.sum(axis=0))
        np.testing.assert_allclose(weights @ means, targets.sum(axis=0))
        assert (np.diff(points, axis=0) >= 0).all()


def test_a_device_gives_the_same_points():
    xp = pytest.importorskip("array_api_strict")
    rng = np.random.RandomState(0)
    scores, targets = rng.standard_normal((2_001, 100)), rng.rand(2_001, 100)
    with array_api_dispatch():
        there = (xp.asarray(array, device=xp.Device("device1")) for array in (scores, targets))
        found = [to_numpy(array) for array in condense(*there)]
    here = condense(scores, targets)
    np.testing.assert_allclose(found[0], here[0], atol=1e-12)
    np.testing.assert_allclose(found[1], here[1], atol=1e-12)
    np.testing.assert_array_equal(found[2], here[2])


def test_curves_are_those_of_all_rows():
    rng = np.random.RandomState(1)
    scores = rng.standard_normal((60_000, 4))
    Y = (rng.rand(*scores.shape) < expit(2 * scores - [1, 3, 5, 7])).astype(np.float64)
    whole = SlopeCalibration(30.0, "none").fit(scores, Y)
    points, targets, weights = condense(scores, Y)
    few = SlopeCalibration(30.0, "none").fit(points, targets, weights)
    np.testing.assert_allclose(few.slope_, whole.slope_, rtol=0.01)
    np.testing.assert_allclose(few.intercept_, whole.intercept_, rtol=0.01)
