"""The linear part of kernel ridge regression: logistic regression, averaged with it in log odds.

On texts the lead of kernels over logistic regression shrinks with the number of samples, and a
kernel approximated from landmarks falls behind. The mean of both is better than either.
"""

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import check_random_state

from labelkin.base import Array
from labelkin.calibration._curves import finite_log_odds, fit_better_curves
from labelkin.calibration._means import restore_means
from labelkin.linear._fit import draw_folds
from labelkin.linear._learner import SPARSE_SHARE, LogisticLearner
from labelkin.rows import Labels, Rows

# Samples beyond which sparse rows have a linear part: with fewer, kernels lead by more than it
# would add, and it would take as much time as they do.
_MIN_ROWS = 6_000
_N_FOLDS = 5
# Rows on which C is chosen.
_SEARCH_ROWS = 5_000
# Halvings of the interval in which the weight of the linear part is sought.
_HALVINGS = 6


def profits_from_linear(rows: Rows) -> bool:
    """Return whether rows are many, sparse as texts are, and on the host."""
    n, k = rows.shape
    return n > _MIN_ROWS and rows.place.on_host and rows.n_stored() < SPARSE_SHARE * n * k


def folds_of_both(rows: Rows, labels: Labels, rng: np.random.RandomState) -> Array:
    """Return the fold of each row; kernel and linear part are both scored without it.

    The weight of the linear part is learned from these scores. With leave-one-out scores the kernel
    would have an advantage: they come from more rows, and depend on the row's own label.
    """
    return draw_folds(rows, labels.weights, _N_FOLDS, rng)


def fit_linear_part(
    rows: Rows,
    labels: Labels,
    kernel_odds: Array,
    fold_of: Array,
    slope_shrinkage: float,
    random_state: Any,
) -> tuple[LogisticLearner | None, float, Array]:
    """Fit a calibrated logistic regression, and its weight beside a kernel.

    `kernel_odds` are log odds of the rows by a kernel without their fold, `fold_of`. Returns the
    regression, None where it does not help, its weight in the mean of both log odds, which has the
    least log loss, and that mean, out-of-sample.
    """
    seed = check_random_state(random_state).randint(2**31 - 1)
    learner = LogisticLearner(_N_FOLDS, search_rows=_SEARCH_ROWS)
    odds = learner.fit_scores(rows, labels, seed, fold_of)
    odds = restore_means(odds, labels, fold_of, log_odds=True)
    curves, proba = fit_better_curves(odds, labels, slope_shrinkage, scales=("none",))
    learner.stretch(curves.slope_, curves.intercept_)
    change = finite_log_odds(proba) - kernel_odds
    share = _best_share(kernel_odds, change, labels.Y, labels.weights)
    return learner if share else None, share, kernel_odds + share * change


def _best_share(odds: Array, change: Array, Y: Array, weight: Array) -> float:
    """Return the share, from 0 to 1, of a change of log odds with the least log loss.

    The loss is a convex function of the share: its slope shows on which side the minimum is.
    """
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        slope = weight @ np.einsum("ij,ij->i", expit(odds + share * change) - Y, change)
        low, high = (low, share) if slope > 0 else (share, high)
    return low if high < 1 else high
