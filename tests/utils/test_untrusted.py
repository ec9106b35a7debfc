"""Arrays from files are checked before compiled code follows what they hold."""

import gzip
import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from labelkin._utils import limits, untrusted
from labelkin.datasets import read

VALID = {"data": [1.0, 2.0], "indices": [0, 2], "indptr": [0, 1, 2], "shape": (2, 3)}
INVALID = {
    # SciPy's full check passes over all of it, because the last entry is 0.
    "jump in indptr": {"indptr": [0, 10**9, 0], "data": [], "indices": []},
    "last entry 0": {"indptr": [0, 2, 0]},
    "first entry": {"indptr": [1, 1, 2]},
    "negative": {"indptr": [0, -1, 2]},
    "too short": {"indptr": [0, 2]},
    "too long": {"indptr": [0, 1, 2, 2]},
    "beyond the values": {"indptr": [0, 1, 3]},
    "fewer values": {"data": [1.0]},
    "index too large": {"indices": [0, 3]},
    "index negative": {"indices": [0, -1]},
    "float indices": {"indices": [0.0, 2.0]},
    "text": {"data": ["a", "b"]},
    "two dimensions": {"indices": [[0, 2]]},
    "negative shape": {"shape": (-2, 3)},
    "one size": {"shape": (2,)},
    "huge": {"shape": (2, 2**62), "indices": [0, 2]},
}


def arrays(**changes):
    found = {**VALID, **changes}
    kinds = {"data": None, "indices": None, "indptr": np.int64}
    for key, dtype in kinds.items():
        values = found[key]
        empty = np.float64 if key == "data" else np.int64
        found[key] = np.array(values, dtype=dtype if values else empty)
    return found


def test_valid_matrix():
    untrusted.check_compressed(**arrays())


@pytest.mark.parametrize("name", INVALID)
def test_invalid_matrices(name):
    with pytest.raises(ValueError, match="sparse matrix"):
        untrusted.check_compressed(**arrays(**INVALID[name]))


def npy(array, **header):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {**np.lib.format.header_data_from_array_1_0(array), **header}
    )
    return buffer.getvalue() + array.tobytes()


HEADERS = {
    "longer": {"shape": (10**12,)},
    "shorter": {"shape": (1,)},
    "empty and huge": {"shape": (0, 10**15)},
    "no width": {"descr": "<U0", "shape": (10**15,)},
    "no width, many": {"descr": "|S0", "shape": (2**24, 2**24)},
    "negative": {"shape": (-3,)},
    "objects": {"descr": "|O"},
    "complex": {"descr": "<c16", "shape": (1,)},
    "date": {"descr": "<M8[s]"},
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_arrays(name):
    array = np.arange(3.0)
    np.testing.assert_array_equal(untrusted.read_npy(npy(array)), array)
    with pytest.raises(ValueError, match="array"):
        untrusted.read_npy(npy(array, **HEADERS[name]))


def test_booleans_are_0_and_1():
    raw = npy(np.array([2], dtype=np.uint8), descr="|b1")
    with pytest.raises(ValueError, match="booleans"):
        untrusted.read_npy(raw)


def test_archive_that_unpacks_to_gigabytes():
    """A small file that declares, and holds, 300 MiB of zeros is not unpacked."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("Y.npy", "w", force_zip64=True) as member,
    ):
        for _ in range(300):
            member.write(bytes(2**20))
    with pytest.raises(ValueError, match=r"more than 256 MiB.*LABELKIN_MAX_UNPACKED"):
        untrusted.read_npz(buffer.getvalue(), ["Y"], limits.max_unpacked(len(buffer.getvalue())))


def test_parts_larger_than_the_directory_declares():
    """`zipfile` unpacks all of a part before it compares sizes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Y.npy", bytes(2**24))
        archive.getinfo("Y.npy").file_size = 1000
    tracemalloc.start()
    with pytest.raises(zipfile.BadZipFile, match="CRC"):
        untrusted.read_npz(buffer.getvalue(), ["Y"], 2**20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressions_without_a_bound(method):
    """1,500 bytes of them unpacked to 3 GB."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("Y.npy", npy(np.arange(3.0)))
    with pytest.raises(ValueError, match="another way than by deflate"):
        untrusted.read_npz(buffer.getvalue(), ["Y"], 2**20)


def test_an_archive_in_a_compressed_file(tmp_path, monkeypatch):
    """The limit is one of the file, not of what it unpacks to."""
    monkeypatch.setattr(limits, "_FREE_BYTES", 2**20)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("padding", bytes(2**19))
        archive.writestr("X.npy", npy(np.zeros((3, 1))))
        archive.writestr("y.npy", npy(np.zeros(2**20)), zipfile.ZIP_DEFLATED)
    path = tmp_path / "bomb.npz.gz"
    path.write_bytes(gzip.compress(buffer.getvalue()))
    with pytest.raises(ValueError, match=r"bomb.npz.gz: .*unpacks to more than 1 MiB"):
        read(path)


def test_limit_can_be_raised(monkeypatch):
    assert limits.max_unpacked(10) <= 2**28
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "12345")
    assert limits.max_unpacked(10) == 12345
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "much")
    with pytest.raises(ValueError, match="number of bytes"):
        limits.max_unpacked(10)


def test_two_parts_of_one_name():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", b"1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a", b"2")
    with pytest.raises(ValueError, match="same name"):
        untrusted.read_npz(buffer.getvalue(), ["a"], 2**20)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (True, int),
        (1, float),
        ("x", None),
        ([1, "x"], [int]),
        ({"a": 1}, [int]),
        ({"b": 1}, {"a": int}),
        ({"a": [1]}, {"a": {"x"}}),
        ({"a": None}, {str: (int, [int])}),
    ],
)
def test_other_forms_of_json(value, form):
    untrusted.check_json(value, object)
    with pytest.raises(ValueError, match="not expected"):
        untrusted.check_json(value, form)


def test_forms_of_json():
    value = {"a": [1, None], "b": {"c": "x"}}
    untrusted.check_json(value, {"a": [(int, None)], "b": {str: {"x", "y"}}, "d": str})
