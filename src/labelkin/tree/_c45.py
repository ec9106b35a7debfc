"""Compiled kernels of C4.5: grow a tree, prune it, find the leaves that rows reach.

Growing: every column is sorted once and holds only its non-zero entries. Each node owns one
contiguous stretch of every column; a split divides each stretch in two and keeps both sorted, so
that nothing is sorted again and zeros are never visited.

Pruning: every node owns a stretch of the training rows, and its children divide it. A raised
subtree receives the rows of its sibling: they are sent down its tests, and its nodes are pruned
again.

Tolerances are J48's; they decide ties, so they are part of the algorithm. This module imports
numba: import it inside the function that needs it.
"""

# numba finds the types when a function is first called.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import math

import numpy as np
from numba import njit

SMALL = 1e-6  # two weights, gains or ratios closer than this are equal
GAIN_SLACK = 1e-3  # a split this far below the mean gain still competes
LARGEST_MIN_SIDE = 25.0  # a numeric split never needs more weight than this on a side
NO_CUT = -2.0  # in place of a gain
LARGEST_TABLE = 2**17  # above this total weight the table no longer fits the processor's cache
TRAINING_SLACK = 1e-3  # a subtree must save more training errors than this
ERROR_SLACK = 0.1  # estimated errors within this of each other favour the smaller tree


@njit
def _log_table(w):
    """Table of k·log2(k) where all weights are whole numbers, else an empty one.

    With the table a tree is grown in half the time.
    """
    total = np.sum(w)
    is_whole = total < LARGEST_TABLE and np.all(w == np.rint(w))
    table = np.zeros(int(total) + 1 if is_whole else 0)
    for k in range(2, table.shape[0]):
        table[k] = k * math.log2(k)
    return table


@njit
def _xlogx(x, table):
    if table.shape[0] > 0:
        return table[int(x)]
    return x * math.log2(x) if x > SMALL else 0.0


@njit
def _move(label, weight, side, counts, table):
    """Add weight to one side of a cut; return the change of Σ n·log2(n) over both sides."""
    here = side[label]
    side[label] = here + weight
    there = counts[label] - here
    return (
        _xlogx(here + weight, table)
        - _xlogx(here, table)
        + _xlogx(there - weight, table)
        - _xlogx(there, table)
    )


@njit
def _gain(below, above, left, total, parent, purity, min_side, resolution, table):
    """Information gain of the cut between two values, with the weight `left` on its left.

    `parent` and `purity` are Σ n·log2(n), of the node and over the classes on both sides.
    """
    right = total - left
    if below + resolution >= above or min(left, right) <= min_side - SMALL:
        return NO_CUT
    gain = parent - _xlogx(left, table) - _xlogx(right, table) + purity
    return 0.0 if abs(gain) < SMALL else gain / total


@njit
def _best_cut(
    rows, values, a, b, n_rows, y, w, total, counts, purity, min_side, floor, resolution, side,
    table,
):  # fmt: skip
    """Find the cut of one column's stretch [a, b) with the largest information gain.

    Of the cuts in ascending order, one replaces the best so far only if its gain is larger by
    more than the tolerance. The zeros lie before the first entry above zero, and are not stored:
    up to there `side` counts the entries on the left, from there on those on the right.

    Returned are the gain, the weight on the left, the index of the first entry on the right (-1:
    no cut), whether the zeros go left, and the number of cuts that were possible.
    """
    has_zeros = b - a < n_rows
    middle = a + np.searchsorted(values[a:b], 0.0) if has_zeros else b
    parent = _xlogx(total, table) - purity
    best, best_left, cut, n_cuts = floor, 0.0, -1, 0

    left, followed = 0.0, purity
    for i in range(a + 1, middle + has_zeros):
        row = rows[i - 1]
        followed += _move(y[row], w[row], side, counts, table)
        left += w[row]
        above = values[i] if i < middle else 0.0
        gain = _gain(
            values[i - 1], above, left, total, parent, followed, min_side, resolution, table
        )
        n_cuts += gain > NO_CUT
        if gain > best + SMALL:
            best, best_left, cut = gain, left, i
    for i in range(a, middle):
        side[y[rows[i]]] = 0.0

    left, followed, zeros_left = total, purity, False
    for i in range(middle, b):
        followed += _move(y[rows[i]], w[rows[i]], side, counts, table)
        left -= w[rows[i]]
    for i in range(middle, b):
        row = rows[i]
        below = values[i - 1] if i > middle else 0.0
        gain = _gain(below, values[i], left, total, parent, followed, min_side, resolution, table)
        n_cuts += gain > NO_CUT
        if gain > best + SMALL:
            best, best_left, cut, zeros_left = gain, left, i, True
        followed += _move(y[row], -w[row], side, counts, table)
        left += w[row]
    for i in range(a, b):
        side[y[rows[i]]] = 0.0
    return best, best_left, cut, zeros_left, n_cuts


