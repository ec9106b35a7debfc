"""Made-up data for ensembles: log odds of members, and weakly informative features."""

import numpy as np
from scipy.special import expit


def noisy_members(n, noises, q=4, seed=0):
    """Return log odds, (members, n, q), with noise of the given deviations, and labels."""
    rng = np.random.RandomState(seed)
    truth = rng.standard_normal((n, q))
    Y = (expit(3 * truth) > rng.rand(n, q)).astype(np.uint8)
    return np.stack([3 * truth + s * rng.standard_normal((n, q)) for s in noises]), Y


def weak_labels(seed, n=1900, n_labels=150, n_features=30):
    """Return features that say little about many labels, which are correlated with each other."""
    rng = np.random.default_rng(seed)
    directions, loadings = rng.normal(size=(n_features, 6)), rng.normal(size=(6, n_labels))
    X = rng.normal(size=(n, n_features))
    factors = 0.6 * X @ directions / n_features**0.5 + rng.normal(size=(n, 6))
    log_odds = 0.7 * factors @ loadings + rng.normal(-3.2, 1.0, n_labels)
    return X, (log_odds + rng.logistic(size=log_odds.shape) > 0).astype(np.uint8)
