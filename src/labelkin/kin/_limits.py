"""Sizes and costs by which the members of the Kin ensemble are planned, with their reasons."""

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from labelkin.kernel._direct import RIDGE_ROWS
from labelkin.kin._learners import DROPPED
from labelkin.kin._trees import TREE_SHARE

EFFORTS = ("low", "medium", "high")


@dataclass(frozen=True)
class Shape:
    """The size of a problem."""

    n_samples: int
    n_features: int
    n_labels: int
    n_stored: int
    """Values that are not zero."""


@dataclass(frozen=True)
class Cost:
    """What a member takes, by the cost model."""

    seconds: float
    """Of one processor, to fit it with its leave-fold-out scores."""
    bytes: float
    """In the fitted model."""
    divisible: bool = False
    """Whether it is the cost of one of several equal learners..."""
    shared_bytes: float = 0.0
    """... which also have this in common."""

    def times_in(self, budget: "Cost") -> int:
        """Return how many times a budget suffices for this cost."""
        # Rows of zeros cost nothing.
        seconds, bytes = max(self.seconds, 1e-9), max(self.bytes, 1.0)
        left = max(budget.bytes - self.shared_bytes, 0.0)
        return int(min(budget.seconds / seconds, left / bytes))

    def times(self, count: int) -> "Cost":
        """Return the cost of several such learners."""
        return Cost(count * self.seconds, self.shared_bytes + count * self.bytes)

    def less(self, cost: "Cost") -> "Cost":
        """Return what is left of a budget, at least nothing."""
        return Cost(max(self.seconds - cost.seconds, 0.0), max(self.bytes - cost.bytes, 0.0))


