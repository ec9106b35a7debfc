"""Tables of metrics on the terminal: one row per metric, one column per method."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

Figures = dict[str, list[float]]
"""One method's values per fold: of each metric, and the seconds ``fit_s`` and ``predict_s``."""


def summarise(values: Sequence[float]) -> dict[str, Any]:
    """Return the mean of the defined values and, of several folds, their deviation and values."""
    import numpy as np

    defined = [value for value in values if not np.isnan(value)]
    mean = float(np.mean(defined)) if defined else None
    if len(values) == 1:
        return {"mean": mean}
    return {
        "mean": mean,
        "std": float(np.std(defined)) if defined else None,
        "folds": [None if np.isnan(value) else value for value in values],
    }


def figures_table(runs: Mapping[str, Figures], metrics: Sequence[str], title: str) -> "Table":
    """Return a table of the methods' means, the best of each metric in bold."""
    from rich.table import Table
    from rich.text import Text

    from labelkin.metrics import METRICS

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(Text(f"{title}, %"))
    for name in runs:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for key in metrics:
        metric = METRICS[key]
        factor = 100 if metric.percent else 1
        summaries = [summarise(figures[key]) for figures in runs.values()]
        means = [one["mean"] for one in summaries if one["mean"] is not None]
        best = (max if metric.greater_is_better else min)(means, default=None)
        cells = []
        for one in summaries:
            mean, std = one["mean"], one.get("std")
            shown = "–" if mean is None else f"{factor * mean:.2f}"
            shown += "" if std is None else f" ± {factor * std:.2f}"
            cells.append(Text(shown, style="bold" if mean == best and len(runs) > 1 else ""))
        unit = "" if metric.percent else " (not in %)"
        table.add_row(f"{metric.title}{unit} {metric.arrow}", *cells)
    for key in ("fit", "predict"):
        if all(f"{key}_s" in figures for figures in runs.values()):
            seconds = (summarise(figures[f"{key}_s"])["mean"] for figures in runs.values())
            table.add_row(f"{key} time", *(f"{mean:.2f} s" for mean in seconds), style="dim")
    return table
