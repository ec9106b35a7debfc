"""MATLAB files: the numeric matrices that SciPy writes, and nothing else."""

import io
import struct
import zlib

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from labelkin.datasets import FormatError
from labelkin.datasets.registry._mat import read_mat

MATRIX = np.array([[1.5, 0, -2], [0, 4, 0]])


def written(path, content, **options):
    buffer = io.BytesIO()
    savemat(buffer, content, **options)
    path.write_bytes(buffer.getvalue())
    return path


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    "matrix",
    [
        MATRIX,
        MATRIX.astype(np.float32),
        MATRIX.astype(np.int8),
        (MATRIX > 0).astype(np.uint16),
        MATRIX[:1, :1],
        sparse.csc_matrix(MATRIX),
        sparse.csc_matrix((2, 3)),
    ],
)
def test_matrices(matrix, compressed, tmp_path):
    content = {"a_long_name_of_it": matrix, "other": "a text", "more": {"x": 1}}
    path = written(tmp_path / "m.mat", content, do_compression=compressed)
    found = read_mat(path, ["a_long_name_of_it"])["a_long_name_of_it"]
    expected = matrix.toarray() if sparse.issparse(matrix) else matrix
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.float64


@pytest.mark.parametrize(
    "content",
    [{"x": "text"}, {"x": MATRIX + 1j}, {"x": np.array([["a"]], dtype=object)}, {"y": MATRIX}],
)
def test_anything_else_is_refused(content, tmp_path):
    with pytest.raises(FormatError, match="MATLAB file"):
        read_mat(written(tmp_path / "m.mat", content), ["x"])


def test_indices_out_of_range(tmp_path):
    """SciPy would build the matrix, and its compiled code follow the indices."""
    matrix = sparse.csc_matrix(MATRIX)
    matrix.indices[1] = 10**6
    with pytest.raises(FormatError, match="out of range"):
        read_mat(written(tmp_path / "m.mat", {"x": matrix}), ["x"])


def test_a_bomb(tmp_path, monkeypatch):
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "100000")
    path = written(tmp_path / "m.mat", {"x": np.zeros((300, 300))}, do_compression=True)
    assert path.stat().st_size < 5000
    with pytest.raises(FormatError, match="unpacks to more"):
        read_mat(path, ["x"])
    path = written(tmp_path / "n.mat", {"x": sparse.csc_matrix((10**5, 10**5))})
    with pytest.raises(FormatError, match="x unpacks to more"):
        read_mat(path, ["x"])


def test_every_byte_changed(tmp_path):
    """Each byte in turn, in the compressed form too with its checksum right."""
    raw = written(tmp_path / "m.mat", {"x": sparse.csc_matrix(MATRIX)}).read_bytes()
    rng = np.random.default_rng(0)
    for at in range(124, len(raw)):
        changed = bytearray(raw)
        changed[at] = rng.integers(256)
        body = zlib.compress(bytes(changed[128:]))
        packed = bytes(changed[:128]) + struct.pack("<II", 15, len(body)) + body
        for content in (bytes(changed), packed, bytes(changed[:at])):
            tmp_path.joinpath("c.mat").write_bytes(content)
            message = "one sentence"
            try:
                read_mat(tmp_path / "c.mat", ["x"])
            except FormatError as error:
                message = str(error)
            assert "\n" not in message
