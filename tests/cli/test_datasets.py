"""``labelkin datasets`` as a person uses it: what it prints, writes and refuses."""

import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from labelkin.cli import main
from labelkin.datasets import read, write
from support.data import DATA, needs_data


@pytest.fixture(autouse=True)
def empty_home(monkeypatch, tmp_path):
    """No data but what a test puts there, and a width that does not depend on the terminal."""
    monkeypatch.setenv("LABELKIN_DATA", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path / "home"


@pytest.fixture
def toy(tmp_path):
    path = tmp_path / "toy.npz"
    rng = np.random.default_rng(0)
    Y = (rng.random((30, 3)) < 0.4).astype(np.uint8)
    X = sp.csr_matrix(rng.integers(0, 3, (30, 4)).astype(float))
    write(path, X, Y, feature_names=list("abcd"), label_names=["red", "green", "blue"])
    return path


@pytest.fixture
def run(capfd):
    def call(*arguments, code=0):
        found = main(["datasets", *map(str, arguments)])
        out, err = capfd.readouterr()
        assert found == code, err
        if code:
            assert err.startswith("error: ")
            assert err.count("\n") == 1
            assert out == ""
            return err
        return out

    return call


def test_list(run, empty_home):
    empty_home.mkdir()
    (empty_home / "yeast.npz").write_bytes(b"")
    out = run()
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    assert rows["yeast"] == ["yeast", "*", "yes", "2,417", "103", "14", "4.237", "biology"]
    assert rows["delicious"] == ["delicious", "-", "16,105", "500", "983", "19.020", "text"]
    assert "1 of " in out
    assert str(empty_home) in out.replace("\n", "")
    assert "…" not in out  # nothing is cut at 80 columns


def test_list_as_json(run):
    entries = {entry["name"]: entry for entry in json.loads(run("--json"))}
    assert entries["yeast"]["labels"] == 14
    assert entries["yeast"]["path"] is None
    assert sum(entry["paper"] for entry in entries.values()) == 12


@needs_data
def test_describe_a_known_name(run):
    out = run("describe", "arts", "--data", DATA)
    for words in ("arts", "2,000", "254", "1.627", "SCUMBLE", "MeanIR"):
        assert words in out


def test_describe_a_file(run, toy):
    out = run("describe", toy)
    assert "toy.npz" in out
    assert "30" in out
    found = json.loads(run("describe", toy, "--json"))
    assert found["label_names"] == ["red", "green", "blue"]
    assert sum(found["set_sizes"]) == found["instances"] == 30


def test_describe_takes_labels_for_files_that_do_not_say(run, tmp_path):
    table = tmp_path / "films.csv"
    table.write_text("length,drama,comedy\n1,0,1\n2,1,1\n3,1,0\n")
    found = json.loads(run("describe", table, "--labels", "drama,comedy", "--json"))
    assert (found["instances"], found["features"], found["labels"]) == (3, 1, 2)
    assert "comedy" in run("describe", table, "--labels", "drama,comdy", code=2)


@pytest.mark.parametrize("suffix", ["arff", "csv", "npz", "arff.gz"])
def test_convert_there_and_back(run, toy, tmp_path, suffix):
    middle, back = tmp_path / f"middle.{suffix}", tmp_path / "back.npz"
    out = run("convert", toy, middle)
    assert "30 rows, 4 features, 3 labels" in out.replace("\n", "")
    options = ["--labels", "-3"] if suffix == "csv" else []
    run("convert", middle, back, *options)
    first, last = read(toy), read(back)
    np.testing.assert_array_equal(sp.csr_array(first.data).toarray(), _dense(last.data))
    np.testing.assert_array_equal(first.target, last.target)


SOIL = """@relation 'soil: -C -2'
@attribute land {wood,'open field',bog}
@attribute pH numeric
@attribute moist {0,1}
@attribute worms {0,1}
@data
'open field',6.5,0,1
wood,?,1,0
?,4.5,1,1
"""


def test_convert_keeps_the_names_of_categories(tmp_path, capfd):
    (tmp_path / "soil.arff").write_text(SOIL)
    for suffix in ("csv", "arff", "npz"):
        out = tmp_path / f"out.{suffix}"
        assert main(["datasets", "convert", str(tmp_path / "soil.arff"), str(out)]) == 0
    said = capfd.readouterr().err
    assert "land: the categories wood, open field, bog are written as 0" in said
    assert "1 missing value in pH: in a model, each counts as the median" in said  # it stays empty
    rows = (tmp_path / "out.csv").read_text().splitlines()
    assert rows == ["land,pH,moist,worms", "open field,6.5,0,1", "wood,,1,0", ",4.5,1,1"]
    assert "@attribute land {wood,'open field',bog}" in (tmp_path / "out.arff").read_text()
    for name in ("soil.arff", "out.arff", "out.npz"):
        found = read(tmp_path / name)
        np.testing.assert_array_equal(found.data[:, 0], [1, 0, np.nan])
        assert found.feature_n_values.tolist() == [3, 0]


def test_labels_of_several_values_are_refused(run, tmp_path):
    (tmp_path / "soil.arff").write_text(SOIL.replace("-C -2", "-C 1"))
    error = run("describe", tmp_path / "soil.arff", code=2)
    assert "label 'land' takes the values 'wood, open field, bog'" in error


def test_convert_reads_columns_as_fit_does(run, tmp_path):
    rows = [f"A{i}7,{'red' if i % 3 else 'blue'},note {i},{i % 2}" for i in range(25)]
    (tmp_path / "d.csv").write_text("\n".join(["id;colour;remark;big", *rows]).replace(",", ";"))
    out = ["--labels", "big", "--ignore", "remark", "--delimiter", ";"]
    run("convert", tmp_path / "d.csv", tmp_path / "d.arff", *out)
    text = (tmp_path / "d.arff").read_text()
    assert "@attribute colour {blue,red}\n@attribute big" in text
    assert "A07" not in text
    np.savez(tmp_path / "d.npz", data=np.eye(6), target=np.eye(6)[:, :2])
    arrays = ["--x", "data", "--y", "target", "--json"]
    assert json.loads(run("describe", tmp_path / "d.npz", *arrays))["labels"] == 2


def test_convert_keeps_unknown_labels(run, tmp_path):
    (tmp_path / "a.csv").write_text("x,a,b\n1,0,1\n2,,0\n3,1,1\n")
    run("convert", tmp_path / "a.csv", tmp_path / "b.arff", "--labels", "a,b")
    np.testing.assert_array_equal(read(tmp_path / "b.arff").target, [[0, 1], [np.nan, 0], [1, 1]])
    error = main(["datasets", "convert", str(tmp_path / "b.arff"), str(tmp_path / "c.npz")])
    assert error == 2


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text here")
def test_a_name_that_is_no_text(toy, tmp_path, capfd):
    assert main(["datasets", "convert", str(toy), str(tmp_path / "a\udcff.npz")]) == 0
    assert r"a\udcff.npz" in capfd.readouterr().out


def _dense(X):
    return X.toarray() if sp.issparse(X) else X


@needs_data
def test_convert_keeps_all_of_an_npz(run, tmp_path):
    run("convert", DATA / "genbase.npz", tmp_path / "again.npz")
    first, last = read(DATA / "genbase.npz"), read(tmp_path / "again.npz")
    assert (first.data != last.data).nnz == 0
    np.testing.assert_array_equal(first.split, last.split)
    np.testing.assert_array_equal(first.feature_n_values, last.feature_n_values)
    assert list(first.feature_names) == list(last.feature_names)


def test_convert_replaces_a_file_only_on_request(run, toy, tmp_path):
    goal = tmp_path / "goal.npz"
    goal.write_text("precious")
    assert "--overwrite" in run("convert", toy, goal, code=2)
    assert goal.read_text() == "precious"
    run("convert", toy, goal, "--overwrite")
    assert read(goal).target.shape == (30, 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["describe", "yaest"], "Did you mean yeast?"),
        (["describe", "no/such/file.arff"], "There is no file no/such/file.arff"),
        (["describe", "yeast", "--labels", "a"], "--labels applies only to files"),
        (["fetch"], "Name at least one dataset"),
        (["fetch", "yeast", "emotion"], "Did you mean emotions"),
        (["convert", "no.npz", "out.npz"], "There is no file no.npz"),
    ],
)
def test_bad_input(run, arguments, words, empty_home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in run(*arguments, code=2)
    assert not empty_home.exists()
    assert list(tmp_path.glob("out*")) == []


def test_bad_files_write_nothing(run, toy, tmp_path):
    broken = tmp_path / "broken.npz"
    broken.write_bytes(toy.read_bytes()[:200])
    assert "broken.npz" in run("convert", broken, tmp_path / "out.arff", code=2)
    assert "out.strange" in run("convert", toy, tmp_path / "out.strange", code=2)
    assert list(tmp_path.glob("out*")) == []


def test_fetch_says_what_is_there(run, empty_home, toy):
    empty_home.mkdir()
    (empty_home / "flags.npz").write_bytes(toy.read_bytes())
    out = run("fetch", "flags").replace("\n", "")
    assert str(empty_home / "flags.npz") in out
    assert "already there" in out
