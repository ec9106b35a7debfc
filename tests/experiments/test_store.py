import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from labelkin.experiments.run.plan import Cell
from labelkin.experiments.run.store import COLUMNS, METRIC_COLUMNS, Store
from support.resources import full_disk


def row(method="m", fold=0, status="ok", value=0.1 + 0.2, dataset="d"):
    figures = dict.fromkeys(METRIC_COLUMNS, value if status == "ok" else None)
    times = {"fit_s": 1.5, "predict_s": 0.5}
    place = {"dataset": dataset, "method": method, "repeat": 0, "fold": fold}
    return {**place, **figures, **times, "status": status, "error": None if status == "ok" else "E"}


def begin(store, folds="5 random folds", command="labelkin …", **facts):
    environment = {"python": "3"}
    facts = {"folds": folds} | {name.replace("_", " "): value for name, value in facts.items()}
    store.begin(started="now", command=command, environment=environment, facts=facts)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "new" / "results.db"
    with Store(path, write=True) as store:
        begin(store)
        store.add([row(fold=1), row(fold=0)])
        store.add([{**row("a", status="failed"), "traceback": "Traceback …"}])
    return path


def test_results(path):
    pandas = pytest.importorskip("pandas")
    with Store(path) as store:
        frame = store.results()
    assert tuple(frame.columns) == COLUMNS
    assert list(frame.method + frame.fold.astype(str)) == ["a0", "m0", "m1"]
    assert frame.f1[1] == 0.1 + 0.2
    assert frame.fit_s.dtype == float
    assert pandas.isna(frame.f1[0])
    assert frame.error[0] == "E"


def test_a_closed_store_is_one_file(path):
    assert os.listdir(path.parent) == ["results.db"]


def test_what_else_is_told(path):
    with Store(path) as store:
        assert store.cells().keys() == {
            Cell("d", "m", 0, 0),
            Cell("d", "m", 0, 1),
            Cell("d", "a", 0, 0),
        }
        assert [r["status"] for r in store.rows()] == ["failed", "ok", "ok"]
        assert next((r["error"], r["traceback"]) for r in store.rows()) == ("E", "Traceback …")
        assert store.runs()[-1]["environment"] == {"python": "3"}
        assert store.facts() == {"folds": "5 random folds"}


def test_a_job_is_stored_whole_or_not_at_all(path):
    with Store(path, write=True) as store:
        begin(store)
        with pytest.raises(ValueError, match="NOT NULL"):
            store.add([row("late", 0), {**row("late", 1), "status": None}])
        assert not any(cell.method == "late" for cell in store.cells())
        store.add([row("late", 0)])  # and the store goes on working
        assert Cell("d", "late", 0, 0) in store.cells()


def test_a_retry_replaces(path):
    with Store(path, write=True) as store:
        begin(store)
        store.add([row("a")])
        assert [r["status"] for r in store.rows()].count("ok") == 3


def test_readers_and_other_writers_go_on_meanwhile(path):
    with Store(path, write=True) as first, Store(path, write=True) as second:
        for number, store in enumerate((first, second)):
            begin(store)
            store.add([row("new", number)])
            with Store(path) as reader:
                assert Cell("d", "new", 0, number) in reader.cells()
        first.add([row("late")])
        assert [run["id"] for run in second.runs()] == [1, 2, 3]
        assert len(second.cells()) == 6


