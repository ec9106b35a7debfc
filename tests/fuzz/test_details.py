"""Mutated descriptions in model files, of labels and columns: used, or refused in one sentence."""

import contextlib
import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytest.importorskip("pandas")
pytest.importorskip("skops.io")

from labelkin.cli import main
from labelkin.cli._data import describe_model
from labelkin.cli._service import ModelService
from labelkin.persistence import load_model, model_info
from support.damaged import cpu_limit
from support.mutations import inputs, mutate_details, with_details

ROWS = b"""text,kind,size,day,tags
"red apple, green",a,1.5,2020-01-31,warm;wet
a blue sky at night,b,,2021-02-28,wet
red sky at night,a,-2e3,2020-12-01,
"the grey, grey sea",b,7,2019-05-06,warm;dark
"""
DAMAGED = [
    {"labels": {"column": "\ud800", "separator": ";"}},
    {"labels": {"column": "tags", "separator": ""}},
    {"schema": {"columns": {"size": "numeric"}, "n_features": -1}},
    {"schema": {"columns": None, "n_features": 10**30}},
    {"decisions": {"f1": {"thresholds": ["0.5"], "at_least_one": True}}},
    {"decisions": {"f1": {"thresholds": [float("nan")], "at_least_one": 1}}},
    {"fingerprint": [None]},
    {"decimal": ","},
    {"ignore": "text"},
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return a model file, and the model in it."""
    folder = tmp_path_factory.mktemp("details")
    (folder / "rows.csv").write_bytes(ROWS)
    words = ["fit", folder / "rows.csv", "--labels", "tags", "--model", "mlknn", "-q"]
    words += ["--text", "text", "--category", "kind", "--out", folder / "model.skops"]
    assert main([str(word) for word in words]) == 0
    return folder / "model.skops", load_model(folder / "model.skops")


def use(path, model):
    """Do what the commands do with the description of a model."""
    found = describe_model(model, model_info(path), path)
    json.dumps(ModelService(found, None).describe(), ensure_ascii=False).encode()
    X = found.schema.read(found.parse(ROWS, "rows.csv"), [])
    found.count_training_rows(X)
    with contextlib.suppress(Exception):  # the pipeline may lack columns now
        found.predict(X, None)


class Failing:
    """A model with an array of another type than a fit gives."""

    def predict(self, X):
        return np.array(["x"]) - np.asarray(X)

    predict_proba = predict


def test_a_model_that_fails_is_named(saved):
    pandas = pytest.importorskip("pandas")
    path, _ = saved
    found = describe_model(Failing(), model_info(path), path)
    with pytest.raises(ValueError, match=r"model\.skops: the model fails on these rows \(ufunc"):
        found.predict(pandas.DataFrame(np.eye(2)), None)


def test_details(saved, tmp_path):
    original, model = saved
    path = tmp_path / "model.skops"
    raw = original.read_bytes()
    corpus = [raw, *(with_details(raw, **change) for change in DAMAGED)]
    outcomes = set()
    for content in inputs(corpus, mutate_details, count=150):
        path.write_bytes(content)
        message = ""
        try:
            with cpu_limit(20):
                use(path, model)
        except ValueError as error:
            message = str(error)
            assert message.startswith((str(path), "rows.csv"))
        assert "\n" not in message
        outcomes.add(not message)
    assert outcomes == {True, False}
