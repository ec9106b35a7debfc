"""The store: one SQLite file with every finished cell, which no interruption damages.

A job's cells are one transaction, on disk when it ends. Others may read meanwhile, and write:
SQLite puts their transactions one after the other.
"""

import errno
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import pandas as pd

from labelkin.experiments.run.plan import Cell
from labelkin.metrics import METRICS, PAPER_METRICS

CELL = ("dataset", "method", "repeat", "fold")
"""What names a cell."""

BY_INDEX = {f"{name}_index": name for name in PAPER_METRICS if METRICS[name].has_ties}
"""Columns of the metrics with ties broken by label index, as in Mulan; the metric of each."""

METRIC_COLUMNS = (*PAPER_METRICS, *BY_INDEX)
"""The paper's metrics, with ties against the method, then by label index."""

FIGURES = (*METRIC_COLUMNS, "fit_s", "predict_s")
"""All numbers of a cell. Metrics are fractions; times are in seconds."""

COLUMNS = (*CELL, *FIGURES, "status", "error", "revision")
"""Columns of the results, one row per cell; ``revision`` is that of the code."""

SETTINGS, CODE = "settings of ", "code of "
"""Begin the names of the facts that describe a method."""

_APPLICATION = 0x6C6B696E  # "lkin": tells our files from other SQLite files
_VERSION = 4
_TABLES = f"""
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY, started TEXT NOT NULL, command TEXT NOT NULL,
    environment TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cells (
    dataset TEXT NOT NULL, method TEXT NOT NULL, repeat INTEGER NOT NULL, fold INTEGER NOT NULL,
    {", ".join(f"{name} REAL" for name in FIGURES)},
    status TEXT NOT NULL, error TEXT, traceback TEXT, revision TEXT,
    run INTEGER NOT NULL REFERENCES runs (id),
    PRIMARY KEY (dataset, method, repeat, fold)
);
"""


class EmptyStore(ValueError):
    """A store in which no run began; one that was killed in its first moments leaves it."""


