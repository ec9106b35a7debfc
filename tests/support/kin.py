"""Kin ensembles for which small data are large, and labels that depend on each other."""

import numpy as np

from labelkin import KinEnsembleClassifier
from labelkin.kin._limits import Limits


def limited(**limits):
    """Return a class of Kin ensembles with other limits of size than the library's."""

    class Limited(KinEnsembleClassifier):
        _limits = Limits(**limits)

    return Limited


def related_labels(exclusive):
    """Return 300 rows and six labels of one rule; three may exclude the other three."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    Y = (X[:, [0] * 6] + 0.7 * rng.normal(size=(300, 6)) > 0).astype(int)
    if exclusive:
        Y[:, 3:] = 1 - Y[:, :3] * (rng.random((300, 3)) < 0.9)
    return X, Y
