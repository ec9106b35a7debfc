"""Results of experiments from stores and ``results.csv`` files, read or put together in one store.

As a DataFrame they have one row per cell, with the columns of
:data:`~labelkin.experiments.run.store.COLUMNS`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from labelkin._utils.files import reason
from labelkin.experiments.run.plan import Cell, Protocol
from labelkin.experiments.run.store import CELL, COLUMNS, FIGURES, METRIC_COLUMNS, Store
from labelkin.metrics import PAPER_METRICS


@dataclass(frozen=True)
class Recorded:
    """Results with what a store recorded beside them; a CSV has the results alone."""

    results: pd.DataFrame
    environment: Mapping[str, Any] = field(default_factory=dict)
    commands: Sequence[str] = ()
    """The command lines that were run."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings in words, by the method's name."""


def read_results(path: Path | str) -> Recorded:
    """Read results from a store of ``labelkin reproduce``, or a ``results.csv``."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(2, "there is no such file of results", str(path))
    if is_csv(path):
        return Recorded(_read_csv(path))
    with path.open("rb") as file:
        if file.read(15) != b"SQLite format 3":
            raise ValueError(f"{path} is neither a store of results nor a file ending in .csv.")
    with Store(path) as store:
        runs = store.runs()
        return Recorded(
            store.results(),
            runs[-1]["environment"] if runs else {},
            list(dict.fromkeys(run["command"] for run in runs)),
            {name: method["settings"] for name, method in store.named("methods").items()},
        )


def is_csv(path: Path) -> bool:
    """Return whether a file of results is a CSV file by its name; else it is a store."""
    return path.suffix.lower() == ".csv"


def _read_csv(path: Path) -> pd.DataFrame:
    # Before pandas 3 the last digit is exact only with this option.
    exact = {"float_precision": "round_trip"} if pd.__version__ < "3" else {}
    try:
        return pd.read_csv(
            path,
            # Only an empty field is a gap: a dataset may be called NA, or 01.
            dtype={"dataset": str, "method": str},
            keep_default_na=False,
            na_values=[""],
            **exact,
        )
    except ValueError as error:  # pandas' own are ValueErrors
        raise ValueError(f"{path} cannot be read as results: {reason(error)}.") from None


def check_results(frame: pd.DataFrame) -> pd.DataFrame:
    """Return results with all columns and in a fixed order, or raise an error.

    Only the columns of the cell and one metric are required.
    """
    cell = list(CELL)
    if absent := [name for name in cell if name not in frame]:
        raise ValueError(
            f"the results have no column {', '.join(map(repr, absent))}; needed are "
            f"{', '.join(cell)} and at least one metric."
        )
    if frame.empty:
        raise ValueError("the results hold no cell: run labelkin reproduce first.")
    if not any(name in frame for name in PAPER_METRICS):
        raise ValueError(f"the results have no metric; known are {', '.join(PAPER_METRICS)}.")
    lacking = frame[cell].isna().any(axis=1).to_numpy()
    if lacking.any():
        row = int(lacking.argmax()) + 1
        raise ValueError(f"row {row} of the results lacks its dataset, method, repeat or fold.")
    for name in ("repeat", "fold"):
        found = pd.to_numeric(frame[name], errors="coerce")
        if not ((found >= 0) & (found % 1 == 0) & (found < 2**31)).all():
            raise ValueError(f"the results hold a {name} that is not a whole number from 0.")
    defaults = {**dict.fromkeys(COLUMNS), "status": "ok"}
    frame = frame.assign(**{name: value for name, value in defaults.items() if name not in frame})
    frame = frame.astype({"dataset": str, "method": str, "repeat": "int64", "fold": "int64"})
    frame["error"] = frame["error"].astype(object).where(frame["error"].notna(), "").astype(str)
    for name in FIGURES:
        frame[name] = pd.to_numeric(frame[name], errors="coerce").astype(float)
    # A failed cell has no figures, whatever is written beside it.
    frame.loc[frame["status"] != "ok", list(FIGURES)] = float("nan")
    twice = frame[frame.duplicated(cell)]
    if len(twice):
        words = ", ".join(f"{name} {twice.iloc[0][name]}" for name in cell)
        raise ValueError(
            f"the results hold a cell more than once ({words}): keep one row per cell."
        )
    return frame.sort_values(cell, kind="stable", ignore_index=True)


def merge(
    target: Path, sources: Iterable[Path], *, protocol: Protocol | None = None
) -> list[Counter[str]]:
    """Add the cells of stores, or of CSV files, to a store, which is made if absent.

    Of a cell that several hold, the first is kept. The folds of CSV files, which do not name
    them, are those of `protocol`; by default the paper's, as many as are found. Returned is for
    each source how many cells were ``"added"`` because the target lacked them or held them as
    failed, were there with ``"equal"`` figures, or with ``"different"`` ones.
    """
    parts = []
    for source in sources:  # all are read before the target is made
        if not source.is_file():
            raise FileNotFoundError(2, "there is no such file of results", str(source))
        if source.resolve() == target.resolve():
            raise ValueError(f"{source} is the store to merge into: name it once, first.")
        parts.append([_csv_run(source, protocol)] if is_csv(source) else _store_runs(source))
    merged = []
    with Store(target, write=True) as store:
        for runs in parts:
            known, counts = store.cells(), Counter[str]()
            for run, rows in runs:
                kinds = [_compare(known.get(Cell.of(row)), row) for row in rows]
                counts.update(kinds)
                store.begin(**run)
                store.add(row for row, kind in zip(rows, kinds, strict=True) if kind == "added")
            merged.append(counts)
    return merged


def _compare(known: dict[str, Any] | None, row: dict[str, Any]) -> str:
    """Return what becomes of a row, given that of the same cell in the target."""
    if known is None or (known["status"] != "ok" and row["status"] == "ok"):
        return "added"
    ours, others = (np.array([r[name] for name in METRIC_COLUMNS], float) for r in (known, row))
    gaps = np.isnan(ours) | np.isnan(others)
    same = np.isclose(ours, others, rtol=1e-9, atol=1e-9) | gaps
    return "equal" if row["status"] == known["status"] and same.all() else "different"


_Run = tuple[dict[str, Any], list[dict[str, Any]]]  # what `Store.begin` and `Store.add` take


def _store_runs(source: Path) -> list[_Run]:
    with Store(source) as store:
        shared = {
            "protocol": Protocol(**store.protocol()),
            "datasets": list(store.named("datasets").values()),
            "methods": list(store.named("methods").values()),
        }
        runs: dict[int, _Run] = {run.pop("id"): (run | shared, []) for run in store.runs()}
        for row in store.rows():
            runs[row["run"]][1].append(row)
        return list(runs.values())


def _csv_run(source: Path, protocol: Protocol | None) -> _Run:
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
