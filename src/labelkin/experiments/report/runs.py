"""What was run: how many cells, how many repeats, and the commands that compute them again."""

import shlex
from typing import TYPE_CHECKING

from labelkin.experiments.report.comparison import (
    COMPONENTS,
    PAPER_DATASETS,
    in_order,
    split_method,
)
from labelkin.experiments.report.findings import listing
from labelkin.experiments.run.groups import GROUPS
from labelkin.experiments.run.peers import COMPARED

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_VARIED = {"threshold": "figure1", "size": "table5", "estimator": "bases"}


def count_cells(frame: "DataFrame") -> str:
    """Return how many cells there are, of what."""
    failed = int((frame["status"] != "ok").sum())
    repeats, folds = frame["repeat"].nunique(), frame["fold"].nunique()
    datasets, methods = frame["dataset"].nunique(), frame["method"].nunique()
    text = (
        f"{len(frame):,} cells: {datasets} dataset{'s' * (datasets != 1)}, "
        f"{methods} methods and variants, up to {repeats} × {folds} folds"
    )
    return f"{text}; {failed:,} failed." if failed else f"{text}."


def count_repeats(frame: "DataFrame") -> str:
    """Return how many repeats each group of the paper's experiments has."""
    repeats = frame.groupby(_groups(frame))["repeat"].nunique()
    parts = [
        f"{repeats[name]} for {group.title.partition(':')[0]}"
        for name, group in GROUPS.items()
        if name in repeats
    ]
    return f"Repeats of the cross-validation, 20 in the paper: {listing(parts)}." if parts else ""


def find_commands(frame: "DataFrame") -> list[str]:
    """Return commands that compute these cells again, for results without recorded commands."""
    groups = _groups(frame)
    commands = []
    for name in GROUPS:
        rows = frame[groups == name]
        if rows.empty:
            continue
        datasets = in_order(rows["dataset"], PAPER_DATASETS)
        words = ["labelkin", "reproduce", name, "--datasets", shlex.quote(",".join(datasets))]
        if name in ("table3", "frontier", "holdout"):
            methods = in_order(rows["method"], COMPARED)
            known = [method for method in methods if method in COMPARED]
            words += ["--methods", ",".join(known)] if known else []
            for method in methods[len(known) :]:
                words += ["--method", shlex.quote(f"{method}=module:factory")]
        words += ["--repeats", str(rows["repeat"].max() + 1)]
        words += ["--folds", str(rows["fold"].nunique()), "--store", "results.db"]
        commands.append(" ".join(words))
    return commands


def _groups(frame: "DataFrame") -> "Series":
    """Return the group of experiments that each row belongs to; nothing where it is unknown."""
    beyond = {*GROUPS["frontier"].methods} - {*GROUPS["table3"].methods, *COMPONENTS}
    compared = "frontier" if beyond & set(frame["method"]) else "table3"
    if compared == "frontier" and frame["fold"].nunique() < 2:
        compared = "holdout"

    def group_of(method: str) -> str:
        if method in COMPONENTS and compared == "table3":
            return "figure2"
        parameter = split_method(method)[1]
        return _VARIED.get(parameter, "") if parameter else compared

    return frame["method"].map(group_of)
