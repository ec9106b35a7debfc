import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from labelkin.neighbors._exact import ExactSearch
from labelkin.rows import first_of_equals


def by_definition(Q, X, k, leave_out=False):
    """Sort (distance, index) with exact differences, row by row."""
    found = []
    for i, query in enumerate(Q):
        distances = ((X - query) ** 2).sum(axis=1)
        order = sorted(range(len(X)), key=lambda j, d=distances: (d[j], j))
        found.append([j for j in order if not (leave_out and j == i)][:k])
    return np.array(found)


# Small integers: ties and duplicates everywhere, and exact arithmetic.
integers = hnp.arrays(
    np.float64, st.tuples(st.integers(2, 70), st.integers(1, 3)), elements=st.integers(-2, 2)
)


@settings(deadline=None)
@given(integers, st.integers(1, 6))
def test_ties_go_to_the_first_row(X, k):
    k = min(k, len(X) - 1)
    search = ExactSearch(X, k)
    np.testing.assert_array_equal(search.query(X), by_definition(X, X, k))
    np.testing.assert_array_equal(search.query(), by_definition(X, X, k, leave_out=True))


@settings(deadline=None)
@given(integers, st.integers(1, 6))
def test_sparse_rows_and_queries(X, k):
    k = min(k, len(X) - 1)
    sparse_X = sparse.csr_matrix(X)
    expected = by_definition(X, X, k)
    np.testing.assert_array_equal(ExactSearch(sparse_X, k).query(sparse_X), expected)
    np.testing.assert_array_equal(ExactSearch(sparse_X, k).query(X), expected)
    np.testing.assert_array_equal(ExactSearch(X, k).query(sparse_X), expected)


# Little memory: one product per block. The default: one product in all.
MEMORY = [8000 / 2**20, 1024]


@pytest.mark.parametrize("working_memory", MEMORY)
def test_agrees_with_scikit_learn_over_several_blocks(working_memory):
    X = np.random.RandomState(0).standard_normal((700, 9))
    with config_context(working_memory=working_memory):
        found = ExactSearch(X, 10).query()
    expected = NearestNeighbors(n_neighbors=10).fit(X).kneighbors(return_distance=False)
    np.testing.assert_array_equal(found, expected)


def test_data_far_from_the_origin():
    """Without moving the data, |x|² − 2x·z + |z|² has no digits left here."""
    X = np.random.RandomState(0).standard_normal((200, 3)) + 1e9
    np.testing.assert_array_equal(ExactSearch(X, 5).query(), by_definition(X, X, 5, leave_out=True))


@pytest.mark.parametrize("working_memory", MEMORY)
@pytest.mark.parametrize("n_jobs", [1, 2, 5, -1])
def test_same_neighbours_for_every_n_jobs(n_jobs, working_memory):
    X = np.random.RandomState(0).standard_normal((900, 20))
    X[::7] = X[0]  # duplicates: ties that rounding could decide
    search = ExactSearch(X, 10)
    with config_context(working_memory=working_memory):
        np.testing.assert_array_equal(search.query(n_jobs=n_jobs), search.query())


def test_no_queries_and_no_neighbours():
    X = np.arange(6.0).reshape(3, 2)
    assert ExactSearch(X, 2).query(X[:0]).shape == (0, 2)
    assert ExactSearch(X[:1], 0).query().shape == (1, 0)


def test_float32_stays_float32():
    X = np.random.RandomState(0).standard_normal((50, 3)).astype(np.float32)
    search = ExactSearch(X, 3)
    assert search.X.dtype == search.squared_norms.dtype == np.float32
    assert search._products(X).dtype == np.float32


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_equal_rows_are_equally_far(form):
    """A matrix product may round equal rows differently, by where they stand."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 37)) * (rng.random((300, 37)) < 0.4)
    X = np.vstack([X, X, X[:50]])
    search = ExactSearch(form(X), 6)
    Q = rng.standard_normal((400, 37))
    found = search.query(form(Q))
    np.testing.assert_array_equal(found[:, 1] % 300, found[:, 0] % 300)
    assert (found[:, 1] > found[:, 0]).all()


def test_equal_rows_are_found_among_rows_that_begin_alike():
    X = np.array([[1.0, 2], [0, 5], [1, 3], [1, 2], [-1, 0], [0, 5]])
    np.testing.assert_array_equal(first_of_equals(X), [0, 1, 2, 0, 4, 1])
    assert first_of_equals(X[:3]) is None
    assert first_of_equals(X[[0, 1, 4]]) is None
