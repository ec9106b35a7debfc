"""Growing a C4.5 tree.

Every column is sorted once and holds only its non-zero entries. Each node owns one
contiguous stretch of every column; a split divides each stretch in two and keeps both
sorted, so that nothing is sorted again and zeros are never visited.
"""

# numba takes the types from the signatures of the compiled functions.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import math

import numpy as np
from numba import njit

from labelkin.tree._c45._common import FLAG, INT, LONG, REAL, SMALL, frozen

GAIN_SLACK = 1e-3  # a split this far below the mean gain still competes
LARGEST_MIN_SIDE = 25.0  # a numeric split never needs more weight than this on a side


@njit
def _xlogx(x, table):
    """Return x·log2(x), from the table when the weights are whole numbers.

    Without the table, growing on yeast and scene takes two and a half times as long.
    """
    if table.shape[0] > 0:
        return table[int(x)]
    return x * math.log2(x) if x > SMALL else 0.0


@njit
def _move(label, weight, side, counts, table):
    """Move a sample to the other side; return the change of Σ n·log2(n) over both sides.

    With two classes ``_inside`` sums the four terms at each cut instead, since a column has
    fewer cuts than entries: on enron with weights a third of the time.
    """
    here = side[label]
    side[label] = here + weight
    if counts.shape[0] == 2:
        return 0.0
    there = counts[label] - here
    return (
        _xlogx(here + weight, table)
        - _xlogx(here, table)
        + _xlogx(there - weight, table)
        - _xlogx(there, table)
    )


@njit
def _inside(followed, side, counts, table):
    """Σ n·log2(n) over the classes on both sides of a cut."""
    if counts.shape[0] != 2:
        return followed
    return (
        _xlogx(side[0], table)
        + _xlogx(side[1], table)
        + _xlogx(counts[0] - side[0], table)
        + _xlogx(counts[1] - side[1], table)
    )


@njit
def _gain(parent, purity, moved, total, table):
    """Information gain of a split whose sides weigh ``moved`` and ``total - moved``."""
    gain = parent - _xlogx(moved, table) - _xlogx(total - moved, table) + purity
    return 0.0 if abs(gain) < SMALL else gain / total


@njit
def _first_positive(values, a, b):
    """Index of the first entry above zero of the sorted stretch [a, b), b if there is none."""
    while a < b:
        half = (a + b) // 2
        if values[half] > 0.0:
            b = half
        else:
            a = half + 1
    return a


@njit
def _best_cut(
    rows, values, a, b, n_rows, y, w, total, counts, purity, table,
    min_side, floor, resolution, side, gains, lefts,
):  # fmt: skip
    """Find the cut of one column's stretch [a, b) with the largest information gain.

    Entries below zero are swept upwards and entries above zero downwards, so that the block
    of zeros between them, which is not stored, is never moved. Of the cuts in ascending
    order, one replaces the best so far only if its gain is larger by more than the tolerance;
    hence the gains of the downward sweep are kept and compared in a second, ascending pass.

    Returned are the gain, the weight on the left, the index of the first entry on the right (-1:
    no cut), whether the zeros go left, and the number of cuts that were possible.
    """
    zeros = b - a < n_rows
    middle = _first_positive(values, a, b) if zeros else b
    parent = _xlogx(total, table) - purity
    best, best_left, cut, zeros_left, n_cuts = floor, 0.0, -1, False, 0

    moved, inside = 0.0, purity
    for i in range(a, middle):
        weight = w[rows[i]]
        inside += _move(y[rows[i]], weight, side, counts, table)
        moved += weight
        if i + 1 < middle:
            above = values[i + 1]
        elif zeros:
            above = 0.0
        else:
            break
        if (
            values[i] + resolution < above
            and moved > min_side - SMALL
            and total - moved > min_side - SMALL
        ):
            n_cuts += 1
            summed = _inside(inside, side, counts, table)
            gain = _gain(parent, summed, moved, total, table)
            if gain > best + SMALL:
                best, best_left, cut = gain, moved, i + 1

    if middle < b:
        if middle > a:
            side[:] = 0.0
        moved, inside, highest = 0.0, purity, -1.0
        for i in range(b - 1, middle - 1, -1):
            weight = w[rows[i]]
            inside += _move(y[rows[i]], weight, side, counts, table)
            moved += weight
            gains[i] = -2.0
            below = values[i - 1] if i > middle else 0.0
            if (
                below + resolution < values[i]
                and moved > min_side - SMALL
                and total - moved > min_side - SMALL
            ):
                n_cuts += 1
                summed = _inside(inside, side, counts, table)
                gains[i] = _gain(parent, summed, moved, total, table)
                lefts[i] = total - moved
                highest = max(highest, gains[i])
        if highest > best + SMALL:
            for i in range(middle, b):
                if gains[i] > best + SMALL:
                    best, best_left, cut, zeros_left = gains[i], lefts[i], i, True

    if side.shape[0] <= b - a:
        side[:] = 0.0
    else:
        for i in range(a, b):
            side[y[rows[i]]] = 0.0
    return best, best_left, cut, zeros_left, n_cuts


