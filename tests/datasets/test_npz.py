import numpy as np
import pytest
from scipy import sparse

from labelkin.datasets import FormatError, read, read_table, write
from labelkin.tabular import find_training_data
from support.data import DATA, needs_data
from support.datasets import assert_same

NAMES = (
    "yeast scene enron genbase medical arts business education entertainment health science social"
)


@needs_data
@pytest.mark.parametrize("name", NAMES.split())
def test_real_files_come_back_array_for_array(name, tmp_path):
    got = read(DATA / f"{name}.npz")
    assert sparse.issparse(got.data) == (name not in ("yeast", "scene"))
    write(
        tmp_path / "copy.npz",
        got.data,
        got.target,
        feature_names=got.feature_names,
        label_names=got.label_names,
        feature_n_values=got.feature_n_values,
        split=got.split,
    )
    with np.load(DATA / f"{name}.npz") as a, np.load(tmp_path / "copy.npz") as b:
        assert sorted(a.files) == sorted(b.files)
        for key in a.files:
            assert a[key].dtype == b[key].dtype, key
            np.testing.assert_array_equal(a[key], b[key])


def parts(**changes):
    arrays = {
        "X_data": np.array([1.0, 2.0]),
        "X_indices": np.array([0, 1], dtype=np.int32),
        "X_indptr": np.array([0, 1, 2], dtype=np.int32),
        "X_shape": np.array([2, 2]),
        "Y": np.array([[1], [0]], dtype=np.uint8),
    }
    arrays.update(changes)
    return {key: value for key, value in arrays.items() if value is not None}


def test_minimal_file(tmp_path):
    np.savez(tmp_path / "m.npz", **parts())
    got = read(tmp_path / "m.npz")
    assert_same(got, [[1, 0], [0, 2]], [[1], [0]])
    assert got.feature_names is None
    assert got.split is None
    np.testing.assert_array_equal(got.feature_n_values, [0, 0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Y": None}, "the array 'Y' is missing"),
        ({"Y": np.array([[2], [0]])}, "Y is not a matrix of 0 and 1"),
        ({"Y": np.array([["a"], ["b"]])}, "Y is not a matrix of 0 and 1"),
        ({"Y": np.array([1, 0])}, "Y is not a matrix of 0 and 1"),
        ({"Y": np.array([[1]])}, "X has 2 rows, Y has 1"),
        ({"X_indices": np.array([0, 7])}, "not a CSR matrix"),
        ({"X_indices": np.array([0, -1])}, "not a CSR matrix"),
        ({"X_indptr": np.array([0, 5, 2])}, "not a CSR matrix"),
        # SciPy's own check passes over this one and corrupts the heap when it is used.
        ({"X_indptr": np.array([0, 10**9, 0])}, "not a CSR matrix"),
        (
            {"X_indptr": np.array([0.5, 1, 2])},
            "indptr of a sparse matrix is not a vector",
        ),
        ({"X_shape": np.array([2, 2**40])}, "1,099,511,627,776 features unpacks to more"),
        ({"X_shape": np.array([2])}, "not a CSR matrix"),
        ({"X_shape": np.array(3)}, "not a CSR matrix"),
        ({"X_data": np.array(["a", "b"])}, "data of a sparse matrix is not a vector"),
        ({"X_data": np.array([None, 1], dtype=object)}, "not a readable file of arrays"),
        ({"label_names": np.array(["a", "b"])}, "label_names is not a vector of 1"),
        ({"label_names": np.array([1])}, "label_names is not a vector of 1"),
        ({"feature_names": np.array(["a", "a"])}, "two feature names are named 'a'"),
        ({"label_names": np.array(["\ud800"])}, "'\\ud800' is not valid Unicode text"),
        ({"label_names": np.array([2**21]).view("U2")[:1]}, "invalid Unicode code points"),
        ({"split": np.array([0])}, "split is not a vector of 2"),
        ({"split": np.array([0, 256])}, "split holds other values than 0"),
        ({"split": np.array([-1, 1])}, "split holds other values than 0"),
        ({"feature_n_values": np.array([2**32, 0])}, "that is not a count"),
        ({"feature_n_values": np.array([-1, 0])}, "that is not a count"),
        ({"feature_n_values": np.array([0.5, 1])}, "feature_n_values is not a vector"),
    ],
)
def test_bad_arrays(tmp_path, changes, message):
    np.savez(tmp_path / "b.npz", **parts(**changes))
    with pytest.raises(FormatError) as caught:
        read(tmp_path / "b.npz")
    assert message in str(caught.value)
    assert str(tmp_path / "b.npz") in str(caught.value)


