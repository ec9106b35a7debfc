"""Round trips through every writer, and the one door to all formats."""

import bz2
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelkin.datasets import FormatError, read, read_table, write
from labelkin.datasets.formats._columns import normal_form
from support.data import DATA, needs_data
from support.datasets import assert_same

FORMATS = ["arff", "npz", "csv"]

values = st.one_of(
    st.just(0.0), st.floats(allow_infinity=False), st.integers(-5, 5).map(float), st.just(np.nan)
)
# Anything XML can carry, with a taste for what the formats find special.
characters = st.sampled_from("'\"\\,{}%? \t\n\r@:;#&<>éß日\u2028") | st.characters(
    codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"
)
names = st.text(characters, max_size=8).map(normal_form) | st.sampled_from(
    ["?", "%", "@data", "-C 3", "a b", "'", "0"]
)


@st.composite
def contents(draw):
    n, d, q = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    data = np.array(draw(st.lists(values, min_size=n * d, max_size=n * d)), dtype=float)
    data = data.reshape(n, d)
    n_values = np.zeros(d, dtype=np.int32)
    if draw(st.booleans()):  # a nominal first column
        n_values[0] = 3
        data[:, 0] = draw(st.lists(st.sampled_from([0, 1, 2, np.nan]), min_size=n, max_size=n))
    marks = draw(st.lists(st.booleans(), min_size=n * q, max_size=n * q))
    target = np.array(marks, dtype=np.uint8).reshape(n, q)
    columns = draw(st.lists(names, min_size=d + q, max_size=d + q, unique=True))
    if draw(st.booleans()):
        data = sparse.csr_matrix(data)
    if draw(st.booleans()):
        target = sparse.csr_matrix(target)
    return data, target, columns[:d], columns[d:], n_values


def round_trip(folder, form, data, target, compression="", **options):
    path = folder / f"set.{form}{compression}"
    write(path, data, target, **options)
    return read(path, labels=options["label_names"] if form == "csv" else None)


@settings(max_examples=20, deadline=None)
@given(content=contents(), compression=st.sampled_from(["", "", ".gz", ".bz2"]))
def test_round_trip(tmp_path_factory, content, compression):
    data, target, features, labels, n_values = content
    folder = tmp_path_factory.getbasetemp()
    options = {"feature_names": features, "label_names": labels, "feature_n_values": n_values}
    for form in FORMATS:
        got = round_trip(folder, form, data, target, compression, **options)
        assert_same(got, data, target)
        assert got.feature_names == features, form
        assert got.label_names == labels, form
        kinds = np.zeros_like(n_values) if form == "csv" else n_values
        np.testing.assert_array_equal(got.feature_n_values, kinds, err_msg=form)
        if form == "arff":
            assert sparse.issparse(got.data) == sparse.issparse(data), form


@pytest.mark.parametrize("form", FORMATS)
def test_edge_cases_round_trip(tmp_path, form):
    """Empty label sets, all-zero rows, a column never non-zero, one label, extreme numbers."""
    data = np.array([[0, 0, 0], [5e-324, 0, -1.7976931348623157e308], [0.1 + 0.2, 0, 1e22]])
    target = np.array([[0], [1], [0]])
    for matrix in (data, sparse.csr_matrix(data)):
        assert_same(round_trip(tmp_path, form, matrix, target, label_names=["l"]), data, target)


ODD = [
    "a\rb",
    "\r",
    "\n",
    "it's",
    'q"q',
    "",
    " lead",
    "日本\u2028",
    "%x",
    "?",
    "{0,1}",
    "a,b",
    "\\",
]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("at", [0, 5, 9])
def test_odd_names_round_trip(tmp_path, form, at):
    names = ODD[at:] + ODD[:at]
    data, target = np.arange(10.0).reshape(2, 5), np.ones((2, len(ODD) - 5))
    got = round_trip(tmp_path, form, data, target, feature_names=names[:5], label_names=names[5:])
    assert got.feature_names == names[:5]
    assert got.label_names == names[5:]


