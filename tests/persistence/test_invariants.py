"""Models altered by someone who knows the format: compiled code must never follow them.

Each model is valid but for one change, in a value that compiled code relies on, and is written as
`save_model` would write it: every checksum is right.
"""

import zipfile
from contextlib import nullcontext
from copy import deepcopy

import numpy as np
import pytest
from joblib import cpu_count
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from labelkin import (
    BinaryRelevanceClassifier,
    C45TreeClassifier,
    ChainClassifier,
    KinEnsembleClassifier,
    MLkNNClassifier,
    TableClassifier,
    VPCMEClassifier,
)
from labelkin.decisions import LabelDecision
from labelkin.kin._views import Ranks, Words
from labelkin.many._tree import LabelTree
from labelkin.neighbors._counts import sum_labels
from labelkin.persistence import load_model, model_info, save_model
from support.data import make_data
from support.model_files import find, read_model, refused, rewritten, save_unchecked


@pytest.fixture(scope="module")
def data():
    return make_data(40)


def refused_after(model, change, folder, match="do not fit together"):
    """Check that a model loads as it is, and is neither saved nor loaded after a change."""
    path = folder / "model.labelkin"
    save_model(model, path)
    load_model(path)
    model = deepcopy(model)
    change(model)
    with pytest.raises(ValueError, match=rf"cannot be saved \(.*{match}"):
        save_model(model, path)
    return refused(save_unchecked(model, path), f"damaged or tampered with .*{match}")


# --------------------------------------------------------------------- trees of scikit-learn


def test_a_member_wider_than_its_forest(data, tmp_path):
    X, Y = data
    wide = ExtraTreesClassifier(n_estimators=1, random_state=0).fit(np.hstack([X, X]), Y)

    def change(forest):
        forest.estimators_[1] = wide.estimators_[0]

    forest = ExtraTreesClassifier(n_estimators=3, random_state=0).fit(X, Y)
    refused_after(forest, change, tmp_path)


def test_a_member_that_is_no_tree(data, tmp_path):
    def change(forest):
        forest.estimators_[1] = MLkNNClassifier()

    forest = ExtraTreesClassifier(n_estimators=3, random_state=0).fit(*data)
    refused_after(forest, change, tmp_path, "holds a MLkNNClassifier")


def test_a_tree_wider_than_its_estimator(data, tmp_path):
    X, Y = data

    def change(model):
        model.tree_ = DecisionTreeClassifier().fit(np.hstack([X, X]), Y).tree_

    refused_after(DecisionTreeClassifier().fit(X, Y), change, tmp_path)


def test_an_estimator_without_a_width(data, tmp_path):
    """Without it scikit-learn would take rows of any width."""

    def change(forest):
        del forest.n_features_in_

    forest = ExtraTreesClassifier(n_estimators=2, random_state=0).fit(*data)
    refused_after(forest, change, tmp_path, "no number of features")


def fields(name, alter):
    """Return a change of one field of a tree's nodes, which are the first of its numbers."""

    def change(nodes):
        inner = np.flatnonzero(nodes["left_child"] >= 0)
        alter(nodes[name], inner)

    return change


def set_last(value):
    def alter(column, inner):
        column[inner[-1]] = value

    return alter


def two_parents(nodes):
    inner = np.flatnonzero(nodes["left_child"] >= 0)
    nodes["right_child"][inner[0]] = nodes["left_child"][inner[0]]


NODES = {
    "a feature beyond the width": fields("feature", set_last(10**6)),
    "a negative feature": fields("feature", set_last(-2)),
    "a child beyond the tree": fields("left_child", set_last(10**6)),
    "a child before its parent": fields("left_child", set_last(0)),
    "half a leaf": fields("left_child", set_last(-1)),
    "two parents": two_parents,
}


