import gzip

import numpy as np
import pytest

from labelkin.datasets import FormatError, read, read_table
from labelkin.tabular import LabelColumns
from support.damaged import cpu_limit
from support.datasets import assert_same


def svm(tmp_path, text, **options):
    path = tmp_path / "set.svm"
    path.write_text(text)
    return read(path, **options)


def test_plain_file(tmp_path):
    got = svm(tmp_path, "1,3 1:0.5 3:2 # note\n\n# a comment\n2:1\n3 1:-1e3\n")
    assert_same(got, [[0.5, 0, 2], [0, 1, 0], [-1000, 0, 0]], [[1, 1], [0, 0], [0, 1]])
    assert got.label_names == ["1", "3"]
    assert got.feature_names is None


def test_labels_and_features_can_be_declared(tmp_path):
    text = "1,3 1:0.5\n2 2:1\n"
    assert_same(
        svm(tmp_path, text, labels=4, n_features=3),
        [[0.5, 0, 0], [0, 1, 0]],
        [[0, 1, 0, 1], [0, 0, 1, 0]],
    )
    named = svm(tmp_path, text, labels="a,b,c")  # ids from 1: 0 is absent, 3 is not
    assert named.label_names == ["a", "b", "c"]
    np.testing.assert_array_equal(named.target, [[1, 0, 1], [0, 1, 0]])


def test_features_count_from_0_or_1(tmp_path):
    text = "1 2:3 3:1\n1 3:4\n"
    assert svm(tmp_path, text).data.toarray().tolist() == [[0, 3, 1], [0, 0, 4]]
    told = svm(tmp_path, text, zero_based=True)
    assert told.data.toarray().tolist() == [[0, 0, 3, 1], [0, 0, 0, 4]]
    with pytest.raises(FormatError, match="has a feature 0, but features count from 1"):
        svm(tmp_path, "1 0:1 2:3\n", zero_based=False)


def test_a_space_is_a_row_and_an_empty_line_is_none(tmp_path):
    got = svm(tmp_path, "1 1:3\n \n\n2 2:1\n")
    assert_same(got, [[3, 0], [0, 0], [0, 1]], [[1, 0], [0, 0], [0, 1]])
    assert "1 empty line left out" in [one.text for one in read_table(tmp_path / "set.svm").guesses]


def test_extreme_classification_head(tmp_path):
    got = svm(tmp_path, "2 4 3\n0,2 0:1 3:2\n1 1:5\n")
    assert_same(got, [[1, 0, 0, 2], [0, 5, 0, 0]], [[1, 0, 1], [0, 1, 0]])
    assert got.label_names == ["0", "1", "2"]  # as they are numbered
    assert svm(tmp_path, "1 1 2\n1,2 0:1\n").label_names == ["1", "2"]
    with pytest.raises(FormatError, match="declares 3 rows, but 2 follow"):
        svm(tmp_path, "3 4 3\n0,2 0:1 3:2\n1 1:5\n")


def test_new_rows_have_the_labels_of_their_ids(tmp_path):
    """Where all labels are declared, as where those that occur are taken."""
    declared, own = tmp_path / "declared.svm", tmp_path / "own.svm"
    declared.write_text("2 2 4\n0,3 0:1 1:3\n1 1:5\n")
    own.write_text("3 0:1 1:3\n1 1:5\n")
    labels = LabelColumns.find(read_table(declared))
    np.testing.assert_array_equal(labels.read(read_table(own)), [[0, 0, 0, 1], [0, 1, 0, 0]])
    labels = LabelColumns.find(read_table(own))
    np.testing.assert_array_equal(labels.read(read_table(declared)), [[0, 1], [1, 0]])


def test_rows_are_counted_while_they_are_read(tmp_path, monkeypatch):
    """A file of short rows takes many times its size: it is refused before that is taken."""
    path = tmp_path / "b.svm.gz"
    path.write_bytes(gzip.compress(b"1\n" * 3_000_000))
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "20000000")
    with cpu_limit(5), pytest.raises(FormatError, match=r"b\.svm\.gz: .*more than 19 MiB"):
        read(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:1\n1 a:1\n", "line 2: not a LibSVM row"),
        ("1 1:1\n1 2\n", "line 2: not a LibSVM row"),
        ("1 1:1\n\nx 2:1\n", "line 3: not a LibSVM row"),
        ("1 2:1 1:1\n", "line 1: not a LibSVM row (Feature indices"),
        ("1 -2:1\n", "line 1: not a LibSVM row"),
        ("1 99999999999999999999:1\n", "line 1: not a LibSVM row"),
        ("1.5 1:1\n", "a label id is not an integer"),
        ("nan 1:1\n", "a label id is not an integer"),
        ("1:1\n", "it holds no labels"),
        ("", "it holds no labels"),
        ("1 1 2\n1 0:1\n2 0:1\n", "declares 1 rows, but 2 follow"),
        ("1 1 2\n5 0:1\n", "label id 5 is out of range for 2 labels"),
        ("1 1 2\n1 3:1\n", "it has 4 features, more than the 1 that are expected"),
        ("1 \0:1\n", "line 1: "),
        # Few bytes that would take gigabytes, once they are read.
        ("1 1 99999999\n0 0:1\n", "a table of 99,999,999 labels unpacks to more than"),
        ("1 99999999:1\n", "a table of 99,999,999 features unpacks to more than"),
    ],
)
def test_bad_files(tmp_path, text, message):
    with pytest.raises(FormatError) as caught:
        svm(tmp_path, text)
    assert message in str(caught.value)
    assert str(tmp_path / "set.svm") in str(caught.value)
