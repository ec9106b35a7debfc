"""Results of experiments as a DataFrame: one row per cell.

Columns are ``dataset, method, repeat, fold``, the metrics as fractions, ``fit_s, predict_s,
peak_mb``, ``status``, ``error`` and ``revision``. They come from a store or from a
``results.csv``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelkin._utils.optional import import_optional
from labelkin.experiments.report.measures import COSTS, MEASURES
from labelkin.experiments.run.columns import BY_INDEX, COLUMNS
from labelkin.experiments.run.store import Store

if TYPE_CHECKING:
    from pandas import DataFrame

_CELL = ["dataset", "method", "repeat", "fold"]


@dataclass(frozen=True)
class Recorded:
    """Results with what a store recorded beside them; a CSV has the results alone."""

    results: "DataFrame"
    environment: Mapping[str, Any] = field(default_factory=dict)
    commands: Sequence[str] = ()
    """The command lines that were run."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings in words, by the method's name."""


def read_results(path: Path | str) -> Recorded:
    """Read results from a store of ``labelkin reproduce``, or a CSV with one row per cell."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(2, "there is no such file of results", str(path))
    if path.suffix.lower() == ".csv":
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
            {name: method["settings"] for name, method in store.methods().items()},
        )


def _read_csv(path: Path) -> "DataFrame":
    pd = import_optional("pandas", "report")
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
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        reason = str(error).strip().rstrip(".")
        raise ValueError(f"{path} cannot be read as a CSV of results: {reason}.") from None


def check_results(frame: "DataFrame") -> "DataFrame":
    """Return results with all columns and in a fixed order, or raise an error.

    Only the columns of the cell and one metric are required.
    """
    absent = [name for name in _CELL if name not in frame]
    if absent:
        raise ValueError(
            f"the results have no column {', '.join(map(repr, absent))}; needed are "
            f"{', '.join(_CELL)} and at least one metric."
        )
    if frame.empty:
        raise ValueError("the results hold no cell: run labelkin reproduce first.")
    if not any(name in frame for name in MEASURES):
        raise ValueError(f"the results have no metric; known are {', '.join(MEASURES)}.")
    pd = import_optional("pandas", "report")
    lacking = frame[_CELL].isna().any(axis=1).to_numpy()
    if lacking.any():
        row = int(lacking.argmax()) + 1
        raise ValueError(f"row {row} of the results lacks its dataset, method, repeat or fold.")
    for name in ("repeat", "fold"):
        found = pd.to_numeric(frame[name], errors="coerce")
        if not ((found >= 0) & (found % 1 == 0)).all():
            raise ValueError(f"the results hold a {name} that is not a whole number from 0.")
    numbers = [*MEASURES, *BY_INDEX, *COSTS]
    absent = [name for name in (*numbers, "error", "revision") if name not in frame]
    frame = frame.assign(**dict.fromkeys(absent)).astype({"dataset": str, "method": str})
    if "status" not in frame:
        frame["status"] = "ok"
    frame["error"] = frame["error"].astype(object).where(frame["error"].notna(), "").astype(str)
    for name in numbers:
        frame[name] = pd.to_numeric(frame[name], errors="coerce").astype(float)
    # A failed cell has no figures, whatever is written beside it.
    frame.loc[frame["status"] != "ok", numbers] = float("nan")
    twice = frame[frame.duplicated(_CELL)]
    if len(twice):
        cell = ", ".join(f"{name} {twice.iloc[0][name]}" for name in _CELL)
        raise ValueError(f"the results hold a cell more than once ({cell}): keep one row per cell.")
    known = [name for name in COLUMNS if name in frame]
    frame = frame[[*known, *(name for name in frame if name not in known)]]
    return frame.sort_values(_CELL, kind="stable", ignore_index=True)
