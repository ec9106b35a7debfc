"""The store: one SQLite file that holds every finished cell, and survives anything.

One process writes, the one that coordinates the run; a finished cell is one transaction
that is on disk when it ends (write-ahead log, ``synchronous=FULL``). Others may read
meanwhile. A second run on the same store is refused by a lock that the operating system
takes back when its holder dies, however it dies.
"""

import csv
import io
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from labelkin._utils.files import open_for_writing
from labelkin._utils.optional import import_optional
from labelkin.experiments.run.protocol import Cell, Protocol
from labelkin.metrics import PAPER_METRICS

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "dataset", "method", "repeat", "fold",
    *PAPER_METRICS,
    "fit_s", "predict_s", "peak_mb", "status", "error",
)  # fmt: skip
"""Columns of the results, one row a cell. Metrics are fractions; times are in seconds."""

_NUMBERS = (*PAPER_METRICS, "fit_s", "predict_s", "peak_mb")
_APPLICATION = 0x6C6B696E  # "lkin": tells our files from other SQLite files
_VERSION = 2
# What changed since a version, so that its stores are still written to.
_CHANGES = {1: "ALTER TABLE protocol ADD COLUMN seed INTEGER;"}
_SCHEMA = f"""
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, started TEXT NOT NULL, command TEXT NOT NULL,
    environment TEXT NOT NULL
);
CREATE TABLE protocol (folds INTEGER NOT NULL, stratified INTEGER NOT NULL, seed INTEGER);
CREATE TABLE datasets (
    name TEXT PRIMARY KEY, fingerprint TEXT NOT NULL,
    samples INTEGER NOT NULL, features INTEGER NOT NULL, labels INTEGER NOT NULL
);
CREATE TABLE methods (
    name TEXT PRIMARY KEY, title TEXT NOT NULL, settings TEXT NOT NULL, estimator TEXT NOT NULL
);
CREATE TABLE groups (
    name TEXT NOT NULL, dataset TEXT NOT NULL, method TEXT NOT NULL, repeats INTEGER NOT NULL,
    PRIMARY KEY (name, dataset, method)
);
CREATE TABLE cells (
    dataset TEXT NOT NULL, method TEXT NOT NULL, repeat INTEGER NOT NULL, fold INTEGER NOT NULL,
    {", ".join(f"{name} REAL" for name in _NUMBERS)},
    status TEXT NOT NULL, error TEXT, traceback TEXT, run INTEGER NOT NULL REFERENCES runs (id),
    PRIMARY KEY (dataset, method, repeat, fold)
);
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
"""


