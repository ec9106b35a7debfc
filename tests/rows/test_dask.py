"""Dask arrays and joblib's backends; a real cluster of three processes, started here."""

import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from labelkin import (
    BaggingVPCPClassifier,
    IBLRClassifier,
    KinEnsembleClassifier,
    MLkNNClassifier,
    MultiLabelLogisticRegression,
    PairwiseConstraintProjection,
    VPCMEClassifier,
)
from labelkin._utils.progress import observe_fits
from labelkin.kin import Limits
from labelkin.projection._pairwise import TrainingRows
from labelkin.rows import DaskRows
from support.data import make_data

dask = pytest.importorskip("dask", reason="needs the extra labelkin[cluster]")
da = pytest.importorskip("dask.array", reason="needs the extra labelkin[cluster]")
distributed = pytest.importorskip("distributed", reason="needs the extra labelkin[cluster]")

MODELS = [
    MLkNNClassifier(n_neighbors=7),
    VPCMEClassifier(n_estimators=2, random_state=0),
    BaggingVPCPClassifier(n_estimators=2, threshold=(0.3, 0.7), voting="soft", random_state=1),
    MultiLabelLogisticRegression(1.0),
]


def by_name(model):
    return type(model).__name__


def fitted_twice(model, X, Y, dX, dY):
    """Return the model fitted in memory and, another of it, in blocks."""
    here = type(model)(**model.get_params()).fit(X, Y)
    return here, type(model)(**model.get_params()).fit(dX, dY)


def assert_same_model(here, there):
    for near, far in zip(
        getattr(here, "projections_", []), getattr(there, "projections_", []), strict=True
    ):
        np.testing.assert_array_equal(near.must_link_, far.must_link_)
        np.testing.assert_array_equal(near.cannot_link_, far.cannot_link_)
        np.testing.assert_allclose(near.eigenvalues_, far.eigenvalues_, rtol=1e-8)
        assert near.scaling_ == pytest.approx(far.scaling_, rel=1e-10)
    for name in ("errors_", "sample_weights_", "thresholds_", "prior_", "likelihood_"):
        if hasattr(here, name):
            np.testing.assert_allclose(getattr(there, name), getattr(here, name), rtol=1e-10)


def assert_same_answers(here, there, Q, dQ):
    proba, labels = there.predict_proba(dQ), there.predict(dQ)
    assert isinstance(proba, da.Array)
    assert isinstance(labels, da.Array)
    filled = tuple(size for size in dQ.chunks[0] if size)
    assert proba.chunks[0] == labels.chunks[0] == filled
    np.testing.assert_allclose(proba.compute(), here.predict_proba(Q), atol=1e-8)
    np.testing.assert_array_equal(labels.compute(), here.predict(Q))
    assert (proba.dtype, labels.dtype) == (proba.compute().dtype, labels.compute().dtype)
    np.testing.assert_allclose(there.predict_proba(Q), here.predict_proba(Q), atol=1e-8)
    np.testing.assert_array_equal(there.predict(Q), here.predict(Q))


@pytest.fixture(scope="module")
def cluster():
    settings = {
        # A killed worker that takes longer than 15 s to start again would be given up.
        "distributed.deploy.lost-worker-timeout": "600s",
        # Workers are forks of a process that has imported what they need.
        "distributed.worker.multiprocessing-method": "forkserver",
        # What an idle cluster does all the time, for dashboards.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",
        "distributed.admin.system-monitor.interval": "10s",
    }
    with dask.config.set(settings):
        context = distributed.utils.get_mp_context()
        context.set_forkserver_preload(["distributed", "dask.array", "labelkin.kin"])
        with distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster:
            yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(3, timeout=300)
        yield client


@pytest.fixture
def here():
    """Dask without a cluster, in this thread."""
    with dask.config.set(scheduler="synchronous"):
        yield


def assert_blocks_give_what_memory_gives(model):
    X, Y = make_data(400, 9, 4)
    Q, _ = make_data(50, 9, 4, seed=1)
    X, Q = X + 100, Q + 100  # far from the origin: moving the rows must not matter
    dX, dY = da.from_array(X, chunks=(90, 4)), da.from_array(Y, chunks=(70, 3))
    near, far = fitted_twice(model, X, Y, dX, dY)
    assert_same_model(near, far)
    assert_same_answers(near, far, Q, da.from_array(Q, chunks=(20, 9)))


@pytest.mark.parametrize("model", MODELS[1::2], ids=by_name)
def test_a_cluster_gives_what_memory_gives(model, client):
    assert_blocks_give_what_memory_gives(model)


