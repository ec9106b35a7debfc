"""Explanations of predictions: features, members and training samples behind each label."""

from labelkin.explain._explain import explain
from labelkin.explain._explanation import Explanation
from labelkin.explain._mixin import ExplainMixin

__all__ = ["ExplainMixin", "Explanation", "explain"]