class Store:
    """Results of experiments, on disk.

    With `write` the file is made if it does not exist. Without it nothing is changed.
    """

    _run: int | None = None
    _revision: str | None = None

    def __init__(self, path: str | Path, *, write: bool = False) -> None:
        self.path = Path(path)
        # A link and its target are one store: SQLite's journal is beside the target.
        file = Path(os.path.realpath(path))
        if write:
            file.parent.mkdir(parents=True, exist_ok=True)
        elif not file.is_file():
            raise FileNotFoundError(f"{self.path}: there is no such store of results.")
        with self._errors():
            # Readers may write too, so that SQLite can undo what a killed run left half done.
            address = f"file:{quote(str(file))}?mode={'rwc' if write else 'rw'}"
            self._db = sqlite3.connect(address, uri=True, timeout=30)
            try:
                self._db.row_factory = sqlite3.Row
                self._check(write)
                self._db.execute(f"PRAGMA query_only = {not write}")
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self._db.close()

    def _check(self, write: bool) -> None:
        """Make an empty file a store; refuse files of other programs and other versions."""
        found = self._db.execute("SELECT 1 FROM sqlite_master").fetchone()
        [application] = self._db.execute("PRAGMA application_id").fetchone()
        [version] = self._db.execute("PRAGMA user_version").fetchone()
        if not found:
            if not write:
                raise EmptyStore(f"{self.path}: this store holds no results yet.")
            marks = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION};"
            self._db.executescript(f"BEGIN IMMEDIATE; {_TABLES} {marks} COMMIT;")
            return
        if application != _APPLICATION:
            raise ValueError(f"{self.path}: this is not a store of labelkin's results.")
        if version != _VERSION:
            raise ValueError(
                f"{self.path}: this store has version {version} and this labelkin writes "
                f"{_VERSION}; use another store, or the labelkin that made it."
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn SQLite's errors into one sentence that names the file."""
        try:
            yield
        except sqlite3.OperationalError as error:
            name = getattr(error, "sqlite_errorname", "")
            if name == "SQLITE_FULL" or name.startswith("SQLITE_IOERR"):
                code = errno.ENOSPC if name == "SQLITE_FULL" else errno.EIO
                raise OSError(code, os.strerror(code), str(self.path)) from error
            raise OSError(f"{self.path}: {error}.") from error
        except (sqlite3.DatabaseError, UnicodeError, OverflowError) as error:
            raise ValueError(f"{self.path}: this is not a store of results ({error}).") from error

    # ------------------------------------------------------------------ reading

    def _select(self, rest: str, *values: Any, what: str = "*") -> list[dict[str, Any]]:
        with self._errors():
            return [dict(row) for row in self._db.execute(f"SELECT {what} FROM {rest}", values)]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per cell in a fixed order: `COLUMNS`, ``traceback`` and ``run``."""
        what = ", ".join((*COLUMNS, "traceback", "run"))
        found = self._select(f"cells ORDER BY {', '.join(CELL)}", what=what)
        if not {type(row[name]) for row in found for name in FIGURES} <= {float, type(None)}:
            text = f"{self.path}: this is not a store of results (a figure is no number)."
            raise ValueError(text)
        return found

    def results(self) -> pd.DataFrame:
        """Return the `COLUMNS` of all cells as a DataFrame."""
        frame = pd.DataFrame(self.rows(), columns=list(COLUMNS))
        return frame.astype(dict.fromkeys(FIGURES, float))

    def cells(self) -> dict[Cell, dict[str, Any]]:
        """Return the rows by cell."""
        return {Cell.of(row): row for row in self.rows()}

    def runs(self) -> list[dict[str, Any]]:
        """Return each run's number, start, command and environment."""
        runs = self._select("runs ORDER BY id", what="id, started, command, environment")
        try:
            return [{**run, "environment": json.loads(run["environment"])} for run in runs]
        except (ValueError, TypeError, RecursionError):
            text = f"{self.path}: this is not a store of results (an environment is not JSON)."
            raise ValueError(text) from None

    def facts(self) -> dict[str, str]:
        """Return what all cells have in common, by name, as `begin` takes it."""
        rows = self._select("facts ORDER BY rowid", what="name, value")
        return {row["name"]: row["value"] for row in rows}

    # ------------------------------------------------------------------ writing

    def begin(
        self,
        *,
        started: str,
        command: str,
        environment: Mapping[str, Any],
        facts: Mapping[str, str],
    ) -> None:
        """Begin a run: record what it is made with, or refuse what does not fit the store.

        `facts` are the folds, "data of …" for each dataset, and "settings of …" and "code of …" for
        each method. They must be the same as those stored under their names, except for those of a
        method whose cells have all failed: these cells are removed.
        """
        with self._errors(), self._db:  # one transaction, begun before the first reading
            self._db.execute("BEGIN IMMEDIATE")
            known = self.facts()
            for name, value in facts.items():
                method = name.removeprefix(SETTINGS).removeprefix(CODE)
                has_results = self._select("cells WHERE method = ? AND status = 'ok'", method)
                if known.get(name, value) == value:
                    pass
                elif method != name and not has_results:
                    self._db.execute("DELETE FROM cells WHERE method = ?", (method,))
                else:
                    raise ValueError(
                        f"{self.path} holds cells that differ in the {name} ({known[name]}) from "
                        f"this run ({value}): use another store, or another name for what differs."
                    )
                self._insert("facts", {"name": name, "value": value})
            run = {"started": started, "command": command, "environment": json.dumps(environment)}
            self._run = self._insert("runs", run)
        self._revision = environment.get("revision")

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Store rows of finished cells, all or none; they are on disk on return.

        A row has the `COLUMNS`; that of a failed cell may have a ``traceback``. Without a
        ``revision`` it gets that of the run. A stored row of the same cell is replaced.
        """
        default = {"traceback": None, "revision": self._revision}
        with self._errors(), self._db:  # one transaction
            for row in rows:
                self._insert("cells", {**default, **row, "run": self._run})

    def _insert(self, table: str, row: Mapping[str, Any]) -> int | None:
        """Insert a row, or replace that with the same key; return its number."""
        names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
        query = f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({values})"
        return self._db.execute(query, dict(row)).lastrowid
