"""Results of several machines in one store, and a store filled from a ``results.csv``."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labelkin.experiments.run.protocol import Cell, Protocol
from labelkin.experiments.run.results import check_results, is_csv, read_results
from labelkin.experiments.run.store import COLUMNS, METRIC_COLUMNS, Store

_Run = tuple[dict[str, Any], list[dict[str, Any]]]


class Merged(NamedTuple):
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
    """Add the cells of stores, or of CSV files, to a store, which is made if absent.

    Of a cell that several hold, the first is kept. The folds of CSV files, which do not name
    them, are those of `protocol`; by default the paper's, as many as are found.
    """
    sources = list(sources)
    for source in sources:
        if not source.is_file():
            raise FileNotFoundError(2, "there is no such file of results", str(source))
        if source.resolve() == target.resolve():
            raise ValueError(f"{source} is the store to merge into: name it once, first.")
    # All are read before the target is made.
    runs = [
        [_read_csv(source, protocol)] if is_csv(source) else _read_store(source)
        for source in sources
    ]
    with Store(target, write=True) as store:
        return [_merge_one(store, *pair) for pair in zip(sources, runs, strict=True)]


def _merge_one(store: Store, source: Path, runs: list[_Run]) -> Merged:
    known = store.cells()
    counts: Counter[str] = Counter()
    for run, rows in runs:
        kinds = [_compare(known.get(Cell.of(row)), row) for row in rows]
        counts.update(kinds)
        store.begin(**run)
        store.add(row for row, kind in zip(rows, kinds, strict=True) if kind == "added")
    return Merged(source, counts["added"], counts["equal"], counts["different"])


def _compare(known: dict[str, Any] | None, row: dict[str, Any]) -> str:
    """Return what becomes of a row, given that of the same cell in the target."""
    if known is None or (known["status"] != "ok" and row["status"] == "ok"):
        return "added"
    ours, others = (np.array([r[name] for name in METRIC_COLUMNS], float) for r in (known, row))
    gaps = np.isnan(ours) | np.isnan(others)
    same = np.isclose(ours, others, rtol=1e-9, atol=1e-9) | gaps
    return "equal" if row["status"] == known["status"] and same.all() else "different"


def _read_store(source: Path) -> list[_Run]:
    """Return the runs of a store, each with its rows, for `Store.begin` and `Store.add`."""
    with Store(source) as store:
        shared = {
            "protocol": Protocol(**store.protocol()),
            "datasets": list(store.named("datasets").values()),
            "methods": list(store.named("methods").values()),
        }
        rows = store.rows()
        return [
            (
                {key: run[key] for key in ("started", "command", "environment")} | shared,
                [row for row in rows if row["run"] == run["id"]],
            )
            for run in store.runs()
        ]


def _read_csv(source: Path, protocol: Protocol | None) -> _Run:
    """Return the cells of a CSV file as one run."""
    frame = read_results(source).results
    try:
        frame = check_results(frame if "repeat" in frame else frame.assign(repeat=0))
        if odd := set(frame["status"]) - {"ok", "failed"}:
            raise ValueError(f"the results hold {odd.pop()!r:.60} as status.")
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    found = frame[list(COLUMNS)].astype(object).where(frame[list(COLUMNS)].notna(), None)
    rows = [{**row, "error": row["error"] or None} for row in found.to_dict("records")]
    run = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": f"labelkin merge … {source.name}",
        "environment": {},
        "protocol": protocol or Protocol(folds=int(frame["fold"].max()) + 1),
    }
    return run, rows
