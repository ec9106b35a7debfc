"""Exported models say in ONNX Runtime what the fitted ones say in Python."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)

from labelkin import (
    MDDM,
    BaggingVPCPClassifier,
    DecisionClassifier,
    IBLRClassifier,
    KernelRidgeLOOClassifier,
    MLkNNClassifier,
    PairwiseConstraintProjection,
    VPCMEClassifier,
)
from labelkin._utils.array_api import array_api_dispatch
from labelkin.datasets import load_digit_scenes
from labelkin.onnx import save_onnx, to_onnx
from labelkin.tabular._pipeline import StringConverter

onnx = pytest.importorskip("onnx", reason="needs the extra 'onnx'")
runtime = pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")


def run(exported, X):
    session = runtime.InferenceSession(
        exported.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(["probabilities", "labels"], {"X": X})


def assert_same(model, X, dtype=np.float64, atol=1e-5):
    exported = to_onnx(model, dtype=dtype)
    onnx.checker.check_model(exported, full_check=True)
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
    MLkNNClassifier(n_neighbors=3, smoothing=0.0),
    IBLRClassifier(ridge=0.1),
    IBLRClassifier(ridge=0.1, add_features=True),
    VPCMEClassifier(n_estimators=5, random_state=0),
    VPCMEClassifier(n_estimators=4, voting="soft", threshold=(0.3, 0.9), random_state=0),
    VPCMEClassifier(IBLRClassifier(ridge=0.1), n_estimators=2, random_state=0),
    BaggingVPCPClassifier(n_estimators=4, random_state=0),
    VPCMEClassifier(n_estimators=12, bag=0.5, vote_weights="oob", random_state=0),
    VPCMEClassifier(n_estimators=20, bag=0.6, vote_weights="oob", calibrate=True, random_state=0),
    BaggingVPCPClassifier(n_estimators=4, max_features=0.5, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_same_as_python(model, scenes):
    X, Y, test = scenes
    assert_same(model.fit(X, Y), test)


@pytest.mark.parametrize("model", MODELS[:2] + MODELS[4:6], ids=str)
def test_float32(model, scenes):
    X, Y, test = scenes
    assert_same(model.fit(X.astype(np.float32), Y), test, np.float32)


def test_weights_and_calibration_matter(scenes):
    """An export without them would be noticed."""
    X, Y, test = scenes
    model = MODELS[-2].fit(X, Y)
    assert np.ptp(model.vote_weights_) > 0.1
    assert (
        np.abs(model._mean(model._member_outputs(test))[0] - model.predict_proba(test)).max() > 0.01
    )


@pytest.mark.parametrize("model", [MODELS[0], MODELS[2], MODELS[-2]], ids=str)
def test_fitted_on_a_device(model, scenes):
    strict = pytest.importorskip("array_api_strict")
    X, Y, test = scenes
    for chain in (clone(model), make_pipeline(PairwiseConstraintProjection(random_state=0), model)):
        with array_api_dispatch():
            there = clone(chain).fit(strict.asarray(X), strict.asarray(Y))
            exported = [to_onnx(there)]
        exported.append(to_onnx(there))
        expected = clone(chain).fit(X, Y).predict_proba(test)
        for graph in exported:
            np.testing.assert_allclose(run(graph, test)[0], expected, rtol=0, atol=1e-5)


def test_float32_rows_to_a_float64_model_and_back(scenes):
    X, Y, test = scenes
    assert_same(VPCMEClassifier(n_estimators=2, random_state=0).fit(X, Y), test, np.float32)
    assert_same(MLkNNClassifier().fit(X.astype(np.float32), Y), test, np.float64)


@pytest.mark.parametrize("k", [1, 7, 10, 60])
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


@pytest.mark.parametrize("classes", [[0, 1], [3, 7], ["no", "yes"], [False, True], [-1.0, 1.0]])
def test_one_dimensional_target(classes, scenes):
    X, Y, test = scenes
    y = np.array(classes)[Y[:, 0].astype(int)]
    assert_same(MLkNNClassifier().fit(X, y), test)
    assert_same(VPCMEClassifier(n_estimators=2, random_state=0).fit(X, y), test)


def test_one_class_only(scenes):
    X, _, test = scenes
    assert_same(MLkNNClassifier().fit(X, np.full(len(X), "yes")), test)


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
    with pytest.raises(ValueError, match=r"step Normalizer cannot be exported.*StandardScaler"):
        to_onnx(make_pipeline(Normalizer(), MLkNNClassifier()).fit(X, Y))
    with pytest.raises(ValueError, match="must be a fitted classifier, got str"):
        to_onnx("model.skops")
    with pytest.raises(NotFittedError):
        to_onnx(MLkNNClassifier())


def test_too_large(scenes, monkeypatch):
    X, Y, _ = scenes
    monkeypatch.setattr("labelkin.onnx._graph._LIMIT", 1000)
    with pytest.raises(ValueError, match="at most 2 GB"):
        to_onnx(MLkNNClassifier().fit(X, Y))


def test_missing_extra(scenes, monkeypatch):
    X, Y, _ = scenes
    model = MLkNNClassifier().fit(X, Y)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"onnx is needed .* pip install 'labelkin\[onnx\]'"):
        to_onnx(model)


@pytest.mark.parametrize("name", ["yeast", "enron", "medical"])
def test_the_papers_data(name, paper_data):
    """Documents that occur twice are equally near to every other one."""
    X, Y, folds = paper_data(name)
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


# ------------------------------------------------------------------------- tables of columns

TALE = "the DETECTIVE, a gun, in a café of Straße x²: heist! clown naïve widow party_dog"
WORDS = TALE.split()
TABLE = ["plot", "year", "length", "country"]


def write_csv(path, rng, n, *, gaps=True):
    """Films: a text, a number, a category, two labels; with holes."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    plots = [" ".join(rng.choice(WORDS, size=rng.integers(1, 12))) for _ in range(n)]
    frame = pandas.DataFrame({"plot": plots, "year": rng.integers(1950, 2020, n).astype(float)})
    frame["length"] = rng.normal(100, 20, n).round(3)
    frame["country"] = rng.choice(["France", "Japan", "Chile"], size=n)
    frame["crime"] = [int("gun" in plot or "heist" in plot) for plot in plots]
    frame["comedy"] = (frame["year"] > 1990).astype(int)
    if gaps:
        for column in ("plot", "year", "country"):
            frame.loc[rng.random(n) < 0.1, column] = None
    frame.to_csv(path, index=False)
    return frame