def test_names_that_numpy_would_cut(tmp_path):
    with pytest.raises(ValueError, match="NUL"):
        write(tmp_path / "a.npz", [[1.0]], [[1]], label_names=["a\0"])
    assert not list(tmp_path.iterdir())


def test_arrays_of_others(tmp_path):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 3)).astype(np.float32), rng.integers(0, 2, (6, 2))
    path = tmp_path / "set.npz"
    np.savez(path, X=X, y=Y, other=np.ones(2))
    found = read(path)
    np.testing.assert_array_equal(found.data, X)
    np.testing.assert_array_equal(found.target, Y)
    np.savez(path, train=X, truth=2 * Y - 1)
    with pytest.raises(
        FormatError, match=r"no array X; it holds the arrays train, truth; .* x="
    ) as caught:
        read_table(path)
    assert caught.value.arguments == ("x",)
    np.testing.assert_array_equal(read_table(path, x="train", y="truth").target, Y)
    assert read_table(path, x="train").target is None
    with pytest.raises(FormatError, match=r"it holds no labels; .* y="):
        read(path, x="train")


@pytest.mark.parametrize("key", ["label_names", "class_names", "target_names", "labels"])
def test_names_in_arrays_of_others(key, tmp_path):
    X, Y = np.arange(12.0).reshape(6, 2), np.array([[1, 0, 1], [0, 1, 1]] * 3)
    path, names = tmp_path / "set.npz", ["owl", "dog", "cat"]
    np.savez(path, X=X, y=Y, feature_names=["wing", "leg"], **{key: names})
    found = read(path)
    assert (found.feature_names, found.label_names) == (["wing", "leg"], names)
    np.savez(path, X=X, y=[0, 2, 2, 0, 2, 0], **{key: names})  # classes
    assert read(path).label_names == ["owl", "cat"]
    np.savez(path, X=X, y=Y, **{key: names[:2]})
    assert read(path).label_names is None
    np.savez(path, X=X, y=Y, **{key: np.array(names, dtype=object)})
    table = read_table(path)
    assert table.label_names == ["y1", "y2", "y3"]
    assert [guess.text for guess in table.guesses] == [
        f"{key} left out: it holds objects; save it as np.array({key}, dtype=str)"
    ]
    np.savez(path, X=X, y=Y, **{key: ["owl", "dog", "owl"]})
    with pytest.raises(FormatError, match="are named 'owl'; rename one"):
        read(path)


def test_texts_are_a_column_of_tags(tmp_path):
    path, texts = tmp_path / "set.npz", np.array(["a;b", "b", "a", ""])
    np.savez(path, X=np.ones((4, 2)), y=texts)
    training = find_training_data(read_table(path))
    assert (training.labels.names, training.labels.separator) == (("a", "b"), ";")
    assert training.y.tolist() == [[1, 1], [0, 1], [1, 0], [0, 0]]
    assert [guess.text for guess in training.guesses] == [
        "y split at ';'",
        "empty cells of y mean no label",
    ]
    assert find_training_data(read_table(path), separator="b").labels.names == ("a", "a;")
    found = read(path)
    assert (found.label_names, found.target.sum()) == (["a", "a;b", "b"], 3)
    objects = np.empty(4, dtype=object)
    objects[:] = [text.split(";") for text in texts]
    np.savez(path, X=np.ones((4, 2)), y=objects)
    with pytest.raises(FormatError, match=r"Python objects.*; save .* for labels in y\]\)$"):
        read_table(path)


def test_a_pair_of_files_with_images(tmp_path):
    images = np.arange(4 * 2 * 3 * 3, dtype=np.uint8).reshape(4, 2, 3, 3)
    np.save(tmp_path / "X_train.npy", images)
    assert read_table(tmp_path / "X_train.npy").target is None
    np.save(tmp_path / "y_train.npy", np.array([3, 0, 3, 7]))
    found = read_table(tmp_path / "X_train.npy")
    np.testing.assert_array_equal(found.data, images.reshape(4, -1))
    assert found.label_names == ["0", "3", "7"]
    assert found.target.tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert [guess.text for guess in found.guesses] == [
        "labels from y_train.npy",
        "X: arrays of 2 × 3 × 3 flattened to 18 features",
        "y: 3 classes, one label each",
    ]
    np.save(tmp_path / "other.npy", np.eye(4))
    found = read_table(tmp_path / "X_train.npy", y=str(tmp_path / "other.npy"))
    np.testing.assert_array_equal(found.target, np.eye(4))


