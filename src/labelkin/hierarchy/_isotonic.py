"""Values that never grow from a label to its children: the projection onto that cone, exactly.

The projection in least squares is isotonic regression on the order of the labels. It is the
projection in log loss as well, and in every other Bregman divergence (Barlow and Brunk 1972).
"""

import numpy as np
from scipy import sparse
from scipy.optimize import nnls
from scipy.sparse.csgraph import connected_components

from labelkin.base import Array


def project_on_forest(values: Array, edges: Array, order: list[int]) -> Array:
    """Pool adjacent violators from the leaves to the roots, all rows at a time.

    `edges` are pairs of a parent's and a child's number, `order` lists parents first. Labels are
    pooled in blocks. A label that is below a block of descendants that adjoins its own block takes
    in the highest such block, until there is none.
    """
    n, q = values.shape
    parent = np.full(q, -1)
    parent[edges[:, 1]] = edges[:, 0]
    below: list[list[int]] = [[] for _ in range(q)]  # descendants
    total, size = values.copy(), np.ones((n, q))
    block = np.tile(np.arange(q), (n, 1))  # each label's block, by its topmost label
    for top in order[::-1]:
        if below[top]:
            inside = np.array(below[top])
            active = np.arange(n)
            while len(active):
                blocks = block[np.ix_(active, inside)]
                adjoins = (blocks == inside) & (block[np.ix_(active, parent[inside])] == top)
                means = np.where(adjoins, (total[active] / size[active])[:, inside], -np.inf)
                highest = means.argmax(axis=1)
                own = total[active, top] / size[active, top]
                violates = means[np.arange(len(active)), highest] > own
                active, child = active[violates], inside[highest[violates]]
                total[active, top] += total[active, child]
                size[active, top] += size[active, child]
                moved = block[np.ix_(active, inside)]
                moved[moved == child[:, None]] = top
                block[np.ix_(active, inside)] = moved
        if parent[top] >= 0:
            below[parent[top]] += [top, *below[top]]
    return np.take_along_axis(total / size, block, axis=1)


def project_on_graph(values: Array, edges: Array) -> Array:
    """Solve the dual for each row, non-negative least squares with one unknown per edge.

    With the incidence matrix A, whose rows are child minus parent, the projection of x is
    x − Aᵀ μ, where μ ≥ 0 minimises ‖x − Aᵀ μ‖. Parts of the graph without a violation stay.
    """
    q, found = values.shape[1], values.copy()
    graph = sparse.coo_array((np.ones(len(edges)), edges.T), shape=(q, q))
    n_parts, part_of = connected_components(graph, directed=False)
    for number in range(n_parts):
        labels = np.flatnonzero(part_of == number)
        place = np.searchsorted(labels, edges[part_of[edges[:, 0]] == number])
        if not len(place):
            continue
        incidence = np.zeros((len(labels), len(place)))
        incidence[place[:, 1], np.arange(len(place))] = 1
        incidence[place[:, 0], np.arange(len(place))] = -1
        x = values[:, labels]
        for row in np.flatnonzero((x[:, place[:, 1]] > x[:, place[:, 0]]).any(axis=1)):
            mu, _ = nnls(incidence, x[row], maxiter=100 * len(place))
            found[row, labels] = x[row] - incidence @ mu
    return found
