"""Regressions of labels: kernel ridge, logistic regression and forests of trees.

In double precision, whatever the model's type: coefficients of both signs cancel, so that rounding
of the distances to single precision would change the fourth digit.
"""

from typing import Any

import numpy as np

from labelkin.base import Array, Matrix
from labelkin.kernel._regression import RADIAL, KernelRidge
from labelkin.linear._learner import LogisticLearner
from labelkin.onnx._graph import Tensor


def regress_linearly(learner: LogisticLearner, rows: Tensor) -> Tensor:
    """Add the log odds of a fitted logistic regression."""
    product = rows.promote(np.float64) @ rows.graph.matrix(learner.coef_)
    return product / learner.unit_ + learner.intercept_


# ---------------------------------------------------------------------------- kernel ridge


def regress(regression: KernelRidge, rows: Tensor) -> Tensor:
    """Add the scores of a fitted kernel ridge regression."""
    columns = _columns(regression, rows.promote(np.float64))
    return columns @ rows.graph.matrix(regression.coef_) + regression.intercept_


def _columns(regression: KernelRidge, rows: Tensor) -> Tensor:
    """Add what coefficients are multiplied with: kernel values, or features."""
    kernel, width, known = regression.kernel, regression.width_, regression.rows_
    if callable(kernel):
        raise ValueError(
            "KernelRidgeLOOClassifier with a callable kernel cannot be exported to ONNX; choose "
            "'rbf', 'laplacian', 'linear' or 'cosine'."
        )
    if regression.scale_ is not None:
        rows = rows / regression.scale_
    if kernel == "cosine":
        rows = rows.unit_rows()
    if known is None:  # a coefficient for each feature, or for each column of a given kernel
        return rows
    if kernel not in RADIAL:
        return rows @ rows.graph.matrix(known).op("Transpose")
    assert width is not None
    if kernel == "laplacian":
        return (_squared_distances(known, rows).op("Sqrt") * (-1 / width)).op("Exp")
    distances = (_manhattan if kernel == "manhattan" else _squared_distances)(known, rows)
    return (distances * (-0.5 / width**2)).op("Exp")


def _squared_distances(known: Matrix, rows: Tensor) -> Tensor:
    """Add squared Euclidean distances to known rows."""
    # Far from the origin |x|² − 2x·z + |z|² loses digits.
    offset = np.asarray(known.mean(axis=0, dtype=np.float64)).ravel()
    rows, landmarks = rows - offset, rows.graph.matrix(known) - offset
    norms = (landmarks * landmarks).sum(1)
    product = (rows * -2) @ landmarks.op("Transpose")
    return (product + (rows * rows).sum(1, keepdims=True) + norms).at_least(0)


def _manhattan(known: Matrix, rows: Tensor) -> Tensor:
    """Add sums of absolute differences to known rows, one column after the other."""
    n, k = known.shape
    landmarks = rows.graph.matrix(known).op("Transpose")

    def add_column(number: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
        values = rows.op("Gather", number.reshape(1), axis=1)
        return number.equals(number), sums + (values - number.take_from(landmarks)).op("Abs")

    return _sum_in_loop(add_column, k, rows, n)


# --------------------------------------------------------------------------------- forests


def mean_of_trees(trees: list[Any], rows: Tensor) -> Tensor:
    """Add the mean of the predictions of fitted scikit-learn regression trees.

    ONNX's operator has one value per leaf. Here it is the row of the leaf's values in a table, in
    which equal ones are stored once.
    """
    graph, nodes = rows.graph, [_nodes(tree.tree_) for tree in trees]
    left, right, feature, threshold, value = map(np.concatenate, zip(*nodes, strict=True))
    sizes = [len(tree[0]) for tree in nodes]
    roots = np.cumsum([0, *sizes[:-1]])
    tree_of, root_of = np.repeat(np.arange(len(trees)), sizes), np.repeat(roots, sizes)
    # Splits and leaves are numbered apart. Below one split, the numbers of a split and a leaf must
    # differ in ONNX Runtime before 1.25: unused leaves make all numbers of leaves larger.
    is_leaf = left < 0
    unused = max(tree.get_depth() for tree in trees) + 3
    number = np.where(is_leaf, np.cumsum(is_leaf) + unused, np.cumsum(~is_leaf)) - 1
    sides: dict[str, list[int]] = {}
    for side, child in (("true", left), ("false", right)):
        child = (root_of + child)[~is_leaf]
        sides[f"nodes_{side}nodeids"] = number[child].tolist()
        sides[f"nodes_{side}leafs"] = is_leaf[child].astype(int).tolist()
    # Rows in single precision are compared with thresholds in double precision. The next lower
    # number in single precision gives the same result.
    exact = threshold[~is_leaf]
    short = exact.astype(np.float32)
    short = np.where(short > exact, np.nextafter(short, np.float32(-np.inf)), short)
    values, place = np.unique(value[is_leaf, :, 0], axis=0, return_inverse=True)
    found = rows.astype(np.float32).op(
        "TreeEnsemble",
        domain="ai.onnx.ml",
        n_targets=len(trees),
        tree_roots=number[roots].tolist(),
        nodes_featureids=feature[~is_leaf].tolist(),
        nodes_splits=graph.attribute(short),
        nodes_modes=graph.attribute(np.zeros(len(short), dtype=np.uint8)),  # ≤
        leaf_targetids=np.append(np.zeros(unused, int), tree_of[is_leaf]).tolist(),
        leaf_weights=graph.attribute(np.append(np.zeros(unused), place).astype(np.float32)),
        **sides,
    )
    places, table = found.astype(np.int64), graph.matrix(values.astype(np.float32))

    def add_tree(number: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
        own = places.op("Gather", number, axis=1)
        return number.equals(number), sums + own.take_from(table)

    return _sum_in_loop(add_tree, len(trees), rows, values.shape[1]) / len(trees)


def _nodes(tree: Any) -> tuple[Array, ...]:
    """Return children, features, thresholds and values; one leaf becomes two below a split."""
    if tree.node_count > 1:
        children = tree.children_left, tree.children_right
        return *children, tree.feature, tree.threshold, tree.value
    children = np.array([1, -1, -1]), np.array([2, -1, -1])
    return *children, np.zeros(3, int), np.zeros(3), np.repeat(tree.value, 3, axis=0)


def _sum_in_loop(add: Any, count: int, rows: Tensor, width: int) -> Tensor:
    """Add what a function adds in each round to zeros, (N, width)."""
    height = rows.op("Shape", dtype=np.int64, end=1)
    start = rows.graph.zeros(height.op("Concat", np.array([width]), axis=0))
    return rows.graph.loop(add, start, np.array(count))


# ---------------------------------------------------------------------- calibration curves


def log_odds(scores: Tensor, slope: Array, intercept: Array, share: Any = None) -> Tensor:
    """Add slope · score + intercept; with a share, of the scores on a scale of log odds.

    That scale is the one of `labelkin.calibration`. ONNX Runtime has no asinh of doubles; it is
    written with logarithms.
    """
    if share is not None:
        frequent = (np.asarray(share) > 0.5).astype(np.float64)
        side = 1 - 2 * frequent
        half = 2 * (frequent + side * share)
        z = scores * (side / half) + frequent / half
        logarithm = (z.op("Abs") + (z * z + 1).op("Sqrt")).op("Log")
        scores = z.op("Sign") * logarithm * side
    return scores * slope + intercept
