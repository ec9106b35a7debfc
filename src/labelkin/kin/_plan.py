"""The plan: which members an ensemble has, on which views, by the kind and the size of the data.

The candidates are listed in the order of their worth. One that does not fit into the time that is
left, by the cost model of `Limits`, is left out, and the plan says so.
"""

from typing import Any

import numpy as np

from labelkin.base import Array
from labelkin.kernel._direct import DirectKernelRidge
from labelkin.kernel._regression import KernelRidge
from labelkin.kin._learners import (
    LabelTreesLearner,
    Member,
    PartLearner,
    ProjectionLearner,
    TreesLearner,
    draw_bags,
)
from labelkin.kin._limits import Limits, Shape, features_tried
from labelkin.linear._learner import LogisticLearner
from labelkin.rows import Rows

_KERNELS = {
    "rbf": "a Gaussian kernel",
    "laplacian": "a Laplacian kernel",
    "manhattan": "a Laplacian kernel of absolute differences",
}


class Planner:
    """Plans the members of one ensemble.

    Parameters
    ----------
    rows : dict of str to Rows
        The rows in each view.
    n_labels : int
        Number of labels.
    fold_of : ndarray of int of shape (n_samples,)
        The fold of each row.
    limits : Limits
        Sizes and costs.
    n_projections, n_trees : int, int or None
        As in `KinEnsembleClassifier`.
    n_jobs : int
        Threads of learners that use all threads by themselves.
    rng : numpy.random.RandomState
        Draws bags and parts.
    """

    def __init__(
        self,
        rows: dict[str, Rows],
        n_labels: int,
        fold_of: Array,
        limits: Limits,
        *,
        n_projections: int = 4,
        n_trees: int | None = None,
        n_jobs: int = 1,
        rng: np.random.RandomState,
    ) -> None:
        self.rows, self.fold_of, self.limits = rows, fold_of, limits
        self.n_projections, self.n_trees = n_projections, n_trees
        self.n_jobs, self.rng = n_jobs, rng
        self.shape = Shape(*rows["raw"].shape, n_labels)
        self.in_blocks = rows["raw"].lazy

    def plan(self) -> tuple[list[Member], dict[str, str]]:
        """Return the members to fit, and the names and reasons of those left out."""
        members: list[Member] = []
        left_out: dict[str, str] = {}
        left = self.limits.seconds
        if self.limits.is_large(self.shape):
            left_out["others"] = "rows times labels are too many for other members"
            return [self._linear()[0]], left_out
        for member, seconds in self._candidates():
            if self.in_blocks and getattr(member.learners[0], "in_memory", False):
                left_out[member.name] = "it needs the rows in memory"
            elif seconds > left and members:
                left_out[member.name] = (
                    f"it would take about {seconds:.0f} s of one processor, and {left:.0f} s of "
                    f"{self.limits.seconds:.0f} s are left"
                )
            else:
                members.append(member)
                left -= seconds
        return members, left_out

    def _candidates(self) -> list[tuple[Member, float]]:
        """Return members and the seconds that each takes, the most useful first."""
        if "root" in self.rows:  # texts
            kernels = [("topics", "rbf"), ("raw", "laplacian"), ("root", "laplacian")]
            found = [self._kernel(*one) for one in kernels if one[0] in self.rows]
            if self.shape.n_samples >= self.limits.linear_rows or self.in_blocks:
                found.insert(0, self._linear())
            found += self._projections("topics") + self._trees()
            return found
        ranks = [self._kernel("ranks", "manhattan")] if "ranks" in self.rows else []
        smooth = self._kernel("raw" if ranks else "linear", "rbf")
        return [smooth, *ranks, self._linear(), *self._trees(), *self._projections("ranks")]

    def _linear(self) -> tuple[Member, float]:
        q = self.shape.n_labels
        learner = LogisticLearner(1 if self.limits.is_large(self.shape) else 5, self.n_jobs)
        member = Member("linear", "linear", "a logistic regression", [learner], log_odds=True)
        # Seven fits of about a hundred products with the rows.
        seconds = 7 * 100 * 4.0 * self.rows["linear"].n_stored() * q / self.limits.flops
        return member, seconds

    def _kernel(self, view: str, kernel: str) -> tuple[Member, float]:
        learners, how = self._kernel_learners(kernel)
        name = f"{view}_{'rbf' if kernel == 'rbf' else 'laplacian'}"
        reason = f"{_KERNELS[kernel]} of the view {view!r}, {how}"
        seconds = self.limits.kernel_seconds(self.shape, self._columns(view))
        return Member(name, view, reason, learners), seconds

    def _columns(self, view: str) -> float:
        """Return the mean number of values of a row that are not zero."""
        return self.rows[view].n_stored() / self.shape.n_samples

    def _kernel_learners(self, kernel: str) -> tuple[list[Any], str]:
        """Return the learners of a kernel, by the number of rows, and how they compute it."""
        n, limits = self.shape.n_samples, self.limits
        n_parts = 0 if self.in_blocks else limits.n_parts(n)
        if n_parts < 2:
            return [self._regression(kernel)], "exactly" if n_parts else "from landmarks"
        # Rows without a fold are in the part of their number.
        group = np.where(self.fold_of >= 0, self.fold_of, np.arange(n)) % n_parts
        parts = [np.flatnonzero(group == part) for part in range(n_parts)]
        learners = [PartLearner(part, self._regression(kernel, len(part))) for part in parts]
        return learners, f"the mean of {n_parts} parts of {len(parts[0]):,} rows"

    def _regression(self, kernel: str, n_samples: int | None = None, search: int = 600) -> Any:
        """Return the kernel regression that suits a number of rows."""
        n, limits = n_samples or self.shape.n_samples, self.limits
        if n <= limits.exact_rows and not self.in_blocks:
            return KernelRidge(kernel, clear_ridges=True, search_rows=search, refine_rows=0)
        if n_samples or (limits.n_parts(n) == 1 and not self.in_blocks):
            return DirectKernelRidge(kernel, search_rows=search, refine_rows=0)
        m = limits.n_landmarks(n)
        return KernelRidge(kernel, n_landmarks=m, landmark_means=True, refine_rows=0)

    def _projections(self, view: str) -> list[tuple[Member, float]]:
        """Return the kernels on projections of a view, and what they take together."""
        if view not in self.rows or not self.n_projections:
            return []
        limits = self.limits
        bags = draw_bags(self.fold_of, self.n_projections, limits.bag, self.rng)
        learners = [
            ProjectionLearner(
                bag,
                limits.thresholds[i % len(limits.thresholds)],
                limits.dropped,
                self._regression("rbf", search=300),  # widths of several learners average out
            )
            for i, bag in enumerate(bags)
        ]
        reason = f"Gaussian kernels on projections of the view {view!r} that separate label sets"
        one = limits.projection_seconds(self.shape, self.rows[view].shape[1])
        return [(Member("projections", view, reason, learners), len(learners) * one)]

    def _trees(self) -> list[tuple[Member, float]]:
        """Return a forest of each label alone where it takes little time, else of all labels."""
        if self.n_trees == 0:
            return []
        from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

        _, k, q = self.shape
        limits, tried = self.limits, features_tried(k)
        parameters = {"max_features": tried, "min_samples_leaf": limits.leaf}
        n_trees = self.n_trees or limits.label_trees
        seconds = q * limits.trees_seconds(self.shape, n_trees)
        if "root" not in self.rows and seconds <= limits.seconds / 25:
            # In one thread: those of scikit-learn swap the filters of warnings without a lock, and
            # some of thousands of short tasks would warn.
            forest: Any = RandomForestRegressor(n_trees, bootstrap=False, **parameters)
            learner: Any = LabelTreesLearner(forest, limits.bag)
            return [(Member("trees", "raw", "a forest of each label alone", [learner]), seconds)]
        n_trees = self.n_trees or limits.n_trees
        if not limits.holds_leaves(self.shape, n_trees):
            return []
        forest = ExtraTreesRegressor(n_trees, n_jobs=self.n_jobs, **parameters)
        learner = TreesLearner(forest, limits.bag)
        seconds = limits.trees_seconds(self.shape, n_trees)
        return [(Member("trees", "raw", "trees of all labels together", [learner]), seconds)]
