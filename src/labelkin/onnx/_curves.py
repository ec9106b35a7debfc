"""Calibration curves: from scores to log odds."""

from typing import Any

import numpy as np

from labelkin.base import Array
from labelkin.onnx._graph import Graph


def log_odds(graph: Graph, scores: str, slope: Array, intercept: Array, share: Any = None) -> str:
    """Add slope · score + intercept; with a share, of the scores on a scale of log odds."""
    if share is not None:
        scores = _on_log_odds_scale(graph, scores, np.asarray(share))
    return graph.op("Add", graph.op("Mul", scores, slope), intercept)


def _on_log_odds_scale(graph: Graph, scores: str, share: Array) -> str:
    """Add what `labelkin.calibration` does to scores on a scale of log odds.

    ONNX Runtime has no asinh of doubles; it is written with logarithms.
    """
    frequent = (share > 0.5).astype(np.float64)
    side = 1 - 2 * frequent
    half = 2 * (frequent + side * share)
    z = graph.op("Add", graph.op("Mul", scores, side / half), frequent / half)
    size = graph.op("Abs", z)
    root = graph.op("Sqrt", graph.op("Add", graph.op("Mul", z, z), np.float64(1)))
    logarithm = graph.op("Log", graph.op("Add", size, root))
    return graph.op("Mul", graph.op("Mul", graph.op("Sign", z), logarithm), side)
