"""Explanations of predictions: features, members and training samples behind each label."""

from labelkin.explain._explain import describe_row, explain, find_vectorizers
from labelkin.explain._explanation import Explanation
from labelkin.explain._mixin import ExplainMixin

__all__ = ["ExplainMixin", "Explanation", "describe_row", "explain", "find_vectorizers"]
