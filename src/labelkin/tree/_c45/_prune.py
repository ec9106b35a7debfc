"""Pruning a grown C4.5 tree, and finding the leaves that rows reach.

Every node owns a stretch of the training rows, and its children divide it. A raised subtree
receives the rows of its sibling: they are sent down its tests, and its nodes are pruned again.
"""

# numba takes the types from the signatures of the compiled functions.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import math

import numpy as np
from numba import njit, types

from labelkin.tree._c45._common import FLAG, INT, LONG, REAL, SMALL, frozen

TRAINING_SLACK = 1e-3  # a subtree must save more training errors than this
ERROR_SLACK = 0.1  # estimated errors within this of each other favour the smaller tree

# Row access: a dense matrix, or (when that has no rows) the arrays of a CSR matrix.
LOOKUP = types.Tuple((frozen(REAL, 2), frozen(LONG), frozen(INT), frozen(REAL)))
# Of each node: feature, threshold, left child and right child.
NODES = types.Tuple((INT[::1], REAL[::1], INT[::1], INT[::1]))
FROZEN_NODES = types.Tuple((frozen(INT), frozen(REAL), frozen(INT), frozen(INT)))


@njit
def _value_at(row, column, lookup):
    """Entry of the matrix, dense or (dense being empty) CSR with sorted indices."""
    dense, indptr, indices, data = lookup
    if dense.shape[0] > 0:
        return dense[row, column]
    low, high = indptr[row], indptr[row + 1]
    while low < high:
        half = (low + high) // 2
        if indices[half] < column:
            low = half + 1
        else:
            high = half
    if low < indptr[row + 1] and indices[low] == column:
        return data[low]
    return 0.0


@njit
def _goes_left(node, row, nodes, reach, lookup):
    """Whether a row's value is at most the split point of a node plus the reach."""
    value, point = _value_at(row, nodes[0][node], lookup), nodes[1][node]
    return value <= point or value - point < reach


@njit
def _descend(node, row, nodes, reach, lookup):
    """Leaf that a row reaches from the given node."""
    _, _, left, right = nodes
    while left[node] >= 0:
        node = left[node] if _goes_left(node, row, nodes, reach, lookup) else right[node]
    return node


@njit((REAL, REAL, REAL, REAL), cache=True, nogil=True)
def extra_errors(n, errors, confidence, z):
    """Errors to add to those seen: the upper confidence limit of a binomial (C4.5, ch. 4).

    `n` is the weight of a leaf, `errors` that of its misclassified part, `z` the quantile of the
    normal distribution for the confidence.
    """
    extra = 0.0
    share = 1.0
    seen = errors
    if errors < 1.0:
        # No error: exact. Between none and one: on the line between the two.
        none = n * (1.0 - confidence ** (1.0 / n))
        if errors == 0.0:
            return none
        extra, share, seen = none * (1.0 - errors), errors, 1.0
    if seen + 0.5 >= n:
        return extra + share * max(n - seen, 0.0)
    rate = (seen + 0.5) / n
    spread = z * math.sqrt(rate * (1.0 - rate) / n + z * z / (4.0 * n * n))
    limit = (rate + z * z / (2.0 * n) + spread) / (1.0 + z * z / n)
    return extra + share * (limit * n - seen)


@njit
def _weigh(counts):
    """Weight of a node with these class weights, and its training errors."""
    total = np.sum(counts)
    return total, total - np.max(counts)


@njit
def _estimate(counts, confidence, z):
    """Estimated errors of a leaf with these class weights."""
    total, errors = _weigh(counts)
    if total < SMALL:
        return 0.0
    return errors + extra_errors(total, errors, confidence, z)


@njit
def _make_leaf(node, subtree_end, left, right, alive):
    alive[node + 1 : subtree_end[node]] = False
    left[node], right[node] = -1, -1


@njit
def _collapse(subtree_end, left, right, alive, value):
    """Turn into a leaf, from the root down, each subtree that errs no less than a leaf."""
    n_nodes = left.shape[0]
    errors = np.empty(n_nodes)
    for node in range(n_nodes - 1, -1, -1):
        if left[node] < 0:
            errors[node] = _weigh(value[node])[1]
        else:
            errors[node] = errors[left[node]] + errors[right[node]]
    for node in range(n_nodes):
        as_leaf = _weigh(value[node])[1]
        if alive[node] and left[node] >= 0 and errors[node] >= as_leaf - TRAINING_SLACK:
            _make_leaf(node, subtree_end, left, right, alive)