@njit
def _choose_column(
    rows, values, stretch, n_rows, y, w, total, counts, nominal, nominal_counts, min_leaf,
    resolution, table,
):  # fmt: skip
    """Choose the column to split a node on (-1: none), and its cut as `_best_cut` gives it.

    The largest gain ratio wins among the columns whose gain is about the mean or more.
    """
    n_columns = nominal.shape[0]
    gain, ratio = np.zeros(n_columns), np.full(n_columns, -1.0)
    cut, zeros_left = np.empty(n_columns, np.int64), np.empty(n_columns, np.bool_)
    side = np.zeros(counts.shape[0])
    numeric_side = max(min_leaf, min(0.1 * total / counts.shape[0], LARGEST_MIN_SIDE))
    purity = 0.0
    for weight in counts:
        purity += _xlogx(weight, table)
    mean_gain, n_usable = 0.0, 0
    for k in range(n_columns):
        a, b = stretch[0, k], stretch[1, k]
        if a == b:
            continue
        gain[k], left, cut[k], zeros_left[k], n_cuts = _best_cut(
            rows, values, a, b, n_rows, y, w, total, counts, purity,
            min_leaf if nominal[k] else numeric_side, -1.0 if nominal[k] else 0.0,
            resolution, side, table,
        )  # fmt: skip
        if cut[k] < 0:
            continue
        if not nominal[k]:
            gain[k] -= math.log2(n_cuts) / total
            if gain[k] < SMALL:
                continue
        split_info = _xlogx(total, table) - _xlogx(left, table) - _xlogx(total - left, table)
        ratio[k] = 0.0 if split_info < SMALL else gain[k] * total / split_info
        if nominal_counts or not nominal[k]:
            mean_gain += gain[k]
            n_usable += 1
    if n_usable == 0:
        return -1, -1, False
    mean_gain /= n_usable
    best, best_ratio = -1, 0.0
    for k in range(n_columns):
        if gain[k] >= mean_gain - GAIN_SLACK and ratio[k] > best_ratio + SMALL:
            best, best_ratio = k, ratio[k]
    return best, cut[best], zeros_left[best]


@njit
def _around_cut(values, a, b, cut, zeros_left, has_zeros):
    """Largest value on the left and smallest on the right of a cut; zeros are not stored."""
    lower = values[cut - 1] if cut > a else 0.0
    upper = values[cut] if cut < b else 0.0
    if zeros_left:
        lower = max(lower, 0.0)
    elif has_zeros:
        upper = min(upper, 0.0)
    return lower, upper


@njit
def _split_point(lower, upper, column, has_zeros, resolution):
    """Largest value of the whole training column not above the cut's midpoint, as in J48."""
    middle = 0.5 * lower + 0.5 * upper
    if middle >= upper:  # rounding: there is no number in between
        middle = lower
    reach = 0.1 * resolution
    low, high = 0, column.shape[0]
    while low < high:
        half = (low + high) // 2
        if column[half] - middle < reach or column[half] <= middle:
            low = half + 1
        else:
            high = half
    point = max(lower, column[low - 1]) if low > 0 else lower
    if has_zeros and point < 0.0 and (-middle < reach or middle >= 0.0):
        point = 0.0
    return point


