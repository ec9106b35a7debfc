"""The constants of the Kin ensemble, each with its reason, and the costs that follow from them.

The guide's page on Kin has the measurements: `benchmarks/ablation.py` makes them.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

EFFORTS = ("low", "medium", "high")


class Shape(NamedTuple):
    """The size of a problem."""

    n_samples: int
    n_features: int
    n_labels: int


@dataclass(frozen=True)
class Limits:
    """Sizes, costs and ridges of the ensemble; ``Limits(seconds=600)`` changes one of them."""

    # What training may cost. Members are planned in the order of their worth, and one that does
    # not fit into the time that is left is left out; the first is always planned.
    seconds: float = 70.0
    """Seconds of one processor for all members together."""
    fit_memory: float = 1.4e9
    """Bytes that the learners fitted at the same time may take. Also of the leaves of trees, of
    which a quarter of it is allowed, and of the kernel values of landmarks."""
    flops: float = 2.5e10
    """Operations per second of the members' products and factorisations, on one core."""
    tree_tests: float = 1e7
    """Rows times features tried times trees per second, on the same core."""

    # How kernels are solved: exactly, in parts, from landmarks.
    exact_rows: int = 1_000
    """Rows up to which a label may have a ridge of its own, by eigenvectors. Beyond, one ridge for
    all labels is as good, by a factorisation that takes a twentieth of the time."""
    part_work: float = 1.2e12
    """At most n · m² for parts of m rows, each with a kernel of its own, so that the time does not
    grow with the number of parts: all rows are one part up to 10,626. A part has a fold at least;
    beyond about 49,000 rows, with more parts than folds, each would learn too little: landmarks."""
    landmark_work: float = 8e10
    """At most n · m² for m landmarks of n rows, so that the time does not grow with n."""

    # Views.
    dense_entries: int = 2**22
    """Sparse rows up to this size become dense: 32 MB, and faster."""
    text_columns: float = 0.05
    """Rows are texts if fewer of their columns are measurements: mostly not zero, or negative."""
    topics: int = 300
    """Directions of the view "topics", but at most a fifth of the rows and of the words."""

    # Members.
    bag: float = 0.6
    """Share of the folds in which the pairs of a projection are drawn, or trees are grown. The
    other folds are scored: of fewer, out-of-sample scores would be noisier."""
    thresholds: tuple[float, ...] = (0.3, 0.5, 0.6, 0.9)
    """Θ of the projections in turn: their mean depends little on each of them."""
    dropped: float = 0.3
    """Share of the directions of a projection, those of the smallest ratio, that are dropped."""
    linear_rows: int = 3_000
    """Rows from which on texts have a logistic regression: with fewer it adds nothing to kernels.
    Tables always have one."""
    n_trees: int = 100
    """Trees of a forest of all labels together."""
    label_trees: int = 100
    """Trees of a forest of one label alone, on tables for which that takes a 25th of `seconds`."""
    leaf: int = 3
    """Rows in a leaf, at least: single rows take three times the space, for no gain."""

    # Out-of-sample scores.
    n_folds: int = 10
    """Folds of the training rows, the same for all members. The second stage is fitted again
    without two of them at a time."""
    sample_rows: int = 10_000
    """Rows that have out-of-sample scores, and from which ranks are learned, at most."""
    large_entries: float = 1e8
    """Rows times labels beyond which there is logistic regression alone."""

    # The second stage.
    slope_precision: tuple[float, float] = (30.0, 3.0)
    """Weight of the distance of a label's slope to the slope that all labels share, for scores
    and for scores on the scale of log odds: it takes some thirty positives to leave it."""
    pseudo_count: float = 0.3
    """By which the targets of a label's positives are smoothed: slopes are shared, so that less is
    needed than Platt's count of 1."""
    least_proba: float = 1e-4
    """Probabilities of a member are bounded here before they are averaged, so that one
    overconfident member does not outweigh the others."""
    member_ridge: float = 0.003
    """Of the differences of the members' weights from equal ones, per prediction."""
    label_ridge: float = 0.03
    """Of the differences of a label's weights from those of all labels, per row."""
    few_rows: int = 100
    """With this many rows, half of these differences is applied; with twice as many, 80 %."""
    stage_entries: int = 400_000
    """Rows times labels from which weights are learned; more change them by less than their
    standard error. With more, curves are fitted to means of rows with nearly equal scores..."""
    edge_points: int = 400
    """... but for this many rows with the highest and the lowest scores of each label."""

    def is_large(self, shape: Shape) -> bool:
        """Return whether there is logistic regression alone."""
        return shape.n_samples * shape.n_labels > self.large_entries

    def n_parts(self, n_samples: int) -> int:
        """Return in how many parts the rows have a kernel each; 0: landmarks."""
        part_rows = max(1, int((self.part_work / n_samples) ** 0.5))
        least = -(-n_samples // part_rows)
        # Parts of equal numbers of folds.
        found = [k for k in range(least, self.n_folds + 1) if self.n_folds % k == 0]
        return found[0] if found else 0

    def n_landmarks(self, n_samples: int) -> int:
        """Return how many landmarks a kernel has; a fourth of the rows would be as dear as all."""
        in_time = int((self.landmark_work / n_samples) ** 0.5)
        in_memory = int(self.fit_memory / (8 * n_samples))
        return max(1, min(in_time, in_memory, n_samples // 4))

    def kernel_seconds(self, shape: Shape, columns: float) -> float:
        """Return the time of a kernel; `columns` is the mean number of values of a row not zero."""
        n, _, q = shape
        if n <= self.exact_rows:  # eigenvectors take 8 n³ operations, ridges ten products
            return n * n * (8.0 * n + 20.0 * q + 2.0 * columns) / self.flops
        n_parts = self.n_parts(n)
        if n_parts:  # half of the operations are saved by symmetry or by single precision
            return n * (n / n_parts) * (n / n_parts / 2 + q + 2.0 * columns) / self.flops
        m = self.n_landmarks(n)  # four products of (n, m) and (m, m), ridges and distances
        return n * m * (8.0 * m + 20.0 * q + 2.0 * columns) / self.flops

    def kernel_bytes(self, n_samples: int) -> float:
        """Return the memory of a kernel while it is fitted: some arrays of its size."""
        n_parts = self.n_parts(n_samples)
        if n_samples <= self.exact_rows:
            return 7 * 8.0 * n_samples**2
        return 6.0 * (n_samples / n_parts) ** 2 if n_parts else 4 * self.fit_memory

    def projection_seconds(self, shape: Shape, columns: int) -> float:
        """Return the time of a projection of some columns and of the kernel on it."""
        # The scatters of two kinds of pairs, and their common eigenvectors.
        flops = (4.0 * shape.n_samples + 8.0 * columns) * columns**2
        return flops / self.flops + self.kernel_seconds(shape, (1 - self.dropped) * columns)

    def trees_seconds(self, shape: Shape, n_trees: int) -> float:
        """Return the time of some trees that try `features_tried` of the features at each node."""
        return n_trees * shape.n_samples * features_tried(shape.n_features) / self.tree_tests

    def holds_leaves(self, shape: Shape, n_trees: int) -> bool:
        """Return whether the leaves of trees of all labels fit into memory."""
        nodes = 2 * self.bag * shape.n_samples / self.leaf
        return 8.0 * n_trees * nodes * shape.n_labels <= self.fit_memory / 4


def features_tried(n_features: int) -> int:
    """Return how many features a tree tries at a node: k^¾, between all and the usual root."""
    return max(1, int(n_features**0.75))


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
