"""Mutated files of every format: a result, or one sentence; never another error or a crash."""

import io

import numpy as np
import pytest
from scipy import sparse

from labelkin.datasets import FormatError, read, write
from labelkin.datasets.formats._mulan_xml import read_labels_xml
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
CORPUS = {
    "dense.arff": [HEAD + b"1,2\n0,3\n", HEAD + b"1,1e400\n"],
    "sparse.arff": [HEAD + b"{0 1,1 2}\n{1 3}\n"],
    "set.svm": [b"0,2 1:0.5 4:1\n1 2:3\n", b"0 1:1_000\n", b"0 9000000000:1\n"],
    "set.csv": [b"a,y\n1,0\n2,1\n", b'a,y\n"1,0\n2,1\n3,0\n', b"a,y\n0x1F,0\n1e400,1\n"],
    "set.npz": [
        npz(),
        npz(X_indptr=np.array([0, 10**9, 0]), X_data=np.ones(0), X_indices=np.zeros(0, int)),
        npz(X_shape=np.array([2, 2**40])),
    ],
}


def assert_read_or_refused(path, corpus, read_file):
    """Check that every mutation is read, or refused in a sentence that begins with its name."""
    for raw in inputs(corpus):
        path.write_bytes(raw)
        message = str(path)
        try:
            read_file(path)
        except FormatError as error:
            message = str(error)
        assert message.startswith(str(path))


@pytest.mark.parametrize("name", CORPUS)
def test_data_files(name, tmp_path):
    labels = "y" if name.endswith(".csv") else None
    assert_read_or_refused(tmp_path / name, CORPUS[name], lambda path: read(path, labels=labels))


def test_parquet_files(tmp_path):
    pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "set.parquet"
    corpus = []
    for data in (np.eye(3), sparse.csr_matrix(np.eye(3))):
        write(path, data, np.eye(3, 2, dtype=int))
        corpus.append(path.read_bytes())
    assert_read_or_refused(path, corpus, read)


XML = b'<labels xmlns="http://mulan.sourceforge.net/labels"><label name="a"/></labels>'
ENTITY = b"<!DOCTYPE l [<!ENTITY e SYSTEM 'file:///etc/passwd'><!ENTITY f '&f;&f;'>]>"


def test_label_files(tmp_path):
    corpus = [XML, b'<?xml version="1.0" encoding="utf-16"?>' + XML, ENTITY + XML]
    assert_read_or_refused(tmp_path / "labels.xml", corpus, read_labels_xml)