@pytest.mark.parametrize("model", MODELS[::2], ids=by_name)
def test_one_thread_gives_what_memory_gives(model, here):
    assert_blocks_give_what_memory_gives(model)


def test_a_worker_that_dies_costs_time_not_results(client):
    """One dies between two members, with the rows it held; one in the middle of a member."""
    X, Y = make_data(600, 12, 5)
    expected = VPCMEClassifier(n_estimators=3, random_state=0).fit(X, Y)
    first = dict(client.run(os.getpid))
    killed = []

    def kill():
        process = next(pid for pid in first.values() if pid not in killed)
        killed.append(process)
        os.kill(process, signal.SIGKILL)

    timer = threading.Timer(0.02, kill)

    def after_member(fit):
        if fit.done == 1:
            kill()
        if fit.done == 2:
            timer.start()

    model = VPCMEClassifier(n_estimators=3, random_state=0)
    with observe_fits(after_member):
        model.fit(da.from_array(X, chunks=(150, 12)), da.from_array(Y, chunks=(150, 5)))
    timer.join()
    assert len(killed) == 2
    assert_same_model(expected, model)
    Q, _ = make_data(40, 12, 5, seed=1)
    assert_same_answers(expected, model, Q, da.from_array(Q, chunks=(15, 12)))
    client.wait_for_workers(3, timeout=300)
    assert not set(killed) & set(client.run(os.getpid).values())


@pytest.mark.parametrize(
    ("limits", "member"),
    [
        (Limits(seconds=0, exact_rows=0, part_work=0.1), "raw_rbf"),
        (Limits(large_entries=0, sample_rows=50), "linear"),
    ],
    ids=["landmarks", "linear"],
)
def test_kin_loses_two_workers(limits, member, client, monkeypatch):
    """Each with the rows and sums it held, between two of the results that the fit waits for."""
    X, Y = make_data(120, 2, 1)
    expected = KinEnsembleClassifier(0, 0, effort=limits, random_state=0).fit(X, Y)
    assert [name for name, _ in expected.members_] == [member]
    compute, killed, waited = dask.compute, [], []

    def compute_or_kill(*tasks, **options):
        waited.append(len(tasks))
        if len(waited) in (10, 14):  # the member is being fitted
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[-1], signal.SIGKILL)
        return compute(*tasks, **options)

    monkeypatch.setattr(dask, "compute", compute_or_kill)
    model = KinEnsembleClassifier(effort=limits, random_state=0)
    model.fit(da.from_array(X, chunks=(30, 2)), Y)
    assert len(killed) == 2
    np.testing.assert_allclose(model.oob_proba_, expected.oob_proba_, atol=1e-8)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-8)
    client.wait_for_workers(3, timeout=300)
    assert not set(killed) & set(client.run(os.getpid).values())


