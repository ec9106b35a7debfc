"""The exported Kin ensemble gives Python's results, on every kind of column."""

import json

import numpy as np
import pytest
from scipy import sparse

from labelkin import KinEnsembleClassifier
from labelkin.kin import Limits
from labelkin.onnx import to_onnx
from labelkin.onnx._graph import Graph, Tensor
from support.kin import related_labels

onnx = pytest.importorskip("onnx", reason="needs the extra 'onnx'")
pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")

from support.onnx_session import open_session, run

SMALL = {"n_projections": 2, "n_trees": 12, "random_state": 0, "n_jobs": 1}


def measurements(rng):
    X = rng.normal(size=(200, 6)) * [1, 10, 0.1, 1, 1, 1] + 1000
    Z = (X - 1000) / [1, 10, 0.1, 1, 1, 1]
    return X, (Z[:, :3] + Z[:, 3:] + 0.3 * rng.normal(size=(200, 3)) > 0).astype(int)


def counts(rng):
    X = rng.poisson(0.15, size=(200, 60)).astype(float)
    return X, (X[:, :4] + X[:, 4:8] > 0).astype(int)


def codes(rng):
    X = rng.integers(-1, 3, size=(200, 5)).astype(float)  # ties, also at 0
    return X, (X[:, :3] + rng.integers(0, 2, size=(200, 3)) > 1).astype(int)


def rank_deficient(rng):
    X = rng.normal(size=(40, 70))  # more columns than rows: projections of a reduced view
    return np.vstack([X, X[:20]]), (np.vstack([X, X[:20]])[:, :3] > 0).astype(int)


PARTS = Limits(exact_rows=60, part_work=160 * 90**2)
LANDMARKS = Limits(exact_rows=60, part_work=0.1)
KINDS = [(data, "medium") for data in (measurements, counts, codes, rank_deficient)]


@pytest.mark.parametrize(
    ("data", "effort"), [*KINDS, (measurements, PARTS), (measurements, LANDMARKS)]
)
def test_same_as_python(data, effort):
    X, Y = data(np.random.default_rng(0))
    train, test = X[:-40], X[-40:]
    model = KinEnsembleClassifier(**SMALL, effort=effort).fit(train, Y[:-40])
    found, labels = run(to_onnx(model), test)
    np.testing.assert_allclose(found, model.predict_proba(test), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(labels, model.predict(test))
    single = test.astype(np.float32)
    found, _ = run(to_onnx(model, dtype=np.float32), single)
    np.testing.assert_allclose(found, model.predict_proba(single), rtol=0, atol=1e-6)


def test_sparse_rows():
    X, Y = counts(np.random.default_rng(0))
    for effort in ("medium", Limits(dense_entries=10)):
        model = KinEnsembleClassifier(**SMALL, effort=effort).fit(
            sparse.csr_array(X[:160]), Y[:160]
        )
        found, _ = run(to_onnx(model), X[160:])
        np.testing.assert_allclose(found, model.predict_proba(X[160:]), rtol=0, atol=1e-7)


def test_weights_and_cuts():
    X, Y = related_labels(exclusive=True)
    model = KinEnsembleClassifier(**SMALL, decision="macro_f1").fit(X[:250], Y[:250])
    assert np.ptp(model.weights_) > 0.01
    found, labels = run(to_onnx(model), X[250:])
    np.testing.assert_allclose(found, model.predict_proba(X[250:]), rtol=0, atol=1e-7)
    np.testing.assert_array_equal(labels, model.predict(X[250:]))


def test_few_rows_and_constant_labels():
    X, Y = measurements(np.random.default_rng(0))
    Y[:, 1] = 1
    model = KinEnsembleClassifier(**SMALL).fit(X[:3], Y[:3])  # trees of a single leaf among them
    found, _ = run(to_onnx(model), X[3:9])
    np.testing.assert_allclose(found, model.predict_proba(X[3:9]), rtol=0, atol=1e-7)


def test_any_number_of_rows():
    X, Y = measurements(np.random.default_rng(0))
    exported = to_onnx(KinEnsembleClassifier(**SMALL).fit(X[:80], Y[:80]))
    together = run(exported, X[80:90])[0]
    alone = np.vstack([run(exported, X[i : i + 1])[0] for i in range(80, 90)])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-12)
    assert run(exported, X[:0])[0].shape == (0, 3)


@pytest.mark.parametrize("density", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("factor", [1, 1 / 3])
def test_matrices_are_stored_exactly(density, factor):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 300, size=(30, 40)) * factor * (rng.random((30, 40)) < density)
    for given in (values, sparse.csr_matrix(values)):
        graph = Graph()
        rows = Tensor(graph, "X", np.float64)
        found = rows + graph.matrix(given)
        exported = graph.model([(rows, [30, 40])], {"out": (found, [30, 40])}, {})
        assert len(exported.SerializeToString()) < 1000 + min(12 * (values != 0).sum(), 9600)
        np.testing.assert_array_equal(run(exported, np.zeros((30, 40)))[0], values)


# --------------------------------------------------------------------------- command line

