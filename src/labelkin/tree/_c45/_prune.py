"""Pruning a grown C4.5 tree, and finding the leaves that rows reach.

A raised subtree receives rows it has not seen. Each leaf holds its rows as a chain, so they
move one by one, and only the nodes they pass are estimated again.
"""

# numba takes the types from the signatures of the compiled functions.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import math

import numpy as np
from numba import njit

from labelkin.tree._c45._common import FLAG, INT, LONG, REAL, SMALL, frozen

TRAINING_SLACK = 1e-3  # a subtree must save more training errors than this
ERROR_SLACK = 0.1  # estimated errors within this of each other favour the smaller tree

# Row access: a dense matrix, or (when that has no rows) the arrays of a CSR matrix.
LOOKUP = (frozen(REAL, 2), frozen(LONG), frozen(INT), frozen(REAL))


@njit
def _value_at(row, column, dense, indptr, indices, data):
    """Entry of the matrix, dense or (dense being empty) CSR with sorted indices."""
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
def _stays_left(value, point, reach):
    """Whether a value passes the test of a node: at most the split point plus the reach."""
    return value <= point or value - point < reach


@njit
def _descend(node, row, feature, threshold, left, right, reach, dense, indptr, indices, data):
    """Leaf that a row reaches from the given node."""
    while left[node] >= 0:
        value = _value_at(row, feature[node], dense, indptr, indices, data)
        node = left[node] if _stays_left(value, threshold[node], reach) else right[node]
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
def _weigh(counts, more):
    """Weight of a node with the class weights ``counts + more``, and its training errors."""
    total, largest = 0.0, 0.0
    for c in range(counts.shape[0]):
        weight = counts[c] + more[c]
        total += weight
        largest = max(largest, weight)
    return total, total - largest


@njit
def _estimate(counts, more, confidence, z):
    """Estimated errors of a leaf with the class weights ``counts + more``."""
    total, errors = _weigh(counts, more)
    if total < SMALL:
        return 0.0
    return errors + extra_errors(total, errors, confidence, z)


@njit
def _make_leaf(node, subtree_end, left, right, alive, head, tail, following):
    """Turn a node into a leaf that holds the rows of all leaves below it."""
    for leaf in range(node + 1, subtree_end[node]):
        if alive[leaf] and left[leaf] < 0:
            if head[node] < 0:
                head[node] = head[leaf]
            else:
                following[tail[node]] = head[leaf]
            tail[node] = tail[leaf]
        alive[leaf] = False
    left[node], right[node] = -1, -1


@njit
def _increase(leaves, n_leaves, estimate, value, added, confidence, z):
    """How much the estimated errors of some leaves grow with the weights added to them."""
    increase = 0.0
    for i in range(n_leaves):
        leaf = leaves[i]
        increase += _estimate(value[leaf], added[leaf], confidence, z) - estimate[leaf]
    return increase


@njit
def _errors_when_raised(
    branch, sibling, stop, limit, estimate, value, added, touched, is_touched, alive,
    head, following, y, w, confidence, z,
    feature, threshold, left, right, reach, dense, indptr, indices, data,
):  # fmt: skip
    """Estimated errors of a branch that also receives its sibling's rows.

    The branch's own rows stay where they are: only the sibling's have to be sent down.
    More rows never lower an estimate, so the sum is computed after 4, 8, 16, … rows and
    the rest is skipped once it reaches the limit, a sixth of the time on scene and enron.
    """
    n_touched, n_rows, check_at = 0, 0, 4
    errors = estimate[branch]
    for source in range(sibling, stop):
        row = head[source] if alive[source] and left[source] < 0 else -1
        while row >= 0 and errors < limit:
            leaf = _descend(
                branch, row, feature, threshold, left, right, reach, dense, indptr, indices, data
            )
            added[leaf, y[row]] += w[row]
            if not is_touched[leaf]:
                is_touched[leaf] = True
                touched[n_touched] = leaf
                n_touched += 1
            row = following[row]
            n_rows += 1
            if n_rows == check_at:
                check_at *= 2
                errors = estimate[branch] + _increase(
                    touched, n_touched, estimate, value, added, confidence, z
                )
    errors = estimate[branch] + _increase(touched, n_touched, estimate, value, added, confidence, z)
    for i in range(n_touched):
        added[touched[i]] = 0.0
        is_touched[touched[i]] = False
    return errors


