"""Damaged and hostile files: data or one FormatError that names the file, nothing else."""

import bz2
import gzip
import io
import random
import signal
import string
import zipfile
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelkin.datasets import FormatError, read, write
from labelkin.datasets.formats._mulan_xml import read_labels_xml
from support.data import DATA, needs_data

DENSE = rb"""% small
@relation 'x: -C 2'
@attribute y1 {0,1}
@attribute 'y 2' {NO,YES}
@attribute a numeric
@attribute 'b\'s' {x,"y z",w}
@data
1,YES,0.5,x
0,NO,?,'y z'
0,YES,-1e-3,w
"""
SPARSE = b"""@relation 'x: -C -2'
@attribute a numeric
@attribute b {x,y,z}
@attribute y1 {0,1}
@attribute y2 {1,0}
@data
{}
{0 0.5,1 z,3 0}
{1 'y', 2 1}
"""
XML = b"""<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="a"><label name="b &amp; c"></label></label>
</labels>
"""
SVM = b'# labelkin {"n_features": 4, "n_labels": 3}\n0,2 1:0.5 4:1\n1:0\n1 2:3e5\n'
CSV = b'a,"b ""q""",y1,y2\n0.5,1,1,0\n,2,0,0\n3,-1e3,1,1\n'


@contextmanager
def time_limit(seconds):
    """Fail, rather than hang, when a reader does not come back."""

    def late(*_):
        raise AssertionError(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(path, raw, **options):
    """Read a file; return whether it gave data. Anything but data or FormatError fails."""
    path.write_bytes(raw)
    try:
        with time_limit(20):
            got = read_labels_xml(path) if path.suffix == ".xml" else read(path, **options)
    except FormatError as error:
        message = str(error)
        assert message.startswith(str(path)), message
        assert "\n" not in message.replace(str(path), ""), message
        assert len(message) < 600
        return False
    if path.suffix == ".xml":
        assert all(isinstance(name, str) for name in got)
        return True
    n, d = got.data.shape
    assert got.target.shape[0] == n
    assert got.target.dtype == np.uint8
    assert np.isin(got.target.data if sparse.issparse(got.target) else got.target, (0, 1)).all()
    assert got.feature_n_values.shape == (d,)
    assert got.feature_names is None or len(set(got.feature_names)) == d
    assert got.label_names is None or len(set(got.label_names)) == got.target.shape[1]
    if sparse.issparse(got.data):
        got.data.check_format(full_check=True)
    return True


SPICE = [
    *(bytes([c]) for c in b"'\"\\,{}%?@#:;<>&-+.0129eE_ \t\n\r\0"),
    *(
        b"{0 1",
        b"@attribute",
        b"@data\n",
        b"-C 99",
        b"-C 0",
        b"1e999",
        b"nan",
        b"\xff\xfe",
        b"\xc3",
    ),
    *(b"99999999999999999999", b"-1", b"&x;", b"<!DOCTYPE a>", b"<![CDATA[", b"\xf0\x9f\x98\x80"),
    *(b"\xef\xbb\xbf", b"\\u0041", b"\\ud800", b"1_0", "١".encode(), b"{1 1,1 1}\n", b"0:1"),
]


def mutate(raw, rng):
    """Cut, flip, repeat, swap or spice a few places."""
    raw = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(raw) + 1)
        match rng.randrange(8):
            case 0:
                del raw[at:]
            case 1:
                del raw[at : at + rng.randrange(1, 20)]
            case 2 if raw:
                raw[at % len(raw)] = rng.randrange(256)
            case 3:
                raw[at:at] = rng.choice(SPICE)
            case 4:
                raw[at:at] = raw[at : at + rng.randrange(1, 200)]
            case 5:
                lines = raw.split(b"\n")
                i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
                lines[i], lines[j] = lines[j], lines[i]
                raw = bytearray(b"\n".join(lines))
            case 6:
                lines = raw.split(b"\n")
                lines.insert(rng.randrange(len(lines)), rng.choice(lines))
                raw = bytearray(b"\n".join(lines))
            case 7:
                raw[at : at + 1] = rng.choice(SPICE)
    return bytes(raw)


SMALL = {
    "dense.arff": (DENSE, {}),
    "sparse.arff": (SPARSE, {}),
    "set.svm": (SVM, {}),
    "set.csv": (CSV, {"labels": "y1,y2"}),
    "set.xml": (XML, {}),
}


@pytest.mark.parametrize("name", SMALL)
def test_mutated_small_files(tmp_path, name):
    raw, options = SMALL[name]
    assert outcome(tmp_path / name, raw, **options)
    rng = random.Random(name)
    results = [outcome(tmp_path / name, mutate(raw, rng), **options) for _ in range(800)]
    assert any(results)
    assert not all(results)


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


@pytest.mark.parametrize("name", SMALL)
@settings(max_examples=100, deadline=None)
@given(raw=st.binary(max_size=300))
def test_random_bytes(tmp_path_factory, name, raw):
    outcome(tmp_path_factory.getbasetemp() / name, raw, **SMALL[name][1])


atoms = st.sampled_from(
    [
        *[
            "@relation",
            "@attribute",
            "@data",
            "numeric",
            "{0,1}",
            "{",
            "}",
            "'",
            '"',
            ",",
            "0",
            "1",
            "?",
            "a",
            "b",
            "%",
            "{1,0}",
            "\\",
            "2.5",
        ],
        "string",
        "\n",
        " ",
        "'x y'",
        "-C 1",
        "-C -1",
        "{0 1}",
    ]
)


@settings(max_examples=200, deadline=None)
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


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".arff.gz", ".arff.bz2", ".xml"])
def test_mutated_binary_files(tmp_path, suffix):
    path = tmp_path / f"set{suffix}"
    if suffix == ".xml":
        write(tmp_path / "set.arff", np.eye(9), np.eye(9, dtype=int))
    else:
        write(path, np.eye(9), np.eye(9, dtype=int), label_names=list("abcdefghi"))
    raw = path.read_bytes()
    assert outcome(path, raw)
    rng = random.Random(suffix)
    results = [outcome(path, mutate(raw, rng)) for _ in range(300)]
    assert not all(results)


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
    for _ in range(400):
        arrays = dict(good)
        key = rng.choice(list(good))
        shape = (
            rng.choice([(), (1,), (2,), (3,), (2, 2), (0,), (2, 0), (1, 2, 3)], 1)[0]
            if 0
            else ([(), (1,), (2,), (3,), (2, 2), (0,), (2, 0), (1, 2, 3)][rng.integers(8)])
        )
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
@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress])
def test_hostile_arff_is_answered_quickly(tmp_path, name, compress):
    suffix = {bytes: "", gzip.compress: ".gz", bz2.compress: ".bz2"}[compress]
    with time_limit(5):
        outcome(tmp_path / f"h.arff{suffix}", compress(HOSTILE[name]))
