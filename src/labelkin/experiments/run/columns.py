"""Columns of the results: what is known of every cell."""

from typing import Any

from labelkin.metrics import METRICS, PAPER_METRICS

CELL = ("dataset", "method", "repeat", "fold")
"""What names a cell."""

BY_INDEX = {f"{name}_index": name for name in PAPER_METRICS if METRICS[name].has_ties}
"""Columns of the metrics with ties broken by label index, as in Mulan; the metric of each."""

METRIC_COLUMNS = (*PAPER_METRICS, *BY_INDEX)
"""The paper's metrics, with ties against the method, then by label index."""

FIGURES = (*METRIC_COLUMNS, "fit_s", "predict_s", "peak_mb")
"""All numbers of a cell. Metrics are fractions; times are in seconds."""

COLUMNS = (*CELL, *FIGURES, "status", "error", "revision")
"""Columns of the results, one row per cell; ``revision`` is that of the code."""

CELL_FORM: dict[str, Any] = {
    **{"dataset": str, "method": str, "repeat": int, "fold": int, "status": {"ok", "failed"}},
    **dict.fromkeys(FIGURES, (float, None, int)),
    **dict.fromkeys(("error", "revision"), (None, str)),
}
"""What a row of the results may hold, in the words of `check_json`."""
