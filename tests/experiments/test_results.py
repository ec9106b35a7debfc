"""Results of several stores and CSV files, read together."""

import csv
import sqlite3

import pytest

pytest.importorskip("pandas")

from labelkin.experiments.run.results import check_results, read_results
from labelkin.experiments.run.store import COLUMNS, METRIC_COLUMNS, Store


def row(fold, value=0.25, status="ok", repeat=0):
    place = {"dataset": "d", "method": "m", "repeat": repeat, "fold": fold}
    figures = dict.fromkeys(METRIC_COLUMNS, value if status == "ok" else None)
    times = {"fit_s": 1.0, "predict_s": 0.5}
    return {**place, **figures, **times, "status": status, "error": None}


def fill(path, rows, folds="5 random folds", revision="first", estimator="M()"):
    with Store(path, write=True) as store:
        store.begin(
            started="now",
            command=f"labelkin reproduce … {path.name}",
            environment={"revision": revision},
            facts={"folds": folds, "settings of m": estimator},
        )
        store.add(rows)
    return path


def test_stores_of_several_machines(tmp_path):
    first = fill(tmp_path / "a.db", [row(0), row(1)])
    second = fill(tmp_path / "b.db", [row(2), row(3)], revision="second")
    recorded = read_results(first, second)
    frame = check_results(recorded.results)
    assert frame["fold"].tolist() == [0, 1, 2, 3]
    assert frame["revision"].tolist() == ["first", "first", "second", "second"]
    assert recorded.environment == {"revision": "first"}
    assert recorded.commands == [f"labelkin reproduce … {name}" for name in ("a.db", "b.db")]
    assert recorded.settings["m"] == "M()"
    assert recorded.settings["vpcme"].startswith("S = 30 members")


def test_of_a_cell_in_several_files_the_first_is_kept_unless_it_failed(tmp_path):
    first = fill(tmp_path / "a.db", [row(0, 0.5), row(1, 0.5), row(2, status="failed")])
    second = tmp_path / "b.csv"
    with second.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows({**row(fold, 0.1 + 0.2), "revision": "old"} for fold in range(1, 4))
    frame = check_results(read_results(first, second).results)
    assert frame["f1"].tolist() == [0.5, 0.5, 0.1 + 0.2, 0.1 + 0.2]
    assert frame["revision"].tolist() == ["first", "first", "old", "old"]
    assert frame["status"].tolist() == ["ok"] * 4


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"folds": "10 random folds"}, r"b\.db differs in the folds \(10 random folds\)"),
        ({"estimator": "M(2)"}, r"b\.db differs in the settings of m \(M\(2\)\)"),
    ],
)
def test_stores_that_do_not_fit_are_refused(tmp_path, other, message):
    first = fill(tmp_path / "a.db", [row(0)])
    second = fill(tmp_path / "b.db", [row(1)], **other)
    with pytest.raises(ValueError, match=message):
        read_results(first, second)


def test_bad_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file of results"):
        read_results(tmp_path / "none.db")
    table, cell = tmp_path / "x.csv", "dataset,method,repeat,fold,f1"
    for text, message in [
        ("a,b\n1,2\n", "no column 'dataset'"),
        (f"{cell}\n", "hold no cell"),
        (f"{cell}\nd,m,x,0,1\n", "a repeat that is not a whole number"),
        (f"{cell}\nd,m,0,-1,1\n", "a fold that is not a whole number"),
    ]:
        table.write_text(text)
        with pytest.raises(ValueError, match=message):
            check_results(read_results(table).results)
    table.write_bytes(b"\xff\n")
    with pytest.raises(ValueError, match="cannot be read as results"):
        read_results(table)


def test_a_store_with_a_column_of_an_earlier_version(tmp_path):
    first = fill(tmp_path / "a.db", [row(0)])
    with sqlite3.connect(first) as database:
        database.execute("ALTER TABLE cells ADD COLUMN peak_mb REAL")
    assert tuple(read_results(first).results.columns) == COLUMNS
