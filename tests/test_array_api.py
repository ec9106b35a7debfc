"""Torch, CuPy and array-api-strict arrays: the same results as NumPy, where the input lies.

SciPy reads SCIPY_ARRAY_API when it is imported, scikit-learn whenever dispatch is asked for;
only the latter matters here.
"""

import importlib
import importlib.util
import pickle
import sys

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils._array_api import get_namespace

from labelkin import (
    BaggingVPCPClassifier,
    IBLRClassifier,
    KernelRidgeLOOClassifier,
    MLkNNClassifier,
    MultiLabelLogisticRegression,
    PairwiseConstraintProjection,
    VPCMEClassifier,
)
from labelkin.constraints import draw_constraints, label_similarity
from labelkin.metrics import METRICS, PAPER_METRICS, evaluate
from labelkin.metrics._estimators import estimator_labels, estimator_scores
from labelkin.neighbors._exact import ExactSearch
from labelkin.rows import (
    array_api_dispatch,
    move_to_device,
    to_host,
    to_numpy,
)
from support.arrays import needs_array_api
from support.data import make_data

pytestmark = [
    pytest.mark.filterwarnings("ignore:No two samples are a:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* in the bag of every member:UserWarning"),
    needs_array_api,
]


class Library:
    """An array library and a device of it."""

    def __init__(self, name, device=None):
        self.module = importlib.import_module(name)
        self.device = device
        if name == "torch" and device == "cuda" and not self.module.cuda.is_available():
            pytest.skip("torch finds no CUDA device")
        if name == "cupy" and not self.module.cuda.is_available():
            pytest.skip("CuPy finds no CUDA device")
        if name == "array_api_strict" and device is not None:
            self.device = self.module.Device(device)

    def __call__(self, array):
        if self.device is None:
            return self.module.asarray(np.array(array))
        return self.module.asarray(np.array(array), device=self.device)

    def holds(self, array):
        """Whether an array is of this library, on this device."""
        probe = self(np.zeros(1))
        return type(array) is type(probe) and array.device == probe.device


LIBRARIES = {
    "strict": ("array_api_strict", "device1"),  # not its default device: one forgotten fails
    "torch-cpu": ("torch", "cpu"),
    "torch-cuda": ("torch", "cuda"),
    "cupy": ("cupy", None),
}


@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_the_library_is_installed(name):
    """Skipped once for a library that is not, in place of hundreds of tests."""
    pytest.importorskip(name)


@pytest.fixture(params=[i for i, (name, _) in LIBRARIES.items() if importlib.util.find_spec(name)])
def library(request, monkeypatch):
    found = Library(*LIBRARIES[request.param])
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with array_api_dispatch():
        yield found


ESTIMATORS = [
    PairwiseConstraintProjection(random_state=0),
    MLkNNClassifier(n_neighbors=4),
    MLkNNClassifier(n_neighbors=3, smoothing=0),
    IBLRClassifier(ridge=0.1),
    IBLRClassifier(add_features=True, ridge=0.1),
    VPCMEClassifier(n_estimators=4, random_state=0),
    VPCMEClassifier(IBLRClassifier(ridge=0.1), n_estimators=2, voting="soft", random_state=0),
    BaggingVPCPClassifier(n_estimators=4, threshold=(0.3, 0.7), random_state=0),
    VPCMEClassifier(n_estimators=3, bag=0.6, random_state=0),
    KernelRidgeLOOClassifier(random_state=0),
    KernelRidgeLOOClassifier("laplacian", scale=True, max_exact=25, n_landmarks=12, random_state=0),
    KernelRidgeLOOClassifier("linear", scale=True),
    KernelRidgeLOOClassifier("cosine", ridges=[0.1, 1.0]),
    VPCMEClassifier(KernelRidgeLOOClassifier(), n_estimators=2, random_state=0),
    MultiLabelLogisticRegression(random_state=0),
    MultiLabelLogisticRegression(0.5, calibrate=True, random_state=0),
]
CLASSIFIERS = [e for e in ESTIMATORS if hasattr(e, "predict")]


def name_of(estimator):
    return type(estimator).__name__


# ------------------------------------------------------------------------------ the search


@pytest.mark.parametrize(
    ("n", "d", "k"),
    [(2, 1, 1), (60, 3, 7), (257, 2, 1), (1500, 3, 10), (3000, 2, 3), (900, 2, 99)],
)
def test_neighbours_with_many_ties(library, n, d, k):
    """Small integers: most distances are tied, also between groups, and exact."""
    rng = np.random.RandomState(n)
    X = rng.randint(-2, 3, (n, d)).astype(float)
    Q = rng.randint(-2, 3, (40, d)).astype(float)
    here, there = ExactSearch(X, k), ExactSearch(library(X), k)
    found = there.query()
    assert library.holds(found)
    np.testing.assert_array_equal(to_numpy(found), here.query())
    np.testing.assert_array_equal(to_numpy(there.query(library(Q))), here.query(Q))


