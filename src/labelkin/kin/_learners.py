"""Members of the ensemble, and the learners that they consist of.

A learner has two methods. ``fit_scores(rows, labels, random_state, fold_of)`` fits it and returns
leave-fold-out scores: those of the rows of a fold, by what was learned from the other folds.
``scores(rows)`` are the scores of queries. Kernel ridge regressions (`labelkin.kernel`), a logistic
regression (`labelkin.linear._learner`), constraint projections and forests are learners. What needs
the rows in memory has ``in_memory = True``; what uses all threads itself, ``own_threads = True``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from scipy import linalg
from sklearn.base import clone

from labelkin._utils.parallel import map_threads
from labelkin.base import Array, Matrix
from labelkin.calibration._curves import counts_without_fold
from labelkin.constraints import ConstraintSampler
from labelkin.kernel._regression import (
    KernelRidge,
    distances,
    median_distance,
    sample_rows,
)
from labelkin.kernel._unknown import CHOICE, fill_unknown, hide_cells
from labelkin.projection._pairwise import TrainingRows
from labelkin.rows import (
    Labels,
    Rows,
    add_to_diagonal,
    as_rows,
    namespace,
    to_device_of,
    to_numpy,
)

# The kernel that fills in unknown labels for trees: its landmarks, from which its width is learned,
# too, and its ridge.
_FILL_ROWS, _FILL_RIDGE = 600, 0.3


@dataclass
class Member:
    """A member of the ensemble: learners of one kind on one view, whose scores are averaged."""

    name: str
    """Its name in the ensemble."""
    view: str
    """Name of the view on which its learners are fitted."""
    reason: str
    """What it is, in words."""
    learners: list[Any]
    """One learner or several."""
    log_odds: bool = False
    """Whether scores are log odds; else they are regressions on 0 and 1."""
    seconds: float = 0.0
    """Time of one processor that its training takes, by the cost model of `Limits`."""
    search_seconds: float = 0.0
    """Time that each learner takes besides, whatever the number of rows; the plan leaves it out."""

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries, given in the member's view."""
        return sum(learner.scores(rows) for learner in self.learners) / len(self.learners)


def mean_scores(scores: list[Array], labels: Labels, fold_of: Array) -> Array:
    """Average the leave-fold-out scores of each row over the learners that have one.

    A row without any score gets the labels' shares in other folds, as a learner without features
    would predict them.
    """
    known = np.isfinite(np.stack([s[:, 0] for s in scores]))
    if len(scores) == 1 and known.all():
        return scores[0]
    counts = known.sum(axis=0)
    mean = sum(np.where(k[:, None], s, 0.0) for k, s in zip(known, scores, strict=True))
    mean = mean / np.maximum(counts, 1)[:, None]
    positives, rest = counts_without_fold(labels, fold_of)
    share = positives / np.maximum(rest, np.finfo(np.float64).tiny)
    return np.where(counts[:, None] > 0, mean, share)


def draw_bags(fold_of: Array, n_bags: int, share: float, rng: np.random.RandomState) -> list[Array]:
    """Draw bags of whole folds, about a share of all; return the rows of each.

    The numbers of bags without each fold differ by at most one. A single fold is in all bags, and
    so are rows without a fold, −1, which are not scored.
    """
    n_folds = int(fold_of.max()) + 1
    n_outside = min(max(round((1 - share) * n_folds), 1), n_folds - 1)
    times_outside, bags = np.zeros(n_folds, dtype=int), []
    for _ in range(n_bags):
        outside = np.lexsort((rng.uniform(size=n_folds), times_outside))[:n_outside]
        times_outside[outside] += 1
        bags.append(np.flatnonzero(~np.isin(fold_of, outside)))
    return bags