@needs_data
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", ["yeast", "medical"])
def test_real_data_round_trip(tmp_path, form, name):
    original = read(DATA / f"{name}.npz")
    got = round_trip(
        tmp_path,
        form,
        original.data,
        original.target,
        feature_names=original.feature_names,
        label_names=original.label_names,
        feature_n_values=original.feature_n_values,
        split=original.split,
    )
    assert_same(got, original.data, original.target)
    assert got.feature_names == original.feature_names
    assert got.label_names == original.label_names
    if form == "npz":
        np.testing.assert_array_equal(got.split, original.split)


@needs_data
def test_every_pair_of_formats(tmp_path):
    """Through all formats in turn, the data stay what they were."""
    data = original = read(DATA / "genbase.npz")
    for form in [*FORMATS, *reversed(FORMATS)]:
        data = round_trip(
            tmp_path,
            form,
            data.data,
            data.target,
            feature_names=data.feature_names,
            label_names=data.label_names,
        )
    assert_same(data, original.data, original.target)
    assert data.label_names == original.label_names


def test_format_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"a\.doc: the suffix gives no known format"):
        read("a.doc")
    with pytest.raises(ValueError, match=r"a\.xls: .*save it as \.xlsx or CSV"):
        read("a.xls")
    with pytest.raises(ValueError, match=r"a\.parquet: this format cannot be written; .*\.csv"):
        write("a.parquet", [[1.0]], [[1]])
    write(tmp_path / "A.NPZ", [[1.0]], [[1]])
    with pytest.raises(ValueError, match="arrays have no named columns"):
        read(tmp_path / "A.NPZ", labels="x")
    with pytest.raises(ValueError, match="its labels are not among its columns"):
        read(tmp_path / "A.NPZ", drop="x")


def test_missing_file_is_the_usual_error(tmp_path):
    for name in ("a.arff", "a.npz", "a.svm", "a.csv", "a.parquet", "a.arff.gz"):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / name, labels=None if "npz" in name else "y")


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    write(path, [[1.0]], [[1]])
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write(path, [[2.0]], [[1]])
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.npz"]


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "npz"])  # a zip has times
def test_equal_data_give_equal_files(tmp_path, form):
    files = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / f"s.{form}.gz"
        write(path, np.eye(2), np.eye(2, dtype=int))
        files.append(path.read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("suffix", [".gz", ".bz2"])
def test_damaged_compression_is_one_error(tmp_path, suffix):
    path = tmp_path / f"a.arff{suffix}"
    rng = np.random.default_rng(0)
    write(path, rng.random((300, 5)), rng.integers(0, 2, (300, 2)))
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    for damaged in (whole[: len(whole) // 2], bytes(flipped), b"not compressed at all", b""):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"a\.arff"):
            read(path)


def test_arff_does_not_appear_without_its_xml(tmp_path):
    (tmp_path / "a.xml").mkdir()  # so that the XML cannot be put in its place
    with pytest.raises(OSError, match=r"a\.xml"):
        write(tmp_path / "a.arff", np.eye(2), np.eye(2, dtype=int))
    assert os.listdir(tmp_path) == ["a.xml"]


@pytest.mark.parametrize("suffix", [".tsv", ".tab.gz"])
def test_tables_with_tabs(tmp_path, suffix):
    path = tmp_path / f"set{suffix}"
    write(path, [[1.5], [2]], [[1], [0]], feature_names=["a, b"], label_names=["y"])
    got = read(path, labels="y")
    assert got.feature_names == ["a, b"]
    assert_same(got, [[1.5], [2]], np.array([[1], [0]]))


@pytest.mark.parametrize(
    ("text", "is_libsvm"),
    [("1,2 3:0.5 7:1\n", True), ("# rows\n1 2:1\n", True), ("a\ty\n1\t0\n", False),
     ("id,name,tags\n1,b,c\n", False), ("2 9 4\r\n1,3 4:1\r\n 4:1\r\n", True),
     ("2019\t2020\t2021\n5\t4\tb\n", False)],
)  # fmt: skip
@pytest.mark.parametrize("suffix", [".txt", ".txt.bz2"])
def test_text_files_are_told_by_their_first_lines(tmp_path, text, is_libsvm, suffix):
    path = tmp_path / f"set{suffix}"
    path.write_bytes(bz2.compress(text.encode()) if suffix == ".txt.bz2" else text.encode())
    assert (read_table(path).target is not None) == is_libsvm
