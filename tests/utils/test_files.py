"""Files are unpacked up to a limit, and written whole or not at all."""

import bz2
import errno
import gzip
import os

import pytest

from labelkin._utils.files import FormatError, open_for_writing, read_bytes, read_unpacked
from support.resources import full_disk

OPENERS = {".gz": gzip.open, ".bz2": bz2.open}


@pytest.mark.parametrize("suffix", OPENERS)
def test_streams_that_unpack_to_too_much(suffix, tmp_path, monkeypatch):
    path = tmp_path / f"bomb.csv{suffix}"
    size = 3 * 2**20
    with OPENERS[suffix](path, "wb") as file:
        file.write(b"0\n" * (size // 2))
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", str(size - 1))
    with pytest.raises(FormatError, match=r"bomb.*more than 3 MiB.*LABELKIN_MAX_UNPACKED"):
        read_unpacked(path)
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", str(size))
    assert len(read_unpacked(path)) == size


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device here")
def test_endless_devices(tmp_path, monkeypatch):
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", str(2**20))
    path = tmp_path / "endless.csv"
    path.symlink_to("/dev/zero")
    with pytest.raises(FormatError, match="more than 1 MiB"):
        read_unpacked(path)
    with pytest.raises(FormatError, match="more than 1 MiB"):
        read_bytes(path)


def test_limit_without_a_choice(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(258):
            file.write(bytes(2**20))
    with pytest.raises(FormatError, match="more than 256 MiB"):
        read_unpacked(path)


@pytest.fixture
def small_disk():
    """Let no file grow beyond 100 kB, as on a full disk."""
    with full_disk(100_000):
        yield


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_full_disk_names_the_file(suffix, tmp_path, small_disk):
    path = tmp_path / f"out.csv{suffix}"
    path.write_bytes(b"before")
    with pytest.raises(OSError, match=path.name) as caught, open_for_writing(path) as file:
        file.write(os.urandom(300_000))
    assert caught.value.errno == errno.EFBIG
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"before"
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_flushed_to_disk_before_the_rename(tmp_path, monkeypatch):
    calls = []
    replace, fsync = os.replace, os.fsync
    monkeypatch.setattr(os, "replace", lambda *a: (calls.append("rename"), replace(*a)))
    monkeypatch.setattr(os, "fsync", lambda handle: (calls.append("flush"), fsync(handle)))
    with open_for_writing(tmp_path / "out") as file:
        file.write(b"content")
    assert calls == ["flush", "rename"]


@pytest.mark.skipif(os.name != "posix", reason="needs permissions of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_replaced_file_keeps_its_permissions(mode, tmp_path):
    path = tmp_path / "secret.csv"
    path.write_bytes(b"old")
    path.chmod(mode)
    if os.geteuid() == 0:
        os.chown(path, 1234, 1234)
    before = path.stat()
    with open_for_writing(path) as file:
        file.write(b"new")
    after = path.stat()
    assert path.read_bytes() == b"new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