FORMATS = ["%m/%d/%Y", "%Y-%m-%d %H:%M", "%d.%m.%y %H:%M:%S"]


@pytest.mark.parametrize("trend", [False, True])
@pytest.mark.parametrize("training", [slice(100, 250), slice(100, 102), slice(3, 4)])
@pytest.mark.parametrize("form", FORMATS)
def test_dates(form, training, trend):
    from datetime import datetime, timedelta

    from labelkin.onnx._transformers import convert
    from labelkin.tabular._dates import DateEncoder, find_day_first

    start = datetime(1972, 1, 1, 9, 5)
    dates = [start + timedelta(days=97.3 * i) for i in range(360)]
    written = [date.strftime(form) for date in dates]
    cells = np.array([[*written, ""], ["", *written[::-1]]], dtype=object).T
    step = DateEncoder(bool(find_day_first(written)), trend).fit(cells[training])
    graph = Graph()
    rows = Tensor(graph, "X", object)
    found = convert(step, rows)
    exported = graph.model([(rows, ["N", 2])], {"out": (found, ["N", None])}, {})
    for given in (cells, cells[:1]):
        np.testing.assert_array_equal(run(exported, given)[0], step.transform(given))
    assert run(exported, cells[:0])[0].shape == (0, 8 if trend else 6)


def test_dates_with_words_are_refused():
    from labelkin.onnx._text import _date_encoder
    from labelkin.tabular import DateEncoder

    for date in ("14 Mar 2025", "3/14/2025 2:05 PM"):
        with pytest.raises(ValueError, match="cannot be exported to ONNX; write them as 2025-03"):
            _date_encoder(DateEncoder().fit([[date], [None]]), None)


TALE = "the DETECTIVE a gun in café of Straße heist clown naïve widow party dog"
WORDS = TALE.split()
COLUMNS = {
    "numbers": ["year", "length"],
    "all": ["plot", "year", "length", "country", "seen", "shown"],
}


def write_table(path, rng, n):
    """Write films with a column of every kind, and holes in each."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    plots = [" ".join(rng.choice(WORDS, size=rng.integers(3, 12))) for _ in range(n)]
    frame = pandas.DataFrame({"plot": plots, "year": rng.integers(1950, 2020, n).astype(float)})
    frame["length"] = rng.normal(100, 20, n).round(3)
    frame["country"] = rng.choice(["France", "Japan", "Chile"], size=n)
    frame["seen"] = rng.choice(["true", "false"], size=n)
    days = pandas.Timestamp("2001-01-31") + pandas.to_timedelta(rng.integers(0, 6000, n), "D")
    frame["shown"] = days.strftime("%d.%m.%Y")
    frame["crime"] = ((frame["length"] > 100) | frame["plot"].str.contains("gun")).astype(int)
    frame["comedy"] = ((frame["year"] > 1990) & (frame["seen"] == "true")).astype(int)
    for column in COLUMNS["all"]:
        frame.loc[rng.random(n) < 0.1, column] = None
    frame.to_csv(path, index=False)
    return frame


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    pytest.importorskip("typer")
    folder, rng = tmp_path_factory.mktemp("films"), np.random.default_rng(5)
    write_table(folder / "train.csv", rng, 150)
    return folder, write_table(folder / "new.csv", rng, 40)


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_kind_of_column(kind, films, monkeypatch, capsys):
    from labelkin.cli import main

    folder, frame = films
    monkeypatch.chdir(folder)
    options = ["--labels", "crime,comedy", "-q", "--out", f"{kind}.labelkin", "--overwrite"]
    left_out = [name for name in COLUMNS["all"] if name not in COLUMNS[kind]]
    options += [word for name in left_out for word in ("--ignore", name)]
    options += ["--set", "n_trees=12", "--set", "n_projections=2"]
    assert main(["fit", "train.csv", *options, "--embedding", "none"]) == 0
    assert main(["predict", f"{kind}.labelkin", "new.csv", "--proba", "--json"]) == 0
    expected = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert main(["export", f"{kind}.labelkin", "m.onnx", "--json", "--overwrite"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["columns"] == COLUMNS[kind]
    given = {}
    session = open_session("m.onnx")
    assert [tensor.name for tensor in session.get_inputs()] == facts["inputs"]
    for tensor in session.get_inputs():
        names = facts["columns"] if tensor.name == "X" else [tensor.name]
        if tensor.type == "tensor(string)":
            given[tensor.name] = frame[names].fillna("").to_numpy(object)
        else:  # true and false are 1 and 0
            numbers = frame[names].map(lambda cell: {"true": 1, "false": 0}.get(cell, cell))
            given[tensor.name] = numbers.to_numpy(float)
    probabilities, labels = session.run(None, given)
    written = [[row["probabilities"][name] for name in facts["labels"]] for row in expected]
    np.testing.assert_allclose(probabilities, written, rtol=0, atol=1e-5)
    marked = [[int(name in row["labels"]) for name in facts["labels"]] for row in expected]
    np.testing.assert_array_equal(labels, marked)
