"""The store: one SQLite file that holds every finished cell and survives any kind of end."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from labelkin._utils.optional import import_optional
from labelkin.experiments.run.columns import CELL, COLUMNS, FIGURES
from labelkin.experiments.run.database import Database
from labelkin.experiments.run.protocol import Cell, Protocol

if TYPE_CHECKING:
    import pandas as pd


class Store(Database):
    """Results of experiments, on disk. A finished job is one transaction."""

    _run: int | None = None
    _revision: str | None = None

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
        self._is_unused = False

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


def _describe_folds(protocol: Mapping[str, Any]) -> str:
    if protocol["folds"] == 1:
        return "the published test rows"
    kind = "stratified" if protocol["stratified"] else "random"
    seed = protocol["seed"]
    return f"{protocol['folds']} {kind} folds" + ("" if seed is None else f" of seed {seed}")