@dataclass(eq=False, repr=False)
class PartLearner:
    """A learner fitted to the rows of some whole folds, `part`.

    Rows of other folds have the scores of queries: the learner has seen none of their labels.
    Several such learners, each fitted to a different part of the rows, take a fraction of the time
    of one learner of all rows if that time grows faster than linearly.
    """

    part: Array
    learner: KernelRidge
    in_memory: ClassVar[bool] = True

    def fit_scores(self, rows: Rows, labels: Labels, random_state: Any, fold_of: Array) -> Array:
        """Fit, and return leave-fold-out scores; NaN for rows without a fold."""
        scores, part = np.full(labels.shape, np.nan), self.part
        scores[part] = self.learner.fit_scores(
            rows.take(part), labels.take(part), random_state, fold_of[part]
        )
        outside = np.setdiff1d(np.flatnonzero(fold_of >= 0), part)
        scores[outside] = to_numpy(self.learner.scores(rows.take(outside)))
        return scores

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries."""
        return self.learner.scores(rows)


@dataclass(eq=False, repr=False)
class ProjectionLearner:
    """Kernel ridge on a constraint projection whose pairs come from a bag of whole folds.

    With S_C and S_M the scatter of the differences over cannot-links and over must-links, the
    directions are the generalised eigenvectors w of

        S_C w = μ (S_M + tr(S_M)/k · I) w

    of the largest μ, each multiplied by √μ; a share, `dropped`, of the lowest is left out. The
    ratio keeps all directions that separate label sets, in proportion, whereas the difference S_C −
    r·S_M of the paper keeps or drops whole directions.

    Scores are those of the rows outside the bag, whose labels the projection does not depend on.
    `components_`, (n_columns, d), is in single precision.
    """

    bag: Array
    threshold: float
    dropped: float
    regression: KernelRidge
    components_: Array = field(init=False)
    in_memory: ClassVar[bool] = True

    def fit_scores(self, rows: Rows, labels: Labels, random_state: Any, fold_of: Array) -> Array:
        """Fit, and return leave-fold-out scores of the rows outside the bag; else NaN."""
        n, rng = len(labels), np.random.RandomState(random_state)
        sampler = ConstraintSampler(labels.Y, labels.known, self.bag)
        pairs = sampler.draw(self.threshold, n, n, labels.weight, rng)
        training = TrainingRows(rows.placed().gather())
        directions = ratio_directions(training, *pairs, self.dropped)
        self.components_ = to_numpy(training.in_features(directions)).astype(np.float32)
        projected = as_rows(to_numpy(training.project(directions)), rows.place)
        outside = np.setdiff1d(np.arange(n), self.bag)
        counted = outside if len(outside) > 1 else None
        scores = self.regression.fit_scores(projected, labels, random_state, fold_of, counted)
        scores[self.bag] = np.nan
        return scores

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries."""
        return self.regression.scores(as_rows(rows).dot(self.components_))


def ratio_directions(
    training: TrainingRows, must_link: Array, cannot_link: Array, dropped: float
) -> Array:
    """Return the directions of the ratio criterion in the coordinates of the rows."""
    xp, k, dtype = namespace(training.rows), training.rows.shape[1], training.rows.dtype
    between, within = training.scatter(cannot_link), training.scatter(must_link)
    ridge, spread = float(xp.linalg.trace(within)) / k, float(xp.linalg.trace(between))
    # No pair of a kind, or must-links of equal rows only.
    if ridge <= float(xp.finfo(dtype).eps) * spread or not len(cannot_link):
        return to_device_of(np.eye(k), training.rows)
    within = add_to_diagonal(within, ridge)
    if isinstance(within, np.ndarray):
        ratios, directions = linalg.eigh(between, within, check_finite=False)
    else:
        root = xp.linalg.inv(xp.linalg.cholesky(within))
        ratios, directions = xp.linalg.eigh(root @ between @ root.T)
        directions = root.T @ directions
    # Directions beyond the rank of the rows have ratios of zero, up to rounding, and are dropped.
    zeros = int(xp.sum(xp.astype(ratios <= 1e-10 * ratios[-1], xp.int64)))
    first = max(int(dropped * k), zeros)
    return directions[:, first:] * xp.sqrt(xp.where(ratios > 0, ratios, 0.0)[first:])