@pytest.mark.parametrize("name", NODES)
def test_nodes(name, data, tmp_path):
    path = tmp_path / "model.labelkin"
    save_model(DecisionTreeClassifier(random_state=0).fit(data[0], data[1][:, 0]), path)
    tree = {}

    def look(model):
        tree["spec"] = find(model, "tree")[0][2]["array"]
        arrays = find(model, "array")
        before = arrays[: arrays.index(tree["spec"])]
        tree["start"] = sum(
            np.dtype(d).itemsize * int(np.prod(shape, dtype=int)) for d, shape, _ in before
        )

    def alter(raw):
        spec, (n_nodes,), _ = tree["spec"]
        dtype, start = np.dtype([*map(tuple, spec)]), tree["start"]
        end = start + n_nodes * dtype.itemsize
        nodes = np.frombuffer(raw[start:end], dtype).copy()
        NODES[name](nodes)
        return raw[:start] + nodes.tobytes() + raw[end:]

    load_model(rewritten(path, look))
    refused(rewritten(path, numbers=alter), "invalid nodes")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, 10**6),  # the width
        (0, -1),
        (0, None),
        (1, {"array": ["<i8", [0], "C"]}),  # the numbers of classes
        (2, {"array": ["<f8", [0], "C"]}),  # the nodes
        (3, {"array": ["<f8", [0, 1, 2], "C"]}),  # the values
    ],
)
def test_states_of_trees(place, value, data, tmp_path):
    path = tmp_path / "model.labelkin"
    save_model(DecisionTreeClassifier(random_state=0).fit(data[0], data[1][:, 0]), path)

    def change(model):
        find(model, "tree")[0][place] = value

    refused(rewritten(path, change), "damaged or tampered with")


