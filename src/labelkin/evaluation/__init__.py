"""Evaluation of classifiers: a comparison on folds, its tables, and a page about it."""

from labelkin.evaluation._compare import compare, evaluate_model
from labelkin.evaluation._evaluation import Evaluation, MethodResults
from labelkin.evaluation._figures import PEOPLE_METRICS, print_figures
from labelkin.evaluation._fingerprint import count_known_rows, fingerprint
from labelkin.evaluation._predictions import OutOfSample

__all__ = [
    "PEOPLE_METRICS",
    "Evaluation",
    "MethodResults",
    "OutOfSample",
    "compare",
    "count_known_rows",
    "evaluate_model",
    "fingerprint",
    "print_figures",
]
