"""Results of experiments, read from stores and ``results.csv`` files.

As a DataFrame they have one row per cell, with the columns of
:data:`~labelkin.experiments.run.store.COLUMNS`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from labelkin._utils.files import reason
from labelkin.experiments.run.peers import COMPARED
from labelkin.experiments.run.store import CELL, COLUMNS, FIGURES, SETTINGS, Store
from labelkin.metrics import PAPER_METRICS

_OF_TABLES = "for a report on a table, use labelkin evaluate DATA --report report.html"


@dataclass(frozen=True)
class StoredResults:
    """Results with what stores recorded beside them; a CSV has the results alone."""

    results: pd.DataFrame
    environment: Mapping[str, Any] = field(default_factory=dict)
    commands: Sequence[str] = ()
    """The command lines that were run."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What all cells have in common: see `Store.begin`."""

    @property
    def settings(self) -> dict[str, str]:
        """The settings of each method by its name: words, or the estimator of a user's method."""
        own = {n.removeprefix(SETTINGS): v for n, v in self.facts.items() if n.startswith(SETTINGS)}
        return own | {name: method.settings for name, method in COMPARED.items()}


def read_results(*paths: Path | str) -> StoredResults:
    """Read results from stores of ``labelkin reproduce``, or from ``results.csv`` files.

    Of a cell that several files hold, the first is kept, unless it failed. Stores must not differ
    in their folds, nor in a method or a dataset of the same name.
    """
    parts = [_read_file(Path(path)) for path in paths]
    if len(parts) == 1:
        return parts[0]
    facts: dict[str, str] = {}
    for path, part in zip(paths, parts, strict=True):
        for name, value in part.facts.items():
            if facts.setdefault(name, value) != value:
                raise ValueError(
                    f"{path} differs in the {name} ({value}) from the files before it "
                    f"({facts[name]}): make a separate report of it."
                )
    frame = pd.concat([check_results(part.results) for part in parts])
    frame = frame.iloc[(frame["status"] != "ok").argsort(kind="stable")]
    return StoredResults(
        frame.drop_duplicates(list(CELL)),
        next((part.environment for part in parts if part.environment), {}),
        list(dict.fromkeys(command for part in parts for command in part.commands)),
        facts,
    )


def _read_file(path: Path) -> StoredResults:
    if not path.is_file():
        raise FileNotFoundError(2, "there is no such file of results", str(path))
    if path.suffix.lower() == ".csv":
        return StoredResults(_read_csv(path))
    with path.open("rb") as file:
        if file.read(15) != b"SQLite format 3":
            text = f"{path} is neither a store of results nor a file ending in .csv"
            raise ValueError(f"{text}; {_OF_TABLES}.")
    with Store(path) as store:
        runs = store.runs()
        commands = list(dict.fromkeys(run["command"] for run in runs))
        environment = runs[-1]["environment"] if runs else {}
        return StoredResults(store.results(), environment, commands, store.facts())


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
        text = f"{path} cannot be read as results: {reason(error)}"
        raise ValueError(f"{text}; {_OF_TABLES}.") from None


def check_results(frame: pd.DataFrame) -> pd.DataFrame:
    """Return results with all columns and in a fixed order, or raise an error.

    Only the columns of the cell and one metric are required.
    """
    cell = list(CELL)
    if absent := [name for name in cell if name not in frame]:
        raise ValueError(
            f"the results have no column {', '.join(map(repr, absent))}; needed are "
            f"{', '.join(cell)} and at least one metric; {_OF_TABLES}."
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
