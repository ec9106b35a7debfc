"""The page about an evaluation: curves, thresholds, mistakes and likely labelling errors."""

from labelkin.evaluation._growth import Growth, fit_growth
from labelkin.evaluation._mistakes import Mistake, worst_rows
from labelkin.evaluation._page import FEW_ROWS, EvaluationPage, MethodFigures
from labelkin.evaluation._predictions import OutOfSample

__all__ = [
    "FEW_ROWS",
    "EvaluationPage",
    "Growth",
    "MethodFigures",
    "Mistake",
    "OutOfSample",
    "fit_growth",
    "worst_rows",
]
