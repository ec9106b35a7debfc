"""Learners of `KinEnsembleClassifier`, each with out-of-sample scores of its training rows.

Every learner has two methods. ``fit_scores(rows, Y, random_state, fold_of, weight=)`` learns from
the rows, which may have weights, in one view of the features and returns scores of these rows that
do not depend on the labels of any row of the same fold; NaN for rows without such a score. One with
a true `on_device` takes ``place=``, where it computes; rows and results are on the host.
``scores(rows)`` returns scores of queries. Scores are regressions on 0 and 1, or log odds.
`labelkin.kernel._regression.KernelRidge`, `labelkin.kernel._direct.DirectKernelRidge`,
`labelkin.linear._learner.LogisticLearner` and the forests of `labelkin.kin._trees` are such
learners too.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import linalg

from labelkin.base import Array, Matrix
from labelkin.calibration._means import shares_without_fold
from labelkin.constraints import BagSampler
from labelkin.kernel._direct import DirectKernelRidge
from labelkin.kernel._regression import KernelRidge
from labelkin.projection._scatter import TrainingRows
from labelkin.rows import (
    HOST,
    Labels,
    Place,
    add_to_diagonal,
    as_rows,
    diagonal,
    is_numpy,
    namespace_and_device,
    to_device_of,
    to_numpy,
)

# Share of the directions of the smallest ratio, which are dropped.
DROPPED = 0.3
# Ratio that counts as zero, as a share of the largest.
_ZERO_RATIO = 1e-10
# Trees by which features are weighted: their importances are means over all nodes.
_RELEVANCE_TREES = 40
_LEAST_RELEVANCE = 1e-3


class Learner(Protocol):
    """What a group consists of. One with a true `own_threads` uses all threads by itself."""

    def fit_scores(
        self,
        rows: Matrix,
        Y: Array,
        random_state: int,
        fold_of: Array,
        /,
        *,
        weight: Array | None = None,
    ) -> Array:
        """Fit, and return leave-fold-out scores of the rows; NaN for rows without any."""

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
    log_odds: bool = False
    """Whether scores are log odds; else they are regressions on 0 and 1."""

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries, given in the group's view."""
        return sum(learner.scores(rows) for learner in self.learners) / len(self.learners)


def mean_out_of_sample(
    scores: list[Array], Y: Array, fold_of: Array, weight: Array | None = None
) -> Array:
    """Average the scores of each row over the learners that have one.

    A row without any score gets the labels' shares in other folds, as a learner without features
    would predict them.
    """
    if len(scores) == 1 and np.isfinite(scores[0][:, 0]).all():
        return scores[0]
    known = np.isfinite(np.stack([s[:, 0] for s in scores]))
    counts = known.sum(axis=0)
    mean = sum(np.where(k[:, None], s, 0.0) for k, s in zip(known, scores, strict=True))
    mean = mean / np.maximum(counts, 1)[:, None]
    return np.where(counts[:, None] > 0, mean, shares_without_fold(Y, fold_of, weight))


class PartLearner:
    """A learner of the rows of some whole folds, `part`.

    Rows of other folds have the scores of queries: the learner has seen none of their labels.
    The mean of several such learners, each of another part of the rows, takes a fraction of the
    time of one learner of all rows, where that time grows faster than the rows.
    """

    on_device = True

    def __init__(self, part: Array, learner: DirectKernelRidge) -> None:
        self.part, self.learner = part, learner

    def fit_scores(
        self,
        rows: Matrix,
        Y: Array,
        random_state: int,
        fold_of: Array,
        *,
        weight: Array | None = None,
        place: Place = HOST,
    ) -> Array:
        """Fit, and return leave-fold-out scores of all rows."""
        scores = np.empty(Y.shape)
        part, outside = self.part, np.setdiff1d(np.arange(len(Y)), self.part)
        labels = Labels(Y, weight)
        scores[part] = self.learner.fit_scores(
            as_rows(rows[part], place), labels.take(part), random_state, fold_of[part]
        )
        scores[outside] = self.learner.scores(as_rows(rows[outside], place))
        return scores

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries."""
        return self.learner.scores(rows)


class ProjectionLearner:
    """Kernel ridge behind a constraint projection whose pairs come from a bag of whole folds.

    With S_C and S_M the scatter of the differences over cannot-links and over must-links, the
    directions are the generalised eigenvectors w of

        S_C w = μ (S_M + tr(S_M)/k · I) w

    of the largest μ, each multiplied by √μ; the lowest 30 % are dropped. The ratio keeps all
    directions that separate label sets, in proportion, where the difference S_C − r·S_M of the
    paper keeps whole directions or drops them.

    Scores are those of the rows outside the bag, whose labels the projection does not depend on.
    `components_`, (n_columns, d), is in single precision.
    """

    components_: Array

    def __init__(self, bag: Array, threshold: float, regression: KernelRidge) -> None:
        self.bag, self.threshold, self.regression = bag, threshold, regression

    @property
    def on_device(self) -> bool:
        """Whether it can be computed on a device."""
        return self.regression.on_device

    def fit_scores(
        self,
        rows: Matrix,
        Y: Array,
        random_state: int,
        fold_of: Array,
        *,
        weight: Array | None = None,
        place: Place = HOST,
    ) -> Array:
        """Fit, and return leave-fold-out scores of the rows outside the bag; else NaN."""
        self.components_, projected = self._project(rows, Y, weight, random_state, place)
        outside = np.setdiff1d(np.arange(len(Y)), self.bag)
        counted = outside if len(outside) > 1 else None
        scores = self.regression.fit_scores(
            as_rows(projected, place), Labels(Y, weight), random_state, fold_of, counted
        )
        scores[self.bag] = np.nan
        return scores

    def _project(
        self, rows: Matrix, Y: Array, weight: Array | None, random_state: int, place: Place
    ) -> tuple[Array, Array]:
        """Learn directions from labels of the bag; return them, and all rows projected."""
        n, rng = len(Y), np.random.RandomState(random_state)
        pairs = BagSampler(Y, self.bag).draw(self.threshold, n, n, weight, rng)
        training = TrainingRows(place.put(rows))
        directions = ratio_directions(training, *pairs)
        found = training.in_features(directions), training.project(directions)
        components, projected = (to_numpy(array) for array in found)
        return components.astype(np.float32), projected

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries."""
        return self.regression.scores(rows @ self.components_)


