"""A fitted C4.5 tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class C45Tree:
    """A fitted tree as parallel arrays, in preorder, named as in scikit-learn.

    Attributes
    ----------
    feature : ndarray of shape (node_count,)
        Column tested at a node; -2 in leaves.
    threshold : ndarray of shape (node_count,)
        A sample goes left when its value is at most this; -2 in leaves.
    children_left, children_right : ndarray of shape (node_count,)
        -1 in leaves.
    value : ndarray of shape (node_count, n_classes)
        Weight of the training samples of each class.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    children_left: NDArray[np.int32]
    children_right: NDArray[np.int32]
    value: NDArray[np.float64]

    @classmethod
    def from_nodes(
        cls, nodes: tuple[Any, Any, Any, Any], value: NDArray[Any], kept: NDArray[np.bool_]
    ) -> Self:
        """Return the tree of those nodes of a pruned tree that are kept."""
        feature, threshold, left, right = nodes
        number = np.cumsum(kept, dtype=np.int32) - 1
        leaf = left[kept] < 0
        return cls(
            feature=np.where(leaf, np.int32(-2), feature[kept]),
            threshold=np.where(leaf, -2.0, threshold[kept]),
            children_left=np.where(leaf, np.int32(-1), number[left[kept]]),
            children_right=np.where(leaf, np.int32(-1), number[right[kept]]),
            value=value[kept],
        )

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.sum(self.children_left < 0))

    @property
    def max_depth(self) -> int:
        """Number of tests on the longest path from the root to a leaf."""
        depth = np.zeros(self.node_count, dtype=int)
        for node in np.flatnonzero(self.children_left >= 0):
            depth[self.children_left[node]] = depth[self.children_right[node]] = depth[node] + 1
        return int(depth.max())

    def export_text(self, feature_names: Sequence[str], classes: NDArray[Any]) -> str:
        """Write the tree as text in the style of J48; see `C45TreeClassifier.export_text`."""
        lines = []
        stack = [(0, -1, "")]  # node, depth, the test that leads to the node
        while stack:
            node, depth, test = stack.pop()
            left, right = self.children_left[node], self.children_right[node]
            is_leaf = left < 0
            if test or is_leaf:
                outcome = self._leaf_text(node, classes) if is_leaf else ""
                lines.append("|   " * depth + test + outcome)
            if not is_leaf:
                name, point = feature_names[self.feature[node]], f"{self.threshold[node]:.6g}"
                stack.append((right, depth + 1, f"{name} > {point}"))
                stack.append((left, depth + 1, f"{name} <= {point}"))
        return "\n".join(lines)

    def _leaf_text(self, node: int, classes: NDArray[Any]) -> str:
        value = self.value[node]
        total, wrong = value.sum(), value.sum() - value.max()
        errors = f"/{wrong:.6g}" if wrong > 0 else ""
        return f": {classes[value.argmax()]} ({total:.6g}{errors})"
