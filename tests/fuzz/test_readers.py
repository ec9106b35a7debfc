"""Mutated files of every format: a result, or one sentence; never another error or a crash."""

import io

import numpy as np
import pytest
from scipy import sparse

from labelkin.datasets import write
from support.damaged import SMALL, outcome
from support.mutations import inputs


def npz(**changes):
    """Return a dataset in labelkin's own format."""
    arrays = {
        "X_data": np.ones(2),
        "X_indices": np.array([0, 1]),
        "X_indptr": np.array([0, 1, 2]),
        "X_shape": np.array([2, 2]),
        "Y": np.eye(2, dtype=np.uint8),
    }
    buffer = io.BytesIO()
    np.savez(buffer, **{**arrays, **changes})
    return buffer.getvalue()


HEAD = b"@relation 'x: -C 1'\n@attribute y {0,1}\n@attribute a numeric\n@data\n"
XML = b'<labels xmlns="http://mulan.sourceforge.net/labels"><label name="a"/></labels>'
ENTITY = b"<!DOCTYPE l [<!ENTITY e SYSTEM 'file:///etc/passwd'><!ENTITY f '&f;&f;'>]>"
MORE = {
    "dense.arff": [HEAD + b"1,2\n0,3\n", HEAD + b"1,1e400\n"],
    "sparse.arff": [HEAD + b"{0 1,1 2}\n{1 3}\n"],
    "set.svm": [b"0 1:1_000\n", b"0 9000000000:1\n"],
    "set.csv": [b'a,y1,y2\n"1,0,1\n2,1,0\n3,0,0\n', b"a,y1,y2\n0x1F,0,0\n1e400,1,1\n"],
    "set.xml": [b'<?xml version="1.0" encoding="utf-16"?>' + XML, ENTITY + XML],
}


def assert_read_or_refused(path, corpus, **options):
    """Check that every mutation is read or refused, and that there are some of both."""
    found = {outcome(path, raw, **options) for raw in inputs(corpus, count=800)}
    assert found == {True, False}


@pytest.mark.parametrize("name", SMALL)
def test_texts(name, tmp_path):
    raw, options = SMALL[name]
    assert outcome(tmp_path / name, raw, **options)
    assert_read_or_refused(tmp_path / name, [raw, *MORE[name]], **options)


def test_arrays(tmp_path):
    corpus = [
        npz(),
        npz(X_indptr=np.array([0, 10**9, 0]), X_data=np.ones(0), X_indices=np.zeros(0, int)),
        npz(X_shape=np.array([2, 2**40])),
    ]
    assert_read_or_refused(tmp_path / "set.npz", corpus)


@pytest.mark.parametrize("suffix", [".parquet", ".arff.gz", ".arff.bz2"])
def test_binary_files(suffix, tmp_path):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet")
    path = tmp_path / f"set{suffix}"
    corpus = []
    for data in (np.eye(9), sparse.csr_matrix(np.eye(9))):
        write(path, data, np.eye(9, dtype=int), label_names=list("abcdefghi"))
        corpus.append(path.read_bytes())
    assert_read_or_refused(path, corpus)
