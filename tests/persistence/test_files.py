"""Model files: what is saved comes back, whole, with its head."""

import json
import os
import pickle
import stat
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import labelkin
from labelkin import MLkNNClassifier
from labelkin._utils.labels import label_names_of
from labelkin.persistence import load_model, model_info, save_model
from support.data import make_data
from support.model_files import refused, rewritten

FIXTURES = Path(__file__).parents[1] / "fixtures"


def test_label_names_and_details(tmp_path):
    pd = pytest.importorskip("pandas")
    X, Y = make_data(30)
    names = ["rot", "grün", "=1", "a,b"]
    model = make_pipeline(StandardScaler(), MLkNNClassifier())
    model.fit(X, pd.DataFrame(Y, columns=names))
    path = tmp_path / "m.labelkin"
    save_model(model, path, details={"rows": 30, "text": ["ß"]})
    assert label_names_of(load_model(path)) == names
    info = model_info(path)
    assert info.label_names == names
    assert info.details == {"rows": 30, "text": ["ß"]}
    assert info.version == labelkin.__version__
    assert info.format == 3
    search = GridSearchCV(MLkNNClassifier(), {"n_neighbors": [3]}, cv=2)
    assert label_names_of(search.fit(X, pd.DataFrame(Y, columns=names))) == names
    assert label_names_of(MLkNNClassifier()) is None
    with pytest.raises(ValueError, match="a GridSearchCV is not saved; save its best_estimator_"):
        save_model(search, path)


def test_files_are_compressed(tmp_path):
    X, Y = make_data(500, q=20)
    model = MLkNNClassifier().fit(np.rint(X), Y)
    save_model(model, tmp_path / "m.labelkin")
    assert (tmp_path / "m.labelkin").stat().st_size < len(pickle.dumps(model)) / 3


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("model-*.labelkin")), ids=lambda p: p.stem)
def test_models_of_earlier_releases(path):
    pytest.importorskip("pandas")
    sys.path.insert(0, str(FIXTURES))
    from make_model import to_frame

    stored = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert path.stat().st_size < 200_000
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* was saved with scikit-learn")
        model = load_model(path)
    proba = model.predict_proba(to_frame(stored["rows"]))
    np.testing.assert_allclose(proba, stored["probabilities"], atol=1e-6)
    assert model_info(path).label_names == ["drama", "comedy", "crime"]


def test_there_is_a_file_of_this_release():
    version = ".".join(labelkin.__version__.split(".")[:2])
    assert (FIXTURES / f"model-{version}.labelkin").exists()


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_truncated(saved, share):
    raw = saved.read_bytes()
    saved.write_bytes(raw[: int(share * len(raw))])
    refused(saved, "truncated")


HEADS = {
    "older": ({"format": 2}, "in a format that labelkin .* does not read; fit the model again"),
    "newer": ({"format": 4, "labelkin": "9.0"}, "written by labelkin 9.0 .* upgrade"),
    "no number": ({"format": "1"}, "damaged"),
    "zero": ({"format": 0}, "damaged"),
    "names": ({"label_names": [1, 2]}, "damaged"),
    "names twice": ({"label_names": ["a", "b", "a"]}, "damaged"),
    "details": ({"details": []}, "damaged"),
    "no JSON": (b"{", "damaged"),
    "list": (b"[]", "damaged"),
    "deep": (b"[" * 100_000, "damaged"),
}


@pytest.mark.parametrize("name", HEADS)
def test_damaged_heads(name, saved):
    head, match = HEADS[name]
    refused(rewritten(saved, head=head), match)


@pytest.mark.parametrize("member", ["model.json", "numbers.bin", "labelkin.json"])
def test_missing_members(member, saved):
    refused(rewritten(saved, drop=[member]), "no item named|something else")


