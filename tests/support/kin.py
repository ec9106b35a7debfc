"""Labels that depend on each other."""

import numpy as np


def related_labels(exclusive):
    """Return 300 rows and six labels of one rule; three may exclude the other three."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    Y = (X[:, [0] * 6] + 0.7 * rng.normal(size=(300, 6)) > 0).astype(int)
    if exclusive:
        Y[:, 3:] = 1 - Y[:, :3] * (rng.random((300, 3)) < 0.8)
    return X, Y
