"""Models in files: what is saved comes back, and what is not ours runs nothing."""

import io
import json
import os
import pickle
import random
import stat
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import labelkin
from labelkin import MLkNNClassifier, VPCMEClassifier
from labelkin.persistence import label_names_of, load_model, model_info, save_model
from labelkin.registry import METHODS
from support.data import make_data

sio = pytest.importorskip("skops.io")

FIXTURES = Path(__file__).parent / "fixtures"
NAMES = [name for name in labelkin.__all__ if isinstance(getattr(labelkin, name), type)]
SMALL = {"n_estimators": 4, "random_state": 0}


def small(name):
    Estimator = getattr(labelkin, name)
    known = Estimator().get_params()
    return Estimator(**{key: value for key, value in SMALL.items() if key in known})


def outputs(model, X):
    methods = ("predict", "predict_proba", "transform")
    return [getattr(model, method)(X) for method in methods if hasattr(model, method)]


def assert_same(model, path, X, **options):
    save_model(model, path, **options)
    back = load_model(path)
    assert type(back) is type(model)
    for before, after in zip(outputs(model, X), outputs(back, X), strict=True):
        if sparse.issparse(before):
            before, after = before.toarray(), after.toarray()
        np.testing.assert_array_equal(before, after)
    return back


@pytest.fixture
def saved(tmp_path):
    """Return the path of a small valid model."""
    X, Y = make_data(30)
    path = tmp_path / "model.skops"
    save_model(MLkNNClassifier(n_neighbors=3).fit(X, Y), path, label_names="abcd")
    return path


# ------------------------------------------------------------------------ what comes back


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("name", NAMES)
def test_every_public_estimator(name, form, tmp_path):
    X, Y = make_data(40)
    if form == "sparse":
        X = sparse.csr_matrix(np.rint(X))
    target = Y[:, 0] if name == "C45TreeClassifier" else Y
    assert_same(small(name).fit(X, target), tmp_path / "m.skops", X)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_the_registry(name, tmp_path):
    X, Y = make_data(30)
    model = METHODS[name].make(0)
    if "n_estimators" in model.get_params():
        model.set_params(n_estimators=4)
    assert_same(model.fit(X, Y), tmp_path / "m.skops", X)


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), VPCMEClassifier(n_estimators=2, random_state=0)),
        VPCMEClassifier(
            labelkin.BinaryRelevanceClassifier(LogisticRegression()), n_estimators=2, random_state=0
        ),
        RandomForestClassifier(n_estimators=2, random_state=0),
        ExtraTreesClassifier(n_estimators=2, random_state=0),
        VPCMEClassifier(n_estimators=2, threshold=(0.2, 1), random_state=np.random.RandomState(0)),
    ],
    ids=["pipeline", "foreign base", "forest", "extra trees", "range and generator"],
)
def test_compositions(model, tmp_path):
    X, Y = make_data(30)
    assert_same(model.fit(X, Y), tmp_path / "m.skops", X)


def test_label_names_and_details(tmp_path):
    pd = pytest.importorskip("pandas")
    X, Y = make_data(30)
    names = ["rot", "grün", "=1", "a,b"]
    model = make_pipeline(StandardScaler(), MLkNNClassifier())
    model.fit(X, pd.DataFrame(Y, columns=names))
    path = tmp_path / "m.skops"
    back = assert_same(model, path, X, details={"rows": 30, "text": ["ß"]})
    assert label_names_of(back) == names
    info = model_info(path)
    assert info.label_names == names
    assert info.details == {"rows": 30, "text": ["ß"]}
    assert info.version == labelkin.__version__
    assert info.format == 2
    search = GridSearchCV(MLkNNClassifier(), {"n_neighbors": [3]}, cv=2)
    assert label_names_of(search.fit(X, pd.DataFrame(Y, columns=names))) == names
    assert label_names_of(MLkNNClassifier()) is None


def test_files_are_compressed(tmp_path):
    X, Y = make_data(500, q=20)
    model = MLkNNClassifier().fit(np.rint(X), Y)
    save_model(model, tmp_path / "m.skops")
    assert (tmp_path / "m.skops").stat().st_size < len(pickle.dumps(model)) / 3


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("model-*.skops")), ids=lambda p: p.stem)
def test_models_of_earlier_releases(path):
    pytest.importorskip("pandas")
    sys.path.insert(0, str(FIXTURES))
    from make_model import to_frame

    stored = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert path.stat().st_size < 200_000
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Trying to unpickle estimator")  # another scikit-learn
        model = load_model(path)
    proba = model.predict_proba(to_frame(stored["rows"]))
    np.testing.assert_allclose(proba, stored["probabilities"], atol=1e-6)
    assert model_info(path).label_names == ["drama", "comedy", "crime"]


def test_there_is_a_file_of_this_release():
    version = ".".join(labelkin.__version__.split(".")[:2])
    assert (FIXTURES / f"model-{version}.skops").exists()


