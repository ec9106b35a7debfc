"""Folds of the training rows, the same for every learner of an ensemble.

A second stage learns from scores in which all rows of a fold were scored by models that saw none
of their labels. Leave-one-out scores do not suffice: see `labelkin.kernel._ridge`. What is left of
the effect, scores of a fold that lean together away from its labels, is the smaller the larger the
fold; `labelkin.calibration._means.restore_means` removes the part that is common to all rows of a
fold. But models without a large fold are weaker than the one of all rows, and so are all estimates
by their scores: hence as many as 20 folds, and at least 10.
"""

import numpy as np

from labelkin.base import Array

# A fold has this many rows at least, unless there would be fewer than `_FEWEST` folds...
_FOLD_ROWS = 20
_FEWEST = 10
# ... and more where there would be more folds: models without a fold are then as good as whole.
_MOST = 20


def draw_folds(n_samples: int, rng: np.random.RandomState, n_scored: int | None = None) -> Array:
    """Return the fold of each row: 10 to 20 folds of equal size, of 20 rows if possible.

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
