"""Sizes and costs of the Kin ensemble: every limit in one place, with the reason for its value."""

from dataclasses import dataclass
from math import ceil
from typing import Any


@dataclass(frozen=True)
class Limits:
    """Sizes up to which the members are exact, dense or complete.

    Entries are the numbers of an array; one takes 8 bytes.
    """

    max_exact: int = 8_000
    """Rows up to which a kernel is exact: its matrix then takes half a gigabyte."""
    max_exact_projected: int = 5_000
    """The same behind a projection, of which there are several: their errors average out."""
    landmark_work: float = 8e10
    """At most n · m² for m landmarks of n rows, so that the time does not grow with n."""
    landmark_entries: int = 2**26
    """At most n · m, so that an array of kernel values takes half a gigabyte."""
    min_landmarks: int = 100
    """With fewer, a kernel learns next to nothing."""
    projected_search_rows: int = 300
    """Rows on which the width is sought behind a projection: half of the usual number, since the
    widths of several members average out."""

    fit_memory: float = 3e9
    """Bytes that the learners fitted at the same time may take."""
    kernel_copies: int = 7
    """Arrays of the size of its kernel matrix that a learner holds during ``fit``, measured."""
    query_rows: int = 4_096
    """Queries scored at a time, which bounds the memory of ``predict``."""

    dense_entries: int = 2**24
    """Sparse rows up to this size become dense: 128 MB, and faster."""
    ranked_rows: int = 10_000
    """Rows from which the ranks of a feature are learned: an error of 1 % at most."""
    max_projected_columns: int = 1_500
    """Wider views are reduced before projections, whose time grows with the columns cubed..."""
    reduced_columns: int = 1_000
    """... to this many columns."""

    tree_rows: int = 20_000
    """Rows on which a tree is grown."""
    tree_features: int = 200
    """Features tried at a node, at most..."""
    tree_entries: int = 2**21
    """... and times the rows of the sample, which bounds the time of a level of the tree."""
    leaf_entries: int = 2**27
    """Numbers in the leaves of all trees: a gigabyte."""
    min_trees: int = 50
    """Leaves hold more rows before there are fewer trees than this."""
    default_trees: int = 100
    """Trees of a forest on large data..."""
    max_trees: int = 500
    """... and on small data, where the scores of fewer are noisier than need be..."""
    forest_work: float = 4e7
    """... as long as rows · features tried · labels, summed over all trees, is below this: about
    ten seconds of one processor."""

    weight_entries: int = 50_000
    """Predictions, rows times labels, from which the weights of the members are learned: more
    change them by less than their standard error."""
    cross_entries: int = 2_000_000
    """Rows times labels times parts for which the second stage is fitted again..."""
    min_parts: int = 5
    """... but at least this many parts."""

    def n_landmarks(self, n_samples: int, projected: bool = False) -> int:
        """Return how many rows of a kernel get a coefficient: all, or landmarks.

        Beyond the exact size the number m falls as √(1/n), so that the time stays the same, and
        for very many rows as 1/n, so that the n · m kernel values stay in memory. Each halving
        of m costs accuracy.
        """
        if n_samples <= (self.max_exact_projected if projected else self.max_exact):
            return n_samples
        in_time = int((self.landmark_work / n_samples) ** 0.5)
        return max(self.min_landmarks, min(in_time, self.landmark_entries // n_samples))

    def n_concurrent(self, n_samples: int, n_threads: int) -> int:
        """Return how many learners fit into memory at the same time, at most `n_threads`."""
        entries = n_samples * self.n_landmarks(n_samples)
        in_memory = int(self.fit_memory // (8 * self.kernel_copies * entries))
        return max(1, min(n_threads, in_memory))

    def n_trees(self, n_samples: int, n_features: int, n_labels: int) -> int:
        """Return how many trees a forest has by default: more where each takes little time."""
        work = n_samples * self._tried(n_samples, n_features) * n_labels
        return int(min(max(self.forest_work / work, self.default_trees), self.max_trees))

    def forest(
        self, n_samples: int, n_features: int, n_labels: int, n_trees: int
    ) -> dict[str, Any]:
        """Return the parameters of a forest: as many trees as their leaves fit into memory."""
        drawn = min(n_samples, self.tree_rows)
        # A tree over 0.63 n distinct rows has twice as many nodes, each with one number per
        # label.
        entries = 1.3 * drawn * n_labels
        smallest_leaf = max(1, ceil(self.min_trees * entries / self.leaf_entries))
        affordable = int(self.leaf_entries * smallest_leaf / entries)
        return {
            "n_estimators": max(1, min(n_trees, affordable)),
            "max_features": self._tried(n_samples, n_features),
            "min_samples_leaf": smallest_leaf,
            "max_samples": drawn if drawn < n_samples else None,
        }

    def _tried(self, n_samples: int, n_features: int) -> int:
        """Return how many features an extremely randomised tree tries at a node."""
        by_work = self.tree_entries // min(n_samples, self.tree_rows)
        tried = min(int(0.4 * n_features), self.tree_features, by_work)
        return max(tried, int(n_features**0.5), 1)

    def n_parts(self, n_samples: int, n_labels: int, n_folds: int) -> int:
        """Return how many times the second stage is fitted without a part of the folds.

        One part per fold is closest to the stage that is fitted to all rows, and affordable for
        small data.
        """
        affordable = self.cross_entries // (n_samples * n_labels)
        return min(max(affordable, self.min_parts), n_folds)