PROGRAM = """
import json, sys
import numpy, onnxruntime
with open("rows.json") as file:
    rows = json.load(file)
session = onnxruntime.InferenceSession("m.onnx")
kinds = {"tensor(double)": float, "tensor(float)": numpy.float32, "tensor(string)": object}
given = {i.name: numpy.array(rows[i.name], dtype=kinds[i.type]) for i in session.get_inputs()}
probabilities, labels = session.run(None, given)
numpy.savez("found.npz", probabilities=probabilities, labels=labels)
assert not {"labelkin", "sklearn", "scipy"} & set(sys.modules)
"""


def cells(frame, column):
    values = frame[column]
    if values.dtype.kind == "f":
        return [[None if v != v else v] for v in values]
    return [["" if v is None or v != v else v] for v in values]


@pytest.fixture
def films(tmp_path, monkeypatch):
    pytest.importorskip("typer")
    pytest.importorskip("skops")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    write_csv("train.csv", rng, 150)
    new = write_csv("new.csv", rng, 40)
    new.loc[0, ["plot", "country"]] = ["", "Peru"]  # no words; a country never seen
    new.loc[1, "plot"] = "ÉLAN, CAFÉ; cafe\u0301! ﬁx strasse — 한국 detective\ngun"
    new.to_csv("new.csv", index=False)
    return new


