"""The plan: which learners an ensemble has, on which views, by the size of the data."""

from collections.abc import Iterable

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from labelkin.base import Array
from labelkin.kernel._regression import KernelRidge
from labelkin.kin._folds import draw_bags
from labelkin.kin._learners import LearnerGroup, ProjectionLearner, TreesLearner
from labelkin.kin._limits import Limits

# Share of the folds in the bag inside which the pairs of a projection are drawn...
BAG = 0.55
# ... by one of these thresholds Θ in turn.
THRESHOLDS = (0.3, 0.5, 0.6, 0.9)


def plan_members(
    views: Iterable[str],
    shape: tuple[int, int, int],
    *,
    binary: bool,
    fold_of: Array,
    n_projections: int,
    n_trees: int | None,
    n_jobs: int,
    rng: np.random.RandomState,
    limits: Limits,
) -> list[LearnerGroup]:
    """Choose the members of an ensemble, and their sizes.

    Parameters
    ----------
    views : iterable of str
        Names of the views, as `learn_views` orders them.
    shape : (int, int, int)
        Numbers of samples, features and labels.
    binary : bool
        Whether all features are 0 or 1.
    fold_of : ndarray of int of shape (n_samples,)
        The fold of each row.
    n_projections, n_trees : int
        As in `KinEnsembleClassifier`.
    n_jobs : int
        Threads of the trees.
    rng : numpy.random.RandomState
        Draws bags.
    limits : Limits
        Sizes up to which kernels are exact, and of the trees.

    Returns
    -------
    list of LearnerGroup
        Not fitted; `reason` explains each.
    """
    names = list(views)
    scaled = [name for name in names if name != "reduced"]
    n_samples, n_features, n_labels = shape

    def kernel_ridge(
        kernel: str, projected: bool = False, scale: bool | str = False
    ) -> KernelRidge:
        n_landmarks = limits.n_landmarks(n_samples, projected)
        return KernelRidge(
            kernel,
            scale=scale,
            coarse_ridges=projected,
            n_landmarks=n_landmarks if n_landmarks < n_samples else None,
            landmark_means=True,
            search_rows=limits.projected_search_rows if projected else 600,
            refine_rows=0,  # the widths of several members average out
        )

    members = []
    for name in scaled:
        # Where no view divides features by their standard deviations, the first kernel may.
        scale = "auto" if name == "raw" and "standard" not in scaled else False
        reason = f"smooth functions of the view {name!r}"
        members.append(
            LearnerGroup(f"{name}_rbf", name, reason, [kernel_ridge("rbf", scale=scale)])
        )
    # On zeros and ones the Laplacian kernel is the RBF kernel: no second member.
    for name in scaled[-1:] if binary else (scaled[0], scaled[-1]):
        reason = f"functions of the view {name!r} with kinks, robust to outliers"
        learners = [kernel_ridge("manhattan")]
        members.append(LearnerGroup(f"{name}_laplacian", name, reason, learners))
    if n_projections:
        bags = draw_bags(fold_of, n_projections, BAG, rng)
        projections = [
            ProjectionLearner(
                bag, THRESHOLDS[i % len(THRESHOLDS)], kernel_ridge("rbf", projected=True)
            )
            for i, bag in enumerate(bags)
        ]
        reason = f"distances in the view {names[-1]!r} that separate label sets"
        members.append(LearnerGroup("projections", names[-1], reason, projections))
    if n_trees is None:
        n_trees = limits.n_trees(n_samples, n_features, n_labels)
    if n_trees:
        forest = limits.forest(n_samples, n_features, n_labels, n_trees) | {"n_jobs": n_jobs}
        # Without bootstrap samples, unless trees are grown on few of very many rows.
        sampled = forest["max_samples"] is not None
        random_splits = TreesLearner(ExtraTreesRegressor(**forest, bootstrap=sampled))
        reason = "steps and interactions, whatever the scale of the features"
        members.append(LearnerGroup("trees", "raw", reason, [random_splits]))
        if "standard" in names:
            best_splits = TreesLearner(RandomForestRegressor(**forest | {"max_features": "sqrt"}))
            reason = "steps at the best places, for tables whose columns differ in kind"
            members.append(LearnerGroup("forest", "raw", reason, [best_splits]))
    return members
