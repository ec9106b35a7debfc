"""Forests of regression trees.

ONNX's operator for trees adds up single precision numbers. Here it only finds the leaf of each
tree: the leaves' values are a table of their own, in double and each stored once.
"""

from typing import Any

import numpy as np

from labelkin.base import Array
from labelkin.onnx._graph import Graph, Tensor

# Numbers of leaves are returned in single precision, in which integers up to this are exact.
_MAX_LEAVES = 2**24
# Values, trees times labels, that are gathered at a time for each row.
_GATHERED = 4096
# Bytes of a node in the file, measured.
_NODE_BYTES = 40


def mean_of_trees(trees: list[Any], graph: Graph, rows: Tensor) -> str:
    """Add the mean of the predictions of fitted scikit-learn regression trees, in double.

    As in scikit-learn, trees see the samples in single precision.
    """
    fitted = [tree.tree_ for tree in trees]
    is_leaf = [tree.children_left < 0 for tree in fitted]
    leaves = [tree.value[leaf, :, 0] for tree, leaf in zip(fitted, is_leaf, strict=True)]
    values, places = _distinct_rows(np.concatenate(leaves))
    ends = np.cumsum([len(part) for part in leaves])[:-1]
    number_of = np.split(places, ends)
    found = _leaf_numbers(fitted, is_leaf, number_of, graph, rows)
    size = max(1, _GATHERED // values.shape[1])
    sums = []
    for first in range(0, len(fitted), size):
        part = np.arange(first, min(first + size, len(fitted)))
        gathered = graph.op("Gather", values, graph.op("Gather", found, part, axis=1))
        sums.append(graph.op("ReduceSum", gathered, np.array([1]), keepdims=0))
    total = sums[0] if len(sums) == 1 else graph.op("Sum", *sums)
    return graph.op("Div", total, np.float64(len(fitted)))


def _distinct_rows(values: Array) -> tuple[Array, Array]:
    """Return the distinct rows, and the place of each row among them."""
    values = np.ascontiguousarray(values)
    keys = values.view(np.dtype((np.void, values.strides[0]))).ravel()
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return values[first], places


def _leaf_numbers(
    trees: list[Any], is_leaf: list[Array], number_of: list[Array], graph: Graph, rows: Tensor
) -> str:
    """Add the number of the leaf in which each row ends, (N, n_trees) of integers."""
    sizes = [tree.node_count for tree in trees]
    leaf = np.concatenate(is_leaf)
    numbers = np.concatenate(number_of).astype(np.float64)
    if numbers.max() >= _MAX_LEAVES:
        raise ValueError("The trees have too many leaves for ONNX: train fewer, or on fewer rows.")
    graph.reserve(_NODE_BYTES * len(leaf))
    nodes = np.concatenate([np.arange(size) for size in sizes])
    tree_of = np.repeat(np.arange(len(trees)), sizes)

    def joined(name: str, at_leaf: float) -> Array:
        return np.where(leaf, at_leaf, np.concatenate([getattr(tree, name) for tree in trees]))

    # In scikit-learn a value in single precision is compared with a threshold in double.
    rows = graph.promote(Tensor(graph.cast(rows.name, np.float32), np.dtype("f4")), np.float64)
    found = graph.op(
        "TreeEnsembleRegressor",
        rows.name,
        domain="ai.onnx.ml",
        n_targets=len(trees),
        nodes_treeids=tree_of.tolist(),
        nodes_nodeids=nodes.tolist(),
        nodes_modes=np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_featureids=joined("feature", 0).tolist(),
        nodes_values_as_tensor=graph.attribute(joined("threshold", 0.0)),
        nodes_truenodeids=joined("children_left", 0).tolist(),
        nodes_falsenodeids=joined("children_right", 0).tolist(),
        target_treeids=tree_of[leaf].tolist(),
        target_nodeids=nodes[leaf].tolist(),
        target_ids=tree_of[leaf].tolist(),
        target_weights_as_tensor=graph.attribute(numbers),
    )
    return graph.cast(graph.op("Round", found), np.int64)