@dataclass(eq=False, repr=False)
class TreesLearner:
    """A forest of all labels together, grown in ten groups of trees on bags of whole folds.

    With about 63 % of the folds, as many distinct rows as in a bootstrap sample, trees are as
    accurate as bootstrapped ones, and each fold is scored by groups of trees that have seen none of
    its labels. Trees of a single label grow on the rows where it is known; of several, unknown
    labels are replaced by a kernel regression on the known labels of the bag.
    """

    forest: Any
    bag: float
    forest_: Any = field(init=False)
    in_memory: ClassVar[bool] = True
    own_threads: ClassVar[bool] = True

    def fit_scores(self, rows: Rows, labels: Labels, random_state: Any, fold_of: Array) -> Array:
        """Fit, and return scores by the groups without a row's fold; NaN where there is none."""
        X, (n, q), weight, known = rows.gather(), labels.shape, labels.weight, labels.known
        n_trees, rng = self.forest.n_estimators, np.random.RandomState(random_state)
        forest = clone(self.forest).set_params(warm_start=True, random_state=rng)
        total, counts, grown = np.zeros((n, q)), np.zeros(n), 0
        bags = draw_bags(fold_of, min(10, n_trees), self.bag, rng)
        smooth = _fit_smoother(rows, labels) if known is not None and q > 1 else None
        for i, bag in enumerate(bags):
            grown_on, outside = bag, np.setdiff1d(np.arange(n), bag)
            if smooth is not None:
                hidden = hide_cells(labels, np.isin(np.arange(n), outside)[:, None])
                target = np.clip(fill_unknown(smooth, hidden, CHOICE)[0][bag], 0, 1)
            else:
                if known is not None and known[bag].any():
                    grown_on = bag[known[bag, 0]]
                target = labels.Y[grown_on].astype(np.float64)
            # With warm_start, fit grows the trees that are missing, on the rows it is given.
            size = n_trees * (i + 1) // len(bags)
            forest.set_params(n_estimators=size)
            target = target.ravel() if q == 1 else target
            forest.fit(X[grown_on], target, None if weight is None else weight[grown_on])
            if len(outside):
                trees = forest.estimators_[grown:]
                total[outside] += len(trees) * _mean_of_trees(trees, X[outside], forest.n_jobs)
            counts[outside] += size - grown
            grown = size
        self.forest_ = forest.set_params(random_state=random_state)
        return np.where(counts[:, None] > 0, total / np.maximum(counts, 1)[:, None], np.nan)

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries."""
        return _mean_of_trees(self.forest_.estimators_, rows, self.forest_.n_jobs)


@dataclass(eq=False, repr=False)
class LabelTreesLearner:
    """A forest of its own for each label, on the same groups of folds.

    Trees of all labels split where many labels differ. A label that depends on features of its
    own has few of these splits, and is predicted better by trees that split for it alone.
    """

    forest: Any
    bag: float
    learners_: list[TreesLearner] = field(init=False)
    in_memory: ClassVar[bool] = True
    own_threads: ClassVar[bool] = True

    def fit_scores(self, rows: Rows, labels: Labels, random_state: Any, fold_of: Array) -> Array:
        """Fit, and return scores by the groups without a row's fold; NaN where there is none."""
        self.learners_, scores = [], []
        for label in range(labels.shape[1]):  # with the same seed, so that all have the same groups
            learner = TreesLearner(self.forest, self.bag)
            one = labels.select(np.array([label]))
            scores.append(learner.fit_scores(rows, one, random_state, fold_of))
            self.learners_.append(learner)
        return np.hstack(scores)

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries."""
        return np.hstack([learner.scores(rows) for learner in self.learners_])


def _fit_smoother(rows: Rows, labels: Labels) -> Callable[[Array], Array]:
    """Return the kernel regression that fills in unknown labels from those known in a bag.

    On 500 rows of medical with three quarters of the labels hidden, trees had 67 % average
    precision with means in place of hidden labels, and 79 % with this regression.
    """
    sample = rows.take(sample_rows(len(rows), np.random.RandomState(0), _FILL_ROWS))
    # Neither the width nor the landmarks depend on labels of rows outside the bag.
    width = median_distance(distances("rbf", sample.gather()))
    regression = KernelRidge("rbf", width=width, n_landmarks=_FILL_ROWS)
    return regression.fit_smoother(rows, labels, _FILL_RIDGE)


def _mean_of_trees(trees: list[Any], rows: Matrix, n_jobs: int | None) -> Array:
    """Return the mean prediction of trees; the forest's own method takes 0.1 ms more per tree."""
    if any(tree.tree_.n_features != rows.shape[1] for tree in trees):
        raise ValueError("The trees were grown on another number of features.")  # they do not check
    queries, size = rows.astype(np.float32), -(-len(trees) // effective_n_jobs(n_jobs))
    parts = [trees[i : i + size] for i in range(0, len(trees), size)]
    sums = map_threads(lambda part: sum(t.tree_.predict(queries) for t in part), parts, n_jobs)
    return sum(sums).reshape(rows.shape[0], -1) / len(trees)
