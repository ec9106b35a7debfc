"""Exported classifiers and pipelines of numbers give the results of Python in ONNX Runtime."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    StandardScaler,
)
from sklearn.utils.fixes import parse_version

from labelkin import (
    MDDM,
    BaggingVPCPClassifier,
    DecisionClassifier,
    IBLRClassifier,
    KernelRidgeLOOClassifier,
    MLkNNClassifier,
    MultiLabelLogisticRegression,
    PairwiseConstraintProjection,
    VPCMEClassifier,
)
from labelkin.datasets import load_digit_scenes
from labelkin.onnx import save_onnx, to_onnx
from labelkin.onnx._graph import Graph
from labelkin.persistence import load_model, save_model
from labelkin.rows import array_api_dispatch
from labelkin.tabular import RobustLogScaler
from support.arrays import import_library
from support.data import make_data

onnx = pytest.importorskip("onnx", reason="needs the extra 'onnx'")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")

from support.onnx_session import run


def assert_same(model, X, dtype=np.float64, atol=1e-5):
    exported = to_onnx(model, dtype=dtype)
    onnx.checker.check_model(exported, full_check=True)
    assert [output.name for output in exported.graph.output] == ["probabilities", "labels"]
    X = np.ascontiguousarray(X, dtype=dtype)
    probabilities, labels = run(exported, X)
    expected = model.predict_proba(X)
    assert probabilities.dtype == dtype
    assert probabilities.shape == expected.shape
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=atol)
    np.testing.assert_array_equal(labels, model.predict(X))


@pytest.fixture(scope="module")
def scenes():
    bunch = load_digit_scenes(n_samples=500, random_state=0)
    train, test = bunch.split == 0, bunch.split == 1
    return bunch.data[train], bunch.target[train], bunch.data[test]


@pytest.fixture(scope="module")
def ties():
    """Few integers, many samples: most distances are shared, far from the origin."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(400, 4)).astype(float) + 1000
    Y = (X[:, :3] + rng.integers(0, 2, size=(400, 3)) > 1001).astype(int)
    return X[:300], Y[:300], X[300:]


