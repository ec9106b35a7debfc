"""The correction of labels by other labels."""

import numpy as np
from scipy.special import expit

from labelkin.kin._correction import LabelCorrection


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
