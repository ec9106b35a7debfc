"""Θ chosen by out-of-bag scores; the paper's 0.6 unless there is evidence against it.

Θ only decides which pairs are must-links, so of two values between which no pair of label sets has
its similarity one is enough. For each Θ a few members are trained, the m-th of all in the same bag,
and scored on the samples outside it. Another Θ than 0.6 is chosen if its members are better by a
paired t-test. Trials are few and the curve is flat, so that this is rarely so.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, stdtrit

from labelkin.base import MAX_SEED, Array
from labelkin.constraints import LabelSets

PAPER_THRESHOLD = 0.6
THRESHOLDS = (0.2, 0.4, PAPER_THRESHOLD, 0.8, 1.0)
TRIAL_SHARE = 0.7
"""Trial members over `n_estimators`; scoring them takes the rest of twice the cost."""
LEAST_MEMBERS = 3
"""Trial members of each Θ that a t-test needs."""
LEVEL = ndtr(-2.0)
"""Probability that Θ is changed by chance: that of two standard errors, 2 %."""


def choose_threshold(
    label_sets: LabelSets,
    n_estimators: int,
    score: Callable[[list[tuple[float, int]]], list[float]],
    rng: np.random.RandomState,
) -> tuple[float, Array, Array]:
    """Return Θ, the values tried, and the mean score of each.

    `score` trains members by their Θ and seed, and returns a score of each, more being better.
    """
    thresholds = distinct_thresholds(label_sets)
    n_members = int(TRIAL_SHARE * n_estimators) // len(thresholds)
    if n_members < LEAST_MEMBERS or len(thresholds) == 1:
        return PAPER_THRESHOLD, np.array([PAPER_THRESHOLD]), np.full(1, np.nan)
    seeds = rng.randint(MAX_SEED, size=n_members)
    trials = [(float(threshold), seed) for threshold in thresholds for seed in seeds]
    scores = np.reshape(score(trials), (-1, n_members))
    paper = thresholds.tolist().index(PAPER_THRESHOLD)
    gains = scores - scores[paper]
    best = int(gains.mean(axis=1).argmax())
    # The level of the best of several is divided by their number (Bonferroni).
    needed = -stdtrit(n_members - 1, LEVEL / (len(thresholds) - 1))
    standard_error = gains[best].std(ddof=1) / np.sqrt(n_members)
    better = gains[best].mean() > needed * standard_error
    return float(thresholds[best if better else paper]), thresholds, scores.mean(axis=1)


def distinct_thresholds(label_sets: LabelSets, most_sets: int = 1_000) -> Array:
    """Return the Θ, 0.6 among them, that make different pairs must-links, and not all or none.

    They are told apart by at most `most_sets` label sets.
    """
    table = label_sets.first(most_sets).similarity_table
    similarities = np.unique(table[table == table])  # NaN: not a pair
    split = {int(np.searchsorted(similarities, PAPER_THRESHOLD)): PAPER_THRESHOLD}
    for threshold in THRESHOLDS:
        split.setdefault(int(np.searchsorted(similarities, threshold)), threshold)
    useful = [t for place, t in split.items() if 0 < place < len(similarities)]
    return np.unique([PAPER_THRESHOLD, *useful])
