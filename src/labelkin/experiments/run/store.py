"""The store: one SQLite file that holds every finished cell and survives any kind of end.

One process writes, the one that coordinates the run. A finished job is one transaction, which
is on disk when it ends (write-ahead log, ``synchronous=FULL``). Others may read meanwhile. A
second writer is refused by a lock that the operating system releases when its holder dies.
"""

import errno
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from labelkin._utils.optional import import_optional
from labelkin._utils.untrusted import check_json
from labelkin.experiments.run.columns import CELL, COLUMNS, FIGURES
from labelkin.experiments.run.protocol import Cell, Protocol

if TYPE_CHECKING:
    import pandas as pd

_APPLICATION = 0x6C6B696E  # "lkin": tells our files from other SQLite files
_VERSION = 3
# SQLite's name of a write that fails says nothing about the cause: most often the disk is full.
_DISK_ERRORS = {sqlite3.SQLITE_FULL: errno.ENOSPC} | dict.fromkeys(
    (
        sqlite3.SQLITE_IOERR_WRITE,
        sqlite3.SQLITE_IOERR_FSYNC,
        sqlite3.SQLITE_IOERR_TRUNCATE,
        sqlite3.SQLITE_IOERR_SHMSIZE,
    ),
    errno.EIO,
)
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
    {", ".join(f"{name} REAL" for name in FIGURES)},
    status TEXT NOT NULL, error TEXT, traceback TEXT, revision TEXT,
    run INTEGER NOT NULL REFERENCES runs (id),
    PRIMARY KEY (dataset, method, repeat, fold)
);
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
"""
# What a run writes, in the words of `check_json`; whole numbers are at least 0. SQLite takes any.
_FORMS: dict[str, dict[str, Any]] = {
    "runs": {"id": int, "started": str, "command": str, "environment": str},
    "protocol": {"folds": int, "stratified": int, "seed": (None, int)},
    "datasets": {"name": str, "fingerprint": str, "samples": int, "features": int, "labels": int},
    "methods": {"name": str, "title": str, "settings": str, "estimator": str},
    "groups": {"name": str, "dataset": str, "method": str, "repeats": int},
    "cells": {
        **{"dataset": str, "method": str, "repeat": int, "fold": int, "run": int},
        **dict.fromkeys(FIGURES, (float, None, int)),
        "status": {"ok", "failed"},
        **dict.fromkeys(("error", "traceback", "revision"), (None, str)),
    },
}


class Store:
    """Results of experiments, on disk.

    With `write` the file is made if it does not exist, and other writers are refused until this
    one is closed. Without it nothing is changed.
    """

    def __init__(self, path: str | Path, *, write: bool = False) -> None:
        self.path = Path(path)
        # A link and its target are one store, with one lock beside the target.
        self._file = Path(os.path.realpath(path))
        self._lock: sqlite3.Connection | None = None
        self._run: int | None = None
        self._revision: str | None = None
        self._is_new = write and not self._file.exists()
        if write:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._lock = _lock(self._file)
        elif not self.path.is_file():
            raise FileNotFoundError(f"{self.path}: there is no such store of results.")
        try:
            self._db = self._open(write)
        except BaseException:
            if self._lock is not None:
                self._lock.close()
            raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a writer leaves one plain file behind, without a log beside it."""
        if self._lock is not None:
            with suppress(sqlite3.Error):  # a reader is active: the log stays and is read with it
                self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.close()
        if self._is_new and self._run is None:
            self._file.unlink(missing_ok=True)  # no run began
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _open(self, write: bool) -> sqlite3.Connection:
        mode = "rwc" if write else "ro"
        address = f"file:{quote(str(self._file))}?mode={mode}"
        with self._errors():
            db = sqlite3.connect(address, uri=True, timeout=30, isolation_level=None)
            db.row_factory = sqlite3.Row
            try:
                self._check(db, write)
                if write:
                    db.execute("PRAGMA journal_mode = WAL")
                    db.execute("PRAGMA synchronous = FULL")
            except BaseException:
                db.close()
                raise
            return db

    def _check(self, db: sqlite3.Connection, write: bool) -> None:
        """Make an empty file a store; refuse files of other programs and other versions."""
        [n_tables] = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        [application] = db.execute("PRAGMA application_id").fetchone()
        [version] = db.execute("PRAGMA user_version").fetchone()
        if not n_tables:
            if not write:
                raise ValueError(f"{self.path}: this store holds no results yet.")
            db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
        elif application != _APPLICATION:
            raise ValueError(f"{self.path}: this is not a store of labelkin's results.")
        elif version != _VERSION:
            raise ValueError(
                f"{self.path}: this store has version {version} and this labelkin writes "
                f"{_VERSION}; use another store, or the labelkin that made it."
            )
        elif _find_tables(db) != _own_tables():
            raise ValueError(f"{self.path}: its tables are not labelkin's; the store was altered.")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn SQLite's errors into one sentence that names the file."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise _as_os_error(error, self.path, f"{error}.") from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
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

    def _select(
        self, table: str, columns: Iterable[str] = (), rest: str = "ORDER BY rowid"
    ) -> list[dict[str, Any]]:
        """Return columns of a table, by default all; ValueError for values that no run writes."""
        form = _FORMS[table]
        names = list(columns) or list(form)
        with self._errors():
            found = self._db.execute(f"SELECT {', '.join(names)} FROM {table} {rest}")
            rows = [dict(zip(names, row, strict=True)) for row in found]
        for row in rows:
            for name, value in row.items():
                self._check_value(table, row, name, value)
        return rows

    def _check_value(self, table: str, row: Mapping[str, Any], name: str, value: Any) -> None:
        try:
            check_json(value, _FORMS[table][name])
            if name not in FIGURES and isinstance(value, int) and value < 0:
                raise ValueError
        except ValueError:
            place, cure = f"a row of {table}", ""
            if table == "cells":
                place = f"the cell of {', '.join(f'{key} {row[key]!r:.60}' for key in CELL)}"
                cure = ": delete this row, and run it again"
            raise ValueError(
                f"{self.path}: {place} holds {value!r:.60} as {name}; the store was altered{cure}."
            ) from None

    # ------------------------------------------------------------------ reading

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per cell, with all columns, in a fixed order."""
        return self._select("cells", COLUMNS, f"ORDER BY {', '.join(CELL)}")

    def results(self) -> "pd.DataFrame":
        """Return :meth:`rows` as a DataFrame."""
        pandas = import_optional("pandas")
        frame = pandas.DataFrame(self.rows(), columns=list(COLUMNS))
        return frame.astype(dict.fromkeys(FIGURES, float))

    def rows_of(self, run: int) -> list[dict[str, Any]]:
        """Return the cells of one run, tracebacks included."""
        return self._select("cells", [*COLUMNS, "traceback"], f"WHERE run = {run:d}")

    def revisions(self, like: Iterable[Cell]) -> dict[str | None, int]:
        """Return how many cells each revision of the code computed.

        Counted are all repeats and folds of the datasets and methods of the given cells: their
        means would mix revisions.
        """
        pairs = {(cell.dataset, cell.method) for cell in like}
        rows = self._select("cells", [*CELL, "revision"])
        return dict(Counter(r["revision"] for r in rows if (r["dataset"], r["method"]) in pairs))

    def runs(self) -> list[dict[str, Any]]:
        """Return each run's number, start, command and environment."""
        found = self._select("runs", rest="ORDER BY id")
        for run in found:
            try:
                run["environment"] = dict(json.loads(run["environment"]))
            except (TypeError, ValueError, RecursionError):
                raise ValueError(
                    f"{self.path}: run {run['id']!r} has a damaged environment; the store was "
                    "altered."
                ) from None
        return found

    def protocol(self) -> dict[str, Any]:
        """Return the number of folds, whether they are stratified, and their seed."""
        found = self._select("protocol")
        return {**found[0], "stratified": bool(found[0]["stratified"])} if found else {}

    def groups(self) -> list[dict[str, Any]]:
        """Return what was planned: name, dataset, method and repeats of each group's parts."""
        return self._select("groups")

    def methods(self) -> dict[str, dict[str, Any]]:
        """Return title, settings and estimator of each method by name."""
        return {row["name"]: row for row in self._select("methods")}

    def datasets(self) -> dict[str, dict[str, Any]]:
        """Return fingerprint and sizes of each dataset by name."""
        return {row["name"]: row for row in self._select("datasets")}

    def done(self, *, failed: bool = True) -> set[Cell]:
        """Return the cells that are stored, with or without those that failed."""
        rest = "" if failed else "WHERE status = 'ok'"
        return {Cell(**row) for row in self._select("cells", CELL, rest)}

    def failures(self, among: Iterable[Cell] | None = None) -> dict[Cell, dict[str, str]]:
        """Return error and traceback of each failed cell, of all or among some."""
        rest = f"WHERE status = 'failed' ORDER BY {', '.join(CELL)}"
        rows = self._select("cells", [*CELL, "error", "traceback"], rest)
        found = {Cell(*(row.pop(name) for name in CELL)): row for row in rows}
        wanted = found if among is None else set(among)
        return {cell: why for cell, why in found.items() if cell in wanted}

    def metric(self, name: str) -> dict[Cell, float]:
        """Return one of the `FIGURES` of every cell that did not fail."""
        rows = self._select("cells", [*CELL, name], "WHERE status = 'ok'")
        return {Cell(*(row[key] for key in CELL)): row[name] for row in rows}

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
        groups: Iterable[tuple[str, str, str, int]] = (),
    ) -> None:
        """Begin a run: record what it is made with, or refuse what does not fit the store.

        The folds of the protocol must be those of the stored cells; its repeats may be more. A row
        of `datasets` or `methods` must be the same as one stored under its name. `groups` is what
        is planned: (group, dataset, method, repeats).
        """
        with self._transaction():
            self._check_protocol(protocol)
            for row in datasets:
                self._add_or_compare("datasets", row, "fingerprint", "other data")
            for row in methods:
                self._add_or_compare("methods", row, "estimator", "other settings")
            self._db.executemany(
                "INSERT INTO groups VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
                "SET repeats = max(repeats, excluded.repeats)",
                list(groups),
            )
            self._run = self._db.execute(
                "INSERT INTO runs (started, command, environment) VALUES (?, ?, ?)",
                (started, command, json.dumps(environment)),
            ).lastrowid
        self._revision = environment.get("revision")

    def _check_protocol(self, protocol: Protocol) -> None:
        stored = self.protocol()
        planned = {name: getattr(protocol, name) for name in ("folds", "stratified", "seed")}
        if not stored:
            self._insert("protocol", [planned])
        elif stored != planned:
            raise ValueError(
                f"{self.path} holds {_describe_folds(stored)} and this run has "
                f"{_describe_folds(planned)}: write it to another store."
            )

    def _add_or_compare(
        self, table: str, row: Mapping[str, Any], key: str, difference: str
    ) -> None:
        """Add a row; where its name is stored already, check that `key` is the same."""
        query = f"SELECT {key} FROM {table} WHERE name = ?"
        stored = self._db.execute(query, (row["name"],)).fetchone()
        if stored is None:
            self._insert(table, [row])
        elif stored[key] != row[key]:
            raise ValueError(
                f"{self.path} holds cells of {row['name']!r} with {difference} "
                f"({stored[key]}) than now ({row[key]}): write this run to another store, or "
                f"give the {table[:-1]} another name."
            )

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Store rows of finished cells, all or none; they are on disk on return.

        A row has the columns of :data:`~labelkin.experiments.run.columns.COLUMNS`; that of a
        failed cell may have a ``traceback``. Without a ``revision`` it gets that of the run.
        """
        default = {"traceback": None, "revision": self._revision}
        with self._transaction():
            self._insert("cells", [{**default, **row, "run": self._run} for row in rows])

    def _insert(self, table: str, rows: list[Mapping[str, Any]]) -> None:
        """Insert rows, replacing those with the same key."""
        for row in rows:
            values = ", ".join(f":{column}" for column in row)
            self._db.execute(
                f"INSERT OR REPLACE INTO {table} ({', '.join(row)}) VALUES ({values})", dict(row)
            )


def _find_tables(db: sqlite3.Connection) -> dict[str, str]:
    """Return the definitions of our tables, and of triggers.

    A view in a table's place, a computed column or a trigger can take any time and memory.
    """
    names = ", ".join(f"'{name}'" for name in _FORMS)
    query = f"SELECT name, sql FROM sqlite_master WHERE name IN ({names}) OR type = 'trigger'"
    return dict(db.execute(query))


@cache
def _own_tables() -> dict[str, str]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_SCHEMA)
        return _find_tables(db)


def _describe_folds(protocol: Mapping[str, Any]) -> str:
    if protocol["folds"] == 1:
        return "the published test rows"
    kind = "stratified" if protocol["stratified"] else "random"
    seed = protocol["seed"]
    return f"{protocol['folds']} {kind} folds" + ("" if seed is None else f" of seed {seed}")


def _as_os_error(error: sqlite3.OperationalError, path: Path, sentence: str) -> OSError:
    """Return the error of a full or failing disk as such, any other with a sentence."""
    code = _DISK_ERRORS.get(getattr(error, "sqlite_errorcode", -1))
    if code is None:
        return OSError(f"{path}: {sentence}")
    return OSError(code, os.strerror(code), str(path))


def _lock(path: Path) -> sqlite3.Connection:
    """Lock a store through an empty SQLite file beside it.

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
            sentence = f"the store cannot be locked ({error})."
            raise _as_os_error(error, path, sentence) from error
        raise ValueError(
            f"{path}: another run is writing to this store; wait until it ends, or use another "
            "store."
        ) from None
    return lock
