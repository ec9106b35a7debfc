"""Damaged and hostile files: data or one FormatError that names the file, nothing else."""

import gzip
import io
import random
import string
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelkin.datasets import FormatError, read
from support.damaged import SMALL, outcome
from support.data import DATA, needs_data
from support.mutations import mutate


@pytest.mark.parametrize("name", SMALL)
def test_every_truncation(tmp_path, name):
    raw, options = SMALL[name]
    for length in range(len(raw)):
        outcome(tmp_path / name, raw[:length], **options)


@pytest.mark.parametrize("name", SMALL)
def test_other_encodings(tmp_path, name):
    raw, options = SMALL[name]
    for encoding in ("utf-16", "utf-16-be", "utf-32", "cp037", "utf-7"):
        outcome(tmp_path / name, raw.decode().encode(encoding), **options)
    outcome(tmp_path / name, raw.decode().replace("a", "é").encode("latin-1"), **options)


@settings(max_examples=40, deadline=None)
@given(raw=st.binary(max_size=300))
def test_random_bytes(tmp_path_factory, raw):
    for name, (_, options) in SMALL.items():
        outcome(tmp_path_factory.getbasetemp() / name, raw, **options)


atoms = st.sampled_from([
    "@relation", "@attribute", "@data", "numeric", "string", "{0,1}", "{1,0}", "{0 1}", "{", "}",
    "'", '"', "\\", ",", "0", "1", "2.5", "?", "a", "b", "'x y'", "%", "-C 1", "-C -1", "\n", " ",
])  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(
    head=st.lists(atoms, max_size=12).map("".join),
    rows=st.lists(atoms, max_size=25).map("".join),
    good_head=st.booleans(),
)
def test_arff_made_of_its_own_words(tmp_path_factory, head, rows, good_head):
    if good_head:
        head = "@relation 'r: -C 1'\n@attribute y {0,1}\n@attribute a real\n@attribute b {x,'x y'}"
    raw = f"{head}\n@data\n{rows}\n".encode()
    outcome(tmp_path_factory.getbasetemp() / "words.arff", raw)


@needs_data
@pytest.mark.parametrize(
    "name", ["mulan/enron-test", "mulan/medical-train", "mulan/genbase-test", "meka/Enron"]
)
def test_mutated_real_arff(tmp_path, name):
    folder, stem = name.split("/")
    raw = gzip.decompress((DATA / "arff" / folder / f"{stem}.arff.gz").read_bytes())
    set_name = stem.partition("-")[0]
    if folder == "mulan":
        xml = gzip.decompress((DATA / "arff" / folder / f"{set_name}.xml.gz").read_bytes())
        (tmp_path / f"{set_name}.xml").write_bytes(xml)
    # A few hundred rows: many mutations in little time.
    raw = raw[: raw.lower().index(b"@data") + 60_000]
    path = tmp_path / f"{stem}.arff"
    rng = random.Random(name)
    for _ in range(60):
        outcome(path, mutate(raw, rng))


@needs_data
def test_mutated_real_rows_are_found_by_line(tmp_path):
    raw = gzip.decompress((DATA / "arff" / "mulan" / "yeast.arff.gz").read_bytes())
    lines = raw.split(b"\n")
    first = next(i for i, line in enumerate(lines) if line.lower() == b"@data") + 1
    xml = gzip.decompress((DATA / "arff" / "mulan" / "yeast.xml.gz").read_bytes())
    (tmp_path / "yeast.xml").write_bytes(xml)
    path = tmp_path / "yeast.arff"
    for at in (first, first + 1000, first + 2416):
        for bad in (lines[at] + b",1", lines[at].rpartition(b",")[0], b"x" + lines[at], b"{0 1}"):
            if at == first and bad == b"{0 1}":
                continue  # then the file is a sparse one, and the next row is wrong
            path.write_bytes(b"\n".join([*lines[:at], bad, *lines[at + 1 :]]))
            with pytest.raises(FormatError) as caught:
                read(path)
            assert caught.value.line == at + 1


SHAPES = [(), (1,), (2,), (3,), (2, 2), (0,), (2, 0), (1, 2, 3)]


def test_npz_arrays_of_any_shape_and_kind(tmp_path):
    rng = np.random.default_rng(0)
    good = {
        "X_data": np.ones(3),
        "X_indices": np.array([0, 1, 0], dtype=np.int32),
        "X_indptr": np.array([0, 1, 3], dtype=np.int32),
        "X_shape": np.array([2, 2]),
        "Y": np.eye(2, dtype=np.uint8),
        "feature_names": np.array(["a", "b"]),
        "label_names": np.array(["c", "d"]),
        "split": np.array([0, 1], dtype=np.uint8),
        "feature_n_values": np.array([0, 2], dtype=np.int32),
    }
    kinds = ["f8", "i4", "u1", "U3", "S3", "?", "c16", "M8[s]", "i8"]
    for _ in range(150):
        arrays = dict(good)
        key = rng.choice(list(good))
        shape = SHAPES[rng.integers(len(SHAPES))]
        arrays[key] = rng.integers(-3, 9, shape).astype(rng.choice(kinds))
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        outcome(tmp_path / "any.npz", buffer.getvalue())


def test_npz_with_a_foreign_or_pickled_member(tmp_path):
    for member in (b"", b"\x93NUMPY", b"cos\nsystem\n(S'false'\ntR.", string.printable.encode()):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for key in ("X_data", "X_indices", "X_indptr", "X_shape", "Y"):
                archive.writestr(f"{key}.npy", member)
        assert not outcome(tmp_path / "foreign.npz", buffer.getvalue())


ROWS = b"@relation 'r:-C 1'\n@attribute y {0,1}\n@attribute a real\n@data\n"
HOSTILE = {
    "quotes": b"@relation r\n@attribute '" + b"\\" * 200_000 + b"\n@data\n",
    "open quote": b"@relation r\n@attribute '" + b"a" * 500_000,
    "many values": b"@relation 'r:-C 1'\n@attribute y {0,1}\n@attribute a {"
    + b",".join(b"%d" % i for i in range(50_000))
    + b"}\n@data\n1,7\n",
    "blanks": ROWS + b"1," + b" " * 500_000 + b"7\n",
    "braces": b"@relation 'r:-C 1'\n@attribute y {0,1}\n@attribute a "
    + b"{" * 300_000
    + b"\n@data\n",
    "row of quotes": ROWS + b"'" * 300_001,
    "sparse blanks": ROWS + b"{1" + b" " * 300_000 + b"}\n",
    "commas": ROWS + b"," * 500_000,
    "long number": ROWS + b"1," + b"9" * 300_000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_hostile_arff_does_not_hang(tmp_path, name, compress):
    suffix = ".gz" if compress is gzip.compress else ""
    outcome(tmp_path / f"h.arff{suffix}", compress(HOSTILE[name]))
