"""The catalogue and `load_dataset`, the download path against a real server on loopback."""

import dataclasses
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import textwrap
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat

from labelkin.datasets import (
    DatasetInfo,
    SourceFile,
    data_home_path,
    dataset_info,
    dataset_names,
    describe,
    find_dataset,
    load_dataset,
    read,
)
from labelkin.datasets.known import _fetch
from support.data import DATA, needs_data

needs_arff = pytest.mark.skipif(
    not (DATA / "arff" / "mulan").exists(), reason=f"no Mulan files in {DATA}/arff/mulan"
)
MULAN = ["yeast", "scene", "enron", "genbase", "medical"]

TABLE_2 = {  # genbase: the identifier, one of the paper's 1186 features, is dropped
    "yeast": (2417, 103, 14, 198, 4.237, 0.303),
    "scene": (2407, 294, 6, 15, 1.074, 0.179),
    "enron": (1702, 1001, 53, 753, 3.378, 0.064),
    "genbase": (662, 1185, 27, 32, 1.252, 0.046),
    "medical": (978, 1449, 45, 94, 1.245, 0.028),
    "arts": (2000, 462, 26, 254, 1.627, 0.063),
    "business": (2000, 438, 30, 96, 1.590, 0.053),
    "education": (2000, 550, 33, 200, 1.465, 0.044),
    "entertainment": (2000, 640, 21, 148, 1.426, 0.068),
    "health": (2000, 612, 32, 164, 1.667, 0.052),
    "science": (2000, 743, 40, 261, 1.489, 0.037),
    "social": (2000, 1047, 39, 137, 1.274, 0.033),
}


def _dense(X):
    return X.toarray() if sp.issparse(X) else X


def table_2(bunch):
    *whole, cardinality, density = describe(bunch.target, bunch.data).table2().values()
    return (*whole, round(cardinality, 3), round(density, 3))


# --- the table of what is known ---------------------------------------------------------


def test_the_papers_twelve_and_more():
    assert dataset_names(paper=True) == list(TABLE_2)
    common = {"emotions", "birds", "cal500", "corel5k", "bibtex", "delicious"}
    assert common | {"mediamill", "flags"} <= set(dataset_names(paper=False))
    assert len(dataset_names()) == len(set(dataset_names())) > 20


@pytest.mark.parametrize("name", dataset_names())
def test_every_entry_is_whole(name):
    info = dataset_info(name)
    assert info.domain
    assert info.task
    assert info.origin
    assert info.licence
    assert {"instances", "features", "labels"} <= set(info.statistics)
    assert info.files
    roles = [file.role for file in info.files]
    assert len(roles) == len(set(roles))
    for file in info.files:
        assert all(url.startswith("https://") for url in file.urls)
        assert len(bytes.fromhex(file.sha256)) == 32
    arff = [file for file in info.files if file.name.endswith(".arff")]
    if arff:
        assert ("labels" in roles) != bool(info.labels_last)
        assert "all" in roles or {"train", "test"} <= set(roles)
    if info.paper:
        assert tuple(info.statistics.values()) == TABLE_2[name]
    assert name in info.description
    assert info.source.startswith("https://github.com/")


@needs_arff
@pytest.mark.parametrize("name", MULAN)
def test_sums_are_those_of_the_originals(name):
    for file in dataset_info(name).files:
        original = gzip.decompress((DATA / "arff" / "mulan" / f"{file.name}.gz").read_bytes())
        assert hashlib.sha256(original).hexdigest() == file.sha256


def test_unknown_names():
    with pytest.raises(ValueError, match=r"'yaest'.*mean yeast\?.*`labelkin datasets`"):
        load_dataset("yaest")
    with pytest.raises(ValueError, match=r"No dataset is called 'zzzzzz'\. `labelkin"):
        load_dataset("zzzzzz")
    assert dataset_info(" Cal500").name == "cal500"


# --- data on disk -----------------------------------------------------------------------