@njit
def _divide(rows, values, a, b, goes_left, spare_rows, spare_values):
    """Divide the stretch [a, b) stably; return where the part that goes right begins."""
    front, back = a, 0
    for i in range(a, b):
        row, value = rows[i], values[i]
        if goes_left[row]:
            rows[front], values[front] = row, value
            front += 1
        else:
            spare_rows[back], spare_values[back] = row, value
            back += 1
    for i in range(back):
        rows[front + i], values[front + i] = spare_rows[i], spare_values[i]
    return front


@njit(cache=True, nogil=True)
def grow(indptr, col_rows, col_values, y, w, nominal, n_classes, min_leaf, resolution):
    """Grow the unpruned tree.

    The first three arrays are the training matrix by columns, each sorted by value, without
    zeros and without the rows of weight 0 in `w`, which are left out. The gain of a two-valued
    `nominal` column may be zero and is not corrected; gains of numeric columns pay for the choice
    among cuts. `min_leaf` is the least weight of a side, `resolution` the distance
    below which two values are one.

    Returned are the nodes in preorder: feature (-2 in leaves), threshold, left child and right
    child (-1 in leaves); begin and end of each node's rows; and the rows in that order.
    """
    node_rows = np.flatnonzero(w > 0.0).astype(np.int32)
    n_active, n_features = node_rows.shape[0], nominal.shape[0]
    rows, values = col_rows.copy(), col_values.copy()
    goes_left = np.zeros(w.shape[0], np.bool_)
    spare_rows, spare_values = np.empty(n_active, np.int32), np.empty(n_active)
    # J48 leaves nominal columns with many values (against the sample) out of the mean gain.
    nominal_counts = np.all(nominal) or 0.3 * np.sum(w) - SMALL > 2.0

    table = _log_table(w)

    capacity, n_nodes = 2 * n_active, 0
    feature, threshold = np.full(capacity, -2, np.int32), np.full(capacity, -2.0)
    left, right = np.full(capacity, -1, np.int32), np.full(capacity, -1, np.int32)
    begin, end = np.empty(capacity, np.int32), np.empty(capacity, np.int32)

    # A stack of nodes to number and split: begin and end of their rows, the parent, whether they
    # are its left child, and begin and end of their stretch of each column.
    bounds = np.empty((2, n_features), np.int64)
    bounds[0], bounds[1] = indptr[:-1], indptr[1:]
    stack = [(0, n_active, -1, False, bounds)]
    while len(stack) > 0:
        first, last, parent, is_left, stretch = stack.pop()
        node, n_rows = n_nodes, last - first
        n_nodes += 1
        begin[node], end[node] = first, last
        if is_left:
            left[parent] = node
        elif parent >= 0:
            right[parent] = node

        # Leaves: pure, too small, or without a column to split on.
        counts = np.zeros(n_classes)
        for row in node_rows[first:last]:
            counts[y[row]] += w[row]
        total = np.sum(counts)
        if total < 2.0 * min_leaf - SMALL or total - np.max(counts) < SMALL:
            continue
        f, cut, zeros_left = _choose_column(
            rows, values, stretch, n_rows, y, w, total, counts, nominal, nominal_counts, min_leaf,
            resolution, table,
        )  # fmt: skip
        if f < 0:
            continue

        # The split point, and the rows that go left.
        a, b = stretch[0, f], stretch[1, f]
        lower, upper = _around_cut(values, a, b, cut, zeros_left, b - a < n_rows)
        column = col_values[indptr[f] : indptr[f + 1]]
        feature[node] = f
        threshold[node] = _split_point(lower, upper, column, column.shape[0] < n_active, resolution)
        for row in node_rows[first:last]:
            goes_left[row] = zeros_left
        for i in range(a, b):
            goes_left[rows[i]] = i < cut

        # Divide the rows and every column; the left child lies on top of the stack, so that nodes
        # are numbered in preorder.
        left_stretch, right_stretch = stretch.copy(), stretch
        for k in range(n_features):
            wall = _divide(
                rows, values, stretch[0, k], stretch[1, k], goes_left, spare_rows, spare_values
            )
            left_stretch[1, k], right_stretch[0, k] = wall, wall
        here = node_rows[first:last].copy()
        is_left_row = goes_left[here]
        middle = first + np.sum(is_left_row)
        node_rows[first:middle], node_rows[middle:last] = here[is_left_row], here[~is_left_row]
        stack.append((middle, last, node, False, right_stretch))
        stack.append((first, middle, node, True, left_stretch))

    nodes = feature[:n_nodes], threshold[:n_nodes], left[:n_nodes], right[:n_nodes]
    return nodes, begin[:n_nodes], end[:n_nodes], node_rows