@pytest.mark.parametrize("model", ["mlknn", "vpcme", "iblr_scaled"])
@pytest.mark.parametrize(
    ("kinds", "inputs"),
    [
        ("numbers", ["X"]),
        ("mixed", ["year", "length", "country"]),
        ("text", ["plot"]),
        ("all", ["plot", "year", "length", "country"]),
    ],
)
def test_from_fit_to_a_program_without_labelkin(kinds, inputs, model, films, capsys):
    from labelkin.cli import main
    from labelkin.persistence import load_model

    left_out = {
        "numbers": ["plot", "country"],
        "mixed": ["plot"],
        "text": ["year", "length", "country"],
        "all": [],
    }[kinds]
    options = ["--labels", "crime,comedy", "--model", model, "--out", "m.skops", "--quiet"]
    if "plot" not in left_out:
        options += ["--text", "plot"]
    options += [word for name in left_out for word in ("--ignore", name)]
    options += ["--set", "n_estimators=3"] if model == "vpcme" else []
    assert main(["fit", "train.csv", *options]) == 0
    assert main(["export", "m.skops", "m.onnx", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [item["name"] for item in said["inputs"]] == inputs
    assert said["labels"] == ["crime", "comedy"]
    assert said["columns"] == [name for name in TABLE if name not in left_out]
    names = said["columns"]
    given = {name: cells(films, name) for name in names}
    if inputs == ["X"]:
        given = {"X": np.hstack([given[name] for name in names]).tolist()}
    with open("rows.json", "w") as file:
        json.dump(given, file)
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
    expected = load_model("m.skops")
    with np.load("found.npz") as found:
        np.testing.assert_allclose(
            found["probabilities"], expected.predict_proba(films[names]), rtol=0, atol=1e-5
        )
        np.testing.assert_array_equal(found["labels"], expected.predict(films[names]))
    metadata = {entry.key: entry.value for entry in onnx.load("m.onnx").metadata_props}
    assert json.loads(metadata["feature_names"]) == names


def test_export_command(films, capsys):
    from labelkin.cli import main

    options = ["--labels", "crime,comedy", "--model", "mlknn", "--text", "plot", "-q"]
    assert main(["fit", "train.csv", *options, "--out", "m.skops"]) == 0
    assert main(["export", "m.skops", "m.onnx", "--float32"]) == 0
    out = capsys.readouterr().out
    assert "plot (string, N × 1), year (float32, N × 1)" in out
    assert "onnxruntime.InferenceSession('m.onnx').run(None, {'plot': …" in out
    assert main(["export", "m.skops", "m.onnx"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["export", "m.skops", "m.onnx", "--overwrite", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def transformed(step, columns, dtype=np.float64):
    """What the graph makes of columns, each (n, 1)."""
    from labelkin.onnx._convert import transform
    from labelkin.onnx._graph import Columns, Graph, Tensor

    inputs = {f"c{i}": np.asarray(column).reshape(-1, 1) for i, column in enumerate(columns)}
    graph = Graph(list(inputs))
    table = Columns([Tensor(name, column.dtype) for name, column in inputs.items()])
    rows = table if len(columns) > 1 else table.columns[0]
    graph.op("Identity", transform(step, graph, rows).name, output="out")
    kinds = {name: (column.dtype, ["N", 1]) for name, column in inputs.items()}
    exported = graph.model(kinds, {"out": (dtype, ["N", None])}, {})
    session = runtime.InferenceSession(exported.SerializeToString())
    return session.run(["out"], inputs)[0]


TEXTS = [
    "The cat sat on the mat.",
    "A dog's DOG, dogs & ﬁsh: crème brûlée",
    "naïve cafés №5 x² ½ Returns™ the cat\tsat\n\non\u00a0it",
    "W" * 100 + " cat_2 the",
    "",
    " . ",
    "Ünïcödé İstanbul straße 한국 사람 cre\u0300me",
]


@pytest.mark.parametrize(
    "step",
    [
        TfidfVectorizer(sublinear_tf=True, strip_accents="unicode"),
        TfidfVectorizer(lowercase=False, norm="l1"),
        TfidfVectorizer(strip_accents="ascii", ngram_range=(1, 3), use_idf=False),
        TfidfVectorizer(stop_words="english", norm=None, token_pattern=r"(?u)\b\w+\b"),
        CountVectorizer(ngram_range=(2, 2), strip_accents="unicode"),
        CountVectorizer(binary=True),
        make_pipeline(CountVectorizer(), TfidfTransformer()),
    ],
    ids=str,
)
def test_texts(step):
    fitted = step.fit([*TEXTS, "it sat on on a mat, the dog", "creme cafe 12 fish cat sat on it"])
    texts = [*TEXTS, *[f"ca{chr(c)}t mat{chr(c)} {chr(c)}the" for c in range(1, 0x2200)]]
    texts = [text for text in texts if "Σ" not in text]
    found = transformed(fitted, [np.array(texts, dtype=object)])
    np.testing.assert_allclose(found, fitted.transform(texts).toarray(), atol=1e-12)
    assert transformed(fitted, [np.array([], dtype=object)]).shape == (0, found.shape[1])


@pytest.mark.parametrize(
    "step",
    [
        TfidfVectorizer(analyzer="char"),
        TfidfVectorizer(token_pattern="[a-z]+"),
        CountVectorizer(tokenizer=str.split, token_pattern=None),
        CountVectorizer(stop_words=["the"], ngram_range=(1, 2)),
    ],
    ids=str,
)
def test_texts_that_stay_in_python(step):
    model = make_pipeline(step, MLkNNClassifier(1)).fit(TEXTS, np.eye(len(TEXTS), dtype=int))
    with pytest.raises(ValueError, match="cannot be exported to ONNX; keep it in Python"):
        to_onnx(model)


@pytest.mark.parametrize(
    "step",
    [
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False),
        OneHotEncoder(drop="if_binary", handle_unknown="ignore"),
        OneHotEncoder(min_frequency=3, handle_unknown="infrequent_if_exist"),
        OneHotEncoder(max_categories=2, handle_unknown="ignore"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_categories(step):
    words = np.array([*"aaaabbbbcd", None], dtype=object)
    numbers = np.array([1.0, 2, 2, 2, 1, 1, 1, 5, 2, np.nan, 1])
    fitted = step.fit(np.column_stack([words, numbers]).astype(object))
    fitted.categories_[1] = fitted.categories_[1].astype(float)
    seen = np.array(["a", "d", "new", None, "b"], dtype=object)
    values = np.array([5.0, 1, 7, np.nan, 2])
    expected = step.transform(np.column_stack([seen, values]).astype(object))
    expected = expected if isinstance(expected, np.ndarray) else expected.toarray()
    given = np.array(["" if word is None else word for word in seen], dtype=object)
    np.testing.assert_array_equal(transformed(fitted, [given, values]), expected)


@pytest.mark.parametrize("decision", ["f1", "macro_f1", "cardinality", "fixed"])
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


def test_decisions_over_tables(films):
    names, target = ["plot", "year"], films[["crime", "comedy"]]
    parts = [("w", make_pipeline(StringConverter(), TfidfVectorizer()), "plot")]
    columns = ColumnTransformer(parts, remainder=SimpleImputer())
    model = DecisionClassifier(make_pipeline(columns, MLkNNClassifier(3)), "micro_f1")
    model.fit(films[names], target)
    given = {name: np.array(cells(films, name)) for name in names}
    given = {"plot": given["plot"].astype(object), "year": given["year"].astype(float)}
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    probabilities, labels = session.run(None, given)
    np.testing.assert_allclose(probabilities, model.predict_proba(films[names]), atol=1e-5)
    np.testing.assert_array_equal(labels, model.predict(films[names]))


def test_decisions_that_stay_in_python(scenes):
    X, Y, _ = scenes
    with pytest.raises(ValueError, match="expected_f1' cannot be exported"):
        to_onnx(DecisionClassifier(decision="expected_f1").fit(X, Y))


def test_columns_named_as_outputs():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"labels": list("abab"), "/constant_0": [1.0, 2, 3, 4]})
    encode = OneHotEncoder(handle_unknown="ignore")
    columns = ColumnTransformer([("c", encode, ["labels"])], remainder="passthrough")
    model = make_pipeline(columns, MLkNNClassifier(1)).fit(frame, [[0, 1], [1, 0], [0, 1], [1, 1]])
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    assert [i.name for i in session.get_inputs()] == ["labels_", "/constant_0"]
    given = [frame[name].to_numpy(object if i == 0 else float) for i, name in enumerate(frame)]
    rows = {i.name: v.reshape(-1, 1) for i, v in zip(session.get_inputs(), given, strict=True)}
    np.testing.assert_allclose(session.run(None, rows)[0], model.predict_proba(frame), atol=1e-5)
