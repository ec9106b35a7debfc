"""The approximate index against exact search."""

import pickle
import sys

import numpy as np
import pytest
from conftest import make_data
from scipy import sparse
from sklearn.base import clone

from labelkin import MLkNNClassifier, VPCMEClassifier
from labelkin._search import NeighborSearch

faiss = pytest.importorskip("faiss", reason="needs the extra labelkin[approximate]")
from labelkin._approximate import ApproximateSearch  # noqa: E402


def cloud(n=3000, d=20, seed=0):
    return np.random.RandomState(seed).standard_normal((n, d))


def share_found(found, true):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, true, strict=True)])


def test_recall_is_what_it_says():
    X = cloud()
    search = ApproximateSearch(X, 10, n_candidates=16, recall_rows=1000)
    rows = np.random.RandomState(0).permutation(3000)[:1000]
    true = share_found(search.query()[rows], NeighborSearch(X, 10).query()[rows])
    assert 0.5 < true < 0.99, "nothing is missed here, so nothing is tested"
    assert search.recall == pytest.approx(true, abs=1e-3)


def test_more_candidates_find_more():
    X = cloud()
    recall = [ApproximateSearch(X, 10, n_candidates=m).recall for m in (10, 40, 400)]
    assert recall == sorted(recall)
    assert recall[2] > 0.99


def test_small_data_are_searched_exactly():
    """Every row is in view, so all neighbours are found; the row itself is none of them."""
    X, Q = cloud(60, 5), cloud(30, 5, seed=1)
    search, exact = ApproximateSearch(X, 7), NeighborSearch(X, 7)
    np.testing.assert_array_equal(search.query(), exact.query())
    np.testing.assert_array_equal(search.query(Q), exact.query(Q))
    np.testing.assert_array_equal(search.query(sparse.csr_matrix(Q)), exact.query(Q))
    thin = ApproximateSearch(sparse.csr_matrix(X), 7)
    np.testing.assert_array_equal(thin.query(), exact.query())
    assert search.recall == thin.recall == 1


def test_far_from_the_origin():
    X = cloud(300, 5) + 1e6
    np.testing.assert_array_equal(
        ApproximateSearch(X, 5, n_candidates=300).query(), NeighborSearch(X, 5).query()
    )


@pytest.mark.parametrize("copies", [40, 2000])
def test_equal_rows(copies):
    """A row is not its own neighbour, but its copies are; and k neighbours are found."""
    X = np.concatenate([np.zeros((copies, 3)), cloud(20, 3)])
    search = ApproximateSearch(X, 30)
    found = search.query()
    assert found.shape == (copies + 20, 30)
    assert (found != np.arange(len(X))[:, None]).all()
    assert (found >= 0).all()
    assert all(len(set(row)) == 30 for row in found)
    assert (found[:copies] < copies).all()
    assert search.recall == 1


def test_no_queries_and_no_neighbours():
    assert ApproximateSearch(np.eye(4), 2).query(np.empty((0, 4))).shape == (0, 2)
    assert ApproximateSearch(np.eye(4)[:1], 0).query().shape == (1, 0)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_same_neighbours_for_every_n_jobs_and_run(n_jobs):
    X = cloud()
    expected = ApproximateSearch(X, 10).query(n_jobs=1)
    np.testing.assert_array_equal(ApproximateSearch(X, 10).query(n_jobs=n_jobs), expected)


def test_mlknn_and_vpcme():
    X, Y = make_data(2500, 12, 4)
    Q, _ = make_data(200, 12, 4, seed=1)
    model = MLkNNClassifier(neighbors="approximate", n_candidates=200).fit(X, Y)
    exact = MLkNNClassifier().fit(X, Y)
    assert model.recall_ > 0.99
    np.testing.assert_allclose(model.predict_proba(Q), exact.predict_proba(Q), atol=0.15)
    assert (model.predict(Q) == exact.predict(Q)).mean() > 0.99
    assert not hasattr(exact, "recall_")
    ensemble = VPCMEClassifier(clone(model), n_estimators=2, random_state=0).fit(X, Y)
    expected = VPCMEClassifier(n_estimators=2, random_state=0).fit(X, Y)
    assert (ensemble.predict(Q) == expected.predict(Q)).mean() > 0.98
    again = pickle.loads(pickle.dumps(ensemble))
    np.testing.assert_array_equal(again.predict_proba(Q), ensemble.predict_proba(Q))


def test_without_faiss(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"pip install 'labelkin\[approximate\]'"):
        MLkNNClassifier(neighbors="approximate").fit(*make_data())


def test_other_arrays_are_refused():
    with pytest.raises(ValueError, match="not builtins arrays; choose neighbors='exact'"):
        ApproximateSearch([[0.0]], 0)
