"""Folds of the training rows, the same for every learner of an ensemble.

A second stage learns from scores in which all rows of a fold were scored by models that saw none
of their labels. Leave-one-out scores do not suffice: see `labelkin.kernel._ridge`. What is left of
the effect, scores of a fold that lean together away from its labels, is the smaller the larger the
fold; `centre_folds` removes the part that is common to all rows of a fold.
"""

import numpy as np

from labelkin.base import Array

# A fold has this many rows at least, unless there are fewer than `_FEWEST` such folds...
_FOLD_ROWS = 50
_FEWEST = 5
# ... and more where there would be more folds: models without a fold are then as good as whole.
_MOST = 20


def draw_folds(n_samples: int, rng: np.random.RandomState, n_scored: int | None = None) -> Array:
    """Return the fold of each row: 5 to 20 folds of equal size, at least 50 rows if possible.

    With `n_scored`, only that number of rows is in folds; the fold of the others is −1.
    """
    n_scored = n_samples if n_scored is None else min(n_scored, n_samples)
    n_folds = min(max(n_scored // _FOLD_ROWS, _FEWEST), _MOST, n_scored)
    fold_of = np.full(n_samples, -1, dtype=np.intp)
    fold_of[rng.permutation(n_samples)[:n_scored]] = np.arange(n_scored) % n_folds
    return fold_of


def draw_bags(fold_of: Array, n_bags: int, share: float, rng: np.random.RandomState) -> list[Array]:
    """Draw bags of whole folds, about a share of all; return the rows of each.

    Every fold is outside equally often, or once less than another. A single fold is in all bags.
    """
    n_folds = int(fold_of.max()) + 1
    n_outside = min(max(round((1 - share) * n_folds), 1), n_folds - 1)
    times_outside, bags = np.zeros(n_folds, dtype=int), []
    for _ in range(n_bags):
        outside = np.lexsort((rng.uniform(size=n_folds), times_outside))[:n_outside]
        times_outside[outside] += 1
        bags.append(np.flatnonzero(~np.isin(fold_of, outside)))
    return bags


def centre_folds(scores: Array, fold_of: Array, weight: Array | None = None) -> Array:
    """Return scores, (n, q), with the same mean, weighted, of each column in every fold."""

    def mean(rows: Array) -> Array:
        return np.average(scores[rows], axis=0, weights=None if weight is None else weight[rows])

    means = np.stack([mean(fold_of == fold) for fold in range(fold_of.max() + 1)])
    return scores + (mean(fold_of >= 0) - means)[fold_of]