@njit
def _copy_columns(indptr, col_rows, col_values, exists, rows, values, columns, bounds):
    """Copy the columns that have any entry, without the rows of weight zero.

    Fills ``rows`` and ``values``, the columns' numbers and their begins and ends; returns
    the number of columns and of entries.
    """
    n_columns, n_entries = 0, 0
    for f in range(indptr.shape[0] - 1):
        start = n_entries
        for i in range(indptr[f], indptr[f + 1]):
            rows[n_entries], values[n_entries] = col_rows[i], col_values[i]
            n_entries += exists[col_rows[i]]
        if n_entries > start:
            columns[n_columns] = f
            bounds[0, n_columns], bounds[1, n_columns] = start, n_entries
            n_columns += 1
    return n_columns, n_entries


@njit
def _choose_column(
    rows, values, stretch, columns, n_rows, y, w, total, counts, purity,
    table, nominal, nominal_counts, min_leaf, mdl, resolution,
    gain, ratio, cut, zeros_left, side, gains, lefts,
):  # fmt: skip
    """Position of the column to split a node on (-1: none), its cut being left in ``cut``.

    The largest gain ratio wins among the columns whose gain is about the mean or more.
    """
    n_columns = gain.shape[0]
    numeric_side = max(min_leaf, min(0.1 * total / counts.shape[0], LARGEST_MIN_SIDE))
    mean_gain, n_usable = 0.0, 0
    for k in range(n_columns):
        ratio[k] = -1.0
        a, b = stretch[0, k], stretch[1, k]
        if a == b:
            continue
        is_nominal = nominal[columns[k]]
        gain[k], weight_left, cut[k], zeros_left[k], n_cuts = _best_cut(
            rows, values, a, b, n_rows, y, w, total, counts, purity, table,
            min_leaf if is_nominal else numeric_side, -1.0 if is_nominal else 0.0,
            resolution, side, gains, lefts,
        )  # fmt: skip
        if cut[k] < 0:
            continue
        if not is_nominal:
            if mdl:
                gain[k] -= math.log2(n_cuts) / total
            if gain[k] < SMALL:
                continue
        split_info = (
            _xlogx(total, table) - _xlogx(weight_left, table) - _xlogx(total - weight_left, table)
        )
        ratio[k] = 0.0 if split_info < SMALL else gain[k] * total / split_info
        if nominal_counts or not is_nominal:
            mean_gain += gain[k]
            n_usable += 1
    if n_usable == 0:
        return -1
    mean_gain /= n_usable
    best, best_ratio = -1, 0.0
    for k in range(n_columns):
        if gain[k] >= mean_gain - GAIN_SLACK and ratio[k] > best_ratio + SMALL:
            best, best_ratio = k, ratio[k]
    return best


@njit
def _around_cut(values, a, b, wall, zeros_left, zeros):
    """Largest value on the left and smallest on the right of a cut; zeros are not stored."""
    if zeros_left:
        is_zero = wall == a or values[wall - 1] < 0.0
        return 0.0 if is_zero else values[wall - 1], values[wall]
    is_zero = zeros and (wall == b or values[wall] > 0.0)
    return values[wall - 1], 0.0 if is_zero else values[wall]


@njit
def _split_point(values, rows, w, a, b, zeros, lower, upper, resolution):
    """Largest training value not above the midpoint of the cut, as J48 places it."""
    middle = 0.5 * lower + 0.5 * upper
    if middle >= upper:  # rounding: there is no number in between
        middle = lower
    reach = 0.1 * resolution
    low, high = a, b
    while low < high:
        half = (low + high) // 2
        if values[half] - middle < reach or values[half] <= middle:
            low = half + 1
        else:
            high = half
    low -= 1
    while low >= a and w[rows[low]] <= 0.0:
        low -= 1
    point = lower
    if low >= a and values[low] > point:
        point = values[low]
    if zeros and point < 0.0 and (-middle < reach or middle >= 0.0):
        point = 0.0
    return point


