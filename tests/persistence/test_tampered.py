"""Models altered by someone who knows the format: compiled code must never follow them.

Each model is valid but for one change, made before it is saved, so that every checksum is right.
"""

import io
import zipfile

import numpy as np
import pytest
from joblib import cpu_count
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from labelkin import (
    BinaryRelevanceClassifier,
    MLkNNClassifier,
    TableClassifier,
    VPCMEClassifier,
)
from labelkin.neighbors._counts import sum_labels
from labelkin.persistence import load_model, model_info, save_model
from support.data import make_data
from support.model_files import refused, rewritten

pytest.importorskip("skops.io")


@pytest.fixture(scope="module")
def data():
    return make_data(40)


def refused_after(model, change, folder, match="do not fit together"):
    """Check that a model loads as it is, and is refused after a change."""
    path = folder / "model.skops"
    save_model(model, path)
    load_model(path)
    change(model)
    save_model(model, path)
    return refused(path, f"damaged or tampered with .*{match}")


# --------------------------------------------------------------------- trees


def altered(tree, **changes):
    """Return a tree of scikit-learn with another state or width."""
    build, (width, *rest), state = tree.__reduce__()
    found = build(changes.pop("width", width), *rest)
    nodes = state["nodes"].copy()
    if "feature" in changes:
        nodes["feature"][nodes["left_child"] >= 0] = changes.pop("feature")
    found.__setstate__({**state, "nodes": nodes, **changes})
    return found


def test_a_member_wider_than_its_forest(data, tmp_path):
    def change(forest):
        member = forest.estimators_[1]
        member.tree_ = altered(member.tree_, width=10**6, feature=10**6 - 1)
        member.n_features_in_ = 10**6

    forest = ExtraTreesClassifier(n_estimators=3, random_state=0).fit(*data)
    refused_after(forest, change, tmp_path)


def test_a_tree_wider_than_its_estimator(data, tmp_path):
    def change(model):
        model.tree_ = altered(model.tree_, width=10**6, feature=10**6 - 1)

    refused_after(DecisionTreeClassifier().fit(*data), change, tmp_path)


def test_a_tree_that_tests_a_feature_beyond_its_width(data, tmp_path):
    def change(model):
        model.tree_ = altered(model.tree_, feature=10**6)

    refused_after(DecisionTreeClassifier().fit(*data), change, tmp_path, "invalid nodes")


def test_an_estimator_without_a_width(data, tmp_path):
    """Without it scikit-learn would take rows of any width."""

    def change(forest):
        del forest.n_features_in_

    forest = ExtraTreesClassifier(n_estimators=2, random_state=0).fit(*data)
    refused_after(forest, change, tmp_path, "no number of features")


def test_a_tree_with_fewer_nodes_than_it_counts(data, tmp_path):
    """scikit-learn would read behind its arrays as soon as one of them is looked at."""
    path = tmp_path / "model.skops"
    save_model(DecisionTreeClassifier().fit(data[0], data[1][:, 0]), path)

    def change(schema):
        state = schema["content"]["content"]["tree_"]["content"]["content"]
        state["node_count"].update(content="1000000", __id__=1)

    refused(rewritten(path, change), "invalid nodes")


def test_our_trees_check_the_width_of_rows(data, tmp_path):
    """A member is handed the outer model's rows, whatever width it claims."""
    X, Y = data
    model, path = BinaryRelevanceClassifier().fit(X, Y), tmp_path / "model.skops"
    member = next(m for m in model.estimators_ if m.tree_.node_count > 1)
    member.tree_.feature[member.tree_.children_left >= 0] = 10**8
    member.n_features_in_ = 10**8 + 1
    save_model(model, path)
    with pytest.raises(ValueError, match=r"feature 100000000|do not fit"):
        load_model(path).predict(X)


# --------------------------------------------------------------------- sparse matrices


def sparse_model(data, folder):
    path = folder / "model.skops"
    save_model(MLkNNClassifier().fit(sparse.csr_array(np.rint(data[0])), data[1]), path)
    return path


