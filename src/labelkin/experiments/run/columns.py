"""Columns of the results: what is known of every cell."""

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