# --------------------------------------------------------------------- what is not a model


def rewritten(path, change=None, head=None, drop=()):
    """Rewrite an archive with its schema or head changed, checksums and all."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if change is not None:
        schema = json.loads(members["schema.json"])
        members["schema.json"] = json.dumps(change(schema) or schema).encode()
    if head is not None:
        said = json.loads(members["labelkin.json"])
        members["labelkin.json"] = head if isinstance(head, bytes) else json.dumps({**said, **head})
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if name not in drop:
                archive.writestr(name, content)
    return path


def refused(path, match):
    with pytest.raises(ValueError, match=match) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    return str(caught.value)


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


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_truncated(saved, share):
    raw = saved.read_bytes()
    saved.write_bytes(raw[: int(share * len(raw))])
    refused(saved, "cut short")


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


HEADS = {
    "older": ({"format": 1}, "before the first release .* fit the model again"),
    "newer": ({"format": 3, "labelkin": "9.0"}, "written by labelkin 9.0 .* upgrade"),
    "no number": ({"format": "1"}, "damaged"),
    "zero": ({"format": 0}, "damaged"),
    "names": ({"label_names": [1, 2]}, "damaged"),
    "details": ({"details": []}, "damaged"),
    "no JSON": (b"{", "damaged"),
    "list": (b"[]", "damaged"),
    "deep": (b"[" * 100_000, "damaged"),
}


@pytest.mark.parametrize("name", HEADS)
def test_damaged_heads(name, saved):
    head, match = HEADS[name]
    refused(rewritten(saved, head=head), match)


@pytest.mark.parametrize("member", ["schema.json", "labelkin.json"])
def test_missing_members(member, saved):
    refused(rewritten(saved, drop=[member]), "something else")


def test_missing_array(saved):
    with zipfile.ZipFile(saved) as archive:
        array = next(name for name in archive.namelist() if name.endswith(".npy"))
    refused(rewritten(saved, drop=[array]), "damaged or tampered")


def json_node(value):
    node = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
    return {**node, "content": json.dumps(value)}


def node(loader, module, name, content=None):
    found = {"__class__": name, "__module__": module, "__loader__": loader}
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
        "not ours though there": node("TypeNode", "labelkin.neighbors._mlknn", "NeighborSearch"),
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
        places = list(_places(schema))
        holder, key = rng.choice(places)
        other, name = rng.choice(places)
        holder[key] = rng.choice([None, [], {}, 7, "x", -1.5, other[name]])

    model = loaded_or_refused(rewritten(saved, change))
    assert model is None or hasattr(model, "predict")


def _places(value):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from _places(inner)


def rearranged(path, member, change):
    """Rewrite one array of a file, checksums and all."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in members:
        if name.endswith(member):
            members[name] = change(members[name])
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_sparse_indices_out_of_range(tmp_path):
    from scipy import sparse

    X, Y = make_data(30)
    path = tmp_path / "model.skops"
    save_model(MLkNNClassifier().fit(sparse.csr_matrix(X), Y), path)

    def change(raw):
        matrix = sparse.load_npz(io.BytesIO(raw))
        matrix.indices[3] = 10**6
        buffer = io.BytesIO()
        sparse.save_npz(buffer, matrix)
        return buffer.getvalue()

    refused(rearranged(path, ".npz", change), "damaged or tampered")


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
    refused(rearranged(path, ".npy", change), "a decision tree has invalid nodes")


def test_a_file_that_is_no_model(tmp_path, saved):
    with zipfile.ZipFile(saved) as archive:
        head = archive.read("labelkin.json")
    buffer = io.BytesIO(sio.dumps([1, 2]))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("labelkin.json", head)
    saved.write_bytes(buffer.getvalue())
    refused(saved, "holds list, which is no model")


# ------------------------------------------------------------------------- what is trusted


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


# ---------------------------------------------------------------------------------- files


def test_written_whole_or_not_at_all(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        save_model(MLkNNClassifier(), saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.skops"]


def test_links_are_followed(saved, tmp_path):
    link = tmp_path / "latest.skops"
    link.symlink_to(saved)
    save_model(MLkNNClassifier(n_neighbors=7), link)
    assert link.is_symlink()
    assert load_model(saved).n_neighbors == 7


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_device_stays_a_device():
    with pytest.raises(OSError, match="No space"):
        save_model(MLkNNClassifier(), "/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError):
        save_model(MLkNNClassifier(), tmp_path)


def test_missing_folder_names_the_file(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        save_model(MLkNNClassifier(), tmp_path / "no" / "m.skops")
    assert caught.value.filename.endswith("m.skops")


def test_without_the_extra(monkeypatch, saved):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for call in (lambda: load_model(saved), lambda: save_model(MLkNNClassifier(), saved)):
        with pytest.raises(ImportError, match=r"labelkin\[persist\]"):
            call()