class RelevanceLearner(ProjectionLearner):
    """Kernel ridge on features that are scaled by their relevance for the labels of a bag.

    The relevance of a feature is its importance in a small forest of the bag, as a share of the
    largest. Features that tell nothing about any label then hardly change a distance. The scales
    are the diagonal of `components_`.
    """

    def __init__(self, bag: Array, regression: KernelRidge) -> None:
        self.bag, self.regression = bag, regression

    def _project(
        self, rows: Matrix, Y: Array, weight: Array | None, random_state: int, place: Place
    ) -> tuple[Array, Array]:
        from sklearn.ensemble import ExtraTreesRegressor

        forest = ExtraTreesRegressor(
            _RELEVANCE_TREES, max_features=0.5, min_samples_leaf=3, random_state=random_state
        )
        target = Y[self.bag].astype(np.float64)
        target = target.ravel() if Y.shape[1] == 1 else target
        forest.fit(rows[self.bag], target, None if weight is None else weight[self.bag])
        importance = forest.feature_importances_
        # The least scale tells equal rows from others where no feature is relevant.
        share = importance / (importance.max() or 1.0) + _LEAST_RELEVANCE
        scales = (share / as_rows(rows).moments().spread()).astype(np.float32)
        return np.diag(scales), rows * scales


def ratio_directions(training: TrainingRows, must_link: Array, cannot_link: Array) -> Array:
    """Return the directions of the ratio criterion in the coordinates of the rows."""
    xp, device = namespace_and_device(training.rows)
    k, dtype = training.rows.shape[1], training.rows.dtype
    if not len(must_link) or not len(cannot_link):
        return xp.eye(k, dtype=dtype, device=device)
    # Without must-links the scatter difference is S_C alone: one function for both scatters.
    none, cannot_link, must_link = (
        to_device_of(pairs, training.rows)
        for pairs in (np.empty((0, 2), dtype=np.intp), cannot_link, must_link)
    )
    between, _ = training.scatter_difference(none, cannot_link)
    within, _ = training.scatter_difference(none, must_link)
    ridge = float(diagonal(within).sum()) / k
    # Must-links of equal rows only.
    if ridge <= float(xp.finfo(dtype).eps) * float(diagonal(between).sum()):
        return xp.eye(k, dtype=dtype, device=device)
    ratios, directions = _generalised_eigh(between, add_to_diagonal(within, np.full(k, ridge)))
    # Beyond the rank of the rows ratios are zero, up to rounding, and rows the same.
    zeros = int(xp.sum(xp.astype(ratios <= _ZERO_RATIO * ratios[-1], xp.int64)))
    first = max(int(DROPPED * k), zeros)
    return directions[:, first:] * xp.sqrt(xp.where(ratios > 0, ratios, 0.0)[first:])


def _generalised_eigh(A: Array, B: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of B⁻¹A, ascending, and their vectors; B may be overwritten."""
    xp, _ = namespace_and_device(A)
    if is_numpy(xp):
        return linalg.eigh(A, B, overwrite_b=True, check_finite=False)
    root = xp.linalg.inv(xp.linalg.cholesky(B))
    values, vectors = xp.linalg.eigh(root @ A @ root.T)
    return values, root.T @ vectors
