"""A full disk: exit code 1, one sentence that names the file, and no half-written file."""

import pytest

from labelkin.cli import main
from labelkin.datasets import write
from support.data import make_data
from support.resources import full_disk
from support.tables import write_films

pytest.importorskip("typer")
pytest.importorskip("resource")

OPTIONS = ["--text", "plot", "--ignore", "id", "--labels", "-3", "--model", "br", "--quiet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("films")
    write_films(folder / "films.csv", 40)
    write(folder / "d.npz", *make_data(40))
    assert (
        main(["fit", str(folder / "films.csv"), *OPTIONS, "--out", str(folder / "m.labelkin")]) == 0
    )
    return folder


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("fit {0}/films.csv " + " ".join(OPTIONS) + " --out", "new.labelkin"),
        ("predict {0}/m.labelkin {0}/films.csv --proba --keep all --quiet --out", "p.csv"),
        ("predict {0}/m.labelkin {0}/films.csv --proba --keep all --quiet --out", "p.parquet"),
        ("datasets convert {0}/d.npz", "c.arff"),
        ("datasets convert {0}/d.npz", "c.csv"),
        ("reproduce figure2 --quick --methods mlknn --jobs 1 --store", "r.db"),
    ],
)
def test_full_disk(line, out, folder, tmp_path, capsys):
    path = tmp_path / out
    with full_disk(500):
        code = main([*line.format(folder).split(), str(path)])
    *_, sentence = capsys.readouterr().err.splitlines()
    assert sentence.startswith(f"error: {path}: ")
    assert code == 1
    assert not [file.name for file in tmp_path.iterdir() if file.suffix != ".db"]
