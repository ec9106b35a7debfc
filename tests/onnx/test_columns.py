"""Exported pipelines of texts, categories and numbers give Python's results."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
)

from labelkin import (
    DecisionClassifier,
    MLkNNClassifier,
    MultiLabelLogisticRegression,
    TableClassifier,
)
from labelkin.onnx import to_onnx
from labelkin.onnx._graph import Graph
from labelkin.tabular._pipeline import StringConverter
from labelkin.tabular._text import make_vectorizer

onnx = pytest.importorskip("onnx", reason="needs the extra 'onnx'")
pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")

from support.onnx_session import open_session

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
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    write_csv("train.csv", rng, 150)
    new = write_csv("new.csv", rng, 40)
    new.loc[0, ["plot", "country"]] = ["", "Peru"]  # no words; a country never seen
    new.loc[1, "plot"] = "ÉLAN, CAFÉ; cafe\u0301! ﬁx strasse — 한국 detective\ngun"
    new.to_csv("new.csv", index=False)
    return new


@pytest.mark.parametrize(
    ("kinds", "model"),
    [
        ("text", "mlknn"),
        ("mixed", "iblr_scaled"),
        ("all", "vpcme"),
    ],
)
@pytest.mark.filterwarnings("ignore:.* country that no training row has")
def test_from_fit_to_a_program_without_labelkin(kinds, model, films, capsys):
    from labelkin.cli import main
    from labelkin.persistence import load_model

    inputs = {
        "mixed": ["year", "length", "country"],
        "text": ["plot"],
        "all": ["plot", "year", "length", "country"],
    }[kinds]
    left_out = {
        "mixed": ["plot"],
        "text": ["year", "length", "country"],
        "all": [],
    }[kinds]
    options = ["--labels", "crime,comedy", "--model", model, "--out", "m.labelkin", "--quiet"]
    if "plot" not in left_out:
        options += ["--text", "plot"]
    options += [word for name in left_out for word in ("--ignore", name)]
    options += ["--set", "n_estimators=3"] if model == "vpcme" else []
    assert main(["fit", "train.csv", *options, "--embedding", "none"]) == 0
    assert main(["export", "m.labelkin", "m.onnx", "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["inputs"] == inputs
    assert described["labels"] == ["crime", "comedy"]
    assert described["columns"] == [name for name in TABLE if name not in left_out]
    names = described["columns"]
    given = {name: cells(films, name) for name in names}
    with open("rows.json", "w") as file:
        json.dump(given, file)
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
    expected = load_model("m.labelkin")
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
    assert main(["fit", "train.csv", *options, "--embedding", "none", "--out", "m.labelkin"]) == 0
    assert main(["export", "m.labelkin", "m.onnx", "--float32"]) == 0
    out = capsys.readouterr().out
    assert "inputs:  plot, year" in out
    assert "onnxruntime.InferenceSession('m.onnx').run(None, {'plot': …" in out
    assert main(["export", "m.labelkin", "m.onnx"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["export", "m.labelkin", "m.onnx", "--overwrite", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def transformed(step, columns):
    """What the graph makes of columns, each (n, 1)."""
    from labelkin.onnx._graph import Tensor
    from labelkin.onnx._transformers import convert

    inputs = {f"c{i}": np.asarray(column).reshape(-1, 1) for i, column in enumerate(columns)}
    graph = Graph()
    table = [Tensor(graph, name, column.dtype) for name, column in inputs.items()]
    found = convert(step, table if len(columns) > 1 else table[0])
    exported = graph.model([(t, ["N", 1]) for t in table], {"out": (found, ["N", None])}, {})
    return open_session(exported).run(["out"], inputs)[0]


TEXTS = [
    "The cat sat on the mat.",
    "A dog's DOG, dogs & ﬁsh: crème brûlée",
    "naïve cafés №5 x² ½ Returns™ the cat\tsat\n\non\u00a0it",
    "W" * 100 + " cat_2 the",
    "",
    " . ",
    "C++ or C#, R? :) ... 🍔🍕 ❤️ ★★ !!! 👍🏽 हिन्दी में x+y",
    "Ünïcödé İstanbul straße 한국 사람 cre\u0300me",
]


@pytest.mark.parametrize(
    "step",
    [
        TfidfVectorizer(sublinear_tf=True, strip_accents="unicode"),
        make_vectorizer(unspaced=False),
        TfidfVectorizer(lowercase=False),
        TfidfVectorizer(stop_words="english", norm=None, binary=True, use_idf=False),
    ],
    ids=str,
)
def test_texts(step):
    fitted = step.fit([*TEXTS, "it sat on on a mat, the dog", "creme cafe 12 fish cat sat on it"])
    each = [f"ca{chr(c)}t mat{chr(c)} {chr(c)}the" for c in range(1, 0x2200) if chr(c) != "Σ"]
    texts = [*TEXTS, *[" cat sat ".join(each[at : at + 8]) for at in range(0, len(each), 8)]]
    found = transformed(fitted, [np.array(texts, dtype=object)])
    np.testing.assert_allclose(found, fitted.transform(texts).toarray(), atol=1e-12)
    assert transformed(fitted, [np.array([], dtype=object)]).shape == (0, found.shape[1])


@pytest.mark.parametrize(
    "step",
    [
        TfidfVectorizer(analyzer="char"),
        TfidfVectorizer(token_pattern="[a-z]+"),
        TfidfVectorizer(tokenizer=str.split, token_pattern=None),
        TfidfVectorizer(ngram_range=(1, 2)),
        TfidfVectorizer(strip_accents="ascii"),
        TfidfVectorizer(norm="l1"),
    ],
    ids=str,
)
def test_texts_that_stay_in_python(step):
    model = make_pipeline(step, MLkNNClassifier(1)).fit(TEXTS, np.eye(len(TEXTS), dtype=int))
    with pytest.raises(ValueError, match="cannot be exported to ONNX; keep it in Python"):
        to_onnx(model)


@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_categories():
    step = OneHotEncoder(handle_unknown="ignore")
    words = np.array([*"aaaabbbbcd", None], dtype=object)
    numbers = np.array([1.0, 2, 2, 2, 1, 1, 1, 5, 2, np.nan, 1])
    fitted = step.fit(np.column_stack([words, numbers]).astype(object))
    fitted.categories_[1] = fitted.categories_[1].astype(float)
    seen = np.array(["a", "d", "new", None, "b"], dtype=object)
    values = np.array([5.0, 1, 7, np.nan, 2])
    expected = step.transform(np.column_stack([seen, values]).astype(object))
    given = np.array(["" if word is None else word for word in seen], dtype=object)
    np.testing.assert_array_equal(transformed(fitted, [given, values]), expected.toarray())


@pytest.mark.parametrize("options", [{"drop": "first"}, {"min_frequency": 2}])
def test_merged_categories_are_refused(options):
    step = OneHotEncoder(**options).fit([["a"], ["a"], ["b"], ["c"]])
    with pytest.raises(ValueError, match="without drop, min_frequency and max_categories"):
        transformed(step, [np.array(["a"], dtype=object)])


def test_table_classifier(films):
    names = ["plot", "year", "country"]
    model = TableClassifier(DecisionClassifier(MLkNNClassifier(3), "micro_f1"), embedding="none")
    model.fit(films[names], films[["crime", "comedy"]])
    given = {name: np.array(cells(films, name)) for name in names}
    given = {name: v.astype(float if name == "year" else object) for name, v in given.items()}
    exported = to_onnx(model)
    probabilities, labels = open_session(exported).run(None, given)
    np.testing.assert_allclose(probabilities, model.predict_proba(films[names]), atol=1e-5)
    np.testing.assert_array_equal(labels, model.predict(films[names]))
    metadata = {entry.key: entry.value for entry in exported.metadata_props}
    assert json.loads(metadata["feature_names"]) == names
    assert json.loads(metadata["label_names"]) == ["crime", "comedy"]


def test_missing_numbers_and_dates(films):
    days = [None if i % 3 else f"2025-0{1 + i % 9}-11" for i in range(len(films))]
    lengths = np.where(np.arange(len(films)) % 4, 90.0, np.nan)
    table = films.assign(day=days, length=lengths)[["length", "day"]]
    y = np.column_stack([table["day"].isna(), table["length"].isna()]).astype(int)
    y[:2] = 1 - y[:2]  # no copies
    model = TableClassifier(MultiLabelLogisticRegression(random_state=0)).fit(table, y)
    given = {name: np.array(cells(table, name), dtype=object) for name in table}
    given["length"] = table[["length"]].to_numpy(float)
    found, _ = open_session(to_onnx(model)).run(None, given)
    np.testing.assert_allclose(found, model.predict_proba(table), atol=1e-12)


def test_decisions_over_tables(films):
    names, target = ["plot", "year"], films[["crime", "comedy"]]
    parts = [("w", make_pipeline(StringConverter(), TfidfVectorizer()), "plot")]
    columns = ColumnTransformer(parts, remainder=SimpleImputer())
    model = DecisionClassifier(make_pipeline(columns, MLkNNClassifier(3)), "micro_f1")
    model.fit(films[names], target)
    given = {name: np.array(cells(films, name)) for name in names}
    given = {"plot": given["plot"].astype(object), "year": given["year"].astype(float)}
    session = open_session(to_onnx(model))
    probabilities, labels = session.run(None, given)
    np.testing.assert_allclose(probabilities, model.predict_proba(films[names]), atol=1e-5)
    np.testing.assert_array_equal(labels, model.predict(films[names]))


def test_columns_named_as_outputs():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"labels": list("abab"), "/constant_0": [1.0, 2, 3, 4]})
    encode = OneHotEncoder(handle_unknown="ignore")
    columns = ColumnTransformer([("c", encode, ["labels"])], remainder="passthrough")
    model = make_pipeline(columns, MLkNNClassifier(1)).fit(frame, [[0, 1], [1, 0], [0, 1], [1, 1]])
    session = open_session(to_onnx(model))
    assert [i.name for i in session.get_inputs()] == ["labels_", "/constant_0"]
    given = [frame[name].to_numpy(object if i == 0 else float) for i, name in enumerate(frame)]
    rows = {i.name: v.reshape(-1, 1) for i, v in zip(session.get_inputs(), given, strict=True)}
    np.testing.assert_allclose(session.run(None, rows)[0], model.predict_proba(frame), atol=1e-5)