def working_memory(n_bytes, library):
    """Bound temporary arrays; on an accelerator they may fill twice the working memory."""
    on_gpu = getattr(library(np.zeros(1)).device, "type", "cpu") == "cuda"
    share = 0.5 if on_gpu else 1
    return config_context(working_memory=share * n_bytes / 2**20)


def test_neighbours_over_several_blocks(library):
    X = np.random.RandomState(0).randint(0, 4, (700, 3)).astype(float)
    expected = ExactSearch(X, 9).query()
    with working_memory(16_000, library):
        found = ExactSearch(library(X), 9).query()
    np.testing.assert_array_equal(to_numpy(found), expected)


def test_neighbours_far_from_the_origin(library):
    X = np.random.RandomState(0).standard_normal((400, 3)) + 1e9
    expected = ExactSearch(X, 5).query()
    search = ExactSearch(library(X), 5)
    np.testing.assert_array_equal(to_numpy(search.query()), expected)
    np.testing.assert_array_equal(to_numpy(search.query(library(X)))[:, 0], np.arange(400))


def test_no_queries_and_no_neighbours(library):
    X = library(np.arange(6.0).reshape(3, 2))
    assert tuple(ExactSearch(X, 2).query(X[:0, :]).shape) == (0, 2)
    assert tuple(ExactSearch(X[:1, :], 0).query().shape) == (1, 0)


# -------------------------------------------------------------------------- the estimators


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
@pytest.mark.parametrize("shape", [(300, 6), (20, 45), (1, 3), (2, 3)], ids=str)
def test_same_as_numpy(library, estimator, shape):
    X, Y = make_data(*shape)
    Q = make_data(30, shape[1], seed=1)[0]
    here = clone(estimator).fit(X, Y)
    there = clone(estimator).fit(library(X), library(Y))
    for name, value in vars(here).items():
        if isinstance(value, np.ndarray) and name != "classes_":  # labels are named on the host
            other = getattr(there, name)
            assert library.holds(other), name
            assert to_numpy(other).dtype == value.dtype, name
            if name != "components_":
                # Curves are fitted until their steps are small: six digits are the same.
                np.testing.assert_allclose(
                    to_numpy(other), value, rtol=1e-6, atol=1e-8, err_msg=name
                )
    if hasattr(here, "transform"):
        Z, expected = there.transform(library(Q)), here.transform(Q)
        assert library.holds(Z)
        np.testing.assert_allclose(to_numpy(Z @ Z.T), expected @ expected.T, atol=1e-8)
        return
    proba, labels = there.predict_proba(library(Q)), there.predict(library(Q))
    assert library.holds(proba)
    assert library.holds(labels)
    np.testing.assert_allclose(to_numpy(proba), here.predict_proba(Q), atol=1e-8)
    np.testing.assert_array_equal(to_numpy(labels), here.predict(Q))


@pytest.mark.parametrize("estimator", CLASSIFIERS[:2] + CLASSIFIERS[4:5], ids=name_of)
def test_large_offset_and_ties(library, estimator):
    rng = np.random.RandomState(0)
    X = rng.randint(0, 3, (200, 4)) + 1e6
    Y = (X @ rng.standard_normal((4, 3)) > X.mean(axis=0) @ np.zeros((4, 3))).astype(int)
    Y[:, 0] = rng.randint(0, 2, 200)
    here, there = clone(estimator).fit(X, Y), clone(estimator).fit(library(X), library(Y))
    if isinstance(estimator, MLkNNClassifier):  # exact: projections round differently
        np.testing.assert_array_equal(to_numpy(there.predict(library(X))), here.predict(X))
    assert np.isfinite(to_numpy(there.predict_proba(library(X)))).all()