@njit
def _divide(rows, values, a, b, goes_left, kept, spare_rows, spare_values):
    """Divide the stretch [a, b) stably; return where the second part begins.

    ``kept`` is 2 to keep both parts, 1 (0) to keep only what goes left (right), moved to
    the front, when the other child is a leaf already and needs no entries.
    """
    front = a
    if kept < 2:
        for i in range(a, b):
            row, value = rows[i], values[i]
            rows[front] = row
            values[front] = value
            front += goes_left[row] == kept
        return front
    back = 0
    for i in range(a, b):
        row, value = rows[i], values[i]
        left = goes_left[row]
        rows[front] = row
        values[front] = value
        spare_rows[back] = row
        spare_values[back] = value
        front += left
        back += 1 - left
    for i in range(back):
        rows[front + i] = spare_rows[i]
        values[front + i] = spare_values[i]
    return front


@njit
def _divide_columns(rows, values, stretch, place, goes_left, kept, spare_rows, spare_values):
    """Divide the stretches of all columns; with two parts, the left ones get the next place."""
    for k in range(stretch.shape[2]):
        a, b = stretch[place, 0, k], stretch[place, 1, k]
        wall = _divide(rows, values, a, b, goes_left, kept, spare_rows, spare_values)
        if kept == 2:
            stretch[place + 1, 0, k], stretch[place + 1, 1, k] = a, wall
            stretch[place, 0, k] = wall
        else:
            stretch[place, 1, k] = wall


@njit
def _divide_rows(node_rows, first, last, goes_left, y, w, child, spare_rows):
    """Put a node's rows that go left first, stably; return where the others begin.

    The class weights of the rows that go left are left in ``child``.
    """
    child[:] = 0.0
    middle, back = first, 0
    for i in range(first, last):
        row = node_rows[i]
        if goes_left[row] == 1:
            child[y[row]] += w[row]
            node_rows[middle] = row
            middle += 1
        else:
            spare_rows[back] = row
            back += 1
    for i in range(back):
        node_rows[middle + i] = spare_rows[i]
    return middle


@njit
def _is_final(counts, min_leaf):
    """Whether a node with these class weights is pure or too small to be split."""
    total, largest = 0.0, 0.0
    for weight in counts:
        total += weight
        largest = max(largest, weight)
    return total < 2.0 * min_leaf - SMALL or total - largest < SMALL