@needs_data
@pytest.mark.parametrize("name", TABLE_2)
def test_table_2_from_npz(name):
    bunch = load_dataset(name, data_home=DATA, download=False)
    assert table_2(bunch) == TABLE_2[name]
    assert sp.issparse(bunch.data) == (name not in ("yeast", "scene"))
    assert isinstance(bunch.target, np.ndarray)
    assert set(np.unique(bunch.target)) == {0, 1}
    assert len(bunch.split) == len(bunch.target)
    assert bunch.name == name
    assert name in bunch.DESCR


@needs_arff
@pytest.mark.parametrize("name", MULAN)
def test_table_2_from_the_original_arff(name):
    folder, info = DATA / "arff" / "mulan", dataset_info(name)
    roles = ["train", "test"] if name == "scene" else ["all"]
    parts = []
    for role in roles:
        stem = name if role == "all" else f"{name}-{role}"
        xml = folder / f"{name}.xml.gz"
        parts.append(read(folder / f"{stem}.arff.gz", xml=xml, drop=info.drop))
    X = sp.vstack([sp.csr_array(part.data) for part in parts]).toarray()
    Y = np.vstack([part.target for part in parts])
    figures = describe(Y, X).table2().values()
    assert tuple(np.round(list(figures), 3)) == TABLE_2[name]
    stored = load_dataset(name, data_home=DATA, download=False)
    np.testing.assert_array_equal(X, _dense(stored.data))
    np.testing.assert_array_equal(Y, stored.target)
    assert list(parts[0].feature_names) == list(stored.feature_names)
    assert list(parts[0].label_names) == list(stored.label_names)


@needs_data
def test_frames_and_pairs():
    pd = pytest.importorskip("pandas")
    plain = load_dataset("yeast", data_home=DATA)
    X, y = load_dataset("yeast", data_home=DATA, return_X_y=True)
    np.testing.assert_array_equal(X, plain.data)
    np.testing.assert_array_equal(y, plain.target)
    yeast = load_dataset("yeast", data_home=DATA, as_frame=True)
    assert list(yeast.frame.columns) == [*plain.feature_names, *plain.label_names]
    pd.testing.assert_frame_equal(yeast.frame[plain.feature_names], yeast.data)
    np.testing.assert_array_equal(yeast.target, plain.target)


@needs_data
def test_frames_of_sparse_data_without_names():
    pytest.importorskip("pandas")
    plain = load_dataset("arts", data_home=DATA)
    X, y = load_dataset("arts", data_home=DATA, return_X_y=True, as_frame=True)
    assert (X.sparse.to_coo() != plain.data).nnz == 0
    assert list(X.columns[:2]) == ["x1", "x2"]
    assert y.columns[-1] == "y26"


@needs_data
def test_subsets():
    default = load_dataset("arts", data_home=DATA)
    train = load_dataset("arts", data_home=DATA, subset="train")
    test = load_dataset("arts", data_home=DATA, subset="test")
    everything = load_dataset("arts", data_home=DATA, subset="all")
    assert (default.data != train.data).nnz == 0
    assert [len(b.target) for b in (train, test, everything)] == [2000, 3000, 5000]
    assert set(test.split) == {1}
    assert test.data.shape == (3000, 462)
    assert len(load_dataset("yeast", data_home=DATA).target) == 2417
    assert len(load_dataset("yeast", data_home=DATA, subset="train").target) == 1500
    with pytest.raises(ValueError, match="subset must be"):
        load_dataset("yeast", data_home=DATA, subset="half")


