"""Forests as members of the ensemble, of trees for all labels or for each label alone."""

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from labelkin._utils.parallel import map_threads
from labelkin.base import Array, Matrix
from labelkin.kin._folds import draw_bags

# Share of the folds on which a group of trees is grown.
TREE_SHARE = 0.63


class TreesLearner:
    """A forest grown in groups of trees, each group on the rows of some of the folds.

    With 63 % of the folds, as many distinct rows as in a bootstrap sample, trees are as strong
    as bootstrapped ones; but a fold is outside of whole groups, whose trees have seen none of
    its labels. Trees are of all labels together.
    """

    forest_: Any
    own_threads = True

    def __init__(self, forest: Any, n_groups: int = 10) -> None:
        self.forest, self.n_groups = forest, n_groups

    def fit_scores(
        self,
        rows: Matrix,
        Y: Array,
        random_state: int,
        fold_of: Array,
        *,
        weight: Array | None = None,
    ) -> Array:
        """Fit, and return scores by the groups without a row's fold; NaN where there is none."""
        n, q = Y.shape
        target = Y.astype(np.float64).ravel() if q == 1 else Y.astype(np.float64)
        n_trees = self.forest.n_estimators
        rng = np.random.RandomState(random_state)
        bags = draw_bags(fold_of, min(self.n_groups, n_trees), TREE_SHARE, rng)
        forest = clone(self.forest).set_params(warm_start=True, random_state=rng)
        total, counts = np.zeros((n, q)), np.zeros(n)
        grown = 0
        for i, bag in enumerate(bags):
            size = n_trees * (i + 1) // len(bags)
            if forest.max_samples is not None:  # a number of rows
                forest.set_params(max_samples=min(self.forest.max_samples, len(bag)))
            # With warm_start, fit grows the trees that are missing, on the rows it is given.
            forest.set_params(n_estimators=size)
            forest.fit(rows[bag], target[bag], None if weight is None else weight[bag])
            outside = np.setdiff1d(np.arange(n), bag)
            queries = rows[outside].astype(np.float32)
            for tree in forest.estimators_[grown:] if len(outside) else ():
                total[outside] += tree.predict(queries, check_input=False).reshape(-1, q)
            counts[outside] += size - grown
            grown = size
        self.forest_ = forest.set_params(random_state=random_state)
        return np.where(counts[:, None] > 0, total / np.maximum(counts, 1)[:, None], np.nan)

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries."""
        return _mean_scores(self.forest_.estimators_, rows, self.forest_.n_jobs)


class LabelTreesLearner:
    """A forest of its own for each label, on the same groups of folds.

    Trees of all labels split where many labels differ. A label that depends on features of its
    own has few of these splits, and is predicted the better by trees that split for it alone, for
    as many times the cost as there are labels.
    """

    learners_: list[TreesLearner]
    own_threads = True

    def __init__(self, forest: Any, n_jobs: int = 1, n_groups: int = 10) -> None:
        self.forest, self.n_jobs, self.n_groups = forest, n_jobs, n_groups

    def fit_scores(
        self,
        rows: Matrix,
        Y: Array,
        random_state: int,
        fold_of: Array,
        *,
        weight: Array | None = None,
    ) -> Array:
        """Fit, and return scores by the groups without a row's fold; NaN where there is none."""
        self.learners_ = [TreesLearner(self.forest, self.n_groups) for _ in range(Y.shape[1])]

        def fit(label: int) -> Array:  # with the same seed, so that all have the same groups
            learner, target = self.learners_[label], Y[:, [label]]
            return learner.fit_scores(rows, target, random_state, fold_of, weight=weight)

        return np.hstack(map_threads(fit, range(Y.shape[1]), self.n_jobs))

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries."""
        return np.hstack([learner.scores(rows) for learner in self.learners_])


def _mean_scores(trees: list[Any], rows: Matrix, n_jobs: int | None) -> Array:
    """Return the mean prediction of trees, as a forest does.

    A forest takes 0.1 ms per tree besides the computation, and thousands of trees are usual here.
    """
    queries = rows.astype(np.float32)

    def add(part: Array) -> Array:
        return sum(trees[i].tree_.predict(queries) for i in part)

    parts = np.array_split(np.arange(len(trees)), effective_n_jobs(n_jobs))
    total = sum(map_threads(add, [part for part in parts if len(part)], n_jobs))
    return total.reshape(rows.shape[0], -1) / len(trees)