@njit(
    (
        frozen(LONG), frozen(INT), frozen(REAL), frozen(INT), frozen(REAL),
        frozen(FLAG), LONG, REAL, FLAG, REAL, frozen(REAL),
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def grow(indptr, col_rows, col_values, y, w, nominal, n_classes, min_leaf, mdl, resolution, table):
    """Grow the unpruned tree.

    The first three arrays are the training matrix by columns, each sorted by value, without
    zeros. Rows of weight 0 in `w` are left out. The gain of a two-valued `nominal` column may be
    zero and is not corrected; with `mdl`, gains of numeric columns pay for the choice among cuts.
    `min_leaf` is the least weight of a side, `resolution` the distance below which two values are
    one. `table` holds ``k·log2(k)`` for whole weights, or is empty.

    Returned are feature (-2 in leaves), threshold, left child, right child (-1 in leaves), begin
    and end of each node's rows, and the rows in that order. Nodes are in preorder.
    """
    n_features = indptr.shape[0] - 1
    goes_left = np.zeros(w.shape[0], np.uint8)
    node_rows, n_active = np.empty(w.shape[0], np.int32), 0
    for row in range(w.shape[0]):
        if w[row] > 0.0:
            goes_left[row] = 1
            node_rows[n_active] = row
            n_active += 1
    spare_rows, spare_values = np.empty(n_active, np.int32), np.empty(n_active)

    rows, values = np.empty(col_rows.shape[0], np.int32), np.empty(col_rows.shape[0])
    columns, bounds = np.empty(n_features, np.int64), np.empty((2, n_features), np.int64)
    n_columns, n_entries = _copy_columns(
        indptr, col_rows, col_values, goes_left, rows, values, columns, bounds
    )
    # Begin and end of each column's stretch, one place per node on the stack to be split.
    stretch = np.empty((32, 2, n_columns), np.int64)
    has_zeros = np.empty(n_columns, np.bool_)
    for k in range(n_columns):
        stretch[0, 0, k], stretch[0, 1, k] = bounds[0, k], bounds[1, k]
        has_zeros[k] = bounds[1, k] - bounds[0, k] < n_active

    capacity = 2 * n_active
    feature, threshold = np.empty(capacity, np.int32), np.empty(capacity)
    left, right = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    begin, end = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    n_nodes = 0

    gains, lefts = np.empty(n_entries), np.empty(n_entries)
    gain, ratio = np.empty(n_columns), np.empty(n_columns)
    cut, zeros_left = np.empty(n_columns, np.int64), np.empty(n_columns, np.bool_)
    counts, side, child = np.zeros(n_classes), np.zeros(n_classes), np.zeros(n_classes)

    whole, n_nominal = 0.0, 0
    for f in range(n_features):
        n_nominal += nominal[f]
    for row in node_rows[:n_active]:
        counts[y[row]] += w[row]
        whole += w[row]
    # J48 leaves nominal columns with many values (against the sample) out of the mean gain.
    nominal_counts = n_nominal == n_features or 0.3 * whole - SMALL > 2.0

    # A stack of nodes to number and split: begin and end of their rows, the parent, whether
    # they are its left child, whether they can be split, and where their stretches are.
    stack = [(0, n_active, -1, False, not _is_final(counts, min_leaf), 0)]
    while len(stack) > 0:
        first, last, parent, is_left, is_open, place = stack.pop()
        node = n_nodes
        n_nodes += 1
        begin[node], end[node] = first, last
        feature[node], threshold[node], left[node], right[node] = -2, -2.0, -1, -1
        if is_left:
            left[parent] = node
        elif parent >= 0:
            right[parent] = node
        if not is_open:
            continue

        counts[:] = 0.0
        for i in range(first, last):
            counts[y[node_rows[i]]] += w[node_rows[i]]
        total, purity = 0.0, 0.0
        for c in range(n_classes):
            total += counts[c]
            purity += _xlogx(counts[c], table)
        best = _choose_column(
            rows, values, stretch[place], columns, last - first, y, w, total, counts, purity,
            table, nominal, nominal_counts, min_leaf, mdl, resolution,
            gain, ratio, cut, zeros_left, side, gains, lefts,
        )  # fmt: skip
        if best < 0:
            continue

        # The split point, and the rows that go left.
        a, b, wall = stretch[place, 0, best], stretch[place, 1, best], cut[best]
        lower, upper = _around_cut(values, a, b, wall, zeros_left[best], b - a < last - first)
        f = columns[best]
        feature[node] = f
        threshold[node] = _split_point(
            col_values, col_rows, w, indptr[f], indptr[f + 1], has_zeros[best],
            lower, upper, resolution,
        )  # fmt: skip
        for i in range(first, last):
            goes_left[node_rows[i]] = 1 if zeros_left[best] else 0
        for i in range(a, b):
            goes_left[rows[i]] = 1 if i < wall else 0

        middle = _divide_rows(node_rows, first, last, goes_left, y, w, child, spare_rows)
        left_open = not _is_final(child, min_leaf)
        for c in range(n_classes):
            child[c] = counts[c] - child[c]
        right_open = not _is_final(child, min_leaf)

        # If one child is to be split it takes over its parent's place; two need one more.
        kept = 2 if left_open and right_open else (1 if left_open else 0)
        if kept == 2 and place + 2 > stretch.shape[0]:
            stretch = np.concatenate((stretch, np.empty_like(stretch)))
        if left_open or right_open:
            _divide_columns(rows, values, stretch, place, goes_left, kept, spare_rows, spare_values)
        # The left child lies on top, so that nodes are numbered in preorder.
        stack.append((middle, last, node, False, right_open, place))
        stack.append((first, middle, node, True, left_open, place + 1 if kept == 2 else place))

    return (
        feature[:n_nodes], threshold[:n_nodes], left[:n_nodes], right[:n_nodes],
        begin[:n_nodes], end[:n_nodes], node_rows,
    )  # fmt: skip
