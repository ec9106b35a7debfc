"""Files from strangers: what is not a model is refused in a sentence, and runs nothing."""

import io
import itertools
import json
import os
import pickle
import random
import sys
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import labelkin
from labelkin import MLkNNClassifier
from labelkin.persistence import load_model, model_info, save_model
from support.data import make_data
from support.model_files import places, refused, rewritten

sio = pytest.importorskip("skops.io")


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


def plain_skops(path):
    path.write_bytes(sio.dumps(MLkNNClassifier()))


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
    "plain skops": (plain_skops, "something else"),
    "pickle": (lambda p: p.write_bytes(pickle.dumps(MLkNNClassifier())), "pickle"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_files(name, tmp_path):
    write, match = FOREIGN[name]
    path = tmp_path / "model.skops"
    write(path)
    refused(path, match)
    with pytest.raises(ValueError, match=match):
        model_info(path)


def test_a_pickle_runs_nothing(tmp_path):
    marker, path = tmp_path / "marker", tmp_path / "model.skops"
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


IDS = itertools.count(1)


def json_node(value):
    return node("JsonNode", "builtins", "str", json.dumps(value))


def node(loader, module, name, content=None):
    found = {"__class__": name, "__module__": module, "__loader__": loader, "__id__": next(IDS)}
    return found if content is None else {**found, "content": content}


def container(loader, kind, items):
    return node(loader, "builtins", kind, items)


def hijacked(change):
    """Return a schema with the model's ``n_neighbors`` replaced by a node of ours."""

    def rewrite(schema):
        schema["content"]["content"]["n_neighbors"] = change
        return schema

    return rewrite


def attacks(marker):
    """Return nodes that would create the file `marker` if anything in them ran."""
    text = json_node(str(marker))
    args = container("TupleNode", "tuple", [text])
    command = container("TupleNode", "tuple", [json_node(f"touch {marker}")])
    empty = {**container("DictNode", "dict", {}), "key_types": container("ListNode", "list", [])}
    partial = {
        "func": node("FunctionNode", "os", "system"),
        "args": command,
        "kwds": empty,
        "namespace": empty,
    }
    store = "labelkin.experiments.run.store"
    method = node("ConstructorFromReduceNode", "pathlib", "Path", args)
    return {
        "constructor": node("ConstructorFromReduceNode", "os", "system", command),
        "object": node("ObjectNode", "subprocess", "Popen", empty),
        "list type": node("ListNode", "os", "system", [json_node("x")]),
        "function": node("FunctionNode", "os", "system"),
        "type": node("TypeNode", "subprocess", "Popen"),
        "partial": node("PartialNode", "functools", "partial", partial),
        "method": node("MethodNode", "pathlib", "Path", {"obj": method, "func": "touch"}),
        "operator": {
            **node("OperatorFuncNode", "operator", "methodcaller"),
            "attrs": container("TupleNode", "tuple", [json_node("touch")]),
        },
        "path": method,
        "our own store": node("ConstructorFromReduceNode", store, "Store", args),
        "our own function": node("FunctionNode", "labelkin._utils.files", "open_for_writing"),
        "an import of ours": node("TypeNode", "labelkin.persistence", "Path"),
        "not ours though there": node("TypeNode", "labelkin.neighbors._counts", "make_counts"),
        "unknown in ours": node("TypeNode", "labelkin.neighbors._mlknn", "Nothing"),
        "a lookalike": node("ObjectNode", "labelkin_evil", "Model", empty),
        "dict keys": {
            **container("DictNode", "dict", {f"touch {marker}": json_node(1)}),
            "key_types": container("ListNode", "list", [node("TypeNode", "os", "system")]),
        },
    }


@pytest.mark.parametrize("name", attacks(""))
def test_attacks_are_refused_and_run_nothing(name, saved, tmp_path):
    marker = tmp_path / "marker"
    message = refused(rewritten(saved, hijacked(attacks(marker)[name])), "model.skops")
    assert "nothing was loaded" in message or "tampered" in message
    assert not marker.exists()


def test_the_attack_would_work(tmp_path):
    """Skops runs it when it is told to trust the name: the refusal above is ours."""
    path, marker = tmp_path / "model.skops", tmp_path / "marker"
    path.write_bytes(sio.dumps(MLkNNClassifier()))
    rewritten(path, hijacked(attacks(marker)["constructor"]))
    sio.load(path, trusted=sio.get_untrusted_types(file=path))
    assert marker.exists()


def test_nothing_is_imported(saved, tmp_path, monkeypatch):
    marker = tmp_path / "marker"
    (tmp_path / "evil.py").write_text(f"open({str(marker)!r}, 'w').close()\nclass Model: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    refused(rewritten(saved, hijacked(node("TypeNode", "evil", "Model"))), "evil.Model")
    assert not marker.exists()
    assert "evil" not in sys.modules


@pytest.mark.parametrize("seed", range(40))
def test_random_changes_of_the_schema(saved, seed):
    """A schema with parts removed or exchanged, checksums right, is refused in a sentence."""
    rng = random.Random(seed)

    def change(schema):
        found = list(places(schema))
        holder, key = rng.choice(found)
        other, name = rng.choice(found)
        holder[key] = rng.choice([None, [], {}, 7, "x", -1.5, other[name]])

    model = loaded_or_refused(rewritten(saved, change))
    assert model is None or hasattr(model, "predict")


def test_sparse_indices_out_of_range(tmp_path):
    X, Y = make_data(30)
    path = tmp_path / "model.skops"
    save_model(MLkNNClassifier().fit(sparse.csr_matrix(X), Y), path)

    def change(raw):
        matrix = sparse.load_npz(io.BytesIO(raw))
        matrix.indices[3] = 10**6
        buffer = io.BytesIO()
        sparse.save_npz(buffer, matrix)
        return buffer.getvalue()

    refused(rewritten(path, arrays=(".npz", change)), "damaged or tampered")


@pytest.mark.parametrize("kind", ["ours", "scikit-learn's"])
def test_trees_that_lead_nowhere(kind, tmp_path):
    X, Y = make_data(60)
    Tree = labelkin.C45TreeClassifier if kind == "ours" else DecisionTreeClassifier
    model, path = Tree().fit(X, Y[:, 0]), tmp_path / "model.skops"
    n = model.tree_.node_count
    assert n > 1

    def change(raw):
        array = np.load(io.BytesIO(raw))
        if array.dtype.names:
            array["left_child"][array["left_child"] > 0] = 10**6
        elif array.dtype == np.int32 and len(array) == n:
            array[array > 0] = 10**6
        buffer = io.BytesIO()
        np.save(buffer, array)
        return buffer.getvalue()

    save_model(model, path)
    refused(rewritten(path, arrays=(".npy", change)), "a decision tree has invalid nodes")


def test_a_file_that_is_no_model(tmp_path, saved):
    with zipfile.ZipFile(saved) as archive:
        head = archive.read("labelkin.json")
    buffer = io.BytesIO(sio.dumps([1, 2]))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("labelkin.json", head)
    saved.write_bytes(buffer.getvalue())
    refused(rewritten(saved), "holds list, which is no model")


class Mine(MLkNNClassifier):
    """A user's own classifier."""


def test_own_types_must_be_named(tmp_path):
    X, Y = make_data(30)
    model, path = Mine().fit(X, Y), tmp_path / "m.skops"
    own = f"{__name__}.Mine"
    with pytest.raises(ValueError, match=rf"holds {own}, which load_model would refuse"):
        save_model(model, path)
    assert not path.exists()
    save_model(model, path, trusted=[own])
    refused(path, rf"names {own}")
    assert isinstance(load_model(path, trusted=[own]), Mine)


@pytest.mark.parametrize(
    "model", [FunctionTransformer(lambda X: X), FunctionTransformer(os.system)]
)
def test_functions_are_not_saved(model, tmp_path):
    with pytest.raises(ValueError, match="this FunctionTransformer"):
        save_model(model.fit([[1.0]]), tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())