@pytest.mark.parametrize("Ensemble", [VPCMEClassifier, BaggingVPCPClassifier])
def test_same_pairs_and_weights(library, Ensemble):
    X, Y = make_data(150, 5)
    here = Ensemble(n_estimators=5, random_state=3).fit(X, Y)
    there = Ensemble(n_estimators=5, random_state=3).fit(library(X), library(Y))
    for ours, theirs in zip(here.projections_, there.projections_, strict=True):
        for kind in ("must_link_", "cannot_link_"):
            assert library.holds(getattr(theirs, kind))
            np.testing.assert_array_equal(to_numpy(getattr(theirs, kind)), getattr(ours, kind))
        assert theirs.scaling_ == pytest.approx(ours.scaling_, rel=1e-9)
    np.testing.assert_array_equal(to_numpy(there.sample_weights_), here.sample_weights_)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_single_precision_stays(library, estimator):
    X, Y = make_data(120, 5)
    X = X.astype(np.float32)
    for form in (np.asarray, library):
        model = clone(estimator).fit(form(X), form(Y))
        for method in ("transform", "predict_proba"):
            if hasattr(model, method):
                assert to_numpy(getattr(model, method)(form(X))).dtype == np.float32
        for name in ("components_", "prior_", "likelihood_", "coef_"):
            if hasattr(model, name):
                assert to_numpy(getattr(model, name)).dtype == np.float32, name
        for projection in getattr(model, "projections_", []):
            assert to_numpy(projection.components_).dtype == np.float32


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name_of)
def test_labels_elsewhere_and_one_target(library, estimator):
    X, Y = make_data(60, 4)
    mixed = clone(estimator).fit(library(X), Y)
    assert library.holds(mixed.predict(library(X)))
    words = np.where(Y[:, 0] > 0, "yes", "no")
    expected = clone(estimator).fit(X, words).predict(X)
    np.testing.assert_array_equal(
        clone(estimator).fit(library(X), words).predict(library(X)), expected
    )
    vector = clone(estimator).fit(library(X), library(Y[:, 0] + 5))
    labels, proba = vector.predict(library(X)), vector.predict_proba(library(X))
    assert library.holds(labels)
    assert set(to_numpy(labels).tolist()) <= {5, 6}
    assert tuple(proba.shape) == (60, 2)
    np.testing.assert_allclose(to_numpy(proba).sum(axis=1), 1)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_moved_to_the_host(library, estimator):
    X, Y = make_data(80, 5)
    there = clone(estimator).fit(library(X), library(Y))
    method = "transform" if hasattr(there, "transform") else "predict_proba"
    expected = to_numpy(getattr(there, method)(library(X)))
    host = pickle.loads(pickle.dumps(to_host(there)))
    np.testing.assert_allclose(getattr(host, method)(X), expected, atol=1e-10)
    assert library.holds(getattr(there, method)(library(X)))  # the original has not moved


def test_moved_by_scikit_learn(library):
    move = pytest.importorskip("sklearn.utils._array_api")
    if not hasattr(move, "move_estimator_to"):
        pytest.skip("this scikit-learn does not move estimators")
    X, Y = make_data(80, 5)
    here = VPCMEClassifier(n_estimators=2, random_state=0).fit(X, Y)
    xp, device = get_namespace(library(X))[0], library(X).device
    there = move.move_estimator_to(here, xp, device)
    np.testing.assert_allclose(
        to_numpy(there.predict_proba(library(X))), here.predict_proba(X), atol=1e-10
    )


def test_staged_predictions(library):
    X, Y = make_data(50, 4)
    model = VPCMEClassifier(n_estimators=3, random_state=0).fit(library(X), library(Y))
    stages = list(model.staged_predict_proba(library(X)))
    assert len(stages) == 3
    assert all(map(library.holds, stages))
    labels = list(model.staged_predict(library(X)))
    np.testing.assert_array_equal(to_numpy(labels[-1]), to_numpy(model.predict(library(X))))


@pytest.mark.parametrize("n_members", [2, 6, 10, 30])
def test_half_of_the_votes_is_a_tie(library, n_members):
    """As many members for as against a label: the mean probability decides."""
    X, Y = make_data(40, 3)
    model = VPCMEClassifier(n_estimators=n_members, random_state=0).fit(library(X), library(Y))
    halves = [np.full(to_numpy(e._posterior).shape, 0.9) for e in model.estimators_]
    for number, (estimator, table) in enumerate(zip(model.estimators_, halves, strict=True)):
        estimator._posterior = library(table if number % 2 else table - 0.6)
    _, votes = model._mean(model._member_outputs(library(X)))
    assert (to_numpy(votes) == 0.5).all()
    assert (to_numpy(model.predict(library(X))) == 1).all()


# ------------------------------------------------------------------ constraints and metrics


def test_constraints(library):
    Y = make_data(90)[1]
    for ours, theirs in zip(
        draw_constraints(Y, random_state=1),
        draw_constraints(library(Y), random_state=1),
        strict=True,
    ):
        assert library.holds(theirs)
        np.testing.assert_array_equal(to_numpy(theirs), ours)
    assert library.holds(label_similarity(library(Y), library(Y[::-1])))