class Store:
    """Results of experiments, on disk.

    Parameters
    ----------
    path : path-like
        The file.
    write : bool, default=False
        Whether cells will be added: then the file is made if it is not there, and no other
        writer is let in until this one is closed. Without it nothing is changed.

    Examples
    --------
    >>> with Store("results.db") as store:  # doctest: +SKIP
    ...     table = store.results()
    """

    def __init__(self, path: str | Path, *, write: bool = False) -> None:
        self.path = Path(path)
        self._lock: sqlite3.Connection | None = None
        self._run: int | None = None
        self._new = write and not self.path.exists()
        if write:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = _lock(self.path)
        elif not self.path.is_file():
            raise FileNotFoundError(f"{self.path}: there is no such store of results.")
        try:
            self._db = self._open(write)
        except BaseException:
            self._release()
            raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a writer leaves one plain file behind, without a log beside it."""
        if self._lock is not None:
            with suppress(sqlite3.Error):  # someone reads: the log stays, and is read with it
                self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.close()
        if self._new and self._run is None:
            self.path.unlink(missing_ok=True)  # no run began: leave nothing behind
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _open(self, write: bool) -> sqlite3.Connection:
        with self._errors():
            db = self._connect(write)
            try:
                self._check(db, write)
                if write:
                    db.execute("PRAGMA journal_mode = WAL")
                    db.execute("PRAGMA synchronous = FULL")
            except BaseException:
                db.close()
                raise
            return db

    def _connect(self, write: bool) -> sqlite3.Connection:
        # One thread at a time uses the connection, but not always the one that opened it.
        options: dict[str, Any] = {"isolation_level": None, "check_same_thread": False}
        if write:
            return sqlite3.connect(self.path, timeout=30, **options)
        address = f"file:{quote(str(self.path.resolve()))}?mode=ro"
        db = sqlite3.connect(address, uri=True, timeout=30, **options)
        try:
            db.execute("SELECT * FROM sqlite_master LIMIT 1").fetchone()
            return db
        except sqlite3.DatabaseError as error:
            db.close()
            has_log = self.path.with_name(self.path.name + "-wal").exists()
            if has_log or not isinstance(error, sqlite3.OperationalError):
                raise
            # In a folder that cannot be written to, a reader has no place for its log.
            return sqlite3.connect(address + "&immutable=1", uri=True, **options)

    def _check(self, db: sqlite3.Connection, write: bool) -> None:
        """Make an empty file a store; refuse what is another program's, or another version's."""
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        application = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if not tables:
            if not write:
                raise ValueError(f"{self.path}: no results are in this store yet.")
            db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
        elif application != _APPLICATION:
            raise ValueError(f"{self.path}: this is not a store of labelkin's results.")
        elif version in _CHANGES:
            if write:
                change = f"{_CHANGES[version]} PRAGMA user_version = {_VERSION};"
                db.executescript(f"BEGIN IMMEDIATE; {change} COMMIT;")
        elif version != _VERSION:
            raise ValueError(
                f"{self.path}: this store has version {version} and this labelkin writes "
                f"{_VERSION}; use another store, or the labelkin that made it."
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Have trouble with the file told in one sentence."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path}: {error}.") from error
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.path}: this is not a store of results ({error}).") from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self._db.rollback()
                raise

    def _rows(self, query: str, values: Iterable[Any] = ()) -> list[tuple]:
        with self._errors():
            return self._db.execute(query, tuple(values)).fetchall()

    # ------------------------------------------------------------------ reading

    def results(self) -> "pd.DataFrame":
        """Return a row for each cell, with the columns of :data:`COLUMNS`, in a fixed order."""
        pandas = import_optional("pandas")
        frame = pandas.DataFrame(self._cells(), columns=list(COLUMNS))
        return frame.astype(dict.fromkeys(_NUMBERS, float))

    def _cells(self) -> list[tuple]:
        order = "dataset, method, repeat, fold"
        return self._rows(f"SELECT {', '.join(COLUMNS)} FROM cells ORDER BY {order}")

    def write_csv(self, path: str | Path) -> None:
        """Write the results as CSV, every number so that it reads back exactly."""
        with open_for_writing(path) as raw, io.TextIOWrapper(raw, "utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(self._cells())

    def environment(self) -> dict[str, Any]:
        """Return what the last run was made with; see :meth:`runs` for all."""
        runs = self.runs()
        return runs[-1]["environment"] if runs else {}

    def runs(self) -> list[dict[str, Any]]:
        """Return each run's start, command, environment and the number of cells it stored."""
        query = (
            "SELECT started, command, environment, "
            "(SELECT count(*) FROM cells WHERE run = runs.id) FROM runs ORDER BY id"
        )
        keys = ("started", "command", "environment", "cells")
        found = [dict(zip(keys, row, strict=True)) for row in self._rows(query)]
        return [{**run, "environment": json.loads(run["environment"])} for run in found]

    def protocol(self) -> dict[str, Any]:
        """Return the number of folds, whether they are stratified, and their seed."""
        rows = self._rows("SELECT * FROM protocol")
        if not rows:
            return {}
        folds, stratified, *seed = rows[0]  # a store of version 1 has no seed
        return {"folds": folds, "stratified": bool(stratified), "seed": seed[0] if seed else None}

    def groups(self) -> dict[str, list[tuple[str, str, int]]]:
        """Return what was asked for: for each group its (dataset, method, repeats)."""
        asked: dict[str, list[tuple[str, str, int]]] = {}
        for name, *rest in self._rows("SELECT * FROM groups ORDER BY rowid"):
            asked.setdefault(name, []).append((rest[0], rest[1], rest[2]))
        return asked

    def methods(self) -> dict[str, dict[str, str]]:
        """Return title, settings and estimator of each method by name."""
        keys = ("title", "settings", "estimator")
        rows = self._rows(f"SELECT name, {', '.join(keys)} FROM methods ORDER BY rowid")
        return {name: dict(zip(keys, rest, strict=True)) for name, *rest in rows}

    def datasets(self) -> dict[str, dict[str, Any]]:
        """Return fingerprint and sizes of each dataset by name."""
        keys = ("fingerprint", "samples", "features", "labels")
        rows = self._rows(f"SELECT name, {', '.join(keys)} FROM datasets ORDER BY rowid")
        return {name: dict(zip(keys, rest, strict=True)) for name, *rest in rows}

    def failures(self, among: Iterable[Cell] | None = None) -> dict[Cell, dict[str, str]]:
        """Return error and traceback of each failed cell, of all or among some."""
        columns = "dataset, method, repeat, fold, error, traceback"
        query = f"SELECT {columns} FROM cells WHERE status = 'failed' ORDER BY 1, 2, 3, 4"
        found = {
            Cell(*place): {"error": error, "traceback": trace}
            for *place, error, trace in self._rows(query)
        }
        wanted = found if among is None else set(among)
        return {cell: why for cell, why in found.items() if cell in wanted}

    def done(self, *, failed: bool = True) -> set[Cell]:
        """Return the cells that are stored, with or without those that failed."""
        query = "SELECT dataset, method, repeat, fold FROM cells"
        return {
            Cell(*row) for row in self._rows(query if failed else f"{query} WHERE status = 'ok'")
        }

    def metric(self, name: str) -> dict[Cell, float]:
        """Return one metric of every cell that did not fail."""
        if name not in _NUMBERS:
            raise ValueError(f"no column is called {name!r}; known: {', '.join(_NUMBERS)}.")
        query = f"SELECT dataset, method, repeat, fold, {name} FROM cells WHERE status = 'ok'"
        return {Cell(*place): value for *place, value in self._rows(query)}

    # ------------------------------------------------------------------ writing

    def begin(
        self,
        *,
        started: str,
        command: str,
        environment: Mapping[str, Any],
        protocol: Protocol,
        datasets: Iterable[Mapping[str, Any]] = (),
        methods: Iterable[Mapping[str, str]] = (),
        groups: Iterable[tuple[str, str, str]] = (),
    ) -> None:
        """Open a run: record what it is made with, or refuse what does not fit the store.

        Parameters
        ----------
        started, command : str
            When, and how, the run was started.
        environment : dict
            See :func:`~labelkin.experiments.run.environment.describe_environment`.
        protocol : Protocol
            Folds must be those of the cells already stored; more repeats may be asked for.
        datasets, methods : iterables of dict
            Rows of the tables of these names; under a stored name they must be the same.
        groups : iterable of (group, dataset, method)
            What is asked for.
        """
        with self._transaction():
            self._check_protocol(protocol)
            for row in datasets:
                self._check_same("datasets", row, "fingerprint", "has other data")
            for row in methods:
                self._check_same("methods", row, "estimator", "was set up in another way")
            self._db.executemany(
                "INSERT INTO groups VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
                "SET repeats = max(repeats, excluded.repeats)",
                [(*group, protocol.repeats) for group in groups],
            )
            self._run = self._db.execute(
                "INSERT INTO runs (started, command, environment) VALUES (?, ?, ?)",
                (started, command, json.dumps(environment)),
            ).lastrowid

    def _check_protocol(self, protocol: Protocol) -> None:
        names = ("folds", "stratified", "seed")
        asked = {name: getattr(protocol, name) for name in names}
        stored = self.protocol()
        if not stored:
            self._db.execute("INSERT INTO protocol VALUES (?, ?, ?)", tuple(asked.values()))
        elif stored != asked:
            raise ValueError(
                f"{self.path} holds {_folds(stored)}, but {_folds(asked)} are asked for: "
                "give these another --store."
            )

    def _check_same(self, table: str, row: Mapping[str, Any], key: str, how: str) -> None:
        """Add a row, unless its name is stored; then it must say the same."""
        stored = self._db.execute(f"SELECT {key} FROM {table} WHERE name = ?", (row["name"],))
        found = stored.fetchone()
        if found is None:
            marks = ", ".join(f":{column}" for column in row)
            self._db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", dict(row))
        elif found[0] != row[key]:
            raise ValueError(
                f"{self.path} holds cells of {row['name']!r}, which {how} then "
                f"({found[0]}) than now ({row[key]}): give this run another --store, or the "
                f"{table[:-1]} another name."
            )

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Store rows of finished cells, all or none; they are on disk on return.

        A row has the columns of :data:`COLUMNS`, and that of a failed cell may have a
        ``traceback``.
        """
        columns = (*COLUMNS, "traceback", "run")
        marks = ", ".join(f":{column}" for column in columns)
        insert = f"INSERT OR REPLACE INTO cells ({', '.join(columns)}) VALUES ({marks})"
        with self._transaction():
            self._db.executemany(
                insert, [{"traceback": None, **row, "run": self._run} for row in rows]
            )


def _folds(settings: Mapping[str, Any]) -> str:
    kind = "stratified" if settings["stratified"] else "random"
    seed = settings["seed"]
    return f"{settings['folds']} {kind} folds" + ("" if seed is None else f" of seed {seed}")


def _lock(path: Path) -> sqlite3.Connection:
    """Take the lock of a store: an empty SQLite file beside it, locked while we live.

    SQLite's locks are the operating system's on every platform, so that a killed run leaves
    no lock behind. The store itself stays readable for reports.
    """
    beside = path.with_name(path.name + "-lock")
    try:
        lock = sqlite3.connect(beside, timeout=0, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise OSError(f"{path}: the folder cannot be written to ({error}).") from error
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if "locked" not in str(error):
            raise OSError(f"{path}: the store cannot be locked ({error}).") from error
        raise ValueError(
            f"{path}: another run is writing to this store; wait until it ends, or give this "
            "one its own --store."
        ) from None
    return lock
