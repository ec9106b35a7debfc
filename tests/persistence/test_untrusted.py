"""Files from strangers: what is not a model is refused in a sentence, and runs nothing."""

import os
import pickle
import random
import sys
import zipfile

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, PolynomialFeatures

from labelkin import MLkNNClassifier
from labelkin.persistence import load_model, model_info, save_model
from support.data import make_data
from support.model_files import places, refused, rewritten


def loaded_or_refused(path):
    """Return the model, or None where one sentence refuses it; any other error is raised."""
    message = path.name
    try:
        return load_model(path)
    except ValueError as error:
        message = str(error)
    assert message.startswith(str(path))
    assert "\n" not in message
    return None


def zip_of_text(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "hello")


class Touch:
    """A pickle of this creates a file."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mknod, (self.path,)


FOREIGN = {
    "empty": (lambda p: p.write_bytes(b""), "not a labelkin model"),
    "text": (lambda p: p.write_text("hello"), "not a labelkin model"),
    "zeros": (lambda p: p.write_bytes(bytes(10_000)), "not a labelkin model"),
    "json": (lambda p: p.write_text("{}"), "not a labelkin model"),
    "zip": (zip_of_text, "something else"),
    "pickle": (lambda p: p.write_bytes(pickle.dumps(MLkNNClassifier())), "pickle"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_files(name, tmp_path):
    write, match = FOREIGN[name]
    path = tmp_path / "model.labelkin"
    write(path)
    refused(path, match)
    with pytest.raises(ValueError, match=match):
        model_info(path)


def test_a_pickle_runs_nothing(tmp_path):
    marker, path = tmp_path / "marker", tmp_path / "model.labelkin"
    path.write_bytes(pickle.dumps(Touch(marker)))
    refused(path, "pickle")
    assert not marker.exists()
    pickle.loads(path.read_bytes())  # so it would have
    assert marker.exists()


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes(saved, seed):
    """Damage anywhere is refused in a sentence, or harmless: never another error."""
    rng = random.Random(seed)
    raw = bytearray(saved.read_bytes())
    for _ in range(3):
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    saved.write_bytes(raw)
    X, _ = make_data(30)
    model = loaded_or_refused(saved)
    if model is not None:
        model.predict(X)


def attacks(marker):
    """Return parts that would create the file `marker` if anything in them ran."""
    text = str(marker)
    return {
        "a function": {"name": "os.system"},
        "a type": {"name": "subprocess.Popen"},
        "an object": {"object": ["subprocess.Popen", {"args": f"touch {text}"}]},
        "a path": {"object": ["pathlib.Path", {"_raw_paths": [text]}]},
        "our own store": {"object": ["labelkin.experiments.run.store.Store", {"path": text}]},
        "our own function": {"name": "labelkin._utils.files.open_for_writing"},
        "an import of ours": {"name": "labelkin.persistence.Path"},
        "a value as an object": {"object": ["builtins.str", {}]},
        "an object as a value": {"name": "neighbors.ExactSearch"},
        "a lookalike": {"object": ["labelkin_evil.Model", {}]},
        "a name that is none": {"name": ["os.system"]},
        "an unknown tag": {"reduce": ["os.system", [f"touch {text}"]]},
        "two tags": {"tuple": [], "dict": []},
        "no tag": {},
        "objects": {"array": ["|O", [1], "C"]},
        "another order": {"array": ["<f8", [0], "A"]},
        "a scalar of objects": {"scalar": ["|O", "x"]},
        "a list in a scalar": {"scalar": ["<f8", [1.0] * 9]},
        "a slice of texts": {"slice": ["a", "b", None]},
        "a list as key": {"dict": [[[1]], [2]]},
        "fewer values than keys": {"dict": [["a", "b"], [2]]},
        "an object that comes later": {"again": 10**6},
        "an object from the end": {"again": -1},
    }


def hijacked(part):
    """Return a change that puts a part of ours in the place of ``n_neighbors``."""

    def change(model):
        model["object"][1]["n_neighbors"] = part

    return change


@pytest.mark.parametrize("name", attacks(""))
def test_attacks_are_refused_and_run_nothing(name, saved, tmp_path):
    marker = tmp_path / "marker"
    message = refused(rewritten(saved, hijacked(attacks(marker)[name])), "model.labelkin")
    assert "nothing was loaded" in message or "tampered" in message
    assert not marker.exists()


def test_nothing_is_imported(saved, tmp_path, monkeypatch):
    marker = tmp_path / "marker"
    (tmp_path / "evil.py").write_text(f"open({str(marker)!r}, 'w').close()\nclass Model: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    refused(rewritten(saved, hijacked({"object": ["evil.Model", {}]})), "evil.Model")
    assert not marker.exists()
    assert "evil" not in sys.modules


@pytest.mark.parametrize("seed", range(40))
def test_random_changes_of_the_model(saved, seed):
    """A model with parts removed or exchanged, checksums right, is refused in a sentence."""
    rng = random.Random(seed)

    def change(model):
        found = list(places(model))
        holder, key = rng.choice(found)
        other, name = rng.choice(found)
        holder[key] = rng.choice([None, [], {}, 7, "x", -1.5, other[name]])

    model = loaded_or_refused(rewritten(saved, change))
    assert model is None or hasattr(model, "predict")


def test_a_file_that_is_no_model(saved):
    refused(rewritten(saved, lambda model: [1, 2], numbers=lambda raw: b""), "holds list")


class Mine(MLkNNClassifier):
    """A user's own classifier."""