def test_fields_of_nodes_in_another_order(data, tmp_path):
    """NumPy casts records by position: the children checked were not those that were followed."""
    path = tmp_path / "model.labelkin"
    save_model(DecisionTreeClassifier(random_state=0).fit(data[0], data[1][:, 0]), path)

    def change(model):
        fields = find(model, "tree")[0][2]["array"][0]
        names = [name for name, _ in fields]
        for field, name in zip(fields, [*names[3:6], *names[:3], *names[6:]], strict=True):
            field[0], field[1] = name, "|u1" if name == names[-1] else "<i8"

    def alter(raw):
        spec = find(read_model(path), "tree")[0][2]["array"]
        dtype, n_nodes = np.dtype([*map(tuple, spec[0])]), spec[1][0]
        leaf = np.zeros(n_nodes, dtype)
        leaf["left_child"] = leaf["right_child"] = -1
        leaf["left_child"][: n_nodes // 2] = 1 + 2 * np.arange(n_nodes // 2)
        leaf["right_child"][: n_nodes // 2] = 2 + 2 * np.arange(n_nodes // 2)
        leaf["threshold"] = leaf["impurity"] = 10**6  # at the places of the children
        start = raw.index(box["nodes"])
        return raw[:start] + leaf.tobytes() + raw[start + n_nodes * dtype.itemsize :]

    tree = load_model(path).tree_
    plain = [
        (name, kind[0].str) for name, kind in tree.__getstate__()["nodes"].dtype.fields.items()
    ]
    box = {"nodes": tree.__getstate__()["nodes"].astype(np.dtype(plain)).tobytes()}
    refused(rewritten(rewritten(path, change), numbers=alter), "invalid nodes")


def test_depths_are_not_read_from_the_file(data, tmp_path):
    """decision_path reserves memory by the depth."""
    path = tmp_path / "model.labelkin"
    model = DecisionTreeClassifier(random_state=0).fit(data[0], data[1][:, 0])
    save_model(model, path)
    back, X = load_model(path), data[0].astype(np.float32)
    assert back.tree_.max_depth == model.tree_.max_depth > 1
    np.testing.assert_array_equal(
        back.tree_.decision_path(X).toarray(), model.tree_.decision_path(X).toarray()
    )


# --------------------------------------------------------------------- trees of ours


@pytest.mark.parametrize("name", ["children_left", "children_right", "feature"])
@pytest.mark.parametrize("value", [10**6, -7, 0])
def test_our_trees(name, value, data, tmp_path):
    model = C45TreeClassifier().fit(data[0], data[1][:, 0])
    array = getattr(model.tree_, name)
    if name == "feature":
        value = -7
    array[np.flatnonzero(array >= 0)[-1]] = value
    refused(save_unchecked(model, tmp_path / "m.labelkin"), "a decision tree has invalid nodes")


def test_our_trees_check_the_width_of_rows(data, tmp_path):
    """A member is handed the outer model's rows, whatever width it claims."""
    X, Y = data
    model, path = BinaryRelevanceClassifier().fit(X, Y), tmp_path / "model.labelkin"
    member = next(m for m in model.estimators_ if len(m.tree_.feature) > 1)
    member.tree_.feature[member.tree_.children_left >= 0] = 10**8
    member.n_features_in_ = 10**8 + 1
    save_unchecked(model, path)
    with pytest.raises((ValueError, IndexError), match=r"100000000|do not fit"):
        load_model(path).predict(X)


def test_our_trees_are_of_the_type_that_is_checked(data, tmp_path):
    """Compiled code would follow the nodes of any object with such attributes."""

    def change(model):
        nodes = vars(model.tree_)
        model.tree_ = Ranks(nodes["value"])
        vars(model.tree_).update(nodes, children_left=nodes["children_left"] + 10**8)

    refused_after(C45TreeClassifier().fit(data[0], data[1][:, 0]), change, tmp_path)


def test_trees_of_kin_are_as_wide_as_its_rows(data, tmp_path):
    X, Y = data
    models = [
        KinEnsembleClassifier(n_trees=10, random_state=0).fit(rows, Y)
        for rows in (X, np.hstack([X] * 20))
    ]
    narrow, wide = (
        [tree for one in dict(model.members_)["trees"].learners for tree in one.learners_]
        for model in models
    )
    for learner in narrow:
        learner.forest_ = wide[0].forest_
    save_model(models[0], tmp_path / "m.labelkin")
    with pytest.raises(ValueError, match="grown on another number of features"):
        load_model(tmp_path / "m.labelkin").predict_proba(X)


# --------------------------------------------------------------------- memory that is not written


@pytest.mark.parametrize("options", [{"where": np.array(False)}, {"out": np.ones(5)}])
def test_functions_have_no_options(options, data, tmp_path):
    """With where= NumPy returns memory as it was; with out= it writes into other parts."""

    def change(model):
        model.kw_args = options

    refused_after(FunctionTransformer(np.negative).fit(data[0]), change, tmp_path, "has arguments")


def test_entries_that_a_model_leaves_out(data, monkeypatch):
    """They are zeros, whatever was in the memory before."""
    X, Y = data
    model = ChainClassifier(random_state=0).fit(X, Y)
    model.orders_ = np.zeros_like(model.orders_)
    model.predict_proba(X)  # compiled before np.empty is replaced, which numba does not know

    def used_memory(shape, dtype=float, order="C"):
        return np.full(shape, 7).astype(dtype)

    monkeypatch.setattr(np, "empty", used_memory)
    assert not model.predict_proba(X)[:, 1:].any()
    assert not Ranks(X.T[:1])(X)[:, 1:].any()


def test_arrays_that_two_parts_share_cannot_be_changed(data, tmp_path):
    """Nor can a matrix, which SciPy sorts in place, change the indices of another one."""
    model = MLkNNClassifier().fit(sparse.csr_array(np.rint(data[0])), data[1])
    matrix = model._counts.search.X
    model.rows_ = matrix.copy()
    model.rows_.indices, model.rows_.indptr = matrix.indices, matrix.indptr
    model.more_, model.others_ = matrix.copy(), matrix.copy()
    model.more_.data = model.others_.indices = matrix.indices.copy()
    save_model(model, tmp_path / "m.labelkin")
    back = load_model(tmp_path / "m.labelkin")
    assert not back.more_.data.flags.writeable
    for one in (back.rows_, back._counts.search.X):
        assert not one.indices.flags.writeable
        assert not one.indptr.flags.writeable
    np.testing.assert_array_equal(
        back.predict_proba(sparse.csr_array(np.rint(data[0]))),
        model.predict_proba(sparse.csr_array(np.rint(data[0]))),
    )


# --------------------------------------------------------------------- sparse matrices

MATRICES = {
    "jump": ("indptr", lambda old: np.r_[0, 10**9, np.zeros(len(old) - 2)].astype(old.dtype)),
    "decreasing": ("indptr", lambda old: old[::-1].copy()),
    "too large": ("indices", lambda old: old + 10**6),
    "negative": ("indices", lambda old: old - 10**6),
    "fewer values": ("data", lambda old: old[:-1]),
}


@pytest.mark.parametrize("name", MATRICES)
def test_sparse_matrices(name, data, tmp_path):
    model = MLkNNClassifier().fit(sparse.csr_array(np.rint(data[0])), data[1])
    part, alter = MATRICES[name]
    matrix = model._counts.search.X
    setattr(matrix, part, alter(getattr(matrix, part)))
    refused(save_unchecked(model, tmp_path / "m.labelkin"), "tampered with .*sparse matrix")


@pytest.mark.parametrize("shape", [[2, 2], [10**6, 2], [-1, 3], [3], "ab"])
def test_shapes_of_sparse_matrices(shape, data, tmp_path):
    path = tmp_path / "m.labelkin"
    save_model(MLkNNClassifier().fit(sparse.csr_array(np.rint(data[0])), data[1]), path)

    def change(model):
        find(model, "csr_array")[0][0] = shape

    refused(rewritten(path, change), "damaged or tampered with")


@pytest.mark.parametrize("shape", [(), (0, 1)])
def test_values_of_sparse_matrices_stay_as_many(shape, data):
    """With an array of no entries there would be none, and SciPy reads as many as the indices."""
    rows = sparse.csr_array(np.rint(np.abs(data[0])).astype(np.float32))
    width = rows.shape[1]
    tree, decision = LabelTree(2, 1.0, 0.0), LabelDecision()
    tree.root_, tree.leaf_ = None, sparse.csr_array(np.eye(width, dtype=np.float32))
    tree.leaf_intercept_ = decision.thresholds_ = np.ones((width, *shape), np.float32)
    for function in (Words(np.ones(width), np.ones(shape)), tree.scores, decision.apply):
        with pytest.raises(ValueError, match="broadcast") if shape else nullcontext():
            assert 0 < len(function(rows).data) <= rows.nnz


# --------------------------------------------------------------------- indices in other parts


def test_words_beyond_the_columns(tmp_path):
    texts, Y = ["a bb", "bb cc", "cc dd", "dd bb"], np.eye(4, 2, dtype=int)
    model = make_pipeline(TfidfVectorizer(), MLkNNClassifier(2)).fit(texts, Y)

    def change(pipeline):
        pipeline[0].vocabulary_["bb"] = 10**7

    refused_after(model, change, tmp_path)


def test_words_are_a_dictionary(tmp_path):
    """Any other type could have numbers of its own for words that were not checked."""

    def change(vectorizer):
        vectorizer.vocabulary_ = make_pipeline(None)
        vectorizer.vocabulary_.steps = []
        vectorizer.vocabulary_.values = str

    refused_after(TfidfVectorizer().fit(["a bb", "cc"]), change, tmp_path)


def test_texts_are_not_names_of_files(tmp_path):
    def change(vectorizer):
        vectorizer.input = "filename"

    refused_after(TfidfVectorizer().fit(["a bb", "cc"]), change, tmp_path, "is set to read files")


def set_categories(encoder, values):
    encoder.categories_ = [values]


CATEGORIES = {
    "fewer columns": (lambda e: vars(e).update(_n_features_outs=[1]), "do not fit"),
    "not sorted": (lambda e: set_categories(e, np.array([2.0, 3.0, 1.0])), "sorted"),
    "equal": (lambda e: set_categories(e, np.array([1.0, 1.0, 3.0])), "sorted"),
    "nan": (lambda e: set_categories(e, np.array([1.0, np.nan, 3.0])), "sorted"),
    "objects": (lambda e: set_categories(e, np.array([2.0, 3.0, 1.0], dtype=object)), "sorted"),
    "strings": (lambda e: set_categories(e, np.array(["2.0", "3.0", "1.0"])), "sorted"),
    "a matrix": (lambda e: set_categories(e, np.ones((3, 1))), "vector"),
    "another column": (lambda e: e.categories_.append(np.arange(3.0)), "do not fit"),
    "dropped": (lambda e: vars(e).update(drop_idx_=np.array([5])), "merges or drops"),
    "dropped later": (
        lambda e: vars(e).update(_drop_idx_after_grouping=np.array([-5], dtype=object)),
        "merges or drops",
    ),
    "sizes that are added": (
        lambda e: vars(e).update(_n_features_outs=np.array(e._n_features_outs)),
        "do not fit",
    ),
    "merged": (lambda e: vars(e).update(_infrequent_enabled=True), "merges or drops"),
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_categories(name, tmp_path):
    """Unsorted numbers would be found beyond the last column, and read from foreign memory."""
    rows = np.array([[1.0], [2.0], [3.0], [2.0]])
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    change, match = CATEGORIES[name]
    model.fit(rows, [0, 1, 0, 1])
    refused_after(model, lambda pipeline: change(pipeline[0]), tmp_path, match)


def test_categories_of_all_kinds_are_saved(tmp_path):
    rows = np.array([[1.0, "b", True], [np.nan, "a", False]], dtype=object)
    columns = [
        (OneHotEncoder(), [[1.0], [np.nan], [0.5]]),
        (OneHotEncoder(), rows[:, 1:2]),
        (OneHotEncoder(categories=[["b", "a"]]), rows[:, 1:2]),
        (OneHotEncoder(), np.array([["x"], ["y"]])),
        (OneHotEncoder(), np.array([[True], [False]])),
    ]
    for model, values in columns:
        save_model(model.fit(values), tmp_path / "m.labelkin")
        back = load_model(tmp_path / "m.labelkin")
        np.testing.assert_array_equal(
            back.transform(values).toarray(), model.transform(values).toarray()
        )


def test_a_search_among_more_rows_than_have_labels(data, tmp_path):
    def change(model):
        model._counts.Y = model._counts.Y[:5]

    refused_after(MLkNNClassifier(3).fit(*data), change, tmp_path, "40 entries, not 5")


def test_more_neighbours_than_rows(data, tmp_path):
    def change(model):
        model._counts.search.n_neighbors = 10**9

    refused_after(MLkNNClassifier(3).fit(*data), change, tmp_path, "more neighbours than rows")


def test_neighbours_that_do_not_exist():
    """SciPy would read the labels behind the last row."""
    with pytest.raises(ValueError, match="nearest rows were not found"):
        sum_labels(np.zeros((4, 2), dtype=np.uint8), np.array([[0, 10**8]]))


@pytest.mark.parametrize("name", ["_validate_predict", "predict", "__class__", "__dict__"])
def test_state_that_hides_a_method(name, saved):
    def change(model):
        model["object"][1][name] = {"name": "builtins.str"}

    refused(rewritten(saved, change), "state")


def test_types_that_are_not_checked_are_not_accepted(data, tmp_path):
    """A support vector machine follows the numbers of its vectors unchecked."""
    model = OneVsRestClassifier(SVC()).fit(*data)
    with pytest.raises(ValueError, match=r"holds sklearn.*SVC.*which load_model would refuse"):
        save_model(model, tmp_path / "model.labelkin")


@pytest.mark.parametrize("position", [-1, 625, 10**9, None])
def test_a_random_state_beyond_its_words(position, data, tmp_path):
    """NumPy would read behind the state of its generator when the model is fitted again."""
    path = tmp_path / "model.labelkin"
    model = VPCMEClassifier(n_estimators=2, random_state=np.random.RandomState(0)).fit(*data)
    save_model(model, path)

    def change(content):
        find(content, "random_state")[0][1] = position

    refused(rewritten(path, change), "damaged or tampered with")


def test_jobs_are_at_most_as_many_as_cores(data, tmp_path):
    """joblib would start as many processes as the file says."""
    path = tmp_path / "model.labelkin"
    columns = ColumnTransformer([("all", "passthrough", [0, 1])])
    model = make_pipeline(columns, MLkNNClassifier(3)).fit(*data)
    columns.n_jobs = 100_000
    save_model(model, path)
    assert load_model(path)[0].n_jobs == cpu_count()
    columns.n_jobs = "100000"
    refused(save_unchecked(model, path), "ColumnTransformer has an invalid n_jobs")


# --------------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("schema_", "decimal", "x"),
        ("schema_", "n_features", []),
        ("label_columns_", "column", 3),
        ("label_columns_", "names", ("a", "a")),
    ],
)
def test_the_description_of_a_table(part, name, value, tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"x": [1.0, 2.0, 5.0, 6.0], "t": ["a", "b", "a;b", "b"]})
    model = TableClassifier(MLkNNClassifier(1), labels="t").fit(table)
    vars(getattr(model, part))[name] = value
    refused(save_unchecked(model, tmp_path / "m.labelkin"), "damaged or tampered")


