"""Results of several machines in one store, and a store filled from a ``results.csv``.

Figures that another program computed on the same folds come in as JSON lines, one object per
cell with the columns of a ``results.csv``.
"""

import csv
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labelkin._utils.files import reason
from labelkin._utils.untrusted import check_json
from labelkin.experiments.run.columns import CELL, CELL_FORM, COLUMNS, FIGURES, METRIC_COLUMNS
from labelkin.experiments.run.protocol import Cell, Protocol
from labelkin.experiments.run.store import Store

_Run = tuple[dict[str, Any], list[dict[str, Any]]]
_ROUNDING = 1e-9
_TEXTS = (".csv", ".jsonl")


@dataclass(frozen=True)
class Merged:
    """What became of the cells of one source."""

    source: Path
    added: int
    """Cells that the target lacked, or held as failed."""
    equal: int
    """Cells that both hold, with equal figures."""
    different: int
    """Cells that both hold, with other figures: those of the target are kept."""


def merge(
    target: Path, sources: Iterable[Path], *, protocol: Protocol | None = None
) -> list[Merged]:
    """Add the cells of stores, or of CSV files of results, to a store, which is made if absent.

    Sources are stores, files ending in ``.csv`` as ``labelkin report`` writes them, or files ending
    in ``.jsonl`` with one object of the same columns per line. Of a cell that several hold, the
    first is kept. The folds of CSV and JSON files, which do not name them, are those of `protocol`;
    by default the paper's, as many as are found.
    """
    sources = list(sources)
    for source in sources:
        if not source.is_file():
            raise FileNotFoundError(2, "there is no such file of results", str(source))
        if source.resolve() == target.resolve():
            raise ValueError(f"{source} is the store to merge into: name it once, first.")
    runs = [_read_runs(source, protocol) for source in sources]  # before the target is made
    with Store(target, write=True) as store:
        return [
            _merge_one(store, source, found) for source, found in zip(sources, runs, strict=True)
        ]


def _merge_one(store: Store, source: Path, runs: list[_Run]) -> Merged:
    counts = {"added": 0, "equal": 0, "different": 0}
    known = {_cell(row): row for row in store.rows()}
    for run, rows in runs:
        kinds = {_cell(row): _compare(known.get(_cell(row)), row) for row in rows}
        new = [row for row in rows if kinds[_cell(row)] == "added"]
        store.begin(**run)
        store.add(new)
        for kind in kinds.values():
            counts[kind] += 1
    return Merged(source, **counts)


def _cell(row: dict[str, Any]) -> Cell:
    return Cell(*(row[name] for name in CELL))


def _compare(known: dict[str, Any] | None, row: dict[str, Any]) -> str:
    """Return what becomes of a row, given that of the same cell in the target."""
    if known is None or (known["status"] != "ok" and row["status"] == "ok"):
        return "added"
    pairs = [(known[name], row[name]) for name in METRIC_COLUMNS]
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    if row["status"] == known["status"] and all(
        math.isclose(a, b, rel_tol=_ROUNDING, abs_tol=_ROUNDING) for a, b in both
    ):
        return "equal"
    return "different"


def _read_runs(source: Path, protocol: Protocol | None) -> list[_Run]:
    """Return the runs of a source, each with its rows, for `Store.begin` and `Store.add`."""
    if source.suffix.lower() in _TEXTS:
        rows = _read_rows(source)
        run = {
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": f"labelkin merge … {source.name}",
            "environment": {},
            "protocol": protocol or Protocol(folds=max(row["fold"] for row in rows) + 1),
        }
        return [(run, rows)]
    with Store(source) as other:
        recorded = other.protocol()
        try:
            folds = Protocol(**recorded)
        except ValueError as error:
            raise ValueError(f"{source}: the store was altered ({error})") from None
        shared = {
            "protocol": folds,
            "datasets": list(other.datasets().values()),
            "methods": list(other.methods().values()),
            "groups": [tuple(group.values()) for group in other.groups()],
        }
        return [
            ({key: run[key] for key in ("started", "command", "environment")} | shared, rows)
            for run in other.runs()
            if (rows := other.rows_of(run["id"]))
        ]


def _read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a CSV or of JSON lines; columns of later versions may be absent."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            if path.suffix.lower() == ".csv":
                found: list[dict[str, Any]] = list(csv.DictReader(file))
            else:
                found = [dict(json.loads(line)) for line in file if line.strip()]
            if not found:
                raise ValueError("it holds no cell")
            absent = [name for name in CELL if name not in found[0] and name != "repeat"]
            if absent:
                raise ValueError(f"it has no column {absent[0]!r}")
            return [_parse(row) for row in found]
        except (TypeError, ValueError, OverflowError, RecursionError, csv.Error) as error:
            raise ValueError(f"{path} cannot be read as results: {reason(error)}.") from None


def _parse(row: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {name: row.get(name) for name in COLUMNS}
    found = {name: None if value == "" else value for name, value in found.items()}
    found |= {"repeat": int(found["repeat"] or 0), "fold": int(found["fold"])}
    found |= {name: float(found[name]) for name in FIGURES if found[name] is not None}
    found |= {"status": found["status"] or "ok"}
    for name, value in found.items():
        try:
            check_json(value, CELL_FORM[name])
            str(value).encode()  # fails for halves of characters
            if name in ("repeat", "fold") and not 0 <= value < 2**31:
                raise ValueError
        except ValueError:
            raise ValueError(f"{value!r:.60} is no {name}") from None
    return found
