import numpy as np
import pytest
from scipy import sparse

from labelkin.datasets import FormatError, read, write
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
        ({"X_data": np.array([None, 1], dtype=object)}, "not a readable .npz file"),
        ({"label_names": np.array(["a", "b"])}, "label_names is not a vector of 1"),
        ({"label_names": np.array([1])}, "label_names is not a vector of 1"),
        ({"feature_names": np.array(["a", "a"])}, "two feature names are named 'a'"),
        ({"label_names": np.array(["\ud800"])}, "'\\ud800' is not valid Unicode text"),
        ({"label_names": np.array([2**21]).view("U2")[:1]}, "invalid Unicode code points"),
        ({"split": np.array([0])}, "split is not a vector of 2"),
        ({"split": np.array([0, 256])}, "split holds other values than 0"),
        ({"split": np.array([-1, 1])}, "split holds other values than 0"),
        ({"feature_n_values": np.array([2**32, 0])}, "that is no count of values"),
        ({"feature_n_values": np.array([-1, 0])}, "that is no count of values"),
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