# --------------------------------------------------------------------- bombs


def test_parts_that_double_at_each_level(saved):
    """60 levels, each with the level before twice: 2^60 parts for whoever visits them all."""

    def change(model):
        # Shared parts are numbered as they are completed; those of `_counts` come before.
        counts = model["object"][1]["_counts"]
        number = len(find(counts, "array")) + len(find([counts], "object"))
        levels = [{"object": ["kin.Raw", {"items": [1, 2]}]}]
        for again in range(number, number + 60):
            levels.append({"object": ["kin.Raw", {"items": [{"again": again}] * 2}]})
        model["object"][1] = {"_counts": counts, "levels": levels}

    refused(rewritten(saved, change), "damaged or tampered with .*more than 10,000,000 parts")


@pytest.mark.parametrize("keys", [[k * (2**61 - 1) for k in range(20)], [{"tuple": [1, 2]}]])
def test_keys_that_can_all_have_the_same_hash(keys, saved):
    """16 MB of them would take hours."""

    def change(model):
        model["object"][1]["more"] = {"dict": [keys, keys]}

    refused(rewritten(saved, change), "not a name or a number")


def test_deep_nesting(saved):
    def change(model):
        state = model["object"][1]
        for _ in range(90):
            state["n_neighbors"] = [state["n_neighbors"]]

    load_model(rewritten(saved, change))
    refused(rewritten(saved, change), "more than 100 deep")


