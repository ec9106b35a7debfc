"""Mutated files of every format: a result, or one sentence; never another error or a crash."""

import io

import numpy as np
import pytest
from scipy import sparse

from labelkin.datasets import read_table, write
from labelkin.experiments.run.results import check_results, read_results
from labelkin.experiments.run.store import Store
from support.damaged import SMALL, cpu_limit, outcome
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
    found = {outcome(path, raw, **options) for raw in inputs(corpus, count=400)}
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


@pytest.mark.parametrize("suffix", [".arff.gz", ".arff.bz2"])
def test_compressed_files(suffix, tmp_path):
    path = tmp_path / f"set{suffix}"
    corpus = []
    for data in (np.eye(9), sparse.csr_matrix(np.eye(9))):
        write(path, data, np.eye(9, dtype=int), label_names=list("abcdefghi"))
        corpus.append(path.read_bytes())
    assert_read_or_refused(path, corpus)


def assert_read_or_named(path, corpus, read_file, count):
    """Check that every mutation is read, or refused by an error that names the file."""
    found = set()
    for raw in inputs(corpus, count=count):
        path.write_bytes(raw)
        message = None
        try:
            with cpu_limit(20):
                read_file(path)
        except (ValueError, OSError) as error:
            message = str(error)
        assert message is None or str(path) in message
        found.add(message is None)
    assert found == {True, False}


def test_tables_of_text(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "set.parquet"
    corpus = []
    for compression in ("none", "snappy"):
        columns = {"t": ["one", "two", None] * 3, "l": [["a"], [], ["b", "a"]] * 3}
        parquet.write_table(pyarrow.table(columns), path, compression=compression)
        corpus.append(path.read_bytes())
    corpus.append(corpus[0].replace(b"two", b"t\xe9o"))

    def read_columns(path):
        table = read_table(path)
        for name in table.names:
            is_list = table.kind(name) == "list"
            table.lists(name) if is_list else table.strings(name)

    assert_read_or_named(path, corpus, read_columns, 400)


def test_stores(tmp_path):
    path = tmp_path / "results.db"
    with Store(path, write=True) as store:
        store.begin(facts={"folds": "5"}, started="now", command="…", environment={})
        cell = {"dataset": "d", "method": "m", "repeat": 0, "fold": 0, "status": "ok"}
        store.add([{**cell, "hamming_loss": 0.5}])

    def read_store(path):
        with Store(path) as store:
            return store.rows(), store.runs(), store.facts()

    assert_read_or_named(path, [path.read_bytes()], read_store, 200)


def test_results(tmp_path):
    pytest.importorskip("pandas")
    head = b"dataset,method,repeat,fold,hamming_loss,average_precision,status\n"
    corpus = [head + b"yeast,vpcme,0,0,0.2,0.7,ok\nyeast,vpcme,0,1,0.3,0.6,ok\n"]
    corpus.append(head + b'yeast,"vpcme,0,0,0.2,1e400,ok\nyeast,vpcme,1,1,,,failed\n')

    def read_figures(path):
        results = read_results(path).results
        try:
            return check_results(results)
        except ValueError as error:  # check_results sees no file
            raise ValueError(f"{path}: {error}") from error

    assert_read_or_named(tmp_path / "results.csv", corpus, read_figures, 400)
