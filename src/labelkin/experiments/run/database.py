"""The file behind the store: an SQLite database with one writer.

One process writes, the one that coordinates the run. A transaction is on disk when it ends
(write-ahead log, ``synchronous=FULL``). Others may read meanwhile. A second writer is refused by
a lock that the operating system releases when its holder dies.
"""

import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from labelkin._utils.untrusted import check_json
from labelkin.experiments.run.columns import CELL, CELL_FORM, FIGURES

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
    "cells": {**CELL_FORM, "traceback": (None, str), "run": int},
}


class Database:
    """An open file of results, whose tables hold what a run writes and nothing else.

    With `write` the file is made if it does not exist, and other writers are refused until this
    one is closed; a new one in which no run began is removed again. Without it nothing is changed.
    """

    def __init__(self, path: str | Path, *, write: bool = False) -> None:
        self.path = Path(path)
        # A link and its target are one store, with one lock beside the target.
        self._file = Path(os.path.realpath(path))
        self._lock: sqlite3.Connection | None = None
        self._is_unused = write and not self._file.exists()
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a writer leaves one plain file behind, without a log beside it."""
        if self._lock is not None:
            with suppress(sqlite3.Error):  # a reader is active: the log stays and is read with it
                self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.close()
        if self._is_unused:
            self._file.unlink(missing_ok=True)
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