@pytest.mark.parametrize(
    "shape", [[10**12], [0, 10**15], [10**9, 0], [1], [10**4000] * 1000, [10**18] * 10**5]
)
def test_arrays_of_other_sizes(shape, saved):
    def change(model):
        find(model, "array")[0][1] = shape

    refused(rewritten(saved, change), "damaged or tampered with .*array")


@pytest.mark.parametrize("spec", ["|S1", [["a", "<i8"]]])
def test_numbers_that_are_sizes(spec, saved):
    """NumPy makes as many bytes of a number."""

    def change(model):
        model["object"][1]["more"] = {"scalar": [spec, 2**31 - 1]}

    refused(rewritten(saved, change), "a number has an unknown form")


@pytest.mark.parametrize("change", [lambda raw: raw[:-1], lambda raw: raw + b"1", lambda _: b""])
def test_fewer_or_more_numbers(change, saved):
    refused(rewritten(saved, numbers=change), "damaged or tampered with")


def test_a_model_that_unpacks_to_gigabytes(saved):
    with (
        zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("zeros.bin", "w", force_zip64=True) as member,
    ):
        for _ in range(300):
            member.write(bytes(2**20))
    refused(saved, "unpacks to more than 256 MiB")
    with pytest.raises(ValueError, match="unpacks to more than 256 MiB"):
        model_info(saved)


def test_the_limit_can_be_set(saved, monkeypatch):
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", str(2**20))
    assert load_model(saved)
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "100")
    with pytest.raises(ValueError, match="unpacks to more than"):
        load_model(saved)


# --------------------------------------------------------------------- digests


def test_digest_proves_that_a_file_is_unaltered(data, tmp_path):
    path = tmp_path / "model.labelkin"
    digest = save_model(MLkNNClassifier(3).fit(*data), path)
    assert model_info(path).sha256 == digest
    assert load_model(path, expected_sha256=digest.upper()).n_neighbors == 3
    other = save_model(MLkNNClassifier(5).fit(*data), path)
    assert other != digest
    with pytest.raises(ValueError, match=f"its SHA-256 is {other}, not the expected one"):
        load_model(path, expected_sha256=digest)
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        load_model(path, expected_sha256="abc")


def test_halves_of_characters_in_the_description(saved):
    refused(rewritten(saved, head={"label_names": ["\ud800"]}), "labelkin.json is damaged")