@njit
def _errors_when_raised(
    branch, branch_end, new_rows, limit, estimate, value, y, w, confidence, z, nodes, reach, lookup
):
    """Estimated errors of a branch that also receives its sibling's rows.

    More rows never lower an estimate, so the rest is skipped once the limit is reached.
    """
    counts = value[branch:branch_end].copy()
    errors = estimate[branch]
    for row in new_rows:
        leaf = _descend(branch, row, nodes, reach, lookup)
        here = counts[leaf - branch]
        before = _estimate(here, confidence, z)
        here[y[row]] += w[row]
        errors += _estimate(here, confidence, z) - before
        if errors >= limit:
            break
    return errors


@njit
def _send_down(node, subtree_end, alive, begin, end, node_rows, value, y, w, nodes, reach, lookup):
    """Divide a node's rows among the nodes below it by their tests, and count their classes."""
    _, _, left, right = nodes
    for at in range(node, subtree_end[node]):
        if not alive[at]:
            continue
        value[at] = 0.0
        for row in node_rows[begin[at] : end[at]]:
            value[at, y[row]] += w[row]
        if left[at] < 0:
            continue
        low, high = begin[at], end[at]
        while low < high:
            row = node_rows[low]
            if _goes_left(at, row, nodes, reach, lookup):
                low += 1
            else:
                high -= 1
                node_rows[low], node_rows[high] = node_rows[high], row
        begin[left[at]], end[left[at]] = begin[at], low
        begin[right[at]], end[right[at]] = low, end[at]


@njit(
    (
        NODES, INT[::1], INT[::1], INT[::1], frozen(INT), frozen(REAL), LONG, LOOKUP,
        REAL, FLAG, FLAG, FLAG, REAL, REAL,
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def prune(
    nodes, begin, end, node_rows, y, w, n_classes, lookup,
    reach, collapse, pruning, raising, confidence, z,
):  # fmt: skip
    """Prune a grown tree, overwriting its arrays, and count the classes of its nodes.

    Each node, children before parents, is replaced by a leaf or by its larger branch when
    that does not raise the estimated errors. A raised branch receives the sibling's rows
    and is pruned again.

    Returned are the class weights of all nodes, and which of them remain.
    """
    feature, threshold, left, right = nodes
    n_nodes = feature.shape[0]
    value, alive = np.zeros((n_nodes, n_classes)), np.ones(n_nodes, np.bool_)
    # In preorder the nodes below one are those up to its subtree's end.
    subtree_end = np.empty(n_nodes, np.int64)
    for node in range(n_nodes - 1, -1, -1):
        subtree_end[node] = node + 1 if left[node] < 0 else subtree_end[right[node]]
        for row in node_rows[begin[node] : end[node]]:
            value[node, y[row]] += w[row]
    if collapse:
        _collapse(subtree_end, left, right, alive, value)

    estimate = np.zeros(n_nodes)
    slack = ERROR_SLACK + SMALL
    node = n_nodes if pruning else 0
    while node > 0:
        node -= 1
        if not alive[node]:
            continue
        as_leaf = _estimate(value[node], confidence, z)
        if left[node] < 0:
            estimate[node] = as_leaf
            continue
        as_tree = estimate[left[node]] + estimate[right[node]]
        as_branch, branch, sibling = np.inf, right[node], left[node]
        if _weigh(value[branch])[0] <= _weigh(value[sibling])[0] - SMALL:
            branch, sibling = sibling, branch
        if raising:
            as_branch = _errors_when_raised(
                branch, subtree_end[branch], node_rows[begin[sibling] : end[sibling]],
                as_tree + slack, estimate, value, y, w, confidence, z, nodes, reach, lookup,
            )  # fmt: skip

        if as_leaf < as_tree + slack and as_leaf < as_branch + slack:
            _make_leaf(node, subtree_end, left, right, alive)
            estimate[node] = as_leaf
        elif as_branch < as_tree + slack:
            # Put the branch in the place of the node, and prune it again with all rows.
            alive[branch] = False
            alive[sibling : subtree_end[sibling]] = False
            feature[node], threshold[node] = feature[branch], threshold[branch]
            left[node], right[node] = left[branch], right[branch]
            _send_down(
                node, subtree_end, alive, begin, end, node_rows, value, y, w, nodes, reach, lookup
            )
            node = subtree_end[node]
        else:
            estimate[node] = as_tree
    return value, alive


@njit((FROZEN_NODES, REAL, LOOKUP, LONG), cache=True, nogil=True)
def apply(nodes, reach, lookup, n_rows):
    """Leaf that each row reaches."""
    leaves = np.empty(n_rows, np.int32)
    for row in range(n_rows):
        leaves[row] = _descend(0, row, nodes, reach, lookup)
    return leaves
