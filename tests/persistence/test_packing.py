"""Forests and vocabularies are stored in a few parts, and come back as they were."""

import zipfile

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelkin.persistence import load_model, save_model
from labelkin.persistence._packing import PackedTrees, PackedWords, pack_model
from support.data import make_data
from support.model_files import places, read_schema, refused

pytest.importorskip("skops.io")


@pytest.fixture(scope="module")
def data():
    return make_data(40)


def forest(data, **options):
    return ExtraTreesRegressor(n_estimators=5, random_state=0, **options).fit(*data)


@pytest.mark.parametrize("kind", [ExtraTreesRegressor, RandomForestClassifier])
def test_every_tree_comes_back(kind, data, tmp_path):
    model = make_pipeline(StandardScaler(), kind(n_estimators=5, random_state=0)).fit(*data)
    trees = model[-1].estimators_
    save_model(model, tmp_path / "m.skops")
    assert model[-1].estimators_ is trees  # the model itself stays as it is
    back = load_model(tmp_path / "m.skops")[-1].estimators_
    for before, after in zip(trees, back, strict=True):
        assert type(before) is type(after)
        assert before.get_params() == after.get_params()
        assert before.tree_.max_depth == after.tree_.max_depth
        for name in ("nodes", "values"):
            one, other = (tree.tree_.__getstate__()[name] for tree in (before, after))
            np.testing.assert_array_equal(one, other)


def test_the_schema_does_not_grow_with_the_trees(data, tmp_path):
    sizes = []
    for count in (2, 20):
        model = RandomForestClassifier(n_estimators=count, random_state=0).fit(*data)
        save_model(model, tmp_path / "m.skops")
        sizes.append(sum(1 for _ in places(read_schema(tmp_path / "m.skops"))))
    assert sizes[0] == sizes[1]


def test_a_vocabulary_is_stored_in_two_arrays(tmp_path):
    texts = ["red car", "blue car", "red boat", "green boat"]
    # With max_features, the columns of the words are NumPy's integers.
    model = TfidfVectorizer(max_features=4).fit(texts)
    kept = dict(model.vocabulary_)
    assert {type(column) for column in kept.values()} == {np.int64}
    save_model(model, tmp_path / "m.skops")
    with zipfile.ZipFile(tmp_path / "m.skops") as archive:
        assert len(archive.namelist()) == 4  # head, schema, idf and columns
    back = load_model(tmp_path / "m.skops")
    assert back.vocabulary_ == kept
    np.testing.assert_array_equal(back.transform(texts).toarray(), model.transform(texts).toarray())
    assert {type(column) for column in back.vocabulary_.values()} == {int}
    assert {type(column) for column in model.vocabulary_.values()} == {np.int64}  # as it was


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        ('["red", "car"]', np.arange(3)),
        ('["red", "red"]', np.arange(2)),
        ('["red", 1]', np.arange(2)),
        ('{"red": 0}', np.arange(1)),
        ('["red"]', np.zeros(1)),
    ],
)
def test_an_invalid_vocabulary_is_refused(words, columns, tmp_path):
    model = TfidfVectorizer().fit(["red car", "blue car"])
    model.vocabulary_ = PackedWords(words, columns)
    save_model(model, tmp_path / "m.skops")
    refused(tmp_path / "m.skops", "damaged or tampered with")


def test_a_forest_in_two_places_stays_one(data, tmp_path):
    model = make_pipeline(StandardScaler(), forest(data)).fit(*data)
    model.again = [model[-1]]
    save_model(model, tmp_path / "m.skops")
    back = load_model(tmp_path / "m.skops")
    assert back.again[0] is back[-1]


def test_trees_that_differ_in_more_are_stored_one_by_one(data, tmp_path):
    model = forest(data)
    model.estimators_[2].max_depth = 7
    assert isinstance(pack_model(model).estimators_, list)
    save_model(model, tmp_path / "m.skops")
    back = load_model(tmp_path / "m.skops")
    assert [tree.max_depth for tree in back.estimators_] == [None, None, 7, None, None]
    np.testing.assert_array_equal(back.predict(data[0]), model.predict(data[0]))


def wrong_nodes(name, value):
    def change(trees):
        inner = np.flatnonzero(trees.nodes["left_child"] >= 0)
        trees.nodes[name][inner[-1]] = value

    return change


def into_the_next_tree(trees):
    first = np.flatnonzero(trees.nodes["left_child"] >= 0)[0]
    trees.nodes["right_child"][first] = trees.counts[0]


def two_parents(trees):
    inner = np.flatnonzero(trees.nodes["left_child"] >= 0)
    trees.nodes["right_child"][inner[0]] = trees.nodes["left_child"][inner[0]]


def other_counts(trees):
    trees.counts[0] += 1


CHANGES = {
    "a feature beyond the width": wrong_nodes("feature", 10**6),
    "a child beyond the tree": wrong_nodes("left_child", 10**6),
    "a child before its parent": wrong_nodes("left_child", 0),
    "a child in the next tree": into_the_next_tree,
    "two parents": two_parents,
    "other counts": other_counts,
    "no counts": lambda trees: vars(trees).update(counts=None),
    "negative counts": lambda trees: vars(trees).update(counts=-trees.counts),
    "fewer values": lambda trees: vars(trees).update(values=trees.values[:-1]),
    "other outputs": lambda trees: vars(trees).update(n_classes=np.ones(99, dtype=np.intp)),
    "another width": lambda trees: vars(trees.template).update(n_features_in_=10**6),
    "a text as template": lambda trees: vars(trees).update(template="x"),
    "nodes without fields": lambda trees: vars(trees).update(nodes=np.zeros(len(trees.nodes))),
    "fewer seeds": lambda trees: vars(trees).update(seeds=trees.seeds[1:]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_altered_trees_are_refused(name, data, tmp_path):
    model = pack_model(forest(data))
    assert isinstance(model.estimators_, PackedTrees)
    CHANGES[name](model.estimators_)
    save_model(model, tmp_path / "m.skops")
    refused(tmp_path / "m.skops", "damaged or tampered with")