@njit
def _goes_left(node, row, nodes, reach, X):
    """Whether a row's value is at most the split point of a node plus the reach."""
    value, point = X[row, nodes[0][node]], nodes[1][node]
    return value <= point or value - point < reach


@njit
def _descend(node, row, nodes, reach, X):
    """Leaf that a row reaches from the given node."""
    _, _, left, right = nodes
    while left[node] >= 0:
        node = left[node] if _goes_left(node, row, nodes, reach, X) else right[node]
    return node


@njit
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
    branch, branch_end, new_rows, limit, estimate, value, y, w, confidence, z, nodes, reach, X
):
    """Estimated errors of a branch that also receives its sibling's rows.

    More rows never lower an estimate, so the rest is skipped once the limit is reached.
    """
    counts = value[branch:branch_end].copy()
    errors = estimate[branch]
    for row in new_rows:
        leaf = _descend(branch, row, nodes, reach, X)
        here = counts[leaf - branch]
        before = _estimate(here, confidence, z)
        here[y[row]] += w[row]
        errors += _estimate(here, confidence, z) - before
        if errors >= limit:
            break
    return errors


@njit
def _send_down(node, subtree_end, alive, begin, end, node_rows, value, y, w, nodes, reach, X):
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
            if _goes_left(at, row, nodes, reach, X):
                low += 1
            else:
                high -= 1
                node_rows[low], node_rows[high] = node_rows[high], row
        begin[left[at]], end[left[at]] = begin[at], low
        begin[right[at]], end[right[at]] = low, end[at]


@njit(cache=True, nogil=True)
def prune(nodes, begin, end, node_rows, y, w, n_classes, X, reach, pruning, confidence, z):
    """Collapse and prune a grown tree, overwriting its arrays, and count the classes of its nodes.

    Each node, children before parents, is replaced by a leaf or by its larger branch when
    that does not raise the estimated errors. A raised branch receives the sibling's rows
    and is pruned again. `nodes` are the features, which are columns of X, the thresholds, and the
    left and right children of all nodes.

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
        branch, sibling = right[node], left[node]
        if _weigh(value[branch])[0] <= _weigh(value[sibling])[0] - SMALL:
            branch, sibling = sibling, branch
        as_branch = _errors_when_raised(
            branch, subtree_end[branch], node_rows[begin[sibling] : end[sibling]],
            as_tree + slack, estimate, value, y, w, confidence, z, nodes, reach, X,
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
                node, subtree_end, alive, begin, end, node_rows, value, y, w, nodes, reach, X
            )
            node = subtree_end[node]
        else:
            estimate[node] = as_tree
    return value, alive


@njit(cache=True, nogil=True)
def apply(nodes, reach, X):
    """Leaf that each row reaches."""
    leaves = np.empty(X.shape[0], np.int32)
    for row in range(X.shape[0]):
        leaves[row] = _descend(0, row, nodes, reach, X)
    return leaves
