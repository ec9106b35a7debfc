"""Evaluation of classifiers: a comparison on folds, its tables, and a page about it."""

from labelkin.evaluation._compare import compare, evaluate_model
from labelkin.evaluation._evaluation import Evaluation

__all__ = ["Evaluation", "compare", "evaluate_model"]
