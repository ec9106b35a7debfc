"""The plan: which members an ensemble has, on which views, by the kind and the size of the data.

The candidates are listed in order of usefulness. One that does not fit into the remaining time, by
the cost model of `Limits`, is left out, and the plan says so. `Limits` has the constants of the Kin
ensemble, each with its reason. The guide's page on Kin has the measurements:
`benchmarks/ablation.py` makes them.
"""

from dataclasses import dataclass, replace
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
from labelkin.linear._learner import LogisticLearner
from labelkin.rows import Rows, count_stored

EFFORTS = ("low", "medium", "high")
_KERNELS = {
    "rbf": "a Gaussian kernel",
    "laplacian": "a Laplacian kernel",
    "manhattan": "a Laplacian kernel of absolute differences",
}


@dataclass(frozen=True)
class Limits:
    """Sizes, costs and ridges of the ensemble; ``Limits(seconds=600)`` changes one of them."""

    # What training may cost. Members are planned in order of usefulness; one that does not fit into
    # the remaining time is left out, except for the first.
    seconds: float = 70.0
    """Seconds of one processor for all members together."""
    fit_memory: float = 1.4e9
    """Bytes that the learners fitted at the same time may take together. The kernel values of
    landmarks may take all of it, the leaves of trees a quarter."""
    flops: float = 2.5e10
    """Operations per second of the members' products and factorisations, on one core."""
    tree_tests: float = 1e7
    """Rows times features tried times trees per second, on the same core..."""
    text_tree_tests: float = 5e7
    """... and of texts, whose features are mostly 0."""
    linear_values: float = 5e6
    """Values that are not zero, times batches of 64 labels, that a logistic regression fits per
    second, on the same core."""
    linear_share: float = 0.8
    """Share of `seconds` that a logistic regression of n-grams may take: with it, one kernel is
    enough."""
    search_seconds: float = 2.0
    """Time in which a kernel of more than `exact_rows` rows chooses its width and its ridge, on
    samples of the rows; for the time left of a fit. With fewer rows, and in projections, whose
    samples are half as large, it is a quarter."""
    combined: float = 5e5
    """Rows times labels times members per second of the second stage, on the same core."""

    # How kernels are solved: exactly, in parts, from landmarks.
    exact_rows: int = 1_000
    """Up to this number of rows, a label may have a ridge of its own, by eigenvectors. With more
    rows, one ridge for all labels is as good, and its factorisation takes a twentieth of the
    time."""
    part_work: float = 1.2e12
    """Maximum of n · m² for n rows in parts of m rows, each with its own kernel, which bounds the
    time. Up to 10,626 rows there is one part. Beyond about 49,000 rows a part would be smaller than
    a fold, too small to learn from, and landmarks are used."""
    landmark_work: float = 8e10
    """Maximum of n · m² for m landmarks of n rows, which bounds the time."""

    # Views.
    dense_entries: int = 2**22
    """Sparse matrices of at most this many entries become dense: 32 MB, and faster."""
    text_columns: float = 0.05
    """Rows are texts if a smaller share of their columns are measurements, see `is_text`."""
    topics: int = 300
    """Number of directions of the view "topics"; at most a fifth of the rows and of the words."""

    # Members.
    bag: float = 0.6
    """Share of the folds in which the pairs of a projection are drawn, or trees are grown. The
    other folds are scored; with fewer of these, out-of-sample scores would be noisier."""
    thresholds: tuple[float, ...] = (0.3, 0.5, 0.6, 0.9)
    """Θ of the projections in turn: their mean depends little on each of them."""
    dropped: float = 0.3
    """Share of the directions of a projection, those of the smallest ratio, that are dropped."""
    linear_rows: int = 3_000
    """Texts have a logistic regression from this number of rows on; with fewer rows it adds nothing
    to the kernels. Tables always have one."""
    root_rows: int = 8_000
    """Texts have the kernel of square roots of words up to this number of rows; with more, it adds
    less than 0.05 points to the other two, and takes a third of the time of predictions."""
    n_trees: int = 100
    """Trees per forest. Tables have one forest per label if these take at most a 25th of `seconds`,
    otherwise one forest of all labels."""
    leaf: int = 3
    """Minimum number of rows in a leaf: leaves of single rows take three times the space and are no
    better."""

    # Out-of-sample scores.
    n_folds: int = 10
    """Folds of the training rows, the same for all members. The second stage is fitted again
    without two of them at a time."""
    sample_rows: int = 10_000
    """Maximum number of rows that have out-of-sample scores, and from which ranks are learned."""
    large_entries: float = 1e8
    """With more rows times labels than this, logistic regression is the only member."""

    # The second stage.
    slope_precision: tuple[float, float] = (30.0, 3.0)
    """Penalty on the distance of a label's slope from the slope that all labels share, for scores
    and for scores on the scale of log odds. A label needs about thirty positives to have its own
    slope."""
    pseudo_count: float = 0.3
    """Pseudo-count by which the targets of a label's positives are smoothed. Slopes are shared, so
    a smaller one than Platt's 1 is enough."""
    least_proba: float = 1e-4
    """Probabilities of a member are kept this far from 0 and 1 before they are averaged, so that
    one overconfident member does not outweigh the others."""
    member_ridge: float = 0.003
    """Ridge of the differences between the members' weights and equal weights, per prediction."""
    label_ridge: float = 0.03
    """Ridge of the differences between a label's weights and those of all labels, per row."""
    few_rows: int = 100
    """With this many rows, half of these differences is applied; with twice as many, 80 %."""
    stage_entries: int = 400_000
    """Weights are learned from at most this many rows times labels; more would change them by less
    than their standard error. With more, curves are fitted to means of rows with nearly equal
    scores..."""
    edge_points: int = 400
    """... except for this many rows with the highest and the lowest scores of each label."""

    def n_parts(self, n_samples: int) -> int:
        """Return the number of parts of the rows, each with its own kernel; 0: use landmarks."""
        part_rows = max(1, int((self.part_work / n_samples) ** 0.5))
        least = -(-n_samples // part_rows)
        # Parts of equal numbers of folds.
        found = [k for k in range(least, self.n_folds + 1) if self.n_folds % k == 0]
        return found[0] if found else 0

    def n_landmarks(self, n_samples: int) -> int:
        """Return the number of landmarks: at most a quarter of the rows, or exact is cheaper."""
        in_time = int((self.landmark_work / n_samples) ** 0.5)
        in_memory = int(self.fit_memory / (8 * n_samples))
        return max(1, min(in_time, in_memory, n_samples // 4))

    def kernel_seconds(self, n: int, q: int, columns: float) -> float:
        """Return the time of a kernel of n rows and q labels.

        `columns` is the mean number of values of a row that are not zero.
        """
        if n <= self.exact_rows:  # eigenvectors take 8 n³ operations, ridges ten products
            return n * n * (8.0 * n + 20.0 * q + 2.0 * columns) / self.flops
        n_parts = self.n_parts(n)
        if n_parts:  # half of the operations are saved by symmetry or by single precision
            return n * (n / n_parts) * (n / n_parts / 2 + q + 2.0 * columns) / self.flops
        m = self.n_landmarks(n)  # four products of (n, m) and (m, m), ridges and distances
        return n * m * (8.0 * m + 20.0 * q + 2.0 * columns) / self.flops

    def linear_seconds(
        self, n_stored: float, n_samples: int, n_labels: int, with_ngrams: bool = False
    ) -> float:
        """Return the time of a logistic regression on samples with this number of values in all.

        Few samples are fitted about 25 times, while C is chosen and without each fold; of many,
        C is chosen on a part, and few are in a fold. N-grams have a larger C, and converge in about
        1.5 times as many iterations.
        """
        n_fits = (1.5 if with_ngrams else 1.0) * min(25.0, 3 + 90_000 / max(1, n_samples))
        return n_fits * n_stored * -(-n_labels // 64) / self.linear_values

    def kernel_bytes(self, n_samples: int) -> float:
        """Return the memory that fitting a kernel takes: several arrays of its size."""
        n_parts = self.n_parts(n_samples)
        if n_samples <= self.exact_rows:
            return 7 * 8.0 * n_samples**2
        return 6.0 * (n_samples / n_parts) ** 2 if n_parts else 4 * self.fit_memory


def limits_of(effort: str | Limits) -> Limits:
    """Return the limits of an effort: a tenth, once or ten times the time; or those given."""
    if isinstance(effort, Limits):
        return effort
    factor = {"low": 0.1, "medium": 1.0, "high": 10.0}[effort]
    limits = Limits()
    return replace(
        limits,
        seconds=factor * limits.seconds,
        part_work=factor * limits.part_work,
        fit_memory=max(1.0, factor / 2.5) * limits.fit_memory,
    )


@dataclass
class Planner:
    """Plans the members of one ensemble; see `KinEnsembleClassifier`."""

    rows: dict[str, Rows]
    """The rows in each view."""
    n_labels: int
    fold_of: Array
    """The fold of each row."""
    limits: Limits
    n_projections: int
    n_trees: int | None
    n_jobs: int
    """Threads of learners that use all threads by themselves."""
    rng: np.random.RandomState
    """Draws the bags of projections."""

    def plan(self) -> tuple[list[Member], dict[str, str]]:
        """Return the members to fit, and the names and reasons of those left out."""
        members: list[Member] = []
        left_out: dict[str, str] = {}
        left = self.limits.seconds
        if len(self.fold_of) * self.n_labels > self.limits.large_entries:
            left_out["others"] = "rows times labels are too many for other members"
            return [self._linear(n_groups=1)], left_out
        for member in self._candidates():
            if self.rows["raw"].lazy and getattr(member.learners[0], "in_memory", False):
                left_out[member.name] = "it needs the rows in memory"
            elif member.seconds > left and members:
                left_out[member.name] = (
                    f"it would take about {member.seconds:.0f} s of one processor, and "
                    f"{left:.0f} s of {self.limits.seconds:.0f} s are left"
                )
            else:
                members.append(member)
                left -= member.seconds
        return members, left_out

    def describe(self, members: list[Member], left_out: dict[str, str]) -> list[str]:
        """Return a plan in words, line by line."""
        n, k = self.rows["raw"].shape
        size = f"{n:,} rows, {k:,} features and {self.n_labels:,} labels"
        lines = [f"{member.name}: {member.reason}." for member in members]
        lines += [f"{name}: left out, {reason}." for name, reason in left_out.items()]
        return [f"Plan for {size}:", *lines]

    def _candidates(self) -> list[Member]:
        """Return the members that suit the data, the most useful first."""
        if "root" in self.rows:  # texts
            n, limits = len(self.fold_of), self.limits
            kernels = [("topics", "rbf"), ("raw", "laplacian")]
            found = [self._kernel(*one) for one in kernels if one[0] in self.rows]
            if n >= limits.linear_rows or self.rows["raw"].lazy:
                found.insert(0, self._linear())
            if n <= limits.root_rows:
                found.append(self._kernel("root", "laplacian"))
            return found + self._projections("topics") + self._trees()
        ranks = [self._kernel("ranks", "manhattan")] if "ranks" in self.rows else []
        smooth = self._kernel("raw" if ranks else "linear", "rbf")
        return [smooth, *ranks, self._linear(), *self._trees(), *self._projections("ranks")]

    def _linear(self, n_groups: int = 5) -> Member:
        """Return the logistic regression, on words and n-grams if these do not take too long."""
        n, limits = len(self.fold_of), self.limits

        def seconds(view: str) -> float:
            n_stored, _ = self.rows[view].total(count_stored)
            return limits.linear_seconds(n_stored, n, self.n_labels, view == "ngrams")

        view, what = "linear", "a logistic regression"
        if "ngrams" in self.rows and seconds("ngrams") <= limits.linear_share * limits.seconds:
            view, what = "ngrams", "a logistic regression of words and n-grams"
        learners = [LogisticLearner(n_groups, self.n_jobs)]
        return Member("linear", view, what, learners, True, seconds(view))

    def _kernel(self, view: str, kernel: str) -> Member:
        """Return the kernel of a view, exact, the mean of parts, or from landmarks."""
        n, limits = len(self.fold_of), self.limits
        n_parts = 0 if self.rows["raw"].lazy else limits.n_parts(n)
        learners, how = [self._regression(kernel)], "exactly" if n_parts else "from landmarks"
        if n_parts > 1:
            # Rows without a fold are assigned by their number.
            group = np.where(self.fold_of >= 0, self.fold_of, np.arange(n)) % n_parts
            parts = [np.flatnonzero(group == part) for part in range(n_parts)]
            learners = [PartLearner(part, self._regression(kernel, len(part))) for part in parts]
            how = f"the mean of {n_parts} parts of {len(parts[0]):,} rows"
        name = f"{view}_{'rbf' if kernel == 'rbf' else 'laplacian'}"
        reason = f"{_KERNELS[kernel]} of the view {view!r}, {how}"
        n_stored, _ = self.rows[view].total(count_stored)
        seconds = limits.kernel_seconds(n, self.n_labels, n_stored / n)
        search = limits.search_seconds if n > limits.exact_rows else limits.search_seconds / 4
        return Member(name, view, reason, learners, False, seconds, search)

    def _regression(self, kernel: str, n_samples: int | None = None, search: int = 600) -> Any:
        """Return the kernel regression that suits a number of rows."""
        n, limits = n_samples or len(self.fold_of), self.limits
        if n <= limits.exact_rows and not self.rows["raw"].lazy:
            return KernelRidge(kernel, clear_ridges=True, search_rows=search, refine_rows=0)
        if n_samples or (limits.n_parts(n) == 1 and not self.rows["raw"].lazy):
            return DirectKernelRidge(kernel, search_rows=search, refine_rows=0)
        m = limits.n_landmarks(n)
        return KernelRidge(kernel, n_landmarks=m, landmark_means=True, refine_rows=0)

    def _projections(self, view: str) -> list[Member]:
        """Return the kernels on projections of a view, if there are any."""
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
        # The scatters of two kinds of pairs, their common eigenvectors, and the kernel.
        (n, k), kept = self.rows[view].shape, 1 - limits.dropped
        one = (4.0 * n + 8.0 * k) * k**2 / limits.flops
        one += limits.kernel_seconds(n, self.n_labels, kept * k)
        seconds, search = len(learners) * one, limits.search_seconds / 4
        return [Member("projections", view, reason, learners, False, seconds, search)]

    def _trees(self) -> list[Member]:
        """Return a forest of each label alone where it takes little time, else of all labels."""
        if self.n_trees == 0:
            return []
        from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

        (n, k), q, limits = self.rows["raw"].shape, self.n_labels, self.limits
        tried = max(1, int(k**0.75))  # features at a node, between all and the usual root
        parameters = {"max_features": tried, "min_samples_leaf": limits.leaf}
        n_trees = self.n_trees or limits.n_trees
        tests = limits.text_tree_tests if "root" in self.rows else limits.tree_tests
        seconds = n_trees * n * tried / tests
        if "root" not in self.rows and q * seconds <= limits.seconds / 25:
            # In one thread: those of scikit-learn swap the filters of warnings without a lock, and
            # some of thousands of short tasks would warn.
            forest: Any = RandomForestRegressor(n_trees, bootstrap=False, **parameters)
            alone, reason = LabelTreesLearner(forest, limits.bag), "a forest of each label alone"
            return [Member("trees", "raw", reason, [alone], seconds=q * seconds)]
        nodes = 2 * limits.bag * n / limits.leaf
        if 8.0 * n_trees * nodes * q > limits.fit_memory / 4:
            return []
        forest = ExtraTreesRegressor(n_trees, n_jobs=self.n_jobs, **parameters)
        learners = [TreesLearner(forest, limits.bag)]
        return [Member("trees", "raw", "trees of all labels together", learners, seconds=seconds)]