@njit
def _raise(
    node, branch, sibling, subtree_end, alive, dirty, head, tail, following, value, y, w,
    feature, threshold, left, right, reach, dense, indptr, indices, data,
):  # fmt: skip
    """Put a node's larger branch in its place and send the sibling's rows down there.

    Nodes that receive rows become dirty: their estimates have to be made again.
    """
    feature[node], threshold[node] = feature[branch], threshold[branch]
    left[node], right[node] = left[branch], right[branch]
    head[node], tail[node] = head[branch], tail[branch]
    alive[branch] = False
    dirty[node] = True
    for source in range(sibling, subtree_end[sibling]):
        row = head[source] if alive[source] and left[source] < 0 else -1
        alive[source] = False
        while row >= 0:
            coming = following[row]
            at = node
            while left[at] >= 0:
                x = _value_at(row, feature[at], dense, indptr, indices, data)
                at = left[at] if _stays_left(x, threshold[at], reach) else right[at]
                value[at, y[row]] += w[row]
                dirty[at] = True
            following[row] = head[at]  # no leaf is ever empty
            head[at] = row
            row = coming


@njit
def _collapse(left, right, subtree_end, value, nothing, alive, head, tail, following):
    """Turn into a leaf, from the root down, each subtree that errs no less than a leaf."""
    n_nodes = left.shape[0]
    errors = np.empty(n_nodes)
    for node in range(n_nodes - 1, -1, -1):
        if left[node] < 0:
            errors[node] = _weigh(value[node], nothing)[1]
        else:
            errors[node] = errors[left[node]] + errors[right[node]]
    for node in range(n_nodes):
        if alive[node] and left[node] >= 0:
            as_leaf = _weigh(value[node], nothing)[1]
            if errors[node] >= as_leaf - TRAINING_SLACK:
                _make_leaf(node, subtree_end, left, right, alive, head, tail, following)


@njit
def _kept_nodes(feature, threshold, left, right, value, alive):
    """Return the arrays of the living nodes, whose order is still preorder."""
    n_nodes, n_classes = value.shape
    number, n_kept = np.empty(n_nodes, np.int32), 0
    for node in range(n_nodes):
        number[node] = n_kept
        n_kept += alive[node]
    new_value = np.empty((n_kept, n_classes))
    for node in range(n_nodes):
        if not alive[node]:
            continue
        i = number[node]
        for c in range(n_classes):
            new_value[i, c] = value[node, c]
        is_leaf = left[node] < 0
        feature[i] = -2 if is_leaf else feature[node]
        threshold[i] = -2.0 if is_leaf else threshold[node]
        left[i] = -1 if is_leaf else number[left[node]]
        right[i] = -1 if is_leaf else number[right[node]]
    return (
        feature[:n_kept].copy(), threshold[:n_kept].copy(), left[:n_kept].copy(),
        right[:n_kept].copy(), new_value,
    )  # fmt: skip


