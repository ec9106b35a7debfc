"""The approximate index against exact search."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from labelkin import MLkNNClassifier, VPCMEClassifier
from labelkin.neighbors._approximate import ApproximateSearch
from labelkin.neighbors._cells import divide_into_cells
from labelkin.neighbors._exact import ExactSearch
from labelkin.neighbors._search import make_counts
from support.data import make_data


def cloud(n=6000, d=12, seed=0, dtype=np.float64):
    return np.random.RandomState(seed).standard_normal((n, d)).astype(dtype)


def index(X, k, **settings):
    """Return an index of small cells, so that few rows are divided as many are."""
    return ApproximateSearch(X, k, cell_rows=64, n_branches=8, first_rows=128, **settings)


def share_found(found, true):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, true, strict=True)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_most_neighbours_are_found(dtype):
    X, Q = cloud(dtype=dtype), cloud(500, seed=1, dtype=dtype)
    search, exact = index(X, 10, n_candidates=64), ExactSearch(X, 10)
    assert share_found(search.query(), exact.query()) > 0.96
    assert share_found(search.query(Q), exact.query(Q)) > 0.96
    assert search.rows.dtype == np.float32


def test_recall_is_the_share_of_true_neighbours():
    X = cloud(d=40)
    search = index(X, 10, n_candidates=10)
    true = share_found(search.query(), ExactSearch(X, 10).query())
    assert 0.3 < true < 0.95, "nothing is missed here, so nothing is tested"
    assert search.recall == pytest.approx(true, abs=0.1)


def test_more_candidates_find_more():
    X = cloud(d=30)
    recall = [index(X, 10, n_candidates=m).recall for m in (1, 4, 400)]
    assert recall == sorted(recall)
    assert recall[0] < 0.7
    assert recall[2] == 1


def test_few_rows_are_searched_exactly():
    X, Q = cloud(60, 5), cloud(30, 5, seed=1)
    search, exact = make_counts(X, X > 0, 7, method="approximate").search, ExactSearch(X, 7)
    np.testing.assert_array_equal(search.query(), exact.query())
    np.testing.assert_array_equal(search.query(Q), exact.query(Q))
    X = cloud(17_000, 2)
    for k, kind in ((6000, ExactSearch), (10, ApproximateSearch)):
        assert type(make_counts(X, X > 0, k, method="approximate").search) is kind


def test_all_cells_give_all_neighbours():
    """With every row in view all are found, nearest first; the row itself is none of them."""
    X, Q = cloud(2000, 5), cloud(30, 5, seed=1)
    search, exact = index(X, 7, n_candidates=1000), ExactSearch(X, 7)
    np.testing.assert_array_equal(search.query(), exact.query())
    np.testing.assert_array_equal(search.query(Q), exact.query(Q))
    np.testing.assert_array_equal(search.query(sparse.csr_matrix(Q)), exact.query(Q))
    of_sparse = index(sparse.csr_matrix(X), 7, n_candidates=1000)
    np.testing.assert_array_equal(of_sparse.query(), exact.query())
    assert search.recall == of_sparse.recall == 1


def test_many_neighbours():
    X = cloud(3000, 3)
    found = index(X, 200).query()
    assert found.shape == (3000, 200)
    assert share_found(found, ExactSearch(X, 200).query()) > 0.99


def test_far_from_the_origin():
    X = cloud(2000, 5) + 1e6
    np.testing.assert_array_equal(index(X, 5, n_candidates=1000).query(), ExactSearch(X, 5).query())


@pytest.mark.parametrize("copies", [1500, 6000])
def test_equal_rows(copies):
    """A row is not its own neighbour, but its copies are; and k neighbours are found."""
    X = np.concatenate([np.zeros((copies, 3)), cloud(40, 3)])
    search = index(X, 30)
    found = search.query()
    assert found.shape == (copies + 40, 30)
    assert (found != np.arange(len(X))[:, None]).all()
    assert all(len(set(row)) == 30 for row in found)
    assert (found[:copies] < copies).all()
    assert search.recall == 1


def test_equal_distances_come_in_the_order_of_the_rows():
    X = np.repeat(cloud(700, 4), 3, axis=0)
    found = index(X, 5).query()
    np.testing.assert_array_equal(found[:3, :2], [[1, 2], [0, 2], [0, 1]])
    assert (np.diff(found[:, 2:].reshape(len(X), 3)) == 1).all()


def test_cells_are_small_and_hold_every_row_once():
    for X in (cloud(5000, 8), np.zeros((5000, 2)), np.eye(5000)[:, :3]):
        rng = np.random.RandomState(0)
        cells = list(divide_into_cells(X.astype(np.float32), rng, 64, 8))
        assert max(map(len, cells)) <= 64
        np.testing.assert_array_equal(np.sort(np.concatenate(cells)), np.arange(5000))


def test_no_queries_and_no_neighbours():
    assert make_counts(np.eye(4), np.eye(4), 2, method="approximate").search.query(
        np.empty((0, 4))
    ).shape == (0, 2)
    assert make_counts(
        np.eye(4)[:1], np.eye(4)[:1], 3, method="approximate"
    ).search.query().shape == (1, 0)
    assert index(cloud(2000, 4), 2).query(np.empty((0, 4))).shape == (0, 2)


def test_same_neighbours_for_every_n_jobs_and_run():
    X, Q = cloud(9000, 12), cloud(9000, 12, seed=1)  # two blocks each
    search = index(X, 10)
    near, asked, recall = search.query(n_jobs=1), search.query(Q, n_jobs=1), search.recall
    for n_jobs in (1, 2, 5):
        search = index(X, 10)
        np.testing.assert_array_equal(search.query(n_jobs=n_jobs), near)
        np.testing.assert_array_equal(search.query(Q, n_jobs=n_jobs), asked)
        assert search.recall == recall


def test_mlknn_and_vpcme():
    X, Y = make_data(17_000, 6, 4)
    Q, _ = make_data(200, 6, 4, seed=1)
    model = MLkNNClassifier(neighbors="approximate").fit(X, Y)
    assert isinstance(model._counts.search, ApproximateSearch)
    exact = MLkNNClassifier().fit(X, Y)
    assert model.recall_ > 0.97
    np.testing.assert_allclose(model.predict_proba(Q), exact.predict_proba(Q), atol=0.15)
    assert (model.predict(Q) == exact.predict(Q)).mean() > 0.99
    assert not hasattr(exact, "recall_")
    assert str(model.explain(Q[0])) == str(exact.explain(Q[0]))
    ensemble = VPCMEClassifier(clone(model), n_estimators=1, random_state=0).fit(X, Y)
    expected = VPCMEClassifier(n_estimators=1, random_state=0).fit(X, Y)
    assert (ensemble.predict(Q) == expected.predict(Q)).mean() > 0.98
    again = pickle.loads(pickle.dumps(ensemble))
    np.testing.assert_array_equal(again.predict_proba(Q), ensemble.predict_proba(Q))


@pytest.mark.parametrize("n", [500, 17_000])
def test_a_model_file(n, tmp_path):
    from labelkin.persistence import load_model, save_model

    X, Y = make_data(n, 6, 4)
    model = MLkNNClassifier(neighbors="approximate").fit(X, Y)
    assert isinstance(model._counts.search, ApproximateSearch) == (n > 16_000)
    save_model(model, tmp_path / "model.labelkin")
    again = load_model(tmp_path / "model.labelkin")
    np.testing.assert_array_equal(again.predict_proba(X[:99]), model.predict_proba(X[:99]))


def test_other_arrays_are_refused():
    da = pytest.importorskip("dask.array")
    X = da.from_array(np.eye(4))
    with pytest.raises(ValueError, match="choose neighbors='exact'"):
        MLkNNClassifier(neighbors="approximate").fit(X, np.eye(4))


@pytest.mark.parametrize("exponent", [83, -100, -400])
def test_the_unit_of_the_columns_changes_nothing(exponent):
    """The search computes in single precision, which ends at 10^38."""
    X = np.random.default_rng(0).normal(size=(3000, 4))
    expected = ApproximateSearch(X, 5).query(X[:50] + 0.01)
    scaled = ApproximateSearch(X * 2.0**exponent, 5)
    np.testing.assert_array_equal(scaled.query((X[:50] + 0.01) * 2.0**exponent), expected)
    near = scaled.distances(X[:1] * 2.0**exponent, expected[0]) / 2.0**exponent
    np.testing.assert_allclose(near, np.linalg.norm(X[expected[0]] - X[:1], axis=1), rtol=1e-5)
