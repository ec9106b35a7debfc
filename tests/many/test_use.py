"""Thousands of labels where people meet them: tables, Kin, the command line, the server."""

import csv
import io
import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from typer.testing import CliRunner

from labelkin import KinEnsembleClassifier, LabelTreeClassifier, TableClassifier
from labelkin._utils.labels import MANY_LABELS
from labelkin.cli._app import app
from labelkin.persistence import load_model, save_model
from labelkin.serve import Service

N_LABELS = MANY_LABELS + 50


@pytest.fixture(scope="module")
def table():
    """Texts with one or two of the labels, each with its own word, beside common words."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    first = np.tile(np.arange(N_LABELS), 2)
    chosen = [{int(label), int(rng.integers(N_LABELS))} for label in first]
    texts = [
        " ".join([*(f"word{label}" for label in own), *(f"c{w}" for w in rng.integers(0, 30, 3))])
        for own in chosen
    ]
    tags = [";".join(f"subject word{label}" for label in own) for own in chosen]
    return pd.DataFrame({"title": texts, "tags": tags})


@pytest.fixture(scope="module")
def data_file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "titles.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def model_file(data_file):
    """What the command line fits: Kin, whose place label trees take."""
    path = data_file.with_name("model.labelkin")
    arguments = ["fit", data_file, "--labels", "tags", "--text", "title", "--out", path]
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture(scope="module")
def model(model_file):
    return load_model(model_file)


def test_tables_use_label_trees_and_names(table, model):
    assert isinstance(model.estimator_, LabelTreeClassifier)
    assert model.estimator_.label_texts.shape[0] == len(model.label_names_)
    proba = model.predict_proba(table[:200])
    assert sparse.issparse(proba)
    labels, first = model.predict_topk(table[:200], 1)
    tags = [own.split(";") for own in table.tags[:200]]
    hits = [model.label_names_[j] in own for (j,), own in zip(labels, tags, strict=True)]
    assert np.mean(hits) > 0.9
    np.testing.assert_allclose(first[:, 0], proba.max(axis=1).toarray().ravel(), rtol=1e-5)


def test_a_given_classifier_is_kept(table):
    class Given(BaseEstimator):
        def fit(self, X, y):
            self.n_labels_ = y.shape[1]
            return self

        def predict(self, X):
            raise NotImplementedError

    assert TableClassifier(Given(), labels="tags").fit(table).estimator_.n_labels_ == N_LABELS


def predict(model_file, data_file, *options):
    words = ["predict", str(model_file), str(data_file), "--quiet", *options]
    return CliRunner().invoke(app, words)


@pytest.fixture(scope="module")
def queries(table, data_file):
    path = data_file.with_name("queries.csv")
    table[["title"]].head(3).to_csv(path, index=False)
    return path


def test_predict_writes_the_best_ten(table, model_file, queries):
    result = predict(model_file, queries)
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    tags = [own.split(";") for own in table.tags[:3]]
    assert all(row["label_1"] in own for row, own in zip(rows, tags, strict=True))
    assert float(rows[0]["probability_1"]) >= float(rows[0]["probability_2"])
    assert "label_10" in rows[0]
    assert "label_11" not in rows[0]


def test_predict_with_a_threshold(model_file, queries):
    some, none = (
        [
            json.loads(line)
            for line in predict(model_file, queries, "--json", *more).stdout.split("\n")[:3]
        ]
        for more in (["--threshold", "0.2", "--top", "2"], ["--threshold", "1"])
    )
    assert all(row["labels"] for row in some)
    assert all(len(row["top"]) == 2 for row in some)
    assert not any(row["labels"] for row in none)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--proba"], "use --top"),
        (["--per-label"], "use --top"),
        (["--decide", "macro_f1"], "use --threshold"),
    ],
)
def test_what_would_need_a_column_per_label_is_refused(model_file, queries, options, message):
    result = predict(model_file, queries, *options)
    assert isinstance(result.exception, ValueError)  # which `main` prints in one line, exit code 2
    assert message in str(result.exception)


def test_explain(model_file, queries, table):
    result = CliRunner().invoke(app, ["explain", str(model_file), str(queries)])
    assert result.exit_code == 0, result.output
    word = table.title[0].split()[0]
    assert f"subject {word}" in result.output
    assert word in result.output


def test_serve_sends_the_best_labels_and_finds_others(model, table):
    service = Service(model, "titles")
    described = service.describe()
    assert described["n_labels"] == len(model.label_names_)
    assert len(json.dumps(described)) < 200_000
    rows = service.read([{"title": table.title[0]}])
    (row,) = service.predict(rows)
    best = max(row["probabilities"], key=row["probabilities"].get)
    assert best in table.tags[0].split(";")
    assert 1 < len(row["probabilities"]) <= 50
    assert service.find_labels("SUBJECT WORD77")[0] == "subject word77"
    assert service.find_labels("nothing") == []
    assert service.explain(rows, 0)["labels"]


def test_kin_is_a_label_tree(table, tmp_path):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import MultiLabelBinarizer

    X = TfidfVectorizer().fit_transform(table.title)
    Y = MultiLabelBinarizer(sparse_output=True).fit_transform(table.tags.str.split(";"))
    model = KinEnsembleClassifier(random_state=0, n_jobs=1).fit(X, Y)
    assert isinstance(model.label_tree_, LabelTreeClassifier)
    labels, proba = model.predict_topk(X[:20], 1)
    assert Y[np.arange(20), labels[:, 0]].mean() > 0.7
    np.testing.assert_allclose(model.predict_proba(X[:20]).max(axis=1), proba[:, 0], rtol=1e-5)
    assert sparse.issparse(model.predict(X[:20]))
    save_model(model, tmp_path / "kin.labelkin")
    again = load_model(tmp_path / "kin.labelkin")
    np.testing.assert_array_equal(again.predict_proba(X[:3]), model.predict_proba(X[:3]))
    # The same object with few labels is an ensemble again.
    labels = np.random.default_rng(0).integers(0, 2, (60, 3))
    few = model.set_params(n_projections=1, n_trees=5).fit(X[:60], labels)
    assert not hasattr(few, "predict_topk")
    assert few.predict_proba(X[:2]).shape == (2, 3)