MODELS = [
    MLkNNClassifier(),
    VPCMEClassifier(n_estimators=5, random_state=0),
    MLkNNClassifier(n_neighbors=3, smoothing=0.0),
    IBLRClassifier(ridge=0.1, add_features=True),
    VPCMEClassifier(
        IBLRClassifier(ridge=0.1),
        n_estimators=3,
        voting="soft",
        threshold=(0.3, 0.9),
        random_state=0,
    ),
    BaggingVPCPClassifier(n_estimators=4, random_state=0),
    VPCMEClassifier(n_estimators=12, bag=0.5, random_state=0),
    VPCMEClassifier(n_estimators=20, bag=0.6, calibrate=True, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_same_as_python(model, scenes):
    X, Y, test = scenes
    assert_same(model.fit(X, Y), test)


@pytest.mark.parametrize("model", MODELS[:2], ids=str)
def test_float32(model, scenes):
    X, Y, test = scenes
    assert_same(model.fit(X.astype(np.float32), Y), test, np.float32)


def test_calibration_matters(scenes):
    """An export without it would be noticed."""
    X, Y, test = scenes
    model = MODELS[-1].fit(X, Y)
    assert (
        np.abs(model._mean(model._member_outputs(test))[0] - model.predict_proba(test)).max() > 0.01
    )


def test_fitted_on_a_device(scenes):
    strict = import_library()
    X, Y, test = scenes
    model = make_pipeline(PairwiseConstraintProjection(random_state=0), MLkNNClassifier())
    with array_api_dispatch():
        there = clone(model).fit(strict.asarray(X), strict.asarray(Y))
    expected = model.fit(X, Y).predict_proba(test)
    np.testing.assert_allclose(run(to_onnx(there), test)[0], expected, rtol=0, atol=1e-5)


def test_float32_rows_to_a_float64_model_and_back(scenes):
    X, Y, test = scenes
    assert_same(VPCMEClassifier(n_estimators=2, random_state=0).fit(X, Y), test, np.float32)
    assert_same(MLkNNClassifier().fit(X.astype(np.float32), Y), test, np.float64)


@pytest.mark.parametrize("k", [7, 60])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_fall_alike(k, dtype, ties):
    X, Y, test = ties
    model = MLkNNClassifier(n_neighbors=k).fit(X.astype(dtype), Y)
    distances = ((test[:, None] - X) ** 2).sum(axis=2)
    nearest = np.sort(distances, axis=1)
    assert (nearest[:, k - 1] == nearest[:, k]).mean() > 0.5  # ties at the border indeed
    assert_same(model, test, dtype)


def test_training_samples_seen_twice(ties):
    X, Y, test = ties
    assert_same(VPCMEClassifier(n_estimators=6, random_state=0).fit(X, Y), test)


def test_hard_vote_ties_go_by_the_mean_probability(ties):
    X, Y, test = ties
    model = VPCMEClassifier(n_estimators=2, voting="hard", random_state=3).fit(X, Y)
    members = [
        e.predict(test @ p.components_.T)
        for e, p in zip(model.estimators_, model.projections_, strict=True)
    ]
    assert (members[0] != members[1]).any()
    assert_same(model, test)


def test_many_members_share_the_labels(scenes):
    X, Y, test = scenes
    model = BaggingVPCPClassifier(MLkNNClassifier(4), n_estimators=40, random_state=0).fit(X, Y)
    assert_same(model, test)
    stored = [tuple(c.dims) for c in to_onnx(model).graph.initializer]
    assert stored.count(Y.shape) == 1


def test_sparse_training_data():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, size=(200, 60)).astype(float)
    Y = (X[:, :5] > 0).astype(int)
    for model in (MLkNNClassifier(), VPCMEClassifier(n_estimators=3, random_state=0)):
        assert_same(model.fit(sparse.csr_array(X[:150]), Y[:150]), X[150:])


def test_tiny_and_constant():
    X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 1.0]])
    Y = np.array([[1, 0], [1, 0], [1, 1]])
    assert_same(MLkNNClassifier().fit(X, Y), X)
    assert_same(MLkNNClassifier().fit(X[:1], Y[:1]), X)


def test_any_number_of_rows(scenes):
    X, Y, test = scenes
    exported = to_onnx(MLkNNClassifier().fit(X, Y))
    together = run(exported, test)
    alone = [run(exported, test[i : i + 1]) for i in range(5)]
    np.testing.assert_array_equal(np.vstack([p for p, _ in alone]), together[0][:5])
    if parse_version(onnxruntime.__version__) >= parse_version("1.31"):  # earlier ones crash
        assert run(exported, test[:0])[0].shape == (0, 10)


def test_metadata_and_interface(scenes):
    pandas = pytest.importorskip("pandas")
    X, Y, test = scenes
    names = ["zéro", *"abcdefghi"]
    frame = pandas.DataFrame(X, columns=[f"p{i}" for i in range(X.shape[1])])
    model = MLkNNClassifier().fit(frame, pandas.DataFrame(Y, columns=names))
    exported = to_onnx(model)
    metadata = {entry.key: entry.value for entry in exported.metadata_props}
    assert json.loads(metadata["label_names"]) == names
    assert metadata["estimator"] == "MLkNNClassifier"
    assert [i.name for i in exported.graph.input] == ["X"]
    assert exported.opset_import[0].version == 17
    np.testing.assert_allclose(
        run(exported, test)[0],
        model.predict_proba(pandas.DataFrame(test, columns=frame.columns)),
        atol=1e-5,
    )


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False), "passthrough"],
        [MinMaxScaler((-1, 2), clip=True)],
        [RobustLogScaler()],
        [MaxAbsScaler(), MDDM()],
        [StandardScaler(with_std=False), PairwiseConstraintProjection(random_state=0)],
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pipelines(steps, dtype, scenes):
    X, Y, test = scenes
    model = make_pipeline(*steps, MLkNNClassifier()).fit(X.astype(dtype), Y)
    assert_same(model, 3 * test - 1, dtype)


