"""Functions of plain blocks of rows that run on Dask's workers; see `_blocks`."""

from copy import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from labelkin.base import Array, Matrix
from labelkin.constraints._sampler import _distinct_rows, _label_sets
from labelkin.neighbors._counts import label_histogram
from labelkin.neighbors._exact import ExactSearch

# Of one space: squared distances, row indices and label sets of neighbours, each (m, k).
Found = tuple[Array, Array, Array]


def checked_rows(block: Matrix, dtype: Any) -> Matrix:
    """Return a block as finite floats, dense or CSR."""
    block = sparse.csr_array(block) if sparse.issparse(block) else np.asarray(block)
    block = block.astype(dtype, copy=False)
    assert_all_finite(block.data if sparse.issparse(block) else block, input_name="X")
    return block


def distinct_sets(Y: Any) -> tuple[sparse.csr_array, Array]:
    """Return the distinct label sets of a block, and which of them each row has."""
    if not Y.shape[0]:
        return sparse.csr_array((0, Y.shape[1]), dtype=np.int64), np.empty(0, dtype=np.intp)
    return _distinct_rows(_label_sets(Y))


def project_rows(block: Matrix, W: Array | None) -> Matrix:
    """Project rows; without W return them as they are."""
    return block if W is None else block @ W


def take_rows(block: Matrix, rows: Array) -> Matrix:
    """Return some rows of a block."""
    return block[rows]


def pair_scatter(block: Matrix, partners: list, left: Array, right: Array, cannot: Array) -> Array:
    """Sum (x_i − x_j)(x_i − x_j)ᵀ over must-links and over cannot-links: (2, k, k)."""
    difference = block[left] - stack(partners)[right]
    sums = []
    for kind in (False, True):
        chosen = difference[cannot == kind]
        product = chosen.T @ chosen
        sums.append(product.toarray() if sparse.issparse(product) else product)
    return np.array(sums, dtype=np.float64)


def nearest_in_block(
    queries: Matrix | None,
    block: Matrix,
    of_row: Array,
    start: int,
    spaces: list[Any],
    k: int,
    project_queries: bool,
) -> list[Found]:
    """Find neighbours in one block; without queries, of its own rows, themselves left out."""
    found = []
    for W in spaces:
        rows = project_rows(block, W)
        own = queries is None
        Q = rows if own else project_rows(queries, W if project_queries else None)
        nearest = ExactSearch(rows, min(k, rows.shape[0] - own)) if rows.shape[0] else None
        index = np.empty((Q.shape[0], 0), dtype=np.intp)
        if nearest is not None:
            index = nearest.query(None if own else Q, n_jobs=1)
        found.append((squared_distances(Q, rows, index), index + start, of_row[index]))
    return found


def squared_distances(Q: Matrix, rows: Matrix, index: Array) -> Array:
    """Distances from differences, so that they do not depend on how rows are blocked."""
    distances = np.empty(index.shape)
    for j in range(index.shape[1]):
        other = rows[index[:, j]]
        if sparse.issparse(Q):
            difference = Q - other
            distances[:, j] = difference.multiply(difference).sum(axis=1)
        else:
            difference = Q - (other.toarray() if sparse.issparse(other) else other)
            distances[:, j] = np.einsum("ij,ij->i", difference, difference, dtype=np.float64)
    return distances


def merge_found(parts: list[list[Found]], k: int) -> list[Found]:
    """Keep the k nearest of each row; of equally distant ones those that come first."""
    merged = []
    for space in zip(*parts, strict=True):
        distance, index, sets = (np.concatenate(part, axis=1) for part in zip(*space, strict=True))
        order = np.lexsort((index, distance), axis=1)[:, :k]
        merged.append(
            tuple(np.take_along_axis(part, order, axis=1) for part in (distance, index, sets))
        )
    return merged  # type: ignore[return-value]


def count_in_first_space(found: list[Found], label_sets: Any) -> Array:
    """Count the labels of neighbours that were found in one space only."""
    return count_labels(found[0], label_sets)


def count_labels(found: Found, label_sets: Any) -> Array:
    """Add up the label sets of the neighbours."""
    sets = found[2]
    m, k = sets.shape
    ones = np.ones(m * k, dtype=np.int32)
    shape = (m, label_sets.shape[0])
    chosen = sparse.csr_array((ones, sets.ravel(), np.arange(m + 1) * k), shape=shape)
    return (chosen @ label_sets).toarray()


def histogram_of(counts: Array, of_row: Array, label_sets: Any, width: int) -> Array:
    """Return how often a label, present or absent, meets each count."""
    return label_histogram(counts, labels_of(of_row, label_sets), width)


def look_up(counts: Array, posterior: Array) -> Array:
    """Return P(label | count) for a table of counts."""
    return posterior[np.arange(counts.shape[1]), counts]


def labels_of(of_row: Array, label_sets: Any) -> Array:
    """Return the label matrix of rows whose sets are known by number."""
    return label_sets[of_row].toarray().astype(np.uint8)


def differ(labels: Array, of_row: Array, label_sets: Any) -> Array:
    """Tell which rows' predicted labels are not their label set."""
    return (labels != labels_of(of_row, label_sets)).any(axis=1)


def ask(model: Any, block: Matrix, method: str, meta: Array) -> Array:
    """Let a model that is in memory answer for a block."""
    return getattr(model, method)(block) if block.shape[0] else meta


def nothing_found() -> Found:
    """Return the neighbours of no query."""
    return np.empty((0, 0)), np.empty((0, 0), dtype=np.intp), np.empty((0, 0), dtype=np.intp)


def answer_from(
    light: Any, posteriors: list[Array], found: list[Found], label_sets: Any, method: str
) -> Array:
    """Let a model that holds no rows answer from the neighbours that were found."""
    if label_sets is None:
        label_sets = sparse.csr_array((1, len(posteriors[0])), dtype=np.int64)
    probas = [
        look_up(count_labels(part, label_sets), posterior)
        for part, posterior in zip(found, posteriors, strict=True)
    ]
    light = copy(light)
    if hasattr(light, "_member_outputs"):
        light._member_outputs = lambda _: ((proba, proba > 0.5) for proba in probas)
    else:
        light._proba = lambda _: probas[0]
    if method == "predict_proba":
        return light._as_proba(light._proba(None))
    return light._as_target(light._labels(None))


def same(block: Any) -> Any:
    """Return what comes in."""
    return block


def add(parts: list[Array]) -> Array:
    """Add up arrays of one shape."""
    return np.sum(parts, axis=0)


def stack(parts: list[Matrix]) -> Matrix:
    """Put blocks of rows, dense or CSR, on top of each other."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
