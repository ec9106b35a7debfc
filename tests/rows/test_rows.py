"""The protocol of rows: every kind gives what a NumPy array gives."""

import importlib.util

import numpy as np
import pytest
from scipy import sparse

from labelkin.rows import (
    DaskRows,
    Labels,
    array_api_dispatch,
    as_rows,
    count_stored,
    namespace_and_device,
    to_numpy,
)
from support.arrays import import_library

KINDS = ["numpy", "csr", "array_api", "dask"]
X = np.where(np.arange(84).reshape(12, 7) % 3 == 0, np.arange(84).reshape(12, 7) / 7.0, 0.0)
WEIGHT = np.arange(12.0)


@pytest.fixture(params=KINDS)
def rows(request):
    if request.param == "csr":
        yield as_rows(sparse.csr_array(X))
    elif request.param == "array_api":
        strict = import_library()
        with array_api_dispatch():
            yield as_rows(strict.asarray(X))
    elif request.param == "dask":
        if importlib.util.find_spec("dask") is None:
            pytest.skip("needs the extra labelkin[cluster]")
        import dask
        import dask.array as da

        with dask.config.set(scheduler="synchronous"):
            yield DaskRows.from_dask(da.from_array(X, chunks=(5, 7)))
    else:
        yield as_rows(X)


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else to_numpy(matrix)


def _sum(block, part):
    return float(dense(block).sum() + (0 if part is None else part.sum()))


def test_products(rows):
    W = np.linspace(-1, 1, 14).reshape(7, 2)
    np.testing.assert_allclose(to_numpy(rows.dot(rows.array(W))), X @ W, atol=1e-12)


def test_rows_are_taken_where_they_are(rows):
    some = rows.take(np.array([1, 2, 6, 11]))
    assert type(some) is type(rows)
    assert (len(some), some.shape, some.sizes.sum()) == (4, (4, 7), 4)
    np.testing.assert_array_equal(dense(some.gather()), X[[1, 2, 6, 11]])


def test_moments_with_and_without_weights(rows):
    for weight in (None, WEIGHT):
        found = rows.moments(weight)
        mean = np.average(X, axis=0, weights=weight)
        np.testing.assert_allclose(to_numpy(found.mean), mean)
        variance = np.average((X - mean) ** 2, axis=0, weights=weight)
        np.testing.assert_allclose(to_numpy(found.variance), variance, atol=1e-12)


def test_functions_of_a_block(rows):
    parts = rows.split(WEIGHT)
    assert rows.total(_sum, [parts]) == pytest.approx(X.sum() + WEIGHT.sum())
    assert sum(rows.collect(_sum, [rows.split(None)])) == pytest.approx(X.sum())
    kept = rows.map(_sum, [parts])
    assert kept.lazy == rows.lazy
    assert kept.total(abs) == pytest.approx(X.sum() + WEIGHT.sum())
    doubled = rows.apply(_double)
    np.testing.assert_allclose(dense(doubled.gather()), 2 * X)
    assert rows.total(count_stored)[0] == np.count_nonzero(X)


def _double(block):
    return block * 2.0


def test_values_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="12 rows, but 11 values"):
        as_rows(X).split(WEIGHT[1:])


def test_rows_to_be_computed_elsewhere():
    strict = import_library()
    with array_api_dispatch():
        place = namespace_and_device(strict.asarray(X))
        for matrix in (X, sparse.csr_array(X)):
            rows = as_rows(matrix, place)
            assert rows.gather() is matrix
            np.testing.assert_array_equal(to_numpy(rows.placed().gather()), X)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_labels_carry_their_weights(form):
    Y = (np.arange(36).reshape(12, 3) % 5 == 0).astype(np.uint8)
    labels = Labels(form(Y), WEIGHT)
    np.testing.assert_allclose(labels.counts.positives, WEIGHT @ Y)
    np.testing.assert_allclose(labels.counts.means, WEIGHT @ Y / WEIGHT.sum())
    some = labels.take(np.array([3, 5]))
    np.testing.assert_array_equal(some.select(np.array([2, 0])).Y, Y[[3, 5]][:, [2, 0]])
    np.testing.assert_array_equal(some.weights, [3, 5])


def test_unknown_labels_do_not_count():
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 0]], dtype=np.uint8)
    known = np.array([[1, 0], [1, 0], [1, 1], [0, 0]], dtype=bool)
    weight = np.array([1.0, 2.0, 3.0, 4.0])
    labels = Labels(Y, weight, known)
    np.testing.assert_array_equal(labels.counts.total, [6, 3])
    np.testing.assert_array_equal(labels.counts.positives, [3, 3])
    np.testing.assert_array_equal(labels.counts.means, [0.5, 1])
    np.testing.assert_array_equal(labels.counts.varies, [True, False])
    np.testing.assert_array_equal(labels.cells, weight[:, None] * known)
    np.testing.assert_array_equal(labels.take([0, 2]).known, known[[0, 2]])
    np.testing.assert_array_equal(labels.select([1]).counts.total, [3])
    np.testing.assert_array_equal(Labels(Y, None, ~known | known).counts.total, [4, 4])
    np.testing.assert_array_equal(Labels(0 * Y, None, known & ~known).counts.means, [0, 0])