def test_imputer(scenes):
    X, Y, test = scenes
    holes = np.where(np.random.default_rng(0).random(test.shape) < 0.1, np.nan, test)
    assert_same(make_pipeline(SimpleImputer(), MLkNNClassifier()).fit(X, Y), holes)
    marked = make_pipeline(SimpleImputer(missing_values=-1), MLkNNClassifier()).fit(X, Y)
    with pytest.raises(ValueError, match="when it replaces NaN"):
        to_onnx(marked)


def test_search(scenes):
    X, Y, test = scenes
    pipeline = make_pipeline(StandardScaler(), MLkNNClassifier())
    search = GridSearchCV(pipeline, {"mlknnclassifier__n_neighbors": [5, 9]}, cv=2).fit(X, Y)
    assert_same(search, test)


def test_file_runs_without_labelkin(scenes, tmp_path):
    X, Y, test = scenes
    model = VPCMEClassifier(n_estimators=3, random_state=0).fit(X, Y)
    save_onnx(model, tmp_path / "model.onnx", dtype=np.float32)
    np.save(tmp_path / "rows.npy", test.astype(np.float32))
    program = (
        "import sys, numpy, onnxruntime\n"
        "session = onnxruntime.InferenceSession('model.onnx')\n"
        "found = session.run(None, {'X': numpy.load('rows.npy')})\n"
        "numpy.savez('found.npz', probabilities=found[0], labels=found[1])\n"
        "assert not {'labelkin', 'sklearn', 'scipy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    with np.load(tmp_path / "found.npz") as found:
        expected = model.predict_proba(test.astype(np.float32))
        np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)
        np.testing.assert_array_equal(found["labels"], model.predict(test.astype(np.float32)))


def test_save_is_whole_or_not_at_all(scenes, tmp_path):
    X, Y, _ = scenes
    model = MLkNNClassifier().fit(X, Y)
    path = tmp_path / "model.onnx"
    path.write_bytes(b"before")
    with pytest.raises(ValueError, match="dtype must be float32 or float64"):
        save_onnx(model, path, dtype=np.int64)
    assert path.read_bytes() == b"before"
    save_onnx(model, path)
    onnx.checker.check_model(str(path))
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]
    with pytest.raises(FileNotFoundError):
        save_onnx(model, tmp_path / "no" / "model.onnx")


def test_what_cannot_be_exported(scenes):
    X, Y, _ = scenes
    logistic = MultiOutputClassifier(LogisticRegression()).fit(X, Y)
    with pytest.raises(ValueError, match="MultiOutputClassifier cannot be exported") as error:
        to_onnx(logistic)
    for name in ("BaggingVPCPClassifier", "MLkNNClassifier", "Pipeline", "VPCMEClassifier"):
        assert name in str(error.value)
    base = MultiOutputClassifier(LogisticRegression())
    ensemble = VPCMEClassifier(base, n_estimators=1, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="MultiOutputClassifier cannot be exported"):
        to_onnx(ensemble)
    with pytest.raises(ValueError, match=r"Normalizer cannot be exported.*StandardScaler"):
        to_onnx(make_pipeline(Normalizer(), MLkNNClassifier()).fit(X, Y))
    with pytest.raises(ValueError, match="must be a fitted classifier, got str"):
        to_onnx("model.labelkin")
    with pytest.raises(NotFittedError):
        to_onnx(MLkNNClassifier())
    with pytest.raises(ValueError, match="one-dimensional target cannot be exported"):
        to_onnx(MLkNNClassifier().fit(X, Y[:, 0]))


def test_too_large(monkeypatch):
    monkeypatch.setattr("labelkin.onnx._graph._LIMIT", 1000)
    graph = Graph()
    graph.constant(np.zeros(100))
    graph.constant(np.zeros(100))  # stored once
    with pytest.raises(ValueError, match="at most 2 GB"):
        graph.constant(np.ones(100))


def test_missing_extra(scenes, monkeypatch):
    X, Y, _ = scenes
    model = MLkNNClassifier().fit(X, Y)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"onnx is needed .* pip install 'labelkin\[onnx\]'"):
        to_onnx(model)


