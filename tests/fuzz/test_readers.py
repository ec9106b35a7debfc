"""Mutated files of every format: a result, or one sentence; never another error or a crash.

``LABELKIN_FUZZ_SECONDS`` sets how long each target runs; one second by default.
"""

import io
import os
import random
import time

import numpy as np
import pytest

from labelkin import MLkNNClassifier
from labelkin.datasets import FormatError, read
from labelkin.persistence import load_model, save_model
from support.data import make_data

SECONDS = float(os.environ.get("LABELKIN_FUZZ_SECONDS", "1"))
SEED = int(os.environ.get("LABELKIN_FUZZ_SEED", "0"))
TOKENS = [b'"', b"'", b"\n", b"\0", b"1e400", b"1_000", b"0x1F", b"{", b"}", b"-1", b"9" * 20]


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


def mutate(raw, rng):
    """Return the bytes with a few of them changed, cut, repeated or replaced by a token."""
    found = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(found) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            del found[at : at + rng.randrange(1, 30)]
        elif kind == 1 and found:
            found[at % len(found)] ^= 1 << rng.randrange(8)
        elif kind == 2:
            found[at:at] = rng.choice(TOKENS)
        else:
            found[at:at] = found[at : at + rng.randrange(1, 60)]
    return bytes(found)


def inputs(corpus):
    """Yield the corpus, then mutations of it until the time is over."""
    yield from corpus
    rng, end = random.Random(SEED), time.monotonic() + SECONDS
    while time.monotonic() < end:
        yield mutate(rng.choice(corpus), rng)


@pytest.mark.parametrize("name", CORPUS)
def test_data_files(name, tmp_path):
    path = tmp_path / name
    labels = "y" if path.suffix == ".csv" else None
    for raw in inputs(CORPUS[name]):
        path.write_bytes(raw)
        message = str(path)
        try:
            read(path, labels=labels)
        except FormatError as error:
            message = str(error)
        assert message.startswith(str(path))


def test_model_files(tmp_path):
    pytest.importorskip("skops.io")
    X, Y = make_data(20)
    path = tmp_path / "model.skops"
    save_model(MLkNNClassifier(3).fit(X, Y), path)
    for raw in inputs([path.read_bytes()]):
        path.write_bytes(raw)
        message = str(path)
        try:
            model = load_model(path)
        except ValueError as error:
            message = str(error)
        else:
            model.predict(X)
        assert message.startswith(str(path))
