"""Kin on rows in blocks: the members that are sums over blocks, equal to those in memory."""

import io
import pickle
from contextlib import redirect_stdout

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from labelkin import KinEnsembleClassifier
from labelkin.kin import Limits
from support.data import make_data

dask = pytest.importorskip("dask", reason="needs the extra labelkin[cluster]")
da = pytest.importorskip("dask.array", reason="needs the extra labelkin[cluster]")

# In memory as on Dask: landmarks, a logistic regression of any texts, no topics.
LIMITS = Limits(exact_rows=0, part_work=0.1, linear_rows=0, topics=1, landmark_work=200 * 20**2)
LINEAR = Limits(large_entries=0, sample_rows=50)
FITTED = ("weights_", "oob_proba_", "oob_score_", "oob_indices_")


@pytest.fixture(autouse=True)
def here():
    """Dask without a cluster, in this thread."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def data():
    return make_data(200, 4, 3)


@pytest.fixture(scope="module")
def queries():
    return make_data(30, 4, 3, seed=1)[0]


@pytest.fixture(scope="module")
def near(data):
    return in_memory().fit(*data)


@pytest.fixture(scope="module")
def far(data):
    with dask.config.set(scheduler="synchronous"):
        return kin().fit(blocks(data[0]), da.from_array(data[1], chunks=(90, 2)))


def in_memory(limits=LIMITS, **parameters):
    return kin(limits, n_projections=0, n_trees=0, **parameters)


def kin(limits=LIMITS, **parameters):
    return KinEnsembleClassifier(effort=limits, random_state=0, **parameters)


def blocks(X):
    return da.from_array(X, chunks=((70, 0, 1, 129), -1))


def assert_same_model(near, far, atol=1e-8):
    assert [name for name, _ in far.members_] == [name for name, _ in near.members_]
    for name in FITTED:
        np.testing.assert_allclose(getattr(far, name), getattr(near, name), atol=atol)
    for name, score in near.member_scores_.items():
        assert far.member_scores_[name] == pytest.approx(score, abs=atol)


def test_blocks_give_the_model_of_memory(queries, near, far):
    assert_same_model(near, far)
    np.testing.assert_allclose(far.predict_proba(queries), near.predict_proba(queries), atol=1e-8)
    lazy = far.predict(da.from_array(queries, chunks=(11, 4)))
    assert isinstance(lazy, da.Array)
    np.testing.assert_array_equal(lazy.compute(), near.predict(queries))


def test_it_has_linear_and_landmark_members_and_says_what_is_left_out(far):
    assert list(far.member_scores_) == ["raw_rbf", "ranks_laplacian", "linear"]
    assert "landmarks" in dict(far.members_)["raw_rbf"].reason
    assert far.left_out_ == dict.fromkeys(["trees", "projections"], "it needs the rows in memory")
    assert len(dict(far.members_)["raw_rbf"].learners[0].coef_) == 20


def test_sparse_blocks_stay_sparse():
    X, Y = make_data(200, 30, 3)
    X = np.where(X > 0.8, X, 0)
    limits = Limits(**{**vars(LIMITS), "dense_entries": 0})
    dX = blocks(X).map_blocks(sparse.csr_matrix)
    near = in_memory(limits=limits).fit(sparse.csr_matrix(X), Y)
    far = kin(limits=limits).fit(dX, sparse.csr_matrix(Y))
    assert list(far.member_scores_) == ["linear", "raw_laplacian", "root_laplacian"]
    assert sparse.issparse(dict(far.members_)["raw_laplacian"].learners[0].rows_)
    # Weights are computed in single precision and stored in half.
    assert_same_model(near, far, atol=2e-3)
    np.testing.assert_allclose(far.predict_proba(dX).compute(), near.predict_proba(X), atol=2e-3)


def test_sample_weight_and_decision(data, queries):
    X, Y = data
    weight = np.arange(200) % 3
    near = in_memory(decision="f1").fit(X, Y, weight)
    far = kin(decision="f1").fit(blocks(X), Y, weight)
    assert_same_model(near, far)
    np.testing.assert_array_equal(far.predict(queries), near.predict(queries))


def test_very_many_entries_leave_logistic_regression_and_some_scores(data, queries):
    X, Y = data
    near, far = in_memory(limits=LINEAR).fit(X, Y), kin(limits=LINEAR).fit(blocks(X), Y)
    assert [name for name, _ in far.members_] == ["linear"]
    assert len(far.oob_indices_) == 50
    assert_same_model(near, far)
    np.testing.assert_allclose(far.predict_proba(queries), near.predict_proba(queries), atol=1e-8)


def test_all_rows_never_come_together(monkeypatch):
    """Only samples of rows do: of 10,002 every second for medians, fewer for the rest."""
    X, Y = make_data(10_002, 3, 1)
    brought, compute = [], dask.compute

    def recorded(*tasks, **options):
        results = compute(*tasks, **options)
        blocks = [r for r in results if getattr(r, "ndim", 0) == 2 and r.shape[1] == X.shape[1]]
        brought.append(sum(map(len, blocks)))
        return results

    monkeypatch.setattr(dask, "compute", recorded)
    limits = Limits(**{**vars(LIMITS), "sample_rows": 500, "landmark_work": 10_002 * 20**2})
    kin(limits=limits).fit(da.from_array(X, chunks=(5000, -1)), Y)
    assert sorted(brought)[-2:] == [600, 5001]  # for the width of a kernel, and for medians


def test_labels_of_data_frames_and_the_printed_plan(data):
    X, Y = data
    with redirect_stdout(io.StringIO()) as printed:
        model = kin(LINEAR, verbose=1).fit(blocks(X), pd.DataFrame(Y, columns=["a", "b", "c"]))
    assert model.label_names_.tolist() == ["a", "b", "c"]
    assert "linear: a logistic regression" in printed.getvalue()
    assert "1 of 1 learners" in printed.getvalue()


def test_one_dimensional_targets(data):
    X, Y = data
    model = kin(LINEAR).fit(blocks(X), np.array(["no", "yes"])[Y[:, 0]])
    assert set(model.predict(blocks(X)).compute()) == {"no", "yes"}


def test_the_fitted_model_is_without_dask(far, queries):
    stored = pickle.dumps(far)
    assert b"dask" not in stored
    expected = far.predict_proba(queries)
    np.testing.assert_array_equal(pickle.loads(stored).predict_proba(queries), expected)
    assert far.explain(queries[0]).member_names == [name for name, _ in far.members_]


def test_bad_input(data):
    X, Y = data
    dX = blocks(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        kin().fit(dX, Y[:50])
    with pytest.raises(ValueError, match="must hold only 0 and 1"):
        kin().fit(dX, da.from_array(Y + 1))
    with pytest.raises(ValueError, match="X contains NaN"):
        kin().fit(da.where(dX > 2, np.nan, dX), Y)
    with pytest.raises(ValueError, match="two-dimensional Dask array"):
        kin().fit(dX[0], Y)
    with pytest.raises(ValueError, match="y to be passed"):
        kin().fit(dX, None)
    with pytest.raises(ValueError, match="X is empty"):
        kin().fit(dX[:0], Y[:0])
