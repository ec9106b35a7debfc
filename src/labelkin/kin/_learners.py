"""Learners of `KinEnsembleClassifier`, each with out-of-sample scores of its training rows.

Every learner has two methods. ``fit_scores(rows, Y, random_state)`` learns from the rows in one
view of the features and returns scores of these rows that do not depend on their own labels:
leave-one-out, or out-of-bag with NaN for rows without any. ``scores(rows)`` returns scores of
queries. Scores are regressions on 0 and 1. `labelkin.kernel._regression.KernelRidge` is one more
such learner.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import linalg
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import UndefinedMetricWarning

from labelkin.base import Array, Matrix
from labelkin.constraints import BagSampler
from labelkin.kernel._regression import KernelRidge
from labelkin.projection._scatter import TrainingRows

# Share of the directions of the smallest ratio, which are dropped.
_DROPPED = 0.3


class Learner(Protocol):
    """What a group consists of."""

    def fit_scores(self, rows: Matrix, Y: Array, random_state: int, /) -> Array:
        """Fit, and return out-of-sample scores of the rows; NaN for rows without any."""

    def scores(self, rows: Matrix, /) -> Array:
        """Return scores of queries."""


@dataclass
class LearnerGroup:
    """A member of the ensemble: learners of one kind on one view, whose scores are averaged."""

    name: str
    """Its name in the ensemble."""
    view: str
    """Name of the view on which its learners are fitted."""
    reason: str
    """Why it is part of the ensemble, at its size."""
    learners: list[Any]
    """One learner or several."""

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries, given in the group's view."""
        return sum(learner.scores(rows) for learner in self.learners) / len(self.learners)


def mean_out_of_sample(scores: list[Array], Y: Array) -> Array:
    """Average the scores of each row over the learners that have one.

    A row without any score gets the mean of the other rows, which is no information about it.
    """
    known = np.isfinite(np.stack([s[:, 0] for s in scores]))
    counts = known.sum(axis=0)
    mean = sum(np.where(k[:, None], s, 0.0) for k, s in zip(known, scores, strict=True))
    mean = mean / np.maximum(counts, 1)[:, None]
    scored = counts > 0
    mean[~scored] = mean[scored].mean(axis=0) if scored.any() else Y.mean(axis=0)
    return mean


class ProjectionLearner:
    """Kernel ridge behind a constraint projection whose pairs come from a bag of the rows.

    With S_C and S_M the scatter of the differences over cannot-links and over must-links, the
    directions are the generalised eigenvectors w of

        S_C w = μ (S_M + tr(S_M)/k · I) w

    of the largest μ, each multiplied by √μ; the lowest 30 % are dropped. The ratio keeps all
    directions that separate label sets, in proportion, where the difference S_C − r·S_M of the
    paper keeps whole directions or drops them.

    Parameters
    ----------
    bag : ndarray of int
        Rows inside which pairs are drawn. Scores are those of the other rows, whose labels the
        projection does not depend on.
    threshold : float
        Θ.
    regression : KernelRidge
        Fitted to the projected rows.

    Attributes
    ----------
    components_ : ndarray of shape (n_columns, d)
        The projection.
    """

    components_: Array

    def __init__(self, bag: Array, threshold: float, regression: KernelRidge) -> None:
        self.bag, self.threshold, self.regression = bag, threshold, regression

    def fit_scores(self, rows: Matrix, Y: Array, random_state: int) -> Array:
        """Fit, and return leave-one-out scores of the rows outside the bag; else NaN."""
        n, rng = len(Y), np.random.RandomState(random_state)
        pairs = BagSampler(Y, self.bag).draw(self.threshold, n, n, random_state=rng)
        training = TrainingRows(rows)
        directions = ratio_directions(training, *pairs)
        self.components_ = training.in_features(directions)
        outside = np.setdiff1d(np.arange(n), self.bag)
        scores = self.regression.fit_scores(
            training.project(directions), Y, random_state, outside if len(outside) > 1 else None
        )
        scores[self.bag] = np.nan
        return scores

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries."""
        return self.regression.scores(rows @ self.components_)


def ratio_directions(training: TrainingRows, must_link: Array, cannot_link: Array) -> Array:
    """Return the directions of the ratio criterion in the coordinates of the rows."""
    none = np.empty((0, 2), dtype=np.intp)
    k = training.rows.shape[1]
    if not len(must_link) or not len(cannot_link):
        return np.eye(k)
    # Without must-links the scatter difference is S_C alone: one function for both scatters.
    between, _ = training.scatter_difference(none, cannot_link)
    within, _ = training.scatter_difference(none, must_link)
    ridge = np.trace(within) / k
    if ridge <= np.finfo(within.dtype).eps * np.trace(between):  # must-links of equal rows only
        return np.eye(k)
    within[np.diag_indices(k)] += ridge
    ratios, directions = linalg.eigh(between, within, overwrite_b=True, check_finite=False)
    first = int(_DROPPED * k)
    return directions[:, first:] * np.sqrt(np.maximum(ratios[first:], 0))


def draw_bags(n_samples: int, n_bags: int, share: float, rng: np.random.RandomState) -> list[Array]:
    """Draw bags of a share above ½ of the rows, in pairs that together hold all rows.

    So few rows are in both bags of a pair, and without a score.
    """
    size = min(max(round(share * n_samples), 2), max(n_samples - 1, 1))
    bags: list[Array] = []
    while len(bags) < n_bags:
        order = rng.permutation(n_samples)
        bags += [np.sort(order[:size]), np.sort(order[n_samples - size :])]
    return bags[:n_bags]


class TreesLearner:
    """Extremely randomised trees, each on a bootstrap sample, all labels in one tree.

    Parameters
    ----------
    n_jobs : int
        Threads.
    **parameters
        Of `ExtraTreesRegressor`.

    Attributes
    ----------
    forest_ : ExtraTreesRegressor
        The fitted trees.
    """

    forest_: ExtraTreesRegressor

    def __init__(self, n_jobs: int, **parameters: Any) -> None:
        self.n_jobs, self.parameters = n_jobs, parameters

    def fit_scores(self, rows: Matrix, Y: Array, random_state: int) -> Array:
        """Fit, and return out-of-bag scores; NaN for rows that are in every bag."""
        n, q = Y.shape
        forest = ExtraTreesRegressor(
            **self.parameters,
            bootstrap=True,
            oob_score=True,
            n_jobs=self.n_jobs,
            random_state=random_state,
        )
        target = Y.astype(np.float64)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
            warnings.simplefilter("ignore", UndefinedMetricWarning)  # R² of a single row
            forest.fit(rows, target.ravel() if q == 1 else target)
        scores = forest.oob_prediction_.reshape(n, q).copy()
        in_every_bag = np.ones(n, dtype=bool)
        for sample in forest.estimators_samples_:
            in_every_bag &= np.bincount(sample, minlength=n) > 0
        scores[in_every_bag] = np.nan
        del forest.oob_prediction_  # as large as Y, and not needed again
        self.forest_ = forest
        return scores

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries."""
        return self.forest_.predict(rows).reshape(rows.shape[0], -1)
