"""The approximate index against exact search."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from labelkin import MLkNNClassifier, VPCMEClassifier
from labelkin.neighbors._approximate import ApproximateSearch, _NearestPlaces, _unique, _unsort
from labelkin.neighbors._cells import divide_into_cells, main_directions
from labelkin.neighbors._exact import ExactSearch
from labelkin.neighbors._search import make_search
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
    search, exact = index(X, 10, n_candidates=16), ExactSearch(X, 10)
    assert share_found(search.query(), exact.query()) > 0.96
    assert share_found(search.query(Q), exact.query(Q)) > 0.96
    assert search.rows.dtype == np.float32


def test_recall_is_the_share_of_true_neighbours():
    X = cloud(d=40)
    search = index(X, 10, n_candidates=2, recall_rows=6000)
    true = share_found(search.query(), ExactSearch(X, 10).query())
    assert 0.3 < true < 0.95, "nothing is missed here, so nothing is tested"
    assert search.recall == pytest.approx(true, abs=1e-4)


def test_more_candidates_find_more():
    X = cloud(d=30)
    recall = [index(X, 10, n_candidates=m, max_joins=0).recall for m in (1, 4, 400)]
    assert recall == sorted(recall)
    assert recall[0] < 0.7
    assert recall[2] == 1


def test_neighbours_of_neighbours_find_more():
    X, Q = cloud(d=30), cloud(500, 30, seed=1)
    true, asked = ExactSearch(X, 10).query(), ExactSearch(X, 10).query(Q)
    shares = []
    for joins in (0, 1, 2):
        search = index(X, 10, n_candidates=2, max_joins=joins)
        assert search.n_joins == joins
        shares.append((share_found(search.query(), true), share_found(search.query(Q), asked)))
    assert shares == sorted(shares)
    assert np.diff(shares, axis=0)[0].min() > 0.05


def test_no_more_than_needed_is_compared():
    assert index(cloud(d=3), 10).n_joins == 0


def test_few_rows_are_searched_exactly():
    X, Q = cloud(60, 5), cloud(30, 5, seed=1)
    search, exact = make_search(X, 7, "approximate"), ExactSearch(X, 7)
    np.testing.assert_array_equal(search.query(), exact.query())
    np.testing.assert_array_equal(search.query(Q), exact.query(Q))
    assert type(make_search(cloud(17_000, 2), 6000, "approximate")) is ExactSearch
    assert type(make_search(cloud(17_000, 2), 10, "approximate")) is ApproximateSearch


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


def test_the_nearest_of_all_that_are_added():
    rng = np.random.RandomState(0)
    values = rng.standard_normal((5, 40)).astype(np.float32)
    nearest = _NearestPlaces(5, 7)
    for columns in np.array_split(rng.permutation(40), 3):
        query = np.repeat(np.arange(5), len(columns))
        nearest.add(query, np.tile(columns, 5), values[:, columns].ravel())
    np.testing.assert_array_equal(nearest.places(), np.argsort(values, axis=1)[:, :7])


def test_unique():
    np.testing.assert_array_equal(_unique(np.array([[3, 1], [1, 2]])), [1, 2, 3])


def test_no_queries_and_no_neighbours():
    assert make_search(np.eye(4), 2, "approximate").query(np.empty((0, 4))).shape == (0, 2)
    assert make_search(np.eye(4)[:1], 0, "approximate").query().shape == (1, 0)
    assert index(cloud(2000, 4), 2).query(np.empty((0, 4))).shape == (0, 2)


def test_same_neighbours_for_every_n_jobs_and_run():
    X, Q = cloud(9000, 12), cloud(9000, 12, seed=1)  # two blocks each
    search = index(X, 10, n_jobs=1)
    near, asked, recall = search.query(n_jobs=1), search.query(Q, n_jobs=1), search.recall
    for n_jobs in (1, 2, 5):
        search = index(X, 10, n_jobs=n_jobs)
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
    pytest.importorskip("skops", reason="needs the extra labelkin[persist]")
    from labelkin.persistence import load_model, save_model

    X, Y = make_data(n, 6, 4)
    model = MLkNNClassifier(neighbors="approximate").fit(X, Y)
    assert isinstance(model._counts.search, ApproximateSearch) == (n > 16_000)
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(X[:99]), model.predict_proba(X[:99]))


def test_other_arrays_are_refused():
    with pytest.raises(ValueError, match="not builtins arrays; choose neighbors='exact'"):
        make_search([[0.0]], 0, "approximate")


def latent_cloud(n=6000, latent=6, d=60, seed=0, noise=0.05):
    """Rows of few directions and a little noise; the directions do not depend on the seed."""
    directions = np.random.RandomState(9).standard_normal((latent, d))
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, latent)) @ directions
    return X + noise * rng.standard_normal((n, d))


def test_few_directions_are_enough_where_rows_differ_in_few():
    X, Q = latent_cloud(), latent_cloud(300, seed=1)
    search, exact = index(X, 10, n_candidates=16), ExactSearch(X, 10)
    assert search.points.shape == (6000, 8), "seven directions and the squared norm"
    assert search.rows.shape == X.shape
    assert share_found(search.query(), exact.query()) > 0.96
    assert share_found(search.query(Q), exact.query(Q)) > 0.96
    assert index(cloud(d=60), 10).directions is None, "all directions matter here"


def test_directions_leave_out_no_more_than_they_may():
    rng = np.random.RandomState(0)
    X = (rng.standard_normal((5000, 40)) * np.repeat([5, 0.1], [10, 30])).astype(np.float32)
    # Two rows differ by 2 · 30 · 0.01 in the last thirty columns.
    assert main_directions(X, 0.7, rng).shape == (40, 15)
    assert main_directions(X, 0.02, rng) is None
    W = main_directions(X, 0.7, rng)
    np.testing.assert_allclose(W.T @ W, np.eye(15), atol=1e-5)
    rest = X - X @ W @ W.T
    assert 2 * rest.var(axis=0).sum() <= 0.7


def test_rows_are_unsort():
    np.testing.assert_array_equal(_unsort(np.array([5, 6, 7]), np.array([2, 0, 1])), [6, 7, 5])


def test_the_effort_is_bounded():
    """However much is missed, neighbours of neighbours are compared once."""
    assert index(cloud(d=40), 10, n_candidates=1).n_joins == 1


def test_equal_rows_take_no_more_memory_than_others(monkeypatch):
    """Of rows equally far, each query keeps as many as it needs."""
    kept = []
    add = _NearestPlaces.add

    def counted(self, query, place, value):
        kept.append(len(query))
        add(self, query, place, value)

    monkeypatch.setattr(_NearestPlaces, "add", counted)
    index(np.zeros((5000, 3)), 10)
    assert sum(kept) == 5000 * 16


@pytest.mark.parametrize("exponent", [83, -100, -400])
def test_the_unit_of_the_columns_changes_nothing(exponent):
    """The search computes in single precision, which ends at 10^38."""
    X = np.random.default_rng(0).normal(size=(3000, 4))
    expected = ApproximateSearch(X, 5).query(X[:50] + 0.01)
    scaled = ApproximateSearch(X * 2.0**exponent, 5)
    np.testing.assert_array_equal(scaled.query((X[:50] + 0.01) * 2.0**exponent), expected)
    near = scaled.distances(X[:1] * 2.0**exponent, expected[0]) / 2.0**exponent
    np.testing.assert_allclose(near, np.linalg.norm(X[expected[0]] - X[:1], axis=1), rtol=1e-5)