MATRICES = {
    "jump": {"indptr": lambda old: np.r_[0, 10**9, np.zeros(len(old) - 2, old.dtype)]},
    "blocks": {"format": lambda old: np.array(b"bsr")},
    "other format": {"format": lambda old: np.array(b"csc")},
    "indices": {"indices": lambda old: old + 10**6},
    "negative": {"indices": lambda old: old - 10**6},
    "shape": {"shape": lambda old: old // 2},
}


@pytest.mark.parametrize("name", MATRICES)
def test_stored_matrices(name, data, tmp_path):
    def change(raw):
        with np.load(io.BytesIO(raw)) as archive:
            arrays = {key: archive[key] for key in archive.files}
        arrays |= {key: alter(arrays[key]) for key, alter in MATRICES[name].items()}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        return buffer.getvalue()

    path = rewritten(sparse_model(data, tmp_path), arrays=(".npz", change))
    refused(path, "damaged or tampered with .*sparse matrix")


def find_nodes(value, loader):
    """Return the nodes of a schema that have a loader."""
    found, waiting = [], [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            found += [item] if item.get("__loader__") == loader else []
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return found


def test_a_matrix_rebuilt_as_a_plain_object(data, tmp_path):
    def change(schema):
        for node in find_nodes(schema, "SparseMatrixNode"):
            node["__loader__"] = "ObjectNode"

    path = rewritten(sparse_model(data, tmp_path), change)
    refused(path, r"names scipy\.sparse.* does not load; nothing was loaded")


# --------------------------------------------------------------------- indices in other parts


def test_words_beyond_the_columns(tmp_path):
    texts, Y = ["a bb", "bb cc", "cc dd", "dd bb"], np.eye(4, 2, dtype=int)
    model = make_pipeline(TfidfVectorizer(), MLkNNClassifier(2)).fit(texts, Y)

    def change(pipeline):
        pipeline[0].vocabulary_["bb"] = 10**7

    refused_after(model, change, tmp_path)


def test_texts_are_not_names_of_files(tmp_path):
    def change(vectorizer):
        vectorizer.input = "filename"

    refused_after(TfidfVectorizer().fit(["a bb", "cc"]), change, tmp_path, "is set to read files")


def test_categories_beyond_the_columns(tmp_path):
    def change(encoder):
        encoder._n_features_outs = [1]

    model = OneHotEncoder(handle_unknown="ignore").fit([["a"], ["b"], ["c"]])
    refused_after(model, change, tmp_path)


def test_a_search_among_more_rows_than_have_labels(data, tmp_path):
    model = MLkNNClassifier(3).fit(*data)
    counts = next(value for value in vars(model).values() if hasattr(value, "search"))

    def change(_):
        counts.Y = counts.Y[:5]

    refused_after(model, change, tmp_path, "do not fit together")


def test_neighbours_that_do_not_exist():
    """SciPy would read the labels behind the last row."""
    with pytest.raises(ValueError, match="nearest rows were not found"):
        sum_labels(np.zeros((4, 2), dtype=np.uint8), np.array([[0, 10**8]]))


@pytest.mark.parametrize("name", ["_validate_predict", "predict", "__class__", "__dict__"])
def test_state_that_hides_a_method(name, data, tmp_path):
    def change(model):
        vars(model)[name] = str

    refused_after(MLkNNClassifier(3).fit(*data), change, tmp_path, "state")


def test_types_that_are_not_checked_are_not_accepted(data, tmp_path):
    """A support vector machine follows the numbers of its vectors unchecked."""
    model = OneVsRestClassifier(SVC()).fit(*data)
    with pytest.raises(ValueError, match=r"holds sklearn.*SVC.*which load_model would refuse"):
        save_model(model, tmp_path / "model.skops")


# --------------------------------------------------------------------- bombs


def test_references_that_double_at_each_level(saved):
    """A schema of 60 levels, each with the level before twice: 2^60 nodes to visit."""

    def change(schema):
        def level(number, items):
            names = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
            return {**names, "__id__": number, "content": items}

        found = level(1, [])
        for number in range(2, 60):
            found = level(number, [found, {"__id__": number - 1}])
        schema["content"]["content"]["n_neighbors"] = found

    refused(rewritten(saved, change), "damaged or tampered")


def test_an_id_for_two_objects(saved):
    def change(schema):
        content = schema["content"]["content"]
        content["n_neighbors"]["__id__"] = content["smoothing"]["__id__"] = 7

    refused(rewritten(saved, change), "two different objects")


def test_one_array_for_many_nodes(saved):
    def change(schema):
        first, second = find_nodes(schema, "NdArrayNode")[:2]
        second["file"] = first["file"]

    refused(rewritten(saved, change), "two arrays|two different|damaged")


def test_deep_nesting(saved):
    def change(schema):
        found = schema["content"]["content"]["n_neighbors"]
        for number in range(1, 90):
            names = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
            found = {**names, "__id__": number, "content": [found]}
        schema["content"]["content"]["n_neighbors"] = found

    load_model(rewritten(saved, change))
    with pytest.raises(ValueError, match=r"more than 80 deep.*max_depth="):
        load_model(saved, max_depth=80)


def test_a_model_that_unpacks_to_gigabytes(saved):
    with (
        zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("zeros.npy", "w", force_zip64=True) as member,
    ):
        for _ in range(300):
            member.write(bytes(2**20))
    refused(saved, "unpacks to more than 256 MiB")
    with pytest.raises(ValueError, match="unpacks to more than 256 MiB"):
        model_info(saved)


def test_the_limit_is_an_argument(saved):
    assert load_model(saved, max_bytes=2**20)
    with pytest.raises(ValueError, match="unpacks to more than"):
        load_model(saved, max_bytes=100)


# --------------------------------------------------------------------- digests


def test_digest_proves_that_a_file_is_unaltered(data, tmp_path):
    path = tmp_path / "model.skops"
    digest = save_model(MLkNNClassifier(3).fit(*data), path)
    assert model_info(path).sha256 == digest
    assert load_model(path, expected_sha256=digest.upper()).n_neighbors == 3
    other = save_model(MLkNNClassifier(5).fit(*data), path)
    assert other != digest
    with pytest.raises(ValueError, match=f"its SHA-256 is {other}, not the expected one"):
        load_model(path, expected_sha256=digest)
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        load_model(path, expected_sha256="abc")


@pytest.mark.parametrize("position", [-1, 625, 10**9])
def test_a_random_state_beyond_its_words(position, data, tmp_path):
    """NumPy would read behind the state of its generator when the model is fitted again."""
    path = tmp_path / "model.skops"
    model = VPCMEClassifier(n_estimators=2, random_state=np.random.RandomState(0)).fit(*data)
    save_model(model, path)

    def change(schema):
        state = schema["content"]["content"]["random_state"]["content"]["content"]["state"]
        state["content"]["pos"].update(content=str(position), __id__=1)

    refused(rewritten(path, change), "a random state has an invalid position")


def test_jobs_are_at_most_as_many_as_cores(data, tmp_path):
    """joblib would start as many processes as the file says."""
    path = tmp_path / "model.skops"
    columns = ColumnTransformer([("all", "passthrough", [0, 1])])
    model = make_pipeline(columns, MLkNNClassifier(3)).fit(*data)
    columns.n_jobs = 100_000
    save_model(model, path)
    assert load_model(path)[0].n_jobs == cpu_count()
    columns.n_jobs = "100000"
    save_model(model, path)
    refused(path, "ColumnTransformer has an invalid n_jobs")


def test_halves_of_characters_in_the_description(saved):
    refused(rewritten(saved, head={"label_names": ["\ud800"]}), "labelkin.json is damaged")


# --------------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [("Schema", "decimal", '"x"'), ("Schema", "n_features", "[]"), ("LabelColumns", "column", "3")],
)
def test_the_description_of_a_table(part, name, value, tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"x": [1.0, 2.0, 5.0, 6.0], "t": ["a", "b", "a;b", "b"]})
    model = TableClassifier(MLkNNClassifier(1), labels="t").fit(table)
    save_model(model, tmp_path / "m.skops")

    def change(schema):
        found = schema["content"]["content"]
        owner = found["schema_" if part == "Schema" else "label_columns_"]
        assert owner["__class__"] == f"tabular.{part}"
        owner["content"]["content"][name]["content"] = value

    refused(rewritten(tmp_path / "m.skops", change), "damaged or tampered")
