"""`describe` against hand-made cases and published figures."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from labelkin.datasets import describe
from support.data import DATA, needs_data

# Counts 4, 2, 1, 0, so IRLbl is 1, 2, 4, inf.
Y = np.array(
    [
        [1, 1, 0, 0],
        [1, 1, 0, 0],
        [1, 0, 1, 0],
        [1, 0, 0, 0],
        [0, 0, 0, 0],
    ]
)


def test_by_hand():
    found = describe(Y, np.zeros((5, 3)))
    assert found.table2() == {
        "instances": 5,
        "features": 3,
        "labels": 4,
        "distinct": 4,
        "cardinality": 7 / 5,
        "density": 7 / 20,
    }
    assert found.label_counts == (4, 2, 1, 0)
    assert found.irlbl == (1.0, 2.0, 4.0, math.inf)
    assert found.mean_ir == pytest.approx(7 / 3)
    assert found.max_ir == 4
    # Deviations from 7/3: squares (16 + 1 + 25) / 9 = 42/9; over n - 1 = 2.
    assert found.cv_ir == pytest.approx(math.sqrt(42 / 18) / (7 / 3))
    # Rows {1, 2} twice: 1 - sqrt(2)/1.5; row {1, 4}: 1 - 2/2.5; other rows 0.
    assert found.scumble == pytest.approx((2 * (1 - math.sqrt(2) / 1.5) + (1 - 2 / 2.5)) / 5)
    assert found.unlabelled == 1 / 5
    assert found.single_sets == 3 / 4
    assert found.set_sizes == (1, 1, 3)
    assert found.never_positive == ("3",)


@pytest.mark.parametrize(
    "same",
    [
        sp.csr_matrix(Y),
        sp.csc_array(Y),
        sp.coo_array(Y.astype(float)),
        Y.astype(bool),
        Y.tolist(),
        np.asfortranarray(Y.astype(np.float32)),
    ],
    ids=["csr", "csc", "coo", "bool", "list", "float32"],
)
def test_any_form_of_Y(same):
    assert describe(same) == describe(Y)


def test_explicit_zeros_and_input_left_alone():
    stored = sp.csr_matrix(Y)
    stored.data[0] = 0
    before = stored.copy()
    expected = Y.copy()
    expected[0, 0] = 0
    assert describe(stored) == describe(expected)
    assert stored.nnz == before.nnz


def test_names_of_a_frame():
    frame = pd.DataFrame(Y, columns=["a", "b", "c", "d"])
    assert describe(frame).label_names == ("a", "b", "c", "d")
    assert describe(frame, label_names=list("wxyz")).never_positive == ("z",)


def test_features_of_a_sparse_X():
    assert describe(Y, sp.csr_matrix((5, 9))).features == 9
    assert describe(Y).features is None


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([[[0, 1]]], "one column per label"),
        (np.zeros((0, 3)), "y is empty"),
        (np.zeros((3, 0)), "y is empty"),
        ([[0, 2]], "only 0 and 1"),
        ([[-1, 1]], "only 0 and 1"),
        (sp.csr_matrix([[0, 3]]), "only 0 and 1"),
    ],
)
def test_bad_labels_are_refused(bad, words):
    with pytest.raises(ValueError, match=words):
        describe(bad)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="X has 4 rows and y has 5"):
        describe(Y, np.zeros((4, 2)))
    with pytest.raises(ValueError, match="2 names and y has 4"):
        describe(Y, label_names=["a", "b"])


def test_no_label_at_all():
    found = describe(np.zeros((3, 2)))
    assert (found.mean_ir, found.scumble, found.unlabelled, found.distinct) == (1, 0, 1, 1)
    assert found.set_sizes == (3,)


def test_one_row_one_label():
    found = describe([[1]])
    assert (found.cardinality, found.density, found.distinct, found.mean_ir) == (1, 1, 1, 1)


def test_prints_as_a_table_and_as_json():
    found = describe(Y)
    lines = str(found).splitlines()
    assert lines[0].split() == ["instances", "5"]
    assert "4, 1 never positive" in str(found)
    assert "MeanIR" in str(found)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["irlbl"] == [1, 2, 4, None]


@needs_data
@pytest.mark.parametrize(
    ("name", "mean_ir", "scumble"),
    [  # as published with the R package mldr
        ("yeast", 7.197, 0.104),
        ("enron", 73.953, 0.303),
        ("scene", 1.254, 0.000),
        ("genbase", 37.315, 0.029),
        ("medical", 89.501, 0.047),
    ],
)
def test_published_imbalance(name, mean_ir, scumble):
    with np.load(DATA / f"{name}.npz") as stored:
        found = describe(stored["Y"])
    assert round(found.mean_ir, 3) == mean_ir
    assert round(found.scumble, 3) == scumble