def test_documents_that_occur_twice(paper_data):
    """They are equally near to every other one."""
    X, Y, folds = paper_data("medical")
    X = X.toarray() if sparse.issparse(X) else X
    test = folds[0]
    train = np.setdiff1d(np.arange(len(X)), test)[:900]
    model = VPCMEClassifier(n_estimators=5, random_state=0).fit(X[train], Y[train])
    assert_same(model, X[test])


KERNELS = [
    KernelRidgeLOOClassifier(),
    KernelRidgeLOOClassifier("laplacian"),
    KernelRidgeLOOClassifier("linear"),
    KernelRidgeLOOClassifier("cosine", scale=True),
    KernelRidgeLOOClassifier(max_exact=100, n_landmarks=80, random_state=0),
    VPCMEClassifier(KernelRidgeLOOClassifier(), n_estimators=2, random_state=0),
]


@pytest.mark.parametrize("model", KERNELS, ids=str)
def test_kernels(model, scenes):
    X, Y, test = scenes
    assert_same(model.fit(X, Y), test)
    assert_same(model.fit(X + 1000, Y), test + 1000)
    # Rows in single precision: the file reckons in double, as Python does when asked in double.
    single = test.astype(np.float32)
    model.fit(X.astype(np.float32), Y)
    found = run(to_onnx(model, dtype=np.float32), single)[0]
    assert found.dtype == np.float32
    expected = model.predict_proba(single.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found, model.predict_proba(single), rtol=0, atol=1e-3)


@pytest.mark.parametrize("calibrate", [False, True])
def test_logistic_regression(calibrate, scenes):
    X, Y, test = scenes
    model = MultiLabelLogisticRegression(0.1, calibrate=calibrate, random_state=0)
    assert_same(model.fit(X, Y), test)
    assert_same(model.fit(sparse.csr_array(X), Y), test)


def test_other_kernels(scenes):
    X, Y, test = scenes
    wide, wide_test = np.hstack([X, X**2, np.sqrt(X)]), np.hstack([test, test**2, np.sqrt(test)])
    for kernel in ("linear", "cosine"):  # more features than samples
        assert_same(KernelRidgeLOOClassifier(kernel).fit(wide, Y), wide_test)
    zero = np.vstack([test, np.zeros_like(test[:1])])
    assert_same(KernelRidgeLOOClassifier("cosine").fit(X, Y), zero)
    assert_same(KernelRidgeLOOClassifier().fit(sparse.csr_array(X), Y), test)
    assert_same(KernelRidgeLOOClassifier("precomputed").fit(X @ X.T, Y), test @ X.T)
    own = KernelRidgeLOOClassifier(lambda A, B: A @ B.T).fit(X, Y)
    with pytest.raises(ValueError, match="callable kernel cannot be exported"):
        to_onnx(own)


@pytest.mark.parametrize("decision", ["macro_f1", "cardinality"])
@pytest.mark.parametrize("at_least_one", [False, True])
def test_decisions(decision, at_least_one, scenes):
    X, Y, test = scenes
    Y = Y.copy()
    Y[:, 2] = 0  # never predicted, not even as the only label
    model = DecisionClassifier(decision=decision, at_least_one=at_least_one, random_state=0)
    assert_same(model.fit(X, Y), test)
    model.decision_.thresholds_[:6] = np.inf  # often the likeliest, and yet not to be filled in
    model.decision_.thresholds_[6:] = 0.9
    assert_same(model, test)


def test_a_frozen_classifier_is_exported_and_saved(tmp_path):
    X, Y = make_data(120)
    fitted = MLkNNClassifier().fit(X[:60], Y[:60])
    model = DecisionClassifier(FrozenEstimator(fitted), "recall:0.8").fit(X[60:], Y[60:])
    assert_same(model, X)
    save_model(model, tmp_path / "m.labelkin")
    np.testing.assert_array_equal(load_model(tmp_path / "m.labelkin").predict(X), model.predict(X))
