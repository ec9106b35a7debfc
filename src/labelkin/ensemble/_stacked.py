"""Members together on a device: stacks of matrices in place of a loop.

With a thousand samples, starting an operation on a GPU takes longer than the operation. Members
that do not depend on each other, those of Bagging_VPCP, are therefore trained in stacks: one
product, one ``eigh`` and one search for all of them. Projections differ in dimension; columns of
zeros, which change no distance, make them equal. All members predict in stacks.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import gen_batches

from labelkin._utils.array_api import (
    astype,
    is_device_array,
    itemsize,
    namespace_and_device,
    rows_per_block,
    take_along_axis,
    to_device_of,
    to_numpy,
)
from labelkin.base import Array
from labelkin.ensemble._member import Member, TrainingSet, proba_and_labels, train_member
from labelkin.neighbors._counts import NeighborCounts, label_histogram, sum_labels
from labelkin.neighbors._device import (
    DeviceSearch,
    distance_columns,
    joint_query_rows,
    leave_out_own,
    query_distances,
    whole_mean,
)
from labelkin.neighbors._mlknn import MLkNNClassifier
from labelkin.neighbors._smallest import k_smallest_on_device
from labelkin.projection._pairwise import (
    PairwiseConstraintProjection,
    count_positive,
    largest_entry_signs,
)
from labelkin.projection._scatter import TrainingRows

# Members predict together if memory allows this many rows at a time.
_LEAST_ROWS = 256


def can_be_stacked(data: TrainingSet) -> bool:
    """Return whether members can be trained together: exact ML-kNN, unweighted, on a device."""
    return (
        is_device_array(data.labels)
        and type(data.base) is MLkNNClassifier
        and data.base.neighbors == "exact"
        and data.max_features is None
        and data.sample_weight is None
    )


def stack_size(data: TrainingSet) -> int:
    """Return how many members can be trained at a time in bounded memory."""
    rows = data.rows.rows
    n, k = rows.shape
    n_pairs = max(data.n_must_link or n, data.n_cannot_link or n)
    q = data.labels.shape[1]
    # Both ends of the pairs and their differences; the scatter, its eigenvectors and those
    # kept; the projected rows, moved, and as columns; counts and probabilities.
    entries = 3 * n_pairs * k + 4 * k**2 + 3 * n * k + 4 * n * q
    return rows_per_block(entries, itemsize(rows), rows.device, least=1, most=2**10)


def train_stack(data: TrainingSet, seeds: Array) -> list[Member]:
    """Train a member for each seed, all at once: those of `train_member`, but for rounding."""
    rounds = [data.start_round(seed) for seed in seeds]
    pairs = [member_round.draw_pairs() for member_round in rounds]
    if any(not len(p) for both_kinds in pairs for p in both_kinds):
        # Pairs of a kind do not exist: the projection is defined without them.
        return [train_member(data, seed) for seed in seeds]
    projections = [member_round.projection for member_round in rounds]
    Z, dimensions = _learn(projections, data.rows, pairs)
    estimators = [clone(data.base) for _ in seeds]  # ML-kNN draws nothing
    proba = _fit(estimators, Z, dimensions, data, strict=data.bag is not None)
    labels = proba > 0.5
    if data.bag is None:
        xp, _ = namespace_and_device(labels)
        wrong = to_numpy(xp.any(labels != astype(data.labels, "bool")[:, None, :], axis=2))
        return [
            Member(projection, estimator, own, own.mean())
            for projection, estimator, own in zip(projections, estimators, wrong.T, strict=True)
        ]
    proba, labels = to_numpy(proba), to_numpy(labels)
    members = []
    for number, (member_round, estimator) in enumerate(zip(rounds, estimators, strict=True)):
        rows = member_round.rows_outside
        members.append(
            member_round.member_outside(estimator, proba[rows, number], labels[rows, number])
        )
    return members


def _learn(
    projections: list[PairwiseConstraintProjection],
    training: TrainingRows,
    pairs: list[tuple[Array, Array]],
) -> tuple[Array, list[int]]:
    """Learn the projections; return the projected rows, (S, n, d), and each one's dimension.

    The dimensions of a member are the last ones; before them are zeros.
    """
    rows = training.rows
    xp, _ = namespace_and_device(rows)
    must_link, cannot_link = (
        to_device_of(np.stack(kind), rows) for kind in zip(*pairs, strict=True)
    )
    difference, scaling = training.scatter_difference(must_link, cannot_link)
    values, vectors = xp.linalg.eigh(astype(difference, "float64"))
    scalings = to_numpy(scaling).tolist()
    eps = float(xp.finfo(rows.dtype).eps)
    dimensions = [count_positive(own, eps) for own in to_numpy(values)]
    k, d = values.shape[-1], max(dimensions)
    # Largest eigenvalue first, after as many zeros as are needed.
    column = np.arange(d) - (d - np.array(dimensions))[:, None]
    place = to_device_of((k - 1 - np.maximum(column, 0))[:, None, :], rows)
    kept = to_device_of((column >= 0)[:, None, :], rows)
    vectors = take_along_axis(vectors, xp.broadcast_to(place, (len(pairs), k, d)), axis=2)
    vectors = astype(vectors, rows.dtype)
    directions = training.in_features(vectors)
    signs = largest_entry_signs(directions) * astype(kept, rows.dtype)
    components = xp.matrix_transpose(directions * signs)
    for number, (projection, own) in enumerate(zip(projections, dimensions, strict=True)):
        projection.must_link_ = _copy(must_link[number, :, :])
        projection.cannot_link_ = _copy(cannot_link[number, :, :])
        projection.scaling_ = scalings[number]
        projection.eigenvalues_ = xp.flip(values[number, k - own :])
        projection.components_ = _copy(components[number, d - own :, :])
    return rows @ (vectors * signs), dimensions


def _fit(
    estimators: list[MLkNNClassifier],
    Z: Array,
    dimensions: list[int],
    data: TrainingSet,
    strict: bool,
) -> Array:
    """Fit the members' ML-kNN; return the probabilities of the samples left out, (n, S, q).

    Each label is estimated for itself, so S models of q labels are one of S·q labels.
    """
    S, n, d = Z.shape
    q = data.labels.shape[1]
    xp, _ = namespace_and_device(Z)
    k = min(data.base.n_neighbors, n - 1)
    offset: Any = whole_mean(Z)
    columns = distance_columns(Z - offset[:, None, :], k)
    sums = sum_labels(data.labels, xp.reshape(_query_own(columns, n, k), (S * n, k)))
    counts = xp.reshape(xp.permute_dims(xp.reshape(sums, (S, n, q)), (1, 0, 2)), (n, S * q))
    joint = clone(data.base)
    searches = [_search(columns, offset, s, n, k, own) for s, own in enumerate(dimensions)]
    tiled = xp.tile(data.labels, (1, S))
    joint._estimate(label_histogram(counts, tiled, k + 1), Z.dtype)
    proba = joint._loo_proba(counts, tiled, strict)
    for number, model in enumerate(estimators):
        labels = slice(number * q, (number + 1) * q)
        model._validate_params()
        model._set_shapes(Z[number, :, d - dimensions[number] :], data.labels)
        model._counts = NeighborCounts(searches[number], data.labels, model.n_jobs)
        model.prior_ = _copy(joint.prior_[labels])
        model.likelihood_ = _copy(joint.likelihood_[:, labels, :])
        model._posterior = _copy(joint._posterior[labels, :])
    return xp.reshape(proba, (n, S, q))


def _search(columns: Array, offset: Array, number: int, n: int, k: int, own: int) -> DeviceSearch:
    """Return one search of a stack, without the zeros before its own dimensions."""
    first = offset.shape[1] - own
    return DeviceSearch(_copy(columns[number, first:, :]), _copy(offset[number, first:]), n, k)


def _copy(part: Array) -> Array:
    """Return a part of a stack as an array of its own: pickled, it would take the rest along."""
    return namespace_and_device(part)[0].asarray(part, copy=True)


def _query_own(columns: Array, n: int, k: int) -> Array:
    """Find the neighbours of the training rows of several searches, (S, n, k)."""
    xp, device = namespace_and_device(columns)
    S, height, width = columns.shape
    if k == 0:
        return xp.zeros((S, n, 0), dtype=xp.int64, device=device)
    rows = rows_per_block(S * width, itemsize(columns), device)
    found = []
    for start in range(0, n, rows):
        queries = -0.5 * columns[:, : height - 1, start : min(start + rows, n)]
        distances = query_distances(columns, queries)
        leave_out_own(distances, start)
        found.append(k_smallest_on_device(distances, k))
    return found[0] if len(found) == 1 else xp.concat(found, axis=1)


def outputs_on_device(
    projections: list[Any], estimators: list[Any], X: Array, n_labels: int
) -> Iterator[tuple[Array, Array]]:
    """Yield (probabilities, labels) of each member, computed for several members at a time."""
    size = members_together(estimators, X.shape[0])
    for batch in gen_batches(len(estimators), size):
        projected = [X @ projection.components_.T for projection in projections[batch]]
        if size == 1:
            yield proba_and_labels(estimators[batch][0], projected[0], n_labels)
            continue
        stack = _proba_together(estimators[batch], projected)
        for number in range(stack.shape[0]):
            proba = stack[number, :, :]
            yield proba, proba > 0.5


def members_together(models: list[Any], n_queries: int, least_rows: int = _LEAST_ROWS) -> int:
    """Return how many members predict together: all, or fewer to have `least_rows` at a time."""
    if any(type(model) is not MLkNNClassifier for model in models):
        return 1
    searches = [model._counts.search for model in models]
    if searches[0].n_neighbors == 0 or not all(type(s) is DeviceSearch for s in searches):
        return 1
    size, least = len(models), max(1, min(n_queries, least_rows))
    while size > 1 and joint_query_rows(searches, size) < least:
        size //= 2
    return size


def _proba_together(models: list[MLkNNClassifier], queries: list[Array]) -> Array:
    """Return the probabilities of several models' own queries, (S, n, q), in bounded memory."""
    m = queries[0].shape[0]
    rows = joint_query_rows([model._counts.search for model in models], len(models))
    ends = [(start, min(start + rows, m)) for start in range(0, max(m, 1), rows)]
    parts = [
        MLkNNClassifier._proba_together(models, [Q[start:stop, :] for Q in queries])
        for start, stop in ends
    ]
    return parts[0] if len(parts) == 1 else namespace_and_device(*parts)[0].concat(parts, axis=1)
