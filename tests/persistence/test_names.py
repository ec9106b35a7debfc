"""Types of labelkin stand in a file under stable names, so that a file outlives a move."""

import importlib
import sys
import types

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import labelkin
from labelkin import (
    BinaryRelevanceClassifier,
    KernelRidgeLOOClassifier,
    KinEnsembleClassifier,
    LabelPowersetClassifier,
    VPCMEClassifier,
)
from labelkin.kin import Limits
from labelkin.methods import METHODS
from labelkin.persistence import load_model, save_model
from labelkin.persistence._types import OBJECTS
from support.data import make_data
from support.estimators import NAMES, make
from support.model_files import places, read_model, refused, rewritten
from support.tables import write_films


def outputs(model, X):
    methods = ("predict", "predict_proba", "transform")
    return [getattr(model, method)(X) for method in methods if hasattr(model, method)]


def names_in(path):
    """Return the names of the types of objects in a file."""
    found = [holder[key] for holder, key in places([read_model(path)])]
    return {item["object"][0] for item in found if isinstance(item, dict) and "object" in item}


def assert_stable(path):
    """Check that a file names no type but public ones and those of the table."""
    for name in names_in(path):
        assert name in OBJECTS or name in labelkin.__all__


def assert_same(model, path, X):
    """Check that a model is the same after a journey through a file."""
    save_model(model, path)
    assert_stable(path)
    back = load_model(path)
    assert type(back) is type(model)
    for before, after in zip(outputs(model, X), outputs(back, X), strict=True):
        if sparse.issparse(before):
            before, after = before.toarray(), after.toarray()
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("name", NAMES)
def test_every_public_estimator(name, form, tmp_path):
    X, Y = make_data(40)
    if form == "sparse":
        X = sparse.csr_matrix(np.rint(X))
    target = Y[:, 0] if name == "C45TreeClassifier" else Y
    assert_same(make(name).fit(X, target), tmp_path / "m.labelkin", X)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_the_registry(name, tmp_path):
    X, Y = make_data(30)
    model = METHODS[name].make(0)
    sizes = {"n_estimators", "n_trees"} & model.get_params().keys()
    model.set_params(**dict.fromkeys(sizes, 4))
    assert_same(model.fit(X, Y), tmp_path / "m.labelkin", X)


COMPOSITIONS = {
    "pipeline": make_pipeline(StandardScaler(), VPCMEClassifier(n_estimators=2, random_state=0)),
    "base of scikit-learn": VPCMEClassifier(
        BinaryRelevanceClassifier(LogisticRegression()), n_estimators=2, random_state=0
    ),
    "forest": RandomForestClassifier(n_estimators=2, random_state=0),
    "extra trees": ExtraTreesClassifier(n_estimators=2, random_state=0),
    "range and generator": VPCMEClassifier(
        n_estimators=2, threshold=(0.2, 1), random_state=np.random.RandomState(0)
    ),
    "bags": VPCMEClassifier(n_estimators=12, bag=0.6, calibrate=True, random_state=0),
    "powerset": LabelPowersetClassifier(LogisticRegression()),
    "limits": KinEnsembleClassifier(0, 4, effort=Limits(seconds=1), random_state=0),
    "landmarks": KernelRidgeLOOClassifier(max_exact=20, n_landmarks=10, random_state=0),
}


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_compositions(name, tmp_path):
    X, Y = make_data(40)
    assert_same(COMPOSITIONS[name].fit(X, Y), tmp_path / "m.labelkin", X)


def test_more_features_than_samples(tmp_path):
    """Kin has other views of wide data and of word counts."""
    rng = np.random.default_rng(0)
    counts = sparse.csr_matrix(rng.poisson(0.05, (60, 300)).astype(float))
    _, Y = make_data(60)
    model = KinEnsembleClassifier(n_trees=5, random_state=0).fit(counts, Y)
    assert_same(model, tmp_path / "m.labelkin", counts)


@pytest.mark.parametrize("method", ["vpcme", "kin"])
def test_pipelines_of_the_command_line(method, tmp_path):
    """A table of texts, categories and numbers."""
    pytest.importorskip("pandas")
    from labelkin.cli import main

    films, path = write_films(tmp_path / "films.csv", 60), tmp_path / "m.labelkin"
    options = ["--text", "plot", "--ignore", "id", "--labels", "-3", "--model", method]
    assert main(["fit", str(films), *options, "--out", str(path)]) == 0
    assert_stable(path)
    assert "tabular.StringConverter" in names_in(path)


# ----------------------------------------------------------------------------- the table


@pytest.mark.parametrize("name", OBJECTS)
def test_types_are_where_the_table_says(name):
    module, _, attribute = OBJECTS[name][0].rpartition(".")
    part = getattr(importlib.import_module(module), attribute)
    assert part.__module__ == module
    assert attribute not in labelkin.__all__


def test_a_file_outlives_a_move(saved, monkeypatch, request):
    """A class gets another module and name; only its line in the table changes."""
    X, _ = make_data(30)
    expected = load_model(saved).predict_proba(X)
    path, check = OBJECTS["neighbors.ExactSearch"]
    old, _, attribute = path.rpartition(".")
    new = types.ModuleType("labelkin.elsewhere")
    moved = getattr(importlib.import_module(old), attribute)
    new.Renamed = moved
    monkeypatch.setitem(sys.modules, "labelkin.elsewhere", new)
    monkeypatch.delattr(sys.modules[old], attribute)
    monkeypatch.setattr(moved, "__module__", "labelkin.elsewhere")
    request.addfinalizer(lambda: setattr(moved, "__qualname__", attribute))
    moved.__qualname__ = "Renamed"
    with pytest.raises(ValueError, match="damaged"):
        load_model(saved)
    monkeypatch.setitem(OBJECTS, "neighbors.ExactSearch", ("labelkin.elsewhere.Renamed", check))
    model = load_model(saved)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    before = names_in(saved)
    save_model(model, saved)
    assert names_in(saved) == before


def test_a_type_without_a_name_is_not_saved(saved, monkeypatch):
    model = load_model(saved)
    path, _ = OBJECTS["neighbors.ExactSearch"]
    monkeypatch.delitem(OBJECTS, "neighbors.ExactSearch")
    with pytest.raises(ValueError, match=f"holds {path}, which load_model would refuse"):
        save_model(model, saved)


@pytest.mark.parametrize(
    "name",
    [
        OBJECTS["neighbors.ExactSearch"][0],
        f"{labelkin.MLkNNClassifier.__module__}.MLkNNClassifier",
        "labelkin.neighbors.MLkNNClassifier",
        "neighbors.Nothing",
        "load_model",
        "builtins.int",
    ],
)
def test_other_names_are_refused(name, saved):
    """Neither the path of a module nor an unknown name is followed."""

    def change(model):
        model["object"][1]["n_neighbors"] = {"object": [name, {}]}

    refused(rewritten(saved, change), f"names {name}, which labelkin .* does not load")