def test_labels_in_a_file_beside_an_npz(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.ones((4, 3)))
    np.save(tmp_path / "labels.npy", np.eye(4, 2))
    found = read_table(tmp_path / "t.npz", y=str(tmp_path / "labels.npy"))
    np.testing.assert_array_equal(found.target, np.eye(4, 2))


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_a_sparse_matrix_of_scipy(form, tmp_path):
    X = sparse.random(8, 6, 0.2, format=form, random_state=0)
    Y = np.arange(16).reshape(8, 2) % 3 % 2
    path = tmp_path / "X_train.npz"
    sparse.save_npz(path, X)
    with pytest.raises(FormatError, match=r"it holds no labels; .* y="):
        read(path)
    np.save(tmp_path / "labels.npy", Y)
    sparse.save_npz(tmp_path / "y_train.npz", sparse.csr_matrix(Y))
    for y in (str(tmp_path / "labels.npy"), None):  # the second file, named or found
        found = read_table(path, y=y)
        assert found.data.format == "csr"
        np.testing.assert_array_equal(found.data.toarray(), X.toarray())
        np.testing.assert_array_equal(found.target, Y)
    assert [guess.text for guess in found.guesses] == ["labels from y_train.npz"]


@pytest.mark.parametrize(
    ("form", "changes", "message"),
    [
        ("bsr", {}, "a sparse matrix in the form bsr; save X.tocsr()"),
        ("csr", {"indices": np.array([0, 7, 1])}, "an index of a sparse matrix is out of range"),
        ("csc", {"shape": np.array([10**15, 3])}, "the file unpacks to more"),
        ("coo", {"row": np.array([0, 7, 1])}, "not a readable file of arrays ("),
        ("coo", {"row": np.array([0.5, 1, 1])}, "holds other values than numbers"),
        ("coo", {"shape": np.array([3, 2**40])}, "1,099,511,627,776 features unpacks to more"),
    ],
)
def test_bad_sparse_matrices(form, changes, message, tmp_path):
    path = tmp_path / "X.npz"
    sparse.save_npz(path, sparse.eye(3, format=form))
    with np.load(path) as arrays:
        np.savez(path, **({**arrays} | changes))
    with pytest.raises(FormatError) as caught:
        read_table(path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones(3), np.ones(3), "X is not an array of numbers with one row per sample"),
        (np.array([["a"]]), np.ones(1), "X is not an array of numbers"),
        (np.ones((0, 2)), np.ones(0), "X is not an array of numbers with one row per sample"),
        (np.ones((0, 2, 3)), np.ones(0), "X is not an array of numbers with one row per sample"),
        (np.ones((3, 2)), np.array(1), "X has 3 rows, y has 0"),
        (np.ones((3, 2)), np.ones((2, 2)), "X has 3 rows, y has 2"),
        (np.ones((3, 2)), np.full((3, 2), 2), "y is neither a matrix of 0 and 1"),
        (np.ones((3, 2)), np.array([0.5, 1, 2]), "y is neither a matrix of 0 and 1"),
        (np.ones((3, 2)), np.array([None, 1, 2]), "not a readable file of arrays"),
    ],
)
def test_arrays_that_are_no_dataset(tmp_path, X, y, message):
    np.savez(tmp_path / "set.npz", X=X, y=y)
    with pytest.raises(FormatError, match=message):
        read_table(tmp_path / "set.npz")


def test_an_unreadable_file_of_labels_is_named(tmp_path):
    np.save(tmp_path / "X.npy", np.ones((3, 2)))
    np.savez(tmp_path / "labels.npz", y=np.ones((3, 2)))
    with pytest.raises(FormatError, match=r"labels\.npz: not a readable file of arrays"):
        read(tmp_path / "X.npy", y=str(tmp_path / "labels.npz"))
    (tmp_path / "y.csv").write_text("a,b\n1,0\n")
    with pytest.raises(FormatError, match=r"y\.csv: y= takes a file that np\.save or"):
        read(tmp_path / "X.npy", y=str(tmp_path / "y.csv"))