@njit(
    (
        INT[::1], REAL[::1], INT[::1], INT[::1], frozen(INT), frozen(INT),
        frozen(INT), frozen(INT), frozen(REAL), LONG, *LOOKUP,
        REAL, FLAG, FLAG, FLAG, REAL, REAL,
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def prune(
    feature, threshold, left, right, begin, end, node_rows, y, w, n_classes,
    dense, indptr, indices, data, reach, collapse, pruning, raising, confidence, z,
):  # fmt: skip
    """Prune a grown tree, overwriting its arrays, and count the classes of its nodes.

    Each node, children before parents, is replaced by a leaf or by its larger branch when
    that does not raise the estimated errors. A raised branch receives the sibling's rows
    and is pruned again where its estimates have changed.

    Returned are feature, threshold, left child, right child and class weights of the remaining
    nodes, in preorder.
    """
    n_nodes = feature.shape[0]
    value, nothing = np.zeros((n_nodes, n_classes)), np.zeros(n_classes)
    # In preorder the nodes below one are those up to its subtree's end. Each leaf holds a
    # chain of rows: the first, the last, and for each row the one that follows.
    subtree_end = np.empty(n_nodes, np.int64)
    head, tail = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32)
    following = np.empty(y.shape[0], np.int32)
    alive, dirty = np.empty(n_nodes, np.bool_), np.empty(n_nodes, np.bool_)
    for node in range(n_nodes - 1, -1, -1):
        alive[node], dirty[node] = True, True
        if left[node] < 0:
            subtree_end[node] = node + 1
            head[node], tail[node] = node_rows[begin[node]], node_rows[end[node] - 1]
            for i in range(begin[node], end[node]):
                value[node, y[node_rows[i]]] += w[node_rows[i]]
                following[node_rows[i]] = node_rows[i + 1] if i + 1 < end[node] else -1
        else:
            head[node], tail[node] = -1, -1
            subtree_end[node] = subtree_end[right[node]]
            for c in range(n_classes):
                value[node, c] = value[left[node], c] + value[right[node], c]
    if collapse:
        _collapse(left, right, subtree_end, value, nothing, alive, head, tail, following)

    estimate = np.zeros(n_nodes)
    added = np.zeros((n_nodes if pruning and raising else 0, n_classes))
    touched, is_touched = np.empty(n_nodes, np.int32), np.zeros(n_nodes, np.bool_)
    slack = ERROR_SLACK + SMALL
    node = n_nodes - 1 if pruning else -1
    while node >= 0:
        if not (alive[node] and dirty[node]):
            node -= 1
            continue
        dirty[node] = False
        as_leaf = _estimate(value[node], nothing, confidence, z)
        if left[node] < 0:
            estimate[node] = as_leaf
            node -= 1
            continue
        as_tree = estimate[left[node]] + estimate[right[node]]

        as_branch, branch, sibling = np.inf, right[node], left[node]
        if _weigh(value[branch], nothing)[0] <= _weigh(value[sibling], nothing)[0] - SMALL:
            branch, sibling = sibling, branch
        if raising:
            as_branch = _errors_when_raised(
                branch, sibling, subtree_end[sibling], as_tree + slack, estimate, value,
                added, touched, is_touched, alive, head, following, y, w, confidence, z,
                feature, threshold, left, right, reach, dense, indptr, indices, data,
            )  # fmt: skip
        if as_leaf < as_tree + slack and as_leaf < as_branch + slack:
            _make_leaf(node, subtree_end, left, right, alive, head, tail, following)
            estimate[node] = as_leaf
        elif as_branch < as_tree + slack:
            _raise(
                node, branch, sibling, subtree_end, alive, dirty, head, tail, following,
                value, y, w, feature, threshold, left, right, reach,
                dense, indptr, indices, data,
            )  # fmt: skip
            node = subtree_end[node]
        else:
            estimate[node] = as_tree
        node -= 1

    return _kept_nodes(feature, threshold, left, right, value, alive)


@njit(
    (
        *LOOKUP, LONG, frozen(INT), frozen(REAL), frozen(INT), frozen(INT), REAL,
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def apply(dense, indptr, indices, data, n_rows, feature, threshold, left, right, reach):
    """Leaf that each row reaches."""
    leaves = np.empty(n_rows, np.int32)
    for row in range(n_rows):
        leaves[row] = _descend(
            0, row, feature, threshold, left, right, reach, dense, indptr, indices, data
        )
    return leaves