def test_pickled_it_needs_no_cluster(here, tmp_path):
    X, Y = make_data(200, 6, 3)
    model = VPCMEClassifier(n_estimators=2, random_state=0)
    model.fit(da.from_array(X, chunks=(60, 6)), da.from_array(Y, chunks=(60, 3)))
    with open(tmp_path / "model.pickle", "wb") as file:
        pickle.dump(model, file)
    np.savez(tmp_path / "data.npz", X=X, proba=model.predict_proba(X))
    # Neither that model nor one fitted to arrays in memory imports Dask.
    code = (
        "import pickle, sys, numpy as np, labelkin; data = np.load('data.npz'); "
        "model = pickle.load(open('model.pickle', 'rb')); "
        "np.testing.assert_allclose(model.predict_proba(data['X']), data['proba'], atol=1e-8); "
        "labelkin.MLkNNClassifier(1).fit(np.eye(4), np.eye(4)).predict(np.eye(4)); "
        "sys.exit('dask' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


@pytest.mark.parametrize("sizes", [(13,), (1, 12), (1,) * 13, (6, 0, 7), (3, 4, 6)])
@pytest.mark.parametrize("k", [1, 4, 30])
def test_ties_and_blocks_of_any_size(sizes, k, here):
    """Small integers: ties everywhere, exact arithmetic; the first row is the nearer one."""
    rng = np.random.RandomState(0)
    X, Y = rng.randint(-1, 2, size=(13, 2)), rng.randint(0, 2, size=(13, 3))
    dX = da.from_array(X, chunks=(sizes, (2,)))
    near, far = fitted_twice(MLkNNClassifier(k), X, Y, dX, da.from_array(Y, chunks=(5, 2)))
    assert_same_model(near, far)
    Q = rng.randint(-2, 3, size=(11, 2)).astype(float)
    assert_same_answers(near, far, Q, da.from_array(Q, chunks=((4, 0, 7), (1, 1))))


@pytest.mark.parametrize("model", MODELS, ids=by_name)
def test_sparse_blocks(model, here):
    X, Y = make_data(120, 8, 3)
    X[np.abs(X) < 0.8] = 0
    dX = da.from_array(X, chunks=(50, 8)).map_blocks(sparse.csr_matrix)
    near, far = fitted_twice(model, X, Y, dX, sparse.csr_matrix(Y))
    assert_same_model(near, far)
    np.testing.assert_allclose(far.predict_proba(dX).compute(), near.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("model", MODELS, ids=by_name)
def test_one_dimensional_targets(model, here):
    X, Y = make_data(90, 4, 1)
    y = np.array(["no", "yes"])[Y.ravel()]
    dX, dy = da.from_array(X, chunks=(40, 4)), da.from_array(y, chunks=25)
    near, far = fitted_twice(model, X, y, dX, dy)
    np.testing.assert_array_equal(far.classes_, ["no", "yes"])
    assert_same_answers(near, far, X, dX)


def test_more_features_than_rows(here):
    X, Y = make_data(40, 70, 3)
    dX, dY = da.from_array(X, chunks=(15, 70)), da.from_array(Y, chunks=(15, 3))
    near, far = fitted_twice(MODELS[1], X, Y, dX, dY)
    np.testing.assert_allclose(far.predict_proba(X), near.predict_proba(X), atol=1e-8)
    np.testing.assert_array_equal(near.errors_, far.errors_)


def test_float32_and_chunks_of_unknown_size(here):
    X, Y = make_data(100, 5, 3)
    X = X.astype(np.float32)
    dX = da.from_array(X, chunks=(30, 5))
    unknown = dX[dX[:, 0] < 100]
    near, far = fitted_twice(MODELS[0], X, Y, unknown, da.from_array(Y, chunks=(30, 3)))
    assert far._counts.rows.dtype == np.float32
    np.testing.assert_array_equal(far.predict(unknown).compute(), near.predict(X))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_logistic_regression_by_folds(form, here):
    X, Y = make_data(60, 4, 3)
    X[np.abs(X) < 0.3] = 0
    weight = np.arange(60) % 3
    dX = da.from_array(X, chunks=((25, 0, 35), (4,))).map_blocks(form)
    model = MultiLabelLogisticRegression(n_folds=2, calibrate=True, random_state=0)
    near, far = clone(model).fit(X, Y, weight), clone(model).fit(dX, da.from_array(Y), weight)
    for name in ("coef_", "intercept_", "C_", "oof_proba_"):
        np.testing.assert_allclose(getattr(far, name), getattr(near, name), atol=1e-8)
    odds = far.decision_function(dX)
    assert isinstance(odds, da.Array)
    np.testing.assert_allclose(odds.compute(), near.decision_function(X), atol=1e-8)


def test_leave_one_out_probabilities_are_lazy(here):
    X, Y = make_data(60, 4, 3)
    near, far = MLkNNClassifier(), MLkNNClassifier()
    proba = far.fit_loo_proba(da.from_array(X, chunks=(25, 4)), da.from_array(Y, chunks=(60, 3)))
    assert isinstance(proba, da.Array)
    np.testing.assert_array_equal(proba.compute(), near.fit_loo_proba(X, Y))
    strict = far.fit_loo_proba(da.from_array(X, chunks=(25, 4)), da.from_array(Y), strict=True)
    np.testing.assert_allclose(strict.compute(), near.fit_loo_proba(X, Y, strict=True))
    assert not np.allclose(strict.compute(), proba.compute())


def test_predictions_are_lazy_and_row_blocks_suffice(here):
    """Nothing is computed before it is asked for, and then only its block."""
    X, Y = make_data(60, 4, 3)
    read = []

    def block(rows):
        read.append(len(rows))
        return rows

    model = MLkNNClassifier().fit(da.from_array(X, chunks=(30, 4)), Y)
    queries = da.from_array(X, chunks=((10, 50), (4,))).map_blocks(
        block, dtype=float, meta=np.empty((0, 0))
    )
    labels = model.predict(queries)
    assert read == []
    labels[:5].compute()
    assert read == [10]


def test_a_model_in_memory_answers_dask_arrays(here):
    X, Y = make_data(60, 4, 3)
    model = IBLRClassifier().fit(X, Y)
    dX = da.from_array(X, chunks=((25, 0, 35), (4,)))
    np.testing.assert_allclose(model.predict_proba(dX).compute(), model.predict_proba(X))
    np.testing.assert_array_equal(model.predict(dX).compute(), model.predict(X))


def test_other_classifiers_bring_the_rows_into_memory(here):
    X, Y = make_data(60, 4, 3)
    model = IBLRClassifier().fit(da.from_array(X, chunks=(25, 4)), da.from_array(Y))
    np.testing.assert_array_equal(model.predict(X), IBLRClassifier().fit(X, Y).predict(X))


def test_fitted_in_memory_after_dask(here):
    X, Y = make_data(60, 4, 3)
    model = VPCMEClassifier(n_estimators=2, random_state=0)
    model.fit(da.from_array(X, chunks=(25, 4)), Y).fit(X, Y)
    expected = VPCMEClassifier(n_estimators=2, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_projection(here):
    X, Y = make_data(90, 6, 4)
    weight = np.arange(90.0)
    dX = da.from_array(X, chunks=(40, 3))
    near = PairwiseConstraintProjection(random_state=0).fit(X, Y, weight)
    far = PairwiseConstraintProjection(random_state=0).fit(dX, da.from_array(Y), weight)
    np.testing.assert_allclose(far.components_, near.components_, atol=1e-8)
    projected = far.transform(dX)
    assert isinstance(projected, da.Array)
    np.testing.assert_allclose(projected.compute(), near.transform(X), atol=1e-8)


def test_tasks_hold_a_bounded_number_of_rows(here, monkeypatch):
    """All weight on one row: its block owns all pairs, and still takes them in pieces."""
    X, _ = make_data(100, 3, 2)
    rows = DaskRows.from_dask(da.from_array(X, chunks=(20, 3)))
    pairs = np.column_stack([np.zeros(99, dtype=int), np.arange(1, 100)])
    take, taken = DaskRows.take, []
    monkeypatch.setattr(DaskRows, "take", lambda *call: taken.append(len(call[1])) or take(*call))
    scatter = TrainingRows(rows).scatter(pairs)
    difference = X[:1] - X[1:]
    np.testing.assert_allclose(scatter, difference.T @ difference / (2 * 99))
    assert taken == [21, 21, 21, 21, 20]
    assert not TrainingRows(rows).scatter(pairs[:0]).any()


def test_bad_input(here):
    X, Y = make_data(60, 4, 3)
    dX = da.from_array(X, chunks=(25, 4))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MLkNNClassifier().fit(dX, Y[:50])
    with pytest.raises(ValueError, match="must hold only 0 and 1"):
        MLkNNClassifier().fit(dX, da.from_array(Y + 1, chunks=(30, 3)))
    with pytest.raises(ValueError, match="y to be passed"):
        MLkNNClassifier().fit(dX, None)
    with pytest.raises(ValueError, match="two-dimensional Dask array"):
        MLkNNClassifier().fit(dX[0], Y)
    with pytest.raises(ValueError, match="X contains NaN"):
        MLkNNClassifier().fit(da.where(dX > 2, np.nan, dX), Y)
    with pytest.raises(ValueError, match="X has 3 features, but MLkNN"):
        MLkNNClassifier().fit(dX, Y).predict(dX[:, :3])
    with pytest.raises(ValueError, match="X is empty"):
        MLkNNClassifier().fit(dX[:0], Y[:0])


@pytest.mark.parametrize("setting", [{"bag": 0.5}, {"estimator": "trees"}])
def test_what_needs_the_rows_in_memory_brings_them_there(here, setting):
    X, Y = make_data(60, 4, 3)
    if "estimator" in setting:
        setting = {"estimator": DecisionTreeClassifier(max_depth=3)}
    model = VPCMEClassifier(n_estimators=8, random_state=0, **setting)
    expected = clone(model).fit(X, Y).predict_proba(X)
    dX, dY = da.from_array(X, chunks=(25, 4)), da.from_array(Y, chunks=(30, 3))
    np.testing.assert_allclose(model.fit(dX, dY).predict_proba(X), expected)


def test_a_fit_needs_no_import_of_distributed():
    code = (
        "import dask.array as da, numpy as np\n"
        "from labelkin import MLkNNClassifier\n"
        "X = np.arange(40.0).reshape(20, 2); Y = (X > 20).astype(int)\n"
        "MLkNNClassifier(2).fit(da.from_array(X, chunks=(7, 2)), da.from_array(Y, chunks=(7, 2)))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