@pytest.mark.parametrize("shape", [(70, 8), (9, 1), (1, 5), (40, 33)], ids=str)
def test_metrics(library, shape, monkeypatch):
    rng = np.random.RandomState(0)
    Y, Z = (rng.random_sample((2, *shape)) < 0.3).astype(int)
    S = rng.randint(0, 6, shape) / 6  # ties
    expected = evaluate(Y, S, Z, metrics=METRICS)
    found = evaluate(library(Y), library(S), library(Z), metrics=METRICS)
    for name, value in expected.items():
        assert isinstance(found[name], float)
        np.testing.assert_allclose(found[name], value, rtol=1e-12, err_msg=name)
    mixed = evaluate(Y, library(S), library(Z > 0))
    for name in PAPER_METRICS:
        assert mixed[name] == pytest.approx(expected[name], rel=1e-12)
    without = evaluate(library(Y), library(S))
    assert without == pytest.approx(evaluate(Y, S), rel=1e-12)


def test_scores_and_labels_of_an_estimator(library):
    """Scorers get NumPy arrays, wherever the estimator computes."""
    X, Y = make_data(60)
    model = MLkNNClassifier().fit(library(X), library(Y))
    scores = estimator_scores(model, library(X), 4)
    labels = estimator_labels(model, library(X))
    assert isinstance(scores, np.ndarray)
    assert isinstance(labels, np.ndarray)
    np.testing.assert_array_equal(scores, to_numpy(model.predict_proba(library(X))))
    np.testing.assert_array_equal(labels, to_numpy(model.predict(library(X))))


def test_bad_labels_and_scores(library):
    Y, S = np.eye(3, dtype=int), np.eye(3)
    with pytest.raises(ValueError, match="must hold only 0 and 1"):
        evaluate(library(Y + 1), library(S))
    with pytest.raises(ValueError, match="NaN or infinity"):
        evaluate(library(Y), library(np.where(S, np.inf, 0)))
    with pytest.raises(ValueError, match="same shape"):
        evaluate(library(Y), library(S[:2]))
    with pytest.raises(ValueError, match="shape"):
        evaluate(library(Y), library(np.zeros((0, 3))))


# -------------------------------------------------------------------------- errors, checks


def test_a_base_of_the_host_is_refused(library):
    X, Y = make_data(30)
    with pytest.raises(ValueError, match="RandomForestClassifier works on the host only"):
        VPCMEClassifier(RandomForestClassifier()).fit(library(X), library(Y))


@pytest.mark.parametrize("estimator", ESTIMATORS[:2] + ESTIMATORS[5:6], ids=name_of)
def test_bad_input(library, estimator):
    X, Y = make_data(30)
    with pytest.raises(ValueError, match="NaN"):
        clone(estimator).fit(library(np.where(X > 1, np.nan, X)), library(Y))
    with pytest.raises(ValueError, match="must hold only 0 and 1"):
        clone(estimator).fit(library(X), library(Y + 1))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clone(estimator).fit(library(X), library(Y[:-1]))
    model = clone(estimator).fit(library(X), library(Y))
    method = model.transform if hasattr(model, "transform") else model.predict
    with pytest.raises(ValueError, match="must use the same namespace"):
        method(X)


def test_moving_to_a_device(monkeypatch):
    X, Y = make_data(5)
    assert move_to_device(X, Y, "cpu")[0] is X
    with pytest.raises(ValueError, match="device must be 'cpu', 'cuda' or 'cuda:N'"):
        move_to_device(X, Y, "gpu")
    monkeypatch.setitem(sys.modules, "torch", None)  # cannot be imported
    with pytest.raises(ValueError, match="needs torch: install"):
        move_to_device(X, Y, "cuda")


def test_a_device_that_does_not_exist():
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"device='cuda:99' does not exist"):
        move_to_device(*make_data(5), "cuda:99")


def scikit_learns_checks():
    from sklearn.utils import estimator_checks

    listed = getattr(estimator_checks, "_yield_array_api_checks", None)
    if listed is None:
        return
    for estimator in [ESTIMATORS[number] for number in (0, 1, 3, 5, 7, 9)]:
        for number, check in enumerate(listed(estimator)):
            yield pytest.param(estimator, check, id=f"{name_of(estimator)}-{number}")


@pytest.mark.parametrize(("estimator", "check"), list(scikit_learns_checks()))
def test_scikit_learns_checks(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(name_of(estimator), clone(estimator))