def test_a_killed_writer_leaves_its_cells(tmp_path):
    path = tmp_path / "results.db"
    code = (
        "import os, signal, sys\n"
        "sys.path[:0] = sys.argv[2:]\n"
        "from test_store import Store, begin, row\n"
        "store = Store(sys.argv[1], write=True)\n"
        "begin(store)\n"
        "store.add([row()])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    here = os.path.dirname(__file__)
    folders = [here, os.path.dirname(here)]  # of this module, and of `support`
    done = subprocess.run([sys.executable, "-c", code, str(path), *folders], check=False)
    assert done.returncode == -9
    with Store(path) as store:
        assert store.cells().keys() == {Cell("d", "m", 0, 0)}
    with Store(path, write=True) as store:
        assert store.cells().keys() == {Cell("d", "m", 0, 0)}


def test_a_run_killed_amid_a_transaction_is_undone_by_readers(path):
    """Half of a transaction is in the file, and what it replaced in a journal beside it."""
    before = path.read_bytes()
    with Store(path, write=True) as store:
        begin(store)
        store._db.execute("PRAGMA cache_size = 1")  # pages are written before the end
        store._db.execute("BEGIN IMMEDIATE")
        for fold in range(500):
            store._insert("cells", {**row("late", fold), "traceback": "x" * 999, "run": 1})
        half, journal = path.read_bytes(), path.with_name("results.db-journal").read_bytes()
        store._db.rollback()
    assert half != before
    path.write_bytes(half)
    path.with_name("results.db-journal").write_bytes(journal)
    with Store(path) as store:
        assert len(store.cells()) == 3


def test_reading_changes_nothing(path):
    before = path.read_bytes()
    with Store(path) as store, pytest.raises(OSError, match="readonly"):
        store.add([row("new")])
    assert path.read_bytes() == before


def test_readable_in_a_folder_that_is_not_writable(path):
    with Store(path, write=True) as store:
        begin(store)
    os.chmod(path, 0o444)
    os.chmod(path.parent, 0o555)
    try:
        with Store(path) as store:
            assert len(store.cells()) == 3
    finally:
        os.chmod(path.parent, 0o755)


def test_files_that_are_no_stores(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.db: there is no such store"):
        Store(tmp_path / "none.db")
    text = tmp_path / "text.db"
    text.write_text("dataset,method\n" * 200)
    foreign = tmp_path / "foreign.db"
    with closing(sqlite3.connect(foreign)) as db, db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    for file in (text, foreign):
        before = file.read_bytes()
        for write in (False, True):
            with pytest.raises(ValueError, match=rf"{file.name}: this is not a store"):
                Store(file, write=write)
        assert file.read_bytes() == before


def test_another_version(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(ValueError, match="version 99"):
        Store(path)


def test_other_facts_are_refused(path):
    with Store(path, write=True) as store:
        begin(store, data_of_d="aa", settings_of_m="M(k=1)")
        begin(store, data_of_d="aa", settings_of_m="M(k=1)")
        with pytest.raises(ValueError, match=r"the folds \(5 random folds\) from .*\(10 random"):
            begin(store, "10 random folds")
        with pytest.raises(ValueError, match=r"the data of d \(aa\) from this run \(bb\)"):
            begin(store, data_of_d="bb")
        with pytest.raises(ValueError, match=r"the settings of m \(M\(k=1\)\) from"):
            begin(store, settings_of_m="M(k=2)")
        assert store.facts()["settings of m"] == "M(k=1)"


def test_a_method_that_only_failed_may_have_other_settings(path):
    with Store(path, write=True) as store:
        begin(store, settings_of_a="A(1)")
        begin(store, settings_of_a="A(2)")
        assert Cell("d", "a", 0, 0) not in store.cells()
        assert len(store.cells()) == 2
        assert store.facts()["settings of a"] == "A(2)"


def test_a_damaged_structure_is_refused_by_name(tmp_path):
    path = tmp_path / "r.db"
    with Store(path, write=True) as store:
        begin(store)
    raw = path.read_bytes()
    # The name of an index in SQLite's message is then no valid text.
    path.write_bytes(raw.replace(b"sqlite_autoindex_cells", b"sqlite_autoindex_cell\xec"))
    with pytest.raises(ValueError, match=r"r\.db: this is not a store"):
        Store(path)


def test_a_full_disk_names_the_store(tmp_path):
    path = tmp_path / "r.db"
    with (
        Store(path, write=True) as store,
        full_disk(200_000),
        pytest.raises(OSError, match=r"r\.db") as caught,
    ):
        begin(store, command="x" * 10**6)
    assert caught.value.filename == str(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE cells SET hamming_loss = 'x'", "a figure is no number"),
        ("UPDATE runs SET environment = '{'", "an environment is not JSON"),
        ("ALTER TABLE runs RENAME environment TO other", "no such column"),
        ("ALTER TABLE facts RENAME value TO other", "no such column"),
    ],
)
def test_stores_changed_by_others(change, message, tmp_path):
    path = tmp_path / "s.db"
    with Store(path, write=True) as store:
        store.begin(facts={}, started="now", command="…", environment={})
        cell = {"dataset": "d", "method": "m", "repeat": 0, "fold": 0, "status": "ok"}
        store.add([{**cell, "hamming_loss": 0.5}])
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(change)
    with Store(path) as store, pytest.raises((ValueError, OSError), match=rf"s.db: .*{message}"):
        _ = store.rows(), store.runs(), store.facts()