@dataclass(frozen=True)
class Limits:
    """Sizes up to which the members are exact, dense or complete, and what they may cost.

    Entries are the numbers of an array; one takes 8 bytes.
    """

    # What all members together may cost. The members are planned in the order of their worth,
    # and one is left out if it does not fit into what is left; the first is always planned.
    seconds: float = 150.0
    """Seconds of one processor."""
    model_bytes: float = 5.5e7
    """Bytes of the fitted members without trees."""

    # Speeds, measured on one core of a server of 2023.
    flops: float = 4e10
    """Operations per second of a product of matrices in double precision; twice in single."""
    eigen_work: float = 8.0
    """Such operations, in units of n³, that eigenvectors take."""
    ridge_products: int = 10
    """Products of eigenvectors and labels for their ridges: the errors of eight ridges, between
    which others are interpolated, the labels in the eigenvectors, and the scores."""
    sparse_second: float = 5e7
    """Stored values times labels that one fit of logistic regression takes in a second."""

    max_eigen: int = 1_000
    """Rows up to which a kernel has eigenvectors, by which a label may have its own ridge."""
    direct_work: float = 1.2e12
    """At most n · m² for parts of m rows, each with a kernel of its own: all rows are one part
    up to 10,626. Their time then stays the same."""
    max_parts: int = 10
    """Parts, at most: with more, a part learns too little. Beyond, landmarks."""
    landmark_work: float = 8e10
    """At most n · m² for m landmarks of n rows, so that the time does not grow with n."""
    landmark_entries: int = 2**26
    """At most n · m, so that an array of kernel values takes half a gigabyte."""
    min_landmarks: int = 100
    """With fewer, a kernel learns next to nothing."""
    min_projections: int = 3
    """With fewer, some rows are in all bags and have no out-of-sample scores, by which the weights
    of the members are learned."""
    refined_labels: int = 100
    """Labels from which on the width and the ridge of Laplacian kernels are refined by the log
    loss: of many rare labels, the squared error hardly depends on them..."""
    refine_rows: int = 1_000
    """... beginning at the best ridge of these rows."""
    projected_search_rows: int = 300
    """Rows on which the width is sought behind a projection: half of the usual number, since the
    widths of several members average out."""

    linear_groups: tuple[int, int] = (5, 20)
    """Least and largest number of groups of folds that logistic regression leaves out, each with a
    fit to the other rows..."""
    linear_share: float = 0.05
    """... in this share of the time."""
    large_entries: float = 1e8
    """Rows times labels beyond which there is logistic regression alone, and out-of-sample scores
    are of some rows only: an array of these takes half a gigabyte in single precision."""
    held_out_rows: int = 20_000
    """These rows..."""
    held_out_entries: float = 1e7
    """... at most, times labels."""

    fit_memory: float = 1.4e9
    """Bytes that the learners fitted at the same time may take."""
    kernel_copies: int = 7
    """Arrays of the size of its kernel matrix that a learner holds during ``fit``, measured."""

    device_rows: int = 4_000
    """Rows from which on members are computed on the device of X. With fewer, several fits at the
    same time take less time on the processors of the host."""
    dense_entries: int = 2**22
    """Sparse rows up to this size become dense: 32 MB, and faster."""
    ranked_rows: int = 10_000
    """Rows from which the ranks of a feature are learned: an error of 1 % at most."""
    max_projected_columns: int = 1_500
    """Wider views are reduced before projections, whose time grows with the columns cubed..."""
    reduced_columns: int = 1_000
    """... to this many columns."""
    topics: int = 300
    """Directions of the view "topics"..."""
    topics_share: int = 5
    """... of texts with this many times as many rows and words: of fewer, they are nearly all."""

    tree_rows: int = 20_000
    """Rows on which a tree is grown."""
    tree_features: int = 200
    """Features tried at a node, at most..."""
    tree_entries: int = 2**21
    """... and times the rows of the sample, which bounds the time of a level of the tree."""
    leaf_entries: int = 2**25
    """Numbers in the leaves of a forest: a quarter of a gigabyte."""
    min_trees: int = 100
    """No forest where fewer trees fit; but leaves may hold up to..."""
    largest_leaf: int = 3
    """... this many rows before. Larger ones blur what trees are for."""
    default_trees: int = 100
    """Trees of a forest on large data..."""
    max_trees: int = 500
    """... and on small data, where the scores of fewer are noisier than need be..."""
    forest_work: float = 4e7
    """... as long as rows · features tried · labels, summed over all trees, is below this: about
    ten seconds of one processor."""

    label_trees: int = 200
    """Trees of a forest for one label alone..."""
    label_tree_leaf: int = 3
    """... with at least this many rows in a leaf: smaller trees, whose mean is as accurate..."""
    label_tree_share: float = 0.03
    """... if at least `min_trees` per label fit into this share of the time and half of what the
    members before take."""
    label_tree_second: float = 1.6e6
    """Rows times features tried that such trees take in a second..."""
    label_tree_start: float = 800.0
    """... with as much for each tree as this many."""

    weight_entries: int = 400_000
    """Predictions, rows times labels, from which the weights of the members are learned: more
    change them by less than their standard error."""
    corrected_rows: int = 50
    """Rows of a fold from which on the correction by other labels is tried."""
    cross_entries: int = 2_000_000
    """Rows times labels times parts for which the second stage is fitted again..."""
    min_parts: int = 3
    """... but at least this many parts."""

    def is_large(self, shape: Shape) -> bool:
        """Return whether there is logistic regression alone."""
        return shape.n_samples * shape.n_labels > self.large_entries

    def for_blocks(self) -> "Limits":
        """Return the limits for rows in blocks, by which members are sums over the blocks.

        Every kernel is approximated from landmarks, and logistic regression leaves out the fewest
        groups, since each takes hundreds of exchanges with the workers.
        """
        fewest = self.linear_groups[0]
        return replace(self, max_eigen=0, direct_work=0.0, linear_groups=(fewest, fewest))

    def n_held_out(self, shape: Shape) -> int:
        """Return how many rows of large data have out-of-sample scores."""
        return max(10, min(self.held_out_rows, int(self.held_out_entries / shape.n_labels)))

    # ------------------------------------------------------------------ how kernels are solved

    def n_parts_of_kernel(self, n_samples: int) -> int:
        """Return in how many parts the rows have a kernel each; 0: landmarks."""
        part_rows = int((self.direct_work / n_samples) ** 0.5)
        n_parts = ceil(n_samples / max(part_rows, 1))
        return n_parts if n_parts <= self.max_parts else 0

    def n_landmarks(self, n_samples: int) -> int:
        """Return how many landmarks a kernel has.

        Their number m falls as √(1/n), so that the time stays the same, and for very many rows as
        1/n, so that the n · m kernel values stay in memory. Each halving of m costs accuracy. More
        than a quarter of the rows would take more time than an exact kernel.
        """
        in_time = int((self.landmark_work / n_samples) ** 0.5)
        most = min(in_time, self.landmark_entries // n_samples, n_samples // 4)
        return min(n_samples, max(self.min_landmarks, most))

    def n_concurrent(self, n_samples: int, n_threads: int) -> int:
        """Return how many learners fit into memory at the same time, at most `n_threads`."""
        parts = self.n_parts_of_kernel(n_samples)
        if n_samples <= self.max_eigen:
            memory = 8.0 * self.kernel_copies * n_samples**2
        elif parts:
            memory = 4.0 * 1.5 * (n_samples / parts) ** 2
        else:
            memory = 8.0 * self.kernel_copies * n_samples * self.n_landmarks(n_samples)
        return max(1, min(n_threads, int(self.fit_memory // memory)))

    # -------------------------------------------------------------------------- what they cost

    def kernel_cost(self, shape: Shape, columns: float, dense: bool = True) -> Cost:
        """Return the cost of a kernel; `columns` is the mean number of values of a row not zero."""
        n, q = shape.n_samples, shape.n_labels
        parts = self.n_parts_of_kernel(n)
        distances = 2.0 * n * n * columns
        if n <= self.max_eigen:
            flops = self.eigen_work * n**3 + 2.0 * self.ridge_products * n * n * q + distances
            return Cost(flops / self.flops, 8.0 * n * (columns + q))
        if parts:
            m = n / parts
            flops = (n * m * m + 2.0 * n * m * q) / 2 + distances / parts
            # Values of sparse rows have a place, those of dense rows half precision.
            width = 2.0 if dense else 8.0
            search = self.eigen_work * min(n, RIDGE_ROWS) ** 3
            return Cost((flops + parts * search) / self.flops, n * (width * columns + 2.0 * q))
        m = self.n_landmarks(n)
        # Four products of (n, m) and (m, m): whitened rows, their scatter, their rotation to its
        # eigenvectors, and the scatters of the folds.
        flops = 4 * 2.0 * n * m * m + self.eigen_work * m**3 + 2.0 * self.ridge_products * n * m * q
        return Cost(flops / self.flops, 8.0 * m * (columns + q))

    def directions_bytes(self, shape: Shape, columns: int) -> float:
        """Return what directions of the features take, in half precision."""
        return 2.0 * shape.n_features * columns

    def projection_cost(self, shape: Shape, columns: int, reduced: bool = False) -> Cost:
        """Return the cost of a kernel behind a projection of a view with `columns` columns.

        All projections share the directions of a view that was reduced to these columns.
        """
        kept = (1 - DROPPED) * columns
        kernel = self.kernel_cost(shape, kept)
        # The scatters of two kinds of pairs, and their common eigenvectors.
        flops = 4.0 * shape.n_samples * columns**2 + self.eigen_work * columns**3
        return Cost(
            kernel.seconds + flops / self.flops,
            kernel.bytes + 4.0 * columns * kept,
            divisible=True,
            shared_bytes=self.directions_bytes(shape, columns) if reduced else 0.0,
        )

    def affords_projections(self, shape: Shape, n_projections: int) -> bool:
        """Return whether the fewest projections, of reduced columns, fit into an empty plan."""
        columns = min(shape.n_features, self.reduced_columns)
        one = self.projection_cost(shape, columns, columns < shape.n_features)
        fewest = min(self.min_projections, n_projections)
        affordable = one.times_in(Cost(self.seconds, self.model_bytes))
        return not self.is_large(shape) and affordable >= fewest > 0

    def n_linear_groups(self, shape: Shape) -> int:
        """Return how many groups of folds logistic regression leaves out."""
        if self.is_large(shape):
            return 1
        least, most = self.linear_groups
        affordable = self.linear_share * self.seconds / max(self._linear_seconds(shape), 1e-9)
        return int(min(max(affordable, least), most))

    def linear_cost(self, shape: Shape, n_groups: int) -> Cost:
        """Return the cost of logistic regression: the groups, C and all rows."""
        seconds = (n_groups + 2) * self._linear_seconds(shape)
        return Cost(seconds, 2.0 * shape.n_features * shape.n_labels)

    def _linear_seconds(self, shape: Shape) -> float:
        """Return the seconds of one fit of logistic regression."""
        return shape.n_stored * shape.n_labels / self.sparse_second

    # ----------------------------------------------------------------------------------- trees

    def n_trees(self, n_samples: int, n_features: int, n_labels: int) -> int:
        """Return how many trees a forest has by default: more where each takes little time."""
        work = n_samples * self._tried(n_samples, n_features) * n_labels
        return int(min(max(self.forest_work / work, self.default_trees), self.max_trees))

    def label_forest(
        self,
        n_samples: int,
        n_features: int,
        n_labels: int,
        n_trees: int | None,
        spent: float = 0.0,
    ) -> dict[str, Any] | None:
        """Return the parameters of a forest for each label alone; None: too many to grow.

        `spent` is the time of the members before, in seconds.
        """
        wanted = self.label_trees if n_trees is None else n_trees
        tried = min(int(2 * n_features**0.5), n_features)
        work = TREE_SHARE * min(n_samples, self.tree_rows) * tried + self.label_tree_start
        one = n_labels * work / self.label_tree_second
        affordable = min(int((self.label_tree_share * self.seconds + spent / 2) / one), wanted)
        forest = self.forest(n_samples, n_features, n_labels, affordable)
        if affordable < min(wanted, self.min_trees) or forest is None:
            return None
        leaf = max(forest["min_samples_leaf"], self.label_tree_leaf)
        return forest | {"max_features": tried, "min_samples_leaf": leaf}

    def forest(
        self, n_samples: int, n_features: int, n_labels: int, n_trees: int
    ) -> dict[str, Any] | None:
        """Return the parameters of a forest whose leaves fit into memory; None: none would."""
        drawn = min(n_samples, self.tree_rows)
        # A tree over 0.63 n distinct rows has twice as many nodes, each with one number per
        # label.
        entries = 1.3 * drawn * n_labels
        wanted = min(n_trees, self.min_trees)
        smallest_leaf = max(1, ceil(wanted * entries / self.leaf_entries))
        if smallest_leaf > self.largest_leaf:
            return None
        affordable = int(self.leaf_entries * smallest_leaf / entries)
        return {
            "n_estimators": max(1, min(n_trees, affordable)),
            "max_features": self._tried(n_samples, n_features),
            "min_samples_leaf": smallest_leaf,
            # No bootstrap sample, unless a tree is grown on few of very many rows.
            "bootstrap": drawn < n_samples,
            "max_samples": drawn if drawn < n_samples else None,
        }

    def _tried(self, n_samples: int, n_features: int) -> int:
        """Return how many features an extremely randomised tree tries at a node."""
        by_work = self.tree_entries // min(n_samples, self.tree_rows)
        tried = min(int(0.4 * n_features), self.tree_features, by_work)
        return max(tried, int(n_features**0.5), 1)

    # ---------------------------------------------------------------------------- second stage

    def n_parts(self, n_samples: int, n_labels: int, n_folds: int) -> int:
        """Return how many times the second stage is fitted without a part of the folds.

        One part per fold is closest to the stage that is fitted to all rows, and affordable for
        small data.
        """
        affordable = self.cross_entries // (n_samples * n_labels)
        return min(max(affordable, self.min_parts), n_folds)


def limits_of(effort: str | Limits) -> Limits:
    """Return the limits of an effort: a tenth, once, or ten times the cost; or those given."""
    limits = effort if isinstance(effort, Limits) else Limits()
    if effort not in ("low", "high"):
        return limits
    factor = 0.1 if effort == "low" else 10.0
    return replace(
        limits,
        seconds=factor * limits.seconds,
        model_bytes=(0.5 if effort == "low" else 10.0) * limits.model_bytes,
        max_eigen=int(limits.max_eigen * (0.5 if effort == "low" else 2)),
        direct_work=factor * limits.direct_work,
        fit_memory=(1 if effort == "low" else 4) * limits.fit_memory,
        leaf_entries=int((0.25 if effort == "low" else 4) * limits.leaf_entries),
        max_trees=200 if effort == "low" else 1_000,
        forest_work=factor * limits.forest_work,
    )