@needs_data
def test_the_environment_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("LABELKIN_DATA", str(DATA))
    assert data_home_path() == DATA
    assert load_dataset("genbase", download=False).data.shape == (662, 1185)
    monkeypatch.setenv("LABELKIN_DATA", str(tmp_path))
    assert data_home_path(DATA) == DATA


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_the_cache_is_that_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("LABELKIN_DATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert data_home_path() == Path.home() / ".cache" / "labelkin"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_home_path() == tmp_path / "labelkin"


def test_absent_and_no_download(tmp_path, no_cache):
    with pytest.raises(FileNotFoundError, match=r"flags\.npz is not in .* LABELKIN_DATA"):
        load_dataset("flags", data_home=tmp_path / "none", download=False)
    assert not (tmp_path / "none").exists()


# --- the download path ------------------------------------------------------------------

TINY = DatasetInfo(
    name="tiny",
    domain="toy",
    task="none",
    origin="these tests",
    licence="none",
    rows="train",
    statistics={"instances": 3, "features": 2, "labels": 2, "distinct": 3, "cardinality": 1.0},
)


def tiny_mat():
    buffer = io.BytesIO()
    savemat(
        buffer,
        {
            "train_data": np.array([[1.0, 0], [0, 2], [3, 0]]),
            "train_target": np.array([[1, -1, 1], [-1, -1, 1]]),
            "test_data": np.array([[0.0, 4]]),
            "test_target": np.array([[-1], [1]]),
        },
    )
    return buffer.getvalue()


class Server(ThreadingHTTPServer):
    """Files by path, with ways to misbehave; remembers what was asked for."""

    daemon_threads = True

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked, self.cut, self.status = files, [], False, 200
        self.barrier, self.endless, self.sent = None, False, 0

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}/{path}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.asked.append(self.path)
        if server.barrier is not None:
            server.barrier.wait(timeout=300)
        body = server.files.get(self.path.lstrip("/"))
        if body is None or server.status != 200:
            self.send_error(server.status if server.status != 200 else 404)
            return
        self.send_response(200)
        endless = server.endless
        if not endless:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):  # until the client has enough
            while endless:
                self.wfile.write(body)
                server.sent += len(body)
        if endless:
            return
        self.wfile.write(body[: len(body) // 2] if server.cut else body)

    def log_message(self, *_):
        pass


@contextmanager
def serving(files):
    server = Server(files)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def server():
    with serving({"tiny.mat": tiny_mat()}) as running:
        yield running


@pytest.fixture
def no_cache(monkeypatch, tmp_path):
    """A user's cache that is empty, so that no test sees or fills the real one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("LABELKIN_DATA", raising=False)
    return tmp_path / "cache" / "labelkin"


def tiny(server, *, urls=("tiny.mat",), sha256=True):
    total = hashlib.sha256(server.files["tiny.mat"]).hexdigest() if sha256 is True else sha256
    addresses = tuple(url if "://" in url else server.url(url) for url in urls)
    return dataclasses.replace(TINY, files=(SourceFile("all", addresses, total),))


def contents(folder):
    return sorted(p.name for p in folder.rglob("*")) if folder.exists() else []


def test_download_then_no_network(server, no_cache, tmp_path, capfd):
    info = tiny(server)
    home = tmp_path / "new" / "home"
    first = load_dataset(info, data_home=home)
    np.testing.assert_array_equal(first.target, [[1, 0], [0, 0], [1, 1]])
    np.testing.assert_array_equal(_dense(first.data), [[1, 0], [0, 2], [3, 0]])
    assert contents(home) == ["tiny.npz"]
    assert server.asked == ["/tiny.mat"]
    server.status = 500
    second = load_dataset(info, data_home=home, subset="all")
    assert len(server.asked) == 1
    np.testing.assert_array_equal(second.split, [0, 0, 0, 1])
    np.testing.assert_array_equal(second.target[3], [0, 1])
    assert "".join(capfd.readouterr()) == ""  # where stderr is no terminal


def test_the_cache_is_the_default_folder(server, no_cache):
    info = tiny(server)
    load_dataset(info)
    assert contents(no_cache) == ["tiny.npz"]
    assert find_dataset("tiny") == no_cache / "tiny.npz"


def refused(info, error, words, home):
    with pytest.raises(error, match=words) as caught:
        load_dataset(info, data_home=home)
    assert contents(home) == []
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_cut_connection(server, no_cache, tmp_path):
    info = tiny(server)
    server.cut = True
    message = refused(info, ConnectionError, "the connection was interrupted", tmp_path)
    assert "LABELKIN_DATA" in message
    assert server.url("")[:-1] in message
    server.cut = False
    assert load_dataset(info, data_home=tmp_path).target.shape == (3, 2)


def test_a_server_that_does_not_stop(server, no_cache, tmp_path, monkeypatch):
    info = tiny(server)
    server.endless = True
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "3000000")
    message = refused(info, ValueError, "the server sent more than 3 MiB", tmp_path)
    assert server.url("tiny.mat") in message
    assert server.sent < 50_000_000
    server.endless, server.sent = False, 0
    assert load_dataset(info, data_home=tmp_path).target.shape == (3, 2)


def test_the_last_attributes_are_labels(server, no_cache, tmp_path):
    content = server.files["tiny.arff"] = (
        b"@relation t\n@attribute x numeric\n@attribute c {r,g,b}\n@attribute a {0,1}\n"
        b"@attribute b {0,1}\n@data\n1,r,1,0\n0,b,0,0\n3,g,1,1\n"
    )
    info = tiny(server, urls=("tiny.arff",), sha256=hashlib.sha256(content).hexdigest())
    info = dataclasses.replace(info, rows="all", labels_last=2)
    bunch = load_dataset(info, data_home=tmp_path)
    np.testing.assert_array_equal(bunch.target, [[1, 0], [0, 0], [1, 1]])
    np.testing.assert_array_equal(_dense(bunch.data), [[1, 0], [0, 2], [3, 1]])
    np.testing.assert_array_equal(bunch.feature_n_values, [0, 3])
    assert list(bunch.label_names) == ["a", "b"]
    with pytest.raises(ValueError, match="tiny has no published partition"):
        load_dataset(info, data_home=tmp_path, subset="train")


def test_wrong_sum(server, no_cache, tmp_path):
    info = tiny(server, sha256="0" * 64)
    refused(info, ValueError, "sha256 is not the published one", tmp_path)


@pytest.mark.parametrize("status", [404, 500])
def test_server_refuses(server, no_cache, tmp_path, status):
    info = tiny(server)
    server.status = status
    refused(info, ConnectionError, f"the server answered {status}", tmp_path)


def test_offline(server, no_cache, tmp_path):
    info = tiny(server)
    server.server_close()
    server.shutdown()
    message = refused(info, ConnectionError, "no connection", tmp_path)
    assert message.endswith("set LABELKIN_DATA to a folder that holds tiny.npz.")
    file = SourceFile("all", (server.url("tiny.arff"),), "0" * 64)
    info = dataclasses.replace(TINY, files=(file,))
    assert "tiny.arff by hand" in refused(info, ConnectionError, "no connection", tmp_path)


def test_no_answer_in_time(server, no_cache, tmp_path, monkeypatch):
    monkeypatch.setattr(_fetch, "_TIMEOUT", 0.2)
    server.barrier = threading.Barrier(2)
    try:
        refused(tiny(server), ConnectionError, "no answer in time", tmp_path)
    finally:
        server.barrier.abort()


def test_next_address_helps(server, no_cache, tmp_path):
    server.files["bad/tiny.mat"] = b"something else"
    info = tiny(server, urls=("gone/tiny.mat", "bad/tiny.mat", "tiny.mat"))
    assert load_dataset(info, data_home=tmp_path).target.shape == (3, 2)
    assert server.asked == ["/gone/tiny.mat", "/bad/tiny.mat", "/tiny.mat"]


def test_wrong_statistics(server, no_cache, tmp_path):
    info = tiny(server)
    info = dataclasses.replace(info, statistics={**info.statistics, "distinct": 2})
    refused(
        info,
        ValueError,
        r"do not give the published statistics \(distinct 3 instead of 2\)",
        tmp_path,
    )


def test_not_a_matlab_file(server, no_cache, tmp_path):
    server.files["tiny.mat"] = b"<html>sign in</html>" * 50
    info = tiny(server)
    refused(
        info, ValueError, "files downloaded for tiny cannot be read .*; nothing was kept", tmp_path
    )


def test_failing_to_write_leaves_nothing(server, no_cache, tmp_path, monkeypatch):
    info = tiny(server)

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", full)
    refused(info, OSError, "disk full", tmp_path)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a read-only folder")
def test_read_only_home_falls_back_to_the_cache(server, no_cache, monkeypatch):
    info = tiny(server)
    home = Path("/proc/labelkin-data")
    assert load_dataset(info, data_home=home).target.shape == (3, 2)
    assert contents(no_cache) == ["tiny.npz"]
    assert load_dataset(info, data_home=home, download=False).target.shape == (3, 2)
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/labelkin-cache")
    with pytest.raises(PermissionError, match=r"Neither .* can be written to.*LABELKIN_DATA"):
        load_dataset(info, data_home=home)


def _python(code, *arguments, env=None):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_processes_at_once(server, tmp_path):
    # The server answers after both requests have come: both downloads are under way.
    server.barrier = threading.Barrier(2)
    code = textwrap.dedent(
        """
        import json, sys
        from labelkin.datasets import DatasetInfo, SourceFile, load_dataset
        entry, home = json.loads(sys.argv[1]), sys.argv[2]
        files = tuple(SourceFile(**file) for file in entry.pop("files"))
        info = DatasetInfo(**entry, files=files)
        print(load_dataset(info, data_home=home).target.tolist())
        """
    )
    entry = json.dumps(dataclasses.asdict(tiny(server)))
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(_python(code, entry, tmp_path)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["[[1, 0], [0, 0], [1, 1]]\n"] * 2
    assert contents(tmp_path) == ["tiny.npz"]
    assert len(server.asked) == 2
    assert read(tmp_path / "tiny.npz").data.shape == (4, 2)


@needs_arff
@pytest.mark.parametrize("name", MULAN)
def test_real_files_from_a_server(name, no_cache, tmp_path):
    """The whole path on the published files: the result is the stored dataset."""
    info = dataset_info(name)
    folder = DATA / "arff" / "mulan"
    originals = {
        f.name: gzip.decompress((folder / f"{f.name}.gz").read_bytes()) for f in info.files
    }
    with serving(originals) as server:
        files = tuple(dataclasses.replace(f, urls=(server.url(f.name),)) for f in info.files)
        info = dataclasses.replace(info, files=files)
        load_dataset(info, data_home=tmp_path)
    assert contents(tmp_path) == [f"{name}.npz"]
    fetched, stored = read(tmp_path / f"{name}.npz"), read(DATA / f"{name}.npz")
    np.testing.assert_array_equal(_dense(fetched.data), _dense(stored.data))
    np.testing.assert_array_equal(fetched.target, stored.target)
    np.testing.assert_array_equal(fetched.feature_n_values, stored.feature_n_values)
    assert list(fetched.feature_names) == list(stored.feature_names)
    assert list(fetched.label_names) == list(stored.label_names)
    # Equal rows in both parts may be marked either way, so the parts are compared as
    # collections of rows.
    for part in (0, 1):
        keys = [sorted(_keys(b, b.split == part)) for b in (fetched, stored)]
        assert keys[0] == keys[1]


def _keys(bunch, rows):
    X = _dense(bunch.data)[rows]
    return [x.tobytes() + y.tobytes() for x, y in zip(X, bunch.target[rows], strict=True)]


@needs_data
@pytest.mark.parametrize("transposed", [True, False])
def test_yahoo_from_a_matlab_file(no_cache, tmp_path, transposed):
    stored = read(DATA / "arts.npz")
    content = {}
    for part, name in enumerate(("train", "test")):
        Y = np.where(stored.target[stored.split == part] > 0, 1.0, -1.0)
        content[f"{name}_data"] = stored.data[stored.split == part].toarray()
        content[f"{name}_target"] = Y.T if transposed else Y
    buffer = io.BytesIO()
    savemat(buffer, content)
    with serving({"arts.mat": buffer.getvalue()}) as server:
        total = hashlib.sha256(buffer.getvalue()).hexdigest()
        file = SourceFile("all", (server.url("arts.mat"),), total)
        info = dataclasses.replace(dataset_info("arts"), files=(file,))
        bunch = load_dataset(info, data_home=tmp_path, subset="all")
    assert (bunch.data != stored.data).nnz == 0
    np.testing.assert_array_equal(bunch.target, stored.target)
    np.testing.assert_array_equal(bunch.split, stored.split)
    assert bunch.label_names is None
