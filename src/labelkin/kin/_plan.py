"""The plan: which learners an ensemble has, on which views, by the size of the data.

Candidates are listed in the order of their worth for the kind of rows. Each has a cost by the
model of `Limits`; a candidate that does not fit into what is left of the budget is left out, and
the plan says so.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from labelkin.base import Array
from labelkin.kernel._direct import DirectKernelRidge
from labelkin.kernel._regression import KernelRidge
from labelkin.kin._folds import draw_bags
from labelkin.kin._learners import (
    LearnerGroup,
    PartLearner,
    ProjectionLearner,
    RelevanceLearner,
)
from labelkin.kin._limits import Cost, Limits, Shape
from labelkin.kin._trees import LabelTreesLearner, TreesLearner
from labelkin.kin._views import word_view
from labelkin.linear._learner import LogisticLearner

# Share of the folds in the bag inside which the pairs of a projection are drawn...
BAG = 0.55
# ... by one of these thresholds Θ in turn.
THRESHOLDS = (0.3, 0.5, 0.6, 0.9)


@dataclass
class Plan:
    """Members to fit, and the reasons of those left out."""

    members: list[LearnerGroup] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """Name of a member that was not planned → why."""

    def describe(self, shape: Shape) -> list[str]:
        """Return sentences about what is fitted and what is not."""
        lines = [
            f"Plan for {shape.n_samples:,} rows, {shape.n_features:,} features and "
            f"{shape.n_labels:,} labels:"
        ]
        lines += [f"{member.name}: {member.reason}." for member in self.members]
        lines += [f"{name}: left out, {reason}." for name, reason in self.left_out.items()]
        return lines


class Planner:
    """Plans the members of one ensemble.

    Parameters
    ----------
    views : dict of str to (int, float)
        Name of each view, as `learn_views` orders them → its columns, and how many of them are
        not zero in a row, on average.
    shape : Shape
        Size of the problem.
    binary : bool
        Whether all features are 0 or 1.
    weighted : bool
        Whether words have weights rather than counts.
    fold_of : ndarray of int of shape (n_samples,)
        The fold of each row.
    n_jobs : int
        Threads of learners that use all threads by themselves.
    rng : numpy.random.RandomState
        Draws bags and parts.
    limits : Limits
        Sizes and costs.
    in_memory : bool
        Whether the rows are in memory; else there are only members that are sums over blocks of
        rows.
    """

    def __init__(
        self,
        views: dict[str, tuple[int, float]],
        shape: Shape,
        *,
        binary: bool,
        weighted: bool,
        fold_of: Array,
        n_jobs: int,
        rng: np.random.RandomState,
        limits: Limits,
        in_memory: bool = True,
    ) -> None:
        self.views, self.names = views, list(views)
        self.shape, self.binary, self.weighted = shape, binary, weighted
        self.fold_of, self.n_jobs = fold_of, n_jobs
        self.rng, self.in_memory = rng, in_memory
        self.limits = limits if in_memory else limits.for_blocks()

    def plan(self, n_projections: int, n_trees: int | None) -> Plan:
        """Choose the members; the arguments are those of `KinEnsembleClassifier`."""
        plan = Plan()
        budget = Cost(self.limits.seconds, self.limits.model_bytes)
        for member, one in self._candidates(n_projections):
            # Projections may be fewer; other members are whole.
            fewest = min(self.limits.min_projections, n_projections) if one.divisible else 1
            wanted = len(member.learners) if one.divisible else 1
            affordable = min(wanted, one.times_in(budget))
            if affordable < fewest and plan.members:
                least = one.times(fewest)
                plan.left_out[member.name] = (
                    f"it would take about {least.seconds:.0f} s of one processor and "
                    f"{least.bytes / 1e6:.0f} MB of the model, and {budget.seconds:.0f} s "
                    f"and {budget.bytes / 1e6:.0f} MB are left"
                )
                continue
            count = max(affordable, fewest)
            if one.divisible:
                member.learners = member.learners[:count]
            budget = budget.less(one.times(count))
            plan.members.append(member)
        if self.limits.is_large(self.shape):
            plan.left_out["others"] = "rows times labels are too many for out-of-sample scores"
        elif not self.in_memory:
            plan.left_out["others"] = "projections and trees need the rows in memory"
        else:
            self._add_trees(plan, n_trees, self.limits.seconds - budget.seconds)
        return plan

    def _candidates(self, n_projections: int) -> list[tuple[LearnerGroup, Cost]]:
        """Return members without trees and their costs, the most useful first."""
        if self.limits.is_large(self.shape):
            return [self._linear()]
        texts = "idf" in self.names
        scaled = [name for name in self.names if name not in ("reduced", "topics")]
        if texts and self.weighted:  # weights times rarity once more come last
            scaled = [name for name in scaled if name != "idf"] + ["idf"]
        linear = [self._linear()]
        # Where no view divides features by their standard deviations, the first kernel may.
        smooth = [
            self._kernel(name, "rbf", "auto" if name == "raw" and texts else False)
            for name in scaled
        ]
        # On zeros and ones the Laplacian kernel is the RBF kernel: no second member.
        last = next(name for name in reversed(self.names) if name in scaled)
        views = [last] if self.binary else list(dict.fromkeys([scaled[0], last]))
        rough = [self._kernel(name, "manhattan") for name in views]
        kernels = [*smooth, *rough]
        if "topics" in self.names:  # to which, of many words, a Laplacian kernel adds most
            kernels = [self._kernel("topics", "rbf"), rough[0], *smooth, *rough[1:]]
        if not self.in_memory:
            n_projections = 0
        projections = [self._projections(n_projections)] if n_projections else []
        if texts:
            return [*linear, *kernels, *projections]
        small = self.shape.n_samples <= self.limits.max_eigen and "ranks" in self.names
        relevance = [self._relevance(n_projections)] if n_projections and small else []
        return [*kernels, *projections, *relevance, *linear]

    def _linear(self) -> tuple[LearnerGroup, Cost]:
        n_groups = self.limits.n_linear_groups(self.shape)
        learner = LogisticLearner(n_groups, self.n_jobs)
        view = word_view(self.names, self.weighted)
        reason = f"logistic regression on the view {view!r}"
        group = LearnerGroup("linear", view, reason, [learner], log_odds=True)
        return group, self.limits.linear_cost(self.shape, n_groups)

    def _kernel(
        self, view: str, kernel: str, scale: bool | str = False
    ) -> tuple[LearnerGroup, Cost]:
        kind = {"rbf": "smooth functions", "manhattan": "functions with kinks, robust to outliers,"}
        learners, how = self._kernel_learners(kernel, scale)
        name = f"{view}_{'laplacian' if kernel == 'manhattan' else kernel}"
        reason = f"{kind[kernel]} of the view {view!r}, {how}"
        columns, stored = self.views[view]
        cost = self.limits.kernel_cost(self.shape, stored, dense=stored > columns / 2)
        if view == "topics":
            directions = self.limits.directions_bytes(self.shape, columns)
            cost = replace(cost, bytes=cost.bytes + directions)
        return LearnerGroup(name, view, reason, learners), cost

    def _kernel_learners(self, kernel: str, scale: bool | str) -> tuple[list[Any], str]:
        """Return the learners of a kernel, by the number of rows, and how they approximate it."""
        n = self.shape.n_samples
        parameters: dict[str, Any] = {"scale": scale, "refine_rows": 0}  # widths average out
        many_labels = self.shape.n_labels >= self.limits.refined_labels
        if kernel == "manhattan" and many_labels and n > self.limits.max_eigen:
            parameters["refine_rows"] = self.limits.refine_rows
        if n <= self.limits.max_eigen:
            exact = KernelRidge(kernel, clear_ridges=True, **parameters)
            return [exact], "a ridge for each label that needs its own"
        n_parts = self.limits.n_parts_of_kernel(n)
        if n_parts == 1:
            return [DirectKernelRidge(kernel, **parameters)], "one ridge for all labels"
        if n_parts:
            n_parts = min(n_parts, int(self.fold_of.max()) + 1)
            part_of = self.rng.permutation(np.arange(self.fold_of.max() + 1) % n_parts)
            parts = [np.flatnonzero(part_of[self.fold_of] == part) for part in range(n_parts)]
            learners = [
                PartLearner(rows, DirectKernelRidge(kernel, **parameters)) for rows in parts
            ]
            return learners, f"the mean of {n_parts} parts of {len(parts[0]):,} rows"
        m = self.limits.n_landmarks(n)
        learner = KernelRidge(kernel, n_landmarks=m, landmark_means=True, **parameters)
        return [learner], f"approximated from {m:,} landmarks"

    def _projections(self, n_projections: int) -> tuple[LearnerGroup, Cost]:
        """Return the group of projections, and the cost of one of them."""
        view = next(name for name in reversed(self.names) if name != "topics")
        bags = draw_bags(self.fold_of, n_projections, BAG, self.rng)
        learners = [
            ProjectionLearner(bag, THRESHOLDS[i % len(THRESHOLDS)], self._projected_kernel("rbf"))
            for i, bag in enumerate(bags)
        ]
        reason = f"distances in the view {view!r} that separate label sets"
        group = LearnerGroup("projections", view, reason, learners)
        columns = self.views[view][0]
        return group, self.limits.projection_cost(self.shape, columns, view == "reduced")

    def _relevance(self, n_learners: int) -> tuple[LearnerGroup, Cost]:
        """Return the group of kernels of weighted features, and the cost of one of them."""
        learners = [
            RelevanceLearner(bag, self._projected_kernel("manhattan"))
            for bag in draw_bags(self.fold_of, n_learners, BAG, self.rng)
        ]
        reason = "functions with kinks of the features that matter, by their ranks"
        group = LearnerGroup("relevance", "ranks", reason, learners)
        return group, self.limits.projection_cost(self.shape, self.views["ranks"][0])

    def _projected_kernel(self, kernel: str) -> KernelRidge:
        """Return the regression behind a projection, by the number of rows."""
        n = self.shape.n_samples
        parameters: dict[str, Any] = {
            "search_rows": self.limits.projected_search_rows,
            "refine_rows": 0,
        }
        if n <= self.limits.max_eigen:
            return KernelRidge(kernel, clear_ridges=True, **parameters)
        if self.limits.n_parts_of_kernel(n) == 1:
            return DirectKernelRidge(kernel, **parameters)
        m = self.limits.n_landmarks(n)
        return KernelRidge(kernel, n_landmarks=m, landmark_means=True, **parameters)

    def _add_trees(self, plan: Plan, n_trees: int | None, spent: float) -> None:
        """Add forests whose leaves fit into memory, after members that take `spent` seconds."""
        shape, limits = self.shape, self.limits
        sizes = (shape.n_samples, shape.n_features, shape.n_labels)
        wanted = limits.n_trees(*sizes) if n_trees is None else n_trees
        if not wanted:
            return
        forest = limits.forest(*sizes, wanted)
        if forest is None:
            plan.left_out["trees"] = "since the leaves of all trees would not fit into memory"
            return
        from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

        random_splits = TreesLearner(ExtraTreesRegressor(**forest, n_jobs=self.n_jobs))
        reason = "steps and interactions, whatever the scale of the features"
        plan.members.append(LearnerGroup("trees", "raw", reason, [random_splits]))
        best_splits: Any = None
        table = "standard" in self.names
        alone = limits.label_forest(*sizes, n_trees, spent)
        if alone is not None and (table or shape.n_features < shape.n_samples):
            best_splits = LabelTreesLearner(RandomForestRegressor(**alone), self.n_jobs)
            kind = f"{alone['n_estimators']} trees for each label alone"
        elif table:
            forest |= {"max_features": "sqrt", "n_jobs": self.n_jobs}
            best_splits = TreesLearner(RandomForestRegressor(**forest))
            kind = "trees for all labels together"
        if best_splits is not None:
            reason = f"steps at the best places, for columns that differ in kind: {kind}"
            plan.members.append(LearnerGroup("forest", "raw", reason, [best_splits]))