def test_written_whole_or_not_at_all(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        save_model(MLkNNClassifier(), saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.labelkin"]


def test_links_are_followed(saved, tmp_path):
    link = tmp_path / "latest.labelkin"
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
        save_model(MLkNNClassifier(), tmp_path / "no" / "m.labelkin")
    assert str(caught.value).endswith("m.labelkin'")


def test_another_scikit_learn_is_named(saved):
    rewritten(saved, head={"scikit-learn": "0.9"})
    with pytest.warns(UserWarning, match=r"saved with scikit-learn 0\.9, and .* is installed"):
        load_model(saved)


@pytest.mark.parametrize("names", ["abca", ["caf\u00e9", "cafe\u0301", "b", "c"]])
def test_equal_label_names_are_refused(names, tmp_path):
    X, Y = make_data(30)
    model = MLkNNClassifier(3).fit(X, Y)
    with pytest.raises(ValueError, match="two labels have the same name"):
        save_model(model, tmp_path / "m.labelkin", label_names=names)
    with pytest.raises(ValueError, match="label_names has 3 names, but the model 4 labels"):
        save_model(model, tmp_path / "m.labelkin", label_names="abc")


def test_a_part_in_two_places_stays_one(tmp_path):
    """Trees, arrays and objects that are shared are stored once."""
    X, Y = make_data(40)
    model = make_pipeline(StandardScaler(), ExtraTreesRegressor(n_estimators=5)).fit(X, Y)
    model.again = [model[-1], model[0].mean_]
    save_model(model, tmp_path / "m.labelkin")
    back = load_model(tmp_path / "m.labelkin")
    assert back.again[0] is back[-1]
    assert back.again[1] is back[0].mean_


@pytest.mark.parametrize("options", [{}, {"max_leaf_nodes": 7}])
@pytest.mark.parametrize("kind", [ExtraTreesRegressor, RandomForestClassifier])
def test_every_tree_comes_back(kind, options, tmp_path):
    X, Y = make_data(40)
    model = kind(n_estimators=5, random_state=0, **options).fit(X, Y)
    save_model(model, tmp_path / "m.labelkin")
    back = load_model(tmp_path / "m.labelkin")
    for before, after in zip(model.estimators_, back.estimators_, strict=True):
        assert type(before) is type(after)
        assert before.get_params() == after.get_params()
        assert before.tree_.max_depth == after.tree_.max_depth
        for name in ("nodes", "values"):
            one, other = (tree.tree_.__getstate__()[name] for tree in (before, after))
            np.testing.assert_array_equal(one, other)


def test_a_vocabulary_comes_back(tmp_path):
    texts = ["red car", "blue car", "red boat", "green boat"]
    model = TfidfVectorizer(max_features=4).fit(texts)
    save_model(model, tmp_path / "m.labelkin")
    back = load_model(tmp_path / "m.labelkin")
    assert back.vocabulary_ == model.vocabulary_
    np.testing.assert_array_equal(back.transform(texts).toarray(), model.transform(texts).toarray())


@pytest.mark.parametrize("function", [np.log1p, np.abs, np.sqrt])
def test_functions_of_numpy(function, tmp_path):
    X, Y = make_data(30)
    X = np.abs(X)
    model = make_pipeline(FunctionTransformer(function), MLkNNClassifier()).fit(X, Y)
    save_model(model, tmp_path / "m.labelkin")
    loaded = load_model(tmp_path / "m.labelkin")
    assert loaded[0].func is function
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    for other in (np.frompyfunc(abs, 1, 1), expit):
        own = make_pipeline(FunctionTransformer(other), MLkNNClassifier()).fit(X, Y)
        with pytest.raises(ValueError, match=r"ufunc .* is not NumPy's; call it in a function of"):
            save_model(own, tmp_path / "own.labelkin")


def test_parameters_that_are_newer_than_a_file(tmp_path):
    X, Y = np.eye(12), np.tile([[1, 0], [0, 1]], (6, 1))
    model = MLkNNClassifier(3).fit(X, Y)
    expected = model.predict_proba(X)
    del model.n_jobs
    save_model(model, tmp_path / "model.labelkin")
    loaded = load_model(tmp_path / "model.labelkin")
    assert loaded.n_jobs is None
    np.testing.assert_array_equal(loaded.predict_proba(X), expected)


def test_missing_words_are_filled_after_loading(tmp_path):
    X, Y = np.array([["a"], ["b"], ["a"], [None]] * 5, dtype=object), np.eye(4).repeat(5, axis=0)
    fill = SimpleImputer(missing_values=None, strategy="most_frequent")
    model = make_pipeline(fill, OneHotEncoder(), MLkNNClassifier(3)).fit(X, Y)
    save_model(model, tmp_path / "m.labelkin")
    again = load_model(tmp_path / "m.labelkin")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