def test_own_types_must_be_named(tmp_path):
    X, Y = make_data(30)
    model, path = Mine().fit(X, Y), tmp_path / "m.labelkin"
    own = f"{__name__}.Mine"
    with pytest.raises(ValueError, match=rf"holds {own}, which load_model would refuse"):
        save_model(model, path)
    assert not path.exists()
    save_model(model, path, trusted=[own])
    refused(path, rf"names {own}")
    assert isinstance(load_model(path, trusted=[own]), Mine)


def test_a_public_name_is_as_good_as_the_path_of_a_private_module(tmp_path):
    X, _ = make_data(30)
    kinds, path = (Normalizer, PolynomialFeatures), tmp_path / "m.labelkin"
    model = make_pipeline(*(kind() for kind in kinds)).fit(X)
    public = [f"sklearn.preprocessing.{kind.__name__}" for kind in kinds]
    private = [f"{kind.__module__}.{kind.__name__}" for kind in kinds]
    with pytest.raises(ValueError, match=f"holds {', '.join(private)}, which"):
        save_model(model, path)
    save_model(model, path, trusted=public)
    refused(path, "If you trust the file, load it in Python with load_model")
    for trusted in (public, private):
        found = load_model(path, trusted=trusted).transform(X)
        np.testing.assert_array_equal(found, model.transform(X))


@pytest.mark.parametrize("function", [lambda X: X, MLkNNClassifier().get_params, "__main__"])
def test_functions_that_would_not_be_found_are_not_saved(function, tmp_path, monkeypatch):
    if function == "__main__":
        monkeypatch.setattr(sys.modules["__main__"], "Mine", Mine, raising=False)
        monkeypatch.setattr(Mine, "__module__", "__main__")
        function = Mine
    name = f"{function.__module__}.{function.__qualname__}"
    with pytest.raises(ValueError, match=f"{name} would not be found .* from a module"):
        save_model(FunctionTransformer(function), tmp_path / "m.labelkin")


@pytest.mark.parametrize(
    "model", [FunctionTransformer(lambda X: X), FunctionTransformer(os.system)]
)
def test_functions_are_not_saved(model, tmp_path):
    with pytest.raises(ValueError, match="this FunctionTransformer"):
        save_model(model.fit([[1.0]]), tmp_path / "m.labelkin")
    assert not list(tmp_path.iterdir())
