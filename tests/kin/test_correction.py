"""The correction of labels by other labels."""

import numpy as np
import pytest
from scipy.special import expit

from labelkin.kin._correction import LabelCorrection
from labelkin.rows import array_api_dispatch, to_numpy


def test_the_correction_uses_other_labels_and_leaves_noise_alone():
    rng = np.random.RandomState(0)
    Y = (rng.rand(800, 1) < 0.4).astype(np.uint8)
    Y = np.hstack([Y, Y, (rng.rand(800, 1) < 0.3)]).astype(np.uint8)  # the second equals the first
    odds = np.column_stack([4 * Y[:, 0] - 2.0, rng.normal(-0.4, 0.1, (800, 2)).T.T])
    correction = LabelCorrection(0.5)
    corrected = correction.fit_scores(odds, Y, np.arange(800) % 10)
    before, after = (np.mean((expit(o) - Y) ** 2, axis=0) for o in (odds, corrected))
    assert after[1] < 0.5 * before[1]
    assert abs(after[2] - before[2]) < 0.02
    # Applied to the same rows it changes them nearly as it does when their fold is left out.
    np.testing.assert_allclose(expit(correction.apply(odds)), expit(corrected), atol=0.02)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_device_gives_what_the_host_does(weighted):
    xp = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(0)
    odds = rng.normal(size=(120, 2)) @ rng.normal(size=(2, 6))
    Y = (rng.random(odds.shape) < 1 / (1 + np.exp(-odds))).astype(int)
    odds = 0.5 * odds + rng.normal(size=odds.shape)
    fold_of, weight = rng.permutation(120) % 7, rng.uniform(0.5, 2, 120) if weighted else None
    here, there = LabelCorrection(0.5), LabelCorrection(0.5)
    ours = here.fit_scores(odds, Y, fold_of, weight)
    with array_api_dispatch():
        moved = xp.asarray(odds, device=xp.Device("device1"))
        theirs = to_numpy(there.fit_scores(moved, Y, fold_of, weight))
        queries = to_numpy(there.apply(moved))
    np.testing.assert_allclose(theirs, ours, atol=1e-9)
    np.testing.assert_allclose(queries, here.apply(odds), atol=1e-9)
