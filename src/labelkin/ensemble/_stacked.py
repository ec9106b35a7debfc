"""Independent members trained together on a device: a stack of matrices in place of a loop.

A GPU is told what to do piece by piece, and with a thousand samples telling takes longer than
doing. Members that do not depend on each other, those of Bagging_VPCP, are therefore learned in
stacks: one product, one ``eigh`` and one search for all of them. Their projections differ in
dimension; columns of zeros fill them up, which change no distance.
"""

from typing import Any

import numpy as np
from sklearn.base import clone

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
from labelkin.ensemble._member import Member, TrainingData
from labelkin.neighbors._counts import NeighborCounts, TrainingCounts, sum_labels
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
from labelkin.projection._pairwise import count_positive
from labelkin.projection._scatter import TrainingRows

# Members are asked together if that leaves room for so many rows at a time.
_LEAST_ROWS = 256


def can_be_stacked(ensemble: Any, data: TrainingData) -> bool:
    """Whether members can be trained together: exact ML-kNN, unweighted, on a device."""
    return (
        is_device_array(data.labels)
        and type(data.base) is MLkNNClassifier
        and data.base.neighbors == "exact"
        and ensemble.max_features is None
        and data.sample_weight is None
    )


def stack_size(ensemble: Any, data: TrainingData) -> int:
    """Return how many members may be trained at a time, for their arrays to stay bounded."""
    rows = data.training.rows
    n, k = rows.shape
    n_pairs = max(ensemble.n_must_link or n, ensemble.n_cannot_link or n)
    q = data.labels.shape[1]
    # Both ends of the pairs and their differences; the scatter, its eigenvectors and those
    # kept; the projected rows, moved, and as columns; counts and probabilities.
    cells = 3 * n_pairs * k + 4 * k**2 + 3 * n * k + 4 * n * q
    return rows_per_block(cells, itemsize(rows), rows.device, least=1, most=2**10)


def train_stack(ensemble: Any, data: TrainingData, seeds: Array) -> list[Member]:
    """Train a member for each seed, all at once.

    Parameters
    ----------
    ensemble, data
        As for `Member`; `can_be_stacked`.
    seeds : sequence of int
        The members' seeds.

    Returns
    -------
    list of Member
        What training one after the other gives, but for rounding.
    """
    members: list[Member] = [object.__new__(Member) for _ in seeds]
    bags: list[Any] = []
    pairs = []
    for member, seed in zip(members, seeds, strict=True):
        rng, bag, sampler = member._begin(ensemble, data, seed)
        bags.append(bag)
        pairs.append(member.projection._draw_pairs(sampler, None, rng))
        member.estimator = clone(data.base)  # it draws nothing
    if any(not len(p) for kinds in pairs for p in kinds):
        # Pairs of a kind do not exist: a defined projection takes their place.
        return [Member(ensemble, data, seed) for seed in seeds]
    Z, dimensions = _learn(members, data.training, pairs)
    proba = _fit(members, Z, dimensions, data, strict=data.bag is not None)
    xp, _ = namespace_and_device(proba)
    said = proba > 0.5
    if data.bag is None:
        wrong = to_numpy(xp.any(said != data.present[:, None, :], axis=2))
        for number, member in enumerate(members):
            member.wrong = wrong[:, number]
            member.error = member.wrong.mean()
        return members
    proba, said = to_numpy(proba), to_numpy(said)
    for number, (member, bag) in enumerate(zip(members, bags, strict=True)):
        rows = np.setdiff1d(np.arange(len(data.Y)), bag)
        member._judge_outside(data.Y, rows, proba[rows, number], said[rows, number])
    return members


def _learn(
    members: list[Member], training: TrainingRows, pairs: list[tuple[Array, Array]]
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
    on_host, scalings = to_numpy(values), to_numpy(scaling).tolist()
    eps = float(xp.finfo(rows.dtype).eps)
    dimensions = [count_positive(v, eps) for v in on_host]
    k, d = values.shape[-1], max(dimensions)
    # Largest first, after as many zeros as are needed.
    column = np.arange(d) - (d - np.array(dimensions))[:, None]
    place = to_device_of((k - 1 - np.maximum(column, 0))[:, None, :], rows)
    kept = to_device_of((column >= 0).astype(on_host.dtype)[:, None, :], rows)
    vectors = take_along_axis(vectors, xp.broadcast_to(place, (len(members), k, d)), axis=2)
    vectors = astype(vectors, rows.dtype)
    directions = training.in_features(vectors)
    largest = xp.argmax(xp.abs(directions), axis=1, keepdims=True)
    entries = take_along_axis(directions, largest, axis=1)
    signs = entries / xp.abs(entries) * astype(kept, rows.dtype)
    W = vectors * signs
    components = xp.matrix_transpose(W if training.basis is None else directions * signs)
    for number, member in enumerate(members):
        own = dimensions[number]
        projection = member.projection
        projection.must_link_ = _copy(must_link[number, :, :])
        projection.cannot_link_ = _copy(cannot_link[number, :, :])
        projection.scaling_ = scalings[number]
        projection.eigenvalues_ = xp.flip(values[number, k - own :])
        projection.components_ = _copy(components[number, d - own :, :])
    return rows @ W, dimensions


def _fit(
    members: list[Member], Z: Array, dimensions: list[int], data: TrainingData, strict: bool
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
    training = TrainingCounts([(counts, xp.tile(data.labels, (1, S)))], k)
    joint._estimate(training.histogram(), Z.dtype)
    proba = joint._loo_proba(training, strict)
    for number, member in enumerate(members):
        labels, model = slice(number * q, (number + 1) * q), member.estimator
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


def members_together(models: list[Any], X: Array) -> int:
    """Return how many of the members' models it is best to ask at a time; 1: none together."""
    if any(type(model) is not MLkNNClassifier for model in models):
        return 1
    searches = [model._counts.search for model in models]
    if searches[0].n_neighbors == 0 or not all(type(s) is DeviceSearch for s in searches):
        return 1
    size, least = len(models), max(1, min(X.shape[0], _LEAST_ROWS))
    while size > 1 and joint_query_rows(searches, size) < least:
        size //= 2
    return size


def proba_together(models: list[MLkNNClassifier], queries: list[Array]) -> Array:
    """Return the probabilities of several models' own queries, (S, n, q), in bounded memory."""
    m = queries[0].shape[0]
    rows = joint_query_rows([model._counts.search for model in models], len(models))
    ends = [(start, min(start + rows, m)) for start in range(0, max(m, 1), rows)]
    parts = [
        MLkNNClassifier._proba_together(models, [Q[start:stop, :] for Q in queries])
        for start, stop in ends
    ]
    return parts[0] if len(parts) == 1 else namespace_and_device(*parts)[0].concat(parts, axis=1)
