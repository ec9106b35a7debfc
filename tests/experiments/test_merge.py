"""Stores of several machines put together, and a store filled from a CSV."""

import csv
import sqlite3

import pytest

from labelkin.experiments.run.plan import Protocol
from labelkin.experiments.run.results import merge
from labelkin.experiments.run.store import COLUMNS, METRIC_COLUMNS, Store


def row(fold, value=0.25, status="ok", repeat=0):
    place = {"dataset": "d", "method": "m", "repeat": repeat, "fold": fold}
    figures = dict.fromkeys(METRIC_COLUMNS, value if status == "ok" else None)
    times = {"fit_s": 1.0, "predict_s": 0.5}
    return {**place, **figures, **times, "status": status, "error": None}


def fill(path, rows, protocol=None, revision="first", estimator="M()"):
    with Store(path, write=True) as store:
        store.begin(
            started="now",
            command=f"labelkin reproduce … {path.name}",
            environment={"revision": revision},
            protocol=protocol or Protocol(),
            methods=[{"name": "m", "title": "M", "settings": "", "estimator": estimator}],
        )
        store.add(rows)
    return path


def test_shards_become_one_store(tmp_path):
    first = fill(tmp_path / "a.db", [row(0), row(1)])
    second = fill(tmp_path / "b.db", [row(2), row(3)], revision="second")
    [merged] = merge(first, [second])
    assert merged == {"added": 2}
    with Store(first) as store:
        assert {cell.fold for cell in store.cells()} == {0, 1, 2, 3}
        assert [r["revision"] for r in store.rows()] == ["first", "first", "second", "second"]
        assert [r["run"] for r in store.rows()] == [1, 1, 2, 2]


def test_a_cell_that_both_hold_stays_unless_it_failed(tmp_path):
    first = fill(tmp_path / "a.db", [row(0, 0.5), row(1, 0.5), row(2, status="failed")])
    second = fill(tmp_path / "b.db", [row(0, 0.5 + 1e-13), row(1, 0.6), row(2, 0.7)])
    [merged] = merge(first, [second])
    assert merged == {"added": 1, "equal": 1, "different": 1}
    with Store(first) as store:
        assert [r["f1"] for r in store.rows()] == [0.5, 0.5, 0.7]


def test_a_store_is_filled_from_a_csv_and_the_run_goes_on(tmp_path):
    path = tmp_path / "results.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows({**row(fold, 0.1 + 0.2), "revision": "old"} for fold in range(5))
    [merged] = merge(tmp_path / "new.db", [path])
    assert merged["added"] == 5
    with Store(tmp_path / "new.db", write=True) as store:
        assert store.protocol() == {"folds": 5, "stratified": False, "seed": None}
        assert {r["revision"] for r in store.rows()} == {"old"}
        assert store.rows()[0]["f1"] == 0.1 + 0.2


def test_a_csv_of_an_earlier_version_lacks_columns(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("dataset,method,repeat,fold,f1\nd,m,0,0,0.5\nd,m,0,1,0.5\n")
    merge(tmp_path / "new.db", [path], protocol=Protocol(seed=0))
    with Store(tmp_path / "new.db") as store:
        assert store.rows()[0]["ranking_loss_index"] is None
        assert store.protocol()["seed"] == 0


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"protocol": Protocol(folds=10)}, "5 random folds and this run has 10 random folds"),
        ({"estimator": "M(2)"}, "holds cells of 'm' with other settings"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, other, message):
    first = fill(tmp_path / "a.db", [row(0)])
    second = fill(tmp_path / "b.db", [row(1)], **other)
    with pytest.raises(ValueError, match=message):
        merge(first, [second])


def test_bad_sources_are_refused(tmp_path):
    store = fill(tmp_path / "a.db", [row(0)])
    with pytest.raises(FileNotFoundError, match="no such file of results"):
        merge(store, [tmp_path / "none.db"])
    with pytest.raises(ValueError, match="name it once"):
        merge(store, [store])
    table, cell = tmp_path / "x.csv", "dataset,method,repeat,fold,f1"
    for text, message in [
        ("a,b\n1,2\n", "no column 'dataset'"),
        (f"{cell}\n", "hold no cell"),
        (f"{cell}\nd,m,x,0,1\n", "a repeat that is not a whole number"),
        (f"{cell}\nd,m,0,-1,1\n", "a fold that is not a whole number"),
        (f"{cell},status\nd,m,0,0,1,fine\n", "'fine' as status"),
    ]:
        table.write_text(text)
        with pytest.raises(ValueError, match=rf"x\.csv: .*{message}"):
            merge(store, [table])
    table.write_bytes(b"\xff\n")
    with pytest.raises(ValueError, match="cannot be read as results"):
        merge(tmp_path / "new.db", [table])
    assert not list(tmp_path.glob("new.db*"))


def test_a_store_with_a_column_of_an_earlier_version_is_merged(tmp_path):
    first = fill(tmp_path / "a.db", [row(0)])
    with sqlite3.connect(first) as database:
        database.execute("ALTER TABLE cells ADD COLUMN peak_mb REAL")
    [merged] = merge(tmp_path / "new.db", [first])
    assert merged["added"] == 1
